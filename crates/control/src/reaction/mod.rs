//! Reaction point: how fast may this flow send?
//!
//! A controller is one value per flow. It owns its timers as deadlines: [`Reaction::advance`] applies every
//! expiry up to `now`, so that whoever owns the clock needs no timer events. Call it before reading the rate. [`Pft`] is lazy
//! in the same way, but is one value per NIC port: it holds all of its flows. [`custom`] is what users write themselves; it is not
//! among the variants of [`Reaction`], whose flows would all have to make room for its words.
use backwater_units::{Rate, Span, Time};

use crate::{CodePoint, ConfigError};

mod aimd;
pub mod custom;
mod dack;
mod dcqcn;
mod dcqcn_hpcc;
mod dctcp;
mod feedback;
mod hpcc;
mod ib_cc;
mod opt;
mod pacer;
mod pft;
mod policy;
mod swift;
mod timely;

pub use aimd::{Aimd, AimdConfig};
pub use dack::{Dack, DackConfig, FreeOne, Grants, Halt};
pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use dcqcn_hpcc::{DcqcnHpcc, DcqcnHpccConfig};
pub use dctcp::{Dctcp, DctcpConfig};
pub use feedback::{Feedback, IntHop, MAX_HOPS};
pub use hpcc::{Hpcc, HpccConfig};
pub use ib_cc::{CctShape, IbCc, IbCcConfig, IbCcOnUe};
pub use opt::OptConfig;
pub use pacer::Pacer;
pub use pft::{Gate, Pft, PftConfig, Polarity, RateLaw, StateRule, Transition, interval};
pub use policy::{AckFacts, Load, Policy, PolicyConfig, State};
pub use swift::{Swift, SwiftConfig};
pub use timely::{Timely, TimelyConfig, TimelyForm, TimelyOnUe};

/// What a flow does when a CNP tells it that its packets crossed undetermined ports only (UE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnUe {
    /// A CNP whose cut is skipped: the target falls to the rate, the increase starts anew, α is neither raised nor
    /// decays (TCD authors' release).
    ResetHold,
    /// The increase timer and byte counter start anew; rate, target, α and stages are untouched: "keeping the flow
    /// rate" (TCD paper §5.2) in the narrowest sense.
    TimerHold,
    /// UE is not for this controller.
    Ignore,
}

/// The controllers' parameters, shared by all flows that use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReactionConfig {
    /// No congestion control.
    LineRate,
    /// DCQCN with a byte counter (ns3-rdma and the TCD authors' release): `variant = "byte-counter"`.
    Dcqcn(DcqcnConfig),
    /// DCQCN of the HPCC simulator: `variant = "decrease-check"`.
    DcqcnHpcc(DcqcnHpccConfig),
    /// TIMELY in its author's form.
    Timely(TimelyConfig),
    /// InfiniBand's congestion control.
    IbCc(IbCcConfig),
    /// A window by ECN marks.
    Dctcp(DctcpConfig),
    /// A window by delay.
    Swift(SwiftConfig),
    /// A window by in-band telemetry.
    Hpcc(HpccConfig),
}

impl ReactionConfig {
    /// Refuses parameters outside the ranges in which the algorithm is defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::LineRate => Ok(()),
            Self::Dcqcn(config) => config.validate(),
            Self::DcqcnHpcc(config) => config.validate(),
            Self::Timely(config) => config.validate(),
            Self::IbCc(config) => config.validate(),
            Self::Dctcp(config) => config.validate(),
            Self::Swift(config) => config.validate(),
            Self::Hpcc(config) => config.validate(),
        }
    }

    /// Whether it limits what is under way, and so wants an ACK for each packet ([`Reaction::on_feedback`]).
    pub const fn has_window(&self) -> bool {
        matches!(self, Self::Dctcp(_) | Self::Swift(_) | Self::Hpcc(_))
    }

    /// Whether it wants what switches write into packets.
    pub const fn wants_telemetry(&self) -> bool {
        matches!(self, Self::Hpcc(_))
    }
}

/// The controller of one flow. A controller is only ever used with the kind of configuration it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reaction {
    /// Always at line rate.
    LineRate(Pacer),
    /// See [`Dcqcn`].
    Dcqcn(Dcqcn),
    /// See [`DcqcnHpcc`].
    DcqcnHpcc(DcqcnHpcc),
    /// See [`Timely`].
    Timely(Timely),
    /// See [`IbCc`].
    IbCc(IbCc),
    /// See [`Dctcp`].
    Dctcp(Dctcp),
    /// See [`Swift`].
    Swift(Swift),
    /// See [`Hpcc`].
    Hpcc(Hpcc),
}

impl Reaction {
    /// A new flow on a host link of rate `line` (above zero); every controller here starts at line rate, InfiniBand's at
    /// the delay of its least index.
    pub fn new(config: &ReactionConfig, line: Rate) -> Self {
        match config {
            ReactionConfig::LineRate => Self::LineRate(Pacer::new(line)),
            ReactionConfig::Dcqcn(config) => Self::Dcqcn(Dcqcn::new(config, line)),
            ReactionConfig::DcqcnHpcc(config) => Self::DcqcnHpcc(DcqcnHpcc::new(config, line)),
            ReactionConfig::Timely(_) => Self::Timely(Timely::new(line)),
            ReactionConfig::IbCc(config) => Self::IbCc(IbCc::new(config, line)),
            ReactionConfig::Dctcp(config) => Self::Dctcp(Dctcp::new(config, line)),
            ReactionConfig::Swift(config) => Self::Swift(Swift::new(config, line)),
            ReactionConfig::Hpcc(config) => Self::Hpcc(Hpcc::new(config, line)),
        }
    }

    /// Applies every timer expiry with a deadline up to and including `now`, in order. True if the rate changed.
    /// `advance(a); advance(b)` is `advance(b)` for a ≤ b, bit for bit.
    #[inline]
    pub fn advance(&mut self, config: &ReactionConfig, now: Time) -> bool {
        match (self, config) {
            (Self::Dcqcn(dcqcn), ReactionConfig::Dcqcn(config)) => dcqcn.advance(config, now),
            (Self::DcqcnHpcc(dcqcn), ReactionConfig::DcqcnHpcc(config)) => dcqcn.advance(config, now),
            (Self::IbCc(ib), ReactionConfig::IbCc(config)) => ib.advance(config, now),
            _ => false,
        }
    }

    /// The next instant at which the rate may rise or fall by itself; [`Time::MAX`] if it will not.
    #[inline]
    pub const fn next_timer(&self) -> Time {
        match self {
            Self::LineRate(_) | Self::Timely(_) | Self::Dctcp(_) | Self::Swift(_) | Self::Hpcc(_) => {
                Time::MAX
            }
            Self::Dcqcn(dcqcn) => dcqcn.next_timer(),
            Self::DcqcnHpcc(dcqcn) => dcqcn.next_timer(),
            Self::IbCc(ib) => ib.next_timer(),
        }
    }

    /// A data packet of `bytes` on the wire was handed to the link. True if the rate changed.
    #[inline]
    pub fn on_sent(&mut self, config: &ReactionConfig, now: Time, bytes: u32) -> bool {
        match (self, config) {
            (Self::Dcqcn(dcqcn), ReactionConfig::Dcqcn(config)) => dcqcn.on_sent(config, now, bytes),
            _ => false,
        }
    }

    /// A CNP arrived that carries `code` (UE or CE). True if the rate may have changed.
    pub fn on_cnp(&mut self, config: &ReactionConfig, now: Time, code: CodePoint) -> bool {
        match (self, config) {
            (Self::Dcqcn(dcqcn), ReactionConfig::Dcqcn(config)) => dcqcn.on_cnp(config, now, code),
            (Self::DcqcnHpcc(dcqcn), ReactionConfig::DcqcnHpcc(config)) => {
                dcqcn.on_notification(config, now, code)
            }
            (Self::IbCc(ib), ReactionConfig::IbCc(config)) => ib.on_cnp(config, now, code),
            _ => false,
        }
    }

    /// An ACK arrived that echoes `echo`. Only the HPCC simulator's DCQCN reads the echo: its CNP is a bit in the ACK.
    #[inline]
    pub fn on_ack(&mut self, config: &ReactionConfig, now: Time, echo: CodePoint) -> bool {
        match (self, config) {
            (Self::DcqcnHpcc(dcqcn), ReactionConfig::DcqcnHpcc(config)) if echo.is_marked() => {
                dcqcn.on_notification(config, now, echo)
            }
            _ => false,
        }
    }

    /// A segment was acknowledged: its round-trip time without the segment's own serialisation, and the code point
    /// that its ACK echoes. Only TIMELY measures. True if the rate changed.
    #[inline]
    pub fn on_completion(&mut self, config: &ReactionConfig, now: Time, rtt: Span, echo: CodePoint) -> bool {
        match (self, config) {
            (Self::Timely(timely), ReactionConfig::Timely(config)) => {
                timely.on_completion(config, now, rtt, echo)
            }
            _ => false,
        }
    }

    /// An ACK arrived for a flow with a window ([`ReactionConfig::has_window`]). True if the window changed.
    pub fn on_feedback(&mut self, config: &ReactionConfig, now: Time, ack: &Feedback<'_>) -> bool {
        match (self, config) {
            (Self::Dctcp(dctcp), ReactionConfig::Dctcp(config)) => dctcp.on_feedback(config, now, ack),
            (Self::Swift(swift), ReactionConfig::Swift(config)) => swift.on_feedback(config, now, ack),
            (Self::Hpcc(hpcc), ReactionConfig::Hpcc(config)) => hpcc.on_feedback(config, now, ack),
            _ => false,
        }
    }

    /// How many bytes may be under way before the flow has to wait for an ACK: the next packet may leave while there are fewer.
    pub fn window(&self) -> f64 {
        match self {
            Self::LineRate(_) | Self::Dcqcn(_) | Self::DcqcnHpcc(_) | Self::Timely(_) | Self::IbCc(_) => {
                f64::INFINITY
            }
            Self::Dctcp(dctcp) => dctcp.window(),
            Self::Swift(swift) => swift.window(),
            Self::Hpcc(hpcc) => hpcc.window(),
        }
    }

    /// The rate that the flow may send at, in bits on the wire.
    #[inline]
    pub fn rate(&self) -> Rate {
        match self {
            Self::LineRate(pacer) => pacer.rate(),
            Self::Dcqcn(dcqcn) => dcqcn.rate(),
            Self::DcqcnHpcc(dcqcn) => dcqcn.rate(),
            Self::Timely(timely) => timely.rate(),
            Self::IbCc(ib) => ib.rate(),
            Self::Dctcp(dctcp) => dctcp.rate(),
            Self::Swift(swift) => swift.rate(),
            Self::Hpcc(hpcc) => hpcc.rate(),
        }
    }

    /// From the start of a packet of `wire_bytes` to the earliest start of the flow's next one. The answer for the
    /// latest size is remembered, hence `&mut`.
    #[inline]
    pub fn gap(&mut self, wire_bytes: u32) -> Span {
        match self {
            Self::LineRate(pacer) => pacer.gap(wire_bytes),
            Self::Dcqcn(dcqcn) => dcqcn.gap(wire_bytes),
            Self::DcqcnHpcc(dcqcn) => dcqcn.gap(wire_bytes),
            Self::Timely(timely) => timely.gap(wire_bytes),
            Self::IbCc(ib) => ib.gap(wire_bytes),
            Self::Dctcp(dctcp) => dctcp.gap(wire_bytes),
            Self::Swift(swift) => swift.gap(wire_bytes),
            Self::Hpcc(hpcc) => hpcc.gap(wire_bytes),
        }
    }
}

/// What a window of so many bytes per round trip comes to, at most `line` and at least 1 bit/s. Before the first round trip: `line`.
pub(crate) fn rate_of(window: f64, rtt: Span, line: Rate) -> Rate {
    if rtt == Span::ZERO {
        return line;
    }
    let bps = window * 8e12 / rtt.as_ps() as f64;
    Rate::from_bps((bps as u64).max(1)).min(line)
}

/// `base` to the power `exponent` by repeated squaring: the same bits on every machine, unlike `powf`.
pub(crate) fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_of_a_flow_fits_in_two_cache_lines() {
        assert!(size_of::<Dcqcn>() <= 128);
        assert!(size_of::<DcqcnHpcc>() <= 128);
        assert!(size_of::<Timely>() <= 128);
        assert!(size_of::<IbCc>() <= 64);
        assert!(size_of::<Dctcp>() <= 128);
        assert!(size_of::<Swift>() <= 128);
        assert!(size_of::<Hpcc>() <= 128);
    }

    #[test]
    fn an_uncontrolled_flow_sends_its_1000_byte_packets_every_200_ns_at_40_gbps() {
        let config = ReactionConfig::LineRate;
        let mut flow = Reaction::new(&config, Rate::from_gbps(40));
        assert_eq!(flow.gap(1_000), Span::from_ns(200));
        assert!(!flow.on_cnp(&config, Time::ZERO, CodePoint::Congestion));
        assert_eq!(flow.rate(), Rate::from_gbps(40));
        assert_eq!(flow.next_timer(), Time::MAX);
    }

    #[test]
    fn powers_by_squaring_agree_with_repeated_multiplication() {
        let by_hand = (0..55).fold(1.0_f64, |product, _| product * (255.0 / 256.0));
        assert!((power(255.0 / 256.0, 55) - by_hand).abs() < 1e-12);
        assert!((power(0.5, 10) - 1.0 / 1024.0).abs() < f64::EPSILON);
        assert!((power(0.9, 0) - 1.0).abs() < f64::EPSILON);
    }
}
