//! The receive queue of a host, as its ACKs see it: congestion, admission, and the release of IACKs at the threshold.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section II-D, Fig. 1; the authors' public
//! simulator (commit 6ef0eb3) for how the threshold position is counted, and for reservations, which the paper does not have.
//!
//! ```text
//!   drained ◀─ head [ acknowledged, not yet processed │ accepted, not acknowledged ] ◀─ in
//!                   ├────────────── T ────────────────┤
//!   ahead = acknowledged − processed, in bytes; the next PUT of the list of unacknowledged ones is released
//!     if the queue is at or below T, or ahead < T, or ahead < 0 (more was processed than acknowledged)
//!   congested = occupancy (+ reserved) > T
//!   admitted if size ≤ depth − occupancy − reserved, or the stream holds a reservation and size ≤ depth − occupancy
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | T | B | 8,992 | EC paper, section III-A: 9 KB; 281 flits |
//! | rule | | at most T | reconstructed; the authors' simulator releases nothing at exactly T |
//! | IACK on | | acceptance | EC paper, section II-D, which also says: when processed |
//! | reservation | | one packet | reconstructed; the authors' simulator: 8,992 B for each stream that got a NACK |
//! | counted in congestion | | no | reconstructed; the authors' simulator: yes |
//!
//! Known deviations: the authors count what is acknowledged and not processed, and what is processed and not acknowledged, in two
//! registers, which can both be above zero where sizes differ; here it is one signed register.
use super::{IackOn, ReleaseRule, Reservation, TargetConfig};

/// Registers of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Release {
    /// Bytes acknowledged minus bytes processed.
    ahead: i64,
    reserved: u64,
}

impl Release {
    /// Whether a host with `occupancy` bytes in its receive queue is congested.
    #[inline]
    pub const fn congested(&self, config: &TargetConfig, occupancy: u64) -> bool {
        let reserved = if config.reserved_counts { self.reserved } else { 0 };
        occupancy + reserved > config.threshold
    }

    /// Whether a packet of `size` bytes fits behind `occupancy` in a queue of `depth`; `own` is what its stream has reserved.
    #[inline]
    pub const fn admits(&self, size: u64, occupancy: u64, depth: u64, own: u64) -> bool {
        let kept = if own > 0 { 0 } else { self.reserved };
        occupancy + kept + size <= depth
    }

    /// Whether the next accepted PUT, of `size` bytes, may be acknowledged now; if so it counts as acknowledged.
    #[inline]
    pub const fn releases(&mut self, config: &TargetConfig, occupancy: u64, size: u64) -> bool {
        let (below, above) = match config.rule {
            ReleaseRule::AtMost => (occupancy <= config.threshold, occupancy > config.threshold),
            ReleaseRule::Below => (occupancy < config.threshold, occupancy > config.threshold),
        };
        let accepted = matches!(config.iack, IackOn::Accepted);
        let released = !config.pacing
            || self.ahead < 0
            || (below && accepted)
            || (above && self.ahead < config.threshold.cast_signed());
        if released {
            self.ahead += size.cast_signed();
        }
        released
    }

    /// A PUT of `size` bytes was processed and has left the queue.
    #[inline]
    pub const fn processed(&mut self, size: u64) {
        self.ahead -= size.cast_signed();
    }

    /// A NACK goes to a stream that has reserved `own` bytes and whose next packet has `size`. What it has reserved now.
    pub const fn reserve(&mut self, config: &TargetConfig, size: u64, depth: u64, own: u64) -> u64 {
        let (wanted, room) = match config.reservation {
            Reservation::None => (0, 0),
            Reservation::Packet => (size, depth.saturating_sub(config.threshold)),
            Reservation::Bytes(bytes) => (bytes, u64::MAX),
        };
        if own > 0 || wanted == 0 || self.reserved.saturating_add(wanted) > room {
            return own;
        }
        self.reserved += wanted;
        wanted
    }

    /// A packet of a stream was accepted: the `own` bytes that it had reserved are free again.
    #[inline]
    pub const fn give_back(&mut self, own: u64) {
        self.reserved -= own;
    }

    /// Bytes that are reserved for all streams.
    #[inline]
    pub const fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Bytes acknowledged minus bytes processed.
    #[inline]
    pub const fn ahead(&self) -> i64 {
        self.ahead
    }
}
