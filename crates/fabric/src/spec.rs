//! Everything a run needs to know, already resolved and checked: what `scenario` builds and [`crate::Simulation`] runs.
use std::sync::Arc;

use backwater_control::arbitration::VlEntry;
use backwater_control::detector::{Detector, MarkAt, MarkBasis, Red};
use backwater_control::flow_control::{Bands, CreditReturn, Form, LossyPool, Threshold, Trimming, Unit};
use backwater_control::isolation::{Isolation, KeyKind};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::ReactionConfig;
use backwater_topology::{Network, Routes};
use backwater_traffic::Flow;
use backwater_traffic::program::Programs;
use backwater_traffic::trace::Step;
use backwater_units::{Bytes, Rate, Span};
use borsh::{BorshDeserialize, BorshSerialize};

mod balancing;
mod clock;
mod endpoint;
mod fault;
mod job;
mod keyed;
mod put;
mod reliability;
mod throttle;
mod two_pools;
mod uec;

use crate::switch::forwarding::ecmp::PathHash;
use crate::user::UserSpec;

pub use balancing::{Around, Balancing, QueueOf};
pub use clock::Clock;
pub use endpoint::{DrainSpec, EndpointSpec};
pub use fault::{Change, FaultChange, FaultSpec, LossShare, LossSpec, WatchdogAction};
pub use job::{Gate, JobSpec};
pub use keyed::{
    Apart, BfcSpec, DstPfcSpec, FloodgateSpec, Pace, Pauses, PoolOrder, PyrrhaSpec, RecnSpec, SfcSpec,
};
pub use put::PutSpec;
pub use reliability::{ReliableSpec, Repeat};
pub use throttle::ThrottleSpec;
pub use two_pools::TwoPoolsSpec;
pub use uec::{MOST_UEC_RANGE, UecCredits, UecSpec, UecWindow};

/// A fabric, its traffic and what to observe.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Seed of every random stream and of the order of ties.
    pub seed: u64,
    /// Nodes and links.
    pub network: Network,
    /// Next hops.
    pub routes: Routes,
    /// What is sent, sorted by start; the index is the flow's number everywhere.
    pub flows: Vec<Flow>,
    /// By flow, the number that its paths are drawn by; empty: its own.
    pub numbers: Vec<u32>,
    /// Priorities that have queues though no flow may have them: those of flows that are injected.
    pub idle: Vec<u8>,
    /// What starts the flows that have [`backwater_units::Time::MAX`] as their start.
    pub steps: Vec<Step>,
    /// Ranks whose programs give messages to the flows with [`backwater_traffic::Pacing::Messages`].
    pub programs: Programs,
    /// The jobs among the traffic entries.
    pub jobs: Vec<JobSpec>,
    /// How time is kept.
    pub clock: Clock,
    /// Data packets.
    pub packet: PacketSpec,
    /// All switches alike.
    pub switch: SwitchSpec,
    /// The kinds of queue pairs, at least one.
    pub pairs: Vec<PairSpec>,
    /// The kind of each traffic entry's queue pairs, by [`Flow::group`]; entries beyond the list have the first.
    pub pair_of: Vec<u16>,
    /// The kinds of PUT streams.
    pub puts: Vec<PutSpec>,
    /// By traffic entry: the kind of its PUTs; entries without one, or beyond the list, have queue pairs of RoCE. PUTs are spaced by
    /// their policy only: their flows are not [`backwater_traffic::Pacing::Constant`].
    pub put_of: Vec<Option<u16>>,
    /// The kinds of flows of Ultra Ethernet.
    pub uecs: Vec<UecSpec>,
    /// By traffic entry: the kind of its flows of Ultra Ethernet; entries without one, or beyond the list, have other transports. Each flow
    /// has a size or no end, and a connection of its own; hosts have one port.
    pub uec_of: Vec<Option<u16>>,
    /// The receive queue of each host, by host index; hosts without one, or beyond the list, take what comes at once.
    pub endpoints: Vec<Option<EndpointSpec>>,
    /// How NICs serve what they have to send.
    pub nic: NicSpec,
    /// By traffic entry: how many messages of a queue pair are under way, each in memory of its own. Entries beyond the list: one.
    pub depths: Vec<u32>,
    /// What holds back hosts that use many credits. Only with [`SwitchSpec::credits`].
    pub throttle: Option<ThrottleSpec>,
    /// What goes wrong.
    pub faults: FaultSpec,
    /// Functions of the user's own.
    pub user: UserSpec,
    /// What is recorded.
    pub probe: ProbeSpec,
    /// Whether a switch may run its ports one after the other through a window in which none can affect another.
    /// The outcome is the same; `false` is for measuring and testing the path that always keeps the order.
    pub batching: bool,
    /// Whether iterations that start from the same state are counted ([`crate::Simulation::run_reusing`]).
    pub reuse: bool,
}

impl Spec {
    /// Whether packets of one flow leave a host by several ports.
    #[must_use]
    pub fn sprays(&self) -> bool {
        self.nic.port == PortRule::Spray && self.network.with_several_ports().is_some()
    }
}

/// Data packets: a flow of `size` bytes is sent as ceil(size / payload) packets, the last one shorter or padded.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpec {
    /// Data bytes of a full packet.
    pub payload: Bytes,
    /// Bytes added to each on the wire.
    pub header: Bytes,
    /// Whether every packet is as long as a full one on the wire: "each packet has a fixed MTU of 4 KB" (ICI paper, section 4.1).
    /// The bytes added count for nobody but the wire and the queues.
    pub padded: bool,
}

/// How the NIC of a host serves what it has to send. ACKs and CNPs leave before data, PUTs in turn with queue pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NicSpec {
    /// Which queue pair sends next.
    pub scheduler: NicScheduler,
    /// By which port a queue pair of a host with several sends.
    pub port: PortRule,
    /// Whether a PAUSE of their priority does not hold ACKs that wait at the NIC. Without credits only.
    pub acks_ignore_pause: bool,
    /// What its queue pairs and its receiver take their time for, if for anything.
    pub costs: Option<NicCosts>,
}

/// What a NIC takes its time for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct NicCosts {
    /// From posting a message to its first packet.
    pub post: Span,
    /// Between two messages of a queue pair: from the last bit of one to the first bit of the next.
    pub gap: Span,
    /// Least time between the first packets of two messages of the NIC, whatever their queue pairs.
    pub interval: Span,
    /// What a queue pair that was idle sends at a rate of its own: so many bytes, headers included.
    pub start: Option<(Bytes, Rate)>,
    /// From the packet that a CNP answers to the CNP.
    pub cnp: Span,
}

/// Which queue pair of a NIC sends next, of those whose next packet is due and whose priority may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NicScheduler {
    /// Packet by packet in turn over all priorities, in the order of their arrival: the next one after the one that sent last. A
    /// queue pair arrives when it first has something to send; those of ranks are there from the beginning.
    #[default]
    RoundRobin,
    /// The one that has been due for longest; of those the one of the highest priority, then the one with the lowest number.
    LongestDue,
}

/// By which of the ports on shortest ways to its destination a queue pair of a host with several sends. When the link of that port is down
/// it sends by another, and by that one again when it is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortRule {
    /// The one that its flow's hash chooses, as at a switch with [`Balancing::Ecmp`]. If its link is down, one of all others by the same
    /// hash.
    #[default]
    Hash,
    /// The one of the rail of the rank that receives: of n ports number r mod n, where that rank is number r at its host. So does NCCL with
    /// PXN: the NIC that is at the same rail as that of the receiving GPU sends. Flows that are not of ranks go by [`PortRule::Hash`].
    Rail,
    /// As [`PortRule::Hash`]; but if its link is down, another port of the same plane if there is one: a flow leaves its plane last.
    Plane,
    /// All whose links are up, packet by packet: each takes the next one when it is idle and its gate is open, of several such ports in
    /// turn. So a queue pair sends at the rate of its ports together, as Zhao et al. want it of the NICs of networks with several planes
    /// (ISCA 2025).
    Spray,
}

/// How the two ends of a flow work together.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSpec {
    /// The reaction point of flows with [`backwater_traffic::Pacing::Controlled`].
    pub reaction: ReactionConfig,
    /// A function of the user's in its place, by its number among [`UserSpec::controllers`].
    pub custom: Option<u16>,
    /// The notification point, if receivers send CNPs.
    pub notify: Option<NotifyConfig>,
    /// Size of a CNP on the wire.
    pub cnp_size: Bytes,
    /// Acknowledgements, if receivers send them.
    pub ack: Option<AckSpec>,
    /// Segments whose round-trip times are measured, if the reaction point wants that. Their ACKs must match:
    /// [`AckSpec::every`] is their number of packets.
    pub segment: Option<SegmentSpec>,
    /// What windows count of a packet: its payload, as TCP and the HPCC simulator do, or all that is on the wire.
    pub payload_windows: bool,
    /// How packets are sent again that are lost; `None`: nothing may be lost. Needs `ack`; not for connections and messages of ranks.
    pub reliable: Option<ReliableSpec>,
}

/// What a reaction point that measures round-trip times counts as one transmission (TIMELY).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SegmentSpec {
    /// Full packets per segment, at least 1; the last segment of a flow may be shorter.
    pub packets: u32,
    /// Whether a segment leaves back to back and only segments are spaced; else every packet is.
    pub burst: bool,
    /// Whether only one round trip at a time is measured, as in the HPCC simulator: that of the first segment to be
    /// completed that was not yet sent at the measurement before, with its own time on the wire.
    pub once_per_round_trip: bool,
}

/// Acknowledgements: one per `every` data packets and one for the last packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSpec {
    /// Data packets per ACK, at least 1.
    pub every: u32,
    /// Size on the wire.
    pub size: Bytes,
    /// Its priority; `None`: that of the data, as in the HPCC simulator's switches.
    pub priority: Option<u8>,
}

/// Which queue of an egress port sends next. The control priority always goes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// The highest priority number that may send.
    Strict,
    /// One packet of each priority that may send, in turn.
    RoundRobin,
    /// By the virtual-lane arbitration tables of InfiniBand: by weights, the high table before the low one.
    Weighted {
        /// Served first.
        high: Vec<VlEntry>,
        /// Served when no VL of the high table may send, or when the limit has been reached.
        low: Vec<VlEntry>,
        /// What the high table may send while a packet of the low one waits, in units of 4096 B; 255: anything.
        high_limit: u8,
    },
    /// Deficit round robin in proportion to the weights, in bytes.
    Deficit {
        /// Weight of each priority. Those of weight 0 go strictly before the others, the highest first; with output queueing alone.
        weights: [u16; 8],
    },
}

/// Where packets wait in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one per run")]
pub enum Queueing {
    /// One queue per egress port and priority.
    Output,
    /// Virtual output queues: one per ingress port, egress port and priority. An egress port serves the ingress ports in turn.
    VirtualOutput,
    /// The same, and an egress port takes the packet that entered the network first.
    OldestFirst,
    /// One FIFO per ingress port and priority: nothing passes what came in before it.
    Input,
    /// One queue per egress port and priority, in the order of arrival, in a memory from which all ports promise credits. Only with
    /// [`SwitchSpec::credits`].
    Shared,
    /// One queue per egress port and priority, in a memory that is divided twice: among the egress queues, and among the ingress ports.
    TwoPools(TwoPoolsSpec),
    /// At both sides of a crossbar that is faster than the links (combined input and output queueing): one queue per ingress port
    /// and priority, from which whole packets move to one queue per egress port and priority.
    Combined(Combined),
    /// A pool of queues at each egress port and priority, one per flow while there are enough.
    Bfc(BfcSpec),
    /// A queue for each destination at each egress port and priority.
    DstPfc(DstPfcSpec),
    /// One queue per egress port and priority, before them queues of destinations whose window is used up.
    Floodgate(FloodgateSpec),
    /// At each egress port and priority a queue, and one for each root of congestion further on.
    Pyrrha(PyrrhaSpec),
    /// At each egress port and priority a queue, and some that are set aside for roots of congestion further on.
    Recn(RecnSpec),
    /// One queue per egress port and priority; a long one makes sources pause.
    Sfc(SfcSpec),
}

impl Queueing {
    /// Whether switches hold less than classes: queues upstream, or what NICs send.
    #[must_use]
    pub const fn holds(self) -> bool {
        let upstream = matches!(self, Self::Bfc(_) | Self::DstPfc(_) | Self::Pyrrha(_) | Self::Recn(_));
        upstream || matches!(self, Self::Sfc(_))
    }

    /// Whether what is held is known by gates other than those of classes.
    #[must_use]
    pub const fn has_gates_of_its_own(self) -> bool {
        self.holds() || matches!(self, Self::Floodgate(_))
    }
}

/// The two regions of the packet memory of each port, and the crossbar between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combined {
    /// How much faster a packet crosses than it takes on the wire of its ingress or egress port, whichever is faster, in hundredths:
    /// 100 to 1000.
    pub speedup_percent: u32,
    /// Region of an ingress port. To need more stops the run.
    pub ingress: Bytes,
    /// Region of an egress port. A packet waits at its ingress port until there is room.
    pub egress: Bytes,
    /// What of an egress region a priority may take.
    pub caps: [Bytes; 8],
    /// How many packets an egress port takes at a time.
    pub crossbar: Crossings,
    /// When an ingress port pauses its upstream: by priority, and for the whole port.
    pub bands: Bands,
}

/// How many packets move to one egress port at a time. An ingress port always sends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossings {
    /// One.
    Single,
    /// One of each ingress port: a memory that all ports share.
    Multiple,
}

/// When a switch begins to forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// When it has come in completely.
    StoreAndForward,
    /// When its first `header` bytes have come in; completely, if it comes from a link slower than another one of the switch.
    CutThrough {
        /// What must be there to choose the egress port, at least 1 B.
        header: Bytes,
    },
}

/// RED at a queue that may lose: it drops packets that come while the queue is long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyDrop {
    /// How probable that is, by the bytes that wait before the packet.
    pub ramp: Red,
    /// Whether it drops packets, too, that can be marked.
    pub capable: bool,
}

/// What a switch does with a packet for which it has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Overflow {
    /// The run stops: a lossless fabric has lost something.
    #[default]
    Stop,
    /// The packet is lost (tail drop). Only with [`Queueing::Output`], without PFC and credits, and if all traffic can repeat what
    /// was lost.
    Drop {
        /// Most bytes that wait at an egress port, of all priorities but the control one; all ports together have the buffer.
        port: Bytes,
    },
    /// A packet of UEC for which its egress queue has no room is cut to its header, in each class that is not under PFC. Other packets are
    /// lost. Only with [`Queueing::Output`], without credits.
    Trim(Trimming),
    /// Beside classes under PFC: a packet of another class is lost if its egress queue is above its share of this pool, which is a
    /// part of the buffer. Only with [`Queueing::Output`].
    Share {
        /// The pool and the share.
        pool: LossyPool,
        /// What is dropped before there is no room, if anything is.
        early: Option<EarlyDrop>,
        /// Whether packets of classes under PFC are lost, too, for which there is neither memory nor headroom; else the run stops.
        lossless: bool,
    },
}

impl Overflow {
    /// Most bytes at an egress port of a switch that drops.
    pub(crate) const fn most_at_port(self) -> Option<u64> {
        if let Self::Drop { port } = self { Some(port.get()) } else { None }
    }

    /// How packets are trimmed, if they are.
    pub(crate) const fn trimming(self) -> Option<Trimming> {
        if let Self::Trim(trimming) = self { Some(trimming) } else { None }
    }

    /// What classes that may lose share beside those under PFC.
    pub(crate) const fn pool(self) -> Option<LossyPool> {
        if let Self::Share { pool, .. } = self { Some(pool) } else { None }
    }

    /// What such classes drop early.
    pub(crate) const fn early(self) -> Option<EarlyDrop> {
        if let Self::Share { early, .. } = self { early } else { None }
    }
}

impl Spec {
    /// Whether anything may be dropped in the network.
    pub fn loses(&self) -> bool {
        self.switch.overflow != Overflow::Stop || self.faults.loses()
    }

    /// Flows whose controlled rate is sampled, but for those that are injected.
    pub fn sampled_rates(&self) -> u64 {
        self.flows.iter().filter(|flow| samples_rate(&self.probe.rates, flow)).count() as u64
    }
}

/// Whether the controlled rate of a flow is sampled, by what [`ProbeSpec::rates`] says.
pub(crate) fn samples_rate(rates: &[bool], flow: &Flow) -> bool {
    flow.pacing.is_controlled() && rates.get(usize::from(flow.group)) == Some(&true)
}

/// A switch: queueing, switching and flow control can be combined freely.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// Where packets wait.
    pub queueing: Queueing,
    /// When they are forwarded.
    pub switching: Switching,
    /// Packet memory, shared by all ports. Not looked at under credits, which divide the memory.
    pub buffer: Bytes,
    /// What happens to a packet for which there is no room.
    pub overflow: Overflow,
    /// Which of equally short ways is taken.
    pub balancing: Balancing,
    /// By the number of a flow what switches hash: for its data, and for what goes back. If empty, each switch hashes the number with a
    /// salt of its own. See [`crate::five_tuples`], [`crate::murmur_tuples`].
    pub hashes: Arc<[PathHash]>,
    /// Scheduling.
    pub arbiter: Arbiter,
    /// Priority of CNPs: strictly first, never paused, not counted at the ingress (as in the ns-3 RoCE simulators).
    pub control_priority: u8,
    /// Priority flow control. Without it and without `credits` a full buffer stops the run.
    pub pfc: Option<PfcSpec>,
    /// Credit-based flow control, instead of `pfc`; hosts take part.
    pub credits: Option<CreditSpec>,
    /// `detectors[node][port]` for switches, empty for hosts.
    pub detectors: Vec<Vec<Detector>>,
    /// The threshold K of each egress port, as [`ProbeSpec::blame`] has it, if [`Detector::Oracle`] asks which ports are roots.
    pub roots: Option<Vec<Vec<Bytes>>>,
    /// What the detectors look at. Other than the default only with [`Queueing::Combined`].
    pub mark: MarkSpec,
    /// Congestion isolation, with [`Queueing::Combined`] only.
    pub isolation: Option<IsolationSpec>,
}

/// When and by what a detector that goes by queue length (RED) judges a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkSpec {
    /// The instant.
    pub at: MarkAt,
    /// The queue.
    pub basis: MarkBasis,
}

/// Congestion isolation: packets of congesting flows go to a queue of their own.
#[derive(Clone, Debug)]
pub struct IsolationSpec {
    /// Which flows, and what follows from it.
    pub rules: Isolation,
    /// Slots of the congested-flow table of a switch; `None`: as many as it takes.
    pub slots: Option<u32>,
    /// Priority of the normal-flow queue (NFQ), the one that is watched.
    pub monitored: u8,
    /// Priority of the congested-flow queue (CFQ); no flow has it.
    pub congested: u8,
    /// What flows share an entry.
    pub key: KeyKind,
    /// Size of a congestion isolation message (CIM) on the wire.
    pub frame: Bytes,
    /// NICs take part: packets of an entry leave in the congested priority until this long after the last CIM. `None`: they do not.
    pub host_hold: Option<Span>,
}

/// Priority flow control (IEEE 802.1Qbb) with per-(ingress port, priority) accounting.
#[derive(Clone, Debug)]
pub struct PfcSpec {
    /// How a pause lasts.
    pub form: Form,
    /// When an ingress queue is too long: `thresholds[node][port]` for switches, empty for hosts.
    pub thresholds: Vec<Vec<Threshold>>,
    /// Size of a PFC frame on the wire.
    pub frame: Bytes,
    /// Bit `p`: priority `p` is lossless.
    pub priorities: u8,
}

/// What credits a packet needs to start. It uses those of its own size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Those of its own size: a short packet passes where longer ones wait for credits (InfiniBand).
    #[default]
    Packet,
    /// Those of a full packet, as where the buffer downstream has slots of one size.
    Full,
}

/// Credit-based flow control (InfiniBand) per link and virtual lane.
#[derive(Clone, Debug)]
pub struct CreditSpec {
    /// Buffer of each ingress port, of switches and of hosts, for each priority.
    pub buffer: Bytes,
    /// What one credit stands for.
    pub unit: Unit,
    /// When a packet may start.
    pub start: Start,
    /// When credits go back.
    pub returned: CreditReturn,
    /// Size of an update on the wire.
    pub frame: Bytes,
    /// Periodic returns: whether an update is sent even if nothing has changed since the last one.
    pub unchanged: bool,
    /// Share of the updates that are lost on the wire, in millionths: a fault to be injected. Needs `unchanged`, or a lost
    /// update may never be made up for.
    pub loss_ppm: u32,
    /// Bit `p`: priority `p` is under flow control. The others are not, and not limited.
    pub priorities: u8,
}

/// What is recorded. None of it changes the run.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a table to be written or not")]
pub struct ProbeSpec {
    /// Period of queue and rate samples.
    pub sample: Option<Span>,
    /// Sampled egress ports (node, port).
    pub ports: Vec<(u32, u16)>,
    /// By traffic entry: sample the controlled rates of its flows. Entries beyond the list: no.
    pub rates: Vec<bool>,
    /// Record every mark.
    pub marks: bool,
    /// Record every PAUSE and RESUME that takes effect.
    pub pauses: bool,
    /// Record every change of a detector's verdict.
    pub states: bool,
    /// Record what each host gets of each traffic entry in each sampling period.
    pub delivered: bool,
    /// By traffic entry: record when each packet leaves its source and reaches its destination. Entries beyond the list: no.
    pub packets: Vec<bool>,
    /// Record what happens to the congested-flow tables.
    pub isolation: bool,
    /// By traffic entry: record every event of its PUT streams. Entries beyond the list: no.
    pub puts: Vec<bool>,
    /// Sum up what PUT streams do over sampling periods.
    pub streams: bool,
    /// Sum up what receive queues of hosts do over sampling periods.
    pub endpoints: bool,
    /// Record every packet that a switch drops.
    pub drops: bool,
    /// Egress ports (node, port) of which every frame is recorded.
    pub frames: Vec<(u32, u16)>,
    /// Sum up what throttles of hosts do over sampling periods.
    pub throttle: bool,
    /// Record every change of state of a throttle.
    pub throttle_states: bool,
    /// Record what steps of applications waited for ([`crate::record::DependencyRecord`]), at the end of the run.
    pub dependencies: bool,
    /// Record the ground truth of who held back whom ([`crate::record::HoldRecord`], [`crate::record::CrowdRecord`],
    /// [`crate::record::WaitRecord`]); the value is the threshold K of each egress port, `[node][port]` for switches, empty
    /// for hosts.
    pub blame: Option<Vec<Vec<Bytes>>>,
}
