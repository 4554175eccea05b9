//! What ranks waited for, for the record ([`DependencyRecord`]). Nothing here changes what a rank does.
//!
//! A step is an instant at which a rank or its NIC does something that others may come after: a rank gives a message, takes one, goes on
//! because its sends have left or its puts and gets are complete, ends; its NIC answers. Between two steps a rank spends its own time,
//! and then, at most, it waits. So a step comes after the one before it by that own time, and after what ended the wait.
//!
//! A rank is followed until it comes to a loop without an end.
use backwater_traffic::program::{FOREVER, Op};
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::host_flows::HostFlows;
use crate::link::ports::Ports;
use crate::record::{Dependency, DependencyRecord};
use crate::world::World;

/// Something that a step comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct After {
    what: Dependency,
    /// Number of the message in its flow, and its bytes; 0 without a flow.
    message: u32,
    size: u64,
    time: u64,
    /// What passes between that and the step at least.
    delay: u64,
}

impl After {
    /// What nobody records.
    pub(crate) const NOTHING: Self =
        Self { what: Dependency::Unfollowed, message: 0, size: 0, time: 0, delay: 0 };
}

/// A queue pair between ranks: its flow, and how many messages have passed here.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Passed {
    flow: u32,
    messages: u32,
}

impl Passed {
    /// One more passes: its number.
    const fn next(&mut self) -> u32 {
        self.messages += 1;
        self.messages - 1
    }
}

/// A rank as far as it is followed.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Followed {
    /// Its steps so far, with those of its NIC.
    steps: u64,
    /// Its own last step, and when that was.
    last: (u64, u64),
    /// It waits since then.
    idle: Option<u64>,
    /// Sends that have left since it waited for their set.
    gone: Vec<(u8, After)>,
    /// Puts and gets that are complete since its last flush.
    complete: Vec<After>,
    /// It has come to a loop without an end.
    left: bool,
}

/// What the ranks of a host keep to record what they waited for.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Recorder {
    own: Vec<Followed>,
    /// Number of the first step of a rank; those of collectives and traces are before it.
    first_step: u64,
    /// By slot of the sender: messages given, and those that have left.
    given: Vec<Passed>,
    sent: Vec<Passed>,
    /// By slot of the receiver.
    received: Vec<Passed>,
    /// Records made in this event.
    recorded: u64,
}

/// Who makes a step, when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    /// The rank among those of its host, and among all.
    pub(super) rank: u32,
    pub(super) id: u32,
    /// The op that it is about.
    pub(super) op: u32,
    pub(super) now: u64,
}

impl Recorder {
    pub(super) fn new(host: usize, ranks: usize, ends: &HostFlows, steps: usize) -> Self {
        let passed = |flows: &[u32]| flows.iter().map(|flow| Passed { flow: *flow, messages: 0 }).collect();
        let given: Vec<Passed> = passed(ends.sent(host));
        let sent = given.clone();
        let own = vec![Followed::default(); ranks];
        let received = passed(ends.received(host));
        Self { own, first_step: steps as u64, given, sent, received, recorded: 0 }
    }

    /// How many records were made in this event.
    pub(super) fn take_recorded(&mut self) -> u64 {
        std::mem::take(&mut self.recorded)
    }

    /// A rank begins.
    pub(super) fn begins(&mut self, who: Who, world: &World, ports: &mut Ports) {
        let start = After { what: Dependency::Start, time: who.now, ..After::NOTHING };
        let step = self.step(who, &[start], world, ports);
        self.own[who.rank as usize].last = (step, who.now);
    }

    /// A rank comes to a loop without an end.
    pub(super) fn leaves_off(&mut self, rank: u32) {
        self.own[rank as usize] = Followed { left: true, ..Followed::default() };
    }

    /// A rank waits.
    pub(super) fn idle(&mut self, rank: u32, now: u64) {
        self.own[rank as usize].idle.get_or_insert(now);
    }

    /// A message has come in by the receiver of a slot.
    pub(super) fn received(&mut self, slot: u32, size: u64, now: u64) -> After {
        let passed = &mut self.received[slot as usize];
        After {
            what: Dependency::Received(passed.flow),
            message: passed.next(),
            size: size.max(1),
            time: now,
            delay: 0,
        }
    }

    /// A message leaves by the sender of a slot, or is acknowledged.
    pub(super) fn sent(&mut self, slot: u32, size: u64, end: u64, acked: bool) -> After {
        let passed = &mut self.sent[slot as usize];
        let what = if acked { Dependency::Acked(passed.flow) } else { Dependency::Sent(passed.flow) };
        After { what, message: passed.next(), size, time: end, delay: 0 }
    }

    /// A send of a set has left.
    pub(super) fn gone(&mut self, rank: u32, set: u8, after: After) {
        if !self.own[rank as usize].left {
            self.own[rank as usize].gone.push((set, after));
        }
    }

    /// A put or get is complete.
    pub(super) fn complete(&mut self, rank: u32, after: After) {
        if !self.own[rank as usize].left {
            self.own[rank as usize].complete.push(after);
        }
    }

    /// What a rank that is not waiting does now comes after that.
    pub(super) fn here(&self, rank: u32, now: u64) -> After {
        let own = &self.own[rank as usize];
        if own.left {
            return After::NOTHING;
        }
        let ((step, time), until) = (own.last, own.idle.unwrap_or(now));
        After { what: Dependency::Step(step), time, delay: until - time, ..After::NOTHING }
    }

    /// A rank goes on, `also` after these.
    pub(super) fn goes_on(&mut self, who: Who, also: &[After], world: &World, ports: &mut Ports) {
        if self.own[who.rank as usize].left {
            return;
        }
        let here = self.here(who.rank, who.now);
        let step = self.step(who, &[&[here], also].concat(), world, ports);
        let own = &mut self.own[who.rank as usize];
        (own.last, own.idle) = ((step, who.now), None);
    }

    /// It has all that it waited for: the requests of these sets are done.
    pub(super) fn waited(&mut self, who: Who, sets: u64, world: &World, ports: &mut Ports) {
        let gone = &mut self.own[who.rank as usize].gone;
        let done: Vec<After> =
            gone.extract_if(.., |(set, _)| sets & 1 << *set != 0).map(|(_, after)| after).collect();
        if !done.is_empty() {
            self.goes_on(who, &done, world, ports);
        }
    }

    /// The same of its puts and gets.
    pub(super) fn flushed(&mut self, who: Who, world: &World, ports: &mut Ports) {
        let done = std::mem::take(&mut self.own[who.rank as usize].complete);
        if !done.is_empty() {
            self.goes_on(who, &done, world, ports);
        }
    }

    /// A rank gives a message to the sender of a slot, or its NIC does, `answering` these. Without a slot it is for a rank of the same
    /// host, which gets it `delay` later: what happens then comes after this.
    pub(super) fn gives(
        &mut self,
        who: Who,
        answering: &[After],
        way: Result<(u32, u64), u64>,
        world: &World,
        ports: &mut Ports,
    ) -> After {
        let step = if answering.is_empty() {
            self.goes_on(who, &[], world, ports);
            self.own[who.rank as usize].last.0
        } else {
            self.step(who, answering, world, ports)
        };
        match way {
            Ok((slot, size)) => {
                let passed = &mut self.given[slot as usize];
                let (what, message) = (Dependency::Starts(passed.flow), passed.next());
                let starts = After { what, message, size, time: who.now, delay: 0 };
                self.row(who, step, &starts, world, ports);
                After::NOTHING
            }
            Err(_) if self.own[who.rank as usize].left => After::NOTHING,
            Err(delay) => After { what: Dependency::Step(step), time: who.now, delay, ..After::NOTHING },
        }
    }

    /// A step after these: its number.
    fn step(&mut self, who: Who, after: &[After], world: &World, ports: &mut Ports) -> u64 {
        let own = &mut self.own[who.rank as usize];
        let step = self.first_step + u64::from(who.id) + own.steps * world.programs.ranks.len() as u64;
        own.steps += 1;
        for after in after {
            self.row(who, step, after, world, ports);
        }
        step
    }

    fn row(&mut self, who: Who, step: u64, after: &After, world: &World, ports: &mut Ports) {
        if self.own[who.rank as usize].left {
            return;
        }
        let rank = &world.programs.ranks[who.id as usize];
        let line = rank.lines.as_ref().and_then(|lines| lines.get(who.op as usize));
        let of_flow = !matches!(after.what, Dependency::Start | Dependency::Step(_) | Dependency::Unfollowed);
        let time = if after.what == Dependency::Unfollowed { who.now } else { after.time };
        self.recorded += 1;
        let node = ports.node();
        ports.records_mut().dependencies.push(DependencyRecord {
            step,
            what: after.what,
            message: of_flow.then_some((after.message, Bytes::new(after.size))),
            time: Some(Time::from_ps(time)),
            alone: Span::ZERO,
            delay: Span::from_ps(after.delay),
            done: Some(Time::from_ps(who.now)),
            group: rank.group,
            rank: rank.number,
            node,
            line: line.copied().unwrap_or_default(),
        });
    }
}

/// Whether an op begins a loop without an end.
pub(super) const fn is_endless(op: &Op) -> bool {
    matches!(op, Op::Loop { times: FOREVER, .. })
}
