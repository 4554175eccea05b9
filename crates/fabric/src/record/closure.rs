//! Gates of a queue of a switch, of a flow, a destination or a congestion root, or at a NIC of a priority that a switch further on pauses.
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// What became of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum GateChange {
    /// It closed.
    Closed,
    /// It opened.
    Opened,
    /// What stood behind it when it opened has left.
    Drained,
}

/// What a gate is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum KeyedBy {
    /// A queue of an egress port.
    Queue,
    /// A flow, at its NIC.
    Flow,
    /// What goes to a destination by that port.
    Destination,
    /// What has a congestion root on its way.
    Root,
    /// All that a NIC sends in the priority.
    Priority,
}

/// A gate of less than a priority closed or opened (seen at the held side). Gates of whole priorities are in
/// [`PauseRecord`](super::PauseRecord).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ClosureRecord {
    /// When.
    pub time: Time,
    /// Node index of the held side.
    pub node: u32,
    /// Its egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// What it is of.
    pub scope: KeyedBy,
    /// The number of the queue, the flow or the priority, the node index of the destination, or the port of the root: node index · 1024 + port.
    pub key: u32,
    /// What became of it.
    pub change: GateChange,
    /// Bytes that stand behind it. 0 at NICs.
    pub bytes: Bytes,
}
