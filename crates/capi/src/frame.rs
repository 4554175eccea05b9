//! Frames: what is in one, and the bytes of those that a data plane writes itself.
use core::ffi::c_char;

use backwater_wire as wire;
use backwater_wire::{Frame, Payload};

use crate::text::explain;

pub mod write;

/// The least frame, without its check sequence.
pub const BW_LEAST_FRAME: usize = 60;
/// Where PFC and credit messages go: 01:80:C2:00:00:01, which bridges do not forward.
pub const BW_PAUSE_ADDRESS: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// The longest credit message: eight lanes.
pub const BW_CREDIT_FRAME_MOST: usize = 146;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_frame_kind {
    /// None of these; only the Ethernet header was read.
    Other = 0,
    /// IPv4 that is not RoCEv2.
    Ipv4 = 1,
    /// RoCEv2 (UDP 4791).
    Roce = 2,
    /// PAUSE of the whole link.
    Pause = 3,
    /// PFC.
    Pfc = 4,
    /// Credits.
    Credit = 5,
}

/// The times of a PFC frame.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_pfc_frame {
    /// For each priority a time in quanta of 512 bit times; 0 resumes.
    pub quanta: [u16; 8],
    /// Bit p: the time of priority p counts.
    pub enabled: u8,
}

/// A credit message.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_credit_frame {
    /// Units sent in all, of each lane.
    pub fctbs: [u64; 8],
    /// Units that the other end may send in all, of each lane.
    pub fccl: [u64; 8],
    /// Bit v: lane v is in the message.
    pub lanes: u8,
}

/// A RoCEv2 frame: what was read, or what is to be written.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_roce_frame {
    /// Ethernet addresses.
    pub destination: [u8; 6],
    /// Ethernet addresses.
    pub source: [u8; 6],
    /// IPv4 addresses, as they are written: 10.0.0.1 is {10, 0, 0, 1}.
    pub source_ip: [u8; 4],
    /// IPv4 addresses.
    pub destination_ip: [u8; 4],
    /// Destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
    /// Message sequence number, 24 bits. Of an acknowledgement only.
    pub msn: u32,
    /// UDP source port.
    pub udp_source: u16,
    /// VLAN identifier. Of a tagged frame only.
    pub vlan_id: u16,
    /// Partition key; 0xFFFF is the default partition.
    pub pkey: u16,
    /// IPv4 identification.
    pub ip_id: u16,
    /// Whether there is a VLAN tag.
    pub tagged: bool,
    /// PCP of a tagged frame, 0 to 7.
    pub pcp: u8,
    /// DSCP, 0 to 63; a class selector is priority times 8.
    pub dscp: u8,
    /// ECN bits: BW_CODE_CAPABLE and the others.
    pub code: u8,
    /// Hops that are left.
    pub ttl: u8,
    /// BTH opcode: BW_OPCODE_SEND_ONLY and the others.
    pub opcode: u8,
    /// BTH: backward notification, set in a CNP.
    pub becn: bool,
    /// BTH: forward notification.
    pub fecn: bool,
    /// BTH: an acknowledgement is asked for.
    pub ack_request: bool,
    /// AETH. Of an acknowledgement only.
    pub syndrome: u8,
}

/// Reliable connection, SEND only.
pub const BW_OPCODE_SEND_ONLY: u8 = 0x04;
/// Reliable connection, acknowledgement.
pub const BW_OPCODE_ACKNOWLEDGE: u8 = 0x11;
/// Congestion notification packet.
pub const BW_OPCODE_CNP: u8 = 0x81;

/// What was read from a frame. Of the members behind `ip_offset` only those of its kind are set.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_frame {
    /// What it is.
    pub kind: bw_frame_kind,
    /// Behind the VLAN tag.
    pub ethertype: u16,
    /// Where the IP header begins; 0 if there is none.
    pub ip_offset: u16,
    /// Of RoCE.
    pub roce: bw_roce_frame,
    /// Of RoCE: where its payload begins, and how long it is.
    pub payload_offset: u32,
    /// Of RoCE: where its payload begins, and how long it is.
    pub payload_bytes: u32,
    /// Of PAUSE: quanta.
    pub pause_quanta: u16,
    /// Of PFC.
    pub pfc: bw_pfc_frame,
    /// Of credits.
    pub credit: bw_credit_frame,
}

/// # Safety
/// `data` points to `length` bytes.
unsafe fn slice<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(data, length) }
}

/// # Safety
/// `data` points to `length` bytes.
unsafe fn slice_mut<'a>(data: *mut u8, length: usize) -> &'a mut [u8] {
    if data.is_null() || length == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts_mut(data, length) }
}

/// Reads a frame (without its check sequence). False if it is too short, too long, or has values that its format does not have; then
/// `why` (may be NULL, which is faster) holds the sentence that says so, and `frame` is not written.
///
/// # Safety
/// `data` points to `length` bytes, `frame` to one, `why` to `why_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_frame_parse(
    data: *const u8,
    length: usize,
    frame: *mut bw_frame,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(data, length) };
    match Frame::parse(bytes) {
        Ok(read) => {
            // SAFETY: the caller's promise.
            unsafe { frame.write(converted(&read, bytes)) };
            true
        }
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { explain(&error, why, why_size) };
            false
        }
    }
}

/// Writes a line for people about a frame, or why it cannot be read; returns the length of the text.
///
/// # Safety
/// `data` points to `length` bytes, `text` to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_frame_describe(
    data: *const u8,
    length: usize,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        match Frame::parse(slice(data, length)) {
            Ok(frame) => explain(&frame, text, size),
            Err(error) => explain(&error, text, size),
        }
    }
}

fn converted(read: &Frame<'_>, bytes: &[u8]) -> bw_frame {
    let mut frame = bw_frame {
        kind: bw_frame_kind::Other,
        ethertype: read.ethernet.ethertype,
        ip_offset: 0,
        roce: bw_roce_frame::default(),
        payload_offset: 0,
        payload_bytes: 0,
        pause_quanta: 0,
        pfc: bw_pfc_frame::default(),
        credit: bw_credit_frame::default(),
    };
    match &read.payload {
        Payload::Other(_) => {}
        Payload::Ipv4(_) => {
            frame.kind = bw_frame_kind::Ipv4;
            frame.ip_offset = read.ethernet.len() as u16;
        }
        Payload::Roce(roce) => {
            frame.kind = bw_frame_kind::Roce;
            frame.ip_offset = read.ethernet.len() as u16;
            frame.roce = of_roce(read, roce);
            frame.payload_offset = (roce.payload.as_ptr() as usize - bytes.as_ptr() as usize) as u32;
            frame.payload_bytes = roce.payload.len() as u32;
        }
        Payload::MacControl(wire::MacControl::Pause(quanta)) => {
            (frame.kind, frame.pause_quanta) = (bw_frame_kind::Pause, *quanta);
        }
        Payload::MacControl(wire::MacControl::Pfc(pfc)) => {
            frame.kind = bw_frame_kind::Pfc;
            frame.pfc = bw_pfc_frame { quanta: pfc.quanta, enabled: pfc.enabled };
        }
        Payload::Credit(message) => {
            frame.kind = bw_frame_kind::Credit;
            frame.credit = bw_credit_frame {
                fctbs: message.lane.map(|lane| lane.fctbs),
                fccl: message.lane.map(|lane| lane.fccl),
                lanes: message.lanes,
            };
        }
    }
    frame
}

fn of_roce(read: &Frame<'_>, roce: &wire::Roce<'_>) -> bw_roce_frame {
    let vlan = read.ethernet.vlan;
    bw_roce_frame {
        destination: read.ethernet.destination.0,
        source: read.ethernet.source.0,
        source_ip: roce.ip.source,
        destination_ip: roce.ip.destination,
        destination_qp: roce.bth.destination_qp,
        psn: roce.bth.psn,
        msn: roce.aeth.map_or(0, |aeth| aeth.msn),
        udp_source: roce.udp.source,
        vlan_id: vlan.map_or(0, |vlan| vlan.id),
        pkey: roce.bth.pkey,
        ip_id: roce.ip.id,
        tagged: vlan.is_some(),
        pcp: vlan.map_or(0, |vlan| vlan.priority),
        dscp: roce.ip.dscp,
        code: roce.ip.ecn,
        ttl: roce.ip.ttl,
        opcode: roce.bth.opcode,
        becn: roce.bth.becn,
        fecn: roce.bth.fecn,
        ack_request: roce.bth.ack_request,
        syndrome: roce.aeth.map_or(0, |aeth| aeth.syndrome),
    }
}

/// Whether the ICRC of a RoCEv2 frame agrees with its bytes; false for any other frame.
///
/// # Safety
/// `data` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_roce_icrc_good(data: *const u8, length: usize) -> bool {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(data, length) };
    let Ok(frame) = Frame::parse(bytes) else { return false };
    let Payload::Roce(roce) = frame.payload else { return false };
    let at = frame.ethernet.len();
    let end = roce.payload.as_ptr() as usize - bytes.as_ptr() as usize
        + roce.payload.len()
        + usize::from(roce.bth.pad);
    wire::icrc(&bytes[at..end]) == Ok(roce.icrc)
}
