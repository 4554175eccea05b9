//! `[run]`
use backwater_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// How a run keeps time, and what goes first of what happens at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// In picoseconds. Ports that are free again go first, then flow control, arrivals and timers; ports in an order that is drawn.
    Exact,
    /// As simulators on ns-3: times on the wire are cut to whole nanoseconds, and so are the gaps of queue pairs that send again what is
    /// lost. Timers go first, then flow control, arrivals, and ports that are free again. Of arrivals the one goes first whose link was idle
    /// last, then that at the port with the lowest number.
    #[serde(rename = "ns-3")]
    Ns3,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Run {
    /// Seed of every random stream. Default 1, always the same.
    pub seed: u64,
    /// End of simulated time; without it the run ends when every finite flow is done. The most is what fits the 54
    /// bits that the fabric has for an instant, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "18014s"))]
    pub until: Option<Quantity<Span>>,
    /// How time is kept. conweave-ns3, pyrrha-ns3: ns-3; the other profiles: exact.
    pub clock: Clock,
    /// Threads for this one run; they do not change the result. Default 1.
    #[schemars(range(min = 1, max = 256))]
    pub threads: u32,
    /// Counts where the time of the run goes, and predicts what other numbers of threads would bring: `profile` in run.json, and `backwater
    /// run --profile`. It does not change the result. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profiled: bool,
    /// Iterations of a job or a collective operation that start from the same state as an earlier one are counted, not simulated, if nothing
    /// else is on the way: the results are those of the whole run. Tables of single events (marks, PAUSEs, states, drops, ground truth,
    /// dependencies) are not written then. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reuse: bool,
    /// Names of the traffic entries that send; nothing of the others is sent. Network, draws and paths stay those of the whole scenario, so that
    /// the two runs differ by the other traffic alone. Default: all send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}
