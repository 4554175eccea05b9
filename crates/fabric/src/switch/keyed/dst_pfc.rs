//! PFC by destination: queues of destinations, of which each holds what comes for its destination and nothing else. When, is the rule of
//! [`backwater_control::isolation::dst_pfc`].
//!
//! Queue 2 and on belong to the destinations. Where they are apart only while they are held, the others share queue 1, and what goes before all
//! has queue 0.
use backwater_topology::Network;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::queue::Pool;
use crate::link::queue_pool::QueuePool;
use crate::packet::{Kind, Packet};
use crate::spec::{Apart, DstPfcSpec, PoolOrder};
use crate::switch::keyed::{Keyed, Links, Place, Scheme};
use crate::world::World;

const FIRST: u16 = 0;
const SHARED: u16 = 1;
/// The queue of the first destination.
const OWN: u16 = 2;

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct DstPfc {
    spec: DstPfcSpec,
    classes: usize,
    destinations: usize,
    /// Words of a set of ports.
    words: usize,
    /// By which ports a destination is held: `[(class * destinations + destination) * words]`.
    told: Vec<u64>,
}

impl DstPfc {
    pub(crate) fn switch(node: u32, network: &Network, classes: usize, spec: DstPfcSpec) -> Keyed<Self> {
        let (ports, destinations) = (network.ports(node).len(), network.hosts().len());
        let queues = destinations as u16 + OWN;
        let words = ports.div_ceil(64);
        let scheme = |_: &Links| Self {
            told: vec![0; classes * destinations * words],
            spec,
            classes,
            destinations,
            words,
        };
        let order = match spec.apart {
            Apart::Always => PoolOrder::RoundRobin,
            Apart::Held => PoolOrder::LowestFirst,
        };
        Keyed::new((node, network, classes), (queues, order, spec.frame), scheme)
    }

    fn queue(&self, packet: &Packet, pool: &QueuePool) -> u16 {
        let own = own(packet);
        let first = self.spec.first_packets && (packet.kind != Kind::Data || packet.seq == 0);
        match self.spec.apart {
            Apart::Held if !pool.is_closed(own) && pool.bytes(own) == 0 => {
                if first {
                    FIRST
                } else {
                    SHARED
                }
            }
            _ => own,
        }
    }

    /// Where the set of ports begins by which the destination of a packet is held, for the class of an egress queue.
    fn set(&self, at: usize, packet: &Packet) -> usize {
        (at % self.classes * self.destinations + packet.dst as usize) * self.words
    }
}

/// The queue of the destination of a packet, or that a frame is about.
const fn own(packet: &Packet) -> u16 {
    packet.dst as u16 + OWN
}

/// Bytes for the destination in its queue, or at the last hop, where all are for one. Elsewhere nobody counts those of a shared queue.
fn watched(pool: &QueuePool, queue: u16, place: Place, links: &Links) -> Option<u64> {
    let bytes = |queue| u64::from(pool.bytes(queue));
    if queue >= OWN {
        Some(bytes(queue))
    } else {
        links.to_host[usize::from(place.out)].then(|| bytes(FIRST) + bytes(SHARED))
    }
}

impl Scheme for DstPfc {
    fn join(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, memory): (&mut QueuePool, &mut Pool),
        (links, _): (&Links, &World),
    ) -> (u16, Option<u16>) {
        let queue = self.queue(packet, pool);
        pool.push(memory, queue, packet);
        let hop = links.hop_bytes(packet.port, place.out);
        let long = watched(pool, queue, place, links).is_some_and(|it| self.spec.thresholds.holds(it, hop));
        let word = self.set(place.at, packet) + usize::from(packet.port) / 64;
        let new = long && self.told[word] >> (packet.port % 64) & 1 == 0;
        self.told[word] |= u64::from(new) << (packet.port % 64);
        (queue, new.then_some(own(packet)))
    }

    fn left(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue, _): (&mut QueuePool, u16, usize),
        (links, _): (&Links, &World),
    ) -> Option<(u16, u16)> {
        self.more(packet, place, (pool, queue), links)
    }

    /// The next port by which the destination of a queue that has become short is held.
    fn more(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue): (&QueuePool, u16),
        links: &Links,
    ) -> Option<(u16, u16)> {
        let bytes = watched(pool, queue, place, links)?;
        let start = self.set(place.at, packet);
        for word in 0..self.words {
            let mut told = self.told[start + word];
            while told != 0 {
                let port = (word * 64) as u16 + told.trailing_zeros() as u16;
                told &= told - 1;
                if self.spec.thresholds.lets_go(bytes, links.hop_bytes(port, place.out)) {
                    self.told[start + word] &= !(1 << (port % 64));
                    return Some((port, own(packet)));
                }
            }
        }
        None
    }

    fn queue_of(&self, frame: &Packet) -> u16 {
        own(frame)
    }

    fn is_of(&self, packet: &Packet, _: usize, _: (usize, u16), upstream: u32, _: &Links) -> bool {
        u32::from(own(packet)) == upstream
    }

    fn holds(&self, packet: &Packet, _slot: usize, (at, _): (usize, u16)) -> bool {
        self.told[self.set(at, packet) + usize::from(packet.port) / 64] >> (packet.port % 64) & 1 == 1
    }

    /// Where nothing waits nothing is held.
    fn check(&self, pools: &[QueuePool], _memory: &Pool) -> Result<(), String> {
        let told: u32 = self.told.iter().map(|word| word.count_ones()).sum();
        if told > 0 && pools.iter().all(QueuePool::is_empty) {
            return Err(format!("{told} ports hold a destination, and no packet waits"));
        }
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.told)
    }
}
