//! The rate of one flow and the gap between its packets, computed once per change.
use backwater_units::{Bytes, Rate, Span};

use super::Controller;
use crate::ConfigError;

/// A rate with the pacing gap of the latest packet size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Pacer {
    rate: Rate,
    gap: Span,
    size: u32,
}

impl Pacer {
    /// A flow that may send at `rate`, which must be above zero.
    pub const fn new(rate: Rate) -> Self {
        Self { rate, gap: Span::ZERO, size: 0 }
    }

    /// The rate in bits on the wire.
    #[inline]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Sets the rate; true if it is another one.
    #[inline]
    pub fn set(&mut self, rate: Rate) -> bool {
        let changed = rate != self.rate;
        if changed {
            *self = Self::new(rate);
        }
        changed
    }

    /// The time that `wire_bytes` take at the rate, rounded up to the picosecond.
    #[inline]
    pub fn gap(&mut self, wire_bytes: u32) -> Span {
        if self.size != wire_bytes {
            self.size = wire_bytes;
            self.gap = self.rate.serialize(Bytes::new(u64::from(wire_bytes)));
        }
        self.gap
    }
}

/// No congestion control: always at the rate of the link.
impl Controller for Pacer {
    type Config = ();

    fn validate((): &(), _largest: u32) -> Result<(), ConfigError> {
        Ok(())
    }

    fn new((): &(), line: Rate) -> Self {
        Self::new(line)
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.gap(wire_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_follows_the_rate_and_the_size() {
        let mut pacer = Pacer::new(Rate::from_gbps(40));
        assert_eq!(pacer.gap(1_000), Span::from_ns(200));
        assert_eq!(pacer.gap(500), Span::from_ns(100));
        assert!(pacer.set(Rate::from_gbps(10)));
        assert_eq!(pacer.gap(500), Span::from_ns(400));
        assert!(!pacer.set(Rate::from_gbps(10)));
        assert_eq!(pacer.gap(0), Span::ZERO);
    }
}
