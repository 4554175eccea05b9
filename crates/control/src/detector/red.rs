//! ECN marking by queue length, as used with DCQCN.
//!
//! Reference: Floyd and Jacobson, RED (1993), on the instantaneous queue as in DCQCN (SIGCOMM 2015) and the ns-3
//! simulators derived from it: evaluated at dequeue, after the departing packet was subtracted.
//!
//! ```text
//!   P(mark)
//!    1 ┤               ┌──────
//!      │               │
//! pmax ┤             ╱ │
//!    0 ┼───────────╱───┴──────▶ q
//!                kmin kmax
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | kmin | B | 5 150 / 5 000 | TCD authors' ns-3 release (5 units of 1030 B) / DCQCN paper |
//! | kmax | B | 206 000 / 200 000 | same (200 units) / TCD paper §5.1 |
//! | pmax | 1 | 0.01 | DCQCN paper |
//! | guaranteed | B | 1 030 / 0 | TCD authors' release: the first packet of a queue is not counted |
//!
//! Known deviations: none. The reported state (congested above kmax) is a label; RED itself has no state.
use backwater_units::{Bytes, Rate};

use super::{CongestionPoint, Departure, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts};
use crate::error::require;
use crate::{CodePoint, ConfigError, PortState};

/// 2³², the number of values of a draw.
const DRAWS: f64 = 4_294_967_296.0;

/// Thresholds of the marking ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Red {
    kmin: u64,
    kmax: u64,
    guaranteed: u64,
    pmax: f64,
    /// Draws per byte above kmin that mark.
    slope: f64,
}

impl Red {
    /// No mark up to `kmin`, with probability rising to `pmax` at `kmax`, always above `kmax`. The first
    /// `guaranteed` bytes of a queue are not counted. `kmin = kmax` is a step.
    pub fn new(kmin: Bytes, kmax: Bytes, pmax: f64, guaranteed: Bytes) -> Result<Self, ConfigError> {
        let width = kmax.saturating_sub(kmin).get();
        let slope = if width == 0 { 0.0 } else { pmax * DRAWS / width as f64 };
        let red = Self { kmin: kmin.get(), kmax: kmax.get(), guaranteed: guaranteed.get(), pmax, slope };
        red.validate()?;
        Ok(red)
    }

    /// Every packet above `threshold`, none below or at it, every byte counted: no draw is ever made.
    pub const fn step(threshold: Bytes) -> Self {
        Self { kmin: threshold.get(), kmax: threshold.get(), guaranteed: 0, pmax: 1.0, slope: 0.0 }
    }

    pub(crate) fn of(kmin: u64, kmax: u64, pmax: f64, guaranteed: u64) -> Self {
        let slope = pmax * DRAWS / (kmax - kmin) as f64;
        Self { kmin, kmax, guaranteed, pmax, slope }
    }

    /// The TCD authors' release: 5, 200 and 1 units of 1030 B, 1 %.
    pub fn authors() -> Self {
        Self::of(5_150, 206_000, 0.01, 1_030)
    }

    /// 5 KB, 200 KB, 1 % (DCQCN paper; kmax as in TCD §5.1), every byte counted.
    pub fn standard() -> Self {
        Self::of(5_000, 200_000, 0.01, 0)
    }

    /// HPCC simulator, `run.py --cc dcqcn`: 100 and 400 KB at 25 Gbps, in proportion to the port's rate; 20 %.
    pub fn hpcc(rate: Rate) -> Self {
        let kb_at =
            |per_25g: u64| (u128::from(rate.as_bps()) * u128::from(per_25g) * 1000 / 25_000_000_000) as u64;
        let kmin = kb_at(100);
        Self::of(kmin, kb_at(400).max(kmin + 1), 0.2, 0)
    }

    /// What this is at a port of `full` for one of another rate: thresholds in proportion to it, that is to the time to send what waits.
    #[must_use]
    pub fn in_proportion(&self, rate: Rate, full: Rate) -> Self {
        let of = |bytes: u64| {
            let bytes = u128::from(bytes) * u128::from(rate.as_bps()) / u128::from(full.as_bps()).max(1);
            bytes.min(u128::from(u64::MAX)) as u64
        };
        let (kmin, kmax) = (of(self.kmin), of(self.kmax));
        let slope = if kmin == kmax { 0.0 } else { self.pmax * DRAWS / (kmax - kmin) as f64 };
        Self { kmin, kmax, slope, ..*self }
    }

    /// Marking starts above this many counted bytes.
    pub const fn kmin(&self) -> Bytes {
        Bytes::new(self.kmin)
    }
    /// Above this many counted bytes every packet is marked.
    pub const fn kmax(&self) -> Bytes {
        Bytes::new(self.kmax)
    }
    /// Probability of a mark just below kmax.
    pub const fn pmax(&self) -> f64 {
        self.pmax
    }
    /// Bytes of a queue that are not counted.
    pub const fn guaranteed(&self) -> Bytes {
        Bytes::new(self.guaranteed)
    }

    /// The bytes of a queue that count.
    #[inline]
    pub const fn counted(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.guaranteed)
    }

    /// The RED test on `counted` bytes.
    #[inline]
    pub fn hits(&self, counted: u64, draw: impl FnOnce() -> u32) -> bool {
        if counted <= self.kmin {
            false
        } else if counted > self.kmax {
            true
        } else {
            f64::from(draw()) < self.slope * (counted - self.kmin) as f64
        }
    }

    /// Whether the counted bytes lie above the ramp: the step that stands for "over the threshold".
    #[inline]
    pub const fn above(&self, counted: u64) -> bool {
        counted > self.kmax
    }
}

impl CongestionPoint for Red {
    #[cfg(feature = "config")]
    const SHARED: &'static [&'static str] = super::RAMP;

    #[inline]
    fn on_dequeue(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        let counted = self.counted(departure.queue);
        registers.state = if self.above(counted) { PortState::Congestion } else { PortState::NonCongestion };
        if self.hits(counted, draw) { departure.code.mark_ce() } else { departure.code }
    }

    /// kmin on top of what is not counted.
    fn calm(&self) -> u64 {
        self.kmin.saturating_add(self.guaranteed)
    }

    fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.kmin <= self.kmax,
            "kmin",
            Bytes::new(self.kmin),
            "at most kmax",
            "raise kmax or lower kmin",
        )?;
        require(
            (0.0..=1.0).contains(&self.pmax),
            "pmax",
            self.pmax,
            "a probability, 0 to 1",
            "write 1 % as 0.01",
        )
    }

    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, port: &PortFacts) -> Result<Self, ConfigError> {
        let (kmin, kmax, pmax) = settings.ramp(port.rate);
        Self::new(kmin, kmax, pmax, settings.guaranteed.0)
    }
}

/// When a packet is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum MarkAt {
    /// When it leaves: the bytes behind it count.
    #[default]
    Dequeue,
    /// When it comes to the egress queue: the bytes before it and its own count. Only with queueing = combined.
    Enqueue,
}

/// Which bytes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum MarkBasis {
    /// Those of its own priority.
    #[default]
    Queue,
    /// All of the egress port. Only with queueing = combined.
    Port,
}

/// RED: where it looks. Its thresholds are those of the table above.
#[cfg(feature = "config")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RedParams {
    /// When a packet is judged. isolation: enqueue (reconstructed: the ICI paper does not say; its signal is the occupancy of the
    /// egress); the other profiles: dequeue (DCQCN paper; both ns-3 simulators).
    #[serde(default)]
    pub at: MarkAt,
    /// Which bytes count. isolation: port (reconstructed: DCQCN beside isolation, uncoordinated, does not know its queues); the
    /// other profiles: queue (both ns-3 simulators).
    #[serde(default)]
    pub basis: MarkBasis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_almost_empty_queue_is_never_marked_and_a_long_one_always() {
        let red = Red::standard();
        assert!(!red.hits(5_000, || 0));
        assert!(red.hits(5_001, || 0));
        assert!(red.hits(200_001, || u32::MAX));
        assert!(!red.hits(200_000, || u32::MAX));
    }

    #[test]
    fn in_the_middle_of_the_ramp_half_of_one_percent_is_marked() {
        // p = 0.01 · (102 500 − 5 000) / 195 000 = 0.005; of 2³² draws the first 0.005 · 2³² = 21 474 836.48 mark.
        let red = Red::standard();
        assert!(red.hits(102_500, || 21_474_836));
        assert!(!red.hits(102_500, || 21_474_837));
    }

    #[test]
    fn a_step_marks_above_the_threshold_and_never_draws() {
        let step = Red::step(Bytes::from_kb(50));
        assert!(!step.hits(50_000, || unreachable!()));
        assert!(step.hits(50_001, || unreachable!()));
        assert_eq!((step.above(50_000), step.above(50_001), step.calm()), (false, true, 50_000));
        let fifty = Bytes::from_kb(50);
        assert_eq!(Red::new(fifty, fifty, 1.0, Bytes::new(0)), Ok(step));
    }

    #[test]
    fn a_link_at_a_quarter_of_the_rate_has_a_quarter_of_the_thresholds() {
        let (kmin, kmax) = (Bytes::new(103_750), Bytes::new(311_250));
        let red = Red::new(kmin, kmax, 1.0, Bytes::ZERO).expect("a ramp");
        let slow = red.in_proportion(Rate::from_gbps(100), Rate::from_gbps(400));
        assert_eq!((slow.kmin().get(), slow.kmax().get()), (25_937, 77_812));
        assert_eq!(slow, Red::new(slow.kmin(), slow.kmax(), 1.0, Bytes::ZERO).expect("a ramp"));
        assert_eq!(red.in_proportion(Rate::from_gbps(400), Rate::from_gbps(400)), red);
    }

    #[test]
    fn the_first_packet_of_a_queue_does_not_count_in_the_authors_release() {
        let red = Red::authors();
        assert_eq!(red.counted(1_030), 0);
        assert_eq!(red.counted(329_600), 328_570);
    }

    #[test]
    fn thresholds_of_the_hpcc_simulator_grow_with_the_rate() {
        let red = Red::hpcc(Rate::from_gbps(100));
        assert_eq!((red.kmin().get(), red.kmax().get()), (400_000, 1_600_000));
    }

    #[test]
    fn a_ramp_that_falls_or_a_probability_above_one_is_refused() {
        let kb = Bytes::from_kb;
        assert!(Red::new(kb(200), kb(5), 0.01, kb(0)).is_err());
        assert!(Red::new(kb(5), kb(200), 1.01, kb(0)).is_err());
        assert!(Red::new(kb(5), kb(200), f64::NAN, kb(0)).is_err());
        assert!(Red::new(kb(5), kb(5), 1.0, kb(0)).is_ok());
    }
}
