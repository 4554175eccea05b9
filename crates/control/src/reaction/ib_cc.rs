//! InfiniBand congestion control: each notification moves the flow down a table of delays, time moves it up again.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, Annex A10; parameters as in Gran et al.: First Experiences with
//! Congestion Control in InfiniBand Hardware (IPDPS 2010); shape of the table: authors' flit-level model. UE: TCD
//! (SIGCOMM 2021) §5.2.2.
//!
//! ```text
//!   CNP(CE) ──▶ CCTI := min(CCTI + increase, limit)        timer ──▶ CCTI := max(CCTI − 1, min)
//!   CNP(UE) ──▶ CCTI stays, the timer starts anew (hold)
//!
//!   ┌─ packet ─┬──────── IRD(CCTI) packet times ────────┬─ packet ─┐        rate = line / (1 + IRD)
//!   └──────────┘                                        └──────────┘
//!   IRD                     ╱│ quadratic  IRD(i) = top · (i/127)²
//!    0 ┼────────▁▁▁▂▂▃▄▅▆▇──┴──▶ i        linear     IRD(i) = top · i/127
//! ```
//! CCTI is the index into the congestion control table (CCT), IRD the inter-packet delay that its entry names.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `CCTI_Increase` | entries | 1 (2 with TCD) | Gran et al. (IPDPS 2010); TCD paper §5.2.2 |
//! | `CCTI_Limit` | entry | 127 | Gran et al. (IPDPS 2010); authors' flit-level model |
//! | `CCTI_Min` | entry | 0 | Gran et al. (IPDPS 2010); authors' flit-level model |
//! | `CCTI_Timer` | ps | 153.6 µs | Gran et al. (IPDPS 2010): 150 units of 1.024 µs |
//! | top, IRD(127) | packet times | 15.0902 | authors' flit-level model: i² · 3300/6889 ns between packets of 512 ns |
//! | shape | – | quadratic | authors' flit-level model |
//! | on UE | – | hold | TCD paper §5.2.2 |
//!
//! The timer is a deadline of the flow. It is armed when CCTI leaves its minimum, expires every `CCTI_Timer` from then on, and
//! rests again when CCTI is back at its minimum; a notification in between does not move it. The delay is in units of
//! the time of the packet that it follows, so that the rate does not depend on the packet size.
//!
//! Known deviations: the specification keeps one timer per port and service level, which ticks for all flows at once; here
//! each flow has its own. Its table holds a shift and a multiplier of 14 bits per entry; here IRD is a number. The rate
//! is cut to whole bit/s.
use backwater_units::{Rate, Span, Time};

use super::{Controller, Pacer};
use crate::{CodePoint, ConfigError, error::require};

/// How the delay grows along the congestion control table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum CctShape {
    /// With the square of the index: gentle at first (authors' flit-level model).
    Quadratic,
    /// With the index.
    Linear,
}

/// What a flow does when a notification tells it that its packet crossed undetermined ports only (UE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum IbCcOnUe {
    /// The rate is kept, and its next increase put off by a whole `timer` (TCD paper §5.2.2).
    Hold,
    /// Nothing.
    Ignore,
}

/// The entry of the table whose delay is given as its top: the last one of 128.
const TOP_ENTRY: f64 = 127.0;

/// Parameters of [`IbCc`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IbCcConfig {
    /// `CCTI_Increase`: entries per notification.
    pub increase: u16,
    /// `CCTI_Limit`: the last entry that is used.
    pub limit: u16,
    /// `CCTI_Min`: the first one.
    pub min: u16,
    /// `CCTI_Timer`: time per entry on the way back.
    pub timer: Span,
    /// Shape of the table.
    pub shape: CctShape,
    /// IRD(127), the delay of entry 127 in packet times. Entries beyond follow the same curve.
    pub top: f64,
    /// Reaction to UE.
    pub on_ue: IbCcOnUe,
}

impl IbCcConfig {
    /// Gran et al. (IPDPS 2010) with the table of the authors' flit-level model and TCD's hold. Without TCD no UE comes.
    pub const fn standard() -> Self {
        Self {
            increase: 1,
            limit: 127,
            min: 0,
            timer: Span::from_ns(153_600),
            shape: CctShape::Quadratic,
            top: TOP_ENTRY * TOP_ENTRY * 3300.0 / 6889.0 / 512.0,
            on_ue: IbCcOnUe::Hold,
        }
    }

    /// With TCD: two entries per notification (TCD paper §5.2.2).
    pub const fn with_tcd() -> Self {
        Self { increase: 2, ..Self::standard() }
    }

    /// IRD(`index`): the delay behind a packet in units of its own time.
    pub fn delay(&self, index: u16) -> f64 {
        let share = f64::from(index) / TOP_ENTRY;
        match self.shape {
            CctShape::Quadratic => self.top * share * share,
            CctShape::Linear => self.top * share,
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let increase = f64::from(self.increase);
        require(self.increase >= 1, "increase", increase, "at least 1", "Gran et al. use 1, TCD 2")?;
        let min = f64::from(self.min);
        require(self.min < self.limit, "min", min, "below limit", "Gran et al. use 0 and 127")?;
        let entries = "at most 16383";
        let limit = f64::from(self.limit);
        require(self.limit <= 16_383, "limit", limit, entries, "InfiniBand's table has no more entries")?;
        require(self.timer > Span::ZERO, "timer", self.timer, "longer than 0ps", "Gran et al. use 153.6us")?;
        require(
            self.top > 0.0 && self.top <= 16_383.0,
            "cct-top",
            self.top,
            "above 0 and at most 16383 packet times",
            "the authors' flit-level model has 15.09",
        )
    }
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct IbCc {
    pacer: Pacer,
    line: Rate,
    /// When CCTI falls next; `MAX` while it is at its minimum.
    next: Time,
    ccti: u16,
}

impl IbCc {
    /// CCTI, the index into the table.
    #[inline]
    pub const fn ccti(&self) -> u16 {
        self.ccti
    }

    #[cold]
    fn expire(&mut self, config: &IbCcConfig, now: Time) -> bool {
        let period = config.timer.as_ps();
        let ticks = now.since(self.next).as_ps() / period + 1;
        let above = self.ccti - config.min;
        self.next = if ticks >= u64::from(above) {
            Time::MAX
        } else {
            self.next.saturating_add(Span::from_ps(ticks.saturating_mul(period)))
        };
        let fall = ticks.min(u64::from(above)) as u16;
        self.set(config, self.ccti - fall)
    }

    /// Goes to an entry of the table. True if the rate changed.
    fn set(&mut self, config: &IbCcConfig, index: u16) -> bool {
        self.ccti = index;
        let rate = self.line.as_bps() as f64 / (1.0 + config.delay(index));
        self.pacer.set(Rate::from_bps((rate as u64).max(1)))
    }
}

impl Controller for IbCc {
    type Config = IbCcConfig;
    const NOTIFIED: bool = true;

    fn validate(config: &IbCcConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    /// A new flow at the first entry of the table, on a host link of rate `line`.
    fn new(config: &IbCcConfig, line: Rate) -> Self {
        let mut flow = Self { pacer: Pacer::new(line), line, next: Time::MAX, ccti: config.min };
        flow.set(config, config.min);
        flow
    }

    /// When CCTI falls next; [`Time::MAX`] while it is at its minimum.
    #[inline]
    fn next_timer(&self, _: &IbCcConfig) -> Time {
        self.next
    }

    /// Applies every expiry up to and including `now`, all at once. True if the rate changed.
    #[inline]
    fn advance(&mut self, config: &IbCcConfig, now: Time) -> bool {
        now >= self.next && self.next < Time::MAX && self.expire(config, now)
    }

    /// A notification arrived that carries `code` (UE or CE). True if the rate changed.
    fn on_cnp(&mut self, config: &IbCcConfig, now: Time, code: CodePoint) -> bool {
        let before = self.rate();
        self.advance(config, now);
        match (code, config.on_ue) {
            (CodePoint::Congestion, _) => {
                let index = self.ccti.saturating_add(config.increase).min(config.limit);
                self.set(config, index);
                if self.next == Time::MAX {
                    self.next = now.saturating_add(config.timer);
                }
            }
            (CodePoint::Undetermined, IbCcOnUe::Hold) if self.next < Time::MAX => {
                self.next = now.saturating_add(config.timer);
            }
            _ => {}
        }
        self.rate() != before
    }

    /// The rate that results from the delay.
    #[inline]
    fn rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// A packet's time on the wire and the delay behind it.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use backwater_units::Span;

    use super::{CctShape, IbCcConfig, IbCcOnUe};
    use crate::config::Quantity;
    use crate::reaction::settings::{Notifications, Parameters, PathFacts, Wants};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// InfiniBand congestion control (InfiniBand specification, Annex A10). The receiver notifies the source of every marked
    /// packet (BECN); each notification moves the flow up a table of delays between packets, time moves it down again.
    #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct IbCcParams {
        /// `CCTI_Increase`: entries of the table per notification. All profiles: 1 (Gran et al., IPDPS 2010); with TCD 2 (TCD paper
        /// §5.2.2).
        #[schemars(range(min = 1, max = 16_383))]
        pub increase: u16,
        /// `CCTI_Limit`: the last entry in use. All profiles: 127 (Gran et al., IPDPS 2010).
        #[schemars(range(min = 1, max = 16_383))]
        pub limit: u16,
        /// `CCTI_Min`: the first entry. All profiles: 0 (Gran et al., IPDPS 2010).
        #[schemars(range(max = 16_383))]
        pub min: u16,
        /// `CCTI_Timer`: time per entry on the way back. All profiles: 153.6 µs (Gran et al., IPDPS 2010: 150 units of 1.024 µs); the
        /// TCD authors' flit-level model has 10 to 90 µs.
        #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
        pub timer: Quantity<Span>,
        /// Shape of the table. All profiles: quadratic (TCD authors' flit-level model).
        pub cct: CctShape,
        /// Delay of entry 127, in times of the packet before it: the rate there is the link's over 1 + `cct-top`. All profiles:
        /// 15.09 (TCD authors' flit-level model: 127² · 3300/6889 ns between packets of 512 ns).
        #[schemars(range(min = 0.001, max = 16_383.0))]
        pub cct_top: f64,
        /// What a notification that carries UE does. All profiles: hold (TCD paper §5.2.2); none carries UE unless the detector is
        /// tcd.
        pub on_ue: IbCcOnUe,
    }

    impl Parameters for IbCcParams {
        const SHARED: &'static [&'static str] = &["cnp-size"];

        fn resolve(&self, _: &CcSettings, _: &dyn Fn() -> PathFacts) -> ReactionConfig {
            ReactionConfig::IbCc(IbCcConfig {
                increase: self.increase,
                limit: self.limit,
                min: self.min,
                timer: self.timer.0,
                shape: self.cct,
                top: self.cct_top,
                on_ue: self.on_ue,
            })
        }

        fn wants(&self) -> Wants {
            Wants { notifications: Notifications::EachMark, ..Wants::default() }
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_delays_a_packet_of_2048_bytes_by_7_7_us_at_32_gbps() {
        // 127² · 3300/6889 ns = 7726.18… ns over 512 ns.
        let config = IbCcConfig::standard();
        assert!((config.delay(127) - 15.090_21).abs() < 1e-5);
        assert!((config.delay(127) * 512.0 - 16_129.0 * 3_300.0 / 6_889.0).abs() < 1e-9);
        assert!(config.delay(0) == 0.0);
    }

    #[test]
    fn halfway_a_linear_table_delays_by_half_of_the_top_and_a_quadratic_one_by_a_quarter() {
        let quadratic = IbCcConfig { top: 12.7, ..IbCcConfig::standard() };
        let linear = IbCcConfig { shape: CctShape::Linear, ..quadratic };
        assert!((linear.delay(50) - 5.0).abs() < 1e-12);
        assert!((quadratic.delay(50) - 12.7 * 2_500.0 / 16_129.0).abs() < 1e-12);
        assert!((linear.delay(127) - quadratic.delay(127)).abs() < 1e-12);
    }

    #[test]
    fn a_table_without_entries_and_a_timer_that_never_or_always_expires_are_refused() {
        let standard = IbCcConfig::standard();
        assert_eq!(standard.validate(), Ok(()));
        assert_eq!(IbCcConfig::with_tcd().validate(), Ok(()));
        let refused = |config: IbCcConfig| config.validate().unwrap_err().parameter;
        assert_eq!(refused(IbCcConfig { increase: 0, ..standard }), "increase");
        assert_eq!(refused(IbCcConfig { min: 127, ..standard }), "min");
        assert_eq!(refused(IbCcConfig { limit: 16_384, ..standard }), "limit");
        assert_eq!(refused(IbCcConfig { timer: Span::ZERO, ..standard }), "timer");
        for top in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(refused(IbCcConfig { top, ..standard }), "cct-top");
        }
    }
}
