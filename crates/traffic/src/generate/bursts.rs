//! Synchronous bursts in rounds: every source sends one message per round, all at the same instant.
//!
//! The TCD paper's bursts last "about 3 ms": 15 hosts, 64 rounds of 64 KB, one every 47.5 µs (flow file
//! `burstflow_long` of the authors' ns-3 release, 2022).
use backwater_units::{Bytes, Span};

use crate::flow::{Flow, Group};

/// `rounds` messages per pair, one every `interval`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Payload of one message.
    pub size: Bytes,
    /// Messages per pair.
    pub rounds: u32,
    /// From one round to the next. Zero hands all rounds to the NIC at once, which sends them back to back.
    pub interval: Span,
}

impl Bursts {
    /// The flows, round by round. Starts beyond 2⁶⁴ ps saturate there.
    pub fn flows(&self, group: &Group) -> Vec<Flow> {
        let mut flows = Vec::with_capacity(self.rounds as usize * self.pairs.len());
        let mut start = group.start;
        for _ in 0..self.rounds {
            flows.extend(self.pairs.iter().map(|&(src, dst)| group.flow(src, dst, self.size, start)));
            start = start.saturating_add(self.interval);
        }
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn the_papers_bursts_are_offered_over_3_ms_and_carry_61_megabytes() {
        let bursts = Bursts {
            pairs: (1..=15).map(|src| (src, 0)).collect(),
            size: Bytes::from_kb(64),
            rounds: 64,
            interval: Span::from_ns(47_500),
        };
        let flows = bursts.flows(&GROUP);
        assert_eq!(flows.len(), 960);
        // 63 gaps of 47.5 us between the first round and the last
        assert_eq!(flows[959].start.since(GROUP.start), Span::from_ns(2_992_500));
        assert_eq!(flows.iter().map(|f| f.size).sum::<Bytes>(), Bytes::from_kb(61_440));
        assert!(flows[..15].iter().all(|f| f.start == GROUP.start), "a round is simultaneous");
    }
}
