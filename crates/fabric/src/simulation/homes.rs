//! Which nodes should run on one thread: those that share many links.
use backwater_engine::Home;
use backwater_topology::Network;

/// For one thread that runs all.
pub(super) fn any(network: &Network) -> Vec<Home> {
    vec![Home { group: None, work: 1 }; network.nodes().len()]
}

/// A rack, which is a switch with its hosts, is a group. The racks of a pod are neighbours, and the switches between them, which are in
/// no rack, are spread over its racks. Pods are what is left of the network without its top tier, whose switches are free. Each node has
/// as much work as links, until that is measured.
pub(super) fn homes(network: &Network) -> Vec<Home> {
    let count = network.nodes().len();
    let tier = |node: u32| network.place(node).tier.max(u8::from(network.is_switch(node)));
    let top = (0..count as u32).map(tier).max().unwrap_or(1);
    let mut parts = (1..=top).rev().map(|tiers| (tiers, Parts::up_to(network, |node| tier(node) <= tiers)));
    let several = parts.find(|(_, parts)| parts.are_several(network.hosts()));
    let (tiers, pods) = several.unwrap_or_else(|| (top, Parts::up_to(network, |_| true)));

    // The switch of each rack, in order: of a server the one within it, as most of what its hosts send stays there.
    let rack_of = |host: u32| network.server_of(host).unwrap_or_else(|| network.ports(host)[0].peer);
    let mut racks: Vec<u32> = network.hosts().iter().map(|host| rack_of(*host)).collect();
    racks.sort_unstable();
    racks.dedup();
    racks.sort_by_key(|rack| (pods.of(*rack), network.place(*rack).group, *rack));
    let mut group_of: Vec<Option<u32>> = vec![None; count];
    for (group, rack) in (0..).zip(&racks) {
        group_of[*rack as usize] = Some(group);
    }
    for host in network.hosts() {
        group_of[*host as usize] = group_of[rack_of(*host) as usize];
    }
    let is_between = |node: &u32| group_of[*node as usize].is_none() && tier(*node) <= tiers;
    let mut between: Vec<u32> = (0..count as u32).filter(is_between).collect();
    between.sort_by_key(|node| (pods.of(*node), *node));
    for pod in between.chunk_by(|a, b| pods.of(*a) == pods.of(*b)) {
        let first = racks.partition_point(|rack| pods.of(*rack) < pods.of(pod[0]));
        let here = racks[first..].iter().take_while(|rack| pods.of(**rack) == pods.of(pod[0])).count();
        for (rank, node) in pod.iter().enumerate().filter(|_| here > 0) {
            group_of[*node as usize] = Some((first + rank * here / pod.len()) as u32);
        }
    }
    let work = |node: u32| network.ports(node).len() as u32;
    (0..).zip(group_of).map(|(node, group)| Home { group, work: work(node) }).collect()
}

/// The parts that a network falls into if only some nodes are there: for each of these a node of its part, the same for all.
struct Parts(Vec<u32>);

impl Parts {
    fn up_to(network: &Network, is_there: impl Fn(u32) -> bool) -> Self {
        let mut parts = Self((0..network.nodes().len() as u32).collect());
        for node in (0..network.nodes().len() as u32).filter(|node| is_there(*node)) {
            for port in network.ports(node).iter().filter(|port| port.peer < node && is_there(port.peer)) {
                let (a, b) = (parts.of(node), parts.of(port.peer));
                parts.0[a.max(b) as usize] = a.min(b);
                // Shorter ways for the next who ask.
                (parts.0[node as usize], parts.0[port.peer as usize]) = (a.min(b), a.min(b));
            }
        }
        parts
    }

    /// The part of a node: the smallest number in it.
    fn of(&self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            node = self.0[node as usize];
        }
        node
    }

    /// Whether hosts are in more than one part.
    fn are_several(&self, hosts: &[u32]) -> bool {
        hosts.iter().any(|host| self.of(*host) != self.of(hosts[0]))
    }
}
