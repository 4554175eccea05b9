//! Collective operations of some ranks, as the calls of each of them.
use backwater_units::Bytes;

use super::{BLOCKING, Builder, INTERNAL};
use crate::trace::collective::{Algorithm, Op, Parts, Rounds, Sent};

/// Payload of the messages of a barrier. They carry nothing in MPI, whose own headers stand for it here, like in its other messages of
/// 8 B; with the header of a packet it makes no difference of note.
const BARRIER: Bytes = Bytes::new(8);

/// Tells the messages of an allreduce from those of a barrier.
const ALLREDUCE: u32 = 1 << 30;

/// Tells the messages of a scheduled collective from those of both.
const SCHEDULED: u32 = 1 << 29;

/// Communicators, at most, of an application.
pub(crate) const MAX_COMMUNICATORS: u32 = 1 << 24;

/// Some ranks that do collectives together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Its number, below 2²⁴: messages of different communicators never meet.
    number: u32,
    /// Distinct ranks, in the order in which algorithms number them.
    members: Vec<u32>,
    /// (rank, place), by rank.
    places: Vec<(u32, u32)>,
}

impl Communicator {
    /// Communicator `number` of distinct ranks.
    ///
    /// # Panics
    /// If the number is 2²⁴ or more.
    pub fn new(number: u32, members: Vec<u32>) -> Self {
        assert!(number < MAX_COMMUNICATORS, "there is no communicator {number}");
        let mut places: Vec<(u32, u32)> = members.iter().copied().zip(0..).collect();
        places.sort_unstable();
        Self { number, members, places }
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// Its ranks.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The place of a rank in it.
    pub fn place(&self, rank: u32) -> Option<usize> {
        let found = self.places.binary_search_by_key(&rank, |(member, _)| *member);
        found.ok().map(|at| self.places[at].1 as usize)
    }
}

/// What a member does in a collective: other members by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Receive(u32, u64),
    Send(u32, u64),
    /// Waits for both.
    Settle,
}

/// What the members of a collective do, by place, as the algorithms of traces have it ([`crate::trace::Algorithm`]).
#[derive(Clone, Debug)]
pub struct Schedule {
    acts: Vec<Vec<Act>>,
}

impl Schedule {
    /// A collective among `n` members; `root` is a place.
    pub fn new(op: Op, algorithm: Algorithm, n: usize, bytes: Bytes, root: usize) -> Self {
        let mut schedule = Self { acts: vec![Vec::new(); n] };
        let bytes = bytes.get();
        Parts { rounds: &mut schedule, n, bytes, uneven: &[], root }.run(op, algorithm);
        schedule
    }
}

impl Rounds for Schedule {
    fn exchange(&mut self, sends: &[Sent]) {
        self.flood(sends.iter().copied());
    }

    fn flood(&mut self, sends: impl Iterator<Item = Sent> + Clone) {
        for (from, to, bytes) in sends.clone() {
            self.acts[to].push(Act::Receive(from as u32, bytes));
        }
        for (from, to, bytes) in sends.clone() {
            self.acts[from].push(Act::Send(to as u32, bytes));
        }
        for (from, to, _) in sends {
            for member in [from, to] {
                if self.acts[member].last() != Some(&Act::Settle) {
                    self.acts[member].push(Act::Settle);
                }
            }
        }
    }
}

impl Builder {
    /// Does the part of a place in a collective.
    pub fn collective(&mut self, schedule: &Schedule, of: &Communicator, place: usize) -> &mut Self {
        let tag = INTERNAL | SCHEDULED | of.number;
        for act in &schedule.acts[place] {
            match *act {
                Act::Receive(from, bytes) => {
                    self.receive(of.members[from as usize], Bytes::new(bytes), tag, BLOCKING)
                }
                Act::Send(to, bytes) => self.send(of.members[to as usize], Bytes::new(bytes), tag, BLOCKING),
                Act::Settle => self.settle(),
            };
        }
        self
    }

    /// Waits until all members have come to it (`MPI_Barrier`), by dissemination (Hensgen, Finkel, Manber: Two Algorithms for Barrier
    /// Synchronization, 1988): in round k member i tells member i + 2^k. ⌈log₂ n⌉ rounds.
    pub fn barrier(&mut self, of: &Communicator, place: usize) -> &mut Self {
        let n = of.members.len();
        let mut distance = 1;
        while distance < n {
            let (to, from) = (of.members[(place + distance) % n], of.members[(place + n - distance) % n]);
            // Two rounds never go between the same two members, and barriers between them keep their order: one tag suffices.
            self.swap((to, BARRIER), (from, BARRIER), INTERNAL | of.number);
            distance *= 2;
        }
        self
    }

    /// Adds up `size` of each member, and all get the sum (`MPI_Allreduce`), by recursive doubling, as MPICH does it for short messages
    /// (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005, section 4): in round k
    /// places i and i xor 2^k exchange. If n is no power of two, of the first 2 (n - 2^⌊log₂ n⌋) members the even ones hand theirs to the next
    /// one first and get the sum last. Adding up takes no time.
    pub fn allreduce(&mut self, of: &Communicator, place: usize, size: Bytes) -> &mut Self {
        let n = of.members.len();
        if n < 2 {
            return self;
        }
        let whole = 1 << n.ilog2();
        let (rest, tag) = (n - whole, INTERNAL | ALLREDUCE | of.number);
        let folded = place < 2 * rest;
        if folded && place.is_multiple_of(2) {
            let next = of.members[place + 1];
            return self.send(next, size, tag, BLOCKING).settle().receive(next, size, tag, BLOCKING).settle();
        }
        if folded {
            self.receive(of.members[place - 1], size, tag, BLOCKING).settle();
        }
        let member = |new: usize| of.members[if new < rest { 2 * new + 1 } else { new + rest }];
        let own = if folded { place / 2 } else { place - rest };
        for round in 0..n.ilog2() {
            let other = member(own ^ (1 << round));
            self.swap((other, size), (other, size), tag);
        }
        if folded {
            self.send(of.members[place - 1], size, tag, BLOCKING).settle();
        }
        self
    }
}

#[cfg(test)]
mod tests;
