//! Where nodes stand: tiers, groups and coordinates, for those who draw a network, and for routes that go by them.
use std::collections::VecDeque;

use crate::Network;

/// The place of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// 0: a host; 1: a switch with hosts; 2 and above: further away from them.
    pub tier: u8,
    /// What it is drawn with: a pod, a unit, a group of a dragonfly; else the rack, which is a switch with its hosts. `None` of
    /// those that belong to no one of them, such as spines.
    pub group: Option<u32>,
    /// Coordinates, as the generator has them; empty if it has none.
    pub at: Vec<u32>,
}

/// What is known of a graph as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Structure {
    /// Nothing.
    #[default]
    Plain,
    /// A grid in some dimensions. Switch (x, y, …) has these coordinates; they are the last nodes, x counting most.
    Grid {
        /// Switches along each dimension.
        sizes: Vec<u32>,
        /// Whether the last one of a row is linked to the first (a torus); rows of 2 have one link all the same.
        wraps: bool,
    },
    /// Groups of switches: switch r of group g has the coordinates (g, r).
    Dragonfly,
    /// Servers with a network within each.
    Servers {
        /// Scale-up switches, ascending. What one joins are the hosts of a server: these reach each other by it, whatever other ways as short
        /// there are.
        scale_up: Vec<u32>,
    },
}

/// The places of all nodes: those that are `known`, the others by their distance from the hosts and by racks.
pub(crate) fn places(net: &Network, mut known: Vec<Option<Place>>) -> Vec<Place> {
    let count = net.nodes().len();
    known.resize(count, None);
    let mut places: Vec<Place> = known.into_iter().map(Option::unwrap_or_default).collect();
    let mut seen = vec![false; count];
    let placed = |place: &Place| place.tier > 0 || place.group.is_some() || !place.at.is_empty();
    let done: Vec<bool> = places.iter().map(placed).collect();
    for (rack, hosts) in (0..).zip(net.racks()) {
        let top = net.nic(hosts[0]).peer;
        let members = hosts.iter().map(|host| net.hosts()[*host as usize]).chain([top]);
        for member in members.filter(|member| !done[*member as usize]) {
            places[member as usize].group = Some(rack);
        }
    }
    let mut queue: VecDeque<(u32, u8)> = net.hosts().iter().map(|host| (*host, 0)).collect();
    for host in net.hosts() {
        seen[*host as usize] = true;
    }
    while let Some((node, tier)) = queue.pop_front() {
        if !done[node as usize] {
            places[node as usize].tier = tier;
        }
        for port in net.ports(node) {
            if !std::mem::replace(&mut seen[port.peer as usize], true) {
                queue.push_back((port.peer, tier.saturating_add(1)));
            }
        }
    }
    places
}
