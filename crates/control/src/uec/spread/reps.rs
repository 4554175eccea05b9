//! REPS: eight entropies that came back unmarked, each used once; after a failure they are used again and again.
//!
//! Reference: Bonato et al., REPS (arXiv 2407.21625); `ultraethernet/uet-htsim` at 40ccb05, `uec_mp.cpp:137`, `buffer_reps.h`.
//!
//! ```text
//!   normal ── timeout ──▶ frozen: the eight in turn, old or not ── feedback after 10 ms ──▶ exploring: 16 random ones ──▶ normal
//!   normal: the oldest that is fresh; none fresh: random
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | places | | 8 | REPS; `buffer_reps.h` |
//! | frozen | ps | 10 ms | `buffer_reps.h` `exit_freeze_after` |
//! | explores | packets | 16 | `uec_mp.cpp:167` |
use super::{Feedback, SpreadConfig};

const PLACES: u8 = 8;
const FROZEN: u64 = 10_000_000_000;
const EXPLORES: u8 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct Reps {
    places: [u16; PLACES as usize],
    /// Bit per place: not used since it came.
    fresh: u8,
    /// The place that is written next.
    head: u8,
    filled: u8,
    /// The next one of the frozen.
    running: u8,
    explores: u8,
    /// Until then it is frozen; 0: it is not.
    frozen: u64,
}

impl Reps {
    #[inline]
    pub(super) fn heard(&mut self, feedback: Feedback, entropy: u16, now: u64) {
        if feedback == Feedback::Lost && self.frozen == 0 && self.explores == 0 {
            self.frozen = now + FROZEN;
        }
        if self.frozen > 0 && now > self.frozen {
            *self = Self { explores: EXPLORES, ..Self::default() };
        }
        if feedback == Feedback::Good {
            self.places[usize::from(self.head)] = entropy;
            self.fresh |= 1 << self.head;
            self.head = (self.head + 1) % PLACES;
            self.filled = (self.filled + 1).min(PLACES);
        }
    }

    #[inline]
    pub(super) fn next(&mut self, config: SpreadConfig, mut random: impl FnMut() -> u32) -> u16 {
        let mut random = || random() as u16 & (config.entropies - 1);
        if self.explores > 0 {
            self.explores -= 1;
            return random();
        }
        let place = if self.frozen > 0 && self.filled > 0 {
            let place = self.running;
            self.running = (place + 1) % self.filled;
            place
        } else if self.frozen == 0 && self.fresh != 0 {
            // Those that are fresh end before the head.
            (self.head + PLACES - self.fresh.count_ones() as u8) % PLACES
        } else {
            return random();
        };
        self.fresh &= !(1 << place);
        self.places[usize::from(place)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::SpreadKind;
    use super::*;

    const CONFIG: SpreadConfig = SpreadConfig { kind: SpreadKind::Reps, entropies: 64 };

    fn next(reps: &mut Reps, count: usize) -> Vec<u16> {
        (0..count).map(|_| reps.next(CONFIG, || 63)).collect()
    }

    #[test]
    fn what_came_back_unmarked_goes_once_more_and_then_random_ones() {
        let mut reps = Reps::default();
        for (entropy, feedback) in
            [(1, Feedback::Good), (2, Feedback::Marked), (3, Feedback::Good), (4, Feedback::Trimmed)]
        {
            reps.heard(feedback, entropy, 0);
        }
        assert_eq!(next(&mut reps, 3), [1, 3, 63]);
        for entropy in 10..20 {
            reps.heard(Feedback::Good, entropy, 0);
        }
        assert_eq!(next(&mut reps, 9), [12, 13, 14, 15, 16, 17, 18, 19, 63], "the last eight");
    }

    #[test]
    fn a_timeout_freezes_what_is_known_for_10_ms_and_then_16_packets_explore() {
        let mut reps = Reps::default();
        for entropy in [1, 2, 3] {
            reps.heard(Feedback::Good, entropy, 0);
        }
        assert_eq!(next(&mut reps, 1), [1]);
        reps.heard(Feedback::Lost, 9, 1000);
        assert_eq!(next(&mut reps, 5), [1, 2, 3, 1, 2]);
        reps.heard(Feedback::Good, 7, 1000 + FROZEN);
        assert_eq!(next(&mut reps, 5), [3, 7, 1, 2, 3]);
        reps.heard(Feedback::Good, 8, 1001 + FROZEN);
        assert_eq!(next(&mut reps, 18), [[63; 16].to_vec(), vec![8, 63]].concat());
    }
}
