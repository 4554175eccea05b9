//! A controller of the user's own: one function that is notified of what happens to a flow and sets its rate and its timer.
//!
//! The function is behind a C interface ([`Controller`]), so that it may be compiled from Python, from C or from anything
//! else. What it remembers is a handful of words per flow, which it alone understands; nothing else of a flow is its own.
//!
//! ```text
//!   SEND, ACK, CNP ─────▶ function(flow, event) ─────▶ rate_bps: how fast from now on
//!   timer_ps <= now ──▶ TIMER ──▶      │      ─────▶ timer_ps: when to be asked again, if nothing happens
//!                                      ▼
//!                                state words of the flow
//! ```
//! | field | unit | who writes it |
//! |---|---|---|
//! | `rate_bps` | bit/s on the wire | the function; at first line rate. From 1; more than line rate is line rate |
//! | `timer_ps` | ps since the start of the run | the function; [`NEVER`] at first, and before each TIMER |
//! | `line_bps` | bit/s | nobody |
//!
//! A timer is a deadline, applied lazily and in order, before whatever else happens: [`CustomFlow::advance`].
#![allow(
    clippy::result_large_err,
    reason = "a fault ends the run; this crate has no allocation to put it into"
)]
use backwater_units::{Rate, Span, Time};

use super::Pacer;
use crate::CodePoint;

/// Words of state that a controller may have per flow.
pub const WORDS: usize = 29;
/// The deadline of a timer that does not run.
pub const NEVER: i64 = i64::MAX;
/// More than any link has: 10¹⁸ bit/s.
const MOST: f64 = 1e18;

/// What a function sees of a flow, and may change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[repr(C)]
pub struct FlowState {
    /// How fast the flow may send, in bit/s on the wire.
    pub rate_bps: f64,
    /// When the function wants to be asked for the timer, in ps.
    pub timer_ps: i64,
    /// Rate of the host's link, in bit/s.
    pub line_bps: f64,
    /// What the function remembers: the bits of floats or integers.
    pub words: [u64; WORDS],
}

/// What happened. The numbers are part of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum EventKind {
    /// A data packet was handed to the link.
    Send = 1,
    /// An ACK came that echoes a mark, or that completes a segment whose round trip is measured.
    Ack = 2,
    /// A CNP came.
    Cnp = 4,
    /// The deadline of the timer has come.
    Timer = 8,
}

/// One call's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// What happened: an [`EventKind`].
    pub kind: i64,
    /// When, in ps since the start of the run; of a timer its deadline.
    pub now_ps: i64,
    /// SEND: the packet's bytes on the wire; else 0.
    pub bytes: i64,
    /// ACK, CNP: the code point (1 none, 2 UE, 3 CE); else 0.
    pub code: i64,
    /// ACK: the segment's round-trip time without its own serialisation, in ps; -1 if none was measured.
    pub rtt_ps: i64,
}

/// The function. It returns 0, or anything else if it failed. It must not unwind, and not keep what it is given.
pub type Controller = extern "C" fn(&mut FlowState, &Event) -> u32;

/// A function and what it is notified of, shared by all flows that use it.
#[derive(Clone, Copy, Debug)]
pub struct CustomConfig {
    /// What is called.
    pub function: Controller,
    /// Which events it wants: a sum of [`EventKind`]s; it is always notified of the timer.
    pub events: i64,
    /// Rate of a new flow in bit/s; 0: line rate.
    pub initial_rate_bps: f64,
    /// The words of a new flow.
    pub initial: [u64; WORDS],
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// The function returned this instead of 0.
    Failed(u32),
    /// The rate is not a number from 1 to 10¹⁸ bit/s.
    Rate(f64),
    /// The timer's next deadline is not after the one that it was notified of.
    Timer(i64),
}

/// A call that went wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Why.
    pub refusal: Refusal,
    /// What it was notified of.
    pub event: Event,
    /// The flow before the call.
    pub before: FlowState,
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CustomFlow {
    pacer: Pacer,
    line: Rate,
    state: FlowState,
}

impl CustomFlow {
    /// A new flow on a link of rate `line`.
    pub fn new(config: &CustomConfig, line: Rate) -> Self {
        let line_bps = line.as_bps() as f64;
        let rate_bps = if config.initial_rate_bps > 0.0 { config.initial_rate_bps } else { line_bps };
        let state = FlowState { rate_bps, timer_ps: NEVER, line_bps, words: config.initial };
        Self { pacer: Pacer::new(Rate::from_bps(rate_bps as u64).min(line)), line, state }
    }

    /// The rate that the flow may send at, in bits on the wire.
    pub const fn rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// From the start of a packet of `wire_bytes` to the earliest start of the flow's next one.
    pub fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }

    /// Tells of every timer with a deadline up to and including `now`, in order.
    ///
    /// # Errors
    /// A [`Fault`], after which the flow is as the function left it.
    #[inline]
    pub fn advance(&mut self, config: &CustomConfig, now: Time) -> Result<(), Fault> {
        if self.state.timer_ps > picoseconds(now) { Ok(()) } else { self.expire(config, picoseconds(now)) }
    }

    fn expire(&mut self, config: &CustomConfig, now: i64) -> Result<(), Fault> {
        while self.state.timer_ps <= now {
            let (before, deadline) = (self.state, self.state.timer_ps);
            self.state.timer_ps = NEVER;
            let event = Event { now_ps: deadline, ..event(EventKind::Timer, 0) };
            self.call(config, &event)?;
            let next = self.state.timer_ps;
            if next <= deadline {
                return Err(Fault { refusal: Refusal::Timer(next), event, before });
            }
        }
        Ok(())
    }

    /// A data packet of `bytes` on the wire was handed to the link.
    ///
    /// # Errors
    /// As [`Self::advance`].
    #[inline]
    pub fn on_sent(&mut self, config: &CustomConfig, now: Time, bytes: u32) -> Result<(), Fault> {
        self.notify(config, &Event { bytes: i64::from(bytes), ..event(EventKind::Send, picoseconds(now)) })
    }

    /// An ACK arrived that echoes `echo`, with the round-trip time of a segment if it completes one.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn on_ack(
        &mut self,
        config: &CustomConfig,
        now: Time,
        echo: CodePoint,
        rtt: Option<Span>,
    ) -> Result<(), Fault> {
        let rtt_ps = rtt.map_or(-1, |rtt| i64::try_from(rtt.as_ps()).unwrap_or(NEVER));
        let code = i64::from(echo.bits());
        self.notify(config, &Event { code, rtt_ps, ..event(EventKind::Ack, picoseconds(now)) })
    }

    /// A CNP arrived that carries `code`.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn on_cnp(&mut self, config: &CustomConfig, now: Time, code: CodePoint) -> Result<(), Fault> {
        self.notify(
            config,
            &Event { code: i64::from(code.bits()), ..event(EventKind::Cnp, picoseconds(now)) },
        )
    }

    /// Calls the function if it wants this kind of event.
    fn notify(&mut self, config: &CustomConfig, event: &Event) -> Result<(), Fault> {
        if config.events & event.kind == 0 { Ok(()) } else { self.call(config, event) }
    }

    fn call(&mut self, config: &CustomConfig, event: &Event) -> Result<(), Fault> {
        // Kept so that whoever explains a fault can have it again.
        let before = self.state;
        let status = (config.function)(&mut self.state, event);
        let rate = self.state.rate_bps;
        // False for what is not a number.
        if status == 0 && (1.0..=MOST).contains(&rate) {
            self.pacer.set(Rate::from_bps(rate as u64).min(self.line));
            return Ok(());
        }
        let refusal = if status == 0 { Refusal::Rate(rate) } else { Refusal::Failed(status) };
        Err(Fault { refusal, event: *event, before })
    }
}

/// As the C interface counts it.
fn picoseconds(time: Time) -> i64 {
    i64::try_from(time.as_ps()).unwrap_or(NEVER - 1)
}

fn event(kind: EventKind, now_ps: i64) -> Event {
    Event { kind: kind as i64, now_ps, bytes: 0, code: 0, rtt_ps: -1 }
}

/// What people write.
#[cfg(feature = "config")]
mod params {
    use alloc::collections::BTreeMap;
    use alloc::string::String;

    use crate::config::Parameter;
    use crate::reaction::settings::{Notifications, Parameters, PathFacts, Segments, Unread, Wants};
    use crate::reaction::{CcSettings, ReactionConfig};

    /// What a function of the user's is notified of.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum CustomFeedback {
        /// CNPs, as of `np`, and the marks that ACKs echo.
        #[default]
        Cnp,
        /// The round-trip time of every segment (`segment`, `pacing`), each with an ACK of its own.
        Rtt,
    }

    /// A function of the user's own.
    #[derive(
        Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct CustomParams {
        /// The function, as `file.py:name`, `library.so:symbol` or `module:name`. Paths count from the scenario's folder
        /// (docs/extend.md).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1))]
        pub function: Option<String>,
        /// Values for words of the function's state, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub parameters: BTreeMap<String, Parameter>,
        /// What the function is notified of. Default cnp.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub feedback: Option<CustomFeedback>,
    }

    impl Parameters for CustomParams {
        const SHARED: &'static [&'static str] =
            &["cnp-interval", "np", "np-fraction", "cnp-size", "segment", "pacing"];

        /// The function takes the place of this one.
        fn resolve(&self, _: &CcSettings, _: &dyn Fn() -> PathFacts) -> ReactionConfig {
            ReactionConfig::LineRate(())
        }

        fn wants(&self) -> Wants {
            match self.feedback.unwrap_or_default() {
                CustomFeedback::Cnp => Wants { notifications: Notifications::Chosen, ..Wants::default() },
                CustomFeedback::Rtt => Wants { segments: Some(Segments::Chosen), ..Wants::default() },
            }
        }

        fn unread(&self) -> Unread {
            match self.feedback.unwrap_or_default() {
                CustomFeedback::Cnp => {
                    Unread { why: ("feedback", "cnp"), shared: &["segment", "pacing"], own: &[] }
                }
                CustomFeedback::Rtt => Unread {
                    why: ("feedback", "rtt"),
                    shared: &["cnp-interval", "np", "np-fraction", "cnp-size"],
                    own: &[],
                },
            }
        }
    }
}
#[cfg(feature = "config")]
pub use params::*;

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(40);

    /// Halves at a CNP, doubles 10 us later.
    extern "C" fn halve(flow: &mut FlowState, event: &Event) -> u32 {
        if event.kind == EventKind::Cnp as i64 {
            flow.rate_bps /= 2.0;
            flow.timer_ps = event.now_ps + 10_000_000;
        } else if event.kind == EventKind::Timer as i64 {
            flow.rate_bps *= 2.0;
        }
        flow.words[0] += 1;
        0
    }

    extern "C" fn nonsense(flow: &mut FlowState, event: &Event) -> u32 {
        match event.code {
            1 => flow.rate_bps = f64::NAN,
            2 => flow.rate_bps = -1.0,
            3 => return 7,
            _ => flow.timer_ps = event.now_ps,
        }
        u32::from(event.code == 3)
    }

    fn config(function: Controller) -> CustomConfig {
        CustomConfig { function, events: EventKind::Cnp as i64, initial_rate_bps: 0.0, initial: [0; WORDS] }
    }

    #[test]
    fn a_function_sets_the_rate_and_its_timer_and_remembers() {
        let config = config(halve);
        let mut flow = CustomFlow::new(&config, LINE);
        assert_eq!(flow.rate(), LINE);
        flow.on_cnp(&config, Time::from_ps(5), CodePoint::Congestion).unwrap();
        assert_eq!((flow.rate(), flow.gap(1_000)), (Rate::from_gbps(20), Span::from_ns(400)));
        flow.advance(&config, Time::from_ps(10_000_004)).unwrap();
        assert_eq!(flow.rate(), Rate::from_gbps(20));
        flow.advance(&config, Time::from_ps(10_000_005)).unwrap();
        assert_eq!((flow.rate(), flow.state.words[0], flow.state.timer_ps), (LINE, 2, NEVER));
    }

    #[test]
    fn events_that_it_does_not_want_are_not_told() {
        let config = config(halve);
        let mut flow = CustomFlow::new(&config, LINE);
        flow.on_sent(&config, Time::ZERO, 1_000).unwrap();
        flow.on_ack(&config, Time::ZERO, CodePoint::Congestion, None).unwrap();
        assert_eq!(flow.state.words[0], 0);
    }

    #[test]
    fn no_flow_sends_faster_than_its_link() {
        let config = CustomConfig { initial_rate_bps: 1e15, ..config(halve) };
        assert_eq!(CustomFlow::new(&config, LINE).rate(), LINE);
    }

    #[test]
    fn what_is_no_rate_and_no_deadline_is_refused_with_the_flow_as_it_was() {
        let config = config(nonsense);
        let fault = |code| {
            let mut flow = CustomFlow::new(&config, LINE);
            flow.on_cnp(&config, Time::ZERO, code).unwrap_err()
        };
        assert!(matches!(fault(CodePoint::Capable).refusal, Refusal::Rate(rate) if rate.is_nan()));
        assert_eq!(fault(CodePoint::Undetermined).refusal, Refusal::Rate(-1.0));
        assert_eq!(fault(CodePoint::Congestion).refusal, Refusal::Failed(7));
        assert_eq!(fault(CodePoint::Congestion).before.rate_bps.to_bits(), 40e9_f64.to_bits());
        let mut flow = CustomFlow::new(&config, LINE);
        flow.state.timer_ps = 3;
        assert_eq!(flow.advance(&config, Time::from_ps(9)).unwrap_err().refusal, Refusal::Timer(3));
    }
}
