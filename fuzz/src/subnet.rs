//! Any text is an InfiniBand subnet (and, behind a line of `%`, its forwarding tables) or refused with a line; a subnet that is read is a
//! network, and its tables are tables of that network.
use backwater_topology::generate::{Edge, from_parallel_edges};
use backwater_topology::read::{self, subnet};
use backwater_units::Span;

pub(crate) fn target(text: &str) {
    let (topology, tables) = text.split_once("%\n").unwrap_or((text, ""));
    let subnet = match subnet::read(topology) {
        Ok(subnet) => subnet,
        Err(error) => return assert!(error.line > 0 && !error.what.is_empty()),
    };
    let edge = |cable: &subnet::Cable| Edge {
        a: cable.a.clone(),
        b: cable.b.clone(),
        rate: cable.rate,
        delay: Span::from_ns(50),
    };
    let edges: Vec<Edge> = subnet.cables.iter().map(edge).collect();
    let network = from_parallel_edges(&subnet.hosts, &subnet.switches, &edges).expect("a network");
    match subnet::tables(&subnet, tables) {
        Ok((table, _)) => drop(read::table(&table, &network).expect("its tables")),
        Err(error) => assert!(error.line > 0 && !error.what.is_empty()),
    }
}
