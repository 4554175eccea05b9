//! A PUT stream at its target, and what the target decides about all its streams of one kind.
use std::collections::VecDeque;

use backwater_control::notify::put::{Acks, Fairness, Release, Sample, TargetConfig};
use backwater_control::transport::Target;
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::PutSpec;
use crate::transport::put::turns::Turns;

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Incoming {
    /// Its number in [`crate::transport::put::streams::Streams`].
    pub(super) number: u32,
    pub(super) order: Target,
    pub(super) acks: Acks,
    /// Bytes of the receive queue that are kept for it.
    pub(super) own: u64,
    /// Size of the packet that was missed, or that reported it.
    pub(super) lost: u16,
}

impl Incoming {
    pub(crate) fn new(number: u32) -> Self {
        Self { number, order: Target::default(), acks: Acks::new(), own: 0, lost: 0 }
    }
}

/// An accepted PUT that is not acknowledged.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Listed {
    slot: u32,
    seq: u32,
    size: u16,
}

/// The streams of one kind at one target.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Desk {
    pub(super) release: Release,
    /// In the order in which they were accepted.
    list: VecDeque<Listed>,
    /// When what streams got is compared and forgotten; `u64::MAX`: never.
    judged_at: u64,
}

impl Desk {
    pub(crate) fn new(spec: &PutSpec) -> Self {
        let period = spec.target.fairness.period();
        Self {
            release: Release::default(),
            list: VecDeque::new(),
            judged_at: period.map_or(u64::MAX, Span::as_ps),
        }
    }

    /// A PUT was accepted.
    pub(crate) fn accepted(&mut self, slot: u32, seq: u32, size: u16) {
        self.list.push_back(Listed { slot, seq, size });
    }

    /// The next PUT that may be acknowledged with so many bytes in the receive queue, as (slot, number, bytes); it counts as
    /// acknowledged from now on.
    pub(crate) fn release(
        &mut self,
        target: &TargetConfig,
        occupancy: u64,
        incoming: &[Incoming],
    ) -> Option<(u32, u32, u64)> {
        let next = match target.fairness {
            Fairness::Ordered { .. } => {
                let got = |listed: &Listed| incoming[listed.slot as usize].acks.bytes();
                let rank = |place: &usize| {
                    let listed = &self.list[*place];
                    (got(listed), listed.seq, listed.slot)
                };
                (0..self.list.len()).min_by_key(rank)?
            }
            Fairness::None | Fairness::Verbs { .. } => 0,
        };
        let Listed { slot, seq, size } = *self.list.get(next)?;
        if !self.release.releases(target, occupancy, u64::from(size)) {
            return None;
        }
        self.list.remove(next);
        Some((slot, seq, u64::from(size)))
    }

    /// Compares what streams got, and forgets it, if it is time: `own` says which streams are of this kind. Periods count from
    /// the start of the run; one in which nothing happened passes unnoticed.
    pub(crate) fn judge(
        &mut self,
        spec: &PutSpec,
        incoming: &mut [Incoming],
        own: impl Fn(&Incoming) -> bool,
        now: u64,
    ) {
        let Some(period) = spec.target.fairness.period().filter(|_| self.judged_at <= now) else { return };
        self.judged_at = (now - now % period.as_ps()).saturating_add(period.as_ps());
        let mut sample = Sample::default();
        // A stream that has nothing to send is not one that gets less than its share.
        let active =
            |stream: &&Incoming| own(stream) && (stream.acks.packets() > 0 || stream.order.in_episode());
        for stream in incoming.iter().filter(active) {
            sample.add(stream.acks.packets());
        }
        for stream in incoming.iter_mut().filter(|stream| own(stream)) {
            stream.acks.judge(&spec.target.fairness, &sample);
        }
    }

    /// Bytes that are kept for streams which lost packets.
    pub(crate) fn reserved(&self) -> u64 {
        self.release.reserved()
    }
}

impl Incoming {
    /// Gets it in line if it owes an ACK or NACK.
    pub(crate) fn line_up(&self, slot: u32, class: u8, spec: &PutSpec, owed: &mut Turns, now: u64) {
        if let Some(due) = self.acks.due(&spec.target, &spec.triggers) {
            owed.add(slot, class, due.as_ps(), now);
        }
    }

    /// Whether an ACK or NACK is due now.
    pub(crate) fn owes(&self, spec: &PutSpec, now: u64) -> bool {
        self.acks.due(&spec.target, &spec.triggers).is_some_and(|due| due <= Time::from_ps(now))
    }
}
