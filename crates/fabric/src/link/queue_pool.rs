//! Queues of an egress port behind one class: a number each, and no meaning. Who gets which, and what closes one, is the rule of a scheme.
//!
//! ```text
//!   packet, number ─▶ queue ─▶ ready: has packets and is open ─▶ the next in turn, or the lowest
//! ```
//! A bit per queue says whether it has packets, is closed, has users. The bits of the classes stay what a port looks at first
//! ([`crate::link::egress::Egress::waiting`]); only behind them is this asked.
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::queue::{Fifo, Pool};
use crate::packet::Packet;
use crate::spec::PoolOrder;

/// What is known of a queue beside its packets.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Slot {
    /// Since when it is closed.
    since: u64,
    bytes: u32,
    /// How many have it, as far as the scheme says.
    users: u32,
}

/// The queues of one port and class.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct QueuePool {
    fifos: Vec<Fifo>,
    slots: Vec<Slot>,
    waiting: Bits,
    closed: Bits,
    used: Bits,
    /// The queue served last.
    turn: u16,
    /// How many have packets, and the most that had at a time.
    busy: (u16, u16),
}

impl QueuePool {
    pub(crate) fn new(queues: u16) -> Self {
        let bits = Bits(vec![0; usize::from(queues).div_ceil(64)]);
        Self {
            fifos: vec![Fifo::default(); usize::from(queues)],
            slots: vec![Slot::default(); usize::from(queues)],
            waiting: bits.clone(),
            closed: bits.clone(),
            used: bits,
            turn: queues.saturating_sub(1),
            busy: (0, 0),
        }
    }

    /// Puts a packet at the end of a queue; returns its slot in the pool.
    pub(crate) fn push(&mut self, pool: &mut Pool, queue: u16, packet: &Packet) -> usize {
        let fifo = &mut self.fifos[usize::from(queue)];
        pool.push(fifo, packet);
        self.slots[usize::from(queue)].bytes += u32::from(packet.size);
        if !self.waiting.has(queue) {
            self.waiting.set(queue);
            self.busy.0 += 1;
            self.busy.1 = self.busy.1.max(self.busy.0);
        }
        fifo.slots().1
    }

    /// Takes the first packet of a queue that is not empty, with the slot that it had in the pool.
    pub(crate) fn pop(&mut self, pool: &mut Pool, queue: u16) -> (usize, Packet) {
        self.turn = queue;
        let fifo = &mut self.fifos[usize::from(queue)];
        let slot = fifo.slots().0;
        let packet = pool.pop(fifo);
        self.slots[usize::from(queue)].bytes -= u32::from(packet.size);
        if fifo.is_empty() {
            self.waiting.clear(queue);
            self.busy.0 -= 1;
        }
        (slot, packet)
    }

    /// The first packet of a queue goes to the end of another one; whose turn it is stays.
    pub(crate) fn shift(&mut self, pool: &mut Pool, from: u16, to: u16) {
        let turn = self.turn;
        let packet = self.pop(pool, from).1;
        self.push(pool, to, &packet);
        self.turn = turn;
    }

    /// The queue that is served next, of those that have packets and are open.
    pub(crate) fn next(&self, order: PoolOrder) -> Option<u16> {
        let ready = |word: usize| self.waiting.0[word] & !self.closed.0[word];
        match order {
            PoolOrder::RoundRobin => after(self.turn, self.waiting.0.len(), ready),
            PoolOrder::LowestFirst => first(0..self.waiting.0.len(), ready),
        }
    }

    /// Closes a queue from `now` on, if it is open.
    pub(crate) fn close(&mut self, queue: u16, now: u64) {
        if !self.closed.has(queue) {
            self.closed.set(queue);
            self.slots[usize::from(queue)].since = now;
        }
    }

    pub(crate) fn open(&mut self, queue: u16) {
        self.closed.clear(queue);
    }

    pub(crate) fn is_closed(&self, queue: u16) -> bool {
        self.closed.has(queue)
    }

    /// Whether a queue has packets and is open.
    pub(crate) fn is_ready(&self, queue: u16) -> bool {
        self.waiting.has(queue) && !self.closed.has(queue)
    }

    /// The closed queues that have packets, and since when they are closed.
    pub(crate) fn held(&self) -> impl Iterator<Item = (u16, u64)> {
        let words = self.waiting.0.iter().zip(&self.closed.0).map(|(waiting, closed)| waiting & closed);
        let held = words.enumerate().flat_map(|(number, bits)| ones(number, bits));
        held.map(|queue| (queue, self.slots[usize::from(queue)].since))
    }

    /// One more has a queue.
    pub(crate) fn assign(&mut self, queue: u16) {
        self.slots[usize::from(queue)].users += 1;
        self.used.set(queue);
    }

    /// One has it no more. Whether nobody has it now.
    pub(crate) fn unassign(&mut self, queue: u16) -> bool {
        let users = &mut self.slots[usize::from(queue)].users;
        *users -= 1;
        let unused = *users == 0;
        if unused {
            self.used.clear(queue);
        }
        unused
    }

    /// The lowest open queue that nobody has.
    pub(crate) fn free(&self) -> Option<u16> {
        let free = |word: usize| !(self.used.0[word] | self.closed.0[word]);
        first(0..self.used.0.len(), free).filter(|queue| *queue < self.count())
    }

    /// How many queues have packets and are open.
    pub(crate) fn active(&self) -> u32 {
        self.waiting
            .0
            .iter()
            .zip(&self.closed.0)
            .map(|(waiting, closed)| (waiting & !closed).count_ones())
            .sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.0.iter().all(|word| *word == 0)
    }

    /// Bytes in a queue.
    pub(crate) fn bytes(&self, queue: u16) -> u32 {
        self.slots[usize::from(queue)].bytes
    }

    /// The most queues that had packets at a time.
    pub(crate) const fn most(&self) -> u16 {
        self.busy.1
    }

    /// How many queues there are.
    pub(crate) const fn count(&self) -> u16 {
        self.slots.len() as u16
    }

    /// All queues.
    pub(crate) fn fifos(&self) -> &[Fifo] {
        &self.fifos
    }

    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.fifos) + size_of_val(&*self.slots) + 3 * size_of_val(&*self.used.0)
    }
}

/// A set of queues.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
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
}

/// The first bit of these words.
fn first(mut words: impl Iterator<Item = usize>, word: impl Fn(usize) -> u64) -> Option<u16> {
    words.find_map(|number| at(number, word(number)))
}

/// The first bit after `queue`, around, of so many words.
fn after(queue: u16, words: usize, word: impl Fn(usize) -> u64) -> Option<u16> {
    let start = usize::from(queue) / 64;
    let above = u64::MAX.unbounded_shl(u32::from(queue % 64) + 1);
    at(start, word(start) & above)
        .or_else(|| first((1..words).map(|step| (start + step) % words), &word))
        .or_else(|| at(start, word(start)))
}

/// The bits of the word of a number, each in turn: what is not there costs nothing.
fn ones(number: usize, bits: u64) -> impl Iterator<Item = u16> {
    let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(bits).filter(|bits| *bits != 0), rest).filter_map(move |bits| at(number, bits))
}

/// The first bit of the word of a number.
fn at(number: usize, bits: u64) -> Option<u16> {
    (bits != 0).then(|| (number * 64) as u16 + bits.trailing_zeros() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_TURN: PoolOrder = PoolOrder::RoundRobin;

    /// Queues with a packet of 1000 B for each of these numbers.
    fn queues(count: u16, packets: impl IntoIterator<Item = u16>) -> (Pool, QueuePool) {
        let (mut pool, mut queues) = (Pool::new(), QueuePool::new(count));
        for queue in packets {
            queues.push(&mut pool, queue, &Packet { flow: u32::from(queue), size: 1000, ..Packet::NONE });
        }
        (pool, queues)
    }

    fn served(queues: &mut QueuePool, pool: &mut Pool, order: PoolOrder) -> Vec<u16> {
        std::iter::from_fn(|| {
            let queue = queues.next(order)?;
            let (_, packet) = queues.pop(pool, queue);
            assert_eq!(packet.flow, u32::from(queue));
            Some(queue)
        })
        .collect()
    }

    #[test]
    fn a_queue_takes_at_most_24_bytes() {
        assert_eq!(size_of::<Slot>() + size_of::<Fifo>(), 24);
    }

    #[test]
    fn queues_are_served_in_turn_or_the_lowest_first() {
        let packets = [70, 2, 2, 70, 99, 2];
        let (mut pool, mut these) = queues(100, packets);
        assert_eq!(served(&mut these, &mut pool, IN_TURN), [2, 70, 99, 2, 70, 2]);
        let (mut pool, mut these) = queues(100, packets);
        assert_eq!(served(&mut these, &mut pool, PoolOrder::LowestFirst), [2, 2, 2, 70, 70, 99]);
        assert!(these.is_empty());
    }

    #[test]
    fn the_most_queues_that_had_packets_at_a_time_are_remembered() {
        let (mut pool, mut these) = queues(8, [1, 1, 2]);
        assert_eq!(these.most(), 2);
        these.close(1, 0);
        served(&mut these, &mut pool, IN_TURN);
        these.push(&mut pool, 5, &Packet { size: 64, ..Packet::NONE });
        assert_eq!(these.most(), 2);
        these.push(&mut pool, 6, &Packet { size: 64, ..Packet::NONE });
        assert_eq!(these.most(), 3);
    }

    #[test]
    fn a_closed_queue_waits_with_its_packets_while_the_others_go_on() {
        let (mut pool, mut these) = queues(8, [1, 1, 2]);
        these.close(1, 5);
        these.close(1, 6);
        these.close(3, 7);
        assert_eq!((these.active(), these.bytes(1)), (1, 2000));
        assert_eq!(served(&mut these, &mut pool, IN_TURN), [2]);
        assert_eq!(these.held().collect::<Vec<_>>(), [(1, 5)]);
        these.open(1);
        assert_eq!(served(&mut these, &mut pool, IN_TURN), [1, 1]);
    }

    #[test]
    fn closed_queues_with_packets_are_found_among_many_from_the_lowest_on() {
        let (_, mut these) = queues(200, [0, 63, 64, 130, 199]);
        for (queue, now) in [(199, 4), (63, 1), (65, 2), (64, 3), (0, 5)] {
            these.close(queue, now);
        }
        assert_eq!(these.held().collect::<Vec<_>>(), [(0, 5), (63, 1), (64, 3), (199, 4)]);
    }

    #[test]
    fn the_lowest_queue_that_nobody_has_and_nothing_closes_is_free() {
        let mut these = QueuePool::new(66);
        assert_eq!(these.free(), Some(0));
        these.assign(0);
        these.assign(0);
        these.close(1, 0);
        assert_eq!(these.free(), Some(2));
        these.unassign(0);
        assert_eq!(these.free(), Some(2));
        these.unassign(0);
        assert_eq!(these.free(), Some(0));
        (0..66).for_each(|queue| these.assign(queue));
        assert_eq!(these.free(), None);
    }

    #[test]
    fn a_packet_that_goes_to_another_queue_takes_no_turn() {
        let (mut pool, mut these) = queues(4, [1, 2, 3]);
        assert_eq!(these.next(IN_TURN), Some(1));
        these.pop(&mut pool, 1);
        these.shift(&mut pool, 3, 0);
        assert_eq!((these.next(IN_TURN), these.bytes(0), these.bytes(3)), (Some(2), 1000, 0));
    }

    #[test]
    fn a_packet_is_found_by_its_slot_while_it_waits() {
        let (mut pool, mut these) = queues(4, [0]);
        let slot = these.push(&mut pool, 0, &Packet { size: 64, ..Packet::NONE });
        let first = these.pop(&mut pool, 0).0;
        assert_ne!(first, slot);
        assert_eq!(these.pop(&mut pool, 0).0, slot);
    }
}
