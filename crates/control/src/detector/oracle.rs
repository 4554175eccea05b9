//! An oracle: it marks what leaves a root of congestion, and nothing else.
//!
//! A root is an egress port that is congested by itself: its queue is long, and no flow control explains that. A switch cannot know
//! that; a simulator can, and asks [`Oracle::on_verdict`]. So this is no detector for a data plane. It classifies
//! exactly, for one threshold of a long queue. What a reaction gains with it is what it gains by that; other marks may suit it better.
//!
//! ```text
//!   root       CE
//!   no root    no mark, and no UE
//! ```
//! The threshold of a long queue and the end of a held period are those of the ground truth, which the oracle has no keys for.
//!
//! Known deviations: none; the definition is the simulator's. Without a simulator it marks nothing.
use super::{CongestionPoint, Departure, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts};
#[cfg(feature = "config")]
use crate::ConfigError;
use crate::{CodePoint, PortState};

/// It has no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oracle;

impl Oracle {
    /// A packet leaves a port of which the simulator knows whether it is a root.
    pub const fn on_verdict(self, registers: &mut Registers, root: bool, code: CodePoint) -> CodePoint {
        if root {
            registers.state = PortState::Congestion;
            code.mark_ce()
        } else {
            registers.state = PortState::NonCongestion;
            code
        }
    }
}

impl CongestionPoint for Oracle {
    #[inline]
    fn on_dequeue(&self, _: &mut Registers, departure: &Departure, _draw: impl FnOnce() -> u32) -> CodePoint {
        departure.code
    }

    fn calm(&self) -> u64 {
        0
    }

    #[cfg(feature = "config")]
    fn resolve(_: &DetectorSettings, _: &PortFacts) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}
