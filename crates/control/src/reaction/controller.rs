//! What every controller of a sender is: a value for each flow or stream, beside parameters that all of them share.
//!
//! ```text
//!   may_send ── packet leaves ──▶ on_sent ──▶ … network … ──▶ on_cnp │ on_advice │ on_echo │ on_completion │ on_feedback │ on_ack │ on_nack │ …
//! ```
//! A controller says what it does of the signals that it reads; of the others it hears nothing. It owns its timers as deadlines:
//! [`Controller::advance`] applies every expiry up to `now`, so that whoever owns the clock needs no timer events.
use backwater_units::{Rate, Span, Time};

use super::Feedback;
use crate::{CodePoint, ConfigError};

/// A controller of one flow or stream.
pub trait Controller: Sized {
    /// Its parameters, shared by all flows that use them.
    type Config;
    /// Whether it limits what is under way, and so wants an ACK for each packet ([`Self::on_feedback`]).
    const WINDOW: bool = false;
    /// Whether it wants what switches write into packets.
    const TELEMETRY: bool = false;
    /// Whether CNPs change it ([`Self::on_cnp`]).
    const NOTIFIED: bool = false;

    /// Refuses parameters outside the ranges in which the algorithm is defined, or by which nothing could ever be sent; `largest` is
    /// the size of the largest packet, with its header.
    fn validate(config: &Self::Config, largest: u32) -> Result<(), ConfigError>;

    /// A new flow on a host link of rate `line` (above zero).
    fn new(config: &Self::Config, line: Rate) -> Self;

    /// Applies every timer expiry with a deadline up to and including `now`, in order. True if something changed.
    /// `advance(a); advance(b)` is `advance(b)` for a ≤ b, bit for bit.
    #[inline]
    fn advance(&mut self, _: &Self::Config, _now: Time) -> bool {
        false
    }

    /// The next instant at which the rate, or what may be sent, changes by itself; [`Time::MAX`] if it will not.
    #[inline]
    fn next_timer(&self, _: &Self::Config) -> Time {
        Time::MAX
    }

    /// Whether it lets this packet go now. Those with a rate or a window answer by [`Self::gap`] and [`Self::window`].
    #[inline]
    fn may_send(&self, _: &Self::Config, _: &Load) -> bool {
        true
    }

    /// A data packet was handed to the link. True if the rate changed.
    #[inline]
    fn on_sent(&mut self, _: &Self::Config, _now: Time, _: &Load) -> bool {
        false
    }

    /// A CNP arrived that carries `code` (UE or CE). True if the rate may have changed.
    #[inline]
    fn on_cnp(&mut self, _: &Self::Config, _now: Time, _code: CodePoint) -> bool {
        false
    }

    /// A CNP arrived that says at which rate the receiver got the flow ([`crate::notify::Advice`]). True if the rate changed.
    #[inline]
    fn on_advice(&mut self, _: &Self::Config, _now: Time, _code: CodePoint, _advised: Rate) -> bool {
        false
    }

    /// An ACK arrived that echoes `echo`.
    #[inline]
    fn on_echo(&mut self, _: &Self::Config, _now: Time, _echo: CodePoint) -> bool {
        false
    }

    /// A segment was acknowledged: its round-trip time without the segment's own serialisation, and the code point that its ACK
    /// echoes. True if the rate changed.
    #[inline]
    fn on_completion(&mut self, _: &Self::Config, _now: Time, _rtt: Span, _echo: CodePoint) -> bool {
        false
    }

    /// An ACK arrived for a flow with a window. True if the window changed.
    #[inline]
    fn on_feedback(&mut self, _: &Self::Config, _now: Time, _: &Feedback<'_>) -> bool {
        false
    }

    /// An ACK of a stream of PUTs takes effect.
    #[inline]
    fn on_ack(&mut self, _: &Self::Config, _now: Time, _: &AckFacts) {}

    /// A NACK takes effect, also one that starts no replay.
    #[inline]
    fn on_nack(&mut self, _: &Self::Config, _now: Time) {}

    /// The last packet of a replay after a NACK was resent.
    #[inline]
    fn on_replay_end(&mut self, _: &Self::Config) {}

    /// Packets have expired and will be resent.
    #[inline]
    fn on_timeout(&mut self, _: &Self::Config) {}

    /// How many bytes may be under way before the flow has to wait for an ACK: the next packet may leave while there are fewer.
    #[inline]
    fn window(&self) -> f64 {
        f64::INFINITY
    }

    /// The rate that the flow may send at, in bits on the wire; the largest there is where nothing but its link holds it back.
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(u64::MAX)
    }

    /// From the start of a packet of `wire_bytes` to the earliest start of the flow's next one. The answer for the latest size is
    /// remembered, hence `&mut`.
    #[inline]
    fn gap(&mut self, _wire_bytes: u32) -> Span {
        Span::ZERO
    }

    /// A data packet leaves: what is due, then [`Self::on_sent`]. Returns the gap after `paced` bytes, if the next packet is paced.
    #[inline]
    fn leaves(&mut self, config: &Self::Config, now: Time, load: &Load, paced: Option<u32>) -> Span {
        self.advance(config, now);
        self.on_sent(config, now, load);
        paced.map_or(Span::ZERO, |bytes| self.gap(bytes))
    }

    /// An ACK came: what is due, then [`Self::on_echo`], and [`Self::on_completion`] if it ends a segment.
    #[inline]
    fn informed(&mut self, config: &Self::Config, now: Time, echo: CodePoint, rtt: Option<Span>) {
        self.advance(config, now);
        self.on_echo(config, now, echo);
        if let Some(rtt) = rtt {
            self.on_completion(config, now, rtt, echo);
        }
    }

    /// What records say of a stream: how free it is.
    #[inline]
    fn state(&self) -> State {
        State { level: None, allowance: None }
    }
}

/// What is outstanding when a packet is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Packets sent and not yet freed by an ACK, in [`crate::transport::Initiator`]'s sense.
    pub packets: u32,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Bytes of the packet in question, header included.
    pub size: u32,
    /// Whether it has been sent before (and is among those outstanding).
    pub again: bool,
}

impl Load {
    /// A packet of `size` bytes where nobody asks what else is outstanding.
    #[inline]
    pub const fn of(size: u32) -> Self {
        Self { packets: 0, bytes: 0, size, again: false }
    }
}

/// An ACK that takes effect.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFacts {
    /// Packets that no earlier ACK covered.
    pub packets: u32,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Whether the target was congested.
    pub marked: bool,
    /// Whether an earlier ACK covered as much.
    pub repeat: bool,
    /// Whether it came on a data packet; else in a frame of its own.
    pub piggybacked: bool,
    /// Whether packets are being resent because of a NACK.
    pub replaying: bool,
    /// Whether nothing is outstanding after it.
    pub idle: bool,
}

/// For records: how free a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// DACK: −1, 0 or 1 for H(−1), H(0), H(1), or [`State::OPEN`].
    pub level: Option<i8>,
    /// DACK: packets that may be sent while halted; AIMD: the window in bytes.
    pub allowance: Option<u64>,
}

impl State {
    /// The level of a stream that is not halted.
    pub const OPEN: i8 = 2;
}

/// Makes the family of a list of controllers: the parameters of any of them, and the state of any.
macro_rules! family {
    ($(#[$of:meta])* $family:ident, $(#[$with:meta])* $parameters:ident; $($(#[$doc:meta])* $kind:ident($state:ty),)*) => {
        $(#[$with])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $parameters {
            $($(#[$doc])* $kind(<$state as Controller>::Config),)*
        }

        $(#[$of])*
        ///
        /// It is only ever used with the kind of parameters it was made from.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
        pub enum $family {
            $($(#[$doc])* $kind($state),)*
        }


        impl $parameters {
            /// See [`Controller::validate`].
            pub fn validate(&self, largest: u32) -> Result<(), ConfigError> {
                match self {
                    $(Self::$kind(config) => <$state as Controller>::validate(config, largest),)*
                }
            }

            /// See [`Controller::WINDOW`].
            pub const fn has_window(&self) -> bool {
                match self {
                    $(Self::$kind(_) => <$state as Controller>::WINDOW,)*
                }
            }

            /// See [`Controller::TELEMETRY`].
            pub const fn wants_telemetry(&self) -> bool {
                match self {
                    $(Self::$kind(_) => <$state as Controller>::TELEMETRY,)*
                }
            }
        }

        impl Controller for $family {
            type Config = $parameters;

            fn validate(config: &$parameters, largest: u32) -> Result<(), ConfigError> {
                config.validate(largest)
            }

            fn new(config: &$parameters, line: Rate) -> Self {
                match config {
                    $($parameters::$kind(config) => Self::$kind(<$state as Controller>::new(config, line)),)*
                }
            }

            #[inline]
            fn advance(&mut self, config: &$parameters, now: Time) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.advance(config, now),)*
                    _ => false,
                }
            }

            #[inline]
            fn next_timer(&self, config: &$parameters) -> Time {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.next_timer(config),)*
                    _ => Time::MAX,
                }
            }

            #[inline]
            fn may_send(&self, config: &$parameters, load: &Load) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.may_send(config, load),)*
                    _ => false,
                }
            }

            #[inline]
            fn on_sent(&mut self, config: &$parameters, now: Time, load: &Load) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_sent(config, now, load),)*
                    _ => false,
                }
            }

            fn on_cnp(&mut self, config: &$parameters, now: Time, code: CodePoint) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_cnp(config, now, code),)*
                    _ => false,
                }
            }

            fn on_advice(&mut self, config: &$parameters, now: Time, code: CodePoint, advised: Rate) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_advice(config, now, code, advised),)*
                    _ => false,
                }
            }

            #[inline]
            fn on_echo(&mut self, config: &$parameters, now: Time, echo: CodePoint) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_echo(config, now, echo),)*
                    _ => false,
                }
            }

            #[inline]
            fn on_completion(&mut self, config: &$parameters, now: Time, rtt: Span, echo: CodePoint) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_completion(config, now, rtt, echo),)*
                    _ => false,
                }
            }

            fn on_feedback(&mut self, config: &$parameters, now: Time, ack: &Feedback<'_>) -> bool {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_feedback(config, now, ack),)*
                    _ => false,
                }
            }

            #[inline(always)]
            #[allow(
                clippy::inline_always,
                reason = "measured: as a call of its own it costs 3 instructions a hop, with that of a NIC's pacing queue"
            )]
            fn leaves(&mut self, config: &$parameters, now: Time, load: &Load, paced: Option<u32>) -> Span {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.leaves(config, now, load, paced),)*
                    _ => Span::ZERO,
                }
            }

            #[inline]
            fn informed(&mut self, config: &$parameters, now: Time, echo: CodePoint, rtt: Option<Span>) {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.informed(config, now, echo, rtt),)*
                    _ => (),
                }
            }

            #[inline]
            fn on_ack(&mut self, config: &$parameters, now: Time, facts: &AckFacts) {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_ack(config, now, facts),)*
                    _ => (),
                }
            }

            fn on_nack(&mut self, config: &$parameters, now: Time) {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_nack(config, now),)*
                    _ => (),
                }
            }

            fn on_replay_end(&mut self, config: &$parameters) {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_replay_end(config),)*
                    _ => (),
                }
            }

            fn on_timeout(&mut self, config: &$parameters) {
                match (self, config) {
                    $((Self::$kind(flow), $parameters::$kind(config)) => flow.on_timeout(config),)*
                    _ => (),
                }
            }

            fn window(&self) -> f64 {
                match self {
                    $(Self::$kind(flow) => Controller::window(flow),)*
                }
            }

            #[inline]
            fn rate(&self) -> Rate {
                match self {
                    $(Self::$kind(flow) => Controller::rate(flow),)*
                }
            }

            #[inline]
            fn gap(&mut self, wire_bytes: u32) -> Span {
                match self {
                    $(Self::$kind(flow) => Controller::gap(flow, wire_bytes),)*
                }
            }

            #[inline]
            fn state(&self) -> State {
                match self {
                    $(Self::$kind(flow) => Controller::state(flow),)*
                }
            }
        }
    };
}
pub(crate) use family;

/// Makes the family of a list of controllers of queue pairs, and what people write of them: `Kind(Controller, …) = "word", table: Keys;`.
/// Of several controllers the keys choose one.
macro_rules! reactions {
    ($($(#[$doc:meta])* $kind:ident($($state:ident),*) = $word:literal, $field:ident: $params:ty;)*) => {
        controller::family! {
            /// The controller of a queue pair.
            Reaction,
            /// The parameters of a controller of queue pairs, shared by all flows that use them.
            ReactionConfig;
            /// Always at line rate: no congestion control.
            LineRate(Pacer),
            $($(#[doc = concat!("`kind = \"", $word, "\"`.")] $state($state),)*)*
        }

        #[cfg(feature = "config")]
        settings::settings! { $($(#[$doc])* $kind($($state),*) = $word, $field: $params;)* }
    };
}
pub(super) use reactions;
