//! Topologies made from a few parameters, one file each. Rates and delays are checked by [`crate::Network::new`].

mod ai_pod;
mod clos;
mod dragonfly;
mod dumbbell;
mod edges;
mod fat_tree;
mod grid;
mod k_ary_n_tree;
mod leaf_spine;
mod rail;
mod rlft;
mod star;
mod tcd_figure_2;
mod tcd_testbed;
mod uplinks;
mod xgft;

pub use ai_pod::{AiPod, ai_pod};
pub use clos::{Clos, clos};
pub use dragonfly::{Dragonfly, dragonfly};
pub use dumbbell::dumbbell;
pub use edges::{Edge, from_edges, from_parallel_edges};
pub use fat_tree::{fat_tree, fat_tree_pod};
pub use grid::grid;
pub use k_ary_n_tree::k_ary_n_tree;
pub use leaf_spine::leaf_spine;
pub use rail::{Rail, rail};
pub use rlft::rlft;
pub use star::star;
pub use tcd_figure_2::tcd_figure_2;
pub use tcd_testbed::tcd_testbed;
pub use xgft::xgft;

use self::uplinks::Uplinks;
use crate::{MAX_PORTS, TopologyError};

const COUNT: &str = "a number from 1 to 1024";

/// A number of things that each take a port of one switch.
fn count(topology: &'static str, parameter: &'static str, value: u32) -> Result<u32, TopologyError> {
    if (1..=MAX_PORTS as u32).contains(&value) {
        Ok(value)
    } else {
        Err(TopologyError::Parameter { topology, parameter, value: value.into(), allowed: COUNT })
    }
}
