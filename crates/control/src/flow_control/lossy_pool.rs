//! A pool for classes that may lose: how much of it may one egress queue take?
//!
//! Reference: Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches (IEEE/ACM Trans. Networking,
//! 1998), equation 1; `SONiC`'s `BUFFER_PROFILE` with `dynamic_th` = log2 α at an egress queue.
//!
//! ```text
//!   pool │ used by all queues ───────────▶│◀─ free = pool − used ─▶│        a packet of s bytes is taken if
//!        │ q of this one │                                                   s ≤ free   and   q + s ≤ α · free
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | pool | B | – | of the switch |
//! | α | – | 1 | a power of two; one busy queue gets pool · α / (1 + α) |
//!
//! Known deviations: none. A packet in transmission takes no room, nor does one that finds its port idle.

/// The memory that egress queues without flow control share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossyPool {
    /// Its bytes.
    pub bytes: u64,
    /// log2 α.
    pub log_alpha: i8,
}

impl LossyPool {
    /// α · free: the longest that a queue may become while all queues hold `used`.
    #[inline]
    pub const fn limit(&self, used: u64) -> u64 {
        let free = self.bytes.saturating_sub(used);
        match self.log_alpha {
            log @ 0.. => free.saturating_mul(1 << log),
            log => free >> log.unsigned_abs(),
        }
    }

    /// Whether a queue that holds `queue` takes `size` bytes more while all queues hold `used`.
    #[inline]
    pub const fn takes(&self, queue: u64, used: u64, size: u32) -> bool {
        let size = size as u64;
        used + size <= self.bytes && queue + size <= self.limit(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 B come for one queue until one is refused: bytes held then.
    fn fill(pool: LossyPool, others: u64) -> u64 {
        let mut queue = 0;
        while pool.takes(queue, queue + others, 1_000) {
            queue += 1_000;
        }
        queue
    }

    #[test]
    fn one_busy_queue_gets_alpha_over_one_plus_alpha_of_the_pool() {
        // q + 1000 ≤ 99 000 − q: up to q = 49 000 a packet is taken, so 50 000 are held, half of 99 000 and the packet that was free.
        assert_eq!(fill(LossyPool { bytes: 99_000, log_alpha: 0 }, 0), 50_000);
        // q + 1000 ≤ 8 (90 000 − q): up to q = 79 888.
        assert_eq!(fill(LossyPool { bytes: 90_000, log_alpha: 3 }, 0), 80_000);
        // q + 1000 ≤ (90 000 − q) / 8: up to q = 9 111.
        assert_eq!(fill(LossyPool { bytes: 90_000, log_alpha: -3 }, 0), 10_000);
    }

    #[test]
    fn what_others_hold_lowers_the_limit_and_a_full_pool_takes_nothing() {
        let pool = LossyPool { bytes: 10_000, log_alpha: 0 };
        assert_eq!(fill(pool, 4_000), 3_000);
        assert!(!pool.takes(0, 9_500, 1_000));
        assert_eq!(pool.limit(20_000), 0);
    }
}
