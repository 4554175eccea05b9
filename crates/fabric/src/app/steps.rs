//! Flows that start when something has happened at their source: the steps of one host.
use std::io::{Result, Write};

use backwater_traffic::trace::{Event, Finishes, Part, Step};
use backwater_units::{Time, relative};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::jobs::Done;
use crate::world::World;

/// The steps of a host. Flows are meant by the slots of their senders and receivers.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Steps {
    waiting: Vec<Waiting>,
    /// What steps wait for, by kind, each sorted.
    sent: Vec<Edge>,
    acked: Vec<Edge>,
    received: Vec<Edge>,
    done: Vec<Edge>,
    /// When each sender began; `u64::MAX`: not yet.
    begun: Vec<u64>,
}

/// A step waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
struct Edge {
    /// Slot of the flow, or the step.
    of: u32,
    /// The step that waits for it.
    step: u32,
    /// When it happened; `u64::MAX`: not yet.
    at: u64,
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Waiting {
    /// Events still to come.
    missing: u32,
    /// The last of the others; that a flow has left is known when its last packet begins to leave.
    latest: u64,
    delay: u64,
    starts: Vec<u32>,
    /// When it was carried out; `u64::MAX`: not yet.
    at: u64,
    group: u16,
    rank: u32,
    /// Which part of a program it is.
    part: Option<Part>,
}

impl Steps {
    /// The steps `own` of a host, which has `senders` senders; `None` if it has no steps.
    pub(crate) fn new(own: &[u32], steps: &[Step], senders: usize, world: &World) -> Option<Box<Self>> {
        if own.is_empty() {
            return None;
        }
        let place = |step: u32| own.binary_search(&step).expect("a dependency is local") as u32;
        let slot = |flow: &u32| world.sender_slot[*flow as usize];
        let (mut sent, mut acked, mut received, mut done) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut waiting = Vec::with_capacity(own.len());
        for (number, step) in (0..).zip(own) {
            let step = &steps[*step as usize];
            let edge = |of| Edge { of, step: number, at: u64::MAX };
            for event in &step.after {
                match event {
                    Event::Sent(flow) => sent.push(edge(slot(flow))),
                    Event::Acked(flow) => acked.push(edge(slot(flow))),
                    Event::Received(flow) => received.push(edge(world.receiver_slot[*flow as usize])),
                    Event::Done(step) => done.push(edge(place(*step))),
                }
            }
            let (missing, delay) = (step.after.len() as u32, step.delay.as_ps());
            let starts = step.starts.iter().map(slot).collect();
            let Step { group, rank, part, .. } = *step;
            waiting.push(Waiting { missing, latest: 0, delay, starts, at: u64::MAX, group, rank, part });
        }
        for list in [&mut sent, &mut acked, &mut received, &mut done] {
            list.sort_unstable();
        }
        Some(Box::new(Self { waiting, sent, acked, received, done, begun: vec![u64::MAX; senders] }))
    }

    /// What the steps of these iterations of a host are, relative to an instant. When something happened that they wait for counts for records
    /// only, but for the last of it.
    pub(crate) fn relative<W: Write>(&self, of: &[Vec<u32>], out: &mut W) -> Result<()> {
        for slot in of.iter().flatten() {
            let Waiting { missing, latest, at, .. } = &self.waiting[*slot as usize];
            missing.serialize(out)?;
            relative::once(latest, out)?;
            relative::instant(at, out)?;
        }
        Ok(())
    }

    /// When a step was carried out; `u64::MAX`: not yet.
    pub(crate) fn carried_out_at(&self, slot: u32) -> u64 {
        self.waiting[slot as usize].at
    }

    /// A step is never carried out. What it waits for may happen.
    pub(crate) fn hold_for_ever(&mut self, slot: u32) {
        self.waiting[slot as usize].missing += 1;
    }

    /// The host has one more sender, after all others, which starts by itself.
    pub(crate) fn add_sender(&mut self) {
        self.begun.push(u64::MAX);
    }

    /// Steps that wait for nothing: when they are carried out.
    pub(crate) fn first(&self, world: &World) -> impl Iterator<Item = (u64, u32)> {
        let is_free = |step: &Waiting| step.missing == 0 && !world.jobs.is_gated(step.group);
        let ready = (0..).zip(&self.waiting).filter(move |(_, step)| is_free(step));
        ready.map(|(number, step)| (step.delay, number))
    }

    /// Steps of a traffic entry that has just begun and that wait for nothing else.
    pub(crate) fn first_of(&self, group: u16) -> impl Iterator<Item = (u64, u32)> {
        let is_first = move |step: &Waiting| step.missing == 0 && step.group == group;
        let ready = (0..).zip(&self.waiting).filter(move |(_, step)| is_first(step));
        ready.map(|(number, step)| (step.delay, number))
    }

    /// Whether a step of such a traffic entry will be carried out without anything else that has to happen.
    pub(crate) fn is_pending(&self, of: impl Fn(u16) -> bool) -> bool {
        self.waiting.iter().any(|step| step.missing == 0 && step.at == u64::MAX && of(step.group))
    }

    /// Whose part is over when a step has been carried out, if that is recorded.
    pub(crate) fn ended(&self, step: u32) -> Option<Done> {
        let Waiting { group, rank, part, .. } = self.waiting[step as usize];
        let part = part.filter(|part| part.ends != Finishes::Nothing)?;
        Some(Done { group, rank, part })
    }

    /// The senders that a step starts `now`.
    pub(crate) fn starts(&mut self, step: u32, now: u64) -> Vec<u32> {
        let waiting = &mut self.waiting[step as usize];
        waiting.at = now;
        let starts = std::mem::take(&mut waiting.starts);
        for slot in &starts {
            self.begun[*slot as usize] = now;
        }
        starts
    }

    /// Something that steps wait for happens at `at`: those that wait for nothing else any more, and when they are carried out.
    pub(crate) fn happened(&mut self, which: Happened, at: u64) -> Vec<(u64, u32)> {
        let (list, key) = match which {
            Happened::Sent(slot) => (&mut self.sent, slot),
            Happened::Acked(slot) => (&mut self.acked, slot),
            Happened::Received(slot) => (&mut self.received, slot),
            Happened::Done(step) => (&mut self.done, step),
        };
        let from = list.partition_point(|edge| edge.of < key);
        let mut ready = Vec::new();
        for edge in list[from..].iter_mut().take_while(|edge| edge.of == key) {
            edge.at = at;
            let step = &mut self.waiting[edge.step as usize];
            step.missing -= 1;
            step.latest = step.latest.max(at);
            if step.missing == 0 {
                ready.push((step.latest.saturating_add(step.delay), edge.step));
            }
        }
        ready
    }

    /// When the host's step `number` was carried out; `None`: not yet.
    pub(crate) fn carried_out(&self, number: u32) -> Option<Time> {
        known(self.waiting[number as usize].at)
    }

    /// When something happened that the host's step `number` waits for; `None`: not yet.
    pub(crate) fn when(&self, which: Happened, number: u32) -> Option<Time> {
        let (list, of) = match which {
            Happened::Sent(slot) => (&self.sent, slot),
            Happened::Acked(slot) => (&self.acked, slot),
            Happened::Received(slot) => (&self.received, slot),
            Happened::Done(step) => (&self.done, step),
        };
        let place = list.binary_search_by_key(&(of, number), |edge| (edge.of, edge.step));
        place.ok().and_then(|place| known(list[place].at))
    }

    /// When a sender began.
    pub(crate) fn begun(&self, slot: u32) -> Time {
        Time::from_ps(self.begun[slot as usize])
    }
}

fn known(at: u64) -> Option<Time> {
    (at != u64::MAX).then(|| Time::from_ps(at))
}

/// What steps wait for: a sender's last bit has left, its last packet has been acknowledged, a receiver has all, a step has been
/// carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    Sent(u32),
    Acked(u32),
    Received(u32),
    Done(u32),
}
