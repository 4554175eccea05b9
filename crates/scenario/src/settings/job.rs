//! `[[job]]`
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collective::{CollectiveAlgorithm, CollectiveOp};
use super::defaults::{one, six_hundred_ns, ten_us};
use super::gpcnet::Gpcnet;
use super::program::Mpi;
use super::traffic::zero_span;
use super::{Control, Names};
use crate::quantity::Quantity;

/// A job: ranks, the hosts that they get, and what they do (docs/jobs.md). Give `step`, `trace`, `program` or `gpcnet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Job {
    /// Name of the job in results and in `--set job.NAME.key=value`: letters, digits, `-` and `_`. No traffic entry has the same.
    pub name: String,
    /// Number of ranks. A host has one of them, or as many as `ranks-per-host` says. Default as many as the list of `placement` or the
    /// file has, else as many as the free hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub ranks: Option<u32>,
    /// Which hosts the ranks get. Default packed.
    #[serde(default)]
    pub placement: JobPlacement,
    /// The hosts that may have ranks. Default all hosts but those that a job names as storage. Not beside a list in `placement`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Names>,
    /// Whether its hosts may have ranks of other jobs, too. Default false: a host has the ranks of one job.
    #[serde(default)]
    pub share: bool,
    /// When it begins. Default 0.
    #[serde(default = "zero_span")]
    #[schemars(extend("x-maximum" = "18014s"))]
    pub start: Quantity<Span>,
    /// The job that must have ended before this one begins, by name; instead of `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// With `after`: from the end of that job's last rank to the start of this one. A scheduler needs it to learn of the end and to
    /// start ranks. Default 10 µs (reconstructed: two messages on a network of the hosts' management, which is not simulated).
    #[serde(default = "ten_us")]
    #[schemars(extend("x-maximum" = "1000s"))]
    pub delay: Quantity<Span>,
    /// How often the steps are gone through. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// The steps of an iteration. A rank begins a step when it is done with its part in the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<JobStep>,
    /// A trace (docs/trace-format.md) instead of steps: its path, relative to the folder of the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub trace: Option<String>,
    /// A program (docs/programs.md) instead of steps: its path, relative to the folder of the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub program: Option<String>,
    /// GPCNeT (docs/gpcnet.md) instead of steps, with the keys of such a traffic entry but for `hosts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Gpcnet", extend("additionalProperties" = false))]
    pub gpcnet: Option<Gpcnet>,
    /// Ranks of a program that a host has. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub ranks_per_host: u32,
    /// What message passing costs the ranks of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Mpi")]
    pub mpi: Option<Mpi>,
    /// Ranks that are slower or later than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Straggler")]
    pub straggler: Option<Straggler>,
    /// Time at a host between the last message that a rank waits for and what it does next in its steps. Default 600 ns (reconstructed:
    /// as that of a collective).
    #[serde(default = "six_hundred_ns")]
    #[schemars(extend("x-maximum" = "1s"))]
    pub host_latency: Quantity<Span>,
    /// Priority (PFC class, virtual lane) of its data packets. Default 3, as that of traffic entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
    /// What spaces its packets. Default cc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// Which hosts the ranks of a job get: a word, or the names of the hosts, rank 0 first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum JobPlacement {
    /// By a rule.
    By(PlacedBy),
    /// These, rank 0 first: names and patterns.
    At(Vec<String>),
}

impl Default for JobPlacement {
    fn default() -> Self {
        Self::By(PlacedBy::Packed)
    }
}

/// By which rule the ranks of a job get free hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacedBy {
    /// The first free hosts in the order of the network: a switch is filled before the next one.
    Packed,
    /// One host of each edge switch in turn: as many switches as possible.
    Spread,
    /// Free hosts drawn by the seed of the run.
    Random,
    /// Topologies rail and ai-pod: packed, and ranks are numbered along rail 0 first, so that neighbours are at one switch.
    Rails,
}

/// One step of a job. Give `compute`, `collective`, `write` or `read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JobStep {
    /// Every rank computes for so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1000s"))]
    pub compute: Option<Quantity<Span>>,
    /// All ranks do a collective operation (docs/collectives.md), or each group of them does its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveOp>,
    /// collective: payload; what of stands at each operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub size: Option<Quantity<Bytes>>,
    /// collective: by which messages. Defaults as those of `kind = "collective"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveAlgorithm>,
    /// collective: ranks of a group. All groups do the operation at the same time, each on its own. Times `stride` it divides the
    /// ranks of the job. Default all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 65536))]
    pub group: Option<u32>,
    /// collective with `group`: distance between the ranks of a group. Default 1: neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 32768))]
    pub stride: Option<u32>,
    /// collective, algorithm = hierarchical: neighbours that reduce among themselves first. Default topologies rail and ai-pod: the GPUs of a
    /// server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub within: Option<u32>,
    /// collective moe-all-to-all: what a token has. Default 7168 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub token: Option<Quantity<Bytes>>,
    /// collective moe-all-to-all: Gini coefficient of what the experts get. Default 0.24.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.95))]
    pub gini: Option<f64>,
    /// Every rank writes so much to a storage host of `to`, and goes on when that has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub write: Option<Quantity<Bytes>>,
    /// write: storage hosts; rank r has the one at place r, round and round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Names>,
    /// Every rank reads so much from a storage host of `from`, and goes on when it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub read: Option<Quantity<Bytes>>,
    /// read: storage hosts; rank r has the one at place r, round and round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Names>,
}

/// Ranks that are slower or later: `{ ranks = [3], slower = 1.2 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Straggler {
    /// Which ranks. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<u32>>,
    /// How many ranks, drawn by the seed of the run; instead of `ranks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub random: Option<u32>,
    /// Whatever they compute takes so many times its time. Default 1.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub slower: f64,
    /// How much later than the job they begin. Default 0.
    #[schemars(extend("x-maximum" = "1000s"))]
    pub later: Quantity<Span>,
    /// Whether what they are slower and later by is the same for all, or drawn by the seed for each rank and each of its
    /// computations. Default fixed.
    pub drawn: Drawn,
}

impl Default for Straggler {
    fn default() -> Self {
        Self { ranks: None, random: None, slower: 1.0, later: zero_span(), drawn: Drawn::Fixed }
    }
}

/// From which distribution the skew of a straggler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drawn {
    /// All of them have what is written.
    Fixed,
    /// Exponential, with what is written as the mean of what comes on top (Agarwal, Garg and Vishnoi, *The Impact of Noise on the
    /// Scaling of Collectives*, 2005).
    Exponential,
}
