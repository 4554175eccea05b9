//! FECN, InfiniBand's forward explicit congestion notification: a long queue marks, but only those packets that had to
//! wait for nothing but each other.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, Annex A10 (congestion control: Threshold, `Marking_Rate`,
//! `Packet_Size`); TCD (SIGCOMM 2021) §2.1; the rule by which roots and victims are distinguished is that of the authors'
//! flit-level model.
//!
//! ```text
//!   header reaches the input buffer      head of its queue           wins the arbitration
//!   ┌─────────┐  queue > Threshold  ┌───────────┐  still candidate  ┌──────────┐  big enough,
//!   │ nothing ├────────────────────▶│ candidate ├──────────────────▶│ eligible ├───────────────▶ CE
//!   └────▲────┘                     └─────┬─────┘                   └──────────┘  its turn
//!        │   found without enough credit  │
//!        └────────── a victim ────────────┘
//! ```
//! "Queue" is what waits for the packet's output port and virtual lane (VL), of all inputs, without the packet itself.
//! FECN is the code point CE: InfiniBand has one bit.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | Threshold | B | 50 000 | TCD paper §3.1; the InfiniBand specification has 0 to 15 without a unit, 15 the most eager |
//! | `Marking_Rate` | packets | 0: each is marked | Gran et al. (IPDPS 2010); authors' flit-level model: each, in the fat tree one of three |
//! | `Packet_Size` | B | 0: all are marked | Gran et al. (IPDPS 2010); authors' flit-level model has none |
//!
//! The port counts as congested by the latest departure: if that packet was still a candidate, it was delayed by
//! others that want the same port, and the port is a root. No time and no draw is involved.
//!
//! Known deviations: the specification leaves open how a switch tells a root from a victim, and asks for a mean
//! `Marking_Rate`, which may be randomised; here exactly so many eligible packets pass between two marked ones.
//! `Victim_Mask`, which marks victims at chosen ports as well, is not modelled. What the rule gets wrong stays wrong: a
//! packet that reaches the head of its queue just after credits came was delayed by their lack, is not found out, and is
//! marked (TCD paper §3.2).
use backwater_units::Bytes;

use super::{CongestionPoint, Departure, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts};
use crate::{CodePoint, PortState};
#[cfg(feature = "config")]
use crate::{ConfigError, config::Quantity};

/// Parameters of FECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fecn {
    /// A packet that finds more than this many bytes waiting for its output port and VL is a candidate.
    pub threshold: Bytes,
    /// Eligible packets that pass unmarked after each marked one.
    pub marking_rate: u16,
    /// Smaller packets are never marked, nor counted as passed.
    pub packet_size: Bytes,
}

impl Fecn {
    /// 50 KB (TCD paper §3.1), each eligible packet marked, whatever its size (Gran et al., IPDPS 2010).
    pub const fn standard() -> Self {
        Self { threshold: Bytes::from_kb(50), marking_rate: 0, packet_size: Bytes::new(0) }
    }
}

impl CongestionPoint for Fecn {
    const ARRIVALS: bool = true;

    #[inline]
    fn on_arrival(&self, queue: u64) -> bool {
        queue > self.threshold.get()
    }

    #[inline]
    fn on_dequeue(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        _draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        if !departure.candidate {
            registers.state = PortState::NonCongestion;
            return departure.code;
        }
        registers.state = PortState::Congestion;
        let markable = departure.code != CodePoint::NotCapable;
        if u64::from(departure.size) < self.packet_size.get() || !markable {
            return departure.code;
        }
        if registers.at_resume > 0 {
            registers.at_resume -= 1;
            return departure.code;
        }
        registers.at_resume = u32::from(self.marking_rate);
        departure.code.mark_ce()
    }

    /// It does not look at the queue at a departure: it is calm about all packets that are no candidates.
    fn calm(&self) -> u64 {
        u64::MAX
    }

    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, _: &PortFacts) -> Result<Self, ConfigError> {
        let FecnParams { threshold, marking_rate, packet_size } = settings.fecn;
        Ok(Self { threshold: threshold.0, marking_rate, packet_size: packet_size.0 })
    }
}

/// FECN of InfiniBand.
#[cfg(feature = "config")]
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FecnParams {
    /// Threshold. A packet that finds more than this many bytes waiting for its egress port and virtual lane may be
    /// marked. All profiles: 50 KB (TCD paper §3.1).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub threshold: Quantity<Bytes>,
    /// `Marking_Rate`, how many packets that could be marked pass without between two that are. All profiles: 0, each is
    /// marked (Gran et al., IPDPS 2010).
    pub marking_rate: u16,
    /// `Packet_Size`, smaller packets are never marked. All profiles: 0 B (Gran et al., IPDPS 2010).
    #[schemars(extend("x-maximum" = "65500B"))]
    pub packet_size: Quantity<Bytes>,
}

#[cfg(feature = "config")]
impl Default for FecnParams {
    fn default() -> Self {
        let Fecn { threshold, marking_rate, packet_size } = Fecn::standard();
        Self { threshold: Quantity(threshold), marking_rate, packet_size: Quantity(packet_size) }
    }
}
