//! What a run reports: plain records, one type per table. Probes receive them; writing them changes nothing.
use backwater_units::{Bytes, Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

mod closure;
mod delivery;
mod dependency;
mod drops;
mod fault;
mod frame;
mod isolation;
mod job;
mod put;
mod rank;
mod throttle;

pub use closure::{ClosureRecord, GateChange, KeyedBy};
pub use delivery::{ArrivedRecord, DeliveredRecord, InjectedRecord};
pub use dependency::{Dependency, DependencyRecord};
pub use drops::{DropCount, DropReason, DropRecord};
pub use fault::{FaultEvent, FaultKind, FaultRecord, NO_FAULT};
pub use frame::{FrameKind, FrameRecord};
pub use isolation::{IsolationEvent, IsolationRecord, SwitchRecord, WindowRecord};
pub use job::JobRecord;
pub use put::{EndpointRecord, PutEvent, PutRecord, StreamId, StreamRecord};
pub use rank::{RankRecord, TimingRecord};
pub use throttle::{ThrottleRecord, ThrottleStateRecord};

/// What head-of-line blocking cost an egress queue of a switch with one FIFO per ingress port, over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BlockedRecord {
    /// Node index of the switch.
    pub node: u32,
    /// Egress port at that node.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// How long the port was free, its gate open, and all packets for it stood behind others in their FIFOs.
    pub blocked: Span,
}

/// A detector marked a packet as it left an egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MarkRecord {
    /// When the packet was dequeued.
    pub time: Time,
    /// Node index of the switch.
    pub node: u32,
    /// Egress port at that node.
    pub port: u16,
    /// Priority of the packet.
    pub priority: u8,
    /// The code point after marking: 2 = UE, 3 = CE.
    pub code: u8,
    /// Flow index.
    pub flow: u32,
    /// Packet number within the flow, from 0.
    pub seq: u32,
    /// Egress queue of that priority after the dequeue.
    pub queue: Bytes,
}

/// A PFC gate of an egress port closed or opened (seen at the paused side).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PauseRecord {
    /// When the gate changed.
    pub time: Time,
    /// Node index of the paused side (switch or host).
    pub node: u32,
    /// Egress port that is gated.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// True: PAUSE took effect. False: RESUME, or the pause expired.
    pub paused: bool,
    /// True if the gate opened because the pause time ran out.
    pub expired: bool,
    /// Bytes in the gated egress queue at that instant. A NIC keeps data in its queue pairs: only ACKs wait in its queue.
    pub queue: Bytes,
}

/// A switch newly pauses an upstream port, and this egress queue is one of those that the packets wait in which are
/// the reason (seen at the pausing side). One record for each such queue. Of a slow host the drain is an egress port, the one
/// after its last, and its receive queue the queue of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct HoldRecord {
    /// When the PAUSE was decided.
    pub time: Time,
    /// Node index of the switch.
    pub node: u32,
    /// The ingress port that is too full.
    pub port: u16,
    /// Node index of the upstream node whose egress port is held.
    pub held_node: u32,
    /// That egress port.
    pub held_port: u16,
    /// The priority that is paused.
    pub priority: u8,
    /// What of it is held, if not all: as [`ClosureRecord::key`].
    pub held_key: Option<u32>,
    /// The egress port at this switch that holds packets which came in by `port`. With combined queueing, the one that the
    /// first packet of an ingress queue of `port` waits for.
    pub blocker: u16,
    /// The priority of that queue: another one than `priority` only where a threshold of the whole port pauses all.
    pub blocker_priority: u8,
    /// The queue of that priority, if it has several.
    pub blocker_key: Option<u32>,
    /// Bytes in that queue that came in by `port`. With combined queueing, bytes in the ingress queue.
    pub bytes: Bytes,
    /// All bytes in that queue.
    pub queue: Bytes,
    /// Whether the gate of that queue was closed.
    pub closed: bool,
}

/// What one flow sent through an egress queue while every dequeue left it above its threshold K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CrowdRecord {
    /// The first dequeue above K.
    pub start: Time,
    /// The dequeue that left K or less, the closing of the gate, the first dequeue in another period of 100 µs, or the
    /// end of the run.
    pub end: Time,
    /// Node index of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Flow index.
    pub flow: u32,
    /// Data packets of the flow that left, those that left more than K behind.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
    /// Those that carried CE, wherever it was set.
    pub ce: u64,
    /// Those that had come with CE: it was set by another port before.
    pub ce_before: u64,
    /// The queue at the end. K or less if a dequeue ended it, otherwise more: the crowd was only cut.
    pub queue: Bytes,
    /// The threshold K of the port.
    pub threshold: Bytes,
}

/// A followed packet waited in an egress queue of a switch. Followed are the last packet of each flow and every
/// packet whose number is a multiple of [`FOLLOWED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct WaitRecord {
    /// When it had arrived completely.
    pub start: Time,
    /// When it started to leave.
    pub end: Time,
    /// Node index of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// The queue of that priority, if it has several.
    pub key: Option<u32>,
    /// Flow index.
    pub flow: u32,
    /// Packet number within the flow, from 0.
    pub seq: u32,
    /// Whether it is the flow's last.
    pub last: bool,
}

/// One packet in so many of every flow is followed.
pub const FOLLOWED: u32 = 64;

/// The detector's verdict on a port changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct StateRecord {
    /// When the verdict was reached (always at a dequeue).
    pub time: Time,
    /// Node index of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// 0 non-congestion, 1 congestion, 2 undetermined, 3 released and being judged.
    pub state: u8,
}

/// One egress queue at a sampling instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SampleRecord {
    /// The sampling instant.
    pub time: Time,
    /// Node index.
    pub node: u32,
    /// Egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Whether PFC holds this queue.
    pub paused: bool,
    /// Detector state as in [`StateRecord::state`].
    pub state: u8,
    /// Bytes waiting.
    pub queue: Bytes,
    /// Bytes of this priority sent by this port since the start.
    pub sent: Bytes,
}

/// The sending rate that a reaction point allows, at a sampling instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RateRecord {
    /// The sampling instant.
    pub time: Time,
    /// Flow index.
    pub flow: u32,
    /// The rate.
    pub rate: Rate,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FlowRecord {
    /// Flow index.
    pub flow: u32,
    /// Index of its traffic entry in the scenario.
    pub group: u16,
    /// Source host (node index).
    pub src: u32,
    /// The port by which its source sends it; of a flow that moved, the last one.
    pub src_port: u16,
    /// Destination host (node index).
    pub dst: u32,
    /// Priority.
    pub priority: u8,
    /// Bytes to send; `Bytes::MAX` for an endless flow and for a supplied one that has not ended.
    pub size: Bytes,
    /// When the flow was ready; `Time::MAX` if it never was, because what it depends on did not happen.
    pub start: Time,
    /// Last byte at the receiver; `Time::MAX` if not finished.
    pub finish: Time,
    /// Last ACK at the sender; `Time::MAX` if not finished or without ACKs.
    pub acked: Time,
    /// Data packets and bytes (without headers) that the receiver got.
    pub packets: u64,
    /// Payload bytes received.
    pub received: Bytes,
    /// Packets received with CE.
    pub ce_packets: u64,
    /// Packets received with UE.
    pub ue_packets: u64,
    /// CNPs the sender got that carried CE.
    pub cnps_ce: u64,
    /// CNPs the sender got that carried UE.
    pub cnps_ue: u64,
    /// Packets of the flow that were sent again.
    pub resent_packets: u64,
    /// Arrivals of its packets that the receiver did not take: no room, or out of order with go-back-N.
    pub dropped_packets: u64,
    /// Arrivals of packets that its receiver had already. 0 for PUTs.
    pub duplicate_packets: u64,
    /// NACKs that its queue pair got.
    pub nacks: u64,
    /// How often its queue pair waited too long for an ACK.
    pub timeouts: u64,
    /// ACKs that the sender of a flow of Ultra Ethernet got.
    pub acks: u64,
    /// Requests for credit that it sent (RTS).
    pub rts: u64,
    /// Headers of its packets that came trimmed.
    pub trimmed_packets: u64,
    /// Whether its queue pair is in error: it had waited in vain once more than it may. If all has arrived, the flow has ended.
    pub failed: bool,
    /// Packets that came before one of the flow that was sent earlier. 0 unless switches spread packets, or
    /// selective repeat keeps them.
    pub early_packets: u64,
    /// The most of them that waited at a time for such a packet.
    pub early_most: u64,
    /// From the arrival of its last packet until all that were sent before it had come. 0 unless switches spread packets.
    pub reorder_wait: Span,
    /// Its connection, if it shares a queue pair with other flows.
    pub connection: Option<u32>,
    /// Time at the source, waiting for earlier messages of the connection to leave.
    pub behind: Span,
    /// Time at the source, waiting for the pace of the reaction point (or of the application).
    pub paced: Span,
    /// Time at the source, due but behind the NIC's closed gate.
    pub nic_held: Span,
    /// Time at the source, due but behind the NIC's other flows.
    pub nic_queue: Span,
    /// Time until copies of packets had left, up to the copy of the last packet that its receiver took; 0 where a queue pair sends nothing
    /// again, and for PUTs.
    pub recovery: Span,
    /// FCT of the same flow alone in the empty network (exact store-and-forward arithmetic); zero for endless and supplied flows.
    pub ideal_fct: Span,
    /// What of it is waiting: for the application, or at a switch for the flow's own packets.
    pub ideal_wait: Span,
    /// Payload over the rate of the source's link, plus the propagation of the path: what the TCD authors divide FCTs
    /// by; zero for endless and supplied flows.
    pub analytic_fct: Span,
}

/// Totals of one egress queue over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PortRecord {
    /// Node index.
    pub node: u32,
    /// Egress port.
    pub port: u16,
    /// Node index at the other end.
    pub peer: u32,
    /// Priority.
    pub priority: u8,
    /// Link rate.
    pub rate: Rate,
    /// Packets and bytes sent in this priority.
    pub packets: u64,
    /// Bytes sent on the wire in this priority.
    pub bytes: Bytes,
    /// Largest queue.
    pub peak_queue: Bytes,
    /// Largest ingress counter of this port and priority (0 at hosts).
    pub peak_ingress: Bytes,
    /// PAUSEs that took effect here (gate went from open to closed).
    pub pauses: u64,
    /// PAUSE frames this port sent upstream for this priority.
    pub pauses_sent: u64,
    /// Time the gate was closed.
    pub paused: Span,
    /// CE marks set here.
    pub ce_marks: u64,
    /// UE marks set here.
    pub ue_marks: u64,
    /// Packets of this priority that were dropped here, for whatever reason but that a receiver did not take them.
    pub dropped_packets: u64,
    /// Their bytes on the wire.
    pub dropped_bytes: Bytes,
    /// Time in non-congestion, congestion, undetermined, and released-being-judged.
    pub in_state: [Span; 4],
}
