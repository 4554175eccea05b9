//! Entropies: by which way each packet of a sender goes.
//!
//! Switches choose a way by a hash of flow and entropy: a sender spreads its packets by giving them different ones, and learns from what comes
//! back which ways are good. The Ultra Ethernet Specification 1.0 (section 3.6, load balancing) leaves the choice to senders; UED (arXiv
//! 2508.08906) names oblivious spraying, bitmaps and REPS. Here they are as in the Consortium's simulator, `ultraethernet/uet-htsim` at
//! 40ccb05, `uec_mp.cpp`.
//!
//! | kind | next | learns from |
//! |---|---|---|
//! | oblivious | each entropy once per turn | nothing |
//! | bitmap | the same, without those that have a score | marks +1, trims +4, timeouts +15 |
//! | reps | the oldest of 8 that came back unmarked; else random | what is unmarked; timeouts freeze it |
//! | reps-list | the oldest of all that came back unmarked; else random | what is unmarked |
//! | mixed | the oldest of that list, else bitmap's | both |
//!
//! Known deviations: entropies have 10 bits, all of which are the choice (there, the bits above the number of ways are those of the flow); the
//! list has a fixed length, beyond which good entropies are forgotten; a timeout counts for the entropy of the packet (there, for entropy 0).
mod list;
mod reps;
mod walk;

use self::list::List;
use self::reps::Reps;
use self::walk::Walk;

/// Most entropies: those of the 10 bits of a frame.
pub const MOST_ENTROPIES: u32 = 1 << 10;
/// Places in the list of those that came back unmarked: all that are under way over 1.5 BDP at 400 Gbps and 8 µs (UE: 64 to 256).
pub const LISTED: usize = 256;

/// How a sender chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum SpreadKind {
    /// Each entropy once per turn.
    Oblivious,
    /// The same, without those that brought marks, trims or timeouts of late.
    Bitmap,
    /// Eight that came back unmarked, in turn; timeouts freeze them (REPS).
    Reps,
    /// All that came back unmarked, each once.
    RepsList,
    /// The same, and if there is none as `bitmap`.
    Mixed,
}

impl SpreadKind {
    /// Whether it keeps scores.
    #[must_use]
    pub const fn scores(self) -> bool {
        matches!(self, Self::Bitmap | Self::Mixed)
    }

    /// Whether it keeps a list.
    #[must_use]
    pub const fn lists(self) -> bool {
        matches!(self, Self::RepsList | Self::Mixed)
    }
}

/// How a sender chooses, and among how many: a power of two, at most [`MOST_ENTROPIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadConfig {
    /// How.
    pub kind: SpreadKind,
    /// Among how many.
    pub entropies: u16,
}

/// What came back of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// An ACK without a mark.
    Good,
    /// An ACK with a mark.
    Marked,
    /// A NACK: it was trimmed.
    Trimmed,
    /// Nothing.
    Lost,
}

/// What of a sender's choice stands with the caller: as many scores as there are entropies, and [`LISTED`] places, or none where its kind does
/// without.
#[derive(Debug)]
pub struct Room<'a> {
    /// Scores by entropy.
    pub scores: &'a mut [u8],
    /// Places of the list.
    pub list: &'a mut [u16],
}

/// The choice of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Spread {
    walk: Walk,
    list: List,
    reps: Reps,
}

impl Spread {
    /// Begins anywhere: `draw` is a random number.
    #[must_use]
    pub fn new(config: &SpreadConfig, draw: u32) -> Self {
        Self { walk: Walk::new(*config, draw), list: List::default(), reps: Reps::default() }
    }

    /// The entropy of the packet that leaves, number `psn`, with a window of `window` packets. `random` gives random numbers.
    #[inline]
    pub fn next(
        &mut self,
        config: &SpreadConfig,
        (psn, window): (u32, u32),
        room: &mut Room<'_>,
        random: impl FnMut() -> u32,
    ) -> u16 {
        match config.kind {
            SpreadKind::Oblivious => self.walk.step(*config, random),
            SpreadKind::Bitmap => self.walk.step_by(*config, room.scores, random),
            SpreadKind::Reps => self.reps.next(*config, random),
            SpreadKind::RepsList => {
                self.list.next(*config, psn < window.min(config.entropies.into()), room.list, random)
            }
            SpreadKind::Mixed => match self.list.take(room.list) {
                Some(entropy) => entropy,
                None => self.walk.step_by(*config, room.scores, random),
            },
        }
    }

    /// What came back of an entropy.
    #[inline]
    pub fn heard(
        &mut self,
        config: &SpreadConfig,
        feedback: Feedback,
        entropy: u16,
        now: u64,
        room: &mut Room<'_>,
    ) {
        if config.kind.scores() {
            walk::score(room.scores, entropy, feedback);
        }
        if config.kind.lists() && feedback == Feedback::Good {
            self.list.put(entropy, room.list);
        }
        if config.kind == SpreadKind::Reps {
            self.reps.heard(feedback, entropy, now);
        }
    }
}
