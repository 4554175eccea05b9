//! The four quantities and the arithmetic that is meaningful between them.
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use crate::PS_PER_S;

/// A point in simulated time: picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Time(#[cfg_attr(feature = "snapshot", borsh(serialize_with = "crate::relative::instant"))] u64);

/// A length of simulated time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Span(u64);

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Bytes(u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Rate(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The point `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds since the start, for plots and tables only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The span from `earlier` to `self`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// `self + span`, or [`Time::MAX`] on overflow.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// The length in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// The length in microseconds, for plots and tables only.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The length in seconds, for plots and tables only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything: an endless flow.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    /// `n` kilobytes of 1000 B.
    pub const fn from_kb(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` megabytes of 1000² B.
    pub const fn from_mb(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// No rate.
    pub const ZERO: Self = Self(0);

    /// `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// `mbps` Mbit/s.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// `gbps` Gbit/s.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// How long `size` occupies a link of this rate, rounded up to the picosecond.
    ///
    /// # Panics
    /// If the rate is zero (a scenario with such a link does not pass validation) or the span exceeds 213 days.
    pub const fn serialize(self, size: Bytes) -> Span {
        assert!(self.0 > 0, "a link of rate 0 cannot serialise a frame");
        let bit_ps = size.0 as u128 * 8 * PS_PER_S as u128;
        let ps = bit_ps.div_ceil(self.0 as u128);
        assert!(ps <= u64::MAX as u128, "serialisation time overflows");
        Span(ps as u64)
    }
    /// The bytes that fit into `span` at this rate, rounded down: `rate · span / 8`.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        // Nearly always it fits, and dividing by a constant is a multiplication.
        if let Some(bits) = self.0.checked_mul(span.0) {
            return Bytes(bits / (8 * PS_PER_S));
        }
        let bytes = self.0 as u128 * span.0 as u128 / (8 * PS_PER_S as u128);
        Bytes(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
    /// Picoseconds per byte if that is a whole number (10, 25, 40, 100, 200, 400 Gbps: yes; 54.5 Gbps: no).
    pub const fn exact_ps_per_byte(self) -> Option<u32> {
        let ps = 8 * PS_PER_S;
        if self.0 > 0 && ps.is_multiple_of(self.0) && ps / self.0 <= u32::MAX as u64 {
            Some((ps / self.0) as u32)
        } else {
            None
        }
    }
}

macro_rules! additive {
    ($t:ty) => {
        impl Add for $t {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $t {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $t {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $t {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $t {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<u64> for $t {
            type Output = Self;
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl core::iter::Sum for $t {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::default(), |a, b| a + b)
            }
        }
    };
}
additive!(Span);
additive!(Bytes);
additive!(Rate);

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}
impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

/// Writes `value` in the largest of `units` (ascending) in which it is at least 1, with up to three decimals.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (scale, name) = units.iter().rev().find(|(scale, _)| value >= *scale).unwrap_or(&units[0]);
    let whole = value / scale;
    let milli = (u128::from(value % scale) * 1000 / u128::from(*scale)) as u64;
    match milli {
        0 => write!(f, "{whole}{name}"),
        m if m % 100 == 0 => write!(f, "{whole}.{}{name}", m / 100),
        m if m % 10 == 0 => write!(f, "{whole}.{:02}{name}", m / 10),
        m => write!(f, "{whole}.{m:03}{name}"),
    }
}

const SPAN_UNITS: &[(u64, &str)] =
    &[(1, "ps"), (1_000, "ns"), (1_000_000, "us"), (1_000_000_000, "ms"), (PS_PER_S, "s")];
const BYTE_UNITS: &[(u64, &str)] = &[(1, "B"), (1_000, "KB"), (1_000_000, "MB"), (1_000_000_000, "GB")];
const RATE_UNITS: &[(u64, &str)] =
    &[(1, "bps"), (1_000, "Kbps"), (1_000_000, "Mbps"), (1_000_000_000, "Gbps"), (PS_PER_S, "Tbps")];

macro_rules! shown {
    ($t:ty, $units:expr) => {
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_scaled(f, self.0, $units)
            }
        }
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}
shown!(Time, SPAN_UNITS);
shown!(Span, SPAN_UNITS);
shown!(Bytes, BYTE_UNITS);
shown!(Rate, RATE_UNITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_1000_byte_packet_takes_200_ns_at_40_gbps() {
        assert_eq!(Rate::from_gbps(40).serialize(Bytes::new(1000)), Span::from_ns(200));
    }

    #[test]
    fn serialisation_rounds_up_where_a_byte_is_no_whole_picosecond() {
        // 54.5 Gbps: 8000 bit / 54.5e9 = 146788.99 ps
        assert_eq!(Rate::from_bps(54_500_000_000).serialize(Bytes::new(1000)), Span::from_ps(146_789));
        assert_eq!(Rate::from_bps(54_500_000_000).exact_ps_per_byte(), None);
        assert_eq!(Rate::from_gbps(100).exact_ps_per_byte(), Some(80));
    }

    #[test]
    fn bandwidth_delay_product_of_the_papers_20g_path_is_80_kb() {
        assert_eq!(Rate::from_gbps(20).bytes_in(Span::from_us(32)), Bytes::from_kb(80));
        // Beyond 64 bits, too.
        assert_eq!(Rate::from_gbps(400).bytes_in(Span::from_ms(1_000)), Bytes::new(50_000_000_000));
    }

    #[test]
    fn quantities_are_shown_in_their_natural_unit() {
        assert_eq!(Span::from_ps(8_400_000).to_string(), "8.4us");
        assert_eq!(Bytes::new(329_600).to_string(), "329.6KB");
        assert_eq!(Rate::from_gbps(40).to_string(), "40Gbps");
        assert_eq!(Span::ZERO.to_string(), "0ps");
    }
}
