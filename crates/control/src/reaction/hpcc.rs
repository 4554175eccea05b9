//! HPCC: telemetry of each hop tells how full the path is; the window keeps it just below full.
//!
//! Reference: Li et al.: HPCC: High Precision Congestion Control (SIGCOMM 2019), §3.2 with Algorithm 1, §3.3 (parameters).
//!
//! ```text
//!   per ACK:  per hop i:  txRate := ΔtxBytes/Δts;   u_i := min(qlen, qlen of the ACK before)/(B·T) + txRate/B
//!             u := max u_i,  τ := min(its Δts, T);   U := (1 − τ/T)·U + τ/T·u
//!
//!     U >= η or incStage >= maxStage:  W := Wc/(U/η) + W_AI     │  once per round trip (the ACK of what was sent
//!     else:                            W := Wc + W_AI           │  after the last time): Wc := W, incStage := 0 or + 1
//!                                                       R := W/T
//! ```
//! The window reacts to every ACK, but always from the Wc of this round trip: "per-ACK and per-RTT".
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | η | 1 | 0.95 | HPCC paper §3.3; `U_TARGET` of its simulator |
//! | maxStage | – | 5 | HPCC paper §3.3; `MI_THRESH` of its simulator (whose `run.py` sets 0) |
//! | `W_AI` | B | 80 B | HPCC paper §5.1; 50 Mbit/s in 13 µs, as its simulator's `RATE_AI` has it |
//! | Wmin | B | 0 | not in the paper; `MIN_RATE`·T in its simulator |
//! | U at first | 1 | 1 | its simulator; the paper does not say |
//! | T | ps | unloaded round trip | HPCC paper §3.2 |
//! | W at first | B | `B_NIC`·T | HPCC paper §3.2: flows start at line rate |
//!
//! Known deviations: W is at most `B_NIC`·T (R is at most the line's rate in the HPCC simulator, to the same effect where all
//! senders have one rate). One packet may
//! always be under way, spaced by R: below that nothing would be sent that an ACK could open the window by. A flow's first ACK, with
//! nothing to compare with, only leaves its telemetry and begins the first round trip, as in the HPCC simulator. A hop that was not on the path of the ACK before has nothing to compare with
//! either; a path that changed in all hops leaves U alone (HPCC paper §4.1: state of another path is thrown away).
use backwater_units::{Bytes, Rate, Span, Time};

use super::feedback::{Feedback, IntHop};
use super::{Controller, Pacer};
use crate::{ConfigError, error::require};

/// Parameters of [`Hpcc`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccConfig {
    /// η: the utilisation to keep.
    pub eta: f64,
    /// maxStage: round trips of additive increase before the next multiplicative one.
    pub max_stage: u32,
    /// `W_AI` in bytes.
    pub add: f64,
    /// Least W in bytes.
    pub min: f64,
    /// T.
    pub base_rtt: Span,
    /// A full packet on the wire.
    pub mss: u32,
    /// `B_NIC`·T in bytes: the window of a new flow, and the most.
    pub initial: u64,
}

impl HpccConfig {
    /// The paper's values for packets of `mss` bytes and a round trip of `base_rtt` between hosts on links of rate `line`.
    pub const fn paper(mss: u32, line: Rate, base_rtt: Span) -> Self {
        let initial = line.bytes_in(base_rtt).get();
        Self { eta: 0.95, max_stage: 5, add: 80.0, min: 0.0, base_rtt, mss, initial }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.eta > 0.0 && self.eta <= 1.0,
            "eta",
            self.eta,
            "above 0 and at most 1",
            "HPCC uses 0.95",
        )?;
        require(
            self.add > 0.0 && self.add.is_finite(),
            "wai",
            Bytes::new(self.add as u64),
            "above 0B",
            "HPCC uses 80B",
        )?;
        require(
            self.base_rtt > Span::ZERO,
            "base-rtt",
            self.base_rtt,
            "longer than 0ps",
            "auto is the round trip of an empty network",
        )?;
        require(
            self.initial >= u64::from(self.mss),
            "base-rtt",
            self.base_rtt,
            "long enough for one packet at line rate",
            "auto is the round trip of an empty network",
        )?;
        require(
            (0.0..=self.initial as f64).contains(&self.min),
            "min-window",
            Bytes::new(self.min as u64),
            "at most the line's rate times base-rtt",
            "the HPCC paper has none: 0B",
        )
    }
}

/// Reaction point of one flow. The telemetry of the ACK before is kept by its owner ([`Feedback::before`]).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Hpcc {
    pacer: Pacer,
    line: Rate,
    /// W and Wc in bytes.
    window: f64,
    reference: f64,
    /// U.
    utilisation: f64,
    stage: u32,
    /// `snd_nxt` when Wc was set.
    updated: u64,
    mss: u32,
}

impl Hpcc {
    /// U.
    pub const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// W in bytes.
    pub const fn bytes(&self) -> f64 {
        self.window
    }

    /// Wc in bytes.
    pub const fn reference(&self) -> f64 {
        self.reference
    }

    /// `MeasureInflight` of the paper.
    fn measure_inflight(&mut self, config: &HpccConfig, now: &[IntHop], before: &[IntHop]) {
        let period = config.base_rtt.as_ps() as f64;
        let mut worst: Option<(f64, f64)> = None;
        for (hop, last) in now.iter().zip(before) {
            if hop.id != last.id || hop.at <= last.at {
                continue;
            }
            let elapsed = hop.at.since(last.at).as_ps() as f64;
            // Bytes that the link carries in a picosecond.
            let capacity = hop.rate.as_bps() as f64 / 8e12;
            let rate = hop.sent.wrapping_sub(last.sent) as f64 / elapsed;
            let load = hop.queue.min(last.queue) as f64 / (capacity * period) + rate / capacity;
            if worst.is_none_or(|(most, _)| load > most) {
                worst = Some((load, elapsed));
            }
        }
        if let Some((load, elapsed)) = worst {
            let weight = elapsed.min(period) / period;
            self.utilisation = (1.0 - weight) * self.utilisation + weight * load;
        }
    }

    /// `ComputeWind` of the paper.
    fn compute_window(&mut self, config: &HpccConfig, update: bool) {
        let multiplies = self.utilisation >= config.eta || self.stage >= config.max_stage;
        let from = if multiplies { self.reference / (self.utilisation / config.eta) } else { self.reference };
        self.window = (from + config.add).max(config.min).min(config.initial as f64);
        if update {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl Controller for Hpcc {
    type Config = HpccConfig;
    const WINDOW: bool = true;
    const TELEMETRY: bool = true;

    fn validate(config: &HpccConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    /// A new flow on a host link of rate `line`.
    fn new(config: &HpccConfig, line: Rate) -> Self {
        let window = config.initial as f64;
        Self {
            pacer: Pacer::new(line),
            line,
            window,
            reference: window,
            utilisation: 1.0,
            stage: 0,
            updated: 0,
            mss: config.mss,
        }
    }

    /// An ACK has arrived (`NewACK` of the paper). True if the window changed.
    fn on_feedback(&mut self, config: &HpccConfig, _now: Time, ack: &Feedback<'_>) -> bool {
        let before = self.window;
        let update = ack.acked > self.updated;
        if ack.before.is_empty() {
            self.updated = ack.sent;
            return false;
        }
        self.measure_inflight(config, ack.int, ack.before);
        self.compute_window(config, update);
        if update {
            self.updated = ack.sent;
        }
        self.pacer.set(super::rate_of(self.window, config.base_rtt, self.line));
        self.window.to_bits() != before.to_bits()
    }

    /// What may be under way in bytes: a packet at least, spaced by R.
    #[inline]
    fn window(&self) -> f64 {
        self.window.max(f64::from(self.mss))
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
    use backwater_units::{Bytes, Span};

    use super::HpccConfig;
    use crate::config::{AutoOr, Quantity};
    use crate::reaction::settings::{Parameters, PathFacts, or_auto};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// HPCC (SIGCOMM 2019), per ACK and per round trip as in its Algorithm 1. Every packet is acknowledged. Switches write telemetry into data packets;
    /// the bytes that this takes on the wire (42 B for 5 hops in the paper) belong to `packet.header` and `ack.size`.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct HpccParams {
        /// Utilisation to keep. All profiles: 0.95 (HPCC paper §3.3).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub eta: f64,
        /// maxStage: round trips of additive increase before a multiplicative one. All profiles: 5 (HPCC paper §3.3).
        #[schemars(range(max = 1_000_000))]
        pub max_stage: u32,
        /// `W_AI`: what an update adds to the window. All profiles: 80 B (HPCC paper §5.1).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
        pub wai: Quantity<Bytes>,
        /// The least window, and with `base-rtt` the least rate. All profiles: 0 B (the paper has none; its simulator has `MIN_RATE`).
        #[schemars(extend("x-minimum" = "0B", "x-maximum" = "1GB"))]
        pub min_window: Quantity<Bytes>,
        /// T. auto: the longest unloaded round trip of any flow, with the time on the wire of packet and ACK at each link (HPCC paper §3.2).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub base_rtt: AutoOr<Span>,
    }

    impl Parameters for HpccParams {
        const SHARED: &'static [&'static str] = &["window-counts"];

        fn resolve(&self, cc: &CcSettings, path: &dyn Fn() -> PathFacts) -> ReactionConfig {
            let path = path();
            let base_rtt = or_auto(self.base_rtt, path.rtt);
            ReactionConfig::Hpcc(HpccConfig {
                eta: self.eta,
                max_stage: self.max_stage,
                add: self.wai.0.get() as f64,
                min: self.min_window.0.get() as f64,
                base_rtt,
                mss: cc.mss(&path),
                initial: path.line.bytes_in(base_rtt).get(),
            })
        }

        fn follows(&self) -> Option<&'static str> {
            matches!(self.base_rtt, AutoOr::Auto).then_some("base-rtt")
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
