//! Records that a node has stored and nobody has taken yet.
use crate::record::{
    ArrivedRecord, ClosureRecord, CrowdRecord, DeliveredRecord, DependencyRecord, DropReason, DropRecord,
    EndpointRecord, FaultRecord, FrameRecord, HoldRecord, InjectedRecord, IsolationRecord, JobRecord,
    MarkRecord, PauseRecord, PutRecord, RateRecord, SampleRecord, StateRecord, StreamRecord, ThrottleRecord,
    ThrottleStateRecord, TimingRecord, WaitRecord, WindowRecord,
};
use borsh::{BorshDeserialize, BorshSerialize};

/// Records by kind, in the order of events at each node.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
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
    /// Upstream ports held back, with what they are held back by.
    pub holds: Vec<HoldRecord>,
    /// Gates of less than a priority closed and opened.
    pub closures: Vec<ClosureRecord>,
    /// Flows at ports with long queues.
    pub crowds: Vec<CrowdRecord>,
    /// Waits of followed packets.
    pub waits: Vec<WaitRecord>,
    /// What hosts got, by traffic entry and period.
    pub delivered: Vec<DeliveredRecord>,
    /// Followed packets that left their sources.
    pub injected: Vec<InjectedRecord>,
    /// Followed packets that reached their destinations.
    pub arrived: Vec<ArrivedRecord>,
    /// What happened to congested-flow tables.
    pub isolation: Vec<IsolationRecord>,
    /// What happened in followed PUT streams.
    pub puts: Vec<PutRecord>,
    /// PUT streams, by end and period.
    pub streams: Vec<StreamRecord>,
    /// Receive queues of hosts, by period.
    pub endpoints: Vec<EndpointRecord>,
    /// Packets that switches dropped.
    pub drops: Vec<DropRecord>,
    /// What happened to faults.
    pub faults: Vec<FaultRecord>,
    /// Frames that chosen ports sent.
    pub frames: Vec<FrameRecord>,
    /// Throttles of NICs, by period.
    pub throttle: Vec<ThrottleRecord>,
    /// Their changes of state.
    pub throttle_states: Vec<ThrottleStateRecord>,
    /// Stopwatches that ranks read.
    pub timings: Vec<TimingRecord>,
    /// Steps that ranks of jobs are done with.
    pub jobs: Vec<JobRecord>,
    /// What ranks of programs waited for.
    pub dependencies: Vec<DependencyRecord>,
    /// Windows of destinations that changed.
    pub windows: Vec<WindowRecord>,
}

impl Records {
    /// Puts the records in order of time, then node and port. A record that spans a time counts by its end, at which it
    /// was made.
    pub(crate) fn sort(&mut self) {
        self.marks.sort_by_key(|r| (r.time, r.node, r.port));
        self.pauses.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.states.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.samples.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.rates.sort_by_key(|r| (r.time, r.flow));
        self.holds.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.closures.sort_by_key(|r| (r.time, r.node, r.port, r.priority));
        self.crowds.sort_by_key(|r| (r.end, r.node, r.port, r.priority));
        self.waits.sort_by_key(|r| (r.end, r.node, r.port));
        self.delivered.sort_by_key(|r| (r.time, r.node, r.group));
        self.injected.sort_by_key(|r| (r.time, r.flow, r.seq));
        self.arrived.sort_by_key(|r| (r.time, r.flow, r.seq));
        self.isolation.sort_by_key(|r| (r.time, r.node));
        self.puts.sort_by_key(|r| (r.time, r.node()));
        self.streams
            .sort_by_key(|r| (r.end, r.stream.src, r.stream.dst, r.stream.priority, r.stream.kind, r.target));
        self.endpoints.sort_by_key(|r| (r.end, r.node));
        // What a wire loses is known before what the port behind it drops at the same instant, or after it, as the engine has it.
        let wire = |r: &DropRecord| (r.reason == DropReason::LinkDown).then_some((r.flow, r.seq));
        let rest = |r: &DropRecord| (r.node, r.port, r.priority, wire(r));
        self.drops.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| rest(a).cmp(&rest(b))));
        self.faults.sort_by_key(|r| (r.time, r.node, r.port));
        self.frames.sort_by_key(|r| (r.time, r.node, r.port));
        self.throttle.sort_by_key(|r| (r.end, r.node));
        self.throttle_states.sort_by_key(|r| (r.time, r.node, r.lane));
        self.timings.sort_by_key(|r| (r.time, r.rank));
        self.jobs.sort_by_key(|r| (r.time, r.group, r.rank));
        self.dependencies.sort_by_key(|r| (r.done, r.node));
        self.windows.sort_by_key(|r| (r.time, r.node));
    }
}

/// What is done to every kind alike.
macro_rules! kinds {
    ($($kind:ident),*) => {
        impl Records {
            /// Moves all records of `other` to the end of these.
            pub(crate) fn take_from(&mut self, other: &mut Self) {
                // Most nodes have none, most of the time.
                if !other.is_empty() {
                    $(self.$kind.append(&mut other.$kind);)*
                }
            }

            fn is_empty(&self) -> bool {
                true $(&& self.$kind.is_empty())*
            }

            /// Forgets them, keeping the memory.
            pub(crate) fn clear(&mut self) {
                $(self.$kind.clear();)*
            }
        }
    };
}
kinds! {
    marks, pauses, states, samples, rates, holds, closures, crowds, waits, delivered, injected,
    arrived, isolation, puts, streams, endpoints, drops, faults, frames, throttle, throttle_states,
    timings, jobs, dependencies, windows
}
