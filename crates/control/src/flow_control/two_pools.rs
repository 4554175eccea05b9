//! A packet memory that is divided twice: among egress queues, and among ingress ports. Pure functions on counters.
//!
//! Reference: the switches of `conweave-project/conweave-ns3`, as their answers show; after Choudhury and Hahne, Dynamic queue length
//! thresholds for shared-memory packet switches (IEEE/ACM Trans. Networking, 1998), at both sides, as shared-buffer chips do it.
//!
//! ```text
//!   egress    queue: reserve │ pooled, up to α · (egress pool − pooled of all): beyond it the packet is refused
//!   ingress   total of all above the ingress pool: a packet is charged to its port's headroom, too; that is full: refused
//!             PAUSE: two reserves exceeded, and headroom used or the excess above α · (ingress pool − total)
//!             RESUME: no headroom used, and the excess below α · (ingress pool − total − hysteresis)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | reserve | B | 1048 | conweave-ns3: its MTU, whatever its packets are. An egress queue has one byte more |
//! | α egress, ingress | – | 1, 1/16 | conweave-ns3; powers of two |
//! | headroom | B | 27 096 | conweave-ns3 at 100 Gbps and 1 µs: 2 · rate · delay, and two MTUs |
//! | hysteresis | B | 16 | conweave-ns3 |
//!
//! Known deviations: that simulator sums up the headroom of one port that does not exist, of 14 596 B, and leaves out the last one; who
//! wants its ingress pool writes it down.

/// Why a packet is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its egress queue has its share, or the egress pool is used up.
    Egress,
    /// The memory is full.
    Memory,
    /// The ingress pool is used up, and the headroom of its ingress port, too.
    Headroom,
}

/// The thresholds of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct TwoPools {
    /// All of the memory.
    pub buffer: u64,
    /// What egress queues share.
    pub egress: u64,
    /// What ingress ports share.
    pub ingress: u64,
    /// log2 α at the egress.
    pub egress_log_alpha: i8,
    /// log2 α at the ingress.
    pub ingress_log_alpha: i8,
    /// What each queue, and each ingress port and priority, has beside the pools.
    pub reserve: u64,
    /// What each ingress port and priority may hold while the ingress pool is full.
    pub headroom: u64,
    /// A RESUME wants so much more of the ingress pool to be free.
    pub hysteresis: u64,
}

impl TwoPools {
    /// What an egress queue of `bytes` takes of the egress pool.
    pub const fn pooled(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.reserve + 1)
    }

    /// Whether `size` bytes are taken for an egress queue of `queue` bytes, while all queues have `pooled` of the pool, and by an ingress
    /// port and priority that holds `held` and `extra` of it in its headroom, while all hold `total`.
    pub const fn admit(
        &self,
        (queue, pooled): (u64, u64),
        (held, extra, total): (u64, u64, u64),
        size: u32,
    ) -> Result<(), Refusal> {
        let size = size as u64;
        let free = self.egress.saturating_sub(pooled);
        if size > free || exceeds(self.pooled(queue) + size, free, self.egress_log_alpha) {
            Err(Refusal::Egress)
        } else if total + size > self.buffer {
            Err(Refusal::Memory)
        } else if held + size > self.reserve && total > self.ingress && extra + size > self.headroom {
            Err(Refusal::Headroom)
        } else {
            Ok(())
        }
    }

    /// What of `size` bytes that were taken is charged to the headroom, if all hold `total` with them.
    pub const fn charge(&self, total: u64, size: u32) -> u32 {
        if total > self.ingress { size } else { 0 }
    }

    /// Whether an ingress port and priority that holds `held`, `extra` of it in its headroom, is paused while all hold `total`.
    pub const fn pauses(&self, held: u64, extra: u64, total: u64) -> bool {
        let above = held.saturating_sub(2 * self.reserve);
        let free = self.ingress.saturating_sub(total);
        above > 0 && (extra > 0 || exceeds(above, free, self.ingress_log_alpha))
    }

    /// Whether a paused one may go on.
    pub const fn resumes(&self, held: u64, extra: u64, total: u64) -> bool {
        let above = held.saturating_sub(2 * self.reserve);
        let free = self.ingress.saturating_sub(total).saturating_sub(self.hysteresis);
        extra == 0 && below(above, free, self.ingress_log_alpha)
    }
}

/// Whether `bytes` > 2 to the power of `log` times `free`.
const fn exceeds(bytes: u64, free: u64, log: i8) -> bool {
    let up = log.unsigned_abs();
    if log >= 0 { bytes > free << up } else { bytes << up > free }
}

/// Whether `bytes` < 2 to the power of `log` times `free`.
const fn below(bytes: u64, free: u64, log: i8) -> bool {
    let up = log.unsigned_abs();
    if log >= 0 { bytes < free << up } else { bytes << up < free }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ports, 150 kB: the README of `conweave.tar.xz` gives the sums.
    const SMALL: TwoPools = TwoPools {
        buffer: 150_000,
        egress: 150_000 - 3 * 8 * 1048,
        ingress: 150_000 - 3 * 8 * 1048 - 14_596 - 2 * 27_096,
        egress_log_alpha: 0,
        ingress_log_alpha: -4,
        reserve: 1048,
        headroom: 27_096,
        hysteresis: 16,
    };

    #[test]
    fn one_busy_egress_queue_gets_half_of_the_egress_pool_beside_its_reserve() {
        // 124 848 B in the pool: q − 1049 + 1000 ≤ 124 848 − (q − 1049) up to q = 62 973.
        let mut queue = 0;
        while SMALL.admit((queue, SMALL.pooled(queue)), (0, 0, queue), 1000).is_ok() {
            queue += 1000;
        }
        assert_eq!(queue, 63_000);
    }

    #[test]
    fn above_the_ingress_pool_packets_go_to_the_headroom_until_it_is_full() {
        // 56 060 B in the pool.
        assert_eq!((SMALL.charge(56_060, 1000), SMALL.charge(56_061, 1000)), (0, 1000));
        let held = |extra| SMALL.admit((0, 0), (30_000, extra, 57_000), 1000);
        assert_eq!((held(26_096), held(26_097)), (Ok(()), Err(Refusal::Headroom)));
        assert_eq!(SMALL.admit((0, 0), (48, 27_000, 57_000), 1000), Ok(()), "within its reserve");
        assert_eq!(SMALL.admit((0, 0), (0, 0, 149_001), 1000), Err(Refusal::Memory));
    }

    #[test]
    fn a_port_is_paused_above_a_sixteenth_of_what_is_left_and_let_go_below_it() {
        // 16 060 B are left of 56 060: a sixteenth is 1003.75 B, and 1002.75 with the hysteresis.
        let at = |above: u64| (SMALL.pauses(2096 + above, 0, 40_000), SMALL.resumes(2096 + above, 0, 40_000));
        assert_eq!([1002, 1003, 1004].map(at), [(false, true), (false, false), (true, false)]);
        assert!(SMALL.pauses(2097, 1, 0) && !SMALL.resumes(0, 1, 0), "headroom in use");
        assert!(!SMALL.pauses(2096, 1, 0), "two reserves are not exceeded");
    }
}
