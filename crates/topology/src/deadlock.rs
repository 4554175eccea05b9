//! Can this routing lock a lossless fabric up?
//!
//! Under hop-by-hop flow control a frame that waits for egress port q keeps occupying the buffer that the
//! upstream egress port p fills, so p may have to wait for q. If such waits can form a circle, every port of it may
//! end up paused by the next, for ever. That cannot happen if the graph of the waits has no cycle (Dally and Seitz,
//! IEEE Trans. Computers 1987; for PFC: Hu et al., `HotNets` 2016). The graph here holds only the waits of real paths:
//! frames that arrive through p and leave through q on their way from some host to another.
use std::collections::VecDeque;
use std::fmt;

use crate::routes::hosts_by_attachment;
use crate::{Network, Routes};

/// A circle of egress ports, each of which may wait for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferCycle {
    /// (node index, port number) of the ports.
    pub ports: Vec<(u32, u16)>,
    /// The names of the ports, in the same order: `T0->L0`.
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
        write!(
            f,
            "and {first} again; under PFC these ports can pause each other for ever: \
             use a topology whose shortest paths go up and then down (leaf-spine, fat-tree), \
             or remove a link of the circle"
        )
    }
}

impl std::error::Error for BufferCycle {}

/// Fails if frames on their routes can wait for each other in a circle.
///
/// # Errors
/// The shortest cycle through the first port (in port order) that is found to be on one.
pub fn check(net: &Network, routes: &Routes) -> Result<(), BufferCycle> {
    let waits = Waits::new(net, routes);
    let Some(start) = on_a_cycle(&waits) else {
        return Ok(());
    };
    let ports: Vec<(u32, u16)> = shortest_cycle(&waits, start).into_iter().map(|id| waits.port[id]).collect();
    let names = ports.iter().map(|&(node, port)| net.port_name(node, port)).collect();
    Err(BufferCycle { ports, names })
}

/// The graph: vertices are egress ports by their [`Network::port_id`].
struct Waits {
    port: Vec<(u32, u16)>,
    after: Vec<Vec<u32>>,
}

impl Waits {
    fn new(net: &Network, routes: &Routes) -> Self {
        let nodes = 0..net.nodes().len() as u32;
        let port: Vec<(u32, u16)> =
            nodes.flat_map(|node| (0..net.ports(node).len() as u16).map(move |port| (node, port))).collect();
        let mut waits = Self { after: vec![Vec::new(); port.len()], port };
        // Per egress port: which ports of the switch behind it have been noted, as bits. The same wait turns up for
        // most destinations.
        let mut noted: Vec<Vec<u64>> = vec![Vec::new(); waits.port.len()];
        let mut visited = vec![u32::MAX; waits.port.len()];
        let attachments = hosts_by_attachment(net);
        let entries: Vec<u32> = attachments.keys().copied().filter(|&node| net.is_switch(node)).collect();
        for hosts in attachments.values() {
            for (index, &dst) in hosts.iter().enumerate() {
                // Neighbours that are reached the same way add nothing: a port to a host waits for no other port.
                if index == 0 || !routes.same_ways(net, hosts[index - 1], dst) {
                    waits.note((net, routes), dst, &entries, &mut noted, &mut visited);
                }
            }
        }
        waits
    }

    /// Follows everything that may travel to one host. Frames enter at the switches that have hosts; the hosts' own
    /// ports are left out, since no port waits for one of them to send.
    fn note(
        &mut self,
        (net, routes): (&Network, &Routes),
        dst: u32,
        entries: &[u32],
        noted: &mut [Vec<u64>],
        visited: &mut [u32],
    ) {
        let mut pending = Vec::new();
        for &entry in entries {
            pending.extend(routes.next_ports(entry, dst).iter().map(|&port| net.port_id(entry, port)));
        }
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut visited[id as usize], dst) == dst {
                continue;
            }
            let (node, number) = self.port[id as usize];
            let switch = net.ports(node)[usize::from(number)].peer;
            if !net.is_switch(switch) {
                continue;
            }
            let bits = &mut noted[id as usize];
            bits.resize(net.ports(switch).len().div_ceil(64), 0);
            for &out in routes.next_ports(switch, dst) {
                let (cell, bit) = (usize::from(out) / 64, 1 << (out % 64));
                let out = net.port_id(switch, out);
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
