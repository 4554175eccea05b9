//! From a resolved testbed to the plain structs of C.
use core::ffi::c_char;

use backwater_control::detector::{Detector, Red, Trend};
use backwater_testbed::settings::Action;
use backwater_testbed::{ClockKind, FlowControl, Link, Node, NodeKind, Port, Testbed};

use super::{BW_DEVICE_BYTES, bw_entry, bw_flow, bw_node, bw_port, bw_testbed};
use crate::detector::bw_detector_config;
use crate::pfc::{bw_pfc_config, bw_pfc_quanta_ps};

/// An array for C, and its length. `free` takes it back.
fn array<T>(items: Vec<T>) -> (*const T, u32) {
    let count = items.len() as u32;
    (Box::into_raw(items.into_boxed_slice()).cast::<T>(), count)
}

/// # Safety
/// Both come from one call of `array`.
pub(super) unsafe fn free<T>(items: *const T, count: u32) {
    let slice = core::ptr::slice_from_raw_parts_mut(items.cast_mut(), count as usize);
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(slice) });
}

/// A text in a field of fixed length, which the parser has made sure that it fits, with NULs behind it.
fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (to, from) in field.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from.cast_signed();
    }
    field
}

/// What a file says, as C has it.
pub(super) fn converted(read: &Testbed) -> bw_testbed {
    let (nodes, node_count) = array(read.nodes.iter().map(node).collect());
    let (ports, port_count) = array(read.ports.iter().map(port).collect());
    let entry = |entry: &backwater_testbed::Entry| bw_entry {
        node: entry.node as u32,
        port: entry.port as u32,
        mac: entry.mac.0,
    };
    let (entries, entry_count) = array(read.entries.iter().map(entry).collect());
    let (flows, flow_count) = array(read.flows.iter().map(flow).collect());
    let clock = &read.clock;
    bw_testbed {
        duration_ps: read.duration.map_or(0, backwater_units::Span::as_ps),
        window_ps: read.window.as_ps(),
        seed: read.seed,
        frames: read.frames.0,
        frame_bytes: read.frames.1.get() as u32,
        clock: match clock.kind {
            ClockKind::Step => 0,
            ClockKind::Clamp => 1,
            ClockKind::Lockstep => 2,
            ClockKind::Wall => 3,
        },
        process: clock.process.0,
        processes: clock.process.1,
        link_timeout_ms: (clock.link_timeout.as_ps() / 1_000_000_000) as u32,
        clock_cap_ps: clock.cap.map_or(0, backwater_units::Span::as_ps),
        lookahead_ps: clock.lookahead.as_ps(),
        lockstep_page: text(&clock.page),
        nodes,
        ports,
        entries,
        flows,
        node_count,
        port_count,
        entry_count,
        flow_count,
    }
}

fn node(node: &Node) -> bw_node {
    let mut made = bw_node {
        name: text(&node.name),
        kind: 0,
        first_port: node.first_port as u32,
        port_count: node.port_count as u32,
        mac: node.mac.0,
        ip: node.ip.to_bits(),
        learning: false,
        ageing_ps: 0,
        detector: detector(&Detector::None),
        cnp: false,
        cnp_interval_ps: 0,
        cnp_priority: 0,
    };
    match &node.kind {
        NodeKind::Switch { learning, ageing, detector: own } => {
            (made.learning, made.ageing_ps, made.detector) = (*learning, ageing.as_ps(), detector(own));
        }
        NodeKind::Sender => made.kind = 1,
        NodeKind::Receiver { cnp } => {
            made.kind = 2;
            if let Some((interval, priority)) = cnp {
                (made.cnp, made.cnp_interval_ps, made.cnp_priority) = (true, interval.as_ps(), *priority);
            }
        }
        NodeKind::Remote => made.kind = 3,
    }
    made
}

fn detector(detector: &Detector) -> bw_detector_config {
    let none = bw_detector_config {
        kind: 0,
        trend: 0,
        kmin_bytes: 0,
        kmax_bytes: 0,
        guaranteed_bytes: 0,
        pmax: 0.0,
        max_ton_ps: 0,
        period_ps: 0,
        low_bytes: 0,
        delta_bytes: 0,
        clock_ps: 0,
    };
    let ramp = |kind: u32, red: &Red| bw_detector_config {
        kind,
        kmin_bytes: red.kmin().get(),
        kmax_bytes: red.kmax().get(),
        guaranteed_bytes: red.guaranteed().get(),
        pmax: red.pmax(),
        ..none
    };
    match detector {
        Detector::None | Detector::Fecn(_) | Detector::Oracle(_) | Detector::Custom { .. } => none,
        Detector::Red(red) => ramp(1, red),
        Detector::NpEcn(np_ecn) => ramp(2, &np_ecn.red),
        Detector::Tcd(tcd) => bw_detector_config {
            trend: match tcd.trend {
                Trend::Authors => 0,
                Trend::Rise => 1,
                Trend::NoFall => 2,
                Trend::RiseBp => 3,
            },
            max_ton_ps: tcd.max_ton.as_ps(),
            period_ps: tcd.period.as_ps(),
            low_bytes: tcd.low.get(),
            delta_bytes: tcd.delta.get(),
            clock_ps: tcd.clock.as_ps(),
            ..ramp(3, &tcd.red)
        },
    }
}

fn port(port: &Port) -> bw_port {
    let no_pfc = bw_pfc_config {
        xoff_bytes: 0,
        xon_bytes: 0,
        pause_ps: 0,
        watchdog_detect_ps: 0,
        watchdog_restore_ps: 0,
        pause_quanta: 0,
    };
    let mut made = bw_port {
        name: text(&port.name),
        node: port.node as u32,
        peer: u32::MAX,
        device: [0; BW_DEVICE_BYTES],
        mac: port.mac.0,
        rate_bps: port.rate.map_or(0, backwater_units::Rate::as_bps),
        nominal_bps: port.nominal.as_bps(),
        delay_ps: port.delay.as_ps(),
        overhead_bytes: port.overhead.get() as u32,
        flow_control: 0,
        lossless: port.lossless,
        pfc: no_pfc,
        watchdog_action: 0,
        credit_period_ps: 0,
        credit_phase_ps: 0,
        credit_buffer_bytes: 0,
        peer_credit_buffer_bytes: 0,
        ingress_limit_bytes: 0,
        lossy_queue_bytes: port.lossy_queue.map_or(0, backwater_units::Bytes::get),
    };
    match &port.link {
        Link::Peer(peer) => made.peer = *peer as u32,
        Link::Device(device) => made.device = text(device),
    }
    match &port.flow_control {
        FlowControl::None => {}
        FlowControl::Pfc(pfc) => {
            let (detect, restore) =
                pfc.watchdog.map_or((0, 0), |(detect, restore)| (detect.as_ps(), restore.as_ps()));
            made.flow_control = 1;
            made.pfc = bw_pfc_config {
                xoff_bytes: pfc.xoff.get(),
                xon_bytes: pfc.xon.get(),
                pause_ps: bw_pfc_quanta_ps(made.nominal_bps, pfc.quanta),
                watchdog_detect_ps: detect,
                watchdog_restore_ps: restore,
                pause_quanta: pfc.quanta,
            };
            made.watchdog_action = u32::from(pfc.action == Action::Forward);
            made.ingress_limit_bytes = pfc.limit.map_or(0, backwater_units::Bytes::get);
        }
        FlowControl::Credits(credits) => {
            made.flow_control = 2;
            made.credit_period_ps = credits.period.as_ps();
            made.credit_phase_ps = credits.phase.as_ps();
            made.credit_buffer_bytes = credits.buffer.get();
            made.peer_credit_buffer_bytes = credits.buffer.get();
        }
    }
    made
}

fn flow(flow: &backwater_testbed::Flow) -> bw_flow {
    bw_flow {
        name: text(&flow.name),
        from: flow.from as u32,
        to: flow.to as u32,
        rate_bps: flow.rate.map_or(0, backwater_units::Rate::as_bps),
        start_ps: flow.start.as_ps(),
        stop_ps: flow.stop.map_or(u64::MAX, backwater_units::Span::as_ps),
        size_bytes: flow.size.map_or(0, backwater_units::Bytes::get),
        payload_bytes: flow.payload.get() as u32,
        queue_pair: flow.queue_pair,
        jitter_ppm: flow.jitter_ppm,
        priority: flow.priority,
        code: flow.code,
        catch_up: flow.catch_up,
    }
}
