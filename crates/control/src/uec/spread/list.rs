//! The entropies that came back unmarked, each used once: REPS as it was first published.
//!
//! Reference: `ultraethernet/uet-htsim` at 40ccb05, `uec_mp.cpp:199`; REPS (arXiv 2407.21625). The first packets of a window take 1, 2, … one
//! after the other.
use super::SpreadConfig;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct List {
    first: u16,
    count: u16,
    last: u16,
}

impl List {
    /// One that came back; if there is no place for it, it is forgotten.
    #[inline]
    pub(super) fn put(&mut self, entropy: u16, places: &mut [u16]) {
        if usize::from(self.count) < places.len() {
            let at = usize::from(self.first + self.count) & (places.len() - 1);
            places[at] = entropy;
            self.count += 1;
        }
    }

    /// The oldest.
    #[inline]
    pub(super) fn take(&mut self, places: &[u16]) -> Option<u16> {
        if self.count == 0 {
            return None;
        }
        let entropy = places[usize::from(self.first)];
        self.first = (self.first + 1) & (places.len() - 1) as u16;
        self.count -= 1;
        Some(entropy)
    }

    #[inline]
    pub(super) fn next(
        &mut self,
        config: SpreadConfig,
        begins: bool,
        places: &[u16],
        mut random: impl FnMut() -> u32,
    ) -> u16 {
        self.last = if begins {
            (self.last + 1) & (config.entropies - 1)
        } else {
            self.take(places).unwrap_or_else(|| random() as u16 & (config.entropies - 1))
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::super::SpreadKind;
    use super::*;

    #[test]
    fn the_first_window_takes_all_in_order_and_then_what_came_back_goes_again() {
        let config = SpreadConfig { kind: SpreadKind::RepsList, entropies: 4 };
        let (mut list, mut places) = (List::default(), [0; 4]);
        let first: Vec<u16> = (0..4).map(|_| list.next(config, true, &places, || 9)).collect();
        assert_eq!(first, [1, 2, 3, 0]);
        for entropy in [3, 1, 0, 2, 2] {
            list.put(entropy, &mut places);
        }
        let then: Vec<u16> = (0..5).map(|_| list.next(config, false, &places, || 9)).collect();
        assert_eq!(then, [3, 1, 0, 2, 1], "the fifth has no place, and 9 mod 4 is random");
        list.put(3, &mut places);
        assert_eq!(list.take(&places), Some(3));
        assert_eq!(list.take(&places), None);
    }
}
