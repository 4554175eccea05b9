//! Switch side: which flow goes to the congested-flow queue?
//!
//! Schemes that hold queues upstream instead of classes stand beside it: [`bfc`], [`dst_pfc`], [`pyrrha`], [`recn`]; one with windows between
//! switches: [`floodgate`]; and one that pauses sources: [`sfc`].
//!
//! Congestion isolation keeps the packets of congesting flows in a queue of their own (CFQ), so that those of all others (in the
//! NFQ) need not wait behind them. The table of a switch says which flows ([`Cft`]); [`Isolation`] holds the rules by which an
//! entry is made ([`Isolation::is_root`]), notified upstream ([`Isolation::notifies`]) and, in ICI+, marked.
//!
//! | what happens | ask |
//! |---|---|
//! | a packet entered an egress NFQ of at least [`Isolation::detects_at`] bytes | [`Isolation::is_root`], then [`Cft::allocate`] |
//! | a CIM arrived | [`Cft::allocate`] |
//! | where to store a packet; what is at the head of an NFQ | [`Cft::find`], [`Cft::mirror`] |
//! | a packet was stored in the CFQ of its ingress port | [`Slot::entered`], [`Isolation::notifies`] |
//! | a packet entered the CFQ of its egress port | [`Isolation::marks_isolated`] |
//! | a packet entered the NFQ of its egress port | [`Isolation::marks_monitored`] |
//! | a packet left the CFQs | [`Slot::left`] |
//! | the timer of an entry, first due at [`Cft::next_look`] | [`Cft::expiry`] |
use backwater_units::{Bytes, Span, Time};

use crate::ConfigError;
use crate::error::require;

pub mod bfc;
mod cft;
mod ci;
mod cim;
pub mod dst_pfc;
mod fits;
pub mod floodgate;
mod history;
mod ici;
pub mod pyrrha;
pub mod recn;
#[cfg(feature = "config")]
pub mod settings;
pub mod sfc;
mod slot;
mod upstream;

pub use cft::{Allocation, Cft, Claim, Expiry};
pub use ci::CiConfig;
pub use cim::{CimFacts, CimState, NotifyConfig};
pub use fits::Surroundings;
pub use ici::{Context, IciConfig, IciMarking, MarkFacts};
#[cfg(feature = "config")]
pub use settings::{
    Apart, BfcParams, DrbcmParams, DstPfcParams, FloodgateParams, IsolationKind, IsolationSettings,
    PyrrhaParams, QueueOrder, RecnParams, SfcParams,
};
pub use slot::{Origin, Slot};
pub use upstream::Upstream;

/// What a flow is recognised by: a number that the caller makes of its tuple, its destination or its root.
pub type Key = u64;

/// What the packets of one entry of the congested-flow table (CFT) have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum KeyKind {
    /// Source and destination.
    Pair,
    /// The queue pair: one message, or one connection.
    Flow,
    /// The destination.
    Destination,
    /// The egress port that is the root of the congestion: all flows that pass it. Needs one path to each destination.
    Root,
}

/// What CI and ICI have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Common {
    /// `T_DET`: an egress NFQ is long from this many bytes on, the packet that enters included.
    pub detect: Bytes,
    /// `T_RES`: least time between the last packet of an entry and its release.
    pub residency: Span,
    /// When CIMs are sent.
    pub notify: NotifyConfig,
    /// Early hint: half of `T_DET` suffices for a packet that leaves an ingress NFQ of at least this many bytes in which its
    /// destination has its share: half of them in CI, that of the egress port in ICI.
    pub early: Option<Bytes>,
}

/// The rules of isolation, with their parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Isolation {
    /// Congestion isolation as it was.
    Ci(CiConfig),
    /// Improved congestion isolation (ICI), or with marks ICI+.
    Ici(IciConfig),
}

/// A packet has entered the NFQ of an egress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootFacts {
    /// The packet's.
    pub key: Key,
    /// Bytes in that NFQ, with the packet.
    pub queue: u64,
    /// Those to the packet's destination, with the packet.
    pub of_destination: u64,
    /// Whether the port is paused in the monitored class.
    pub gate_closed: bool,
    /// When the port last got a PAUSE or RESUME, of whatever class.
    pub last_pfc: Option<Time>,
    /// Bytes in the NFQ of the ingress port the packet came from, with the packet. Read only with an early hint.
    pub ingress: u64,
    /// Those to the packet's destination, with the packet. Read only with an early hint.
    pub ingress_of_destination: u64,
    /// When.
    pub now: Time,
}

impl Isolation {
    /// What both kinds have.
    #[inline]
    pub const fn common(&self) -> &Common {
        match self {
            Self::Ci(ci) => &ci.common,
            Self::Ici(ici) => &ici.common,
        }
    }

    /// Below this many bytes in the NFQ nobody need ask [`Self::is_root`].
    #[inline]
    pub const fn detects_at(&self) -> u64 {
        let common = self.common();
        if common.early.is_some() { common.detect.get() / 2 } else { common.detect.get() }
    }

    /// Whether the packet that entered an egress NFQ belongs to a flow that is to be isolated, this port being its root.
    #[inline]
    pub fn is_root(&self, cft: &Cft, facts: &RootFacts) -> bool {
        if facts.queue < self.common().detect.get() && !self.is_hinted(facts) {
            return false;
        }
        match self {
            Self::Ci(_) => true,
            Self::Ici(ici) => ici.qualifies(cft, facts),
        }
    }

    /// Whether a CIM goes upstream by the ingress port of a packet; if so, it is booked in `cim`, which belongs to the entry and
    /// that port and begins anew with the entry.
    #[inline]
    pub fn notifies(&self, cim: &mut CimState, facts: &CimFacts) -> bool {
        self.common().notify.notifies(cim, facts)
    }

    /// Whether [`Self::marks_isolated`] or [`Self::marks_monitored`] can be true at all: ICI+.
    #[inline]
    pub const fn marks(&self) -> bool {
        matches!(self, Self::Ici(IciConfig { marking: Some(_), .. }))
    }

    /// Whether a packet that enters an egress CFQ is marked. `random` gives 32 uniform bits; it is called at most once.
    #[inline]
    pub fn marks_isolated(
        &self,
        cft: &Cft,
        slot: &mut Slot,
        facts: &MarkFacts,
        random: impl FnOnce() -> u32,
    ) -> bool {
        match self {
            Self::Ci(_) => false,
            Self::Ici(ici) => ici.marks_isolated(cft, slot, facts, random),
        }
    }

    /// Whether a packet that enters an egress NFQ, and has no entry, is marked; `any_gate_closed`: the port is paused in any
    /// class. `random` gives 32 uniform bits; it is called at most once.
    #[inline]
    pub fn marks_monitored(
        &self,
        cft: &Cft,
        facts: &RootFacts,
        any_gate_closed: bool,
        random: impl FnOnce() -> u32,
    ) -> bool {
        match self {
            Self::Ci(_) => false,
            Self::Ici(ici) => ici.marks_monitored(cft, facts, any_gate_closed, random),
        }
    }

    /// What ICI+ holds an entry to be; always managed in CI and ICI.
    pub fn context(&self, cft: &Cft, slot: &Slot, now: Time) -> Context {
        match self {
            Self::Ci(_) => Context::Managed,
            Self::Ici(ici) => ici.context(cft, slot, now),
        }
    }

    /// Whether an entry needs a slot of its own at each ingress port.
    #[inline]
    pub const fn mirrors(&self) -> bool {
        matches!(self, Self::Ci(_))
    }

    pub(crate) const fn history(&self) -> Option<Span> {
        match self {
            Self::Ci(_) => None,
            Self::Ici(ici) => ici.history,
        }
    }

    /// Whether the ingress port already shows what the egress port is about to.
    fn is_hinted(&self, facts: &RootFacts) -> bool {
        let Common { detect, early: Some(level), .. } = *self.common() else { return false };
        let share_ppm = match self {
            Self::Ci(_) => 500_000,
            Self::Ici(ici) => ici.share_ppm,
        };
        facts.queue >= detect.get() / 2
            && facts.ingress >= level.get()
            && has_share(facts.ingress_of_destination, facts.ingress, share_ppm)
    }

    /// Refuses parameters outside the ranges in which the algorithm is defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.common().validate()?;
        match self {
            Self::Ci(_) => Ok(()),
            Self::Ici(ici) => ici.validate(),
        }
    }
}

/// Whether `part` is at least so many millionths of `whole`, exactly.
const fn has_share(part: u64, whole: u64, share_ppm: u32) -> bool {
    part as u128 * 1_000_000 >= share_ppm as u128 * whole as u128
}

impl Common {
    fn validate(&self) -> Result<(), ConfigError> {
        require(self.detect > Bytes::new(0), "detect", self.detect, "above 0B", "48KiB is the default")?;
        require(
            self.residency > Span::ZERO,
            "residency",
            self.residency,
            "longer than 0ps",
            "10us is the default",
        )?;
        require(
            self.early != Some(Bytes::new(0)),
            "early",
            Bytes::new(0),
            "above 0B, or left out",
            "44KiB is usual; leave it out for no early hint",
        )?;
        self.notify.validate()
    }
}
