//! Tables of things that happened: marks, pauses, detector states.
use super::common::{flow, node, node_index, port, port_index, priority, state, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{CODE_WORDS, Table, TableId};
use backwater_fabric::record::{MarkRecord, PauseRecord, StateRecord};
use backwater_units::Time;

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
        column("code", "word", "Code point after marking: UE or CE.", Take::Word(CODE_WORDS, |r| r.code)),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column(
            "seq",
            "index",
            "Packet number within the flow, from 0; 4294967295: the last packet of a message between ranks.",
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
    const DOC: &'static str =
        "One row per change of a gate of flow control, seen at the egress port that it stops or lets go.";
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
            "True: the gate closed, by a PAUSE or because none of the packets that wait fits the credits. False: it opened.",
            Take::Bool(|r| r.paused),
        ),
        column(
            "expired",
            "flag",
            "True if the gate opened because the pause ran out rather than by RESUME. False under credits.",
            Take::Bool(|r| r.expired),
        ),
        column(
            "queue_bytes",
            "bytes",
            "Egress queue behind the gate at that instant. At hosts without the data, which waits in the queue pairs.",
            Take::U64(|r| r.queue.get()),
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
