//! Flows that start when something has happened at their source: the steps of one host.
use backwater_traffic::trace::{Event, Step};
use backwater_units::Time;

use crate::world::World;

/// The steps of a host. Flows are meant by the slots of their senders and receivers.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    waiting: Vec<Waiting>,
    /// (slot or step, the step that waits for it), sorted.
    sent: Vec<(u32, u32)>,
    acked: Vec<(u32, u32)>,
    received: Vec<(u32, u32)>,
    done: Vec<(u32, u32)>,
    /// When each sender began; `u64::MAX`: not yet.
    begun: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Waiting {
    /// Events still to come.
    missing: u32,
    delay: u64,
    starts: Vec<u32>,
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
            for event in &step.after {
                match event {
                    Event::Sent(flow) => sent.push((slot(flow), number)),
                    Event::Acked(flow) => acked.push((slot(flow), number)),
                    Event::Received(flow) => received.push((world.receiver_slot[*flow as usize], number)),
                    Event::Done(step) => done.push((place(*step), number)),
                }
            }
            let (missing, delay) = (step.after.len() as u32, step.delay.as_ps());
            waiting.push(Waiting { missing, delay, starts: step.starts.iter().map(slot).collect() });
        }
        for list in [&mut sent, &mut acked, &mut received, &mut done] {
            list.sort_unstable();
        }
        Some(Box::new(Self { waiting, sent, acked, received, done, begun: vec![u64::MAX; senders] }))
    }

    /// Steps that wait for nothing: when they are carried out.
    pub(crate) fn first(&self) -> impl Iterator<Item = (u64, u32)> {
        let ready = (0..).zip(&self.waiting).filter(|(_, step)| step.missing == 0);
        ready.map(|(number, step)| (step.delay, number))
    }

    /// The senders that a step starts `now`.
    pub(crate) fn starts(&mut self, step: u32, now: u64) -> Vec<u32> {
        let starts = std::mem::take(&mut self.waiting[step as usize].starts);
        for slot in &starts {
            self.begun[*slot as usize] = now;
        }
        starts
    }

    /// Something that steps wait for has happened: those that are ready now, and their delays.
    pub(crate) fn happened(&mut self, which: Happened) -> Vec<(u64, u32)> {
        let (list, key) = match which {
            Happened::Sent(slot) => (&self.sent, slot),
            Happened::Acked(slot) => (&self.acked, slot),
            Happened::Received(slot) => (&self.received, slot),
            Happened::Done(step) => (&self.done, step),
        };
        let from = list.partition_point(|(at, _)| *at < key);
        let mut ready = Vec::new();
        for (_, number) in list[from..].iter().take_while(|(at, _)| *at == key) {
            let step = &mut self.waiting[*number as usize];
            step.missing -= 1;
            if step.missing == 0 {
                ready.push((step.delay, *number));
            }
        }
        ready
    }

    /// When a sender began.
    pub(crate) fn begun(&self, slot: u32) -> Time {
        Time::from_ps(self.begun[slot as usize])
    }
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
