//! Everything a run needs to know, already resolved and checked: what `scenario` builds and [`crate::Simulation`] runs.
use backwater_control::detector::Detector;
use backwater_control::flow_control::{Form, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::ReactionConfig;
use backwater_topology::{Network, Routes};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Span};

/// A fabric, its traffic and what to observe.
pub struct Spec {
    /// Seed of every random stream and of the order of ties.
    pub seed: u64,
    /// Nodes and links.
    pub network: Network,
    /// Next hops.
    pub routes: Routes,
    /// What is sent, sorted by start; the index is the flow's number everywhere.
    pub flows: Vec<Flow>,
    /// Data packets.
    pub packet: PacketSpec,
    /// All switches alike.
    pub switch: SwitchSpec,
    /// The kinds of queue pairs, at least one.
    pub pairs: Vec<PairSpec>,
    /// The kind of each traffic entry's queue pairs, by [`Flow::group`]; entries beyond the list have the first.
    pub pair_of: Vec<u16>,
    /// What is recorded.
    pub probe: ProbeSpec,
    /// Whether a switch may run its ports one after the other through a window in which none can affect another.
    /// The outcome is the same; `false` is for measuring and testing the path that always keeps the order.
    pub batching: bool,
}

/// Data packets: a flow of `size` bytes is sent as ceil(size / payload) packets, the last one shorter.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpec {
    /// Data bytes of a full packet.
    pub payload: Bytes,
    /// Bytes added to each on the wire.
    pub header: Bytes,
}

/// How the two ends of a flow work together.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSpec {
    /// The reaction point of flows with [`backwater_traffic::Pacing::Controlled`].
    pub reaction: ReactionConfig,
    /// The notification point, if receivers send CNPs.
    pub notify: Option<NotifyConfig>,
    /// Size of a CNP on the wire.
    pub cnp_size: Bytes,
    /// Acknowledgements, if receivers send them.
    pub ack: Option<AckSpec>,
    /// Segments whose round-trip times are measured, if the reaction point wants that. Their ACKs must match:
    /// [`AckSpec::every`] is their number of packets.
    pub segment: Option<SegmentSpec>,
}

/// What a reaction point that measures round-trip times counts as one transmission (TIMELY).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpec {
    /// Full packets per segment, at least 1; the last segment of a flow may be shorter.
    pub packets: u32,
    /// Whether a segment leaves back to back and only segments are spaced; else every packet is.
    pub burst: bool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// The highest priority number that may send.
    Strict,
    /// One packet of each priority that may send, in turn.
    RoundRobin,
}

/// An output-queued switch with a shared packet memory.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// Packet memory.
    pub buffer: Bytes,
    /// Scheduling.
    pub arbiter: Arbiter,
    /// Priority of CNPs: strictly first, never paused, not counted at the ingress (as in the ns-3 RoCE simulators).
    pub control_priority: u8,
    /// Priority flow control; `None`: a full buffer stops the run.
    pub pfc: Option<PfcSpec>,
    /// `detectors[node][port]` for switches, empty for hosts.
    pub detectors: Vec<Vec<Detector>>,
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

/// What is recorded. None of it changes the run.
#[derive(Clone, Debug, Default)]
pub struct ProbeSpec {
    /// Period of queue and rate samples.
    pub sample: Option<Span>,
    /// Sampled egress ports (node, port).
    pub ports: Vec<(u32, u16)>,
    /// Flows whose controlled rate is sampled.
    pub rates: Vec<u32>,
    /// Record every mark.
    pub marks: bool,
    /// Record every PAUSE and RESUME that takes effect.
    pub pauses: bool,
    /// Record every change of a detector's verdict.
    pub states: bool,
    /// Record the ground truth of who held back whom ([`crate::record::HoldRecord`], [`crate::record::CrowdRecord`],
    /// [`crate::record::WaitRecord`]); the value is the threshold K of each egress port, `[node][port]` for switches, empty
    /// for hosts.
    pub blame: Option<Vec<Vec<Bytes>>>,
}
