//! Networks that only tests need, and small questions about networks.
use backwater_topology::{Builder, Link, Network};
use backwater_units::{Rate, Span};

use crate::Hop;

/// Hosts `a` and `b` with a switch `s0`, `s1`, … between every two of `links`, in order from `a` to `b`.
///
/// # Panics
/// If a rate or delay is out of range, or there is no link.
pub fn chain(links: &[(Rate, Span)]) -> Network {
    let mut builder = Builder::new();
    let (a, b) = (builder.host("a"), builder.host("b"));
    let mut from = a;
    for (i, &(rate, delay)) in links.iter().enumerate() {
        let to = if i + 1 == links.len() { b } else { builder.switch(format!("s{i}")) };
        builder.link(from, to, rate, delay);
        from = to;
    }
    builder.build().expect("a chain")
}

/// Switches `s0` … in a ring with one host `h0` … each. Port 0 of a switch leads to its host.
///
/// # Panics
/// If there are fewer than 3 switches.
pub fn ring(switches: u32, rate: Rate, delay: Span) -> Network {
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..switches).map(|i| builder.host(format!("h{i}"))).collect();
    let ring: Vec<u32> = (0..switches).map(|i| builder.switch(format!("s{i}"))).collect();
    for (&host, &switch) in hosts.iter().zip(&ring) {
        builder.link(host, switch, rate, delay);
    }
    for (i, &switch) in ring.iter().enumerate() {
        builder.link(switch, ring[(i + 1) % ring.len()], rate, delay);
    }
    builder.build().expect("a ring")
}

/// The same network with other links: `vary` changes link `i`, but not where it leads.
///
/// # Panics
/// If a rate or delay is out of range.
pub fn with_links(network: &Network, vary: impl Fn(usize, &mut Link)) -> Network {
    let varied = |(i, link): (usize, &Link)| {
        let mut link = *link;
        vary(i, &mut link);
        link
    };
    let links = network.links().iter().enumerate().map(varied).collect();
    Network::new(network.nodes().to_vec(), links, Vec::new()).expect("as good as before")
}

/// Host index of a named host.
///
/// # Panics
/// If there is no such host.
pub fn host(network: &Network, name: &str) -> u32 {
    let node = network.find(name).expect("a node of this name");
    network.host_index(node).expect("a host")
}

/// `value` for every port of every switch, nothing for hosts.
pub fn per_port<T>(network: &Network, value: impl Fn(&backwater_topology::Port) -> T) -> Vec<Vec<T>> {
    (0..network.nodes().len() as u32)
        .map(|node| {
            let ports = network.ports(node).iter();
            let ports = ports.filter(|_| network.is_switch(node));
            ports.map(&value).collect()
        })
        .collect()
}

impl Hop {
    /// The links of a way through a network.
    pub fn along(network: &Network, path: &[(u32, u16)]) -> Vec<Self> {
        path.iter()
            .map(|&(node, port)| {
                let port = &network.ports(node)[usize::from(port)];
                Self { rate: port.rate.as_bps(), delay: port.delay.as_ps() }
            })
            .collect()
    }
}
