//! What happened to the faults of a run, and what each cost.
use super::common::{node, node_index, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{FaultEvent, FaultKind, FaultRecord, NO_FAULT};
use backwater_units::Time;

impl Table for FaultRecord {
    const ID: TableId = TableId::Faults;
    const DOC: &'static str = "One row per event of a fault (docs/faults.md), and at the end one per fault and port that lost packets by it.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it happened; of losses the first.", |r| r.time.as_ps()),
        column(
            "fault",
            "index",
            "Number of the [[fault]] entry, from 0; null for a watchdog.",
            Take::MaybeU64(|r| (r.fault != NO_FAULT).then(|| u64::from(r.fault))),
        ),
        column("kind", "word", "Its kind.", Take::Word(FaultKind::WORDS, |r| r.kind as u8)),
        column(
            "event",
            "word",
            "What happened: a link went down or up, a switch noticed that, got new routes, and so on; or what was lost.",
            Take::Word(FaultEvent::WORDS, |r| r.event as u8),
        ),
        node(|r| r.node),
        column(
            "port",
            "name",
            "The port there, as \"node->peer\"; null if it is about the whole node.",
            Take::MaybePort(|r| r.port.map(|port| (r.node, port))),
        ),
        node_index(|r| r.node),
        column("packets", "count", "Packets lost by the fault at the port.", Take::U64(|r| r.packets)),
        column("wire_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.bytes.get())),
        column("flows", "count", "Flows of which packets were lost.", Take::U64(|r| r.flows)),
        column(
            "last_ps",
            "ps",
            "The last of the losses; null for other events.",
            Take::MaybeU64(|r| r.last.map(Time::as_ps)),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}
