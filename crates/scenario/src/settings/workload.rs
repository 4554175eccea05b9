//! The kinds of `[[traffic]]`
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Names;
use super::choices::{
    Arrivals, BaleKernel, Full, Gaps, LoadCounts, PeerOrder, Rack, SizeChoice, Spread, TableName,
};
use super::collective::Collective;
use super::defaults::{everybody, four, half, one, quarter, tenth, wire, word, yes};
use super::gpcnet::Gpcnet;
use super::program::{Mpi, Placement};
use super::traffic::zero_span;
use crate::quantity::Quantity;

/// What the flows of an entry are, by its kind. With several sources and destinations there is one flow for each
/// pair of different hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Workload {
    /// Endless flows.
    LongLived {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
    },
    /// Sources of a constant rate (F0 and F2 of the TCD paper).
    Constant {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
        /// Rate on the wire, headers included.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Each gap is scaled by a uniform factor from 1 − jitter to 1 + jitter. Default 0; the authors' release has 0.1.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        jitter: f64,
        /// Whether what flow control held back is sent afterwards at line rate. Default true (authors' release).
        #[serde(default = "yes")]
        catch_up: bool,
        /// Payload of each flow; endless without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Option<Quantity<Bytes>>,
    },
    /// One flow.
    Flow {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
        /// Payload.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Quantity<Bytes>,
    },
    /// Rounds of messages that all sources send at the same instant.
    Bursts {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
        /// Payload of one message.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Quantity<Bytes>,
        /// Messages per source.
        #[schemars(range(min = 1, max = 10_000_000))]
        rounds: u32,
        /// From one round to the next; 0 hands all rounds to the NIC at once, which sends them back to back.
        interval: Quantity<Span>,
    },
    /// Messages of a queue pair of which always so many are under way, as in a bandwidth test of perftest: when one has been acknowledged,
    /// the next is posted. Needs acknowledgements.
    ClosedLoop {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
        /// Payload of one message.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Quantity<Bytes>,
        /// How many are under way (perftest: --tx-depth). Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1_000_000))]
        depth: u32,
        /// From the acknowledgement of a message to the posting of the next one. Default 0.
        #[serde(default = "zero_span")]
        #[schemars(extend("x-maximum" = "18014s"))]
        gap: Quantity<Span>,
        /// How many each source sends to each destination (perftest: --iters).
        #[schemars(range(min = 1, max = 10_000_000))]
        messages: u32,
    },
    /// Many send to one, all at `start`.
    Incast {
        /// Sources; the destination is left out. Default all hosts.
        #[serde(default = "everybody")]
        from: Names,
        /// Destination: one host.
        to: String,
        /// Payload of each flow.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Quantity<Bytes>,
        /// How many of the sources take part, chosen at random; default all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        fan_in: Option<u32>,
    },
    /// Every host sends to one other host and receives from one, chosen at random.
    Permutation {
        /// Who takes part. Default all hosts.
        #[serde(default = "everybody")]
        hosts: Names,
        /// Payload of each flow; endless without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Option<Quantity<Bytes>>,
    },
    /// Poisson arrivals at every source, sizes from a distribution or fixed, destinations uniform. Give one of `cdf`, `file`,
    /// `size`, and `until` or `flows`.
    Poisson {
        /// Sources. Default all hosts.
        #[serde(default = "everybody")]
        from: Names,
        /// Destinations; never the source itself. Default all hosts.
        #[serde(default = "everybody")]
        to: Names,
        /// A built-in flow-size distribution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cdf: Option<TableName>,
        /// A file of `bytes percent` lines, relative to the folder of the scenario file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1))]
        file: Option<String>,
        /// The same payload for every flow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Option<Quantity<Bytes>>,
        /// What all sources are offered over the capacity of their host links, each alike.
        #[schemars(range(min = 0.000_001, max = 100.0))]
        load: f64,
        /// Which bytes count for the load. Default payload (the HPCC generator, TCD paper).
        #[serde(default)]
        load_counts: LoadCounts,
        /// End of the arrivals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Quantity<Span>>,
        /// Number of flows (messages) of all sources together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        flows: Option<u32>,
    },
    /// Sources whose application makes full packets, which wait at the source for the reaction point of `[cc]` or the policy of
    /// `[put]` (the hot sources of the ICI paper, section 4.2; the streams of PUTs of the EC paper). Each sends to each destination.
    Supply {
        /// Sources.
        from: Names,
        /// Destinations.
        to: Names,
        /// Rate at which a source makes packets, shared equally among its destinations.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Which bytes count for the rate. Default wire, headers included; the streams of the EC paper have payload (the authors'
        /// public simulator, commit 6ef0eb3).
        #[serde(default = "wire")]
        load_counts: LoadCounts,
        /// The most payload that waits at a source, shared equally among its destinations: at least one packet for each. Default
        /// 256 KiB (reconstructed: the ICI paper does not say; 64 packets of 4 KiB, so that a tree ends soon after its sources).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        backlog: Option<Quantity<Bytes>>,
        /// The same in packets, instead of `backlog`. The streams of the EC paper have 16 (the authors' public simulator, commit
        /// 6ef0eb3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        packets: Option<u32>,
        /// The time between packets. Default even; the streams of the EC paper have exponential (the authors' public simulator).
        #[serde(default)]
        gaps: Gaps,
        /// What a source does while too many packets wait. Default skip; the streams of the EC paper have wait (the authors' public
        /// simulator). With several destinations a source waits for each by itself.
        #[serde(default)]
        full: Full,
        /// To which of its destinations a source sends each packet. Default turns. With exponential gaps both are the same: the
        /// packets for each destination are a Poisson process of their own.
        #[serde(default)]
        spread: Spread,
        /// End of the supply; without it there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Quantity<Span>>,
    },
    /// One exponential clock for all sources; each tick starts a flow at every one of them (TCD paper, Table 3). Give
    /// one of `cdf`, `file`, `size`; `load` or `interval`; `until` or `flows`.
    Synchronous {
        /// Sources.
        from: Names,
        /// Destination: one host.
        to: String,
        /// A built-in flow-size distribution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cdf: Option<TableName>,
        /// A file of `bytes percent` lines, relative to the folder of the scenario file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1))]
        file: Option<String>,
        /// The same payload for every flow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Option<Quantity<Bytes>>,
        /// Whether the sources of a tick draw one size or each its own. Default independent.
        #[serde(default)]
        sizes: SizeChoice,
        /// Offered payload of all sources together over the capacity of the destination's host link.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.000_001, max = 100.0))]
        load: Option<f64>,
        /// Mean time between ticks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ns"))]
        interval: Option<Quantity<Span>>,
        /// End of the ticks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Quantity<Span>>,
        /// Number of flows of all sources together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        flows: Option<u32>,
    },
    /// MPI and I/O messages of jobs that share a network (TCD paper §5.2.2). In each rack some hosts are I/O servers; some of
    /// all hosts are I/O clients, the others MPI clients and servers, all drawn at random. Each client sends its messages
    /// to servers of its own kind, with the sizes of the distributions `io` and `mpi`. The paper gives neither load nor
    /// arrival process: give `load` or `duration`, unless all come at once.
    MpiIo {
        /// Messages in all; the paper has "over 80 thousand".
        #[schemars(range(min = 1, max = 20_000_000))]
        messages: u32,
        /// Share of I/O messages. Default 0.1 (TCD paper §5.2.2).
        #[serde(default = "tenth")]
        #[schemars(range(min = 0.0, max = 1.0))]
        io_share: f64,
        /// What a rack is. Default in a fat tree pod (the authors' flit-level model has four I/O servers in a pod of 64),
        /// else edge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rack: Option<Rack>,
        /// I/O servers in each rack. Default 4 (TCD paper §5.2.2).
        #[serde(default = "four")]
        #[schemars(range(min = 1, max = 65535))]
        io_servers_per_rack: u32,
        /// I/O clients as a share of all hosts. Default 0.25 (TCD paper §5.2.2).
        #[serde(default = "quarter")]
        #[schemars(range(min = 0.0, max = 1.0))]
        io_clients: f64,
        /// MPI clients as a share of the MPI nodes; the others are MPI servers. The paper gives none. Default 0.5.
        #[serde(default = "half")]
        #[schemars(range(min = 0.0, max = 1.0))]
        mpi_clients: f64,
        /// Servers of each client; each of its messages goes to one of them. Default 1 (authors' flit-level model).
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 65535))]
        connections: u32,
        /// I/O servers that are hot, drawn from all of them; the other clients send to the other servers. Needs `hot-share`, and one
        /// connection per client. Default 0.
        #[serde(default)]
        #[schemars(range(max = 65535))]
        hot_servers: u32,
        /// I/O clients that send to hot servers, as a share of the I/O clients, dealt out to them in turn. As all clients send equally many
        /// messages, it is also the share of the I/O traffic. Two hot servers and half of 256 clients make a fan-in of 64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        hot_share: Option<f64>,
        /// When messages start. Default poisson.
        #[serde(default)]
        arrivals: Arrivals,
        /// Payload of all messages over what the links of all hosts carry in the duration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.000_001, max = 100.0))]
        load: Option<f64>,
        /// The time within which all messages start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ns"))]
        duration: Option<Quantity<Span>>,
    },
    /// A `flow.txt` of the HPCC/ns-3 RoCE simulators. Its node numbers are those of the topology file, or host numbers
    /// with any other topology; its UDP ports have no effect.
    HpccFlows {
        /// Path, relative to the folder of the scenario file.
        #[schemars(length(min = 1))]
        file: String,
        /// The time in the file that is time 0 here; the HPCC generators begin at 2 s. Default 0.
        #[serde(default = "zero_span")]
        time_origin: Quantity<Span>,
    },
    /// What the ranks of an application send, each message when what it depends on has happened at its source
    /// (docs/trace-format.md).
    Trace {
        /// Path, relative to the folder of the scenario file.
        #[schemars(length(min = 1))]
        file: String,
        /// The host of each rank, rank 0 first. Default: the first hosts of the network.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<Names>,
    },
    /// A collective operation of ranks, one at each host, again and again: each message is sent when its rank has received what
    /// comes before it (docs/collectives.md).
    Collective(Collective),
    /// The steps of a job, with its ranks at their hosts. Scenario files have `[[job]]` for it.
    #[serde(skip)]
    Steps(Box<Steps>),
    /// What the kernels of bale send, from PE to PE with a barrier at the end (docs/trace-format.md#bale). Element i of a distributed
    /// table is on PE i mod n, so that uniformly random elements are on uniformly random PEs; a PE's own cost no message.
    Bale {
        /// Which one.
        kernel: BaleKernel,
        /// The host of each PE, PE 0 first. Default all hosts.
        #[serde(default = "everybody")]
        hosts: Names,
        /// Elements that each PE changes or reads (bale: 5 million), or how many times all send to all, with a barrier after each.
        /// Needed but for all-to-all, which has 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 10_000_000))]
        updates: Option<u32>,
        /// Payload of an element, or of a block of all-to-all. Default 8 B (bale: integers of 64 bits).
        #[serde(default = "word")]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
        size: Quantity<Bytes>,
        /// In which order a PE sends its blocks. Only for all-to-all. Default rotated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<PeerOrder>,
        /// Whether a PE goes on when its put has left or its get has come (put and get of the standard). Else it goes on at
        /// once (`put_nbi`, `get_nbi`), and only the barrier waits. Default true.
        #[serde(default = "yes")]
        blocking: bool,
        /// How long a PE computes before each put or get. Default 0.
        #[serde(default = "zero_span")]
        compute: Quantity<Span>,
    },
    /// The ranks of a message-passing program: what each of them calls stands in a file (docs/programs.md).
    Program {
        /// Path, relative to the folder of the scenario file.
        #[schemars(length(min = 1))]
        file: String,
        /// The hosts that have ranks. Default all hosts.
        #[serde(default = "everybody")]
        hosts: Names,
        /// Ranks at each host. Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024))]
        ranks_per_host: u32,
        /// Which host each rank is at. Default block.
        #[serde(default)]
        placement: Placement,
        /// What message passing costs.
        #[serde(default)]
        mpi: Mpi,
    },
    /// The congestion test of GPCNeT 1.3 (`network_load_test`): on some hosts congestors, on the others network tests, first alone,
    /// then beside them. Hosts are drawn by the seed of the run. Whatever is scaled down says so at its key.
    Gpcnet(Gpcnet),
    /// No flows of its own: those that are injected while the run is stepped (docs/step.md).
    Injected {},
}

/// The steps of a job and the hosts of its ranks; those of storage stand after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// What the ranks do.
    pub job: backwater_traffic::generate::Job,
    /// Host indices.
    pub hosts: Vec<u32>,
}
