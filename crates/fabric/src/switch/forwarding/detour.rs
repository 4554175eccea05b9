//! Forwarding where links fail: tables that change, groups without the ports that are known to be down, and switches whose packets are
//! asked for one by one, since there may be no way for them.
use std::collections::BTreeSet;

use backwater_topology::Routes;

use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::switch::forwarding::spread::Spread;
use crate::switch::forwarding::{DIRECT, Forwarding};

/// The ways of a switch by one version of the routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// By destination host: a port with [`DIRECT`], or the number of a group.
    pub(super) cells: Vec<u16>,
    pub(super) groups: Vec<Vec<u16>>,
}

impl Tables {
    pub(crate) fn new(node: u32, hosts: u32, routes: &Routes) -> Self {
        let mut groups: Vec<Vec<u16>> = Vec::new();
        let cells = (0..hosts)
            .map(|host| match routes.next_ports(node, host) {
                [port] => DIRECT | port,
                ports => groups.iter().position(|group| group == ports).unwrap_or_else(|| {
                    groups.push(ports.to_vec());
                    groups.len() - 1
                }) as u16,
            })
            .collect();
        Self { cells, groups }
    }

    /// Whether there is no way to some hosts.
    pub(crate) fn has_gaps(&self) -> bool {
        self.groups.iter().any(Vec::is_empty)
    }
}

/// What stands in the tables otherwise.
#[derive(Clone, Debug)]
pub(super) struct Aside {
    cells: Vec<u16>,
    groups: Vec<Vec<u16>>,
    spread: Option<Box<Spread>>,
}

impl Forwarding {
    /// From now on these tables hold, without `avoided` ports where a group has others. With `aside` each packet is asked for by
    /// [`Forwarding::way_round`]: the tables that the packet path looks at are empty.
    pub(crate) fn install(&mut self, tables: &Tables, avoided: &BTreeSet<u16>, aside: bool) {
        let mut spread = self.spread.take().or_else(|| self.aside.take().and_then(|aside| aside.spread));
        let left = |group: &Vec<u16>| {
            let left: Vec<u16> = group.iter().copied().filter(|port| !avoided.contains(port)).collect();
            if left.is_empty() { group.clone() } else { left }
        };
        let mut groups: Vec<Vec<u16>> = tables.groups.iter().map(left).collect();
        if let Some(spread) = &mut spread {
            spread.install(std::mem::take(&mut groups));
        }
        if aside {
            self.cells = vec![0; tables.cells.len()];
            self.groups = Vec::new();
            self.aside = Some(Box::new(Aside { cells: tables.cells.clone(), groups, spread }));
        } else {
            self.cells.clone_from(&tables.cells);
            self.groups = groups;
            self.spread = spread;
            self.aside = None;
        }
    }

    /// The egress port of a packet at a switch whose tables stand aside; `None`: there is no way.
    pub(crate) fn way_round(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        let aside = self.aside.as_mut().expect("tables stand aside, or are there");
        let cell = aside.cells[packet.dst as usize];
        if cell & DIRECT != 0 {
            return Some(cell & !DIRECT);
        }
        if let Some(spread) = &mut aside.spread {
            return spread.has_way(cell).then(|| spread.port(cell, packet, ports));
        }
        let group = &aside.groups[usize::from(cell)];
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        (!group.is_empty())
            .then(|| group[super::ecmp::salted(group.len(), key, !packet.is_data(), self.salt)])
    }
}
