//! A detector of the user's own: one function that is shown departures and openings of the gate, and marks.
//!
//! As [`crate::reaction::custom`]: a C interface, and words that the function alone understands, per egress port and priority.
//!
//! | field | unit | who writes it |
//! |---|---|---|
//! | `state` | a [`PortState`] | the function: its verdict on the port |
//! | `watch_ps` | ps since the start of the run | the function: until then every departure is shown, also one that leaves an empty queue |
//! | `ce` | 1 | the function, 0 before each call: probability of a CE mark |
//! | `ue` | 1 | the function, 0 before each call: not 0 marks UE, unless CE is marked |
//!
//! A departure from a port in the non-congestion state that leaves at most `calm` bytes is not shown after `watch_ps`.
#![allow(
    clippy::result_large_err,
    reason = "a fault ends the run; this crate has no allocation to put it into"
)]
#[cfg(feature = "config")]
use alloc::collections::BTreeMap;
#[cfg(feature = "config")]
use alloc::string::String;

use backwater_units::Time;

use super::{CongestionPoint, Departure, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts};
#[cfg(feature = "config")]
use crate::ConfigError;
#[cfg(feature = "config")]
use crate::config::{Parameter, Quantity};
use crate::{CodePoint, PortState};

/// Words of state that a detector may have per egress port and priority.
pub const WORDS: usize = 12;
/// 2³², the number of values of a draw.
const DRAWS: f64 = 4_294_967_296.0;

/// What a function sees of an egress queue, and may change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[repr(C)]
pub struct QueueState {
    /// Verdict on the port.
    pub state: i64,
    /// Until when every departure is shown, in ps.
    pub watch_ps: i64,
    /// Probability of a CE mark.
    pub ce: f64,
    /// Whether UE is marked.
    pub ue: i64,
    /// What the function remembers: the bits of floats or integers.
    pub words: [u64; WORDS],
}

/// What happened. The numbers are part of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum PortEventKind {
    /// A packet was taken out of the queue.
    Departure = 1,
    /// The gate of the port opened.
    Resume = 2,
}

/// One call's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PortEvent {
    /// What happened: a [`PortEventKind`].
    pub kind: i64,
    /// When, in ps since the start of the run.
    pub now_ps: i64,
    /// Bytes in the queue, without the packet that leaves.
    pub queue_bytes: i64,
    /// The packet's bytes on the wire; 0 at an opening.
    pub size_bytes: i64,
    /// The packet's code point so far; 0 at an opening.
    pub code: i64,
    /// Last instant at which this switch held back an upstream port in this priority, in ps; `now_ps` if it does, 0 if never, or at
    /// an opening.
    pub last_hold_ps: i64,
}

/// The function. It returns 0, or anything else if it failed. It must not unwind, and not keep what it is given.
pub type DetectorFunction = extern "C" fn(&mut QueueState, &PortEvent) -> u32;

/// A function, shared by all ports.
#[derive(Clone, Copy, Debug)]
pub struct CustomDetector {
    /// What is called.
    pub function: DetectorFunction,
    /// The words of a queue at the start.
    pub initial: [u64; WORDS],
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// The function returned this instead of 0.
    Failed(u32),
    /// `ce` is not a number from 0 to 1.
    Probability(f64),
    /// `state` is not one of the four states.
    State(i64),
}

/// A call that went wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Why.
    pub refusal: Refusal,
    /// What it was notified of.
    pub event: PortEvent,
    /// The queue before the call.
    pub before: QueueState,
}

impl CustomDetector {
    /// What a queue begins with.
    pub fn fresh(&self) -> QueueState {
        QueueState { words: self.initial, ..QueueState::default() }
    }

    /// Judges the port and returns the packet's new code point; see [`super::Detector::on_dequeue`].
    ///
    /// # Errors
    /// A [`Fault`]; the packet is not marked then.
    pub fn on_dequeue(
        &self,
        queue: &mut QueueState,
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
    ) -> Result<CodePoint, Fault> {
        let event = PortEvent {
            kind: PortEventKind::Departure as i64,
            now_ps: picoseconds(departure.now),
            queue_bytes: departure.queue.cast_signed(),
            size_bytes: i64::from(departure.size),
            code: i64::from(departure.code.bits()),
            last_hold_ps: picoseconds(departure.last_hold),
        };
        self.call(queue, registers, &event)?;
        let hit = queue.ce >= 1.0 || (queue.ce > 0.0 && f64::from(draw()) < queue.ce * DRAWS);
        Ok(match (hit, queue.ue != 0) {
            (true, _) => departure.code.mark_ce(),
            (false, true) => departure.code.mark_ue(),
            (false, false) => departure.code,
        })
    }

    /// The gate of the port opened while `waiting` bytes stand in the queue; see [`super::Detector::on_resume`].
    ///
    /// # Errors
    /// As [`Self::on_dequeue`].
    pub fn on_resume(
        &self,
        queue: &mut QueueState,
        registers: &mut Registers,
        now: Time,
        waiting: u64,
    ) -> Result<(), Fault> {
        let event = PortEvent {
            kind: PortEventKind::Resume as i64,
            now_ps: picoseconds(now),
            queue_bytes: waiting.cast_signed(),
            size_bytes: 0,
            code: 0,
            last_hold_ps: 0,
        };
        // The verdict is that of departures.
        let state = registers.state;
        self.call(queue, registers, &event)?;
        (queue.state, registers.state) = (state as i64, state);
        Ok(())
    }

    fn call(
        &self,
        queue: &mut QueueState,
        registers: &mut Registers,
        event: &PortEvent,
    ) -> Result<(), Fault> {
        let before = *queue;
        (queue.ce, queue.ue) = (0.0, 0);
        let status = (self.function)(queue, event);
        let state = state(queue.state);
        let refusal = match state {
            _ if status != 0 => Refusal::Failed(status),
            _ if !(0.0..=1.0).contains(&queue.ce) => Refusal::Probability(queue.ce),
            None => Refusal::State(queue.state),
            Some(state) => {
                registers.state = state;
                registers.release = Time::from_ps(u64::try_from(queue.watch_ps).unwrap_or_default());
                return Ok(());
            }
        };
        Err(Fault { refusal, event: *event, before })
    }
}

/// What is known of the user's detector without asking it. It marks nothing: its owner asks [`CustomDetector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Custom {
    /// Queues up to this many bytes are not shown while the port is settled.
    pub calm: u64,
}

impl CongestionPoint for Custom {
    #[cfg(feature = "config")]
    const MARKS_UE: bool = true;

    #[inline]
    fn on_dequeue(&self, _: &mut Registers, departure: &Departure, _draw: impl FnOnce() -> u32) -> CodePoint {
        departure.code
    }

    fn calm(&self) -> u64 {
        self.calm
    }

    #[inline]
    fn wants_last_hold(&self) -> bool {
        true
    }

    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, _: &PortFacts) -> Result<Self, ConfigError> {
        Ok(Self { calm: settings.custom.calm.map_or(0, |calm| calm.0.get()) })
    }
}

/// A detector of the user's own.
#[cfg(feature = "config")]
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CustomParams {
    /// The function, as `file.py:name`, `library.so:symbol` or `module:name`. Paths count from the scenario's folder
    /// (docs/extend.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub function: Option<String>,
    /// Values for words of the function's state, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    /// The function is not asked about a packet that leaves at most this much in its queue. It is asked if its verdict on the
    /// port is another than non-congestion, or if it watches the port. Default 0 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub calm: Option<Quantity<backwater_units::Bytes>>,
}

fn state(number: i64) -> Option<PortState> {
    [PortState::NonCongestion, PortState::Congestion, PortState::Undetermined, PortState::Judging]
        .into_iter()
        .find(|state| *state as i64 == number)
}

/// As the C interface counts it.
fn picoseconds(time: Time) -> i64 {
    i64::try_from(time.as_ps()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CE above 100 B, with certainty above 200 B; UE for a minute after an opening.
    extern "C" fn steps(queue: &mut QueueState, event: &PortEvent) -> u32 {
        if event.kind == PortEventKind::Resume as i64 {
            queue.watch_ps = event.now_ps + 1_000;
            return 0;
        }
        queue.state = i64::from(event.queue_bytes > 100);
        queue.ce = (event.queue_bytes as f64 / 200.0).min(1.0) * f64::from(u8::from(event.queue_bytes > 100));
        queue.ue = i64::from(event.now_ps < queue.watch_ps);
        if event.queue_bytes == 999 {
            queue.state = 9;
        }
        u32::from(event.queue_bytes == 998)
    }

    fn judge(queue: u64, draw: u32) -> Result<CodePoint, Fault> {
        let detector = CustomDetector { function: steps, initial: [0; WORDS] };
        let (mut state, mut registers) = (detector.fresh(), Registers::default());
        let departure = Departure {
            now: Time::from_ps(5),
            queue,
            code: CodePoint::Capable,
            last_hold: Time::ZERO,
            size: 1_000,
            candidate: false,
        };
        detector.on_dequeue(&mut state, &mut registers, &departure, || draw)
    }

    #[test]
    fn a_packet_is_marked_by_the_probability_that_the_function_gives() {
        assert_eq!(judge(100, 0), Ok(CodePoint::Capable));
        // 150 of 200 B: three quarters of all draws.
        assert_eq!(judge(150, 0xbfff_ffff), Ok(CodePoint::Congestion));
        assert_eq!(judge(150, 0xc000_0000), Ok(CodePoint::Capable));
        assert_eq!(judge(200, u32::MAX), Ok(CodePoint::Congestion));
    }

    #[test]
    fn an_opening_is_told_and_keeps_the_port_watched() {
        let detector = CustomDetector { function: steps, initial: [0; WORDS] };
        let (mut state, mut registers) = (detector.fresh(), Registers::default());
        assert!(registers.is_settled(Time::ZERO));
        detector.on_resume(&mut state, &mut registers, Time::from_ps(7), 0).unwrap();
        assert!(!registers.is_settled(Time::from_ps(1_006)));
        assert!(registers.is_settled(Time::from_ps(1_007)));
    }

    #[test]
    fn what_is_no_verdict_is_refused() {
        assert_eq!(judge(998, 0).unwrap_err().refusal, Refusal::Failed(1));
        assert_eq!(judge(999, 0).unwrap_err().refusal, Refusal::State(9));
    }
}
