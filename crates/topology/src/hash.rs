//! The flow hash by which ECMP spreads flows.

/// A hash of a flow, as a switch computes it over the five-tuple: all packets of a flow in one direction agree.
///
/// `reverse` is true for what travels from the flow's destination back to its source (ACK, CNP): swapped
/// addresses hash differently, so the way back may use other links. `salt` tells switches (and seeds) apart;
/// with one salt for all, the second tier would repeat the choice of the first and leave links idle.
/// The mixing is the finaliser of `MurmurHash3` (Appleby, public domain).
pub const fn flow_hash(flow: u32, reverse: bool, salt: u32) -> u32 {
    let mut x = ((salt as u64) << 32) | flow as u64;
    if reverse {
        x ^= 0x9E37_79B9_7F4A_7C15;
    }
    x ^= x >> 33;
    x = x.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x ^= x >> 33;
    x = x.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^= x >> 33;
    (x >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of `n` flows over `ports` next hops of the switch with that salt.
    fn spread(n: u32, ports: u64, salt: u32) -> Vec<u32> {
        let mut counts = vec![0; ports as usize];
        for flow in 0..n {
            counts[((u64::from(flow_hash(flow, false, salt)) * ports) >> 32) as usize] += 1;
        }
        counts
    }

    #[test]
    fn consecutive_flows_spread_evenly_over_eight_ports() {
        // 80 000 flows: mean 10 000 per port, standard deviation 94; 5 deviations allowed
        for salt in 0..20 {
            assert!(spread(80_000, 8, salt).iter().all(|&n| (9_530..=10_470).contains(&n)));
        }
    }

    #[test]
    fn two_switches_choose_independently() {
        let mut joint = [[0u32; 4]; 4];
        for flow in 0..64_000 {
            let port = |salt| ((u64::from(flow_hash(flow, false, salt)) * 4) >> 32) as usize;
            joint[port(1)][port(2)] += 1;
        }
        // 16 cells: mean 4 000, standard deviation 61
        assert!(joint.iter().flatten().all(|&n| (3_690..=4_310).contains(&n)));
    }

    #[test]
    fn the_way_back_is_hashed_on_its_own() {
        let same =
            (0..10_000).filter(|&f| flow_hash(f, false, 7) >> 30 == flow_hash(f, true, 7) >> 30).count();
        // a quarter agrees by chance: 2 500, standard deviation 43
        assert!((2_280..=2_720).contains(&same), "{same}");
    }
}
