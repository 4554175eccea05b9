//! What one wants to know of a network before anything runs in it: distances, bisection, oversubscription.
use std::collections::{BTreeMap, VecDeque};

use backwater_units::Rate;

use crate::routes::{distances, hosts_by_attachment};
use crate::{Network, Port, Routes, Structure, tree};

/// Links between the two hosts that are furthest apart, whatever the routes: the diameter of the graph between hosts. 0 with
/// one host.
pub fn diameter(net: &Network) -> u32 {
    if let Some(most) = tree::farthest(net, |_| 1) {
        return most as u32;
    }
    let attachments = hosts_by_attachment(net);
    let of = |(from, hosts): (&Vec<u32>, &Vec<u32>)| {
        let distance = distances(net, from);
        // Hosts at the same switches; those that are joined without one are at each other.
        let near = |to: &[u32]| to.iter().filter_map(|to| Some(distance[*to as usize]? + 2)).min();
        let direct = |host: u32| from.contains(&net.hosts()[host as usize]).then_some(1);
        let far = attachments.iter().filter(|(to, _)| *to != from);
        let far = far.flat_map(|(to, others)| others.iter().map(move |other| direct(*other).or(near(to))));
        far.flatten().chain((hosts.len() > 1).then_some(2)).max().unwrap_or(0)
    };
    attachments.iter().map(of).max().unwrap_or(0)
}

/// The most that the links of a way between two hosts cost together, of all ways that the routes allow; 0 with one host.
pub fn farthest(net: &Network, routes: &Routes, cost: impl Fn(&Port) -> u64) -> u64 {
    if routes.takes_every_port_up()
        && let Some(most) = tree::farthest(net, &cost)
    {
        return most;
    }
    let attachments = hosts_by_attachment(net);
    let nic = |host: u32| net.nics(host).iter().map(&cost).max().unwrap_or(0);
    let mut most = 0;
    for hosts in attachments.values() {
        // Of the hosts at one switch the one with the longest link is farthest from all others; those with several ports are in as many places.
        let (one, several): (Vec<u32>, Vec<u32>) = hosts.iter().partition(|host| net.nics(**host).len() == 1);
        for destination in one.into_iter().max_by_key(|host| nic(*host)).into_iter().chain(several) {
            let mut known = vec![None; net.nodes().len()];
            known[net.hosts()[destination as usize] as usize] = Some(0);
            for sources in attachments.values() {
                let sources = sources.iter().filter(|host| **host != destination);
                // The same of those with one port: which of them takes longest to its switch. Others have ports of their own.
                let (one, several): (Vec<u32>, Vec<u32>) =
                    sources.partition(|host| net.nics(**host).len() == 1);
                for host in one.into_iter().max_by_key(|host| nic(*host)).into_iter().chain(several) {
                    let from = (net.hosts()[host as usize], destination);
                    most = most.max(longest_way(net, routes, from, &mut known, &cost));
                }
            }
        }
    }
    most
}

/// What the costliest way from a node to a host costs; `known` by node.
fn longest_way(
    net: &Network,
    routes: &Routes,
    (node, destination): (u32, u32),
    known: &mut [Option<u64>],
    cost: &impl Fn(&Port) -> u64,
) -> u64 {
    if let Some(known) = known[node as usize] {
        return known;
    }
    let mut most = 0;
    for &number in routes.next_ports(node, destination) {
        let port = &net.ports(node)[usize::from(number)];
        most = most.max(cost(port) + longest_way(net, routes, (port.peer, destination), known, cost));
    }
    known[node as usize] = Some(most);
    most
}

/// How much of a network's capacity lies between its halves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// What one half of the hosts can send to the other at once: the maximum flow, which is the least cut.
    pub rate: Rate,
    /// What the hosts of the half can send at most.
    pub hosts: Rate,
    /// The halves: by the numbers of the hosts, or by a dimension of a grid.
    pub by: Partition,
}

/// Two halves of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// The first ⌊n / 2⌋ hosts, and the others.
    Order,
    /// Along this dimension of a grid, which has an even size.
    Dimension(u8),
}

/// The bisection: of the halves by the order of the hosts and, in a grid, along each dimension of even size, those with the
/// least maximum flow between them. The true bisection is the least over all halves, which nobody can compute for a large
/// network (Garey, Johnson and Stockmeyer, 1976); for the symmetric networks of the generators these are the known ones.
pub fn bisection(net: &Network) -> Bisection {
    let hosts = net.hosts().len();
    let mut ways = vec![(Partition::Order, (0..hosts).map(|host| host < hosts / 2).collect::<Vec<bool>>())];
    if let Structure::Grid { sizes, .. } = net.structure() {
        for (axis, &size) in sizes.iter().enumerate().filter(|(_, size)| size.is_multiple_of(2)) {
            let low = |host: &u32| net.place(*host).at[axis] < size / 2;
            ways.push((Partition::Dimension(axis as u8), net.hosts().iter().map(low).collect()));
        }
    }
    let each = ways.into_iter().map(|(by, first)| {
        let is_first = |node: u32| net.host_index(node).map(|host| first[host as usize]);
        // A switch within a server leads to the other half only where that server is in both.
        let leads = |port: &Port, host: u32| {
            let others = || net.ports(port.peer).iter().any(|other| is_first(other.peer) != is_first(host));
            !net.is_scale_up(port.peer) || others()
        };
        let nic = |(host, _): (&u32, _)| {
            let ports = net.ports(*host).iter().filter(|port| leads(port, *host));
            ports.map(|nic| nic.rate.as_bps()).sum::<u64>()
        };
        let own = net.hosts().iter().zip(&first).filter(|(_, first)| **first).map(nic).sum();
        Bisection { rate: Rate::from_bps(Flow::new(net, &first).most()), hosts: Rate::from_bps(own), by }
    });
    each.min_by_key(|bisection| bisection.rate).unwrap_or(Bisection {
        rate: Rate::ZERO,
        hosts: Rate::ZERO,
        by: Partition::Order,
    })
}

/// Capacity down over capacity up of the switches of each tier that have links both ways: (tier, the greatest), the lowest first.
pub fn oversubscription(net: &Network) -> Vec<(u8, f64)> {
    let mut tiers: BTreeMap<u8, f64> = BTreeMap::new();
    for node in (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node)) {
        let tier = net.place(node).tier;
        let sum = |wanted: &dyn Fn(u8) -> bool| -> u64 {
            let ports = net.ports(node).iter().filter(|port| wanted(net.place(port.peer).tier));
            ports.map(|port| port.rate.as_bps()).sum()
        };
        let (down, up) = (sum(&|other| other < tier), sum(&|other| other > tier));
        if down > 0 && up > 0 {
            let ratio = tiers.entry(tier).or_default();
            *ratio = ratio.max(down as f64 / up as f64);
        }
    }
    tiers.into_iter().collect()
}

/// Maximum flow between two sets of hosts (Dinitz, 1970), in bit/s.
struct Flow<'a> {
    net: &'a Network,
    /// Hosts of the first set are sources, the others sinks: by node; `None`: a switch.
    source: Vec<Option<bool>>,
    /// What each port can still take.
    left: Vec<u64>,
    level: Vec<u32>,
    /// The next port to try, by node.
    next: Vec<u16>,
}

impl<'a> Flow<'a> {
    fn new(net: &'a Network, first: &[bool]) -> Self {
        let count = net.nodes().len();
        let mut source = vec![None; count];
        for (&host, &first) in net.hosts().iter().zip(first) {
            source[host as usize] = Some(first);
        }
        let ports = (0..count as u32).flat_map(|node| net.ports(node));
        let left = ports.map(|port| port.rate.as_bps()).collect();
        Self { net, source, left, level: vec![u32::MAX; count], next: vec![0; count] }
    }

    fn sources(&self) -> Vec<u32> {
        let hosts = self.net.hosts().iter().copied();
        hosts.filter(|host| self.source[*host as usize] == Some(true)).collect()
    }

    fn most(mut self) -> u64 {
        let (sources, mut sum) = (self.sources(), 0);
        while self.rank(&sources) {
            self.next.fill(0);
            for &source in &sources {
                sum += self.block(source);
            }
        }
        sum
    }

    /// Numbers the nodes by their distance from the sources where something is left; whether a sink is among them.
    fn rank(&mut self, sources: &[u32]) -> bool {
        self.level.fill(u32::MAX);
        let mut queue: VecDeque<u32> = sources.iter().copied().collect();
        for source in sources {
            self.level[*source as usize] = 0;
        }
        let mut found = false;
        while let Some(node) = queue.pop_front() {
            found |= self.source[node as usize] == Some(false);
            for (number, port) in (0..).zip(self.net.ports(node)) {
                let id = self.net.port_id(node, number) as usize;
                if self.left[id] > 0 && self.level[port.peer as usize] == u32::MAX {
                    self.level[port.peer as usize] = self.level[node as usize] + 1;
                    queue.push_back(port.peer);
                }
            }
        }
        found
    }

    /// Sends what can be sent from one source along ranks.
    fn block(&mut self, source: u32) -> u64 {
        let (mut path, mut node, mut sum): (Vec<(u32, u16)>, u32, u64) = (Vec::new(), source, 0);
        loop {
            if self.source[node as usize] == Some(false) {
                sum += self.push(&path);
                (path, node) = (Vec::new(), source);
                continue;
            }
            let number = self.next[node as usize];
            if let Some(port) = self.net.ports(node).get(usize::from(number)) {
                let open = self.left[self.net.port_id(node, number) as usize] > 0;
                if open && self.level[port.peer as usize] == self.level[node as usize] + 1 {
                    path.push((node, number));
                    node = port.peer;
                } else {
                    self.next[node as usize] += 1;
                }
            } else if let Some((before, _)) = path.pop() {
                node = before;
                self.next[node as usize] += 1;
            } else {
                return sum;
            }
        }
    }

    fn push(&mut self, path: &[(u32, u16)]) -> u64 {
        let id = |(node, number): &(u32, u16)| self.net.port_id(*node, *number) as usize;
        let least = path.iter().map(|step| self.left[id(step)]).min().unwrap_or(0);
        for (node, number) in path {
            let port = self.net.ports(*node)[usize::from(*number)];
            self.left[self.net.port_id(*node, *number) as usize] -= least;
            self.left[self.net.port_id(port.peer, port.peer_port) as usize] += least;
        }
        least
    }
}
