//! The first bytes of a queue pair that was idle: they leave at a rate of their own, until the NIC's reads from the memory of its host keep
//! up with the link.
use backwater_units::{Bytes, Rate};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::NicCosts;

/// What is left of them.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Start {
    bytes: Bytes,
    rate: Rate,
    /// Bytes of the present message that are still sent at that rate.
    left: u64,
}

impl Start {
    /// `None` if they are sent as all others.
    pub(crate) fn new(costs: Option<&NicCosts>) -> Option<Self> {
        costs?.start.map(|(bytes, rate)| Self { bytes, rate, left: 0 })
    }

    /// The queue pair was idle.
    pub(crate) fn wakes(&mut self) {
        self.left = self.bytes.get();
    }

    /// A packet of `wire` bytes leaves `now`: when the next one is there.
    pub(crate) fn on_sent(&mut self, now: u64, wire: u32) -> u64 {
        if self.left == 0 {
            return 0;
        }
        self.left = self.left.saturating_sub(u64::from(wire));
        now + self.rate.serialize(Bytes::new(u64::from(wire))).as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_an_idle_queue_pair_leave_at_their_own_rate_packet_by_packet() {
        // 1000 B at 40 Gbps take 200 ns.
        let costs = NicCosts { start: Some((Bytes::new(2_500), Rate::from_gbps(40))), ..NicCosts::default() };
        let mut start = Start::new(Some(&costs)).expect("a rate of its own");
        assert_eq!(start.on_sent(7, 1_000), 0, "it was not idle");
        start.wakes();
        assert_eq!([100, 300, 500, 700].map(|now| start.on_sent(now, 1_000)), [200_100, 200_300, 200_500, 0]);
    }

    #[test]
    fn without_a_rate_of_their_own_they_are_sent_as_all_others() {
        assert!(Start::new(None).is_none());
        assert!(Start::new(Some(&NicCosts::default())).is_none());
    }
}
