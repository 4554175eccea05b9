//! What switches do with packets for which they have no room.
use backwater_control::detector::Red;
use backwater_control::flow_control::LossyPool;
use backwater_fabric::{EarlyDrop, Overflow};
use backwater_traffic::Flow;
use backwater_units::Bytes;

use super::cc::Pairs;
use super::{Context, has_pairs, mtu, reliability};
use crate::document::{Node, Step, at};
use crate::quantity::Quantity;
use crate::settings::{DropsEarly, FlowControl, LossyRed, OnOverflow, Queueing, ReliabilityKind, Settings};

/// Writes out what follows from other values: a profile's `drop` is for fabrics without flow control.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    let said = written.get("switch").is_some_and(|switch| switch.get("overflow").is_some());
    let switch = &mut settings.switch;
    let lossy = match switch.queueing {
        Queueing::Output => switch.flow_control == FlowControl::None,
        Queueing::TwoPools => true,
        _ => false,
    };
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
    if switch.flow_control == FlowControl::Pfc && switch.queueing != Queueing::TwoPools {
        let (lossy, lossless) = (&switch.lossy, switch.overflow == OnOverflow::Drop);
        let log_alpha = log2(lossy.alpha);
        let pool = LossyPool { bytes: lossy.pool.0.get(), log_alpha: log_alpha.unwrap_or(0) };
        if log_alpha.is_none() {
            let message = format!("switch.lossy.alpha = {} is no power of two", lossy.alpha);
            let help = "write 2 to the power of dynamic_th, as BUFFER_PROFILE has it: 8 for 3";
            context.report(
                &at!["switch", "lossy", "alpha"],
                message,
                "allowed: 0.0078125 to 128, a power of two",
                help,
            );
        }
        room(context, &[(&["switch", "lossy", "pool"], context.settings.switch.lossy.pool)]);
        return Overflow::Share { pool, early: early(context), lossless };
    }
    let (port, buffer) = (switch.port_buffer, switch.buffer);
    room(context, &[(&["switch", "port-buffer"], port), (&["switch", "buffer"], buffer)]);
    Overflow::Drop { port: port.0 }
}

/// What lossy priorities drop before there is no room.
fn early(context: &mut Context<'_>) -> Option<EarlyDrop> {
    let LossyRed { drops, kmin, kmax, pmax } = context.settings.switch.lossy.red;
    if drops == DropsEarly::None {
        return None;
    }
    match Red::new(kmin.0, kmax.0, pmax, Bytes::ZERO) {
        Ok(ramp) => Some(EarlyDrop { ramp, capable: drops == DropsEarly::All }),
        Err(error) => {
            context.refuse(&at!["switch", "lossy", "red"], &error);
            None
        }
    }
}

/// What lossless priorities have of the memory of a switch, and what of it others share.
pub(super) fn parts(settings: &Settings) -> (Bytes, Bytes) {
    let switch = &settings.switch;
    let lossy = if switch.overflow == OnOverflow::Stop { Bytes::new(0) } else { switch.lossy.pool.0 };
    (Bytes::new(switch.buffer.0.get().saturating_sub(lossy.get())), lossy)
}

/// Whether a switch may drop what is sent in a priority.
pub(super) fn may_lose(settings: &Settings, priority: u8) -> bool {
    match settings.switch.overflow {
        OnOverflow::Stop => false,
        OnOverflow::Drop => true,
        OnOverflow::DropLossy => {
            let switch = &settings.switch;
            priority != switch.control_priority && !switch.pfc.priorities.contains(&priority)
        }
    }
}

/// Reports ACKs that may be lost of queue pairs that wait for them and send nothing twice.
pub(super) fn acks(context: &mut Context<'_>, flows: &[Flow], pairs: &Pairs) {
    let settings = context.settings;
    let mut last = None;
    for flow in flows.iter().filter(|flow| !may_lose(settings, flow.priority)) {
        let entry = usize::from(flow.group);
        let sends_twice =
            !has_pairs(settings, entry) || reliability::of(settings, entry) != ReliabilityKind::None;
        let lost =
            pairs.ack_priority(flow.group, flow.priority).filter(|&priority| may_lose(settings, priority));
        let Some(priority) = lost.filter(|_| !sends_twice && last != Some(entry)) else { continue };
        last = Some(entry);
        let message = format!(
            "traffic.{}: switches may drop its ACKs, of priority {priority}, and its queue pairs send nothing twice",
            settings.traffic[entry].name
        );
        let help = format!(
            "remove ack.priority, or write {} or one of switch.pfc.priorities; or write transport.reliability = \"go-back-n\"",
            settings.switch.control_priority
        );
        context.report(
            &at!["ack", "priority"],
            message,
            "a lossless priority, or the control priority",
            help,
        );
    }
}

/// n for 2ⁿ.
fn log2(alpha: f64) -> Option<i8> {
    (-7..=7i8).find(|&n| libm::ldexp(1.0, i32::from(n)).to_bits() == alpha.to_bits())
}

/// Every buffer takes a packet.
fn room(context: &mut Context<'_>, buffers: &[(&[&'static str], Quantity<Bytes>)]) {
    let packet = Quantity(mtu(context.settings));
    for (path, room) in buffers {
        if *room < packet {
            let key = path.join(".");
            let message = format!(
                "{key} = {room} holds no packet: one has {packet} on the wire, and all would be dropped"
            );
            let help = format!("raise {key}, or lower packet.payload");
            let place: Vec<Step> = path.iter().map(|step| Step::from(*step)).collect();
            context.report(&place, message, format!("at least {packet}"), help);
        }
    }
}
