//! Congestion point: in what state is this egress port, and is this packet marked?
//!
//! A detector is asked once per dequeued packet, after the packet was taken out of the queue's counter. Its
//! parameters are shared by all ports that use them; what it remembers is one [`Registers`] per egress port and
//! priority, and nothing else. FECN alone wants to see arrivals as well, and its caller keeps one bit per packet.
//!
//! A virtual lane (VL) of InfiniBand is a priority here, and flow control is PFC or credits: a gate opens or closes.
use backwater_units::Time;

use crate::{CodePoint, ConfigError, PortState};

pub mod custom;
mod fecn;
mod max_ton;
mod np_ecn;
mod red;
mod tcd;

pub use fecn::Fecn;
pub use max_ton::{
    MaxTon, Step, credits_on_period, fluid_toff, fluid_ton, max_ton, max_ton_authors, max_ton_with_tau,
};
pub use np_ecn::NpEcn;
pub use red::Red;
pub use tcd::{Tcd, Trend};

/// Everything a detector remembers about one egress port and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The ON-OFF pattern is held to last until here. TCD: the end of the last OFF period plus max(Ton). NP-ECN: for
    /// ever while a paused packet is queued, else the beginning of time.
    release: Time,
    /// End of the period T whose trend is being watched.
    window_end: Time,
    /// What was queued when the last OFF period ended. TCD: in bytes. NP-ECN: in packets, less those that left since.
    /// FECN, which does not look at OFF periods: eligible packets still to pass unmarked.
    at_resume: u32,
    /// Bytes queued at the start of the period T.
    queue_at_sample: u32,
    state: PortState,
}

impl Registers {
    /// The verdict of the latest dequeue.
    #[inline]
    pub const fn state(&self) -> PortState {
        self.state
    }

    /// Whether the port is in the non-congestion state and in no ON-OFF pattern. Then a dequeue that leaves at most
    /// [`Detector::calm`] bytes marks nothing and changes nothing, unless the packet is a candidate: it need not be shown
    /// to the detector.
    #[inline]
    pub fn is_settled(&self, now: Time) -> bool {
        now >= self.release && matches!(self.state, PortState::NonCongestion)
    }
}

/// A packet has just been taken out of an egress queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The instant of the dequeue.
    pub now: Time,
    /// Bytes left in this egress queue (port and priority) without the packet.
    pub queue: u64,
    /// The packet's code point.
    pub code: CodePoint,
    /// Last instant at which this switch held back an upstream port in this priority; `now` if it does, [`Time::ZERO`] if
    /// it never did. By PFC: a PAUSE was in force. By credits: an update left the port less than it needs until the next
    /// one. Read only if [`Detector::wants_last_hold`].
    pub last_hold: Time,
    /// The packet's bytes on the wire. Read by FECN only.
    pub size: u32,
    /// Whether the packet was a candidate when it arrived ([`Detector::on_arrival`]) and was never found at the head of its
    /// queue without enough credit. Read by FECN only.
    pub candidate: bool,
}

/// The detectors, with their parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// Nothing is ever marked.
    None,
    /// ECN by queue length.
    Red(Red),
    /// ECN by queue length, but not for packets that were paused.
    NpEcn(NpEcn),
    /// Ternary congestion detection.
    Tcd(Tcd),
    /// InfiniBand's own: by queue length at the arrival, but not for packets that lacked credit.
    Fecn(Fecn),
    /// The user's own, which has a memory of its own: its owner asks [`custom::CustomDetector`], this is [`Detector::None`]
    /// but for what need not be shown.
    Custom {
        /// Queues up to this many bytes are not shown while the port is settled.
        calm: u64,
    },
}

impl Detector {
    /// A packet's header reached the input buffer while `queue` bytes, without the packet, waited for its output port and
    /// VL. True if the packet is a candidate for a mark: then the caller remembers that, takes it back whenever it finds
    /// the packet at the head of its queue without enough credit, and shows its departure even if the port is settled.
    #[inline]
    pub const fn on_arrival(&self, queue: u64) -> bool {
        match self {
            Self::Fecn(fecn) => fecn.on_arrival(queue),
            Self::None | Self::Red(_) | Self::NpEcn(_) | Self::Tcd(_) | Self::Custom { .. } => false,
        }
    }

    /// Whether [`Self::on_arrival`] can be true at all.
    #[inline]
    pub const fn wants_arrivals(&self) -> bool {
        matches!(self, Self::Fecn(_))
    }

    /// The gate of the port opened: a RESUME arrived while paused, the pause ran out, or an update made room for a packet
    /// that had found too few credits. `queue` is the egress queue in bytes before anything leaves it, `packets` counts
    /// what is in it and is called only if that is asked. A RESUME or an update at an open gate is no such event; nor is
    /// the closing one, since TCD measures from the end of an OFF period (§4.1).
    #[inline]
    pub fn on_resume(&self, registers: &mut Registers, now: Time, queue: u64, packets: impl FnOnce() -> u32) {
        match self {
            Self::None | Self::Red(_) | Self::Fecn(_) | Self::Custom { .. } => {}
            Self::NpEcn(_) => NpEcn::on_resume(registers, packets()),
            Self::Tcd(tcd) => tcd.on_resume(registers, now, queue),
        }
    }

    /// Judges the port and returns the packet's new code point. `draw` gives 32 uniform random bits; it is called
    /// at most once, and only where the outcome is random.
    #[inline]
    pub fn on_dequeue(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        match self {
            Self::None | Self::Custom { .. } => departure.code,
            Self::Red(red) => red.on_dequeue(registers, departure, draw),
            Self::NpEcn(np_ecn) => np_ecn.on_dequeue(registers, departure, draw),
            Self::Tcd(tcd) => tcd.on_dequeue(registers, departure, draw),
            Self::Fecn(fecn) => fecn.on_dequeue(registers, departure),
        }
    }

    /// The longest queue that is never marked and never congested while [`Registers::is_settled`]. FECN does not look at
    /// the queue at a departure: it is calm about all packets that are no candidates.
    pub fn calm(&self) -> u64 {
        match self {
            Self::None | Self::Fecn(_) => u64::MAX,
            Self::Red(red) => red.calm(),
            Self::NpEcn(np_ecn) => np_ecn.red.calm(),
            Self::Tcd(tcd) => tcd.red.calm(),
            Self::Custom { calm } => *calm,
        }
    }

    /// Whether [`Departure::last_hold`] is read at all.
    #[inline]
    pub const fn wants_last_hold(&self) -> bool {
        match self {
            Self::Tcd(tcd) => matches!(tcd.trend, Trend::RiseBp),
            Self::Custom { .. } => true,
            Self::None | Self::Red(_) | Self::NpEcn(_) | Self::Fecn(_) => false,
        }
    }

    /// Refuses parameters outside the ranges in which the algorithm is defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::None | Self::Fecn(_) | Self::Custom { .. } => Ok(()),
            Self::Red(red) => red.validate(),
            Self::NpEcn(np_ecn) => np_ecn.validate(),
            Self::Tcd(tcd) => tcd.validate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_and_priority_costs_32_bytes_of_registers_and_a_plain_detector_none_of_them_more() {
        // §4.5: one register for the end of OFF, one for LAST_STATE, one for the queue length; plus the window.
        assert!(size_of::<Registers>() <= 32);
    }
}
