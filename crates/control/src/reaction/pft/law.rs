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

/// The mean of the idle flit times that a flit costs at this c, as a fraction of which neither part exceeds 64 bits.
/// Nothing may be blocked at this c.
#[inline]
pub(super) fn mean(config: &PftConfig, c: u32) -> (u64, u64) {
    let f = interval(config, c);
    match config.law {
        RateLaw::FixedInterval => (f, 1),
        RateLaw::RandomInterval { bits } | RateLaw::MeanInterval { bits } => (f, (1 << bits) - f),
    }
}

/// `rest` of a gap that was judged at one c, as it is at another.
pub(super) fn scaled(config: &PftConfig, rest: u64, from: u32, to: u32) -> u64 {
    let ((old, old_parts), (new, new_parts)) = (mean(config, from), mean(config, to));
    // Of a random number of more than 32 bits the upper 32 suffice here, and leave room for the product.
    let drop = match config.law {
        RateLaw::RandomInterval { bits } | RateLaw::MeanInterval { bits } => bits.saturating_sub(32),
        RateLaw::FixedInterval => 0,
    };
    let wide = |part: u64| u128::from(part >> drop);
    let more = u128::from(rest) * (wide(new) * wide(old_parts).max(1));
    let scaled = more.div_ceil(wide(old).max(1) * wide(new_parts).max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
