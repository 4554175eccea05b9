//! A network in a few numbers, for the first line of a report.
use std::fmt;

use backwater_units::{Rate, Span};

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
    let mut extents = Extents { at: vec![Extent::default(); net.nodes().len()], followed: 0 };
    for dst in 0..hosts {
        extents.follow(net, routes, dst);
        for &host in net.hosts().iter().filter(|host| **host != net.hosts()[dst as usize]) {
            let extent = &extents.at[host as usize];
            summary.diameter = summary.diameter.max(extent.links);
            summary.least_delay = summary.least_delay.min(extent.least);
            summary.greatest_delay = summary.greatest_delay.max(extent.greatest);
        }
    }
    if hosts == 1 {
        summary.least_delay = Span::ZERO;
    }
    summary
}

/// What the routes from a node to a host have at least and at most.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// The host for which it was found last, counted as they are followed.
    of: u32,
    links: u32,
    least: Span,
    greatest: Span,
}

struct Extents {
    at: Vec<Extent>,
    followed: u32,
}

impl Extents {
    /// Finds the extents to one host from every node on a route to it. Routes do not go in circles, but they need not come nearer
    /// with every link, so each node comes after those behind its ports.
    fn follow(&mut self, net: &Network, routes: &Routes, dst: u32) {
        self.followed += 1;
        let destination = net.hosts()[dst as usize];
        self.at[destination as usize] = Extent { of: self.followed, ..Extent::default() };
        let mut stack: Vec<u32> = net.hosts().to_vec();
        while let Some(&node) = stack.last() {
            if self.at[node as usize].of == self.followed {
                stack.pop();
                continue;
            }
            let mut extent = Extent { of: self.followed, least: Span::MAX, ..Extent::default() };
            let before = stack.len();
            for &port in routes.next_ports(node, dst) {
                let port = &net.ports(node)[usize::from(port)];
                let behind = self.at[port.peer as usize];
                if behind.of != self.followed {
                    stack.push(port.peer);
                    continue;
                }
                extent.links = extent.links.max(behind.links + 1);
                extent.least = extent.least.min(behind.least + port.delay);
                extent.greatest = extent.greatest.max(behind.greatest + port.delay);
            }
            if stack.len() == before {
                self.at[node as usize] = extent;
                stack.pop();
            }
        }
    }
}
