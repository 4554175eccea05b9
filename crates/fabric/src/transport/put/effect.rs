//! ACKs and NACKs that have come in and take effect when they have been processed.
use backwater_control::reaction::AckFacts;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::transport::put::{Puts, streams};
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// An ACK or NACK that takes effect at `due`.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Effect {
    pub(crate) due: u64,
    pub(crate) slot: u32,
    /// The last number it covers.
    pub(crate) seq: u32,
    pub(crate) nack: bool,
    pub(crate) marked: bool,
    /// It came with data.
    pub(crate) aboard: bool,
}

impl Effect {
    /// What the frame says; the rest is known by the stream.
    pub(crate) const fn facts(&self) -> AckFacts {
        AckFacts {
            packets: 0,
            bytes: 0,
            marked: self.marked,
            repeat: false,
            piggybacked: self.aboard,
            replaying: false,
            idle: false,
        }
    }
}

impl Puts {
    /// Gets an outgoing stream in line if it may send a new packet.
    pub(crate) fn line_up(&mut self, slot: u32, senders: &[Sender], now: u64, world: &World) {
        let outgoing = &self.outgoing[slot as usize];
        let streams = streams(world);
        let stream = &streams.all[outgoing.number as usize];
        if let Some(message) = outgoing.messages.front()
            && outgoing.may_send(senders, streams.kind(stream), world).is_some()
        {
            self.lines.turns.add(slot, stream.class, message.due, now);
        }
    }
}
