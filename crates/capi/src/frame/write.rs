//! The bytes of the frames that a data plane writes itself.
use backwater_wire as wire;
use backwater_wire::{MacAddress, WireError};

use super::{bw_credit_frame, bw_pfc_frame, bw_roce_frame, slice, slice_mut};

/// The length, or 0 where there is no room.
fn written(outcome: Result<usize, WireError>) -> usize {
    outcome.unwrap_or(0)
}

/// Writes a PFC frame; returns its length (60), or 0 if `size` is less.
///
/// # Safety
/// `source` points to 6 bytes, `frame` to one, `buffer` to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_frame_write(
    buffer: *mut u8,
    size: usize,
    source: *const u8,
    frame: *const bw_pfc_frame,
) -> usize {
    // SAFETY: the caller's promise.
    let (buffer, source, frame) =
        unsafe { (slice_mut(buffer, size), MacAddress(*source.cast::<[u8; 6]>()), &*frame) };
    let pfc = wire::Pfc { enabled: frame.enabled, quanta: frame.quanta };
    written(wire::MacControl::Pfc(pfc).emit(source, buffer))
}

/// Writes a credit message; returns its length (60 to BW_CREDIT_FRAME_MOST), or 0 if `size` is less.
///
/// # Safety
/// As bw_pfc_frame_write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_frame_write(
    buffer: *mut u8,
    size: usize,
    source: *const u8,
    frame: *const bw_credit_frame,
) -> usize {
    // SAFETY: the caller's promise.
    let (buffer, source, frame) =
        unsafe { (slice_mut(buffer, size), MacAddress(*source.cast::<[u8; 6]>()), &*frame) };
    let lane = |lane: usize| wire::LaneCredit { fctbs: frame.fctbs[lane], fccl: frame.fccl[lane] };
    let message = wire::CreditMessage { lanes: frame.lanes, lane: core::array::from_fn(lane) };
    written(message.emit(source, buffer))
}

/// Writes a RoCEv2 frame with `payload_bytes` of `payload` (NULL: zeros, of which at most 9216) and its ICRC; a CNP has no payload of
/// its own. Returns the length, or 0 if there is no room for it.
///
/// # Safety
/// The pointers point to what their names say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_roce_frame_write(
    buffer: *mut u8,
    size: usize,
    frame: *const bw_roce_frame,
    payload: *const u8,
    payload_bytes: usize,
) -> usize {
    static ZEROS: [u8; 9216] = [0; 9216];
    // SAFETY: the caller's promise.
    let (buffer, frame) = unsafe { (slice_mut(buffer, size), &*frame) };
    let payload = match (payload.is_null(), ZEROS.get(..payload_bytes)) {
        (true, Some(zeros)) => zeros,
        (true, None) => return 0,
        // SAFETY: the caller's promise.
        (false, _) => unsafe { slice(payload, payload_bytes) },
    };
    written(datagram(frame, payload).emit(buffer))
}

fn datagram<'a>(frame: &bw_roce_frame, payload: &'a [u8]) -> wire::Datagram<'a> {
    let vlan = wire::Vlan { priority: frame.pcp, drop_eligible: false, id: frame.vlan_id };
    wire::Datagram {
        ethernet: wire::Ethernet {
            destination: MacAddress(frame.destination),
            source: MacAddress(frame.source),
            vlan: frame.tagged.then_some(vlan),
            ethertype: wire::ethertype::IPV4,
        },
        ip: wire::Ipv4 {
            dscp: frame.dscp,
            ecn: frame.code,
            id: frame.ip_id,
            dont_fragment: true,
            ttl: frame.ttl,
            protocol: 17,
            source: frame.source_ip,
            destination: frame.destination_ip,
            payload: 0,
        },
        udp_source: frame.udp_source,
        bth: wire::Bth {
            opcode: frame.opcode,
            solicited: false,
            migrated: true,
            pad: 0,
            pkey: frame.pkey,
            fecn: frame.fecn,
            becn: frame.becn,
            destination_qp: frame.destination_qp,
            ack_request: frame.ack_request,
            psn: frame.psn,
        },
        aeth: Some(wire::Aeth { syndrome: frame.syndrome, msn: frame.msn }),
        payload,
    }
}

/// Writes the ECN bits of the IPv4 or IPv6 header at `ip` (of which `length` bytes are there); the checksum follows. The ICRC does not
/// cover them. False if that is neither.
///
/// # Safety
/// `ip` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_frame_set_code(ip: *mut u8, length: usize, code: u8) -> bool {
    // SAFETY: the caller's promise.
    wire::set_ecn(unsafe { slice_mut(ip, length) }, code)
}
