//! What switches do with packets for which they have no room.
use backwater_codes::Code;
use backwater_control::detector::Red;
use backwater_control::flow_control::{LossyPool, Trimming};
use backwater_fabric::{EarlyDrop, Overflow};
use backwater_topology::{Network, Port, Routes, facts};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Rate, Span};

use super::balancing::gives_entropies;
use super::cc::Pairs;
use super::{Context, has_pairs, mtu, reliability};
use crate::document::{Node, Step, at};
use crate::quantity::Quantity;
use crate::settings::{
    AutoOr, DetectorKind, DropsEarly, FlowControl, LossyRed, OnOverflow, Queueing, ReliabilityKind, Settings,
    TrimmingSettings,
};

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
pub(super) fn overflow(context: &mut Context<'_>, fabric: Option<(&Network, &Routes)>) -> Overflow {
    let switch = &context.settings.switch;
    if switch.overflow == OnOverflow::Trim {
        let trimming = fabric.map(|(network, routes)| trimming(context, network, routes));
        return trimming.map_or(Overflow::Stop, Overflow::Trim);
    }
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

/// How packets are trimmed.
fn trimming(context: &mut Context<'_>, network: &Network, routes: &Routes) -> Trimming {
    let settings = context.settings;
    let TrimmingSettings { size, queue, bdps, headers, victim, by_rate } = settings.switch.trimming;
    let (packet, line) = (mtu(settings).get(), fastest(network));
    if size.0.get() >= packet {
        let message = format!(
            "switch.trimming.size = {size} leaves all of a packet, which has {} on the wire",
            Quantity(mtu(settings))
        );
        context.report(&at!["switch", "trimming", "size"], message, "less than a packet", "write 64B");
    }
    let queue = match queue {
        AutoOr::Given(Quantity(given)) => given,
        AutoOr::Auto => {
            // As if all links had that rate: a slow one makes no queue longer.
            let bytes = |size: u64| line.serialize(Bytes::new(size)).as_ps();
            let link = |link: &Port| 2 * link.delay.as_ps() + bytes(packet) + bytes(size.0.get());
            let trip = Span::from_ps(facts::farthest(network, routes, link));
            let product = line.bytes_in(trip).get().div_ceil(packet);
            Bytes::new((product as f64 * bdps).max(1.0) as u64 * packet)
        }
    };
    let headers = Bytes::new((queue.get() as f64 * headers).max(size.0.get() as f64) as u64);
    let size = size.0.get().min(packet) as u16;
    let trimming = Trimming { queue, headers, size, victim, rate: by_rate.then_some(line) };
    let switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
    let slowest = switches.flat_map(|node| network.ports(node)).map(|port| port.rate).min().unwrap_or(line);
    if !trimming.room(slowest).takes(0, packet as u16) {
        let at_rate =
            if by_rate && slowest < line { format!(" at a port of {slowest}") } else { String::new() };
        let message = format!(
            "switch.trimming.queue = {} holds no packet{at_rate}: one has {} on the wire, and all would be trimmed",
            Quantity(queue),
            Quantity(mtu(settings))
        );
        let help = "raise switch.trimming.queue, or write by-rate = false, or lower packet.payload";
        context.report(&at!["switch", "trimming", "queue"], message, "at least a packet", help);
    }
    marks(context, queue, line);
    if !gives_entropies(settings) {
        let caveat = "switch.overflow = \"trim\": no traffic knows trimmed packets, and those of queue pairs and PUTs are dropped";
        context.caveat(Code::NoEffect, "switch.overflow", caveat);
    }
    trimming
}

/// Thresholds of marks that a queue does not reach before packets are trimmed.
fn marks(context: &mut Context<'_>, queue: Bytes, line: Rate) {
    let detector = &context.settings.switch.detector;
    if !matches!(detector.kind, DetectorKind::Tcd | DetectorKind::Red) {
        return;
    }
    let (kmin, kmax, _) = detector.ramp(line);
    let (first, all, queue) = (Quantity(kmin), Quantity(kmax), Quantity(queue));
    if first >= queue {
        let message = format!(
            "switch.detector.kmin = {first} is no less than the queue, {queue}: packets are trimmed and none is marked"
        );
        let help = "lower switch.detector.kmin and kmax, as to a fifth and four fifths of the queue; or raise switch.trimming.queue";
        context.report(&at!["switch", "detector", "kmin"], message, format!("less than {queue}"), help);
    } else if all > queue {
        let message = format!(
            "switch.detector.kmax = {all} is more than the queue, {queue}: none is marked for certain before packets are trimmed"
        );
        context.caveat(Code::DropsBeforeMarks, "switch.detector.kmax", message);
    }
}

/// The rate that thresholds of marks are for where those of other ports are in proportion to theirs.
pub(super) fn proportion(settings: &Settings, network: &Network) -> Option<Rate> {
    let switch = &settings.switch;
    let trims = switch.overflow == OnOverflow::Trim && switch.trimming.by_rate;
    (trims && switch.detector.by_rate.is_empty()).then(|| fastest(network))
}

/// The rate of the fastest link of a host.
fn fastest(network: &Network) -> Rate {
    let hosts = 0..network.hosts().len() as u32;
    let rates = hosts.flat_map(|host| network.nics(host)).map(|port| port.rate);
    rates.max().unwrap_or(Rate::from_gbps(1))
}

/// What lossless priorities have of the memory of a switch, and what of it others share.
pub(super) fn parts(settings: &Settings) -> (Bytes, Bytes) {
    let switch = &settings.switch;
    let shares = matches!(switch.overflow, OnOverflow::Drop | OnOverflow::DropLossy);
    let lossy = if shares { switch.lossy.pool.0 } else { Bytes::new(0) };
    (Bytes::new(switch.buffer.0.get().saturating_sub(lossy.get())), lossy)
}

/// Whether a switch may drop what is sent in a priority.
pub(super) fn may_lose(settings: &Settings, priority: u8) -> bool {
    match settings.switch.overflow {
        OnOverflow::Stop => false,
        OnOverflow::Drop => true,
        OnOverflow::Trim => {
            let switch = &settings.switch;
            switch.flow_control != FlowControl::Pfc || !switch.pfc.priorities.contains(&priority)
        }
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
