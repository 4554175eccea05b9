//! Permutation traffic: every host sends to one host and receives from one, never itself.
use backwater_engine::stream;
use backwater_units::Bytes;

use crate::flow::{Flow, Group};
use crate::stream::{PERMUTATION, below, entity};

/// One flow from every host to its image under a random derangement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// The hosts that take part, at least two.
    pub hosts: Vec<u32>,
    /// Payload of each flow, or [`Bytes::MAX`].
    pub size: Bytes,
}

impl Permutation {
    /// The flows, in the order of the hosts; none if there are fewer than two.
    pub fn flows(&self, group: &Group, seed: u64) -> Vec<Flow> {
        if self.hosts.len() < 2 {
            return Vec::new();
        }
        let mut random = stream(seed, PERMUTATION, entity(group.id, 0));
        let mut image = self.hosts.clone();
        // A uniform permutation is a derangement with probability 1/e, so repeating until it is one takes
        // 2.7 shuffles on average and leaves all derangements equally likely.
        loop {
            for last in (1..image.len()).rev() {
                image.swap(last, below(&mut random, last as u32 + 1) as usize);
            }
            if self.hosts.iter().zip(&image).all(|(src, dst)| src != dst) {
                break;
            }
        }
        let flow = |(&src, &dst): (&u32, &u32)| group.flow(src, dst, self.size, group.start);
        self.hosts.iter().zip(&image).map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn every_host_sends_once_and_receives_once_and_never_to_itself() {
        for seed in 0..50 {
            for hosts in [2u32, 3, 128] {
                let permutation = Permutation { hosts: (0..hosts).collect(), size: Bytes::MAX };
                let flows = permutation.flows(&GROUP, seed);
                let mut receivers: Vec<u32> = flows.iter().map(|f| f.dst).collect();
                receivers.sort_unstable();
                assert_eq!(receivers, (0..hosts).collect::<Vec<_>>());
                assert!(flows.iter().all(|f| f.src != f.dst));
            }
        }
    }

    #[test]
    fn both_derangements_of_three_hosts_are_equally_likely() {
        let permutation = Permutation { hosts: vec![0, 1, 2], size: Bytes::MAX };
        let forward = (0..2000).filter(|&seed| permutation.flows(&GROUP, seed)[0].dst == 1).count();
        // binomial, standard deviation 22: five of them
        assert!(forward.abs_diff(1000) < 112, "{forward}");
    }
}
