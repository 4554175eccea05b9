//! Forwarding: which ports lead from a switch to a host, and which of them a flow takes.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::read::Entries;
use crate::structured::{self, LaneTable};
use crate::table::{Table, TableBuilder};
use crate::{Network, RouteError};

/// How one of several equally short ways is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Routing {
    /// Equal-cost multi-path: all shortest paths are in the table, the flow's hash chooses at every switch.
    #[default]
    Ecmp,
    /// Static destination-modulo routing, as in InfiniBand subnets (Gomez et al., IPDPS 2007; Zahavi et al., Concurrency and
    /// Computation 2010): one port per destination. On the way up, a switch with w equally near neighbours takes number
    /// ⌊d / D⌋ mod w of them, in the order of its ports, where d is the host index of the destination and D the product of
    /// the widths of the tiers below. In a k-ary fat tree that is d mod k/2 at an edge switch and ⌊d / (k/2)⌋ mod k/2 above
    /// it, so destinations use all cores evenly; in a k-ary n-tree ⌊d / kˡ⌋ mod k at level l; in a leaf–spine d mod spines.
    /// Switches with hosts have D = 1: in a graph without tiers the choice is d mod w everywhere.
    ///
    /// Of p parallel links to that neighbour it takes number ⌊d / (D·w)⌋ mod p, so that those who share the neighbour share
    /// the links evenly; on the way down as well, where w = 1.
    DModK,
    /// In grids: one dimension after the other, each the shorter way round. In a torus packets change their lane on their way
    /// ([`Routes::lane`]).
    DimensionOrder,
    /// In dragonflies: by one global link at most, even where two would be fewer links in all. All switches of the group that have
    /// links to the other one count as equally near; the flow's hash chooses. Packets change their lane on their way.
    Minimal,
}

/// The forwarding tables of a network: shortest paths in number of links. Hosts do not forward.
#[derive(Clone, PartialEq, Eq)]
pub struct Routes {
    /// Row of the table by node; hosts have none.
    row: Vec<Option<u32>>,
    host_index: Vec<Option<u32>>,
    table: Table,
    lanes: Option<Arc<LaneTable>>,
}

impl Routes {
    /// Computes the tables: 2 B per switch and host, one breadth-first search per switch that has hosts.
    ///
    /// # Errors
    /// [`RouteError::Unreachable`] names two hosts without a path; [`RouteError::TooManyGroups`]; [`RouteError::Structure`].
    pub fn new(net: &Network, routing: Routing) -> Result<Self, RouteError> {
        check_reachable(net)?;
        Self::by_links(net, routing, &|_| false)
    }

    /// The same if some links, by their index, are down. Where no way is left, the table has no ports.
    ///
    /// # Errors
    /// [`RouteError::TooManyGroups`]; [`RouteError::Structure`] of routings that go by the place of a switch and not by distances.
    pub fn without(net: &Network, routing: Routing, down: &[bool]) -> Result<Self, RouteError> {
        if matches!(routing, Routing::DimensionOrder | Routing::Minimal) {
            let name = if routing == Routing::Minimal { "minimal" } else { "dimension-order" };
            return Err(RouteError::Structure { routing: name, wanted: "a network whose links are all up" });
        }
        Self::by_links(net, routing, &|link| down[link as usize])
    }

    fn by_links(net: &Network, routing: Routing, down: &dyn Fn(u32) -> bool) -> Result<Self, RouteError> {
        let count = net.nodes().len() as u32;
        let switches: Vec<u32> = (0..count).filter(|&node| net.is_switch(node)).collect();
        let mut row = vec![None; count as usize];
        for (index, &switch) in switches.iter().enumerate() {
            row[switch as usize] = Some(index as u32);
        }
        let mut table = TableBuilder::new(switches.len(), net.hosts().len());
        let host_index = (0..count).map(|node| net.host_index(node)).collect();
        if matches!(routing, Routing::DimensionOrder | Routing::Minimal) {
            let lanes = structured::fill(net, routing, &switches, &mut table)?.map(Arc::new);
            return Ok(Self { row, host_index, table: table.build(), lanes });
        }
        let (divisors, parallel) = (divisors(net), net.has_parallel_links());
        let mut group = Vec::new();
        for (attachment, hosts) in hosts_by_attachment(net) {
            let distance = distances_by(net, attachment, down);
            for (&switch, row) in switches.iter().zip(0..) {
                group.clear();
                group.extend(
                    closer(net, &distance, switch)
                        .filter(|port| !down(net.ports(switch)[usize::from(*port)].link)),
                );
                match routing {
                    _ if switch == attachment => {
                        for &host in &hosts {
                            let nic = &net.ports(net.hosts()[host as usize])[0];
                            if !down(nic.link) {
                                table.set(row, host, &[nic.peer_port])?;
                            }
                        }
                    }
                    Routing::DModK if !group.is_empty() => {
                        let links = if parallel { by_neighbour(net, switch, &group) } else { Vec::new() };
                        for &host in &hosts {
                            let turn = u64::from(host) / divisors[switch as usize];
                            table.set(row, host, &[turn_of(&group, &links, turn)])?;
                        }
                    }
                    _ => table.set_all(row, &hosts, &group)?,
                }
            }
        }
        Ok(Self { row, host_index, table: table.build(), lanes: None })
    }

    /// The tables that somebody wrote out: ports by switch and host, as [`crate::read::table`] reads them. A switch that nothing passes on its
    /// way to a host needs no entry for it.
    ///
    /// # Errors
    /// [`RouteError::Missing`] and [`RouteError::Loop`] name the switch, and from where to where a packet would come there.
    pub fn from_entries(net: &Network, entries: &Entries) -> Result<Self, RouteError> {
        let count = net.nodes().len() as u32;
        let switches = (0..count).filter(|&node| net.is_switch(node));
        let mut row = vec![None; count as usize];
        let mut rows = 0;
        for switch in switches {
            row[switch as usize] = Some(rows);
            rows += 1;
        }
        let mut table = TableBuilder::new(rows as usize, net.hosts().len());
        for (&(switch, host), ports) in entries {
            if let Some(row) = row[switch as usize] {
                table.set(row, host, ports)?;
            }
        }
        let host_index = (0..count).map(|node| net.host_index(node)).collect();
        let routes = Self { row, host_index, table: table.build(), lanes: None };
        let attachments: Vec<u32> = hosts_by_attachment(net).into_keys().collect();
        for host in 0..net.hosts().len() as u32 {
            routes.arrives(net, &attachments, host)?;
        }
        Ok(routes)
    }

    /// Follows every way to a host from the switches (and hosts) that others are at.
    fn arrives(&self, net: &Network, attachments: &[u32], host: u32) -> Result<(), RouteError> {
        let destination = net.hosts()[host as usize];
        let mut mark = vec![Mark::New; net.nodes().len()];
        mark[destination as usize] = Mark::Done;
        for &start in attachments {
            let mut stack = vec![(start, 0)];
            while let Some((node, next)) = stack.last_mut() {
                let (at, here) = (*node as usize, *node);
                if *next == 0 && mark[at] == Mark::Done {
                    stack.pop();
                    continue;
                }
                let ports = if net.is_switch(here) { self.next_ports(here, host) } else { &[] };
                if ports.is_empty() {
                    let (switch, host) = (net.name(here).to_owned(), net.name(destination).to_owned());
                    return Err(RouteError::Missing { switch, host });
                }
                mark[at] = Mark::Open;
                let Some(&port) = ports.get(*next) else {
                    mark[at] = Mark::Done;
                    stack.pop();
                    continue;
                };
                *next += 1;
                let peer = net.ports(here)[usize::from(port)].peer;
                match mark[peer as usize] {
                    Mark::Done => {}
                    Mark::New => stack.push((peer, 0)),
                    Mark::Open => {
                        let (switch, host) = (net.name(peer).to_owned(), net.name(destination).to_owned());
                        return Err(RouteError::Loop { switch, host });
                    }
                }
            }
        }
        Ok(())
    }

    /// The same routes without the lanes: packets stay on the one they begin on.
    #[must_use]
    pub fn on_one_lane(self) -> Self {
        Self { lanes: None, ..self }
    }

    /// How many lanes packets use one after the other, of those that begin on one: 1 or 2.
    pub fn lanes(&self) -> u8 {
        if self.lanes.is_some() { 2 } else { 1 }
    }

    /// The lane, counted from the one it begins on, of a packet to a host on the link by which it leaves `node`. 0 where it leaves
    /// its source or reaches its destination.
    #[inline]
    pub fn lane(&self, node: u32, dst_host: u32) -> u8 {
        match (&self.lanes, self.row[node as usize]) {
            (Some(lanes), Some(row)) => lanes.lane(row, dst_host),
            _ => 0,
        }
    }

    /// The ports of `node` on shortest paths to a host, ascending. Empty at that host itself, and at a switch that no
    /// link joins to it.
    pub fn next_ports(&self, node: u32, dst_host: u32) -> &[u16] {
        match self.row[node as usize] {
            Some(row) => self.table.group(row, dst_host),
            None if self.host_index[node as usize] == Some(dst_host) => &[],
            None => &[0],
        }
    }

    /// The port that a flow with this hash takes: multiply-shift over the group, no division.
    ///
    /// # Panics
    /// If `node` has no way to the host: it is the host itself, or a switch apart from the network.
    pub fn choose(&self, node: u32, dst_host: u32, hash: u32) -> u16 {
        let group = self.next_ports(node, dst_host);
        group[((u64::from(hash) * group.len() as u64) >> 32) as usize]
    }

    /// The way from one host to another: (node index, egress port) of every link, the source's NIC first.
    /// `hash_of` gives the flow's hash at a switch. Empty if source and destination are the same.
    pub fn path(
        &self,
        net: &Network,
        src_host: u32,
        dst_host: u32,
        hash_of: impl Fn(u32) -> u32,
    ) -> Vec<(u32, u16)> {
        let index_of = |node, ways| ((u64::from(hash_of(node)) * ways as u64) >> 32) as usize;
        self.path_by(net, src_host, dst_host, index_of)
    }

    /// The same if the flow takes way number `index_of(switch, ways)` there.
    pub fn path_by(
        &self,
        net: &Network,
        src_host: u32,
        dst_host: u32,
        index_of: impl Fn(u32, usize) -> usize,
    ) -> Vec<(u32, u16)> {
        let destination = net.hosts()[dst_host as usize];
        let mut node = net.hosts()[src_host as usize];
        let mut path = Vec::new();
        while node != destination {
            let group = self.next_ports(node, dst_host);
            let port = group[index_of(node, group.len())];
            path.push((node, port));
            node = net.ports(node)[usize::from(port)].peer;
        }
        path
    }

    /// True if two hosts at the same switch are reached by the same ports from everywhere else.
    pub(crate) fn same_ways(&self, net: &Network, one: u32, other: u32) -> bool {
        let attachment = net.ports(net.hosts()[one as usize])[0].peer;
        let except = self.row[attachment as usize];
        let lanes = self.lanes.as_ref().is_none_or(|lanes| lanes.same_column_except(except, one, other));
        lanes && self.table.same_column_except(except, one, other)
    }

    /// The row of each node, and the table.
    pub(crate) fn rows(&self) -> (&[Option<u32>], &Table) {
        (&self.row, &self.table)
    }

    /// Memory of the tables in bytes.
    pub fn memory(&self) -> usize {
        self.table.bytes() + 16 * self.row.len() + self.lanes.as_ref().map_or(0, |lanes| lanes.bytes())
    }
}

/// What the routes say, however it is stored: `ROW.HOST.PORTS.LANE` of each switch and host.
impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.host_index.iter().flatten().count() as u32;
        let switches = (0..).zip(&self.row).filter_map(|(node, row)| row.map(|row| (node, row)));
        let mut list = f.debug_list();
        for ((node, row), host) in switches.flat_map(|switch| (0..hosts).map(move |host| (switch, host))) {
            let ports: Vec<String> = self.next_ports(node, host).iter().map(u16::to_string).collect();
            list.entry(&format_args!("{row}.{host}.{}.{}", ports.join("-"), self.lane(node, host)));
        }
        list.finish()
    }
}

/// How far a node has been followed.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Links from every node to `from`; `None` where there is no way. Hosts are ends, never passed through: they have
/// one port.
pub(crate) fn distances(net: &Network, from: u32) -> Vec<Option<u32>> {
    distances_by(net, from, &|_| false)
}

/// The same without the links that are down.
fn distances_by(net: &Network, from: u32, down: &dyn Fn(u32) -> bool) -> Vec<Option<u32>> {
    let mut distance = vec![None; net.nodes().len()];
    distance[from as usize] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((node, d)) = queue.pop_front() {
        for port in net.ports(node) {
            if distance[port.peer as usize].is_none() && !down(port.link) {
                distance[port.peer as usize] = Some(d + 1);
                queue.push_back((port.peer, d + 1));
            }
        }
    }
    distance
}

/// The ports of `node` whose peers are one link closer.
fn closer<'a>(net: &'a Network, distance: &'a [Option<u32>], node: u32) -> impl Iterator<Item = u16> + 'a {
    let wanted = distance[node as usize].and_then(|d| d.checked_sub(1));
    let ports = net.ports(node).iter().enumerate();
    ports
        .filter(move |(_, port)| wanted.is_some() && distance[port.peer as usize] == wanted)
        .map(|(number, _)| number as u16)
}

/// Ports of a switch, those to one neighbour together; neighbours in the order of their first ports.
pub(crate) fn by_neighbour(net: &Network, switch: u32, ports: &[u16]) -> Vec<Vec<u16>> {
    let mut place = BTreeMap::new();
    let mut near: Vec<Vec<u16>> = Vec::new();
    for &port in ports {
        let next = near.len();
        let index = *place.entry(net.ports(switch)[usize::from(port)].peer).or_insert(next);
        if index == next {
            near.push(Vec::new());
        }
        near[index].push(port);
    }
    near
}

/// Neighbours take turns, and with every round of theirs the links to one of them. Without `links` each port is the only one
/// to its neighbour.
pub(crate) fn turn_of(ports: &[u16], links: &[Vec<u16>], turn: u64) -> u16 {
    if links.is_empty() {
        return ports[(turn % ports.len() as u64) as usize];
    }
    let neighbours = links.len() as u64;
    let links = &links[(turn % neighbours) as usize];
    links[(turn / neighbours % links.len() as u64) as usize]
}

/// Links are full duplex, so a graph is in one piece if the first host reaches all others.
fn check_reachable(net: &Network) -> Result<(), RouteError> {
    let distance = distances(net, net.hosts()[0]);
    match net.hosts().iter().find(|&&host| distance[host as usize].is_none()) {
        None => Ok(()),
        Some(&host) => Err(RouteError::Unreachable {
            from: net.name(net.hosts()[0]).to_owned(),
            to: net.name(host).to_owned(),
        }),
    }
}

/// The nodes that have hosts, each with its host indices: hosts at one switch share all routes but the last hop.
pub(crate) fn hosts_by_attachment(net: &Network) -> BTreeMap<u32, Vec<u32>> {
    let mut map = BTreeMap::<u32, Vec<u32>>::new();
    for (index, &host) in net.hosts().iter().enumerate() {
        map.entry(net.ports(host)[0].peer).or_default().push(index as u32);
    }
    map
}

/// The D of [`Routing::DModK`] by node: tiers are counted from the hosts up, and a tier's width is the number of
/// neighbours that a switch below has in it.
pub(crate) fn divisors(net: &Network) -> Vec<u64> {
    let count = net.nodes().len();
    let mut tier: Vec<Option<u32>> = vec![None; count];
    let mut divisor = vec![1u64; count];
    let mut queue: VecDeque<u32> = net.hosts().iter().copied().collect();
    for &host in net.hosts() {
        tier[host as usize] = Some(0);
    }
    while let Some(node) = queue.pop_front() {
        let above = tier[node as usize].map(|t| t + 1);
        for port in net.ports(node) {
            if tier[port.peer as usize].is_none() {
                tier[port.peer as usize] = above;
                queue.push_back(port.peer);
            }
        }
        let up = |port: &&crate::Port| tier[port.peer as usize] == above;
        let peers: BTreeSet<u32> = net.ports(node).iter().filter(up).map(|port| port.peer).collect();
        for &peer in &peers {
            divisor[peer as usize] =
                divisor[peer as usize].max(divisor[node as usize].saturating_mul(peers.len() as u64));
        }
    }
    divisor
}
