//! A queue pair that sends again what is lost: which packet is next, what a reply or a timeout changes, and its timer.
//!
//! It numbers packets from 0, those of all its messages one after the other, as the PSN does. The sender of its first message has what
//! is here: it is the one that *leads*. The number of its next packet is where all senders have it; after each packet, reply and timeout
//! it is set anew (`Host::turn`). A queue pair without anything to send, or that may not send, *rests*: it is not among those that are
//! due. The timer is lazy: one event at a time, which looks whether what it was set for still stands.
use std::collections::VecDeque;

use backwater_control::transport::block_list::{Packets, Walker};
use backwater_control::transport::selective::{self, Requester};
use backwater_control::transport::{Initiator, Next as Again, ReplayMoves};
use backwater_traffic::{OWN_CONNECTION, Pacing};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::ranks::frame::Message;
use crate::observe::recovery::Recovery;
use crate::packet::Packet;
use crate::spec::{ReliableSpec, Repeat};
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::queue_pair::Sender;
use crate::transport::roce::segments::Next;
use crate::world::World;

/// No instant.
const NEVER: u64 = u64::MAX;
/// No sender.
const NOBODY: u32 = u32::MAX;

/// The most packets that a queue pair with selective repeat can have under way: what a NACK's number has room for.
pub const MOST_SELECTIVE: u32 = (1 << OFFSET) - 1;
/// Bits of a NACK's number for the packet that it answers, counted from the one that is expected; the others are for that one.
const OFFSET: u32 = 12;

/// How often backoff doubles the time at most.
const DOUBLED: u32 = 10;

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
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
enum Kind {
    GoBackN(Initiator),
    Selective(Requester, Box<[u64]>),
    BlockList(Walker, Box<[u64]>, Packets),
}

/// What happened while a message was the oldest of its queue pair.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Losses {
    /// Packets that it sent, each once.
    pub(crate) fresh: u32,
    /// NACKs that it got.
    pub(crate) nacks: u32,
    /// Timeouts.
    pub(crate) timeouts: u32,
    /// It is in error and sends no more.
    pub(crate) failed: bool,
}

/// A message that has begun. The numbers of its packets on the queue pair end at `end`; those that its sender gives them are less by `base`.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Begun {
    pub(crate) base: u32,
    pub(crate) end: u32,
    pub(crate) slot: u32,
    /// If ranks gave it to a sender that carries all of theirs.
    pub(crate) of_rank: Option<Message>,
}

/// What only such a queue pair has.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Reliable {
    kind: Kind,
    /// Of a connection: those that have begun and are not acknowledged, the oldest first.
    messages: VecDeque<Begun>,
    /// Packets of all messages that have begun.
    posted: u32,
    /// The sender of its next packet that stands among the queue pairs that are due; [`NOBODY`]: it rests.
    stands: u32,
    /// When its pacer lets the next packet go.
    due: u64,
    /// Since when it waits to hear something; [`NEVER`]: it does not.
    since: u64,
    /// When its timer goes off.
    armed: u64,
    /// Timeouts since something new was heard.
    tries: u32,
    failed: bool,
    /// It has one message only.
    alone: bool,
}

/// A ring of bits for what may be under way.
fn ring(cap: u64, world: &World) -> Box<[u64]> {
    // One more where the last packet that went stood over the cap.
    let packets = cap.div_ceil(u64::from(world.payload)).min(u64::from(MOST_SELECTIVE)) as u32 + 1;
    vec![0; selective::words(packets)].into()
}

impl Reliable {
    /// That of the queue pair which `flow` is the first, or the only one, of.
    pub(crate) fn new(flow: u32, spec: &ReliableSpec, world: &World) -> Self {
        let of = &world.flows[flow as usize];
        let alone = of.connection == OWN_CONNECTION && of.pacing != Pacing::Messages;
        let kind = match spec.repeat {
            Repeat::GoBackN => Kind::GoBackN(Initiator::new(ReplayMoves::AtOnce)),
            Repeat::Selective { cap, .. } => Kind::Selective(Requester::default(), ring(cap, world)),
            Repeat::BlockList { cap } => {
                let payload = u32::from(world.payload);
                // Of a connection each packet counts as a full one.
                let all = Packets { count: u32::MAX, payload, last: payload };
                let of_one =
                    || Packets { count: world.packets(of), last: u32::from(world.last_payload(of)), ..all };
                Kind::BlockList(Walker::default(), ring(cap, world), if alone { of_one() } else { all })
            }
        };
        Self {
            kind,
            messages: VecDeque::new(),
            posted: 0,
            stands: if alone { world.sender_slot[flow as usize] } else { NOBODY },
            due: 0,
            since: NEVER,
            armed: NEVER,
            tries: 0,
            failed: false,
            alone,
        }
    }

    /// The next message of a connection begins; its first packet is due at `due`.
    pub(crate) fn follows(&mut self, message: Begun, due: u64) {
        debug_assert!(message.of_rank.is_some() || message.base == self.posted, "in their order");
        self.posted = message.end;
        self.messages.push_back(message);
        self.due = self.due.max(due);
    }

    /// The number of the first packet of the message that begins next.
    pub(crate) const fn posted(&self) -> u32 {
        self.posted
    }

    /// The oldest message of a connection, if all its packets are known to have come: it is forgotten.
    pub(crate) fn completes(&mut self) -> Option<Begun> {
        let oldest = self.numbers().1;
        self.messages.pop_front_if(|first| first.end <= oldest)
    }

    /// The oldest message of a connection that is not known to have come.
    pub(crate) fn waits_for(&self) -> Option<&Begun> {
        self.messages.front()
    }

    /// Whether it has one message only, that of its first sender.
    #[inline]
    pub(crate) const fn is_alone(&self) -> bool {
        self.alone
    }

    /// The message of a packet of a connection.
    pub(crate) fn message(&self, number: u32) -> Option<&Begun> {
        let at = self.messages.partition_point(|message| message.end <= number);
        self.messages.get(at)
    }

    /// Where the message of a packet begins, and its sender: of a queue pair without connection `lead`.
    #[inline]
    pub(crate) fn place(&self, number: u32, lead: u32) -> Option<(u32, u32)> {
        if self.alone { Some((0, lead)) } else { self.message(number).map(|it| (it.base, it.slot)) }
    }

    /// The sender of the oldest packet without ACK.
    pub(crate) fn oldest(&self, lead: u32) -> u32 {
        self.messages.front().map_or(lead, |first| first.slot)
    }

    /// Whether a packet that is sent again passes window and cap; else whether the cap lets a new one go.
    fn passes(&self, spec: &ReliableSpec, payload: u32) -> (bool, bool) {
        match (&self.kind, spec.repeat) {
            // What is lost is no longer under way: it passes the cap and the window, as IRN §3.2 has it.
            (Kind::Selective(it, _), Repeat::Selective { cap, .. }) => {
                let again = it.again().is_some();
                (again, again || it.may_send(payload, cap))
            }
            (Kind::BlockList(it, _, packets), Repeat::BlockList { cap }) => {
                (false, it.may_send(packets, cap))
            }
            _ => (false, true),
        }
    }

    /// A packet has left `now`; its pacer lets the next one go at `due`.
    pub(crate) fn left(&mut self, due: u64, now: u64, spec: &ReliableSpec) {
        self.due = due;
        if self.since == NEVER || spec.every_packet {
            self.since = now;
        }
    }

    /// When its next packet is due.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// The sender `next` stands among those that are due, or none. The one that stood there before.
    pub(crate) fn stand(&mut self, next: Option<u32>) -> Option<u32> {
        let before = std::mem::replace(&mut self.stands, next.unwrap_or(NOBODY));
        (before != NOBODY).then_some(before)
    }

    /// The oldest packet without ACK, and the next new one.
    #[inline]
    fn flight(&self) -> (u32, u32) {
        match &self.kind {
            Kind::GoBackN(it) => (it.oldest() - 1, it.newest()),
            Kind::Selective(it, _) => (it.oldest(), it.newest()),
            Kind::BlockList(it, ..) => (it.oldest(), it.newest()),
        }
    }

    /// The packet to be sent again, if there is one; the oldest without ACK, and the next new one.
    fn numbers(&self) -> (Option<u32>, u32, u32) {
        match &self.kind {
            Kind::GoBackN(it) => {
                let again = if let Again::Again(seq) = it.next() { Some(seq - 1) } else { None };
                (again, it.oldest() - 1, it.newest())
            }
            Kind::Selective(it, _) => (it.again(), it.oldest(), it.newest()),
            Kind::BlockList(it, arrived, _) => {
                let next = it.next(arrived);
                ((next < it.newest()).then_some(next), it.oldest(), it.newest())
            }
        }
    }

    /// The packet was sent. Whether it had been before.
    pub(crate) fn sent(&mut self) -> bool {
        match &mut self.kind {
            Kind::GoBackN(it) => it.sent().again,
            Kind::Selective(it, arrived) => it.sent(arrived).1,
            Kind::BlockList(it, arrived, _) => it.sent(arrived),
        }
    }

    /// How long nothing may be heard, as it is now.
    fn patience(&self, spec: &ReliableSpec) -> u64 {
        let (oldest, newest) = self.flight();
        let patience = match spec.short {
            Some((packets, short)) if newest - oldest <= packets => short,
            _ => spec.timeout,
        };
        let doubled = if spec.backoff { self.tries.min(DOUBLED) } else { 0 };
        patience.as_ps() << doubled
    }

    /// The instant for which its timer is to be set, if it is not set for one before.
    pub(crate) fn arm(&mut self, spec: &ReliableSpec) -> Option<u64> {
        // Mostly the one that is set goes off before any that could be.
        let least = spec.short.map_or(spec.timeout, |(_, short)| short.min(spec.timeout));
        if self.since == NEVER || self.armed <= self.since + least.as_ps() {
            return None;
        }
        let at = self.since + self.patience(spec);
        let earlier = at < self.armed;
        self.armed = self.armed.min(at);
        earlier.then_some(at)
    }

    /// It waits from `now` on, or no more.
    fn wait(&mut self, now: u64) {
        let (oldest, newest) = self.flight();
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
    /// Whether one has come out of order.
    pub(crate) notifies: bool,
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

impl Reliable {
    /// What an ACK or a NACK says.
    pub(crate) fn heard(&self, reply: &Packet, is_nack: bool) -> Heard {
        if !is_nack {
            let number = reply.seq.checked_sub(1);
            return Heard { expected: reply.seq, number, lost: false, notifies: false };
        }
        let (expected, number) = of_nack(reply.seq, self.flight().0);
        // With a list of blocks packets in order are answered so, too, while something is missing.
        let notifies = number.is_some() || !matches!(self.kind, Kind::BlockList(..));
        Heard { expected, number, lost: true, notifies }
    }

    /// An ACK or a NACK has come `now`. Whether packets are sent again for it.
    pub(crate) fn on_reply(&mut self, heard: &Heard, now: u64, spec: &ReliableSpec) -> bool {
        let before = self.flight().0;
        // Where each packet counts, so does what was to be sent next.
        let next =
            spec.every_packet.then(|| self.numbers()).map_or(0, |(again, _, newest)| again.unwrap_or(newest));
        let begins = match (&mut self.kind, spec.repeat) {
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
            (Kind::BlockList(it, arrived, _), _) => {
                let number = heard.number.filter(|_| heard.lost);
                it.on_reply(heard.expected, heard.lost, number, arrived)
            }
        };
        let oldest = self.flight().0;
        let fresh = oldest > before;
        if fresh {
            self.tries = 0;
        }
        if spec.every_packet {
            self.since = if next > oldest { now } else { NEVER };
        } else if fresh || begins {
            self.wait(now);
        }
        begins
    }

    /// Its timer has gone off `now`.
    pub(crate) fn expired(&mut self, now: u64, spec: &ReliableSpec) -> Expiry {
        if self.armed != now || self.failed {
            return Expiry::Nothing;
        }
        self.armed = NEVER;
        if self.since == NEVER {
            return Expiry::Nothing;
        }
        if self.since + self.patience(spec) > now {
            return self.arm(spec).map_or(Expiry::Nothing, Expiry::Later);
        }
        self.tries += 1;
        if self.tries > spec.retries {
            self.failed = true;
            self.since = NEVER;
            return Expiry::Error;
        }
        match (&mut self.kind, spec.repeat) {
            (Kind::Selective(it, arrived), Repeat::Selective { config, .. }) => {
                it.on_timeout(&config, arrived);
            }
            (Kind::GoBackN(it), _) => drop(it.on_implied_nack()),
            (Kind::BlockList(it, ..), _) => it.on_timeout(),
            (Kind::Selective(..), _) => unreachable!("made of its spec"),
        }
        self.since = now;
        Expiry::Timeout
    }

    /// The number of the next packet, of the oldest one without ACK, and whether the former needs no window; `None`: it may not leave.
    #[inline]
    pub(crate) fn next(&self, spec: &ReliableSpec, payload: u32) -> (u32, u32, Option<bool>) {
        let (again, oldest, newest) = self.numbers();
        let (free, open) = self.passes(spec, payload);
        (again.unwrap_or(newest), oldest, (open && !self.failed).then_some(free))
    }
}

impl Sender {
    /// What its queue pair has, if it leads it.
    pub(crate) fn reliable(&self) -> &Reliable {
        self.extras().and_then(|extras| extras.reliable.as_ref()).expect("it leads")
    }

    /// The same.
    pub(crate) fn reliable_mut(&mut self) -> &mut Reliable {
        self.extras_mut().and_then(|extras| extras.reliable.as_mut()).expect("it leads")
    }

    /// What happened to it, if it sends again what is lost.
    pub(crate) fn losses(&self) -> Losses {
        self.extras().and_then(|extras| extras.losses).unwrap_or_default()
    }

    /// The same, to be counted.
    pub(crate) fn losses_mut(&mut self) -> &mut Losses {
        self.extras_mut().and_then(|extras| extras.losses.as_mut()).expect("it sends again")
    }

    /// Where the time of its packets went that were sent again, if any may be.
    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        self.extras().and_then(|extras| extras.recovery.as_deref())
    }

    /// The latest copy that the queue pair sent was off the wire at `until`.
    pub(crate) fn copied(&mut self, until: u64) {
        if let Some(recovery) = self.extras_mut().and_then(|extras| extras.recovery.as_mut()) {
            recovery.copied(until);
        }
    }

    /// The message of ranks that it has given up, if it is in error.
    pub(crate) fn given_up(&self) -> Option<&Message> {
        let reliable = self.extras()?.reliable.as_ref().filter(|reliable| reliable.failed)?;
        reliable.waits_for()?.of_rank.as_ref()
    }

    /// Whether it sends again what is lost.
    pub(crate) fn is_reliable(&self) -> bool {
        self.extras().is_some_and(|extras| extras.losses.is_some())
    }

    /// A packet of `size` bytes started to leave `now`, not for the first time if it is sent `again`; see [`Sender::sent`]. When the next
    /// one is due.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with hosts of several ports as a second caller, the call costs 4 instructions a hop"
    )]
    #[allow(clippy::too_many_arguments, reason = "what is known when a packet leaves")]
    pub(crate) fn sent_copy(
        &mut self,
        again: bool,
        pacer: &mut Pacer,
        due: u64,
        now: u64,
        size: u16,
        wire_time: u64,
        world: &World,
    ) -> u64 {
        let (wire, number) = (u32::from(size), self.last_sent());
        let (next, made) = if again {
            self.count_resent();
            (Next::Paced { since: now, bytes: wire }, 0)
        } else {
            self.losses_mut().fresh += 1;
            self.after_extras(now, wire, wire_time)
        };
        if let Some(window) = self.window_mut() {
            if again {
                window.sent_again(number, now, wire);
            } else {
                window.sent(number + 1, now, wire, made);
            }
        }
        pacer.next_due(self.kind(), &next, due, now, wire, wire_time, world).max(made)
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
