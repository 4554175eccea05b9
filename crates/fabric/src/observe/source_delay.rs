//! Where the time of a flow goes at its source: behind earlier messages of its connection, paced by its reaction point,
//! behind the NIC's closed gate, behind the NIC's other flows.
use backwater_units::relative::once;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::reuse::relative;

/// The times of one flow, in picoseconds. From its start to the start of its last packet they add up, together with the
/// time on the wire of all packets but the last.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct SourceDelay {
    /// When the wire was done with the flow's latest packet; its start before the first one.
    #[borsh(serialize_with = "once")]
    free_at: u64,
    /// What the NIC's gate had been closed in all when that packet left.
    #[borsh(serialize_with = "relative::closed")]
    closed: u64,
    /// Spent waiting for earlier messages of the connection to leave.
    behind: u64,
    /// Spent waiting for the packet to become due.
    paced: u64,
    /// Spent, though due, while the gate was closed.
    held: u64,
    /// Spent, though due and at an open gate, while the NIC sent something else.
    queued: u64,
}

impl SourceDelay {
    /// The flow starts `now`; the gate has been closed for `closed` in all.
    pub(crate) fn start(&mut self, now: u64, closed: u64) {
        self.free_at = now;
        self.closed = closed;
    }

    /// Behind earlier messages, paced, held by the gate, queued behind other flows.
    pub(crate) const fn parts(&self) -> [u64; 4] {
        [self.behind, self.paced, self.held, self.queued]
    }

    /// Those of the three that are of packets, anew: paced, held by the gate, queued behind other flows.
    pub(crate) const fn set(&mut self, [paced, held, queued]: [u64; 3]) {
        (self.paced, self.held, self.queued) = (paced, held, queued);
    }

    /// The start of a flow of which no packet has left, or when its latest one was off the wire.
    pub(crate) const fn since(&self) -> u64 {
        self.free_at
    }

    /// The message before it on the connection is off the wire at `free_at`; the gate has been closed for `closed` in all.
    pub(crate) fn follow(&mut self, free_at: u64, closed: u64) {
        if free_at > self.free_at {
            self.behind = free_at - self.free_at;
            self.free_at = free_at;
            self.closed = closed;
        }
    }

    /// From now on it waits behind another gate, which has been closed for `to` in all, the one so far for `from`.
    pub(crate) fn change_gates(&mut self, from: u64, to: u64) {
        self.closed = self.closed.wrapping_add(to).wrapping_sub(from);
    }

    /// A packet leaves `now`, while the one before it may still be on another wire: from now on time counts as that of this one.
    pub(crate) fn overlap(&mut self, now: u64) {
        self.free_at = self.free_at.min(now);
    }

    /// A packet that was due at `due` leaves `now` and takes `wire` to do so.
    #[inline]
    pub(crate) fn sent(&mut self, due: u64, now: u64, wire: u64, closed: u64) {
        // A source that catches up has packets due before the one ahead of them has left.
        let ready = due.max(self.free_at);
        self.paced += ready - self.free_at;
        let late = now - ready;
        let held = late.min(closed.wrapping_sub(self.closed));
        self.held += held;
        self.queued += late - held;
        self.free_at = now + wire;
        self.closed = closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_start_of_the_last_packet() {
        let mut flow = SourceDelay::default();
        flow.start(100, 7);
        flow.sent(100, 100, 10, 7); // at once
        flow.sent(150, 150, 10, 7); // 40 paced
        flow.sent(160, 190, 10, 27); // 20 behind the gate, 10 behind another flow
        flow.sent(120, 200, 10, 27); // due long ago, but the one before it had to leave first
        assert_eq!((flow.paced, flow.held, flow.queued), (40, 20, 10));
        assert_eq!(100 + flow.paced + flow.held + flow.queued + 3 * 10, 200);
    }

    #[test]
    fn time_behind_one_gate_and_then_another_adds_up() {
        let mut flow = SourceDelay::default();
        flow.start(100, 1000);
        flow.change_gates(1030, 7); // 30 behind a gate that had been closed often; the other has been for 7 only
        flow.sent(100, 160, 10, 19); // 12 behind that one, and 18 behind other flows
        assert_eq!((flow.held, flow.queued), (42, 18));
    }

    #[test]
    fn the_wait_for_the_message_before_it_is_a_part_of_its_own() {
        let mut flow = SourceDelay::default();
        flow.start(100, 0);
        flow.follow(130, 5); // the wire was busy with the message before until 130
        flow.sent(150, 160, 10, 5); // 20 paced, 10 behind another flow
        assert_eq!((flow.behind, flow.paced, flow.held, flow.queued), (30, 20, 0, 10));
        let mut later = SourceDelay::default();
        later.start(200, 0);
        later.follow(130, 5);
        assert_eq!(later.behind, 0, "it came when the connection was idle");
    }
}
