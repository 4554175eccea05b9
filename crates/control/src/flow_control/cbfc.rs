//! CBFC, credit-based flow control: what one virtual lane (VL) of a link may still send, counted in units of 64 B.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, §7.9; TCD (SIGCOMM 2021) §2.2 and Figure 1. The specification is not public.
//! That §7.9 of its release 1.2.1 is on flow control says US patent application 2016/0021016. What is said here of lost packets and of a link
//! that begins anew is from memory, and was not held against its text.
//!
//! ```text
//!   upstream                                              downstream
//!   FCTBS  units sent in all           data ─────────▶    ABR   units received in all
//!                                      FCTBS ────────▶          := FCTBS (resynchronised)
//!   FCCL   units that may be sent   ◀───────── FCCL       FCCL = ABR + free units of the VL's buffer
//!   a packet starts if FCCL − FCTBS ≥ its units           an update every Tc, or after every packet that left
//! ```
//! An update carries both numbers: the sender's FCTBS for the direction in which it flows, and the FCCL of the other one.
//! As both count from the start of the link, a lost update is made up for by the next; and a lost packet, which ABR would
//! miss for ever, by the FCTBS that follows it. While nothing is lost, FCCL is the buffer plus what was freed in all: arrivals
//! do not change it, and an update tells exactly what has become free since the one before.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | unit | B | 64: a block | InfiniBand specification; other networks count flits, as large as their links are wide: [`Unit`] |
//! | buffer | B | 280 KB per ingress port | TCD paper §3.1 |
//! | Tc | ps | 50 µs | open in the TCD paper, which bounds it by 65 536 symbol times (65.5 µs at 40 Gbps) |
//! | phase | ps | random per link | open; equal phases would let all links of a network update at the same instant |
//!
//! How large the buffer must be for a given Tc: [`feasibility`](super::feasibility()).
//!
//! Known deviations: counters have 32 bits, not 12: the 280 KB of the paper are 4375 blocks, more than the 2048 that 12 bits
//! can tell apart. An update may be left out where nothing has changed since the last one, which the specification's 65 536
//! symbol times do not allow, and which only a lost update could tell from sending it.
use backwater_units::{Bytes, Span, Time};

use crate::ConfigError;
use crate::error::require;

/// What one credit stands for: a power of two of bytes, so that hardware and we divide by shifting. Of a packet's last unit a
/// credit is needed for all, even if it is not filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Unit {
    shift: u8,
}

impl Unit {
    /// The block of the InfiniBand specification, 64 B.
    pub const BLOCK: Self = Self { shift: 6 };
    /// 16 B, a flit of 100 Gbps at 700 MHz (142.9 bit in a cycle) less its overhead. Reconstructed: the PFT paper gives these two,
    /// and thresholds of hundreds of credits, but not what a credit is.
    pub const FLIT: Self = Self { shift: 4 };
    /// The largest.
    pub const MOST: Bytes = Bytes::new(4096);

    /// Refuses what is no power of two, or more than [`Self::MOST`].
    pub fn new(size: Bytes) -> Result<Self, ConfigError> {
        require(
            size.get().is_power_of_two() && size <= Self::MOST,
            "unit",
            size,
            "a power of two from 1B to 4096B",
            "64B are the blocks of InfiniBand, 16B the flits of the PFT paper as reconstructed",
        )?;
        Ok(Self { shift: size.get().trailing_zeros() as u8 })
    }

    /// Bytes of one.
    pub const fn size(self) -> Bytes {
        Bytes::new(1 << self.shift)
    }

    /// How many a packet of so many bytes takes.
    #[inline]
    pub const fn count(self, bytes: u32) -> u32 {
        // ⌈x⌉ = −⌊−x⌋: three instructions, where a quotient and its remainder take ten.
        -(-(bytes as i64) >> self.shift) as u32
    }

    /// How many there are in a buffer of so many bytes, in which a started one is none.
    pub const fn within(self, buffer: Bytes) -> u64 {
        buffer.get() >> self.shift
    }
}

/// Data of four lanes of 8b/10b in the longest time between two updates that the InfiniBand specification allows, 65 536 symbol times:
/// 32 bits in each.
pub const LONGEST_PERIOD: Bytes = Bytes::new(65_536 * 4);

/// When the downstream side tells what has become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum CreditReturn {
    /// Every Tc, each link at a phase of its own.
    Periodic(Span),
    /// With every packet that has left.
    AtOnce,
}

impl CreditReturn {
    /// Refuses a period of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match *self {
            Self::AtOnce => Ok(()),
            Self::Periodic(period) => require(
                period > Span::ZERO,
                "period",
                period,
                "longer than 0ps",
                "InfiniBand allows up to 65.536us at 40Gbps; for credits with every packet write returned = \"at-once\"",
            ),
        }
    }

    /// The first instant not before `now` at which an update is due for what has just changed; `phase` shifts the grid of Tc.
    #[inline]
    pub const fn due(&self, phase: Span, now: Time) -> Time {
        match self {
            Self::AtOnce => now,
            Self::Periodic(period) => {
                let (now, phase, period) = (now.as_ps(), phase.as_ps(), period.as_ps());
                if now <= phase {
                    return Time::from_ps(phase);
                }
                Time::from_ps(phase + (now - phase).div_ceil(period) * period)
            }
        }
    }
}

/// The registers of the upstream side of one VL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CreditSender {
    fctbs: u32,
    fccl: u32,
}

impl CreditSender {
    /// After link initialisation: all `units` of the buffer downstream are free.
    pub const fn new(units: u32) -> Self {
        Self { fctbs: 0, fccl: units }
    }

    /// The link is initialised again: both counters begin anew, and nothing may be sent before the first update.
    pub const fn restart(&mut self) {
        *self = Self { fctbs: 0, fccl: 0 };
    }

    /// FCTBS, units sent in all, modulo 2³².
    #[inline]
    pub const fn fctbs(&self) -> u32 {
        self.fctbs
    }

    /// FCCL, units that may have been sent in all, modulo 2³².
    #[inline]
    pub const fn fccl(&self) -> u32 {
        self.fccl
    }

    /// Units that may be sent now. As in the specification the two counters are compared within half of their range, so
    /// that an FCCL behind FCTBS is no credit.
    #[inline]
    pub const fn credits(&self) -> u32 {
        let ahead = self.fccl.wrapping_sub(self.fctbs).cast_signed();
        if ahead < 0 { 0 } else { ahead.cast_unsigned() }
    }

    /// Units of a buffer of so many that are taken as far as this side knows: sent, and not yet advertised as free.
    #[inline]
    pub const fn used(&self, buffer: u32) -> u32 {
        buffer.saturating_sub(self.credits())
    }

    /// Whether a packet of so many units may start.
    #[inline]
    pub const fn fits(&self, units: u32) -> bool {
        self.credits() >= units
    }

    /// A packet that [`Self::fits`] starts.
    #[inline]
    pub const fn on_sent(&mut self, units: u32) {
        self.fctbs = self.fctbs.wrapping_add(units);
    }

    /// An update arrived that carries `fccl`.
    #[inline]
    pub const fn on_update(&mut self, fccl: u32) {
        self.fccl = fccl;
    }
}

/// The registers of the downstream side of one VL, and what its buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CreditReceiver {
    abr: u32,
    held: u32,
    buffer: u32,
    granted: u32,
}

impl CreditReceiver {
    /// An empty buffer of so many units.
    pub const fn new(units: u32) -> Self {
        Self { abr: 0, held: 0, buffer: units, granted: units }
    }

    /// The link is initialised again: ABR begins anew, and what was granted is void. What is in the buffer stays there.
    pub const fn restart(&mut self) {
        self.abr = 0;
        self.granted = 0;
    }

    /// ABR, units received in all, modulo 2³².
    #[inline]
    pub const fn abr(&self) -> u32 {
        self.abr
    }

    /// Units in the buffer.
    #[inline]
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// The buffer in units.
    #[inline]
    pub const fn buffer(&self) -> u32 {
        self.buffer
    }

    /// The FCCL of the latest update.
    #[inline]
    pub const fn granted(&self) -> u32 {
        self.granted
    }

    /// A packet of so many units arrived (under cut-through: its header, and its room is taken); false if the buffer had no room for it, which a
    /// correct upstream side never lets happen.
    #[inline]
    pub const fn on_arrival(&mut self, units: u32) -> bool {
        self.abr = self.abr.wrapping_add(units);
        self.held += units;
        self.held <= self.buffer
    }

    /// The last byte of a packet has left the buffer.
    #[inline]
    pub const fn on_freed(&mut self, units: u32) {
        self.held -= units;
    }

    /// An update of the upstream side arrived: what it has sent in all has arrived before it, or is lost.
    #[inline]
    pub const fn resynchronise(&mut self, fctbs: u32) {
        self.abr = fctbs;
    }

    /// Units that are taken, or promised to what has not come yet.
    #[inline]
    pub const fn committed(&self) -> u32 {
        self.held + self.granted.wrapping_sub(self.abr)
    }

    /// The buffer is so large from now on: no less than [`Self::committed`].
    #[inline]
    pub const fn resize(&mut self, units: u32) {
        self.buffer = units;
    }

    /// FCCL, as an update would tell it now.
    #[inline]
    pub const fn fccl(&self) -> u32 {
        self.abr.wrapping_add(self.buffer.saturating_sub(self.held))
    }

    /// The same; remembers that it was advertised.
    #[inline]
    pub const fn grant(&mut self) -> u32 {
        self.granted = self.fccl();
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_whole_units() {
        let count = |unit: Unit| [0, 1, 64, 65, 2048, u32::MAX].map(|bytes| unit.count(bytes));
        assert_eq!(count(Unit::BLOCK), [0, 1, 1, 2, 32, 1 << 26]);
        assert_eq!(count(Unit::FLIT), [0, 1, 4, 5, 128, 1 << 28]);
        assert_eq!(count(Unit::new(Bytes::new(1)).unwrap()), [0, 1, 64, 65, 2048, u32::MAX]);
    }

    #[test]
    fn a_unit_is_a_power_of_two_up_to_4_kib() {
        for size in [0, 18, 63, 8192] {
            let refused = Unit::new(Bytes::new(size)).unwrap_err().to_string();
            assert!(refused.contains("must be a power of two from 1B to 4096B"), "{refused}");
        }
        for size in [1, 16, 64, 4096] {
            assert_eq!(Unit::new(Bytes::new(size)).unwrap().size(), Bytes::new(size));
        }
        assert_eq!((Unit::new(Bytes::new(64)), Unit::new(Bytes::new(16))), (Ok(Unit::BLOCK), Ok(Unit::FLIT)));
    }

    #[test]
    fn what_is_used_of_a_buffer_is_what_was_sent_and_not_advertised_as_free() {
        let mut sender = CreditSender::new(100);
        assert_eq!(sender.used(100), 0);
        sender.on_sent(60);
        assert_eq!(sender.used(100), 60);
        sender.on_update(145); // 45 of them are free again
        assert_eq!(sender.used(100), 15);
    }

    #[test]
    fn an_fccl_behind_fctbs_is_no_credit() {
        let mut sender = CreditSender::new(4);
        sender.on_sent(4);
        sender.on_update(3);
        assert_eq!(sender.credits(), 0);
        assert!(!sender.fits(1) && sender.fits(0));
    }

    #[test]
    fn updates_stay_on_the_grid_of_their_links_phase() {
        let (every, phase) = (CreditReturn::Periodic(Span::from_us(50)), Span::from_us(20));
        let due = |us| every.due(phase, Time::ZERO + Span::from_us(us)).since(Time::ZERO).as_ps() / 1_000_000;
        assert_eq!([0, 20, 21, 70, 71, 119].map(due), [20, 20, 70, 70, 120, 120]);
        let now = Time::from_ps(12_345);
        assert_eq!(CreditReturn::AtOnce.due(phase, now), now);
    }

    #[test]
    fn a_link_that_begins_anew_grants_what_is_free_of_the_buffer_and_no_more() {
        let (mut sender, mut receiver) = (CreditSender::new(100), CreditReceiver::new(100));
        for units in [30, 40] {
            sender.on_sent(units);
        }
        // The second one is lost with the link, and the first one stays in the buffer.
        receiver.on_arrival(30);
        sender.restart();
        receiver.restart();
        assert_eq!((sender.credits(), sender.fctbs(), receiver.abr(), receiver.held()), (0, 0, 0, 30));
        sender.on_update(receiver.grant());
        assert_eq!((sender.credits(), receiver.committed()), (70, 100));
        receiver.on_freed(30);
        sender.on_update(receiver.grant());
        assert_eq!(sender.credits(), 100);
    }

    #[test]
    fn a_period_of_zero_is_refused() {
        let refused = CreditReturn::Periodic(Span::ZERO).validate().unwrap_err().to_string();
        assert!(refused.starts_with("period = 0ps: must be longer than 0ps"), "{refused}");
        assert_eq!(CreditReturn::AtOnce.validate(), Ok(()));
    }
}
