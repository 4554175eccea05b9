//! The initiator: PUTs leave, ACKs and NACKs take effect, timers run out.
use backwater_control::CodePoint;
use backwater_engine::Post;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::nic::put::log::Note;
use crate::packet::{Kind, Packet};
use crate::record::PutEvent;
use crate::transport::put::effect::Effect;
use crate::transport::put::outgoing::Kept;
use crate::transport::put::sending::Effected;
use crate::transport::put::{frame, streams};
use crate::violation::What;
use crate::world::World;

impl<N: Nics> Host<N> {
    /// A flow of a stream starts: its first packet is there when it has been staged.
    pub(crate) fn begin_put(&mut self, pair: u32, now: u64, world: &World) {
        let streams = streams(world);
        let stream = streams.of(self.senders[pair as usize].flow()).expect("a PUT has a stream");
        self.turn_to_stream(stream.out_slot);
        let nic = self.nic();
        let Some(puts) = self.transports.puts_mut() else { return };
        let sender = &mut self.senders[pair as usize];
        sender.source_delay_mut().start(now, self.ports.closed_for(nic, stream.class, now));
        let due = sender.first_due(now).saturating_add(streams.kind(stream).staging.as_ps());
        puts.begin(stream.out_slot, pair, due, &self.senders, now, world);
    }

    /// The new packet of the stream whose turn it is leaves.
    pub(crate) fn send_put<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let Some(puts) = self.transports.puts_mut() else { return };
        let class = puts.outgoing(slot, cx.world).class;
        let pair = puts.next_sender(slot);
        let sender = &mut self.senders[pair as usize];
        let (number, _, size) = sender.next_packet(cx.world);
        let wire_time = self.ports.egress(nic).wire_time(size);
        sender.source_delay_mut().sent(cx.now, cx.now, wire_time, self.ports.closed_for(nic, class, cx.now));
        let next = sender.put(cx.now);
        let kept = Kept { flow: sender.flow(), at: cx.now, size, last: next.is_none() };
        let before = puts.allows(slot);
        let seq = puts.sent(slot, kept, next, cx.world);
        puts.line_up(slot, &self.senders, cx.now, cx.world);
        if cx.world.follows(kept.flow) {
            self.note_injection(kept.flow, number, cx.now, cx);
        }
        if kept.last {
            self.happened(Happened::Sent(pair), cx.now + wire_time);
        }
        self.transmit_put(slot, seq, kept, PutEvent::Sent, cx);
        self.note_policy(slot, before, cx);
    }

    /// A packet of a stream that replays leaves once more.
    pub(crate) fn repeat_put<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let Some(puts) = self.transports.puts_mut() else { return };
        let before = puts.allows(slot);
        let Some((seq, kept, freed)) = puts.repeat(slot, cx.now, cx.world) else { return };
        let slot_of_flow = cx.world.sender_slot[kept.flow as usize];
        self.senders[slot_of_flow as usize].count_resent();
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
        self.turn_to_stream(slot);
        let nic = self.nic();
        let Some(puts) = self.transports.puts() else { return };
        let stream = puts.outgoing(slot, cx.world);
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
        self.ports.inject(nic, &packet, cx);
        if self.ports.has_credits() {
            self.ports.spend_credit(nic, &packet);
        }
        self.arm(slot, cx.now, cx.world);
        let allowance = self.transports.puts().and_then(|puts| puts.allows(slot).allowance);
        let value = allowance.map_or(-1, u64::cast_signed);
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
        let stream = streams.stream(number);
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
        let Some(puts) = self.transports.puts_mut() else { return };
        if puts.defer(stream.kind, effect) {
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
        let puts = self.transports.puts_mut()?;
        let due = puts.effect_due(kind)?;
        if due > now {
            self.ports.set_timer(due, NIC, Purpose::Effect, kind);
            return None;
        }
        puts.take_effect(kind)
    }

    fn take_effect<P: Post<Packet>>(&mut self, effect: Effect, cx: &mut Ctx<'_, P>) {
        self.turn_to_stream(effect.slot);
        let Some(puts) = self.transports.puts_mut() else { return };
        let (slot, seq) = (effect.slot, effect.seq);
        let before = puts.allows(slot);
        let Effected { event, freed, quiet } = puts.apply(&effect, cx.now, cx.world);
        let flow = puts.outgoing(slot, cx.world).flow;
        self.free(slot, freed, cx);
        self.after_change(slot, cx.now, cx.world);
        if quiet {
            return;
        }
        self.note_put(Note { slot, flow, seq, event, bytes: 0, value: -1 }, cx);
        self.note_policy(slot, before, cx);
    }

    /// The oldest packets of a stream have been acknowledged.
    fn free<P: Post<Packet>>(&mut self, slot: u32, packets: u32, cx: &mut Ctx<'_, P>) {
        for _ in 0..packets {
            let Some(puts) = self.transports.puts_mut() else { return };
            let kept = puts.free(slot);
            let staging = streams(cx.world).kind(puts.outgoing(slot, cx.world)).staging.as_ps();
            let pair = cx.world.sender_slot[kept.flow as usize];
            // What effects wait for beyond the processing of the ACK belongs to the packet that may leave cx.now.
            if self.senders[pair as usize].put_acknowledged(cx.now.saturating_sub(staging)) {
                cx.post.complete();
                self.happened(Happened::Acked(pair), cx.now);
            }
        }
    }

    /// A stream may have got, or lost, the right to send.
    pub(crate) fn after_change(&mut self, slot: u32, now: u64, world: &World) {
        self.turn_to_stream(slot);
        let Some(puts) = self.transports.puts_mut() else { return };
        puts.changed(slot, &self.senders, now, world);
        self.arm(slot, now, world);
    }

    /// Sets the timer of a stream, if it has to go off before the one that is set.
    fn arm(&mut self, slot: u32, now: u64, world: &World) {
        let Some(puts) = self.transports.puts_mut() else { return };
        if let Some(at) = puts.arm(slot, now, world) {
            self.ports.set_timer(at, NIC, Purpose::Stream, slot);
        }
    }

    /// A timer of a stream goes off: the one that counts, or one that came too late to be taken back.
    pub(crate) fn stream_due<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        self.turn_to_stream(slot);
        let nic = self.nic();
        let Some(puts) = self.transports.puts_mut() else { return };
        let (before, stream) = (puts.allows(slot), puts.outgoing(slot, cx.world));
        let Some((expired, times)) = puts.expire(slot, cx.now, cx.world) else { return };
        let (seq, spec) = (*expired.start(), streams(cx.world).kind(stream));
        if times > spec.retries && !expired.is_empty() {
            self.ports.fail(cx.now, nic, What::NoAck { flow: stream.flow, seq, times }, cx);
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
