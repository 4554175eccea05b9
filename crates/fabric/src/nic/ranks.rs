//! Ranks at a host: their timers, and the messages that they give to queue pairs and get from them.
use backwater_engine::Post;

use crate::app::ranks::frame::{self, Message};
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::world::World;

impl<N: Nics> Host<N> {
    /// The timer of a rank: it begins, or the cost of its op has been paid.
    #[cold]
    pub(crate) fn rank_due<P: Post<Packet>>(&mut self, rank: u32, cx: &mut Ctx<'_, P>) {
        if let Some(ranks) = &mut self.ranks {
            ranks.paid(rank, cx.now, cx.world, &mut self.ports);
        }
        self.after_ranks(cx);
    }

    /// The last bit of a message has left.
    #[cold]
    pub(crate) fn message_gone<P: Post<Packet>>(&mut self, rank: u32, cx: &mut Ctx<'_, P>) {
        if let Some(ranks) = &mut self.ranks {
            ranks.gone(rank, cx.now, cx.world, &mut self.ports);
        }
        self.after_ranks(cx);
    }

    /// A message from a rank of the same host is there.
    #[cold]
    pub(crate) fn local_message<P: Post<Packet>>(&mut self, rank: u32, cx: &mut Ctx<'_, P>) {
        if let Some(ranks) = &mut self.ranks {
            let (from, message, after) = ranks.take_local(rank);
            ranks.arrives(rank, from, &message, after, cx.now, cx.world, &mut self.ports);
        }
        self.after_ranks(cx);
    }

    /// The last packet of a message has come in.
    #[cold]
    pub(crate) fn message_came<P: Post<Packet>>(&mut self, slot: u32, seq: u32, cx: &mut Ctx<'_, P>) {
        if let Some(ranks) = &mut self.ranks {
            let (rank, from) = ranks.received_for(slot);
            let (word, op) = frame::unpack(seq);
            let size = ranks.size_of(rank, from, word, op, cx.world);
            let after = ranks.received(slot, size, cx.now);
            ranks.arrives(rank, from, &Message { word, op, size }, after, cx.now, cx.world, &mut self.ports);
        }
        self.after_ranks(cx);
    }

    /// The last bit of a message leaves at `end`, or, where it would be sent again, all of it is acknowledged: its send is done.
    #[cold]
    pub(crate) fn message_leaves(&mut self, slot: u32, message: &Message, end: u64, acked: bool) {
        if let Some(ranks) = &mut self.ranks
            && let Some(rank) = ranks.leaves(slot, message, end, acked)
        {
            self.ports.set_timer(end, NIC, Purpose::Gone, rank);
        }
    }

    /// What the ranks have done in this event gets to the queue pairs, the records and the run.
    fn after_ranks<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let Some(ranks) = &mut self.ranks else { return };
        let (recorded, ended, broken) = ranks.take_outcome();
        let mut given = ranks.take_given();
        if recorded > 0 {
            cx.post.recorded(recorded);
        }
        for label in ended {
            cx.post.complete();
            self.job_goes_on(label, cx);
        }
        if let Some(what) = broken {
            self.ports.fail(cx.now, NIC, what, cx);
        }
        if given.is_empty() {
            return;
        }
        for (slot, message) in given.drain(..) {
            self.give_to_pair(slot, message, cx.now, cx.world);
        }
        if let Some(ranks) = &mut self.ranks {
            ranks.recycle(given);
        }
        self.send_next(cx);
    }

    /// A queue pair gets one more message.
    fn give_to_pair(&mut self, slot: u32, message: Message, now: u64, world: &World) {
        self.book_throttled(now);
        let port = self.port_of(self.senders[slot as usize].pacer());
        let sender = &mut self.senders[slot as usize];
        let (class, queue_pair) = (self.notified.class_of(sender, port, world), sender.pacer());
        let number = sender.connection();
        let connection = &mut self.connections[number as usize];
        if connection.is_idle() {
            sender.source_delay_mut().start(now, self.ports.closed_for(port, class, now));
        }
        sender.give(message, now);
        connection.start(slot);
        if sender.is_reliable() {
            sender.set_next(sender.reliable().posted());
            let next = self.next_message(number, class, now, world);
            return self.posted(slot, next, now, world);
        }
        if let Some((due, pair)) = self.next_message(number, class, now, world) {
            self.queue_of(queue_pair).push(class, due, pair, queue_pair);
        }
    }
}
