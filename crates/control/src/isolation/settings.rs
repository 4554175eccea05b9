//! The table in which people choose congestion isolation.
use alloc::borrow::Cow;

use backwater_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{CiConfig, Common, IciConfig, IciMarking, Isolation, KeyKind, NotifyConfig};
use crate::ConfigError;
use crate::config::{AutoOr, Quantity, Reads, kinds};
use crate::detector::Red;

kinds! {
    /// Which switches keep congesting flows apart, and how.
    IsolationKind;
    /// None does.
    None = "none" reads Reads::Only(&[]);
    /// Congestion isolation as of IEEE 802.1Qcz: whatever finds a long queue is congesting.
    Ci = "ci" reads Reads::All(&[]);
    /// Improved congestion isolation (ICI paper): only flows that fill the queue of a port nobody holds back are.
    Ici = "ici" reads Reads::All(&[]);
    /// ICI that also marks, where isolation does not suffice (ICI paper: ICI+).
    IciPlus = "ici-plus" reads Reads::All(&["ici"]);
    /// Backpressure flow control (NSDI 2022): flows have queues of their own at each egress port, and a long one is held at the next
    /// switch or NIC upstream. Needs queueing = output and flow-control = none.
    Bfc = "bfc" reads Reads::Only(&[]);
    /// PFC by destination, an ideal: a long queue holds what comes for its destination, and nothing else, at the next switch or NIC
    /// upstream. Needs queueing = output and flow-control = none.
    DstPfc = "dst-pfc" reads Reads::Only(&[]);
    /// Floodgate (CoNEXT 2021): a window for each destination between switches; what finds none left waits in a queue of its
    /// destination. Needs queueing = output and flow-control = none.
    Floodgate = "floodgate" reads Reads::Only(&[]);
    /// Pyrrha (NSDI 2025): what is on its way to a congested egress port, the root, waits apart from the others at each switch or NIC
    /// upstream. Needs queueing = output and flow-control = none.
    Pyrrha = "pyrrha" reads Reads::Only(&[]);
    /// Regional explicit congestion notification (HPCA 2005): what is on its way to a congested egress port, the root, waits in a queue of its
    /// own (SAQ) at each switch that was told of it; a long one is held upstream. Needs queueing = output and flow-control = none.
    Recn = "recn" reads Reads::Only(&[]);
    /// The same by the destinations of packets, which go to such a queue when they are first in the ordinary one (`HiPC` 2008).
    Fbicm = "fbicm" reads Reads::Only(&["recn"]);
    /// The same by ranges of destinations (TPDS 2013).
    Drbcm = "drbcm" reads Reads::Only(&["recn"]);
    /// FBICM whose roots alone mark packets, so that sources slow down (ICPP 2011). Needs a detector, and cc.kind other than none.
    Ccfit = "ccfit" reads Reads::Only(&["recn"]);
    /// Source flow control (IEEE P802.1Qdw; arXiv 2305.00538): a switch whose queue is long tells the sources of what comes how long to
    /// send nothing. Needs queueing = output; beside PFC or without it.
    Sfc = "sfc" reads Reads::Only(&[]);
}

impl IsolationKind {
    /// Whether switches keep a table of congesting flows, which go to a class of their own.
    pub const fn has_table(self) -> bool {
        matches!(self, Self::Ci | Self::Ici | Self::IciPlus)
    }

    /// Whether it is RECN or one of its heirs.
    pub const fn sets_aside(self) -> bool {
        matches!(self, Self::Recn | Self::Fbicm | Self::Drbcm | Self::Ccfit)
    }
}

/// In which order the queues of a pool are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueOrder {
    /// One packet of each queue that may send, in turn.
    RoundRobin,
    /// The lowest number first.
    LowestFirst,
}

/// Backpressure flow control (NSDI 2022). A queue is too long that takes more than its part of what a link takes in a round trip: the
/// round trip to the switch or NIC upstream at the rate of the egress port, over the queues that have packets and may send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BfcParams {
    /// Queues of an egress port and priority. pyrrha-ns3: 7 (it has eight, one for control frames); the other profiles: 32
    /// (`bfc_32Q` in `config-bfc.ini` of that simulator). Flows share them
    /// at random when all are taken.
    #[schemars(range(min = 2, max = 1024))]
    pub queues: u16,
    /// For how many round trips to the node upstream a flow that has no packets at a port keeps its queue there. All profiles: 2
    /// (`STICKY_TH` of Pyrrha-NS3).
    #[schemars(range(max = 1000))]
    pub sticky: u16,
    /// Which queue sends next. pyrrha-ns3: lowest-first (a mistake: it means round robin); the other profiles: round-robin.
    pub order: QueueOrder,
    /// Size of a frame that holds a queue or lets it go, on the wire. All profiles: 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// When a destination has a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// At every egress port, always; the queues send in turn.
    Always,
    /// At a port where it is held, until its packets have left; the others have one queue, which goes first.
    Held,
}

/// PFC by destination. What a port sends in a round trip to the node upstream, without the time on the wire, is a hop: a queue holds its
/// destination from so many hops on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DstPfcParams {
    /// When a destination has a queue of its own. pyrrha-ns3: held; the other profiles: always (an ideal: no destination
    /// waits behind another one).
    pub apart: Apart,
    /// A queue longer than so many hops holds its destination. All profiles: 2 (Pyrrha-NS3).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub high: f64,
    /// A queue of at most so many hops lets it go; at most `high`. All profiles: 1 (Pyrrha-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub low: f64,
    /// apart = held: whether ACKs and the first packet of a flow go before all that is not held. pyrrha-ns3: true (there with windows all
    /// that is sent before the first ACK); the other profiles: false.
    pub first_packets: bool,
    /// Size of a frame that holds a destination or lets it go, on the wire. All profiles: 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// Floodgate (CoNEXT 2021). A switch lets so much be under way to a destination: `window` times what the next link takes in a round trip without
/// the time on the wire, and what it takes in `interval`. What has left the next switch is given back by frames. Hosts of a switch's own need no
/// window there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FloodgateParams {
    /// Round trips of the next link in a window. All profiles: 1.5 (`SWITCH_WIN_M` of Floodgate-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub window: f64,
    /// How often a switch gives back what it owes. All profiles: 10 µs (`SWTICH_CREDIT_INTERVAL` of Floodgate-NS3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub interval: Quantity<Span>,
    /// So many bytes owed to one port are given back at once; 1 B: each packet by itself, and windows have no part for the interval.
    /// pyrrha-ns3: 10.24 MB, so that the interval comes first; the other profiles: 10240 B (`SWTICH_BYTE_COUNTER` of Floodgate-NS3).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub count: Quantity<Bytes>,
    /// A destination is given back nothing while more waits for it than so many round trips of the fastest port of the switch. All profiles:
    /// 1.5 (`SWITCH_ACK_TH_M` of Floodgate-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub delay: f64,
    /// Queues of a switch for what finds no window left, one for each destination; when none is free, destinations share one by a hash. All
    /// profiles: 100 (Floodgate-NS3).
    #[schemars(range(min = 1, max = 65000))]
    pub voqs: u16,
    /// Size on the wire of a frame that gives back, without its entries; with them at least 64 B (least Ethernet frame). pyrrha-ns3: 58 B;
    /// the other profiles: 38 B (reconstructed: Ethernet and IPv4).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub frame: Quantity<Bytes>,
    /// What a destination takes in such a frame. pyrrha-ns3: 23 B (a mistake: its bits are counted as bytes); the other profiles: 8 B
    /// (reconstructed: an address and a count of 4 B each).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "100B"))]
    pub entry: Quantity<Bytes>,
}

/// Which queue a packet waits in that has several roots on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RootMatch {
    /// That of the nearest one; of a farther one as long as others wait there, which it would overtake.
    Nearest,
    /// That of the farthest one.
    Farthest,
}

/// How often the isolation queues of a port give a packet to its ordinary queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RootPace {
    /// Each in the time that a largest packet takes at its port.
    OwnPort,
    /// Each in the time that it takes at the last port of the switch.
    LastPort,
}

/// Pyrrha (NSDI 2025). What a port sends in a round trip to the node upstream, without the time on the wire, is a hop: a longer queue holds
/// its root there from so many hops on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PyrrhaParams {
    /// Isolation queues of an egress port and priority. A root for which none is left holds the whole port. pyrrha-ns3: 1000 (there as many
    /// as it needs); the other profiles: 32 (reconstructed).
    #[schemars(range(min = 1, max = 1000))]
    pub queues: u16,
    /// A queue longer than so many hops holds its root. All profiles: 2 (`TH_CONGESTION` of Pyrrha-NS3).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub high: f64,
    /// A queue shorter than so many hops lets it go; at most `high`. All profiles: 1 (`TH_RESUME` of Pyrrha-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub low: f64,
    /// A port to a higher tier is a root only with more than so many times the mean queue of the ports of its switch to higher tiers; 0:
    /// always. pyrrha-ns3: 0 (a mistake: its test is always true); the other profiles: 2 (`TH_HOL` in `config-CI.ini` of Pyrrha-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub hol: f64,
    /// Whether only ports to lower tiers and hosts are roots. All profiles: false (Pyrrha-NS3).
    pub only_down: bool,
    /// Whether a root becomes a part of another one that lies behind it. All profiles: true (`CONGESTION_MERGE` of Pyrrha-NS3).
    pub merge: bool,
    /// Which queue a packet waits in that has several roots on its way. All profiles: nearest (`NEAREST_MATCH` of Pyrrha-NS3).
    pub r#match: RootMatch,
    /// How often an isolation queue gives a packet to the ordinary queue of its port. pyrrha-ns3: last-port; the other profiles:
    /// own-port (reconstructed).
    pub pace: RootPace,
    /// Size of a frame that says what becomes of a root, on the wire. pyrrha-ns3: 58 B; the other profiles: 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// RECN (HPCA 2005), and what FBICM, DRBCM and CCFIT share with it. What a port sends in a round trip to the node upstream, without the time on
/// the wire, is a hop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecnParams {
    /// Set-aside queues (SAQs) of an egress port and priority. Off for one that found none left holds the whole port. All profiles: 8
    /// (reconstructed).
    #[schemars(range(min = 1, max = 1000))]
    pub queues: u16,
    /// An egress queue longer than so many hops makes its port a root. All profiles: 1 (reconstructed: before anything is held).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub detect: f64,
    /// More bytes of an ingress port than so many hops are set aside upstream, too; at most `high`. All profiles: 0.5 (reconstructed).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub notify: f64,
    /// Beyond so many hops they are held there. All profiles: 2 (reconstructed: `TH_CONGESTION` of Pyrrha-NS3).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub high: f64,
    /// At most so many hops are let go; at most `high`. All profiles: 1 (reconstructed: `TH_RESUME` of Pyrrha-NS3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub low: f64,
    /// Whether the queues of a port send in turn, or the lowest first: the ordinary one, then SAQs by number. All profiles: round-robin
    /// (reconstructed).
    pub order: QueueOrder,
    /// Size of a frame that says what becomes of a SAQ, on the wire. All profiles: 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// DRBCM (TPDS 2013).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DrbcmParams {
    /// Hosts with successive numbers that are one destination: the first so many, the next, and so on. All profiles: 8 (reconstructed).
    #[schemars(range(min = 1, max = 65000))]
    pub range: u32,
}

/// What a source pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pauses {
    /// All that it sends in the priority: the switch before it takes the signal, and pauses the host as by PFC.
    Priority,
    /// The flow of the packet: its NIC takes the signal.
    Flow,
}

/// Source flow control. A packet that finds more than `threshold` in its egress queue makes its source pause. That lasts as long as the
/// port takes for what is beyond `target`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SfcParams {
    /// A queue longer than this makes sources pause. All profiles: 100 KB (reconstructed: no source at hand
    /// has a number).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub threshold: Quantity<Bytes>,
    /// What the queue is to hold when a pause is over; less than `threshold`. All profiles: 50 KB (reconstructed: half of `threshold`).
    #[schemars(extend("x-minimum" = "0B", "x-maximum" = "1GB"))]
    pub target: Quantity<Bytes>,
    /// What a source pauses. All profiles: priority (IEEE P802.1Qdw as it is known: hosts need only PFC).
    pub pauses: Pauses,
    /// Whether the switch before a source remembers which destinations signals were about, and makes its other hosts pause that send there.
    /// All profiles: false (reconstructed: the abstract of arXiv 2305.00538 names the caching of signals, and no rule).
    pub cache: bool,
    /// Size of a signal on the wire. All profiles: 64 B (reconstructed: least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// How many slots a CFT has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Slots {
    /// So many.
    Limit(u32),
    /// As many as are asked for.
    Unlimited(Unlimited),
}

/// The word `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlimited {
    /// No limit.
    Unlimited,
}

impl JsonSchema for Slots {
    fn schema_name() -> Cow<'static, str> {
        "Slots".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of slots, or \"unlimited\".",
            "anyOf": [
                { "type": "integer", "format": "uint32", "minimum": 0, "maximum": 1_000_000 },
                { "type": "string", "const": "unlimited" },
            ],
        })
    }
}

/// When the upstream neighbour is notified of an isolated flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotifyOn {
    /// When the congested-flow queue (CFQ) of an ingress port has grown to `level`.
    Level,
    /// With its first packet in the CFQ, however short that is (IEEE 802.1Qcz).
    Allocation,
}

/// Congestion isolation messages (CIM): they tell the upstream neighbour to isolate a flow, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cim {
    /// on = level: bytes in the CFQ of an ingress port. Default 8/50 of `combined.stop`, 32 KiB of 200 KiB (reconstructed: the ICI
    /// paper does not say; well below the CFQ's stop of 17/50, so that the neighbour knows before it is paused).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub level: Option<Quantity<Bytes>>,
    /// When a flow's first CIM is sent. All profiles: level (reconstructed: the ICI paper does not say).
    pub on: NotifyOn,
    /// Least time between two CIMs for a flow through one ingress port; a later one is sent only for packets that the neighbour
    /// has not isolated. All profiles: 4 µs (reconstructed: the ICI paper does not say; a CIM has acted by then on short links).
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub gap: Quantity<Span>,
    /// CIMs for a flow through one ingress port at most; 0: any number. All profiles: 0; IEEE 802.1Qcz has 3.
    pub most: u8,
    /// Size of a CIM on the wire. All profiles: 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
}

/// What one of the two queue classes of a port may take: NFQ (normal flows) or CFQ (congested flows).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QueueClass {
    /// PAUSE of the class from this many bytes of it at one ingress port on. Default 22/50 of `combined.stop` for the NFQ, 17/50
    /// for the CFQ (ICI paper, section 4.1: 22, 17 and 50 packets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub stop: Option<Quantity<Bytes>>,
    /// RESUME at or below this. Default 20/50 of `combined.stop` for the NFQ, 15/50 for the CFQ, or 0.9 of `stop` where that is given
    /// (ICI paper, section 4.1: "proportionally lower" than 22 and 17 packets, as 45 is than 50; in whole packets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub go: Option<Quantity<Bytes>>,
    /// Bytes of the class at one egress port at most, beyond which the crossbar moves none of it. Default 36/64 of `combined.egress`
    /// for the NFQ, 28/64 for the CFQ (reconstructed: the ICI paper does not say; 22:17. Without a cap a full CFQ would close
    /// the egress to the NFQ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub cap: Option<Quantity<Bytes>>,
    /// arbiter = deficit: its part of a link that both want. Default 22 for the NFQ, 17 for the CFQ (reconstructed: the ICI paper
    /// derives its thresholds from weights that it does not give).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<u16>,
}

/// A marking ramp: none up to `kmin`, then more and more, all above `kmax`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ramp {
    /// No mark up to this queue. Default 8/64 of `combined.egress` for isolated flows, 10/64 for others (reconstructed: the ICI
    /// paper does not say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmin: Option<Quantity<Bytes>>,
    /// Always a mark above this queue. Default 24/64 of `combined.egress` for isolated flows, 40/64 for others (reconstructed: the
    /// ICI paper does not say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub kmax: Option<Quantity<Bytes>>,
    /// Probability of a mark just below `kmax`. All profiles: 1 for isolated flows, 0.2 for others (reconstructed: the ICI paper
    /// does not say; 0.2 is that of the HPCC simulator's `run.py`).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
}

/// What ICI and ICI+ have beyond CI: what a root is. The ICI paper names no value; all are reconstructed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IciParams {
    /// A port that flow control has held back within this time is no root. auto: the time in which the slowest host link sends
    /// 2 · `detect`, 7.86432 µs at 100 Gbps (reconstructed: the queue that the pause made has left by then).
    pub guard: AutoOr<Span>,
    /// Least bytes for one destination in the queue of a root. Default two packets on the wire (reconstructed: a single packet is no
    /// tree).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub quorum: Option<Quantity<Bytes>>,
    /// Least share of the queue that the destination of a congesting flow has. All profiles: 0.5 (reconstructed: it dominates
    /// the queue).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// How long a released flow is remembered outside the table; 0: not at all. All profiles: 0 (reconstructed: the ICI paper
    /// names the loss of history as a problem, and no cure).
    #[schemars(extend("x-maximum" = "1s"))]
    pub history: Quantity<Span>,
}

/// What ICI+ has beyond ICI: when it marks. The ICI paper names no value; all are reconstructed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IciPlusParams {
    /// How long after the CFT refused a flow marking goes on. All profiles: 20 µs (reconstructed: a few round trips).
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
    pub overflow: Quantity<Span>,
    /// Age from which a flow that this switch isolated itself is marked even without overflow. All profiles: 2 ms (reconstructed:
    /// above the 1 ms of the paper's trees, which it says are not marked, and below its long flow, which is).
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
    pub persist: Quantity<Span>,
    /// Least time between two marks of one isolated flow. All profiles: 50 µs (the receiver's least time between CNPs, DCQCN,
    /// SIGCOMM 2015; more marks would tell it nothing).
    #[schemars(extend("x-maximum" = "1s"))]
    pub mark_gap: Quantity<Span>,
    /// Marking of isolated flows, on the CFQ of the egress port.
    pub congested: Ramp,
    /// Marking of congesting flows that the CFT refused, on the NFQ of the egress port.
    pub monitored: Ramp,
}

/// Congestion isolation: flows of a congestion tree have a queue of their own at every port, the congested-flow queue (CFQ), so
/// that all others, in the normal-flow queue (NFQ), do not wait behind them: ci, ici and ici-plus, which need queueing = combined. bfc,
/// dst-pfc, pyrrha, recn and its heirs hold queues upstream instead, and sfc pauses sources; they need queueing = output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Isolation")]
pub struct IsolationSettings {
    /// Which isolation; the table of that name has what it alone reads. All profiles: none.
    pub kind: IsolationKind,
    /// The priority whose flows are watched and isolated: the NFQ. Default the priority of the traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
    /// The priority of the CFQ, on the wire, too; no traffic entry may use it. Default the next one below `priority` (above it for
    /// priority 0), without the control priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub cfq_priority: Option<u8>,
    /// Slots of the CFT of a switch, or "unlimited". ci takes one for an entry and one for each ingress port that it comes through, ici
    /// and ici-plus one for an entry. All profiles: 32 (reconstructed: the ICI paper does not say; one of its trees of 16 senders
    /// fits and four do not, as it reports).
    pub slots: Slots,
    /// What an entry stands for. All profiles: pair (ICI paper: flows; with one host at each end a pair of hosts is one).
    pub key: KeyKind,
    /// NFQ of an egress port from which on a packet's flow may be congesting. Default 12/64 of `combined.egress`, 48 KiB of 256 KiB
    /// (reconstructed: the ICI paper does not say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub detect: Option<Quantity<Bytes>>,
    /// Least time between the last packet of an entry in a CFQ and its release. All profiles: 10 µs (reconstructed: the ICI paper
    /// does not say; IEEE 802.1Qcz allows up to 1 s).
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
    pub residency: Quantity<Span>,
    /// Congestion isolation messages.
    pub cim: Cim,
    /// Whether hosts take part: a CIM makes a host send a flow with `cfq-priority`. All profiles: true (IEEE 802.1Qcz allows it).
    pub nic: bool,
    /// How long after the last CIM a host goes on to do so. All profiles: 200 µs (reconstructed: the ICI paper does not say).
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "10s"))]
    pub nic_hold: Quantity<Span>,
    /// NFQ of an ingress port from which on half of `detect` suffices for its flows; 0: never. All profiles: 0 (ICI paper,
    /// section 3: optional).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub early: Quantity<Bytes>,
    /// The queue class of normal flows.
    #[serde(default)]
    pub nfq: QueueClass,
    /// The queue class of congested flows.
    #[serde(default)]
    pub cfq: QueueClass,
    /// kind = ici and ici-plus: what a root is.
    pub ici: IciParams,
    /// kind = ici-plus: when it marks.
    pub ici_plus: IciPlusParams,
    /// kind = bfc: its queues.
    pub bfc: BfcParams,
    /// kind = dst-pfc: its queues.
    pub dst_pfc: DstPfcParams,
    /// kind = floodgate: its windows and queues.
    pub floodgate: FloodgateParams,
    /// kind = pyrrha: its roots and queues.
    pub pyrrha: PyrrhaParams,
    /// kind = recn, fbicm, drbcm and ccfit: their roots and queues.
    pub recn: RecnParams,
    /// kind = drbcm: its ranges.
    pub drbcm: DrbcmParams,
    /// kind = sfc: when sources pause, and what.
    pub sfc: SfcParams,
}

fn bytes(given: Option<Quantity<Bytes>>) -> Bytes {
    given.map_or(Bytes::ZERO, |given| given.0)
}

impl Slots {
    /// How many; `None`: as many as are asked for.
    pub const fn limit(self) -> Option<u32> {
        match self {
            Self::Limit(slots) => Some(slots),
            Self::Unlimited(_) => None,
        }
    }
}

impl Ramp {
    fn resolve(&self, key: &'static str) -> Result<Red, (Option<&'static str>, ConfigError)> {
        Red::new(bytes(self.kmin), bytes(self.kmax), self.pmax, Bytes::ZERO)
            .map_err(|error| (Some(key), error))
    }
}

impl IsolationSettings {
    /// The rules; `None` without isolation. `guard` is what [`IciParams::guard`] stands for; sizes that are not given count as 0.
    ///
    /// # Errors
    /// What the rules refuse, with the ramp of [`IciPlusParams`] that it is about, if it is about one.
    pub fn resolve(&self, guard: Span) -> Result<Option<Isolation>, (Option<&'static str>, ConfigError)> {
        let (common, ici) = (self.common(), &self.ici);
        let ici = IciConfig {
            common,
            guard,
            quorum: bytes(ici.quorum),
            share_ppm: libm::round(ici.share * 1e6) as u32,
            history: Some(ici.history.0).filter(|&history| history > Span::ZERO),
            marking: None,
        };
        let rules = match self.kind {
            IsolationKind::None
            | IsolationKind::Bfc
            | IsolationKind::DstPfc
            | IsolationKind::Floodgate
            | IsolationKind::Pyrrha
            | IsolationKind::Recn
            | IsolationKind::Fbicm
            | IsolationKind::Drbcm
            | IsolationKind::Ccfit
            | IsolationKind::Sfc => {
                return Ok(None);
            }
            IsolationKind::Ci => Isolation::Ci(CiConfig { common }),
            IsolationKind::Ici => Isolation::Ici(ici),
            IsolationKind::IciPlus => {
                let plus = &self.ici_plus;
                let marking = IciMarking {
                    overflow: plus.overflow.0,
                    persist: plus.persist.0,
                    gap: plus.mark_gap.0,
                    congested: plus.congested.resolve("congested")?,
                    monitored: plus.monitored.resolve("monitored")?,
                };
                Isolation::Ici(IciConfig { marking: Some(marking), ..ici })
            }
        };
        rules.validate().map(|()| Some(rules)).map_err(|error| (None, error))
    }

    fn common(&self) -> Common {
        let cim = &self.cim;
        Common {
            detect: bytes(self.detect),
            residency: self.residency.0,
            notify: NotifyConfig {
                level: bytes(cim.level),
                on_allocation: cim.on == NotifyOn::Allocation,
                gap: cim.gap.0,
                most: Some(cim.most).filter(|&most| most > 0),
            },
            early: Some(self.early.0).filter(|&early| early > Bytes::ZERO),
        }
    }
}
