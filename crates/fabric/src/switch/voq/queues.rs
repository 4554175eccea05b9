//! Queues of a switch by ingress and egress port (virtual output queues), and whose turn it is at each egress port.
use crate::link::queue::{Fifo, Pool};
use crate::packet::Packet;
use borsh::{BorshDeserialize, BorshSerialize};

/// The queues of all egress ports and classes. With one lane per egress port they are plain output queues.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Voqs {
    /// Queues per egress port and class: one for each ingress port, or one for all.
    lanes: usize,
    words: usize,
    /// `fifos[at * lanes + lane]`, where `at` is egress port · classes + class.
    fifos: Vec<Fifo>,
    /// Per `at` a set of lanes: those with packets.
    waiting: Vec<u64>,
    /// Per `at` the lane served last.
    turn: Vec<u16>,
}

impl Voqs {
    /// For `queues` egress queues (ports · classes) with `lanes` each.
    pub(crate) fn new(queues: usize, lanes: usize) -> Self {
        let words = lanes.div_ceil(64);
        Self {
            lanes,
            words,
            fifos: vec![Fifo::default(); queues * lanes],
            waiting: vec![0; queues * words],
            turn: vec![0; queues],
        }
    }

    #[inline]
    pub(crate) const fn lane(&self, ingress: u16) -> usize {
        if self.lanes == 1 { 0 } else { ingress as usize }
    }

    /// Appends a packet; returns whether it is the first of its queue.
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, at: usize, lane: usize, packet: &Packet) -> bool {
        let first = self.store(pool, at, lane, packet);
        self.show(at, lane);
        first
    }

    /// The same, but nobody serves the queue before it is [shown](Self::show).
    #[inline]
    pub(crate) fn store(&mut self, pool: &mut Pool, at: usize, lane: usize, packet: &Packet) -> bool {
        let fifo = &mut self.fifos[at * self.lanes + lane];
        let first = fifo.is_empty();
        pool.push(fifo, packet);
        first
    }

    /// From now on a queue is among those with packets.
    #[inline]
    pub(crate) fn show(&mut self, at: usize, lane: usize) {
        self.waiting[at * self.words + lane / 64] |= 1 << (lane % 64);
    }

    /// From now on it is not, though there may be packets in it.
    #[inline]
    pub(crate) fn hide(&mut self, at: usize, lane: usize) {
        self.waiting[at * self.words + lane / 64] &= !(1 << (lane % 64));
    }

    /// Whether a queue is among those with packets.
    pub(crate) fn is_shown(&self, at: usize, lane: usize) -> bool {
        self.waiting[at * self.words + lane / 64] & (1 << (lane % 64)) != 0
    }

    /// Takes the first packet of a queue that is not empty; its ingress port has had its turn.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &mut Pool, at: usize, lane: usize) -> Packet {
        let fifo = &mut self.fifos[at * self.lanes + lane];
        let packet = pool.pop(fifo);
        if fifo.is_empty() {
            self.hide(at, lane);
        }
        self.turn[at] = lane as u16;
        packet
    }

    /// A packet that found everything free has had its turn, too.
    #[inline]
    pub(crate) fn passed(&mut self, at: usize, lane: usize) {
        self.turn[at] = lane as u16;
    }

    #[inline]
    pub(crate) fn head(&self, at: usize, lane: usize) -> Fifo {
        self.fifos[at * self.lanes + lane]
    }

    #[inline]
    pub(crate) fn is_empty(&self, at: usize) -> bool {
        self.waiting[at * self.words..][..self.words].iter().all(|word| *word == 0)
    }

    /// The first lane with packets at or after `from`.
    #[inline]
    fn next_from(&self, at: usize, from: usize) -> Option<usize> {
        let set = &self.waiting[at * self.words..][..self.words];
        let mut word = from / 64;
        let mut bits = set.get(word)? & (!0u64).unbounded_shl((from % 64) as u32);
        loop {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word += 1;
            bits = *set.get(word)?;
        }
    }

    /// The lanes with packets in order of turn, the first after the one served last.
    #[inline]
    pub(crate) fn in_turn(&self, at: usize) -> Turns {
        let start = usize::from(self.turn[at]) + 1;
        Turns { next: start, start, wrapped: false }
    }

    /// All queues of an egress port and class.
    pub(crate) fn fifos(&self, at: usize) -> &[Fifo] {
        &self.fifos[at * self.lanes..][..self.lanes]
    }

    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.fifos) + size_of_val(&*self.waiting) + size_of_val(&*self.turn)
    }
}

/// A walk over the waiting lanes of one egress queue, each at most once. It does not borrow the queues, so that what it
/// meets can be changed.
pub(crate) struct Turns {
    next: usize,
    start: usize,
    wrapped: bool,
}

impl Turns {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: the call costs 5 instructions a hop under credits")]
    pub(crate) fn next(&mut self, voqs: &Voqs, at: usize) -> Option<usize> {
        if !self.wrapped {
            if let Some(lane) = voqs.next_from(at, self.next) {
                self.next = lane + 1;
                return Some(lane);
            }
            self.wrapped = true;
            self.next = 0;
        }
        let lane = voqs.next_from(at, self.next).filter(|lane| *lane < self.start)?;
        self.next = lane + 1;
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(port: u16, seq: u32) -> Packet {
        let mut packet = Packet {
            time: 0,
            flow: 0,
            seq,
            dst: 0,
            next: 0,
            port,
            size: 64,
            kind: crate::packet::Kind::Data,
            code: backwater_control::CodePoint::Capable,
            class: 0,
            echo: backwater_control::CodePoint::NotCapable,
        };
        packet.time = u64::from(seq);
        packet
    }

    fn order(voqs: &mut Voqs, pool: &mut Pool) -> Vec<(u16, u32)> {
        let mut served = Vec::new();
        while let Some(lane) = voqs.in_turn(0).next(voqs, 0) {
            let packet = voqs.pop(pool, 0, lane);
            served.push((packet.port, packet.seq));
        }
        served
    }

    #[test]
    fn the_ingress_ports_with_packets_take_turns_and_each_keeps_its_order() {
        let (mut voqs, mut pool) = (Voqs::new(1, 130), Pool::new());
        for (port, seq) in [(129, 0), (1, 1), (129, 2), (1, 3), (64, 4)] {
            let lane = voqs.lane(port);
            voqs.push(&mut pool, 0, lane, &packet(port, seq));
        }
        assert_eq!(order(&mut voqs, &mut pool), [(1, 1), (64, 4), (129, 0), (1, 3), (129, 2)]);
        assert!(voqs.is_empty(0));
    }

    #[test]
    fn with_one_lane_packets_leave_in_the_order_in_which_they_came() {
        let (mut voqs, mut pool) = (Voqs::new(1, 1), Pool::new());
        for (port, seq) in [(9, 0), (1, 1), (9, 2)] {
            let lane = voqs.lane(port);
            voqs.push(&mut pool, 0, lane, &packet(port, seq));
        }
        assert_eq!(order(&mut voqs, &mut pool), [(9, 0), (1, 1), (9, 2)]);
    }

    #[test]
    fn a_walk_meets_every_waiting_lane_once_and_the_one_served_last_at_the_end() {
        let (mut voqs, mut pool) = (Voqs::new(1, 4), Pool::new());
        for port in [0, 1, 3] {
            voqs.push(&mut pool, 0, usize::from(port), &packet(port, 0));
        }
        voqs.passed(0, 1);
        let (mut turns, mut met) = (voqs.in_turn(0), Vec::new());
        while let Some(lane) = turns.next(&voqs, 0) {
            met.push(lane);
        }
        assert_eq!(met, [3, 0, 1]);
    }
}
