//! Nodes and links collected one by one; the checks come at the end.
use backwater_units::{Rate, Span};

use crate::network::Known;
use crate::{Alias, Link, Network, Node, Place, Role, Structure, TopologyError};

/// Collects a topology. Hosts get their host index, and ports their number, in the order of the calls.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    aliases: Vec<Alias>,
    known: Known,
}

impl Builder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet; several links may join the same two nodes.
    pub fn with_parallel_links() -> Self {
        Self { known: Known { parallel: true, ..Known::default() }, ..Self::default() }
    }

    fn node(&mut self, name: String, role: Role) -> u32 {
        self.nodes.push(Node { name, role });
        (self.nodes.len() - 1) as u32
    }

    /// Adds a host and returns its node index.
    pub fn host(&mut self, name: impl Into<String>) -> u32 {
        self.node(name.into(), Role::Host)
    }

    /// Adds a switch and returns its node index.
    pub fn switch(&mut self, name: impl Into<String>) -> u32 {
        self.node(name.into(), Role::Switch)
    }

    /// Adds hosts `prefix0`, `prefix1`, …
    pub(crate) fn hosts(&mut self, prefix: &str, count: u32) -> Vec<u32> {
        (0..count).map(|i| self.host(format!("{prefix}{i}"))).collect()
    }

    /// Adds a full-duplex link; `rate` per direction, `delay` one way.
    pub fn link(&mut self, a: u32, b: u32, rate: Rate, delay: Span) {
        self.links.push(Link { a, b, rate, delay });
    }

    /// Gives the egress port of `from` that leads to `to` a name of its own.
    pub fn alias(&mut self, name: impl Into<String>, from: u32, to: u32) {
        self.aliases.push(Alias { name: name.into(), from, to });
    }

    /// Says where a node stands: its tier (hosts 0, switches with hosts 1), the group it is drawn with, its coordinates.
    /// A node of which nothing is said is placed by its distance from the hosts.
    pub fn place(&mut self, node: u32, tier: u8, group: Option<u32>, at: &[u32]) {
        let node = node as usize;
        let places = &mut self.known.places;
        places.resize(places.len().max(node + 1), None);
        places[node] = Some(Place { tier, group, at: at.to_vec() });
    }

    /// Says what the graph is as a whole. Its switches have the coordinates that this asks for.
    pub(crate) fn structure(&mut self, structure: Structure) {
        self.known.structure = structure;
    }

    /// Checks everything and numbers the ports.
    pub fn build(self) -> Result<Network, TopologyError> {
        Network::checked(self.nodes, self.links, self.aliases, self.known)
    }
}
