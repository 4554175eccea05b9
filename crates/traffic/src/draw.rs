//! Hosts drawn at random, for any kind of traffic.
use backwater_engine::stream;

use crate::stream::{HOSTS, choose};

/// Draws `count` of `hosts` and returns them and the others, both in the order of the list. Draws of one seed and `number`
/// from the same list are the same.
pub fn draw(hosts: &[u32], count: usize, seed: u64, number: u32) -> (Vec<u32>, Vec<u32>) {
    let mut places: Vec<u32> = (0..hosts.len() as u32).collect();
    choose(&mut stream(seed, HOSTS, u64::from(number)), &mut places, count);
    let mut drawn = vec![false; hosts.len()];
    for &place in places.iter().take(count) {
        drawn[place as usize] = true;
    }
    let side = |wanted: bool| {
        hosts.iter().zip(&drawn).filter(|(_, drawn)| **drawn == wanted).map(|(host, _)| *host).collect()
    };
    (side(true), side(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_and_the_others_are_the_list() {
        let hosts: Vec<u32> = (0..64).collect();
        for seed in 0..20 {
            let (drawn, others) = draw(&hosts, 16, seed, 0);
            assert_eq!((drawn.len(), others.len()), (16, 48));
            assert!(drawn.is_sorted() && others.is_sorted());
            let mut all = [drawn, others].concat();
            all.sort_unstable();
            assert_eq!(all, hosts);
        }
        assert_ne!(draw(&hosts, 16, 1, 0), draw(&hosts, 16, 2, 0));
        assert_ne!(draw(&hosts, 16, 1, 0), draw(&hosts, 16, 1, 1));
        assert_eq!(draw(&hosts, 16, 1, 1), draw(&hosts, 16, 1, 1));
    }

    #[test]
    fn every_host_is_drawn_equally_often() {
        let hosts: Vec<u32> = (0..8).collect();
        let mut counts = [0u32; 8];
        for seed in 0..8000 {
            for host in draw(&hosts, 2, seed, 3).0 {
                counts[host as usize] += 1;
            }
        }
        // 2000 expected, standard deviation 39: five of them
        assert!(counts.iter().all(|n| n.abs_diff(2000) < 195), "{counts:?}");
    }
}
