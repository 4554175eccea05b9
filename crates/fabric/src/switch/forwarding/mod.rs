//! A switch's forwarding table, laid out for the packet path.
pub(crate) mod detour;
pub(crate) mod ecmp;
pub(crate) mod spread;

use std::sync::Arc;

use backwater_topology::Routes;

use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::spec::Balancing;
use crate::switch::forwarding::detour::{Aside, Tables};
use crate::switch::forwarding::ecmp::salted;
use crate::switch::forwarding::spread::Spread;

/// A cell with this bit names the only port; without it, a group of ports.
const DIRECT: u16 = 1 << 15;

/// Next ports by destination host: 2 B per host.
#[derive(Clone, Debug)]
pub(crate) struct Forwarding {
    cells: Vec<u16>,
    /// Empty if the switch does not go by a flow's number: then they are in `spread`. The check of the index tells the two apart.
    groups: Vec<Vec<u16>>,
    salt: u32,
    /// [`crate::world::World::path_keys`].
    path_keys: Arc<[u32]>,
    spread: Option<Box<Spread>>,
    /// While a link of the switch is down: what the tables above hold otherwise. They are empty then.
    aside: Option<Box<Aside>>,
}

impl Forwarding {
    pub(crate) fn new(
        node: u32,
        hosts: u32,
        routes: &Routes,
        balancing: Balancing,
        salt: u32,
        path_keys: Arc<[u32]>,
        hashes: Arc<[[u32; 2]]>,
    ) -> Self {
        let Tables { cells, mut groups } = Tables::new(node, hosts, routes);
        let spread = (balancing != Balancing::Ecmp || !hashes.is_empty()).then(|| {
            let groups = std::mem::take(&mut groups);
            Box::new(Spread::new(balancing, groups, salt, path_keys.clone(), hashes))
        });
        Self { cells, groups, salt, path_keys, spread, aside: None }
    }

    /// The egress port of a packet at a switch that goes by a flow's number; `None` if it does not and has a choice.
    #[inline]
    pub(crate) fn port_if_by_flow(&self, packet: &Packet) -> Option<u16> {
        let cell = self.cells[packet.dst as usize];
        if cell & DIRECT != 0 {
            return Some(cell & !DIRECT);
        }
        let group = self.groups.get(usize::from(cell))?;
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        Some(group[salted(group.len(), key, !packet.is_data(), self.salt)])
    }

    /// That of a switch that goes by a flow's number or another hash of it: the same whenever it is asked for.
    pub(crate) fn port_by_flow(&self, packet: &Packet) -> u16 {
        let by_hash = || {
            let spread = self.spread.as_ref().expect("a group, here or there");
            spread.port_by_hash(self.cells[packet.dst as usize], packet)
        };
        self.port_if_by_flow(packet).unwrap_or_else(by_hash)
    }

    /// That of a switch that goes by a flow's number, as those that batch do.
    #[inline]
    pub(crate) fn port(&self, packet: &Packet) -> u16 {
        let cell = self.cells[packet.dst as usize];
        if cell & DIRECT != 0 {
            return cell & !DIRECT;
        }
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        let group = &self.groups[usize::from(cell)];
        group[salted(group.len(), key, !packet.is_data(), self.salt)]
    }

    /// That of a switch with these ports for which [`Forwarding::port_if_by_flow`] has none. To be asked once, when the packet comes.
    /// `None`: its tables stand aside.
    pub(crate) fn spread(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        let cell = self.cells[packet.dst as usize];
        Some(self.spread.as_mut()?.port(cell, packet, ports))
    }

    /// Whether the tables stand aside.
    pub(crate) const fn stands_aside(&self) -> bool {
        self.aside.is_some()
    }
}
