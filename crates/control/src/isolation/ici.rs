//! ICI, improved congestion isolation, and ICI+, in which it guides the marks of DCQCN.
//!
//! Reference: ICI paper (arXiv 2511.04639), section 3 and what sections 1 and 4 say of its effects. The paper gives no
//! algorithm; this one is reconstructed from those statements.
//!
//! ```text
//!   qualification (ICI): is egress port e a root, and is the packet one of those to blame?
//!     gate of e closed, or PAUSE/RESUME within T_GUARD ─▶ no: a port that is held back says nothing
//!     bytes to the packet's destination in the NFQ of e  ≥ max(Q_MIN, share · NFQ) ─▶ yes
//!
//!   decision engine (ICI+)
//!   ┌─────────┐ a claim is refused  ┌──────────┐   isolated packet at its root: RED(CFQ; K1), once per T_MARK and entry
//!   │ MANAGED ├────────────────────▶│ OVERFLOW │   packet without an entry that qualifies: RED(NFQ; K)
//!   │ no mark │◀────────────────────┤          │
//!   └────┬────┘ T_OFF without one   └──────────┘
//!        │ entry made here is older than T_PERSIST  ┌─────────┐
//!        └─────────────────────────────────────────▶│ PERSIST │ its packets: RED(CFQ; K1), once per T_MARK
//!                                                   └─────────┘
//!   everybody else, and whoever waits at a closed gate: never marked
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `T_DET` | B | 48 KiB: 12 packets | reconstructed |
//! | `T_RES` | ps | 10 µs | reconstructed |
//! | `T_GUARD` | ps | 7.86432 µs: twice `T_DET` at 100 Gbps | reconstructed |
//! | `Q_MIN` | B | 8 KiB: 2 packets | reconstructed |
//! | share | 1 | 0.5 | reconstructed |
//! | `T_HIST` | ps | off | reconstructed; see `history.rs` |
//! | `T_OFF` | ps | 20 µs | reconstructed |
//! | `T_PERSIST` | ps | 2 ms | reconstructed: longer than the 1 ms tree of the paper's section 4.3, which isolation manages alone |
//! | `T_MARK` | ps | 50 µs | reconstructed: the CNP interval of DCQCN (SIGCOMM 2015); more marks would give no more BECNs |
//! | K1 | B | 32 KiB, 96 KiB, 1.0: 8 and 24 packets | reconstructed; the paper says "context-aware thresholds" |
//! | K | B | 40 KiB, 160 KiB, 0.2: 10 and 40 packets | reconstructed |
//!
//! Known deviations: none known, as the text leaves open how ICI does it. Entries of one destination are not merged.
use backwater_units::{Bytes, Span, Time};

use super::cft::Cft;
use super::slot::{Origin, Slot};
use super::{CiConfig, Common, RootFacts, has_share};
use crate::ConfigError;
use crate::detector::{CongestionPoint as _, Red};
use crate::error::require;

/// Parameters of ICI, and of ICI+ with [`IciMarking`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct IciConfig {
    /// What CI has too.
    pub common: Common,
    /// `T_GUARD`: a port is no root so long after a PAUSE or RESUME.
    pub guard: Span,
    /// `Q_MIN`: bytes of a destination that count as few.
    pub quorum: Bytes,
    /// Part of the queue that a destination must have to be to blame, in millionths.
    pub share_ppm: u32,
    /// `T_HIST`: how long a released entry is remembered.
    pub history: Option<Span>,
    /// ICI+; `None`: ICI, which marks nothing.
    pub marking: Option<IciMarking>,
}

/// Parameters of the decision engine of ICI+.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct IciMarking {
    /// `T_OFF`: so long after a refused claim the table counts as too small.
    pub overflow: Span,
    /// `T_PERSIST`: an entry older than this is more than isolation alone can end.
    pub persist: Span,
    /// `T_MARK`: between two marks of an entry.
    pub gap: Span,
    /// K1: the ramp over the egress CFQ.
    pub congested: Red,
    /// K: the ramp over the egress NFQ.
    pub monitored: Red,
}

/// What ICI+ holds an entry to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Isolation suffices: no mark.
    Managed,
    /// The table was too small a short while ago.
    Overflow,
    /// The table suffices, but the entry is old.
    Persist,
}

/// An isolated packet enters the CFQ of its egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkFacts {
    /// Bytes in the CFQ of the egress port, with the packet.
    pub queue: u64,
    /// Whether that port is paused in the congested class.
    pub gate_closed: bool,
    /// When.
    pub now: Time,
}

impl IciMarking {
    /// 20 µs, 2 ms, 50 µs; 8 to 24 packets for sure, 10 to 40 with 20 % (all reconstructed).
    pub fn standard() -> Self {
        Self {
            overflow: Span::from_us(20),
            persist: Span::from_ms(2),
            gap: Span::from_us(50),
            congested: Red::of(8 * 4096, 24 * 4096, 1.0, 0),
            monitored: Red::of(10 * 4096, 40 * 4096, 0.2, 0),
        }
    }

    fn overflows(&self, cft: &Cft, now: Time) -> bool {
        cft.failed_at().is_some_and(|failed| now.since(failed) < self.overflow)
    }

    fn context(&self, cft: &Cft, slot: &Slot, now: Time) -> Context {
        if self.overflows(cft, now) {
            Context::Overflow
        } else if slot.origin() == Origin::Local && now.since(slot.first()) > self.persist {
            Context::Persist
        } else {
            Context::Managed
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let zero = |span: Span, name, fix| require(span > Span::ZERO, name, span, "longer than 0ps", fix);
        zero(
            self.overflow,
            "ici-plus.overflow",
            "20us is the default; for no marks at all use kind = \"ici\"",
        )?;
        zero(
            self.persist,
            "ici-plus.persist",
            "2ms is the default; it must outlast bursts that isolation absorbs",
        )?;
        let named = |ramp: &Red, kmin, pmax| {
            ramp.validate().map_err(|error| ConfigError {
                parameter: if error.parameter == "pmax" { pmax } else { kmin },
                ..error
            })
        };
        named(&self.congested, "ici-plus.congested.kmin", "ici-plus.congested.pmax")?;
        named(&self.monitored, "ici-plus.monitored.kmin", "ici-plus.monitored.pmax")
    }
}

impl IciConfig {
    /// ICI with the defaults of the table above, without history.
    pub const fn standard() -> Self {
        Self {
            common: CiConfig::standard().common,
            guard: Span::from_ps(7_864_320),
            quorum: Bytes::new(2 * 4096),
            share_ppm: 500_000,
            history: None,
            marking: None,
        }
    }

    /// ICI+ with the defaults of the table above.
    pub fn plus() -> Self {
        Self { marking: Some(IciMarking::standard()), ..Self::standard() }
    }

    /// Whether the port is not held back and was not lately.
    fn is_undisturbed(&self, facts: &RootFacts) -> bool {
        let recent = facts.last_pfc.is_some_and(|event| facts.now.since(event) < self.guard);
        !facts.gate_closed && !recent
    }

    /// Whether the packet's destination makes up enough of the queue.
    fn is_to_blame(&self, facts: &RootFacts) -> bool {
        facts.of_destination >= self.quorum.get()
            && has_share(facts.of_destination, facts.queue, self.share_ppm)
    }

    /// Whether the port is a root and the packet one of those to blame, the length of the queue apart.
    #[inline]
    pub(super) fn qualifies(&self, cft: &Cft, facts: &RootFacts) -> bool {
        let returns = || self.history.is_some() && cft.remembers(facts.key, facts.now);
        self.is_undisturbed(facts) && (self.is_to_blame(facts) || returns())
    }

    #[inline]
    pub(super) fn context(&self, cft: &Cft, slot: &Slot, now: Time) -> Context {
        self.marking.map_or(Context::Managed, |marking| marking.context(cft, slot, now))
    }

    #[inline]
    pub(super) fn marks_isolated(
        &self,
        cft: &Cft,
        slot: &mut Slot,
        facts: &MarkFacts,
        random: impl FnOnce() -> u32,
    ) -> bool {
        let Some(marking) = &self.marking else { return false };
        let may = slot.origin() == Origin::Local && !facts.gate_closed && facts.now >= slot.quiet_until;
        let ramp = &marking.congested;
        let marks = may
            && marking.context(cft, slot, facts.now) != Context::Managed
            && ramp.hits(ramp.counted(facts.queue), random);
        if marks {
            slot.quiet_until = facts.now.saturating_add(marking.gap);
        }
        marks
    }

    #[inline]
    pub(super) fn marks_monitored(
        &self,
        cft: &Cft,
        facts: &RootFacts,
        any_gate_closed: bool,
        random: impl FnOnce() -> u32,
    ) -> bool {
        let Some(marking) = &self.marking else { return false };
        let ramp = &marking.monitored;
        marking.overflows(cft, facts.now)
            && !any_gate_closed
            && facts.queue >= self.common.detect.get()
            && self.is_undisturbed(facts)
            && self.is_to_blame(facts)
            && ramp.hits(ramp.counted(facts.queue), random)
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        require(
            (1..=1_000_000).contains(&self.share_ppm),
            "ici.share",
            f64::from(self.share_ppm) / 1e6,
            "above 0, at most 1",
            "0.5 asks for half of the queue; for no such test use kind = \"ci\"",
        )?;
        require(
            self.history != Some(Span::ZERO),
            "ici.history",
            Span::ZERO,
            "longer than 0ps, or left out",
            "500us is usual; leave it out for no history",
        )?;
        self.marking.as_ref().map_or(Ok(()), IciMarking::validate)
    }
}
