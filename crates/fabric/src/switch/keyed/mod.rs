//! A switch with a pool of queues at each egress port, which holds queues upstream and not classes. Which packets share a queue and how long
//! it may be is the rule of a [`Scheme`]: [`bfc`], [`dst_pfc`]. A switch of its own, which holds nothing upstream, is [`floodgate`].
//!
//! ```text
//!   link ─▶ queue of its key at the egress port ─┬─▶ of the open ones the next in turn ─▶ link, with a tag of the scheme's
//!                   ▲ too long                   └─▶ none is open: the gate of the class closes
//!                   └─ Hold frame to where the packet came from: its queue there closes, or what it stands for at a NIC
//! ```
//! 1. A packet joins a queue ([`QueuePool`]) and may cause a frame ([`Kind::Hold`]) that holds something upstream; a packet that leaves may
//!    cause frames that let it go.
//! 2. To records, the gate of a class is closed while all that waits behind it is held, as under credits. The deadlock check sees queues.
//!
//! The control class has one queue, as in every switch.
pub(crate) mod bfc;
mod closures;
pub(crate) mod dst_pfc;
pub(crate) mod floodgate;
mod flows;

use backwater_engine::Post;
use backwater_topology::Network;
use backwater_units::{Bytes, Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ports::Ports;
use crate::link::queue::{Fifo, Pool};
use crate::link::queue_pool::QueuePool;
use crate::packet::{Kind, Packet};
use crate::spec::PoolOrder;
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

/// Who shares a queue, and what holds what upstream.
pub(crate) trait Scheme: Clone + BorshSerialize + BorshDeserialize {
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

    /// The queue that a frame from downstream closes or opens.
    fn queue_of(&self, frame: &Packet) -> u16;

    /// Whether a packet in this slot waits here for what a queue upstream of this number, or a NIC, is held for.
    fn is_of(&self, packet: &Packet, slot: usize, upstream: u16, links: &Links) -> bool;

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
        let draining = Draining::default();
        Self { pools: pools.collect(), order, frame, scheme: scheme(&links), links, draining }
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
        chassis.ports.egress_mut(out).set_waiting(packet.class);
        if let Some(upstream) = held {
            chassis.memory.count_pause(place.from);
            self.note(chassis, packet, (out, queue), upstream, cx);
            self.tell(chassis, packet, (packet.port, upstream), true, cx);
        }
        self.settle(chassis, out, packet.class, cx);
    }

    /// Takes the next packet of a class whose gate is open, with the number of its queue.
    fn take<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) -> (Packet, u16) {
        let pool = &mut self.pools[chassis.ports.at(out, class)];
        let queue = pool.next(self.order).expect("the gate of a class is closed while none may leave");
        let (slot, packet) = pool.pop(chassis.ports.pool_mut(), queue);
        let place = Self::place(chassis, &packet, out, cx.now);
        chassis.ports.queue_mut(place.at).shrink(packet.size);
        if pool.is_empty() {
            chassis.ports.egress_mut(out).clear_waiting(class);
        }
        let queued = (&mut self.pools[place.at], queue, slot);
        let mut told = self.scheme.left(&packet, place, queued, (&self.links, cx.world));
        while let Some(upstream) = told {
            self.tell(chassis, &packet, upstream, false, cx);
            told = self.scheme.more(&packet, place, (&self.pools[place.at], queue), &self.links);
        }
        self.settle(chassis, out, class, cx);
        (packet, queue)
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
        chassis.ports.enqueue(port, &Packet::hold(packet, upstream, holds, self.frame.get() as u16));
        chassis.go(self, port, cx);
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
            let bytes = self.bytes_from(chassis, (packet.port, upstream), (out, scope), false);
            let by_host = self.links.to_host[usize::from(packet.port)];
            let named = cx.world.hold_names(packet.flow, packet.dst).1;
            let key = if by_host { named } else { u32::from(upstream) };
            let holder = Holder { out, scope, bytes };
            chassis.push_hold_of((packet.port, packet.class), Some(key), holder, cx);
        }
    }

    /// Bytes in a queue of an egress port that came in by a port from a queue upstream: all, or those for which that one is held.
    fn bytes_from(
        &self,
        chassis: &Chassis,
        (port, upstream): (u16, u16),
        (out, scope): (u16, Scope),
        held: bool,
    ) -> u64 {
        let at = chassis.ports.at(out, scope.class);
        let fifo = self.pools[at].fifos()[scope.key as usize];
        let holds = |packet: &Packet, slot| !held || self.scheme.holds(packet, slot, (at, scope.key as u16));
        let own = chassis.ports.pool().slots_of(fifo).filter(|(slot, packet)| {
            packet.port == port
                && self.scheme.is_of(packet, *slot, upstream, &self.links)
                && holds(packet, *slot)
        });
        own.map(|(_, packet)| u64::from(packet.size)).sum()
    }

    /// The gate of a class is closed while there are packets behind it, and each of them is held.
    fn settle<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let pool = &self.pools[chassis.ports.at(out, class)];
        let held = !pool.is_empty() && pool.active() == 0;
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
        }
        chassis.go(self, out, cx);
        chassis.ports.note_queue(out, packet.class);
    }

    /// Every frame of data carries the number of the queue that it left by in [`Packet::next`].
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let (packet, queue) = match class {
            0 => (chassis.ports.dequeue(out, 0), 0),
            _ => self.take(chassis, out, class, cx),
        };
        if packet.kind == Kind::Hold {
            return chassis.ports.transmit_whole(out, &packet, cx);
        }
        chassis.waited_in(&packet, (out, queue), cx);
        self.note_left(chassis, (out, queue), &packet, cx);
        chassis.let_go(self, &packet, cx);
        let code = chassis.depart(out, &packet, cx);
        chassis.ports.transmit(out, &Packet { next: u32::from(queue), ..packet }, code, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        let control = at.is_multiple_of(ports.classes());
        if control { std::slice::from_ref(ports.queue(at).fifo()) } else { self.pools[at].fifos() }
    }

    /// A Hold frame: a queue waits, or may go on.
    fn frame<P: Post<Packet>>(&mut self, chassis: &mut Chassis, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let ((holds, class, _), queue) = (frame.held(), self.scheme.queue_of(frame));
        self.note_change(chassis, (frame.port, class, queue), holds, cx);
        let pool = &mut self.pools[chassis.ports.at(frame.port, class)];
        if holds {
            pool.close(queue, cx.now);
        } else {
            pool.open(queue);
        }
        self.settle(chassis, frame.port, class, cx);
        chassis.go(self, frame.port, cx);
    }

    fn waits(&self, chassis: &Chassis) -> Vec<Wait> {
        let wait = |at: usize, (queue, since): (u16, u64)| {
            let (port, class) = chassis.ports.port_and_class(at);
            let egress = chassis.ports.egress(port);
            let scope = Scope { class, key: u32::from(queue) };
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
            let bytes = self.bytes_from(chassis, (port, scope.key as u16), (out, of), true);
            (bytes > 0).then_some(Holder { out, scope: of, bytes })
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
