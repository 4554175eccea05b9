//! What rank programs report.
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// A rank has read a stopwatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TimingRecord {
    /// When.
    pub time: Time,
    /// When it had set it.
    pub start: Time,
    /// Index of the rank.
    pub rank: u32,
    /// Node index of its host.
    pub node: u32,
    /// What was measured, as an index into the names of the programs.
    pub series: u16,
    /// A number of the program's own.
    pub label: u32,
}

/// What became of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct RankRecord {
    /// Index of the rank.
    pub rank: u32,
    /// Node index of its host.
    pub node: u32,
    /// The traffic entry it belongs to.
    pub group: u16,
    /// Its number in its entry.
    pub number: u32,
    /// What it does, as an index into the names of the programs.
    pub role: u16,
    /// When its program ended, if it has.
    pub finish: Option<Time>,
    /// Messages that it gave to its NIC or to ranks of its own host: sends, puts, replies to gets.
    pub sent_messages: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Messages that have come in for it: those it took, others' puts, what its gets brought.
    pub received_messages: u64,
    /// Their bytes.
    pub received_bytes: Bytes,
    /// How long it has waited for messages and requests.
    pub waited: Span,
    /// Messages that have come in and that it has not taken.
    pub unexpected: u32,
}
