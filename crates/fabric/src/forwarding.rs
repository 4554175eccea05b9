//! A switch's forwarding table, laid out for the packet path.
use std::sync::Arc;

use backwater_topology::{Routes, flow_hash};

use crate::packet::Packet;

/// A cell with this bit names the only port; without it, a group of ports.
const DIRECT: u16 = 1 << 15;

/// Next ports by destination host: 2 B per host.
#[derive(Debug)]
pub(crate) struct Forwarding {
    cells: Vec<u16>,
    groups: Vec<Vec<u16>>,
    salt: u32,
    /// [`crate::world::World::path_keys`].
    path_keys: Arc<[u32]>,
}

impl Forwarding {
    pub(crate) fn new(node: u32, hosts: u32, routes: &Routes, salt: u32, path_keys: Arc<[u32]>) -> Self {
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
        Self { cells, groups, salt, path_keys }
    }

    /// The egress port of a packet: per-flow ECMP by multiply-shift, as [`Routes::choose`] does it.
    #[inline]
    pub(crate) fn port(&self, packet: &Packet) -> u16 {
        let cell = self.cells[packet.dst as usize];
        if cell & DIRECT != 0 {
            return cell & !DIRECT;
        }
        let group = &self.groups[usize::from(cell)];
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        let hash = flow_hash(key, !packet.is_data(), self.salt);
        group[((u64::from(hash) * group.len() as u64) >> 32) as usize]
    }
}
