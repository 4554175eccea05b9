//! The configuration of a data plane: a TOML file, checked and resolved.
use core::ffi::{CStr, c_char};
use std::path::Path;

use backwater_testbed::Testbed;

use crate::detector::bw_detector_config;
use crate::pfc::bw_pfc_config;
use crate::write_text::write_text;

mod resolved;

use resolved::{converted, free};

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
