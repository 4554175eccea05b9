//! Tori and meshes in any number of dimensions (Dally, IEEE Trans. Computers 1990: k-ary n-cubes).
use backwater_units::{Rate, Span};

use super::count;
use crate::{Builder, MAX_NODES, Network, Structure, TopologyError};

/// Most dimensions.
const MOST: usize = 8;

/// Switches `sw<x>.<y>…` at all coordinates of a grid with `sizes` of them along its dimensions, each linked to its neighbours,
/// and hosts `h0`, `h1`, … at them, `hosts` at each, in the order of the coordinates, the last dimension counting least. With
/// `wraps` the first and the last switch of a row are neighbours as well: a torus; rows of 2 have one link all the same.
///
/// Ports of a switch: its hosts, then the neighbours in the order in which their links are made: switch by switch, dimension by
/// dimension, to the next one.
///
/// # Errors
/// From 1 to 8 dimensions of 2 to 1024 switches each, and from 1 to 1024 hosts at each.
pub fn grid(
    sizes: &[u32],
    wraps: bool,
    hosts: u32,
    rates: [Rate; 2],
    delay: Span,
) -> Result<Network, TopologyError> {
    let kind = if wraps { "torus" } else { "mesh" };
    if !(1..=MOST).contains(&sizes.len()) {
        let value = sizes.len() as u64;
        let allowed = "from 1 to 8 dimensions";
        return Err(TopologyError::Parameter { topology: kind, parameter: "dimensions", value, allowed });
    }
    for (level, &value) in sizes.iter().enumerate() {
        if !(2..=1024).contains(&value) {
            let allowed = "a number from 2 to 1024";
            return Err(TopologyError::Level { topology: kind, list: "sizes", level, value, allowed });
        }
    }
    count(kind, "hosts-per-switch", hosts)?;
    let switches = sizes.iter().fold(1u64, |product, &size| product.saturating_mul(size.into()));
    let nodes = switches.saturating_mul(u64::from(hosts) + 1);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let switches = switches as u32;
    let mut b = Builder::new();
    let host = b.hosts("h", switches * hosts);
    let switch: Vec<u32> = (0..switches)
        .map(|number| {
            let at = coordinates(number, sizes);
            let name: Vec<String> = at.iter().map(u32::to_string).collect();
            let node = b.switch(format!("sw{}", name.join(".")));
            b.place(node, 1, Some(number), &at);
            node
        })
        .collect();
    for (number, (near, &switch)) in (0..).zip(host.chunks(hosts as usize).zip(&switch)) {
        for (i, &host) in (0..).zip(near) {
            b.place(host, 0, Some(number), &[coordinates(number, sizes), vec![i]].concat());
            b.link(host, switch, rates[0], delay);
        }
    }
    for number in 0..switches {
        let mut stride = switches;
        for &size in sizes {
            stride /= size;
            let x = number / stride % size;
            let next = match x + 1 < size {
                true => number + stride,
                false if wraps && size > 2 => number - x * stride,
                false => continue,
            };
            b.link(switch[number as usize], switch[next as usize], rates[1], delay);
        }
    }
    b.structure(Structure::Grid { sizes: sizes.to_vec(), wraps });
    b.build()
}

/// The coordinates of the switch with a number.
fn coordinates(number: u32, sizes: &[u32]) -> Vec<u32> {
    let mut rest = number;
    let mut at: Vec<u32> = sizes.iter().rev().map(|size| (rest % size, rest /= size).0).collect();
    at.reverse();
    at
}
