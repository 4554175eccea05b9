//! At which host each rank runs.
use backwater_engine::stream;

use crate::stream::{RANKS, choose, entity};

/// How ranks are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The first host is filled first: ranks 0, 1, ... are there.
    #[default]
    Block,
    /// Rank r is at host r mod the number of hosts.
    Cyclic,
    /// Like blocks, but over the hosts in a random order, drawn from the run's seed.
    Random,
}

/// The host of each of `ranks` ranks, with at most `per_host` at each; `None`: there is no room for them. `group` is the traffic
/// entry: another one draws other places.
pub fn place(
    ranks: u32,
    hosts: &[u32],
    per_host: u32,
    placement: Placement,
    group: u16,
    seed: u64,
) -> Option<Vec<u32>> {
    let room = hosts.len() as u64 * u64::from(per_host);
    if u64::from(ranks) > room {
        return None;
    }
    let block = |hosts: &[u32]| (0..ranks).map(|rank| hosts[(rank / per_host) as usize]).collect();
    Some(match placement {
        Placement::Block => block(hosts),
        Placement::Cyclic => hosts.iter().copied().cycle().take(ranks as usize).collect(),
        Placement::Random => {
            let mut hosts = hosts.to_vec();
            let count = hosts.len();
            choose(&mut stream(seed, RANKS, entity(group, 0)), &mut hosts, count);
            block(&hosts)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_hosts_and_cycles_go_round() {
        let hosts = [4, 5, 9];
        assert_eq!(place(5, &hosts, 2, Placement::Block, 0, 1), Some(vec![4, 4, 5, 5, 9]));
        assert_eq!(place(5, &hosts, 2, Placement::Cyclic, 0, 1), Some(vec![4, 5, 9, 4, 5]));
        assert_eq!(place(7, &hosts, 2, Placement::Block, 0, 1), None);
        assert_eq!(place(0, &hosts, 0, Placement::Block, 0, 1), Some(vec![]));
    }

    #[test]
    fn random_places_are_blocks_at_random_hosts() {
        let hosts: Vec<u32> = (10..20).collect();
        let at = |group, seed| place(30, &hosts, 4, Placement::Random, group, seed).expect("room for 40");
        for seed in 0..20 {
            let places = at(0, seed);
            // Seven hosts with four ranks, and one with two.
            assert!(places.chunks(4).all(|block| block.iter().all(|host| *host == block[0])));
            let mut used: Vec<u32> = places.chunks(4).map(|block| block[0]).collect();
            used.sort_unstable();
            used.dedup();
            assert!(places.len() == 30 && used.len() == 8 && used.iter().all(|host| hosts.contains(host)));
        }
        assert_ne!(at(0, 1), at(0, 2));
        assert_ne!(at(0, 1), at(1, 1));
        assert_eq!(at(3, 1), at(3, 1));
    }
}
