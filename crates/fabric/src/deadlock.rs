//! A deadlock: egress ports that wait for each other in a circle, found while the fabric runs.
//!
//! A closed gate waits for room in the ingress buffer at the far end, and that buffer for the egress queues in which its
//! packets stand. A gate is dead if its buffer holds packets, nothing of it is leaving, and every queue that they stand in
//! has a dead gate itself. Nothing but a fault from outside can open a dead gate again.
use std::collections::{BTreeMap, BTreeSet};

use backwater_topology::Network;

use crate::node::FabricNode;
use crate::packet::Kind;
use crate::world::World;

/// An egress port and class whose gate is closed: (node, port, class).
type Gated = (u32, u16, u8);

/// A circle of waits.
pub(crate) struct Circle {
    /// Its egress ports by name with their priority, each waiting for the next and the last for the first.
    ports: Vec<(String, u8)>,
    /// Flows of which data stands in the circle, sorted: (flow, source, destination).
    flows: Vec<(u32, String, String)>,
}

impl Circle {
    /// Its ports and flows in words.
    pub(crate) fn words(self) -> (Vec<String>, Vec<String>) {
        let ports = self.ports.into_iter().map(|(port, priority)| format!("{port} (priority {priority})"));
        let flows = self.flows.into_iter().map(|(flow, from, to)| format!("flow {flow} ({from} to {to})"));
        (ports.collect(), flows.collect())
    }
}

/// Looks for a circle among the gates that have been closed since `before` or longer.
pub(crate) fn find(nodes: &[&FabricNode], network: &Network, world: &World, before: u64) -> Option<Circle> {
    let mut waits: BTreeMap<Gated, Vec<Gated>> = BTreeMap::new();
    for node in nodes {
        let ports = node.ports();
        for (port, egress) in (0..).zip(&ports.egress) {
            for class in (0..world.classes.count).filter(|class| egress.paused & (1 << class) != 0) {
                if ports.closed_since(port, class) <= before {
                    let blockers = blockers(nodes[egress.peer as usize], egress.peer_port, class, world);
                    waits.insert((ports.node, port, class), blockers);
                }
            }
        }
    }
    // What is left when everything that may still move has been taken out.
    loop {
        let count = waits.len();
        let gates: BTreeSet<Gated> = waits.keys().copied().collect();
        waits.retain(|_, blockers| !blockers.is_empty() && blockers.iter().all(|b| gates.contains(b)));
        if waits.len() == count {
            break;
        }
    }
    let first = *waits.keys().next()?;
    Some(describe(&circle(&waits, first), nodes, network, world))
}

/// The egress queues of a node in which packets stand that came in by `ingress`; none if one of them is leaving just now.
fn blockers(node: &FabricNode, ingress: u16, class: u8, world: &World) -> Vec<Gated> {
    let FabricNode::Switch(switch) = node else {
        return Vec::new();
    };
    let ports = &switch.ports;
    if ports.credits.as_ref().is_some_and(|credits| credits.on_their_way(ingress, class) > 0) {
        return Vec::new();
    }
    // Where a threshold of the whole port holds back all classes, packets of any class may be the reason.
    let classes = if switch.memory.whole_port(ingress) { world.lossless } else { 1 << class };
    let mut blockers = Vec::new();
    for out in 0..ports.egress.len() as u16 {
        for class in (0..world.classes.count).filter(|class| classes & (1 << class) != 0) {
            if switch.waiting(ports.at(out, class)).any(|packet| packet.port == ingress) {
                blockers.push((ports.node, out, class));
            }
        }
    }
    blockers
}

/// Follows the waits from `start` until one comes up again.
fn circle(waits: &BTreeMap<Gated, Vec<Gated>>, start: Gated) -> Vec<Gated> {
    let mut way = vec![start];
    loop {
        let next = waits[way.last().expect("it begins with one")][0];
        if let Some(at) = way.iter().position(|gated| *gated == next) {
            return way.split_off(at);
        }
        way.push(next);
    }
}

fn describe(circle: &[Gated], nodes: &[&FabricNode], network: &Network, world: &World) -> Circle {
    let mut flows = BTreeSet::new();
    for &(node, port, class) in circle {
        if let FabricNode::Switch(switch) = nodes[node as usize] {
            let data =
                switch.waiting(switch.ports.at(port, class)).filter(|packet| packet.kind == Kind::Data);
            flows.extend(data.map(|packet| packet.flow));
        }
    }
    let host = |index: u32| network.name(network.hosts()[index as usize]).to_owned();
    let ends = |flow: u32| {
        let ends = &world.flows[flow as usize];
        (flow, host(ends.src), host(ends.dst))
    };
    Circle {
        ports: circle
            .iter()
            .map(|&(node, port, class)| (network.port_name(node, port), world.classes.priority(class)))
            .collect(),
        flows: flows.into_iter().map(ends).collect(),
    }
}
