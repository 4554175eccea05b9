//! OPT: a limit of the packets and bytes that are outstanding.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section III-A, "outstanding packet threshold".
//!
//! ```text
//!   new packet:    packets + 1 ≤ limit, and bytes + size ≤ limit
//!   resent packet: always: it is outstanding already, "retransmissions follow the same threshold"
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | packets | packets | 256 | reconstructed: the paper does not say; the authors' simulator has 50, which holds 1 KB PUTs at 53 % of the link |
//! | bytes | B, headers too | 128,000 | the authors' public simulator (commit 6ef0eb3): 4,000 flits |
//!
//! Known deviations: none.
use super::{Controller, Load};
use crate::ConfigError;
use crate::error::require;
use backwater_units::{Bytes, Rate};

/// Most that may be outstanding to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptConfig {
    /// Packets.
    pub packets: u32,
    /// Bytes, headers included.
    pub bytes: u64,
}

impl OptConfig {
    /// 256 packets (reconstructed) and 128,000 B (the authors' public simulator, commit 6ef0eb3).
    pub const fn standard() -> Self {
        Self { packets: 256, bytes: 128_000 }
    }

    /// Refuses limits by which nothing could ever be sent; `largest` is the size of the largest packet, with its header.
    pub fn validate(&self, largest: u32) -> Result<(), ConfigError> {
        let packets = f64::from(self.packets);
        require(self.packets >= 1, "packets", packets, "at least 1", "256 is the default")?;
        require(
            self.bytes >= u64::from(largest),
            "bytes",
            Bytes::new(self.bytes),
            "at least one packet with its header",
            "128000B is the default",
        )
    }

    /// Whether the limits let this packet go.
    #[inline]
    pub const fn may_send(&self, load: &Load) -> bool {
        load.again || (load.packets < self.packets && load.bytes + load.size as u64 <= self.bytes)
    }
}

/// A stream that is limited so: what is outstanding is all that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Opt;

impl Controller for Opt {
    type Config = OptConfig;

    fn validate(config: &OptConfig, largest: u32) -> Result<(), ConfigError> {
        config.validate(largest)
    }

    fn new(_: &OptConfig, _line: Rate) -> Self {
        Self
    }

    #[inline]
    fn may_send(&self, config: &OptConfig, load: &Load) -> bool {
        config.may_send(load)
    }
}
