//! Tables of congestion isolation: what happens to the congested-flow tables, and the totals of their switches.
use super::common::{node, node_index, port, port_index, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{IsolationRecord, SwitchRecord, WindowRecord};
use backwater_units::Time;

/// Words of `IsolationRecord::what`, in the order of [`backwater_fabric::record::IsolationEvent`].
pub const ISOLATION_WORDS: &[&str] =
    &["allocated", "refused", "released", "mirrored", "mirror-refused", "readmitted", "notified"];
/// Words of `IsolationRecord::origin`.
pub const ORIGIN_WORDS: &[&str] = &["none", "local", "cim", "both"];

impl Table for IsolationRecord {
    const ID: TableId = TableId::Isolation;
    const DOC: &'static str = "One row per entry of a congested-flow table that was made, refused or given up, and per \
                               message about one, at switches and at NICs that isolate.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it happened.", |r| r.time.as_ps()),
        column(
            "what",
            "word",
            "allocated; refused (no slot was left); released; mirrored (an ingress port took a slot for the entry) or \
             mirror-refused; readmitted (allocated again, with its history); notified (a CIM was sent upstream, or a signal to a source).",
            Take::Word(ISOLATION_WORDS, |r| r.what as u8),
        ),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column(
            "ingress_index",
            "index",
            "Number of the ingress port that it is about; null if it is about none.",
            Take::MaybeU64(|r| r.ingress.map(u64::from)),
        ),
        column("src", "name", "Sending host; null if the key has none.", Take::MaybeNode(|r| r.src)),
        column("dst", "name", "Receiving host; null if the key has none.", Take::MaybeNode(|r| r.dst)),
        column(
            "origin",
            "word",
            "Whose judgement the entry is: local, cim (a message from downstream), both.",
            Take::Word(ORIGIN_WORDS, |r| r.origin),
        ),
        column(
            "root",
            "name",
            "Egress port at which the congestion was found first, as \"node->peer\"; null if not known.",
            Take::MaybePort(|r| r.root),
        ),
        column("used_slots", "count", "Slots of the table in use after it.", Take::U32(|r| r.used)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for WindowRecord {
    const ID: TableId = TableId::Windows;
    const DOC: &'static str = "One row per change of the window of a destination at a switch (Floodgate): a packet took some of it, or some \
                               was given back.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it changed.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column("dst", "name", "The destination.", Take::MaybeNode(|r| Some(r.dst))),
        column("window_bytes", "bytes", "What is left of the window.", Take::U64(|r| r.left)),
        column(
            "voq_bytes",
            "bytes",
            "What waits for a window of that destination.",
            Take::U32(|r| r.waiting),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for SwitchRecord {
    const ID: TableId = TableId::Switches;
    const DOC: &'static str = "One row per switch with combined queueing, with windows of destinations (Floodgate), or with queues of flows (BFC), \
                               destinations (PFC by destination, FBICM, DRBCM, CCFIT) or roots (Pyrrha, RECN), or whose sources pause (SFC): totals over the run. With windows it has what became of VOQs: slots, allocations, refusals (a destination \
                               had to share one), peak_slots, entries_left. Under BFC and PFC by destination peak_slots is the most queues of \
                               an egress port and priority that had packets at a time, and all else 0.";
    const COLUMNS: &'static [Column<Self>] = &[
        node(|r| r.node),
        node_index(|r| r.node),
        column(
            "slots",
            "count",
            "Slots of the congested-flow table; null if unlimited, or without isolation.",
            Take::MaybeU64(|r| r.slots.map(u64::from)),
        ),
        column(
            "allocations",
            "count",
            "Entries that were made, readmissions among them.",
            Take::U64(|r| r.allocations),
        ),
        column(
            "readmissions",
            "count",
            "Entries made for flows that had had one.",
            Take::U64(|r| r.readmissions),
        ),
        column("refusals", "count", "Entries refused for want of a slot.", Take::U64(|r| r.refusals)),
        column(
            "mirror_refusals",
            "count",
            "Mirrors at ingress ports refused for want of a slot.",
            Take::U64(|r| r.mirror_refusals),
        ),
        column("peak_slots", "count", "Most slots in use at a time.", Take::U32(|r| r.peak_slots)),
        column("entries_left", "count", "Entries at the end of the run.", Take::U64(|r| r.entries_left)),
        column(
            "cims_sent",
            "count",
            "CIMs sent upstream, or signals to sources.",
            Take::U64(|r| r.cims_sent),
        ),
        column("cims_received", "count", "CIMs received from downstream.", Take::U64(|r| r.cims_received)),
        column(
            "moved_packets",
            "count",
            "Packets that were moved from a normal-flow queue to the congested-flow queue beside it.",
            Take::U64(|r| r.moved_packets),
        ),
        column(
            "ce_isolated",
            "count",
            "Packets marked CE in congested-flow queues.",
            Take::U64(|r| r.ce_isolated),
        ),
        column("ce_monitored", "count", "Packets marked CE in other queues.", Take::U64(|r| r.ce_monitored)),
        column(
            "peak_ingress_bytes",
            "bytes",
            "Largest ingress region of a port.",
            Take::U64(|r| r.peak_ingress.get()),
        ),
        column(
            "peak_egress_bytes",
            "bytes",
            "Largest egress region of a port.",
            Take::U64(|r| r.peak_egress.get()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
