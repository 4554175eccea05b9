//! NP-ECN: RED that leaves unmarked what had to wait behind a closed gate.
//!
//! Reference: Cheng, Qian, Jiang, Zhang, Ren: Re-architecting Congestion Management in Lossless Ethernet (PCN,
//! NSDI 2020), its non-PAUSE ECN; as a baseline in TCD (SIGCOMM 2021) §7.
//!
//! ```text
//!   RESUME           counter := packets queued
//!   each dequeue     counter > 0:  counter −= 1, no mark
//!                    counter = 0:  RED
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | kmin, kmax, pmax | B, B, 1 | as RED | the same thresholds as the ECN that it is compared with |
//!
//! The other half of NP-ECN is the receiver's: a flow is congested only if at least 95 % of its packets of a period
//! were marked, see `fraction` of the notification point.
//!
//! Known deviations: PCN marks every packet of a queue that is not empty; here the packets that were not paused meet
//! RED, with kmin = kmax = 0 the same. The counter is one per port and priority and starts anew with
//! every RESUME, so that packets which were paused twice are counted once. The reported state is RED's, and
//! non-congestion for a paused packet: NP-ECN has two answers only and cannot say "undetermined".
use backwater_units::Time;

use super::{CongestionPoint, Departure, Red, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts};
use crate::{CodePoint, ConfigError, PortState};

/// Parameters of NP-ECN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NpEcn {
    /// The rule for packets that were not paused.
    pub red: Red,
}

impl CongestionPoint for NpEcn {
    #[cfg(feature = "config")]
    const SHARED: &'static [&'static str] = super::RAMP;
    /// 95 % (TCD paper §7).
    #[cfg(feature = "config")]
    const CONGESTED_SHARE: f64 = 0.95;

    /// The `packets` queued at the end of an OFF period were paused.
    #[inline]
    fn on_resume(&self, registers: &mut Registers, _now: Time, _queue: u64, packets: impl FnOnce() -> u32) {
        registers.at_resume = packets();
        // As long as a paused packet is queued, no dequeue may be kept from the counter.
        registers.release = if registers.at_resume > 0 { Time::MAX } else { Time::ZERO };
    }

    #[inline]
    fn on_dequeue(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        if registers.at_resume == 0 {
            return self.red.on_dequeue(registers, departure, draw);
        }
        registers.at_resume -= 1;
        if registers.at_resume == 0 {
            registers.release = Time::ZERO;
        }
        registers.state = PortState::NonCongestion;
        departure.code
    }

    fn calm(&self) -> u64 {
        self.red.calm()
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.red.validate()
    }

    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, port: &PortFacts) -> Result<Self, ConfigError> {
        Ok(Self { red: Red::resolve(settings, port)? })
    }
}
