//! Routes that follow links as these go down and come up: only what a link changes is computed again.
//!
//! To each destination a switch keeps its distance as long as one of its ways stays up: then its group alone changes. Else it is further
//! away, and so are the switches all of whose ways led over it. These alone are measured anew, from those around them (Ramalingam and
//! Reps, An incremental algorithm for a generalization of the shortest-path problem, Journal of Algorithms 21, 1996).
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::Range;

use crate::routes::{by_neighbour, divisors, hosts_by_attachment, turn_of};
use crate::{Network, RouteError, Routes, Routing};

/// The distance where there is no way.
const NOWHERE: u16 = u16::MAX;

/// New ways of switches to hosts, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    runs: Vec<Run>,
    start: Vec<u32>,
    ports: Vec<u16>,
}

/// Hosts `from..until` are reached by this group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    from: u32,
    until: u32,
    group: u16,
}

impl Ways {
    /// Some of them: host indices, and the ports by which these are reached from then on.
    pub fn of(&self, some: Range<u32>) -> impl Iterator<Item = (Range<u32>, &[u16])> {
        let runs = &self.runs[some.start as usize..some.end as usize];
        runs.iter().map(|run| (run.from..run.until, group_of(&self.start, &self.ports, run.group)))
    }

    /// Their memory in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Run>() * self.runs.len() + 4 * self.start.len() + 2 * self.ports.len()
    }
}

/// A switch gets new ways: these of [`Ways`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerouted {
    /// Node index; a host with several ports has ways, too.
    pub switch: u32,
    /// Which of [`Ways`].
    pub ways: Range<u32>,
}

/// Routes, and which links are down.
///
/// Where hosts have several ports, a link that goes down leaves its host at other switches. There all routes are computed again, and those
/// that differ are new.
#[derive(Debug)]
pub struct Reroutes<'a> {
    net: &'a Network,
    /// By what all routes are computed again.
    whole: Option<Routing>,
    /// Only [`Routing::DModK`] asks for these.
    divisors: Option<Vec<u64>>,
    parallel: bool,
    /// Row of the table by node; hosts with one port have none.
    row: Vec<Option<u32>>,
    /// Node by row.
    switches: Vec<u32>,
    /// Links of each row to other ones, by port.
    links: Vec<Vec<ToSwitch>>,
    destinations: Vec<Destination>,
    /// Which destination a row is.
    destination: Vec<Option<u32>>,
    /// Of destination d and row r: d × rows + r.
    distance: Vec<u16>,
    down: Vec<bool>,
    table: Now,
    /// Rows and destinations between which ways may have changed.
    touched: Vec<(u32, u32)>,
    found: Found,
}

/// What all switches say now: the number of a group by row and host.
#[derive(Debug)]
struct Now {
    hosts: usize,
    cells: Vec<u16>,
    /// Group g: `ports[start[g]..start[g + 1]]`.
    start: Vec<u32>,
    ports: Vec<u16>,
    ids: BTreeMap<Vec<u16>, u16>,
}

impl Now {
    fn new(net: &Network, routes: &Routes, switches: &[u32]) -> Result<Self, RouteError> {
        let hosts = net.hosts().len();
        let cells = Vec::with_capacity(switches.len() * hosts);
        let mut now = Self { hosts, cells, start: vec![0], ports: Vec::new(), ids: BTreeMap::new() };
        for &switch in switches {
            // Neighbours have the same ports more often than not.
            let mut last: Option<(&[u16], u16)> = None;
            for host in 0..hosts as u32 {
                let ports = routes.next_ports(switch, host);
                let id = match last {
                    Some((same, id)) if same == ports => id,
                    _ => now.intern(ports)?,
                };
                last = Some((ports, id));
                now.cells.push(id);
            }
        }
        Ok(now)
    }

    /// The number of a group.
    fn intern(&mut self, group: &[u16]) -> Result<u16, RouteError> {
        if let Some(&id) = self.ids.get(group) {
            return Ok(id);
        }
        let id = u16::try_from(self.ids.len()).map_err(|_| RouteError::TooManyGroups)?;
        self.ports.extend_from_slice(group);
        self.start.push(self.ports.len() as u32);
        self.ids.insert(group.to_vec(), id);
        Ok(id)
    }

    /// From switch `row`, this group leads to a host; returns the one that has led there.
    fn replace(&mut self, row: u32, host: u32, id: u16) -> u16 {
        std::mem::replace(&mut self.cells[row as usize * self.hosts + host as usize], id)
    }
}

/// Group g: `ports[start[g]..start[g + 1]]`.
fn group_of<'a>(start: &[u32], ports: &'a [u16], group: u16) -> &'a [u16] {
    let group = usize::from(group);
    &ports[start[group] as usize..start[group + 1] as usize]
}

/// What is known of states of the links, and how one becomes another.
#[derive(Debug, Default)]
struct Found {
    links: LinkSet,
    /// By the two states: which switches get new ways.
    known: BTreeMap<(u64, u64), Range<usize>>,
    rerouted: Vec<Rerouted>,
    runs: Vec<Run>,
    /// Links that have changed since the table was in step: a state that is known needs no table.
    behind: BTreeSet<u32>,
    computed: u64,
}

/// A link from one switch to another.
#[derive(Clone, Copy, Debug)]
struct ToSwitch {
    port: u16,
    row: u32,
    link: u32,
}

/// A switch with hosts.
#[derive(Clone, Debug)]
struct Destination {
    row: u32,
    hosts: Vec<u32>,
}

impl<'a> Reroutes<'a> {
    /// `routes` are those with all links up.
    ///
    /// # Errors
    /// [`RouteError::Structure`] of routings that go by the place of a switch and not by distances.
    pub fn new(net: &'a Network, routing: Routing, routes: &Routes) -> Result<Self, RouteError> {
        if let Some(routing) = routing.by_place() {
            return Err(RouteError::Structure { routing, wanted: "a network whose links are all up" });
        }
        let switches: Vec<u32> = (0..net.nodes().len() as u32).filter(|node| net.has_table(*node)).collect();
        let mut row = vec![None; net.nodes().len()];
        for (number, switch) in (0..).zip(&switches) {
            row[*switch as usize] = Some(number);
        }
        let table = Now::new(net, routes, &switches)?;
        let mut links = Vec::new();
        for &node in &switches {
            let ports = (0..).zip(net.ports(node));
            let to_switch = ports.filter_map(|(port, to)| {
                row[to.peer as usize].map(|row| ToSwitch { port, row, link: to.link })
            });
            links.push(to_switch.collect::<Vec<_>>());
        }
        let whole = net.with_several_ports().map(|_| routing);
        let with_hosts = hosts_by_attachment(net).into_iter().filter(|_| whole.is_none());
        let destinations: Vec<Destination> = with_hosts
            .filter_map(|(at, hosts)| row[at[0] as usize].map(|row| Destination { row, hosts }))
            .collect();
        let mut destination = vec![None; links.len()];
        for (number, it) in (0..).zip(&destinations) {
            destination[it.row as usize] = Some(number);
        }
        let distance = destinations.iter().flat_map(|to| distances(&links, to.row)).collect();
        Ok(Self {
            net,
            whole,
            divisors: (routing == Routing::DModK).then(|| divisors(net)),
            parallel: net.has_parallel_links(),
            row,
            switches,
            links,
            destinations,
            destination,
            distance,
            down: vec![false; net.links().len()],
            table,
            touched: Vec::new(),
            found: Found { links: LinkSet::new(net.links().len()), ..Found::default() },
        })
    }

    /// Memory in bytes of what is kept to compute routes again.
    pub fn table_memory(net: &Network) -> usize {
        let hosts = net.hosts().len();
        let switches = (0..net.nodes().len() as u32).filter(|node| net.has_table(*node)).count();
        size_of::<u16>() * switches * (hosts + hosts_by_attachment(net).len())
    }

    /// Links go down that were up, and come up that were down. Which switches get new ways.
    ///
    /// # Errors
    /// [`RouteError::TooManyGroups`].
    pub fn toggle(&mut self, links: &[u32]) -> Result<&[Rerouted], RouteError> {
        let before = self.found.links.state();
        for link in links {
            self.found.links.toggle(*link);
        }
        let states = (before, self.found.links.state());
        if let Some(known) = self.found.known.get(&states) {
            for link in links {
                if !self.found.behind.remove(link) {
                    self.found.behind.insert(*link);
                }
            }
            return Ok(&self.found.rerouted[known.clone()]);
        }
        let first = self.found.rerouted.len();
        if !self.found.behind.is_empty() {
            let runs = self.found.runs.len();
            for link in std::mem::take(&mut self.found.behind) {
                self.change(link);
            }
            self.settle()?;
            self.found.rerouted.truncate(first);
            self.found.runs.truncate(runs);
        }
        for link in links {
            self.change(*link);
        }
        self.settle()?;
        let new = first..self.found.rerouted.len();
        self.found.known.insert(states, new.clone());
        Ok(&self.found.rerouted[new])
    }

    /// The ways that switches got.
    pub fn ways(self) -> Ways {
        Ways { runs: self.found.runs, start: self.table.start, ports: self.table.ports }
    }

    /// Memory of the ways in bytes.
    pub fn memory(&self) -> usize {
        let Found { runs, rerouted, .. } = &self.found;
        size_of::<Run>() * runs.len() + size_of::<Rerouted>() * rerouted.len()
    }

    /// Of how many pairs of a switch and a destination ways have been computed again.
    pub fn computed(&self) -> u64 {
        self.found.computed
    }

    fn at(&self, destination: u32, row: u32) -> usize {
        destination as usize * self.links.len() + row as usize
    }

    /// Links of a row that are up, and how far their ends are.
    fn up(&self, destination: u32, row: u32) -> impl Iterator<Item = (ToSwitch, u16)> {
        let up = self.links[row as usize].iter().filter(|to| !self.down[to.link as usize]);
        up.map(move |to| (*to, self.distance[self.at(destination, to.row)]))
    }

    /// The ports of a row on shortest ways to a destination.
    fn ports(&self, destination: u32, row: u32) -> impl Iterator<Item = u16> {
        let distance = self.distance[self.at(destination, row)];
        let nearer = move |near: u16| distance != NOWHERE && near.checked_add(1) == Some(distance);
        self.up(destination, row).filter(move |(_, near)| nearer(*near)).map(|(to, _)| to.port)
    }

    /// A link goes down, or comes up.
    fn change(&mut self, link: u32) {
        let down = &mut self.down[link as usize];
        *down = !*down;
        let down = *down;
        if self.whole.is_some() {
            return;
        }
        let ends = &self.net.links()[link as usize];
        let [a, b] = [ends.a, ends.b].map(|node| self.row[node as usize]);
        let (Some(a), Some(b)) = (a, b) else {
            // A host's: its switch alone knows of it.
            let own = a.or(b).and_then(|row| Some((row, self.destination[row as usize]?)));
            self.touched.extend(own);
            return;
        };
        for destination in 0..self.destinations.len() as u32 {
            let [to_a, to_b] = [a, b].map(|row| self.distance[self.at(destination, row)]);
            let (far, near) = if to_a > to_b { (a, to_b) } else { (b, to_a) };
            match (to_a == to_b, down) {
                (true, _) => {}
                (false, true) => self.lose(destination, far),
                (false, false) => self.gain(destination, far, near + 1),
            }
        }
    }

    /// A way of a row to a destination is down.
    fn lose(&mut self, destination: u32, row: u32) {
        self.touched.push((row, destination));
        let lost = |this: &Self, row: u32, distance: u16| {
            this.up(destination, row).all(|(_, near)| near != distance - 1)
        };
        let old = self.distance[self.at(destination, row)];
        if !lost(self, row, old) {
            return;
        }
        // Those that have lost all their ways, nearest first.
        let mut further = vec![(row, old)];
        let at = self.at(destination, row);
        self.distance[at] = NOWHERE;
        let mut next = 0;
        while let Some(&(row, distance)) = further.get(next) {
            next += 1;
            for to in 0..self.links[row as usize].len() {
                let to = self.links[row as usize][to].row;
                let at = self.at(destination, to);
                if self.distance[at] == distance + 1 && lost(self, to, distance + 1) {
                    self.distance[at] = NOWHERE;
                    further.push((to, distance + 1));
                }
            }
        }
        // They are measured from those around them.
        let nearest = |this: &Self, row| {
            let up = this.up(destination, row).filter(|(_, near)| *near != NOWHERE);
            up.map(|(_, near)| near + 1).min()
        };
        let found = further.iter().filter_map(|(row, _)| Some(Reverse((nearest(self, *row)?, *row))));
        let mut found: BinaryHeap<_> = found.collect();
        while let Some(Reverse((distance, row))) = found.pop() {
            let at = self.at(destination, row);
            if self.distance[at] == NOWHERE {
                self.distance[at] = distance;
                let up = self.up(destination, row).filter(|(_, near)| *near == NOWHERE);
                found.extend(up.map(|(to, _)| Reverse((distance + 1, to.row))));
            }
        }
        for (row, _) in further {
            self.touch_around(destination, row);
        }
    }

    /// A row has a way to a destination again, of this length.
    fn gain(&mut self, destination: u32, row: u32, distance: u16) {
        self.touched.push((row, destination));
        let at = self.at(destination, row);
        if self.distance[at] == distance {
            return;
        }
        self.distance[at] = distance;
        let mut nearer = VecDeque::from([row]);
        while let Some(row) = nearer.pop_front() {
            let next = self.distance[self.at(destination, row)] + 1;
            for to in 0..self.links[row as usize].len() {
                let ToSwitch { row: to, link, .. } = self.links[row as usize][to];
                let at = self.at(destination, to);
                if self.distance[at] > next && !self.down[link as usize] {
                    self.distance[at] = next;
                    nearer.push_back(to);
                }
            }
            self.touch_around(destination, row);
        }
    }

    /// The distance of a row has changed.
    fn touch_around(&mut self, destination: u32, row: u32) {
        self.touched.push((row, destination));
        self.touched.extend(self.links[row as usize].iter().map(|to| (to.row, destination)));
    }

    /// Computes the ways anew between whom they may have changed.
    fn settle(&mut self) -> Result<(), RouteError> {
        if let Some(routing) = self.whole {
            return self.compare(&Routes::without(self.net, routing, &self.down)?);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        self.found.computed += touched.len() as u64;
        // Switches use the same ports for many destinations.
        let (mut group, mut last) = (Vec::new(), None);
        for of_row in touched.chunk_by(|one, other| one.0 == other.0) {
            let first = self.found.runs.len();
            for &(row, destination) in of_row {
                group.clear();
                group.extend(self.ports(destination, row));
                let id = match &last {
                    Some((ports, id)) if *ports == group => *id,
                    _ => self.table.intern(&group)?,
                };
                last = Some((group.clone(), id));
                self.set(row, destination, (&group, id), first)?;
            }
            self.reroute(of_row[0].0, first);
        }
        touched.clear();
        self.touched = touched;
        Ok(())
    }

    /// Takes over the ways that differ.
    fn compare(&mut self, routes: &Routes) -> Result<(), RouteError> {
        for row in 0..self.switches.len() as u32 {
            let first = self.found.runs.len();
            let switch = self.switches[row as usize];
            for host in 0..self.net.hosts().len() as u32 {
                let id = self.table.intern(routes.next_ports(switch, host))?;
                self.put(row, host, id, first);
            }
            self.reroute(row, first);
        }
        Ok(())
    }

    /// A row has new ways if there are runs from `first` on.
    fn reroute(&mut self, row: u32, first: usize) {
        if self.found.runs.len() > first {
            let ways = first as u32..self.found.runs.len() as u32;
            self.found.rerouted.push(Rerouted { switch: self.switches[row as usize], ways });
        }
    }

    /// From a row, this group leads to a host.
    fn put(&mut self, row: u32, host: u32, id: u16, first: usize) {
        if self.table.replace(row, host, id) == id {
            return;
        }
        match self.found.runs[first..].last_mut() {
            Some(run) if run.until == host && run.group == id => run.until += 1,
            _ => self.found.runs.push(Run { from: host, until: host + 1, group: id }),
        }
    }

    /// Writes into the table how a row reaches the hosts of a destination. `first` is the first run of the row.
    fn set(
        &mut self,
        row: u32,
        destination: u32,
        (group, id): (&[u16], u16),
        first: usize,
    ) -> Result<(), RouteError> {
        let Destination { row: own, hosts } = self.destinations[destination as usize].clone();
        let switch = self.switches[row as usize];
        let links = match (&self.divisors, self.parallel) {
            (Some(_), true) => by_neighbour(self.net, switch, group),
            _ => Vec::new(),
        };
        for host in hosts {
            let id = match &self.divisors {
                _ if own == row => {
                    let nic = &self.net.ports(self.net.hosts()[host as usize])[0];
                    let up = !self.down[nic.link as usize];
                    self.table.intern(if up { std::slice::from_ref(&nic.peer_port) } else { &[] })?
                }
                Some(divisors) if !group.is_empty() => {
                    let turn = u64::from(host) / divisors[switch as usize];
                    self.table.intern(&[turn_of(group, &links, turn)])?
                }
                _ => id,
            };
            self.put(row, host, id, first);
        }
        Ok(())
    }
}

/// Links from each row to one of them.
fn distances(links: &[Vec<ToSwitch>], from: u32) -> Vec<u16> {
    let mut distance = vec![NOWHERE; links.len()];
    distance[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(row) = queue.pop_front() {
        let next = distance[row as usize] + 1;
        for to in &links[row as usize] {
            if distance[to.row as usize] == NOWHERE {
                distance[to.row as usize] = next;
                queue.push_back(to.row);
            }
        }
    }
    distance
}

/// A set of links, of which equal ones have the same number, and different ones different numbers: a binary tree in which equal parts are
/// one. Only the parts above a link change with it.
#[derive(Debug, Default)]
struct LinkSet {
    /// A bit per link, 64 in one; above it numbers of pairs, to the one of all.
    levels: Vec<Vec<u64>>,
    /// The number of a pair, by its level.
    pairs: BTreeMap<(usize, u64, u64), u64>,
}

impl LinkSet {
    fn new(links: usize) -> Self {
        let mut levels = vec![vec![0; links.div_ceil(64).max(1)]];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            levels.push(vec![0; last.len().div_ceil(2)]);
        }
        Self { levels, pairs: BTreeMap::new() }
    }

    fn state(&self) -> u64 {
        self.levels[self.levels.len() - 1][0]
    }

    fn toggle(&mut self, link: u32) {
        let mut at = link as usize / 64;
        self.levels[0][at] ^= 1 << (link % 64);
        for level in 1..self.levels.len() {
            at /= 2;
            let below = &self.levels[level - 1];
            let pair = (level, below[2 * at], below.get(2 * at + 1).copied().unwrap_or_default());
            let next = self.pairs.len() as u64 + 1;
            self.levels[level][at] =
                if (pair.1, pair.2) == (0, 0) { 0 } else { *self.pairs.entry(pair).or_insert(next) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_of_links_have_one_number_in_whatever_order_they_came_about() {
        let mut set = LinkSet::new(1000);
        let mut state = |links: &[u32]| {
            for link in links {
                set.toggle(*link);
            }
            set.state()
        };
        assert_eq!(state(&[]), 0);
        let one = state(&[7, 900]);
        let two = state(&[7, 64, 500]);
        assert_ne!(one, two);
        assert_eq!(state(&[500, 7, 64]), one);
        assert_eq!(state(&[7, 900]), 0);
        assert_eq!(state(&[900, 7]), one);
        assert_eq!(state(&[64, 500, 7]), two);
    }
}
