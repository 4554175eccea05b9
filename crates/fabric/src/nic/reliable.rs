//! Queue pairs that send again what is lost, at both ends: what a packet does that is not simply the next one, replies, timers.
use backwater_control::CodePoint;
use backwater_control::transport::Verdict;
use backwater_control::transport::go_back_n::GoBackN;
use backwater_control::transport::selective::{Responder, Taken};
use backwater_engine::Post;
use backwater_units::Time;

use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::packet::{Kind, Packet};
use crate::spec::{ReliableSpec, Repeat};
use crate::transport::roce::reliable::{self, Expiry};
use crate::world::World;

/// What receivers remember of what was lost, by receiver.
#[derive(Clone, Debug)]
pub(crate) struct Responders {
    of: Vec<Of>,
}

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
struct Of {
    go_back_n: GoBackN,
    selective: Responder,
    duplicates: u32,
}

impl Responders {
    /// For so many receivers.
    pub(crate) fn new(receivers: usize) -> Self {
        Self { of: vec![Of::default(); receivers] }
    }

    /// Packets that came to a receiver once more.
    pub(crate) fn duplicates(&self, slot: u32) -> u32 {
        self.of[slot as usize].duplicates
    }
}

impl Host {
    /// Data of a queue pair that sends again what is lost has come.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_reliably<P: Post<Packet>>(
        &mut self,
        slot: u32,
        packet: &Packet,
        spec: &ReliableSpec,
        cx: &mut Ctx<'_, P>,
    ) {
        let (number, now) = (packet.number(), Time::from_ps(packet.time));
        let expected = self.receivers[slot as usize].packets();
        let held = self.reorder.as_ref().is_some_and(|reorder| reorder.holds(slot, number));
        let of = &mut self.responders.as_mut().expect("made for these").of[slot as usize];
        let (twice, nack) = match spec.repeat {
            Repeat::GoBackN => match of.go_back_n.on_packet(spec.nack_every, number, now) {
                Verdict::Accept => return self.on_data(packet, cx),
                Verdict::Duplicate => (true, false),
                Verdict::Drop { nack, .. } => {
                    self.receivers[slot as usize].count_refused();
                    (false, nack)
                }
            },
            Repeat::Selective { .. } => {
                match of.selective.on_packet(spec.nack_every, number, expected, held, now) {
                    Taken::InOrder => return self.take_in_order(slot, packet, cx),
                    Taken::Duplicate => (true, false),
                    Taken::Held { nack } => (true, nack),
                    Taken::Early { nack } => {
                        self.reorder.as_mut().expect("made for these").keep(slot, number, packet);
                        (false, nack)
                    }
                }
            }
        };
        of.duplicates += u32::from(twice);
        self.notify_early(slot, packet, cx);
        if nack {
            self.reply(Kind::Nack, slot, reliable::nack(expected, number), packet, cx);
        } else if number < expected {
            self.reply(Kind::Ack, slot, expected, packet, cx);
        } else {
            self.ports.extensions_mut().take(packet);
        }
    }

    /// The packet that was expected has come: it is dealt with, and what was kept behind it; one ACK is for all of them.
    fn take_in_order<P: Post<Packet>>(&mut self, slot: u32, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let expected = |host: &Self| host.receivers[slot as usize].packets();
        if !self.reorder.as_ref().is_some_and(|reorder| reorder.holds(slot, packet.number() + 1)) {
            return self.on_data(packet, cx);
        }
        self.notify_early(slot, packet, cx);
        self.on_early_data(packet, true, cx);
        while let Some(reorder) = &mut self.reorder
            && let Some(next) = reorder.take(slot, self.receivers[slot as usize].packets())
        {
            self.on_early_data(&Packet { time: packet.time, ..next }, true, cx);
        }
        self.reply(Kind::Ack, slot, expected(self), packet, cx);
    }

    /// Answers a packet, with what came beside it.
    fn reply<P: Post<Packet>>(
        &mut self,
        kind: Kind,
        slot: u32,
        seq: u32,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let pair = &cx.world.pairs[usize::from(self.receivers[slot as usize].kind())];
        if let Some(ack) = &pair.ack {
            self.answer(kind, packet, seq, packet.code, ack, cx);
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
            let expected = self.senders[slot as usize].heard(nack, true).expected;
            self.senders[slot as usize].acknowledged(expected, nack.time);
            self.replied(slot, nack, cx);
        }
    }

    /// What an ACK or a NACK does at a sender that sends again what is lost.
    #[cold]
    #[inline(never)]
    pub(crate) fn replied<P: Post<Packet>>(&mut self, slot: u32, reply: &Packet, cx: &mut Ctx<'_, P>) {
        let (now, world) = (reply.time, cx.world);
        let sender = &mut self.senders[slot as usize];
        let (kind, pacer) = (sender.kind(), &mut self.pacers[sender.pacer() as usize]);
        let heard = sender.heard(reply, reply.kind == Kind::Nack);
        let begins = sender.on_reply(&heard, now, world);
        sender.count(reply.echo);
        let telemetry = self.ports.extensions_mut().take(reply);
        if let Some(window) = sender.window_mut() {
            let telemetry = telemetry.as_ref().map_or(&[][..], |written| written.bytes());
            window.replied(&heard, reply, telemetry, kind, pacer, world);
        } else {
            let rtt = sender.round_trip(heard.expected, now);
            if reply.echo.is_marked() || sender.has_segments() {
                pacer.informed(kind, reply.echo, rtt, now, world);
            }
        }
        if heard.lost && world.reliable_of(kind).nack_notifies {
            pacer.notified(kind, CodePoint::Congestion, now, world);
        }
        if begins {
            pacer.lost(kind, now, world);
        }
        self.go_on(slot, now, cx);
    }

    /// Sets what a sender sends next, and its timer: it rests, or rests no more.
    pub(crate) fn go_on<P: Post<Packet>>(&mut self, slot: u32, now: u64, cx: &mut Ctx<'_, P>) {
        let sender = &mut self.senders[slot as usize];
        let queue_pair = sender.pacer();
        let open = sender.turn(&self.pacers[queue_pair as usize], cx.world);
        self.set_retry(slot, cx.world);
        let sender = &mut self.senders[slot as usize];
        let Some(due) = sender.stands(open) else { return };
        let class = self.notified.class_of(&self.senders[slot as usize], cx.world);
        if open {
            self.pacing_queue.push(class, due.max(now), slot, queue_pair);
        } else {
            self.pacing_queue.take_if(class, |pair| pair == slot);
        }
        self.send_next(&mut cx.at(now));
    }

    /// Sets the timer of a sender, if it is due before the one that is set.
    pub(crate) fn set_retry(&mut self, slot: u32, world: &World) {
        if let Some(at) = self.senders[slot as usize].arm(world) {
            self.ports.set_timer(at, NIC, Purpose::Retry, slot);
        }
    }

    /// The timer of a sender has gone off.
    #[cold]
    pub(crate) fn retry_due<P: Post<Packet>>(&mut self, slot: u32, cx: &mut Ctx<'_, P>) {
        let sender = &mut self.senders[slot as usize];
        match sender.expired(cx.now, cx.world) {
            Expiry::Nothing => {}
            Expiry::Later(at) => self.ports.set_timer(at, NIC, Purpose::Retry, slot),
            Expiry::Timeout => {
                let kind = sender.kind();
                self.pacers[sender.pacer() as usize].timed_out(kind, cx.world);
                self.go_on(slot, cx.now, cx);
            }
            Expiry::Error => self.go_on(slot, cx.now, cx),
        }
    }
}
