//! What each key may be, given the others: ports of a node, thresholds of flow control, buffers under credits.
use backwater_document::at;
use backwater_units::{Bytes, Span};

use crate::resolve::{Report, packet};
use crate::settings::{self, Settings};
use crate::testbed::{Node, NodeKind, Port};

/// Ports of a node.
const PORTS_MOST: usize = 64;
/// Credits are counted in blocks of so many bytes (InfiniBand vol. 1 §7.9).
const BLOCK: u64 = 64;

pub(crate) fn check(settings: &Settings, nodes: &[Node], ports: &[Port], report: &mut Report<'_>) {
    for (index, node) in nodes.iter().enumerate() {
        let (least, most, what) = match node.kind {
            NodeKind::Switch { .. } => (1, PORTS_MOST, "a switch has 1 to 64 ports"),
            NodeKind::Sender | NodeKind::Receiver { .. } => (1, 1, "a host has one port"),
            NodeKind::Remote => (0, 0, "a remote station has none"),
        };
        if !(least..=most).contains(&node.port_count) {
            let message = format!("{} has {} ports", node.name, node.port_count);
            report.add(&at!["node", index, "name"], message, what, "a [[link]] or a [[port]] gives it one");
        }
    }
    match &settings.flow_control {
        settings::FlowControl::Pfc { xoff, xon, watchdog, watchdog_restore, .. } => {
            if xon.0 > xoff.0 {
                let message = format!("flow-control.xon = \"{xon}\" is above xoff");
                let label = format!("allowed: up to {xoff}");
                report.add(&at!["flow-control", "xon"], message, &label, "raise xoff or lower xon");
            }
            if watchdog.is_none() && watchdog_restore.is_some() {
                let message = "flow-control.watchdog-restore has no effect".to_owned();
                report.add(
                    &at!["flow-control", "watchdog-restore"],
                    message,
                    "there is no watchdog",
                    "write watchdog = \"200ms\"",
                );
            }
        }
        settings::FlowControl::Credits { buffer, period, phase, .. } => {
            if let Some(phase) = phase.filter(|phase| phase.0 >= period.0) {
                let message = format!("flow-control.phase = \"{phase}\" is not within a period");
                let label = format!("allowed: below {period}");
                report.add(&at!["flow-control", "phase"], message, &label, "leave it out");
            }
            credit_buffer(settings, (buffer.0, period.0), (nodes, ports), report);
        }
        settings::FlowControl::None => {}
    }
}

/// A lane whose buffer does not hold a frame never sends it; one that holds less than a link can have under way between two messages
/// keeps the link from its rate.
fn credit_buffer(
    settings: &Settings,
    (buffer, period): (Bytes, Span),
    (nodes, ports): (&[Node], &[Port]),
    report: &mut Report<'_>,
) {
    let path = at!["flow-control", "buffer"];
    let blocks = |bytes: Bytes| Bytes::new(bytes.get().next_multiple_of(BLOCK));
    let message = |what: &str| format!("flow-control.buffer = \"{buffer}\" is below {what}");
    let frame = settings.run.frame_bytes.0;
    let least = blocks(frame);
    if buffer < least {
        let help =
            format!("such a frame would wait for ever; write buffer = \"{least}\", or lower run.frame-bytes");
        let what = format!("the longest frame, run.frame-bytes = \"{frame}\"");
        report.add(&path, message(&what), &format!("allowed: {least} to 1TB"), help);
        return;
    }
    let need = |port: &Port| blocks(under_way(port, period, packet(settings)));
    let Some(port) = ports.iter().rev().max_by_key(|port| need(port)).filter(|port| need(port) > buffer)
    else {
        return;
    };
    let what = format!("what {}.{} can have under way", nodes[port.node].name, port.name);
    let (rate, delay) = (port.nominal, port.delay);
    let label = format!(
        "{rate} for a period of {period}, {delay} there and back, and two packets want {}",
        need(port)
    );
    report.doubt(
        &path,
        message(&what),
        &label,
        format!("write buffer = \"{}\", or shorten period", need(port)),
    );
}

/// C·(Tc + τ): a block that is sent is granted anew when it has arrived, the next message has gone, which may wait for a packet, and has
/// arrived, where it may find a packet on its way. τ is that of the TCD paper (§4.4): 2 MTU/C + 2 tp.
fn under_way(port: &Port, period: Span, packet: Bytes) -> Bytes {
    let ps = u128::from(period.as_ps()) + 2 * u128::from(port.delay.as_ps());
    let bits = (ps * u128::from(port.nominal.as_bps())).div_ceil(1_000_000_000_000);
    (packet + port.overhead) * 2 + Bytes::new(bits.div_ceil(8) as u64)
}
