//! The graph: named hosts and switches, full-duplex links, numbered ports.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Rate, Span};

use crate::place::{Place, Structure, places};
use crate::{MAX_HOST_PORTS, MAX_NODES, MAX_PORTS, NotScaleUp, TopologyError};

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends and receives by one or several ports; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Host or switch.
    pub role: Role,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Node index of one end.
    pub a: u32,
    /// Node index of the other end.
    pub b: u32,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
}

/// A port of a node: its egress side sends into the link, its ingress side receives from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Node index at the other end.
    pub peer: u32,
    /// Port number at the other end.
    pub peer_port: u16,
    /// Rate of the link.
    pub rate: Rate,
    /// One-way propagation delay of the link.
    pub delay: Span,
    /// Index of the link.
    pub link: u32,
}

/// A second name for an egress port, such as `P2` of the TCD paper's Figure 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// Node index at which the port is.
    pub from: u32,
    /// Node index to which it leads.
    pub to: u32,
}

/// A graph that has passed every check of [`Network::new`].
///
/// Nodes have indices in the order given. Hosts have, besides, a *host index* that counts hosts only; flows and
/// forwarding tables speak of host indices. The ports of a node are numbered from 0 in the order in which its
/// links stand in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    nodes: Vec<Node>,
    links: Vec<Link>,
    /// Ports of node n: `ports[first_port[n]..first_port[n + 1]]`.
    first_port: Vec<u32>,
    ports: Vec<Port>,
    hosts: Vec<u32>,
    host_index: Vec<Option<u32>>,
    by_name: BTreeMap<String, u32>,
    aliases: BTreeMap<String, (u32, u16)>,
    places: Vec<Place>,
    structure: Structure,
}

/// What a generator knows of a network beyond its graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether several links may join two nodes.
    pub(crate) parallel: bool,
    /// By node index; nodes without one, or beyond the list, are placed by their distance from the hosts.
    pub(crate) places: Vec<Option<Place>>,
    pub(crate) structure: Structure,
}

impl Network {
    /// Checks the graph and numbers the ports.
    ///
    /// # Errors
    /// Unusable or duplicate names, links with missing or equal ends, a second link between the same nodes, rates and
    /// delays out of range, more than [`MAX_NODES`] or [`MAX_PORTS`], hosts without a link or with more than [`MAX_HOST_PORTS`],
    /// no host at all, aliases of no port. Reachability is checked by [`crate::Routes::new`].
    pub fn new(nodes: Vec<Node>, links: Vec<Link>, aliases: Vec<Alias>) -> Result<Self, TopologyError> {
        Self::checked(nodes, links, aliases, Known::default())
    }

    /// [`Network::new`] of what a generator knows.
    pub(crate) fn checked(
        nodes: Vec<Node>,
        links: Vec<Link>,
        aliases: Vec<Alias>,
        known: Known,
    ) -> Result<Self, TopologyError> {
        if nodes.len() > MAX_NODES {
            return Err(TopologyError::TooManyNodes { nodes: nodes.len() as u64 });
        }
        let by_name = names(&nodes)?;
        check_links(&nodes, &links, known.parallel)?;
        let (first_port, ports) = number_ports(&nodes, &links)?;
        let hosts: Vec<u32> =
            (0..nodes.len() as u32).filter(|&n| nodes[n as usize].role == Role::Host).collect();
        if hosts.is_empty() {
            return Err(TopologyError::NoHosts);
        }
        let mut host_index = vec![None; nodes.len()];
        for (index, &node) in hosts.iter().enumerate() {
            host_index[node as usize] = Some(index as u32);
        }
        let (aliased, structure) = (BTreeMap::new(), known.structure);
        let mut network = Self {
            nodes,
            links,
            first_port,
            ports,
            hosts,
            host_index,
            by_name,
            aliases: aliased,
            places: Vec::new(),
            structure,
        };
        for &host in &network.hosts {
            let ports = network.ports(host);
            if !(1..=MAX_HOST_PORTS).contains(&ports.len()) {
                let host = network.name(host).to_owned();
                let link = ports.get(MAX_HOST_PORTS).map(|port| port.link as usize);
                return Err(TopologyError::HostPorts { host, ports: ports.len(), link });
            }
        }
        for alias in aliases {
            network.add_alias(alias)?;
        }
        network.places = places(&network, known.places);
        Ok(network)
    }

    fn add_alias(&mut self, alias: Alias) -> Result<(), TopologyError> {
        let Alias { name, from, to } = alias;
        let known = (from as usize) < self.nodes.len();
        let Some(port) = known.then(|| self.port_to(from, to)).flatten() else {
            return Err(TopologyError::Alias { alias: name, from, to });
        };
        if self.aliases.contains_key(&name) {
            return Err(TopologyError::DuplicateAlias { alias: name });
        }
        self.aliases.insert(name, (from, port));
        Ok(())
    }

    /// The same if every switch takes so long with a frame: half of it is added to the delay of each of a switch's links, so that a path has
    /// it once for each switch on it, and what goes to the next node and back has it, too. Links of scale-up switches have their time already.
    #[must_use]
    pub fn with_switch_latency(mut self, latency: Span) -> Self {
        let half = latency / 2;
        for index in 0..self.links.len() {
            let Link { a, b, delay, .. } = self.links[index];
            let takes = |end: &u32| self.is_switch(*end) && !self.is_scale_up(*end);
            let more = [a, b].into_iter().filter(takes).map(|_| half).sum::<Span>();
            self.links[index].delay = delay + more;
        }
        for port in &mut self.ports {
            port.delay = self.links[port.link as usize].delay;
        }
        self
    }

    /// All nodes, by node index.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All links, in the order given.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The ports of a node, by port number.
    pub fn ports(&self, node: u32) -> &[Port] {
        let node = node as usize;
        &self.ports[self.first_port[node] as usize..self.first_port[node + 1] as usize]
    }

    /// Number of ports of all nodes: twice the number of links.
    pub const fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// A dense index of a port over the whole network, from 0 to [`Network::port_count`] − 1.
    pub fn port_id(&self, node: u32, port: u16) -> u32 {
        self.first_port[node as usize] + u32::from(port)
    }

    /// Node indices of the hosts, by host index.
    pub fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// The first port of the host of a host index that leads out of its server. (A flow's ends are host indices: with [`Network::ports`]
    /// they would name other nodes wherever hosts are not the first ones.)
    pub fn nic(&self, host: u32) -> &Port {
        self.outward(self.hosts[host as usize]).next().unwrap_or(&self.nics(host)[0])
    }

    /// All ports of the host of a host index.
    pub fn nics(&self, host: u32) -> &[Port] {
        self.ports(self.hosts[host as usize])
    }

    /// What the links of a host carry together, each way, out of its server.
    pub fn rate_of(&self, host: u32) -> Rate {
        Rate::from_bps(self.outward(self.hosts[host as usize]).map(|nic| nic.rate.as_bps()).sum())
    }

    /// The same network if the switches of these names are scale-up switches, each within a server: the hosts at it are the server's.
    ///
    /// # Errors
    /// Names of no switch or named twice; such a switch at another switch; a host at two of them, at nothing else, or linked to a host.
    pub fn with_scale_up<S: AsRef<str>>(mut self, names: &[S]) -> Result<Self, TopologyError> {
        let mut server: BTreeMap<u32, u32> = BTreeMap::new();
        let mut scale_up = Vec::new();
        for (number, name) in names.iter().map(AsRef::as_ref).enumerate() {
            let refused = |why| Err(TopologyError::ScaleUp { number, name: name.to_owned(), why });
            let Some(switch) = self.find(name).filter(|node| self.is_switch(*node)) else {
                return refused(NotScaleUp::NoSwitch);
            };
            if scale_up.contains(&switch) {
                return refused(NotScaleUp::Twice);
            }
            scale_up.push(switch);
            for port in self.ports(switch) {
                let other = |node: u32| self.name(node).to_owned();
                if self.is_switch(port.peer) {
                    return refused(NotScaleUp::Forwards { peer: other(port.peer) });
                }
                if let Some(known) = server.insert(port.peer, switch).filter(|known| *known != switch) {
                    let (host, other) = (other(port.peer), other(known));
                    return refused(NotScaleUp::Shared { host, other });
                }
                let mut peers = self.ports(port.peer).iter().map(|port| port.peer);
                if let Some(peer) = peers.clone().find(|peer| !self.is_switch(*peer)) {
                    return refused(NotScaleUp::Beside { host: other(port.peer), peer: other(peer) });
                }
                if peers.all(|peer| peer == switch) {
                    return refused(NotScaleUp::Alone { host: other(port.peer) });
                }
            }
        }
        if !scale_up.is_empty() {
            scale_up.sort_unstable();
            self.structure = Structure::Servers { scale_up };
            self.places = places(&self, Vec::new());
        }
        Ok(self)
    }

    /// Whether a node is a switch within a server.
    pub fn is_scale_up(&self, node: u32) -> bool {
        matches!(&self.structure, Structure::Servers { scale_up } if scale_up.binary_search(&node).is_ok())
    }

    /// The switch within the server of a node, if the node is a host with a port to one.
    pub fn server_of(&self, node: u32) -> Option<u32> {
        if !matches!(self.structure, Structure::Servers { .. }) || self.is_switch(node) {
            return None;
        }
        self.ports(node).iter().map(|port| port.peer).find(|peer| self.is_scale_up(*peer))
    }

    /// The ports of a node that lead out of its server: all, but for hosts with one to a switch within it.
    pub fn outward(&self, node: u32) -> impl Iterator<Item = &Port> {
        self.ports(node).iter().filter(|port| !self.is_scale_up(port.peer))
    }

    /// Of ports on ways as short those by which a node sends: a host those within its server, if there are some.
    pub(crate) fn preferred(&self, node: u32, ports: Vec<u16>) -> Vec<u16> {
        let within = |port: &u16| self.is_scale_up(self.ports(node)[usize::from(*port)].peer);
        if self.server_of(node).is_none() || !ports.iter().any(within) {
            return ports;
        }
        ports.into_iter().filter(within).collect()
    }

    /// The planes that switches are in: by node the first switch that it is joined to by links between switches. Hosts join nothing; each
    /// stands for itself.
    pub fn planes(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let mut planes = vec![NONE; self.nodes.len()];
        for first in 0..self.nodes.len() as u32 {
            let mut found = if planes[first as usize] == NONE { vec![first] } else { Vec::new() };
            while let Some(node) = found.pop() {
                planes[node as usize] = first;
                let peers = self.ports(node).iter().map(|port| port.peer).filter(|_| self.is_switch(node));
                found.extend(peers.filter(|peer| self.is_switch(*peer) && planes[*peer as usize] == NONE));
            }
        }
        planes
    }

    /// The first host (host index) with several ports.
    pub fn with_several_ports(&self) -> Option<u32> {
        (0..self.hosts.len() as u32).find(|host| self.nics(*host).len() > 1)
    }

    /// Whether packets that leave a node have a choice of ports: at switches, and at hosts with several.
    pub(crate) fn has_table(&self, node: u32) -> bool {
        self.is_switch(node) || self.ports(node).len() > 1
    }

    /// Host index of a node; `None` for a switch.
    pub fn host_index(&self, node: u32) -> Option<u32> {
        self.host_index[node as usize]
    }

    /// The hosts (host indices) by the switch at their first port out of their server, in the order of their first hosts.
    pub fn racks(&self) -> Vec<Vec<u32>> {
        let mut numbers = BTreeMap::new();
        let mut racks: Vec<Vec<u32>> = Vec::new();
        for index in 0..self.hosts.len() as u32 {
            let number = *numbers.entry(self.nic(index).peer).or_insert(racks.len());
            racks.resize_with(numbers.len(), Vec::new);
            racks[number].push(index);
        }
        racks
    }

    /// By node how many links lie between it and the nearest host: 0 for hosts, 1 for switches that have some, and so on.
    #[must_use]
    pub fn tiers(&self) -> Vec<u32> {
        let mut tiers = vec![u32::MAX; self.nodes().len()];
        let mut reached = self.hosts().to_vec();
        for tier in 0.. {
            for node in &reached {
                tiers[*node as usize] = tier;
            }
            let next = reached.iter().flat_map(|node| self.ports(*node)).map(|port| port.peer);
            let mut next: Vec<u32> = next.filter(|peer| tiers[*peer as usize] == u32::MAX).collect();
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                break;
            }
            reached = next;
        }
        tiers
    }

    /// True for a switch.
    pub fn is_switch(&self, node: u32) -> bool {
        self.nodes[node as usize].role == Role::Switch
    }

    /// Node index of a name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Name of a node.
    pub fn name(&self, node: u32) -> &str {
        &self.nodes[node as usize].name
    }

    /// Where a node stands, for those who draw the network or count along it.
    pub fn place(&self, node: u32) -> &Place {
        &self.places[node as usize]
    }

    /// What is known of the graph as a whole.
    pub const fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The egress port behind an alias: node index and port number.
    pub fn alias(&self, name: &str) -> Option<(u32, u16)> {
        self.aliases.get(name).copied()
    }

    /// All aliases with their (node index, port number), in the order of their names.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, (u32, u16))> {
        self.aliases.iter().map(|(name, port)| (name.as_str(), *port))
    }

    /// The first port of `from` that leads straight to `to`.
    pub fn port_to(&self, from: u32, to: u32) -> Option<u16> {
        self.ports(from).iter().position(|port| port.peer == to).map(|port| port as u16)
    }

    /// A port as text: `T0->L0`. Of several links that join the same nodes the first is `T0->L0:0`, the next `T0->L0:1`.
    pub fn port_name(&self, node: u32, port: u16) -> String {
        let (peer, name) = (self.ports(node)[usize::from(port)].peer, self.name(node));
        let to = self.name(peer);
        match self.parallel(node, port) {
            None => format!("{name}->{to}"),
            Some(number) => format!("{name}->{to}:{number}"),
        }
    }

    /// Which of several links to the same neighbour is behind a port, from 0; `None` for an only link.
    pub fn parallel(&self, node: u32, port: u16) -> Option<u16> {
        let peer = self.ports(node)[usize::from(port)].peer;
        let same = |ports: &[Port]| ports.iter().filter(|port| port.peer == peer).count() as u16;
        let ports = self.ports(node);
        (same(ports) > 1).then(|| same(&ports[..usize::from(port)]))
    }

    /// Whether several links join some two nodes.
    pub fn has_parallel_links(&self) -> bool {
        let mut ends: Vec<(u32, u32)> =
            self.links.iter().map(|link| (link.a.min(link.b), link.a.max(link.b))).collect();
        ends.sort_unstable();
        ends.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The least propagation delay: how far ahead any node may run on its own.
    pub fn least_delay(&self) -> Span {
        self.links.iter().map(|link| link.delay).min().unwrap_or(Span::MAX)
    }

    /// How long a lone frame of `size` needs along `path` (see [`crate::Routes::path`]), stored and forwarded at
    /// every switch: propagation plus serialisation of every link.
    pub fn one_way(&self, path: &[(u32, u16)], size: Bytes) -> Span {
        path.iter()
            .map(|&(node, port)| {
                let port = &self.ports(node)[usize::from(port)];
                port.delay + port.rate.serialize(size)
            })
            .sum()
    }

    /// The slowest link of `path`; `None` for the empty path.
    pub fn bottleneck(&self, path: &[(u32, u16)]) -> Option<Rate> {
        path.iter().map(|&(node, port)| self.ports(node)[usize::from(port)].rate).min()
    }
}

fn names(nodes: &[Node]) -> Result<BTreeMap<String, u32>, TopologyError> {
    let reserved = |c: char| c.is_whitespace() || c.is_control() || "!*?[]:,>".contains(c);
    let mut by_name = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let name = node.name.clone();
        if name.is_empty() || name.contains(reserved) {
            return Err(TopologyError::Name { name });
        }
        if by_name.contains_key(&name) {
            return Err(TopologyError::DuplicateName { name });
        }
        by_name.insert(name, index as u32);
    }
    Ok(by_name)
}

fn check_links(nodes: &[Node], links: &[Link], parallel: bool) -> Result<(), TopologyError> {
    let mut seen = BTreeMap::new();
    for (index, &Link { a, b, rate, delay }) in links.iter().enumerate() {
        if let Some(missing) = [a, b].into_iter().find(|&end| end as usize >= nodes.len()) {
            return Err(TopologyError::UnknownNode { link: index, name: missing.to_string() });
        }
        let name = |node: u32| nodes[node as usize].name.clone();
        if a == b {
            return Err(TopologyError::SelfLoop { link: index, name: name(a) });
        }
        match seen.insert((a.min(b), a.max(b)), index) {
            Some(first) if !parallel => {
                return Err(TopologyError::DuplicateLink { link: index, first, a: name(a), b: name(b) });
            }
            _ => {}
        }
        if !(TopologyError::MIN_RATE..=TopologyError::MAX_RATE).contains(&rate) {
            return Err(TopologyError::Rate { link: index, a: name(a), b: name(b), rate });
        }
        if delay == Span::ZERO || delay > TopologyError::MAX_DELAY {
            return Err(TopologyError::Delay { link: index, a: name(a), b: name(b), delay });
        }
    }
    Ok(())
}

/// Ports of all nodes, node after node, and where those of each node begin.
fn number_ports(nodes: &[Node], links: &[Link]) -> Result<(Vec<u32>, Vec<Port>), TopologyError> {
    let mut degree = vec![0usize; nodes.len()];
    let mut numbers = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate() {
        for end in [link.a, link.b] {
            if degree[end as usize] == MAX_PORTS {
                let name = nodes[end as usize].name.clone();
                return Err(TopologyError::TooManyPorts { link: index, name });
            }
        }
        numbers.push((degree[link.a as usize] as u16, degree[link.b as usize] as u16));
        degree[link.a as usize] += 1;
        degree[link.b as usize] += 1;
    }
    let mut first_port = vec![0u32];
    for d in degree {
        first_port.push(first_port[first_port.len() - 1] + d as u32);
    }
    let blank = Port { peer: 0, peer_port: 0, rate: Rate::ZERO, delay: Span::ZERO, link: 0 };
    let mut ports = vec![blank; 2 * links.len()];
    for (index, (&Link { a, b, rate, delay }, &(port_a, port_b))) in links.iter().zip(&numbers).enumerate() {
        let link = index as u32;
        let id = |node: u32, port: u16| (first_port[node as usize] + u32::from(port)) as usize;
        ports[id(a, port_a)] = Port { peer: b, peer_port: port_b, rate, delay, link };
        ports[id(b, port_b)] = Port { peer: a, peer_port: port_a, rate, delay, link };
    }
    Ok((first_port, ports))
}
