//! The rate laws: f(c), and what it says on average.
use super::{PftConfig, RateLaw};

/// f(c) of equation 1: c shifted left by m, then right by n, plus k; 0 where that is negative, 2^64 − 1 where it is more.
#[inline]
pub fn interval(config: &PftConfig, c: u32) -> u64 {
    // At most 2^95, so that k cannot overflow it.
    let shifted = (u128::from(c) << config.m >> config.n).cast_signed() + i128::from(config.k);
    u64::try_from(shifted.max(0)).unwrap_or(u64::MAX)
}

/// Whether the law lets nothing leave at this c: p = 0.
#[inline]
pub(super) fn blocked(config: &PftConfig, c: u32) -> bool {
    match config.law {
        RateLaw::FixedInterval => false,
        RateLaw::RandomInterval { bits } | RateLaw::MeanInterval { bits } => interval(config, c) >> bits != 0,
    }
}

/// The mean of the idle cycles that a flit costs at this c, as a fraction of which neither part exceeds 64 bits.
/// Nothing may be blocked at this c.
#[inline]
pub(super) fn mean(config: &PftConfig, c: u32) -> (u64, u64) {
    let f = interval(config, c);
    match config.law {
        RateLaw::FixedInterval => (f, 1),
        RateLaw::RandomInterval { bits } | RateLaw::MeanInterval { bits } => (f, (1 << bits) - f),
    }
}

/// `rest` of a gap, which is something, that was judged at one c, as it is at another.
pub(super) fn scaled(config: &PftConfig, rest: u64, from: u32, to: u32) -> u64 {
    let ((old, old_parts), (new, new_parts)) = (mean(config, from), mean(config, to));
    let (more, less) = (u128::from(new) * u128::from(old_parts), u128::from(old) * u128::from(new_parts));
    // With up to 32 random bits both fit into 64. Of larger ones the upper 64 suffice, and leave room for the product.
    let drop = (more.max(less) >> 64).checked_ilog2().map_or(0, |bits| bits + 1);
    let (more, less) = (more >> drop, less >> drop);
    if less == 0 {
        return u64::MAX;
    }
    u64::try_from((u128::from(rest) * more).div_ceil(less)).unwrap_or(u64::MAX)
}
