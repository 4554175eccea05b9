//! PUT streams and the receive queues of hosts: packet by packet, and in periods.
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// What happened to a packet of a PUT stream, or to the stream itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
#[repr(u8)]
pub enum PutEvent {
    /// A new packet started to leave the initiator.
    Sent,
    /// A packet that had been sent before started to leave the initiator again.
    Resent,
    /// The target took the packet into its receive queue.
    Accepted,
    /// The target has drained the packet from its receive queue.
    Processed,
    /// The target dropped the packet: its receive queue had no room.
    Dropped,
    /// The target dropped the packet: one before it was missing.
    OutOfOrder,
    /// The target dropped the packet: it had accepted it before.
    Duplicate,
    /// An ACK frame without a mark that tells news started to leave the target.
    IackSent,
    /// An ACK frame that repeats the last number (DACK) started to leave the target.
    DackSent,
    /// A marked ACK frame that tells news, a DACK and an IACK in one, started to leave the target.
    MarkedSent,
    /// A NACK started to leave the target.
    NackSent,
    /// An IACK took effect at the initiator.
    Iack,
    /// A DACK took effect at the initiator.
    Dack,
    /// A marked IACK took effect at the initiator.
    Marked,
    /// A NACK took effect at the initiator.
    Nack,
    /// The initiator waited too long for an ACK of the packet.
    Timeout,
    /// The halt state of the stream at the initiator changed.
    State,
}

impl PutEvent {
    /// Whether it happens at the target; else at the initiator.
    pub const fn at_target(self) -> bool {
        matches!(
            self,
            Self::Accepted
                | Self::Processed
                | Self::Dropped
                | Self::OutOfOrder
                | Self::Duplicate
                | Self::IackSent
                | Self::DackSent
                | Self::MarkedSent
                | Self::NackSent
        )
    }
}

/// Something happened in a PUT stream. Only for traffic entries whose PUTs are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PutRecord {
    /// When.
    pub time: Time,
    /// Flow index of the packet; of acknowledgements any flow of the stream.
    pub flow: u32,
    /// Node index of the stream's initiator.
    pub src: u32,
    /// Node index of the stream's target.
    pub dst: u32,
    /// Sequence number of the packet in the stream, from 1; of acknowledgements the last one that they cover; 0 of a state.
    pub seq: u32,
    /// What.
    pub event: PutEvent,
    /// Sent, resent: the allowance (packets, DACK) or the congestion window (bytes, AIMD) after it. Accepted to NACK sent:
    /// bytes in the receive queue after it. State: -1, 0, 1 for H(-1), H(0), H(1), and 2 for not halted.
    pub value: i64,
}

impl PutRecord {
    /// Node index of where it happened.
    pub const fn node(&self) -> u32 {
        if self.event.at_target() { self.dst } else { self.src }
    }
}

/// Which PUT stream: all PUTs of one kind between two hosts in one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StreamId {
    /// Node index of the initiator.
    pub src: u32,
    /// Node index of the target.
    pub dst: u32,
    /// Priority.
    pub priority: u8,
    /// Kind of PUT: an index into [`crate::Spec`]'s `puts`.
    pub kind: u16,
}

/// What one end of a PUT stream did in one sampling period. Periods in which it did nothing have no record. The counts of
/// the other end are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StreamRecord {
    /// When the period starts: a multiple of the sampling period.
    pub start: Time,
    /// When it ends: one sampling period later, or with the run.
    pub end: Time,
    /// The stream.
    pub stream: StreamId,
    /// Whether its target reports, else its initiator.
    pub target: bool,
    /// Initiator: new packets sent.
    pub sent_packets: u64,
    /// Their bytes on the wire.
    pub sent_bytes: Bytes,
    /// Initiator: packets sent again.
    pub resent_packets: u64,
    /// Their bytes on the wire.
    pub resent_bytes: Bytes,
    /// Target: packets accepted.
    pub accepted_packets: u64,
    /// Their payload.
    pub accepted_bytes: Bytes,
    /// Target: payload drained from the receive queue.
    pub processed_bytes: Bytes,
    /// Target: packets dropped because the receive queue had no room.
    pub dropped_packets: u64,
    /// Target: packets dropped because one before them was missing.
    pub out_of_order_packets: u64,
    /// Target: packets dropped because they had been accepted before.
    pub duplicate_packets: u64,
    /// IACKs that took effect at the initiator; at the target, IACK frames sent.
    pub iacks: u64,
    /// Those with a mark, on which they are a DACK, too.
    pub marked_iacks: u64,
    /// DACKs that repeat a number that took effect at the initiator; at the target, DACK frames sent.
    pub dacks: u64,
    /// NACKs that took effect at the initiator; at the target, NACK frames sent.
    pub nacks: u64,
    /// Initiator: packets whose ACK did not come in time.
    pub timeouts: u64,
    /// Initiator, at the end: the allowance (packets, DACK) or the congestion window (bytes, AIMD); none under OPT.
    pub window: Option<u64>,
    /// Initiator, at the end: -1, 0, 1 for H(-1), H(0), H(1), and 2 for not halted; none if the policy has no such state.
    pub state: Option<i8>,
}

/// The receive queue of one host in one sampling period. Periods in which it stayed empty have no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct EndpointRecord {
    /// When the period starts: a multiple of the sampling period.
    pub start: Time,
    /// When it ends: one sampling period later, or with the run.
    pub end: Time,
    /// Node index of the host.
    pub node: u32,
    /// Bytes (on the wire) that the host processed.
    pub drained_bytes: Bytes,
    /// Packets dropped because they did not fit.
    pub dropped_packets: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: Bytes,
    /// Bytes in the queue at the end.
    pub queue: Bytes,
    /// Most bytes in the queue.
    pub peak: Bytes,
    /// Time for which the host held back its upstream port, by PAUSE or for want of credits; of several classes the sum.
    pub paused_upstream: Span,
}
