//! Packets made the same time apart, of which those that do not fit the backlog are never made: they are counted, not listed.

use std::collections::VecDeque;

use backwater_engine::mix;
use backwater_traffic::Drawn;
use borsh::{BorshDeserialize, BorshSerialize};

/// Purpose of the draws of a source; entity: traffic entry << 32 | source, then the packet's number.
const SPREAD: u64 = 0x5b4d;

/// Which of the packets that a source makes are for one flow.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Share {
    key: u64,
    of: u64,
    number: u64,
}

impl Share {
    pub(super) fn new(drawn: Drawn, seed: u64, group: u16, src: u32) -> Self {
        let key = mix(seed, SPREAD, u64::from(group) << 32 | u64::from(src));
        Self { key, of: u64::from(drawn.of), number: u64::from(drawn.number) }
    }

    #[inline]
    fn has(&self, packet: u64) -> bool {
        let draw = mix(self.key, SPREAD, packet);
        ((u128::from(draw) * u128::from(self.of)) >> 64) as u64 == self.number
    }
}

/// What waits at the source of a supplied flow, and what will be made.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Counted {
    start: u64,
    /// Picoseconds from one packet to the next.
    every: u64,
    /// Packets that the application would make in all.
    all: u64,
    /// Of them, how many were made or, with too many waiting, not made so far.
    tried: u64,
    /// Packets that wait, as of then, and which they are: runs of (first, how many), the oldest first.
    waiting: u64,
    runs: VecDeque<(u64, u64)>,
    backlog: u64,
    /// When the packet sent last was made.
    made: u64,
    /// Which of the packets are this flow's, if not all.
    share: Option<Share>,
}

impl Counted {
    /// One packet at `start`, and one `every` so many picoseconds before `until`.
    pub(super) fn new(start: u64, every: u64, backlog: u32, until: u64) -> Self {
        // A rate that no picosecond can tell from an infinite one still makes one packet at a time.
        let every = every.max(1);
        let all =
            if until == u64::MAX { u64::MAX } else { until.saturating_sub(start).div_ceil(every).max(1) };
        Self {
            start,
            every,
            all,
            tried: 0,
            waiting: 0,
            runs: VecDeque::new(),
            backlog: u64::from(backlog),
            made: start,
            share: None,
        }
    }

    /// The same for one flow of several.
    pub(super) fn of(mut self, share: Option<Share>) -> Self {
        self.share = share;
        if share.is_some() && self.all < u64::MAX && (0..self.all).all(|packet| !self.is_own(packet)) {
            // Nothing would ever be sent: the last packet is this flow's.
            self.start = self.at(self.all - 1);
            (self.all, self.share) = (1, None);
        }
        self
    }

    /// When its first packet is made.
    pub(super) fn first(&self) -> u64 {
        self.next(0).map_or(self.start, |packet| self.at(packet))
    }

    #[inline]
    fn is_own(&self, packet: u64) -> bool {
        self.share.is_none_or(|share| share.has(packet))
    }

    /// The flow's first packet from number `from` on.
    fn next(&self, from: u64) -> Option<u64> {
        (from..self.all).find(|packet| self.is_own(*packet))
    }

    /// A packet leaves `now`: when the next one is there (long ago, if it waits already), or none if that was the last.
    pub(super) fn on_sent(&mut self, now: u64) -> Option<u64> {
        let before = (now.saturating_sub(self.start)).div_ceil(self.every).min(self.all);
        if self.share.is_none() {
            self.wait(self.tried, (before - self.tried).min(self.backlog - self.waiting));
        } else {
            for packet in self.tried..before {
                if self.waiting < self.backlog && self.is_own(packet) {
                    self.wait(packet, 1);
                }
            }
        }
        self.tried = before;
        if self.waiting == 0 {
            // Made this instant.
            self.wait(before, 1);
            self.tried += 1;
        }
        let number = self.take();
        self.made = self.at(number);
        if self.waiting > 0 { Some(0) } else { self.next(self.tried).map(|packet| self.at(packet)) }
    }

    /// When the packet sent last was made.
    pub(super) const fn made(&self) -> u64 {
        self.made
    }

    /// When the application makes its packet of a number, counted from 0 and with those that it does not make for want of room.
    fn at(&self, number: u64) -> u64 {
        self.start.saturating_add(number.saturating_mul(self.every))
    }

    /// `count` packets from `first` on begin to wait.
    fn wait(&mut self, first: u64, count: u64) {
        self.waiting += count;
        match self.runs.back_mut() {
            Some((start, length)) if *start + *length == first => *length += count,
            _ if count > 0 => self.runs.push_back((first, count)),
            _ => {}
        }
    }

    /// Takes the oldest of the waiting packets, of which there is one: its number.
    fn take(&mut self) -> u64 {
        self.waiting -= 1;
        let (first, count) = self.runs.front_mut().expect("a packet waits");
        let number = *first;
        (*first, *count) = (*first + 1, *count - 1);
        if *count == 0 {
            self.runs.pop_front();
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of the packets leaves that a source makes every 10 ps and draws for flow `number` of `of`, one waiting at most.
    fn times(of: u16, number: u16, packets: u64) -> Vec<u64> {
        let share = Share::new(Drawn { of, number }, 7, 1, 3);
        let mut supply = Counted::new(1000, 10, 1, 1000 + 10 * packets).of(Some(share));
        let mut times = vec![supply.first()];
        while let Some(next) = supply.on_sent(*times.last().expect("it begins with one")) {
            times.push(next);
        }
        times
    }

    #[test]
    fn every_packet_of_a_source_that_draws_is_for_exactly_one_of_its_flows() {
        let mut all: Vec<u64> = (0..4).flat_map(|number| times(4, number, 4000)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..4000).map(|packet| 1000 + 10 * packet).collect::<Vec<_>>());
    }

    #[test]
    fn a_source_that_draws_gives_each_flow_its_share() {
        // 4000 draws, a quarter each: 1000 with a standard deviation of 27.
        assert!((0..4).all(|number| (890..=1110).contains(&times(4, number, 4000).len())));
    }

    #[test]
    fn a_flow_that_no_packet_is_drawn_for_gets_the_last_one() {
        let alone: Vec<u16> = (0..50).filter(|number| times(50, *number, 1) == [1000]).collect();
        assert_eq!(alone.len(), 50, "the one that has it by its draw, and all others");
        assert!((0..50).any(|number| times(50, number, 3) == [1020]));
    }

    #[test]
    fn a_source_that_sends_as_fast_as_packets_are_made_waits_for_each() {
        let mut supply = Counted::new(1000, 100, 4, 1300);
        assert_eq!([1000, 1100, 1200].map(|now| supply.on_sent(now)), [Some(1100), Some(1200), None]);
    }

    #[test]
    fn what_does_not_fit_the_backlog_is_never_made() {
        // Made at 0, 100 ... 900. Two wait at most: at 450 those of 100 and 200, those of 300 and 400 were not made.
        let mut supply = Counted::new(0, 100, 2, 1000);
        assert_eq!(supply.on_sent(0), Some(100));
        assert_eq!((supply.on_sent(450), supply.made()), (Some(0), 100));
        assert_eq!((supply.on_sent(480), supply.made()), (Some(500), 200));
        // 500 and 600 wait, 700 to 900 were not made.
        assert_eq!((supply.on_sent(2000), supply.made()), (Some(0), 500));
        assert_eq!((supply.on_sent(2100), supply.made()), (None, 600));
    }

    #[test]
    fn a_packet_that_leaves_makes_room_for_the_one_made_at_the_same_instant() {
        let mut supply = Counted::new(0, 100, 1, 300);
        assert_eq!(supply.on_sent(0), Some(100));
        assert_eq!(supply.on_sent(200), Some(200), "that of 100 left, and that of 200 took its place");
        assert_eq!(supply.on_sent(250), None);
    }

    #[test]
    fn an_endless_supply_goes_on() {
        let mut supply = Counted::new(0, 3, 1, u64::MAX);
        supply.on_sent(0);
        assert_eq!(supply.on_sent(1 << 53), Some((1 << 53) + 1), "2^53 + 1 is the next multiple of 3");
    }
}
