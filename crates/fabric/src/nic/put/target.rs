//! The target: PUTs come in, are accepted or lost, are processed; ACKs and NACKs go back.
use backwater_control::CodePoint;
use backwater_control::notify::put::Frame;
use backwater_control::transport::Verdict;
use backwater_engine::Post;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::nic::put::log::Note;
use crate::packet::{Kind, LAST, Packet};
use crate::record::PutEvent;
use crate::transport::put::{Puts, streams};
use crate::world::World;

impl<N: Nics> Host<N> {
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
            self.turn_to(packet.port);
        }
        self.turn_to_answers(&stream, cx.now, cx.world);
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
            if verdict == Verdict::Duplicate {
                self.ports.count_lost(packet.flow, None);
            } else {
                self.receivers[slot as usize].count_refused();
            }
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
        let queue = self.receive_queue();
        let room = self.endpoint.as_ref().is_none_or(|endpoint| endpoint.fits(packet));
        self.puts().judge(packet, queue, room, world)
    }

    /// What a host has to which PUTs come.
    fn puts(&mut self) -> &mut Puts {
        self.transports.puts_mut().expect("PUTs come to hosts that have streams")
    }

    /// A PUT has been accepted and stands in the receive queue.
    fn accept(&mut self, packet: &Packet, seq: u32, world: &World) {
        let held = self.receive_queue().0;
        self.puts().accept(packet, seq, held, world);
    }

    /// A PUT has been processed `now`: it is not in the receive queue any more.
    pub(crate) fn put_processed<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let held = self.receive_queue().0;
        let stream = streams(cx.world).of(packet.flow).expect("a PUT has a stream");
        let seq = self.puts().processed(packet, held, cx.now, cx.world);

        let slot = cx.world.receiver_slot[packet.flow as usize];
        let receiver = &mut self.receivers[slot as usize];
        let (number, before) = (receiver.packets(), receiver.received());
        let last = receiver.on_put(packet.seq & LAST != 0, packet.size, cx.now, cx.world);
        let bytes = receiver.received() - before;
        if last {
            cx.post.complete();
            self.happened(Happened::Received(slot), cx.now);
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
        let Some(puts) = self.transports.puts() else { return };
        let seq = puts.acknowledged(streams(cx.world).stream(number), packet.seq);
        self.acknowledged_put(number, seq, false, packet.echo.is_marked(), true, cx);
    }

    /// What a packet that leaves for the initiator of an incoming stream acknowledges: low bits and code.
    pub(crate) fn ack_aboard(&mut self, number: u32, now: u64, world: &World) -> (u32, CodePoint) {
        let held = self.receive_queue().0;
        let Some(puts) = self.transports.puts_mut() else { return (0, CodePoint::NotCapable) };
        puts.ack_aboard(streams(world).stream(number), held, now, world)
    }

    /// The ACK or NACK that is owed for longest leaves.
    pub(crate) fn send_ack<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let queue = self.receive_queue();
        let Some(puts) = self.transports.puts_mut() else { return };
        let frame = puts.compose(slot, queue, cx.now, cx.world);
        let stream = puts.incoming(slot, cx.world);
        let spec = streams(cx.world).kind(stream);
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
        let nic = self.nic();
        self.ports.inject(nic, &packet, cx);
        if self.ports.has_credits() {
            self.ports.spend_credit(nic, &packet);
        }
        let (event, value) = (event_of(frame), queue.0.cast_signed());
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
