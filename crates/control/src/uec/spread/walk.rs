//! Oblivious spraying and bitmaps: all entropies in turn, in an order that is another one each turn.
//!
//! Reference: `ultraethernet/uet-htsim` at 40ccb05, `uec_mp.cpp:27` (oblivious), `:60` (bitmap; scores 1, 4, 15, at most 15).
//!
//! ```text
//!   entropy = (i xor x) mod n;   i += 1;   after n: i = 0, x random
//!   bitmap:  while the entropy has a score: the first such one loses 1; on to the next, n at most
//! ```
use super::{Feedback, SpreadConfig};

const MARKED: u8 = 1;
const TRIMMED: u8 = 4;
const MOST: u8 = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct Walk {
    index: u16,
    mask: u16,
}

/// A score counts against an entropy.
#[inline]
pub(super) fn score(scores: &mut [u8], entropy: u16, feedback: Feedback) {
    let more = match feedback {
        Feedback::Good => return,
        Feedback::Marked => MARKED,
        Feedback::Trimmed => TRIMMED,
        Feedback::Lost => MOST,
    };
    if let Some(score) = scores.get_mut(usize::from(entropy)) {
        *score = (*score + more).min(MOST);
    }
}

impl Walk {
    pub(super) const fn new(config: SpreadConfig, draw: u32) -> Self {
        Self { index: 0, mask: draw as u16 & (config.entropies - 1) }
    }

    #[inline]
    const fn entropy(self) -> u16 {
        self.index ^ self.mask
    }

    #[inline]
    fn advance(&mut self, config: SpreadConfig, mut random: impl FnMut() -> u32) {
        self.index += 1;
        if self.index == config.entropies {
            *self = Self::new(config, random());
        }
    }

    #[inline]
    pub(super) fn step(&mut self, config: SpreadConfig, random: impl FnMut() -> u32) -> u16 {
        let entropy = self.entropy();
        self.advance(config, random);
        entropy
    }

    #[inline]
    pub(super) fn step_by(
        &mut self,
        config: SpreadConfig,
        scores: &mut [u8],
        mut random: impl FnMut() -> u32,
    ) -> u16 {
        if let Some(score @ 1..) = scores.get_mut(usize::from(self.entropy())) {
            *score -= 1;
            for _ in 0..config.entropies {
                self.advance(config, &mut random);
                if scores[usize::from(self.entropy())] == 0 {
                    break;
                }
            }
        }
        self.step(config, random)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::SpreadKind;
    use super::*;

    const CONFIG: SpreadConfig = SpreadConfig { kind: SpreadKind::Bitmap, entropies: 8 };

    #[test]
    fn each_turn_has_each_entropy_once_in_an_order_of_its_own() {
        let mut walk = Walk::new(CONFIG, 5);
        let turn: Vec<u16> = (0..8).map(|_| walk.step(CONFIG, || 3)).collect();
        assert_eq!(turn, [5, 4, 7, 6, 1, 0, 3, 2]);
        assert_eq!((0..8).map(|_| walk.step(CONFIG, || 3)).collect::<Vec<_>>(), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(turn.into_iter().collect::<BTreeSet<_>>().len(), 8);
    }

    #[test]
    fn an_entropy_with_a_score_is_passed_over_so_often() {
        let (mut walk, mut scores) = (Walk::new(CONFIG, 0), [0; 8]);
        score(&mut scores, 2, Feedback::Marked);
        score(&mut scores, 3, Feedback::Trimmed);
        score(&mut scores, 4, Feedback::Good);
        let turn: Vec<u16> = (0..6).map(|_| walk.step_by(CONFIG, &mut scores, || 0)).collect();
        // From 2 on to 4: only the first one that it meets loses a point.
        assert_eq!((turn, scores[2], scores[3]), (vec![0, 1, 4, 5, 6, 7], 0, 4));
        let turn: Vec<u16> = (0..4).map(|_| walk.step_by(CONFIG, &mut scores, || 0)).collect();
        assert_eq!((turn, scores[3]), (vec![0, 1, 2, 4], 3));
        score(&mut scores, 0, Feedback::Lost);
        score(&mut scores, 0, Feedback::Lost);
        assert_eq!(scores[0], 15);
    }

    #[test]
    fn where_all_have_scores_a_turn_ends_all_the_same() {
        let (mut walk, mut scores) = (Walk::new(CONFIG, 0), [9; 8]);
        assert!(walk.step_by(CONFIG, &mut scores, || 0) < 8);
    }
}
