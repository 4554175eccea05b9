//! Where Xoff and Xon lie: fixed, or a share of what is left of the buffer. Pure functions on counters.
//!
//! Reference: IEEE 802.1Qbb; static values of TCD (SIGCOMM 2021) §5.2.1 and of its authors' release; the dynamic
//! form is that of the HPCC simulator's switch (after Choudhury and Hahne, dynamic queue length thresholds, 1998).
//!
//! ```text
//!   Static     used of (port, priority): ──────Xon═════Xoff──────▶      (and the same over the whole port)
//!   Dynamic    reserve │ shared, up to T = (pool − shared used) >> shift │ headroom
//!              PAUSE: headroom used, or shared of (port, priority) >= T
//!              RESUME: no headroom used, and shared = 0 or shared + hysteresis <= T
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | Xoff, Xon | B | 329 600, 327 540 | authors' release: 320 and 318 units of 1030 B |
//! | | B | 320 000, 318 000 | TCD paper §5.2.1 |
//! | port Xoff, Xon | B | 9 888 000, 9 682 000 | authors' release; the paper has none |
//! | shift | bit | 3 (α = 1/8) | HPCC simulator |
//! | reserve | B | 4 KiB per (port, priority) | HPCC simulator |
//! | hysteresis | B | 3 KiB | HPCC simulator |
//!
//! Known deviations: the HPCC simulator's threshold wraps if headroom and reserve exceed the buffer (no PFC at
//! all then); here it is 0. A (port, priority) that holds nothing of the pool is not paused even if T is 0.

/// Where a counter lies between the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RESUME is due.
    BelowXon,
    /// Neither.
    Between,
    /// PAUSE is due.
    AboveXoff,
}

/// Bytes held by one ingress port and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Ingress {
    /// In reserve and shared buffer.
    pub bytes: u32,
    /// In headroom (dynamic thresholds only).
    pub headroom: u32,
}

impl Ingress {
    /// All bytes of this ingress port and priority.
    #[inline]
    pub const fn total(&self) -> u64 {
        self.bytes as u64 + self.headroom as u64
    }
}

/// Whether the buffer takes a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Counted; the shared pool grew by so many bytes.
    Admitted(u64),
    /// No room: in a lossless network an error of the headroom.
    Overflow,
}

/// The thresholds of one ingress port, shared by its priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Threshold {
    /// Fixed values.
    Static {
        /// PAUSE above this many bytes of a (port, priority).
        xoff: u64,
        /// RESUME at or below.
        xon: u64,
        /// PAUSE of every priority above this many bytes of the port; `u64::MAX` for none.
        port_xoff: u64,
        /// RESUME needs the port at or below; `u64::MAX` for none.
        port_xon: u64,
        /// Packet memory of the switch.
        buffer: u64,
    },
    /// A share of the free part of the pool.
    Dynamic {
        /// α = 2^−shift.
        shift: u8,
        /// Buffer less all headrooms and reserves.
        pool: u64,
        /// Bytes of each (port, priority) that are not taken from the pool.
        reserve: u64,
        /// Headroom of the port.
        headroom: u64,
        /// RESUME when shared use + this is within T again.
        hysteresis: u64,
    },
}

impl Threshold {
    /// The TCD authors' release: 320/318 units of 1030 B, whole port 9.888/9.682 MB, 18 MB of memory.
    pub const fn authors() -> Self {
        Self::Static {
            xoff: 329_600,
            xon: 327_540,
            port_xoff: 9_888_000,
            port_xon: 9_682_000,
            buffer: 18_000_000,
        }
    }

    /// The TCD paper: 320/318 KB, and `buffer` bytes of memory.
    pub const fn standard(buffer: u64) -> Self {
        Self::Static { xoff: 320_000, xon: 318_000, port_xoff: u64::MAX, port_xon: u64::MAX, buffer }
    }

    /// Where an ingress port and priority stands; `port` is the sum over the port's priorities, `shared` what the
    /// switch has in use: of all memory (static), of the pool (dynamic).
    #[inline]
    pub const fn level(&self, ingress: &Ingress, port: u64, shared: u64) -> Level {
        match *self {
            Self::Static { xoff, xon, port_xoff, port_xon, .. } => {
                if ingress.total() > xoff || port > port_xoff {
                    Level::AboveXoff
                } else if ingress.total() <= xon && port <= port_xon {
                    Level::BelowXon
                } else {
                    Level::Between
                }
            }
            Self::Dynamic { reserve, hysteresis, .. } => {
                let own = (ingress.bytes as u64).saturating_sub(reserve);
                let limit = self.limit(shared);
                if ingress.headroom > 0 || own >= limit && own > 0 {
                    Level::AboveXoff
                } else if own == 0 || own + hysteresis <= limit {
                    Level::BelowXon
                } else {
                    Level::Between
                }
            }
        }
    }

    /// What an ingress port and priority takes of what is shared, if it uses no headroom.
    #[inline]
    pub const fn shared(&self, ingress: &Ingress) -> u64 {
        match *self {
            Self::Static { .. } => ingress.bytes as u64,
            Self::Dynamic { reserve, .. } => (ingress.bytes as u64).saturating_sub(reserve),
        }
    }

    /// Whether an ingress port and priority can come to hold `most` bytes without PAUSE or headroom, even if
    /// `shared` is in use by then. Static thresholds leave that to Xoff: never.
    #[inline]
    pub const fn spares(&self, ingress: &Ingress, most: u64, shared: u64) -> bool {
        match *self {
            Self::Static { .. } => false,
            Self::Dynamic { reserve, .. } => {
                ingress.headroom == 0 && most.saturating_sub(reserve) < self.limit(shared)
            }
        }
    }

    /// T: what one (port, priority) may take from the pool now. Static thresholds have none.
    #[inline]
    pub const fn limit(&self, shared: u64) -> u64 {
        match *self {
            Self::Static { .. } => u64::MAX,
            Self::Dynamic { shift, pool, .. } => pool.saturating_sub(shared) >> shift,
        }
    }

    /// Books a packet of `size` bytes, or refuses it.
    #[inline]
    pub const fn admit(&self, ingress: &mut Ingress, shared: u64, size: u32) -> Admission {
        match *self {
            Self::Static { buffer, .. } => {
                if shared + size as u64 > buffer {
                    return Admission::Overflow;
                }
                ingress.bytes += size;
                Admission::Admitted(size as u64)
            }
            Self::Dynamic { reserve, headroom, .. } => {
                let limit = self.limit(shared);
                let after = ingress.bytes as u64 + size as u64;
                let own = (ingress.bytes as u64).saturating_sub(reserve);
                if ingress.headroom as u64 + size as u64 > headroom && own + size as u64 > limit {
                    return Admission::Overflow;
                }
                if after <= reserve {
                    ingress.bytes += size;
                    Admission::Admitted(0)
                } else if after - reserve > limit {
                    ingress.headroom += size;
                    Admission::Admitted(0)
                } else {
                    ingress.bytes += size;
                    Admission::Admitted(after - reserve - own)
                }
            }
        }
    }

    /// Unbooks a packet that leaves; returns by how many bytes the shared use shrinks. Headroom empties first.
    #[inline]
    pub const fn release(&self, ingress: &mut Ingress, size: u32) -> u64 {
        match *self {
            Self::Static { .. } => {
                ingress.bytes -= size;
                size as u64
            }
            Self::Dynamic { reserve, .. } => {
                let from_headroom = if size < ingress.headroom { size } else { ingress.headroom };
                let rest = size - from_headroom;
                let own = (ingress.bytes as u64).saturating_sub(reserve);
                ingress.headroom -= from_headroom;
                ingress.bytes -= rest;
                if own < rest as u64 { own } else { rest as u64 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn hpcc() -> Threshold {
        let (pool, headroom) = (32 << 20, 37_500);
        Threshold::Dynamic { shift: 3, pool, reserve: 4 * KIB, headroom, hysteresis: 3 * KIB }
    }

    fn level(threshold: Threshold, bytes: u32, shared: u64) -> Level {
        threshold.level(&Ingress { bytes, headroom: 0 }, u64::from(bytes), shared)
    }

    #[test]
    fn static_thresholds_leave_two_units_between_pause_and_resume() {
        let authors = Threshold::authors();
        assert_eq!(level(authors, 329_601, 0), Level::AboveXoff);
        assert_eq!(level(authors, 329_600, 0), Level::Between);
        assert_eq!(level(authors, 327_541, 0), Level::Between);
        assert_eq!(level(authors, 327_540, 0), Level::BelowXon);
    }

    #[test]
    fn a_full_port_pauses_a_priority_that_holds_nothing() {
        let nothing = Ingress::default();
        assert_eq!(Threshold::authors().level(&nothing, 9_888_001, 0), Level::AboveXoff);
        assert_eq!(Threshold::authors().level(&nothing, 9_700_000, 0), Level::Between);
        assert_eq!(Threshold::standard(9_000_000).level(&nothing, 9_888_001, 0), Level::BelowXon);
    }

    #[test]
    fn the_dynamic_threshold_is_an_eighth_of_what_is_left_of_the_pool() {
        // 32 MiB pool, 16 MiB in use: T = 2 MiB over the 4 KiB reserve.
        let (shared, xoff) = (16 << 20, (2 << 20) + 4 * 1024);
        assert_eq!(hpcc().limit(shared), 2 << 20);
        assert_eq!(level(hpcc(), xoff, shared), Level::AboveXoff);
        assert_eq!(level(hpcc(), xoff - 1, shared), Level::Between);
        assert_eq!(level(hpcc(), xoff - 3 * 1024, shared), Level::BelowXon);
    }

    #[test]
    fn a_packet_fills_the_reserve_then_the_pool_then_the_headroom() {
        let threshold =
            Threshold::Dynamic { shift: 0, pool: 2_000, reserve: 1_500, headroom: 1_000, hysteresis: 0 };
        let (mut ingress, mut shared) = (Ingress::default(), 0);
        let mut booked = [(0, 0, 0); 4];
        for slot in &mut booked {
            if let Admission::Admitted(grown) = threshold.admit(&mut ingress, shared, 1_000) {
                shared += grown;
            }
            *slot = (ingress.bytes, shared, ingress.headroom);
        }
        // The third packet takes the pool to T = 2 000 - 500 exactly; the fourth is over it.
        assert_eq!(booked, [(1_000, 0, 0), (2_000, 500, 0), (3_000, 1_500, 0), (3_000, 1_500, 1_000)]);
        assert_eq!(threshold.admit(&mut ingress, shared, 1_000), Admission::Overflow);
    }

    #[test]
    fn what_was_booked_is_unbooked_to_the_byte() {
        let threshold = hpcc();
        let (mut ingress, mut shared) = (Ingress::default(), 0);
        for _ in 0..100 {
            let Admission::Admitted(grown) = threshold.admit(&mut ingress, shared, 1_048) else {
                panic!("100 packets fit into 32 MiB")
            };
            shared += grown;
        }
        assert_eq!(shared, 104_800 - 4_096);
        for _ in 0..100 {
            shared -= threshold.release(&mut ingress, 1_048);
        }
        assert_eq!((ingress, shared), (Ingress::default(), 0));
    }

    #[test]
    fn a_buffer_smaller_than_its_headrooms_pauses_at_once_instead_of_never() {
        let threshold = Threshold::Dynamic { shift: 3, pool: 0, reserve: 0, headroom: 5_000, hysteresis: 0 };
        let mut ingress = Ingress::default();
        assert_eq!(threshold.admit(&mut ingress, 0, 1_000), Admission::Admitted(0));
        assert_eq!(threshold.level(&ingress, 1_000, 0), Level::AboveXoff);
    }

    #[test]
    fn a_full_memory_refuses_the_packet() {
        let threshold = Threshold::standard(9_000_000);
        let mut ingress = Ingress::default();
        assert_eq!(threshold.admit(&mut ingress, 8_999_500, 1_000), Admission::Overflow);
        assert_eq!(ingress, Ingress::default());
    }
}
