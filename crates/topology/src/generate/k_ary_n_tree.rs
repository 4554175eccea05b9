//! The k-ary n-tree of Petrini and Vanneschi (IPPS 1997): kⁿ hosts under n levels of switches, full bisection.
use backwater_units::{Rate, Span};

use crate::{Builder, MAX_NODES, Network, TopologyError};

const KIND: &str = "k-ary-n-tree";

/// kⁿ hosts `h0`, `h1`, … and n levels of kⁿ⁻¹ switches `s<level>.<number>`, level 0 at the hosts. All links have the same
/// rate and delay.
///
/// The digits of a switch's number in base k, the lowest first, are w₀, w₁, … Host d hangs at switch ⌊d / k⌋ of level 0, at
/// port d mod k. Ports 0 … k − 1 lead down, the others up (the top level has none): port k + u of a switch leads to the
/// switch of the next level with wₗ = u in place of its own wₗ, where l is its level, and arrives there at port wₗ. So a
/// switch of level l is above the hosts whose ⌊d / k⌋ has the digits wₗ, wₗ₊₁, … of that switch; under
/// [`crate::Routing::DModK`] the way up to others leaves at port k + (⌊d / kˡ⌋ mod k), and hosts equal modulo kⁿ⁻¹ share
/// all their ports up and one switch at the top.
///
/// # Errors
/// k must be from 2 to 512 and n from 1 to 15, and kⁿ + n·kⁿ⁻¹ no more than [`MAX_NODES`].
pub fn k_ary_n_tree(k: u32, n: u32, rate: Rate, delay: Span) -> Result<Network, TopologyError> {
    let (hosts, width) = size(k, n)?;
    let mut b = Builder::new();
    let hosts = b.hosts("h", hosts);
    let levels: Vec<Vec<u32>> =
        (0..n).map(|level| (0..width).map(|w| b.switch(format!("s{level}.{w}"))).collect()).collect();
    for (hosts, &leaf) in hosts.chunks(k as usize).zip(&levels[0]) {
        for &host in hosts {
            b.link(host, leaf, rate, delay);
        }
    }
    // What digit l counts for.
    let mut place = 1;
    for pair in levels.windows(2) {
        for (&lower, w) in pair[0].iter().zip(0..width) {
            let others = w - w / place % k * place;
            for u in 0..k {
                b.link(lower, pair[1][(others + u * place) as usize], rate, delay);
            }
        }
        place *= k;
    }
    b.build()
}

/// Number of hosts, and of switches in a level.
fn size(k: u32, n: u32) -> Result<(u32, u32), TopologyError> {
    let refuse = |parameter, value: u32, allowed| {
        Err(TopologyError::Parameter { topology: KIND, parameter, value: value.into(), allowed })
    };
    if !(2..=512).contains(&k) {
        return refuse("k", k, "a number from 2 to 512");
    }
    if !(1..=15).contains(&n) {
        return refuse("n", n, "a number from 1 to 15");
    }
    let width = u64::from(k).saturating_pow(n - 1);
    let nodes = width.saturating_mul(u64::from(k) + u64::from(n));
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    Ok((width as u32 * k, width as u32))
}
