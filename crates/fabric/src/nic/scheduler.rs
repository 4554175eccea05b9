//! What a NIC sends next: one scheduler asks all sources in one order, and gates before what it sends.
//!
//! ```text
//!   band  source                                     of open classes         among those of its band
//!   0     frames of the link: PFC, credit updates    never gated             first
//!   1     frames that wait in a queue                [`Ports::ready`]        by class: in turn or in order
//!   2     queue pairs                                [`PacingQueue::next`]    since when it is due, then in this order
//!   2     transports beside them: PUT streams        [`Transports::peek`]    since when it is due
//!
//!   gate                                             asked                   closed by
//!   PFC                                              with the class          a PAUSE frame
//!   credits                                          with class and size     the scheduler, when a frame does not fit
//!   throttle                                         with the class          nobody: it holds, and its time is booked apart
//! ```
//! [`Host::peek`] says what leaves, or what will; [`Host::take`] sends it; [`Host::rearm`] asks the same sources for the wake of
//! the port, since when costs less to say than what. A size is looked up only for gates that want one: a host under PFC never asks.
//!
//! [`PacingQueue::next`]: crate::nic::pacing_queue::PacingQueue::next
//! [`Transports::peek`]: crate::transport::Transports::peek
use backwater_control::CodePoint;
use backwater_engine::Post;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::gates::Opens;
use crate::nic::host::Host;
use crate::nic::nics::{Nics, throttle_among};
use crate::nic::reorder::put_number;
use crate::packet::{Kind, Packet};
use crate::transport::roce::queue_pair::After;
use crate::transport::{Frame, What};
use crate::world::World;

/// The frame that leaves next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// It cannot leave before this.
    pub(super) ready: u64,
    /// Since when it is due: of those that can leave, the one that has been due for longest goes first.
    since: u64,
    class: u8,
    source: Source,
}

/// Where it is.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// In the queue of its class.
    Queue,
    /// At a queue pair: the number of its sender.
    QueuePair(u32),
    /// At a transport beside the queue pairs, and its size.
    Transport(What, u16),
    /// There, too, but which frame it will be shows when it is ready.
    Later,
}

impl<N: Nics> Host<N> {
    /// Sends what the port may send now, and arranges to be woken for what comes after it.
    #[inline]
    pub(crate) fn send_next<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if self.nics.several().is_some() { self.send_by_all(cx) } else { self.send_by_one(cx) }
    }

    /// The same by the port that the present event is about.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "where there is one port, nobody else calls it")]
    pub(super) fn send_by_one<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let egress = self.ports.egress(nic);
        if egress.busy_until() <= cx.now {
            if self.ports.has_credits() {
                if self.send_by_credit(cx) {
                    return;
                }
            } else if egress.owes_frame() {
                self.ports.transmit_pfc(nic, cx);
            } else if let Some(class) = self.ports.choose(nic, cx.world.round_robin) {
                let packet = self.ports.dequeue(nic, class);
                self.count_sent(&packet);
                self.ports.inject(nic, &packet, cx);
            } else if !self.transports.is_empty() {
                self.send_offered(cx);
            } else {
                self.send_due(cx);
            }
        }
        self.rearm(cx.now, cx.world);
    }

    /// The same where a frame may lack credits, which closes the gate of its class, or the throttle may hold it. Whether the wake
    /// is set.
    #[inline(never)]
    fn send_by_credit<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) -> bool {
        let nic = self.nic();
        let held = if self.throttle.is_some() { self.held(cx) } else { 0 };
        if self.ports.egress(nic).owes_frame() {
            let sent = self.ports.transmit_credit(nic, cx);
            if sent.short {
                self.note_short(sent.class, cx);
            }
        } else {
            self.send_what_fits(held, cx);
        }
        if self.throttle.is_some() {
            self.rearm_throttled(cx.now, cx.world);
            return true;
        }
        false
    }

    /// Sends the first frame for which there are credits, of classes that are not `held`.
    fn send_what_fits<P: Post<Packet>>(&mut self, held: u8, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        loop {
            let open = !(self.ports.egress(nic).paused() | held);
            let Some(offer) = self.peek(open, cx.now, cx.now, cx.world) else { return };
            let Some(size) = self.size(&offer, cx.world).filter(|_| offer.ready <= cx.now) else { return };
            if self.ports.opens(nic, offer.class, size) == Opens::Now {
                self.take(&offer, cx);
                self.throttle_sent(offer.class, size, cx);
                return;
            }
            self.ports.close_gate(nic, offer.class, cx);
        }
    }

    /// What leaves next of these classes, by a port that is free from `free` on, as it looks `now`: this is the order of the sources.
    #[inline]
    pub(crate) fn peek(&mut self, open: u8, free: u64, now: u64, world: &World) -> Option<Offer> {
        let nic = self.nic();
        if let Some(class) = self.ports.ready(nic, open, world.round_robin) {
            return Some(Offer { ready: 0, since: 0, class, source: Source::Queue });
        }
        let next = self.next_pair(open, free, now);
        let pair = next.map(|(class, due, pair)| Offer {
            ready: due,
            since: due,
            class,
            source: Source::QueuePair(pair),
        });
        if self.transports.is_empty() { pair } else { self.peek_beside(pair, open, (free, now), world) }
    }

    /// What the transports have against the packet of a queue pair, which goes first if it is due for as long.
    #[inline]
    fn peek_beside(
        &mut self,
        pair: Option<Offer>,
        open: u8,
        (free, now): (u64, u64),
        world: &World,
    ) -> Option<Offer> {
        match self.transports.peek(open, &self.senders, now, world) {
            Ok(Frame { since, class, size, what })
                if pair.is_none_or(|pair| pair.ready > free || since < pair.since) =>
            {
                Some(Offer { ready: now, since, class, source: Source::Transport(what, size) })
            }
            Err(at) if pair.is_none_or(|pair| at < pair.ready) => {
                (at < u64::MAX).then_some(Offer { ready: at, since: at, class: 0, source: Source::Later })
            }
            _ => pair,
        }
    }

    /// Bytes of a frame, if it is known already which one it will be.
    pub(crate) fn size(&self, offer: &Offer, world: &World) -> Option<u16> {
        let nic = self.nic();
        match offer.source {
            Source::Queue => Some(self.ports.first(nic, offer.class).size),
            Source::QueuePair(pair) => Some(self.senders[pair as usize].next_packet(world).2),
            Source::Transport(_, size) => Some(size),
            Source::Later => None,
        }
    }

    /// Sends what was offered by an idle port. A call: a third copy of what puts frames on the wire makes the other two dearer.
    #[inline(never)]
    fn take<P: Post<Packet>>(&mut self, offer: &Offer, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        match offer.source {
            Source::Queue => {
                let packet = self.ports.dequeue_in_turn(nic, offer.class);
                self.count_sent(&packet);
                self.ports.inject(nic, &packet, cx);
                if self.ports.has_credits() {
                    self.ports.spend_credit(nic, &packet);
                }
            }
            Source::QueuePair(pair) => self.send_data(offer.class, offer.since, pair, cx),
            Source::Transport(what, _) => self.take_from_transport(what, cx),
            Source::Later => {}
        }
    }

    /// Sends what [`Host::peek`] offers, if it can leave now.
    #[inline(never)]
    fn send_offered<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let open = !self.ports.egress(nic).paused();
        if let Some(offer) = self.peek(open, cx.now, cx.now, cx.world)
            && offer.ready <= cx.now
        {
            self.take(&offer, cx);
        }
    }

    /// The same of a host with queue pairs only, whose gates do not ask for sizes: it is spared the offer, which costs 20 instructions a
    /// hop. [`Host::send_next`] has seen that no frame waits in a queue.
    #[inline]
    fn send_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let open = !self.ports.egress(nic).paused();
        if let Some((class, due, pair)) = self.next_pair(open, cx.now, cx.now)
            && due <= cx.now
        {
            self.send_data(class, due, pair, cx);
        }
    }

    /// Of the first `classes` those of which something may wait to be sent, now or later: a bit each.
    pub(crate) fn waiting(&mut self, classes: u8) -> u8 {
        if !self.transports.is_empty() {
            return u8::MAX >> (8 - classes);
        }
        self.ports.egress(self.nic()).waiting() | self.sending()
    }

    /// Whether anything will be sent if nothing happens: at once, or at an instant that is known.
    pub(super) fn port_has_next(&mut self, now: u64, world: &World) -> bool {
        let nic = self.nic();
        let egress = self.ports.egress(nic);
        let open = !egress.paused();
        egress.waiting() & open != 0 || self.next_due(open, now, world).is_some()
    }

    /// An update of a class has arrived.
    pub(crate) fn credits_came<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        if let Some(throttle) = throttle_among(&mut self.throttle, &mut self.nics) {
            // There is less in use: it may let something go, whatever the gate does.
            throttle.on_credits(class, &mut self.ports, cx);
            self.reopen(class, cx);
            self.send_next(cx);
        } else {
            self.fed(class, cx);
        }
    }

    /// There may be credits for what a class holds back: its gate opens if there are.
    pub(crate) fn fed<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        if self.reopen(class, cx) {
            self.send_next(cx);
        }
    }

    /// Opens a closed gate if there are credits for the frame that leaves next of its class, or none is known. Whether it did.
    fn reopen<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) -> bool {
        let nic = self.nic();
        let egress = self.ports.egress(nic);
        if egress.paused() & (1 << class) == 0 {
            return false;
        }
        let next = self.peek(1 << class, egress.busy_until().max(cx.now), cx.now, cx.world);
        let size = next.and_then(|offer| self.size(&offer, cx.world));
        let opens = size.is_none_or(|size| self.ports.fits(nic, class, size));
        if opens {
            self.ports.open_gate(nic, class, false, cx);
        }
        opens
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with two callers it is a call of its own, which costs 4 instructions a hop"
    )]
    pub(crate) fn send_data<P: Post<Packet>>(&mut self, class: u8, due: u64, pair: u32, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let (seq, dst, size) = self.senders[pair as usize].next_packet(cx.world);
        let wire_time = self.ports.egress(nic).wire_time(size);
        let wire_time = self.leaves(pair, class, size, wire_time, cx.now);
        let sender = &mut self.senders[pair as usize];
        let mut packet = Packet {
            time: 0,
            flow: sender.flow(),
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
        sender.source_delay_mut().sent(due, cx.now, wire_time, self.ports.closed_for(nic, class, cx.now));
        let pacer = &mut self.pacers[sender.pacer() as usize];
        // One question for most packets, and a place of its own for what the others ask.
        match sender.sent(pacer, due, cx.now, size, wire_time, cx.world) {
            After::Due(next) => self.queue().sent(class, next),
            After::Repeats => self.sent_reliably(pair, &mut packet, due, cx.now, wire_time, cx.world),
            rest => self.rests(rest, pair, &mut packet, cx.now, wire_time, cx.world),
        }
        if cx.world.follows(packet.flow) {
            self.note_injection(packet.flow, seq, due, cx);
        }
        self.count_sent(&packet);
        self.ports.inject(nic, &packet, cx);
        if self.ports.has_credits() {
            self.ports.spend_credit(nic, &packet);
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
        let (class, gone) = (packet.class, now + self.on_wire(packet.size, wire_time));
        if !matches!(after, After::Acknowledged) {
            let number = packet.seq;
            packet.seq = self.senders[pair as usize].last_seq(number);
            if world.spreads && self.senders[pair as usize].message().is_some() {
                put_number(packet, number, self.ports.extensions_mut());
            }
        }
        let After::Message(next) = after else {
            self.queue().sent_last(class);
            if matches!(after, After::Nothing) {
                self.happened(Happened::Sent(pair), gone);
            }
            return;
        };
        self.happened(Happened::Sent(pair), gone);
        if let Some(message) = self.senders[pair as usize].message().copied() {
            self.message_leaves(pair, &message, gone, false);
        }
        let connection = self.senders[pair as usize].connection();
        self.connections[connection as usize].sent(next, now + wire_time);
        match self.next_message(connection, class, now, world) {
            Some((due, pair)) => self.queue().sent_before(class, due, pair),
            None => self.queue().sent_last(class),
        }
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, packet: &Packet) {
        let at = self.ports.at(self.nic(), packet.class);
        self.ports.queue_mut(at).count(packet.size);
    }

    /// Sets the wake to the next instant at which the port can send something: one that [`Host::peek`] will offer.
    #[inline]
    pub(crate) fn rearm(&mut self, now: u64, world: &World) {
        let nic = self.nic();
        let egress = self.ports.egress(nic);
        let (free, open) = (egress.busy_until().max(now), !egress.paused());
        if egress.waiting() & open != 0 || egress.owes_frame() {
            self.ports.set_wake(nic, free);
        } else if let Some(due) = self.next_due(open, now, world) {
            self.ports.set_wake(nic, due.max(free));
        } else {
            self.ports.clear_wake(nic);
        }
    }

    /// When queue pairs and transports have something for these classes. Which of those that will be due then goes first is not worth
    /// asking for before.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: a call of its own costs 3 instructions a hop")]
    fn next_due(&mut self, open: u8, now: u64, world: &World) -> Option<u64> {
        let due = self.earliest_pair(open);
        if self.transports.is_empty() { due } else { self.next_due_beside(due, open, now, world) }
    }

    #[inline(never)]
    fn next_due_beside(&mut self, due: Option<u64>, open: u8, now: u64, world: &World) -> Option<u64> {
        let next = self.transports.peek(open, &self.senders, now, world).map_or_else(|at| at, |_| now);
        due.into_iter().chain((next < u64::MAX).then_some(next)).min()
    }
}
