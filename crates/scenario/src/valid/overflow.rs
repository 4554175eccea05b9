//! What switches do with packets for which they have no room.
use backwater_fabric::Overflow;

use super::{Context, mtu};
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

/// What they do; buffers without room for a packet are reported.
pub(super) fn overflow(context: &mut Context<'_>) -> Overflow {
    let switch = &context.settings.switch;
    if switch.overflow == OnOverflow::Stop {
        return Overflow::Stop;
    }
    let port = switch.port_buffer.0;
    room(context);
    Overflow::Drop { port }
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
