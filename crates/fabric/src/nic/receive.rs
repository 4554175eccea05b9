//! The receiving side of a host: what a data packet does when it is there, and what goes back.
use backwater_control::CodePoint;
use backwater_control::notify::Action;
use backwater_engine::Post;
use backwater_units::{Bytes, Time};

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::Purpose;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{Kind, Packet};
use crate::spec::AckSpec;
use crate::transport::roce::queue_pair::Verdict;
use crate::violation::What;
use crate::world::World;

impl<N: Nics> Host<N> {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with a second caller, for slow hosts, it is a call of its own, which costs 7 instructions a hop"
    )]
    fn take_data<P: Post<Packet>, const EARLY: bool>(
        &mut self,
        packet: &Packet,
        quiet: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let nic = self.nic();
        let slot = cx.world.receiver_slot[packet.flow as usize];
        let receiver = &mut self.receivers[slot as usize];
        let (now, before) = (packet.time, receiver.received());
        match receiver.on_data(packet.seq, packet.code, packet.size, now, cx.world) {
            Verdict::OutOfOrder => {
                let what = What::Order(packet.flow, receiver.packets(), packet.number());
                self.ports.fail(now, packet.port, what, cx);
            }
            Verdict::Fine { last, ack } => {
                let (seq, kind, notes) = (receiver.packets(), receiver.kind(), receiver.notes());
                let payload = receiver.received() - before;
                let message = last && receiver.goes_on();
                if last && !message {
                    cx.post.complete();
                    self.happened(Happened::Received(slot), now);
                }
                if cx.world.deliveries {
                    self.note_arrival(packet, seq - 1, payload, cx);
                }
                let pair = &cx.world.pairs[usize::from(kind)];
                if let (false, Some(config)) = (EARLY, &pair.notify) {
                    match self.notifiers[notes as usize].on_packet(
                        config,
                        Time::from_ps(now),
                        packet.code,
                        packet.size.into(),
                    ) {
                        Action::Nothing => {}
                        Action::Send(code) => self.send_cnp(packet.flow, kind, code, 0, cx),
                        Action::Arm(at) => self.ports.set_timer(at.as_ps(), nic, Purpose::Notify, slot),
                    }
                }
                if let (Some(echo), Some(ack), false) = (ack, &pair.ack, EARLY && quiet) {
                    self.answer(Kind::Ack, packet, seq, echo, ack, cx);
                }
                if message {
                    self.message_came(slot, packet.seq, cx);
                }
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(crate) fn on_data<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        self.take_data::<P, false>(packet, false, cx);
    }

    /// The same of a packet that came early, whose mark has been answered: its turn has come. A `quiet` one gets no ACK.
    #[inline(never)]
    pub(crate) fn on_early_data<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        quiet: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        self.take_data::<P, true>(packet, quiet, cx);
    }

    /// An ACK or a NACK for a packet, with what came beside it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn answer<P: Post<Packet>>(
        &mut self,
        kind: Kind,
        packet: &Packet,
        seq: u32,
        echo: CodePoint,
        ack: &AckSpec,
        cx: &mut Ctx<'_, P>,
    ) {
        let class = match ack.priority {
            Some(priority) => cx.world.classes.class(priority),
            // What came isolated is answered in the class of its flow.
            None if cx.world.isolation.is_some() => cx.world.class_of(&cx.world.flows[packet.flow as usize]),
            None => packet.class,
        };
        let frame = control_frame(kind, packet.flow, seq, echo, class, ack.size, cx.world);
        if !self.ports.extensions().is_empty() {
            self.answer_beside(packet, &frame, cx.world);
        }
        self.send_control(&frame, cx);
    }

    /// What came with a packet goes back with its answer. What came with a message of ranks has been read: its next copy may be here already.
    #[cold]
    fn answer_beside(&mut self, packet: &Packet, frame: &Packet, world: &World) {
        let slot = world.receiver_slot[packet.flow as usize];
        if !self.receivers[slot as usize].has_messages() {
            self.ports.extensions_mut().answer(packet, frame);
        }
    }

    /// `advised`: at which rate the flow came, in kbit/s, or 0.
    pub(crate) fn send_cnp<P: Post<Packet>>(
        &mut self,
        flow: u32,
        pair: u16,
        code: CodePoint,
        advised: u32,
        cx: &mut Ctx<'_, P>,
    ) {
        if let Some(delivered) = &mut self.delivered {
            delivered.notified(flow, &mut self.ports, cx);
        }
        let size = cx.world.pairs[usize::from(pair)].cnp_size;
        let frame = control_frame(Kind::Cnp, flow, advised, code, 0, size, cx.world);
        match &mut self.requests {
            Some(requests) if requests.makes_cnps() => {
                let at = requests.make(frame, cx.now);
                self.ports.set_timer(at, self.nic(), Purpose::Cnp, 0);
            }
            _ => self.send_control(&frame, cx),
        }
    }

    /// ACKs and CNPs go before data.
    pub(super) fn send_control<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        // The control class, whose gate never closes, for ACKs that no PAUSE holds; switches see their own.
        let class = if cx.world.nic.acks_ignore_pause && matches!(frame.kind, Kind::Ack | Kind::Nack) {
            0
        } else {
            frame.class
        };
        let nic = self.port_back(frame, cx.world);
        self.turn_to(nic);
        self.ports.enqueue_in(nic, class, frame);
        if self.ports.has_credits() {
            // Credits that are too few for data may do for this.
            self.fed(frame.class, cx);
        }
        self.send_next(cx);
        self.ports.note_queue(nic, class);
    }

    /// An ACK tells the reaction point something.
    #[inline(never)]
    pub(crate) fn informed<P: Post<Packet>>(&mut self, slot: u32, ack: &Packet, cx: &mut Ctx<'_, P>) {
        if self.senders[slot as usize].is_reliable() {
            return self.replied(slot, ack, cx);
        }
        let sender = &mut self.senders[slot as usize];
        sender.count(ack.echo);
        let (kind, queue_pair) = (sender.kind(), sender.pacer());
        if let Some(window) = sender.window_mut() {
            let telemetry = self.ports.extensions_mut().take(ack);
            let telemetry = telemetry.as_ref().map_or(&[][..], |written| written.bytes());
            let pacer = &mut self.pacers[queue_pair as usize];
            if let Some(due) = window.acknowledged(ack, telemetry, kind, pacer, cx.world) {
                let port = self.port_of(queue_pair);
                let class = self.notified.class_of(&self.senders[slot as usize], port, cx.world);
                self.queue_of(queue_pair).push(class, due, slot, queue_pair);
                self.send_next(&mut cx.at(ack.time));
            }
            return;
        }
        let rtt = sender.round_trip(ack.seq, ack.time);
        let pacer = &mut self.pacers[sender.pacer() as usize];
        pacer.informed(sender.kind(), ack.echo, rtt, ack.time, cx.world);
    }
}

/// An ACK or CNP for a flow: it goes back to the flow's source and is not itself markable.
fn control_frame(
    kind: Kind,
    flow: u32,
    seq: u32,
    echo: CodePoint,
    class: u8,
    size: Bytes,
    world: &World,
) -> Packet {
    Packet {
        time: 0,
        flow,
        seq,
        dst: world.flows[flow as usize].src,
        next: 0,
        port: 0,
        size: size.get() as u16,
        kind,
        code: CodePoint::NotCapable,
        class,
        echo,
    }
}
