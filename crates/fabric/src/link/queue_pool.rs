//! Queues of a port that belong to keys (flows, destinations) and not to classes: 32 to 1024, assigned when a key has packets.
//!
//! ```text
//!   key ─▶ assignment ─▶ queue ─▶ ready: has packets and is not paused ─▶ next in turn
//!            └ a free queue, else one that others have: its keys are paused and served together
//! ```
//! A key keeps its queue as long as it has packets, so that they leave in order. A bit per queue says which are ready; the class of
//! the queues stays what the port looks at first ([`crate::link::egress::Egress::waiting`]), and only behind it is this asked.
use std::collections::BTreeMap;

use crate::link::queue::{Fifo, Pool};
use crate::packet::Packet;

/// Bounds of the number of queues: what switches of today have at a port, and what BFC's authors simulate at most.
pub(crate) const FEWEST: u16 = 32;
pub(crate) const MOST: u16 = 1024;

/// One queue.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    fifo: Fifo,
    bytes: u32,
    /// Keys that it is assigned to.
    keys: u32,
}

/// Where the packets of a key are.
#[derive(Clone, Copy, Debug)]
struct Assigned {
    queue: u16,
    packets: u32,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub(crate) struct QueuePool {
    slots: Vec<Slot>,
    keys: BTreeMap<u32, Assigned>,
    /// A bit per queue.
    used: Bits,
    waiting: Bits,
    paused: Bits,
    /// The queue served last, and the one assigned last.
    turn: u16,
    assigned: u16,
}

impl QueuePool {
    /// So many queues, within [`FEWEST`] and [`MOST`].
    pub(crate) fn new(queues: u16) -> Self {
        let queues = queues.clamp(FEWEST, MOST);
        let bits = Bits(vec![0; usize::from(queues).div_ceil(64)]);
        Self {
            slots: vec![Slot::default(); usize::from(queues)],
            keys: BTreeMap::new(),
            used: bits.clone(),
            waiting: bits.clone(),
            paused: bits,
            turn: queues - 1,
            assigned: queues - 1,
        }
    }

    /// Puts a packet of a key into its queue, and says which that is.
    pub(crate) fn enqueue(&mut self, pool: &mut Pool, key: u32, packet: &Packet) -> u16 {
        let queue = match self.keys.get_mut(&key) {
            Some(assigned) => {
                assigned.packets += 1;
                assigned.queue
            }
            None => self.assign(key),
        };
        let slot = &mut self.slots[usize::from(queue)];
        pool.push(&mut slot.fifo, packet);
        slot.bytes += u32::from(packet.size);
        self.waiting.set(queue);
        queue
    }

    /// The first packet of a key: it gets the next free queue, or shares the one that its number falls on.
    fn assign(&mut self, key: u32) -> u16 {
        let count = self.slots.len() as u16;
        let free = self.used.next_clear(self.assigned, count);
        let queue = free.unwrap_or((key % u32::from(count)) as u16);
        if free.is_some() {
            self.assigned = queue;
        }
        self.used.set(queue);
        self.slots[usize::from(queue)].keys += 1;
        self.keys.insert(key, Assigned { queue, packets: 1 });
        queue
    }

    /// The queue whose turn it is among those that have packets and are not paused.
    pub(crate) fn next(&self) -> Option<u16> {
        let ready = |word: usize| self.waiting.0[word] & !self.paused.0[word];
        after(self.turn, self.waiting.0.len(), ready)
    }

    /// Takes the first packet of a queue that is not empty; `key_of` says whose it is. The turn goes on to the queue after it.
    pub(crate) fn dequeue(&mut self, pool: &mut Pool, queue: u16, key_of: impl Fn(&Packet) -> u32) -> Packet {
        self.turn = queue;
        let slot = &mut self.slots[usize::from(queue)];
        let packet = pool.pop(&mut slot.fifo);
        slot.bytes -= u32::from(packet.size);
        if slot.fifo.is_empty() {
            self.waiting.clear(queue);
        }
        let key = key_of(&packet);
        if let Some(assigned) = self.keys.get_mut(&key) {
            assigned.packets -= 1;
            if assigned.packets == 0 {
                self.keys.remove(&key);
                slot.keys -= 1;
                if slot.keys == 0 {
                    self.used.clear(queue);
                }
            }
        }
        packet
    }

    /// Holds a queue, or lets it go. Whether that changes anything.
    pub(crate) fn pause(&mut self, queue: u16, paused: bool) -> bool {
        let before = self.paused.has(queue);
        if paused {
            self.paused.set(queue);
        } else {
            self.paused.clear(queue);
        }
        before != paused
    }

    /// The queue that a key has packets in.
    pub(crate) fn queue_of(&self, key: u32) -> Option<u16> {
        self.keys.get(&key).map(|assigned| assigned.queue)
    }

    pub(crate) fn is_paused(&self, queue: u16) -> bool {
        self.paused.has(queue)
    }

    /// Bytes in a queue.
    pub(crate) fn bytes(&self, queue: u16) -> u32 {
        self.slots[usize::from(queue)].bytes
    }

    /// The packets of all queues, queue by queue.
    pub(crate) fn packets<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = (u16, &'a Packet)> {
        let queues = (0..).zip(&self.slots);
        queues.flat_map(|(queue, slot)| pool.iter(slot.fifo).map(move |packet| (queue, packet)))
    }
}

/// A set of queues.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, queue: u16) -> bool {
        self.0[usize::from(queue) / 64] >> (queue % 64) & 1 == 1
    }

    fn set(&mut self, queue: u16) {
        self.0[usize::from(queue) / 64] |= 1 << (queue % 64);
    }

    fn clear(&mut self, queue: u16) {
        self.0[usize::from(queue) / 64] &= !(1 << (queue % 64));
    }

    /// The first of `count` queues after `queue`, around, that is not in the set.
    fn next_clear(&self, queue: u16, count: u16) -> Option<u16> {
        after(queue, self.0.len(), |word| {
            let inside = u32::from(count).saturating_sub(word as u32 * 64).min(64);
            !self.0[word] & u64::MAX.checked_shr(64 - inside).unwrap_or(0)
        })
    }
}

/// The first bit after `queue`, around, of so many words.
fn after(queue: u16, words: usize, word: impl Fn(usize) -> u64) -> Option<u16> {
    let (first, bit) = (usize::from(queue) / 64, u32::from(queue) % 64);
    let above = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
    let at = |number: usize, bits: u64| (bits != 0).then(|| (number * 64) as u16 + bits.trailing_zeros() as u16);
    at(first, word(first) & above)
        .or_else(|| (1..words).map(|step| (first + step) % words).find_map(|number| at(number, word(number))))
        .or_else(|| at(first, word(first) & !above))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 bytes of a flow, which is its key.
    fn packet(flow: u32) -> Packet {
        Packet { flow, size: 1000, ..Packet::NONE }
    }

    fn served(queues: &mut QueuePool, pool: &mut Pool, count: usize) -> Vec<u32> {
        let next = |_| queues.next().map(|queue| queues.dequeue(pool, queue, |packet| packet.flow).flow);
        (0..count).map_while(next).collect()
    }

    #[test]
    fn a_queue_takes_at_most_24_bytes() {
        assert_eq!(size_of::<Slot>(), 16);
    }

    #[test]
    fn three_keys_with_two_packets_each_are_served_in_turn() {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(32));
        for flow in [7, 7, 8, 8, 9, 9] {
            queues.enqueue(&mut pool, flow, &packet(flow));
        }
        assert_eq!(served(&mut queues, &mut pool, 9), [7, 8, 9, 7, 8, 9]);
        assert_eq!(queues.next(), None);
    }

    #[test]
    fn a_paused_queue_waits_and_keeps_its_packets_while_the_others_go_on() {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(32));
        for flow in [1, 1, 2, 2] {
            queues.enqueue(&mut pool, flow, &packet(flow));
        }
        let held = queues.queue_of(1).expect("it has packets");
        assert!(queues.pause(held, true) && !queues.pause(held, true));
        assert_eq!(served(&mut queues, &mut pool, 9), [2, 2]);
        assert_eq!((queues.bytes(held), queues.is_paused(held)), (2000, true));
        assert!(queues.pause(held, false));
        assert_eq!(served(&mut queues, &mut pool, 9), [1, 1]);
    }

    #[test]
    fn a_key_gives_its_queue_back_with_its_last_packet_and_gets_the_next_free_one_later() {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(32));
        assert_eq!(queues.enqueue(&mut pool, 5, &packet(5)), 0);
        assert_eq!(queues.enqueue(&mut pool, 5, &packet(5)), 0);
        assert_eq!(queues.enqueue(&mut pool, 6, &packet(6)), 1);
        assert_eq!(served(&mut queues, &mut pool, 3), [5, 6, 5]);
        assert_eq!(queues.queue_of(5), None);
        assert_eq!(queues.enqueue(&mut pool, 5, &packet(5)), 2);
    }

    #[test]
    fn with_more_keys_than_queues_two_share_one_in_the_order_of_arrival() {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(32));
        for flow in 0..33 {
            queues.enqueue(&mut pool, flow, &packet(flow));
        }
        // All 32 queues are taken: 32 falls on queue 0, which is that of flow 0.
        assert_eq!((queues.queue_of(32), queues.queue_of(0)), (Some(0), Some(0)));
        let order = served(&mut queues, &mut pool, 40);
        assert_eq!(order, (0..33).collect::<Vec<_>>());
        assert_eq!((queues.packets(&pool).count(), queues.next()), (0, None));
    }

    #[test]
    fn turns_and_assignments_go_around_at_numbers_that_are_no_multiple_of_64() {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(100));
        for round in 0..3 {
            for flow in 0..100 {
                assert!(queues.enqueue(&mut pool, flow, &packet(flow)) < 100);
            }
            let mut order = served(&mut queues, &mut pool, 200);
            order.sort_unstable();
            assert_eq!(order, (0..100).collect::<Vec<_>>(), "round {round}: each has a queue of its own");
        }
    }
}
