//! The target: PUTs come in, are accepted or lost, are processed; ACKs and NACKs go back.
use backwater_control::CodePoint;
use backwater_control::notify::put::Frame;
use backwater_control::transport::Verdict;
use backwater_engine::Post;
use backwater_units::Time;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::NIC;
use crate::nic::host::Host;
use crate::nic::put::log::Note;
use crate::packet::{Kind, LAST, Packet};
use crate::record::PutEvent;
use crate::transport::put::{frame, streams};
use crate::world::World;

impl Host {
    /// Bytes in the receive queue and the most that it takes. A host that processes at once has an empty one.
    fn receive_queue(&self) -> (u64, u64) {
        self.endpoint.as_ref().map_or((0, u64::MAX / 2), |endpoint| (endpoint.held(), endpoint.depth()))
    }

    /// A PUT has come in.
    #[inline(never)]
    pub(crate) fn on_put<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let stream = *streams(cx.world).of(packet.flow).expect("a PUT has a stream");
        if packet.echo != CodePoint::NotCapable
            && let Some(opposite) = stream.opposite
        {
            self.on_ack_aboard(opposite, packet, cx);
        }
        let (verdict, seq) = self.judge_put(packet, cx.world);
        let event = match verdict {
            Verdict::Accept => PutEvent::Accepted,
            Verdict::Duplicate => PutEvent::Duplicate,
            Verdict::Drop { gap: true, .. } => PutEvent::OutOfOrder,
            Verdict::Drop { gap: false, .. } => PutEvent::Dropped,
        };
        if verdict == Verdict::Accept {
            if self.endpoint.is_some() {
                self.enter(packet, cx);
            }
            self.accept(packet, seq, cx.world);
        } else {
            let slot = cx.world.receiver_slot[packet.flow as usize];
            self.receivers[slot as usize].refused += u32::from(verdict != Verdict::Duplicate);
            self.refuse(packet, event == PutEvent::Dropped, cx);
        }
        let bytes = if verdict == Verdict::Accept { cx.world.data_of(packet) } else { 0 };
        let value = self.receive_queue().0.cast_signed();
        let note = Note { slot: stream.in_slot, flow: packet.flow, seq, event, bytes, value };
        self.note_put(note, cx);
        if verdict == Verdict::Accept && self.endpoint.is_none() {
            self.put_processed(packet, cx);
        } else {
            self.send_next(cx);
        }
    }

    /// What becomes of a PUT that has come in, and its number in its stream.
    fn judge_put(&mut self, packet: &Packet, world: &World) -> (Verdict, u32) {
        let (held, depth) = self.receive_queue();
        let room = self.endpoint.as_ref().is_none_or(|endpoint| endpoint.fits(packet));
        let puts = self.transports.puts.as_mut().expect("PUTs come to hosts that have streams");
        let stream = streams(world).of(packet.flow).expect("a PUT has a stream");
        let spec = streams(world).kind(stream);
        let kept = puts.reserved_by_others(stream.kind);
        let incoming = &mut puts.incoming[stream.in_slot as usize];
        let desk = &mut puts.desks[usize::from(stream.kind)];
        let seq = frame::whole(frame::number(packet.seq), incoming.order.accepted() + 1);
        let fits = room && desk.release.admits(u64::from(packet.size), held + kept, depth, incoming.own);
        let verdict = incoming.order.on_packet(seq, fits);
        let now = Time::from_ps(packet.time);
        match verdict {
            Verdict::Accept => desk.release.give_back(std::mem::take(&mut incoming.own)),
            Verdict::Duplicate => incoming.acks.on_duplicate(now),
            Verdict::Drop { nack: true, .. } => {
                incoming.lost = packet.size;
                incoming.acks.on_lost(now);
            }
            Verdict::Drop { nack: false, .. } => {}
        }
        incoming.line_up(stream.in_slot, stream.class, spec, &mut puts.owed, packet.time);
        (verdict, seq)
    }

    /// A PUT has been accepted and stands in the receive queue.
    fn accept(&mut self, packet: &Packet, seq: u32, world: &World) {
        let held = self.receive_queue().0;
        let puts = self.transports.puts.as_mut().expect("PUTs come to hosts that have streams");
        let stream = streams(world).of(packet.flow).expect("a PUT has a stream");
        let spec = streams(world).kind(stream);
        let incoming = &mut puts.incoming[stream.in_slot as usize];
        let desk = &mut puts.desks[usize::from(stream.kind)];
        let congested = desk.release.congested(&spec.target, held);
        incoming.acks.on_accepted(&spec.target, congested, Time::from_ps(packet.time));
        desk.accepted(stream.in_slot, seq, packet.size);
        incoming.line_up(stream.in_slot, stream.class, spec, &mut puts.owed, packet.time);
        puts.release(stream.kind, held, packet.time, world);
    }

    /// A PUT has been processed `now`: it is not in the receive queue any more.
    pub(crate) fn put_processed<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let held = self.receive_queue().0;
        let puts = self.transports.puts.as_mut().expect("PUTs come to hosts that have streams");
        let stream = streams(cx.world).of(packet.flow).expect("a PUT has a stream");
        let incoming = &puts.incoming[stream.in_slot as usize];
        let seq = frame::whole(frame::number(packet.seq), incoming.order.accepted());
        puts.desks[usize::from(stream.kind)].release.processed(u64::from(packet.size));
        puts.release(stream.kind, held, cx.now, cx.world);

        let slot = cx.world.receiver_slot[packet.flow as usize];
        let receiver = &mut self.receivers[slot as usize];
        let (number, before) = (receiver.packets, receiver.received);
        let last = receiver.on_put(packet.seq & LAST != 0, packet.size, cx.now, cx.world);
        let bytes = receiver.received - before;
        if last {
            cx.post.complete();
            if self.steps.is_some() {
                self.happened(Happened::Received(slot), cx.now);
            }
        }
        if cx.world.deliveries {
            let arrived = Packet { time: cx.now, ..*packet };
            self.note_arrival(&arrived, number, bytes, cx);
        }
        let (slot, event, value) = (stream.in_slot, PutEvent::Processed, held.cast_signed());
        self.note_put(Note { slot, flow: packet.flow, seq, event, bytes, value }, cx);
        self.send_next(cx);
    }

    /// A frame that acknowledges has come in.
    pub(crate) fn on_put_ack<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let number = streams(cx.world).number(packet.flow);
        let (nack, marked) = (packet.kind == Kind::PutNack, packet.echo.is_marked());
        self.acknowledged_put(number, packet.seq, nack, marked, false, cx);
    }

    /// The ACK that a PUT carries for the stream which goes the other way.
    fn on_ack_aboard<P: Post<Packet>>(&mut self, number: u32, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let Some(puts) = &self.transports.puts else { return };
        let slot = streams(cx.world).all[number as usize].out_slot;
        let newest = puts.outgoing[slot as usize].reliability.newest();
        let seq = frame::whole(frame::ack(packet.seq), newest);
        self.acknowledged_put(number, seq, false, packet.echo.is_marked(), true, cx);
    }

    /// What a packet that leaves for the initiator of an incoming stream acknowledges: low bits and code.
    pub(crate) fn ack_aboard(&mut self, number: u32, now: u64, world: &World) -> (u32, CodePoint) {
        let held = self.receive_queue().0;
        let Some(puts) = &mut self.transports.puts else { return (0, CodePoint::NotCapable) };
        let stream = &streams(world).all[number as usize];
        let spec = streams(world).kind(stream);
        let congested = puts.desks[usize::from(stream.kind)].release.congested(&spec.target, held);
        let incoming = &mut puts.incoming[stream.in_slot as usize];
        let frame = incoming.acks.piggyback(&spec.target, congested, Time::from_ps(now));
        incoming.line_up(stream.in_slot, stream.class, spec, &mut puts.owed, now);
        (frame.seq, if frame.marked { CodePoint::Congestion } else { CodePoint::Capable })
    }

    /// The ACK or NACK that is owed for longest leaves.
    pub(crate) fn send_ack<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let (held, depth) = self.receive_queue();
        let Some(puts) = &mut self.transports.puts else { return };
        let incoming = &mut puts.incoming[slot as usize];
        let stream = &streams(cx.world).all[incoming.number as usize];
        let spec = streams(cx.world).kind(stream);
        let release = &mut puts.desks[usize::from(stream.kind)].release;
        puts.owed.leave(stream.class);
        let congested = release.congested(&spec.target, held);
        let accepted = incoming.order.accepted();
        let frame = incoming.acks.compose(&spec.target, accepted, congested, Time::from_ps(cx.now));
        if frame.nack {
            incoming.own = release.reserve(&spec.target, u64::from(incoming.lost), depth, incoming.own);
        }
        incoming.line_up(slot, stream.class, spec, &mut puts.owed, cx.now);
        let packet = Packet {
            flow: stream.flow,
            seq: frame.seq,
            dst: stream.src,
            size: spec.ack_size.get() as u16,
            kind: if frame.nack { Kind::PutNack } else { Kind::PutAck },
            class: stream.class,
            echo: if frame.marked { CodePoint::Congestion } else { CodePoint::NotCapable },
            ..Packet::NONE
        };
        self.count_sent(&packet);
        self.ports.inject(&packet, cx);
        if self.ports.credits.is_some() {
            self.ports.spend_credit(NIC, &packet, None);
        }
        let (event, value) = (event_of(frame), held.cast_signed());
        let note = Note { slot, flow: stream.flow, seq: frame.seq, event, bytes: 0, value };
        self.note_put(note, cx);
    }
}

const fn event_of(frame: Frame) -> PutEvent {
    match frame {
        Frame { nack: true, .. } => PutEvent::NackSent,
        Frame { repeat: true, .. } => PutEvent::DackSent,
        Frame { marked: true, .. } => PutEvent::MarkedSent,
        _ => PutEvent::IackSent,
    }
}
