//! Calls of one rank, as in MPI, become ops; what cannot work is refused.
use backwater_units::{Bytes, Span};

mod requests;

use self::requests::OpenRequests;
use super::{ANY, BLOCKING, FOREVER, INTERNAL, MAX_DEPTH, MAX_OPS, MAX_TIMERS, Op};
use crate::flow::MAX_SIZE;

/// The most turns of loops that take no time, one after the other: a run must not stand still for long.
const MOST_INSTANT: u64 = 1 << 20;

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("op {op}: {what}")]
pub struct Wrong {
    /// The op, or where it would have stood.
    pub op: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// What a stretch of a program does.
#[derive(Clone, Copy, Debug, Default)]
struct Deeds {
    /// Sends, puts, gets or computes: that takes time.
    works: bool,
    /// Sets of the requests that it posts, of its receives alone, and of what it waits for.
    posts: u64,
    receives: u64,
    waits: u64,
    /// Whether it puts or gets, and whether it flushes.
    remote: bool,
    flushes: bool,
}

impl Deeds {
    fn and(self, other: Self) -> Self {
        Self {
            works: self.works || other.works,
            posts: self.posts | other.posts,
            receives: self.receives | other.receives,
            waits: self.waits | other.waits,
            remote: self.remote || other.remote,
            flushes: self.flushes || other.flushes,
        }
    }

    /// Whether every turn takes time or needs a message, which took time to send.
    fn takes_time(self) -> bool {
        self.works || self.receives & self.waits != 0
    }

    fn of(op: Op) -> Self {
        let nothing = Self::default();
        match op {
            Op::Isend { set, .. } => Self { works: true, posts: 1 << set, ..nothing },
            Op::Irecv { set, .. } => Self { posts: 1 << set, receives: 1 << set, ..nothing },
            Op::Wait { sets } => Self { waits: sets, ..nothing },
            Op::Put { .. } | Op::Get { .. } => Self { works: true, remote: true, ..nothing },
            Op::Flush => Self { flushes: true, ..nothing },
            Op::Compute(time) => Self { works: time > Span::ZERO, ..nothing },
            Op::Loop { .. } | Op::End { .. } | Op::Start { .. } | Op::Stop { .. } => nothing,
        }
    }
}

/// A loop without its end yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    at: usize,
    times: u32,
    /// Stopwatches that ran before it.
    running: u16,
    deeds: Deeds,
    /// Turns within a turn that take no time, and the turn itself.
    instant: u64,
}

/// Makes the program of a rank. What is wrong first is kept and comes out at the end ([`Builder::finish`]); calls after it do nothing.
#[derive(Clone, Debug)]
pub struct Builder {
    ops: Vec<Op>,
    /// Ranks of the application.
    ranks: u32,
    open: Vec<Open>,
    /// Bit t: stopwatch t runs, since op `started[t]`.
    running: u16,
    started: [usize; MAX_TIMERS as usize],
    /// What the first stopwatches are called.
    names: Vec<String>,
    /// After a loop without end.
    ended: bool,
    open_requests: OpenRequests,
    wrong: Option<Wrong>,
}

impl Builder {
    /// A program without ops of one of so many ranks.
    pub fn new(ranks: u32) -> Self {
        let started = [0; MAX_TIMERS as usize];
        Self {
            ops: Vec::new(),
            ranks,
            open: Vec::new(),
            running: 0,
            started,
            names: Vec::new(),
            ended: false,
            open_requests: OpenRequests::default(),
            wrong: None,
        }
    }

    /// Ops so far.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// What is wrong first, so far.
    pub fn wrong(&self) -> Option<&Wrong> {
        self.wrong.as_ref()
    }

    /// The program.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn finish(mut self) -> Result<Vec<Op>, Wrong> {
        if let Some(open) = self.open.last() {
            let what = "this loop has no end: put `end` after what it repeats".to_owned();
            self.wrong.get_or_insert(Wrong { op: open.at, what });
        }
        if self.running != 0 {
            let timer = self.running.trailing_zeros() as u8;
            let what = format!("{} is started here, but never stopped: add its stop", self.watch(timer));
            self.wrong.get_or_insert(Wrong { op: self.started[usize::from(timer)], what });
        }
        self.wrong.map_or(Ok(self.ops), Err)
    }

    /// Refuses a program that comes to its end with requests open, as `MPI_Finalize` does.
    pub fn finalize(&mut self) -> &mut Self {
        if let Some((what, op)) = self.open_requests.first().filter(|_| !self.ended) {
            self.wrong.get_or_insert(Wrong { op, what });
        }
        self
    }

    /// Begins to send (`MPI_Isend`). `tag` below 2³¹, `set` below [`BLOCKING`].
    pub fn isend(&mut self, to: u32, size: Bytes, tag: u32, set: u8) -> &mut Self {
        self.user(tag, false).own(set).send(to, size, tag, set)
    }

    /// Begins to receive a message of at most `size` (`MPI_Irecv`). `from` and `tag` may be [`ANY`].
    pub fn irecv(&mut self, from: u32, size: Bytes, tag: u32, set: u8) -> &mut Self {
        self.user(tag, true).own(set).receive(from, size, tag, set)
    }

    /// Sends (`MPI_Send`).
    pub fn send_blocking(&mut self, to: u32, size: Bytes, tag: u32) -> &mut Self {
        self.user(tag, false).send(to, size, tag, BLOCKING).settle()
    }

    /// Receives (`MPI_Recv`).
    pub fn receive_blocking(&mut self, from: u32, size: Bytes, tag: u32) -> &mut Self {
        self.user(tag, true).receive(from, size, tag, BLOCKING).settle()
    }

    /// Sends and receives at once (`MPI_Sendrecv`), with the same tag.
    pub fn sendrecv(&mut self, (to, sent): (u32, Bytes), (from, room): (u32, Bytes), tag: u32) -> &mut Self {
        self.user(tag, false).swap((to, sent), (from, room), tag)
    }

    /// Waits for requests (`MPI_Waitall`): bit s of `sets` stands for set s.
    pub fn wait(&mut self, sets: u64) -> &mut Self {
        let last = BLOCKING - 1;
        self.check(sets != 0, || format!("waits for no request: name the set of one, 0 to {last}"));
        self.push(Op::Wait { sets })
    }

    /// Begins to write (`MPI_Put`).
    pub fn put(&mut self, to: u32, size: Bytes) -> &mut Self {
        self.peer(to).size(size).push(Op::Put { to, size: size.get() })
    }

    /// Begins to read (`MPI_Get`).
    pub fn get(&mut self, from: u32, size: Bytes) -> &mut Self {
        self.peer(from).size(size).push(Op::Get { from, size: size.get() })
    }

    /// Waits until all puts and gets are complete (`MPI_Win_flush_all`).
    pub fn flush(&mut self) -> &mut Self {
        self.push(Op::Flush)
    }

    /// Computes for so long.
    pub fn compute(&mut self, time: Span) -> &mut Self {
        self.push(Op::Compute(time))
    }

    /// Repeats what follows so many times, or [`FOREVER`].
    pub fn repeat(&mut self, times: u32) -> &mut Self {
        self.check(times > 0, || {
            format!("a loop of 0 turns: allowed are 1 to {}, or for ever; leave it out", FOREVER - 1)
        });
        let depth = self.open.len();
        self.check(depth < MAX_DEPTH, || format!("more than {MAX_DEPTH} loops in each other: unroll one"));
        self.check(times != FOREVER || depth == 0, || {
            "a loop without end inside another one, which could never go on: end the outer loop before"
                .to_owned()
        });
        let at = self.ops.len();
        self.push(Op::Loop { times, end: 0 });
        let (running, deeds) = (self.running, Deeds::default());
        self.open.push(Open { at, times, running, deeds, instant: 1 });
        self
    }

    /// Ends the innermost loop.
    pub fn end(&mut self) -> &mut Self {
        let Some(open) = self.open.pop() else {
            return self.refuse("there is no loop to end here: remove it, or put `loop` before".to_owned());
        };
        let changed = self.running ^ open.running;
        let watch = (changed != 0).then(|| self.watch(changed.trailing_zeros() as u8));
        self.check(changed == 0, || {
            let name = watch.unwrap_or_default();
            format!("{name} runs only at one end of the loop's body: start and stop it inside")
        });
        let turns = self.turns(&open);
        let begin = open.at as u32 + 1;
        self.push(Op::End { begin });
        if self.wrong.is_some() {
            return self;
        }
        let end = self.ops.len() as u32;
        self.ops[open.at] = Op::Loop { times: open.times, end };
        self.ended = open.times == FOREVER;
        if let Some(outer) = self.open.last_mut() {
            outer.deeds = outer.deeds.and(open.deeds);
            outer.instant = outer.instant.saturating_add(turns);
        }
        self
    }

    /// Starts a stopwatch, below [`MAX_TIMERS`].
    pub fn start(&mut self, timer: u8) -> &mut Self {
        self.timer(timer, false);
        if self.wrong.is_none() {
            self.running |= 1 << timer;
            self.started[timer as usize] = self.ops.len();
        }
        self.push(Op::Start { timer })
    }

    /// Stops a stopwatch that runs: one line in the results.
    pub fn stop(&mut self, timer: u8, series: u16, label: u32) -> &mut Self {
        self.timer(timer, true);
        if self.wrong.is_none() {
            self.running &= !(1 << timer);
        }
        self.push(Op::Stop { timer, series, label })
    }

    /// Calls the first stopwatch without a name so in what is said of it.
    pub(crate) fn name_timer(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    /// A stopwatch, in words.
    fn watch(&self, timer: u8) -> String {
        match self.names.get(usize::from(timer)) {
            Some(name) => format!("stopwatch `{}`", name.chars().take(40).collect::<String>()),
            None => format!("stopwatch {timer}"),
        }
    }

    /// Sends and receives at once, with any tag.
    pub(super) fn swap(
        &mut self,
        (to, sent): (u32, Bytes),
        (from, room): (u32, Bytes),
        tag: u32,
    ) -> &mut Self {
        self.receive(from, room, tag, BLOCKING).send(to, sent, tag, BLOCKING).settle()
    }

    pub(super) fn send(&mut self, to: u32, size: Bytes, tag: u32, set: u8) -> &mut Self {
        self.peer(to).size(size).push(Op::Isend { to, size: size.get(), tag, set })
    }

    pub(super) fn receive(&mut self, from: u32, size: Bytes, tag: u32, set: u8) -> &mut Self {
        if from != ANY {
            self.peer(from);
        }
        self.size(size).push(Op::Irecv { from, size: size.get(), tag, set })
    }

    /// Waits for what a blocking call has posted.
    pub(super) fn settle(&mut self) -> &mut Self {
        self.push(Op::Wait { sets: 1 << BLOCKING })
    }

    /// Turns of a loop and of those in it that take no time; refuses what would never end.
    fn turns(&mut self, open: &Open) -> u64 {
        let Deeds { posts, waits, remote, flushes, .. } = open.deeds;
        let timely = open.deeds.takes_time();
        if open.times == FOREVER {
            self.check(timely, || {
                "the loop without end takes no time and waits for no message, so that the run would stand \
                 still: let it compute, send, or receive and wait"
                    .to_owned()
            });
            let missing = posts & !waits;
            self.check(missing == 0, || {
                let set = missing.trailing_zeros();
                format!("the loop without end posts more and more requests of set {set}: wait for them in it")
            });
            self.check(!remote || flushes, || {
                "the loop without end posts more and more puts or gets: flush in it".to_owned()
            });
        }
        let turns = if timely { 0 } else { open.instant.saturating_mul(u64::from(open.times)) };
        self.check(turns <= MOST_INSTANT, || {
            format!("{turns} turns of loops that take no time: allowed are {MOST_INSTANT}; let it compute")
        });
        turns
    }

    fn timer(&mut self, timer: u8, runs: bool) {
        let last = MAX_TIMERS - 1;
        self.check(timer < MAX_TIMERS, || format!("stopwatch {timer}: allowed are 0 to {last}"));
        let now = self.wrong.is_none() && self.running & (1 << timer) != 0;
        if now != runs {
            let name = self.watch(timer);
            self.refuse(if runs {
                format!("{name} is stopped, but does not run: start it before")
            } else {
                format!("{name} is started, but it runs: stop it before")
            });
        }
    }

    /// A tag must be one of a user's.
    fn user(&mut self, tag: u32, or_any: bool) -> &mut Self {
        let any = if or_any { ", or any" } else { "" };
        self.check(tag < INTERNAL || (or_any && tag == ANY), || {
            format!("tag {tag}: allowed are 0 to {}{any}; collectives use those above", INTERNAL - 1)
        });
        self
    }

    /// A set must not be that of blocking calls.
    fn own(&mut self, set: u8) -> &mut Self {
        self.check(set < BLOCKING, || {
            format!("set {set} of requests: allowed are 0 to {}; blocking calls use {BLOCKING}", BLOCKING - 1)
        });
        self
    }

    fn peer(&mut self, rank: u32) -> &mut Self {
        let (ranks, last) = (self.ranks, self.ranks.saturating_sub(1));
        self.check(rank < ranks, || format!("there is no rank {rank}; the {ranks} ranks are 0 to {last}"));
        self
    }

    fn size(&mut self, size: Bytes) -> &mut Self {
        self.check(size <= MAX_SIZE, || format!("{size} are too much: allowed are up to 1000TB"));
        self
    }

    fn check(&mut self, good: bool, what: impl FnOnce() -> String) {
        if !good && self.wrong.is_none() {
            self.refuse(what());
        }
    }

    pub(super) fn refuse(&mut self, what: String) -> &mut Self {
        let op = self.ops.len();
        self.wrong.get_or_insert(Wrong { op, what });
        self
    }

    fn push(&mut self, op: Op) -> &mut Self {
        self.check(!self.ended, || "nothing can follow a loop without end: remove it".to_owned());
        let room = self.ops.len() < MAX_OPS;
        self.check(room, || format!("the rank has more than {MAX_OPS} ops: use loops"));
        if self.wrong.is_none() {
            self.open_requests.note(self.ops.len(), op);
            self.ops.push(op);
            if let Some(open) = self.open.last_mut() {
                open.deeds = open.deeds.and(Deeds::of(op));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests;
