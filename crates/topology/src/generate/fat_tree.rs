//! The k-ary fat tree of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008): k pods, full bisection.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// k³/4 hosts `h0`, `h1`, …, pod by pod and edge switch by edge switch; per pod p the switches `edge<p>.<i>` and
/// `agg<p>.<i>` (i < k/2); (k/2)² switches `core<i>`. All links have the same rate and delay.
///
/// Ports 0 … k/2 − 1 of edge and aggregation switches lead down, the others up: port k/2 + j of an edge switch to
/// aggregation switch j, port k/2 + m of aggregation switch j to core j·k/2 + m. Port p of a core leads to pod p.
///
/// # Errors
/// k must be even, from 2 to 158 (986,078 hosts).
pub fn fat_tree(k: u32, rate: Rate, delay: Span) -> Result<Network, TopologyError> {
    if !(2..=158).contains(&k) || !k.is_multiple_of(2) {
        let allowed = "an even number from 2 to 158";
        return Err(TopologyError::Parameter {
            topology: "fat-tree",
            parameter: "k",
            value: k.into(),
            allowed,
        });
    }
    let half = k / 2;
    let mut b = Builder::new();
    let hosts = b.hosts("h", k * half * half);
    let tier = |b: &mut Builder, name: &str| -> Vec<u32> {
        (0..k * half).map(|i| b.switch(format!("{name}{}.{}", i / half, i % half))).collect()
    };
    let edge = tier(&mut b, "edge");
    let agg = tier(&mut b, "agg");
    let core: Vec<u32> = (0..half * half).map(|i| b.switch(format!("core{i}"))).collect();

    for (i, (&edge, &agg)) in (0..).zip(edge.iter().zip(&agg)) {
        b.place(edge, 1, Some(i / half), &[i / half, i % half]);
        b.place(agg, 2, Some(i / half), &[i / half, i % half]);
    }
    for (i, &core) in (0..).zip(&core) {
        b.place(core, 3, None, &[i / half, i % half]);
    }
    for (i, (hosts, &edge)) in (0..).zip(hosts.chunks(half as usize).zip(&edge)) {
        for (j, &host) in (0..).zip(hosts) {
            b.place(host, 0, Some(i / half), &[i / half, i % half, j]);
            b.link(host, edge, rate, delay);
        }
    }
    for (edges, aggs) in edge.chunks(half as usize).zip(agg.chunks(half as usize)) {
        for &edge in edges {
            for &agg in aggs {
                b.link(edge, agg, rate, delay);
            }
        }
    }
    for aggs in agg.chunks(half as usize) {
        for (&agg, cores) in aggs.iter().zip(core.chunks(half as usize)) {
            for &core in cores {
                b.link(agg, core, rate, delay);
            }
        }
    }
    b.build()
}

/// Hosts of one pod of [`fat_tree`]; pod p has the host indices from p times this number on.
pub const fn fat_tree_pod(k: u32) -> u32 {
    k * k / 4
}
