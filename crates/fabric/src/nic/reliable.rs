//! Queue pairs that send again what is lost, at both ends: what a packet does that is not simply the next one, replies, timers.
use backwater_control::CodePoint;
use backwater_control::notify::{AckConfig, AckEcho};
use backwater_control::transport::Verdict;
use backwater_control::transport::go_back_n::GoBackN;
use backwater_control::transport::selective::{Responder, Taken};
use backwater_engine::Post;
use backwater_traffic::OWN_CONNECTION;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::nic::reorder::put_number;
use crate::observe::recovery::{Leaves, Recovery};
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::spec::{Clock, ReliableSpec, Repeat};
use crate::transport::roce::queue_pair::Sender;
use crate::transport::roce::reliable::{self, Begun, Expiry};
use crate::world::World;

/// What receivers remember of what was lost, by receiver.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Responders {
    of: Vec<Of>,
}

/// One of them. That of the first message of a connection has what is of the connection.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Of {
    go_back_n: GoBackN,
    selective: Responder,
    /// The number of the next packet in order, on the queue pair.
    expected: u32,
    echo: AckEcho,
    /// Of this message.
    duplicates: u32,
}

impl Responders {
    /// For so many receivers.
    pub(crate) fn new(receivers: usize) -> Self {
        Self { of: vec![Of::default(); receivers] }
    }

    /// There is one more receiver, after all others.
    pub(crate) fn add(&mut self) {
        self.of.push(Of::default());
    }

    /// Packets that came to a receiver once more.
    pub(crate) fn duplicates(&self, slot: u32) -> u32 {
        self.of[slot as usize].duplicates
    }
}

impl<N: Nics> Host<N> {
    /// Data of a queue pair that sends again what is lost has come: packet `number` of its flow.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_reliably<P: Post<Packet>>(
        &mut self,
        slot: u32,
        packet: &Packet,
        number: u32,
        spec: &ReliableSpec,
        cx: &mut Ctx<'_, P>,
    ) {
        let nic = self.nic();
        let first = cx.world.first_of(packet.flow);
        let lead = cx.world.receiver_slot[first as usize];
        let (number, now) = (cx.world.base_of(packet.flow) + number, Time::from_ps(packet.time));
        let of = &mut self.responders.as_mut().expect("made for these").of[lead as usize];
        let expected = of.expected;
        let held =
            number > expected && self.reorder.as_ref().is_some_and(|reorder| reorder.holds(lead, number));
        let (twice, nack, discards) = match spec.repeat {
            Repeat::GoBackN => match of.go_back_n.on_packet(spec.nack_every, number, now) {
                Verdict::Accept => return self.take_in_order(lead, slot, packet, cx),
                Verdict::Duplicate => (true, false, false),
                Verdict::Drop { nack, .. } => (false, nack, true),
            },
            Repeat::Selective { .. } | Repeat::BlockList { .. } => {
                match of.selective.on_packet(spec.nack_every, number, expected, held, now) {
                    Taken::InOrder => return self.take_in_order(lead, slot, packet, cx),
                    Taken::Duplicate => (true, false, false),
                    Taken::Held { nack } => (true, nack, false),
                    Taken::Early { nack } => {
                        let reorder = self.reorder.as_mut().expect("made for these");
                        reorder.keep((lead, slot), number, packet);
                        (false, nack, false)
                    }
                }
            }
        };
        let of = &mut self.responders.as_mut().expect("made for these").of[slot as usize];
        of.duplicates += u32::from(twice);
        self.notify_early(slot, packet, cx);
        if nack {
            self.reply(Kind::Nack, reliable::nack(expected, number), packet.code, packet, cx);
        } else if number < expected {
            let (kind, seq) = self.in_order(lead, expected, spec.repeat);
            self.reply(kind, seq, packet.code, packet, cx);
        }
        let messages = self.receivers[slot as usize].has_messages();
        if !nack && number >= expected && !messages {
            // An answer would have taken it. What comes with a message of ranks has been read.
            self.ports.extensions_mut().take(packet);
        }
        if discards {
            self.receivers[slot as usize].count_refused();
            self.ports.count_drop(packet, nic, DropReason::NotTaken, cx);
        }
    }

    /// The packet that was expected has come: it is dealt with, and what was kept behind it; one ACK is for all of them.
    fn take_in_order<P: Post<Packet>>(&mut self, lead: u32, slot: u32, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let expected = |host: &mut Self| {
            let of = &mut host.responders.as_mut().expect("made for these").of[lead as usize];
            of.expected += 1;
            of.expected
        };
        let mut next = expected(self);
        let filled = self.reorder.as_ref().is_some_and(|reorder| reorder.holds(lead, next));
        let repeat = cx.world.reliable_of(self.receivers[slot as usize].kind()).repeat;
        let is_plain = self.in_order(lead, next, repeat).0 == Kind::Ack;
        // The messages of ranks have one receiver, as a flow with a queue pair of its own has.
        let is_alone = cx.world.flows[packet.flow as usize].connection == OWN_CONNECTION
            || self.receivers[slot as usize].has_messages();
        if !filled && is_plain && is_alone {
            return self.on_data(packet, cx);
        }
        self.notify_early(slot, packet, cx);
        self.on_early_data(packet, true, cx);
        while let Some(reorder) = &mut self.reorder
            && let Some(kept) = reorder.take(lead, next)
        {
            self.on_early_data(&Packet { time: packet.time, ..kept }, true, cx);
            next = expected(self);
        }
        let receiver = &self.receivers[slot as usize];
        let Some(ack) = &cx.world.pairs[usize::from(receiver.kind())].ack else { return };
        let last = filled || receiver.finish() < u64::MAX;
        let of = &mut self.responders.as_mut().expect("made for these").of[lead as usize];
        if let Some(echo) = of.echo.on_packet(&AckConfig { every: ack.every }, packet.code, last) {
            let (kind, seq) = self.in_order(lead, next, repeat);
            self.reply(kind, seq, echo, packet, cx);
        }
    }

    /// What answers a packet in order, or one that has come before: its kind and its number.
    fn in_order(&self, lead: u32, expected: u32, repeat: Repeat) -> (Kind, u32) {
        let nacks = matches!(repeat, Repeat::BlockList { .. })
            && self.reorder.as_ref().is_some_and(|reorder| reorder.keeps_any(lead));
        if nacks { (Kind::Nack, reliable::nack(expected, expected)) } else { (Kind::Ack, expected) }
    }

    /// Answers a packet, with what came beside it. The answer is one of its queue pair, and names its first flow.
    fn reply<P: Post<Packet>>(
        &mut self,
        kind: Kind,
        seq: u32,
        echo: CodePoint,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let slot = cx.world.receiver_slot[packet.flow as usize];
        let pair = &cx.world.pairs[usize::from(self.receivers[slot as usize].kind())];
        if let Some(ack) = &pair.ack {
            let flow = cx.world.first_of(packet.flow);
            self.answer(kind, &Packet { flow, ..*packet }, seq, echo, ack, cx);
        }
    }

    /// Whether a data packet that is lost is sent again.
    pub(crate) fn is_sent_again(&self, packet: &Packet, world: &World) -> bool {
        let receiver = &self.receivers[world.receiver_slot[packet.flow as usize] as usize];
        world.pairs[usize::from(receiver.kind())].reliable.is_some()
    }

    /// A NACK has come.
    #[cold]
    pub(crate) fn on_nack<P: Post<Packet>>(&mut self, nack: &Packet, cx: &mut Ctx<'_, P>) {
        let slot = cx.world.sender_slot[nack.flow as usize];
        if self.senders[slot as usize].is_reliable() {
            self.replied(slot, nack, cx);
        }
    }

    /// What an ACK or a NACK does at a queue pair that sends again what is lost, whose first sender is `lead`.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied<P: Post<Packet>>(&mut self, lead: u32, reply: &Packet, cx: &mut Ctx<'_, P>) {
        let (now, world) = (reply.time, cx.world);
        let sender = &mut self.senders[lead as usize];
        let (kind, queue_pair) = (sender.kind(), sender.pacer() as usize);
        let spec = world.reliable_of(kind);
        let reliable = sender.reliable_mut();
        let heard = reliable.heard(reply, reply.kind == Kind::Nack);
        // The message that it is about: that of the latest packet in order.
        let about = reliable.place(heard.expected.saturating_sub(1), lead);
        let begins = reliable.on_reply(&heard, now, spec);
        while let Some(Begun { slot, of_rank, .. }) = self.senders[lead as usize].reliable_mut().completes() {
            if let Some(message) = of_rank {
                self.message_leaves(slot, &message, now, true);
            } else if self.senders[slot as usize].completed(now) {
                cx.post.complete();
                self.happened(Happened::Acked(slot), now);
            }
        }
        if heard.lost {
            let oldest = self.senders[lead as usize].reliable().oldest(lead);
            self.senders[oldest as usize].losses_mut().nacks += 1;
        }
        let telemetry = self.ports.extensions_mut().take(reply);
        if let Some((base, slot)) = about {
            let (sender, pacer) = (&mut self.senders[slot as usize], &mut self.pacers[queue_pair]);
            sender.count(reply.echo);
            if begins {
                sender.forget_round_trips();
            }
            if let Some(window) = sender.window_mut() {
                let telemetry = telemetry.as_ref().map_or(&[][..], |written| written.bytes());
                window.replied(&heard, reply, telemetry, kind, pacer, world);
            } else {
                let rtt = sender.round_trip(heard.expected.saturating_sub(base), now);
                if reply.echo.is_marked() || sender.has_segments() {
                    pacer.informed(kind, reply.echo, rtt, now, world);
                }
            }
        }
        let pacer = &mut self.pacers[queue_pair];
        if heard.notifies && spec.nack_notifies {
            pacer.notified(kind, CodePoint::Congestion, now, world);
        }
        if begins {
            pacer.lost(kind, now, world);
        }
        // Else what was due has left at its wake. That comes before what arrives at the same instant, but by the clock of ns-3.
        if self.line_up(lead, now, world) || world.clock == Clock::Ns3 {
            self.send_next(&mut cx.at(now));
        }
    }

    /// A packet of a queue pair that sends again what is lost has just left.
    #[inline(never)]
    pub(crate) fn sent_reliably(
        &mut self,
        pair: u32,
        packet: &mut Packet,
        due: u64,
        now: u64,
        wire_time: u64,
        world: &World,
    ) {
        let (class, number) = (packet.class, packet.seq);
        let lead = world.sender_slot[world.first_of(packet.flow) as usize];
        let again = self.senders[lead as usize].reliable_mut().sent();
        if again {
            world.repeated.note(packet.flow);
        }
        let sender = &mut self.senders[pair as usize];
        let (kind, queue_pair, connection) = (sender.kind(), sender.pacer() as usize, sender.connection());
        let pacer = &mut self.pacers[queue_pair];
        let mut due = sender.sent_copy(again, pacer, due, now, packet.size, wire_time, world);
        if world.clock == Clock::Ns3 {
            due -= due % 1000;
        }
        let last = sender.has_sent_last();
        // Of ranks' messages the one that is the last is never known.
        let ends = last && sender.message().is_none();
        self.note_recovery((lead, pair), &Leaves { again, now, wire: wire_time, last: ends });
        let sender = &mut self.senders[pair as usize];
        if last {
            packet.seq = sender.last_seq(number);
            if sender.message().is_some() {
                put_number(packet, number, self.ports.extensions_mut());
            }
        }
        self.senders[lead as usize].reliable_mut().left(due, now, world.reliable_of(kind));
        if last && !again {
            let gone = now + self.on_wire(packet.size, wire_time);
            self.happened(Happened::Sent(pair), gone);
            if connection != OWN_CONNECTION {
                self.connections[connection as usize].sent(due, now + wire_time);
                let next = self.next_message(connection, class, now, world);
                self.follow(next, world);
            }
        }
        match self.turn(lead, world) {
            (_, Some(next), due) if next == pair => self.queue().sent(class, due),
            (_, Some(next), due) => self.queue().sent_before(class, due, next),
            (_, None, _) => self.queue().sent_last(class),
        }
    }

    /// Where the time of a packet of `pair` that has just left went, whose queue pair is led by `lead`.
    fn note_recovery(&mut self, (lead, pair): (u32, u32), packet: &Leaves) {
        let copied = self.senders[lead as usize].recovery().map_or(0, Recovery::copied_until);
        self.senders[pair as usize].note_recovery(packet, copied);
        if packet.again {
            self.senders[lead as usize].copied(packet.now + packet.wire);
        }
    }

    /// A connection that sends again what is lost turns to its next message, if there is one.
    fn follow(&mut self, next: Option<(u64, u32)>, world: &World) {
        let Some((due, slot)) = next else { return };
        let sender = &self.senders[slot as usize];
        let (flow, packets, of_rank) = (sender.flow(), sender.packets(), sender.message().copied());
        let base = world.base_of(flow);
        let lead = world.sender_slot[world.first_of(flow) as usize];
        let begun = Begun { base, end: base + packets, slot, of_rank };
        self.senders[lead as usize].reliable_mut().follows(begun, due);
    }

    /// The same when a message has been posted on the queue pair of `lead`.
    #[cold]
    pub(crate) fn posted(&mut self, lead: u32, next: Option<(u64, u32)>, now: u64, world: &World) {
        self.follow(next, world);
        self.line_up(lead, now, world);
    }

    /// Sets the number of a queue pair's next packet, and its timer, if that is due before the one that is set. The sender that stood in
    /// line, the one that stands there now, and when its packet is due.
    #[inline(never)]
    fn turn(&mut self, lead: u32, world: &World) -> (Option<u32>, Option<u32>, u64) {
        let next = self.next_sender(lead, world);
        let sender = &mut self.senders[lead as usize];
        let spec = world.reliable_of(sender.kind());
        let reliable = sender.reliable_mut();
        let (before, due) = (reliable.stand(next), reliable.due());
        if let Some(at) = reliable.arm(spec) {
            self.ports.set_timer(at, NIC, Purpose::Retry, lead);
        }
        (before, next, due)
    }

    /// Sets the number of the next packet. The sender that may send it.
    #[inline]
    fn next_sender(&mut self, lead: u32, world: &World) -> Option<u32> {
        let sender = &self.senders[lead as usize];
        let (spec, queue_pair) = (world.reliable_of(sender.kind()), sender.pacer() as usize);
        let reliable = sender.reliable();
        let (next, oldest, free) = reliable.next(spec, u32::from(world.payload));
        let slot = if reliable.is_alone() {
            self.senders[lead as usize].set_next(next);
            lead
        } else {
            let Begun { base, end, slot, of_rank } = *reliable.message(next)?;
            let sender = &mut self.senders[slot as usize];
            sender.set_next(next - base);
            if let Some(message) = of_rank {
                sender.turn_to(message, end, world);
            }
            slot
        };
        let (free, sender) = (free?, &mut self.senders[slot as usize]);
        let window = if free { None } else { sender.window_mut() };
        let open = window.is_none_or(|window| window.takes(next - oldest, &self.pacers[queue_pair]));
        (open && sender.has_next()).then_some(slot)
    }

    /// Sets what a queue pair sends next, and its timer: it rests, or stands in line. Whether it did something else before.
    fn line_up(&mut self, lead: u32, now: u64, world: &World) -> bool {
        let (before, next, due) = self.turn(lead, world);
        if before == next {
            return false;
        }
        let sender = &self.senders[lead as usize];
        let (port, queue_pair) = (self.port_of(sender.pacer()), sender.pacer());
        let class = self.notified.class_of(sender, port, world);
        if let Some(slot) = before {
            self.queue_of(queue_pair).take_if(class, |pair| pair == slot);
        }
        if let Some(slot) = next {
            self.queue_of(queue_pair).push(class, due.max(now), slot, queue_pair);
        }
        true
    }

    /// The timer of a queue pair has gone off.
    #[cold]
    pub(crate) fn retry_due<P: Post<Packet>>(&mut self, lead: u32, cx: &mut Ctx<'_, P>) {
        let sender = &mut self.senders[lead as usize];
        let (kind, queue_pair) = (sender.kind(), sender.pacer());
        let expiry = sender.reliable_mut().expired(cx.now, cx.world.reliable_of(kind));
        match expiry {
            Expiry::Nothing => return,
            Expiry::Later(at) => return self.ports.set_timer(at, NIC, Purpose::Retry, lead),
            Expiry::Timeout | Expiry::Error => {}
        }
        let oldest = self.senders[lead as usize].reliable().oldest(lead);
        let sender = &mut self.senders[oldest as usize];
        sender.losses_mut().timeouts += 1;
        sender.forget_round_trips();
        if expiry == Expiry::Timeout {
            self.pacers[queue_pair as usize].timed_out(kind, cx.world);
        } else {
            // Messages that are not posted yet have the same end.
            let of = |sender: &&mut Sender| sender.pacer() == queue_pair && sender.acked_at() == u64::MAX;
            self.senders.iter_mut().filter(of).for_each(|sender| sender.losses_mut().failed = true);
        }
        self.line_up(lead, cx.now, cx.world);
        self.send_next(cx);
    }
}
