//! The initiator: PUTs leave, ACKs and NACKs take effect, timers run out.
use backwater_control::CodePoint;
use backwater_control::reaction::Controller;
use backwater_engine::Post;
use backwater_units::Time;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::put::log::Note;
use crate::packet::{Kind, Packet};
use crate::record::PutEvent;
use crate::transport::put::effect::Effect;
use crate::transport::put::outgoing::{Kept, Message};
use crate::transport::put::{frame, streams};
use crate::violation::What;
use crate::world::World;

impl Host {
    /// A flow of a stream starts: its first packet is there when it has been staged.
    pub(crate) fn begin_put(&mut self, pair: u32, now: u64, world: &World) {
        let Some(puts) = &mut self.transports.puts else { return };
        let sender = &mut self.senders[pair as usize];
        let streams = streams(world);
        let stream = streams.of(sender.flow).expect("a PUT has a stream");
        sender.source_delay.start(now, self.ports.closed_for(NIC, stream.class, now));
        let due = sender.first_due(now).saturating_add(streams.kind(stream).staging.as_ps());
        puts.outgoing[stream.out_slot as usize].messages.push_back(Message { pair, due });
        puts.line_up(stream.out_slot, &self.senders, now, world);
    }

    /// The new packet of the stream whose turn it is leaves.
    pub(crate) fn send_put<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let Some(puts) = &mut self.transports.puts else { return };
        let streams = streams(cx.world);
        let outgoing = &mut puts.outgoing[slot as usize];
        let stream = streams.all[outgoing.number as usize];
        let spec = streams.kind(&stream);
        puts.turns.leave(stream.class);
        let message = outgoing.messages.front_mut().expect("it has something to send");
        let pair = message.pair;
        let sender = &mut self.senders[pair as usize];
        let (_, _, size) = sender.next_packet(cx.world);
        let wire_time = self.ports.egress[usize::from(NIC)].wire_time(size);
        sender.source_delay.sent(cx.now, cx.now, wire_time, self.ports.closed_for(NIC, stream.class, cx.now));
        let next = sender.put(cx.now);
        match next {
            Some(made) => message.due = made.saturating_add(spec.staging.as_ps()),
            None => {
                outgoing.messages.pop_front();
            }
        }
        let kept = Kept { flow: sender.flow, at: cx.now, size, last: next.is_none() };
        let before = outgoing.policy.state();
        outgoing.leaves(size, false, spec, cx.now);
        let seq = outgoing.reliability.sent().seq;
        outgoing.window.push_back(kept);
        outgoing.bytes += u64::from(size);
        puts.spaced_until = cx.now + spec.overhead.as_ps();
        puts.line_up(slot, &self.senders, cx.now, cx.world);
        if cx.world.follows(kept.flow) {
            self.note_injection(kept.flow, cx.now, cx);
        }
        if kept.last && self.steps.is_some() {
            self.happened(Happened::Sent(pair), cx.now + wire_time);
        }
        self.transmit_put(slot, seq, kept, PutEvent::Sent, cx);
        self.note_policy(slot, before, cx);
    }

    /// A packet of a stream that replays leaves once more.
    pub(crate) fn repeat_put<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let Some(puts) = &mut self.transports.puts else { return };
        let streams = streams(cx.world);
        let outgoing = &mut puts.outgoing[slot as usize];
        let spec = streams.kind(&streams.all[outgoing.number as usize]);
        let Some((seq, mut kept)) = outgoing.may_repeat(spec) else { return };
        kept.at = cx.now;
        puts.replayed_at = cx.now;
        let place = outgoing.place(seq);
        outgoing.window[place] = kept;
        let before = outgoing.policy.state();
        outgoing.leaves(kept.size, true, spec, cx.now);
        let freed = outgoing.repeated(spec);
        let slot_of_flow = cx.world.sender_slot[kept.flow as usize];
        self.senders[slot_of_flow as usize].resent += 1;
        self.transmit_put(slot, seq, kept, PutEvent::Resent, cx);
        self.free(slot, freed, cx);
        self.after_change(slot, cx.now, cx.world);
        self.note_policy(slot, before, cx);
    }

    /// Puts a packet on the wire, with the ACK for the stream that goes the other way.
    fn transmit_put<P: Post<Packet>>(
        &mut self,
        slot: u32,
        seq: u32,
        kept: Kept,
        event: PutEvent,
        cx: &mut Ctx<'_, P>,
    ) {
        let streams = streams(cx.world);
        let number = self.transports.puts.as_ref().expect("it has streams").outgoing[slot as usize].number;
        let stream = &streams.all[number as usize];
        let (ack, echo) = match stream.opposite {
            Some(opposite) => self.ack_aboard(opposite, cx.now, cx.world),
            None => (0, CodePoint::NotCapable),
        };
        let packet = Packet {
            flow: kept.flow,
            seq: frame::pack(seq, kept.last, ack),
            dst: stream.dst,
            size: kept.size,
            kind: Kind::Put,
            class: stream.class,
            echo,
            ..Packet::NONE
        };
        self.count_sent(&packet);
        self.ports.inject(&packet, cx);
        if self.ports.credits.is_some() {
            self.ports.spend_credit(NIC, &packet, None);
        }
        self.arm(slot, cx.now, cx.world);
        let state =
            self.transports.puts.as_ref().expect("it has streams").outgoing[slot as usize].policy.state();
        let value = state.allowance.map_or(-1, u64::cast_signed);
        let bytes = u64::from(kept.size);
        self.note_put(Note { slot, flow: kept.flow, seq, event, bytes, value }, cx);
    }

    /// An ACK or NACK has come in, alone or `aboard` data: it takes effect when it has been processed.
    pub(crate) fn acknowledged_put<P: Post<Packet>>(
        &mut self,
        number: u32,
        seq: u32,
        nack: bool,
        marked: bool,
        aboard: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let streams = streams(cx.world);
        let stream = &streams.all[number as usize];
        let spec = streams.kind(stream);
        let slot = stream.out_slot;
        let delay = spec.processing.as_ps() + spec.staging.as_ps();
        let effect = Effect { due: cx.now + delay, slot, seq, nack, marked, aboard };
        if delay == 0 {
            self.take_effect(effect, cx);
            if !aboard {
                self.send_next(cx);
            }
            return;
        }
        let Some(puts) = &mut self.transports.puts else { return };
        let line = &mut puts.effects[usize::from(stream.kind)];
        line.push_back(effect);
        if line.len() == 1 {
            self.ports.set_timer(effect.due, NIC, Purpose::Effect, u32::from(stream.kind));
        }
    }

    /// The first ACK in the line of a kind has been processed.
    pub(crate) fn effect_due<P: Post<Packet>>(&mut self, kind: u32, cx: &mut Ctx<'_, P>) {
        while let Some(effect) = self.next_effect(kind, cx.now) {
            self.take_effect(effect, cx);
        }
        self.send_next(cx);
    }

    fn next_effect(&mut self, kind: u32, now: u64) -> Option<Effect> {
        let line = &mut self.transports.puts.as_mut()?.effects[kind as usize];
        let due = line.front()?.due;
        if due > now {
            self.ports.set_timer(due, NIC, Purpose::Effect, kind);
            return None;
        }
        line.pop_front()
    }

    fn take_effect<P: Post<Packet>>(&mut self, effect: Effect, cx: &mut Ctx<'_, P>) {
        let Some(puts) = &mut self.transports.puts else { return };
        let streams = streams(cx.world);
        let (slot, seq) = (effect.slot, effect.seq);
        let outgoing = &mut puts.outgoing[slot as usize];
        let stream = &streams.all[outgoing.number as usize];
        let spec = streams.kind(stream);
        let before = outgoing.policy.state();
        let mut quiet = false;
        let (freed, event) = if effect.nack {
            (outgoing.on_nack(seq, spec, cx.now), PutEvent::Nack)
        } else {
            let (acked, marked) = (outgoing.on_ack(&effect.facts(), seq, spec, cx.now), effect.marked);
            let event = match (acked.repeat, marked) {
                (true, _) => PutEvent::Dack,
                (false, true) => PutEvent::Marked,
                (false, false) => PutEvent::Iack,
            };
            // Every packet of the other stream carries the latest ACK: one that says nothing new is no event.
            quiet = acked.repeat && effect.aboard && !marked;
            (acked.packets, event)
        };
        self.free(slot, freed, cx);
        self.after_change(slot, cx.now, cx.world);
        if quiet {
            return;
        }
        self.note_put(Note { slot, flow: stream.flow, seq, event, bytes: 0, value: -1 }, cx);
        self.note_policy(slot, before, cx);
    }

    /// The oldest packets of a stream have been acknowledged.
    fn free<P: Post<Packet>>(&mut self, slot: u32, packets: u32, cx: &mut Ctx<'_, P>) {
        for _ in 0..packets {
            let Some(puts) = &mut self.transports.puts else { return };
            let outgoing = &mut puts.outgoing[slot as usize];
            let kept = outgoing.window.pop_front().expect("as many as are outstanding");
            outgoing.bytes -= u64::from(kept.size);
            let streams = streams(cx.world);
            let staging = streams.kind(&streams.all[outgoing.number as usize]).staging.as_ps();
            let pair = cx.world.sender_slot[kept.flow as usize];
            // What effects wait for beyond the processing of the ACK belongs to the packet that may leave cx.now.
            if self.senders[pair as usize].put_acknowledged(cx.now.saturating_sub(staging)) {
                cx.post.complete();
                if self.steps.is_some() {
                    self.happened(Happened::Acked(pair), cx.now);
                }
            }
        }
    }

    /// A stream may have got, or lost, the right to send.
    fn after_change(&mut self, slot: u32, now: u64, world: &World) {
        let Some(puts) = &mut self.transports.puts else { return };
        let outgoing = &mut puts.outgoing[slot as usize];
        if outgoing.reliability.replaying() && !outgoing.replaying {
            outgoing.replaying = true;
            puts.replays.push_back(slot);
        }
        puts.line_up(slot, &self.senders, now, world);
        self.arm(slot, now, world);
    }

    /// Sets the timer of a stream, if it has to go off before the one that is set.
    fn arm(&mut self, slot: u32, now: u64, world: &World) {
        let Some(puts) = &mut self.transports.puts else { return };
        let outgoing = &mut puts.outgoing[slot as usize];
        let streams = streams(world);
        let at = outgoing.deadline(streams.kind(&streams.all[outgoing.number as usize])).max(now);
        if at < outgoing.timer {
            outgoing.timer = at;
            self.ports.set_timer(at, NIC, Purpose::Stream, slot);
        }
    }

    /// A timer of a stream goes off: the one that counts, or one that came too late to be taken back.
    pub(crate) fn stream_due<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let Some(puts) = &mut self.transports.puts else { return };
        let outgoing = &mut puts.outgoing[slot as usize];
        if outgoing.timer != cx.now {
            return;
        }
        outgoing.timer = u64::MAX;
        let streams = streams(cx.world);
        let stream = &streams.all[outgoing.number as usize];
        let spec = streams.kind(stream);
        let before = outgoing.policy.state();
        outgoing.policy.advance(&spec.policy, Time::from_ps(cx.now));
        let expired = outgoing.expire(spec, cx.now);
        let (seq, times) = (*expired.start(), outgoing.futile);
        if times > spec.retries && !expired.is_empty() {
            self.ports.fail(cx.now, NIC, What::NoAck { flow: stream.flow, seq, times }, cx);
        }
        self.after_change(slot, cx.now, cx.world);
        for seq in expired {
            let note = Note { slot, flow: stream.flow, seq, event: PutEvent::Timeout, bytes: 0, value: -1 };
            self.note_put(note, cx);
        }
        self.note_policy(slot, before, cx);
        self.send_next(cx);
    }
}
