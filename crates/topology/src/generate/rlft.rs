//! The two-level real-life fat tree (Zahavi et al., Concurrency and Computation 2010): leaves and spines, with several links
//! between a leaf and a spine.
use backwater_units::{Rate, Span};

use crate::{Builder, MAX_NODES, MAX_PORTS, Network, TopologyError};

const KIND: &str = "rlft";

/// Hosts `h0`, `h1`, … in the order of the switches `leaf0`, `leaf1`, …, and switches `spine0`, `spine1`, …, with `links`
/// parallel links between every leaf and every spine. All links have the same rate and delay.
///
/// Ports of a leaf: its hosts, then its first link to each spine, then its second link to each, and so on. Ports of a spine:
/// the first link of each leaf, then the second of each. Under [`crate::Routing::DModK`] destination d goes up by spine
/// d mod spines and by number ⌊d / spines⌋ mod `links` of the parallel links, both up and down.
///
/// # Errors
/// Each count must be from 1 to 1024, and no switch may have more than [`MAX_PORTS`] ports.
pub fn rlft(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    links: u32,
    rate: Rate,
    delay: Span,
) -> Result<Network, TopologyError> {
    let counts =
        [("leaves", leaves), ("spines", spines), ("hosts-per-leaf", hosts_per_leaf), ("links", links)];
    for (parameter, value) in counts {
        super::count(KIND, parameter, value)?;
    }
    let at_leaf = u64::from(hosts_per_leaf) + u64::from(spines) * u64::from(links);
    let at_spine = u64::from(leaves) * u64::from(links);
    for (ports, parameter, value, allowed) in [
        (at_leaf, "spines", spines, "fewer: hosts-per-leaf + spines x links, a leaf's ports, may be 1024"),
        (at_spine, "leaves", leaves, "fewer: leaves x links, a spine's ports, may be 1024"),
    ] {
        if ports > MAX_PORTS as u64 {
            return Err(TopologyError::Parameter { topology: KIND, parameter, value: value.into(), allowed });
        }
    }
    let nodes = u64::from(leaves) * (u64::from(hosts_per_leaf) + 1) + u64::from(spines);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let mut b = Builder::with_parallel_links();
    let hosts = b.hosts("h", leaves * hosts_per_leaf);
    let leaf: Vec<u32> = (0..leaves).map(|i| b.switch(format!("leaf{i}"))).collect();
    let spine: Vec<u32> = (0..spines).map(|i| b.switch(format!("spine{i}"))).collect();
    for (hosts, &leaf) in hosts.chunks(hosts_per_leaf as usize).zip(&leaf) {
        for &host in hosts {
            b.link(host, leaf, rate, delay);
        }
    }
    for _ in 0..links {
        for &leaf in &leaf {
            for &spine in &spine {
                b.link(leaf, spine, rate, delay);
            }
        }
    }
    b.build()
}
