//! Hosts that are slower than their links.
use backwater_control::flow_control::Threshold;
use backwater_units::{Bytes, Rate, Span, Time};

/// What a host does with what it receives: data stands in a queue, all traffic of the host together, and is drained from its front.
/// Control frames pass by.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSpec {
    /// Most bytes of the receive queue that came by one port, headers included. What is being drained counts until it is drained
    /// completely.
    pub depth: Bytes,
    /// How fast it is drained, headers included.
    pub drain: DrainSpec,
    /// A queue pair whose messages under way are no larger than this together costs no work: the host takes it as it comes. `None`: all
    /// cost work.
    pub cached: Option<Bytes>,
    /// In a fabric with PFC: when the host pauses the switch at each of its ports, by class as a switch does for an ingress port.
    pub pfc: Option<Vec<Threshold>>,
}

/// The rate at which a receive queue is drained.
#[derive(Clone, Debug, PartialEq)]
pub enum DrainSpec {
    /// Always the same; 0: never.
    Constant(Rate),
    /// Two rates in turn, the high one first.
    OnOff {
        /// The high rate.
        high: Rate,
        /// The low rate; may be 0.
        low: Rate,
        /// How long it is high: always, or on average.
        high_for: Span,
        /// How long it is low: always, or on average.
        low_for: Span,
        /// The standard deviation of the logarithm of each interval, if they are drawn from log-normal distributions.
        sigma: Option<f64>,
    },
    /// From each of these times on, the rate beside it; before the first one, the first. Times rise.
    Trace(Vec<(Time, Rate)>),
}
