//! The configuration of a data plane: a TOML file, checked and resolved.
use core::ffi::{CStr, c_char};
use std::path::Path;

use backwater_control::detector::{Detector, Red, Trend};
use backwater_testbed::settings::Action;
use backwater_testbed::{ClockKind, FlowControl, Link, Node, NodeKind, Port, Testbed};

use crate::detector::bw_detector_config;
use crate::pfc::{bw_pfc_config, bw_pfc_quanta_ps};
use crate::text::write_text;

/// Bytes of a name with its end.
pub const BW_NAME_BYTES: usize = 32;
/// Bytes of a DPDK device with its end.
pub const BW_DEVICE_BYTES: usize = 256;
/// Bytes of a path to a page with its end.
pub const BW_PAGE_BYTES: usize = 108;

/// Where time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_clock_kind {
    /// Each visit of a node adds a constant.
    Step = 0,
    /// The processor's counter, but a visit adds at most a cap.
    Clamp = 1,
    /// Clamp, and no process is far ahead of the slowest.
    Lockstep = 2,
    /// The processor's counter as it is.
    Wall = 3,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_node_kind {
    /// Forwards.
    Switch = 0,
    /// Sends.
    Sender = 1,
    /// Counts.
    Receiver = 2,
    /// Is in another process or machine: has an address and no ports.
    Remote = 3,
}

/// Who may send when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_flow_control {
    /// Whoever likes.
    None = 0,
    /// By PAUSEs.
    Pfc = 1,
    /// By credits.
    Credits = 2,
}

/// A node.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct bw_node {
    /// Its name.
    pub name: [c_char; BW_NAME_BYTES],
    /// An enum bw_node_kind.
    pub kind: u32,
    /// Its ports follow each other in bw_testbed.ports.
    pub first_port: u32,
    /// How many it has.
    pub port_count: u32,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Its IPv4 address: 10.0.0.1 is 0x0A000001.
    pub ip: u32,
    /// Switch: forwards by the addresses it has seen; else by bw_testbed.entries.
    pub learning: bool,
    /// Switch: how long such an address is kept.
    pub ageing_ps: u64,
    /// Switch: what its egress ports mark.
    pub detector: bw_detector_config,
    /// Receiver: whether CE is answered with CNPs.
    pub cnp: bool,
    /// Receiver: least time between two CNPs of a flow.
    pub cnp_interval_ps: u64,
    /// Receiver: priority of CNPs.
    pub cnp_priority: u8,
}

/// A port of a node.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct bw_port {
    /// Its name, unique within its node.
    pub name: [c_char; BW_NAME_BYTES],
    /// Index of its node.
    pub node: u32,
    /// Index of the port at the other end; UINT32_MAX if it is on a device.
    pub peer: u32,
    /// The device as DPDK calls it; empty if there is none.
    pub device: [c_char; BW_DEVICE_BYTES],
    /// Source of its control frames; that of the node for hosts.
    pub mac: [u8; 6],
    /// Emulated rate; 0: as fast as the device.
    pub rate_bps: u64,
    /// The rate that times PAUSEs.
    pub nominal_bps: u64,
    /// Emulated propagation delay.
    pub delay_ps: u64,
    /// What a frame occupies on the wire beside its bytes.
    pub overhead_bytes: u32,
    /// An enum bw_flow_control.
    pub flow_control: u32,
    /// Bit p: priority p is under flow control.
    pub lossless: u8,
    /// Under PFC.
    pub pfc: bw_pfc_config,
    /// Under PFC, in a storm: 0 drops the frames of the priority, 1 sends them.
    pub watchdog_action: u32,
    /// Under credits: Tc.
    pub credit_period_ps: u64,
    /// Under credits: when the first message goes.
    pub credit_phase_ps: u64,
    /// Under credits: what a lane holds here.
    pub credit_buffer_bytes: u64,
    /// Under credits: what a lane holds at the other end.
    pub peer_credit_buffer_bytes: u64,
    /// Under PFC: what an ingress priority may hold; 0: as much as there are buffers.
    pub ingress_limit_bytes: u64,
    /// What an egress queue without flow control may hold; 0: as much as there are buffers.
    pub lossy_queue_bytes: u64,
}

/// A switch knows where a station is.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct bw_entry {
    /// Index of the switch.
    pub node: u32,
    /// The port, counted within the switch.
    pub port: u32,
    /// The station.
    pub mac: [u8; 6],
}

/// A paced flow of RoCEv2 packets.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct bw_flow {
    /// Its name.
    pub name: [c_char; BW_NAME_BYTES],
    /// Index of the sender.
    pub from: u32,
    /// Index of the receiver.
    pub to: u32,
    /// Of what its packets occupy on the wire; 0: whatever the link allows.
    pub rate_bps: u64,
    /// First packet.
    pub start_ps: u64,
    /// No packet is due from then on; UINT64_MAX: ever.
    pub stop_ps: u64,
    /// Payload in all; 0: no end.
    pub size_bytes: u64,
    /// Payload of a packet.
    pub payload_bytes: u32,
    /// Destination queue pair.
    pub queue_pair: u32,
    /// Variation of the distances between packets, in millionths.
    pub jitter_ppm: u32,
    /// Its priority.
    pub priority: u8,
    /// ECN bits.
    pub code: u8,
    /// Whether what was held up is sent later, above the rate.
    pub catch_up: bool,
}

/// A data plane. The arrays belong to it.
#[repr(C)]
pub struct bw_testbed {
    /// When it ends; 0: with SIGTERM.
    pub duration_ps: u64,
    /// Receivers count in windows of this length.
    pub window_ps: u64,
    /// Of random numbers.
    pub seed: u64,
    /// Packet buffers.
    pub frames: u32,
    /// Bytes of each.
    pub frame_bytes: u32,
    /// An enum bw_clock_kind.
    pub clock: u32,
    /// Number of this process, from 0.
    pub process: u32,
    /// How many there are.
    pub processes: u32,
    /// How long a start waits for the links of devices to come up.
    pub link_timeout_ms: u32,
    /// What a visit of a node adds (step) or adds at most; 0: to be computed from the links.
    pub clock_cap_ps: u64,
    /// How far a process may be ahead (lockstep).
    pub lookahead_ps: u64,
    /// A file that all processes map (lockstep).
    pub lockstep_page: [c_char; BW_PAGE_BYTES],
    /// The nodes.
    pub nodes: *const bw_node,
    /// Their ports.
    pub ports: *const bw_port,
    /// What switches without learning know.
    pub entries: *const bw_entry,
    /// Traffic.
    pub flows: *const bw_flow,
    /// How many.
    pub node_count: u32,
    /// How many.
    pub port_count: u32,
    /// How many.
    pub entry_count: u32,
    /// How many.
    pub flow_count: u32,
}

/// Reads the file at `path`. On success `*testbed` is to be given back to bw_testbed_free, and `why` (may be NULL) holds the warnings, a line
/// each, or nothing. Else it is NULL, false is returned, and `why` holds the report: one paragraph per problem with its line, what is allowed
/// and a fix (4096 bytes hold most).
///
/// # Safety
/// `path` is a text that ends with NUL, `testbed` points to a pointer, `why` to `why_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_testbed_parse(
    path: *const c_char,
    testbed: *mut *mut bw_testbed,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    let read = match path.to_str() {
        Ok(path) => Testbed::load(Path::new(path)),
        Err(_) => Err("the path of the testbed is not UTF-8; rename the file".to_owned()),
    };
    let (made, told) = match read {
        Ok(read) => (Box::into_raw(Box::new(converted(&read))), read.warnings.join("\n")),
        Err(report) => (core::ptr::null_mut(), report),
    };
    // SAFETY: the caller's promise.
    unsafe {
        testbed.write(made);
        write_text(&told, why, why_size);
    }
    !made.is_null()
}

/// Gives back what bw_testbed_parse has made; NULL does nothing.
///
/// # Safety
/// `testbed` comes from bw_testbed_parse, unchanged but for its plain numbers, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_testbed_free(testbed: *mut bw_testbed) {
    if testbed.is_null() {
        return;
    }
    // SAFETY: the caller's promise; the arrays were made by `array`.
    unsafe {
        let testbed = Box::from_raw(testbed);
        free(testbed.nodes, testbed.node_count);
        free(testbed.ports, testbed.port_count);
        free(testbed.entries, testbed.entry_count);
        free(testbed.flows, testbed.flow_count);
    }
}

fn array<T>(items: Vec<T>) -> (*const T, u32) {
    let count = items.len() as u32;
    (Box::into_raw(items.into_boxed_slice()).cast::<T>(), count)
}

/// # Safety
/// Both come from one call of `array`.
unsafe fn free<T>(items: *const T, count: u32) {
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

fn converted(read: &Testbed) -> bw_testbed {
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
        Detector::None | Detector::Fecn(_) | Detector::Custom { .. } => none,
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
