//! A switch with a pool of queues at each egress port, which holds queues upstream and not classes. Which packets share a queue and how long
//! it may be is the rule of a [`Scheme`]: [`bfc`], [`dst_pfc`], [`pyrrha`], [`recn`]. Switches of their own, which have no such queues, are
//! [`floodgate`] and [`sfc`].
//!
//! ```text
//!   link ─▶ queue of its key at the egress port ─┬─▶ of the open ones the next in turn ─▶ link, with a tag of the scheme's
//!                   ▲ too long                   └─▶ none is open: the gate of the class closes
//!                   └─ Hold frame to where the packet came from: its queue there closes, or what it stands for at a NIC
//! ```
//! 1. A packet joins a queue ([`QueuePool`]) and may cause a frame ([`Kind::Hold`]) that holds something upstream; a packet that leaves may
//!    cause frames that let it go.
//!    Packets may also go from one queue to another, by a timer of the port.
//! 2. To records, the gate of a class is closed while all that waits behind it is held, as under credits. The deadlock check sees queues.
//!
//! The control class has one queue, as in every switch.
pub(crate) mod bfc;
mod closures;
pub(crate) mod dst_pfc;
pub(crate) mod floodgate;
mod flows;
pub(crate) mod pyrrha;
pub(crate) mod recn;
pub(crate) mod roots;
pub(crate) mod sfc;

use backwater_control::CodePoint;
use backwater_control::isolation::Origin;
use backwater_engine::Post;
use backwater_topology::Network;
use backwater_units::{Bytes, Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::holds::parts;
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::{Fifo, Pool};
use crate::link::queue_pool::QueuePool;
use crate::observe::isolation_stats::Noted;
use crate::packet::{Kind, Packet};
use crate::record::{IsolationEvent, KeyedBy};
use crate::spec::{Clock, PoolOrder};
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::keyed::closures::Draining;
use crate::switch::truth::Holder;
use crate::world::World;

/// The links of a switch, as schemes see them.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Links {
    /// Per port whether its other end is a host.
    to_host: Vec<bool>,
    /// Per port what a frame takes there and back, without its length.
    round_trip: Vec<Span>,
    rate: Vec<Rate>,
}

impl Links {
    fn new(node: u32, network: &Network) -> Self {
        let ports = network.ports(node);
        Self {
            to_host: ports.iter().map(|port| !network.is_switch(port.peer)).collect(),
            round_trip: ports.iter().map(|port| port.delay * 2).collect(),
            rate: ports.iter().map(|port| port.rate).collect(),
        }
    }

    /// What an egress port sends while a frame goes to the other end of an ingress port and back.
    fn hop_bytes(&self, ingress: u16, out: u16) -> u64 {
        self.rate[usize::from(out)].bytes_in(self.round_trip[usize::from(ingress)]).get()
    }
}

/// Where a packet joins a queue or has left one.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    out: u16,
    /// Of the egress port and class.
    at: usize,
    /// Of the ingress port and class.
    from: usize,
    now: Time,
}

/// The queues of a switch.
pub(crate) struct Queues<'a> {
    pools: &'a mut [QueuePool],
    links: &'a Links,
    now: u64,
}

/// What comes of a frame, or of a packet that has gone from one queue to another.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) enum Consequence {
    /// Something upstream is held for the sake of a packet in a queue of an egress port.
    Hold { packet: Packet, queue: (u16, u16), upstream: u16 },
    /// The gate of a queue of an egress port and class, of this name, closed or opened.
    Gate { queue: (u16, u8, u16), gate: (KeyedBy, u32), closes: bool },
    /// A frame for the other end of a port.
    Frame(u16, Packet),
    /// A queue for a root was made at a port, which has so many.
    Made { port: u16, root: u32, used: u32 },
    /// There was none left.
    Refused { port: u16, root: u32, used: u32 },
    /// One was freed.
    Freed { port: u16, root: u32, used: u32 },
    /// What may leave by an egress port in a class is to be looked at again.
    Settle(u16, u8),
}

/// A packet that has gone to another queue, as it was before, and what is to be held upstream for its sake.
pub(crate) struct Moved {
    packet: Packet,
    queue: u16,
    held: Option<u16>,
}

/// Who shares a queue, and what holds what upstream.
pub(crate) trait Scheme: Clone + BorshSerialize + BorshDeserialize {
    /// Whether its queues but for the first are of roots, whose gates have these names, and packets go from one to another.
    const ROOTS: bool = false;
    /// Whether queues are made and freed, which is counted as it happens.
    const MADE: bool = false;

    /// Puts a packet into the queue that it joins; returns that, and what is to be held upstream for its sake, as the frame says it.
    fn join(
        &mut self,
        packet: &Packet,
        place: Place,
        queues: (&mut QueuePool, &mut Pool),
        context: (&Links, &World),
    ) -> (u16, Option<u16>);

    /// A packet has left a queue, where it had this slot: what is let go upstream, with the port to say it by.
    fn left(
        &mut self,
        packet: &Packet,
        place: Place,
        queue: (&mut QueuePool, u16, usize),
        context: (&Links, &World),
    ) -> Option<(u16, u16)>;

    /// Packets of an egress port and class go to other queues, before it is asked which may send.
    fn tidy(
        &mut self,
        _place: (u16, usize, u64),
        _queues: (&mut QueuePool, &mut Pool),
        _context: (&Links, &World),
    ) {
    }

    /// What has come of packets that joined queues, left them or went from one to another, which is told when the port is done with them.
    fn pending(&mut self) -> Vec<Consequence> {
        Vec::new()
    }

    /// Whether the detector may mark a packet that leaves.
    fn is_marked(&self, _packet: &Packet, _at: usize) -> bool {
        true
    }

    /// The root and the destination that records name what a queue was made for by.
    fn named(&self, root: u32) -> (Option<(u32, u16)>, Option<u32>) {
        (Some(parts(root)), None)
    }

    /// What else is let go with that.
    fn more(
        &mut self,
        _packet: &Packet,
        _place: Place,
        _queue: (&QueuePool, u16),
        _links: &Links,
    ) -> Option<(u16, u16)> {
        None
    }

    /// The queue that sends next.
    fn next(pool: &QueuePool, order: PoolOrder) -> Option<u16> {
        pool.next(order)
    }

    /// Whether one may send.
    fn is_ready(pool: &QueuePool) -> bool {
        pool.active() > 0
    }

    /// Whether packets wait to be sent.
    fn is_waiting(pool: &QueuePool) -> bool {
        !pool.is_empty()
    }

    /// The frame that holds something upstream for the sake of a packet, or lets it go.
    fn hold_frame(&self, of: &Packet, upstream: u16, holds: bool, size: u16) -> Packet {
        Packet::hold(of, upstream, holds, size)
    }

    /// A frame from downstream has come, for an egress port and class.
    fn hear(&mut self, frame: &Packet, at: usize, queues: Queues<'_>, _told: &mut Vec<Consequence>) {
        let (pool, queue) = (&mut queues.pools[at], self.queue_of(frame));
        if frame.held().0 {
            pool.close(queue, queues.now);
        } else {
            pool.open(queue);
        }
    }

    /// The queue that a frame from downstream closes or opens.
    fn queue_of(&self, frame: &Packet) -> u16;

    /// The same, if the scheme does not say itself that its gate closes or opens.
    fn gate_of(&self, frame: &Packet) -> Option<u16> {
        (!Self::ROOTS).then(|| self.queue_of(frame))
    }

    /// When packets of an egress port and class go from one queue to another next, if that is not known yet.
    fn due(&mut self, _at: usize, _pool: &QueuePool, _now: u64) -> Option<u64> {
        None
    }

    /// The queues whose first packet goes on then, if it may, one after the other.
    fn turns(&self, _at: usize, _turns: &mut Vec<u16>) {}

    /// The first packet of a queue goes to another one.
    fn give_on(
        &mut self,
        (_, at, queue): (u16, usize, u16),
        queues: Queues<'_>,
        (memory, _): (&mut Pool, &World),
        _told: &mut Vec<Consequence>,
    ) -> Moved {
        let packet = queues.pools[at].pop(memory, queue).1;
        queues.pools[at].push(memory, queue, &packet);
        Moved { packet, queue, held: None }
    }

    /// What records call the gate of a queue; `None`: it has none of its own.
    fn gate(&self, _at: usize, queue: u16) -> Option<(KeyedBy, u32)> {
        Some((KeyedBy::Queue, queue.into()))
    }

    /// What a queue is known by at the node downstream.
    fn key(&self, _at: usize, queue: u16) -> u32 {
        queue.into()
    }

    /// What something upstream is known by there.
    fn upstream_key(&self, upstream: u16) -> u32 {
        upstream.into()
    }

    /// Whether a packet in this slot of a queue of an egress port and class waits here for what a queue upstream of this key, or a NIC, is
    /// held for.
    fn is_of(&self, packet: &Packet, slot: usize, queue: (usize, u16), upstream: u32, links: &Links) -> bool;

    /// Whether what such a packet came from is held as long as it is in this queue.
    fn holds(&self, packet: &Packet, slot: usize, queue: (usize, u16)) -> bool;

    /// The first account that is not what is there at the end of a run, in words.
    fn check(&self, pools: &[QueuePool], memory: &Pool) -> Result<(), String>;

    fn state_bytes(&self) -> usize;
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Keyed<S> {
    /// `pools[port * classes + class]`; those of the control class have nothing.
    pools: Vec<QueuePool>,
    order: PoolOrder,
    /// Size of a Hold frame.
    frame: Bytes,
    links: Links,
    scheme: S,
    /// Only for the ground truth.
    draining: Draining,
    /// What a timer goes through; empty between timers.
    turns: Vec<u16>,
    let_go: LetGo,
}

/// What was let go upstream by each port last: as which of those at the same instant, and when what the other end sends then begins to come.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
struct LetGo {
    by_port: Vec<(u64, u32)>,
    now: u64,
    count: u32,
}

impl LetGo {
    fn note(&mut self, port: u16, now: u64, comes: u64, ports: usize) {
        self.by_port.resize(ports, (u64::MAX, 0));
        self.count = if self.now == now { self.count + 1 } else { 0 };
        self.now = now;
        self.by_port[usize::from(port)] = (comes, self.count);
    }
}

impl<S: Scheme> Keyed<S> {
    /// A switch with so many queues per egress port and class.
    pub(crate) fn new(
        (node, network, classes): (u32, &Network, usize),
        (queues, order, frame): (u16, PoolOrder, Bytes),
        scheme: impl FnOnce(&Links) -> S,
    ) -> Self {
        let links = Links::new(node, network);
        let pools = 0..network.ports(node).len() * classes;
        let pools = pools.map(|at| QueuePool::new(if at.is_multiple_of(classes) { 0 } else { queues }));
        Self {
            pools: pools.collect(),
            order,
            frame,
            scheme: scheme(&links),
            links,
            turns: Vec::new(),
            let_go: LetGo::default(),
            draining: Draining::default(),
        }
    }

    fn place(chassis: &Chassis, packet: &Packet, out: u16, now: u64) -> Place {
        let [at, from] = [out, packet.port].map(|port| chassis.ports.at(port, packet.class));
        Place { out, at, from, now: Time::from_ps(now) }
    }

    /// A packet joins a queue.
    fn enter<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let place = Self::place(chassis, packet, out, cx.now);
        let queues = (&mut self.pools[place.at], chassis.ports.pool_mut());
        let (queue, held) = self.scheme.join(packet, place, queues, (&self.links, cx.world));
        chassis.ports.queue_mut(place.at).grow(packet.size);
        if let Some(upstream) = held {
            self.hold(chassis, packet, (out, queue), upstream, cx);
        }
        self.settle(chassis, out, packet.class, cx);
    }

    /// Something upstream is held for the sake of a packet in a queue.
    fn hold<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        queue: (u16, u16),
        upstream: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        chassis.memory.count_pause(chassis.ports.at(packet.port, packet.class));
        self.note(chassis, packet, queue, upstream, cx);
        self.tell(chassis, packet, (packet.port, upstream), true, cx);
    }

    /// What has come of something is sent, and counted.
    #[cold]
    fn follow<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        told: Vec<Consequence>,
        cx: &mut Ctx<'_, P>,
    ) {
        let mut settled = Vec::new();
        for told in told {
            let (what, port, root, used) = match told {
                Consequence::Frame(port, frame) => {
                    if frame.kind == Kind::Hold {
                        self.note_let_go(chassis, port, &frame, cx);
                    }
                    chassis.ports.enqueue(port, &frame);
                    chassis.go(self, port, cx);
                    continue;
                }
                Consequence::Hold { packet, queue, upstream } => {
                    self.hold(chassis, &packet, queue, upstream, cx);
                    continue;
                }
                // Noted before the queue could send.
                Consequence::Gate { .. } => continue,
                Consequence::Settle(port, class) => {
                    settled.push((port, class));
                    continue;
                }
                Consequence::Made { port, root, used } => (IsolationEvent::Allocated, port, root, used),
                Consequence::Refused { port, root, used } => (IsolationEvent::Refused, port, root, used),
                Consequence::Freed { port, root, used } => (IsolationEvent::Released, port, root, used),
            };
            let (root, dst) = self.scheme.named(root);
            let origin = 1 << Origin::Cim as u8;
            let noted = Noted { what, port, ingress: None, src: None, dst, origin, root, used };
            chassis.ports.note_isolation(&noted, cx);
        }
        for (port, class) in settled {
            self.settle(chassis, port, class, cx);
            self.flush(chassis, cx);
            chassis.go(self, port, cx);
        }
    }

    /// Notes gates that close or open, before their queues can send.
    fn note_gates<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        told: &[Consequence],
        cx: &mut Ctx<'_, P>,
    ) {
        for told in told {
            if let Consequence::Gate { queue, gate, closes } = *told {
                self.note_gate(chassis, queue, (Some(gate), closes), cx);
            }
        }
    }

    /// Tells what is pending, if anything is.
    #[inline]
    fn flush<P: Post<Packet>>(&mut self, chassis: &mut Chassis, cx: &mut Ctx<'_, P>) {
        let told = self.scheme.pending();
        if !told.is_empty() {
            self.note_gates(chassis, &told, cx);
            self.follow(chassis, told, cx);
        }
    }

    /// Takes the next packet of a class whose gate is open, with the number of its queue, and the name of its gate.
    fn take<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) -> (Packet, u16, Option<(KeyedBy, u32)>) {
        let at = chassis.ports.at(out, class);
        let pool = &mut self.pools[at];
        let queue = S::next(pool, self.order).expect("the gate of a class is closed while none may leave");
        let gate = self.scheme.gate(at, queue);
        let (slot, packet) = pool.pop(chassis.ports.pool_mut(), queue);
        let place = Self::place(chassis, &packet, out, cx.now);
        chassis.ports.queue_mut(place.at).shrink(packet.size);
        let queued = (&mut self.pools[place.at], queue, slot);
        let mut told = self.scheme.left(&packet, place, queued, (&self.links, cx.world));
        while let Some(upstream) = told {
            self.tell(chassis, &packet, upstream, false, cx);
            told = self.scheme.more(&packet, place, (&self.pools[place.at], queue), &self.links);
        }
        self.settle(chassis, out, class, cx);
        (packet, queue, gate)
    }

    /// Tells the other end of a port that something there is held, or is not any more.
    fn tell<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        (port, upstream): (u16, u16),
        holds: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let frame = self.scheme.hold_frame(packet, upstream, holds, self.frame.get() as u16);
        if !holds {
            self.note_let_go(chassis, port, &frame, cx);
        }
        chassis.ports.enqueue(port, &frame);
        chassis.go(self, port, cx);
    }

    fn note_let_go<P: Post<Packet>>(
        &mut self,
        chassis: &Chassis,
        port: u16,
        frame: &Packet,
        cx: &Ctx<'_, P>,
    ) {
        if cx.world.clock == Clock::Ns3 {
            let back = self.links.round_trip[usize::from(port)].as_ps() / 2;
            let comes = cx.now + chassis.ports.egress(port).until_known(frame.size, true) + back;
            self.let_go.note(port, cx.now, comes, self.links.rate.len());
        }
    }

    /// The ground truth is to know for the sake of which queue something upstream is held.
    fn note<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        packet: &Packet,
        (out, queue): (u16, u16),
        upstream: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if chassis.truth.is_some() {
            let scope = Scope { class: packet.class, key: u32::from(queue) };
            let upstream = self.scheme.upstream_key(upstream);
            let bytes = self.bytes_from(chassis, (packet.port, upstream), (out, scope), false);
            let by_host = self.links.to_host[usize::from(packet.port)];
            let named = cx.world.hold_names(packet.flow, packet.dst, packet.class);
            let held = if by_host && named.0 != KeyedBy::Root { named.1 } else { upstream };
            let gate = self.scheme.gate(chassis.ports.at(out, packet.class), queue);
            let holder =
                Holder { out, scope: Scope { key: gate.map_or(Scope::ALL, |gate| gate.1), ..scope }, bytes };
            chassis.push_hold_of((packet.port, packet.class), Some(held), holder, cx);
        }
    }

    /// Bytes in a queue of an egress port that came in by a port from a queue upstream: all, or those for which that one is held.
    fn bytes_from(
        &self,
        chassis: &Chassis,
        (port, upstream): (u16, u32),
        (out, scope): (u16, Scope),
        held: bool,
    ) -> u64 {
        let at = chassis.ports.at(out, scope.class);
        let fifo = self.pools[at].fifos()[scope.key as usize];
        let queue = (at, scope.key as u16);
        let holds = |packet: &Packet, slot| !held || self.scheme.holds(packet, slot, queue);
        let own = chassis.ports.pool().slots_of(fifo).filter(|(slot, packet)| {
            packet.port == port
                && self.scheme.is_of(packet, *slot, queue, upstream, &self.links)
                && holds(packet, *slot)
        });
        own.map(|(_, packet)| u64::from(packet.size)).sum()
    }

    /// The gate of a class is closed while there are packets behind it, and each of them is held.
    fn settle<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let at = chassis.ports.at(out, class);
        let queues = (&mut self.pools[at], chassis.ports.pool_mut());
        self.scheme.tidy((out, at, cx.now), queues, (&self.links, cx.world));
        let pool = &self.pools[at];
        let waits = S::is_waiting(pool);
        let held = waits && !S::is_ready(pool);
        if let Some(next) = self.scheme.due(at, pool, cx.now) {
            chassis.ports.set_timer(next, out, Purpose::Turn, 0);
        }
        if waits {
            chassis.ports.egress_mut(out).set_waiting(class);
        } else {
            chassis.ports.egress_mut(out).clear_waiting(class);
        }
        let closed = chassis.ports.egress(out).paused() & (1 << class) != 0;
        if held && !closed {
            chassis.ports.close_gate(out, class, cx);
            chassis.gate_closed(self, out, 1 << class, cx);
        } else if closed && !held {
            chassis.ports.open_gate(out, class, false, cx);
            chassis.resumed(self, out, class, cx);
        }
    }
}

impl<S: Scheme> Fabric for Keyed<S> {
    fn most_queues(&self) -> Option<u32> {
        let most = self.pools.iter().map(|pool| u32::from(pool.most())).max();
        if S::MADE { None } else { most }
    }

    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if !chassis.admit(packet, out, cx) {
            return;
        }
        if packet.class == 0 {
            chassis.ports.enqueue(out, packet);
        } else {
            self.enter(chassis, packet, out, cx);
            self.flush(chassis, cx);
        }
        chassis.go(self, out, cx);
        chassis.ports.note_queue(out, packet.class);
    }

    /// Every frame of data carries the number of the queue that it left by in [`Packet::next`].
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let (packet, queue, gate) = match class {
            0 => (chassis.ports.dequeue(out, 0), 0, None),
            _ => self.take(chassis, out, class, cx),
        };
        if packet.is_flow_control() {
            return chassis.ports.transmit_whole(out, &packet, cx);
        }
        if S::ROOTS {
            chassis.waited(&packet, out, cx);
            self.note_apart(chassis, out, packet.class);
        } else {
            chassis.waited_in(&packet, (out, gate.map(|gate| gate.1)), cx);
            self.note_left(chassis, (out, queue), gate, &packet, cx);
        }
        chassis.let_go(self, &packet, cx);
        let code = if self.scheme.is_marked(&packet, chassis.ports.at(out, class)) {
            chassis.depart(out, &packet, cx)
        } else {
            // The detector sees it, and leaves it alone.
            chassis.depart(out, &Packet { code: CodePoint::NotCapable, ..packet }, cx);
            packet.code
        };
        chassis.ports.transmit(out, &Packet { next: u32::from(queue), ..packet }, code, cx);
        self.flush(chassis, cx);
    }

    fn let_go_as(&self, port: u16, began: u64) -> u32 {
        let known = self.let_go.by_port.get(usize::from(port));
        known.map_or(0, |(comes, place)| if *comes == began { *place } else { 0 })
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        let control = at.is_multiple_of(ports.classes());
        if control { std::slice::from_ref(ports.queue(at).fifo()) } else { self.pools[at].fifos() }
    }

    /// A Hold frame: a queue waits, or may go on.
    fn frame<P: Post<Packet>>(&mut self, chassis: &mut Chassis, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let (holds, class, _) = frame.held();
        if let Some(queue) = self.scheme.gate_of(frame) {
            self.note_change(chassis, (frame.port, class, queue), holds, cx);
        }
        let mut told = Vec::new();
        let queues = Queues { pools: &mut self.pools, links: &self.links, now: cx.now };
        self.scheme.hear(frame, chassis.ports.at(frame.port, class), queues, &mut told);
        self.note_gates(chassis, &told, cx);
        self.settle(chassis, frame.port, class, cx);
        if !told.is_empty() {
            self.follow(chassis, told, cx);
        }
        self.flush(chassis, cx);
        chassis.go(self, frame.port, cx);
    }

    /// Packets of a port go from one queue to another.
    fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        _: Purpose,
        (out, _): (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        let (mut turns, mut told) = (std::mem::take(&mut self.turns), Vec::new());
        for class in 1..chassis.ports.classes() as u8 {
            let at = chassis.ports.at(out, class);
            turns.clear();
            self.scheme.turns(at, &mut turns);
            for queue in turns.iter().copied() {
                // Freed meanwhile, or nothing there.
                if !self.pools[at].is_ready(queue) {
                    continue;
                }
                let queues = Queues { pools: &mut self.pools, links: &self.links, now: cx.now };
                let places = (chassis.ports.pool_mut(), cx.world);
                let gate = self.scheme.gate(at, queue);
                let moved = self.scheme.give_on((out, at, queue), queues, places, &mut told);
                chassis.waited_in(&moved.packet, (out, gate.map(|gate| gate.1)), cx);
                if let Some(upstream) = moved.held {
                    self.hold(chassis, &moved.packet, (out, moved.queue), upstream, cx);
                }
            }
            self.settle(chassis, out, class, cx);
        }
        self.turns = turns;
        self.follow(chassis, told, cx);
        chassis.go(self, out, cx);
    }

    /// What moves on by itself waits at no gate.
    fn first_sizes(&self, ports: &Ports, at: usize) -> Vec<u16> {
        let control = at.is_multiple_of(ports.classes());
        if !control && !S::is_waiting(&self.pools[at]) {
            return Vec::new();
        }
        let fifos = self.fifos(ports, at).iter().filter(|fifo| !fifo.is_empty());
        fifos.map(|fifo| ports.pool().first(*fifo).size).collect()
    }

    fn waits(&self, chassis: &Chassis) -> Vec<Wait> {
        let wait = |at: usize, (queue, since): (u16, u64)| {
            let (port, class) = chassis.ports.port_and_class(at);
            let egress = chassis.ports.egress(port);
            let scope = Scope { class, key: self.scheme.key(at, queue) };
            Wait { port, scope, since, node: egress.peer(), ingress: egress.peer_port() }
        };
        let pools = self.pools.iter().enumerate();
        pools.flat_map(|(at, pool)| pool.held().map(move |held| wait(at, held))).collect()
    }

    fn waits_for(&self, chassis: &Chassis, port: u16, scope: Scope, _world: &World) -> Vec<Holder> {
        let queues = |out: u16| {
            let count = self.pools[chassis.ports.at(out, scope.class)].count();
            (0..u32::from(count)).map(move |key| (out, Scope { class: scope.class, key }))
        };
        let holder = |(out, of): (u16, Scope)| {
            let bytes = self.bytes_from(chassis, (port, scope.key), (out, of), true);
            let key = self.scheme.key(chassis.ports.at(out, of.class), of.key as u16);
            (bytes > 0).then_some(Holder { out, scope: Scope { key, ..of }, bytes })
        };
        (0..chassis.ports.count()).flat_map(queues).filter_map(holder).collect()
    }

    fn check(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        chassis.check_memory(self, world)?;
        self.scheme.check(&self.pools, chassis.ports.pool())
    }

    fn state_bytes(&self) -> usize {
        self.pools.iter().map(QueuePool::state_bytes).sum::<usize>() + self.scheme.state_bytes()
    }
}
