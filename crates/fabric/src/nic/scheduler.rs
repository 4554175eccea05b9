//! The sending side of a host: which queue pair's packet leaves next, and whether there are credits for it.
use backwater_control::CodePoint;
use backwater_engine::Post;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::egress::pick;
use crate::nic::host::{Host, NIC};
use crate::packet::{Kind, Packet};
use crate::transport::roce::queue_pair::After;
use crate::world::World;

impl Host {
    /// Sends what the port may send now, and arranges to be woken for what comes after it.
    #[inline]
    pub(crate) fn send_next<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if self.ports.egress[usize::from(NIC)].busy_until <= cx.now {
            if self.ports.credits.is_some() {
                if self.throttle.is_some() {
                    self.send_throttled(cx);
                    return;
                }
                self.send_by_credit(cx);
            } else if self.ports.egress[usize::from(NIC)].owes_frame() {
                self.ports.transmit_pfc(NIC, cx);
            } else if let Some(class) = self.ports.choose(NIC, cx.world.round_robin) {
                let packet = self.ports.dequeue(NIC, class);
                self.count_sent(&packet);
                self.ports.transmit(NIC, &packet, packet.code, cx);
            } else if self.puts.is_some() {
                self.send_put_or_pair(cx);
            } else {
                self.send_due(cx);
            }
        }
        self.rearm(cx.now, cx.world);
    }

    /// The same under credits: an update first; a class of which the next packet finds no credits has its gate closed. Returns class
    /// and size of the packet that was sent, if one was.
    #[inline(never)]
    pub(crate) fn send_by_credit<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) -> Option<(u8, u16)> {
        if self.ports.egress[usize::from(NIC)].owes_frame() {
            let told = self.ports.transmit_credit(NIC, cx);
            if told.short {
                self.note_short(told.class, cx);
            }
            return None;
        }
        while let Some((class, size)) = self.next_size(cx.now, cx.world) {
            if self.ports.fits(NIC, class, size) {
                if let Some(class) = self.ports.choose(NIC, cx.world.round_robin) {
                    let packet = self.ports.dequeue(NIC, class);
                    self.count_sent(&packet);
                    self.ports.transmit(NIC, &packet, packet.code, cx);
                    self.ports.spend_credit(NIC, &packet, None);
                } else if self.puts.is_some() {
                    self.send_put_or_pair(cx);
                } else {
                    self.send_due(cx);
                }
                return Some((class, size));
            }
            self.ports.close_gate(NIC, class, cx);
        }
        None
    }

    /// Class and size of the packet that an idle port with open gates sends next, if any is due.
    fn next_size(&mut self, now: u64, world: &World) -> Option<(u8, u16)> {
        let egress = &self.ports.egress[usize::from(NIC)];
        let ready = egress.waiting & !egress.paused;
        if ready != 0 {
            let class = pick(ready, egress.turn, world.round_robin);
            return Some((class, self.ports.first(NIC, class).size));
        }
        let open = !egress.paused;
        let pair = self.next_pair(now).filter(|(_, due, _)| *due <= now);
        let offer = if self.puts.is_some() { self.next_put(open, now, world).ok() } else { None };
        match (offer, pair) {
            (Some(offer), pair) if pair.is_none_or(|(_, due, _)| offer.since < due) => {
                Some((offer.class, offer.size))
            }
            (_, Some((class, _, pair))) => Some((class, self.senders[pair as usize].next_packet(world).2)),
            _ => None,
        }
    }

    /// New credits of a class have come: its gate opens if they do for what it holds back.
    pub(crate) fn fed<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        if self.reopen(class, cx) {
            self.send_next(cx);
        }
    }

    /// Opens a closed gate if there are credits for what it holds back. Returns whether it did.
    pub(crate) fn reopen<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) -> bool {
        let egress = &self.ports.egress[usize::from(NIC)];
        if egress.paused & (1 << class) != 0 {
            let queued = egress.waiting & (1 << class) != 0;
            let free = egress.busy_until.max(cx.now);
            let size = if queued {
                Some(self.ports.first(NIC, class).size)
            } else {
                let next = self.due.next(1 << class, free);
                let pair = next.map(|(_, _, pair)| self.senders[pair as usize].next_packet(cx.world).2);
                pair.or_else(|| self.next_put(1 << class, cx.now, cx.world).ok().map(|offer| offer.size))
            };
            if size.is_none_or(|size| self.ports.fits(NIC, class, size)) {
                self.ports.open_gate(NIC, class, false, cx);
                return true;
            }
        }
        false
    }

    /// Sends a packet of the queue pair whose turn it is, if one is due.
    #[inline]
    fn send_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if let Some((class, due, pair)) = self.next_pair(cx.now)
            && due <= cx.now
        {
            self.send_data(class, due, pair, cx);
        }
    }

    /// The queue pair whose turn it is among those whose gate is open; if none is due `now`, the one that will be first.
    #[inline]
    pub(crate) fn next_pair(&mut self, now: u64) -> Option<(u8, u64, u32)> {
        self.due.next(!self.ports.egress[usize::from(NIC)].paused, now)
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with two callers it is a call of its own, which costs 4 instructions a hop"
    )]
    pub(crate) fn send_data<P: Post<Packet>>(&mut self, class: u8, due: u64, pair: u32, cx: &mut Ctx<'_, P>) {
        let sender = &mut self.senders[pair as usize];
        let (seq, dst, size) = sender.next_packet(cx.world);
        let mut packet = Packet {
            time: 0,
            flow: sender.flow,
            seq,
            dst,
            next: 0,
            port: 0,
            size,
            kind: Kind::Data,
            code: CodePoint::Capable,
            class,
            echo: CodePoint::NotCapable,
        };
        let wire_time = self.ports.egress[usize::from(NIC)].wire_time(size);
        sender.lateness.sent(due, cx.now, wire_time, self.ports.closed_for(NIC, class, cx.now));
        let spacing = &mut self.spacings[sender.spacing as usize];
        // One question for most packets, and a place of its own for what the others ask.
        match sender.sent(spacing, due, cx.now, size, wire_time, cx.world) {
            After::Due(next) => self.due.sent(class, next),
            rest => self.rests(rest, pair, &mut packet, cx.now, wire_time, cx.world),
        }
        if cx.world.follows(packet.flow) {
            self.note_injection(packet.flow, due, cx);
        }
        self.count_sent(&packet);
        self.ports.transmit(NIC, &packet, packet.code, cx);
        if self.ports.credits.is_some() {
            self.ports.spend_credit(NIC, &packet, None);
        }
    }

    /// The queue pair that has just sent `packet` has no next one that is due already.
    #[inline(never)]
    fn rests(
        &mut self,
        after: After,
        pair: u32,
        packet: &mut Packet,
        now: u64,
        wire_time: u64,
        world: &World,
    ) {
        let class = packet.class;
        if !matches!(after, After::Acknowledged) {
            packet.seq = self.senders[pair as usize].last_seq(packet.seq);
        }
        let After::Message(next) = after else {
            self.due.sent_last(class);
            if matches!(after, After::Nothing) && self.steps.is_some() {
                self.happened(Happened::Sent(pair), now + wire_time);
            }
            return;
        };
        if self.steps.is_some() {
            self.happened(Happened::Sent(pair), now + wire_time);
        }
        if self.ranks.is_some() {
            self.message_leaves(pair, now + wire_time);
        }
        let connection = self.senders[pair as usize].connection;
        self.connections[connection as usize].sent(next, now + wire_time);
        match self.next_message(connection, class, now, world) {
            Some((due, pair)) => self.due.sent_before(class, due, pair),
            None => self.due.sent_last(class),
        }
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, packet: &Packet) {
        let queue = &mut self.ports.queues[usize::from(packet.class)];
        queue.sent_bytes += u64::from(packet.size);
        queue.sent_packets += 1;
    }

    /// Sets the wake to the next instant at which the port can send something.
    #[inline]
    pub(crate) fn rearm(&mut self, now: u64, world: &World) {
        let egress = &self.ports.egress[usize::from(NIC)];
        let free = egress.busy_until.max(now);
        if egress.waiting & !egress.paused != 0 || egress.owes_frame() {
            self.ports.set_wake(NIC, free);
        } else if self.puts.is_some() {
            self.rearm_with_puts(free, now, world);
        } else if let Some(due) = self.due.earliest(!egress.paused) {
            self.ports.set_wake(NIC, due.max(free));
        } else {
            self.ports.clear_wake(NIC);
        }
    }
}
