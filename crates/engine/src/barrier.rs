//! A barrier for threads that meet every few microseconds: it spins for a moment before it sleeps.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread looks before it sleeps: some 20 µs, about what it costs to put one to sleep and to wake it.
const SPINS: u32 = 2_000;

/// Lets `parties` threads wait for each other, again and again.
pub(crate) struct Barrier {
    parties: usize,
    spins: u32,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    opened: Condvar,
}

impl Barrier {
    /// Threads that have a core each wait for each other awake at first; if there are more of them than `cores`, one that waits
    /// awake takes the core from the one that it waits for.
    pub(crate) const fn new(parties: usize, cores: usize) -> Self {
        Self {
            parties,
            spins: if parties <= cores { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            opened: Condvar::new(),
        }
    }

    /// Returns when all parties have called it.
    pub(crate) fn wait(&self) {
        if self.parties == 1 {
            return;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            // Sequentially consistent with the sleepers' count: either this thread sees the sleeper, or it the new generation.
            self.generation.store(generation.wrapping_add(1), Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
                self.opened.notify_all();
            }
            return;
        }
        for _ in 0..self.spins {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            std::hint::spin_loop();
        }
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.generation.load(Ordering::SeqCst) == generation {
            held = self.opened.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_have_come_awake_or_asleep() {
        for cores in [0, 64] {
            let (parties, rounds) = (5, 2_000);
            let (barrier, came) = (Barrier::new(parties, cores), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..parties {
                    scope.spawn(|| {
                        for round in 1..=rounds {
                            came.fetch_add(1, Ordering::SeqCst);
                            barrier.wait();
                            assert!(came.load(Ordering::SeqCst) >= round * parties);
                        }
                    });
                }
            });
            assert_eq!(came.load(Ordering::SeqCst), rounds * parties);
        }
    }
}
