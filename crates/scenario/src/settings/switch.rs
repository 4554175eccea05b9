//! `[switch]`
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Combined, Credits, DetectorSettings, IsolationSettings, Pfc, SwitchPreset, TrimmingSettings, TwoPools,
    VlArbitration,
};
use crate::quantity::Quantity;

/// Where packets wait in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queueing {
    /// At the egress port: one queue for each priority.
    Output,
    /// At the ingress port, in virtual output queues: one for each egress port and priority, served in turn.
    Voq,
    /// The same, but an egress port takes the packet that left its NIC first (age-based arbitration: Abts and Weisser, SC 2007; priority
    /// `age` of `BookSim`, which counts from the making of a packet).
    OldestFirst,
    /// At the ingress port: one FIFO for each priority, whose first packet holds up the others (Karol, Hluchyj and Morgan, IEEE
    /// Trans. Comm. 1987). Egress ports serve the FIFOs whose first packet is theirs in turn; a FIFO sends to one at a time.
    Input,
    /// At the egress port, in the order of arrival, in a memory from which all ports promise credits: `credits.buffer` of each port
    /// together. Each has what line rate takes for itself, and of the rest as much as it leaves free (Choudhury and Hahne, IEEE/ACM
    /// Trans. Networking 1998; IBM's SP2 switch has such a memory behind FIFOs with credits). Needs flow-control = credits.
    Shared,
    /// At the egress port, in the order of arrival, in a memory that is divided twice, as `[switch.two-pools]` says: among egress queues, which
    /// lose what is beyond their share, also under PFC, and among ingress ports.
    TwoPools,
    /// At both: first in the ingress region of the port it came in by, then in the egress region, as `[switch.combined]` says.
    /// A crossbar that is faster than the links lies between them.
    Combined,
}

/// When a switch begins to forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// When the whole packet has come in.
    StoreAndForward,
    /// When the first `header` bytes have come in.
    CutThrough,
}

/// What keeps the upstream port from sending more than a buffer can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControl {
    /// Priority flow control: PAUSE and RESUME (Ethernet), as `[switch.pfc]` says.
    Pfc,
    /// Credits (InfiniBand), as `[switch.credits]` says. Hosts take part.
    Credits,
    /// Nothing: `overflow` says what a full buffer does.
    None,
}

/// What a switch does with a packet for which it has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnOverflow {
    /// The run stops: a fabric that should be lossless has lost something.
    Stop,
    /// The packet is lost (tail drop). With queueing = two-pools; or with queueing = output, flow-control = none or pfc, and traffic that is sent again. Under PFC
    /// `[switch.lossy]` says what priorities may hold that are not in `pfc.priorities`.
    Drop,
    /// The same for priorities that are not in `pfc.priorities`; a packet of a lossless one for which there is no room stops the run.
    /// With flow-control = pfc.
    DropLossy,
    /// A packet of Ultra Ethernet is trimmed to its header, as `[switch.trimming]` says; any other one is lost, of priorities that are not under
    /// PFC. With queueing = output, flow-control = none or pfc, and traffic that is sent again.
    Trim,
}

/// Which queue of an egress port sends next. The control priority always goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbiter {
    /// One packet of each priority that may send, in turn.
    RoundRobin,
    /// The highest priority number that may send.
    Strict,
    /// Deficit round robin: as many bytes of each priority as its weight says, those of `[switch.isolation]` for its two classes,
    /// else those of `shares`, after those in `strict`. What a priority does not use the others get. With queueing = output or combined.
    Deficit,
    /// By the two tables of `[switch.vl-arbitration]` (InfiniBand specification).
    Weighted,
}

/// What a priority gets of a link that others want, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Share {
    /// The priority. The control priority has no share: it goes first.
    #[schemars(range(max = 7))]
    pub priority: u8,
    /// Its bytes, in proportion to those of the others. Per cents of ETS (IEEE 802.1Q, enhanced transmission selection) and `weight` of
    /// `SONiC`'s SCHEDULER are such numbers.
    #[schemars(range(min = 1, max = 100))]
    pub weight: u16,
}

/// Which of several equally short ways a packet of data takes. With any but the first, packets of a flow overtake each other, and
/// receivers put them in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBalancing {
    /// That of its flow's hash.
    Ecmp,
    /// A random one, packet by packet (Dixit et al., INFOCOM 2013).
    Spray,
    /// That of the packet before it in its flow, unless that came longer ago than `flowlet-gap`: then a random one (`LetFlow`, NSDI 2017).
    Flowlet,
    /// The one with the shortest queue in bytes, of those that are not paused if there are any (DRILL, SIGCOMM 2017).
    Adaptive,
    /// That of the hash of its flow and of the entropy that its sender gave the packet, as with ECMP on the source port or the entropy
    /// field of Ultra Ethernet. For ACKs, too. Queue pairs and PUTs have no entropies and go by ecmp.
    Entropy,
}

/// How the hash of a flow is computed, by which ecmp chooses among equally short ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcmpHash {
    /// Each switch mixes in a number of its own, so that switches choose independently of each other.
    Salted,
    /// As the TCD authors' release: addresses, ports, protocol and priority, the same at every switch, modulo the number of ways in the
    /// order of their neighbours. In a fat tree one link from each aggregation switch to the core is used. Ports are those that the
    /// release gives flows if its `SEED_NUMBER` is `run.seed` (6 there).
    FiveTuple,
    /// As Pyrrha-NS3: addresses and ports by `MurmurHash3`, seeded with the number of the switch, modulo the number of ways in the order of
    /// their links. Source ports count from 10000 by host in the order of the starts of flows, the destination port is 100.
    Murmur3,
}

/// What priorities may hold that are not lossless, beside lossless ones. In effect with flow-control = pfc and overflow = drop or
/// drop-lossy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Lossy {
    /// Memory that their egress queues share; it is taken from `switch.buffer`, and lossless priorities have the rest. All profiles:
    /// 2 MB (reconstructed: operators set it by switch, as `SONiC`'s `BUFFER_POOL`).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub pool: Quantity<Bytes>,
    /// An egress queue may hold so many times what the pool has free (Choudhury and Hahne, IEEE/ACM Trans. Networking 1998): a power of
    /// two. `dynamic_th` of `SONiC`'s `BUFFER_PROFILE` is its logarithm. All profiles: 1 (egress alpha of the `ConWeave` simulator).
    #[schemars(range(min = 0.007_812_5, max = 128.0))]
    pub alpha: f64,
    /// RED: what is dropped before the pool is full, as by WRED of switches.
    pub red: LossyRed,
}

/// Random early detection at the queues of lossy priorities: a packet that comes while its queue is long may be dropped
/// (Floyd and Jacobson, IEEE/ACM Trans. Networking 1993, on the bytes that wait before it; `SONiC`'s `WRED_PROFILE`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LossyRed {
    /// Which packets. All profiles: none.
    pub drops: DropsEarly,
    /// None is dropped up to this queue (`green_min_threshold`). All profiles: 5 KB (DCQCN paper, for marks).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmin: Quantity<Bytes>,
    /// All are dropped above this queue (`green_max_threshold`). All profiles: 200 KB (TCD paper §5.1, for marks).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmax: Quantity<Bytes>,
    /// Probability of a drop just below `kmax` (`green_drop_probability`). All profiles: 0.01 (DCQCN paper, for marks).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
}

/// Which packets RED drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropsEarly {
    /// None.
    None,
    /// Those that cannot be marked, such as ACKs and PUTs. Data of queue pairs is for the detector (`ecn_green` of `WRED_PROFILE`).
    NotCapable,
    /// All, whether they could be marked or not (`ecn_none` of `WRED_PROFILE`).
    All,
}

/// All switches alike: where packets wait, when they go on, and what holds them back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Switch {
    /// The device whose published values stand where the file has none; the profile has the others. Without it all are the profile's.
    /// docs/reference/presets.md has each value with its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<SwitchPreset>,
    /// Packet memory of one switch, shared by all ports; with queueing = combined the regions of `[switch.combined]` take its
    /// place. With flow-control = credits only what is not under credits, the control priority first of all, shares it: the rest
    /// has `credits.buffer`. authors: 18 MB (authors' release); ideal, infiniband, hpc, edr, hdr, ndr, xdr,
    /// slingshot-like: 9 MB (default of ns3-rdma); pyrrha-ns3: 1 GB (without limit there); conweave-ns3: 9 MB (its cases say theirs); hpcc-ns3,
    /// roce: 32 MiB (`run.py` at 100 Gbps); endpoint: 64 MiB (reconstructed: the EC paper does not say; what 64 ports can have by
    /// `port-buffer`).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub buffer: Quantity<Bytes>,
    /// What happens to a packet for which there is no room. endpoint: drop (EC paper, section III-B: "a lossy fabric with packet drops
    /// at switches"); conweave-ns3: drop (that simulator, with and without PFC); the other profiles: stop. Flow control and other queueing
    /// have no room for drop.
    pub overflow: OnOverflow,
    /// overflow = drop: most bytes that wait at an egress port, of all priorities but the control priority. All profiles: 1024 KB
    /// (the authors' public simulator, commit 6ef0eb3; the EC paper does not say).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub port_buffer: Quantity<Bytes>,
    /// Where packets wait. authors, ideal, hpcc-ns3: output (both ns-3 simulators); roce: output (a shared memory); infiniband:
    /// voq (TCD authors' flit-level model); hpc: voq (reconstructed: the PFT paper does not say; it has the receiver's buffer at
    /// the ingress, section III-A); isolation: combined (ICI paper, section 4.1: speedup, egress and ingress parts); pyrrha-ns3: output; conweave-ns3:
    /// two-pools (that simulator); endpoint:
    /// output (the EC authors' public simulator, commit 6ef0eb3); edr, hdr, ndr, xdr: voq (as infiniband); slingshot-like: voq (De Sensi
    /// et al., SC 2020, section II: requests wait for their output port at the input).
    pub queueing: Queueing,
    /// When a switch begins to forward a packet. authors, ideal, hpcc-ns3, conweave-ns3, pyrrha-ns3, roce: store-and-forward (the ns-3 simulators);
    /// infiniband: cut-through (TCD authors' flit-level model); hpc: cut-through (reconstructed: the PFT paper does not say; what routers of
    /// such networks do); isolation: store-and-forward (reconstructed: the ICI paper does not
    /// say); endpoint: cut-through (the EC authors' public simulator, commit 6ef0eb3); edr, hdr, ndr, xdr: cut-through (product briefs: less
    /// than a packet's time); slingshot-like: cut-through (as hdr).
    pub switching: Switching,
    /// cut-through: bytes that must have come in before a packet goes on. endpoint: 32 B (one flit of the EC authors' public
    /// simulator, commit 6ef0eb3); hpc: 32 B (reconstructed: `packet.header`); the other profiles: 20 B (local route header 8 B and base transport header 12 B, InfiniBand
    /// specification).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub header: Quantity<Bytes>,
    /// How long a switch takes with a frame besides waiting for its header and sending it: half of it is added to the delay of each of the
    /// switch's links. So paths, base round trips and credit loops have it. edr: 90 ns (product brief of Switch-IB 2); hdr: 130 ns
    /// (product brief of Quantum); ndr, xdr: 130 ns (as hdr; nothing is published); slingshot-like: 350 ns (De Sensi et al., SC 2020,
    /// section II); the other profiles: 0 (their sources have none, or count it as delay of links).
    #[schemars(extend("x-maximum" = "1ms"))]
    pub latency: Quantity<Span>,
    /// What keeps the upstream port from sending too much. pyrrha-ns3: none; authors, ideal, hpcc-ns3, conweave-ns3: pfc (their sources); roce: pfc; infiniband:
    /// credits (TCD paper §2.1); isolation: pfc (ICI paper, section 4.1); endpoint: none (EC paper, section I-B: a lossy fabric);
    /// hpc: credits (PFT paper, section III-A); edr, hdr, ndr, xdr: credits (InfiniBand specification); slingshot-like: credits (an
    /// idealisation).
    pub flow_control: FlowControl,
    /// Which queue of a port sends next. isolation: deficit (reconstructed: the ICI paper speaks of traffic class weights); the
    /// other profiles: round-robin (authors' release; the HPCC simulator; TCD authors' flit-level model).
    pub arbiter: Arbiter,
    /// Priority of CNPs: strictly first, under no flow control, not counted at the ingress (as in both ns-3 simulators,
    /// where its number is 0). All profiles: 7.
    #[schemars(range(max = 7))]
    pub control_priority: u8,
    /// Which of several equally short ways data takes; they are those of topology.routing = ecmp or minimal. ACKs and CNPs always go by
    /// their flow. hdr, ndr, xdr: adaptive (product briefs of Quantum switches), slingshot-like: adaptive (De Sensi et al., SC 2020,
    /// section II), both without those ways that are longer, and ecmp where topology.routing leaves no choice; edr: ecmp (a table has one
    /// port for a destination); the other profiles: ecmp (all the papers' simulators).
    pub load_balancing: LoadBalancing,
    /// load-balancing = ecmp: the hash of a flow. pyrrha-ns3: murmur3 (that simulator); the other profiles: salted;
    /// five-tuple is that of the authors' release.
    pub ecmp_hash: EcmpHash,
    /// load-balancing = flowlet: the longest time between two packets of a flow that go the same way in any case. All profiles: 500 µs
    /// (CONGA §3.4).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub flowlet_gap: Quantity<Span>,
    /// Priority flow control.
    pub pfc: Pfc,
    /// What priorities may hold that are not lossless.
    pub lossy: Lossy,
    /// Queues whose packets are trimmed.
    pub trimming: TrimmingSettings,
    /// Credit-based flow control.
    pub credits: Credits,
    /// Shares of a link with arbiter = deficit, as `[{ priority = 3, weight = 60 }, { priority = 0, weight = 40 }]`; each priority with
    /// traffic is in the list, or in `strict`. All profiles: none, so that all priorities have the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// Priorities that go strictly before those of `shares` with arbiter = deficit, as `[6]`; the highest first. `SONiC`'s SCHEDULER has
    /// STRICT for their queues. All profiles: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(max = 7)))]
    pub strict: Vec<u8>,
    /// Weights of the virtual lanes.
    pub vl_arbitration: VlArbitration,
    /// Shares of queueing = two-pools.
    pub two_pools: TwoPools,
    /// Regions and speedup of queueing = combined.
    pub combined: Combined,
    /// Congestion isolation.
    pub isolation: IsolationSettings,
    /// Congestion detection at the egress ports.
    pub detector: DetectorSettings,
}
