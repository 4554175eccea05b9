//! What happens to congested-flow tables (CFTs), and what a switch with such a table did in all.
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// What happened to an entry of a congested-flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
#[repr(u8)]
pub enum IsolationEvent {
    /// A flow got an entry.
    Allocated,
    /// A flow that qualified got none: no slot was left.
    Refused,
    /// An entry was given up.
    Released,
    /// An ingress port took a slot of its own for an entry.
    Mirrored,
    /// An ingress port got none: no slot was left.
    MirrorRefused,
    /// A flow whose entry had been given up got one again, with its history.
    Readmitted,
    /// The node at the far end of an ingress port was notified of the entry by a congestion isolation message (CIM).
    Notified,
}

/// A congested-flow table changed, could not, or notified a neighbour. A NIC that isolates keeps one, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct IsolationRecord {
    /// When.
    pub time: Time,
    /// Node index of the switch or host.
    pub node: u32,
    /// Egress port of the flow.
    pub port: u16,
    /// What.
    pub what: IsolationEvent,
    /// The ingress port, where it is about one: of the packet that caused it, of the mirror, of the CIM.
    pub ingress: Option<u16>,
    /// Source host (node index), where the key of the entry has one.
    pub src: Option<u32>,
    /// Destination host (node index), where the key of the entry has one.
    pub dst: Option<u32>,
    /// Whose judgement the entry is: bit 0 this node's, bit 1 a CIM's.
    pub origin: u8,
    /// The egress port (node, port) at which the congestion was found first, as far as known.
    pub root: Option<(u32, u16)>,
    /// Slots of the table in use after it.
    pub used: u32,
}

/// The window of a destination changed at a switch (Floodgate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct WindowRecord {
    /// When.
    pub time: Time,
    /// Node index of the switch.
    pub node: u32,
    /// Egress port of the packet that took some of it, or at which it was given back.
    pub port: u16,
    /// Destination host (node index).
    pub dst: u32,
    /// What is left of it, in bytes.
    pub left: u64,
    /// Bytes in the VOQ of that destination.
    pub waiting: u32,
}

/// Totals of one switch with combined queueing, with windows, or with pools of queues, over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct SwitchRecord {
    /// Node index.
    pub node: u32,
    /// Slots of the congested-flow table; `None`: unlimited, or no isolation.
    pub slots: Option<u32>,
    /// Entries made, those readmitted among them.
    pub allocations: u64,
    /// Those readmitted.
    pub readmissions: u64,
    /// Entries refused for want of a slot.
    pub refusals: u64,
    /// Mirrors at ingress ports refused for want of a slot.
    pub mirror_refusals: u64,
    /// Most slots in use at a time; of queues of flows or destinations, most of a port with packets.
    pub peak_slots: u32,
    /// Entries at the end of the run.
    pub entries_left: u64,
    /// CIMs sent.
    pub cims_sent: u64,
    /// CIMs received.
    pub cims_received: u64,
    /// Packets that were moved from a normal-flow queue to the congested-flow queue beside it.
    pub moved_packets: u64,
    /// Packets marked CE in congested-flow queues.
    pub ce_isolated: u64,
    /// Packets marked CE in other queues.
    pub ce_monitored: u64,
    /// Largest ingress region of a port.
    pub peak_ingress: Bytes,
    /// Largest egress region of a port.
    pub peak_egress: Bytes,
}
