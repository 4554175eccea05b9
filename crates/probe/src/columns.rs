//! The tables: every column declared once. Schema, writer, dictionary and `docs/columns.md` follow from here.
//!
//! To add a column, add its line here and regenerate the page (the drift test says how).
use crate::column::{Column, Take, column};
use backwater_fabric::record::{
    FlowRecord, MarkRecord, PauseRecord, PortRecord, RateRecord, SampleRecord, StateRecord,
};
use backwater_units::{Bytes, PS_PER_S, Span, Time};
use serde::{Deserialize, Serialize};

/// The tables a run can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableId {
    /// [`FlowRecord`]s.
    Flows,
    /// [`PortRecord`]s.
    Ports,
    /// [`MarkRecord`]s.
    Marks,
    /// [`PauseRecord`]s.
    Pauses,
    /// [`StateRecord`]s.
    States,
    /// [`SampleRecord`]s.
    Samples,
    /// [`RateRecord`]s.
    Rates,
}

impl TableId {
    /// Every table, in the order in which they are documented.
    pub const ALL: [Self; 7] = [
        Self::Flows,
        Self::Ports,
        Self::Marks,
        Self::Pauses,
        Self::States,
        Self::Samples,
        Self::Rates,
    ];

    /// Name in TOML, Python and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Ports => "ports",
            Self::Marks => "marks",
            Self::Pauses => "pauses",
            Self::States => "states",
            Self::Samples => "samples",
            Self::Rates => "rates",
        }
    }

    /// File name in the results folder.
    pub fn file(self) -> String {
        format!("{}.parquet", self.name())
    }
}

/// Evaluates an expression with `$Record` standing for the record type of a [`TableId`].
macro_rules! with_record {
    ($id:expr, $Record:ident => $body:expr) => {
        match $id {
            $crate::columns::TableId::Flows => {
                type $Record = backwater_fabric::record::FlowRecord;
                $body
            }
            $crate::columns::TableId::Ports => {
                type $Record = backwater_fabric::record::PortRecord;
                $body
            }
            $crate::columns::TableId::Marks => {
                type $Record = backwater_fabric::record::MarkRecord;
                $body
            }
            $crate::columns::TableId::Pauses => {
                type $Record = backwater_fabric::record::PauseRecord;
                $body
            }
            $crate::columns::TableId::States => {
                type $Record = backwater_fabric::record::StateRecord;
                $body
            }
            $crate::columns::TableId::Samples => {
                type $Record = backwater_fabric::record::SampleRecord;
                $body
            }
            $crate::columns::TableId::Rates => {
                type $Record = backwater_fabric::record::RateRecord;
                $body
            }
        }
    };
}
pub(crate) use with_record;

/// A record type with a table.
pub trait Table: Copy + Send + 'static {
    /// Which table.
    const ID: TableId;
    /// What one row is.
    const DOC: &'static str;
    /// The columns, in file order.
    const COLUMNS: &'static [Column<Self>];
    /// When the row came into being; `None` for tables of totals, which are written at the end.
    fn time(&self) -> Option<Time>;
}

/// Words of [`StateRecord::state`].
pub const STATE_WORDS: &[&str] = &["non-congestion", "congestion", "undetermined", "judging"];
/// Words of [`MarkRecord::code`].
pub const CODE_WORDS: &[&str] = &["not-capable", "capable", "UE", "CE"];

const fn time_ps<R>(doc: &'static str, take: fn(&R) -> u64) -> Column<R> {
    column("time_ps", "ps", doc, Take::U64(take))
}
const fn node<R>(take: fn(&R) -> u32) -> Column<R> {
    column("node", "name", "Switch or host.", Take::Node(take))
}
const fn port<R>(take: fn(&R) -> (u32, u16)) -> Column<R> {
    column(
        "port",
        "name",
        "Egress port, as \"node->peer\".",
        Take::Port(take),
    )
}
const fn node_index<R>(take: fn(&R) -> u32) -> Column<R> {
    column(
        "node_index",
        "index",
        "Index of the node in the topology, from 0.",
        Take::U32(take),
    )
}
const fn port_index<R>(take: fn(&R) -> u16) -> Column<R> {
    column(
        "port_index",
        "index",
        "Number of the port at its node, from 0 in link order.",
        Take::U16(take),
    )
}
const fn priority<R>(take: fn(&R) -> u8) -> Column<R> {
    column("priority", "index", "PFC priority, 0 to 7.", Take::U8(take))
}
const fn flow<R>(take: fn(&R) -> u32) -> Column<R> {
    column(
        "flow",
        "index",
        "Flow number, as in the flows table.",
        Take::U32(take),
    )
}
const fn state<R>(take: fn(&R) -> u8) -> Column<R> {
    column(
        "state",
        "word",
        "Detector state of the queue: non-congestion, congestion, undetermined, or judging (released, verdict open).",
        Take::Word(STATE_WORDS, take),
    )
}

/// Flow completion time; `None` while unfinished.
pub(crate) fn fct(flow: &FlowRecord) -> Option<Span> {
    (flow.finish != Time::MAX).then(|| flow.finish - flow.start)
}

/// FCT over the FCT of the same flow alone; `None` while unfinished or without an ideal.
pub(crate) fn slowdown(flow: &FlowRecord) -> Option<f64> {
    let ideal = flow.ideal_fct.as_ps();
    fct(flow)
        .filter(|_| ideal > 0)
        .map(|fct| fct.as_ps() as f64 / ideal as f64)
}

/// Payload bits received per second of `over`; `None` over an empty span.
pub(crate) fn throughput_bps(received: Bytes, over: Span) -> Option<u64> {
    let bits = u128::from(received.get()) * 8 * u128::from(PS_PER_S);
    bits.checked_div(u128::from(over.as_ps()))
        .map(|bps| u64::try_from(bps).unwrap_or(u64::MAX))
}

fn known(time: Time) -> Option<u64> {
    (time != Time::MAX).then(|| time.as_ps())
}

impl Table for FlowRecord {
    const ID: TableId = TableId::Flows;
    const DOC: &'static str = "One row per flow: what it was, when it ended, what happened to its packets.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "flow",
            "index",
            "Flow number, from 0 in order of the scenario.",
            Take::U32(|r| r.flow),
        ),
        column(
            "traffic",
            "name",
            "Name of the flow's traffic entry.",
            Take::Traffic(|r| r.group),
        ),
        column(
            "traffic_index",
            "index",
            "Position of that entry in the scenario, from 0.",
            Take::U16(|r| r.group),
        ),
        column("src", "name", "Sending host.", Take::Node(|r| r.src)),
        column("dst", "name", "Receiving host.", Take::Node(|r| r.dst)),
        column(
            "src_index",
            "index",
            "Node index of the sending host.",
            Take::U32(|r| r.src),
        ),
        column(
            "dst_index",
            "index",
            "Node index of the receiving host.",
            Take::U32(|r| r.dst),
        ),
        priority(|r| r.priority),
        column(
            "size_bytes",
            "bytes",
            "Payload to send; null if endless.",
            Take::MaybeU64(|r| (r.size != Bytes::MAX).then(|| r.size.get())),
        ),
        column(
            "start_ps",
            "ps",
            "When the flow was ready to send.",
            Take::U64(|r| r.start.as_ps()),
        ),
        column(
            "finish_ps",
            "ps",
            "When its last byte reached the receiver; null if it did not finish.",
            Take::MaybeU64(|r| known(r.finish)),
        ),
        column(
            "acked_ps",
            "ps",
            "When the last ACK reached the sender; null if unfinished or without ACKs.",
            Take::MaybeU64(|r| known(r.acked)),
        ),
        column(
            "fct_ps",
            "ps",
            "Flow completion time, finish - start; null if it did not finish.",
            Take::MaybeU64(|r| fct(r).map(Span::as_ps)),
        ),
        column(
            "ideal_fct_ps",
            "ps",
            "FCT of the same flow alone in the empty network (store and forward); null if endless.",
            Take::MaybeU64(|r| Some(r.ideal_fct.as_ps()).filter(|&ps| ps > 0)),
        ),
        column(
            "slowdown",
            "ratio",
            "fct_ps / ideal_fct_ps; null if it did not finish.",
            Take::MaybeF64(slowdown),
        ),
        column(
            "throughput_bps",
            "bps",
            "Received payload over the FCT; null if it did not finish.",
            Take::MaybeU64(|r| fct(r).and_then(|fct| throughput_bps(r.received, fct))),
        ),
        column(
            "packets",
            "count",
            "Data packets the receiver got.",
            Take::U64(|r| r.packets),
        ),
        column(
            "received_bytes",
            "bytes",
            "Payload the receiver got.",
            Take::U64(|r| r.received.get()),
        ),
        column(
            "ce_packets",
            "count",
            "Packets that arrived with CE.",
            Take::U64(|r| r.ce_packets),
        ),
        column(
            "ue_packets",
            "count",
            "Packets that arrived with UE.",
            Take::U64(|r| r.ue_packets),
        ),
        column(
            "cnps_ce",
            "count",
            "CNPs for CE that the sender got.",
            Take::U64(|r| r.cnps_ce),
        ),
        column(
            "cnps_ue",
            "count",
            "CNPs for UE that the sender got.",
            Take::U64(|r| r.cnps_ue),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}

impl Table for PortRecord {
    const ID: TableId = TableId::Ports;
    const DOC: &'static str = "One row per egress port and priority: totals over the run.";
    const COLUMNS: &'static [Column<Self>] = &[
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        column(
            "peer",
            "name",
            "Node at the other end of the link.",
            Take::Node(|r| r.peer),
        ),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column(
            "peer_index",
            "index",
            "Node index of the peer.",
            Take::U32(|r| r.peer),
        ),
        priority(|r| r.priority),
        column(
            "rate_bps",
            "bps",
            "Rate of the link.",
            Take::U64(|r| r.rate.as_bps()),
        ),
        column(
            "packets",
            "count",
            "Packets sent in this priority.",
            Take::U64(|r| r.packets),
        ),
        column(
            "sent_bytes",
            "bytes",
            "Bytes put on the wire in this priority.",
            Take::U64(|r| r.bytes.get()),
        ),
        column(
            "peak_queue_bytes",
            "bytes",
            "Largest egress queue.",
            Take::U64(|r| r.peak_queue.get()),
        ),
        column(
            "peak_ingress_bytes",
            "bytes",
            "Largest ingress counter of this port and priority, which Xoff is compared with; 0 at hosts.",
            Take::U64(|r| r.peak_ingress.get()),
        ),
        column(
            "pauses",
            "count",
            "PAUSEs that took effect here (gate from open to closed).",
            Take::U64(|r| r.pauses),
        ),
        column(
            "pauses_sent",
            "count",
            "PAUSE frames that this port sent upstream for this priority.",
            Take::U64(|r| r.pauses_sent),
        ),
        column(
            "paused_ps",
            "ps",
            "Time for which the gate was closed.",
            Take::U64(|r| r.paused.as_ps()),
        ),
        column(
            "ce_marks",
            "count",
            "Packets marked CE here.",
            Take::U64(|r| r.ce_marks),
        ),
        column(
            "ue_marks",
            "count",
            "Packets marked UE here.",
            Take::U64(|r| r.ue_marks),
        ),
        column(
            "non_congestion_ps",
            "ps",
            "Time in non-congestion.",
            Take::U64(|r| r.in_state[0].as_ps()),
        ),
        column(
            "congestion_ps",
            "ps",
            "Time in congestion.",
            Take::U64(|r| r.in_state[1].as_ps()),
        ),
        column(
            "undetermined_ps",
            "ps",
            "Time in undetermined.",
            Take::U64(|r| r.in_state[2].as_ps()),
        ),
        column(
            "judging_ps",
            "ps",
            "Time released and being judged.",
            Take::U64(|r| r.in_state[3].as_ps()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}

impl Table for MarkRecord {
    const ID: TableId = TableId::Marks;
    const DOC: &'static str = "One row per packet that a detector marked as it left an egress queue.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the packet left the egress queue.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "code",
            "word",
            "Code point after marking: UE or CE.",
            Take::Word(CODE_WORDS, |r| r.code),
        ),
        flow(|r| r.flow),
        column(
            "traffic",
            "name",
            "Name of the flow's traffic entry.",
            Take::FlowTraffic(|r| r.flow),
        ),
        column(
            "seq",
            "index",
            "Packet number within the flow, from 0.",
            Take::U32(|r| r.seq),
        ),
        column(
            "queue_bytes",
            "bytes",
            "Egress queue that the packet left behind.",
            Take::U64(|r| r.queue.get()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for PauseRecord {
    const ID: TableId = TableId::Pauses;
    const DOC: &'static str = "One row per change of a PFC gate, seen at the paused egress port.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the gate closed or opened.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "paused",
            "flag",
            "True: the gate closed (PAUSE). False: it opened.",
            Take::Bool(|r| r.paused),
        ),
        column(
            "expired",
            "flag",
            "True if the gate opened because the pause ran out rather than by RESUME.",
            Take::Bool(|r| r.expired),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for StateRecord {
    const ID: TableId = TableId::States;
    const DOC: &'static str = "One row per change of a detector's state.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the state was entered (at a dequeue).", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        state(|r| r.state),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for SampleRecord {
    const ID: TableId = TableId::Samples;
    const DOC: &'static str = "One row per sampled egress queue and sampling instant.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("The sampling instant.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "paused",
            "flag",
            "Whether PFC holds this queue.",
            Take::Bool(|r| r.paused),
        ),
        state(|r| r.state),
        column(
            "queue_bytes",
            "bytes",
            "Bytes waiting in the egress queue.",
            Take::U64(|r| r.queue.get()),
        ),
        column(
            "sent_bytes",
            "bytes",
            "Bytes of this priority put on the wire since the start of the run.",
            Take::U64(|r| r.sent.get()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for RateRecord {
    const ID: TableId = TableId::Rates;
    const DOC: &'static str =
        "One row per sampled flow and sampling instant: the rate its reaction point allows.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("The sampling instant.", |r| r.time.as_ps()),
        flow(|r| r.flow),
        column(
            "traffic",
            "name",
            "Name of the flow's traffic entry.",
            Take::FlowTraffic(|r| r.flow),
        ),
        column(
            "rate_bps",
            "bps",
            "Sending rate that the reaction point allows.",
            Take::U64(|r| r.rate.as_bps()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}
