//! PCN's reaction point: down at once to the rate at which the packets came, then up, gently at first.
//!
//! Reference: Cheng, Qian, Jiang, Zhang, Ren: Re-architecting Congestion Management in Lossless Ethernet (PCN, NSDI 2020). Its rules
//! were read in the authors' ns-3 code (chengwx1992/PCN-simulation, branch `pcn`, commit 621cbf28): `Receive` of `qbb-net-device.cc`. Of
//! the paper only the abstract was read ("alleviate congestion in as short as 1 RTT").
//!
//! ```text
//!   CNP, congested ──▶ R := min(R, advised · (1 − wmin));   w := wmin
//!   CNP, not so    ──▶ R := R · (1 − w) + line · w;         w := w · (1 − w) + wmax · w
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | wmin | 1 | 1/128 | authors' code, `MinWeight` |
//! | wmax | 1 | 1/4 | authors' code, `MaxWeight` |
//! | R at first | bit/s | line | authors' code |
//!
//! `advised` is what the receiver saw ([`crate::notify::Advice`]): of n flows that fill a link of rate C it is C/n, whatever they send. One
//! CNP comes for each period in which a packet came, so that periods, not a timer of the source, raise the rate.
//!
//! Known deviations: a rate is cut to whole bit/s, as there, and is 1 kbit/s at least, where the code has no bound (its advised rate may be
//! 0 Mbit/s, which stops a flow for ever). The ratio of advised rate and rate is exact, there of whole Mbit/s.
use backwater_units::{Rate, Span, Time};

use super::{Controller, Pacer};
use crate::{CodePoint, ConfigError, error::require};

/// The least rate.
const LEAST: Rate = Rate::from_bps(1_000);

/// Parameters of [`Pcn`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcnConfig {
    /// wmin: what is left free below the advised rate, and the first step up.
    pub w_min: f64,
    /// wmax: what the steps up grow to.
    pub w_max: f64,
}

impl PcnConfig {
    /// The defaults of the authors' code.
    pub const fn authors() -> Self {
        Self { w_min: 1.0 / 128.0, w_max: 0.25 }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { w_min, w_max } = *self;
        require(
            w_min > 0.0 && w_min < 1.0,
            "w-min",
            w_min,
            "above 0 and below 1",
            "PCN's code uses 0.0078125; with 0 no rate would ever rise",
        )?;
        require(
            w_max >= w_min && w_max < 1.0,
            "w-max",
            w_max,
            "w-min at least and below 1",
            "PCN's code uses 0.25",
        )
    }
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Pcn {
    pacer: Pacer,
    line: Rate,
    /// w: the next step up.
    weight: f64,
}

impl Pcn {
    /// w.
    pub const fn weight(&self) -> f64 {
        self.weight
    }
}

impl Controller for Pcn {
    type Config = PcnConfig;

    fn validate(config: &PcnConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    fn new(config: &PcnConfig, line: Rate) -> Self {
        Self { pacer: Pacer::new(line), line, weight: config.w_min }
    }

    fn on_advice(&mut self, config: &PcnConfig, _now: Time, code: CodePoint, advised: Rate) -> bool {
        let (rate, w) = (self.rate().as_bps() as f64, self.weight);
        let wanted = if code == CodePoint::Congestion {
            self.weight = config.w_min;
            rate.min(advised.as_bps() as f64 * (1.0 - config.w_min))
        } else {
            self.weight = w * (1.0 - w) + config.w_max * w;
            rate * (1.0 - w) + self.line.as_bps() as f64 * w
        };
        self.pacer.set(Rate::from_bps(wanted as u64).max(LEAST).min(self.line))
    }

    /// R.
    #[inline]
    fn rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// The pacing gap at R.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use super::PcnConfig;
    use crate::reaction::settings::{Notifications, Parameters, PathFacts, Wants};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// PCN (NSDI 2020): the receiver tells the rate at which packets came, once in each `cnp-interval`. Its marks are those of the detector
    /// np-ecn with `kmin` and `kmax` 0 B, and its `np-fraction` 0.95. Flows start at line rate.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct PcnParams {
        /// Share of the advised rate that a congested flow leaves free, and the share of the way to line rate that it takes at the
        /// first CNP without congestion. All profiles: 1/128 (authors' code).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub w_min: f64,
        /// What that share grows to, CNP by CNP. All profiles: 1/4 (authors' code).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub w_max: f64,
    }

    impl Parameters for PcnParams {
        const SHARED: &'static [&'static str] = &["cnp-interval", "np-fraction", "cnp-size"];

        fn resolve(&self, _: &CcSettings, _: &dyn Fn() -> PathFacts) -> ReactionConfig {
            ReactionConfig::Pcn(PcnConfig { w_min: self.w_min, w_max: self.w_max })
        }

        fn wants(&self) -> Wants {
            Wants { notifications: Notifications::Advice, ..Wants::default() }
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
