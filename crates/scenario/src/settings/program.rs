//! What the kinds of `[[traffic]]` with ranks choose from.
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Which host each rank is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first `ranks-per-host` ranks at the first host, the next at the second.
    #[default]
    Block,
    /// One after the other at the next host, round and round.
    Cyclic,
    /// As block, but over the hosts in an order drawn by the seed of the run.
    Random,
}

/// What message passing costs the ranks and the hosts. None of this is in the PFT paper or in GPCNeT, which measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Mpi {
    /// Largest message that is sent at once; for a larger one the receiver asks when its receive is posted (rendezvous). Default
    /// 16 KiB (reconstructed: MPI libraries have 8 to 64 KiB; between the messages of GPCNeT's congestors, 4 KiB, and those of its
    /// bandwidth test, 128 KiB).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub eager: Quantity<Bytes>,
    /// Time of the rank for each message, put or get that it sends (`o_s`). Default 300 ns (reconstructed: as much as for each that it
    /// receives; with the path of some 1 µs it makes the 1.5 to 2 µs that MPI takes for 8 B in such networks).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub send: Quantity<Span>,
    /// Time of the rank for each message that it receives (`o_r`). Default 300 ns (reconstructed: see `send`).
    #[schemars(extend("x-maximum" = "1s"))]
    pub receive: Quantity<Span>,
    /// Payload of what NICs send each other for a message: request and reply of a rendezvous, acknowledgement of a put, request
    /// of a get. Default 16 B (reconstructed: an address and a length).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub control: Quantity<Bytes>,
    /// Time of a message between two ranks of one host, which no link sees. Default 500 ns (reconstructed: two copies in
    /// memory of a small message).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub local: Quantity<Span>,
}

impl Default for Mpi {
    fn default() -> Self {
        Self {
            eager: Quantity(Bytes::new(16 * 1024)),
            send: Quantity(Span::from_ns(300)),
            receive: Quantity(Span::from_ns(300)),
            control: Quantity(Bytes::new(16)),
            local: Quantity(Span::from_ns(500)),
        }
    }
}

/// What a congestor does, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestor {
    /// Pairwise exchange with every other rank of its group.
    AllToAll,
    /// All but one send to that one, which has a receive for each.
    Incast,
    /// All but one put to that one, and wait until the put is acknowledged.
    PutIncast,
    /// All but one get from that one.
    GetBroadcast,
}

/// A network test of GPCNeT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkTest {
    /// "RR Two-sided Lat": exchange of small messages with both neighbours in a random ring.
    Latency,
    /// "RR Two-sided BW+Sync": exchange of large messages with both neighbours in a random ring, then a barrier.
    Bandwidth,
    /// "Multiple Allreduce": an allreduce of each group at the same time.
    Allreduce,
}

/// `latency`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LatencyTest {
    /// Payload of a message. Default 8 B (GPCNeT 1.3).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub size: Quantity<Bytes>,
    /// Exchanges in a ring before those that are timed. Default 5 (GPCNeT 1.3 has 200; scaled down, as a simulated network has no cold
    /// caches).
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Exchanges in a ring that are timed. Default 20 (GPCNeT 1.3 has 200; scaled down).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub timed: u32,
}

impl Default for LatencyTest {
    fn default() -> Self {
        Self { size: Quantity(Bytes::new(8)), warm_up: 5, timed: 20 }
    }
}

/// `bandwidth`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct BandwidthTest {
    /// Payload of a message. Default 128 KiB (GPCNeT 1.3: 131,072 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub size: Quantity<Bytes>,
    /// Messages to each neighbour that are under way together. Default 2 (GPCNeT 1.3 has 8; scaled down: 16 ranks of a host still send
    /// 8 MiB in an exchange).
    #[schemars(range(min = 1, max = 10_000))]
    pub messages: u32,
    /// Exchanges in a ring before those that are timed. Default 1 (GPCNeT 1.3).
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Exchanges in a ring that are timed. Default 2 (GPCNeT 1.3 has 8; scaled down).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub timed: u32,
}

impl Default for BandwidthTest {
    fn default() -> Self {
        Self { size: Quantity(Bytes::new(128 * 1024)), messages: 2, warm_up: 1, timed: 2 }
    }
}

/// `allreduce`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct AllreduceTest {
    /// Payload of a message. Default 8 B (GPCNeT 1.3: one double).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub size: Quantity<Bytes>,
    /// Operations before those that are timed. Default 1 (GPCNeT 1.3).
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Operations that are timed. Default 50 (GPCNeT 1.3 has 200; scaled down).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub timed: u32,
}

impl Default for AllreduceTest {
    fn default() -> Self {
        Self { size: Quantity(Bytes::new(8)), warm_up: 1, timed: 50 }
    }
}
