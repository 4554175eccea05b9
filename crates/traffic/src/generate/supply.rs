//! Sources whose application makes packet after packet, with few waiting: the hot sources of a congestion tree, the streams of
//! PUTs of the EC paper.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Rate, Time};

use crate::flow::{Drawn, Flow, Full, Gaps, Group, Pacing};

/// One supplied flow per pair. A source shares its rate and its backlog equally among its destinations: in turn, or packet by packet
/// as it draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Rate on the wire at which a source makes packets.
    pub rate: Rate,
    /// The most packets that wait at a source.
    pub backlog: u64,
    /// No packet but a flow's first is made from then on; [`Time::MAX`]: there is no end.
    pub until: Time,
    /// Whether a source draws the destination of each packet. With exponential gaps that is the same as giving each destination
    /// a process of its own. A source that waits for one of its destinations cannot draw.
    pub drawn: bool,
    /// The time between packets.
    pub gaps: Gaps,
    /// What a source does when too many wait for a destination: each destination has an application of its own there.
    pub full: Full,
}

/// What a source has too little of for its destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scarce {
    /// The backlog has no place for a packet of each.
    Backlog {
        /// Destinations of the source.
        destinations: u32,
    },
    /// The rate of each would be below 1 bit per second.
    Rate {
        /// Destinations of the source.
        destinations: u32,
    },
}

impl Supply {
    /// The flows, in the order of the pairs. The pacing of the group is replaced.
    ///
    /// # Errors
    /// A source that cannot give all its destinations their share.
    pub fn flows(&self, group: &Group) -> Result<Vec<Flow>, Scarce> {
        let mut destinations = BTreeMap::new();
        for (src, _) in &self.pairs {
            *destinations.entry(*src).or_insert(0u32) += 1;
        }
        let mut numbers = BTreeMap::new();
        let mut flow = |&(src, dst): &(u32, u32)| {
            let number = numbers.entry(src).or_insert(0u32);
            let pacing = self.pacing(destinations[&src], *number)?;
            *number += 1;
            Ok(Group { pacing, ..*group }.flow(src, dst, Bytes::MAX, group.start))
        };
        self.pairs.iter().map(&mut flow).collect()
    }

    /// What destination `number` of `destinations` gets.
    fn pacing(&self, destinations: u32, number: u32) -> Result<Pacing, Scarce> {
        let share = u64::from(destinations);
        let packets = self.backlog / share;
        let each = Rate::from_bps(self.rate.as_bps() / share);
        if each == Rate::ZERO {
            return Err(Scarce::Rate { destinations });
        }
        if packets == 0 {
            return Err(Scarce::Backlog { destinations });
        }
        let backlog = u32::try_from(packets).unwrap_or(u32::MAX);
        // No network has as many hosts as would not fit.
        let drawn = (self.drawn && destinations > 1 && self.gaps == Gaps::Even)
            .then_some(Drawn { of: destinations as u16, number: number as u16 });
        let rate = if drawn.is_some() { self.rate } else { each };
        Ok(Pacing::Supplied { rate, backlog, until: self.until, drawn, gaps: self.gaps, full: self.full })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::pairs;
    use crate::generate::testing::GROUP;
    use backwater_units::PS_PER_S;

    /// 64 packets of 4 KiB at a source of 100 Gbps.
    fn supply(from: &[u32], to: &[u32]) -> Supply {
        Supply {
            pairs: pairs(from, to),
            rate: Rate::from_gbps(100),
            backlog: 64,
            until: Time::from_ps(PS_PER_S / 1000),
            drawn: false,
            gaps: Gaps::Even,
            full: Full::Skip,
        }
    }

    #[test]
    fn a_source_that_draws_makes_packets_at_its_whole_rate_for_all_its_flows_together() {
        let drawn = Supply { drawn: true, ..supply(&[3], &[0, 16, 32, 48]) };
        let numbers: Vec<Option<(u64, Option<Drawn>)>> = drawn
            .flows(&GROUP)
            .unwrap()
            .iter()
            .map(|flow| match flow.pacing {
                Pacing::Supplied { rate, drawn, .. } => Some((rate.as_bps(), drawn)),
                _ => None,
            })
            .collect();
        let expected = |number| Some((100_000_000_000, Some(Drawn { of: 4, number })));
        assert_eq!(numbers, [0, 1, 2, 3].map(expected));
    }

    #[test]
    fn a_source_shares_its_line_rate_and_its_64_packets_among_four_destinations() {
        let from: Vec<u32> = (0..16).map(|i| 4 * i + 3).collect();
        let flows = supply(&from, &[0, 16, 32, 48]).flows(&GROUP).unwrap();
        assert_eq!(flows.len(), 64);
        let share = Pacing::supplied(Rate::from_gbps(25), 16, Time::from_ps(PS_PER_S / 1000), None);
        assert!(flows.iter().all(|flow| flow.pacing == share && flow.start == GROUP.start));
        assert!(flows.iter().all(|flow| !flow.is_endless() && flow.known_size().is_none()));
    }

    #[test]
    fn a_destination_among_the_sources_sends_to_the_others_only() {
        let flows = supply(&[0, 1], &[0, 2]).flows(&GROUP).unwrap();
        let rates: Vec<(u32, u32, u64)> = flows
            .iter()
            .map(|flow| match flow.pacing {
                Pacing::Supplied { rate, .. } => (flow.src, flow.dst, rate.as_bps() / 1_000_000_000),
                _ => (flow.src, flow.dst, 0),
            })
            .collect();
        assert_eq!(rates, [(0, 2, 100), (1, 0, 50), (1, 2, 50)]);
    }

    #[test]
    fn without_an_end_a_supplied_flow_is_endless() {
        let supply = Supply { until: Time::MAX, ..supply(&[3], &[0]) };
        assert!(supply.flows(&GROUP).unwrap()[0].is_endless());
    }

    #[test]
    fn a_share_below_one_packet_or_one_bit_per_second_is_refused() {
        let to: Vec<u32> = (1..=65).collect();
        let mut scarce = supply(&[0], &to);
        assert_eq!(scarce.flows(&GROUP), Err(Scarce::Backlog { destinations: 65 }));
        scarce.pairs.pop();
        assert!(scarce.flows(&GROUP).is_ok());
        scarce.rate = Rate::from_bps(63);
        assert_eq!(scarce.flows(&GROUP), Err(Scarce::Rate { destinations: 64 }));
    }
}
