//! Rank programs ([`backwater_traffic::program`]) at their hosts: each host executes those of its own ranks, and what a rank does to
//! another one it does by messages that cross the fabric.
//!
//! ```text
//!   op ─▶ (its cost) ─▶ message ─▶ queue pair ─▶ NIC ═▶ … ═▶ last packet ─▶ matching ─▶ ready ─▶ taken (its cost) ─▶ request done
//!         progress.rs                outgoing.rs              arriving.rs   matching.rs          progress.rs
//! ```
//! A rank that waits goes on in the event that ends its wait; its costs are timers.
//! A rank is a process of an application in a closed loop: what it does next depends on what the network has done for it. Nobody lists the
//! messages before the run. A flow between two ranks is a queue pair (a channel), and it never ends.
//!
//! 1. A host executes the programs of its ranks. An op that costs time sets a timer; an op that waits is woken by what it waits for.
//! 2. A message that a rank has paid for goes to its channel. From there on its packets are data, under every congestion control.
//! 3. The last packet of a message says what it is (eager data, RTS, CTS, data, put, get, answers) and which op it belongs to
//!    (`frame.rs`). Tag and size are in the programs, which every host knows as it knows the routes.
//! 4. The last packet finds its receive by MPI's rules (`matching.rs`). Answers to RTS, puts and gets are the NIC's and take no rank's time.
//! 5. Between ranks of one host a message takes a fixed time and no network.
//! 6. Where a rank goes on, what it has waited for is recorded, if anybody wants to know (`recorder.rs`).
//! 7. If all ranks wait and nothing is under way, the run ends with their names and what each waits for (`waiting.rs`).
mod arriving;
pub(crate) mod frame;
mod matching;
mod outcome;
pub(crate) mod outgoing;
mod programs;
mod progress;
pub(crate) mod recorder;
mod state;
pub(crate) mod waiting;

use std::cmp::Reverse;

use backwater_traffic::trace::{Finishes, Part};
use borsh::{BorshDeserialize, BorshSerialize};

use self::frame::{Message, Word};
use self::recorder::{After, Recorder, Who};
pub(crate) use self::state::Rank;
use crate::app::host_flows::HostFlows;
use crate::app::jobs::Done;
use crate::link::ports::NIC;
use crate::link::ports::{Ports, Purpose};
use crate::record::TimingRecord;
use crate::spec::Spec;
use crate::violation::What;
use crate::world::World;

/// The ranks of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Ranks {
    own: Vec<Rank>,
    /// ((rank of this host, other rank, whether it is for answers), slot of the sender), sorted.
    to: Vec<((u32, u32, bool), u32)>,
    /// By slot of the receiver: (rank of this host, other rank); `u32::MAX`: it is no queue pair between ranks.
    from: Vec<(u32, u32)>,
    /// By slot of the sender: the rank of this host; `u32::MAX`: it is no queue pair between ranks.
    owner: Vec<u32>,
    /// What the ranks have given to queue pairs in this event.
    given: Vec<(u32, Message)>,
    /// What they have recorded in it, programs that have ended in it, and what went wrong.
    recorded: u64,
    ended: Vec<Done>,
    broken: Option<What>,
    /// If it is recorded what they wait for.
    recorder: Option<Box<Recorder>>,
}

impl Ranks {
    /// Those of `host`; `None` if it has none.
    pub(crate) fn new(host: usize, ends: &HostFlows, spec: &Spec, world: &World) -> Option<Box<Self>> {
        let own = ends.ranks(host);
        if own.is_empty() {
            return None;
        }
        let programs = &world.programs;
        let local = |rank: u32| {
            let is_here = programs.ranks[rank as usize].host as usize == host;
            is_here.then(|| own.binary_search(&rank).expect("a rank is at its host") as u32)
        };
        let (mut to, mut owner) = (Vec::new(), vec![u32::MAX; ends.sent(host).len()]);
        let mut from = vec![(u32::MAX, u32::MAX); ends.received(host).len()];
        for channel in &programs.channels {
            let flow = channel.flow as usize;
            if let Some(rank) = local(channel.from) {
                to.push(((rank, channel.to, channel.answers), world.sender_slot[flow]));
                owner[world.sender_slot[flow] as usize] = rank;
            }
            if let Some(rank) = local(channel.to) {
                from[world.receiver_slot[flow] as usize] = (rank, channel.from);
            }
        }
        to.sort_unstable();
        let recorded = spec.probe.dependencies;
        let recorder = recorded.then(|| Box::new(Recorder::new(host, own.len(), ends, spec.steps.len())));
        let own = own.iter().map(|id| Rank::new(*id, &programs.ranks[*id as usize])).collect();
        Some(Box::new(Self {
            own,
            to,
            from,
            owner,
            given: Vec::new(),
            recorded: 0,
            ended: Vec::new(),
            broken: None,
            recorder,
        }))
    }

    /// The rank that a queue pair receives for, and the other one, by the slot of the receiver.
    pub(crate) fn received_for(&self, slot: u32) -> (u32, u32) {
        self.from[slot as usize]
    }

    /// The next message that a rank has from one of this host, that one, and what sent it.
    pub(crate) fn take_local(&mut self, rank: u32) -> (u32, Message, After) {
        self.own[rank as usize].local.pop_front().expect("its timer was set for it")
    }

    /// A message leaves by the sender of a slot, and its last bit at `end`, or it is acknowledged then: its rank, if that waits for it.
    pub(crate) fn leaves(&mut self, slot: u32, message: &Message, end: u64, acked: bool) -> Option<u32> {
        let sent = self.recorder.as_mut().map(|recorder| recorder.sent(slot, message.size, end, acked));
        if !matches!(message.word, Word::Eager | Word::Data) {
            return None;
        }
        let rank = self.owner[slot as usize];
        let sent = sent.unwrap_or(After::NOTHING);
        self.own[rank as usize].leaving.push(Reverse((end, message.op, sent)));
        Some(rank)
    }

    /// A message has come in by the receiver of a slot.
    pub(crate) fn received(&mut self, slot: u32, size: u64, now: u64) -> After {
        let recorder = self.recorder.as_mut();
        recorder.map_or(After::NOTHING, |recorder| recorder.received(slot, size, now))
    }

    /// How many records they have made in this event, how many programs have ended in it, and what went wrong.
    pub(crate) fn take_outcome(&mut self) -> (u64, Vec<Done>, Option<What>) {
        let recorded = self.recorder.as_mut().map_or(0, |recorder| recorder.take_recorded());
        (std::mem::take(&mut self.recorded) + recorded, std::mem::take(&mut self.ended), self.broken.take())
    }

    /// What they have given to queue pairs in this event, by the slot of the sender.
    pub(crate) fn take_given(&mut self) -> Vec<(u32, Message)> {
        std::mem::take(&mut self.given)
    }

    /// Gets the memory of that back.
    pub(crate) fn recycle(&mut self, given: Vec<(u32, Message)>) {
        self.given = given;
    }

    /// When each of them begins.
    pub(crate) fn starts(&self, world: &World) -> impl Iterator<Item = (u64, u32)> {
        let is_free = |rank: &Rank| !world.jobs.is_gated(world.programs.ranks[rank.id as usize].group);
        let start = |rank: &Rank| world.programs.ranks[rank.id as usize].start.as_ps();
        let own = (0..).zip(&self.own).filter(move |(_, rank)| is_free(rank));
        own.map(move |(number, rank)| (start(rank), number))
    }

    /// How long after the beginning of a traffic entry that has just begun each of its ranks begins.
    pub(crate) fn starts_of(&self, group: u16, world: &World) -> impl Iterator<Item = (u64, u32)> {
        let program = |rank: &Rank| &world.programs.ranks[rank.id as usize];
        let own = (0..).zip(&self.own).filter(move |(_, rank)| program(rank).group == group);
        own.map(move |(number, rank)| (program(rank).start.as_ps(), number))
    }

    /// A rank gives a message for another one to the queue pair, or, if that is of the same host, to itself after a while. Its NIC does
    /// so, `answering` something.
    #[allow(clippy::too_many_arguments, reason = "they are what every part of an event needs")]
    fn give(
        &mut self,
        rank: u32,
        to: u32,
        message: Message,
        answering: &[After],
        now: u64,
        world: &World,
        ports: &mut Ports,
    ) {
        let who = self.who(rank, message.op, now);
        let own = &mut self.own[rank as usize];
        if message.word.is_payload() {
            own.sent_messages += 1;
            own.sent_bytes += message.size;
        }
        let key = (rank, to, message.word.is_answer());
        if let Ok(place) = self.to.binary_search_by_key(&key, |(key, _)| *key) {
            let slot = self.to[place].1;
            if let Some(recorder) = &mut self.recorder {
                recorder.gives(who, answering, Ok((slot, message.size)), world, ports);
            }
            self.given.push((slot, message));
            return;
        }
        let (id, delay) = (own.id, world.costs(own.id).local.as_ps());
        let target = self.local(to).expect("ranks of different hosts have a queue pair");
        let recorder = self.recorder.as_mut();
        let after = recorder.map(|recorder| recorder.gives(who, answering, Err(delay), world, ports));
        self.own[target as usize].local.push_back((id, message, after.unwrap_or(After::NOTHING)));
        ports.set_timer(now + delay, NIC, Purpose::Local, target);
    }

    /// A rank as the record knows it.
    fn who(&self, rank: u32, op: u32, now: u64) -> Who {
        Who { rank, id: self.own[rank as usize].id, op, now }
    }

    /// The place of a rank, if it is one of this host.
    fn local(&self, id: u32) -> Option<u32> {
        self.own.binary_search_by_key(&id, |rank| rank.id).ok().map(|place| place as u32)
    }

    /// A program has come to its end.
    fn end(&mut self, id: u32, world: &World) {
        let rank = &world.programs.ranks[id as usize];
        let part = Part { iteration: 0, step: 0, ends: Finishes::Job };
        self.ended.push(Done { group: rank.group, rank: rank.number, part });
    }

    fn record(&mut self, timing: TimingRecord, ports: &mut Ports) {
        ports.records_mut().timings.push(timing);
        self.recorded += 1;
    }
}
