//! The way through a switch in which packets queue by ingress port, wait for credits, or take weighted turns.
//!
//! ```text
//!   ingress 0 ─▶ ▯▯▯ ─┐
//!   ingress 1 ─▶ ▯▯  ─┼─▶ arbiter of the egress port: a class, then the next ingress port whose first packet may start
//!   ingress 2 ─▶ ▯   ─┘
//! ```
//! An ingress port may feed several egress ports at once: its buffer is read faster than a link (the authors' flit-level model
//! of the TCD paper has an internal bus of seven times the link rate). A packet holds its place in the ingress buffer until
//! its last byte has left the switch.
//!
//! Which of the packets leaves first is the one thing in which these switches differ (`order.rs`): ingress ports in turn, the packet that is
//! oldest in the network, or one FIFO for each ingress port, which feeds one egress port at a time and whose first packet holds up the others.
//! With one queue per egress port it is the order of arrival; their credits may come from a memory that all ports share.
//!
//! A gate under credits closes when the arbiter finds packets of a class and credits for none of them, and opens when there are
//! credits for one.
//! The way of a packet under credits:
//!
//! 1. Where the next switch cuts through, a packet arrives when its header is in, and leaves at the earliest then (`link/egress.rs`).
//! 2. `link/credits.rs` counts the packet into its lane (port and virtual lane) of the ingress buffer. If the egress port is idle,
//!    nothing waits there and its credits suffice, the packet passes at once.
//! 3. Else the packet waits at its ingress port in a queue for its egress port (`queues.rs`). FECN may make it a candidate here.
//! 4. An idle egress port chooses a class: in turn, strictly, by weights or by deficits. Then it takes the next ingress port whose first packet
//!    fits the credits. If none fits, the gate of the class closes. To records and detectors this is OFF, as by a PAUSE.
//! 5. The packet takes credit when it starts, and holds its place in the ingress buffer until its last byte has left. That starts the
//!    timer of the next credit update of its lane. A lane in which nothing changes costs no event.
//! 6. The update is composed when its frame starts to leave. Where it arrives, a closed gate opens if a packet fits. With
//!    `probe.blame` an update is a hold if it leaves less than line rate takes until the next one acts.
//! 7. A host takes what arrives out of its buffer at once, and sends under the credits of its link like any port.
//! 8. Where the routing has lanes (torus, dragonfly), a packet leaves on another lane than it came by. Switch and destination give
//!    the lane (`switch/lanes.rs`), so that a packet carries nothing for it.
pub(crate) mod order;
pub(crate) mod queues;

use backwater_control::CodePoint;
use backwater_control::arbitration::{Drr, Head, VlArbiter};
use backwater_control::detector::Detector;
use backwater_control::flow_control::Unit;
use backwater_engine::Post;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::egress::pick;
use crate::link::gates::Scope;
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::packet::{Kind, Packet};
use crate::spec::Queueing;
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::truth::Holder;
use crate::switch::voq::order::Order;
use crate::switch::voq::queues::Voqs;
use crate::violation::What;
use crate::world::{Turns, World};

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Voq<O> {
    voqs: Voqs,
    /// Who leaves next.
    order: O,
    /// Per egress port, if turns are weighted.
    arbiters: Vec<VlArbiter>,
    /// The same, if they go by deficits.
    deficits: Vec<Drr>,
    /// Whether detectors look at arrivals.
    arrivals: bool,
}

/// Whether a world needs these switches rather than the plain output queues.
pub(crate) fn is_needed(world: &World) -> bool {
    let plain = world.queueing == Queueing::Output && world.credits.is_none() && world.turns.is_none();
    !plain || arrivals(world)
}

fn arrivals(world: &World) -> bool {
    world.detectors.iter().any(Detector::wants_arrivals)
}

impl<O> Voq<O> {
    /// A switch of `ports` ports, in which each egress port and class has one queue for each of so many `lanes`.
    pub(crate) fn new(ports: usize, classes: usize, lanes: usize, order: O, world: &World) -> Self {
        let (weighted, deficit) = match &world.turns {
            None => (0, 0),
            Some(Turns::Weighted(_)) => (ports, 0),
            Some(Turns::Deficit(_)) => (0, ports),
        };
        Self {
            voqs: Voqs::new(ports * classes, lanes),
            order,
            arbiters: vec![VlArbiter::default(); weighted],
            deficits: vec![Drr::default(); deficit],
            arrivals: arrivals(world),
        }
    }
}

impl Chassis {
    /// Sends a credit update that is due on an idle port, and notes what it says about the ports upstream.
    pub(crate) fn send_credit<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let sent = self.ports.transmit_credit(port, cx);
        if sent.held_back {
            self.memory.note_held_back(sent.class, cx.now);
        }
        if sent.short && (self.truth.is_some() || self.roots.is_some()) {
            fabric.note_hold(self, port, sent.class, cx);
        }
    }

    /// A packet that is a candidate for a mark, or does not [pass](Ports::passes), starts to leave by an idle port.
    #[inline(never)]
    fn leave_crossbar<P: Post<Packet>>(&mut self, out: u16, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let code = if packet.is_flagged() {
            self.ports.count_sent(out, packet);
            self.judge(out, packet, cx)
        } else if self.ports.leaves_unseen(out, packet.class, cx.now) {
            packet.code
        } else {
            self.judge(out, packet, cx)
        };
        self.ports.transmit_unflagged(out, packet, code, cx);
    }

    /// A packet has come that the other end had no credits for.
    #[cold]
    fn out_of_blocks<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let at = self.ports.at(packet.port, packet.class);
        let (held, buffer) = self.ports.credits().map_or((0, 0), |credits| credits.held(at));
        self.ports.fail(packet.time, packet.port, What::Credits(held, buffer), cx);
    }
}

impl<O: Order> Voq<O> {
    /// The same on the lane on which it leaves; `came` is the packet on the one by which it has come.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the common case is that both are the same packet")]
    fn cross_to<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        came: &Packet,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let credited = chassis.memory.is_credited(packet.class);
        let lane = O::lane(&self.voqs, &chassis.ports, (came.port, came.class));
        let egress = chassis.ports.egress(out);
        let free = egress.busy_until() <= packet.time
            && !self.order.holds_back(lane, packet.time)
            && (egress.waiting() | egress.paused()) & (1 << packet.class) == 0
            && if credited {
                chassis.ports.lane_fits(chassis.ports.at(out, packet.class), packet.size)
            } else {
                chassis.memory.lets_pass(packet.port, packet.class, packet.size)
            };
        if free {
            let at = chassis.ports.at(out, packet.class);
            self.voqs.passed(at, lane);
            self.launch(chassis, out, packet, cx);
            self.order.left(&mut chassis.ports, lane, out, cx.now);
            return;
        }
        if chassis.admit(came, out, cx) {
            let first = self.line_up(chassis, packet, lane, out, cx.world);
            if chassis.ports.egress(out).paused() & (1 << packet.class) != 0 && first {
                self.look_at_head(chassis, packet, out, cx);
            }
            chassis.stored(self, packet, out, cx);
        }
    }

    /// Puts a packet into its queue; returns whether it is the first there.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as above")]
    fn line_up(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        lane: usize,
        out: u16,
        world: &World,
    ) -> bool {
        let at = chassis.ports.at(out, packet.class);
        let mut packet = *packet;
        let detector = &world.detectors[usize::from(chassis.ports.egress(out).detector())];
        let queue = chassis.ports.queue_mut(at);
        if packet.kind == Kind::Data && detector.on_arrival(u64::from(queue.bytes())) {
            packet.echo = CodePoint::Congestion;
        }
        queue.grow(packet.size);
        if !O::BLOCKS {
            chassis.ports.egress_mut(out).set_waiting(packet.class);
        }
        self.order.push(&mut self.voqs, &mut chassis.ports, (at, lane), &packet, packet.time)
    }

    /// A packet has come to the head of its queue behind a closed gate. If credits are short, they may do for this one.
    #[cold]
    fn look_at_head<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let credited = chassis.ports.credits().is_some_and(|credits| credits.govern(packet.class));
        if credited && chassis.ports.fits(out, packet.class, packet.size) {
            self.open(chassis, out, packet.class, cx);
        } else {
            self.unflag_heads(chassis, out, packet.class);
        }
    }

    /// What stands before a closed gate is delayed by lack of credits, no candidate for a mark.
    fn unflag_heads(&self, chassis: &mut Chassis, out: u16, class: u8) {
        if !self.arrivals {
            return;
        }
        let at = chassis.ports.at(out, class);
        let mut turns = self.voqs.in_turn(at);
        while let Some(lane) = turns.next(&self.voqs, at) {
            let head = chassis.ports.pool_mut().first_mut(self.voqs.head(at, lane));
            if head.kind == Kind::Data {
                head.echo = CodePoint::NotCapable;
            }
        }
    }

    fn shut<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, class: u8, cx: &mut Ctx<'_, P>) {
        chassis.ports.close_gate(out, class, cx);
        chassis.gate_closed(self, out, 1 << class, cx);
    }

    /// Closes the gates of classes without credits, so that none of them loses its weighted turn by being picked in vain.
    fn shut_starved<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let egress = chassis.ports.egress(out);
        let ready = egress.waiting() & !egress.paused();
        for class in (1..cx.world.classes.count).filter(|class| ready & (1 << class) != 0) {
            if self.choose_lane(chassis, out, class).is_none() {
                self.shut(chassis, out, class, cx);
            }
        }
    }

    /// The class that an idle port serves now, of those that wait at an open gate.
    #[inline]
    fn choose_class(&mut self, chassis: &mut Chassis, out: u16, world: &World) -> Option<u8> {
        let egress = chassis.ports.egress(out);
        let ready = egress.waiting() & !egress.paused();
        if ready == 0 {
            return None;
        }
        if let Some(turns) = &world.turns
            && ready & 1 == 0
        {
            return Some(self.take_turn(turns, &chassis.ports, out, ready));
        }
        Some(pick(ready, egress.turn(), world.round_robin))
    }

    /// The class of `ready`, which is not empty, that has its turn.
    fn take_turn(&mut self, turns: &Turns, ports: &Ports, out: u16, ready: u8) -> u8 {
        let picked = match turns {
            Turns::Weighted(weights) => {
                let arbiter = &mut self.arbiters[out as usize];
                arbiter.pick(&weights.high, &weights.low, weights.high_limit, ready)
            }
            Turns::Deficit(quanta) => {
                let strict = quanta.strict(ready);
                if strict != 0 {
                    return pick(strict, 0, false);
                }
                let voqs = &self.voqs;
                self.deficits[out as usize].pick(quanta, ready, |class| {
                    let at = ports.at(out, class);
                    // There is one queue for the class: scenarios say so.
                    let bytes = u32::from(ports.pool().first(voqs.head(at, 0)).size);
                    Head { bytes, last: ports.queue(at).bytes() == bytes }
                })
            }
        };
        // A class that no table names takes what the others leave. If it were never chosen, the port would be woken for it
        // at this same instant again and again, and the run would not end.
        picked.unwrap_or_else(|| pick(ready, 0, false))
    }

    /// The lane whose first packet may start and has its turn; those passed over for lack of credits are no candidates for a mark
    /// any more.
    #[inline]
    fn choose_lane(&mut self, chassis: &mut Chassis, out: u16, class: u8) -> Option<usize> {
        let at = chassis.ports.at(out, class);
        let (available, unit) = match chassis.ports.credits() {
            Some(credits) if credits.govern(class) => (credits.available(at), credits.unit()),
            _ => (u32::MAX, Unit::BLOCK),
        };
        let mut turns = self.voqs.in_turn(at);
        let mut oldest: Option<(u32, usize)> = None;
        while let Some(lane) = turns.next(&self.voqs, at) {
            let queue = self.voqs.head(at, lane);
            let head = chassis.ports.pool_mut().first_mut(queue);
            if unit.count(u32::from(head.size)) <= available {
                let Some(injected) = self.order.injected(queue) else { return Some(lane) };
                // Stamps wrap around.
                if oldest.is_none_or(|(before, _)| injected.wrapping_sub(before).cast_signed() < 0) {
                    oldest = Some((injected, lane));
                }
            } else if head.kind == Kind::Data {
                head.echo = CodePoint::NotCapable;
            }
        }
        oldest.map(|(_, lane)| lane)
    }

    /// A packet starts to leave by `out`, an idle port.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: calls here and for its credits cost 64 instructions a hop"
    )]
    fn launch<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        if packet.is_flagged() || !chassis.ports.passes(out, packet, cx.now, cx.post) {
            chassis.leave_crossbar(out, packet, cx);
        }
        if let (Some(Turns::Weighted(weights)), true) = (&cx.world.turns, packet.class != 0) {
            let arbiter = &mut self.arbiters[out as usize];
            arbiter.on_sent(&weights.high, &weights.low, packet.class, u32::from(packet.size));
        }
        if chassis.ports.has_credits() {
            let came_in = chassis.came_in(packet, cx.world);
            chassis.ports.pass_credit_on(out, packet, (packet.port, came_in));
        }
    }

    /// A gate under credits opens.
    fn open<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        chassis.ports.open_gate(port, class, false, cx);
        chassis.resumed(self, port, class, cx);
    }

    /// A packet has come in for `out`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see its caller")]
    fn come_in<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let credited = chassis.memory.is_credited(packet.class);
        if credited {
            let earned = chassis.ports.earn_credit(packet);
            if !earned.fits {
                chassis.out_of_blocks(packet, cx);
                return;
            }
            if earned.held_back {
                chassis.memory.note_held_back(packet.class, packet.time);
            }
        }
        if let Some(lanes) = &cx.world.lanes {
            let class = chassis.leaves_in(packet, lanes, cx.world);
            self.cross_to(chassis, packet, &Packet { class, ..*packet }, out, cx);
        } else {
            self.cross_to(chassis, packet, packet, out, cx);
        }
    }

    #[inline(never)]
    fn come_in_apart<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        self.come_in(chassis, packet, out, cx);
    }
}

impl<O: Order> Fabric for Voq<O> {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with a second caller, where packets are spread, it costs 13 instructions a hop"
    )]
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if O::APART {
            self.come_in_apart(chassis, packet, out, cx);
        } else {
            self.come_in(chassis, packet, out, cx);
        }
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        if cx.world.turns.is_some() {
            self.shut_starved(chassis, out, cx);
        }
        while let Some(class) = self.choose_class(chassis, out, cx.world) {
            let at = chassis.ports.at(out, class);
            if let Some(lane) = self.choose_lane(chassis, out, class) {
                let packet = self.order.pop(&mut self.voqs, &mut chassis.ports, at, lane);
                if self.voqs.is_empty(at) {
                    chassis.ports.egress_mut(out).clear_waiting(class);
                }
                chassis.ports.queue_mut(at).shrink(packet.size);
                chassis.waited(&packet, out, cx);
                chassis.let_go(self, &packet, cx);
                self.launch(chassis, out, &packet, cx);
                self.order.left(&mut chassis.ports, lane, out, cx.now);
                return;
            }
            self.shut(chassis, out, class, cx);
        }
    }

    fn fifos<'a>(&'a self, _: &'a Ports, at: usize) -> &'a [Fifo] {
        self.voqs.fifos(at)
    }

    fn discard(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) -> Option<Packet> {
        let at = chassis.ports.at(out, class);
        let lane = self.voqs.fifos(at).iter().position(|fifo| !fifo.is_empty())?;
        let packet = self.order.take_out(&mut self.voqs, &mut chassis.ports, (at, lane), now);
        if self.voqs.is_empty(at) {
            chassis.ports.egress_mut(out).clear_waiting(class);
        }
        chassis.ports.queue_mut(at).shrink(packet.size);
        Some(packet)
    }

    /// An update of the credits of `port` has been taken.
    fn credit<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let shut = chassis.ports.egress(port).paused() & (1 << class) != 0;
        if shut && self.choose_lane(chassis, port, class).is_some() {
            self.open(chassis, port, class, cx);
            chassis.send_next(self, port, cx);
        }
    }

    /// The first packet of a FIFO has left completely.
    fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        _purpose: Purpose,
        (port, argument): (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        let lane = O::lane(&self.voqs, &chassis.ports, (port, argument as u8));
        let Some(at) = self.order.next_head(&mut self.voqs, &mut chassis.ports, lane, cx.now) else { return };
        let (out, class) = chassis.ports.port_and_class(at);
        if chassis.ports.egress(out).paused() & (1 << class) != 0 {
            let head = *chassis.ports.pool().first(self.voqs.head(at, lane));
            self.look_at_head(chassis, &head, out, cx);
        }
        chassis.send_next(self, out, cx);
    }

    fn gate_closed(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        self.order.gate_moved(&chassis.ports, chassis.ports.at(out, class), now, false);
        self.unflag_heads(chassis, out, class);
    }

    fn gate_opened(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        self.order.gate_moved(&chassis.ports, chassis.ports.at(out, class), now, true);
    }

    /// Of a FIFO, what its first packet waits for; else all queues in which something stands.
    fn holders(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        if !O::BLOCKS {
            return chassis.holders_at_egress(self, port, class, world);
        }
        let ports = &chassis.ports;
        let classes = if chassis.memory.whole_port(port) { world.lossless } else { 1 << class };
        let lanes = (0..world.classes.count).filter(|class| classes & (1 << class) != 0);
        let lanes = lanes.map(|class| O::lane(&self.voqs, ports, (port, class)));
        let holder = |lane: usize| {
            let at = self.order.head_of(lane)?;
            let packets =
                (0..ports.queues().len()).flat_map(|at| ports.pool().iter(self.voqs.head(at, lane)));
            let (out, class) = ports.port_and_class(at);
            Some(Holder {
                out,
                scope: Scope::class(class),
                bytes: packets.map(|packet| u64::from(packet.size)).sum(),
            })
        };
        lanes.filter_map(holder).collect()
    }

    fn first_sizes(&self, ports: &Ports, at: usize) -> Vec<u16> {
        let mut turns = self.voqs.in_turn(at);
        let lanes = std::iter::from_fn(|| turns.next(&self.voqs, at));
        lanes.map(|lane| ports.pool().first(self.voqs.head(at, lane)).size).collect()
    }

    fn blocked(&self, ports: &Ports, at: usize, now: u64) -> u64 {
        self.order.blocked(ports, at, now)
    }

    fn state_bytes(&self) -> usize {
        self.voqs.state_bytes()
            + size_of_val(&*self.arbiters)
            + size_of_val(&*self.deficits)
            + self.order.state_bytes()
    }
}
