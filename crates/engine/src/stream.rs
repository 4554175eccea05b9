//! Random numbers: one stream per (purpose, entity), derived from the run's seed, so that a draw in one place
//! never shifts the draws in another.
use std::convert::Infallible;

use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::{Rng, TryRng};

/// A stream of random numbers: PCG XSH RR 64/32 (O'Neill 2014), 16 bytes of state, which a snapshot keeps.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Stream {
    state: u64,
    increment: u64,
}

impl Stream {
    /// The multiplier of the reference implementation.
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

    /// As `pcg32_srandom` of the reference implementation.
    #[inline]
    const fn new(state: u64, sequence: u64) -> Self {
        let increment = sequence << 1 | 1;
        let mut stream = Self { state: state.wrapping_add(increment), increment };
        stream.step();
        stream
    }

    #[inline]
    const fn step(&mut self) {
        self.state = self.state.wrapping_mul(Self::MULTIPLIER).wrapping_add(self.increment);
    }

    #[inline]
    const fn draw(&mut self) -> u32 {
        let state = self.state;
        self.step();
        let rotate = (state >> 59) as u32;
        ((((state >> 18) ^ state) >> 27) as u32).rotate_right(rotate)
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw())
    }
    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.draw());
        Ok(u64::from(self.draw()) << 32 | low)
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for four in bytes.chunks_mut(4) {
            four.copy_from_slice(&self.draw().to_le_bytes()[..four.len()]);
        }
        Ok(())
    }
}

/// A well-mixed 64-bit value of three: two rounds of the `SplitMix64` finaliser (Steele et al., 2014) per input.
#[inline]
pub const fn mix(seed: u64, purpose: u64, entity: u64) -> u64 {
    finalise(finalise(finalise(seed).wrapping_add(purpose)).wrapping_add(entity))
}

const fn finalise(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The stream for `purpose` (a constant of the caller) and `entity` (a port, a flow …) in the run with `seed`.
pub fn stream(seed: u64, purpose: u64, entity: u64) -> Stream {
    Stream::new(mix(seed, purpose, entity), mix(purpose, entity, seed))
}

/// A uniform number in [0, 1) with 53 bits.
pub fn uniform(stream: &mut Stream) -> f64 {
    let bits = stream.next_u64() >> 11;
    bits as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_entities_differ_and_the_same_stream_repeats() {
        let draw = |seed, purpose, entity| stream(seed, purpose, entity).next_u64();
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        assert_ne!(draw(1, 2, 3), draw(1, 2, 4));
        assert_ne!(draw(1, 2, 3), draw(1, 3, 2));
        assert_ne!(draw(1, 2, 3), draw(2, 2, 3));
    }

    #[test]
    fn pcg32_gives_the_reference_numbers_of_its_author() {
        // pcg32-demo, state 42, stream 54: the first outputs printed by the reference implementation.
        let mut rng = Stream::new(42, 54);
        assert_eq!([rng.next_u32(), rng.next_u32(), rng.next_u32()], [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330]);
    }

    #[test]
    fn a_stream_is_that_of_the_library_in_all_its_forms() {
        let (mut ours, mut theirs) = (Stream::new(7, 11), rand_pcg::Pcg32::new(7, 11));
        let (mut mine, mut his) = ([0; 13], [0; 13]);
        for _ in 0..100 {
            assert_eq!((ours.next_u32(), ours.next_u64()), (theirs.next_u32(), theirs.next_u64()));
            ours.fill_bytes(&mut mine);
            theirs.fill_bytes(&mut his);
            assert_eq!(mine, his);
        }
    }

    #[test]
    fn uniform_draws_fill_the_unit_interval_evenly() {
        let mut rng = stream(9, 9, 9);
        let mean = (0..100_000).map(|_| uniform(&mut rng)).sum::<f64>() / 1e5;
        // standard error 1/sqrt(12e5) = 0.0009
        assert!((mean - 0.5).abs() < 0.004, "{mean}");
    }
}
