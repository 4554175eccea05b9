//! What the kinds of `[[traffic]]` choose from.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A built-in flow-size distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableName {
    /// Web search (DCTCP paper; table of the HPCC repository): mean 1.71 MB.
    WebSearch,
    /// Facebook's Hadoop cluster (SIGCOMM 2015; table of the HPCC repository): mean 120 KB.
    Hadoop,
    /// MPI messages (TCD paper §5.2.2): 2 KiB (55 %), 4 KiB (15 %), 8, 16 and 32 KiB (10 % each). The paper gives the range
    /// and that over half have 2 KB; the rest is our reading.
    Mpi,
    /// I/O messages (TCD paper §5.2.2): 512 KiB, 1, 2 and 4 MiB, equally likely.
    Io,
    /// 90 % MPI and 10 % I/O messages (TCD paper §5.2.2): mean 203 KB.
    MpiIo,
    /// All RPCs of a Google data center, `Google_All` of the ICI paper (section 4.2): mean 1001 B, half of them 4 B or less.
    /// Homa (SIGCOMM 2018), workload W3; table of PlatformLab/HomaSimulation.
    GoogleAll,
}

/// What a rack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rack {
    /// A pod of a fat tree.
    Pod,
    /// The hosts at one switch.
    Edge,
}

/// When the messages of a client start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At the instants of a Poisson process with that many arrivals in the duration.
    #[default]
    Poisson,
    /// The same time apart; each client begins at a random instant.
    Even,
    /// All at `start`: a connection always has the next message to send.
    AtOnce,
}

/// Whether the sources of a tick draw one size or each its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeChoice {
    /// Each source draws its own size.
    #[default]
    Independent,
    /// All sources of a tick use one drawn size.
    Common,
}

/// Which bytes of a message count for a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadCounts {
    /// Its payload.
    #[default]
    Payload,
    /// What it occupies of the wire: with `packet.header` of each packet, and with padding if `packet.padded`.
    Wire,
}

/// How a source of several flows chooses the one that it makes a packet for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// One after the other: each flow gets its packets evenly.
    #[default]
    Turns,
    /// It draws one, uniformly, for each packet.
    Random,
}

/// The time between the packets that an application makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// Always the same.
    #[default]
    Even,
    /// Exponential, so that packets are made at the instants of a Poisson process.
    Exponential,
}

/// What an application does while too many packets wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Full {
    /// A packet that would be one too many is never made.
    #[default]
    Skip,
    /// It waits, and makes the packet as soon as another has left. Its next gap began when it wanted to make this one.
    Wait,
}

/// A kernel of bale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaleKernel {
    /// Every PE changes random elements of a table that all hold together: a put each.
    Histogram,
    /// Every PE reads random elements of such a table: a get each, that is a request of 1 B and a reply.
    IndexGather,
    /// Every PE puts a block to each other one.
    AllToAll,
}

/// In which order a PE sends to all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerOrder {
    /// To the next PE first, and to the one before it last.
    #[default]
    Rotated,
    /// In an order that each PE draws once (bale's `exstack_exchange`).
    Random,
}
