//! PFC of one port and priority: when it holds back the other end, the gate that obeys, the watchdog.
use core::ffi::c_char;

use backwater_control::flow_control::{
    Decision, PauseConfig, PauseGate, PauseIngress, Watchdog, quanta_span,
};
use backwater_units::{Rate, Span, Time};

use crate::text::refuse;

/// What to send to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_pfc_decision {
    /// Nothing.
    Nothing = 0,
    /// A PAUSE of the configured length.
    Pause = 1,
    /// A PAUSE of time 0.
    Resume = 2,
}

/// What happened to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_gate_change {
    /// Nothing.
    Same = 0,
    /// An OFF period has ended: call bw_detector_on_resume.
    Opened = 1,
    /// An OFF period begins.
    Closed = 2,
}

/// What the watchdog found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum bw_storm_change {
    /// Nothing.
    Same = 0,
    /// The gate was closed for too long; it is open now and stays so.
    Begins = 1,
    /// No PAUSE has come for long enough: they are obeyed again.
    Ends = 2,
}

/// When an ingress priority holds back the other end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_pfc_config {
    /// PAUSE above this many bytes.
    pub xoff_bytes: u64,
    /// RESUME at or below this many.
    pub xon_bytes: u64,
    /// How long one PAUSE lasts: bw_pfc_quanta_ps of its quanta.
    pub pause_ps: u64,
    /// Storm after so long behind a closed gate; 0: no watchdog.
    pub watchdog_detect_ps: u64,
    /// The storm is over when no PAUSE has come for so long.
    pub watchdog_restore_ps: u64,
    /// The same length in quanta of 512 bit times, as it stands in the frame.
    pub pause_quanta: u16,
}

/// The bytes of one ingress priority. All zero is an empty one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_pfc_ingress {
    /// Held now.
    pub bytes: u64,
    /// When the PAUSE in force is to be sent again.
    pub renew_at_ps: u64,
    /// Whether one is in force.
    pub holding: bool,
}

/// The gate of one egress priority. All zero is an open one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct bw_pfc_gate {
    /// When the pause ends by itself.
    pub opens_at_ps: u64,
    /// Begin of the OFF period.
    pub closed_since_ps: u64,
    /// The last PAUSE, obeyed or not.
    pub last_pause_ps: u64,
    /// Whether nothing may be sent.
    pub closed: bool,
    /// Whether PAUSEs are not obeyed because one never ended.
    pub storm: bool,
}

impl bw_pfc_config {
    fn pause(&self) -> PauseConfig {
        PauseConfig {
            xoff_bytes: self.xoff_bytes,
            xon_bytes: self.xon_bytes,
            pause: Span::from_ps(self.pause_ps),
        }
    }

    fn watchdog(&self) -> Watchdog {
        let (detect, restore) = (self.watchdog_detect_ps, self.watchdog_restore_ps);
        Watchdog { detect: Span::from_ps(detect), restore: Span::from_ps(restore) }
    }
}

impl bw_pfc_ingress {
    fn apply(&mut self, step: impl FnOnce(&mut PauseIngress) -> Decision) -> bw_pfc_decision {
        let mut ingress = PauseIngress {
            bytes: self.bytes,
            renew_at: Time::from_ps(self.renew_at_ps),
            holding: self.holding,
        };
        let decision = step(&mut ingress);
        *self =
            Self { bytes: ingress.bytes, renew_at_ps: ingress.renew_at.as_ps(), holding: ingress.holding };
        match decision {
            Decision::Nothing => bw_pfc_decision::Nothing,
            Decision::Pause => bw_pfc_decision::Pause,
            Decision::Resume => bw_pfc_decision::Resume,
        }
    }
}

impl bw_pfc_gate {
    fn apply<T>(&mut self, step: impl FnOnce(&mut PauseGate) -> T) -> T {
        let mut gate = PauseGate {
            opens_at: Time::from_ps(self.opens_at_ps),
            closed_since: Time::from_ps(self.closed_since_ps),
            last_pause: Time::from_ps(self.last_pause_ps),
            closed: self.closed,
            storm: self.storm,
        };
        let outcome = step(&mut gate);
        *self = Self {
            opens_at_ps: gate.opens_at.as_ps(),
            closed_since_ps: gate.closed_since.as_ps(),
            last_pause_ps: gate.last_pause.as_ps(),
            closed: gate.closed,
            storm: gate.storm,
        };
        outcome
    }
}

impl From<backwater_control::flow_control::GateChange> for bw_gate_change {
    fn from(change: backwater_control::flow_control::GateChange) -> Self {
        use backwater_control::flow_control::GateChange;
        match change {
            GateChange::Same => Self::Same,
            GateChange::Opened => Self::Opened,
            GateChange::Closed => Self::Closed,
        }
    }
}

impl From<backwater_control::flow_control::StormChange> for bw_storm_change {
    fn from(change: backwater_control::flow_control::StormChange) -> Self {
        use backwater_control::flow_control::StormChange;
        match change {
            StormChange::Same => Self::Same,
            StormChange::Begins => Self::Begins,
            StormChange::Ends => Self::Ends,
        }
    }
}

/// How long so many quanta of 512 bit times are at a rate, rounded up; 0 at rate 0.
#[unsafe(no_mangle)]
pub extern "C" fn bw_pfc_quanta_ps(rate_bps: u64, quanta: u16) -> u64 {
    quanta_span(Rate::from_bps(rate_bps), quanta).as_ps()
}

/// False if the parameters contradict each other; then `why` (may be NULL) holds the sentence that says so.
///
/// # Safety
/// `config` points to one; `why` to `why_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_check(
    config: *const bw_pfc_config,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { refuse((*config).pause().validate().map_err(|error| error.to_string()), why, why_size) }
}

/// A frame came into the buffer of this ingress priority.
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_on_arrival(
    ingress: *mut bw_pfc_ingress,
    config: *const bw_pfc_config,
    now_ps: u64,
    bytes: u32,
) -> bw_pfc_decision {
    // SAFETY: the caller's promise.
    let (ingress, config) = unsafe { (&mut *ingress, (*config).pause()) };
    ingress.apply(|ingress| ingress.on_arrival(&config, Time::from_ps(now_ps), bytes))
}

/// A frame left it.
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_on_departure(
    ingress: *mut bw_pfc_ingress,
    config: *const bw_pfc_config,
    bytes: u32,
) -> bw_pfc_decision {
    // SAFETY: the caller's promise.
    let (ingress, config) = unsafe { (&mut *ingress, (*config).pause()) };
    ingress.apply(|ingress| ingress.on_departure(&config, bytes))
}

/// Time passes: a PAUSE in force is to be sent again at half of its length (not before renew_at_ps).
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_on_time(
    ingress: *mut bw_pfc_ingress,
    config: *const bw_pfc_config,
    now_ps: u64,
) -> bw_pfc_decision {
    // SAFETY: the caller's promise.
    let (ingress, config) = unsafe { (&mut *ingress, (*config).pause()) };
    ingress.apply(|ingress| ingress.on_time(&config, Time::from_ps(now_ps)))
}

/// A PAUSE that lasts for `lasts_ps` arrived; 0 is a RESUME. In a storm it changes nothing.
///
/// # Safety
/// `gate` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_gate_on_pause(
    gate: *mut bw_pfc_gate,
    now_ps: u64,
    lasts_ps: u64,
) -> bw_gate_change {
    // SAFETY: the caller's promise.
    let gate = unsafe { &mut *gate };
    gate.apply(|gate| gate.on_pause(Time::from_ps(now_ps), Span::from_ps(lasts_ps))).into()
}

/// Time passes: a pause ends by itself (not before opens_at_ps).
///
/// # Safety
/// `gate` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_gate_on_time(gate: *mut bw_pfc_gate, now_ps: u64) -> bw_gate_change {
    // SAFETY: the caller's promise.
    unsafe { &mut *gate }.apply(|gate| gate.on_time(Time::from_ps(now_ps))).into()
}

/// Looks for a peer that never resumes; `waiting`: frames are queued behind the gate.
///
/// # Safety
/// The pointers point to one of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_pfc_watch(
    gate: *mut bw_pfc_gate,
    config: *const bw_pfc_config,
    now_ps: u64,
    waiting: bool,
) -> bw_storm_change {
    // SAFETY: the caller's promise.
    let (gate, watchdog) = unsafe { (&mut *gate, (*config).watchdog()) };
    gate.apply(|gate| gate.watch(&watchdog, Time::from_ps(now_ps), waiting)).into()
}
