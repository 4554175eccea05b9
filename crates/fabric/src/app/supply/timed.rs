//! Packets made after random gaps, or by an application that waits when too many wait: each has a time of its own.
use std::collections::VecDeque;

use backwater_engine::{Stream, mix, stream};
use backwater_traffic::{Flow, Full, Gaps, exponential};
use borsh::{BorshDeserialize, BorshSerialize};

/// Purpose of the streams of gaps; entity: traffic entry << 32 | source, then the destination.
const GAPS: u64 = 0x5b4e;

/// It makes no packet any more.
const NEVER: u64 = u64::MAX;

/// What waits at the source, and when the application turns to its next packet.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Timed {
    /// When it would make its next packet; an application that waits has wanted to since then.
    next: u64,
    /// Picoseconds from one packet to the next, in the mean.
    every: u64,
    until: u64,
    random: Option<Stream>,
    full: Full,
    backlog: usize,
    /// When each of the packets that wait was made, the oldest first.
    waiting: VecDeque<u64>,
    /// When the packet sent last was made.
    made: u64,
}

impl Timed {
    /// One packet at `start`, and others `every` so many picoseconds before `until`.
    pub(super) fn new(start: u64, every: u64, backlog: u32, until: u64, full: Full) -> Self {
        let (backlog, waiting) = (backlog as usize, VecDeque::new());
        Self { next: start, every, until, random: None, full, backlog, waiting, made: start }
    }

    /// The same with such gaps, from a stream that belongs to the flow's entry, source and destination alone.
    pub(super) fn with(mut self, gaps: Gaps, flow: &Flow, seed: u64) -> Self {
        let source = mix(seed, GAPS, u64::from(flow.group) << 32 | u64::from(flow.src));
        self.random = (gaps == Gaps::Exponential).then(|| stream(source, GAPS, u64::from(flow.dst)));
        self
    }

    /// When its first packet is made.
    pub(super) const fn first(&self) -> u64 {
        self.next
    }

    /// A packet leaves `now`; see [`super::Supply::on_sent`].
    pub(super) fn on_sent(&mut self, now: u64) -> Option<u64> {
        while self.next < now && self.has_room() {
            self.waiting.push_back(self.next);
            self.go_on(0);
        }
        while self.next < now && self.full == Full::Skip {
            self.go_on(0);
        }
        self.made = self.waiting.pop_front().unwrap_or_else(|| {
            // Made this instant.
            let made = self.next;
            self.go_on(0);
            made
        });
        if self.next < now {
            // The application has waited for this room.
            if now < self.until {
                self.waiting.push_back(now);
                self.go_on(now);
            } else {
                self.next = NEVER;
            }
        }
        if self.waiting.is_empty() { Some(self.next).filter(|next| *next < NEVER) } else { Some(0) }
    }

    /// When the packet sent last was made.
    pub(super) const fn made(&self) -> u64 {
        self.made
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < self.backlog
    }

    /// The application turns to the packet after the present one, but not before it is free.
    fn go_on(&mut self, free: u64) {
        let gap = match &mut self.random {
            Some(random) => (exponential(random) * self.every as f64 + 0.5) as u64,
            None => self.every,
        };
        let next = self.next.saturating_add(gap).max(free);
        self.next = if next < self.until { next } else { NEVER };
    }
}

#[cfg(test)]
mod tests;
