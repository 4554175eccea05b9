//! What hosts get, in periods and packet by packet.
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// What one host got of one traffic entry in one sampling period. Periods in which nothing happened have no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DeliveredRecord {
    /// When the period starts: a multiple of the sampling period.
    pub time: Time,
    /// Node index of the host.
    pub node: u32,
    /// Index of the traffic entry in the scenario.
    pub group: u16,
    /// Payload that arrived.
    pub bytes: Bytes,
    /// The same with headers and padding.
    pub wire_bytes: Bytes,
    /// Data packets that arrived.
    pub packets: u64,
    /// Those with CE.
    pub ce_packets: u64,
    /// CNPs (BECNs) that the host sent about flows of the entry.
    pub cnps: u64,
}

/// A packet left its source. Only for traffic entries whose packets are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct InjectedRecord {
    /// When its first bit went on the wire.
    pub time: Time,
    /// When the application made it: the start of the message, or of a supplied flow its turn. `Time::MAX`: not known.
    pub made: Time,
    /// Flow index.
    pub flow: u32,
    /// Packet number within the flow, from 0.
    pub seq: u32,
}

/// A packet reached its destination. Only for traffic entries whose packets are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ArrivedRecord {
    /// When its last bit had come in.
    pub time: Time,
    /// Flow index.
    pub flow: u32,
    /// Packet number within the flow, from 0.
    pub seq: u32,
    /// Whether it carried CE.
    pub ce: bool,
}
