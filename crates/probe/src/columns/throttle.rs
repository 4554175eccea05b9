//! Tables of NICs that throttle themselves: sums by period, and changes of state.
use super::common::{node, node_index, period_end, period_start, port_index, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{ThrottleRecord, ThrottleStateRecord};
use backwater_units::Time;

impl Table for ThrottleRecord {
    const ID: TableId = TableId::Throttle;
    const DOC: &'static str = "One row per port of a NIC that throttles itself and sampling period (probe.sample) in which it had something \
                               to do: what its throttle did.";
    const COLUMNS: &'static [Column<Self>] = &[
        period_start(|r| r.start.as_ps()),
        period_end(|r| r.end.as_ps()),
        node(|r| r.node),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column(
            "used_end",
            "count",
            "Used credits (c, of all virtual lanes together) at the end of the period.",
            Take::U32(|r| r.used_end),
        ),
        column("used_max", "count", "The most of them in it.", Take::U32(|r| r.used_max)),
        column(
            "used_mean",
            "count",
            "Their mean over the period.",
            Take::F64(|r| r.used_mean_milli as f64 / 1e3),
        ),
        column(
            "congested_ps",
            "ps",
            "Time in the state Congested, of one virtual lane at least.",
            Take::U64(|r| r.congested.as_ps()),
        ),
        column(
            "held_ps",
            "ps",
            "Time for which a packet waited for the throttle alone: it was due, the wire was idle, its credits sufficed.",
            Take::U64(|r| r.held.as_ps()),
        ),
        column(
            "sent_flits",
            "count",
            "Credits that packets took which started to leave in it.",
            Take::U64(|r| r.sent_flits),
        ),
        column("entries", "count", "How often the state Congested was entered.", Take::U32(|r| r.entries)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.end)
    }
}

impl Table for ThrottleStateRecord {
    const ID: TableId = TableId::ThrottleStates;
    const DOC: &'static str = "One row per change of the state of a throttle: each port of a NIC has one.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it changed.", |r| r.time.as_ps()),
        node(|r| r.node),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column(
            "lane",
            "index",
            "Virtual lane (priority) of the throttle; 0 for one of the whole port.",
            Take::U8(|r| r.lane),
        ),
        column(
            "congested",
            "flag",
            "Whether the state is Congested from now on, or Normal.",
            Take::Bool(|r| r.congested),
        ),
        column("used", "count", "Used credits that led to it.", Take::U32(|r| r.used)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}
