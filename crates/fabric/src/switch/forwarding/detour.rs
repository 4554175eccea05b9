//! Forwarding where links fail: ways that change, groups without the ports that are known to be down, and switches whose packets are
//! asked for one by one, since there may be no way for them.
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::ops::Range;

use backwater_topology::{Cell, Routes};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::switch::forwarding::{Choice, Forwarding};

/// The ways of a switch that have changed in the run.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Ways {
    /// By destination host.
    #[borsh(serialize_with = "save_cells", deserialize_with = "load_cells")]
    cells: Vec<Cell>,
    groups: Vec<Box<[u16]>>,
    /// How many cells name each group. One that none names makes room for the next.
    named: Vec<u32>,
}

/// Each as its port or its group.
fn save_cells<W: Write>(cells: &[Cell], out: &mut W) -> io::Result<()> {
    let cells: Vec<Result<u16, u16>> =
        cells.iter().map(|cell| cell.port().ok_or_else(|| cell.group() as u16)).collect();
    cells.serialize(out)
}

fn load_cells<R: Read>(from: &mut R) -> io::Result<Vec<Cell>> {
    let cells = Vec::<Result<u16, u16>>::deserialize_reader(from)?;
    let cell = |cell: Result<u16, u16>| cell.map_or_else(Cell::of_group, Cell::direct);
    Ok(cells.into_iter().map(cell).collect())
}

impl Ways {
    fn new(node: u32, hosts: u32, routes: &Routes) -> Self {
        let cells = vec![Cell::direct(0); hosts as usize];
        let mut ways = Self { cells, groups: Vec::new(), named: Vec::new() };
        for host in 0..hosts {
            ways.set(host..host + 1, routes.next_ports(node, host));
        }
        ways
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// From now on these ports lead to these hosts.
    fn set(&mut self, hosts: Range<u32>, ports: &[u16]) {
        let of_hosts = hosts.start as usize..hosts.end as usize;
        for cell in self.cells[of_hosts.clone()].iter().filter(|cell| cell.port().is_none()) {
            self.named[cell.group()] -= 1;
        }
        let cell = if let [port] = ports {
            Cell::direct(*port)
        } else {
            let group = self.group(ports);
            self.named[usize::from(group)] += hosts.len() as u32;
            Cell::of_group(group)
        };
        self.cells[of_hosts].fill(cell);
    }

    /// The number of a group.
    fn group(&mut self, ports: &[u16]) -> u16 {
        let equal = self.groups.iter().position(|group| **group == *ports);
        let group = equal.or_else(|| self.named.iter().position(|cells| *cells == 0)).unwrap_or_else(|| {
            self.named.push(0);
            self.groups.push(Box::default());
            self.groups.len() - 1
        });
        if equal.is_none() {
            self.groups[group] = ports.into();
        }
        group as u16
    }

    /// Whether there is no way to some hosts.
    fn has_gaps(&self) -> bool {
        self.groups.iter().zip(&self.named).any(|(group, cells)| group.is_empty() && *cells > 0)
    }
}

impl Forwarding {
    /// Other ports lead to some hosts, once they are installed.
    pub(crate) fn reroute<'a>(&mut self, new: impl Iterator<Item = (Range<u32>, &'a [u16])>) {
        let all = &mut *self.all;
        let ways = all.ways.get_or_insert_with(|| Ways::new(all.node, all.routes.hosts(), &all.routes));
        for (hosts, ports) in new {
            ways.set(hosts, ports);
        }
    }

    /// Whether there is no way to some hosts.
    pub(crate) fn has_gaps(&self) -> bool {
        self.all.ways.as_ref().map_or_else(|| self.all.routes.has_gaps(self.all.node), Ways::has_gaps)
    }

    /// From now on its ways hold, without `avoided` ports where a group has others. With `aside` each packet is asked for by
    /// [`Forwarding::way_round`]: nothing is laid out for the packet path.
    pub(crate) fn install(&mut self, avoided: &BTreeSet<u16>, aside: bool) {
        let left = |group: &[u16]| {
            let left: Box<[u16]> = group.iter().copied().filter(|port| !avoided.contains(port)).collect();
            if left.is_empty() { group.into() } else { left }
        };
        let all = &mut *self.all;
        all.groups = match &all.ways {
            Some(ways) => ways.groups.iter().map(|group| left(group)).collect(),
            None if avoided.is_empty() => all.routes.groups().clone(),
            None => all.routes.groups().iter().map(|group| left(group)).collect(),
        };
        all.aside = aside || matches!(all.choice, Choice::Around(_));
        if let Choice::Spread(spread) = &mut all.choice {
            spread.forget();
        }
        self.lay_out();
    }

    /// The egress port of a packet at a switch whose tables stand aside; `None`: there is no way.
    pub(crate) fn way_round(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        match packet.through() {
            Some(_) => self.way_through(packet),
            None => self.way(packet, ports),
        }
    }
}
