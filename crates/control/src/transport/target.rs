//! Target of a stream: accepts PUTs in order, and asks for a NACK once per episode of loss.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section II-A; the authors' public simulator
//! (commit 6ef0eb3) for what an episode is.
//!
//! ```text
//!               expected, fits: accept                   expected, fits: accept
//!             ┌──────────┐                         ┌─────────────────────────────────┐
//!             └─▶ in order ── expected, no room: drop, NACK ─▶ episode ──────────────┘──▶ in order
//!                    └─────── later one: drop, NACK ─────────────▶│ expected, no room: drop, NACK
//!                                                                 │ later one: drop
//!   an older one, in either state: drop, acknowledge again
//! ```
//! There are no parameters.
//!
//! Known deviations: none.

/// What becomes of a packet that has come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was the expected one, and there was room.
    Accept,
    /// It had been accepted before: acknowledge again.
    Duplicate,
    /// It is lost.
    Drop {
        /// Whether the initiator is to be notified.
        nack: bool,
        /// Whether an earlier one is missing; else it was the expected one and did not fit.
        gap: bool,
    },
}

/// One stream at its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Target {
    accepted: u32,
    episode: bool,
}

impl Target {
    /// Packet `seq` (from 1) has come in; whether it `fits` the receive queue.
    #[inline]
    pub const fn on_packet(&mut self, seq: u32, fits: bool) -> Verdict {
        if seq <= self.accepted {
            return Verdict::Duplicate;
        }
        let gap = seq - self.accepted > 1;
        if fits && !gap {
            self.accepted = seq;
            self.episode = false;
            return Verdict::Accept;
        }
        // Whatever follows the first loss comes because the initiator does not know of it yet.
        let nack = !(gap && self.episode);
        self.episode = true;
        Verdict::Drop { nack, gap }
    }

    /// The latest packet accepted; all before it were, too. 0: none yet.
    #[inline]
    pub const fn accepted(&self) -> u32 {
        self.accepted
    }

    /// Whether a packet was lost and none accepted since.
    #[inline]
    pub const fn in_episode(&self) -> bool {
        self.episode
    }
}
