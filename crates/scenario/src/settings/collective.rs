//! `kind = "collective"`
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Names;
use super::defaults::{everybody, one, six_hundred_ns};
use super::traffic::zero_span;
use crate::quantity::Quantity;

/// The keys of such an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub struct Collective {
    /// What is done.
    pub op: CollectiveOp,
    /// By which messages. Default ring for all-reduce, reduce-scatter and all-gather, linear for all-to-all (as NCCL does it), tree for
    /// broadcast. Where ranks next to each other share scale-up switches, hierarchical for all but broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveAlgorithm>,
    /// algorithm = hierarchical: ranks of a group, those of a server. They are neighbours by number. Default topologies rail and ai-pod: the
    /// GPUs of a server; with topology.scale-up the ranks that share a scale-up switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub within: Option<u32>,
    /// Payload; what of stands at each operation.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub size: Quantity<Bytes>,
    /// How often. A rank begins the next one when it is done with its part. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// Number of ranks. Default one at each of `hosts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 65536))]
    pub ranks: Option<u32>,
    /// The hosts that have ranks. Default all hosts.
    #[serde(default = "everybody")]
    pub hosts: Names,
    /// The host of each rank. Default linear.
    #[serde(default)]
    pub placement: RankPlacement,
    /// Time at a host between the last message that a rank waits for and the one that it sends then. Default 600 ns (reconstructed:
    /// what receiving and sending cost ranks of programs, `mpi.receive` and `mpi.send`).
    #[serde(default = "six_hundred_ns")]
    #[schemars(extend("x-maximum" = "1s"))]
    pub host_latency: Quantity<Span>,
    /// How long a rank computes between two iterations. Default 0.
    #[serde(default = "zero_span")]
    pub compute: Quantity<Span>,
    /// moe-all-to-all: what a token has. Default 7168 B (DeepSeek-V3: 7168 numbers in FP8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub token: Option<Quantity<Bytes>>,
    /// moe-all-to-all: Gini coefficient of what the experts get. Default 0.24 (Ma et al., arXiv:2605.20982: above 0.24 in models of two
    /// architectures, 0.105 and 0.150 in others).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 0.95))]
    pub gini: Option<f64>,
}

/// A collective operation. What `size` is of each stands with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveOp {
    /// All get the sum; `size`: what each rank adds.
    AllReduce,
    /// Each gets its part of the sum; `size`: what each rank adds.
    ReduceScatter,
    /// All get what each has; `size`: what each rank has.
    AllGather,
    /// Each sends something else to each other; `size`: from each to each.
    AllToAll,
    /// An all-to-all that is uneven: tokens go to experts, one at each rank, of which some are popular; `size`: all that a rank sends, its
    /// own expert included.
    MoeAllToAll,
    /// Rank 0 sends to all; `size`: what it sends to each.
    Broadcast,
}

/// By which messages a collective is done. docs/collectives.md has their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveAlgorithm {
    /// all-reduce, reduce-scatter, all-gather: parts go around, each rank to the next.
    Ring,
    /// all-reduce, broadcast: a binomial tree.
    Tree,
    /// all-reduce: Rabenseifner's.
    HalvingDoubling,
    /// all-reduce; all-gather of a power of two of ranks.
    RecursiveDoubling,
    /// all-to-all: in round k each sends to the rank k further, and waits for that from k before. What MPICH does with more than 32 KB
    /// for each (`MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE`).
    Pairwise,
    /// all-to-all: each posts all that it sends at once, and the NIC shares its link among them. What NCCL does (sends and receives in
    /// one group), and "basic linear" of Open MPI. broadcast: one rank after the other.
    Linear,
    /// all-reduce: parts go around within each server, then each part among the servers, then around within each server again; the first
    /// half of that is a reduce-scatter, the second an all-gather. all-to-all: what is for GPU j of any server goes to GPU j of the own one, which sends
    /// it on (PXN of NCCL).
    Hierarchical,
}

/// The host of each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankPlacement {
    /// In the order of `hosts`.
    #[default]
    Linear,
    /// In an order drawn by the seed of the run.
    Random,
    /// Topologies rail and ai-pod: all of rail 0 first, server by server, then rail 1, so that neighbours are at one switch.
    Rails,
}
