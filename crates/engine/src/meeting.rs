//! Where threads meet every few microseconds: each brings a word, and all leave with what all said.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

/// How often a thread looks before it sleeps at most: some 20 to 40 µs, about what it costs to put one to sleep and to wake it.
const SPINS: u32 = 2_000;
/// And at least, when it slept each time: what it waits for has no core.
const FEWEST: u32 = 50;

/// Each thread waits for so many others and tells them, so that nobody waits for all.
const ARITY: usize = 4;

/// What threads tell each other.
pub(crate) trait Word: Copy + Default {
    /// So many numbers make one.
    type Store: Default + Send + Sync;
    fn store(&self, to: &Self::Store);
    fn load(from: &Self::Store) -> Self;
    /// What two say together.
    fn and(self, other: Self) -> Self;
}

/// The place of one thread: in lines of its own, as others look at it.
#[derive(Default)]
#[repr(align(128))]
struct Seat<S> {
    /// What it and those below it say, in its round `arrived`.
    word: S,
    arrived: AtomicU64,
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
    /// What all said in round `released`.
    all: S,
    released: AtomicU64,
}

/// The threads that meet: a tree, through which words go up and what all said comes down.
pub(crate) struct Meeting<W: Word> {
    seats: Vec<Seat<W::Store>>,
    /// Threads that have a core each wait for each other awake at first; if there are more of them than cores, one that waits awake
    /// takes the core from the one that it waits for.
    most: u32,
}

/// One thread's part in it.
pub(crate) struct Member<'a, W: Word> {
    meeting: &'a Meeting<W>,
    me: usize,
    round: u64,
    spins: u32,
    /// How often it slept.
    pub(crate) slept: u64,
}

impl<W: Word> Meeting<W> {
    pub(crate) fn new(parties: usize, cores: usize) -> Self {
        Self {
            seats: (0..parties).map(|_| Seat::default()).collect(),
            most: if parties <= cores { SPINS } else { 0 },
        }
    }

    /// For the thread that is number `me`, once.
    pub(crate) fn join(&self, me: usize) -> Member<'_, W> {
        self.seats[me].thread.get_or_init(std::thread::current);
        Member { meeting: self, me, round: 0, spins: self.most, slept: 0 }
    }
}

impl<S> Seat<S> {
    fn wake(&self) {
        // Both are sequentially consistent: either this thread sees the sleeper, or that one what it waits for.
        if self.asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

impl<W: Word> Member<'_, W> {
    /// Returns what all said when all have come.
    pub(crate) fn meet(&mut self, word: W) -> W {
        self.round += 1;
        let (meeting, round) = (self.meeting, self.round);
        let below = (self.me * ARITY + 1..=self.me * ARITY + ARITY).filter_map(|at| meeting.seats.get(at));
        let mut said = word;
        for seat in below.clone() {
            self.wait(|| seat.arrived.load(Ordering::SeqCst) == round);
            said = said.and(W::load(&seat.word));
        }
        if self.me > 0 {
            let seat = &meeting.seats[self.me];
            said.store(&seat.word);
            seat.arrived.store(round, Ordering::SeqCst);
            meeting.seats[(self.me - 1) / ARITY].wake();
            self.wait(|| seat.released.load(Ordering::SeqCst) == round);
            said = W::load(&seat.all);
        }
        for seat in below {
            said.store(&seat.all);
            seat.released.store(round, Ordering::SeqCst);
            seat.wake();
        }
        said
    }

    /// Awake for a moment, then asleep. Who slept will wait less long awake the next time.
    fn wait(&mut self, is_so: impl Fn() -> bool) {
        for _ in 0..self.spins {
            if is_so() {
                self.spins = (self.spins * 2).min(self.meeting.most);
                return;
            }
            std::hint::spin_loop();
        }
        let seat = &self.meeting.seats[self.me];
        seat.asleep.store(true, Ordering::SeqCst);
        while !is_so() {
            self.slept += 1;
            std::thread::park();
        }
        seat.asleep.store(false, Ordering::SeqCst);
        self.spins = (self.spins / 2).max(FEWEST.min(self.meeting.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Sum(u64);

    impl Word for Sum {
        type Store = AtomicU64;
        fn store(&self, to: &AtomicU64) {
            to.store(self.0, Ordering::Relaxed);
        }
        fn load(from: &AtomicU64) -> Self {
            Self(from.load(Ordering::Relaxed))
        }
        fn and(self, other: Self) -> Self {
            Self(self.0 + other.0)
        }
    }

    #[test]
    fn all_leave_with_what_all_said_awake_or_asleep() {
        for (parties, cores) in [(1, 1), (2, 64), (5, 0), (5, 64), (23, 2)] {
            let rounds = if parties > 5 { 200 } else { 2_000 };
            let meeting: Meeting<Sum> = Meeting::new(parties, cores);
            let meeting = &meeting;
            std::thread::scope(|scope| {
                for me in 0..parties {
                    scope.spawn(move || {
                        let mut member = meeting.join(me);
                        for round in 0..rounds {
                            let said = member.meet(Sum(round * me as u64 + 1));
                            let numbers = (parties * (parties - 1) / 2) as u64;
                            assert_eq!(said, Sum(round * numbers + parties as u64));
                        }
                    });
                }
            });
        }
    }
}
