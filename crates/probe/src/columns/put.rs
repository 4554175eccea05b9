//! Tables of PUT traffic: streams packet by packet and by period, receive queues of hosts.
use super::common::{flow, node, node_index, period_end, period_start, priority, time_ps};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{EndpointRecord, PutEvent, PutRecord, StreamRecord};
use backwater_units::Time;

/// Words of `PutRecord::event`, in the order of [`backwater_fabric::record::PutEvent`].
pub const PUT_WORDS: &[&str] = &[
    "sent",
    "resent",
    "accepted",
    "processed",
    "dropped",
    "out-of-order",
    "duplicate",
    "iack-sent",
    "dack-sent",
    "marked-sent",
    "nack-sent",
    "iack",
    "dack",
    "marked",
    "nack",
    "timeout",
    "state",
];
/// Words of halt states: none (the policy has none, or the row is not about it), H(-1), H(0), H(1), not halted.
pub const HALT_WORDS: &[&str] = &["none", "H-1", "H0", "H1", "open"];

const INITIATOR: &str = "Host that sends the stream.";
const TARGET: &str = "Host that receives the stream.";

fn halt(state: Option<i8>) -> u8 {
    // A state beyond the known ones becomes a code without a word, which the writer refuses.
    state.map_or(0, |state| u8::try_from(i16::from(state) + 2).unwrap_or(u8::MAX))
}

fn queue(record: &PutRecord) -> Option<u64> {
    u64::try_from(record.value).ok().filter(|_| record.event.at_target())
}

fn window(record: &PutRecord) -> Option<u64> {
    let sending = matches!(record.event, PutEvent::Sent | PutEvent::Resent);
    u64::try_from(record.value).ok().filter(|_| sending)
}

fn put_state(record: &PutRecord) -> u8 {
    let state = i8::try_from(record.value).unwrap_or(i8::MAX);
    halt((record.event == PutEvent::State).then_some(state))
}

impl Table for PutRecord {
    const ID: TableId = TableId::Puts;
    const DOC: &'static str = "One row per packet of a PUT stream that is sent, sent again, accepted, processed or dropped, and \
                               per acknowledgement that leaves or takes effect, of the traffic entries in probe.puts.";
    const COLUMNS: &'static [Column<Self>] = &[
        time_ps("When it happened.", |r| r.time.as_ps()),
        column(
            "event",
            "word",
            "At the initiator: sent, resent; iack, dack, marked, nack (took effect); timeout (of its ACK); state (changed). At \
             the target: accepted, processed; dropped (no room), out-of-order (one before it is missing), duplicate \
             (accepted before); iack-sent, dack-sent, marked-sent, nack-sent.",
            Take::Word(PUT_WORDS, |r| r.event as u8),
        ),
        node(PutRecord::node),
        flow(|r| r.flow),
        column("traffic", "name", "Name of the flow's traffic entry.", Take::FlowTraffic(|r| r.flow)),
        column("src", "name", INITIATOR, Take::Node(|r| r.src)),
        column("dst", "name", TARGET, Take::Node(|r| r.dst)),
        column(
            "seq",
            "index",
            "Sequence number of the packet in its stream, from 1; of an acknowledgement the last one that it covers.",
            Take::U32(|r| r.seq),
        ),
        column(
            "queue_bytes",
            "bytes",
            "Bytes in the receive queue after it; null at the initiator.",
            Take::MaybeU64(queue),
        ),
        column(
            "window",
            "count",
            "Of sent and resent what the policy still allows after it: packets (DACK: the allowance) or bytes (AIMD: the \
             congestion window); null under OPT and otherwise.",
            Take::MaybeU64(window),
        ),
        column(
            "state",
            "word",
            "Of a state the halt state from now on: H-1, H0, H1, open (not halted); else none.",
            Take::Word(HALT_WORDS, put_state),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

impl Table for StreamRecord {
    const ID: TableId = TableId::Streams;
    const DOC: &'static str = "One row per end of a PUT stream (all PUTs of one kind between two hosts in one priority) and \
                               sampling period (probe.sample) in which that end did something. What the other end counts is 0.";
    const COLUMNS: &'static [Column<Self>] = &[
        period_start(|r| r.start.as_ps()),
        period_end(|r| r.end.as_ps()),
        column(
            "side",
            "word",
            "Which end the row is of: initiator or target.",
            Take::Word(&["initiator", "target"], |r| u8::from(r.target)),
        ),
        column("src", "name", INITIATOR, Take::Node(|r| r.stream.src)),
        column("dst", "name", TARGET, Take::Node(|r| r.stream.dst)),
        priority(|r| r.stream.priority),
        column(
            "kind",
            "index",
            "Number of its kind of PUT: entries of the scenario with equal settings have the same one.",
            Take::U16(|r| r.stream.kind),
        ),
        column("sent_packets", "count", "New packets sent.", Take::U64(|r| r.sent_packets)),
        column("sent_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.sent_bytes.get())),
        column("resent_packets", "count", "Packets sent again.", Take::U64(|r| r.resent_packets)),
        column("resent_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.resent_bytes.get())),
        column("accepted_packets", "count", "Packets accepted.", Take::U64(|r| r.accepted_packets)),
        column(
            "accepted_bytes",
            "bytes",
            "Their payload: what goodput counts.",
            Take::U64(|r| r.accepted_bytes.get()),
        ),
        column(
            "processed_bytes",
            "bytes",
            "Payload drained from the receive queue.",
            Take::U64(|r| r.processed_bytes.get()),
        ),
        column(
            "dropped_packets",
            "count",
            "Packets dropped because the receive queue had no room.",
            Take::U64(|r| r.dropped_packets),
        ),
        column(
            "out_of_order_packets",
            "count",
            "Packets dropped because one before them was missing.",
            Take::U64(|r| r.out_of_order_packets),
        ),
        column(
            "duplicate_packets",
            "count",
            "Packets dropped because they had been accepted before.",
            Take::U64(|r| r.duplicate_packets),
        ),
        column(
            "iacks",
            "count",
            "ACKs with news, marked ones among them: frames sent by the target, all that took effect at the initiator.",
            Take::U64(|r| r.iacks),
        ),
        column("marked_iacks", "count", "Those with a mark.", Take::U64(|r| r.marked_iacks)),
        column(
            "dacks",
            "count",
            "ACKs that repeat a number: frames sent by the target, those that took effect at the initiator.",
            Take::U64(|r| r.dacks),
        ),
        column(
            "nacks",
            "count",
            "NACKs: sent by the target, those that took effect at the initiator.",
            Take::U64(|r| r.nacks),
        ),
        column("timeouts", "count", "Packets whose ACK did not come in time.", Take::U64(|r| r.timeouts)),
        column(
            "window",
            "count",
            "At the end of the period, what the policy allows: packets (DACK), bytes (AIMD); null at the target and under OPT.",
            Take::MaybeU64(|r| r.window),
        ),
        column(
            "state",
            "word",
            "Halt state at the end of the period: H-1, H0, H1, open (not halted); none at the target and without halt states.",
            Take::Word(HALT_WORDS, |r| halt(r.state)),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.end)
    }
}

impl Table for EndpointRecord {
    const ID: TableId = TableId::Endpoints;
    const DOC: &'static str = "One row per host with a receive queue and sampling period (probe.sample) in which the queue held \
                               or dropped something.";
    const COLUMNS: &'static [Column<Self>] = &[
        period_start(|r| r.start.as_ps()),
        period_end(|r| r.end.as_ps()),
        node(|r| r.node),
        node_index(|r| r.node),
        column(
            "drained_bytes",
            "bytes",
            "Bytes that the host processed, headers included.",
            Take::U64(|r| r.drained_bytes.get()),
        ),
        column(
            "dropped_packets",
            "count",
            "Packets dropped because they did not fit.",
            Take::U64(|r| r.dropped_packets),
        ),
        column("dropped_bytes", "bytes", "Their bytes on the wire.", Take::U64(|r| r.dropped_bytes.get())),
        column("queue_bytes", "bytes", "Bytes in the queue at the end.", Take::U64(|r| r.queue.get())),
        column("peak_bytes", "bytes", "Most bytes in the queue.", Take::U64(|r| r.peak.get())),
        column(
            "holding_ps",
            "ps",
            "Time for which the host held back its switch, by PAUSE or for want of credits; of several priorities the sum.",
            Take::U64(|r| r.paused_upstream.as_ps()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.end)
    }
}
