//! The timers of a node: a heap, and beside it those of which each port has one at most.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io::{Result, Write};

use backwater_engine::Ties;
use backwater_units::relative::{instant, tally};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::{NO_WAKE, Purpose, RANK_BITS, RANKS, least, save_wakes, wake_key};
use crate::reuse::relative;
use crate::saved::{load_heap, save_heap};

/// Timers are ordered by time, rank, purpose and argument: by all of it as one number, which takes a third of the instructions.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
#[repr(C)]
pub(crate) struct Timer {
    pub(crate) time: u64,
    pub(crate) argument: u32,
    pub(crate) purpose: Purpose,
    zero: u8,
    rank: u16,
}

impl Timer {
    #[inline]
    pub(super) const fn new(time: u64, rank: u16, purpose: Purpose, argument: u32) -> Self {
        Self { time, argument, purpose, zero: 0, rank }
    }

    pub(super) const fn rank(&self) -> u16 {
        self.rank
    }

    #[inline]
    fn key(&self) -> u128 {
        // In the order of the fields in memory, so that all but the time is one load.
        let rest = u64::from(self.argument)
            | (self.purpose as u64) << 32
            | u64::from(self.zero) << 40
            | u64::from(self.rank) << 48;
        u128::from(self.time) << 64 | u128::from(rest)
    }

    /// Time and rank in one word.
    #[inline]
    const fn instant(&self) -> u64 {
        wake_key(self.time, self.rank)
    }
}

impl Ord for Timer {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Timer {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    // What the heap asks.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }
    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.key() <= other.key()
    }
    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.key() > other.key()
    }
    #[inline]
    fn ge(&self, other: &Self) -> bool {
        self.key() >= other.key()
    }
}

impl PartialEq for Timer {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Timer {}

impl Timer {
    /// What it is, relative to an instant.
    fn relative<W: Write>(&self, out: &mut W) -> Result<()> {
        instant(&self.time, out)?;
        (self.rank, self.purpose).serialize(out)?;
        match self.purpose {
            Purpose::Step => relative::step(self.argument, out),
            Purpose::Notify => relative::receiver(self.argument, out),
            Purpose::PauseExpiry | Purpose::Poll | Purpose::Credit | Purpose::Cnp => {
                self.argument.serialize(out)
            }
            Purpose::Crossed | Purpose::Start => self.argument.serialize(out),
            _ => {
                relative::untold("timers of other schemes");
                Ok(())
            }
        }
    }
}

fn save_timers<W: Write>(timers: &BinaryHeap<Reverse<Timer>>, out: &mut W) -> Result<()> {
    if backwater_units::relative::now().is_none() {
        return save_heap(timers, out);
    }
    let mut sorted: Vec<&Timer> = timers.iter().map(|Reverse(timer)| timer).collect();
    sorted.sort_unstable();
    sorted.len().serialize(out)?;
    sorted.into_iter().try_for_each(|timer| timer.relative(out))
}

/// Those of a node.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Timers {
    #[borsh(serialize_with = "save_timers", deserialize_with = "load_heap")]
    heap: BinaryHeap<Reverse<Timer>>,
    /// When the packet of each ingress port will have crossed, as [`wake_key`] has it. Every packet sets one: a heap would cost twice as
    /// much. Empty where nothing crosses.
    #[borsh(serialize_with = "save_wakes")]
    crossings: Vec<u64>,
    /// Time and rank of the earliest of all.
    #[borsh(serialize_with = "tally")]
    first: u64,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), crossings: Vec::new(), first: NO_WAKE }
    }

    /// Time and rank of the earliest one, as [`wake_key`] has them.
    #[inline]
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub(super) fn set(&mut self, timer: Timer) {
        self.heap.push(Reverse(timer));
        self.first = self.first.min(timer.instant());
    }

    /// The packet of a port, of this rank, will have crossed at `time`.
    #[inline]
    pub(super) fn set_crossing(&mut self, port: u16, rank: u16, time: u64) {
        let port = usize::from(port);
        if self.crossings.len() <= port {
            self.crossings.resize(port + 1, NO_WAKE);
        }
        let instant = wake_key(time, rank);
        self.crossings[port] = instant;
        self.first = self.first.min(instant);
    }

    /// Takes the earliest one, which there is.
    #[inline]
    pub(super) fn take(&mut self, ties: Ties) -> Timer {
        if !self.crossings.is_empty() {
            return self.take_of_two(ties);
        }
        let timer = self.take_from_heap();
        self.first = self.first_in_heap();
        timer
    }

    fn take_from_heap(&mut self) -> Timer {
        self.heap.pop().expect("a timer was announced").0
    }

    fn first_in_heap(&self) -> u64 {
        self.heap.peek().map_or(NO_WAKE, |Reverse(timer)| timer.instant())
    }

    /// [`Self::take`] where packets cross.
    #[inline(never)]
    fn take_of_two(&mut self, ties: Ties) -> Timer {
        let rank = (self.first & RANKS) as u16;
        let crossing = Timer::new(self.first >> RANK_BITS, rank, Purpose::Crossed, 0);
        let port = usize::from(ties.port(rank));
        let crosses = self.crossings.get(port) == Some(&self.first);
        let timer = if crosses && self.heap.peek().is_none_or(|Reverse(timer)| crossing < *timer) {
            self.crossings[port] = NO_WAKE;
            crossing
        } else {
            self.take_from_heap()
        };
        self.first = self.first_in_heap().min(least(&self.crossings));
        timer
    }

    /// None is set for `purpose` any more.
    pub(super) fn stop(&mut self, purpose: Purpose) {
        self.heap.retain(|Reverse(timer)| timer.purpose != purpose);
        self.first = self.first_in_heap().min(least(&self.crossings));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_ordered_by_time_then_rank_then_purpose_then_argument() {
        let (low, high) = (Purpose::PauseExpiry, Purpose::Retry);
        let ordered = [
            Timer::new(1, 1023, high, u32::MAX),
            Timer::new(2, 0, high, u32::MAX),
            Timer::new(2, 1, low, u32::MAX),
            Timer::new(2, 1, high, 0),
            Timer::new(2, 1, high, 1),
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b));
        assert!(ordered.iter().rev().is_sorted_by(|a, b| a > b));
        assert_eq!(size_of::<Timer>(), 16);
    }

    #[test]
    fn crossings_come_among_the_others_in_order() {
        let ties = Ties::new(7, 3);
        let mut timers = Timers::new();
        for (time, port) in [(30, 4), (10, 0), (20, 2)] {
            timers.set_crossing(port, ties.rank(port), time);
        }
        for (time, port, purpose) in [
            (10, 0, Purpose::Residency),
            (10, 0, Purpose::Poll),
            (15, 9, Purpose::Poll),
            (40, 0, Purpose::Poll),
        ] {
            timers.set(Timer::new(time, ties.rank(port), purpose, 0));
        }
        let mut taken = Vec::new();
        while timers.first() < NO_WAKE {
            let timer = timers.take(ties);
            taken.push((timer.time, ties.port(timer.rank()), timer.purpose));
        }
        let expected = [
            (10, 0, Purpose::Poll),
            (10, 0, Purpose::Crossed),
            (10, 0, Purpose::Residency),
            (15, 9, Purpose::Poll),
            (20, 2, Purpose::Crossed),
            (30, 4, Purpose::Crossed),
            (40, 0, Purpose::Poll),
        ];
        assert_eq!(taken, expected);
    }
}
