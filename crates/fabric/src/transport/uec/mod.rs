//! Ultra Ethernet (UEC): packets by many ways, delivered in no order, over a fabric that trims or drops them.
//!
//! ```text
//!   source                                                                              destination
//!   flow ─▶ Outgoing ─▶ line ─┐                                                          Incoming: what has come
//!             ▲               ├─▶ NIC ─▶ data, RTS ─▶ fabric ─▶ data │ trimmed │ RTS ─────▶ │
//!             │   control ────┘                                                             ▼
//!             └────────────────────────── fabric ◀── ACK │ NACK │ pull ◀── NIC ◀── control ─┴─ Pacer: pulls
//! ```
//! What is decided stands in [`backwater_control::uec`]: which packet is next and by which entropy, what has come and when that is said, how
//! large a window is, what a receiver grants. Here are the rings of flows, the lines of a host, and the frames (`frame.rs`).
//!
//! 1. A flow starts with a full window, or on credit that nobody has given: there is no handshake. Flows that may send stand in line at the
//!    NIC, and take turns packet by packet. One that may not when its turn comes gives it to the next.
//! 2. ACKs, NACKs, RTSs and pulls of a host have a line of their own. When both wait, ten frames of it go before one packet of data
//!    (`ultraethernet/uet-htsim` at 40ccb05, `uec.cpp:386`). They are in the control priority; so are trimmed packets.
//! 3. A receiver answers data with coalesced ACKs, by the entropy of what it answers, and a trimmed packet with a NACK. Whatever the order, a
//!    packet counts once, when it has come the first time.
//! 4. An ACK that covers everything ends the flow at its source, which forgets it; the receiver answers what comes late.
//! 5. One timer per flow looks for what has been under way for too long. It is set when it may be needed, not moved with each packet.
//!
//! Known deviations from that simulator: after a timeout under NSCC alone no RTS leaves; the pull targets of RTSs and of copies of packets, and
//! idle pulls, may be others; so may what a NACK of the last hop does to quick adapt under RCCC. Where hosts have links of several rates,
//! windows go by the fastest. Records of packets have the low 20 bits of their numbers. Through third groups of a dragonfly UEC does not go.
pub(crate) mod frame;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod pacer;

use std::collections::VecDeque;

use backwater_engine::Place;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;
use crate::transport::uec::incoming::Incoming;
use crate::transport::uec::outgoing::{Counts, May, Outgoing};
use crate::transport::uec::pacer::Pacer;
use crate::transport::{Frame, What as Of};
use crate::world::World;

/// What a host has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The first frame of the control line, and whether it goes before data that could leave as well.
    Control { before: bool },
    /// A packet of the sender of this slot.
    Data(u32),
}

/// So many frames of the control line go before one packet of data when both wait (`uec.cpp:248`).
const CONTROL_TURNS: u8 = 10;

/// The host at the other end of a flow: its node, and where the engine keeps it.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Peer {
    node: u32,
    place: Place,
}

/// The flows of UEC of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Uec {
    /// By slot of the sender: those that have started and are not done.
    outgoing: Vec<Option<Box<Outgoing>>>,
    /// By the same.
    counts: Vec<Counts>,
    /// By slot of the receiver: those of which something has come.
    incoming: Vec<Option<Box<Incoming>>>,
    /// Destinations by slot of the sender, sources by slot of the receiver.
    destinations: Vec<Peer>,
    sources: Vec<Peer>,
    /// Frames that go before data.
    control: VecDeque<Packet>,
    /// Since when, and which flows may send; one that has lost that right since leaves when its turn comes.
    line: VecDeque<(u64, u32)>,
    /// Frames of control that have gone since data did while both waited.
    turns: u8,
    pacer: Pacer,
    /// What goes next of these classes, as it was found last; `None`: something has changed since.
    #[borsh(skip)]
    found: Option<(u8, Option<Frame>)>,
}

impl Uec {
    /// Those of a host that sends and receives these flows, by slot; `None` if none is of UEC.
    pub(crate) fn new(host: u32, sent: &[u32], received: &[u32], world: &World) -> Option<Box<Self>> {
        if !sent.iter().chain(received).any(|flow| world.uec_kind(*flow).is_some()) {
            return None;
        }
        let peer = |host: u32| Peer { node: world.hosts[host as usize], place: Place::default() };
        Some(Box::new(Self {
            outgoing: vec![None; sent.len()],
            counts: vec![Counts::default(); sent.len()],
            incoming: vec![None; received.len()],
            destinations: sent.iter().map(|flow| peer(world.flows[*flow as usize].dst)).collect(),
            sources: received.iter().map(|flow| peer(world.flows[*flow as usize].src)).collect(),
            control: VecDeque::new(),
            line: VecDeque::new(),
            turns: 0,
            pacer: Pacer::new(host, world),
            found: None,
        }))
    }

    /// Tells where all nodes live.
    pub(crate) fn place(&mut self, places: &[Place]) {
        for peer in self.destinations.iter_mut().chain(&mut self.sources) {
            peer.place = places[peer.node as usize];
        }
    }

    /// Where the destination of the sender of a slot lives.
    #[inline]
    pub(crate) fn destination(&self, slot: u32) -> Place {
        self.destinations[slot as usize].place
    }

    /// Where the source of the receiver of a slot lives.
    #[inline]
    pub(crate) fn source(&self, slot: u32) -> Place {
        self.sources[slot as usize].place
    }

    /// The flow of the sender of a slot starts.
    pub(crate) fn begin(&mut self, slot: u32, outgoing: Outgoing) {
        self.found = None;
        self.outgoing[slot as usize] = Some(Box::new(outgoing));
    }

    /// Its sender, from its start until it is done.
    #[inline]
    pub(crate) fn outgoing(&mut self, slot: u32) -> Option<&mut Outgoing> {
        self.found = None;
        self.outgoing[slot as usize].as_deref_mut()
    }

    /// It is done.
    pub(crate) fn forget(&mut self, slot: u32) {
        self.found = None;
        self.outgoing[slot as usize] = None;
    }

    /// What happened to it so far.
    #[inline]
    pub(crate) fn counts_mut(&mut self, slot: u32) -> &mut Counts {
        &mut self.counts[slot as usize]
    }

    pub(crate) fn counts(&self, slot: u32) -> Counts {
        self.counts[slot as usize]
    }

    /// Data that came once more to the receiver of a slot, and headers of trimmed packets.
    pub(crate) fn came(&self, slot: u32) -> (u32, u32) {
        let incoming = self.incoming.get(slot as usize).and_then(Option::as_ref);
        incoming.map_or((0, 0), |incoming| (incoming.duplicates(), incoming.trimmed()))
    }

    /// The receiver of a slot, made by the first frame of its `flow`.
    #[inline]
    pub(crate) fn incoming(&mut self, slot: u32, flow: u32, world: &World) -> &mut Incoming {
        self.incoming[slot as usize].get_or_insert_with(|| {
            let kind = world.uec_kind(flow).expect("a flow of UEC");
            Box::new(Incoming::new(flow, kind, &world.uecs[usize::from(kind)], world))
        })
    }

    /// What gives credits, and all receivers.
    pub(crate) const fn pacer(&mut self) -> (&mut Pacer, &mut Vec<Option<Box<Incoming>>>) {
        (&mut self.pacer, &mut self.incoming)
    }

    /// A frame waits that goes before data.
    #[inline]
    pub(crate) fn push_control(&mut self, frame: &Packet) {
        self.found = None;
        self.control.push_back(*frame);
    }

    #[inline]
    pub(crate) fn pop_control(&mut self) -> Option<Packet> {
        self.found = None;
        self.control.pop_front()
    }

    /// A flow gets in line, if it may send and is not.
    #[inline]
    pub(crate) fn line_up(&mut self, slot: u32, now: u64, world: &World) {
        let Some(outgoing) = self.outgoing[slot as usize].as_mut() else { return };
        let spec = &world.uecs[usize::from(outgoing.kind())];
        if !outgoing.waits() && outgoing.may_send(spec) == May::Send {
            self.found = None;
            outgoing.set_waits(true);
            self.line.push_back((now, slot));
        }
    }

    /// The flow whose turn it was is not in line any more. How many were, with it.
    #[inline]
    pub(crate) fn leave_line(&mut self, slot: u32) -> u32 {
        self.found = None;
        let waiting = self.line.len() as u32;
        // Mostly the first one: the others are of classes that are closed.
        if self.line.front().is_some_and(|(_, other)| *other == slot) {
            self.line.pop_front();
        } else if let Some(at) = self.line.iter().position(|(_, other)| *other == slot) {
            self.line.remove(at);
        }
        if let Some(outgoing) = &mut self.outgoing[slot as usize] {
            outgoing.set_waits(false);
        }
        waiting
    }

    /// Flows in line.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.line.len() as u32
    }

    /// The first in line of these classes that may send: since when, its slot, class and size of its packet. Those of others keep their
    /// places.
    #[inline]
    fn first(&mut self, open: u8, world: &World) -> Option<(u64, u32, u8, u16)> {
        let mut at = 0;
        while let Some((since, slot)) = self.line.get(at).copied() {
            if let Some(outgoing) = &mut self.outgoing[slot as usize] {
                if open & 1 << outgoing.class() == 0 {
                    at += 1;
                    continue;
                }
                let spec = &world.uecs[usize::from(outgoing.kind())];
                if outgoing.may_send(spec) == May::Send {
                    return Some((since, slot, outgoing.class(), outgoing.next_size()));
                }
                outgoing.set_waits(false);
            }
            self.line.remove(at);
        }
        None
    }

    /// What goes next of these classes. It is asked for twice for each event, and changes with few of them.
    #[inline]
    pub(crate) fn peek(&mut self, open: u8, world: &World) -> Option<Frame> {
        match self.found {
            Some((classes, frame)) if classes == open => frame,
            _ => self.look(open, world),
        }
    }

    /// Whether nothing has changed since it was asked what goes next.
    #[inline]
    pub(crate) const fn is_as_found(&self) -> bool {
        self.found.is_some()
    }

    #[inline(never)]
    fn look(&mut self, open: u8, world: &World) -> Option<Frame> {
        let frame = self.next(open, world);
        self.found = Some((open, frame));
        frame
    }

    #[inline]
    fn next(&mut self, open: u8, world: &World) -> Option<Frame> {
        let control = self.control.front().filter(|_| open & 1 != 0).map(|frame| frame.size);
        let data = self.first(open, world);
        match (control, data) {
            (Some(size), None) => Some(control_frame(size, false)),
            (Some(size), Some(_)) if self.turns < CONTROL_TURNS => Some(control_frame(size, true)),
            (_, Some((since, slot, class, size))) => {
                Some(Frame { since, class, size, what: Of::Uec(What::Data(slot)) })
            }
            (None, None) => None,
        }
    }

    /// A frame that was offered leaves: whose turn it is next.
    #[inline]
    pub(crate) fn turn(&mut self, what: What) {
        self.found = None;
        match what {
            What::Control { before } => self.turns = self.turns.saturating_add(u8::from(before)),
            What::Data(_) => self.turns = 0,
        }
    }
}

const fn control_frame(size: u16, before: bool) -> Frame {
    Frame { since: 0, class: 0, size, what: Of::Uec(What::Control { before }) }
}
