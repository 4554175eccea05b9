//! Swift: the window follows the delay of each ACK, around a target that knows the path's length and the window's size.
//!
//! Reference: Kumar et al.: Swift: Delay is Simple and Effective for Congestion Control in the Datacenter (SIGCOMM 2020), Algorithm 1,
//! §3.2 (the window), §3.4 (below one packet: pacing) and §3.5 (target delay).
//!
//! ```text
//!   target := base + hops·ħ + max(0, min(a/√W + b, range))      a = range/(1/√Wlow − 1/√Whigh),  b = −a/√Whigh
//!
//!   delay <  target:  W += ai/W·acked  (W >= 1),   W += ai·acked  (W < 1)
//!   delay >= target:  W *= max(1 − β·(delay − target)/delay, 1 − mdf), if a round trip has passed since the last decrease
//!   loss (NACK):  W *= 1 − mdf, if a round trip has passed since the last decrease;   timeout:  W *= 1 − mdf
//!   Wmin <= W <= Wmax;   W < 1: one packet every rtt/W, else clocked by ACKs
//! ```
//! W counts packets.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | ai | packets per round trip | 1 | not published; csg-htsim, which calls it a guess |
//! | β | 1 | 0.8 | not published; csg-htsim, which calls it a guess |
//! | mdf | 1 | 0.5 | not published; csg-htsim, which calls it a guess |
//! | base | ps | 2 ħ | ours: one hop has two links; Swift paper §5.1 tunes it (15 to 70 µs) where hosts take most of the time |
//! | ħ | ps | unloaded round trip / links of the path | ours: with base the target is one link's share above the empty network's |
//! | range | ps | 5 base | not published; csg-htsim |
//! | Wlow, Whigh | packets | 0.1, 100 | not published; csg-htsim |
//! | W at first | packets | bandwidth-delay product | ours: RoCE starts at line rate; Swift paper §3.2: of little effect there, flows live long |
//! | Wmin | packets | 0.001 | Swift paper §3.4 |
//! | Wmax | packets | 4 bandwidth-delay products | ours; the paper gives no number |
//!
//! Known deviations: one delay for fabric and endpoint (the paper's §3.3 has a window for each), as the hosts here take no time of
//! their own; no threshold of timeouts above which W is Wmin (Algorithm 1, not published). The last decrease is noted when W has become less; the paper's listing notes it whenever W has not become
//! more (lines 27 and 28), and then an ACK that may not decrease would put the next decrease off.
use backwater_units::{Rate, Span, Time};

use super::dctcp;
use super::feedback::Feedback;
use super::{Controller, Pacer};
use crate::{ConfigError, error::require};

/// Parameters of [`Swift`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwiftConfig {
    /// ai: packets that a round trip adds.
    pub add: f64,
    /// β.
    pub beta: f64,
    /// The most that one decrease takes of the window.
    pub max_mdf: f64,
    /// Target delay without hops and flows.
    pub base_target: Span,
    /// ħ: target delay per switch on the path.
    pub hop: Span,
    /// Most that small windows add to the target.
    pub range: Span,
    /// The window in packets below which nothing more is added.
    pub low: f64,
    /// The window in packets above which nothing is added.
    pub high: f64,
    /// A full packet on the wire.
    pub mss: u32,
    /// Least window in packets.
    pub min: f64,
    /// The window of a new flow in bytes.
    pub initial: u64,
    /// Most bytes of a window.
    pub max: u64,
}

impl SwiftConfig {
    /// For packets of `mss` bytes in a network with this bandwidth-delay product, whose links each take `hop` of the unloaded round
    /// trip.
    pub const fn standard(mss: u32, bdp: u64, hop: Span) -> Self {
        let base_target = Span::from_ps(2 * hop.as_ps());
        Self {
            add: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            base_target,
            hop,
            range: Span::from_ps(5 * base_target.as_ps()),
            low: 0.1,
            high: 100.0,
            mss,
            min: 0.001,
            initial: bdp,
            max: 4 * bdp,
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.add > 0.0 && self.add.is_finite(),
            "add",
            self.add,
            "above 0",
            "one packet per round trip is 1",
        )?;
        require(
            self.beta > 0.0 && self.beta <= 1.0,
            "beta",
            self.beta,
            "above 0 and at most 1",
            "csg-htsim uses 0.8",
        )?;
        require(
            self.max_mdf > 0.0 && self.max_mdf < 1.0,
            "max-mdf",
            self.max_mdf,
            "above 0 and below 1",
            "csg-htsim uses 0.5",
        )?;
        require(
            self.base_target > Span::ZERO,
            "base-target",
            self.base_target,
            "longer than 0ps",
            "auto follows from the network",
        )?;
        require(self.low > 0.0, "fs-min-window", self.low, "above 0", "csg-htsim uses 0.1")?;
        require(
            self.high > self.low && self.high.is_finite(),
            "fs-max-window",
            self.high,
            "above fs-min-window",
            "csg-htsim uses 100",
        )?;
        require(
            self.min > 0.0 && self.min <= 1.0,
            "min-window",
            self.min,
            "above 0 and at most 1",
            "a flow without a window never ends; Swift uses 0.001",
        )?;
        dctcp::window(self.initial, self.max, self.mss)
    }

    /// The delay that a flow with a window of `window` packets over a path of `hops` switches aims at, in picoseconds.
    pub fn target(&self, window: f64, hops: u32) -> f64 {
        let range = self.range.as_ps() as f64;
        let (low, high) = (1.0 / libm::sqrt(self.low), 1.0 / libm::sqrt(self.high));
        let a = range / (low - high);
        let scaling = (a / libm::sqrt(window) - a * high).min(range).max(0.0);
        self.base_target.as_ps() as f64 + f64::from(hops) * self.hop.as_ps() as f64 + scaling
    }
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Swift {
    pacer: Pacer,
    line: Rate,
    /// W in packets.
    window: f64,
    decreased: Option<Time>,
    rtt: Span,
    mss: u32,
}

impl Swift {
    /// W in packets.
    pub const fn packets(&self) -> f64 {
        self.window
    }

    /// Below one packet they are spaced by rtt/W: at a rate of W packets per round trip.
    fn pace(&mut self) {
        let rate = if self.window < 1.0 { self.rate() } else { self.line };
        self.pacer.set(rate);
    }
}

impl Controller for Swift {
    type Config = SwiftConfig;
    const WINDOW: bool = true;

    fn validate(config: &SwiftConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    /// A new flow on a host link of rate `line`.
    fn new(config: &SwiftConfig, line: Rate) -> Self {
        Self {
            pacer: Pacer::new(line),
            line,
            window: config.initial as f64 / f64::from(config.mss),
            decreased: None,
            rtt: Span::ZERO,
            mss: config.mss,
        }
    }

    /// An ACK has arrived. True if the window changed.
    fn on_feedback(&mut self, config: &SwiftConfig, now: Time, ack: &Feedback<'_>) -> bool {
        let before = self.window;
        let acked = ack.newly as f64 / f64::from(config.mss);
        let may_decrease = self.decreased.is_none_or(|last| now.since(last) >= ack.rtt);
        let (delay, target) = (ack.rtt.as_ps() as f64, config.target(self.window, ack.hops));
        if delay < target {
            let share = if self.window >= 1.0 { config.add / self.window } else { config.add };
            self.window += share * acked;
        } else if may_decrease {
            let cut = 1.0 - config.beta * (delay - target) / delay;
            self.window *= cut.max(1.0 - config.max_mdf);
        }
        let most = config.max as f64 / f64::from(config.mss);
        self.window = self.window.max(config.min).min(most);
        if self.window < before {
            self.decreased = Some(now);
        }
        self.rtt = ack.rtt;
        self.pace();
        self.window.to_bits() != before.to_bits()
    }

    /// Fast recovery (Algorithm 1).
    fn on_nack(&mut self, config: &SwiftConfig, now: Time) {
        if self.decreased.is_none_or(|last| now.since(last) >= self.rtt) {
            self.decreased = Some(now);
            self.on_timeout(config);
        }
    }

    /// A timeout is longer than a round trip (Algorithm 1).
    fn on_timeout(&mut self, config: &SwiftConfig) {
        self.window = (self.window * (1.0 - config.max_mdf)).max(config.min);
        self.pace();
    }

    /// What may be under way in bytes: a packet at least, spaced if W is less.
    #[inline]
    fn window(&self) -> f64 {
        self.window.max(1.0) * f64::from(self.mss)
    }

    /// What the window allows in the latest round-trip time, at most line rate.
    fn rate(&self) -> Rate {
        super::rate_of(self.window * f64::from(self.mss), self.rtt, self.line)
    }

    /// The pacing delay after a full packet if W is below one, else its time at line rate.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use backwater_units::{Bytes, Span};

    use super::SwiftConfig;
    use crate::config::AutoOr;
    use crate::reaction::settings::{Parameters, PathFacts, or_auto};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// Swift (SIGCOMM 2020). Every packet is acknowledged; the delay is that of the packet and its ACK.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct SwiftParams {
        /// ai: packets that a round trip adds. All profiles: 1 (not published; csg-htsim's Swift, which calls it a guess).
        #[schemars(range(min = 0.0, max = 1000.0))]
        pub add: f64,
        /// Multiplicative decrease. All profiles: 0.8 (not published; csg-htsim's Swift, which calls it a guess).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub beta: f64,
        /// The most that one decrease takes of the window. All profiles: 0.5 (not published; csg-htsim's Swift, which calls it a guess).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub max_mdf: f64,
        /// Target delay without hops and small windows. auto: 2 `hop` (ours: one hop has two links; Swift paper §5.1 tunes it to its hosts, 15 to 70 us). slingshot-like: 4 us (2 hops).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub base_target: AutoOr<Span>,
        /// Target delay per switch on the path. auto: the longest unloaded round trip divided by the links of its path, so that the target is one such share
        /// above it (ours; the paper gives no number). slingshot-like: 2 us (an idealisation: a switch and 100 m of cable there and back, and a packet).
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub hop: AutoOr<Span>,
        /// `fs_range`: most that a small window adds to the target. auto: 5 `base-target` (not published; csg-htsim's Swift).
        #[schemars(extend("x-minimum" = "0ns", "x-maximum" = "1s"))]
        pub fs_range: AutoOr<Span>,
        /// Window in packets below which the target does not grow further. All profiles: 0.1 (not published; csg-htsim's Swift).
        #[schemars(range(min = 0.0, max = 1_000_000.0))]
        pub fs_min_window: f64,
        /// Window in packets above which flow scaling adds nothing. All profiles: 100 (not published; csg-htsim's Swift).
        #[schemars(range(min = 0.0, max = 1_000_000.0))]
        pub fs_max_window: f64,
        /// Least window in packets; below 1 packets are spaced. All profiles: 0.001 (Swift paper §3.4).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub min_window: f64,
        /// The window of a new flow, on the wire. auto: the bandwidth-delay product of the fastest host link and the longest unloaded round trip
        /// (ours: `RoCE` starts at line rate). slingshot-like: 128 KiB (an idealisation: a round trip across a dragonfly with global links of 100 m).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub window: AutoOr<Bytes>,
        /// The largest window. auto: 4 bandwidth-delay products (ours). slingshot-like: 128 KiB (as `window`).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub max_window: AutoOr<Bytes>,
    }

    impl Parameters for SwiftParams {
        const SHARED: &'static [&'static str] = &["window-counts"];

        fn resolve(&self, cc: &CcSettings, path: &dyn Fn() -> PathFacts) -> ReactionConfig {
            let path = path();
            let mss = cc.mss(&path);
            let hop = or_auto(self.hop, Span::from_ps(path.rtt.as_ps() / path.links));
            let base_target = or_auto(self.base_target, Span::from_ps(2 * hop.as_ps()));
            let (initial, max) = path.windows(mss, self.window, self.max_window);
            ReactionConfig::Swift(SwiftConfig {
                add: self.add,
                beta: self.beta,
                max_mdf: self.max_mdf,
                base_target,
                hop,
                range: or_auto(self.fs_range, Span::from_ps(5 * base_target.as_ps())),
                low: self.fs_min_window,
                high: self.fs_max_window,
                mss,
                min: self.min_window,
                initial,
                max,
            })
        }

        fn follows(&self) -> Option<&'static str> {
            let auto = |is: bool, key| is.then_some(key);
            auto(matches!(self.window, AutoOr::Auto), "window")
                .or(auto(matches!(self.base_target, AutoOr::Auto), "base-target"))
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
