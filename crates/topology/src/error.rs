//! What can be wrong with a topology and with its routes, in the names that the user gave.
use backwater_units::{Rate, Span};

use crate::{MAX_HOST_PORTS, MAX_NODES, MAX_PORTS};

/// Why a list of nodes and links is not a network. Links are counted from 0 in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is nobody to send.
    #[error("the topology has no hosts; at least 1 is needed")]
    NoHosts,
    /// More than [`MAX_NODES`].
    #[error("the topology has {nodes} nodes; at most {MAX_NODES} are supported: choose smaller parameters")]
    TooManyNodes {
        /// Hosts and switches together.
        nodes: u64,
    },
    /// A node name that could not be told from a port name or a pattern.
    #[error(
        "\"{name}\" is no node name: use one or more characters other than white space and ! * ? [ ] : , >"
    )]
    Name {
        /// The name as given.
        name: String,
    },
    /// Two nodes of the same name.
    #[error("the name \"{name}\" is given to two nodes; rename one")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link that names a node which is not in the lists.
    #[error("link {link} names the node \"{name}\", which is neither in hosts nor in switches; add it there")]
    UnknownNode {
        /// Index of the link.
        link: usize,
        /// The name (or, for links by index, the index).
        name: String,
    },
    /// Both ends are the same node.
    #[error("link {link} joins \"{name}\" to itself; give it two different ends")]
    SelfLoop {
        /// Index of the link.
        link: usize,
        /// The node.
        name: String,
    },
    /// A second link between the same two nodes.
    #[error(
        "link {link} joins {a} and {b} again, as link {first} does; remove one, or allow it with parallel-links = true"
    )]
    DuplicateLink {
        /// Index of the second link.
        link: usize,
        /// Index of the first one.
        first: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// A rate at which the arithmetic of the simulator fails.
    #[error(
        "link {link} ({a} - {b}) has a rate of {rate}; give one from {} to {}",
        Self::MIN_RATE,
        Self::MAX_RATE
    )]
    Rate {
        /// Index of the link.
        link: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The rate.
        rate: Rate,
    },
    /// A propagation delay of nothing, or of more than [`TopologyError::MAX_DELAY`].
    #[error(
        "link {link} ({a} - {b}) has a propagation delay of {delay}; give one from 1ps to {} (a metre of cable takes 5ns)",
        Self::MAX_DELAY
    )]
    Delay {
        /// Index of the link.
        link: usize,
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The delay.
        delay: Span,
    },
    /// More than [`MAX_PORTS`] links at one node.
    #[error("link {link} is one too many for {name}, which has {MAX_PORTS} ports already; split the node")]
    TooManyPorts {
        /// Index of the link.
        link: usize,
        /// The node.
        name: String,
    },
    /// A host without a link, or with more than [`MAX_HOST_PORTS`].
    #[error(
        "host {host} has {ports} links; a host has from 1 to {MAX_HOST_PORTS} (list a forwarding node among the switches)"
    )]
    HostPorts {
        /// The host.
        host: String,
        /// Its number of links.
        ports: usize,
        /// Index of the first one that is too many, if it has some.
        link: Option<usize>,
    },
    /// A port alias between nodes that no link joins.
    #[error("the alias {alias} names the port from node {from} to node {to}, but no link joins them")]
    Alias {
        /// The alias.
        alias: String,
        /// Node index at which the port would be.
        from: u32,
        /// Node index at the other end.
        to: u32,
    },
    /// Two ports of the same alias.
    #[error("the port alias {alias} is given twice; rename one")]
    DuplicateAlias {
        /// The alias.
        alias: String,
    },
    /// A generator's parameter outside of its range.
    #[error("topology {topology}: {parameter} = {value}; give {allowed}")]
    Parameter {
        /// The generator, by its name in scenarios.
        topology: &'static str,
        /// The parameter, by its name in scenarios.
        parameter: &'static str,
        /// What was given.
        value: u64,
        /// What is accepted.
        allowed: &'static str,
    },
    /// An oversubscription that no whole number of links up gives.
    #[error(transparent)]
    Oversubscription(Box<Oversubscription>),
    /// Lists of a generator that do not belong together.
    #[error(
        "topology {topology}: m has {m} numbers and w has {w}; give as many of each, from 1 to 15: one per level of switches, the lowest first"
    )]
    Levels {
        /// The generator, by its name in scenarios.
        topology: &'static str,
        /// Numbers in the list m.
        m: usize,
        /// Numbers in the list w.
        w: usize,
    },
    /// A switch that cannot be a scale-up switch.
    #[error("\"{name}\" is no scale-up switch: {why}")]
    ScaleUp {
        /// Index in the list of scale-up switches.
        number: usize,
        /// The name given.
        name: String,
        /// What is wrong.
        why: NotScaleUp,
    },
    /// A number in a generator's list outside of its range.
    #[error("topology {topology}: number {level} of {list} is {value}; give {allowed}")]
    Level {
        /// The generator, by its name in scenarios.
        topology: &'static str,
        /// The list, by its name in scenarios.
        list: &'static str,
        /// Index in the list, from 0.
        level: usize,
        /// What was given.
        value: u32,
        /// What is accepted.
        allowed: &'static str,
    },
}

/// Why a switch is none within a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotScaleUp {
    /// No switch has the name.
    #[error("no switch of the network has this name; give names of switches")]
    NoSwitch,
    /// The switch stands in the list already.
    #[error("it is named twice; name it once")]
    Twice,
    /// The switch leads to another one.
    #[error(
        "it is linked to the switch {peer}, and may be linked to hosts only; remove that link, or do not name it"
    )]
    Forwards {
        /// The other switch.
        peer: String,
    },
    /// A host is in two servers.
    #[error(
        "host {host} is at the scale-up switch {other}, too, and a host is in one server; make one switch of the two"
    )]
    Shared {
        /// The host.
        host: String,
        /// The other scale-up switch.
        other: String,
    },
    /// A host has no NIC.
    #[error(
        "host {host} has no other links, and needs one out of its server; add it, or do not name this switch"
    )]
    Alone {
        /// The host.
        host: String,
    },
    /// A host is linked to another host.
    #[error(
        "host {host} is linked to the host {peer} directly, and hosts of servers are linked to switches only; remove that link"
    )]
    Beside {
        /// The host.
        host: String,
        /// The host at the other end.
        peer: String,
    },
}

/// An oversubscription that no whole number of links up gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "topology {topology}: {parameter} = {ratio} would give {of} {links} links up of {rate}; choose {} for {} link{}, or {} for {}",
    near[0].1, near[0].0, if near[0].0 == 1 { "" } else { "s" }, near[1].1, near[1].0
)]
pub struct Oversubscription {
    /// The generator, by its name in scenarios.
    pub topology: &'static str,
    /// The parameter, by its name in scenarios.
    pub parameter: String,
    /// What was given.
    pub ratio: String,
    /// Which kind of switch, with its article.
    pub of: &'static str,
    /// Links up that this would need.
    pub links: String,
    /// Rate of a link up.
    pub rate: Rate,
    /// Two numbers of links near it and their ratios.
    pub near: [(u32, String); 2],
}

impl TopologyError {
    /// The slowest link: a frame of 9 KB takes 72 s, far from overflowing a `Span`.
    pub const MIN_RATE: Rate = Rate::from_bps(1_000);
    /// The fastest link: a byte takes 0.08 ps, the clock's resolution is still finer than any frame.
    pub const MAX_RATE: Rate = Rate::from_gbps(100_000);
    /// The longest link: sums over the longest path of the largest network still fit into a `Span`.
    pub const MAX_DELAY: Span = Span::from_ms(1000);

    /// Index of the link at fault, where one is.
    pub const fn link(&self) -> Option<usize> {
        match self {
            Self::UnknownNode { link, .. }
            | Self::SelfLoop { link, .. }
            | Self::DuplicateLink { link, .. }
            | Self::Rate { link, .. }
            | Self::Delay { link, .. }
            | Self::TooManyPorts { link, .. } => Some(*link),
            Self::HostPorts { link, .. } => *link,
            _ => None,
        }
    }
}

/// Why a network has no forwarding tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A routing that goes by a structure which the network does not have.
    #[error(
        "the routing \"{routing}\" is for {wanted}; leave topology.routing out, or choose \"ecmp\" or \"d-mod-k\""
    )]
    Structure {
        /// The routing, by its name in scenarios.
        routing: &'static str,
        /// What it is for.
        wanted: &'static str,
    },
    /// The graph falls into parts.
    #[error(
        "no path leads from host {from} to host {to}; add the links that join their parts of the network"
    )]
    Unreachable {
        /// One host.
        from: String,
        /// A host in another part.
        to: String,
    },
    /// A table written out that does not say how a switch sends to a host.
    #[error("the table has no port of {switch} for {host}, and packets for {host} come there; add a line")]
    Missing {
        /// The switch, or the host at the end of a way that is not the right one.
        switch: String,
        /// The destination.
        host: String,
    },
    /// A table written out by which packets go round for ever.
    #[error(
        "by the table packets for {host} that leave {switch} come back to it; correct the lines that lead them round"
    )]
    Loop {
        /// A switch on the way round.
        switch: String,
        /// The destination.
        host: String,
    },
    /// More distinct sets of several equal-cost ports than a table tells apart (large random graphs).
    #[error(
        "the network has more than 32766 different sets of several equal-cost ports; use the routing \"d-mod-k\""
    )]
    TooManyGroups,
}
