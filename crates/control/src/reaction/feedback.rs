//! What an ACK tells a reaction point that keeps a window.
use backwater_units::{Rate, Span, Time};

use crate::CodePoint;

/// Most switches on a path whose telemetry a packet carries: the HPCC paper's header has room for 5 hops, and longer diameters than 8
/// are not built.
pub const MAX_HOPS: usize = 8;

/// What a switch wrote about the egress port that a packet left by (INT: in-band network telemetry; HPCC paper, §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct IntHop {
    /// Which port it is, of all in the network.
    pub id: u32,
    /// B: its rate.
    pub rate: Rate,
    /// ts: when the packet began to leave.
    pub at: Time,
    /// txBytes: what the port had sent by then, this packet included.
    pub sent: u64,
    /// qlen: bytes that waited behind it.
    pub queue: u64,
}

impl IntHop {
    /// A place for what no switch has written.
    pub const NONE: Self = Self { id: u32::MAX, rate: Rate::ZERO, at: Time::ZERO, sent: 0, queue: 0 };
}

/// One ACK. Bytes are those of full packets on the wire, which is what windows are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// Bytes of the flow that have been acknowledged so far, by this ACK too.
    pub acked: u64,
    /// Bytes that this ACK is the first to acknowledge; 0 if others have.
    pub newly: u64,
    /// Bytes of the flow that have been sent so far (`snd_nxt`).
    pub sent: u64,
    /// The code point of the data packet, which the ACK echoes.
    pub echo: CodePoint,
    /// From the first bit of the data packet at its NIC to the arrival of the ACK.
    pub rtt: Span,
    /// Switches on the flow's path.
    pub hops: u32,
    /// What the switches wrote into the data packet, in the order of the path. Empty without telemetry.
    pub int: &'a [IntHop],
    /// The same of the ACK before. Empty if this is the first.
    pub before: &'a [IntHop],
}
