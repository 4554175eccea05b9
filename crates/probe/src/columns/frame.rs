//! Frames on the wires of chosen ports.
use super::CODE_WORDS;
use super::common::{node, node_index, port, port_index, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{FrameKind, FrameRecord};
use backwater_units::Time;

fn of_pfc(record: &FrameRecord, shift: u32) -> Option<u64> {
    matches!(record.kind, FrameKind::Pfc | FrameKind::Hold).then(|| u64::from(record.seq >> shift & 0xff))
}

fn of_credit(record: &FrameRecord, value: u32) -> Option<u64> {
    (record.kind == FrameKind::Credit).then(|| u64::from(value))
}

impl Table for FrameRecord {
    const ID: TableId = TableId::Frames;
    const DOC: &'static str =
        "One row per frame that left an egress port in probe.frames and reached the other end.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps(
            "When the other end knew of it: its complete arrival, or that of its header where the other end cuts through.",
            |r| r.time.as_ps(),
        ),
        column("sent_ps", "ps", "When its first bit went on the wire.", Take::U64(|r| r.sent.as_ps())),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column("kind", "word", "What the frame is.", Take::Word(FrameKind::WORDS, |r| r.kind.index())),
        column(
            "priority",
            "index",
            "Priority, or virtual lane of InfiniBand, 0 to 7; null for what goes before all priorities.",
            Take::MaybeU64(|r| r.priority.map(u64::from)),
        ),
        column("wire_bytes", "bytes", "Its size on the wire.", Take::U16(|r| r.size)),
        column("code", "word", "Code point on the wire.", Take::Word(CODE_WORDS, |r| r.code)),
        column(
            "echo",
            "word",
            "What an ACK or CNP reports about the data: its code point.",
            Take::Word(CODE_WORDS, |r| r.echo),
        ),
        column(
            "flow",
            "index",
            "Flow number, as in the flows table; null for frames of the link, but for Hold frames, and congestion isolation messages.",
            Take::MaybeU64(|r| {
                (r.root.is_none() && (r.is_of_a_flow() || r.kind == FrameKind::Hold))
                    .then(|| u64::from(r.flow))
            }),
        ),
        column(
            "seq",
            "index",
            "Data: number of the packet within the flow, from 0. ACK: packets received in order. Halt: for how many nanoseconds to pause. Null for frames of the link and congestion isolation messages.",
            Take::MaybeU64(|r| r.is_of_a_flow().then(|| u64::from(r.seq))),
        ),
        column(
            "paused",
            "bits",
            "PFC: bit p: priority p is paused. Hold: a queue of it is held, or at a NIC the flow, or what has that root on its way. Null for others.",
            Take::MaybeU64(|r| of_pfc(r, 0)),
        ),
        column(
            "resumed",
            "bits",
            "PFC: bit p: priority p is let go. Hold: a queue of it, or the flow. Null for others.",
            Take::MaybeU64(|r| of_pfc(r, 8)),
        ),
        column(
            "root",
            "name",
            "Under Pyrrha and RECN the egress port that is the root of the congestion, as \"node->peer\": which a Hold frame holds or lets go; for which there is to be a queue (kind = aside), or none any more (kind = free); of which another root became a part (kind = merge). Null for others.",
            Take::MaybePort(|r| r.root),
        ),
        column(
            "fctbs",
            "count",
            "Credit update: FCTBS, credits sent so far. Null for others.",
            Take::MaybeU64(|r| of_credit(r, r.flow)),
        ),
        column(
            "fccl",
            "count",
            "Credit update: FCCL, credits that may have been sent in all. Null for others.",
            Take::MaybeU64(|r| of_credit(r, r.seq)),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}
