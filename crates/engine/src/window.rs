//! The fast engine: shards in step, window by window, on as many threads as pay.
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::barrier::Barrier;
use crate::engine::{Limits, Stop};
use crate::extension::Mail;
use crate::shard::{Shard, Window};
use crate::{Node, Place, Plain, Processes};

/// What a shard, or another process, tells the others at the end of a window.
#[derive(Default)]
struct Notice {
    next: AtomicU64,
    completed: AtomicU64,
    recorded: AtomicU64,
    stop: AtomicBool,
    look: AtomicBool,
    failed: AtomicBool,
}

impl Notice {
    /// What all shards of this process tell, as bytes.
    fn put(own: &[Self], to: &mut Vec<u8>) {
        let sum = |f: fn(&Self) -> &AtomicU64| own.iter().map(|n| f(n).load(Relaxed)).sum::<u64>();
        let any = |f: fn(&Self) -> &AtomicBool| own.iter().any(|n| f(n).load(Relaxed));
        let next = own.iter().map(|n| n.next.load(Relaxed)).min().unwrap_or(u64::MAX);
        (next, sum(|n| &n.completed), sum(|n| &n.recorded)).put(to);
        (any(|n| &n.stop), any(|n| &n.look), any(|n| &n.failed)).put(to);
    }

    /// Takes what another process tells.
    fn take(&self, from: &mut &[u8]) -> Option<()> {
        let (next, completed, recorded) = Plain::take(from)?;
        let (stop, look, failed) = Plain::take(from)?;
        self.next.store(next, Relaxed);
        self.completed.store(completed, Relaxed);
        self.recorded.store(recorded, Relaxed);
        self.stop.store(stop, Relaxed);
        self.look.store(look, Relaxed);
        self.failed.store(failed, Relaxed);
        Some(())
    }
}

/// Notices and mail of one window; two of them alternate, so that one barrier per window is enough.
struct Board<M> {
    /// Those of the shards of this process, then those of the other processes.
    notices: Vec<Notice>,
    /// `mail[from * shards + to]`, `from` as in the notices, `to` a shard of any process.
    mail: Vec<Mutex<Mail<M>>>,
}

/// The buffers for the other processes, and from them.
#[derive(Default)]
struct Post {
    to: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
}

/// The shards and how far they have come.
#[derive(Clone)]
pub(crate) struct Windows<N: Node> {
    /// Those of this process.
    pub(crate) shards: Vec<Shard<N>>,
    /// Where the nodes of all processes are.
    places: Vec<Place>,
    processes: Arc<dyn Processes>,
    pub(crate) width: u64,
    /// The next window to run; `u64::MAX` if nothing is pending.
    window: u64,
    recorded: u64,
    pub(crate) count: u64,
    /// Of them those that were run on several threads.
    pub(crate) shared: u64,
    ways: Ways,
    /// Those that this process may use; asked once, as the system reads files for the answer.
    cores: usize,
}

impl<N: Node> Windows<N> {
    pub(crate) fn new(
        processes: Arc<dyn Processes>,
        shards: Vec<Shard<N>>,
        places: Vec<Place>,
        width: u64,
    ) -> Self {
        let first = shards.iter().flat_map(|shard| &shard.next).copied().min().unwrap_or(u64::MAX);
        let window = if first == u64::MAX { u64::MAX } else { first / width };
        let cores = if shards.len() > 1 { available_parallelism().map_or(1, NonZero::get) } else { 1 };
        let ways = Ways::default();
        Self { shards, places, processes, width, window, recorded: 0, count: 0, shared: 0, ways, cores }
    }

    /// The number of the first shard of this process.
    fn first(&self) -> usize {
        self.processes.rank() * self.shards.len()
    }

    /// The nodes of this process, with their places.
    pub(crate) fn own(&self) -> impl Iterator<Item = (u32, Place)> {
        let own = self.first()..self.first() + self.shards.len();
        (0..).zip(self.places.iter().copied()).filter(move |(_, place)| own.contains(&place.shard()))
    }

    /// The place of a node, if it is of this process.
    pub(crate) fn own_place(&self, node: u32) -> Option<Place> {
        let own = self.first()..self.first() + self.shards.len();
        Some(self.places[node as usize]).filter(|place| own.contains(&place.shard()))
    }

    /// The node at a place of this process.
    pub(crate) fn at(&self, place: Place) -> &N {
        &self.shards[place.shard() - self.first()].nodes[place.index()]
    }

    /// The same to be changed.
    pub(crate) fn at_mut(&mut self, place: Place) -> &mut N {
        let first = self.first();
        &mut self.shards[place.shard() - first].nodes[place.index()]
    }

    /// The number of each node of this process, by shard and its place there.
    pub(crate) fn numbers(&self) -> Vec<Vec<u32>> {
        let mut numbers: Vec<Vec<u32>> = self.shards.iter().map(|shard| vec![0; shard.nodes.len()]).collect();
        for (node, place) in self.own() {
            numbers[place.shard() - self.first()][place.index()] = node;
        }
        numbers
    }

    /// A node may have an event of its own sooner than it had.
    pub(crate) fn changed(&mut self, node: u32) {
        let Some(place) = self.own_place(node) else { return };
        let first = self.first();
        let shard = &mut self.shards[place.shard() - first];
        let next = shard.nodes[place.index()].local_key().time;
        shard.next[place.index()] = next;
        if next < u64::MAX {
            self.window = self.window.min(next / self.width);
        }
    }

    /// Runs until a limit is met, always to the end of a window (or to `limits.until`).
    pub(crate) fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let (shards, count) = (self.shards.len(), self.processes.count());
        let tellers = shards + count - 1;
        let boards: [Board<N::Message>; 2] = std::array::from_fn(|_| Board {
            notices: (0..tellers).map(|_| Notice::default()).collect(),
            mail: (0..tellers * shards * count).map(|_| Mutex::new(Mail::default())).collect(),
        });
        let post = Mutex::new(Post { to: vec![Vec::new(); count], from: vec![Vec::new(); count] });
        // What a process has been given to do since the last stretch, the others do not know.
        self.window = self.processes.gather(vec![self.window]).into_iter().min().unwrap_or(u64::MAX);
        loop {
            let barrier = Barrier::new(shards, self.cores);
            let step = Step {
                boards: &boards,
                post: &post,
                processes: &*self.processes,
                shards,
                barrier: &barrier,
                width: self.width,
                first: self.window,
                most: if shards == 1 { u64::MAX } else { self.ways.turn() },
                recorded_before: self.recorded,
                world,
                limits,
            };
            let way = self.ways.best(shards);
            let started = Instant::now();
            let outcome = match way {
                Way::Alone => step.alone(&mut self.shards),
                Way::Shared => step.shared(&mut self.shards),
            };
            self.ways.took(way, started.elapsed(), outcome.windows);
            self.window = outcome.window;
            self.count += outcome.windows;
            if matches!(way, Way::Shared) {
                self.shared += outcome.windows;
            }
            if let Some(stop) = outcome.stop {
                if !matches!(stop, Stop::Look | Stop::Paused) {
                    self.recorded = outcome.recorded.unwrap_or(self.recorded);
                }
                return stop;
            }
        }
    }
}

/// Who runs the shards through a window: the calling thread one after the other, or each a thread of its own. The trajectory is the
/// same, so the quicker one may do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Alone,
    Shared,
}

/// What the ways took when they were tried last. Windows of a few events are over before threads have met.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// Nanoseconds per window; 0 if never tried.
    alone: f64,
    shared: f64,
    turns: u64,
}

impl Ways {
    /// So many windows are run in one way before the next is chosen; the first turns are short ones to try.
    const TURN: u64 = 4096;
    const TRY: u64 = 256;
    /// What was slower is tried again after so many turns.
    const AGAIN: u64 = 64;

    fn is_trial(&self) -> bool {
        self.turns % Self::AGAIN < 2
    }

    fn turn(&self) -> u64 {
        if self.is_trial() { Self::TRY } else { Self::TURN }
    }

    fn best(&self, shards: usize) -> Way {
        let shared = if self.is_trial() { self.turns % Self::AGAIN == 1 } else { self.shared < self.alone };
        if shards > 1 && shared { Way::Shared } else { Way::Alone }
    }

    /// A turn that a limit cut short says little.
    fn took(&mut self, way: Way, time: Duration, windows: u64) {
        if windows < Self::TRY {
            return;
        }
        let each = time.as_nanos() as f64 / windows as f64;
        match way {
            Way::Alone => self.alone = each,
            Way::Shared => self.shared = each,
        }
        self.turns += 1;
    }
}

struct Outcome {
    /// None: the windows of this turn have been run.
    stop: Option<Stop>,
    window: u64,
    windows: u64,
    /// Records stored in all shards up to the end of the last window, if one was run.
    recorded: Option<u64>,
}

struct Step<'a, N: Node> {
    boards: &'a [Board<N::Message>; 2],
    post: &'a Mutex<Post>,
    processes: &'a dyn Processes,
    /// Shards of this process, and of each other one.
    shards: usize,
    barrier: &'a Barrier,
    width: u64,
    first: u64,
    /// Windows to run at most.
    most: u64,
    recorded_before: u64,
    world: &'a N::World,
    limits: &'a Limits<'a>,
}

impl<N: Node> Step<'_, N> {
    /// Each shard on a thread of its own.
    fn shared(&self, shards: &mut [Shard<N>]) -> Outcome {
        let (first, rest) = shards.split_first_mut().expect("at least one shard");
        std::thread::scope(|scope| {
            for (i, shard) in rest.iter_mut().enumerate() {
                scope.spawn(move || self.life(i + 1, shard));
            }
            self.life(0, first)
        })
    }

    /// The life of one shard between two stops. Every shard comes to the same decision from the same board.
    fn life(&self, me: usize, shard: &mut Shard<N>) -> Outcome {
        let mut outcome = Outcome { stop: None, window: self.first, windows: 0, recorded: None };
        while let Some(window) = self.next(&mut outcome) {
            shard.run(window, self.world);
            outcome.windows += 1;
            let board = &self.boards[(outcome.windows & 1) as usize];
            self.publish(me, shard, board, window.index);
            self.barrier.wait();
            if self.processes.count() == 1 {
                self.collect(me, shard, board, 0..self.shards, window.index);
            } else {
                let mut near = || self.collect(me, shard, board, 0..self.shards, window.index);
                if me == 0 {
                    self.exchange(board, &mut near);
                } else {
                    near();
                }
                self.barrier.wait();
                self.collect(me, shard, board, self.shards..board.notices.len(), window.index);
            }
            self.decide(me, board, window, &mut outcome);
        }
        outcome
    }

    /// All shards in turn on this thread.
    fn alone(&self, shards: &mut [Shard<N>]) -> Outcome {
        let mut outcome = Outcome { stop: None, window: self.first, windows: 0, recorded: None };
        while let Some(window) = self.next(&mut outcome) {
            outcome.windows += 1;
            let board = &self.boards[(outcome.windows & 1) as usize];
            for (me, shard) in shards.iter_mut().enumerate() {
                shard.run(window, self.world);
                self.publish(me, shard, board, window.index);
            }
            self.exchange(board, &mut || {
                for (me, shard) in shards.iter_mut().enumerate() {
                    self.collect(me, shard, board, 0..self.shards, window.index);
                }
            });
            for (me, shard) in shards.iter_mut().enumerate() {
                self.collect(me, shard, board, self.shards..board.notices.len(), window.index);
            }
            self.decide(0, board, window, &mut outcome);
        }
        outcome
    }

    /// The window to run now, unless this is the end of the stretch or of the turn.
    fn next(&self, outcome: &mut Outcome) -> Option<Window> {
        if outcome.stop.is_some() {
            return None;
        }
        let index = outcome.window;
        if index == u64::MAX {
            outcome.stop = Some(Stop::Idle);
            return None;
        }
        let start = index * self.width;
        if start >= self.limits.end() {
            outcome.stop = Some(self.limits.stop());
            return None;
        }
        let grid_end = start + self.width;
        let end = grid_end.min(self.limits.end());
        (outcome.windows < self.most).then_some(Window { index, start, grid_end, end })
    }

    /// What follows from the notices of all shards.
    fn decide(&self, me: usize, board: &Board<N::Message>, window: Window, outcome: &mut Outcome) {
        if me == 0 {
            self.limits.report(window.end);
        }
        let sum =
            |f: fn(&Notice) -> &AtomicU64| board.notices.iter().map(|n| f(n).load(Relaxed)).sum::<u64>();
        let any = |f: fn(&Notice) -> &AtomicBool| board.notices.iter().any(|n| f(n).load(Relaxed));
        let is_cut = !window.is_whole() && self.limits.stop() == Stop::Paused;
        let recorded = sum(|n| &n.recorded);
        outcome.recorded = Some(recorded);
        outcome.window = board.notices.iter().map(|n| n.next.load(Relaxed)).min().unwrap_or(u64::MAX);
        outcome.stop = if any(|n| &n.failed) {
            Some(Stop::Failed)
        } else if is_cut {
            // What is known at the end of a window is known at the end of this one, even if nothing more happens in it.
            outcome.window = window.index;
            outcome.windows -= 1;
            Some(Stop::Paused)
        } else if sum(|n| &n.completed) >= self.limits.goal {
            Some(Stop::Goal)
        } else if !window.is_whole() {
            Some(Stop::Until)
        } else if any(|n| &n.stop) {
            Some(Stop::Interrupted)
        } else if recorded - self.recorded_before >= self.limits.records {
            Some(Stop::Records)
        } else if any(|n| &n.look) {
            Some(Stop::Look)
        } else {
            None
        };
    }

    fn publish(&self, me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, window: u64) {
        let mut next = shard.next_window(window, self.width);
        let shards = shard.mail.len();
        for (to, mail) in shard.mail.iter_mut().enumerate() {
            if !mail.is_empty() {
                next = next.min(mail.first_window());
                let mut slot = board.mail[me * shards + to].lock().expect("no shard panicked");
                std::mem::swap(&mut *slot, mail);
            }
        }
        let notice = &board.notices[me];
        notice.next.store(next, Relaxed);
        notice.completed.store(shard.tally.completed, Relaxed);
        notice.recorded.store(shard.tally.recorded, Relaxed);
        notice.failed.store(shard.tally.failed, Relaxed);
        notice.stop.store(me == 0 && self.limits.interrupted(), Relaxed);
        notice.look.store(me == 0 && self.limits.looked_at(), Relaxed);
    }

    /// Takes in the mail of `tellers`.
    fn collect(
        &self,
        me: usize,
        shard: &mut Shard<N>,
        board: &Board<N::Message>,
        tellers: Range<usize>,
        current: u64,
    ) {
        let (shards, to) = (shard.mail.len(), self.processes.rank() * self.shards + me);
        for from in tellers {
            if from == me {
                continue;
            }
            let mut mail = board.mail[from * shards + to].lock().expect("no shard panicked");
            mail.drain(|window, node, message, extension| {
                shard.inbox.put(current, window - current, node, message, extension);
            });
        }
    }

    /// Sends the other processes what is on the board for them, and puts there what they send; `meanwhile` is done until it has come.
    fn exchange(&self, board: &Board<N::Message>, meanwhile: &mut dyn FnMut()) {
        let (count, own) = (self.processes.count(), self.processes.rank());
        if count == 1 {
            return meanwhile();
        }
        let shards = self.shards * count;
        let of = |process: usize| process * self.shards..(process + 1) * self.shards;
        let mut post = self.post.lock().expect("no shard panicked");
        let Post { to, from } = &mut *post;
        for (process, bytes) in to.iter_mut().enumerate().filter(|(process, _)| *process != own) {
            bytes.clear();
            Notice::put(&board.notices[..self.shards], bytes);
            for (from, to) in (0..self.shards).flat_map(|from| of(process).map(move |to| (from, to))) {
                board.mail[from * shards + to].lock().expect("no shard panicked").put(bytes);
            }
        }
        self.processes.exchange(to, meanwhile, from);
        let others = from.iter().enumerate().filter(|(process, _)| *process != own);
        for (teller, (_, bytes)) in (self.shards..).zip(others) {
            let bytes = &mut &bytes[..];
            let mut taken = board.notices[teller].take(bytes);
            for to in (0..self.shards).flat_map(|_| of(own)) {
                let mut mail = board.mail[teller * shards + to].lock().expect("no shard panicked");
                taken = taken.and_then(|()| mail.take(bytes));
            }
            assert!(taken.is_some() && bytes.is_empty(), "the processes are of one build");
        }
    }
}
