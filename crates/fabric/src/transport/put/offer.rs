//! What the PUT streams of a host send next: overdue ACKs, then replays, then new packets in turn; other ACKs fill the gaps. Replays
//! and new packets take turns with the queue pairs of RoCE.
use crate::transport::put::{Puts, streams};
use crate::transport::roce::queue_pair::Sender;
use crate::transport::{Frame, What as Of};
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

impl Puts {
    /// What the streams send now if these classes may; else when to ask again if nothing happens before.
    pub(crate) fn peek(
        &mut self,
        open: u8,
        senders: &[Sender],
        now: u64,
        world: &World,
    ) -> Result<Frame, u64> {
        self.lines.turns.advance(now);
        self.lines.owed.advance(now);
        let ack = self.first_ack(open, now, world);
        match ack {
            Some((due, frame)) if due <= now => return Ok(Frame { since: 0, ..frame }),
            _ => {}
        }
        if !self.lines.replays.is_empty()
            && let Some(frame) = self.first_replay(open, world)
        {
            return Ok(frame);
        }
        let spaced = self.spaced_until;
        let owed = |puts: &mut Self| puts.lines.owed.next().unwrap_or(u64::MAX);
        match (self.first_new(open, senders, world), ack) {
            (Some(frame), _) if spaced <= now => Ok(Frame { since: frame.since.max(spaced), ..frame }),
            (_, Some((_, frame))) => Ok(frame),
            (Some(_), None) => Err(spaced.min(owed(self))),
            (None, None) => {
                Err(self.lines.turns.next().map_or(u64::MAX, |at| at.max(spaced)).min(owed(self)))
            }
        }
    }

    /// The ACK or NACK that has been owed for longest, and when it must not wait any longer.
    fn first_ack(&mut self, open: u8, now: u64, world: &World) -> Option<(u64, Frame)> {
        let streams = streams(world);
        loop {
            let (since, slot, class) = self.lines.owed.first(open)?;
            let incoming = &self.incoming[slot as usize];
            let spec = streams.kind(&streams.all[incoming.number as usize]);
            if incoming.owes(spec, now) {
                let size = spec.ack_size.get() as u16;
                let frame = Frame { since: u64::MAX, class, size, what: Of::Put(What::Ack(slot)) };
                return Some((since.saturating_add(spec.triggers.after.as_ps()), frame));
            }
            // What it owed has left with data.
            self.lines.owed.leave(class);
            incoming.line_up(slot, class, spec, &mut self.lines.owed, now);
        }
    }

    /// The first packet to be sent again that may be, in the order of the NACKs.
    fn first_replay(&mut self, open: u8, world: &World) -> Option<Frame> {
        let outgoing = &mut self.outgoing;
        self.lines.replays.retain(|slot| {
            let stream = &mut outgoing[*slot as usize];
            stream.replaying = stream.reliability.replaying();
            stream.replaying
        });
        let streams = streams(world);
        self.lines.replays.iter().find_map(|slot| {
            let outgoing = &self.outgoing[*slot as usize];
            let stream = &streams.all[outgoing.number as usize];
            let (_, kept) = outgoing.may_repeat(streams.kind(stream))?;
            // After one of its packets a replay lets those go first that were due before it.
            let since = self.replayed_at;
            let frame =
                Frame { since, class: stream.class, size: kept.size, what: Of::Put(What::Again(*slot)) };
            (open & (1 << stream.class) != 0).then_some(frame)
        })
    }

    /// The new packet whose turn it is.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: it has one caller, for which a call of its own costs 3 instructions a hop"
    )]
    fn first_new(&mut self, open: u8, senders: &[Sender], world: &World) -> Option<Frame> {
        let streams = streams(world);
        loop {
            let (since, slot, class) = self.lines.turns.first(open)?;
            let outgoing = &self.outgoing[slot as usize];
            let spec = streams.kind(&streams.all[outgoing.number as usize]);
            if let Some(size) = outgoing.may_send(senders, spec, world) {
                return Some(Frame { since, class, size, what: Of::Put(What::New(slot)) });
            }
            self.lines.turns.leave(class);
        }
    }
}
