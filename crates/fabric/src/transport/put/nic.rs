//! What the PUT streams of a host send next: overdue ACKs, then replays, then new packets in turn; other ACKs fill the gaps. Replays
//! and new packets take turns with the queue pairs of RoCE.
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::nic::host::{Host, NIC};
use crate::packet::Packet;
use crate::transport::put::turns::Turns;
use crate::transport::put::{Puts, streams};
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// What a stream has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// An ACK or NACK of an incoming stream.
    Ack(u32),
    /// A packet of an outgoing stream that it has sent before.
    Again(u32),
    /// A new packet of an outgoing stream.
    New(u32),
}

/// A frame that can leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Since when it has been due: what a queue pair has to be due before to go first.
    pub(crate) since: u64,
    pub(crate) class: u8,
    pub(crate) size: u16,
    pub(crate) what: What,
}

impl Puts {
    /// The ACK or NACK that has been owed for longest, and when it must not wait any longer.
    fn first_ack(&mut self, open: u8, now: u64, world: &World) -> Option<(u64, Offer)> {
        let streams = streams(world);
        loop {
            let (since, slot, class) = first(&self.owed, open)?;
            let incoming = &self.incoming[slot as usize];
            let spec = streams.kind(&streams.all[incoming.number as usize]);
            if incoming.owes(spec, now) {
                let size = spec.ack_size.get() as u16;
                let offer = Offer { since: u64::MAX, class, size, what: What::Ack(slot) };
                return Some((since.saturating_add(spec.triggers.after.as_ps()), offer));
            }
            // What it owed has left with data.
            self.owed.leave(class);
            incoming.line_up(slot, class, spec, &mut self.owed, now);
        }
    }

    /// The first packet to be sent again that may be, in the order of the NACKs.
    fn first_replay(&mut self, open: u8, world: &World) -> Option<Offer> {
        if self.replays.is_empty() {
            return None;
        }
        let outgoing = &mut self.outgoing;
        self.replays.retain(|slot| {
            let stream = &mut outgoing[*slot as usize];
            stream.replaying = stream.reliability.replaying();
            stream.replaying
        });
        let streams = streams(world);
        self.replays.iter().find_map(|slot| {
            let outgoing = &self.outgoing[*slot as usize];
            let stream = &streams.all[outgoing.number as usize];
            let (_, kept) = outgoing.may_repeat(streams.kind(stream))?;
            // After one of its packets a replay lets those go first that were due before it.
            let since = self.replayed_at;
            let offer = Offer { since, class: stream.class, size: kept.size, what: What::Again(*slot) };
            (open & (1 << stream.class) != 0).then_some(offer)
        })
    }

    /// The new packet whose turn it is.
    fn first_new(&mut self, open: u8, senders: &[Sender], world: &World) -> Option<Offer> {
        let streams = streams(world);
        loop {
            let (since, slot, class) = first(&self.turns, open)?;
            let outgoing = &self.outgoing[slot as usize];
            let spec = streams.kind(&streams.all[outgoing.number as usize]);
            if let Some(size) = outgoing.may_send(senders, spec, world) {
                return Some(Offer { since, class, size, what: What::New(slot) });
            }
            self.turns.leave(class);
        }
    }
}

/// Who has been in line for longest in any of these classes.
fn first(turns: &Turns, open: u8) -> Option<(u64, u32, u8)> {
    let classes = (0..8u8).filter(|class| open & (1 << class) != 0);
    classes.filter_map(|class| turns.first(class).map(|(since, slot)| (since, slot, class))).min()
}

impl Host {
    /// What the streams would send now if these classes may; else when to ask again if nothing happens before.
    pub(crate) fn next_put(&mut self, open: u8, now: u64, world: &World) -> Result<Offer, u64> {
        let Some(puts) = &mut self.puts else { return Err(u64::MAX) };
        puts.turns.advance(now);
        puts.owed.advance(now);
        let ack = puts.first_ack(open, now, world);
        match ack {
            Some((due, offer)) if due <= now => return Ok(Offer { since: 0, ..offer }),
            _ => {}
        }
        if let Some(offer) = puts.first_replay(open, world) {
            return Ok(offer);
        }
        let spaced = puts.spaced_until;
        let new = puts.first_new(open, &self.senders, world);
        match (new, ack) {
            (Some(offer), _) if spaced <= now => Ok(Offer { since: offer.since.max(spaced), ..offer }),
            (_, Some((_, offer))) => Ok(offer),
            (Some(_), None) => Err(spaced.min(puts.owed.next().unwrap_or(u64::MAX))),
            (None, None) => {
                let packet = puts.turns.next().map_or(u64::MAX, |at| at.max(spaced));
                Err(packet.min(puts.owed.next().unwrap_or(u64::MAX)))
            }
        }
    }

    /// Sends the frame that the streams or the queue pairs have had due for longest, if any is.
    #[inline(never)]
    pub(crate) fn send_put_or_pair<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let open = !self.ports.egress[usize::from(NIC)].paused;
        let pair = self.next_pair(cx.now).filter(|(_, due, _)| *due <= cx.now);
        match (self.next_put(open, cx.now, cx.world), pair) {
            (Ok(offer), None) => self.send_offer(&offer, cx),
            (Ok(offer), Some((_, due, _))) if offer.since < due => self.send_offer(&offer, cx),
            (_, Some((class, due, pair))) => self.send_data(class, due, pair, cx),
            (Err(_), None) => {}
        }
    }

    pub(crate) fn send_offer<P: Post<Packet>>(&mut self, offer: &Offer, cx: &mut Ctx<'_, P>) {
        match offer.what {
            What::Ack(slot) => self.send_ack(slot, cx),
            What::Again(slot) => self.repeat_put(slot, cx),
            What::New(slot) => self.send_put(slot, cx),
        }
    }

    /// Sets the wake, of a port that is free from `free` on, to when a stream or a queue pair has something to send.
    #[inline(never)]
    pub(crate) fn rearm_with_puts(&mut self, free: u64, now: u64, world: &World) {
        match self.next_due(now, world) {
            u64::MAX => self.ports.clear_wake(NIC),
            due => self.ports.set_wake(NIC, due.max(free)),
        }
    }

    /// When a stream or a queue pair with an open gate has something to send; `u64::MAX` if none has.
    pub(crate) fn next_due(&mut self, now: u64, world: &World) -> u64 {
        let open = !self.ports.egress[usize::from(NIC)].paused;
        let put = self.next_put(open, now, world).map_or_else(|again| again, |_| now);
        put.min(self.due.earliest(open).unwrap_or(u64::MAX))
    }
}
