//! Ghosts: what a switch keeps of an entry of its CFT after its release, so that a flow that returns is not news.
//!
//! Reference: ICI paper (arXiv 2511.04639), section 2: "once a flow's tuple is removed, all historical linkage to the previous
//! congestion event is lost", and a returning flow is blamed on the local switch. The cure is reconstructed.
//!
//! ```text
//!   entry released ─▶ ghost: key, root, first instant ─┬─ claimed again within T_HIST ─▶ entry with that root and first instant
//!                                                      └─ T_HIST over, or 64 younger ones ─▶ forgotten
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `T_HIST` | ps | 0: off; 500 µs where it is on | reconstructed |
//! | ghosts | – | 64 per switch | reconstructed: twice the slots of the table |
//!
//! Ghosts take no slots: nothing is isolated by them. Known deviations: none, as the paper has no history.
use backwater_units::Time;

use super::Key;
use super::slot::{Origin, Slot};

/// Ghosts a switch keeps.
const GHOSTS: usize = 64;

/// What is kept of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct Ghost {
    key: Key,
    /// Forgotten from then on. The beginning of time: no ghost.
    until: Time,
    pub(super) first: Time,
    pub(super) root: u32,
    pub(super) origin: Origin,
}

impl Ghost {
    const NONE: Self = Self { key: 0, until: Time::ZERO, first: Time::ZERO, root: 0, origin: Origin::Local };

    pub(super) const fn new(slot: &Slot, until: Time) -> Self {
        Self { key: slot.key(), until, first: slot.first(), root: slot.root(), origin: slot.origin() }
    }
}

/// The ghosts of a switch.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct History {
    ghosts: [Ghost; GHOSTS],
    /// Places that were ever used.
    seen: u8,
}

impl History {
    pub(super) const fn new() -> Self {
        Self { ghosts: [Ghost::NONE; GHOSTS], seen: 0 }
    }

    fn position(&self, key: Key, now: Time) -> Option<usize> {
        let kept = &self.ghosts[..usize::from(self.seen)];
        kept.iter().position(|ghost| ghost.key == key && now < ghost.until)
    }

    pub(super) fn holds(&self, key: Key, now: Time) -> bool {
        self.position(key, now).is_some()
    }

    /// Hands out the ghost of a key, which is gone then.
    pub(super) fn take(&mut self, key: Key, now: Time) -> Option<Ghost> {
        let at = self.position(key, now)?;
        Some(core::mem::replace(&mut self.ghosts[at], Ghost::NONE))
    }

    /// Keeps a ghost, instead of one that is forgotten anyway or else of the oldest.
    pub(super) fn keep(&mut self, ghost: Ghost, now: Time) {
        let seen = usize::from(self.seen);
        let kept = self.ghosts[..seen].iter().enumerate();
        let oldest = kept.min_by_key(|(_, ghost)| ghost.until).map(|(at, ghost)| (at, ghost.until));
        let at = match oldest {
            Some((at, until)) if until <= now || seen == GHOSTS => at,
            _ => {
                self.seen += 1;
                seen
            }
        };
        self.ghosts[at] = ghost;
    }
}
