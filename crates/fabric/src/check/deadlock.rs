//! A deadlock: egress ports that wait for each other in a circle, found while the fabric runs.
//!
//! A closed gate waits for room in the ingress buffer at the far end, and that buffer for the egress queues in which its
//! packets stand. A gate is dead if its buffer holds packets, nothing of it is leaving, there is no room in it for what waits
//! at the gate, and every queue that they stand in has a dead gate itself. Nothing but a fault from outside can open a dead
//! gate again.
use std::collections::{BTreeMap, BTreeSet};

use backwater_engine::Engine;
use backwater_topology::Network;
use backwater_units::Span;

use crate::link::gates::{Scope, settled};
use crate::node::FabricNode;
use crate::world::World;

/// Pauses of limited length keep a deadlock alive with polls and PAUSEs, and credits with updates, for ever. It is looked for so
/// often, or after several round trips of the flow control.
const STALL: Span = Span::from_ms(10);

/// After how much time without movement the fabric stands still.
pub(crate) fn patience(reach: Span, world: &World) -> Span {
    STALL.max(lasting(reach, world))
}

/// How long a gate stays closed before it is in a circle for good: a watchdog may open it until then.
pub(crate) fn lasting(reach: Span, world: &World) -> Span {
    let watched = world.faults.as_ref().map_or(Span::ZERO, |faults| faults.watched_for());
    settled(reach, world).max(watched)
}

/// What is held back behind a closed gate: (node, egress port, what of it).
type Gated = (u32, u16, Scope);

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

/// Looks for a circle among the gates that have been closed since `before` or longer, in all processes.
pub(crate) fn find(
    engine: &Engine<FabricNode>,
    network: &Network,
    world: &World,
    before: u64,
) -> Option<Circle> {
    // Each closed gate with the ingress port that it waits for, and the sizes of what may be the next to pass it.
    let mut closed: Vec<(Gated, (u32, u16), Vec<u16>)> = Vec::new();
    for node in engine.nodes() {
        for wait in node.waits().into_iter().filter(|wait| wait.since <= before) {
            let sizes = node.first_sizes(wait.port, wait.scope.class).collect();
            closed.push(((node.ports().node(), wait.port, wait.scope), (wait.node, wait.ingress), sizes));
        }
    }
    // Whether there is room, and what that waits for, the node at the other end knows.
    let mut blocked: Vec<(Gated, Vec<Gated>)> = Vec::new();
    for (gated, (node, ingress), sizes) in engine.processes().gather(closed) {
        let (Some(below), scope) = (engine.node(node), gated.2) else { continue };
        if !below.ports().has_room(ingress, scope.class, sizes.into_iter()) {
            blocked.push((gated, below.waits_for(ingress, scope, world)));
        }
    }
    let mut waits: BTreeMap<Gated, Vec<Gated>> = engine.processes().gather(blocked).into_iter().collect();
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
    Some(describe(&circle(&waits, first), engine, network, world))
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

fn describe(circle: &[Gated], engine: &Engine<FabricNode>, network: &Network, world: &World) -> Circle {
    let mut flows = BTreeSet::new();
    for &(node, port, scope) in circle {
        if let Some(FabricNode::Switch(switch)) = engine.node(node) {
            let data = switch.waiting(switch.ports().at(port, scope.class)).filter(|packet| packet.is_data());
            flows.extend(data.map(|packet| packet.flow));
            let apart = switch.apart().into_iter().filter(|packet| packet.destination() == scope.key);
            flows.extend(apart.map(|packet| packet.flow));
        }
    }
    let flows: BTreeSet<u32> = engine.processes().gather(flows.into_iter().collect()).into_iter().collect();
    let host = |index: u32| network.name(network.hosts()[index as usize]).to_owned();
    let ends = |flow: u32| {
        let ends = &world.flows[flow as usize];
        (flow, host(ends.src), host(ends.dst))
    };
    Circle {
        ports: circle
            .iter()
            .map(|&(node, port, scope)| (network.port_name(node, port), world.classes.priority(scope.class)))
            .collect(),
        flows: flows.into_iter().map(ends).collect(),
    }
}
