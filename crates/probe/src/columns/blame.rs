//! Tables of the ground truth: who holds back whom, which flows crowd a port, where packets wait.
use super::common::{flow, node, node_index, port, port_index, priority, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{CHANGE_WORDS, SCOPE_WORDS, Table, TableId};
use backwater_fabric::record::{ClosureRecord, CrowdRecord, HoldRecord, WaitRecord};
use backwater_units::Time;

impl Table for HoldRecord {
    const ID: TableId = TableId::Holds;
    const DOC: &'static str = "One row per PAUSE that holds back an upstream port anew, or update that leaves it less credit \
                               than line rate takes until the next one, and egress queue whose packets are the \
                               reason, seen at the switch, or slow host, that sends it. The drain of a slow host \
                               is an egress port of it, \"h0 drain\", with the receive queue.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the switch decided on the PAUSE, or composed the update.", |r| r.time.as_ps()),
        node(|r| r.node),
        node_index(|r| r.node),
        column(
            "ingress_index",
            "index",
            "Number of the port at that node whose ingress buffer is too full.",
            Take::U16(|r| r.port),
        ),
        column(
            "held",
            "name",
            "The upstream egress port that is held back, as \"node->peer\".",
            Take::Port(|r| (r.held_node, r.held_port)),
        ),
        column("held_node_index", "index", "Index of its node.", Take::U32(|r| r.held_node)),
        column("held_port_index", "index", "Its number at that node.", Take::U16(|r| r.held_port)),
        priority(|r| r.priority),
        column(
            "held_key",
            "index",
            "What of that priority is held, as the key in closures. Null: all of it.",
            Take::MaybeU64(|r| r.held_key.map(u64::from)),
        ),
        column(
            "blocker",
            "name",
            "An egress port of the switch whose queue holds packets that came in there, as \"node->peer\". With combined \
             queueing, the one that the first packet of an ingress queue waits for. Of a slow host, its drain.",
            Take::Port(|r| (r.node, r.blocker)),
        ),
        column("blocker_index", "index", "Its number at its node.", Take::U16(|r| r.blocker)),
        column(
            "blocker_priority",
            "index",
            "Priority of that queue. Differs from the held one only under a PFC threshold of the whole port.",
            Take::U8(|r| r.blocker_priority),
        ),
        column(
            "blocker_key",
            "index",
            "What that queue is of, as the key in closures. Null: it has no gate of its own.",
            Take::MaybeU64(|r| r.blocker_key.map(u64::from)),
        ),
        column(
            "from_held_bytes",
            "bytes",
            "Bytes in that queue that came in there. With combined queueing, bytes in the ingress queue.",
            Take::U64(|r| r.bytes.get()),
        ),
        column("queue_bytes", "bytes", "All bytes in that queue.", Take::U64(|r| r.queue.get())),
        column(
            "closed",
            "flag",
            "Whether the gate of that queue was closed itself.",
            Take::Bool(|r| r.closed),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for ClosureRecord {
    const ID: TableId = TableId::Closures;
    const DOC: &'static str = "One row per change of a gate of less than a priority, where switches hold queues, destinations or \
                               roots: seen at what it stops or lets go. Gates of whole priorities are in pauses. A destination \
                               without a window counts as closed (Floodgate).";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When the gate closed or opened, or what stood behind it had left.", |r| r.time.as_ps()),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "scope",
            "word",
            "What the gate is of: a queue of a switch, a flow, what goes to a destination, or what passes a root. At a NIC also a \
             priority, which a switch further on pauses.",
            Take::Word(SCOPE_WORDS, |r| r.scope as u8),
        ),
        column(
            "key",
            "index",
            "Number of the queue (of a set-aside queue what it is for), of the flow (the first of its connection), of the node of \
             the destination, or of the priority. A root is the number of its node, times 1024, plus that of its port.",
            Take::U32(|r| r.key),
        ),
        column(
            "change",
            "word",
            "closed, opened, or drained: what stood behind it when it opened has left. It closes before that, too.",
            Take::Word(CHANGE_WORDS, |r| r.change as u8),
        ),
        column("queue_bytes", "bytes", "Bytes behind the gate. 0 at NICs.", Take::U64(|r| r.bytes.get())),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

const START: &str = "When the first packet left more than K bytes behind. K follows from the network, or is \
     probe.blame-threshold (run.json: ground_truth); of a slow host's drain Xon, under credits what leaves enough for line rate.";
const END: &str = "When a packet left K or less, the gate closed, a new period of 100 us or the run ended.";
const QUEUE: &str = "The queue at the end of the interval. K or less if it fell to that, otherwise the interval was only \
                     cut.";

impl Table for CrowdRecord {
    const ID: TableId = TableId::Crowds;
    const DOC: &'static str = "One row per interval in which every packet left an egress queue longer than K behind, and \
                               flow that had packets among them. Also for the drain of a slow host.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("start_ps", "ps", START, Take::U64(|r| r.start.as_ps())),
        column("end_ps", "ps", END, Take::U64(|r| r.end.as_ps())),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column("packets", "count", "Data packets of the flow that left.", Take::U64(|r| r.packets)),
        column("sent_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.bytes.get())),
        column("ce_packets", "count", "Those that left with CE, wherever it was set.", Take::U64(|r| r.ce)),
        column(
            "ce_before_packets",
            "count",
            "Those that had come with CE: another port set it.",
            Take::U64(|r| r.ce_before),
        ),
        column("queue_bytes", "bytes", QUEUE, Take::U64(|r| r.queue.get())),
        column("threshold_bytes", "bytes", "K of the port.", Take::U64(|r| r.threshold.get())),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.end)
    }
}

impl Table for WaitRecord {
    const ID: TableId = TableId::Waits;
    const DOC: &'static str = "One row per wait of a followed packet in an egress queue of a switch. Followed are the \
                               last packet of each flow and every 64th. Also for the drain of a slow host.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("start_ps", "ps", "When the packet had arrived completely.", Take::U64(|r| r.start.as_ps())),
        column(
            "end_ps",
            "ps",
            "When it started to leave; of a drain, when it had left.",
            Take::U64(|r| r.end.as_ps()),
        ),
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "key",
            "index",
            "What it waited in, as the key in closures. Null: a queue without a gate of its own. A packet that goes from one \
             to another has a row for each.",
            Take::MaybeU64(|r| r.key.map(u64::from)),
        ),
        flow(|r| r.flow),
        column(
            "seq",
            "index",
            "Packet number within the flow, from 0; 4294967295: the last packet of a message between ranks.",
            Take::U32(|r| r.seq),
        ),
        column("last", "flag", "Whether it is the last packet of the flow.", Take::Bool(|r| r.last)),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.end)
    }
}
