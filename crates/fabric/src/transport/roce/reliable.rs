//! A sender that sends again what is lost: which packet is next, what a reply or a timeout changes, and its timer.
//!
//! The number of the next packet is where all senders have it; after each packet, reply and timeout it is set anew
//! ([`Sender::turn`]). A sender without anything to send, or that may not send, *rests*: it is not among the queue pairs that are due.
//! The timer is lazy: one event at a time, which looks whether what it was set for still stands.
use backwater_control::transport::selective::{self, Requester};
use backwater_control::transport::{Initiator, Next as Again, ReplayMoves};
use backwater_traffic::OWN_CONNECTION;

use crate::packet::Packet;
use crate::spec::{ReliableSpec, Repeat};
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::queue_pair::{After, Sender};
use crate::transport::roce::segments::Next;
use crate::world::World;

/// No instant.
const NEVER: u64 = u64::MAX;

/// The most packets that a queue pair with selective repeat can have under way: what a NACK's number has room for.
pub const MOST_SELECTIVE: u32 = (1 << OFFSET) - 1;
/// Bits of a NACK's number for the packet that it answers, counted from the one that is expected; the others are for that one.
const OFFSET: u32 = 12;

/// What a NACK says: what is expected, and which packet has come.
pub(crate) fn nack(expected: u32, number: u32) -> u32 {
    let offset = number - expected;
    expected << OFFSET | if offset <= MOST_SELECTIVE { offset } else { 0 }
}

/// The same, of a sender whose oldest packet without ACK is `oldest`: a NACK says the low bits of what is expected.
fn of_nack(seq: u32, oldest: u32) -> (u32, Option<u32>) {
    let ahead = ((seq >> OFFSET).wrapping_sub(oldest) << OFFSET).cast_signed() >> OFFSET;
    let (expected, offset) = (oldest.saturating_add_signed(ahead), seq & MOST_SELECTIVE);
    (expected, (offset > 0).then(|| expected + offset))
}

/// One kind of requester.
#[derive(Clone, Debug)]
enum Kind {
    GoBackN(Initiator),
    Selective(Requester, Box<[u64]>),
}

/// What happened to a queue pair that loses packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// NACKs that it got.
    pub(crate) nacks: u32,
    /// Timeouts.
    pub(crate) timeouts: u32,
    /// It is in error and sends no more.
    pub(crate) failed: bool,
}

/// What only such a sender has.
#[derive(Clone, Debug)]
pub(crate) struct Reliable {
    kind: Kind,
    /// It is not among the queue pairs that are due.
    rests: bool,
    /// All has been sent once.
    ended: bool,
    /// When its pacer lets the next packet go.
    due: u64,
    /// Since when it waits to hear something; [`NEVER`]: it does not.
    since: u64,
    /// When its timer goes off.
    armed: u64,
    /// Timeouts since something new was heard.
    tries: u32,
    losses: Losses,
}

impl Reliable {
    pub(crate) fn new(spec: &ReliableSpec, world: &World) -> Self {
        let kind = match spec.repeat {
            Repeat::GoBackN => Kind::GoBackN(Initiator::new(ReplayMoves::AtOnce)),
            Repeat::Selective { cap, .. } => {
                let packets = cap.div_ceil(u64::from(world.payload)).min(u64::from(MOST_SELECTIVE)) as u32;
                Kind::Selective(Requester::default(), vec![0; selective::words(packets.max(1))].into())
            }
        };
        Self {
            kind,
            rests: false,
            ended: false,
            due: 0,
            since: NEVER,
            armed: NEVER,
            tries: 0,
            losses: Losses::default(),
        }
    }

    pub(crate) const fn losses(&self) -> Losses {
        self.losses
    }

    /// The packet to be sent again, if there is one, else the next new one; the oldest without ACK, and the next new one.
    fn numbers(&self) -> (Option<u32>, u32, u32) {
        match &self.kind {
            Kind::GoBackN(it) => {
                let again = if let Again::Again(seq) = it.next() { Some(seq - 1) } else { None };
                (again, it.oldest() - 1, it.newest())
            }
            Kind::Selective(it, _) => (it.again(), it.oldest(), it.newest()),
        }
    }

    /// The packet was sent. Whether it had been before.
    fn sent(&mut self) -> bool {
        match &mut self.kind {
            Kind::GoBackN(it) => it.sent().again,
            Kind::Selective(it, arrived) => it.sent(arrived).1,
        }
    }

    /// How long nothing may be heard, as it is now.
    fn patience(&self, spec: &ReliableSpec) -> u64 {
        let (_, oldest, newest) = self.numbers();
        let patience = match spec.short {
            Some((packets, short)) if newest - oldest <= packets => short,
            _ => spec.timeout,
        };
        let doubled = if spec.backoff { self.tries.min(10) } else { 0 };
        patience.as_ps() << doubled
    }

    /// The instant for which its timer is to be set, if it is not set for one before.
    fn arm(&mut self, spec: &ReliableSpec) -> Option<u64> {
        if self.since == NEVER {
            return None;
        }
        let at = self.since + self.patience(spec);
        let earlier = at < self.armed;
        self.armed = self.armed.min(at);
        earlier.then_some(at)
    }

    /// It waits from `now` on, or no more.
    fn wait(&mut self, now: u64) {
        let (_, oldest, newest) = self.numbers();
        self.since = if oldest < newest { now } else { NEVER };
    }
}

/// What a reply says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// All packets before this one have arrived.
    pub(crate) expected: u32,
    /// The packet that it answers, if it says which.
    pub(crate) number: Option<u32>,
    /// Whether packets are lost.
    pub(crate) lost: bool,
}

/// What becomes of a timer that has gone off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Nothing: what it was set for has passed.
    Nothing,
    /// It is set again.
    Later(u64),
    /// What is under way may be lost.
    Timeout,
    /// So it was too often: the queue pair is in error.
    Error,
}

impl Sender {
    fn reliable(&self) -> Option<&Reliable> {
        self.extras()?.reliable.as_ref()
    }

    fn reliable_mut(&mut self) -> &mut Reliable {
        self.extras_mut().and_then(|extras| extras.reliable.as_mut()).expect("it sends again what is lost")
    }

    /// What happened to it, if it sends again what is lost.
    pub(crate) fn losses(&self) -> Losses {
        self.reliable().map(Reliable::losses).unwrap_or_default()
    }

    /// Whether it sends again what is lost.
    pub(crate) fn is_reliable(&self) -> bool {
        self.reliable().is_some()
    }

    /// What a sender that does so does when a packet starts to leave, see [`Sender::sent`]; the number is set already.
    #[allow(clippy::too_many_arguments, reason = "what is known when a packet leaves")]
    pub(super) fn sent_reliably(
        &mut self,
        pacer: &mut Pacer,
        due: u64,
        now: u64,
        size: u16,
        wire_time: u64,
        world: &World,
    ) -> After {
        let (wire, number) = (u32::from(size), self.last_sent());
        let again = self.reliable_mut().sent();
        let (next, made) = if again {
            self.count_resent();
            (Next::Paced { since: now, bytes: wire }, 0)
        } else {
            self.after_extras(now, wire, wire_time)
        };
        let last = self.has_sent_last();
        if let Some(window) = self.window_mut() {
            if again {
                window.sent_again(number, now, wire);
            } else {
                window.sent(number + 1, now, wire, made);
            }
        }
        let due = pacer.next_due(self.kind(), &next, due, now, wire, wire_time, world).max(made);
        let spec = world.reliable_of(self.kind());
        let reliable = self.reliable_mut();
        reliable.due = due;
        if reliable.since == NEVER || spec.every_packet {
            reliable.since = now;
        }
        let first = last && !reliable.ended;
        reliable.ended |= last;
        let open = self.turn(pacer, world);
        debug_assert!(self.connection() == OWN_CONNECTION, "scenarios say so");
        debug_assert!(!(open && last), "nothing follows the last packet");
        if open {
            return if self.reliable_mut().armed == NEVER { After::Timed(due) } else { After::Due(due) };
        }
        self.reliable_mut().rests = true;
        match (last, first) {
            (true, true) => After::Nothing,
            (true, false) => After::Again,
            (false, _) => After::Acknowledged,
        }
    }

    /// Sets the number of the next packet. Whether it may be sent.
    pub(crate) fn turn(&mut self, pacer: &Pacer, world: &World) -> bool {
        let Some(reliable) = self.reliable() else { return false };
        let failed = reliable.losses.failed;
        let (again, oldest, newest) = reliable.numbers();
        let next = again.unwrap_or(newest);
        let capped = match (&reliable.kind, world.reliable_of(self.kind()).repeat) {
            (Kind::Selective(it, _), Repeat::Selective { cap, .. }) => {
                // What is lost is no longer under way: it passes the cap and the window, as IRN §3.2 has it.
                if again.is_some() { Some(true) } else { Some(it.may_send(u32::from(world.payload), cap)) }
            }
            _ => None,
        };
        self.set_next(next);
        let free = again.is_some() && capped.is_some();
        let window = if free { None } else { self.window_mut() };
        let open = window.is_none_or(|window| window.takes(next - oldest, pacer));
        !failed && self.has_next() && capped.unwrap_or(true) && open
    }

    /// When its timer is to be set, if so.
    pub(crate) fn arm(&mut self, world: &World) -> Option<u64> {
        let spec = world.reliable_of(self.kind());
        self.reliable_mut().arm(spec)
    }

    /// What an ACK or a NACK says.
    pub(crate) fn heard(&self, reply: &Packet, is_nack: bool) -> Heard {
        if !is_nack {
            return Heard { expected: reply.seq, number: reply.seq.checked_sub(1), lost: false };
        }
        let oldest = self.reliable().map_or(0, |reliable| reliable.numbers().1);
        let (expected, number) = of_nack(reply.seq, oldest);
        Heard { expected, number, lost: true }
    }

    /// An ACK or a NACK has come `now`. Whether packets are sent again for it.
    pub(crate) fn on_reply(&mut self, heard: &Heard, now: u64, world: &World) -> bool {
        let spec = world.reliable_of(self.kind());
        let reliable = self.reliable_mut();
        let (_, before, _) = reliable.numbers();
        reliable.losses.nacks += u32::from(heard.lost);
        let begins = match (&mut reliable.kind, spec.repeat) {
            (Kind::GoBackN(it), _) if heard.lost => it.on_nack(heard.expected).replay,
            (Kind::GoBackN(it), _) => {
                it.on_ack(heard.expected);
                false
            }
            (Kind::Selective(it, arrived), Repeat::Selective { config, .. }) if heard.lost => {
                let recovered = it.recovering();
                it.on_nack(&config, heard.expected, heard.number.unwrap_or(heard.expected), arrived);
                it.recovering() && !recovered
            }
            (Kind::Selective(it, arrived), _) => {
                it.on_ack(heard.expected, arrived);
                false
            }
        };
        let fresh = reliable.numbers().1 > before;
        if fresh {
            reliable.tries = 0;
        }
        if fresh || begins || spec.every_packet {
            reliable.wait(now);
        }
        if begins {
            self.forget_round_trips();
        }
        begins
    }

    /// Its timer has gone off `now`.
    pub(crate) fn expired(&mut self, now: u64, world: &World) -> Expiry {
        let spec = world.reliable_of(self.kind());
        let reliable = self.reliable_mut();
        if reliable.armed != now || reliable.losses.failed {
            return Expiry::Nothing;
        }
        reliable.armed = NEVER;
        if reliable.since == NEVER {
            return Expiry::Nothing;
        }
        if reliable.since + reliable.patience(spec) > now {
            return reliable.arm(spec).map_or(Expiry::Nothing, Expiry::Later);
        }
        reliable.losses.timeouts += 1;
        reliable.tries += 1;
        if reliable.tries > spec.retries {
            reliable.losses.failed = true;
            reliable.since = NEVER;
            return Expiry::Error;
        }
        match (&mut reliable.kind, spec.repeat) {
            (Kind::Selective(it, arrived), Repeat::Selective { config, .. }) => {
                it.on_timeout(&config, arrived);
            }
            (Kind::GoBackN(it), _) => drop(it.on_implied_nack()),
            (Kind::Selective(..), Repeat::GoBackN) => unreachable!("made of its spec"),
        }
        reliable.since = now;
        self.forget_round_trips();
        Expiry::Timeout
    }

    /// It is among the queue pairs that are due, or no more: whether that is new, and when its next packet is due.
    pub(crate) fn stands(&mut self, open: bool) -> Option<u64> {
        let reliable = self.reliable_mut();
        let changed = reliable.rests == open;
        reliable.rests = !open;
        changed.then_some(reliable.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nack_says_what_is_expected_and_which_packet_has_come() {
        for oldest in [0, 5, 1 << 19, (1 << 20) - 1, 1 << 20, 3_000_000] {
            for (expected, number) in [(oldest, oldest + 1), (oldest + 7, oldest + 4102)] {
                assert_eq!(of_nack(nack(expected, number), oldest), (expected, Some(number)));
            }
            assert_eq!(of_nack(nack(oldest + 3, oldest + 5000), oldest), (oldest + 3, None));
        }
        assert_eq!(of_nack(nack(3, 4), 9), (3, Some(4)), "an old one");
    }
}
