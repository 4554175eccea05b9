//! The fast engine: shards in step, window by window.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::barrier::Barrier;
use crate::engine::{Limits, Stop};
use crate::shard::{Mail, Shard, Window};
use crate::{Node, Place};

/// What a shard tells the others at the end of a window.
#[derive(Default)]
struct Notice {
    next: AtomicU64,
    completed: AtomicU64,
    recorded: AtomicU64,
    stop: AtomicBool,
    failed: AtomicBool,
}

/// Notices and mail of one window; two of them alternate, so that one barrier per window is enough.
struct Board<M> {
    notices: Vec<Notice>,
    /// `mail[from * shards + to]`
    mail: Vec<Mutex<Mail<M>>>,
}

/// The shards and how far they have come.
pub(crate) struct Windows<N: Node> {
    pub(crate) shards: Vec<Shard<N>>,
    pub(crate) places: Vec<Place>,
    pub(crate) width: u64,
    /// The next window to run; `u64::MAX` if nothing is pending.
    window: u64,
    recorded: u64,
    pub(crate) count: u64,
}

impl<N: Node> Windows<N> {
    pub(crate) fn new(shards: Vec<Shard<N>>, places: Vec<Place>, width: u64) -> Self {
        let first = shards.iter().flat_map(|shard| &shard.next).copied().min().unwrap_or(u64::MAX);
        let window = if first == u64::MAX { u64::MAX } else { first / width };
        Self { shards, places, width, window, recorded: 0, count: 0 }
    }

    /// Runs until a limit is met, always to the end of a window (or to `limits.until`).
    pub(crate) fn run(&mut self, world: &N::World, limits: &Limits<'_>) -> Stop {
        let shards = self.shards.len();
        let boards: [Board<N::Message>; 2] = std::array::from_fn(|_| Board {
            notices: (0..shards).map(|_| Notice::default()).collect(),
            mail: (0..shards * shards).map(|_| Mutex::new(Vec::new())).collect(),
        });
        let barrier = Barrier::new(shards);
        let step = Step {
            boards: &boards,
            barrier: &barrier,
            width: self.width,
            first: self.window,
            recorded_before: self.recorded,
            world,
            limits,
        };
        let (first, rest) = self.shards.split_first_mut().expect("at least one shard");
        let outcome = std::thread::scope(|scope| {
            let step = &step;
            for (i, shard) in rest.iter_mut().enumerate() {
                scope.spawn(move || step.run(i + 1, shard));
            }
            step.run(0, first)
        });
        self.window = outcome.window;
        self.count += outcome.windows;
        self.recorded = self.shards.iter().map(|shard| shard.tally.recorded).sum();
        outcome.stop
    }
}

struct Outcome {
    stop: Stop,
    window: u64,
    windows: u64,
}

struct Step<'a, N: Node> {
    boards: &'a [Board<N::Message>; 2],
    barrier: &'a Barrier,
    width: u64,
    first: u64,
    recorded_before: u64,
    world: &'a N::World,
    limits: &'a Limits<'a>,
}

impl<N: Node> Step<'_, N> {
    /// The life of one shard between two stops. Every shard comes to the same decision from the same board.
    fn run(&self, me: usize, shard: &mut Shard<N>) -> Outcome {
        let mut window = self.first;
        let mut windows = 0;
        loop {
            if window == u64::MAX {
                return Outcome { stop: Stop::Idle, window, windows };
            }
            let start = window * self.width;
            if start >= self.limits.until {
                return Outcome { stop: Stop::Until, window, windows };
            }
            let grid_end = start + self.width;
            let end = grid_end.min(self.limits.until);
            shard.run(Window { index: window, start, grid_end, end }, self.world);
            windows += 1;
            let board = &self.boards[(windows & 1) as usize];
            self.publish(me, shard, board, window);
            self.barrier.wait();
            Self::collect(me, shard, board, window);
            if me == 0 {
                self.limits.report(end);
            }
            let sum =
                |f: fn(&Notice) -> &AtomicU64| board.notices.iter().map(|n| f(n).load(Relaxed)).sum::<u64>();
            let any = |f: fn(&Notice) -> &AtomicBool| board.notices.iter().any(|n| f(n).load(Relaxed));
            let next = board.notices.iter().map(|n| n.next.load(Relaxed)).min().unwrap_or(u64::MAX);
            let stop = if any(|n| &n.failed) {
                Some(Stop::Failed)
            } else if sum(|n| &n.completed) >= self.limits.goal {
                Some(Stop::Goal)
            } else if end < grid_end {
                Some(Stop::Until)
            } else if any(|n| &n.stop) {
                Some(Stop::Interrupted)
            } else if sum(|n| &n.recorded) - self.recorded_before >= self.limits.records {
                Some(Stop::Records)
            } else {
                None
            };
            window = next;
            if let Some(stop) = stop {
                return Outcome { stop, window, windows };
            }
        }
    }

    fn publish(&self, me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, window: u64) {
        let mut next = shard.next_window(window, self.width);
        let shards = board.notices.len();
        for (to, mail) in shard.mail.iter_mut().enumerate() {
            if !mail.is_empty() {
                next = mail.iter().map(|(window, _, _)| *window).fold(next, u64::min);
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
    }

    fn collect(me: usize, shard: &mut Shard<N>, board: &Board<N::Message>, current: u64) {
        let shards = board.notices.len();
        for from in 0..shards {
            if from == me {
                continue;
            }
            let mut mail = board.mail[from * shards + me].lock().expect("no shard panicked");
            for (window, node, message) in mail.drain(..) {
                shard.inbox.put(current, window - current, node, message);
            }
        }
    }
}
