//! A deadlock: egress ports that wait for each other in a circle, found while the fabric runs.
//!
//! A closed gate waits for room in the ingress buffer at the far end, and that buffer for the egress queues in which its
//! packets stand. A gate is dead if its buffer holds packets, nothing of it is leaving, there is no room in it for what waits
//! at the gate, and every queue that they stand in has a dead gate itself. Nothing but a fault from outside can open a dead
//! gate again.
use std::collections::{BTreeMap, BTreeSet};

use backwater_control::flow_control::{CreditReturn, Form};
use backwater_topology::Network;
use backwater_units::Span;

use crate::node::FabricNode;
use crate::packet::Packet;
use crate::switch::Switch;
use crate::switch::chassis::SwitchFabric;
use crate::switch::cioq::{Combined, NOWHERE};
use crate::world::{CreditSettings, World};

/// Pauses of limited length keep a deadlock alive with polls and PAUSEs, and credits with updates, for ever. It is looked for so
/// often, or after several round trips of the flow control.
const STALL: Span = Span::from_ms(10);
/// What opens a gate was sent by the other end no more than a round trip and a credit period ago: after several of them a gate
/// that is still closed is held by what its circle holds now. A timed pause holds it a pause longer.
const ROUNDS: u64 = 4;
const PAUSES: Span = Span::from_us(100);
/// With lost updates so many are expected to come through in that time, but no more than so much of it is waited for.
const THROUGH: u64 = 32;
const LONGEST: Span = Span::from_ms(1_000);

/// After how much time without movement the fabric stands still.
pub(crate) fn patience(reach: Span, world: &World) -> Span {
    STALL.max(settled(reach, world))
}

/// How long a gate stays closed before it can be in a circle, if a frame takes `reach` to the other end of a link.
pub(crate) fn settled(reach: Span, world: &World) -> Span {
    let Some(CreditSettings { returned: CreditReturn::Periodic(period), loss_ppm, .. }) = &world.credits
    else {
        let pause = match world.pfc.map(|pfc| pfc.form) {
            Some(Form::Timed { pause, .. }) => pause,
            _ => Span::ZERO,
        };
        return PAUSES.max(pause + reach * ROUNDS);
    };
    let round = reach + *period;
    let through = u64::from(1_000_000_u32.saturating_sub(*loss_ppm).max(1));
    let rounds = if *loss_ppm == 0 { 0 } else { THROUGH * 1_000_000 / through };
    let lossy = Span::from_ps(round.as_ps().saturating_mul(rounds)).min(LONGEST);
    (round * ROUNDS).max(lossy)
}

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
                let below = nodes[egress.peer as usize];
                if ports.closed_since(port, class) <= before
                    && !has_room(node, port, below, egress.peer_port, class)
                {
                    let blockers = blockers(below, egress.peer_port, class, world);
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

/// Whether a packet that waits at a gate of a switch fits into the buffer at the far end, `ingress` of `below`: then what
/// is missing is an update, not room.
fn has_room(node: &FabricNode, port: u16, below: &FabricNode, ingress: u16, class: u8) -> bool {
    let (FabricNode::Switch(switch), Some(credits)) = (node, &below.ports().credits) else {
        return false;
    };
    if !credits.govern(class) {
        return false;
    }
    let (held, buffer) = credits.held(below.ports().at(ingress, class));
    let heads = switch.fifos(switch.chassis.ports.at(port, class)).iter().filter(|fifo| !fifo.is_empty());
    let least = heads.map(|fifo| credits.units(switch.chassis.ports.pool.first(*fifo).size)).min();
    least.is_some_and(|least| least <= buffer.saturating_sub(held))
}

/// The egress queues of a node in which packets stand that came in by `ingress`; none if one of them is leaving just now.
fn blockers(node: &FabricNode, ingress: u16, class: u8, world: &World) -> Vec<Gated> {
    let FabricNode::Switch(switch) = node else {
        return Vec::new();
    };
    let ports = &switch.chassis.ports;
    if ports.credits.as_ref().is_some_and(|credits| credits.on_their_way(ports.at(ingress, class)) > 0) {
        return Vec::new();
    }
    if let SwitchFabric::Cioq(combined) = &switch.fabric {
        return blockers_across(switch, combined, ingress, class, world);
    }
    // Where a threshold of the whole port holds back all classes, packets of any class may be the reason.
    let classes =
        if switch.chassis.memory.whole_port(ingress) { world.lossless } else { world.queues_of(class) };
    let came = |packet: &Packet| world.lanes.is_none() || switch.chassis.came_in(packet, world) == class;
    let mut blockers = Vec::new();
    for out in 0..ports.egress.len() as u16 {
        for queue in (0..world.classes.count).filter(|queue| classes & (1 << queue) != 0) {
            if switch.waiting(ports.at(out, queue)).any(|packet| packet.port == ingress && came(packet)) {
                blockers.push((ports.node, out, queue));
            }
        }
    }
    blockers
}

/// The same where packets wait at both sides of the crossbar: the egress queues that the first packets of the ingress queues
/// cannot enter. A class is held back by its own queue, by that of its strays, or by all of them together.
fn blockers_across(
    switch: &Switch,
    combined: &Combined,
    ingress: u16,
    class: u8,
    world: &World,
) -> Vec<Gated> {
    let ports = &switch.chassis.ports;
    if combined.inputs[usize::from(ingress)].busy {
        return Vec::new();
    }
    let own = combined.lines[ports.at(ingress, class)].out != NOWHERE;
    let classes = (1..world.classes.count).filter(|other| *other == class || !own);
    classes
        .map(|class| (combined.lines[ports.at(ingress, class)].out, class))
        .filter(|(out, _)| *out != NOWHERE)
        .map(|(out, class)| (ports.node, out, class))
        .collect()
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
            let data = switch.waiting(switch.chassis.ports.at(port, class)).filter(|packet| packet.is_data());
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
