//! What an initiator does with its streams: packets leave, ACKs and NACKs take effect, timers run out.
use std::ops::RangeInclusive;

use backwater_control::reaction::{Controller, State};
use backwater_units::Time;

use crate::record::PutEvent;
use crate::transport::put::effect::Effect;
use crate::transport::put::outgoing::{Kept, Message};
use crate::transport::put::streams::Stream;
use crate::transport::put::{Puts, frame, streams};
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// What an ACK or NACK has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effected {
    pub(crate) event: PutEvent,
    /// How many packets need not be kept any more.
    pub(crate) freed: u32,
    /// It said nothing new: every packet of the other stream carries the latest ACK.
    pub(crate) quiet: bool,
}

impl Puts {
    /// The stream of an outgoing slot.
    #[inline]
    pub(crate) fn outgoing<'a>(&self, slot: u32, world: &'a World) -> &'a Stream {
        streams(world).stream(self.outgoing[slot as usize].number)
    }

    /// What the policy of an outgoing stream allows.
    #[inline]
    pub(crate) fn allows(&self, slot: u32) -> State {
        self.outgoing[slot as usize].policy.state()
    }

    /// The sender of a flow of a stream has started: its first packet is there at `due`.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        slot: u32,
        pair: u32,
        due: u64,
        senders: &[Sender],
        now: u64,
        world: &World,
    ) {
        self.outgoing[slot as usize].messages.push_back(Message { pair, due });
        self.line_up(slot, senders, now, world);
    }

    /// The sender whose packet an outgoing stream sends next.
    #[inline]
    pub(crate) fn next_sender(&self, slot: u32) -> u32 {
        self.outgoing[slot as usize].messages.front().expect("it has something to send").pair
    }

    /// The new packet of the stream whose turn it is leaves; the next one of the same flow is `made` then, if there is one. Its number.
    #[inline]
    pub(crate) fn sent(&mut self, slot: u32, kept: Kept, made: Option<u64>, world: &World) -> u32 {
        let outgoing = &mut self.outgoing[slot as usize];
        let streams = streams(world);
        let stream = streams.stream(outgoing.number);
        let spec = streams.kind(stream);
        self.lines.turns.leave(stream.class);
        match (made, outgoing.messages.front_mut()) {
            (Some(made), Some(message)) => message.due = made.saturating_add(spec.staging.as_ps()),
            _ => {
                outgoing.messages.pop_front();
            }
        }
        outgoing.leaves(kept.size, false, spec, kept.at);
        let seq = outgoing.reliability.sent().seq;
        outgoing.window.push_back(kept);
        outgoing.bytes += u64::from(kept.size);
        self.spaced_until = kept.at + spec.overhead.as_ps();
        seq
    }

    /// A packet of a stream that replays leaves once more, if it may: its number, and how many are freed by that.
    #[inline]
    pub(crate) fn repeat(&mut self, slot: u32, now: u64, world: &World) -> Option<(u32, Kept, u32)> {
        let outgoing = &mut self.outgoing[slot as usize];
        let streams = streams(world);
        let spec = streams.kind(streams.stream(outgoing.number));
        let (seq, mut kept) = outgoing.may_repeat(spec)?;
        kept.at = now;
        self.replayed_at = now;
        let place = outgoing.place(seq);
        outgoing.window[place] = kept;
        outgoing.leaves(kept.size, true, spec, now);
        Some((seq, kept, outgoing.repeated(spec)))
    }

    /// The whole number that an ACK aboard data means by its low bits.
    pub(crate) fn acknowledged(&self, stream: &Stream, seq: u32) -> u32 {
        frame::whole(frame::ack(seq), self.outgoing[stream.out_slot as usize].reliability.newest())
    }

    /// An ACK or NACK is to take effect later; whether it is the first in the line of its kind.
    pub(crate) fn defer(&mut self, kind: u16, effect: Effect) -> bool {
        let line = &mut self.effects[usize::from(kind)];
        line.push_back(effect);
        line.len() == 1
    }

    /// When the first one in the line of a kind takes effect.
    pub(crate) fn effect_due(&self, kind: u32) -> Option<u64> {
        self.effects[kind as usize].front().map(|effect| effect.due)
    }

    pub(crate) fn take_effect(&mut self, kind: u32) -> Option<Effect> {
        self.effects[kind as usize].pop_front()
    }

    /// An ACK or NACK takes effect.
    #[inline]
    pub(crate) fn apply(&mut self, effect: &Effect, now: u64, world: &World) -> Effected {
        let outgoing = &mut self.outgoing[effect.slot as usize];
        let streams = streams(world);
        let spec = streams.kind(streams.stream(outgoing.number));
        if effect.nack {
            let freed = outgoing.on_nack(effect.seq, spec, now);
            return Effected { event: PutEvent::Nack, freed, quiet: false };
        }
        let acked = outgoing.on_ack(&effect.facts(), effect.seq, spec, now);
        let event = match (acked.repeat, effect.marked) {
            (true, _) => PutEvent::Dack,
            (false, true) => PutEvent::Marked,
            (false, false) => PutEvent::Iack,
        };
        Effected { event, freed: acked.packets, quiet: acked.repeat && effect.aboard && !effect.marked }
    }

    /// The oldest packet of a stream has been acknowledged.
    #[inline]
    pub(crate) fn free(&mut self, slot: u32) -> Kept {
        let outgoing = &mut self.outgoing[slot as usize];
        let kept = outgoing.window.pop_front().expect("as many as are outstanding");
        outgoing.bytes -= u64::from(kept.size);
        kept
    }

    /// A stream may have got, or lost, the right to send.
    pub(crate) fn changed(&mut self, slot: u32, senders: &[Sender], now: u64, world: &World) {
        let outgoing = &mut self.outgoing[slot as usize];
        if outgoing.reliability.replaying() && !outgoing.replaying {
            outgoing.replaying = true;
            self.lines.replays.push_back(slot);
        }
        self.line_up(slot, senders, now, world);
    }

    /// When the timer of a stream has to go off, if that is before the one that is set.
    pub(crate) fn arm(&mut self, slot: u32, now: u64, world: &World) -> Option<u64> {
        let outgoing = &mut self.outgoing[slot as usize];
        let streams = streams(world);
        let at = outgoing.deadline(streams.kind(streams.stream(outgoing.number))).max(now);
        (at < outgoing.timer).then(|| {
            outgoing.timer = at;
            at
        })
    }

    /// A timer of a stream goes off: if it is the one that counts, the packets that have expired, and how often the oldest has.
    pub(crate) fn expire(
        &mut self,
        slot: u32,
        now: u64,
        world: &World,
    ) -> Option<(RangeInclusive<u32>, u32)> {
        let outgoing = &mut self.outgoing[slot as usize];
        if outgoing.timer != now {
            return None; // It came too late to be taken back.
        }
        outgoing.timer = u64::MAX;
        let streams = streams(world);
        let spec = streams.kind(streams.stream(outgoing.number));
        outgoing.policy.advance(&spec.policy, Time::from_ps(now));
        let expired = outgoing.expire(spec, now);
        Some((expired, outgoing.futile))
    }
}
