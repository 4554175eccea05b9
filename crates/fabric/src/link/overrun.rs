//! Ingress ports that a fault lets overrun: somebody opened a gate upstream that their PAUSE had closed, and what comes then finds no room.
//!
//! ```text
//!   link goes down ─▶ PAUSEs are forgotten at both ends ──────────────┐
//!   a watchdog forwards ─▶ PAUSEs are not obeyed ── Kind::Heed (0) ───┴─▶ the account may overrun: what does not fit is dropped
//!                          they are obeyed again ── Kind::Heed (1) ──▶ until no PAUSE is outstanding, and none is due
//! ```
//! A switch has set apart for a priority what still comes after its PAUSE (IEEE 802.1Qbb, annex O), and drops what comes beyond. Elsewhere a
//! packet without room is a broken invariant: it shows headroom that is too short. Here it is what hardware does, and a loss like others.
//! An account may overrun from the instant at which the receiver could first get a packet that its PAUSE should have held back.
use backwater_control::flow_control::{Level, headroom};
use backwater_engine::Post;
use backwater_units::{Bytes, Span};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ingress::Memory;
use crate::link::ports::Ports;
use crate::packet::{Kind, Packet};
use crate::record::NO_FAULT;
use crate::world::World;

/// What [`Kind::Heed`] tells in `seq`: PAUSE closes the gate no more.
pub(super) const UNHEEDED: u32 = 0;
/// It does again.
pub(super) const HEEDED: u32 = 1;
/// The host at this end has stopped, and renews its PAUSE no more.
pub(crate) const RAN_OUT: u32 = 2;

/// Why an ingress port and class may come to hold more than there is room for.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Overrun {
    /// The fault, or that it was a watchdog.
    fault: u16,
    /// A watchdog upstream does not obey PAUSE.
    unheeded: bool,
}

impl Ports {
    /// A fault has opened the gate upstream of an ingress port and class.
    pub(crate) fn may_overrun(&mut self, port: u16, class: u8, fault: u16) {
        let unheeded = self.overrun_at(port, class).is_some_and(|it| it.unheeded);
        self.faults_mut().overruns_mut().insert((port, class), Overrun { fault, unheeded });
    }

    fn overrun_at(&self, port: u16, class: u8) -> Option<Overrun> {
        self.faults()?.overruns().get(&(port, class)).copied()
    }

    /// The fault by which an ingress port and class may overrun, or that of a watchdog.
    pub(crate) fn overrun_by(&self, port: u16, class: u8) -> Option<u16> {
        Some(self.overrun_at(port, class)?.fault)
    }

    /// The watchdog at the other end tells whether PAUSE closes its gate.
    pub(crate) fn hear_heed(&mut self, frame: &Packet) {
        let overruns = self.faults_mut().overruns_mut();
        let unheeded = frame.seq == UNHEEDED;
        let new = Overrun { fault: NO_FAULT, unheeded };
        overruns.entry((frame.port, frame.class)).or_insert(new).unheeded = unheeded;
    }

    /// Whether PAUSE guards an ingress port and class as ever: then it may not overrun any more.
    pub(crate) fn is_guarded_again(&mut self, memory: &Memory, port: u16, class: u8) -> bool {
        let guarded = self.overrun_at(port, class).is_some_and(|it| !it.unheeded)
            && !memory.account(self.at(port, class)).is_outstanding()
            && memory.level(port, class) != Level::AboveXoff;
        if guarded {
            self.faults_mut().overruns_mut().remove(&(port, class));
        }
        guarded
    }

    /// What a switch sets apart for what comes by a port after a PAUSE.
    pub(crate) fn headroom(&self, port: u16, world: &World) -> u64 {
        let own = self.egress(port);
        let egress = self.faults().and_then(|faults| faults.nominal(port)).unwrap_or(own);
        let (mtu, frame) = (world.payload + world.header, world.pfc.frame);
        let [mtu, frame] = [mtu, frame].map(|bytes| Bytes::new(u64::from(bytes)));
        let delay = Span::from_ps(egress.until_known(0, true));
        headroom(egress.rate(), delay, mtu, frame, Span::ZERO).with_crossing().get()
    }

    /// Tells the other end of a link what has become of PAUSE in a class.
    pub(crate) fn tell_heed<P: Post<Packet>>(&self, port: u16, class: u8, what: u32, cx: &mut Ctx<'_, P>) {
        let egress = self.egress(port);
        let (time, peer_port) = (cx.now + egress.until_known(0, true), egress.peer_port());
        let frame = Packet { kind: Kind::Heed, class, seq: what, ..Packet::NONE };
        cx.post.send(egress.place(), time, &frame, |copy| {
            copy.time = time;
            copy.port = peer_port;
        });
    }
}
