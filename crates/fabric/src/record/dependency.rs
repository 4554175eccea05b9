//! What steps of applications waited for.
use backwater_units::{Span, Time};

/// What a row of the dependencies of a step says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// The step waits for nothing but the start of its traffic entry.
    Start,
    /// It waits until the last bit of this flow has left its source.
    Sent(u32),
    /// It waits until the last packet of this flow has been acknowledged.
    Acked(u32),
    /// It waits until this flow is complete.
    Received(u32),
    /// It waits for another step of its rank.
    Step(u32),
    /// It starts this flow.
    Starts(u32),
}

/// What one step of a rank waits for, or a flow that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependencyRecord {
    /// Number of the step in the run.
    pub step: u32,
    /// What this row says of it.
    pub what: Dependency,
    /// When that happened; of [`Dependency::Start`] the start of the run. `None`: not until the end of the run.
    pub time: Option<Time>,
    /// How long after the flow's start it happens in an empty network.
    pub alone: Span,
    /// How long after the last of what it waits for the step is carried out.
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
