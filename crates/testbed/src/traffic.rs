//! Flows.
use backwater_document::at;
use backwater_units::{Bytes, Rate, Span};

use crate::addresses::{NAME_HELP, is_name};
use crate::resolve::Report;
use crate::settings::{Code, FlowRate, Settings};
use crate::testbed::{Flow, Node, NodeKind};

/// Ethernet (IEEE 802.3 clause 3), `IPv4` (RFC 791), UDP (RFC 768), BTH (InfiniBand vol. 1 §9.2), ICRC (annex A17).
const AROUND: u64 = 14 + 20 + 8 + 12 + 4;
/// The same with a tag, and the filling.
const HEADERS: u64 = AROUND + 4 + 3;

/// The packet that a sender makes of a payload, which is filled up to words, as queues and buffers count it: without the 4 B of Ethernet's check
/// sequence, which the card adds. They are part of a link's `overhead`.
pub(crate) fn packet(payload: Bytes) -> Bytes {
    Bytes::new(payload.get().next_multiple_of(4) + AROUND)
}

/// The flows, between nodes that may have them.
pub(crate) fn flows(settings: &Settings, nodes: &[Node], report: &mut Report<'_>) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for (index, flow) in settings.flow.iter().enumerate() {
        let path = |key: &'static str| at!["flow", index, key];
        if !is_name(&flow.name) {
            report.add(
                &path("name"),
                format!("name = {:?} is not allowed", flow.name),
                NAME_HELP,
                "choose another name",
            );
        }
        if flows.iter().any(|other| other.name == flow.name) {
            report.add(
                &path("name"),
                format!("two flows are called {}", flow.name),
                "taken",
                "choose another name",
            );
        }
        let queue_pair = flow.queue_pair.unwrap_or(16 + index as u32);
        if flows.iter().any(|other| other.queue_pair == queue_pair) {
            let message = format!("{} has the queue pair {queue_pair} of another flow", flow.name);
            report.add(
                &path("queue-pair"),
                message,
                "taken",
                "leave queue-pair out, or give every flow its own",
            );
        }
        if let Some(stop) = flow.stop
            && stop.0 <= flow.start.0
        {
            let message = format!("{} stops before it starts", flow.name);
            report.add(
                &path("stop"),
                message,
                &format!("allowed: later than start = {}", flow.start),
                "move stop",
            );
        }
        let (least, most) = (flow.payload.0.get() + HEADERS, settings.run.frame_bytes.0.get());
        if least > most {
            let message =
                format!("{}: a packet with {} does not fit into a packet buffer", flow.name, flow.payload);
            let help = format!("write run.frame-bytes = \"{least}B\", or a smaller payload");
            report.add(
                &path("payload"),
                message,
                &format!("allowed: up to {}B", most.saturating_sub(HEADERS)),
                help,
            );
        }
        let from = end(nodes, ("from", &flow.from), index, report);
        let to = end(nodes, ("to", &flow.to), index, report);
        flows.push(Flow {
            name: flow.name.clone(),
            from,
            to,
            rate: match flow.rate {
                FlowRate::At(rate) if rate.0 > Rate::ZERO => Some(rate.0),
                FlowRate::At(_) | FlowRate::Word(_) => None,
            },
            start: flow.start.0,
            stop: flow.stop.map(|stop| stop.0).filter(|stop| *stop > Span::ZERO),
            size: flow.size.map(|size| size.0),
            payload: flow.payload.0,
            priority: flow.priority,
            jitter_ppm: (flow.jitter * 1e6).round() as u32,
            catch_up: flow.catch_up,
            code: u8::from(flow.code == Code::Capable),
            queue_pair,
        });
    }
    flows
}

/// The node of a name: a sender or remote for "from", a receiver or remote for "to".
fn end(nodes: &[Node], (key, name): (&'static str, &str), index: usize, report: &mut Report<'_>) -> usize {
    let fits = |node: &Node| match node.kind {
        NodeKind::Sender => key == "from",
        NodeKind::Receiver { .. } => key == "to",
        NodeKind::Remote => true,
        NodeKind::Switch { .. } => false,
    };
    let path = at!["flow", index, key];
    match nodes.iter().position(|node| node.name == name) {
        Some(found) if fits(&nodes[found]) => found,
        Some(_) => {
            let kind = if key == "from" { "sender" } else { "receiver" };
            let message = format!("{key} = {name:?} is no {kind}");
            report.add(
                &path,
                message,
                "of another kind",
                format!("name a node of kind {kind:?} (or \"remote\")"),
            );
            0
        }
        None => {
            let known = nodes.iter().filter(|node| fits(node)).map(|node| node.name.as_str());
            report.no_such(&path, (key, name), known);
            0
        }
    }
}
