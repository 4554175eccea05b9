//! DCTCP for RoCE: the share of marked bytes sets how deep the window is cut, once per round trip.
//!
//! Reference: Alizadeh et al.: Data Center TCP (DCTCP) (SIGCOMM 2010), §3.1 (the algorithm); the order of the steps at an ACK is RFC 8257 §3.3.
//!
//! ```text
//!   per ACK:     acked += newly;  marked += newly if CE
//!   per window:  F := marked/acked;  α := (1−g)·α + g·F              (a window ends with the ACK of what was sent when it began)
//!
//!   CE and no cut in this window ──▶ W := max(Wmin, W·(1 − α/2));  nothing is added until what is under way has been acknowledged
//!   else                         ──▶ W := min(Wmax, W + A·newly/W)
//!
//!   loss, or timeout             ──▶ W := max(Wmin, W/2)                        (RFC 8257 §3.5: as TCP)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | g | 1 | 1/16 | DCTCP paper §4; RFC 8257 §4.2 recommends it |
//! | α at first | 1 | 1 | RFC 8257 §3.3; the HPCC simulator's DCTCP; the paper does not say |
//! | A | B | a full packet on the wire | TCP's congestion avoidance: one segment per round trip |
//! | W at first | B | bandwidth-delay product | RoCE starts at line rate (HPCC simulator's DCTCP); TCP has a slow start instead |
//! | Wmin | B | one packet | ours: the paper does not say |
//! | Wmax | B | 4 bandwidth-delay products | ours: what a receive window would be; 1 in the HPCC simulator |
//! | K | B | kmin = kmax of the detector | DCTCP paper §3.1 (marking at the switch) |
//!
//! Known deviations: no slow start, no delayed ACKs (each packet has its own, which is what the paper's state machine at the receiver
//! emulates); without a slow start W is after a timeout what that would lead to (RFC 5681 §3.1: half). Within its window a flow sends at line rate, clocked by its ACKs. UE is not for this controller.
use backwater_units::{Rate, Span, Time};

use super::feedback::Feedback;
use super::{Controller, Pacer};
use crate::{CodePoint, ConfigError, error::require};

/// Parameters of [`Dctcp`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpConfig {
    /// Gain of α.
    pub g: f64,
    /// α of a new flow.
    pub alpha_initial: f64,
    /// A full packet on the wire in bytes.
    pub mss: u32,
    /// A: what one round trip adds to the window, in bytes.
    pub add: u64,
    /// Least bytes of a window. One packet is under way even if that is more.
    pub min: u64,
    /// The window of a new flow in bytes.
    pub initial: u64,
    /// Most bytes of a window.
    pub max: u64,
}

impl DctcpConfig {
    /// The paper's gain for packets of `mss` bytes in a network with this bandwidth-delay product.
    pub const fn paper(mss: u32, bdp: u64) -> Self {
        Self {
            g: 1.0 / 16.0,
            alpha_initial: 1.0,
            mss,
            add: mss as u64,
            min: mss as u64,
            initial: bdp,
            max: 4 * bdp,
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require(self.g > 0.0 && self.g <= 1.0, "g", self.g, "above 0 and at most 1", "DCTCP uses 1/16")?;
        require(
            (0.0..=1.0).contains(&self.alpha_initial),
            "alpha-initial",
            self.alpha_initial,
            "0 to 1",
            "RFC 8257 uses 1",
        )?;
        require(
            self.add > 0,
            "add",
            backwater_units::Bytes::new(self.add),
            "at least 1B",
            "auto is one packet, as in TCP",
        )?;
        window(self.initial, self.max, self.mss)?;
        require(
            self.min > 0 && self.min <= self.initial,
            "min-window",
            backwater_units::Bytes::new(self.min),
            "at least 1B and at most window",
            "auto is one packet",
        )
    }
}

/// A first window must hold a packet, and not exceed the largest.
pub(super) fn window(initial: u64, max: u64, packet: u32) -> Result<(), ConfigError> {
    let (initial, max, packet) =
        (backwater_units::Bytes::new(initial), backwater_units::Bytes::new(max), u64::from(packet));
    require(
        max.get() >= packet,
        "max-window",
        max,
        "at least a packet on the wire",
        "auto follows from the bandwidth-delay product",
    )?;
    require(
        initial.get() >= packet && initial <= max,
        "window",
        initial,
        "at least a packet on the wire and at most max-window",
        "auto is the bandwidth-delay product",
    )
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Dctcp {
    pacer: Pacer,
    /// W in bytes.
    window: f64,
    alpha: f64,
    /// A full packet on the wire.
    mss: u32,
    /// Bytes acknowledged in this window, and those of them that carried CE.
    acked: u64,
    marked: u64,
    /// The window ends when more than this has been acknowledged.
    ends: u64,
    /// Nothing is added before this has been acknowledged: what was sent when the window was cut.
    recovers: u64,
    rtt: Span,
}

impl Dctcp {
    /// α.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// W in bytes.
    pub const fn bytes(&self) -> f64 {
        self.window
    }
}

impl Controller for Dctcp {
    type Config = DctcpConfig;
    const WINDOW: bool = true;

    fn validate(config: &DctcpConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    /// A new flow on a host link of rate `line`.
    fn new(config: &DctcpConfig, line: Rate) -> Self {
        Self {
            pacer: Pacer::new(line),
            window: config.initial as f64,
            alpha: config.alpha_initial,
            mss: config.mss,
            acked: 0,
            marked: 0,
            ends: 0,
            recovers: 0,
            rtt: Span::ZERO,
        }
    }

    /// An ACK has arrived. True if the window changed.
    fn on_feedback(&mut self, config: &DctcpConfig, _now: Time, ack: &Feedback<'_>) -> bool {
        let (before, is_marked) = (self.window, ack.echo == CodePoint::Congestion);
        self.rtt = ack.rtt;
        self.acked += ack.newly;
        self.marked += if is_marked { ack.newly } else { 0 };
        if ack.acked > self.ends && self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha = (1.0 - config.g) * self.alpha + config.g * share;
            (self.acked, self.marked, self.ends) = (0, 0, ack.sent);
        }
        if ack.acked > self.recovers {
            if is_marked {
                self.window = (self.window * (1.0 - self.alpha / 2.0)).max(config.min as f64);
                self.recovers = ack.sent;
            } else {
                let added = config.add as f64 * ack.newly as f64 / self.window;
                self.window = (self.window + added).min(config.max as f64);
            }
        }
        self.window.to_bits() != before.to_bits()
    }

    /// A loss, once a recovery.
    fn on_nack(&mut self, config: &DctcpConfig, _now: Time) {
        self.on_timeout(config);
    }

    fn on_timeout(&mut self, config: &DctcpConfig) {
        self.window = (self.window / 2.0).max(config.min as f64);
    }

    /// What may be under way in bytes: W, a packet at least.
    #[inline]
    fn window(&self) -> f64 {
        self.window.max(f64::from(self.mss))
    }

    /// What the window allows in the latest round-trip time, at most line rate.
    fn rate(&self) -> Rate {
        super::rate_of(self.window, self.rtt, self.pacer.rate())
    }

    /// Packets of a window leave at line rate.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use backwater_units::Bytes;

    use super::DctcpConfig;
    use crate::config::AutoOr;
    use crate::reaction::settings::{Parameters, PathFacts, Wants, or_auto};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// DCTCP for `RoCE` (SIGCOMM 2010). Its threshold K is the switches': `switch.detector` = red with kmin = kmax. Every packet is
    /// acknowledged; without slow start.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct DctcpParams {
        /// Gain of alpha. All profiles: 1/16 (DCTCP paper §4; RFC 8257 §4.2).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub g: f64,
        /// Alpha of a new flow; a cut is by alpha/2. All profiles: 1 (RFC 8257 §3.3; the paper does not say).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub alpha_initial: f64,
        /// What a round trip without marks adds to the window. auto: one packet on the wire, as in TCP.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub add: AutoOr<Bytes>,
        /// The least window; one packet is under way even if that is more. auto: one packet on the wire (ours: the paper does not say).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub min_window: AutoOr<Bytes>,
        /// The window of a new flow, on the wire. auto: the bandwidth-delay product of the fastest host link and the longest unloaded round trip, as
        /// `RoCE` starts at line rate (the HPCC simulator's DCTCP does).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub window: AutoOr<Bytes>,
        /// The largest window. auto: 4 bandwidth-delay products (ours: what a receive window would be).
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
        pub max_window: AutoOr<Bytes>,
    }

    impl Parameters for DctcpParams {
        const SHARED: &'static [&'static str] = &["window-counts"];

        fn resolve(&self, cc: &CcSettings, path: &dyn Fn() -> PathFacts) -> ReactionConfig {
            let path = path();
            let mss = cc.mss(&path);
            let (initial, max) = path.windows(mss, self.window, self.max_window);
            ReactionConfig::Dctcp(DctcpConfig {
                g: self.g,
                alpha_initial: self.alpha_initial,
                mss,
                add: or_auto(self.add, Bytes::new(u64::from(mss))).get(),
                min: or_auto(self.min_window, Bytes::new(u64::from(mss))).get(),
                initial,
                max,
            })
        }

        /// DCTCP's switches mark all above one threshold (RFC 8257 §3.1; SIGCOMM 2010 §3.1).
        fn wants(&self) -> Wants {
            Wants { step: true, ..Wants::default() }
        }

        fn follows(&self) -> Option<&'static str> {
            matches!(self.window, AutoOr::Auto).then_some("window")
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;
