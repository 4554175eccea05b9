//! A PUT stream at its initiator: what waits to be sent, what was sent and is not acknowledged, and what lets it go on.
use std::collections::VecDeque;
use std::ops::RangeInclusive;

use backwater_control::reaction::{AckFacts, Controller, Load, Policy};
use backwater_control::transport::{Acked, Initiator, Next};
use backwater_units::{Rate, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::PutSpec;
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// A packet that was sent and is kept until it is acknowledged.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Kept {
    pub(crate) flow: u32,
    /// When it started to leave, the last time.
    pub(crate) at: u64,
    pub(crate) size: u16,
    /// Whether it is the last of its flow.
    pub(crate) last: bool,
}

/// A flow that is being sent, or waits for the ones before it.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Message {
    /// Slot of its sender.
    pub(super) pair: u32,
    /// When its next packet is there.
    pub(super) due: u64,
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Outgoing {
    /// Its number in [`crate::transport::put::streams::Streams`].
    pub(super) number: u32,
    pub(super) reliability: Initiator,
    pub(super) policy: Policy,
    /// From the oldest to the newest.
    pub(super) window: VecDeque<Kept>,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Flows that have started and are not sent completely.
    pub(super) messages: VecDeque<Message>,
    /// When packets expired, or a replay began, the last time: those to be sent again have waited in vain since then only.
    mended: u64,
    /// How often the oldest packet has expired.
    pub(super) futile: u32,
    /// When the timer that counts goes off; `u64::MAX`: none is set.
    pub(super) timer: u64,
    /// Whether it stands in the line of replays.
    pub(super) replaying: bool,
}

impl Outgoing {
    pub(crate) fn new(number: u32, spec: &PutSpec, line: Rate) -> Self {
        Self {
            number,
            reliability: Initiator::new(spec.moves),
            policy: Policy::new(&spec.policy, line),
            window: VecDeque::new(),
            bytes: 0,
            messages: VecDeque::new(),
            mended: 0,
            futile: 0,
            timer: u64::MAX,
            replaying: false,
        }
    }

    fn load(&self, size: u16, again: bool) -> Load {
        Load { packets: self.window.len() as u32, bytes: self.bytes, size: u32::from(size), again }
    }

    /// The size of the new packet that it may send as soon as that is there.
    pub(crate) fn may_send(&self, senders: &[Sender], spec: &PutSpec, world: &World) -> Option<u16> {
        let sender = &senders[self.messages.front()?.pair as usize];
        let size = sender.next_packet(world).2;
        let may = self.reliability.next() == Next::New
            && self.window.len() < spec.buffer as usize
            && self.policy.may_send(&spec.policy, &self.load(size, false));
        may.then_some(size)
    }

    /// The packet that is to be sent again and may be, by its number.
    pub(crate) fn may_repeat(&self, spec: &PutSpec) -> Option<(u32, Kept)> {
        let Next::Again(seq) = self.reliability.next() else { return None };
        let kept = self.window[self.place(seq)];
        self.policy.may_send(&spec.policy, &self.load(kept.size, true)).then_some((seq, kept))
    }

    /// Where a packet is in the window.
    pub(crate) fn place(&self, seq: u32) -> usize {
        (seq - self.reliability.freed() - 1) as usize
    }

    /// A packet leaves.
    pub(crate) fn leaves(&mut self, size: u16, again: bool, spec: &PutSpec, now: u64) {
        let load = self.load(size, again);
        self.policy.on_sent(&spec.policy, Time::from_ps(now), &load);
    }

    /// An ACK that says `frame` takes effect.
    pub(crate) fn on_ack(&mut self, frame: &AckFacts, seq: u32, spec: &PutSpec, now: u64) -> Acked {
        let (first, replaying) = (self.oldest_place(), self.repeats());
        let acked = self.reliability.on_ack(seq);
        let facts = AckFacts {
            packets: acked.fresh,
            bytes: self.bytes_of(first, acked.covered),
            repeat: acked.repeat,
            replaying,
            idle: self.reliability.outstanding() == 0,
            ..*frame
        };
        self.policy.on_ack(&spec.policy, Time::from_ps(now), &facts);
        self.progress(acked.covered, replaying, spec);
        acked
    }

    /// A NACK takes effect; returns how many packets it frees.
    pub(crate) fn on_nack(&mut self, seq: u32, spec: &PutSpec, now: u64) -> u32 {
        let nacked = self.reliability.on_nack(seq);
        self.policy.on_nack(&spec.policy, Time::from_ps(now));
        if nacked.replay {
            self.mended = now;
        }
        self.progress(nacked.covered, false, spec);
        nacked.packets
    }

    fn progress(&mut self, covered: u32, replaying: bool, spec: &PutSpec) {
        if covered > 0 {
            self.futile = 0;
        }
        if replaying && !self.reliability.replaying() {
            self.policy.on_replay_end(&spec.policy);
        }
    }

    /// The next packet that is to be sent again has been: how many are freed by that.
    pub(crate) fn repeated(&mut self, spec: &PutSpec) -> u32 {
        let replaying = self.repeats();
        let freed = self.reliability.sent().acked;
        self.progress(0, replaying, spec);
        freed
    }

    /// Whether it replays because of a NACK.
    fn repeats(&self) -> bool {
        self.reliability.replaying() && !self.reliability.recovering()
    }

    fn oldest_place(&self) -> usize {
        self.place(self.reliability.oldest())
    }

    fn bytes_of(&self, first: usize, packets: u32) -> u64 {
        self.window.iter().skip(first).take(packets as usize).map(|kept| u64::from(kept.size)).sum()
    }

    /// If the oldest packet has expired: all that have are to be sent again. Their numbers.
    pub(crate) fn expire(&mut self, spec: &PutSpec, now: u64) -> RangeInclusive<u32> {
        let oldest = self.reliability.oldest();
        if self.expiry(spec) > now {
            return oldest..=oldest - 1;
        }
        let late = |kept: &&Kept| kept.at.saturating_add(spec.retry.as_ps()) <= now;
        let late = self.window.iter().skip(self.oldest_place()).take_while(late).count() as u32;
        // At least the oldest: it may have waited to be sent again since the last time.
        let through = oldest + late.max(1) - 1;
        self.reliability.on_timeout(through);
        self.policy.on_timeout(&spec.policy);
        self.mended = now;
        self.futile += 1;
        oldest..=through
    }

    /// When something is to happen unless an ACK comes: the retry timer of the oldest packet, or the deadline of the policy.
    pub(crate) fn deadline(&self, spec: &PutSpec) -> u64 {
        let policy = self.policy.next_timer(&spec.policy).as_ps();
        policy.min(self.expiry(spec))
    }

    /// When the oldest packet that no ACK covers expires.
    fn expiry(&self, spec: &PutSpec) -> u64 {
        if self.reliability.oldest() > self.reliability.newest() {
            return u64::MAX;
        }
        let since = self.window[self.oldest_place()].at.max(self.mended);
        since.saturating_add(spec.retry.as_ps())
    }
}
