//! Whether the traffic of a priority can lock itself up: frames that wait for each other's buffers in a circle.
use backwater_codes::Code;
use backwater_topology::{Network, Routes, deadlock};
use backwater_traffic::{Flow, OWN_CONNECTION};

use super::Context;
use super::cc::Pairs;
use super::flows::PRIORITY;
use super::lanes::Lanes;
use crate::document::at;
use crate::settings::{FlowControl, Settings};

/// Asks for each priority under flow control (`guarded`, as bits) with the pairs of hosts that use it. Under credits a circle
/// is an error, unless it is asked for; under PFC, as in the simulators of the published systems, a caveat.
pub(super) fn check(
    context: &mut Context<'_>,
    (network, routes): (&Network, &Routes),
    flows: &[Flow],
    pairs: &Pairs,
    guarded: u8,
) {
    let credits = context.settings.switch.flow_control == FlowControl::Credits;
    for priority in Lanes::of(guarded) {
        // What is injected may go from any host to any other.
        let found = if injected(context.settings, pairs, priority) {
            deadlock::check(network, routes)
        } else {
            deadlock::check_pairs(network, routes, ways(flows, pairs, priority))
        };
        let Err(cycle) = found else { continue };
        if credits && !context.settings.topology.allow_cycles {
            let message = format!("virtual lane {priority} can deadlock: {cycle}");
            let help = "move some of its flows to another virtual lane (traffic.NAME.priority), use a topology whose shortest \
                        paths go up and then down (leaf-spine, fat-tree), or remove a link of the circle; to study the \
                        deadlock, set topology.allow-cycles = true";
            context.report(&at!["topology"], message, "each of these ports may wait for the next", help);
        } else {
            let lane = if credits { "virtual lane" } else { "priority" };
            context.caveat(Code::DeadlockPossible, "topology.routing", format!(
                "{lane} {priority} can deadlock: {cycle}; use a topology whose shortest paths go up and then down, or remove \
                 a link of the circle"
            ));
        }
    }
}

/// Whether flows that are injected may have this priority, or their ACKs.
fn injected(settings: &Settings, pairs: &Pairs, priority: u8) -> bool {
    (0..).zip(&settings.traffic).filter(|(_, entry)| entry.workload.is_injected()).any(|(group, entry)| {
        let own = entry.priority.unwrap_or(PRIORITY);
        own == priority || pairs.ack_priority(group, own) == Some(priority)
    })
}

/// Who sends to whom in a priority: data, and the ACKs that go the other way. All messages of a connection go the same way.
fn ways<'a>(flows: &'a [Flow], pairs: &'a Pairs, priority: u8) -> impl Iterator<Item = (u32, u32)> + 'a {
    let mut seen: Vec<bool> = Vec::new();
    let first = move |flow: &&Flow| {
        let number = flow.connection as usize;
        if flow.connection == OWN_CONNECTION {
            return true;
        }
        seen.resize(seen.len().max(number + 1), false);
        !std::mem::replace(&mut seen[number], true)
    };
    flows.iter().filter(first).flat_map(move |flow| {
        let data = (flow.priority == priority).then_some((flow.src, flow.dst));
        let back =
            (pairs.ack_priority(flow.group, flow.priority) == Some(priority)).then_some((flow.dst, flow.src));
        data.into_iter().chain(back)
    })
}
