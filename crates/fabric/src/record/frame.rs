//! Frames on the wires of chosen ports.
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

pub use crate::packet::Kind as FrameKind;

/// A frame that an egress port sent and that reached the other end. Only for the ports whose frames are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FrameRecord {
    /// When the other end knew of it: its complete arrival, or that of its header where the other end cuts through.
    pub time: Time,
    /// When its first bit went on the wire.
    pub sent: Time,
    /// Node index of the sender.
    pub node: u32,
    /// Its egress port.
    pub port: u16,
    /// What it is.
    pub kind: FrameKind,
    /// Priority; `None` for what goes before all priorities.
    pub priority: Option<u8>,
    /// Bytes on the wire.
    pub size: u16,
    /// Code point on the wire: 0 not capable, 1 capable, 2 UE, 3 CE.
    pub code: u8,
    /// What an ACK or CNP reports about the data, in the same numbers.
    pub echo: u8,
    /// Flow index, of Hold frames, too; meaningless for other frames of the link and for congestion isolation messages.
    pub flow: u32,
    /// Of frames about a congestion root (Pyrrha, RECN) that root: a switch and its egress port. `flow` is meaningless then.
    pub root: Option<(u32, u16)>,
    /// Data: the packet's number within the flow; ACK: the number of packets received in order. PFC: the priorities that it
    /// pauses (bits 0 to 7) and lets go (bits 8 to 15); Hold: that of the queue. Credit: FCCL, and FCTBS in `flow`.
    pub seq: u32,
}

impl FrameRecord {
    /// Whether `flow` and `seq` are those of a flow.
    pub const fn is_of_a_flow(&self) -> bool {
        !self.kind.is_flow_control()
    }
}
