//! What the congested-flow tables of a run did, all switches together.
use backwater_fabric::record::SwitchRecord;
use serde::Serialize;

/// Sums over the switches, and the largest of what is a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IsolationSummary {
    /// Entries that were made, readmissions among them.
    pub allocations: u64,
    /// Entries made for flows that had had one.
    pub readmissions: u64,
    /// Entries refused for want of a slot.
    pub refusals: u64,
    /// Mirrors at ingress ports refused for want of a slot.
    pub mirror_refusals: u64,
    /// Most slots in use at a time at one switch.
    pub peak_slots: u32,
    /// Entries at the end of the run.
    pub entries_left: u64,
    /// CIMs that switches sent.
    pub cims: u64,
    /// Packets moved from a normal-flow queue to the congested-flow queue beside it.
    pub moved_packets: u64,
    /// Packets marked CE in congested-flow queues.
    pub ce_isolated: u64,
    /// Packets marked CE in other queues.
    pub ce_monitored: u64,
    /// Largest ingress region of any port.
    pub peak_ingress_bytes: u64,
    /// Largest egress region of any port.
    pub peak_egress_bytes: u64,
}

impl IsolationSummary {
    /// Of the switches of a run.
    pub fn of(switches: &[SwitchRecord]) -> Self {
        let sum = |count: fn(&SwitchRecord) -> u64| switches.iter().map(count).sum();
        let most = |size: fn(&SwitchRecord) -> u64| switches.iter().map(size).max().unwrap_or(0);
        Self {
            allocations: sum(|s| s.allocations),
            readmissions: sum(|s| s.readmissions),
            refusals: sum(|s| s.refusals),
            mirror_refusals: sum(|s| s.mirror_refusals),
            peak_slots: switches.iter().map(|s| s.peak_slots).max().unwrap_or(0),
            entries_left: sum(|s| s.entries_left),
            cims: sum(|s| s.cims_sent),
            moved_packets: sum(|s| s.moved_packets),
            ce_isolated: sum(|s| s.ce_isolated),
            ce_monitored: sum(|s| s.ce_monitored),
            peak_ingress_bytes: most(|s| s.peak_ingress.get()),
            peak_egress_bytes: most(|s| s.peak_egress.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_units::Bytes;

    fn switch(node: u32, count: u64, kib: u64) -> SwitchRecord {
        SwitchRecord {
            node,
            slots: Some(32),
            allocations: count,
            readmissions: 0,
            refusals: count / 2,
            mirror_refusals: 0,
            peak_slots: count as u32,
            entries_left: 0,
            cims_sent: 3 * count,
            cims_received: 0,
            moved_packets: count,
            ce_isolated: 0,
            ce_monitored: count,
            peak_ingress: Bytes::new(1024 * kib),
            peak_egress: Bytes::new(2048 * kib),
        }
    }

    #[test]
    fn counts_of_switches_add_up_and_of_sizes_the_largest_counts() {
        let sums = IsolationSummary::of(&[switch(0, 4, 16), switch(1, 16, 8)]);
        assert_eq!((sums.allocations, sums.refusals, sums.cims), (20, 10, 60));
        assert_eq!((sums.peak_slots, sums.peak_ingress_bytes, sums.peak_egress_bytes), (16, 16_384, 32_768));
    }
}
