//! A switch with a pool of queues at each egress port, which holds flows upstream and not classes (BFC, backpressure flow control).
//!
//! ```text
//!   link ─▶ queue of its flow at the egress port ─┬─▶ of the open ones the next in turn ─▶ link, with the queue's number
//!                    ▲ longer than its share      └─▶ none is open: the gate of the class closes
//!                    └─ Hold frame to where the packet came from: its queue there closes, or at a NIC its queue pair
//! ```
//! 1. A packet joins the queue of its flow ([`QueuePool`]); which that is and how long it may be is the rule of
//!    [`backwater_control::isolation::bfc`].
//! 2. A packet that finds its queue too long is marked. As long as there are marked packets of a queue upstream, that one is held by a
//!    frame ([`Kind::Hold`]); when the last one leaves, another frame lets it go. Every frame of data carries the number of the queue that it
//!    left by in [`Packet::next`]; behind a host its flow stands for that.
//! 3. To records, the gate of a class is closed while all that waits behind it is held, as under credits. The deadlock check sees queues.
//!
//! ACKs are flows of their own. The control class has one queue, as in every switch.
mod audit;
mod flows;

use backwater_control::isolation::bfc::{Upstream, limit};
use backwater_engine::Post;
use backwater_topology::Network;
use backwater_units::{Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::Rng;

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ports::Ports;
use crate::link::queue::Fifo;
use crate::link::queue_pool::QueuePool;
use crate::packet::{Kind, Packet};
use crate::spec::BfcSpec;
use crate::switch::bfc::flows::FlowTable;
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::truth::Holder;
use crate::world::World;

/// What a switch remembers of a packet that waits.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Tag {
    /// The queue that it came from.
    upstream: u16,
    /// Whether it holds that one.
    marked: bool,
}

/// What came in by a port.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Ingress {
    /// From a NIC: flows stand for queues.
    from_host: bool,
    /// What a frame takes there and back.
    round_trip: Span,
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Bfc {
    spec: BfcSpec,
    /// `pools[port * classes + class]`, as are the flows; those of the control class have nothing.
    pools: Vec<QueuePool>,
    flows: Vec<FlowTable>,
    /// What holds a queue upstream: `[(port * classes + class) * queues + queue]`.
    upstream: Vec<Upstream>,
    /// By slot of the packet memory.
    tags: Vec<Tag>,
    ingress: Vec<Ingress>,
    rates: Vec<Rate>,
}

impl Bfc {
    pub(crate) fn new(node: u32, network: &Network, classes: usize, spec: BfcSpec) -> Self {
        let ports = network.ports(node);
        let at = 0..ports.len() * classes;
        let queues = |at: usize| if at.is_multiple_of(classes) { 0 } else { spec.queues };
        let ingress: Vec<Ingress> = ports
            .iter()
            .map(|port| Ingress { from_host: !network.is_switch(port.peer), round_trip: port.delay * 2 })
            .collect();
        let longest = ingress.iter().map(|it| it.round_trip * u64::from(spec.sticky)).max();
        Self {
            pools: at.clone().map(|at| QueuePool::new(queues(at))).collect(),
            flows: at.clone().map(|_| FlowTable::new(longest.unwrap_or_default())).collect(),
            upstream: vec![Upstream::default(); at.len() * usize::from(spec.queues)],
            tags: Vec::new(),
            ingress,
            rates: ports.iter().map(|port| port.rate).collect(),
            spec,
        }
    }

    /// A packet joins the queue of its flow.
    fn enter<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let (class, now) = (packet.class, Time::from_ps(cx.now));
        let Ingress { from_host, round_trip } = self.ingress[usize::from(packet.port)];
        let at = chassis.ports.at(out, class);
        let (pool, random) = (&mut self.pools[at], &mut chassis.random[usize::from(out)]);
        let flow = self.flows[at].entry(cx.world.flow_key(packet.flow, packet.dst), now);
        let sticky = round_trip * u64::from(self.spec.sticky);
        let any = || (random.next_u32() % u32::from(pool.count())) as u16;
        let queue = flow.place(now, sticky, || pool.free().unwrap_or_else(any));
        if flow.entered(now) {
            pool.assign(queue);
        }
        let slot = pool.push(chassis.ports.pool_mut(), queue, packet);
        chassis.ports.queue_mut(at).grow(packet.size);
        chassis.ports.egress_mut(out).set_waiting(class);
        let most = limit(self.rates[usize::from(out)].bytes_in(round_trip).get(), pool.active());
        let tag = Tag { upstream: packet.next as u16, marked: u64::from(pool.bytes(queue)) > most };
        if self.tags.len() <= slot {
            self.tags.resize(chassis.ports.pool().slots(), Tag::default());
        }
        self.tags[slot] = tag;
        if tag.marked {
            let place = chassis.ports.at(packet.port, class);
            let first =
                if from_host { flow.upstream.mark() } else { self.of_queue(place, tag.upstream).mark() };
            if first {
                chassis.memory.count_pause(place);
                self.note(chassis, packet, (out, queue), tag.upstream, cx);
                self.tell(chassis, packet, tag.upstream, true, cx);
            }
        }
        self.settle(chassis, out, class, cx);
    }

    /// Takes the next packet of a class whose gate is open, with the number of its queue.
    fn take<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) -> (Packet, u16) {
        let (at, now) = (chassis.ports.at(out, class), Time::from_ps(cx.now));
        let pool = &mut self.pools[at];
        let queue = pool.next(self.spec.order).expect("the gate of a class is closed while none may leave");
        let (slot, packet) = pool.pop(chassis.ports.pool_mut(), queue);
        chassis.ports.queue_mut(at).shrink(packet.size);
        if pool.is_empty() {
            chassis.ports.egress_mut(out).clear_waiting(class);
        }
        let flow = self.flows[at].entry(cx.world.flow_key(packet.flow, packet.dst), now);
        if flow.left(now) {
            pool.unassign(queue);
        }
        let tag = self.tags[slot];
        if tag.marked {
            let place = chassis.ports.at(packet.port, class);
            let from_host = self.ingress[usize::from(packet.port)].from_host;
            let last =
                if from_host { flow.upstream.unmark() } else { self.of_queue(place, tag.upstream).unmark() };
            if last {
                self.tell(chassis, &packet, tag.upstream, false, cx);
            }
        }
        self.settle(chassis, out, class, cx);
        (packet, queue)
    }

    /// What holds a queue at the other end of an ingress port.
    fn of_queue(&mut self, place: usize, queue: u16) -> &mut Upstream {
        &mut self.upstream[place * usize::from(self.spec.queues) + usize::from(queue)]
    }

    /// Tells the port upstream of a packet that its queue there is held, or is not any more.
    fn tell<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        upstream: u16,
        holds: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let frame = Packet::hold(packet, upstream, holds, self.spec.frame.get() as u16);
        chassis.ports.enqueue(packet.port, &frame);
        chassis.go(self, packet.port, cx);
    }

    /// The ground truth is to know for the sake of which queue one upstream is held.
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
            let from = (packet.port, upstream);
            let bytes = self.bytes_from(chassis, from, (out, scope), false);
            chassis.push_hold((packet.port, packet.class), Holder { out, scope, bytes }, cx);
        }
    }

    /// Bytes in a queue of an egress port that came in by a port from a queue upstream; those that hold it, or all.
    fn bytes_from(
        &self,
        chassis: &Chassis,
        (port, upstream): (u16, u16),
        (out, scope): (u16, Scope),
        marked: bool,
    ) -> u64 {
        let fifo = self.pools[chassis.ports.at(out, scope.class)].fifos()[scope.key as usize];
        let own = chassis.ports.pool().slots_of(fifo).filter(|(slot, packet)| {
            let tag = self.tags[*slot];
            let is_of = self.ingress[usize::from(port)].from_host || tag.upstream == upstream;
            packet.port == port && is_of && (tag.marked || !marked)
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

impl Fabric for Bfc {
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

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let (packet, queue) = match class {
            0 => (chassis.ports.dequeue(out, 0), 0),
            _ => self.take(chassis, out, class, cx),
        };
        if packet.kind == Kind::Hold {
            return chassis.ports.transmit_whole(out, &packet, cx);
        }
        chassis.waited(&packet, out, cx);
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
        let (holds, class, queue) = frame.held();
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
        self.check_holds(chassis)
    }

    fn state_bytes(&self) -> usize {
        let pools = self.pools.iter().map(QueuePool::state_bytes).sum::<usize>();
        let flows = self.flows.iter().map(FlowTable::state_bytes).sum::<usize>();
        pools + flows + size_of_val(&*self.upstream) + size_of_val(&*self.tags)
    }
}
