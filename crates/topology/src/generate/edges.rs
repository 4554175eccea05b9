//! A topology written out: names of hosts and switches, and a list of links.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// A link between two named nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
}

/// The network of these lists. Hosts come first in the node order; ports are numbered in the order of the edges.
///
/// # Errors
/// A link that names an unknown node, and everything that [`Network::new`] refuses.
pub fn from_edges<S: AsRef<str>>(
    hosts: &[S],
    switches: &[S],
    edges: &[Edge],
) -> Result<Network, TopologyError> {
    build(hosts, switches, edges, Builder::new())
}

/// The same; several links may join two nodes.
///
/// # Errors
/// As [`from_edges`].
pub fn from_parallel_edges<S: AsRef<str>>(
    hosts: &[S],
    switches: &[S],
    edges: &[Edge],
) -> Result<Network, TopologyError> {
    build(hosts, switches, edges, Builder::with_parallel_links())
}

fn build<S: AsRef<str>>(
    hosts: &[S],
    switches: &[S],
    edges: &[Edge],
    mut b: Builder,
) -> Result<Network, TopologyError> {
    let mut index = std::collections::BTreeMap::new();
    for name in hosts {
        index.insert(name.as_ref(), b.host(name.as_ref()));
    }
    for name in switches {
        index.insert(name.as_ref(), b.switch(name.as_ref()));
    }
    for (link, edge) in edges.iter().enumerate() {
        let find = |name: &str| {
            let unknown = || TopologyError::UnknownNode { link, name: name.to_owned() };
            index.get(name).copied().ok_or_else(unknown)
        };
        b.link(find(&edge.a)?, find(&edge.b)?, edge.rate, edge.delay);
    }
    b.build()
}
