//! Routes of networks in tiers in which the switches above one are all alike: fat trees, Clos networks, leaves and spines, rails,
//! generalized trees, whether a generator made them or a file lists their links.
//!
//! A switch's tier is its distance from the hosts; every link joins two tiers next to each other. Two switches are alike if the same
//! hosts are below them, they are of one tier, and the switches above them are alike; all switches above one must be. Then a
//! shortest way to a host that is below a switch leads down only, and one to any other host leads up by all of its ports:
//!
//! - From tier t there are t links down to each host below, and no way from tier t has fewer.
//! - To another host a way must go up. Who goes down first comes up again to a switch that is alike, as all above those below are: as
//!   far away as before, and two links later. What is above is alike, so that all ports up are equally good.
//!
//! So nothing has to be searched for: what a switch says follows from which hosts are below each of its ports, and the same hosts
//! below the same ports give the same list, as at all cores of a fat tree.
//!
//! Scale-up switches lead to the hosts of their server only. What is said of tiers is said of the network without them; a host reaches those
//! of its server by them, in two links, which no other way has fewer of.
use std::collections::BTreeMap;

use crate::routes::{by_neighbour, divisors, tiers, turn_of};
use crate::table::{Cell, Cells, NOWHERE, Span, Table, TableBuilder};
use crate::{Network, RouteError, Routing};

/// Hosts as stretches: (first, count), in their order, none next to another.
type Hosts = Vec<(u32, u32)>;

/// What is below the nodes of such a network.
struct Tree {
    /// By node; `None`: no host is near.
    tier: Vec<Option<u32>>,
    /// By node, which of `sets`.
    below: Vec<u32>,
    sets: Vec<Hosts>,
}

/// The table of all `switches`, which are its rows; `None`: the network is no such tree.
pub(crate) fn table(net: &Network, routing: Routing, switches: &[u32]) -> Result<Option<Table>, RouteError> {
    let Some(tree) = Tree::new(net) else { return Ok(None) };
    let modulo = (routing == Routing::DModK).then(|| (divisors(net), net.has_parallel_links()));
    let mut table = TableBuilder::new(net.hosts().len() as u32);
    let (mut known_far, mut known) = (BTreeMap::new(), BTreeMap::new());
    for &switch in switches {
        // Which port a host takes is for its transport to say.
        let ways = tree.ways(net, switch, modulo.as_ref().filter(|_| net.is_switch(switch)));
        let key = (ways.up.clone(), ways.turns.clone());
        let far = match known_far.get(&key) {
            _ if tree.near(net, switch) == [(0, table.hosts())] => Cells::One(NOWHERE),
            Some(far) => *far,
            None => {
                let far = ways.far(&mut table)?;
                known_far.insert(key, far);
                far
            }
        };
        let near = if let Some(near) = known.get(&ways) {
            *near
        } else {
            let near = ways.near(&tree, tree.near(net, switch), far, &mut table)?;
            known.insert(ways, near);
            near
        };
        table.row(near, far);
    }
    Ok(Some(table.build()))
}

/// [`crate::facts::farthest`] of such a network if packets take every port up; `None`: it is none.
pub(crate) fn farthest(net: &Network, cost: impl Fn(&crate::Port) -> u64) -> Option<u64> {
    let tree = Tree::new(net)?;
    let server = |node: u32| net.server_of(node).filter(|_| !net.is_switch(node));
    let none = |node: u32| Costliest([Some((0, server(node))), None]);
    // The costliest ways to a node from a host below it, and back.
    let mut up: Vec<Costliest> = (0..net.nodes().len() as u32).map(none).collect();
    let mut down = up.clone();
    let mut order: Vec<u32> = (0..net.nodes().len() as u32)
        .filter(|node| net.is_switch(*node) && tree.tier[*node as usize].is_some())
        .collect();
    order.sort_by_key(|node| tree.tier[*node as usize]);
    let mut most = 0;
    for node in order {
        let own = tree.tier[node as usize];
        let mut below: Vec<&crate::Port> =
            net.ports(node).iter().filter(|port| tree.tier[port.peer as usize] < own).collect();
        below.sort_by_key(|port| tree.below[port.peer as usize]);
        // A way turns at the first switch that has both hosts below it: behind ports to different ones.
        let sets = below.chunk_by(|a, b| tree.below[a.peer as usize] == tree.below[b.peer as usize]);
        let mut of_sets: Vec<(Costliest, Costliest)> = Vec::new();
        for set in sets {
            let (mut climbs, mut descents) = (Costliest::default(), Costliest::default());
            for port in set {
                let (peer, back) = (port.peer as usize, &net.ports(port.peer)[usize::from(port.peer_port)]);
                climbs.add(&up[peer], cost(back));
                descents.add(&down[peer], cost(port));
            }
            of_sets.push((climbs, descents));
        }
        let (mut climbs, mut descents) = (Costliest::default(), Costliest::default());
        for (climb, descent) in &of_sets {
            climbs.add(climb, 0);
            descents.add(descent, 0);
        }
        (up[node as usize], down[node as usize]) = (climbs, descents);
        let mut sources: Vec<(u64, Option<u32>, usize)> = (0..)
            .zip(&of_sets)
            .flat_map(|(set, (climbs, _))| climbs.ways().map(move |(cost, server)| (cost, server, set)))
            .collect();
        sources.sort_unstable_by(|one, other| other.cmp(one));
        // Hosts of a server reach each other within it.
        let turns_here = |one: Option<u32>, other| one.is_none() || one != other || one == Some(node);
        for (set, (_, descents)) in of_sets.iter().enumerate() {
            for (descent, to) in descents.ways() {
                let mut others = sources.iter().filter(|(_, from, of)| *of != set && turns_here(*from, to));
                most = most.max(others.next().map_or(0, |(climb, ..)| climb + descent));
            }
        }
    }
    Some(most)
}

/// The costliest way of some, and the costliest one of a host in another server, if hosts are in servers.
#[derive(Clone, Debug, Default)]
struct Costliest([Option<(u64, Option<u32>)>; 2]);

impl Costliest {
    fn ways(&self) -> impl Iterator<Item = (u64, Option<u32>)> + '_ {
        self.0.iter().flatten().copied()
    }

    /// Some more ways, each of which costs something more.
    fn add(&mut self, ways: &Self, more: u64) {
        for (cost, server) in ways.ways() {
            let way = Some((cost + more, server));
            let [first, second] = self.0;
            let is_of = |known: Option<(u64, Option<u32>)>| known.is_some_and(|(_, of)| of == server);
            self.0 = match (way > first, is_of(first)) {
                (true, true) => [way, second],
                (true, false) => [way, first],
                (false, true) => [first, second],
                (false, false) => [first, second.max(way)],
            };
        }
    }
}

impl Tree {
    fn new(net: &Network) -> Option<Self> {
        let tier = tiers(net);
        let steps = |link: &crate::Link| match (tier[link.a as usize], tier[link.b as usize]) {
            _ if net.is_scale_up(link.a) || net.is_scale_up(link.b) => {
                // A host is in one server, and its link there is one.
                let within =
                    |host: u32| net.ports(host).iter().filter(|port| net.is_scale_up(port.peer)).count();
                [link.a, link.b].into_iter().any(|end| !net.is_switch(end) && within(end) == 1)
            }
            (Some(a), Some(b)) => a.abs_diff(b) == 1,
            (a, b) => a == b,
        };
        if !net.links().iter().all(steps) {
            return None;
        }
        let mut order: Vec<u32> =
            (0..net.nodes().len() as u32).filter(|node| tier[*node as usize].is_some()).collect();
        order.sort_by_key(|node| tier[*node as usize]);
        let sets = (0..net.hosts().len() as u32).map(|host| vec![(host, 1)]).collect();
        let mut tree = Self { tier, below: vec![0; net.nodes().len()], sets };
        (tree.look_down(net, &order)? && tree.is_alike(net, &order)).then_some(tree)
    }

    /// Finds the hosts below all nodes, from the lowest tier up; `None`, or false: those below two ports are not the same, and not
    /// apart.
    fn look_down(&mut self, net: &Network, order: &[u32]) -> Option<bool> {
        let mut known = BTreeMap::<Vec<u32>, u32>::new();
        let (mut tier, mut stretches) = (0, 0);
        for &node in order {
            if let Some(host) = net.host_index(node) {
                self.below[node as usize] = host;
                continue;
            }
            let mut parts: Vec<u32> =
                self.towards(net, node, false).map(|port| self.below[port as usize]).collect();
            parts.sort_unstable();
            parts.dedup();
            if std::mem::replace(&mut tier, self.tier[node as usize]?) != tier {
                stretches = 0;
            }
            self.below[node as usize] = match (parts.as_slice(), known.get(&parts)) {
                ([one], _) => *one,
                (_, Some(set)) => *set,
                _ => {
                    let hosts = union(parts.iter().flat_map(|part| &self.sets[*part as usize]))?;
                    // Those of a tier are apart, too, or some switches are not alike.
                    stretches += if net.is_scale_up(node) { 0 } else { hosts.len() };
                    if stretches > net.hosts().len() {
                        return None;
                    }
                    self.sets.push(hosts);
                    known.insert(parts, self.sets.len() as u32 - 1);
                    self.sets.len() as u32 - 1
                }
            };
        }
        Some(true)
    }

    /// Whether all switches above each are alike, seen from the highest tier down.
    fn is_alike(&self, net: &Network, order: &[u32]) -> bool {
        let mut class = vec![0u32; net.nodes().len()];
        let mut known = BTreeMap::new();
        for &node in order.iter().rev() {
            let mut above = self.towards(net, node, true).map(|peer| class[peer as usize]);
            let first = above.next();
            if above.any(|other| Some(other) != first) {
                return false;
            }
            let next = known.len() as u32;
            let key = (self.tier[node as usize], self.below[node as usize], first);
            class[node as usize] = *known.entry(key).or_insert(next);
        }
        true
    }

    /// The nodes behind the ports that lead up, or down.
    fn towards<'a>(&'a self, net: &'a Network, node: u32, up: bool) -> impl Iterator<Item = u32> + 'a {
        let own = self.tier[node as usize];
        let peers = net.ports(node).iter().map(|port| port.peer).filter(|peer| !net.is_scale_up(*peer));
        peers.filter(move |peer| (self.tier[*peer as usize] > own) == up)
    }

    /// Whom a node does not reach as it reaches all others: a switch those below it, a host those of its server.
    fn near(&self, net: &Network, node: u32) -> &[(u32, u32)] {
        self.hosts(net.server_of(node).unwrap_or(node))
    }

    /// The hosts below a switch.
    fn hosts(&self, switch: u32) -> &[(u32, u32)] {
        if self.tier[switch as usize].is_some() {
            &self.sets[self.below[switch as usize] as usize]
        } else {
            &[]
        }
    }

    /// Where the ports of a switch lead.
    fn ways(&self, net: &Network, switch: u32, modulo: Option<&(Vec<u64>, bool)>) -> Ways {
        let own = self.tier[switch as usize];
        let (mut up, mut down) = (Vec::new(), BTreeMap::<u32, Vec<u16>>::new());
        for (number, port) in (0..).zip(net.ports(switch)).filter(|_| own.is_some()) {
            if self.tier[port.peer as usize] > own && !net.is_scale_up(port.peer) {
                up.push(number);
            } else {
                down.entry(self.below[port.peer as usize]).or_default().push(number);
            }
        }
        let turns = modulo.map(|(divisors, parallel)| {
            let all: Vec<u16> = (0..net.ports(switch).len() as u16).collect();
            (divisors[switch as usize], if *parallel { by_neighbour(net, switch, &all) } else { Vec::new() })
        });
        Ways { up, down: down.into_iter().collect(), turns }
    }
}

/// The hosts of sets that are apart; `None`: some are not.
fn union<'a>(parts: impl Iterator<Item = &'a (u32, u32)>) -> Option<Hosts> {
    let mut parts: Hosts = parts.copied().collect();
    parts.sort_unstable();
    let mut all: Hosts = Vec::new();
    for (first, count) in parts {
        match all.last_mut() {
            Some((begin, length)) if *begin + *length > first => return None,
            Some((begin, length)) if *begin + *length == first => *length += count,
            _ => all.push((first, count)),
        }
    }
    all.shrink_to_fit();
    Some(all)
}

/// Where the ports of a switch lead: switches with the same say the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ways {
    /// Ports that lead up.
    up: Vec<u16>,
    /// The ports to each set of hosts below.
    down: Vec<(u32, Vec<u16>)>,
    /// If one port is chosen by the host: the divisor, and all ports by neighbour if some have several.
    turns: Option<(u64, Vec<Vec<u16>>)>,
}

impl Ways {
    /// The cells of hosts behind a group of ports.
    fn cells<'a>(
        &self,
        ports: &[u16],
        table: &mut TableBuilder,
    ) -> Result<Box<dyn Fn(u32) -> Cell + 'a>, RouteError> {
        match &self.turns {
            Some((divisor, links)) if ports.len() > 1 => {
                let links = links
                    .iter()
                    .map(|links| links.iter().copied().filter(|port| ports.contains(port)).collect());
                let links: Vec<Vec<u16>> = links.filter(|links: &Vec<u16>| !links.is_empty()).collect();
                let (divisor, ports) = (*divisor, ports.to_vec());
                Ok(Box::new(move |host| Cell::direct(turn_of(&ports, &links, u64::from(host) / divisor))))
            }
            _ => {
                let cell = table.cell(ports)?;
                Ok(Box::new(move |_| cell))
            }
        }
    }

    /// What leads to the hosts that are not below.
    fn far(&self, table: &mut TableBuilder) -> Result<Cells, RouteError> {
        if self.turns.is_none() || self.up.len() < 2 {
            return Ok(Cells::One(table.cell(&self.up)?));
        }
        let cells: Vec<Cell> = (0..table.hosts()).map(self.cells(&self.up, table)?).collect();
        Ok(table.list(&cells))
    }

    /// What leads to those below, and to what is between them.
    fn near(
        &self,
        tree: &Tree,
        hosts: &[(u32, u32)],
        far: Cells,
        table: &mut TableBuilder,
    ) -> Result<Option<Span>, RouteError> {
        let [(first, _), ..] = *hosts else { return Ok(None) };
        let (last, length) = hosts[hosts.len() - 1];
        let mut cells: Vec<Cell> = (first..last + length).map(|host| table.at(far, host)).collect();
        for (set, ports) in &self.down {
            let cell = self.cells(ports, table)?;
            for host in tree.sets[*set as usize].iter().flat_map(|(begin, count)| *begin..*begin + *count) {
                cells[(host - first) as usize] = cell(host);
            }
        }
        Ok(Some(Span { first, count: cells.len() as u32, cells: table.list(&cells) }))
    }
}
