//! Extended generalized fat trees (Öhring, Ibel, Das and Kumar, IPPS 1995): every fat tree of one kind of switch per level.
use backwater_units::{Rate, Span};

use crate::{Builder, MAX_NODES, MAX_PORTS, Network, TopologyError};

const KIND: &str = "xgft";
/// Most levels of switches: a level of one switch below one switch adds nothing but delay.
const MAX_LEVELS: usize = 15;

/// `XGFT(h; m1, …, mh; w1, …, wh)`: every node of level l has `m[l]` neighbours below it, every node below the top `w[l + 1]`
/// above it, counted from 1 here. Hosts `h0`, `h1`, … are level 0. Switches are `s<level>.<number>`, where the level at the
/// hosts is 0, as in [`crate::generate::k_ary_n_tree`], which is `XGFT(n; k, …, k; 1, k, …, k)`, node by node and port by
/// port. All links have the same rate and delay.
///
/// A node has h digits, and its number is the number they write, the first counting least. Digit j takes `w[j]` values if
/// the node is at or above level j, `m[j]` values if it is below. Neighbours differ in the digit of the upper one's level
/// only. So host d hangs at switch ⌊d / m1⌋. The first `m[l]` ports lead down, by the digit of the node there, the others up,
/// by the digit of the node there. Under [`crate::Routing::DModK`] destination d goes up from level l to the neighbour
/// ⌊d / (w1 · … · wl)⌋ mod `w[l + 1]`, which is D-mod-k as Zahavi defines it.
///
/// # Errors
/// As many m as w, from 1 to 15 of them; w1 = 1, since a host has one port; every other number from 1 to 1024; no switch
/// with more than [`MAX_PORTS`] ports, and no more than [`MAX_NODES`] nodes.
pub fn xgft(m: &[u32], w: &[u32], rate: Rate, delay: Span) -> Result<Network, TopologyError> {
    let sizes = sizes(m, w)?;
    let mut b = Builder::new();
    let mut below = b.hosts("h", sizes[0]);
    // How many numbers the digits below the one that changes write.
    let mut place = 1;
    for level in 0..m.len() {
        let above: Vec<u32> = (0..sizes[level + 1]).map(|x| b.switch(format!("s{level}.{x}"))).collect();
        for (&node, x) in below.iter().zip(0..) {
            let lowest = x / (place * m[level]) * (place * w[level]) + x % place;
            for u in 0..w[level] {
                b.link(node, above[(lowest + u * place) as usize], rate, delay);
            }
        }
        place *= w[level];
        below = above;
    }
    b.build()
}

/// Number of nodes of each level, the hosts first.
fn sizes(m: &[u32], w: &[u32]) -> Result<Vec<u32>, TopologyError> {
    if m.len() != w.len() || !(1..=MAX_LEVELS).contains(&m.len()) {
        return Err(TopologyError::Levels { topology: KIND, m: m.len(), w: w.len() });
    }
    for (list, numbers) in [("m", m), ("w", w)] {
        for (level, &value) in numbers.iter().enumerate() {
            let host = list == "w" && level == 0;
            let allowed = if host { "1: a host has one port" } else { super::COUNT };
            if value == 0 || value > if host { 1 } else { MAX_PORTS as u32 } {
                return refuse(list, level, value, allowed);
            }
        }
    }
    for (level, &up) in w.iter().enumerate().skip(1) {
        if m[level - 1] as usize + up as usize > MAX_PORTS {
            let allowed = "less: the number of m before it and this one are the ports of a switch, of which 1024 may be";
            return refuse("w", level, up, allowed);
        }
    }
    let count = |level: usize| {
        let digits = w[..level].iter().chain(&m[level..]);
        digits.fold(1u64, |product, &digit| product.saturating_mul(digit.into()))
    };
    let counts: Vec<u64> = (0..=m.len()).map(count).collect();
    let nodes = counts.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    Ok(counts.into_iter().map(|count| count as u32).collect())
}

fn refuse<T>(
    list: &'static str,
    level: usize,
    value: u32,
    allowed: &'static str,
) -> Result<T, TopologyError> {
    Err(TopologyError::Level { topology: KIND, list, level, value, allowed })
}
