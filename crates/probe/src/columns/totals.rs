//! Tables of totals, written at the end of a run: flows and egress ports.
use super::common::{node, node_index, port, port_index, priority};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{BlockedRecord, FlowRecord, PortRecord};
use backwater_units::{Bytes, PS_PER_S, Span, Time};

/// Flow completion time; `None` while unfinished.
pub(crate) fn fct(flow: &FlowRecord) -> Option<Span> {
    (flow.finish != Time::MAX).then(|| flow.finish - flow.start)
}

/// FCT over the FCT of the same flow alone; `None` while unfinished or without an ideal.
pub(crate) fn slowdown(flow: &FlowRecord) -> Option<f64> {
    let ideal = flow.ideal_fct.as_ps();
    fct(flow).filter(|_| ideal > 0).map(|fct| fct.as_ps() as f64 / ideal as f64)
}

/// Bits per second of `over`; `None` over an empty span.
pub(crate) fn bits_per_second(bytes: Bytes, over: Span) -> Option<u64> {
    let bits = u128::from(bytes.get()) * 8 * u128::from(PS_PER_S);
    bits.checked_div(u128::from(over.as_ps())).map(|bps| u64::try_from(bps).unwrap_or(u64::MAX))
}

fn known(time: Time) -> Option<u64> {
    (time != Time::MAX).then(|| time.as_ps())
}

impl Table for BlockedRecord {
    const ID: TableId = TableId::Blocked;
    const DOC: &'static str =
        "One row per egress port of a switch and priority, with queueing = input: totals over the run.";
    const COLUMNS: &'static [Column<Self>] = &[
        node(|r| r.node),
        port(|r| (r.node, r.port)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        priority(|r| r.priority),
        column(
            "blocked_ps",
            "ps",
            "Head-of-line blocking: how long the port was free, its gate open, and all packets for it stood behind others in the \
             FIFOs of their ingress ports.",
            Take::U64(|r| r.blocked.as_ps()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}

impl Table for FlowRecord {
    const ID: TableId = TableId::Flows;
    const DOC: &'static str = "One row per flow: what it was, when it ended, what happened to its packets.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("flow", "index", "Flow number, from 0 in order of the scenario.", Take::U32(|r| r.flow)),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::Traffic(|r| r.group)),
        column(
            "traffic_index",
            "index",
            "Position of that entry in the scenario, from 0.",
            Take::U16(|r| r.group),
        ),
        column("src", "name", "Sending host.", Take::Node(|r| r.src)),
        column("dst", "name", "Receiving host.", Take::Node(|r| r.dst)),
        column("src_index", "index", "Node index of the sending host.", Take::U32(|r| r.src)),
        column("dst_index", "index", "Node index of the receiving host.", Take::U32(|r| r.dst)),
        column(
            "src_port_index",
            "index",
            "Number of the port by which the host sends it; of a flow that moved to another port, the last one.",
            Take::U16(|r| r.src_port),
        ),
        priority(|r| r.priority),
        column(
            "connection",
            "index",
            "Number of the connection whose queue pair sends it, one message after the other; null if it has its own.",
            Take::MaybeU64(|r| r.connection.map(u64::from)),
        ),
        column(
            "size_bytes",
            "bytes",
            "Payload to send; null if endless.",
            Take::MaybeU64(|r| (r.size != Bytes::MAX).then(|| r.size.get())),
        ),
        column(
            "start_ps",
            "ps",
            "When the flow was ready to send; null if it never was, because what it depends on did not happen.",
            Take::MaybeU64(|r| known(r.start)),
        ),
        column(
            "finish_ps",
            "ps",
            "When its last byte reached the receiver, and was processed there if the host has a drain; null if it did not finish.",
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
            "ideal_wait_ps",
            "ps",
            "What of ideal_fct_ps is waiting: for the application's next packet, or at a switch for the flow's own packets or \
             to cross it (combined queueing).",
            Take::U64(|r| r.ideal_wait.as_ps()),
        ),
        column(
            "slowdown",
            "ratio",
            "fct_ps / ideal_fct_ps; null if it did not finish.",
            Take::MaybeF64(slowdown),
        ),
        column(
            "goodput_bps",
            "bps",
            "Received payload, each byte once, over the FCT; null if it did not finish.",
            Take::MaybeU64(|r| fct(r).and_then(|fct| bits_per_second(r.received, fct))),
        ),
        column("packets", "count", "Data packets the receiver got.", Take::U64(|r| r.packets)),
        column("received_bytes", "bytes", "Payload the receiver got.", Take::U64(|r| r.received.get())),
        column("ce_packets", "count", "Packets that arrived with CE.", Take::U64(|r| r.ce_packets)),
        column("ue_packets", "count", "Packets that arrived with UE.", Take::U64(|r| r.ue_packets)),
        column("cnps_ce", "count", "CNPs for CE that the sender got.", Take::U64(|r| r.cnps_ce)),
        column("cnps_ue", "count", "CNPs for UE that the sender got.", Take::U64(|r| r.cnps_ue)),
        column("resent_packets", "count", "Packets that were sent again.", Take::U64(|r| r.resent_packets)),
        column(
            "dropped_packets",
            "count",
            "Arrivals that the receiver did not take: no room, or out of order with go-back-N.",
            Take::U64(|r| r.dropped_packets),
        ),
        column(
            "duplicate_packets",
            "count",
            "Arrivals of packets that the receiver of a queue pair had already.",
            Take::U64(|r| r.duplicate_packets),
        ),
        column("nacks", "count", "NACKs that the queue pair got.", Take::U64(|r| r.nacks)),
        column(
            "timeouts",
            "count",
            "How often the queue pair waited too long for an ACK.",
            Take::U64(|r| r.timeouts),
        ),
        column("acks", "count", "ACKs that the sender got. 0 but for Ultra Ethernet.", Take::U64(|r| r.acks)),
        column(
            "rts",
            "count",
            "Requests for credit (RTS) that the sender sent. 0 but for Ultra Ethernet.",
            Take::U64(|r| r.rts),
        ),
        column(
            "trimmed_packets",
            "count",
            "Headers of packets that a switch had trimmed, at the receiver. 0 but for Ultra Ethernet.",
            Take::U64(|r| r.trimmed_packets),
        ),
        column(
            "failed",
            "flag",
            "Whether the queue pair is in error: it sends no more. A flow of which all had arrived has finished all the same.",
            Take::Bool(|r| r.failed),
        ),
        column(
            "early_packets",
            "count",
            "Packets that came before one of the flow that was sent earlier, and waited for it; 0 with switch.load-balancing = \"ecmp\" and without selective repeat.",
            Take::U64(|r| r.early_packets),
        ),
        column(
            "early_packets_max",
            "count",
            "The most of them that waited at a time: what a receiver's bitmap or buffer must be able to keep.",
            Take::U64(|r| r.early_most),
        ),
        column(
            "reorder_wait_ps",
            "ps",
            "Time from the arrival of its last packet until all sent before it had come; 0 with switch.load-balancing = \"ecmp\".",
            Take::U64(|r| r.reorder_wait.as_ps()),
        ),
        column(
            "connection_wait_ps",
            "ps",
            "Time at the source that it waited for earlier messages of its connection to leave.",
            Take::U64(|r| r.behind.as_ps()),
        ),
        column(
            "paced_ps",
            "ps",
            "Time at the source that its packets waited to become due: for congestion control or the application.",
            Take::U64(|r| r.paced.as_ps()),
        ),
        column(
            "nic_held_ps",
            "ps",
            "Time at the source that a packet, though due, waited behind the NIC's gate, closed by flow control, or for its throttle.",
            Take::U64(|r| r.nic_held.as_ps()),
        ),
        column(
            "nic_queue_ps",
            "ps",
            "Time at the source that a packet, though due, waited for the NIC's other flows.",
            Take::U64(|r| r.nic_queue.as_ps()),
        ),
        column(
            "recovery_ps",
            "ps",
            "Time at the source until packets had been sent again, up to the copy of the last packet that the receiver took: \
             waiting for a NACK or timeout, and sending. 0 for PUTs.",
            Take::U64(|r| r.recovery.as_ps()),
        ),
        column(
            "analytic_fct_ps",
            "ps",
            "Payload over the rate of the source's link, plus the path's propagation (base of the TCD authors); null if \
             endless.",
            Take::MaybeU64(|r| Some(r.analytic_fct.as_ps()).filter(|&ps| ps > 0)),
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
        column("peer", "name", "Node at the other end of the link.", Take::Node(|r| r.peer)),
        node_index(|r| r.node),
        port_index(|r| r.port),
        column("peer_index", "index", "Node index of the peer.", Take::U32(|r| r.peer)),
        priority(|r| r.priority),
        column("rate_bps", "bps", "Rate of the link.", Take::U64(|r| r.rate.as_bps())),
        column("packets", "count", "Packets sent in this priority.", Take::U64(|r| r.packets)),
        column(
            "sent_bytes",
            "bytes",
            "Bytes put on the wire in this priority.",
            Take::U64(|r| r.bytes.get()),
        ),
        column("peak_queue_bytes", "bytes", "Largest egress queue.", Take::U64(|r| r.peak_queue.get())),
        column(
            "peak_ingress_bytes",
            "bytes",
            "Largest ingress counter of this port and priority, which Xoff is compared with or, under credits, which \
             takes up their buffer: of its values at the ends of the engine's windows, one shortest link delay apart, \
             and, above Xoff, at every arrival; a shorter peak below Xoff or under credits is not seen. 0 at hosts.",
            Take::U64(|r| r.peak_ingress.get()),
        ),
        column(
            "pauses",
            "count",
            "How often the gate closed here: PAUSEs that took effect, or waiting packets that found no credits.",
            Take::U64(|r| r.pauses),
        ),
        column(
            "pauses_sent",
            "count",
            "PAUSE frames that this port sent upstream for this priority, and other frames that hold something for what came by it; 0 under credits.",
            Take::U64(|r| r.pauses_sent),
        ),
        column("paused_ps", "ps", "Time for which the gate was closed.", Take::U64(|r| r.paused.as_ps())),
        column("ce_marks", "count", "Packets marked CE here.", Take::U64(|r| r.ce_marks)),
        column("ue_marks", "count", "Packets marked UE here.", Take::U64(|r| r.ue_marks)),
        column(
            "dropped_packets",
            "count",
            "Packets that were dropped here, for whatever reason but trimmed and not-taken: what receivers did not take is in flows.",
            Take::U64(|r| r.dropped_packets),
        ),
        column("dropped_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.dropped_bytes.get())),
        column(
            "non_congestion_ps",
            "ps",
            "Time in non-congestion. The verdict changes only at a dequeue: a port that falls idle keeps its last one.",
            Take::U64(|r| r.in_state[0].as_ps()),
        ),
        column(
            "congestion_ps",
            "ps",
            "Time in congestion. The verdict changes only at a dequeue: a port that falls idle keeps its last one.",
            Take::U64(|r| r.in_state[1].as_ps()),
        ),
        column(
            "undetermined_ps",
            "ps",
            "Time in undetermined. The verdict changes only at a dequeue: a port that falls idle keeps its last one.",
            Take::U64(|r| r.in_state[2].as_ps()),
        ),
        column("judging_ps", "ps", "Time released and being judged.", Take::U64(|r| r.in_state[3].as_ps())),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
