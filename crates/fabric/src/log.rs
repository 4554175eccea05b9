//! Records that a node has stored and nobody has taken yet.
use crate::record::{MarkRecord, PauseRecord, RateRecord, SampleRecord, StateRecord};

/// Records by kind, in the order of events at each node.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Packets marked.
    pub marks: Vec<MarkRecord>,
    /// Gates closed and opened.
    pub pauses: Vec<PauseRecord>,
    /// Verdicts changed.
    pub states: Vec<StateRecord>,
    /// Queues sampled.
    pub samples: Vec<SampleRecord>,
    /// Controlled rates sampled.
    pub rates: Vec<RateRecord>,
}

impl Records {
    /// Moves all records of `other` to the end of these.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        self.marks.append(&mut other.marks);
        self.pauses.append(&mut other.pauses);
        self.states.append(&mut other.states);
        self.samples.append(&mut other.samples);
        self.rates.append(&mut other.rates);
    }

    /// Puts the records in order of time, then node and port.
    pub(crate) fn sort(&mut self) {
        self.marks.sort_by_key(|r| (r.time, r.node, r.port));
        self.pauses.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.states.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.samples.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.rates.sort_by_key(|r| (r.time, r.flow));
    }

    /// Forgets them, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.marks.clear();
        self.pauses.clear();
        self.states.clear();
        self.samples.clear();
        self.rates.clear();
    }
}
