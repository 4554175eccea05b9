//! Which of several frames that arrive at one instant goes first, where time is kept as on ns-3.
//!
//! There what was made first goes first. An arrival is made when its frame begins to leave. Of two that began at one instant the one is
//! made first whose cause is the older: a frame that found its link idle has one (a timer, an ACK, the end of a pause) that is older than
//! the end of the frame before it, which is the cause of all others. Where frames follow each other without a gap at both links, that
//! holds for the last frame at which it was otherwise. So the link goes first whose burst began last, and of two that began at one
//! instant the one with the lower number.
//!
//! Where switches hold queues upstream, frames that hold them have no precedence over others, and of two links whose burst began at one
//! instant because a switch let both go that one goes first which it let go first.
use std::cmp::Reverse;

use backwater_engine::Class;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::Ports;
use crate::packet::Packet;

/// The bursts of the links that end here, by port.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Bursts {
    of: Vec<Burst>,
}

/// Frames without a gap.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Burst {
    /// When the first one began to leave, but for the delay of the link.
    began: u64,
    /// When the last one had come.
    last: u64,
}

impl Bursts {
    /// The arrivals before `end` in order. Both ends of a link have the same rate. `rank` of a frame, of when it began to leave and of when
    /// its burst began, both but for the delay of the link: what goes before the burst, and after it.
    pub(crate) fn in_order<'a>(
        &mut self,
        arrivals: &'a [Packet],
        ports: &Ports,
        end: u64,
        rank: impl Fn(&Packet, u64, u64) -> ((Class, u64), u32),
    ) -> Vec<&'a Packet> {
        self.of.resize(usize::from(ports.count()), Burst::default());
        let mut arrivals: Vec<_> = arrivals.iter().filter(|packet| packet.time < end).collect();
        arrivals.sort_by_key(|packet| (packet.time, packet.port));
        let keyed = arrivals.into_iter().map(|packet| {
            let burst = &mut self.of[usize::from(packet.port)];
            let left = packet.time - ports.egress(packet.port).wire_time(packet.size);
            if left != burst.last {
                burst.began = left;
            }
            burst.last = packet.time;
            let (before, after) = rank(packet, left, burst.began);
            ((packet.time, before, Reverse(burst.began), after, packet.port), packet)
        });
        let mut keyed: Vec<_> = keyed.collect();
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, packet)| packet).collect()
    }
}
