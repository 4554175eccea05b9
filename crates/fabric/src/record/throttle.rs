//! What NICs that throttle themselves report.
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// The throttle of one port of a NIC in one sampling period. Periods in which it had nothing to do are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ThrottleRecord {
    /// When the period began.
    pub start: Time,
    /// When it was over; a run may end in the middle of one.
    pub end: Time,
    /// Node index of the host.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// Credits in use (c, of all virtual lanes together) at its end.
    pub used_end: u32,
    /// The most of them in it.
    pub used_max: u32,
    /// Their mean over time, in thousandths.
    pub used_mean_milli: u64,
    /// For how long the state was Congested (of one virtual lane at least).
    pub congested: Span,
    /// For how long a packet waited for the throttle, though it was due, the wire idle and its credits sufficed.
    pub held: Span,
    /// Credits that packets took which began to leave in it.
    pub sent_flits: u64,
    /// How often Congested was entered.
    pub entries: u32,
}

/// The throttle of a NIC has changed its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ThrottleStateRecord {
    /// When.
    pub time: Time,
    /// Node index of the host.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The priority whose virtual lane it is; 0 for the throttle of a whole port.
    pub lane: u8,
    /// Whether it is Congested now, or Normal.
    pub congested: bool,
    /// Its credits in use, which led to it.
    pub used: u32,
}
