//! What steps of applications waited for.
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// What a row of the dependencies of a step says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Dependency {
    /// The step waits for nothing but the start of its traffic entry.
    Start,
    /// It waits until the last bit of this flow has left its source.
    Sent(u32),
    /// It waits until the last packet of this flow has been acknowledged.
    Acked(u32),
    /// It waits until this flow is complete.
    Received(u32),
    /// It waits for another step: of its rank, or of one that a message within their host is from.
    Step(u64),
    /// It waits for something of a rank that is not followed, as that goes on for ever.
    Unfollowed,
    /// It starts this flow.
    Starts(u32),
}

/// What one step of a rank waits for, or a flow that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DependencyRecord {
    /// Number of the step in the run.
    pub step: u64,
    /// What this row says of it.
    pub what: Dependency,
    /// Of a flow between ranks of a program: which of its messages is meant, and its bytes.
    pub message: Option<(u32, Bytes)>,
    /// When that happened; of [`Dependency::Start`] the start of the run, or of the rank of a program. `None`: not until the end of the
    /// run.
    pub time: Option<Time>,
    /// How long after the start of the flow, or of the message, it happens in an empty network.
    pub alone: Span,
    /// How long after the last of what it waits for the step is carried out; of the rank of a program how long after this.
    pub delay: Span,
    /// When the step was carried out. `None`: not until the end of the run.
    pub done: Option<Time>,
    /// The traffic entry it belongs to.
    pub group: u16,
    /// Its rank in that entry.
    pub rank: u32,
    /// Node index of the rank's host.
    pub node: u32,
    /// Line of the trace's file; 0: none.
    pub line: u32,
}
