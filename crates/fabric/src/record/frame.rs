//! Frames on the wires of chosen ports.
use backwater_units::Time;

/// What a frame is. The numbers are those of the words in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Data of a flow.
    Data = 0,
    /// Acknowledgement.
    Ack = 1,
    /// Congestion notification packet, or BECN.
    Cnp = 2,
    /// PAUSE and RESUME.
    Pfc = 3,
    /// Credit update.
    Credit = 4,
    /// Congestion isolation message.
    Cim = 5,
    /// A packet of a PUT stream.
    Put = 6,
    /// Acknowledgement of a PUT stream.
    PutAck = 7,
    /// The same, and everything after it is lost.
    PutNack = 8,
}

/// A frame that an egress port sent and that reached the other end. Only for the ports whose frames are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Flow index; meaningless for frames of the link and for congestion isolation messages.
    pub flow: u32,
    /// Data: the packet's number within the flow; ACK: the number of packets received in order. PFC: the priorities that it
    /// pauses (bits 0 to 7) and lets go (bits 8 to 15). Credit: FCCL, and FCTBS in `flow`.
    pub seq: u32,
}

impl FrameRecord {
    /// Whether `flow` and `seq` are those of a flow.
    pub const fn is_of_a_flow(&self) -> bool {
        !matches!(self.kind, FrameKind::Pfc | FrameKind::Credit | FrameKind::Cim)
    }
}
