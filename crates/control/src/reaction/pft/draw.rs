//! Draws of the negative binomial distribution: failures before so many successes.
use crate::reaction::power;

/// Below this chance of success one logarithm per success is cheaper than one step per failure.
const RARE: f64 = 1.0 / 6.0;
/// Successes of one walk: `RARE` to this power is 2^-662, well above the smallest number.
const WALK: u32 = 256;

/// Failures before `successes` successes, if each try succeeds with chance `goes` > 0 and fails with chance `fails`, their sum being 1.
///
/// Two methods, both exact but for rounding. Where success is not rare, the distribution function is inverted term by term, from one
/// uniform number for up to 256 successes. Where it is rare, the failures before each success are drawn one by one, by inversion of
/// the geometric distribution.
pub(super) fn failures(successes: u32, goes: f64, fails: f64, random: &mut impl FnMut() -> f64) -> u64 {
    if fails <= 0.0 {
        return 0;
    }
    if goes < RARE {
        let log = libm::log1p(-goes);
        return (0..successes).fold(0u64, |sum, _| sum.saturating_add(geometric(log, random())));
    }
    let (mut left, mut sum) = (successes, 0);
    while left > 0 {
        let now = left.min(WALK);
        sum += walk(now, goes, fails, random());
        left -= now;
    }
    sum
}

/// `log`: the logarithm of the chance of a failure.
fn geometric(log: f64, uniform: f64) -> u64 {
    // The cast saturates.
    (libm::log1p(-uniform) / log) as u64
}

/// The number at which the distribution function first exceeds `uniform`.
fn walk(successes: u32, goes: f64, fails: f64, uniform: f64) -> u64 {
    let successes = f64::from(successes);
    let mean = successes * fails / goes;
    let (mut failed, mut left) = (0.0, uniform);
    let mut chance = power(goes, successes as u64);
    // What rounding leaves over in the far tail ends the walk too.
    while left >= chance && (failed <= mean || chance > 1e-18) {
        left -= chance;
        chance *= fails * (successes + failed) / (failed + 1.0);
        failed += 1.0;
    }
    failed as u64
}
