//! Incast: many hosts send to one at the same instant.
use backwater_engine::stream;
use backwater_units::Bytes;

use crate::flow::{Flow, Group};
use crate::stream::{INCAST, choose, entity};

/// `fan_in` of the hosts `from` send `size` to `to`, all at the start of the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incast {
    /// Hosts that may take part; `to` is skipped.
    pub from: Vec<u32>,
    /// The receiver.
    pub to: u32,
    /// Payload of each flow.
    pub size: Bytes,
    /// How many take part, chosen at random; `None`: all.
    pub fan_in: Option<u32>,
}

impl Incast {
    /// The flows, in ascending order of the sources. At most as many as there are possible sources.
    pub fn flows(&self, group: &Group, seed: u64) -> Vec<Flow> {
        let mut senders: Vec<u32> = self.from.iter().copied().filter(|&host| host != self.to).collect();
        if let Some(fan_in) = self.fan_in {
            let mut random = stream(seed, INCAST, entity(group.id, self.to));
            choose(&mut random, &mut senders, fan_in as usize);
            senders.truncate(fan_in as usize);
            senders.sort_unstable();
        }
        let flow = |&src: &u32| group.flow(src, self.to, self.size, group.start);
        senders.iter().map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    fn incast(fan_in: Option<u32>) -> Incast {
        Incast { from: (0..100).collect(), to: 7, size: Bytes::from_mb(1), fan_in }
    }

    #[test]
    fn everybody_but_the_receiver_sends_at_once() {
        let flows = incast(None).flows(&GROUP, 1);
        assert_eq!(flows.len(), 99);
        assert!(flows.iter().all(|f| f.src != 7 && f.dst == 7 && f.start == GROUP.start));
    }

    #[test]
    fn a_smaller_fan_in_is_a_random_choice_without_repeats_that_the_seed_fixes() {
        let sources = |seed| incast(Some(32)).flows(&GROUP, seed).iter().map(|f| f.src).collect::<Vec<_>>();
        let one = sources(1);
        assert_eq!(one.len(), 32);
        assert!(one.is_sorted_by(|a, b| a < b));
        assert_eq!(one, sources(1));
        assert_ne!(one, sources(2));
        assert_eq!(incast(Some(1000)).flows(&GROUP, 1).len(), 99, "no more than there are");
    }
}
