//! Queues of flows or destinations that hold each other upstream, windows of destinations, and pauses of sources.
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::pyrrha::Rules;
use backwater_control::isolation::recn::RecnConfig;
use backwater_control::isolation::sfc::SfcConfig;
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

/// In which order the queues of a pool are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum PoolOrder {
    /// One packet of each queue that may send, in turn.
    RoundRobin,
    /// The lowest number first.
    LowestFirst,
}

/// Backpressure flow control (BFC): a pool of queues at each egress port and priority, assigned to flows. Without PFC and credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BfcSpec {
    /// Queues of an egress port and priority, 2 to 1024.
    pub queues: u16,
    /// For how many round trips of the ingress link a flow without packets keeps its queue.
    pub sticky: u16,
    /// Which queue sends next.
    pub order: PoolOrder,
    /// Size of a frame that holds a queue, or lets it go, on the wire.
    pub frame: Bytes,
}

/// PFC by destination: a queue for each destination at each egress port and priority. Without PFC and credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DstPfcSpec {
    /// When a destination has a queue of its own.
    pub apart: Apart,
    /// When a queue holds its destination, and when it lets it go.
    pub thresholds: Thresholds,
    /// Whether ACKs and the first packet of a flow go before what else is not apart.
    pub first_packets: bool,
    /// Size of a frame that holds a destination, or lets it go, on the wire.
    pub frame: Bytes,
}

/// Pyrrha: at each egress port and priority a queue, and one for each root of congestion further on. Without PFC and credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PyrrhaSpec {
    /// Queues of roots at an egress port and priority, 1 to 1000.
    pub queues: u16,
    /// What a root is, and when it is held.
    pub rules: Rules,
    /// How often a queue of a root gives a packet on.
    pub pace: Pace,
    /// Size of a frame that says what becomes of a root, on the wire.
    pub frame: Bytes,
}

/// RECN and its heirs: at each egress port and priority a queue, and set-aside queues (SAQs) for roots of congestion further on, or for
/// destinations behind them. Without PFC and credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RecnSpec {
    /// SAQs of an egress port and priority, 1 to 1000.
    pub queues: u16,
    /// What a root is, what is set aside, and when it is held.
    pub rules: RecnConfig,
    /// Which queue sends next.
    pub order: PoolOrder,
    /// Size of a frame that says what becomes of a SAQ, on the wire.
    pub frame: Bytes,
}

/// The time in which each queue of a root gives a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Pace {
    /// That of a largest packet at its port.
    OwnPort,
    /// That of a largest packet at the last port of the switch.
    LastPort,
}

/// When a destination has a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Apart {
    /// Always; these queues have turns.
    Always,
    /// Where it is held, until its packets have left; they go last.
    Held,
}

/// Floodgate: one queue per egress port and priority; before them, for what finds no window left, queues that a switch gives to destinations.
/// Without PFC and credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FloodgateSpec {
    /// The rules.
    pub rules: FloodgateConfig,
    /// Queues of a switch for destinations without a window, 1 to 65,000.
    pub voqs: u16,
    /// Size on the wire of a frame that gives back, without its entries.
    pub frame: Bytes,
    /// That of an entry, of which such a frame has at most 40.
    pub entry: Bytes,
}

/// Source flow control: one queue per egress port and priority, and signals to the sources of what comes to a long one. With PFC or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SfcSpec {
    /// When a source is to pause, and how long.
    pub rules: SfcConfig,
    /// What it pauses.
    pub pauses: Pauses,
    /// Whether the switch before a source remembers the destinations of signals.
    pub cache: bool,
    /// Size of a signal on the wire.
    pub frame: Bytes,
}

/// What a source pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Pauses {
    /// The priority.
    Priority,
    /// The flow.
    Flow,
}
