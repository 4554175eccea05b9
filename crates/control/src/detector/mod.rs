//! Congestion point: in what state is this egress port, and is this packet marked?
//!
//! A detector is asked once per dequeued packet, after the packet was taken out of the queue's counter. Its
//! parameters are shared by all ports that use them; what it remembers is one [`Registers`] per egress port and
//! priority, and nothing else. FECN alone wants to see arrivals as well, and its caller keeps one bit per packet.
//!
//! A virtual lane (VL) of InfiniBand is a priority here, and flow control is PFC or credits: a gate opens or closes.
//!
//! One file for each [`CongestionPoint`], and one line in the list below, which makes [`Detector`] and what people write of it.
#[cfg(feature = "config")]
use backwater_units::Bytes;
use backwater_units::{Rate, Time};

#[cfg(feature = "config")]
use crate::config::Quantity;
use crate::{CodePoint, ConfigError, PortState};

pub mod custom;
mod family;
mod fecn;
mod max_ton;
mod np_ecn;
mod oracle;
mod red;
mod tcd;

pub use family::CongestionPoint;
#[cfg(feature = "config")]
pub use family::{ByRate, PortFacts, RAMP};
pub use fecn::Fecn;
#[cfg(feature = "config")]
pub use fecn::FecnParams;
pub use max_ton::{
    MaxTon, Step, credits_on_period, fluid_toff, fluid_ton, max_ton, max_ton_authors, max_ton_with_tau,
};
pub use np_ecn::NpEcn;
pub use oracle::Oracle;
#[cfg(feature = "config")]
pub use red::RedParams;
pub use red::{MarkAt, MarkBasis, Red};
#[cfg(feature = "config")]
pub use tcd::TcdParams;
pub use tcd::{Tcd, Trend};

/// Everything a detector remembers about one egress port and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshDeserialize))]
pub struct Registers {
    /// The ON-OFF pattern is held to last until here. TCD: the end of the last OFF period plus max(Ton). NP-ECN: for
    /// ever while a paused packet is queued, else the beginning of time.
    release: Time,
    /// End of the period T whose trend is being watched. It counts while the port is being judged, which begins with another one.
    window_end: Time,
    /// What was queued when the last OFF period ended. TCD: in bytes. NP-ECN: in packets, less those that left since.
    /// FECN, which does not look at OFF periods: eligible packets still to pass unmarked.
    at_resume: u32,
    /// Bytes queued at the start of the period T.
    queue_at_sample: u32,
    state: PortState,
}

#[cfg(feature = "snapshot")]
impl borsh::BorshSerialize for Registers {
    fn serialize<W: borsh::io::Write>(&self, out: &mut W) -> borsh::io::Result<()> {
        let Self { release, window_end, at_resume, queue_at_sample, state } = self;
        backwater_units::relative::deadline_time(release, out)?;
        let counts = matches!(state, PortState::Judging) || backwater_units::relative::now().is_none();
        if counts {
            window_end.serialize(out)?;
        }
        (at_resume, queue_at_sample, state).serialize(out)
    }
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

family::family! {
    /// ECN: random early detection on the present queue, as DCQCN uses it.
    Red(Red) = "red", red: RedParams;
    /// Non-PAUSE ECN of PCN (NSDI 2020; TCD paper §7): red, but never for a packet that was queued when a pause ended.
    NpEcn(NpEcn) = "np-ecn";
    /// Ternary congestion detection (TCD paper §4).
    Tcd(Tcd) = "tcd", tcd: TcdParams;
    /// FECN of InfiniBand (InfiniBand specification, Annex A10): a packet that finds a long queue for its port, and never
    /// lacks credit at the head of its own, is marked.
    Fecn(Fecn) = "fecn", fecn: FecnParams;
    /// An oracle: the ground truth of the simulator marks what leaves a root of congestion, and nothing else. It shows
    /// what exact classification gains, for one threshold and one reaction; it is not for data planes.
    Oracle(Oracle) = "oracle";
    /// A function of the user's, which has a memory of its own.
    Custom(custom::Custom) = "custom", custom: custom::CustomParams;
}

impl Detector {
    /// That of a port of another rate than `full`, where thresholds of RED are in proportion to rates ([`Red::in_proportion`]).
    #[must_use]
    pub fn in_proportion(&self, rate: Rate, full: Rate) -> Self {
        match self {
            Self::Red(red) => Self::Red(red.in_proportion(rate, full)),
            other => *other,
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
