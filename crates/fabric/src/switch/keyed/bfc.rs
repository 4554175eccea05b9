//! BFC, backpressure flow control: queues of flows. Which one a flow has, and how long it may be, is the rule of
//! [`backwater_control::isolation::bfc`].
//!
//! A packet that finds its queue too long is marked. As long as there are marked packets of a queue upstream, that one is held; when the
//! last one leaves, it is let go. Behind a host the flow stands for the queue. ACKs are flows of their own.
use backwater_control::isolation::Upstream;
use backwater_control::isolation::bfc::{FlowEntry, limit};
use backwater_engine::{Stream, stream};
use backwater_topology::Network;
use backwater_units::Span;
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::Rng;

use crate::link::queue::Pool;
use crate::link::queue_pool::QueuePool;
use crate::packet::Packet;
use crate::spec::BfcSpec;
use crate::switch::keyed::flows::FlowTable;
use crate::switch::keyed::{Keyed, Links, Place, Scheme};
use crate::world::World;

/// Purpose of the random streams that choose among queues which are all taken; entity: node << 16 | port. Detectors draw from others, so
/// that marks alone change no queue.
const SHARING: u64 = 0xbfc0;

/// What a switch remembers of a packet that waits.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Tag {
    /// The queue that it came from.
    upstream: u16,
    /// Whether it holds that one.
    marked: bool,
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Bfc {
    spec: BfcSpec,
    /// By egress port and class; those of the control class have nothing.
    flows: Vec<FlowTable>,
    /// What holds a queue upstream: `[(port * classes + class) * queues + queue]`.
    upstream: Vec<Upstream>,
    /// By slot of the packet memory.
    tags: Vec<Tag>,
    /// By egress port: which queue a flow shares where none is free.
    random: Vec<Stream>,
}

impl Bfc {
    pub(crate) fn switch(
        node: u32,
        network: &Network,
        classes: usize,
        spec: BfcSpec,
        seed: u64,
    ) -> Keyed<Self> {
        let ports = network.ports(node).len();
        let places = ports * classes;
        let scheme = |links: &Links| {
            let longest = links.round_trip.iter().max().copied().unwrap_or_default();
            Self {
                flows: (0..places).map(|_| FlowTable::new(longest * u64::from(spec.sticky))).collect(),
                upstream: vec![Upstream::default(); places * usize::from(spec.queues)],
                tags: Vec::new(),
                random: (0..ports as u64)
                    .map(|port| stream(seed, SHARING, u64::from(node) << 16 | port))
                    .collect(),
                spec,
            }
        };
        Keyed::new((node, network, classes), (spec.queues, spec.order, spec.frame), scheme)
    }

    fn sticky(&self, round_trip: Span) -> Span {
        round_trip * u64::from(self.spec.sticky)
    }
}

/// What holds a queue at the other end of an ingress port, or behind a host a flow.
fn upstream<'a>(
    (all, queues): (&'a mut [Upstream], u16),
    flow: &'a mut FlowEntry,
    from_host: bool,
    place: usize,
    queue: u16,
) -> &'a mut Upstream {
    if from_host { &mut flow.upstream } else { &mut all[place * usize::from(queues) + usize::from(queue)] }
}

impl Scheme for Bfc {
    fn join(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, memory): (&mut QueuePool, &mut Pool),
        (links, world): (&Links, &World),
    ) -> (u16, Option<u16>) {
        let port = usize::from(packet.port);
        let sticky = self.sticky(links.round_trip[port]);
        let flow = self.flows[place.at].entry(world.flow_key(packet.flow, packet.dst), place.now);
        let random = &mut self.random[usize::from(place.out)];
        let any = || (random.next_u32() % u32::from(pool.count())) as u16;
        let queue = flow.place(place.now, sticky, || pool.free().unwrap_or_else(any));
        if flow.entered(place.now) {
            pool.assign(queue);
        }
        let slot = pool.push(memory, queue, packet);
        let most = limit(links.hop_bytes(packet.port, place.out), pool.active());
        let tag = Tag { upstream: packet.next as u16, marked: u64::from(pool.bytes(queue)) > most };
        if self.tags.len() <= slot {
            self.tags.resize(memory.slots(), Tag::default());
        }
        self.tags[slot] = tag;
        let all = (&mut self.upstream[..], self.spec.queues);
        let first = tag.marked && upstream(all, flow, links.to_host[port], place.from, tag.upstream).mark();
        (queue, first.then_some(tag.upstream))
    }

    fn left(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue, slot): (&mut QueuePool, u16, usize),
        (links, world): (&Links, &World),
    ) -> Option<(u16, u16)> {
        let flow = self.flows[place.at].entry(world.flow_key(packet.flow, packet.dst), place.now);
        if flow.left(place.now) {
            pool.unassign(queue);
        }
        let tag = self.tags[slot];
        let (all, from_host) =
            ((&mut self.upstream[..], self.spec.queues), links.to_host[usize::from(packet.port)]);
        let last = tag.marked && upstream(all, flow, from_host, place.from, tag.upstream).unmark();
        last.then_some((packet.port, tag.upstream))
    }

    fn queue_of(&self, frame: &Packet) -> u16 {
        frame.held().2
    }

    fn is_of(&self, packet: &Packet, slot: usize, _: (usize, u16), upstream: u32, links: &Links) -> bool {
        links.to_host[usize::from(packet.port)] || u32::from(self.tags[slot].upstream) == upstream
    }

    fn holds(&self, _packet: &Packet, slot: usize, _queue: (usize, u16)) -> bool {
        self.tags[slot].marked
    }

    /// Each queue or flow that is held upstream is so for marked packets that are here, and each marked packet holds one.
    fn check(&self, pools: &[QueuePool], memory: &Pool) -> Result<(), String> {
        let (mut packets, mut marked) = (0, 0);
        for (slot, _) in pools.iter().flat_map(QueuePool::fifos).flat_map(|fifo| memory.slots_of(*fifo)) {
            packets += 1;
            marked += u32::from(self.tags[slot].marked);
        }
        let flows = || self.flows.iter().flat_map(FlowTable::iter);
        let known: u32 = flows().map(FlowEntry::packets).sum();
        if known != packets {
            return Err(format!("the flows count {known} packets, and {packets} wait"));
        }
        let holds = self.upstream.iter().chain(flows().map(|flow| &flow.upstream));
        let counted: u32 = holds.map(Upstream::marked).sum();
        if counted != marked {
            return Err(format!(
                "{marked} packets are marked, and {counted} are counted as holding a queue upstream"
            ));
        }
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        let flows = self.flows.iter().map(FlowTable::state_bytes).sum::<usize>();
        flows + size_of_val(&*self.upstream) + size_of_val(&*self.tags)
    }
}
