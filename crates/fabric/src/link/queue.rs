//! Packet memory of a node: one slab, in which every queue is a linked list.
use std::io::{Result, Write};

use crate::packet::Packet;
use crate::reuse::relative;
use borsh::{BorshDeserialize, BorshSerialize};

const NONE: u32 = u32::MAX;

/// First and last packet of a queue in the node's [`Pool`].
#[derive(Clone, Copy, Debug, BorshDeserialize)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
}

impl BorshSerialize for Fifo {
    fn serialize<W: Write>(&self, out: &mut W) -> Result<()> {
        match relative::waiting(self.head) {
            Some(packets) => packets.serialize(out),
            None => (self.head, self.tail).serialize(out),
        }
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Fifo {
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// The slots of the first and the last packet of a queue that is not empty.
    #[inline]
    pub(crate) const fn slots(self) -> (usize, usize) {
        (self.head as usize, self.tail as usize)
    }
}

/// The slab. Freed slots are used again last in, first out, so that they are still in the cache.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: u32,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { packets: Vec::new(), free: NONE }
    }

    /// All slots, also those not in use.
    pub(crate) fn memory_of_packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Whether the next packet needs a new slot.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// A new slot for a full slab. Memory grows by a quarter, not twofold: at the worst moment of a large fabric it counts. Most NICs need
    /// few slots.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self) {
        if self.packets.len() == self.packets.capacity() {
            let slots = self.packets.len();
            self.packets.reserve_exact((slots / 4).max(slots.clamp(8, 32)));
        }
        self.free = self.packets.len() as u32;
        self.packets.push(Packet { next: NONE, ..Packet::NONE });
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: &mut Fifo, packet: &Packet) {
        if self.is_full() {
            self.grow();
        }
        let slot = self.free;
        let place = &mut self.packets[slot as usize];
        self.free = place.next;
        *place = *packet;
        place.next = NONE;
        if queue.head == NONE {
            queue.head = slot;
        } else {
            self.packets[queue.tail as usize].next = slot;
        }
        queue.tail = slot;
    }

    /// Takes the first packet of a queue that is not empty.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &mut Fifo) -> Packet {
        let slot = queue.head;
        let place = &mut self.packets[slot as usize];
        let packet = *place;
        place.next = self.free;
        self.free = slot;
        queue.head = packet.next;
        packet
    }

    /// The first packet of a queue that is not empty.
    #[inline]
    pub(crate) fn first(&self, queue: Fifo) -> &Packet {
        &self.packets[queue.head as usize]
    }

    #[inline]
    pub(crate) fn first_mut(&mut self, queue: Fifo) -> &mut Packet {
        &mut self.packets[queue.head as usize]
    }

    /// The last packet of a queue, if it has any.
    #[inline]
    pub(crate) fn last_mut(&mut self, queue: Fifo) -> Option<&mut Packet> {
        if queue.is_empty() { None } else { Some(&mut self.packets[queue.tail as usize]) }
    }

    /// The packets of a queue, first to last.
    pub(crate) fn iter(&self, queue: Fifo) -> impl Iterator<Item = &Packet> {
        self.slots_of(queue).map(|(_, packet)| packet)
    }

    /// The same with their slots.
    pub(crate) fn slots_of(&self, queue: Fifo) -> impl Iterator<Item = (usize, &Packet)> {
        let mut at = queue.head;
        std::iter::from_fn(move || {
            let slot = at as usize;
            let packet = self.packets.get(slot)?;
            at = packet.next;
            Some((slot, packet))
        })
    }

    /// Slots not in use.
    pub(crate) fn free_slots(&self) -> usize {
        let mut at = self.free;
        let mut count = 0;
        while at != NONE {
            count += 1;
            at = self.packets[at as usize].next;
        }
        count
    }

    /// The packets in it, in no order.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &Packet> {
        let mut taken = vec![true; self.packets.len()];
        let mut at = self.free;
        while at != NONE {
            taken[at as usize] = false;
            at = self.packets[at as usize].next;
        }
        self.packets.iter().zip(taken).filter_map(|(packet, taken)| taken.then_some(packet))
    }

    /// How many of the packets in it are `like` one.
    pub(crate) fn count(&self, like: impl Fn(&Packet) -> bool) -> usize {
        let slots = self.packets.iter().filter(|packet| like(packet)).count();
        if slots == 0 {
            return 0;
        }
        // A freed slot still has the packet that was in it.
        let mut freed = 0;
        let mut at = self.free;
        while at != NONE {
            let packet = &self.packets[at as usize];
            freed += usize::from(like(packet));
            at = packet.next;
        }
        slots - freed
    }

    /// Slots in all; what was needed at the worst moment.
    pub(crate) const fn slots(&self) -> usize {
        self.packets.len()
    }

    /// Bytes held.
    pub(crate) const fn memory(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_while_they_stand_and_not_after() {
        let (mut pool, mut queue) = (Pool::new(), Fifo::default());
        let of = |flow| Packet { flow, ..Packet::NONE };
        for flow in [4, 7, 4, 4] {
            pool.push(&mut queue, &of(flow));
        }
        let count = |pool: &Pool, flow| pool.count(|packet| packet.flow == flow);
        assert_eq!([4, 7, 8].map(|flow| count(&pool, flow)), [3, 1, 0]);
        pool.pop(&mut queue);
        pool.pop(&mut queue);
        assert_eq!([4, 7].map(|flow| count(&pool, flow)), [2, 0]);
        // The slot of the last one that left is used again first.
        pool.push(&mut queue, &of(8));
        assert_eq!([4, 7, 8].map(|flow| count(&pool, flow)), [2, 0, 1]);
    }
}
