//! The records of a run as plain bytes, for the process that writes them.
use backwater_engine::plain;

use super::{
    ArrivedRecord, BlockedRecord, CrowdRecord, DeliveredRecord, Dependency, DependencyRecord, DropCount,
    DropRecord, EndpointRecord, FaultRecord, FrameRecord, HoldRecord, InjectedRecord, IsolationEvent,
    IsolationRecord, JobRecord, MarkRecord, PauseRecord, PortRecord, PutEvent, PutRecord, RankRecord,
    RateRecord, SampleRecord, StateRecord, StreamId, StreamRecord, SwitchRecord, ThrottleRecord,
    ThrottleStateRecord, TimingRecord, WaitRecord,
};
use crate::log::Records;

plain! {
    MarkRecord { time, node, port, priority, code, flow, seq, queue }
    PauseRecord { time, node, port, priority, paused, expired, queue }
    HoldRecord {
        time, node, port, held_node, held_port, priority, blocker, blocker_priority, bytes, queue, closed,
    }
    CrowdRecord {
        start, end, node, port, priority, flow, packets, bytes, ce, ce_before, queue, threshold,
    }
    WaitRecord { start, end, node, port, priority, flow, seq, last }
    StateRecord { time, node, port, priority, state }
    SampleRecord { time, node, port, priority, paused, state, queue, sent }
    RateRecord { time, flow, rate }
    DeliveredRecord { time, node, group, bytes, wire_bytes, packets, ce_packets, cnps }
    InjectedRecord { time, made, flow, seq }
    ArrivedRecord { time, flow, seq, ce }
    Dependency = Start | Sent(it) | Acked(it) | Received(it) | Step(it) | Unfollowed | Starts(it);
    DependencyRecord { step, what, message, time, alone, delay, done, group, rank, node, line }
    DropRecord { time, node, port, priority, reason, flow, data, seq }
    FaultRecord { time, fault, kind, event, node, port, packets, bytes, flows, last }
    FrameRecord { time, sent, node, port, kind, priority, size, code, echo, flow, seq }
    IsolationEvent = Allocated | Refused | Released | Mirrored | MirrorRefused | Readmitted | Notified;
    IsolationRecord { time, node, port, what, ingress, src, dst, origin, root, used }
    JobRecord { time, start, node, group, step, iteration, rank }
    PutEvent = Sent | Resent | Accepted | Processed | Dropped | OutOfOrder | Duplicate | IackSent | DackSent
        | MarkedSent | NackSent | Iack | Dack | Marked | Nack | Timeout | State;
    PutRecord { time, flow, src, dst, seq, event, value }
    StreamId { src, dst, priority, kind }
    StreamRecord {
        start, end, stream, target, sent_packets, sent_bytes, resent_packets, resent_bytes, accepted_packets,
        accepted_bytes, processed_bytes, dropped_packets, out_of_order_packets, duplicate_packets, iacks,
        marked_iacks, dacks, nacks, timeouts, window, state,
    }
    EndpointRecord {
        start, end, node, drained_bytes, dropped_packets, dropped_bytes, queue, peak, paused_upstream,
    }
    TimingRecord { time, start, rank, node, series, label }
    ThrottleRecord {
        start, end, node, used_end, used_max, used_mean_milli, congested, held, sent_flits, entries,
    }
    ThrottleStateRecord { time, node, lane, congested, used }
    Records {
        marks, pauses, states, samples, rates, holds, crowds, waits, delivered, injected, arrived, isolation,
        puts, streams, endpoints, drops, faults, frames, throttle, throttle_states, timings, jobs,
        dependencies,
    }
    BlockedRecord { node, port, priority, blocked }
    SwitchRecord {
        node, slots, allocations, readmissions, refusals, mirror_refusals, peak_slots, entries_left,
        cims_sent, cims_received, moved_packets, ce_isolated, ce_monitored, peak_ingress, peak_egress,
    }
    RankRecord {
        rank, node, group, number, role, finish, sent_messages, sent_bytes, received_messages,
        received_bytes, waited, unexpected,
    }
    PortRecord {
        node, port, peer, priority, rate, packets, bytes, peak_queue, peak_ingress, pauses, pauses_sent,
        paused, ce_marks, ue_marks, dropped_packets, dropped_bytes, in_state,
    }
    DropCount { node, port, priority, reason, packets, bytes }
}
