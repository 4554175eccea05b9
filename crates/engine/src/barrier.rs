//! A barrier for threads that meet every few hundred microseconds: it spins before it yields.
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets `parties` threads wait for each other, again and again.
pub(crate) struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
}

impl Barrier {
    pub(crate) const fn new(parties: usize) -> Self {
        Self { parties, arrived: AtomicUsize::new(0), generation: AtomicUsize::new(0) }
    }

    /// Returns when all parties have called it.
    pub(crate) fn wait(&self) {
        if self.parties == 1 {
            return;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0u32;
        while self.generation.load(Ordering::Acquire) == generation {
            spins += 1;
            if spins < 2_000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
