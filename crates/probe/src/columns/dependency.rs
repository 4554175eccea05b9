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
        Dependency::Step(_) | Dependency::Unfollowed => 4,
        Dependency::Starts(_) => 5,
    }
}

const fn flow_of(what: Dependency) -> Option<u64> {
    match what {
        Dependency::Sent(flow)
        | Dependency::Acked(flow)
        | Dependency::Received(flow)
        | Dependency::Starts(flow) => Some(flow as u64),
        Dependency::Start | Dependency::Step(_) | Dependency::Unfollowed => None,
    }
}

const fn step_of(what: Dependency) -> Option<u64> {
    match what {
        Dependency::Step(step) => Some(step),
        _ => None,
    }
}

impl Table for DependencyRecord {
    const ID: TableId = TableId::Dependencies;
    const DOC: &'static str = "One row per event that a step of an application waits for, and per message that it starts. A step is \
                               carried out delay_ps after the last of these events; that of the rank of a program when the last of \
                               them is delay_ps ago. Of programs only steps that were carried out are here, and none of an endless \
                               loop.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("step", "index", "Number of the step in the run, from 0.", Take::U64(|r| r.step)),
        column(
            "what",
            "word",
            "What the step waits for: the start of its traffic entry (its delay is from the start of the run) or of its program; the \
             last bit of a message has left (sent), its last packet is acknowledged, it is complete (received); another step. Or the \
             step starts a message (starts).",
            Take::Word(WHAT_WORDS, |r| word(r.what)),
        ),
        column(
            "flow",
            "index",
            "The flow of that message, as in the flows table; null without one.",
            Take::MaybeU64(|r| flow_of(r.what)),
        ),
        column(
            "message",
            "index",
            "Between ranks of a program: the number of the message in that flow, from 0; else null.",
            Take::MaybeU64(|r| r.message.map(|(number, _)| u64::from(number))),
        ),
        column(
            "size_bytes",
            "bytes",
            "Payload of that message between ranks; else null.",
            Take::MaybeU64(|r| r.message.map(|(_, size)| size.get())),
        ),
        column(
            "before",
            "index",
            "That other step; null without one, and if it is of a rank that goes on for ever.",
            Take::MaybeU64(|r| step_of(r.what)),
        ),
        column(
            "time_ps",
            "ps",
            "When it happened; null if it did not until the end of the run.",
            Take::MaybeU64(|r| r.time.map(Time::as_ps)),
        ),
        column(
            "alone_ps",
            "ps",
            "How long after the start of the message it happens in an empty network (exact store-and-forward arithmetic); 0 without \
             a message.",
            Take::U64(|r| r.alone.as_ps()),
        ),
        column(
            "delay_ps",
            "ps",
            "How long the step computes after the last of what it waits for; of a program: how long after this at least.",
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
        column("line", "index", "Line of the file of the trace or program; 0: none.", Take::U32(|r| r.line)),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
