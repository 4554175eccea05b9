//! Congestion point: in what state is this egress port, and is this packet marked?
use core::ffi::c_char;

use backwater_control::detector::{Departure, Detector, NpEcn, Red, Registers, Tcd, Trend};
use backwater_control::{CodePoint, ConfigError};
use backwater_units::{Bytes, Span, Time};

use crate::text::refuse;

/// Which detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_detector_kind {
    /// Nothing is ever marked.
    None = 0,
    /// ECN by queue length.
    Red = 1,
    /// ECN by queue length, but not for packets that were paused.
    NpEcn = 2,
    /// Ternary congestion detection.
    Tcd = 3,
}

/// How TCD recognises a rising queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_trend {
    /// Risen by delta since the last OFF period, or within a period (the TCD authors' release).
    Authors = 0,
    /// Risen by more than delta in a period (the paper's flowchart).
    Rise = 1,
    /// Not fallen in a period (the paper's prose).
    NoFall = 2,
    /// Risen, or level while this switch held back an upstream port.
    RiseBp = 3,
}

/// The state of an egress port of one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_port_state {
    /// The port can send what arrives.
    NonCongestion = 0,
    /// More arrives than the port can send: a root of congestion.
    Congestion = 1,
    /// The port is held back by flow control; its queue says nothing about it.
    Undetermined = 2,
    /// Released from the ON-OFF pattern, the trend of its queue being watched; nothing is marked.
    Judging = 3,
}

/// Code point 00: the transport does not take part, switches leave the packet alone. The code points are the ECN bits of IP.
pub const BW_CODE_NOT_CAPABLE: u8 = 0;
/// Code point 01: what a host sends.
pub const BW_CODE_CAPABLE: u8 = 1;
/// Code point 10, UE: an undetermined port was crossed.
pub const BW_CODE_UNDETERMINED: u8 = 2;
/// Code point 11, CE: a congested port was crossed.
pub const BW_CODE_CONGESTION: u8 = 3;

/// Parameters of a detector. Those that its kind does not have are not read.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_detector_config {
    /// One of enum bw_detector_kind.
    pub kind: u32,
    /// One of enum bw_trend. Tcd.
    pub trend: u32,
    /// No mark up to this queue. Red, NpEcn, Tcd; as the next three.
    pub kmin_bytes: u64,
    /// Always a mark above this queue.
    pub kmax_bytes: u64,
    /// Bytes of a queue that are not counted.
    pub guaranteed_bytes: u64,
    /// Probability of a mark just below kmax, 0 to 1.
    pub pmax: f64,
    /// Longest ON period of an ON-OFF pattern. Tcd; as all below.
    pub max_ton_ps: u64,
    /// T, after which the trend is judged.
    pub period_ps: u64,
    /// At or below this queue a released port has drained.
    pub low_bytes: u64,
    /// Dead band of the trend.
    pub delta_bytes: u64,
    /// Resolution of the time registers.
    pub clock_ps: u64,
}

/// A detector that was made by bw_detector_init: shared by all ports with the same parameters, never changed by a call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct bw_detector {
    words: [u64; 16],
}

/// What a detector remembers about one egress port and priority. All zero is a port of which nothing is known yet.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct bw_registers {
    words: [u64; 4],
}

/// A packet has just been taken out of an egress queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_departure {
    /// The instant of the dequeue.
    pub now_ps: u64,
    /// Left in this queue (port and priority) without the packet.
    pub queue_bytes: u64,
    /// Last instant at which this switch held back an upstream port in this priority: now if it does, 0 if it never did. Read
    /// only by Tcd with the trend RiseBp.
    pub last_hold_ps: u64,
    /// The packet on the wire.
    pub size_bytes: u32,
    /// The two ECN bits of the packet.
    pub code: u8,
}

const MADE: u64 = u64::from_be_bytes(*b"bw_detec");

struct Made {
    mark: u64,
    detector: Detector,
}

const _: () = assert!(size_of::<Made>() <= size_of::<bw_detector>() && align_of::<Made>() <= 8);
const _: () = assert!(size_of::<Registers>() == size_of::<bw_registers>() && align_of::<Registers>() <= 8);

fn detector_of(config: &bw_detector_config) -> Result<Detector, String> {
    let red = || {
        let (kmin, kmax) = (Bytes::new(config.kmin_bytes), Bytes::new(config.kmax_bytes));
        Red::new(kmin, kmax, config.pmax, Bytes::new(config.guaranteed_bytes)).map_err(text)
    };
    let text_of_kind = "kind: must be none (0), red (1), np-ecn (2) or tcd (3)";
    let detector = match config.kind {
        0 => Detector::None,
        1 => Detector::Red(red()?),
        2 => Detector::NpEcn(NpEcn { red: red()? }),
        3 => Detector::Tcd(Tcd {
            red: red()?,
            trend: match config.trend {
                0 => Trend::Authors,
                1 => Trend::Rise,
                2 => Trend::NoFall,
                3 => Trend::RiseBp,
                _ => return Err("trend: must be authors (0), rise (1), nofall (2) or rise-bp (3)".into()),
            },
            max_ton: Span::from_ps(config.max_ton_ps),
            period: Span::from_ps(config.period_ps),
            low: Bytes::new(config.low_bytes),
            delta: Bytes::new(config.delta_bytes),
            clock: Span::from_ps(config.clock_ps),
        }),
        _ => return Err(text_of_kind.into()),
    };
    detector.validate().map_err(text)?;
    Ok(detector)
}

fn text(error: ConfigError) -> String {
    error.to_string()
}

/// Makes a detector of its parameters. False if they are refused; then `why` (may be NULL) holds the sentence that says so, and
/// the detector marks nothing.
///
/// # Safety
/// `detector` and `config` point to one of each; `why` to `why_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_detector_init(
    detector: *mut bw_detector,
    config: *const bw_detector_config,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let made = detector_of(unsafe { &*config });
    let good = made.as_ref().map(|_| ()).map_err(Clone::clone);
    let made = Made { mark: MADE, detector: made.unwrap_or(Detector::None) };
    // SAFETY: it fits (asserted above), and all bytes of a `bw_detector` may be written.
    unsafe {
        detector.write(bw_detector { words: [0; 16] });
        detector.cast::<Made>().write(made);
        refuse(good, why, why_size)
    }
}

/// # Safety
/// Points to a `bw_detector`.
#[inline]
unsafe fn made<'a>(detector: *const bw_detector) -> &'a Detector {
    // SAFETY: the mark is a plain word that every `bw_detector` has; only `bw_detector_init` writes ours.
    unsafe {
        assert!((*detector).words[MARK_AT] == MADE, "this bw_detector was not made by bw_detector_init");
        &(*detector.cast::<Made>()).detector
    }
}

const MARK_AT: usize = core::mem::offset_of!(Made, mark) / 8;

/// Judges the port and returns the new code point of the packet. `random` is the state of a generator of random numbers (any
/// value begins a sequence), moved on where the outcome is random. `state` (may be NULL) becomes an enum bw_port_state.
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_detector_on_dequeue(
    detector: *const bw_detector,
    registers: *mut bw_registers,
    departure: *const bw_departure,
    random: *mut u64,
    state: *mut u8,
) -> u8 {
    // SAFETY: the caller's promise; registers are of the same size, and all zero is their beginning.
    let (detector, registers, departure, random) =
        unsafe { (made(detector), &mut *registers.cast::<Registers>(), &*departure, &mut *random) };
    let facts = Departure {
        now: Time::from_ps(departure.now_ps),
        queue: departure.queue_bytes,
        code: CodePoint::from_bits(departure.code),
        last_hold: Time::from_ps(departure.last_hold_ps.min(departure.now_ps)),
        size: departure.size_bytes,
        candidate: false,
    };
    let code = detector.on_dequeue(registers, &facts, || draw(random));
    if !state.is_null() {
        // SAFETY: the caller's promise.
        unsafe { state.write(registers.state() as u8) };
    }
    code.bits()
}

/// 32 uniform random bits: `SplitMix64` (Steele, Lea, Flood 2014), whose upper half is used.
fn draw(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 32) as u32
}

/// The gate of the port opened (a RESUME, the end of a PAUSE, an update that lets a waiting packet go) with `queue_bytes` in
/// `packets` frames behind it. Not to be called where the gate was open already.
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_detector_on_resume(
    detector: *const bw_detector,
    registers: *mut bw_registers,
    now_ps: u64,
    queue_bytes: u64,
    packets: u32,
) {
    // SAFETY: as in `bw_detector_on_dequeue`.
    let (detector, registers) = unsafe { (made(detector), &mut *registers.cast::<Registers>()) };
    detector.on_resume(registers, Time::from_ps(now_ps), queue_bytes, || packets);
}
