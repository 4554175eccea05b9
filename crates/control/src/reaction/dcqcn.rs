//! DCQCN with rate timer and byte counter: multiplicative cuts on CNPs, three stages of increase.
//!
//! Reference: Zhu et al.: Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015), §3.1; details as in
//! ns3-rdma and the TCD authors' ns-3 release (2022), which differ from the paper where the table says so.
//!
//! ```text
//!   CNP(CE):  Rt := Rc;  α := (1−g)α + g;  Rc := Rc(1 − cut·α);  both stage counts 0
//!       │
//!       ▼                 count >= F                   timer, both counts >= F
//!   ┌────────────────┐  ───────────▶ ┌───────────────┐  ───────────▶ ┌──────────────────────────────┐
//!   │ fast recovery  │               │   additive    │               │            hyper             │
//!   │ Rt stays       │               │ Rt += RAI     │               │ Rt += RHAI·(min count − F+1) │
//!   └────────────────┘               └───────────────┘               │ timer and byte counter halve │
//!     every timer expiry and every B bytes: count += 1, Rc := (Rc+Rt)/2, at most line rate ──────────┘
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | α initial | 1 | 0.5 (1.2 with TCD) | authors' release and ns3-rdma; TCD §5.2.1. SIGCOMM 2015: 1 |
//! | g | 1 | 1/256 | SIGCOMM 2015. 0 freezes α: a reading of TCD §5.2.1, with α 1.2 |
//! | cut | 1 | 0.5 | SIGCOMM 2015: Rc(1 − α/2). 1.2 is another reading of TCD §5.2.1, with α 0.5 |
//! | α timer | ps | 55 µs | SIGCOMM 2015 |
//! | rate timer | ps | 55 µs | SIGCOMM 2015 |
//! | B | B | 10 MB | SIGCOMM 2015 |
//! | F | – | 5 | SIGCOMM 2015 |
//! | RAI | bit/s | 40 Mbps | SIGCOMM 2015 |
//! | RHAI | bit/s | 200 Mbps | authors' configuration; SIGCOMM 2015 gives none |
//! | Rmin | bit/s | 100 Mbps | authors' configuration; SIGCOMM 2015 gives none |
//! | clamp target | – | yes | SIGCOMM 2015. No: only if B bytes were sent since the last CNP (QCN) |
//! | cut first | – | no | ns3-rdma updates α before the cut, SIGCOMM 2015 after it |
//! | /8 rule | – | yes | ns3-rdma: a count is 1 and Rt > 10·Rc: Rt := Rt/8 instead of an increase |
//! | on UE | – | reset-hold | authors' release; TCD §5.2.1 |
//!
//! Nothing runs before the first CNP. Known deviations: the mean of Rc and Rt is that of the sum (ns3-rdma halves each
//! and loses a bit/s if both are odd). Two things are computed differently with
//! the same result: α decays in closed form when it is needed, and timers rest while Rc is at line rate and no event
//! could be noticed.
use backwater_units::{Bytes, Rate, Span, Time};

use super::{Controller, Load, OnUe, Pacer, power};
use crate::{CodePoint, ConfigError, error::require};

/// Parameters of [`Dcqcn`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnConfig {
    /// α of a new flow.
    pub alpha_initial: f64,
    /// Weight of one CNP in α; 0 freezes it.
    pub g: f64,
    /// By how many α a CNP lowers the rate; at α = 1/cut and above the rate falls to Rmin.
    pub cut: f64,
    /// Time without CNP after which α decays by g.
    pub alpha_timer: Span,
    /// Time between two timer-driven increases.
    pub rate_timer: Span,
    /// Bytes between two byte-driven increases.
    pub byte_counter: Bytes,
    /// F: increases of one kind before the additive stage.
    pub fast_recovery: u32,
    /// RAI.
    pub rate_ai: Rate,
    /// RHAI.
    pub rate_hai: Rate,
    /// Rmin.
    pub min_rate: Rate,
    /// Every CNP sets the target to the current rate.
    pub clamp_target: bool,
    /// Cut with the α from before the CNP.
    pub cut_first: bool,
    /// Bring a target far above the rate down before increasing.
    pub eighth_rule: bool,
    /// Reaction to CNP(UE).
    pub on_ue: OnUe,
}

impl DcqcnConfig {
    /// The TCD authors' ns-3 release (2022).
    pub const fn authors() -> Self {
        Self {
            alpha_initial: 0.5,
            g: 1.0 / 256.0,
            cut: 0.5,
            alpha_timer: Span::from_us(55),
            rate_timer: Span::from_us(55),
            byte_counter: Bytes::from_mb(10),
            fast_recovery: 5,
            rate_ai: Rate::from_mbps(40),
            rate_hai: Rate::from_mbps(200),
            min_rate: Rate::from_mbps(100),
            clamp_target: true,
            cut_first: false,
            eighth_rule: true,
            on_ue: OnUe::ResetHold,
        }
    }

    /// SIGCOMM 2015, with the TCD paper's rule for UE: α starts at 1, the cut uses the old α, no /8 rule.
    pub const fn standard() -> Self {
        Self {
            alpha_initial: 1.0,
            cut_first: true,
            eighth_rule: false,
            on_ue: OnUe::TimerHold,
            ..Self::authors()
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let long = "longer than 0ps";
        require(
            (0.0..=2.0).contains(&self.alpha_initial),
            "alpha-initial",
            self.alpha_initial,
            "0 to 2 (the rate is cut by the factor 1 - cut*alpha)",
            "DCQCN starts at 1, ns3-rdma at 0.5, TCD at 1.2",
        )?;
        require(
            (0.0..=1.0).contains(&self.g),
            "g",
            self.g,
            "0 to 1",
            "DCQCN uses 0.00390625; 0 freezes alpha",
        )?;
        require(
            self.cut > 0.0 && self.cut <= 2.0,
            "cut",
            self.cut,
            "above 0 and at most 2",
            "DCQCN uses 0.5: a cut by alpha/2",
        )?;
        require(self.alpha_timer > Span::ZERO, "alpha-timer", self.alpha_timer, long, "DCQCN uses 55us")?;
        require(
            self.rate_timer >= Span::from_ps(2),
            "rate-timer",
            self.rate_timer,
            "at least 2ps",
            "DCQCN uses 55us",
        )?;
        require(
            self.byte_counter.get() >= 2,
            "byte-counter",
            self.byte_counter,
            "at least 2B",
            "DCQCN uses 10MB; a very large one switches it off",
        )?;
        require(
            self.fast_recovery >= 1,
            "fast-recovery",
            f64::from(self.fast_recovery),
            "at least 1",
            "DCQCN uses 5",
        )?;
        require(self.rate_ai > Rate::ZERO, "rate-ai", self.rate_ai, "above 0bps", "DCQCN uses 40Mbps")?;
        require(
            self.min_rate > Rate::ZERO,
            "min-rate",
            self.min_rate,
            "above 0bps",
            "a flow at 0bps never ends; use 100Mbps",
        )
    }
}

/// The stage of increase; it advances by events and falls back to recovery with a CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
enum Stage {
    Recovery,
    Additive,
    Hyper,
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Dcqcn {
    pacer: Pacer,
    /// Next expiry of the rate timer; `MAX` while it rests.
    next: Time,
    /// Bytes until the next byte-driven increase; so many that it never comes while the counter rests.
    bytes_left: u64,
    line: Rate,
    target: Rate,
    alpha: f64,
    /// Since when `alpha` has been decaying; `MAX` before the first CNP.
    alpha_since: Time,
    time_count: u32,
    byte_count: u32,
    stage: Stage,
}

impl Dcqcn {
    /// Rt.
    pub const fn target(&self) -> Rate {
        self.target
    }

    /// α at `now`, every decay up to then applied.
    pub fn alpha(&self, config: &DcqcnConfig, now: Time) -> f64 {
        if self.alpha_since == Time::MAX {
            return self.alpha;
        }
        let ticks = now.since(self.alpha_since).as_ps() / config.alpha_timer.as_ps();
        self.alpha * power(1.0 - config.g, ticks)
    }

    #[cold]
    fn expire(&mut self, config: &DcqcnConfig, now: Time) -> bool {
        let before = self.rate();
        while self.next <= now && self.next < Time::MAX {
            let period = if self.stage == Stage::Hyper { config.rate_timer / 2 } else { config.rate_timer };
            self.next = self.next.saturating_add(period);
            self.time_count = self.time_count.saturating_add(1);
            let counts = self.time_count.min(self.byte_count);
            self.stage = match self.stage {
                Stage::Recovery if self.time_count < config.fast_recovery => Stage::Recovery,
                Stage::Hyper => Stage::Hyper,
                _ if counts >= config.fast_recovery => Stage::Hyper,
                _ => Stage::Additive,
            };
            self.increase(config);
        }
        self.rate() != before
    }

    #[cold]
    fn count_bytes(&mut self, config: &DcqcnConfig) -> bool {
        let before = self.rate();
        let reload = config.byte_counter.get();
        self.bytes_left = if self.stage == Stage::Hyper { reload / 2 } else { reload };
        self.byte_count = self.byte_count.saturating_add(1);
        let counts = self.time_count.min(self.byte_count);
        self.stage = match self.stage {
            Stage::Recovery if self.byte_count < config.fast_recovery => Stage::Recovery,
            Stage::Recovery if counts >= config.fast_recovery => Stage::Hyper,
            // From the additive stage only the timer leads on.
            Stage::Recovery | Stage::Additive => Stage::Additive,
            Stage::Hyper => Stage::Hyper,
        };
        self.increase(config);
        self.rate() != before
    }

    /// One increase of the present stage.
    fn increase(&mut self, config: &DcqcnConfig) {
        let (rate, target) = (self.rate().as_bps(), self.target.as_bps());
        let just_cut = self.byte_count == 1 || self.time_count == 1;
        let target = if config.eighth_rule && just_cut && target > rate.saturating_mul(10) {
            target / 8
        } else {
            target.saturating_add(match self.stage {
                Stage::Recovery => 0,
                Stage::Additive => config.rate_ai.as_bps(),
                Stage::Hyper => {
                    let beyond = self.time_count.min(self.byte_count) + 1 - config.fast_recovery;
                    config.rate_hai.as_bps().saturating_mul(u64::from(beyond))
                }
            })
        };
        self.target = Rate::from_bps(target);
        self.pacer.set(Rate::from_bps(rate.midpoint(target)).min(self.line));
        self.rest_at_line_rate(config);
    }

    /// At line rate a further increase shows only in the target and the counts. The next CNP overwrites both, unless
    /// the target is not clamped and no byte-driven increase came yet: then the events have to go on.
    fn rest_at_line_rate(&mut self, config: &DcqcnConfig) {
        let overwritten = config.clamp_target || self.byte_count > 0;
        if self.rate() == self.line && self.target >= self.line && overwritten {
            self.next = Time::MAX;
            self.bytes_left = u64::MAX;
        }
    }

    /// What a CNP does whether it cuts or holds: target, counts, timers.
    fn restart(&mut self, config: &DcqcnConfig, now: Time) {
        self.alpha = self.alpha(config, now);
        self.alpha_since = now;
        let overwrites = config.clamp_target || self.byte_count > 0;
        if overwrites {
            self.target = self.rate();
        }
        let rested = self.next == Time::MAX;
        if overwrites || rested {
            self.bytes_left = config.byte_counter.get();
        }
        self.time_count = 0;
        self.byte_count = 0;
        self.stage = Stage::Recovery;
        self.next = now.saturating_add(config.rate_timer);
    }

    fn cut(&mut self, config: &DcqcnConfig) {
        let raised = (1.0 - config.g) * self.alpha + config.g;
        let alpha = if config.cut_first { self.alpha } else { raised };
        self.alpha = raised;
        let rate = self.rate().as_bps() as f64 * (1.0 - config.cut * alpha);
        let least = config.min_rate.min(self.line);
        // Below zero, which a large cut may give, the conversion stops at zero.
        self.pacer.set(Rate::from_bps(rate as u64).max(least));
    }
}

impl Controller for Dcqcn {
    type Config = DcqcnConfig;
    const NOTIFIED: bool = true;

    fn validate(config: &DcqcnConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    /// A new flow at line rate.
    fn new(config: &DcqcnConfig, line: Rate) -> Self {
        Self {
            pacer: Pacer::new(line),
            next: Time::MAX,
            bytes_left: u64::MAX,
            line,
            target: line,
            alpha: config.alpha_initial,
            alpha_since: Time::MAX,
            time_count: 0,
            byte_count: 0,
            stage: Stage::Recovery,
        }
    }

    /// The next timer-driven increase.
    #[inline]
    fn next_timer(&self, _: &DcqcnConfig) -> Time {
        self.next
    }

    /// Applies the increases of all timer expiries up to and including `now`.
    #[inline]
    fn advance(&mut self, config: &DcqcnConfig, now: Time) -> bool {
        now >= self.next && self.expire(config, now)
    }

    /// A packet of `bytes` on the wire was handed to the link. True if the rate changed.
    #[inline]
    fn on_sent(&mut self, config: &DcqcnConfig, now: Time, load: &Load) -> bool {
        let bytes = load.size;
        let changed = self.advance(config, now);
        if u64::from(bytes) <= self.bytes_left {
            self.bytes_left -= u64::from(bytes);
            return changed;
        }
        self.count_bytes(config) | changed
    }

    /// A CNP arrived. True if the rate changed.
    fn on_cnp(&mut self, config: &DcqcnConfig, now: Time, code: CodePoint) -> bool {
        let before = self.rate();
        self.advance(config, now);
        match (code, config.on_ue) {
            (CodePoint::Congestion, _) => {
                self.restart(config, now);
                self.cut(config);
                self.rest_at_line_rate(config);
            }
            (CodePoint::Undetermined, OnUe::ResetHold) => {
                self.restart(config, now);
                self.rest_at_line_rate(config);
            }
            (CodePoint::Undetermined, OnUe::TimerHold) if self.next < Time::MAX => {
                self.next = now.saturating_add(config.rate_timer);
                self.bytes_left = config.byte_counter.get();
            }
            _ => {}
        }
        self.rate() != before
    }

    /// Rc.
    #[inline]
    fn rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// The pacing gap at Rc.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use backwater_units::{Bytes, Rate, Span};

    use super::DcqcnConfig;
    use crate::config::Quantity;
    use crate::reaction::settings::{Notifications, Parameters, PathFacts, Unread, Wants};
    use crate::reaction::{CcSettings, DcqcnHpccConfig, OnUe, ReactionConfig};

    /// Which implementation of DCQCN.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Variant {
        /// Cut at each CNP; increase by a timer and a byte counter (DCQCN paper, ns3-rdma, the TCD authors' release).
        ByteCounter,
        /// Marks echoed in ACKs; cut at a periodic check; increase by a timer only (the HPCC simulator).
        DecreaseCheck,
    }

    /// DCQCN (SIGCOMM 2015), in one of two variants.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct DcqcnParams {
        /// Which implementation. authors, ideal, infiniband, isolation: byte-counter; hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: decrease-check.
        pub variant: Variant,
        /// Initial alpha; the first cut is by alpha/2. authors, ideal, infiniband: 0.5 (authors' release, ns3-rdma; the TCD paper
        /// raises it to 1.2 together with TCD, §5.2); hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: 1; isolation: 1 (DCQCN paper; the ICI paper does not say,
        /// here and below).
        #[schemars(range(min = 0.0, max = 2.0))]
        pub alpha_initial: f64,
        /// byte-counter: a cut is to 1 − cut·alpha of the rate. All profiles: 0.5 (DCQCN paper). "α from 0.5 to 1.2" of the TCD
        /// paper (§5.2.1) can be read as this one, too.
        #[schemars(range(min = 0.0, max = 2.0))]
        pub cut: f64,
        /// Gain of alpha; with 0 alpha stays what it is at first. All profiles: 1/256 (DCQCN paper).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub g: f64,
        /// Period in which alpha decays. authors, ideal, infiniband, isolation: 55 µs (DCQCN paper); hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: 1 µs
        /// (`run.py`; `DCE_TCP_RTT`).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub alpha_timer: Quantity<Span>,
        /// Period of the rate increase. pyrrha-ns3: 900 µs (`RP_TIMER`); authors, ideal, infiniband, isolation: 55 µs (DCQCN paper); hpcc-ns3, conweave-ns3, roce: 300 µs
        /// (`run.py`; `RPG_TIME_RESET`).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub rate_timer: Quantity<Span>,
        /// byte-counter: bytes between rate increases. 10 MB (DCQCN paper; authors' release).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        pub byte_counter: Quantity<Bytes>,
        /// Increases of fast recovery. authors, ideal, infiniband, isolation: 5 (DCQCN paper); hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: 1 (`run.py`;
        /// `RPG_THRESHOLD`).
        #[schemars(range(max = 1000))]
        pub fast_recovery: u32,
        /// Additive increase. pyrrha-ns3: 50 Mbps (`RATE_AI`); authors, ideal, infiniband, isolation, conweave-ns3: 40 Mbps (DCQCN paper); hpcc-ns3, roce: 20 Mbps (`run.py` at
        /// 100 Gbps: 5 Mbps for each 25 Gbps; `RPG_AI_RATE` is 5).
        #[schemars(extend("x-maximum" = "100Tbps"))]
        pub rate_ai: Quantity<Rate>,
        /// Hyper increase. conweave-ns3, pyrrha-ns3: 100 Mbps; the other profiles: 200 Mbps (authors' release; `run.py` at 100 Gbps).
        #[schemars(extend("x-maximum" = "100Tbps"))]
        pub rate_hai: Quantity<Rate>,
        /// Whether every cut first sets the target to the current rate. authors, ideal, infiniband, isolation: true; hpcc-ns3, conweave-ns3, pyrrha-ns3,
        /// roce: false (`run.py`; `CLAMP_TGT_RATE`).
        pub clamp_target: bool,
        /// byte-counter: whether a cut uses alpha from before the CNP. isolation: true (DCQCN paper); the other profiles: false
        /// (authors' release, ns3-rdma).
        pub cut_first: bool,
        /// byte-counter: whether a target above ten times the rate is divided by 8 before the first increase. authors: true
        /// (authors' release, ns3-rdma); ideal, infiniband, isolation: false (DCQCN paper).
        pub eighth_rule: bool,
        /// What a CNP, or an ACK of decrease-check, that carries UE does. authors: reset-hold (authors' release); the other profiles: timer-hold (TCD
        /// paper, §5.2: the sender keeps its rate and does not update it).
        pub on_ue: OnUe,
        /// decrease-check: period of the check. 4 µs (`RATE_DECREASE_INTERVAL` of the HPCC simulator's `run.py`).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub decrease_interval: Quantity<Span>,
    }

    impl Parameters for DcqcnParams {
        const SHARED: &'static [&'static str] =
            &["min-rate", "cnp-interval", "np", "np-fraction", "cnp-size"];

        fn resolve(&self, cc: &CcSettings, _: &dyn Fn() -> PathFacts) -> ReactionConfig {
            match self.variant {
                Variant::ByteCounter => ReactionConfig::Dcqcn(DcqcnConfig {
                    alpha_initial: self.alpha_initial,
                    cut: self.cut,
                    g: self.g,
                    alpha_timer: self.alpha_timer.0,
                    rate_timer: self.rate_timer.0,
                    byte_counter: self.byte_counter.0,
                    fast_recovery: self.fast_recovery,
                    rate_ai: self.rate_ai.0,
                    rate_hai: self.rate_hai.0,
                    min_rate: cc.min_rate.0,
                    clamp_target: self.clamp_target,
                    cut_first: self.cut_first,
                    eighth_rule: self.eighth_rule,
                    on_ue: self.on_ue,
                }),
                Variant::DecreaseCheck => ReactionConfig::DcqcnHpcc(DcqcnHpccConfig {
                    alpha_initial: self.alpha_initial,
                    g: self.g,
                    alpha_timer: self.alpha_timer.0,
                    decrease_interval: self.decrease_interval.0,
                    rate_timer: self.rate_timer.0,
                    fast_recovery: self.fast_recovery,
                    rate_ai: self.rate_ai.0,
                    rate_hai: self.rate_hai.0,
                    min_rate: cc.min_rate.0,
                    clamp_target: self.clamp_target,
                    on_ue: self.on_ue,
                    cnps_first: false,
                }),
            }
        }

        fn wants(&self) -> Wants {
            match self.variant {
                Variant::ByteCounter => Wants { notifications: Notifications::Chosen, ..Wants::default() },
                Variant::DecreaseCheck => Wants { echoes: true, ..Wants::default() },
            }
        }

        fn unread(&self) -> Unread {
            match self.variant {
                Variant::ByteCounter => {
                    Unread { why: ("variant", "byte-counter"), shared: &[], own: &["decrease-interval"] }
                }
                Variant::DecreaseCheck => Unread {
                    why: ("variant", "decrease-check"),
                    shared: &["cnp-interval", "np", "np-fraction", "cnp-size"],
                    own: &["byte-counter", "cut", "cut-first", "eighth-rule"],
                },
            }
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
