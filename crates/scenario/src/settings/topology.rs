//! `[topology]`
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ai_pod::{AiPod, Wiring};
use super::defaults::{eight, one};
use crate::quantity::Quantity;

/// Hosts, switches, links and routes. All links are full duplex; `delay` is one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Topology {
    /// Which paths there are, and which of them is chosen. Default ecmp, as in the TCD authors' and the HPCC simulator; in a torus and
    /// a mesh dimension-order, in a dragonfly minimal; with `table` that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// routing = table: a file of forwarding tables, relative to the folder of the scenario file. Each line has a switch, the node behind one
    /// of its ports (`spine0`, or `spine0:1` of several links), and the hosts that this port leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub table: Option<String>,
    /// Credits: whether packets change their virtual lane where their routing asks for it, so that they cannot wait for each other in
    /// a circle: dimension-order in a torus, minimal in a dragonfly. Packets of priority p then also use virtual lane p + 1; with valiant,
    /// ugal-l and ugal-g p + 2, too. Default true under credits with such a routing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<bool>,
    /// Credits: whether traffic may run whose frames can wait for each other's buffers in a circle, to study the deadlock.
    /// Default false: it is refused (InfiniBand routing must be free of deadlock; Dally and Seitz, 1987).
    #[serde(default)]
    pub allow_cycles: bool,
    /// routing = ugal-l or ugal-g: how the first switch of a packet compares its two ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ugal: Option<Ugal>,
    /// The graph.
    #[serde(flatten)]
    pub shape: Shape,
}

/// Universal globally-adaptive load balancing (Singh, Stanford 2005) in a dragonfly (Kim et al., ISCA 2008, section 4): a packet takes the
/// minimal way if q₁ ≤ 2 q₂ + bias, where q₁ is the queue on that way and q₂ the one on the way through a third group; else that.
/// Each is weighted by the global links ahead of the packet, as `ugal_dragonflynew` in `BookSim` does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Ugal {
    /// How much the minimal way is preferred. Default 0 (Kim et al.; `BookSim`: 30 flits).
    #[serde(default = "no_bytes")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub bias: Quantity<Bytes>,
    /// Which bytes are a queue. Default waiting.
    #[serde(default)]
    pub queue: UgalQueue,
    /// routing = ugal-g: how often a switch tells its group what waits at its global ports, while something does. It is known one
    /// link delay later. Default 100 ns (an idealisation: in the paper all is known at once).
    #[serde(default = "hundred_ns")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub every: Quantity<Span>,
}

impl Default for Ugal {
    fn default() -> Self {
        Self { bias: no_bytes(), queue: UgalQueue::default(), every: hundred_ns() }
    }
}

/// Which bytes speak against a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UgalQueue {
    /// Those that wait for it in its switch.
    #[default]
    Waiting,
    /// Credits: the same, and those that are in use on its link, for what is on the wire, waits at the other end, or has left there so
    /// lately that the port does not know of it (as in `BookSim`).
    Credits,
}

/// Which paths there are, and which of them is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// All shortest paths; by a hash of the flow, per switch.
    #[default]
    Ecmp,
    /// By the destination's number modulo the number of choices (D-mod-k), each level by its own digits; of parallel links
    /// too. All traffic to one destination meets at one top switch.
    DModK,
    /// Torus and mesh: one dimension after the other, each the shorter way round. Of two ways as long, up from even coordinates and down
    /// from odd ones.
    DimensionOrder,
    /// Dragonfly: within the group, one global link, within the other group. By a hash of the flow where several do.
    Minimal,
    /// Dragonfly: within the group minimal, else first to a third group, drawn for each packet of data (Valiant, SIAM J. Computing
    /// 1982; Kim et al., ISCA 2008, section 4). Receivers put packets in order; ACKs and CNPs are sent minimally.
    Valiant,
    /// Dragonfly: packet by packet minimal or valiant, whichever of their first ports has less before it (UGAL-L).
    UgalL,
    /// Dragonfly: packet by packet minimal or valiant, whichever of their first global links has less before it, wherever in the group it is
    /// (UGAL-G). An idealisation: no switch knows that.
    UgalG,
    /// As the file `topology.table` says, as subnet managers fill the tables of switches. Of several ports for one host the flow's hash takes
    /// one.
    Table,
}

impl Routing {
    /// Whether packets of one flow take different ways, through third groups.
    pub const fn is_around(self) -> bool {
        matches!(self, Self::Valiant | Self::UgalL | Self::UgalG)
    }
}

impl Topology {
    /// The routing, written or by default.
    pub const fn routes_by(&self) -> Routing {
        match (self.routing, &self.shape) {
            (Some(routing), _) => routing,
            (None, _) if self.table.is_some() => Routing::Table,
            (None, Shape::Torus { .. } | Shape::Mesh { .. }) => Routing::DimensionOrder,
            (None, Shape::Dragonfly { .. }) => Routing::Minimal,
            (None, _) => Routing::Ecmp,
        }
    }

    /// Whether GPUs of one number share switches that others do not have.
    pub const fn has_rails(&self) -> bool {
        matches!(&self.shape, Shape::Rail { .. } | Shape::AiPod(AiPod { wiring: Wiring::Rails, .. }))
    }
}

/// The graph, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Shape {
    /// Figure 2 of the TCD paper: hosts S0 to S2, R0, R1, A0 to A14; switches T0, T1, L0, T2; ports P0 to P3.
    #[serde(rename = "tcd-figure-2")]
    TcdFigure2 {
        /// Rate of all links. Default 40 Gbps (TCD paper §3.1).
        #[serde(default = "forty_gbps")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links. Default 4 µs (TCD paper §3.1).
        #[serde(default = "four_us")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
        /// Rate of the links of S0 and S1; default `rate`. The victim scenario (TCD paper, Table 3) has 20 Gbps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        source_rate: Option<Quantity<Rate>>,
        /// Whether L0 also has the hosts B0 to B3 (TCD paper, Fig. 20). Default false.
        #[serde(default)]
        fairness_hosts: bool,
    },
    /// The two-switch testbed of the TCD paper, Figure 11.
    TcdTestbed {
        /// Rate of all links. Default 10 Gbps (TCD paper §5.1).
        #[serde(default = "ten_gbps")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// Hosts l0, l1, … and r0, r1, … behind the switches left and right.
    Dumbbell {
        /// Hosts on the left.
        #[schemars(range(min = 1, max = 1023))]
        left: u32,
        /// Hosts on the right.
        #[schemars(range(min = 1, max = 1023))]
        right: u32,
        /// Rate of the host links.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
        /// Rate of the link between the switches; default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        bottleneck_rate: Option<Quantity<Rate>>,
    },
    /// Hosts h0, h1, … around one switch s.
    Star {
        /// Number of hosts.
        #[schemars(range(min = 1, max = 1024))]
        hosts: u32,
        /// Rate of all links.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// Two tiers, every leaf joined to every spine.
    LeafSpine {
        /// Number of leaves.
        #[schemars(range(min = 1, max = 1024))]
        leaves: u32,
        /// Number of spines.
        #[schemars(range(min = 1, max = 1024))]
        spines: u32,
        /// Hosts at each leaf.
        #[schemars(range(min = 1, max = 1024))]
        hosts_per_leaf: u32,
        /// Rate of the host links.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links between leaves and spines; default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        spine_rate: Option<Quantity<Rate>>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// The three-tier fat tree of switches with k ports: k³/4 hosts.
    FatTree {
        /// Ports per switch, even.
        #[schemars(range(min = 2, max = 158))]
        k: u32,
        /// Rate of all links.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// The k-ary n-tree (Petrini and Vanneschi, IPPS 1997): kⁿ hosts under n levels of kⁿ⁻¹ switches with k ports down and k up.
    /// Hosts h0, h1, …; switches s<level>.<number>, level 0 at the hosts. The ICI paper's network of 64 hosts is our reading:
    /// k = 4, n = 3.
    KAryNTree {
        /// Ports down, and ports up, of a switch.
        #[schemars(range(min = 2, max = 512))]
        k: u32,
        /// Levels of switches.
        #[schemars(range(min = 1, max = 15))]
        n: u32,
        /// Rate of all links. Default 100 Gbps (ICI paper, section 4.1).
        #[serde(default = "hundred_gbps")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links. Default 25 ns (ICI paper, section 4.1).
        #[serde(default = "twenty_five_ns")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// The two-level real-life fat tree (Zahavi et al., Concurrency and Computation 2010): leaves and spines with parallel
    /// links. Hosts h0, h1, …; switches leaf0, …, spine0, …; ports leaf0->spine0:0, leaf0->spine0:1, … if links is above 1.
    Rlft {
        /// Number of leaves.
        #[schemars(range(min = 1, max = 1024))]
        leaves: u32,
        /// Number of spines.
        #[schemars(range(min = 1, max = 1024))]
        spines: u32,
        /// Hosts at each leaf.
        #[schemars(range(min = 1, max = 1024))]
        hosts_per_leaf: u32,
        /// Parallel links between each leaf and each spine. Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024))]
        links: u32,
        /// Rate of all links. Default 100 Gbps (ICI paper, section 4.1).
        #[serde(default = "hundred_gbps")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links. Default 25 ns (ICI paper, section 4.1).
        #[serde(default = "twenty_five_ns")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// The extended generalized fat tree XGFT(h; m1, …; w1, …) (Öhring, Ibel, Das and Kumar, IPPS 1995): a switch of level l
    /// has m[l] neighbours below it and w[l + 1] above it. Hosts h0, h1, …; switches s<level>.<number>, level 0 at the hosts.
    /// A fat tree of 120 hosts with 12 per switch and full bisection is m = [12, 10], w = [1, 12].
    Xgft {
        /// Neighbours below a switch of each level, the lowest level first.
        #[schemars(length(min = 1, max = 15), inner(range(min = 1, max = 1024)))]
        m: Vec<u32>,
        /// Neighbours above a host, which is 1, and above a switch of each level but the top one.
        #[schemars(length(min = 1, max = 15), inner(range(min = 1, max = 1024)))]
        w: Vec<u32>,
        /// Rate of all links. Default 100 Gbps (PFT paper, section IV-B).
        #[serde(default = "hundred_gbps")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// Three tiers: in every pod leaves and aggregation switches, above them spines in planes (a folded Clos network). Hosts h0, h1, …;
    /// switches leaf<pod>.<i>, agg<pod>.<j>, spine<plane>.<m>; aggregation switch j of every pod is linked to plane j.
    Clos {
        /// Pods.
        #[schemars(range(min = 1, max = 1024))]
        pods: u32,
        /// Leaves in a pod.
        #[schemars(range(min = 1, max = 1024))]
        leaves: u32,
        /// Hosts at a leaf.
        #[schemars(range(min = 1, max = 1024))]
        hosts_per_leaf: u32,
        /// Capacity down over capacity up, of a leaf and of an aggregation switch: how many links they have up. Default [1, 1].
        #[serde(default = "full")]
        #[schemars(inner(range(min = 0.001, max = 1000.0)))]
        oversubscription: [f64; 2],
        /// Rate of the links of hosts.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links between leaves and aggregation switches. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        leaf_rate: Option<Quantity<Rate>>,
        /// Rate of the links between aggregation switches and spines. Default that of the tier below.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        spine_rate: Option<Quantity<Rate>>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// Rail-optimised (DGX reference architecture of NVIDIA; Alibaba HPN, SIGCOMM 2024): GPU j of every server, with a NIC of its own, is at the switch of
    /// rail j. Hosts gpu<server>.<j>; switches rail<unit>.<j>, spine0, …; what GPUs of one server exchange over the network takes
    /// the spines like all other.
    Rail {
        /// Units: servers that share a set of rail switches. Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024))]
        units: u32,
        /// Servers in a unit.
        #[schemars(range(min = 1, max = 1024))]
        servers: u32,
        /// GPUs of a server, which are as many rails. Default 8 (NVIDIA DGX).
        #[serde(default = "eight")]
        #[schemars(range(min = 1, max = 1024))]
        gpus: u32,
        /// Capacity down over capacity up of a rail switch: how many spines there are. Default 1.
        #[serde(default = "balanced")]
        #[schemars(range(min = 0.001, max = 1000.0))]
        oversubscription: f64,
        /// Rate of the links of GPUs.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links between rail switches and spines. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        spine_rate: Option<Quantity<Rate>>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// Servers of GPUs with a scale-up switch in each (`NVLink` and `NVSwitch` of NVIDIA DGX), and NICs at leaves, in one plane or two (Alibaba HPN,
    /// SIGCOMM 2024). A host is a GPU with a port to its scale-up switch and one to each of its leaves. Hosts gpu<server>.<j>; switches
    /// scaleup<server>, leaf<plane>.<unit>.<i>, spine<plane>.<pod>.<m>, core<plane>.<m>.<c>.
    AiPod(AiPod),
    /// The dragonfly (Kim, Dally, Scott and Abts, ISCA 2008) in the letters of the paper: groups of switches, each linked to all of its
    /// group, and every group to every other. Hosts h0, h1, …; switches sw<group>.<i>.
    Dragonfly {
        /// Switches in a group.
        #[schemars(range(min = 1, max = 1024))]
        a: u32,
        /// Hosts at a switch.
        #[schemars(range(min = 1, max = 1024))]
        p: u32,
        /// Global links of a switch.
        #[schemars(range(min = 1, max = 1024))]
        h: u32,
        /// Groups: at most a·h + 1, and such that a·h is a multiple of g − 1. Default a·h + 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 65536))]
        g: Option<u32>,
        /// Rate of the links of hosts.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links within groups. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        local_rate: Option<Quantity<Rate>>,
        /// Rate of the links between groups. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        global_rate: Option<Quantity<Rate>>,
        /// Delay of the links of hosts and within groups.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
        /// Delay of the links between groups. Default `delay`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        global_delay: Option<Quantity<Span>>,
    },
    /// A torus in up to 8 dimensions (k-ary n-cube; Dally, IEEE Trans. Computers 1990): a grid whose rows are closed to rings. Hosts
    /// h0, h1, …; switches sw<x>.<y>…
    Torus {
        /// Switches along each dimension.
        #[schemars(length(min = 1, max = 8), inner(range(min = 2, max = 1024)))]
        sizes: Vec<u32>,
        /// Hosts at each switch. Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024))]
        hosts_per_switch: u32,
        /// Rate of the links of hosts.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links between switches. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        switch_rate: Option<Quantity<Rate>>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// A mesh: a torus whose rows are not closed.
    Mesh {
        /// Switches along each dimension.
        #[schemars(length(min = 1, max = 8), inner(range(min = 2, max = 1024)))]
        sizes: Vec<u32>,
        /// Hosts at each switch. Default 1.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1024))]
        hosts_per_switch: u32,
        /// Rate of the links of hosts.
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        rate: Quantity<Rate>,
        /// Rate of the links between switches. Default `rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
        switch_rate: Option<Quantity<Rate>>,
        /// Delay of all links.
        #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
        delay: Quantity<Span>,
    },
    /// A `topology.txt` of the HPCC/ns-3 RoCE simulators, or of SimAI with its NVSwitches; its node i gets the name `n<i>`.
    Hpcc {
        /// Path, relative to the folder of the scenario file.
        #[schemars(length(min = 1))]
        file: String,
        /// Names of the switches within servers, such as `NVSwitch`: what each joins are the hosts of a server, which reach each other by it alone.
        /// They are linked to hosts only, and each host to at most one of them. A file of SimAI names them itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scale_up: Vec<String>,
    },
    /// A graph written out.
    Edges {
        /// Names of the hosts.
        hosts: Vec<String>,
        /// Names of the switches.
        #[serde(default)]
        switches: Vec<String>,
        /// Names of those switches that are within servers, such as `NVSwitch`: what each joins are the hosts of a server, which reach each other by it alone.
        /// They are linked to hosts only, and each host to at most one of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scale_up: Vec<String>,
        /// Whether several links may join two nodes. Default false: a second one is taken for a mistake. Ports have names such as
        /// leaf0->spine0:1 then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parallel_links: bool,
        /// The links.
        links: Vec<Edge>,
    },
}

/// A link between two named nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Edge {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub rate: Quantity<Rate>,
    /// One-way propagation delay.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub delay: Quantity<Span>,
}

const fn forty_gbps() -> Quantity<Rate> {
    Quantity(Rate::from_gbps(40))
}

const fn ten_gbps() -> Quantity<Rate> {
    Quantity(Rate::from_gbps(10))
}

const fn four_us() -> Quantity<Span> {
    Quantity(Span::from_us(4))
}

const fn no_bytes() -> Quantity<Bytes> {
    Quantity(Bytes::ZERO)
}

const fn hundred_ns() -> Quantity<Span> {
    Quantity(Span::from_ns(100))
}

const fn hundred_gbps() -> Quantity<Rate> {
    Quantity(Rate::from_gbps(100))
}

const fn twenty_five_ns() -> Quantity<Span> {
    Quantity(Span::from_ns(25))
}

const fn full() -> [f64; 2] {
    [1.0, 1.0]
}

const fn balanced() -> f64 {
    1.0
}
