//! Tables of what was lost: packet by packet, and how many where and why.
use super::common::{flow, node, node_index, port, port_index, priority, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{DropCount, DropReason, DropRecord};
use backwater_units::Time;

const fn reason<R>(take: fn(&R) -> u8) -> Column<R> {
    column(
        "reason",
        "word",
        "Why. At an egress port: port-buffer (the port held all it may), pool (its queue was above its share, or that full), memory (of the \
         switch, full), red (its queue was long), trimmed (its header went on), headers (the queue of headers and ACKs was full), gray, \
         dead-node, watchdog. At an ingress port: headroom (full), link-down, corrupted, not-taken (its queue pair had no room, or missed a packet before it). There the port is the one by which the \
         packet came in.",
        Take::Word(DropReason::WORDS, take),
    )
}

impl Table for DropRecord {
    const ID: TableId = TableId::Drops;
    const DOC: &'static str = "One row per packet that was dropped, and why.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it was dropped.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        reason(|r| r.reason as u8),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column(
            "data",
            "flag",
            "Whether it was data; else a control frame of the flow, such as an ACK.",
            Take::Bool(|r| r.data),
        ),
        column(
            "seq",
            "index",
            "Number of the packet in its flow, or of the one that the frame is about. Of PUTs it is that in the stream, modulo 32768.",
            Take::U32(|r| r.seq),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for DropCount {
    const ID: TableId = TableId::DropCounts;
    const DOC: &'static str =
        "One row per port, priority and reason for which something was dropped there: totals over the run.";
    const COLUMNS: &'static [Column<Self>] = &[
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        reason(|r| r.reason as u8),
        column("packets", "count", "Packets dropped.", Take::U64(|r| r.packets)),
        column(
            "wire_bytes",
            "bytes",
            "Their bytes on the wire; of those trimmed what was cut off.",
            Take::U64(|r| r.bytes.get()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
