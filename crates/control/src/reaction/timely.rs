//! TIMELY: the round-trip time of each segment, and how it changes, sets the rate.
//!
//! Reference: Mittal et al.: TIMELY: RTT-based Congestion Control for the Datacenter (SIGCOMM 2015), §4, in the form of
//! its author's code snippet, on which the TCD authors built. UE: TCD (SIGCOMM 2021) §5.2.3.
//!
//! ```text
//!   per completion:  d := rtt − prevRTT;  avgDiff := (1−w)·avgDiff + w·d;  gradient := avgDiff/minRTT
//!                    f := min(1, time since the last completion / minRTT)
//!
//!    0 ───────────── Tlow ──────────────────────────────────────── Thigh ─────────────────▶ rtt
//!        R += δ·f     │  gradient <= 0:  R += N·δ·f                  │  R *= 1 − f·β·(1 − Thigh/rtt)
//!                     │  gradient > 0:   R *= 1 − β·gradient         │
//!                     │                  (echo UE and hold: R stays) │
//!
//!   N = 5 once d was negative five times in a row (HAI), else 1;  at last R := max(R, floor·R before), Rmin <= R <= line
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | w (EWMA) | 1 | 0.02 | author's TIMELY snippet; the paper gives none, ns3-rdma and the HPCC simulator use 0.875 |
//! | β | 1 | 0.8 (1.6 with TCD) | TIMELY paper; TCD §5.2.3 |
//! | Tlow | ps | 50 µs | TIMELY paper |
//! | Thigh | ps | 500 µs | TIMELY paper (which TCD cites for what it does not state); the snippet: 1 ms |
//! | δ | bit/s | line/1000: 40 Mbps at 40G | TIMELY paper: 10 Mbps at 10G; HPCC simulator: in proportion to the line |
//! | HAI after | – | 5 | TIMELY paper |
//! | HAI factor N | – | 5 | TIMELY paper |
//! | minRTT | ps | of the network | TIMELY paper: 20 µs in its own network |
//! | floor | 1 | 0.5 | author's TIMELY snippet; the paper and the HPCC simulator have none |
//! | Rmin | bit/s | 100 Mbps | as for DCQCN in the TCD authors' configuration; the TIMELY paper gives none |
//! | on UE | – | hold | TCD §5.2.3 |
//!
//! The first completion of a flow has no predecessor: d is 0 and f is 1, since a round trip has passed from the flow's
//! start. It therefore raises or, above Thigh, lowers the rate, and has no gradient. Both borders belong to the middle
//! band. The new rate is computed in floating point and cut to whole bit/s.
//!
//! Known deviations: none from the snippet but the floor, Thigh, δ and minRTT being parameters. The TIMELY paper
//! has no f, no floor, and counts completions with a negative gradient where the snippet counts negative d.
//!
//! The HPCC simulator's TIMELY ([`TimelyForm::RoundTrip`]) has one completion per round trip, that of a packet, and differs
//! from the above: the first one only leaves its RTT; f is 1; there is no floor; a negative factor counts as 0; HAI begins
//! after `hai_after` increases in a row. Its w is 0.875 and its minRTT 20 µs.
use backwater_units::{Rate, Span, Time};

use super::{Controller, Pacer};
use crate::{CodePoint, ConfigError, error::require};

/// What a flow does when its RTT grows and the acknowledged segment crossed undetermined ports only (UE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum TimelyOnUe {
    /// Between `t-low` and `t-high` a rising delay does not lower the rate: it comes from PAUSEs (TCD paper §5.2.3).
    Hold,
    /// UE is not for this controller: plain TIMELY.
    Ignore,
}

/// Which TIMELY it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum TimelyForm {
    /// An update for each segment (the snippet of TIMELY's authors).
    Completion,
    /// An update for each round trip (HPCC simulator): every packet is a segment of its own and is spaced, and one of those of a
    /// round trip is measured. No `floor`; `hai-after` counts increases.
    RoundTrip,
}

/// Parameters of [`Timely`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelyConfig {
    /// Which TIMELY it is.
    pub form: TimelyForm,
    /// w: weight of one RTT difference in their average.
    pub ewma: f64,
    /// β: factor of both decreases.
    pub beta: f64,
    /// Below this RTT the rate only rises.
    pub t_low: Span,
    /// Above this RTT the rate only falls.
    pub t_high: Span,
    /// δ: additive increase per minRTT.
    pub add: Rate,
    /// RTT differences below zero in a row (per round trip: increases in a row) after which the increase is hyperactive.
    pub hai_after: u32,
    /// N: how many δ a hyperactive increase is.
    pub hai_factor: u32,
    /// The unit of gradients and of the time between updates.
    pub min_rtt: Span,
    /// One completion lowers the rate to no less than this share of itself.
    pub floor: f64,
    /// Rmin.
    pub min_rate: Rate,
    /// Reaction to UE.
    pub on_ue: TimelyOnUe,
}

impl TimelyConfig {
    /// The author's TIMELY snippet with the paper's thresholds and TCD's hold, for hosts whose links run at `line` in
    /// a network whose shortest round trip takes `min_rtt`.
    pub const fn authors(line: Rate, min_rtt: Span) -> Self {
        Self {
            form: TimelyForm::Completion,
            ewma: 0.02,
            beta: 0.8,
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            add: Rate::from_bps(line.as_bps() / 1_000),
            hai_after: 5,
            hai_factor: 5,
            min_rtt,
            floor: 0.5,
            min_rate: Rate::from_mbps(100),
            on_ue: TimelyOnUe::Hold,
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.ewma > 0.0 && self.ewma <= 1.0,
            "ewma",
            self.ewma,
            "above 0 and at most 1",
            "the author's TIMELY snippet uses 0.02",
        )?;
        require(
            self.beta > 0.0 && self.beta.is_finite(),
            "beta",
            self.beta,
            "above 0",
            "TIMELY uses 0.8, with TCD 1.6",
        )?;
        require(
            self.t_low <= self.t_high,
            "t-low",
            self.t_low,
            "at most t-high",
            "TIMELY uses 50us and 500us",
        )?;
        require(self.t_high > Span::ZERO, "t-high", self.t_high, "longer than 0ps", "TIMELY uses 500us")?;
        require(self.add > Rate::ZERO, "add", self.add, "above 0bps", "TIMELY uses 10Mbps at 10Gbps")?;
        let after = f64::from(self.hai_after);
        require(self.hai_after >= 1, "hai-after", after, "at least 1", "TIMELY uses 5")?;
        let factor = f64::from(self.hai_factor);
        require(self.hai_factor >= 1, "hai-factor", factor, "at least 1", "TIMELY uses 5; 1 is no HAI")?;
        require(
            self.min_rtt > Span::ZERO,
            "min-rtt",
            self.min_rtt,
            "longer than 0ps",
            "use the round trip of an empty network",
        )?;
        require(
            (0.0..1.0).contains(&self.floor),
            "floor",
            self.floor,
            "at least 0 and below 1",
            "the author's TIMELY snippet uses 0.5",
        )?;
        require(
            self.min_rate > Rate::ZERO,
            "min-rate",
            self.min_rate,
            "above 0bps",
            "a flow at 0bps never ends; use 100Mbps",
        )
    }
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Timely {
    pacer: Pacer,
    line: Rate,
    /// The latest RTT.
    previous: Span,
    /// When it was measured; `MAX` before the first one.
    last: Time,
    /// Average of the RTT differences in ps.
    average: f64,
    /// Differences below zero in a row; per round trip: increases in a row.
    falling: u32,
}

impl Timely {
    /// A new flow at line rate.
    pub const fn new(line: Rate) -> Self {
        Self {
            pacer: Pacer::new(line),
            line,
            previous: Span::ZERO,
            last: Time::MAX,
            average: 0.0,
            falling: 0,
        }
    }

    /// The RTT gradient: the average difference of successive RTTs in units of minRTT.
    pub fn gradient(&self, config: &TimelyConfig) -> f64 {
        self.average / config.min_rtt.as_ps() as f64
    }

    /// The same in the form of the HPCC simulator.
    fn on_round_trip(&mut self, config: &TimelyConfig, now: Time, rtt: Span, echo: CodePoint) -> bool {
        let (is_first, increases) = (self.last == Time::MAX, self.falling);
        self.observe(config, now, rtt);
        self.falling = increases;
        if is_first {
            return false;
        }
        let (gradient, rate) = (self.gradient(config), self.rate().as_bps() as f64);
        if rtt < config.t_low || (rtt <= config.t_high && gradient <= 0.0) {
            let steps = if increases < config.hai_after { 1.0 } else { f64::from(config.hai_factor) };
            self.falling = increases.saturating_add(1);
            let wanted = Rate::from_bps((rate + steps * config.add.as_bps() as f64) as u64);
            return self.pacer.set(wanted.min(self.line));
        }
        self.falling = 0;
        let factor = if rtt > config.t_high {
            1.0 - config.beta * (1.0 - config.t_high.as_ps() as f64 / rtt.as_ps() as f64)
        } else if config.on_ue == TimelyOnUe::Hold && echo == CodePoint::Undetermined {
            return false;
        } else {
            (1.0 - config.beta * gradient).max(0.0)
        };
        self.pacer.set(Rate::from_bps((rate * factor) as u64).max(config.min_rate).min(self.line))
    }

    /// Takes an RTT into the registers. Returns f, the time since the last one in units of minRTT, at most 1.
    fn observe(&mut self, config: &TimelyConfig, now: Time, rtt: Span) -> f64 {
        let (difference, elapsed) = if self.last == Time::MAX {
            (0.0, 1.0)
        } else {
            let difference = rtt.as_ps() as f64 - self.previous.as_ps() as f64;
            let elapsed = now.since(self.last).as_ps() as f64 / config.min_rtt.as_ps() as f64;
            (difference, elapsed.min(1.0))
        };
        self.falling = if difference < 0.0 { self.falling.saturating_add(1) } else { 0 };
        self.average = (1.0 - config.ewma) * self.average + config.ewma * difference;
        self.previous = rtt;
        self.last = now;
        elapsed
    }
}

impl Controller for Timely {
    type Config = TimelyConfig;

    fn validate(config: &TimelyConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    fn new(_: &TimelyConfig, line: Rate) -> Self {
        Self::new(line)
    }

    /// A segment was acknowledged after `rtt`, its own serialisation taken off; its ACK echoes `echo`. True if the
    /// rate changed.
    fn on_completion(&mut self, config: &TimelyConfig, now: Time, rtt: Span, echo: CodePoint) -> bool {
        if config.form == TimelyForm::RoundTrip {
            return self.on_round_trip(config, now, rtt, echo);
        }
        let elapsed = self.observe(config, now, rtt);
        let gradient = self.gradient(config);
        let rate = self.rate().as_bps() as f64;
        let add = config.add.as_bps() as f64;
        let wanted = if rtt < config.t_low {
            rate + add * elapsed
        } else if rtt > config.t_high {
            let excess = 1.0 - config.t_high.as_ps() as f64 / rtt.as_ps() as f64;
            rate * (1.0 - elapsed * config.beta * excess)
        } else if gradient <= 0.0 {
            let hyperactive = self.falling >= config.hai_after;
            let steps = if hyperactive { f64::from(config.hai_factor) } else { 1.0 };
            rate + steps * add * elapsed
        } else if config.on_ue == TimelyOnUe::Hold && echo == CodePoint::Undetermined {
            return false;
        } else {
            rate * (1.0 - config.beta * gradient)
        };
        let wanted = Rate::from_bps(wanted.max(config.floor * rate) as u64);
        self.pacer.set(wanted.max(config.min_rate).min(self.line))
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
    use backwater_units::{Rate, Span};

    use super::{TimelyConfig, TimelyForm, TimelyOnUe};
    use crate::config::{AutoOr, Quantity};
    use crate::reaction::settings::{Parameters, PathFacts, Segments, Unread, Wants};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// TIMELY in the form of its authors' published snippet, or in that of the HPCC simulator. Flows start at line rate; every segment is
    /// acknowledged.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct TimelyParams {
        /// Which implementation. All profiles: completion (snippet); hpcc-ns3: round-trip.
        pub variant: TimelyForm,
        /// Weight of a new difference of two round-trip times in their average. 0.02 (snippet); hpcc-ns3: 0.875 (`TimelyAlpha`).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub ewma: f64,
        /// Multiplicative decrease. 0.8 (TIMELY paper, snippet); with TCD 1.6 (TCD paper §5.2.3).
        #[schemars(range(min = 0.0, max = 16.0))]
        pub beta: f64,
        /// Below this round-trip time the rate always rises. 50 µs (TIMELY paper).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub t_low: Quantity<Span>,
        /// Above this round-trip time the rate always falls. 500 µs (TIMELY paper; snippet: 1 ms).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub t_high: Quantity<Span>,
        /// Additive increase per minimum round-trip time. 40 Mbps: the snippet's 10 Mbps at 10 Gbps, scaled to 40 Gbps; hpcc-ns3: 100 Mbps
        /// (`run.py` at 100 Gbps).
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        pub add: Quantity<Rate>,
        /// Falling round-trip times in a row before the increase is hyperactive. 5 (TIMELY paper).
        #[schemars(range(min = 1, max = 1_000_000))]
        pub hai_after: u32,
        /// Factor of the hyperactive increase. 5 (TIMELY paper).
        #[schemars(range(min = 1, max = 1_000_000))]
        pub hai_factor: u32,
        /// Round-trip time of an empty network, by which the gradient is normalised. auto: twice the longest propagation
        /// between the ends of any flow (TCD paper: 32 µs in Figure 2, 48 µs in its fat tree); hpcc-ns3: 20 µs (`TimelyMinRtt`,
        /// TIMELY paper).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub min_rtt: AutoOr<Span>,
        /// completion: no update lowers the rate below this share of it. 0.5 (snippet).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub floor: f64,
        /// What an ACK that carries UE does. hold (TCD paper §5.2.3); no ACK carries UE unless the detector is tcd.
        pub on_ue: TimelyOnUe,
    }

    impl Parameters for TimelyParams {
        const SHARED: &'static [&'static str] = &["min-rate", "segment", "pacing"];
        const MARKS: bool = false;

        fn resolve(&self, cc: &CcSettings, path: &dyn Fn() -> PathFacts) -> ReactionConfig {
            ReactionConfig::Timely(TimelyConfig {
                form: self.variant,
                ewma: self.ewma,
                beta: self.beta,
                t_low: self.t_low.0,
                t_high: self.t_high.0,
                add: self.add.0,
                hai_after: self.hai_after,
                hai_factor: self.hai_factor,
                min_rtt: match self.min_rtt {
                    AutoOr::Auto => path().propagation,
                    AutoOr::Given(given) => given.0,
                },
                floor: self.floor,
                min_rate: cc.min_rate.0,
                on_ue: self.on_ue,
            })
        }

        fn wants(&self) -> Wants {
            let segments = match self.variant {
                TimelyForm::Completion => Segments::Chosen,
                TimelyForm::RoundTrip => Segments::OncePerRoundTrip,
            };
            Wants { segments: Some(segments), ..Wants::default() }
        }

        fn unread(&self) -> Unread {
            match self.variant {
                TimelyForm::Completion => Unread::default(),
                TimelyForm::RoundTrip => {
                    Unread { why: ("variant", "round-trip"), shared: &["segment", "pacing"], own: &["floor"] }
                }
            }
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
