//! The scenario file as types. Their doc comments are the descriptions in the JSON Schema and name the source of
//! each default; the values themselves stand in `profiles/`.
mod ai_pod;
mod arbitration;
mod choices;
mod collective;
mod combined;
mod credits;
mod defaults;
mod fault;
mod gpcnet;
mod host;
mod job;
mod kinds;
mod line_rate;
mod packet;
mod pfc;
mod preset;
mod probe;
mod program;
mod run;
mod scheme;
mod switch;
mod topology;
mod traffic;
mod trimming;
mod two_pools;
mod uec;
mod workload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::quantity::{AutoOr, WordOr};
pub use ai_pod::{AiPod, Wiring};
pub use arbitration::{VlArbitration, VlWeight};
pub use backwater_control::config::{Kinds, Parameter};
pub use backwater_control::detector::{ByRate, DetectorKind, DetectorSettings, MarkAt, MarkBasis, TcdParams};
pub use backwater_control::isolation::settings::{
    Apart, BfcParams, DrbcmParams, DstPfcParams, FloodgateParams, IciParams, IciPlusParams, NotifyOn, Pauses,
    PyrrhaParams, QueueClass, QueueOrder, Ramp, RecnParams, RootMatch, RootPace, Slots,
};
pub use backwater_control::isolation::{IsolationKind, IsolationSettings, KeyKind};
pub use backwater_control::notify::put::Reservation;
pub use backwater_control::reaction::pft::settings::{IntervalKind, PftParams, RuleKind};
pub use backwater_control::reaction::{CcKind, CcSettings, OnUe, Variant, settings::WindowCounts};
pub use backwater_control::reaction::{Polarity, Scope, ThrottleKind, ThrottleSettings};
pub use backwater_control::transport::reliability::{ReliabilityKind, ReliabilitySettings, RetryTimer};
pub use backwater_control::transport::settings::{FairnessKind, PolicyKind, PutSettings};
pub use choices::{
    Arrivals, BaleKernel, Full, Gaps, LoadCounts, PeerOrder, Rack, SizeChoice, Spread, TableName,
};
pub use collective::{Collective, CollectiveAlgorithm, CollectiveOp, RankPlacement};
pub use combined::{Combined, Crossbar};
pub use credits::{CreditStart, Credits, Returned};
pub(crate) use defaults::{everybody, six_hundred_ns, ten_us};

pub use fault::{Fault, FaultHandling, Instants, LinkRetry, Llr, OnStorm, PfcWatchdog};
pub use gpcnet::Gpcnet;
pub use host::{Host, HostPfc, Nic, NicAcks, NicPort, NicScheduler, Pattern, Transport};
pub use job::{Drawn, Job, JobPlacement, JobStep, PlacedBy, Straggler};
pub use line_rate::LineRate;
pub use packet::{Ack, Packet};
pub use pfc::{Form, Headroom, HeadroomRule, Pfc, ThresholdKind};
pub use preset::{NicPreset, NicProfile, SwitchPreset};
pub use probe::Probe;
pub use program::{AllreduceTest, BandwidthTest, Congestor, LatencyTest, Mpi, NetworkTest, Placement};
pub use run::{Clock, Run};
pub use scheme::Scheme;
pub use switch::{
    Arbiter, DropsEarly, EcmpHash, FlowControl, LoadBalancing, Lossy, LossyRed, OnOverflow, Queueing, Share,
    Switch, Switching,
};
pub use topology::{Edge, Routing, Shape, Topology, Ugal, UgalQueue};
pub use traffic::{Connection, Control, Draw, Listed, Names, Traffic};
pub use trimming::TrimmingSettings;
pub use two_pools::TwoPools;
pub use uec::{BaseRtt, Uec};
pub use workload::{Steps, Workload};

/// Which published system the values that the file does not give are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The TCD authors' ns-3 release (2022): 5 µs pauses, 1030 B units, microsecond clocks.
    Authors,
    /// RoCE as data centres run it: PFC until RESUME with dynamic thresholds and the headroom of IEEE 802.1Qbb, ECN, packets of
    /// 4096 B, and the HPCC simulator's model of a ConnectX-4 with NVIDIA's defaults, in which marks come back in ACKs and there are
    /// no CNPs. Memory, thresholds and increments follow the rate of the links, for which it is meant from 25 to 800 Gbps.
    #[default]
    Roce,
    /// The TCD paper read literally: pauses until RESUME, 1000 B packets, max(Ton) from its formula.
    Ideal,
    /// The HPCC/ns-3 RoCE simulator with the DCQCN settings of its `run.py` at 100 Gbps.
    HpccNs3,
    /// The `ConWeave` simulator on ns-3 (SIGCOMM 2023), which is HPCC's with the IRN of its authors: its memory, timers, PAUSEs by time and
    /// recovery, also where they are not what IRN or RDMA NICs do. It is meant for comparisons with that simulator.
    ConweaveNs3,
    /// Pyrrha's simulator on ns-3 (NSDI 2025) with its mistakes, for comparisons with it: hosts and clock as conweave-ns3, no PFC and no congestion
    /// control. `switch.isolation.kind` = bfc, dst-pfc or pyrrha chooses what acts.
    PyrrhaNs3,
    /// The InfiniBand fabric of the TCD paper: credits, virtual output queues, cut-through, 2048 B packets, IB CC. Give links
    /// their data rate: 32 Gbps for 40 Gbps of signalling (8b/10b).
    Infiniband,
    /// The network of the ICI paper: switches with ingress and egress regions and a speedup of 2, packets of 4 KiB, DCQCN as of
    /// SIGCOMM 2015. Isolation itself is off: `switch.isolation.kind` chooses one. Its links have 100 Gbps and 25 ns.
    Isolation,
    /// The network of the EC paper: PUTs in a lossy fabric, packets of 2 KiB and 64 B of header, receive queues of 81 KB. Hosts are as
    /// fast as their links until `host.drain` says otherwise. Its links have 102.4 Gbps and a round trip takes 8 µs.
    Endpoint,
    /// A network of the kind that the PFT paper measures in: 100 Gbps, credits that come back at once in flits of 16 B, virtual output
    /// queues, cut-through, one virtual lane, no congestion control. `host.throttle.kind` = pft throttles its hosts.
    Hpc,
    /// InfiniBand EDR, 100 Gbps of data: credits, packets of 4096 B, FECN and IB CC, one way to each destination, 90 ns a switch.
    Edr,
    /// InfiniBand HDR, 200 Gbps of data: the same with adaptive routing, 130 ns a switch.
    Hdr,
    /// InfiniBand NDR, 400 Gbps of data: as hdr, with larger credits.
    Ndr,
    /// InfiniBand XDR, 800 Gbps of data: as hdr, with larger credits.
    Xdr,
    /// An idealisation of HPE Slingshot (De Sensi et al., SC 2020): 200 Gbps, 350 ns a switch, adaptive routing, credits. A window by
    /// delay (Swift) stands for its congestion control, which is not published.
    SlingshotLike,
    /// Ultra Ethernet at 400 Gbps as the Consortium's simulator has it: NSCC, packets of 4150 B on the wire that switches trim, entropies.
    #[serde(rename = "uec-400g")]
    Uec400g,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Roce,
        Self::Authors,
        Self::Ideal,
        Self::HpccNs3,
        Self::ConweaveNs3,
        Self::PyrrhaNs3,
        Self::Infiniband,
        Self::Isolation,
        Self::Endpoint,
        Self::Hpc,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
        Self::Xdr,
        Self::SlingshotLike,
        Self::Uec400g,
    ];

    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Roce => "roce",
            Self::Authors => "authors",
            Self::Ideal => "ideal",
            Self::HpccNs3 => "hpcc-ns3",
            Self::ConweaveNs3 => "conweave-ns3",
            Self::PyrrhaNs3 => "pyrrha-ns3",
            Self::Infiniband => "infiniband",
            Self::Isolation => "isolation",
            Self::Endpoint => "endpoint",
            Self::Hpc => "hpc",
            Self::Edr => "edr",
            Self::Hdr => "hdr",
            Self::Ndr => "ndr",
            Self::Xdr => "xdr",
            Self::SlingshotLike => "slingshot-like",
            Self::Uec400g => "uec-400g",
        }
    }

    /// What it has instead of what all profiles start from, as TOML.
    pub(crate) const fn differences(self) -> &'static str {
        match self {
            Self::Roce => include_str!("../profiles/roce.toml"),
            Self::Authors => include_str!("../profiles/authors.toml"),
            Self::Ideal => include_str!("../profiles/ideal.toml"),
            Self::HpccNs3 => include_str!("../profiles/hpcc-ns3.toml"),
            Self::ConweaveNs3 => include_str!("../profiles/conweave-ns3.toml"),
            Self::PyrrhaNs3 => include_str!("../profiles/pyrrha-ns3.toml"),
            Self::Infiniband => include_str!("../profiles/infiniband.toml"),
            Self::Isolation => include_str!("../profiles/isolation.toml"),
            Self::Endpoint => include_str!("../profiles/endpoint.toml"),
            Self::Hpc => include_str!("../profiles/hpc.toml"),
            Self::Edr => include_str!("../profiles/edr.toml"),
            Self::Hdr => include_str!("../profiles/hdr.toml"),
            Self::Ndr => include_str!("../profiles/ndr.toml"),
            Self::Xdr => include_str!("../profiles/xdr.toml"),
            Self::SlingshotLike => include_str!("../profiles/slingshot-like.toml"),
            Self::Uec400g => include_str!("../profiles/uec-400g.toml"),
        }
    }

    /// What it shares with others, between its own values and what all start from.
    pub(crate) const fn shared(self) -> Option<&'static str> {
        match self {
            Self::Edr | Self::Hdr | Self::Ndr | Self::Xdr => {
                Some(include_str!("../profiles/infiniband-today.toml"))
            }
            Self::PyrrhaNs3 => Some(include_str!("../profiles/conweave-ns3.toml")),
            _ => None,
        }
    }
}

/// One simulation: a fabric, its traffic, its mechanisms and what to record.
///
/// Everything but `topology` and `traffic` has a default, which the profile sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The set of defaults for everything that is not written.
    #[serde(default)]
    pub profile: Profile,
    /// The run itself: seed, end, threads.
    pub run: Run,
    /// Which values follow the rate of the links.
    pub line_rate: LineRate,
    /// Hosts, switches, links and routes.
    pub topology: Topology,
    /// Data packets.
    pub packet: Packet,
    /// Acknowledgements.
    pub ack: Ack,
    /// Hosts: what they send with, how fast they receive.
    pub host: Host,
    /// All switches alike.
    pub switch: Switch,
    /// The default reaction point (congestion control).
    pub cc: CcSettings,
    /// What queue pairs do about packets that are lost.
    pub transport: ReliabilitySettings,
    /// The default protocol of PUTs.
    pub put: PutSettings,
    /// Flows of Ultra Ethernet.
    pub uec: Uec,
    /// Who sends what to whom. After them stand, in a scenario that is checked, those of the jobs.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
    /// Jobs: ranks at hosts of their own, that compute and communicate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job: Vec<Job>,
    /// What goes wrong: links that fail, packets that are lost, NICs that do not stop sending PAUSE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
    /// What the network does about it.
    pub fault_handling: FaultHandling,
    /// What is recorded. It never changes the run.
    pub probe: Probe,
    /// Schemes to compare: each is this scenario with other settings, and `backwater run` runs all of them. The
    /// scenario itself, without any, must be complete too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheme: Vec<Scheme>,
}
