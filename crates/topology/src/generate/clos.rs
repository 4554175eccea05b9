//! Three tiers with a rate and an oversubscription for each: leaves, aggregation switches, spines.
use backwater_units::{Rate, Span};

use super::{Uplinks, count};
use crate::{Builder, MAX_NODES, Network, TopologyError};

const KIND: &str = "clos";

/// What makes a three-tier Clos network (Clos, Bell System Technical Journal 1953, folded; as in data centres: Greenberg et
/// al., VL2, SIGCOMM 2009).
#[derive(Clone, Copy, Debug)]
pub struct Clos {
    /// Pods.
    pub pods: u32,
    /// Leaves of a pod.
    pub leaves: u32,
    /// Hosts at a leaf.
    pub hosts_per_leaf: u32,
    /// Rates of the links of hosts, between leaves and aggregation switches, and between these and spines.
    pub rates: [Rate; 3],
    /// Capacity down over capacity up, of a leaf and of an aggregation switch.
    pub oversubscription: [f64; 2],
    /// Delay of all links.
    pub delay: Span,
}

/// Hosts `h0`, `h1`, … pod by pod and leaf by leaf; in pod p the switches `leaf<p>.<i>` and `agg<p>.<j>`, as many aggregation
/// switches as a leaf has links up; in plane j, one for each aggregation switch of a pod, the switches `spine<j>.<m>`, as many as
/// an aggregation switch has links up. Every leaf is linked to every aggregation switch of its pod, and aggregation switch j to
/// every spine of plane j.
///
/// Ports of a leaf: its hosts, then the aggregation switches; of an aggregation switch: the leaves, then the spines; port p of
/// a spine leads to pod p.
///
/// # Errors
/// Counts must be from 1 to 1024, and oversubscriptions must give a whole number of links up.
pub fn clos(of: &Clos) -> Result<Network, TopologyError> {
    let (pods, leaves, hosts) = (of.pods, of.leaves, of.hosts_per_leaf);
    for (parameter, value) in [("pods", pods), ("leaves", leaves), ("hosts-per-leaf", hosts)] {
        count(KIND, parameter, value)?;
    }
    let [rate, leaf_rate, spine_rate] = of.rates;
    let uplinks = |place, of: &'static str, ratio, down: (u32, Rate), up| {
        Uplinks { topology: KIND, parameter: "oversubscription", place, of, ratio, down, up }.number()
    };
    let aggs = uplinks(Some(0), "a leaf", of.oversubscription[0], (hosts, rate), leaf_rate)?;
    let down = (leaves, leaf_rate);
    let spines = uplinks(Some(1), "an aggregation switch", of.oversubscription[1], down, spine_rate)?;
    let in_pod = u64::from(leaves) * u64::from(hosts + 1) + u64::from(aggs);
    let nodes = u64::from(pods) * in_pod + u64::from(aggs) * u64::from(spines);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let mut b = Builder::new();
    let host = b.hosts("h", pods * leaves * hosts);
    let leaf = tier(&mut b, "leaf", pods, leaves, 1);
    let agg = tier(&mut b, "agg", pods, aggs, 2);
    let mut spine = Vec::new();
    for (plane, m) in (0..aggs).flat_map(|plane| (0..spines).map(move |m| (plane, m))) {
        let node = b.switch(format!("spine{plane}.{m}"));
        b.place(node, 3, None, &[plane, m]);
        spine.push(node);
    }
    for (i, (near, &leaf)) in (0..).zip(host.chunks(hosts as usize).zip(&leaf)) {
        for (j, &host) in (0..).zip(near) {
            b.place(host, 0, Some(i / leaves), &[i / leaves, i % leaves, j]);
            b.link(host, leaf, rate, of.delay);
        }
    }
    for (leaf, agg) in leaf.chunks(leaves as usize).zip(agg.chunks(aggs as usize)) {
        for (&leaf, &agg) in leaf.iter().flat_map(|leaf| agg.iter().map(move |agg| (leaf, agg))) {
            b.link(leaf, agg, leaf_rate, of.delay);
        }
    }
    for agg in agg.chunks(aggs as usize) {
        for (&agg, plane) in agg.iter().zip(spine.chunks(spines as usize)) {
            for &spine in plane {
                b.link(agg, spine, spine_rate, of.delay);
            }
        }
    }
    b.build()
}

/// Switches `<name><p>.<i>` of all pods.
fn tier(b: &mut Builder, name: &str, pods: u32, size: u32, tier: u8) -> Vec<u32> {
    let mut nodes = Vec::new();
    for (p, i) in (0..pods).flat_map(|p| (0..size).map(move |i| (p, i))) {
        let node = b.switch(format!("{name}{p}.{i}"));
        b.place(node, tier, Some(p), &[p, i]);
        nodes.push(node);
    }
    nodes
}
