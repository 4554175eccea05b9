//! CBFC, credit-based flow control: what one virtual lane (VL) of a link may still send, counted in blocks of 64 B.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, §7.9; TCD (SIGCOMM 2021) §2.2 and Figure 1.
//!
//! ```text
//!   upstream                                              downstream
//!   FCTBS  blocks sent in all          data ─────────▶    ABR   blocks received in all
//!                                      FCTBS ────────▶          := FCTBS (resynchronised)
//!   FCCL   blocks that may be sent  ◀───────── FCCL       FCCL = ABR + free blocks of the VL's buffer
//!   a packet starts if FCCL − FCTBS ≥ its blocks          an update every Tc, or after every packet that left
//! ```
//! An update carries both numbers: the sender's FCTBS for the direction in which it flows, and the FCCL of the other one.
//! As both count from the start of the link, a lost update is made up for by the next; and a lost packet, which ABR would
//! miss for ever, by the FCTBS that follows it. While nothing is lost, FCCL is the buffer plus what was freed in all: arrivals
//! do not change it, and an update tells exactly what has become free since the one before.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | block | B | 64 | InfiniBand specification |
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

/// The unit of credit.
pub const BLOCK: Bytes = Bytes::new(64);

/// Blocks that a packet of so many bytes takes.
#[inline]
pub const fn blocks(bytes: u32) -> u32 {
    bytes.div_ceil(BLOCK.get() as u32)
}

/// When the downstream side tells what has become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub struct CreditSender {
    fctbs: u32,
    fccl: u32,
}

impl CreditSender {
    /// After link initialisation: all `blocks` of the buffer downstream are free.
    pub const fn new(blocks: u32) -> Self {
        Self { fctbs: 0, fccl: blocks }
    }

    /// FCTBS, blocks sent in all, modulo 2³².
    #[inline]
    pub const fn fctbs(&self) -> u32 {
        self.fctbs
    }

    /// FCCL, blocks that may have been sent in all, modulo 2³².
    #[inline]
    pub const fn fccl(&self) -> u32 {
        self.fccl
    }

    /// Blocks that may be sent now. As in the specification the two counters are compared within half of their range, so
    /// that an FCCL behind FCTBS is no credit.
    #[inline]
    pub const fn credits(&self) -> u32 {
        let ahead = self.fccl.wrapping_sub(self.fctbs).cast_signed();
        if ahead < 0 { 0 } else { ahead.cast_unsigned() }
    }

    /// Whether a packet of so many bytes may start.
    #[inline]
    pub const fn fits(&self, bytes: u32) -> bool {
        self.credits() >= blocks(bytes)
    }

    /// A packet that [`Self::fits`] starts.
    #[inline]
    pub const fn on_sent(&mut self, bytes: u32) {
        self.fctbs = self.fctbs.wrapping_add(blocks(bytes));
    }

    /// An update arrived that carries `fccl`.
    #[inline]
    pub const fn on_update(&mut self, fccl: u32) {
        self.fccl = fccl;
    }
}

/// The registers of the downstream side of one VL, and what its buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditReceiver {
    abr: u32,
    held: u32,
    buffer: u32,
    granted: u32,
}

impl CreditReceiver {
    /// An empty buffer of so many blocks.
    pub const fn new(blocks: u32) -> Self {
        Self { abr: 0, held: 0, buffer: blocks, granted: blocks }
    }

    /// ABR, blocks received in all, modulo 2³².
    #[inline]
    pub const fn abr(&self) -> u32 {
        self.abr
    }

    /// Blocks in the buffer.
    #[inline]
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// The buffer in blocks.
    #[inline]
    pub const fn buffer(&self) -> u32 {
        self.buffer
    }

    /// The FCCL of the latest update.
    #[inline]
    pub const fn granted(&self) -> u32 {
        self.granted
    }

    /// A packet arrived (under cut-through: its header, and its room is taken); false if the buffer had no room for it, which a
    /// correct upstream side never lets happen.
    #[inline]
    pub const fn on_arrival(&mut self, bytes: u32) -> bool {
        self.abr = self.abr.wrapping_add(blocks(bytes));
        self.held += blocks(bytes);
        self.held <= self.buffer
    }

    /// The last byte of a packet has left the buffer.
    #[inline]
    pub const fn on_freed(&mut self, bytes: u32) {
        self.held -= blocks(bytes);
    }

    /// An update of the upstream side arrived: what it has sent in all has arrived before it, or is lost.
    #[inline]
    pub const fn resynchronise(&mut self, fctbs: u32) {
        self.abr = fctbs;
    }

    /// FCCL, as an update would tell it now.
    #[inline]
    pub const fn fccl(&self) -> u32 {
        self.abr.wrapping_add(self.buffer.saturating_sub(self.held))
    }

    /// The same; remembers that it was told.
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
    fn a_packet_takes_whole_blocks_of_64_bytes() {
        assert_eq!([0, 1, 64, 65, 2048].map(blocks), [0, 1, 1, 2, 32]);
    }

    #[test]
    fn an_fccl_behind_fctbs_is_no_credit() {
        let mut sender = CreditSender::new(4);
        sender.on_sent(4 * 64);
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
    fn a_period_of_zero_is_refused() {
        let refused = CreditReturn::Periodic(Span::ZERO).validate().unwrap_err().to_string();
        assert!(refused.starts_with("period = 0ps: must be longer than 0ps"), "{refused}");
        assert_eq!(CreditReturn::AtOnce.validate(), Ok(()));
    }
}
