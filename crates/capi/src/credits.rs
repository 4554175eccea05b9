//! Credit-based flow control of one virtual lane of a port, both directions.
use core::ffi::c_char;

use backwater_control::flow_control::{CreditLane, Unit, Verdict};
use backwater_units::Bytes;

use crate::text::refuse;

/// What a credit message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_credit_verdict {
    /// Both registers are taken over.
    Fine = 0,
    /// The same; units were lost on the way.
    Resync = 1,
    /// Refused: behind what is known.
    Past = 2,
    /// Refused: beyond what any buffer allows.
    Future = 3,
}

/// One virtual lane of a port, in units. Made by bw_credit_init.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_credit_lane {
    /// FCTBS: sent in all.
    pub sent: u64,
    /// FCCL of the other end: may be sent in all.
    pub limit: u64,
    /// The buffer at the other end.
    pub peer_buffer: u64,
    /// ABR: received in all.
    pub received: u64,
    /// In the buffer here.
    pub held: u64,
    /// The buffer here.
    pub buffer: u64,
    /// Bytes of a unit, a power of two.
    pub unit_bytes: u32,
}

impl bw_credit_lane {
    fn lane(&self) -> CreditLane {
        let Self { sent, limit, peer_buffer, received, held, buffer, .. } = *self;
        CreditLane { sent, limit, peer_buffer, received, held, buffer }
    }

    fn store(&mut self, lane: CreditLane) {
        let CreditLane { sent, limit, peer_buffer, received, held, buffer } = lane;
        *self = Self { sent, limit, peer_buffer, received, held, buffer, unit_bytes: self.unit_bytes };
    }

    fn units(&self, bytes: u32) -> u64 {
        u64::from(bytes).div_ceil(u64::from(self.unit_bytes.max(1)))
    }
}

/// A link that has just come up, with buffers of so many bytes here and at the other end. False if `unit_bytes` is no power of two
/// up to 4096 or a buffer is smaller than one; then `why` (may be NULL) holds the sentence that says so. InfiniBand: 64.
///
/// # Safety
/// `lane` points to one; `why` to `why_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_init(
    lane: *mut bw_credit_lane,
    unit_bytes: u32,
    buffer_bytes: u64,
    peer_buffer_bytes: u64,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    let least = buffer_bytes.min(peer_buffer_bytes);
    let made =
        Unit::new(Bytes::new(u64::from(unit_bytes))).map_err(|error| error.to_string()).and_then(|unit| {
            let enough = unit.within(Bytes::new(least)) > 0;
            let why = || {
                format!(
                    "buffer = {least}B: must be at least one unit of {unit_bytes}B; give room for a packet"
                )
            };
            enough.then(|| CreditLane::new(unit, buffer_bytes, peer_buffer_bytes)).ok_or_else(why)
        });
    // SAFETY: the caller's promise.
    unsafe {
        lane.write(bw_credit_lane { unit_bytes, ..bw_credit_lane::default() });
        let good = made.map(|made| (*lane).store(made));
        refuse(good, why, why_size)
    }
}

/// Whether a packet of so many bytes may start.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_fits(lane: *const bw_credit_lane, bytes: u32) -> bool {
    // SAFETY: the caller's promise.
    let lane = unsafe { &*lane };
    lane.lane().fits(lane.units(bytes))
}

/// A packet that fits starts.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_on_sent(lane: *mut bw_credit_lane, bytes: u32) {
    // SAFETY: the caller's promise.
    let lane = unsafe { &mut *lane };
    let mut inner = lane.lane();
    inner.on_sent(lane.units(bytes));
    lane.store(inner);
}

/// A packet arrived; false if there is no room for it, which a correct other end never lets happen. It is not held then.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_on_arrival(lane: *mut bw_credit_lane, bytes: u32) -> bool {
    // SAFETY: the caller's promise.
    let lane = unsafe { &mut *lane };
    let mut inner = lane.lane();
    let held = inner.on_arrival(lane.units(bytes));
    lane.store(inner);
    held
}

/// A packet that arrived left the buffer.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_on_departure(lane: *mut bw_credit_lane, bytes: u32) {
    // SAFETY: the caller's promise.
    let lane = unsafe { &mut *lane };
    let mut inner = lane.lane();
    inner.on_departure(lane.units(bytes));
    lane.store(inner);
}

/// FCCL for the next message: what the other end may send in all.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_granted(lane: *const bw_credit_lane) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { &*lane }.lane().granted()
}

/// The other end has begun anew: its messages have been refused for a while, and this one is taken over nevertheless, but for a
/// grant that its buffer does not allow.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_on_restart(lane: *mut bw_credit_lane, fctbs: u64, fccl: u64) {
    // SAFETY: the caller's promise.
    let lane = unsafe { &mut *lane };
    let mut inner = lane.lane();
    inner.on_restart(fctbs, fccl);
    lane.store(inner);
}

/// A message arrived. Takes both registers over, or neither.
///
/// # Safety
/// `lane` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_credit_on_message(
    lane: *mut bw_credit_lane,
    fctbs: u64,
    fccl: u64,
) -> bw_credit_verdict {
    // SAFETY: the caller's promise.
    let lane = unsafe { &mut *lane };
    let mut inner = lane.lane();
    let verdict = inner.on_message(fctbs, fccl);
    lane.store(inner);
    match verdict {
        Verdict::Fine => bw_credit_verdict::Fine,
        Verdict::Resync => bw_credit_verdict::Resync,
        Verdict::Past => bw_credit_verdict::Past,
        Verdict::Future => bw_credit_verdict::Future,
    }
}
