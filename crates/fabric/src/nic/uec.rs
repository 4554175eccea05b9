//! What a NIC does for flows of UEC: packets and control frames leave and come in, timers run out. What is decided about them is in
//! [`crate::transport::uec`].
use backwater_control::uec::{Came, Delivery};
use backwater_engine::{Place, Post};

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::spec::UecSpec;
use crate::transport::uec::frame::{AT_LAST, Body, has, target_ahead, target_of};
use crate::transport::uec::incoming::Answer;
use crate::transport::uec::outgoing::{Departure, Expired, May, Outgoing};
use crate::transport::uec::{Uec, What};
use crate::world::World;

impl<N: Nics> Host<N> {
    fn uec(&mut self) -> &mut Uec {
        self.transports.uec_mut().expect("a host with flows of UEC")
    }

    /// A flow starts.
    pub(crate) fn begin_uec(&mut self, pair: u32, kind: u16, now: u64, world: &World) {
        let spec = &world.uecs[usize::from(kind)];
        let sender = &mut self.senders[pair as usize];
        let mut outgoing = Outgoing::new(sender.flow(), kind, spec, world);
        let closed = self.ports.closed_for(NIC, outgoing.class(), now);
        sender.source_delay_mut().start(now, closed);
        let asks = outgoing.may_send(spec) == May::Credit;
        if let Some(at) = asks.then(|| outgoing.look_at(now)) {
            self.ports.set_timer(at, NIC, Purpose::Expiry, pair);
        }
        self.uec().begin(pair, outgoing);
        self.uec().line_up(pair, now, world);
    }

    /// Sends what was offered.
    #[inline]
    pub(crate) fn send_uec<P: Post<Packet>>(&mut self, what: What, cx: &mut Ctx<'_, P>) {
        self.uec().turn(what);
        match what {
            What::Control { .. } => {
                if let Some(frame) = self.uec().pop_control() {
                    self.transmit_uec(&frame, cx);
                }
            }
            What::Data(pair) => self.send_uec_data(pair, cx),
        }
    }

    fn transmit_uec<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        self.count_sent(frame);
        self.ports.inject(NIC, frame, cx);
        if self.ports.has_credits() {
            self.ports.spend_credit(NIC, frame);
        }
    }

    /// The packet of the flow whose turn it is leaves.
    #[inline]
    fn send_uec_data<P: Post<Packet>>(&mut self, pair: u32, cx: &mut Ctx<'_, P>) {
        let (now, world) = (cx.now, cx.world);
        let uec = self.transports.uec_mut().expect("it was offered");
        let waiting = uec.leave_line(pair);
        let place = uec.destination(pair);
        let Some(outgoing) = uec.outgoing(pair) else { return };
        let spec = &world.uecs[usize::from(outgoing.kind())];
        let Departure { packet, leaving, target } = outgoing.leave(spec, waiting, now);
        let (timer, is_last) = (outgoing.arm(spec, leaving.late, now), outgoing.has_sent_all());
        uec.line_up(pair, now, world);
        let sender = &mut self.senders[pair as usize];
        let wire_time = self.ports.egress(NIC).wire_time(packet.size);
        let closed = self.ports.closed_for(NIC, packet.class, now);
        sender.source_delay_mut().sent(now, now, wire_time, closed);
        if leaving.again {
            sender.count_resent();
        } else {
            sender.put(now);
        }
        if let Some(at) = timer {
            self.ports.set_timer(at, NIC, Purpose::Expiry, pair);
        }
        if !leaving.again {
            if world.follows(packet.flow) {
                // By the number in the frame, as packets arrive in no order.
                self.note_injection(packet.flow, packet.psn(), now, cx);
            }
            if is_last {
                self.happened(Happened::Sent(pair), now + wire_time);
            }
        }
        if let Some(target) = target {
            let (time, port) = (now + world.ahead(packet.flow), world.management);
            let message = target_ahead(packet.flow, leaving.psn, leaving.again, target, time, port);
            cx.post.send(place, time, &message, |_| ());
        }
        self.transmit_uec(&packet, cx);
    }

    /// A frame of UEC has come.
    #[inline]
    pub(crate) fn on_uec<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        match frame.kind {
            Kind::UecData => self.on_uec_data(frame, cx),
            Kind::UecTrimmed => self.on_uec_trimmed(frame, cx),
            Kind::UecRts => self.on_uec_rts(frame, cx),
            Kind::UecAhead => return self.on_uec_ahead(frame, cx),
            _ => self.on_uec_answer(frame, cx),
        }
        // Most data changes nothing of what leaves next, and the port is to wake for that already.
        if !self.uec().is_as_found() {
            self.send_next(cx);
        }
    }

    /// What a frame will say has come ahead of it: an ACK's to the source of the flow, else to its destination.
    #[inline]
    fn on_uec_ahead<P: Post<Packet>>(&mut self, message: &Packet, cx: &mut Ctx<'_, P>) {
        self.ports.note_link_frame();
        let (flow, world) = (message.flow, cx.world);
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        if world.hosts[world.flows[flow as usize].src as usize] == self.ports.node() {
            if let Some(outgoing) = uec.outgoing(world.sender_slot[flow as usize]) {
                outgoing.put_ahead(Body::of(message));
            }
        } else {
            let slot = world.receiver_slot[flow as usize];
            uec.incoming(slot, flow, world).put_ahead(message, target_of(message));
        }
    }

    #[inline]
    fn on_uec_data<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let (now, world) = (frame.time, cx.world);
        let slot = world.receiver_slot[frame.flow as usize];
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        let incoming = uec.incoming(slot, frame.flow, world);
        let spec = &world.uecs[usize::from(incoming.kind())];
        let size = incoming.size();
        if spec.delivery == Delivery::Rod && incoming.is_ahead(frame) {
            return self.discard_uec(slot, frame, spec, cx);
        }
        let (wants, fresh, answer) = incoming.on_data(frame, spec);
        if fresh {
            let receiver = &mut self.receivers[slot as usize];
            let before = receiver.received();
            let payload = u64::from(frame.size - world.header);
            let last = before + payload >= size;
            receiver.on_put(last, frame.size, now, world);
            receiver.count_mark(frame.code);
            if last {
                cx.post.complete();
                self.happened(Happened::Received(slot), now);
            }
            if world.deliveries {
                self.note_arrival(frame, frame.psn(), payload, cx);
            }
        }
        if let Some(answer) = answer {
            self.answer_uec(slot, &answer, cx);
        }
        if spec.credits.is_some() {
            let marked = u32::from(frame.code.is_marked());
            self.count_uec(slot, spec, |came| came.marked += marked, cx);
            if wants {
                self.ask_uec(slot, cx);
            }
        }
    }

    /// ROD: data has come that is behind a gap.
    #[cold]
    fn discard_uec<P: Post<Packet>>(
        &mut self,
        slot: u32,
        frame: &Packet,
        spec: &UecSpec,
        cx: &mut Ctx<'_, P>,
    ) {
        self.receivers[slot as usize].count_refused();
        self.ports.count_drop(frame, NIC, DropReason::NotTaken, cx);
        let nack = self.uec().incoming(slot, frame.flow, cx.world).nack_of_gap(frame, spec);
        if let Some(nack) = nack {
            self.uec().push_control(&nack);
        }
    }

    fn on_uec_trimmed<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let world = cx.world;
        let slot = world.receiver_slot[frame.flow as usize];
        let incoming = self.uec().incoming(slot, frame.flow, world);
        let spec = &world.uecs[usize::from(incoming.kind())];
        let at_last = has(frame, AT_LAST);
        let count = |came: &mut Came| if at_last { came.trimmed_last += 1 } else { came.trimmed_before += 1 };
        if let Some(answer) = incoming.on_trimmed(frame, spec) {
            self.answer_uec(slot, &answer, cx);
            return self.count_uec(slot, spec, count, cx);
        }
        if incoming.asks_for(frame, spec) {
            let nack = incoming.nack(frame, spec);
            self.uec().push_control(&nack);
        }
        if spec.credits.is_some() {
            self.count_uec(slot, spec, count, cx);
            self.ask_uec(slot, cx);
        }
    }

    fn on_uec_rts<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let world = cx.world;
        let slot = world.receiver_slot[frame.flow as usize];
        let incoming = self.uec().incoming(slot, frame.flow, world);
        let spec = &world.uecs[usize::from(incoming.kind())];
        let answer = incoming.on_rts(frame, spec);
        self.answer_uec(slot, &answer, cx);
        self.count_uec(slot, spec, |_| (), cx);
        self.ask_uec(slot, cx);
    }

    /// An ACK leaves, and what it says goes ahead of it.
    #[inline]
    fn answer_uec<P: Post<Packet>>(&mut self, slot: u32, answer: &Answer, cx: &mut Ctx<'_, P>) {
        let flow = answer.frame.flow;
        let time = cx.now + cx.world.ahead(flow);
        let message = answer.body.ahead(flow, time, cx.world.management);
        let place: Place = self.uec().source(slot);
        cx.post.send(place, time, &message, |_| ());
        self.uec().push_control(&answer.frame);
    }

    /// What comes is counted, if its receiver looks at that.
    fn count_uec<P: Post<Packet>>(
        &mut self,
        slot: u32,
        spec: &UecSpec,
        count: impl FnOnce(&mut Came),
        cx: &mut Ctx<'_, P>,
    ) {
        if let Some(at) = self.uec().pacer().0.count(spec, cx.now, count) {
            self.ports.set_timer(at, NIC, Purpose::Look, slot);
        }
    }

    /// A receiver wants credits: its turn comes at once if nobody else does.
    fn ask_uec<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let (pacer, incoming) = self.uec().pacer();
        if let Some(incoming) = &mut incoming[slot as usize]
            && pacer.ask(slot, incoming)
        {
            self.ports.set_timer(cx.now, NIC, Purpose::Pull, 0);
        }
    }

    /// The next pull is due.
    pub(crate) fn pull_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let link = self.ports.egress(NIC).rate();
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        let (pacer, incoming) = uec.pacer();
        let receivers = &self.receivers;
        let ended = |slot: u32| receivers[slot as usize].finish() < u64::MAX;
        let Some((pull, gap)) = pacer.pull(incoming, link, cx.world, ended) else { return };
        uec.push_control(&pull);
        self.ports.set_timer(cx.now + gap, NIC, Purpose::Pull, 0);
        self.send_next(cx);
    }

    /// A host looks at what came.
    pub(crate) fn look_due<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let flow = self.receivers[slot as usize].flow();
        let kind = cx.world.uec_kind(flow).expect("a flow of UEC");
        let spec = &cx.world.uecs[usize::from(kind)];
        if let Some(at) = self.uec().pacer().0.look(spec, cx.now) {
            self.ports.set_timer(at, NIC, Purpose::Look, slot);
        }
    }

    /// An ACK, a NACK or a pull has come.
    #[inline]
    fn on_uec_answer<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let (now, world) = (frame.time, cx.world);
        let slot = world.sender_slot[frame.flow as usize];
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        let counts = uec.counts_mut(slot);
        match frame.kind {
            Kind::UecAck => counts.acks += 1,
            Kind::UecNack => counts.nacks += 1,
            _ => {}
        }
        let Some(outgoing) = uec.outgoing(slot) else { return };
        let spec = &world.uecs[usize::from(outgoing.kind())];
        match frame.kind {
            Kind::UecAck => {
                outgoing.on_ack(frame, spec, now);
            }
            Kind::UecNack => outgoing.on_nack(frame, spec, now),
            _ => outgoing.on_pull(frame, spec),
        }
        if outgoing.is_done() {
            uec.forget(slot);
            if self.senders[slot as usize].completed(now) {
                cx.post.complete();
                self.happened(Happened::Acked(slot), now);
            }
        } else {
            uec.line_up(slot, now, world);
        }
    }

    /// The timer of a flow goes off: the one that counts, or one that came too late to be taken back.
    pub(crate) fn expiry_due<P: Post<Packet>>(&mut self, pair: u32, cx: &mut Ctx<'_, P>) {
        let (now, world) = (cx.now, cx.world);
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        let Some(outgoing) = uec.outgoing(pair) else { return };
        let spec = &world.uecs[usize::from(outgoing.kind())];
        let (again, asks) = match outgoing.expire(spec, now) {
            Expired::Nothing => return,
            Expired::Later(at) => (Some(at), false),
            Expired::Starves(at) => (Some(at), outgoing.may_send(spec) == May::Credit),
            Expired::Rts(frame, psn, again) => {
                let target = outgoing.target_again(spec);
                self.send_rts(pair, &frame, psn, true, target, cx);
                (again, false)
            }
            Expired::Data { queued, again } => {
                let asks = outgoing.has_credit() && (queued || outgoing.may_send(spec) != May::Send);
                uec.counts_mut(pair).timeouts += 1;
                (again, asks)
            }
        };
        if let Some(at) = again {
            self.ports.set_timer(at, NIC, Purpose::Expiry, pair);
        }
        if asks {
            self.ask_for_credit(pair, cx);
        }
        self.uec().line_up(pair, now, world);
        self.send_next(cx);
    }

    /// A sender that waits for credits asks for some, if it has not lately.
    fn ask_for_credit<P: Post<Packet>>(&mut self, pair: u32, cx: &mut Ctx<'_, P>) {
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        let waiting = uec.waiting();
        let Some(outgoing) = uec.outgoing(pair) else { return };
        let spec = &cx.world.uecs[usize::from(outgoing.kind())];
        let rts = outgoing.rts(spec, waiting, cx.now);
        // Even if none could leave: it may be all that is waited for.
        if let Some(at) = outgoing.arm(spec, 0, cx.now) {
            self.ports.set_timer(at, NIC, Purpose::Expiry, pair);
        }
        let Some((frame, psn, target)) = rts else { return };
        self.send_rts(pair, &frame, psn, false, Some(target), cx);
    }

    /// An RTS leaves, and its pull target ahead of it.
    fn send_rts<P: Post<Packet>>(
        &mut self,
        pair: u32,
        frame: &Packet,
        psn: u32,
        again: bool,
        target: Option<u64>,
        cx: &mut Ctx<'_, P>,
    ) {
        let uec = self.transports.uec_mut().expect("a host with flows of UEC");
        uec.counts_mut(pair).rts += 1;
        uec.push_control(frame);
        if let Some(target) = target {
            let (time, port) = (cx.now + cx.world.ahead(frame.flow), cx.world.management);
            let message = target_ahead(frame.flow, psn, again, target, time, port);
            cx.post.send(uec.destination(pair), time, &message, |_| ());
        }
    }
}
