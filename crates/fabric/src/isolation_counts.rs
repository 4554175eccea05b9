//! What switches with combined queueing count for their totals.
use std::collections::BTreeMap;

use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::record::{IsolationEvent, SwitchRecord};

/// Counts of one switch.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct IsolationCounts {
    allocations: u64,
    readmissions: u64,
    refusals: u64,
    mirror_refusals: u64,
    releases: u64,
    peak_slots: u32,
    cims_sent: u64,
    cims_received: u64,
    /// CIMs made, by the port that they leave by.
    cims_made: BTreeMap<u16, u64>,
    moved_packets: u64,
    ce_isolated: u64,
    ce_monitored: u64,
    peak_ingress: u32,
    peak_egress: u32,
}

impl IsolationCounts {
    /// An ingress region holds so many bytes.
    #[inline]
    pub(crate) fn note_ingress(&mut self, bytes: u32) {
        self.peak_ingress = self.peak_ingress.max(bytes);
    }

    /// An egress region holds so many bytes.
    #[inline]
    pub(crate) fn note_egress(&mut self, bytes: u32) {
        self.peak_egress = self.peak_egress.max(bytes);
    }

    /// A CIM has come.
    pub(crate) const fn count_cim(&mut self) {
        self.cims_received += 1;
    }

    /// A CIM is made, which leaves by a port.
    pub(crate) fn count_made(&mut self, port: u16) {
        *self.cims_made.entry(port).or_default() += 1;
    }

    /// CIMs made that leave by a port.
    pub(crate) fn cims_made(&self, port: u16) -> u64 {
        self.cims_made.get(&port).copied().unwrap_or_default()
    }

    /// A packet moves to a CFQ.
    pub(crate) const fn count_moved(&mut self) {
        self.moved_packets += 1;
    }

    /// A detector marks a packet of an isolated flow CE.
    pub(crate) const fn count_isolated_mark(&mut self) {
        self.ce_isolated += 1;
    }

    /// A detector marks a packet of a flow that is not isolated CE.
    pub(crate) const fn count_monitored_mark(&mut self) {
        self.ce_monitored += 1;
    }

    pub(crate) fn count(&mut self, what: IsolationEvent, used: u32) {
        self.peak_slots = self.peak_slots.max(used);
        match what {
            IsolationEvent::Allocated => self.allocations += 1,
            IsolationEvent::Readmitted => {
                self.allocations += 1;
                self.readmissions += 1;
            }
            IsolationEvent::Refused => self.refusals += 1,
            IsolationEvent::Released => self.releases += 1,
            IsolationEvent::Mirrored => {}
            IsolationEvent::MirrorRefused => self.mirror_refusals += 1,
            IsolationEvent::Notified => self.cims_sent += 1,
        }
    }

    pub(crate) fn record(&self, node: u32, slots: Option<u32>, queues: Option<u32>) -> SwitchRecord {
        SwitchRecord {
            node,
            slots,
            allocations: self.allocations,
            readmissions: self.readmissions,
            refusals: self.refusals,
            mirror_refusals: self.mirror_refusals,
            peak_slots: queues.unwrap_or(self.peak_slots),
            entries_left: self.allocations - self.releases,
            cims_sent: self.cims_sent,
            cims_received: self.cims_received,
            moved_packets: self.moved_packets,
            ce_isolated: self.ce_isolated,
            ce_monitored: self.ce_monitored,
            peak_ingress: Bytes::new(u64::from(self.peak_ingress)),
            peak_egress: Bytes::new(u64::from(self.peak_egress)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readmitted_flow_counts_as_an_allocation_and_what_is_not_released_is_left() {
        let mut counts = IsolationCounts::default();
        counts.count(IsolationEvent::Allocated, 1);
        counts.count(IsolationEvent::Allocated, 2);
        counts.count(IsolationEvent::Released, 1);
        counts.count(IsolationEvent::Readmitted, 2);
        counts.count(IsolationEvent::Refused, 2);
        let record = counts.record(5, Some(2), None);
        assert_eq!((record.allocations, record.readmissions, record.refusals), (3, 1, 1));
        assert_eq!((record.entries_left, record.peak_slots), (2, 2));
    }

    #[test]
    fn the_largest_region_of_any_port_counts() {
        let mut counts = IsolationCounts::default();
        for bytes in [4096, 12_288, 8192] {
            counts.note_ingress(bytes);
        }
        counts.note_egress(4096);
        let record = counts.record(0, None, None);
        assert_eq!((record.peak_ingress, record.peak_egress), (Bytes::new(12_288), Bytes::new(4096)));
    }
}
