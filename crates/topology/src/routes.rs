//! Forwarding: which ports lead from a switch to a host, and which of them a flow takes.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::read::Entries;
use crate::table::{Cell, NOWHERE, Near, Table, TableBuilder};
use crate::{Groups, Network, RouteError, structured, tree};

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
    /// In dragonflies: as minimal, to the destination or first to a third group, which the switch of the source chooses
    /// ([`Routes::around`]; Valiant and UGAL: Kim et al., ISCA 2008, section 4). Packets change their lane on their way.
    NonMinimal,
}

impl Routing {
    /// Its name, if it goes by the place of a switch and not by distances.
    pub(crate) const fn by_place(self) -> Option<&'static str> {
        match self {
            Self::Ecmp | Self::DModK => None,
            Self::DimensionOrder => Some("dimension-order"),
            Self::Minimal => Some("minimal"),
            Self::NonMinimal => Some("non-minimal"),
        }
    }
}

/// The forwarding tables of a network: shortest paths in number of links. Hosts do not forward, but those with several ports have a table,
/// too: by which of their ports others are near. A clone shares the tables.
#[derive(Clone, PartialEq, Eq)]
pub struct Routes {
    tables: Arc<Tables>,
    /// How many lanes packets use, one after the other.
    lanes: u8,
    around: Option<Groups>,
}

#[derive(PartialEq, Eq)]
struct Tables {
    /// Row of the table by node; hosts with one port have none.
    row: Vec<Option<u32>>,
    host_index: Vec<Option<u32>>,
    table: Table,
    /// Ways go up and then down, from tier to tier.
    is_tree: bool,
    /// The same, and up by all ports.
    takes_all: bool,
}

impl Routes {
    /// Computes the tables: from the place of each switch where the network is a tree of alike switches, a grid or a dragonfly, else by
    /// one breadth-first search per switch that has hosts.
    ///
    /// # Errors
    /// [`RouteError::Unreachable`] names two hosts without a path; [`RouteError::TooManyGroups`]; [`RouteError::Structure`].
    pub fn new(net: &Network, routing: Routing) -> Result<Self, RouteError> {
        check_reachable(net)?;
        let switches = rows(net);
        if routing.by_place().is_some() {
            let routes = Self::of(net, structured::table(net, routing, &switches)?, false, false);
            return Ok(match (routing, Groups::new(net)) {
                (Routing::NonMinimal, around @ Some(_)) => Self { lanes: Groups::LANES, around, ..routes },
                _ => routes,
            });
        }
        match tree::table(net, routing, &switches)? {
            Some(table) => Ok(Self::of(net, table, true, routing == Routing::Ecmp)),
            None => Ok(Self::of(net, searched(net, routing, &switches, &|_| false)?, false, false)),
        }
    }

    /// The same if some links, by their index, are down. Where no way is left, the table has no ports.
    ///
    /// # Errors
    /// [`RouteError::TooManyGroups`]; [`RouteError::Structure`] of routings that go by the place of a switch and not by distances.
    pub fn without(net: &Network, routing: Routing, down: &[bool]) -> Result<Self, RouteError> {
        if let Some(routing) = routing.by_place() {
            return Err(RouteError::Structure { routing, wanted: "a network whose links are all up" });
        }
        Ok(Self::of(net, searched(net, routing, &rows(net), &|link| down[link as usize])?, false, false))
    }

    fn of(net: &Network, table: Table, is_tree: bool, takes_all: bool) -> Self {
        let count = net.nodes().len() as u32;
        let mut rows = 0..;
        let row = (0..count).map(|node| if net.has_table(node) { rows.next() } else { None }).collect();
        let host_index = (0..count).map(|node| net.host_index(node)).collect();
        let lanes = 1 + u8::from(table.changes_lanes());
        Self { tables: Arc::new(Tables { row, host_index, table, is_tree, takes_all }), lanes, around: None }
    }

    /// The tables that somebody wrote out: ports by switch and host, as [`crate::read::table`] reads them. A switch that nothing passes on its
    /// way to a host needs no entry for it.
    ///
    /// # Errors
    /// [`RouteError::Missing`] and [`RouteError::Loop`] name the switch, and from where to where a packet would come there.
    pub fn from_entries(net: &Network, entries: &Entries) -> Result<Self, RouteError> {
        let mut table = TableBuilder::new(net.hosts().len() as u32);
        let mut cells = vec![NOWHERE; net.hosts().len()];
        for node in rows(net) {
            cells.fill(NOWHERE);
            if net.is_switch(node) {
                for ((_, host), ports) in entries.range((node, 0)..=(node, u32::MAX)) {
                    cells[*host as usize] = table.cell(ports)?;
                }
            } else {
                // A host sends by each port behind which somebody knows the way.
                for (host, cell) in (0..).zip(&mut cells) {
                    let knows =
                        |peer: u32| entries.contains_key(&(peer, host)) || peer == net.hosts()[host as usize];
                    let ports = (0..).zip(net.ports(node)).filter(|(_, port)| knows(port.peer));
                    *cell = table.cell(&net.preferred(node, ports.map(|(number, _)| number).collect()))?;
                }
            }
            table.cells(&cells);
        }
        let routes = Self::of(net, table.build(), false, false);
        let several = |host: &&u32| net.ports(**host).len() > 1;
        let attachments: BTreeSet<u32> =
            net.hosts().iter().filter(|host| !several(host)).map(|host| net.ports(*host)[0].peer).collect();
        let attachments: Vec<u32> =
            attachments.into_iter().chain(net.hosts().iter().filter(several).copied()).collect();
        for host in 0..net.hosts().len() as u32 {
            routes.arrives(net, &attachments, host)?;
        }
        Ok(routes)
    }

    /// Follows every way to a host from the switches (and hosts) that others are at, and from hosts with several ports.
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
                let ports = if net.has_table(here) { self.next_ports(here, host) } else { &[] };
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
        Self { lanes: 1, ..self }
    }

    /// How many lanes packets use one after the other, of those that begin on one: 1 to 3.
    pub const fn lanes(&self) -> u8 {
        self.lanes
    }

    /// The groups, if the first switch of a packet may send it through a third one. The tables lead to that as to its
    /// [first host](Groups::first_host), and then to the destination.
    pub const fn around(&self) -> Option<&Groups> {
        self.around.as_ref()
    }

    /// The lane, counted from the one it begins on, of a packet to a host on the link by which it leaves `node`. 0 where it leaves
    /// its source or reaches its destination. On the way to a third group it is 0, too.
    #[inline]
    pub fn lane(&self, node: u32, dst_host: u32) -> u8 {
        match (self.tables.row[node as usize], &self.around) {
            (Some(_), Some(groups)) if self.lanes > 1 => groups.lane(node, dst_host),
            (Some(row), None) if self.lanes > 1 => self.tables.table.lane(row, dst_host),
            _ => 0,
        }
    }

    /// The ports of `node` on shortest paths to a host, ascending. Empty at that host itself, and at a switch that no
    /// link joins to it.
    pub fn next_ports(&self, node: u32, dst_host: u32) -> &[u16] {
        match self.tables.row[node as usize] {
            _ if self.tables.host_index[node as usize] == Some(dst_host) => &[],
            Some(row) => self.tables.table.ports(row, dst_host),
            None => &[0],
        }
    }

    /// What leads from a switch to a host: as [`Routes::next_ports`], for those who look many up.
    ///
    /// # Panics
    /// If `switch` is a host.
    pub fn cell(&self, switch: u32, dst_host: u32) -> Cell {
        self.tables.table.cell(self.row_of(switch), dst_host)
    }

    /// The largest list of cells of a switch.
    ///
    /// # Panics
    /// If `switch` is a host.
    pub fn near(&self, switch: u32) -> Near {
        self.tables.table.near(self.row_of(switch))
    }

    /// The ports of all groups, by [`Cell::group`].
    pub fn groups(&self) -> &Arc<[Box<[u16]>]> {
        self.tables.table.groups()
    }

    /// How many hosts they lead to.
    pub fn hosts(&self) -> u32 {
        self.tables.table.hosts()
    }

    /// Whether a switch has several ports for some host.
    ///
    /// # Panics
    /// If `switch` is a host.
    pub fn has_choice(&self, switch: u32) -> bool {
        self.tables.table.has_choice(self.row_of(switch))
    }

    /// Whether a switch has no way to some host.
    ///
    /// # Panics
    /// If `switch` is a host.
    pub fn has_gaps(&self, switch: u32) -> bool {
        self.tables.table.has_gaps(self.row_of(switch))
    }

    fn row_of(&self, switch: u32) -> u32 {
        self.tables.row[switch as usize].expect("hosts have no table")
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
        let at: Vec<u32> = net.nics(one).iter().map(|port| port.peer).collect();
        let others = (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node) && !at.contains(node));
        let rows = others.filter_map(|node| self.tables.row[node as usize]);
        rows.into_iter().all(|row| self.tables.table.cell(row, one) == self.tables.table.cell(row, other))
    }

    /// Whether all ways go up and then down, from tier to tier: no waits of theirs form a circle.
    pub(crate) fn is_tree(&self) -> bool {
        self.tables.is_tree
    }

    /// Whether they do, and up by every port.
    pub(crate) fn takes_every_port_up(&self) -> bool {
        self.tables.takes_all
    }

    /// Memory of the tables in bytes.
    pub fn memory(&self) -> usize {
        self.tables.table.bytes() + 16 * self.tables.row.len()
    }
}

/// What the routes say, whatever it is stored as: `ROW.HOST.PORTS.LANE` of each switch and host.
impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.tables.host_index.iter().flatten().count() as u32;
        let switches = (0..).zip(&self.tables.row).filter_map(|(node, row)| row.map(|row| (node, row)));
        let mut list = f.debug_list();
        for ((node, row), host) in switches.flat_map(|switch| (0..hosts).map(move |host| (switch, host))) {
            let ports: Vec<String> = self.next_ports(node, host).iter().map(u16::to_string).collect();
            list.entry(&format_args!("{row}.{host}.{}.{}", ports.join("-"), self.lane(node, host)));
        }
        list.finish()
    }
}

/// All nodes with a table, ascending.
fn rows(net: &Network) -> Vec<u32> {
    (0..net.nodes().len() as u32).filter(|&node| net.has_table(node)).collect()
}

/// The table by distances: one breadth-first search for all hosts that are at the same switches.
fn searched(
    net: &Network,
    routing: Routing,
    switches: &[u32],
    down: &dyn Fn(u32) -> bool,
) -> Result<Table, RouteError> {
    let attachments = hosts_by_attachment_without(net, down);
    // Hosts at one switch share the groups of all others. Which group it is, switch by switch.
    let (mut groups, mut ids) = (Vec::<Vec<u16>>::new(), BTreeMap::<Vec<u16>, u32>::new());
    let mut found = vec![0u32; switches.len() * attachments.len()];
    for (column, attachment) in attachments.keys().enumerate() {
        let distance = distances_by(net, attachment, down);
        for (row, &switch) in switches.iter().enumerate() {
            let ports = closer(net, &distance, switch);
            let group: Vec<u16> =
                ports.filter(|port| !down(net.ports(switch)[usize::from(*port)].link)).collect();
            let group = net.preferred(switch, group);
            let id = ids.get(&group).copied().unwrap_or_else(|| {
                ids.insert(group.clone(), groups.len() as u32);
                groups.push(group);
                groups.len() as u32 - 1
            });
            found[row * attachments.len() + column] = id;
        }
    }
    let mut table = TableBuilder::new(net.hosts().len() as u32);
    let mut cells = vec![NOWHERE; net.hosts().len()];
    let (divisors, parallel) = (divisors(net), net.has_parallel_links());
    for (&switch, found) in switches.iter().zip(found.chunks(attachments.len())) {
        // Which port a host takes is for its transport to say.
        let modulo = routing == Routing::DModK && net.is_switch(switch);
        for ((attachment, hosts), id) in attachments.iter().zip(found) {
            let group = &groups[*id as usize];
            let links = if modulo && parallel { by_neighbour(net, switch, group) } else { Vec::new() };
            let all = if modulo { NOWHERE } else { table.cell(group)? };
            let is_at = attachment.contains(&switch);
            for &host in hosts {
                let turn = || u64::from(host) / divisors[switch as usize];
                cells[host as usize] = if is_at {
                    let own = net.nics(host).iter().filter(|nic| nic.peer == switch && !down(nic.link));
                    let own: Vec<u16> = own.map(|nic| nic.peer_port).collect();
                    let cell = if modulo && own.len() > 1 { &[turn_of(&own, &[], turn())] } else { &own[..] };
                    table.cell(cell)?
                } else if modulo && !group.is_empty() {
                    Cell::direct(turn_of(group, &links, turn()))
                } else {
                    all
                };
            }
        }
        table.cells(&cells);
    }
    Ok(table.build())
}

/// How far a node has been followed.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Links from every node to the nearest of some; `None` where there is no way. Hosts are ends, never passed through.
pub(crate) fn distances(net: &Network, from: &[u32]) -> Vec<Option<u32>> {
    distances_by(net, from, &|_| false)
}

/// The same without the links that are down.
fn distances_by(net: &Network, from: &[u32], down: &dyn Fn(u32) -> bool) -> Vec<Option<u32>> {
    let mut distance = vec![None; net.nodes().len()];
    for node in from {
        distance[*node as usize] = Some(0);
    }
    let mut queue: VecDeque<(u32, u32)> = from.iter().map(|node| (*node, 0)).collect();
    while let Some((node, d)) = queue.pop_front() {
        if d > 0 && !net.is_switch(node) {
            continue;
        }
        for port in net.ports(node) {
            if distance[port.peer as usize].is_none() && !down(port.link) {
                distance[port.peer as usize] = Some(d + 1);
                queue.push_back((port.peer, d + 1));
            }
        }
    }
    distance
}

/// The ports of `node` whose peers are one link closer. No host is passed on the way: those that are at distance 0 are the destinations.
fn closer<'a>(net: &'a Network, distance: &'a [Option<u32>], node: u32) -> impl Iterator<Item = u16> + 'a {
    let wanted = distance[node as usize].and_then(|d| d.checked_sub(1));
    let ports = net.ports(node).iter().enumerate();
    ports
        .filter(move |(_, port)| wanted.is_some() && distance[port.peer as usize] == wanted)
        .filter(move |(_, port)| wanted == Some(0) || net.is_switch(port.peer))
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

/// Hosts reach each other if some part of the network, hosts left out, joins both. Links are full duplex, and those without a host at an
/// end join the switches of a part; a link between two hosts is a part of its own.
fn check_reachable(net: &Network) -> Result<(), RouteError> {
    let mut part = vec![u32::MAX; net.nodes().len()];
    let mut parts = 0;
    for start in (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node)) {
        if part[start as usize] != u32::MAX {
            continue;
        }
        let mut pending = vec![start];
        part[start as usize] = parts;
        while let Some(node) = pending.pop() {
            for port in net.ports(node).iter().filter(|port| net.is_switch(port.peer)) {
                if std::mem::replace(&mut part[port.peer as usize], parts) == u32::MAX {
                    pending.push(port.peer);
                }
            }
        }
        parts += 1;
    }
    // Hosts that are in the same parts reach the same ones.
    let mut kinds = BTreeMap::<Vec<u32>, u32>::new();
    for &host in net.hosts() {
        let of = |port: &crate::Port| {
            if net.is_switch(port.peer) { part[port.peer as usize] } else { parts + port.link }
        };
        let mut of: Vec<u32> = net.ports(host).iter().map(of).collect();
        of.sort_unstable();
        of.dedup();
        kinds.entry(of).or_insert(host);
    }
    let mut kinds: Vec<(Vec<u32>, u32)> = kinds.into_iter().collect();
    let is_everywhere = |part: &u32| kinds.iter().all(|(parts, _)| parts.contains(part));
    if kinds.first().is_some_and(|(parts, _)| parts.iter().any(is_everywhere)) {
        return Ok(());
    }
    kinds.sort_by_key(|(_, host)| *host);
    for (index, (one, from)) in kinds.iter().enumerate() {
        if let Some((_, to)) =
            kinds[index + 1..].iter().find(|(other, _)| !other.iter().any(|part| one.contains(part)))
        {
            return Err(RouteError::Unreachable {
                from: net.name(*from).to_owned(),
                to: net.name(*to).to_owned(),
            });
        }
    }
    Ok(())
}

/// The nodes that have hosts, those of a host together, each with its host indices: hosts at the same switches share all routes but the
/// last hop.
pub(crate) fn hosts_by_attachment(net: &Network) -> BTreeMap<Vec<u32>, Vec<u32>> {
    hosts_by_attachment_without(net, &|_| false)
}

/// The same without the links that are down. A host with no link up is still looked for where it was.
fn hosts_by_attachment_without(net: &Network, down: &dyn Fn(u32) -> bool) -> BTreeMap<Vec<u32>, Vec<u32>> {
    let mut map = BTreeMap::<Vec<u32>, Vec<u32>>::new();
    for (index, &host) in net.hosts().iter().enumerate() {
        let ports = net.ports(host);
        let all_down = ports.iter().all(|port| down(port.link));
        let mut at: Vec<u32> =
            ports.iter().filter(|port| all_down || !down(port.link)).map(|port| port.peer).collect();
        at.sort_unstable();
        at.dedup();
        map.entry(at).or_default().push(index as u32);
    }
    map
}

/// The tier of each node, counted from the hosts up; `None`: no host is near.
pub(crate) fn tiers(net: &Network) -> Vec<Option<u32>> {
    let mut tier: Vec<Option<u32>> = vec![None; net.nodes().len()];
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
    }
    tier
}

/// The D of [`Routing::DModK`] by node: a tier's width is the number of neighbours that a switch below has in it.
pub(crate) fn divisors(net: &Network) -> Vec<u64> {
    let tier = tiers(net);
    let mut order: Vec<u32> =
        (0..net.nodes().len() as u32).filter(|node| tier[*node as usize].is_some()).collect();
    order.sort_by_key(|node| tier[*node as usize]);
    let mut divisor = vec![1u64; net.nodes().len()];
    for node in order {
        let above = tier[node as usize].map(|t| t + 1);
        let up = |port: &&crate::Port| tier[port.peer as usize] == above && !net.is_scale_up(port.peer);
        let peers: BTreeSet<u32> = net.ports(node).iter().filter(up).map(|port| port.peer).collect();
        for &peer in &peers {
            divisor[peer as usize] =
                divisor[peer as usize].max(divisor[node as usize].saturating_mul(peers.len() as u64));
        }
    }
    divisor
}
