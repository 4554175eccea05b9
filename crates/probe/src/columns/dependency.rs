//! The table of dependencies: what each step of an application waited for, and which messages it started.
use super::common::{node, node_index};
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::{Dependency, DependencyRecord};
use backwater_units::Time;

/// Words of [`DependencyRecord::what`].
const WHAT_WORDS: &[&str] = &["start", "sent", "acked", "received", "step", "starts"];

const fn word(what: Dependency) -> u8 {
    match what {
        Dependency::Start => 0,
        Dependency::Sent(_) => 1,
        Dependency::Acked(_) => 2,
        Dependency::Received(_) => 3,
        Dependency::Step(_) => 4,
        Dependency::Starts(_) => 5,
    }
}

const fn flow_of(what: Dependency) -> Option<u64> {
    match what {
        Dependency::Sent(flow)
        | Dependency::Acked(flow)
        | Dependency::Received(flow)
        | Dependency::Starts(flow) => Some(flow as u64),
        Dependency::Start | Dependency::Step(_) => None,
    }
}

const fn step_of(what: Dependency) -> Option<u64> {
    match what {
        Dependency::Step(step) => Some(step as u64),
        _ => None,
    }
}

impl Table for DependencyRecord {
    const ID: TableId = TableId::Dependencies;
    const DOC: &'static str = "One row per event that a step of a collective or trace waits for, and per flow that it starts. A step \
                               is carried out delay_ps after the last of these events.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("step", "index", "Number of the step in the run, from 0.", Take::U32(|r| r.step)),
        column(
            "what",
            "word",
            "What the step waits for: the start of its traffic entry (its delay is from the start of the run), the last bit of a \
             flow has left (sent), its last packet is acknowledged, it is complete (received), another step of the rank; or the \
             step starts a flow (starts).",
            Take::Word(WHAT_WORDS, |r| word(r.what)),
        ),
        column(
            "flow",
            "index",
            "That flow, as in the flows table; null without one.",
            Take::MaybeU64(|r| flow_of(r.what)),
        ),
        column("before", "index", "That other step; null without one.", Take::MaybeU64(|r| step_of(r.what))),
        column(
            "time_ps",
            "ps",
            "When it happened; null if it did not until the end of the run.",
            Take::MaybeU64(|r| r.time.map(Time::as_ps)),
        ),
        column(
            "alone_ps",
            "ps",
            "How long after the start of the flow it happens in an empty network (exact store-and-forward arithmetic); 0 without a \
             flow.",
            Take::U64(|r| r.alone.as_ps()),
        ),
        column(
            "delay_ps",
            "ps",
            "How long the step computes after the last of what it waits for.",
            Take::U64(|r| r.delay.as_ps()),
        ),
        column(
            "done_ps",
            "ps",
            "When the step was carried out; null if it was not until the end of the run.",
            Take::MaybeU64(|r| r.done.map(Time::as_ps)),
        ),
        column("traffic", "name", "Name of the step's traffic entry.", Take::Traffic(|r| r.group)),
        column("rank", "index", "Number of its rank in that entry, from 0.", Take::U32(|r| r.rank)),
        node(|r| r.node),
        node_index(|r| r.node),
        column("line", "index", "Line of the trace's file; 0: none.", Take::U32(|r| r.line)),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
