//! A network in a few numbers, for the first line of a report.
use std::fmt;

use backwater_units::{Rate, Span};

use crate::routes::{distances, hosts_by_attachment};
use crate::{Network, Routes};

/// Size and extent of a network. The extremes are over all pairs of different hosts; with one host they are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Number of full-duplex links.
    pub links: u32,
    /// Links on the longest of all routes.
    pub diameter: u32,
    /// One-way propagation delay of the shortest route.
    pub least_delay: Span,
    /// One-way propagation delay of the longest route, whichever of the equal-cost ways is taken.
    pub greatest_delay: Span,
    /// Rate of the slowest link.
    pub slowest: Rate,
    /// Rate of the fastest link.
    pub fastest: Rate,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} hosts, {} switches, {} links of {}",
            self.hosts, self.switches, self.links, self.slowest
        )?;
        if self.fastest > self.slowest {
            write!(f, " to {}", self.fastest)?;
        }
        write!(
            f,
            "; up to {} links and {} to {} of propagation between hosts",
            self.diameter, self.least_delay, self.greatest_delay
        )
    }
}

/// Walks all routes to every host.
pub fn summary(net: &Network, routes: &Routes) -> Summary {
    let hosts = net.hosts().len() as u32;
    let rates = || net.links().iter().map(|link| link.rate);
    let mut summary = Summary {
        hosts,
        switches: net.nodes().len() as u32 - hosts,
        links: net.links().len() as u32,
        diameter: 0,
        least_delay: Span::MAX,
        greatest_delay: Span::ZERO,
        slowest: rates().min().unwrap_or_default(),
        fastest: rates().max().unwrap_or_default(),
    };
    let mut extent = vec![(Span::ZERO, Span::ZERO); net.nodes().len()];
    for (attachment, hosts) in hosts_by_attachment(net) {
        let distance = distances(net, attachment);
        let mut order: Vec<(u32, u32)> =
            distance.iter().zip(0..).filter_map(|(d, node)| d.map(|d| (d, node))).collect();
        order.sort_unstable();
        for dst in hosts {
            extend_to(net, routes, dst, &order, &mut extent, &mut summary);
        }
    }
    if hosts == 1 {
        summary.least_delay = Span::ZERO;
    }
    summary
}

/// Least and greatest delay to one host from every node. `order` holds (links to the switch of the host, node),
/// nearest nodes first.
fn extend_to(
    net: &Network,
    routes: &Routes,
    dst: u32,
    order: &[(u32, u32)],
    extent: &mut [(Span, Span)],
    summary: &mut Summary,
) {
    let destination = net.hosts()[dst as usize];
    extent[destination as usize] = (Span::ZERO, Span::ZERO);
    for &(links, node) in order.iter().filter(|&&(_, node)| node != destination) {
        let (mut least, mut greatest) = (Span::MAX, Span::ZERO);
        for &port in routes.next_ports(node, dst) {
            let port = &net.ports(node)[usize::from(port)];
            let (near, far) = extent[port.peer as usize];
            least = least.min(near + port.delay);
            greatest = greatest.max(far + port.delay);
        }
        extent[node as usize] = (least, greatest);
        if net.host_index(node).is_some() {
            summary.diameter = summary.diameter.max(links + 1);
            summary.least_delay = summary.least_delay.min(least);
            summary.greatest_delay = summary.greatest_delay.max(greatest);
        }
    }
}
