//! BFC, backpressure flow control: which queue of an egress port a flow has, and when its packets hold the queue upstream.
//!
//! Reference: Goyal, Shah, Zhao, Nikolaidis, Alizadeh, Anderson: Backpressure Flow Control, NSDI 2022; the rules as its reimplementation in
//! Pyrrha-NS3 has them (`NASA-NJU/Pyrrha-NS3`, commit 3765687, `FC_MODE 2`).
//!
//! ```text
//!   first packet of a flow, or none here for longer than `sticky`  ─▶ the lowest free queue; any one if none is free
//!   packet enters, queue longer than limit(round trip, active)     ─▶ marked; first marked one of its queue upstream: hold that
//!   marked packet leaves                                           ─▶ last marked one of its queue upstream: let that go
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | queues | – | 32 | `bfc_32Q` in `config-bfc.ini` of Pyrrha-NS3 |
//! | sticky | round trips of the ingress link | 2 | `STICKY_TH 2` of Pyrrha-NS3 |
//! | round trip | B | egress rate · 2 · delay of the ingress link | Pyrrha-NS3 |
//!
//! A queue is free if no flow with packets has it and nobody downstream holds it. Active are queues with packets that nobody holds.
//!
//! Known deviations, from the paper as it is remembered (reconstructed: its text was not at hand): flows are known by their number, so that no
//! two of them are taken for one; a frame for each change and no bitmap that repeats them; no priority for the first packet of a flow; no
//! interval of bitmaps in the round trip. ACKs are flows of their own at switches; NICs send them whatever is held.
use backwater_units::{Span, Time};

use super::Upstream;

/// What an egress port knows of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct FlowEntry {
    /// When a packet last came or left; `None`: none ever did.
    last: Option<Time>,
    packets: u32,
    queue: u16,
    /// Behind a host: the flow itself is what it holds upstream.
    pub upstream: Upstream,
}

impl FlowEntry {
    /// The queue for a packet that comes `now`: that of the packets before it, or what `choose` gives.
    pub fn place(&mut self, now: Time, sticky: Span, choose: impl FnOnce() -> u16) -> u16 {
        if self.is_forgotten(now, sticky) {
            self.queue = choose();
        }
        self.queue
    }

    /// Whether its next packet gets a queue anew.
    pub fn is_forgotten(&self, now: Time, sticky: Span) -> bool {
        self.packets == 0 && self.last.is_none_or(|last| now.since(last) > sticky)
    }

    /// A packet has entered its queue. Whether it is the only one: then the queue has one flow more.
    pub const fn entered(&mut self, now: Time) -> bool {
        self.last = Some(now);
        self.packets += 1;
        self.packets == 1
    }

    /// A packet has left. Whether it was the only one: then the queue has one flow less.
    pub const fn left(&mut self, now: Time) -> bool {
        self.last = Some(now);
        self.packets -= 1;
        self.packets == 0
    }

    /// Its packets that are here.
    pub const fn packets(&self) -> u32 {
        self.packets
    }
}

/// Bytes beyond which a queue holds what comes into it, where so many queues are active and a link takes `round_trip` bytes in a round trip.
pub const fn limit(round_trip: u64, active: u32) -> u64 {
    let share = round_trip / if active == 0 { 1 } else { active as u64 };
    if share == 0 { 1 } else { share }
}
