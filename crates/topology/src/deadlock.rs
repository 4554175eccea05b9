//! Can this routing lock a lossless fabric up?
//!
//! Under hop-by-hop flow control a frame that waits for egress port q keeps occupying the buffer that the
//! upstream egress port p fills, so p may have to wait for q. If such waits can form a circle, every port of it may
//! end up paused by the next, for ever. That cannot happen if the graph of the waits has no cycle (Dally and Seitz,
//! IEEE Trans. Computers 1987; for PFC: Hu et al., `HotNets` 2016). The graph here holds only the waits of real paths:
//! frames that arrive through p and leave through q on their way from some host to another. Where frames change their lane on
//! their way ([`Routes::lane`]), a port is one for each lane: every lane has a buffer and a gate of its own.
//!
//! Where packets may go through a third group of a dragonfly, every group is that of some packet from every switch and to every one: more
//! waits than there are, and if these form no circle, those do not.
//!
//! Where all ways go up from tier to tier and then down, a port up waits for one of the next higher tier or for one down, and a port down
//! for one of the next lower tier: no circle, and nothing to be followed.
use std::collections::VecDeque;
use std::fmt;

use crate::routes::hosts_by_attachment;
use crate::{Groups, Network, Routes};

/// A circle of egress ports, each of which may wait for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferCycle {
    /// (node index, port number) of the ports.
    pub ports: Vec<(u32, u16)>,
    /// The names of the ports, in the same order: `T0->L0`; `sw0->sw1 (lane 1)` where packets change their lane.
    pub names: Vec<String>,
}

/// Names of a cycle that its message lists.
const SHOWN: usize = 12;

impl fmt::Display for BufferCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the routes form a cyclic buffer dependency of {} egress ports: ", self.names.len())?;
        for name in self.names.iter().take(SHOWN) {
            write!(f, "{name}, ")?;
        }
        if self.names.len() > SHOWN {
            write!(f, "… {} more …, ", self.names.len() - SHOWN)?;
        }
        let first = self.names.first().map_or("", String::as_str);
        write!(f, "and {first} again")
    }
}

impl std::error::Error for BufferCycle {}

/// Fails if frames between any two hosts can wait for each other in a circle.
///
/// # Errors
/// The shortest cycle through the first port (in port order) that is found to be on one.
pub fn check(net: &Network, routes: &Routes) -> Result<(), BufferCycle> {
    if routes.is_tree() {
        return Ok(());
    }
    let attachments = hosts_by_attachment(net);
    let mut entries: Vec<u32> =
        attachments.keys().flatten().copied().filter(|&node| net.is_switch(node)).collect();
    entries.sort_unstable();
    entries.dedup();
    let mut waits = Waits::new(net, routes.lanes());
    let third = routes.around().map(|groups| waits.note_third((net, routes), groups, &entries));
    for hosts in attachments.values() {
        for (index, &dst) in hosts.iter().enumerate() {
            // Neighbours that are reached the same way add nothing: a port to a host waits for no other port.
            if index == 0 || !routes.same_ways(net, hosts[index - 1], dst) {
                waits.note((net, routes), dst, &entries, third.as_deref().unwrap_or_default());
            }
        }
    }
    verdict(net, &waits)
}

/// Fails if frames that travel between these hosts, given as (source, destination) by their host indices, can wait for
/// each other in a circle. Where several shortest paths may be chosen, all count.
///
/// Waits are between frames of one buffer: for priorities or virtual lanes with buffers of their own this is to be asked for
/// each of them with the pairs that use it, and lanes can so break a circle (Dally and Seitz).
///
/// # Errors
/// As [`check`].
///
/// # Panics
/// If a number is no host's.
pub fn check_pairs(
    net: &Network,
    routes: &Routes,
    pairs: impl IntoIterator<Item = (u32, u32)>,
) -> Result<(), BufferCycle> {
    if routes.is_tree() {
        return Ok(());
    }
    let mut pairs = pairs.into_iter().peekable();
    if routes.around().is_some() && pairs.peek().is_some() {
        return check(net, routes);
    }
    let attachment = |host: u32| net.nic(host).peer;
    // Hosts of one switch next to each other, so that those that are reached the same way are followed together.
    let mut ways = Vec::<(u32, u32, u32)>::new();
    for (src, dst) in pairs {
        let node = net.hosts()[src as usize];
        let by = routes.next_ports(node, dst).iter().map(|port| net.ports(node)[usize::from(*port)].peer);
        ways.extend(by.map(|entry| (attachment(dst), dst, entry)));
    }
    ways.sort_unstable();
    ways.dedup();
    let alike = |one: &(u32, u32, u32), other: &(u32, u32, u32)| {
        one.1 == other.1 || (one.0 == other.0 && routes.same_ways(net, one.1, other.1))
    };
    let mut waits = Waits::new(net, routes.lanes());
    for together in ways.chunk_by(alike) {
        let mut entries: Vec<u32> =
            together.iter().map(|&(_, _, entry)| entry).filter(|&entry| net.is_switch(entry)).collect();
        entries.sort_unstable();
        entries.dedup();
        waits.note((net, routes), together[0].1, &entries, &[]);
    }
    verdict(net, &waits)
}

fn verdict(net: &Network, waits: &Waits) -> Result<(), BufferCycle> {
    let Some(start) = on_a_cycle(waits) else {
        return Ok(());
    };
    let (lanes, cycle) = (waits.lanes as usize, shortest_cycle(waits, start));
    let ports: Vec<(u32, u16)> = cycle.iter().map(|id| waits.port[id / lanes]).collect();
    let name = |(id, &(node, port)): (&usize, &(u32, u16))| match lanes {
        1 => net.port_name(node, port),
        _ => format!("{} (lane {})", net.port_name(node, port), id % lanes),
    };
    let names = cycle.iter().zip(&ports).map(name).collect();
    Err(BufferCycle { ports, names })
}

/// The graph: vertices are egress ports by their [`Network::port_id`], each once for every lane.
struct Waits {
    port: Vec<(u32, u16)>,
    lanes: u32,
    after: Vec<Vec<u32>>,
    /// Per vertex: which vertices of the switch behind it have been noted, as bits. The same wait turns up for most
    /// destinations.
    noted: Vec<Vec<u64>>,
    /// Per vertex: the last of the destinations, counted as they are followed, for which it was visited.
    visited: Vec<u32>,
    followed: u32,
}

impl Waits {
    fn new(net: &Network, lanes: u8) -> Self {
        let nodes = 0..net.nodes().len() as u32;
        let port: Vec<(u32, u16)> =
            nodes.flat_map(|node| (0..net.ports(node).len() as u16).map(move |port| (node, port))).collect();
        let count = port.len() * usize::from(lanes);
        Self {
            port,
            lanes: lanes.into(),
            after: vec![Vec::new(); count],
            noted: vec![Vec::new(); count],
            visited: vec![0; count],
            followed: 0,
        }
    }

    /// Follows what may travel to one host. Frames enter at the switches `entries`; the hosts' own ports are left out, since no port waits for one of them to send.
    /// Those that have been to a third group come by the vertices `third`.
    fn note(&mut self, (net, routes): (&Network, &Routes), dst: u32, entries: &[u32], third: &[u32]) {
        let next = |switch| (routes.next_ports(switch, dst), routes.lane(switch, dst).into());
        self.follow(net, (entries, third), next);
    }

    /// Follows what may travel to each group as a third one, on lane 0; returns the vertices by which it comes there.
    fn note_third(
        &mut self,
        (net, routes): (&Network, &Routes),
        groups: &Groups,
        entries: &[u32],
    ) -> Vec<u32> {
        for group in 0..groups.count() {
            let host = groups.first_host(group);
            let there = |switch| groups.of_switch(switch) == group;
            let next = |switch| (if there(switch) { &[] } else { routes.next_ports(switch, host) }, 0);
            self.follow(net, (entries, &[]), next);
        }
        let switches = (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node));
        let global = switches.flat_map(|node| {
            (groups.local_ports().end..net.ports(node).len() as u16).map(move |port| (node, port))
        });
        global.map(|(node, port)| net.port_id(node, port) * self.lanes).collect()
    }

    /// Follows frames from the switches at which they enter, and from vertices by which they come; `next` has the ports by which they leave
    /// a switch, and the lane.
    fn follow<'a>(
        &mut self,
        net: &Network,
        (entries, come): (&[u32], &[u32]),
        next: impl Fn(u32) -> (&'a [u16], u32),
    ) {
        self.followed += 1;
        let mut pending = come.to_vec();
        for &entry in entries {
            let (ports, lane) = next(entry);
            pending.extend(ports.iter().map(|&port| net.port_id(entry, port) * self.lanes + lane));
        }
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut self.visited[id as usize], self.followed) == self.followed {
                continue;
            }
            let (node, number) = self.port[(id / self.lanes) as usize];
            let switch = net.ports(node)[usize::from(number)].peer;
            if !net.is_switch(switch) {
                continue;
            }
            let bits = &mut self.noted[id as usize];
            bits.resize((net.ports(switch).len() * self.lanes as usize).div_ceil(64), 0);
            let (ports, lane) = next(switch);
            for &out in ports {
                let local = u32::from(out) * self.lanes + lane;
                let (cell, bit) = (local as usize / 64, 1 << (local % 64));
                let out = net.port_id(switch, out) * self.lanes + lane;
                if bits[cell] & bit == 0 {
                    bits[cell] |= bit;
                    self.after[id as usize].push(out);
                }
                pending.push(out);
            }
        }
    }
}

/// The first port found by depth-first search to lie on a cycle.
fn on_a_cycle(waits: &Waits) -> Option<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut mark = vec![Mark::New; waits.after.len()];
    for root in 0..waits.after.len() {
        if mark[root] != Mark::New {
            continue;
        }
        mark[root] = Mark::Open;
        let mut stack = vec![(root, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let Some(&child) = waits.after[*id].get(*next) else {
                mark[*id] = Mark::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            match mark[child as usize] {
                Mark::Open => return Some(child as usize),
                Mark::New => {
                    mark[child as usize] = Mark::Open;
                    stack.push((child as usize, 0));
                }
                Mark::Done => {}
            }
        }
    }
    None
}

/// The shortest way from `start` back to itself, `start` first.
fn shortest_cycle(waits: &Waits, start: usize) -> Vec<usize> {
    let mut from: Vec<Option<usize>> = vec![None; waits.after.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(id) = queue.pop_front() {
        for &next in &waits.after[id] {
            let next = next as usize;
            if from[next].is_none() {
                from[next] = Some(id);
                queue.push_back(next);
            }
        }
        if from[start].is_some() {
            break;
        }
    }
    let mut cycle = Vec::new();
    let mut id = from[start];
    while let Some(step) = id {
        cycle.push(step);
        id = if step == start { None } else { from[step] };
    }
    cycle.reverse();
    cycle
}
