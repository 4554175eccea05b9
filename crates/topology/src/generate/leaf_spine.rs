//! Two tiers: every leaf is linked to every spine.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// Hosts `h0`, `h1`, … in the order of the switches `leaf0`, `leaf1`, …, and switches `spine0`, `spine1`, …
///
/// Ports of a leaf: its hosts, then the spines; port i of a spine leads to leaf i. `spine_rate` is that of the links
/// between leaves and spines (that of the hosts if not given).
///
/// # Errors
/// Each count must be from 1 to 1024, and the hosts and spines of a leaf no more than 1024 together.
pub fn leaf_spine(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    rate: Rate,
    spine_rate: Option<Rate>,
    delay: Span,
) -> Result<Network, TopologyError> {
    const KIND: &str = "leaf-spine";
    super::count(KIND, "leaves", leaves)?;
    super::count(KIND, "spines", spines)?;
    super::count(KIND, "hosts-per-leaf", hosts_per_leaf)?;
    let nodes = u64::from(leaves) * (u64::from(hosts_per_leaf) + 1) + u64::from(spines);
    if nodes > crate::MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let mut b = Builder::new();
    let hosts = b.hosts("h", leaves * hosts_per_leaf);
    let leaf: Vec<u32> = (0..leaves).map(|i| b.switch(format!("leaf{i}"))).collect();
    let spine: Vec<u32> = (0..spines).map(|i| b.switch(format!("spine{i}"))).collect();
    for (host, index) in hosts.into_iter().zip(0..) {
        let index: u32 = index;
        b.link(host, leaf[(index / hosts_per_leaf) as usize], rate, delay);
    }
    for &leaf in &leaf {
        for &spine in &spine {
            b.link(leaf, spine, spine_rate.unwrap_or(rate), delay);
        }
    }
    b.build()
}
