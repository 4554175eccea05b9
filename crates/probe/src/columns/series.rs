//! Tables of values at sampling instants: egress queues and sending rates.
use super::common::{flow, node, node_index, port, port_index, priority, state, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{RateRecord, SampleRecord};
use backwater_units::Time;

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
            "Whether flow control holds this queue: its gate is closed.",
            Take::Bool(|r| r.paused),
        ),
        state(|r| r.state),
        column("queue_bytes", "bytes", "Bytes waiting in the egress queue.", Take::U64(|r| r.queue.get())),
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
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
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
