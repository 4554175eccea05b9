//! PFC by destination: when a queue of packets for one destination holds what comes for that destination.
//!
//! Reference: the ideal beside which Pyrrha (NSDI 2025) is evaluated; the rules as its authors' simulator has them (`NASA-NJU/Pyrrha-NS3`, commit
//! 3765687, `FC_MODE 3`, "VOQ-DSTPFC"). There is no frame for it in any standard.
//!
//! ```text
//!   packet enters, queue longer than high · hop  ─▶ the destination is held at the node that the packet came from
//!   packet leaves, queue at most low · hop       ─▶ it is let go at every node where this switch holds it
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | hop | B | egress rate · 2 · delay of the ingress link | Pyrrha-NS3 |
//! | high | hops | 2 | Pyrrha-NS3 |
//! | low | hops | 1 | Pyrrha-NS3 |
//!
//! The queue is that of one egress port. Where several ports lead to the destination, one of them that is short lets go what another one holds.

/// When a queue of one destination is too long, and when it is short again, in thousandths of what its port sends in a round trip of the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Thresholds {
    /// Beyond this it is too long.
    pub high: u32,
    /// Up to this it is short.
    pub low: u32,
}

impl Thresholds {
    /// Whether a queue of so many bytes holds its destination where the port sends `hop` bytes in a round trip.
    pub const fn holds(self, queue: u64, hop: u64) -> bool {
        queue * 1000 > self.high as u64 * hop
    }

    /// Whether it lets it go.
    pub const fn lets_go(self, queue: u64, hop: u64) -> bool {
        queue * 1000 <= self.low as u64 * hop
    }
}
