//! Random streams of the generators: the purposes they draw for, and draws the engine's streams lack.
use backwater_engine::{Stream, uniform};
use rand_core::Rng;

/// Arrival times, destinations and sizes of one Poisson source.
pub(crate) const POISSON: u64 = 0x7472_0001;
/// The clock that all sources of a synchronous entry share.
pub(crate) const CLOCK: u64 = 0x7472_0002;
/// Sizes that one source of a synchronous entry draws.
pub(crate) const SIZES: u64 = 0x7472_0003;
/// The random derangement of a permutation entry.
pub(crate) const PERMUTATION: u64 = 0x7472_0004;
/// Which hosts take part in an incast.
pub(crate) const INCAST: u64 = 0x7472_0005;

/// Which I/O servers are hot.
pub(crate) const HOT: u64 = 0x7472_000d;
/// Which hosts are I/O servers and clients, MPI servers and clients.
pub(crate) const PLACEMENT: u64 = 0x7472_0006;
/// Servers, sizes and times of the messages of one client.
pub(crate) const MESSAGES: u64 = 0x7472_0007;

/// Which elements a PE of a kernel of bale deals with.
pub(crate) const BALE: u64 = 0x7472_0009;

/// At which hosts the ranks of a program run.
pub(crate) const RANKS: u64 = 0x7472_000a;
/// Who does what in `GPCNeT`, and its rings.
pub(crate) const GPCNET: u64 = 0x7472_000b;

/// Which experts are popular, and which of them tokens go to.
pub(crate) const COLLECTIVE: u64 = 0x7472_000c;

/// How much slower or later the ranks of a job are.
pub(crate) const SKEW: u64 = 0x7472_000e;

/// Which of some hosts a traffic entry names.
pub(crate) const HOSTS: u64 = 0x7472_0008;

/// The number of the stream of one host in one traffic entry.
pub(crate) fn entity(group: u16, host: u32) -> u64 {
    (u64::from(group) << 32) | u64::from(host)
}

/// A uniform integer in `0..bound` without the bias of a remainder. `bound` must not be 0.
pub(crate) fn below(random: &mut Stream, bound: u32) -> u32 {
    loop {
        let wide = u64::from(random.next_u32()) * u64::from(bound);
        // The lowest `2³² mod bound` products would be hit once too often: draw again there.
        if wide as u32 >= bound.wrapping_neg() % bound {
            return (wide >> 32) as u32;
        }
    }
}

/// The first `count` of `list` become a uniform choice from it without replacement, in random order.
pub(crate) fn choose(random: &mut Stream, list: &mut [u32], count: usize) {
    // The first steps of a Fisher–Yates shuffle.
    for place in 0..count.min(list.len()) {
        let left = (list.len() - place) as u32;
        list.swap(place, place + below(random, left) as usize);
    }
}

/// An exponential random number of mean 1, from 53 random bits.
pub fn exponential(random: &mut Stream) -> f64 {
    -libm::log(1.0 - uniform(random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::stream;

    #[test]
    fn every_value_below_the_bound_is_equally_likely() {
        let mut random = stream(1, INCAST, 0);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[below(&mut random, 7) as usize] += 1;
        }
        // 10 000 expected, standard deviation 93: five of them
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 465), "{seen:?}");
    }

    #[test]
    fn exponential_numbers_have_mean_one_and_variance_one() {
        let mut random = stream(1, CLOCK, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| exponential(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }
}
