//! What the throttles of a run did, all NICs together.
use backwater_fabric::record::ThrottleRecord;
use backwater_units::Span;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sums over NICs and time, of records as they come.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct ThrottleSums {
    /// By node and port: time in Congested, and time for which packets were held.
    nics: BTreeMap<(u32, u16), (Span, Span)>,
    entries: u64,
    used_max: u32,
}

/// The sums of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ThrottleSummary {
    /// NICs that were in the state Congested.
    pub throttled_nics: u64,
    /// NICs in which a packet waited for the throttle alone.
    pub holding_nics: u64,
    /// Time in Congested, of all NICs together.
    pub congested_ps: u64,
    /// Time for which a packet waited for the throttle alone, of all NICs together.
    pub held_ps: u64,
    /// How often Congested was entered.
    pub entries: u64,
    /// The most used credits of any NIC.
    pub used_max: u32,
}

impl ThrottleSums {
    /// Adds records.
    pub fn add(&mut self, records: &[ThrottleRecord]) {
        for record in records {
            let (congested, held) = self.nics.entry((record.node, record.port)).or_default();
            *congested += record.congested;
            *held += record.held;
            self.entries += u64::from(record.entries);
            self.used_max = self.used_max.max(record.used_max);
        }
    }

    /// The sums.
    pub fn summary(&self) -> ThrottleSummary {
        let nics = || self.nics.values();
        ThrottleSummary {
            throttled_nics: nics().filter(|(congested, _)| *congested > Span::ZERO).count() as u64,
            holding_nics: nics().filter(|(_, held)| *held > Span::ZERO).count() as u64,
            congested_ps: nics().map(|(congested, _)| congested.as_ps()).sum(),
            held_ps: nics().map(|(_, held)| held.as_ps()).sum(),
            entries: self.entries,
            used_max: self.used_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_units::Time;

    fn record(node: u32, congested: u64, held: u64) -> ThrottleRecord {
        ThrottleRecord {
            start: Time::ZERO,
            end: Time::from_ps(100),
            node,
            port: 0,
            used_end: 0,
            used_max: 600 + node,
            used_mean_milli: 0,
            congested: Span::from_ps(congested),
            held: Span::from_ps(held),
            sent_flits: 0,
            entries: 2,
        }
    }

    #[test]
    fn a_nic_that_was_congested_in_several_periods_counts_once_and_its_times_add_up() {
        let mut sums = ThrottleSums::default();
        sums.add(&[record(1, 30, 0), record(2, 5, 4)]);
        sums.add(&[record(1, 20, 0), record(3, 0, 0)]);
        let summary = sums.summary();
        assert_eq!((summary.throttled_nics, summary.holding_nics), (2, 1));
        assert_eq!((summary.congested_ps, summary.held_ps), (55, 4));
        assert_eq!((summary.entries, summary.used_max), (8, 603));
    }
}
