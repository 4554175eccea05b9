//! The dragonfly (Kim, Dally, Scott and Abts, ISCA 2008): groups of switches, each pair of groups joined by global links.
use backwater_units::{Rate, Span};

use super::count;
use crate::{Builder, MAX_NODES, Network, Structure, TopologyError};

const KIND: &str = "dragonfly";

/// What makes a dragonfly, in the letters of the paper (its section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Dragonfly {
    /// Switches of a group; each is linked to all others of its group.
    pub a: u32,
    /// Hosts at a switch.
    pub p: u32,
    /// Global links of a switch.
    pub h: u32,
    /// Groups, at most a·h + 1.
    pub g: u32,
    /// Rates of the links of hosts, within a group, and between groups.
    pub rates: [Rate; 3],
    /// Delay of the links of hosts and within a group, and of those between groups.
    pub delays: [Span; 2],
}

/// Hosts `h0`, `h1`, … switch by switch; switch r of group i is `sw<i>.<r>`. The a·h global links of a group are numbered
/// through; number k is one of switch ⌊k / h⌋ and leads to the group that is number k mod (g − 1) among the others, in ascending
/// order (the "absolute" arrangement; Hastings et al., CLUSTER 2015), so that all pairs of groups have equally many.
///
/// Ports of a switch: its hosts, then its group by number, then its global links.
///
/// # Errors
/// Counts must be from 1 to 1024, g at most a·h + 1, and a·h a multiple of g − 1.
pub fn dragonfly(of: &Dragonfly) -> Result<Network, TopologyError> {
    let Dragonfly { a, p, h, g, rates, delays } = *of;
    for (parameter, value) in [("a", a), ("p", p), ("h", h), ("g", g)] {
        count(KIND, parameter, value)?;
    }
    let global = u64::from(a) * u64::from(h);
    let refuse =
        |allowed| Err(TopologyError::Parameter { topology: KIND, parameter: "g", value: g.into(), allowed });
    if u64::from(g) > global + 1 {
        return refuse(
            "at most a x h + 1 groups: a group has a x h global links, and needs one to every other",
        );
    }
    if g > 1 && !global.is_multiple_of(u64::from(g) - 1) {
        return refuse(
            "a number such that a x h is a multiple of g - 1: as many links between all pairs of groups",
        );
    }
    let nodes = u64::from(g) * u64::from(a) * (u64::from(p) + 1);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let mut b = Builder::with_parallel_links();
    let host = b.hosts("h", g * a * p);
    let mut switch = Vec::new();
    for (i, r) in (0..g).flat_map(|i| (0..a).map(move |r| (i, r))) {
        let node = b.switch(format!("sw{i}.{r}"));
        b.place(node, 1, Some(i), &[i, r]);
        switch.push(node);
    }
    for (number, (near, &switch)) in (0..).zip(host.chunks(p as usize).zip(&switch)) {
        for (i, &host) in (0..).zip(near) {
            b.place(host, 0, Some(number / a), &[number / a, number % a, i]);
            b.link(host, switch, rates[0], delays[0]);
        }
    }
    for group in switch.chunks(a as usize) {
        for (r, &one) in group.iter().enumerate() {
            for &other in &group[r + 1..] {
                b.link(one, other, rates[1], delays[0]);
            }
        }
    }
    let near = |group: u32, k: u64| switch[(group * a) as usize + (k / u64::from(h)) as usize];
    for i in 0..g {
        for k in 0..if g > 1 { global } else { 0 } {
            let (number, round) = (k % u64::from(g - 1), k / u64::from(g - 1));
            let other = number as u32 + u32::from(number >= u64::from(i));
            if other > i {
                // From there this group is number i.
                let back = round * u64::from(g - 1) + u64::from(i);
                b.link(near(i, k), near(other, back), rates[2], delays[1]);
            }
        }
    }
    b.structure(Structure::Dragonfly);
    b.build()
}
