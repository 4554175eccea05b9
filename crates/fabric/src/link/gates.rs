//! The gates of a node's egress queues: PFC frames sent and obeyed, pauses that run out, time spent paused.
use backwater_control::flow_control::CreditReturn;
use backwater_control::{CodePoint, PortState};
use backwater_engine::Post;
use backwater_units::relative::{deadline, tally};
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::{Ports, Purpose};
use crate::packet::{Kind, Packet};
use crate::record::PauseRecord;
use crate::world::{CreditSettings, World};

/// When a gate lets a frame pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Opens {
    Now,
    /// At this time, if no notification comes before.
    At(u64),
    /// When it is notified: by a RESUME, an update of credits.
    WhenTold,
}

/// What a pause holds back at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct Scope {
    pub(crate) class: u8,
    /// What the packets of one queue of the class have in common, or [`Scope::ALL`].
    pub(crate) key: u32,
}

impl Scope {
    /// All packets of a class.
    pub(crate) const ALL: u32 = u32::MAX;

    pub(crate) const fn class(class: u8) -> Self {
        Self { class, key: Self::ALL }
    }
}

/// A closed gate, and what it waits for: room behind an ingress port of the node at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) port: u16,
    pub(crate) scope: Scope,
    pub(crate) since: u64,
    /// Where there is no room, as far as this end has been notified.
    pub(crate) node: u32,
    pub(crate) ingress: u16,
}

/// A gate that is still closed after so long is held by what holds it now: what opens it was sent by the other end no more than a
/// round trip and a period of credits ago. A timed pause holds it a pause longer.
const ROUNDS: u64 = 4;
const PAUSES: Span = Span::from_us(100);
/// With lost updates so many are expected to come through in that time, but no more than so much of it is waited for.
const THROUGH: u64 = 32;
const LONGEST: Span = Span::from_ms(1_000);

/// How long a gate stays closed before it can be in a circle, if a frame takes `reach` to the other end of a link.
pub(crate) fn settled(reach: Span, world: &World) -> Span {
    let Some(CreditSettings { returned: CreditReturn::Periodic(period), loss_ppm, .. }) = &world.credits
    else {
        let pause = world.pfc.form.pause().unwrap_or(Span::ZERO);
        return PAUSES.max(pause + reach * ROUNDS);
    };
    let round = reach + *period;
    let through = u64::from(1_000_000_u32.saturating_sub(*loss_ppm).max(1));
    let rounds = if *loss_ppm == 0 { 0 } else { THROUGH * 1_000_000 / through };
    let lossy = Span::from_ps(round.as_ps().saturating_mul(rounds)).min(LONGEST);
    (round * ROUNDS).max(lossy)
}

/// Gate and accounts of an egress queue that change only when it is paused or starved, marked or judged anew.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Gate {
    /// Timed pauses: when the pause runs out. Later on only a watchdog asks.
    #[borsh(serialize_with = "deadline")]
    until: u64,
    /// Since when a closed one is closed: for accounts, watchdogs and the search for deadlocks.
    #[borsh(serialize_with = "tally")]
    since: u64,
    /// How long it has been closed in all, or its packets held back by the throttle of the NIC. Senders keep what it was when they looked
    /// last, and ask for the difference.
    #[borsh(serialize_with = "tally")]
    paused_ps: u64,
    /// What of it the throttle was.
    #[borsh(serialize_with = "tally")]
    throttled_ps: u64,
    #[borsh(serialize_with = "tally")]
    state_since: u64,
    #[borsh(serialize_with = "tally")]
    in_state: [u64; 4],
    #[borsh(serialize_with = "tally")]
    pauses: u32,
    #[borsh(serialize_with = "tally")]
    ce_marks: u32,
    #[borsh(serialize_with = "tally")]
    ue_marks: u32,
    /// An expiry timer is in the heap.
    armed: bool,
}

impl Gate {
    /// A packet that leaves by the queue is marked.
    pub(crate) fn count_mark(&mut self, code: CodePoint) {
        if code == CodePoint::Congestion {
            self.ce_marks += 1;
        } else {
            self.ue_marks += 1;
        }
    }

    /// Packets marked CE and UE.
    pub(crate) const fn marks(&self) -> (u32, u32) {
        (self.ce_marks, self.ue_marks)
    }

    /// How often it has been closed.
    pub(crate) const fn pauses(&self) -> u32 {
        self.pauses
    }
}

impl Ports {
    /// Sends the pending PFC frame of an idle port.
    pub(crate) fn transmit_pfc<P: Post<Packet>>(&mut self, port: u16, cx: &mut Ctx<'_, P>) {
        let egress = &mut self.egress[port as usize];
        let pause = cx.world.classes.to_priorities(std::mem::take(&mut egress.pfc_pause));
        let resume = cx.world.classes.to_priorities(std::mem::take(&mut egress.pfc_resume));
        let size = cx.world.pfc.frame;
        self.transmit_whole(port, &Packet::pfc(pause, resume, size), cx);
    }

    /// Puts a frame of the link's flow control on the wire of an idle port.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: where each packet is answered by credits, a call costs 26 instructions a hop"
    )]
    pub(crate) fn transmit_whole<P: Post<Packet>>(&mut self, port: u16, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let egress = &mut self.egress[port as usize];
        let (time, peer_port) = (egress.occupy_whole(cx.now, frame.size), egress.peer_port);
        cx.post.send(egress.place, time, frame, |copy| {
            copy.time = time;
            copy.port = peer_port;
        });
    }

    /// The same with what travels beside it.
    pub(crate) fn transmit_extended<P: Post<Packet>>(
        &mut self,
        port: u16,
        frame: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let egress = &mut self.egress[port as usize];
        let (time, peer_port) = (egress.occupy_whole(cx.now, frame.size), egress.peer_port);
        self.send(port, time, frame, cx, |copy| {
            copy.time = time;
            copy.port = peer_port;
        });
    }

    /// A PFC frame arrived: closes and opens gates. Returns the classes whose gate opened.
    pub(crate) fn obey<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) -> u8 {
        let pause = cx.world.classes.to_classes(frame.seq as u8) & cx.world.lossless;
        let resume = cx.world.classes.to_classes((frame.seq >> 8) as u8) & cx.world.lossless;
        let mut opened = 0;
        for class in 0..cx.world.classes.count {
            let bit = 1 << class;
            if pause & bit != 0 {
                self.close_gate(frame.port, class, cx);
            } else if resume & bit != 0 && self.egress[frame.port as usize].paused & bit != 0 {
                self.open_gate(frame.port, class, false, cx);
                opened |= bit;
            } else if resume & bit != 0 && cx.world.notes_gates {
                self.pause_ended(frame.port, class, cx);
            }
        }
        opened
    }

    /// When the flow control of a link lets a frame of a class pass. Asking changes nothing: a gate is closed by
    /// [`Ports::close_gate`], which records it.
    pub(crate) fn opens(&self, port: u16, class: u8, size: u16) -> Opens {
        if self.egress[port as usize].paused & (1 << class) == 0 {
            return if self.fits(port, class, size) { Opens::Now } else { Opens::WhenTold };
        }
        let gate = &self.gates[self.at(port, class)];
        if gate.armed { Opens::At(gate.until) } else { Opens::WhenTold }
    }

    pub(crate) fn close_gate<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let at = self.at(port, class);
        if let Some(pause) = cx.world.pfc.form.pause() {
            let gate = &mut self.gates[at];
            gate.until = cx.now + pause.as_ps();
            if !std::mem::replace(&mut gate.armed, true) {
                let until = gate.until;
                self.set_timer(until, port, Purpose::PauseExpiry, u32::from(class));
            }
        }
        let bit = 1 << class;
        if self.egress[port as usize].paused & bit == 0 {
            self.egress[port as usize].paused |= bit;
            let gate = &mut self.gates[at];
            gate.since = cx.now;
            gate.pauses += 1;
            self.record_pause(port, class, true, false, cx);
        }
    }

    pub(crate) fn open_gate<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        expired: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        self.egress[port as usize].paused &= !(1 << class);
        let at = self.at(port, class);
        self.gates[at].paused_ps += cx.now - self.gates[at].since;
        self.record_pause(port, class, false, expired, cx);
    }

    pub(crate) fn record_pause<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        paused: bool,
        expired: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        if cx.world.notes_gates {
            self.note_gate((port, class), paused, expired, cx);
        }
    }

    /// Somebody wants to know that a gate has closed or opened.
    #[cold]
    fn note_gate<P: Post<Packet>>(
        &mut self,
        (port, class): (u16, u8),
        paused: bool,
        expired: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        if cx.world.pauses {
            let (time, priority) = (Time::from_ps(cx.now), cx.world.classes.priority(class));
            let queue = Bytes::new(u64::from(self.queues[self.at(port, class)].bytes));
            let node = self.node;
            self.records.pauses.push(PauseRecord { time, node, port, priority, paused, expired, queue });
            cx.post.recorded(1);
        }
        if paused {
            self.watch_gate(port, class, cx);
        } else if !expired {
            self.pause_ended(port, class, cx);
        }
    }

    /// The expiry timer of a gate fired. Returns whether the gate opened by it.
    pub(crate) fn pause_expired<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let at = self.at(port, class);
        if self.egress[port as usize].paused & (1 << class) == 0 {
            self.gates[at].armed = false;
            return false;
        }
        let until = self.gates[at].until;
        if until > cx.now {
            self.set_timer(until, port, Purpose::PauseExpiry, u32::from(class));
            return false;
        }
        self.gates[at].armed = false;
        self.open_gate(port, class, true, cx);
        true
    }

    /// When the last timed PAUSE came for a closed gate.
    pub(crate) fn last_pause(&self, port: u16, class: u8, pause: Span) -> u64 {
        self.gates[self.at(port, class)].until.saturating_sub(pause.as_ps())
    }

    /// Since when a gate is closed; `None`: it is open.
    pub(crate) fn closed_since(&self, port: u16, class: u8) -> Option<u64> {
        let closed = self.egress[port as usize].paused & (1 << class) != 0;
        closed.then(|| self.gates[self.at(port, class)].since)
    }

    /// What the closed gates of all ports wait for.
    pub(crate) fn waits(&self) -> impl Iterator<Item = Wait> {
        (0..).zip(&self.egress).flat_map(move |(port, egress)| {
            let closed = (0..self.classes as u8).filter(|class| egress.paused & (1 << class) != 0);
            closed.map(move |class| Wait {
                port,
                scope: Scope::class(class),
                since: self.gates[self.at(port, class)].since,
                node: egress.peer,
                ingress: egress.peer_port,
            })
        })
    }

    /// A class beyond those of packets, whose gate never opens.
    pub(crate) fn add_closed_class(&mut self, class: u8) {
        self.gates.push(Gate::default());
        for egress in &mut self.egress {
            egress.paused |= 1 << class;
        }
    }

    /// The throttle of a NIC has held back packets of an open gate for so long: to them it was closed.
    pub(crate) fn hold_back(&mut self, port: u16, class: u8, time: u64) {
        let at = self.at(port, class);
        self.gates[at].paused_ps += time;
        self.gates[at].throttled_ps += time;
    }

    /// Picoseconds that a gate was closed until `now`, or its packets held back.
    #[inline]
    pub(crate) fn closed_for(&self, port: u16, class: u8, now: u64) -> u64 {
        let gate = &self.gates[self.at(port, class)];
        let closed = self.egress[port as usize].paused & (1 << class) != 0;
        gate.paused_ps + if closed { now - gate.since } else { 0 }
    }

    /// Time in each state and paused, as of `now`.
    pub(crate) fn accounts(&self, port: u16, class: u8, now: u64) -> (Span, [Span; 4]) {
        let (gate, queue) = (&self.gates[self.at(port, class)], &self.queues[self.at(port, class)]);
        let mut in_state = gate.in_state;
        in_state[queue.registers.state() as usize] += now - gate.state_since;
        let closed = self.closed_for(port, class, now) - gate.throttled_ps;
        (Span::from_ps(closed), in_state.map(Span::from_ps))
    }

    /// Books the time spent in `before`, which ended `now`.
    pub(crate) fn left_state(&mut self, at: usize, before: PortState, now: u64) {
        let gate = &mut self.gates[at];
        gate.in_state[before as usize] += now - gate.state_since;
        gate.state_since = now;
    }
}

impl Packet {
    /// A PFC frame for sets of priorities.
    fn pfc(pause: u8, resume: u8, size: u16) -> Self {
        Self {
            time: 0,
            flow: u32::MAX,
            seq: u32::from(pause) | u32::from(resume) << 8,
            dst: u32::MAX,
            next: 0,
            port: 0,
            size,
            kind: Kind::Pfc,
            code: CodePoint::NotCapable,
            class: 0,
            echo: CodePoint::NotCapable,
        }
    }
}
