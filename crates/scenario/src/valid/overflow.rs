//! What switches do with packets for which they have no room.
use backwater_fabric::Overflow;

use super::{Context, is_put, mtu};
use crate::document::{Node, at};
use crate::quantity::Quantity;
use crate::settings::{FlowControl, OnOverflow, Queueing, Settings};

/// Writes out what follows from other values: a profile's `drop` is for fabrics without flow control.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    let said = written.get("switch").is_some_and(|switch| switch.get("overflow").is_some());
    let switch = &mut settings.switch;
    let lossy = switch.flow_control == FlowControl::None && switch.queueing == Queueing::Output;
    if !said && !lossy {
        switch.overflow = OnOverflow::Stop;
    }
}

/// What does not go together with losses is reported.
pub(super) fn overflow(context: &mut Context<'_>) -> Overflow {
    let switch = &context.settings.switch;
    if switch.overflow == OnOverflow::Stop {
        return Overflow::Stop;
    }
    let port = switch.port_buffer.0;
    company(context);
    queue_pairs(context);
    room(context);
    Overflow::Drop { port }
}

/// Flow control keeps buffers from overflowing, other switches keep packets elsewhere.
fn company(context: &mut Context<'_>) {
    let switch = &context.settings.switch;
    let (flow, queues) = (switch.flow_control != FlowControl::None, switch.queueing != Queueing::Output);
    let what = match (flow, queues) {
        (false, false) => return,
        (true, _) => super::idle::is("switch.flow-control", switch.flow_control),
        (false, true) => super::idle::is("switch.queueing", switch.queueing),
    };
    let message = format!("switch.overflow = \"drop\" does not work with {what}");
    let help = if flow {
        "write switch.flow-control = \"none\", or switch.overflow = \"stop\": buffers that are guarded never overflow"
    } else {
        "write switch.queueing = \"output\", or switch.overflow = \"stop\""
    };
    context.report(&at!["switch", "overflow"], message, "not with these switches", help);
}

/// A queue pair sends nothing twice.
fn queue_pairs(context: &mut Context<'_>) {
    let settings = context.settings;
    for (index, entry) in settings.traffic.iter().enumerate() {
        if is_put(settings, index) {
            continue;
        }
        let message = format!(
            "traffic.{}: queue pairs (transport = \"roce\") send nothing twice, and switches drop packets (switch.overflow = \"drop\")",
            entry.name
        );
        let help = "write transport = \"put\"; or switch.overflow = \"stop\", with switch.flow-control = \"pfc\" so that nothing overflows";
        context.report(&at!["traffic", index, "transport"], message, "needs a lossless fabric", help);
    }
}

/// Every buffer takes a packet.
fn room(context: &mut Context<'_>) {
    let (switch, packet) = (&context.settings.switch, Quantity(mtu(context.settings)));
    for (key, room) in [("port-buffer", switch.port_buffer), ("buffer", switch.buffer)] {
        if room < packet {
            let message = format!(
                "switch.{key} = {room} holds no packet: one has {packet} on the wire, and all would be dropped"
            );
            let help = format!("raise switch.{key}, or lower packet.payload");
            context.report(&at!["switch", key], message, format!("at least {packet}"), help);
        }
    }
}
