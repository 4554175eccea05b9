//! CFT, the congested-flow table of a switch: which flows are congesting ones, and what that costs.
//!
//! Reference: ICI paper (arXiv 2511.04639), section 2 (entries keyed by a flow's tuple, a live packet counter, release at zero
//! and after a minimum residency) and section 3; IEEE 802.1Qcz (an entry is made by the switch itself or by a CIM).
//!
//! ```text
//!            claim: the egress port is a root (LOCAL), or a CIM came (CIM)
//!   ┌──────┐ slots left   ┌──────────────────────────┐  none of its packets in a CFQ, T_RES since the last one,
//!   │ free ├─────────────▶│ live: packets go to CFQs │  gate of its egress CFQ open
//!   └──▲───┘              └────────────┬─────────────┘
//!      │   no slots: refused           │ (with history: key, root and first instant are kept, see `history.rs`)
//!      └───────────────────────────────┘
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | slots | – | 32 per switch | reconstructed: one tree fits, four do not (ICI paper, section 4.4) |
//! | `T_RES` | ps | 10 µs | reconstructed: the paper says only that there is a minimum residency |
//!
//! | entry | slots in CI | slots in ICI |
//! |---|---|---|
//! | made by the switch itself | 2: egress entry, mirror at the ingress port of the packet | 1 |
//! | made by a CIM | 1 | 1 |
//! | packets at a further ingress port | 1 each: another mirror | 0 |
//!
//! The entries live in a slice of the caller; the place of an entry does not change while it lives. A lookup is one load if the
//! table is empty, else it follows the chain of the entries with the same hash: one of 256.
//!
//! Known deviations: 802.1Qcz keeps both causes of an entry, here the first one counts. A switch has at most 128 ports in CI.
use backwater_units::Time;

use super::history::{Ghost, History};
use super::slot::{Origin, Slot};
use super::{Isolation, Key};

/// Chains of the lookup.
const CHAINS: usize = 256;

/// Somebody wants an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose packets are to be isolated.
    pub key: Key,
    /// The egress port they leave by.
    pub egress: u16,
    /// The root: this switch and egress port, or what the CIM says.
    pub root: u32,
    /// Who asks.
    pub origin: Origin,
    /// The ingress port of the packet that gave cause; none for a CIM.
    pub ingress: Option<u16>,
    /// When.
    pub now: Time,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// There is an entry now, in this slot.
    New(usize),
    /// There was one already, in this slot; nothing changed.
    Known(usize),
    /// No slots left: the flow stays in the NFQs.
    Refused,
    /// The budget has room but the slice has not: append a `Slot::default()` and ask again.
    Grow,
}

/// What became of an entry at a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// It is gone.
    Freed,
    /// It stays; look again then.
    LookAgain(Time),
}

/// The table's books. The entries are in the caller's slice, which always is the same one, and shorter never.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Cft {
    /// The first of each chain, counted from 1; 0: none.
    heads: [u32; CHAINS],
    /// The first free one of the slots that were used before, counted from 1; 0: none.
    free: u32,
    /// Slots that were used before.
    seen: u32,
    used: u32,
    live: u32,
    peak: u32,
    allocations: u64,
    refusals: u64,
    unmirrored: u64,
    failed_at: Option<Time>,
    history: History,
}

impl Default for Cft {
    fn default() -> Self {
        Self::new()
    }
}

/// Fibonacci hashing: the high bits of the product depend on all bits of the key.
const fn chain(key: Key) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}

impl Cft {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            heads: [0; CHAINS],
            free: 0,
            seen: 0,
            used: 0,
            live: 0,
            peak: 0,
            allocations: 0,
            refusals: 0,
            unmirrored: 0,
            failed_at: None,
            history: History::new(),
        }
    }

    /// Slots in use.
    #[inline]
    pub const fn used(&self) -> u32 {
        self.used
    }
    /// Entries.
    #[inline]
    pub const fn live(&self) -> u32 {
        self.live
    }
    /// Most slots ever in use.
    pub const fn peak(&self) -> u32 {
        self.peak
    }
    /// Entries ever made.
    pub const fn allocations(&self) -> u64 {
        self.allocations
    }
    /// Claims ever refused.
    pub const fn refusals(&self) -> u64 {
        self.refusals
    }
    /// CI: how often a packet found no slot for a mirror at its ingress port. It is counted again at every look.
    pub const fn unmirrored(&self) -> u64 {
        self.unmirrored
    }
    /// The latest refusal.
    #[inline]
    pub const fn failed_at(&self) -> Option<Time> {
        self.failed_at
    }

    /// The slot of a key's entry.
    #[inline]
    pub fn find(&self, slots: &[Slot], key: Key) -> Option<usize> {
        if self.live == 0 {
            return None;
        }
        let mut next = self.heads[chain(key)];
        while next != 0 {
            let slot = &slots[next as usize - 1];
            if slot.key == key {
                return Some(next as usize - 1);
            }
            next = slot.next;
        }
        None
    }

    /// Makes an entry for a claim if there is none and its slots are left.
    pub fn allocate(
        &mut self,
        rules: &Isolation,
        slots: &mut [Slot],
        limit: Option<u32>,
        claim: &Claim,
    ) -> Allocation {
        if let Some(index) = self.find(slots, claim.key) {
            return Allocation::Known(index);
        }
        let mirror = claim.ingress.filter(|_| rules.mirrors());
        if !self.has_room(limit, 1 + u32::from(mirror.is_some())) {
            self.refusals += 1;
            self.failed_at = Some(claim.now);
            return Allocation::Refused;
        }
        let Some(index) = self.take_slot(slots) else { return Allocation::Grow };
        let ghost = self.history.take(claim.key, claim.now);
        let slot = &mut slots[index];
        *slot = inherit(claim, ghost);
        if let Some(ingress) = mirror {
            slot.add_mirror(ingress);
        }
        slot.next = core::mem::replace(&mut self.heads[chain(claim.key)], index as u32 + 1);
        self.used += slot.cost();
        self.peak = self.peak.max(self.used);
        self.live += 1;
        self.allocations += 1;
        Allocation::New(index)
    }

    /// Whether a packet of the entry that came in by `ingress` may be isolated there. CI takes a slot for it at the first packet
    /// of each ingress port; ICI needs none.
    #[inline]
    pub fn mirror(&mut self, rules: &Isolation, slot: &mut Slot, ingress: u16, limit: Option<u32>) -> bool {
        if !rules.mirrors() || ingress < Slot::PORTS && slot.has_mirror(ingress) {
            return true;
        }
        if ingress >= Slot::PORTS || !self.has_room(limit, 1) {
            self.unmirrored += 1;
            return false;
        }
        slot.add_mirror(ingress);
        self.used += 1;
        self.peak = self.peak.max(self.used);
        true
    }

    /// Frees the entry if none of its packets is in a CFQ, nothing happened to it for `T_RES` and the gate of its egress CFQ is
    /// open; else says when to look again.
    pub fn expiry(
        &mut self,
        rules: &Isolation,
        slots: &mut [Slot],
        index: usize,
        now: Time,
        gate_closed: bool,
    ) -> Expiry {
        let slot = slots[index];
        if slot.in_cfq > 0 || gate_closed {
            return Expiry::LookAgain(now.saturating_add(rules.common().residency));
        }
        let due = self.next_look(rules, &slot);
        if now < due {
            return Expiry::LookAgain(due);
        }
        if let Some(span) = rules.history() {
            self.history.keep(Ghost::new(&slot, now.saturating_add(span)), now);
        }
        self.unchain(slots, index);
        self.used -= slot.cost();
        self.live -= 1;
        slots[index] = Slot { next: self.free, ..Slot::default() };
        self.free = index as u32 + 1;
        Expiry::Freed
    }

    /// The earliest instant at which the entry can be freed if nothing more happens to it.
    #[inline]
    pub fn next_look(&self, rules: &Isolation, slot: &Slot) -> Time {
        slot.last.saturating_add(rules.common().residency)
    }

    /// Whether the key had an entry not long ago (with history only).
    #[inline]
    pub fn remembers(&self, key: Key, now: Time) -> bool {
        self.history.holds(key, now)
    }

    fn has_room(&self, limit: Option<u32>, cost: u32) -> bool {
        limit.is_none_or(|limit| self.used + cost <= limit)
    }

    /// A free slot of the slice, which is then nobody's.
    fn take_slot(&mut self, slots: &[Slot]) -> Option<usize> {
        if let Some(index) = self.free.checked_sub(1) {
            self.free = slots[index as usize].next;
            return Some(index as usize);
        }
        let index = self.seen as usize;
        (index < slots.len()).then(|| {
            self.seen += 1;
            index
        })
    }

    /// Takes an entry out of its chain.
    fn unchain(&mut self, slots: &mut [Slot], index: usize) {
        let (this, Slot { key, next: after, .. }) = (index as u32 + 1, slots[index]);
        let head = &mut self.heads[chain(key)];
        if *head == this {
            *head = after;
            return;
        }
        let mut at = *head as usize - 1;
        while slots[at].next != this {
            at = slots[at].next as usize - 1;
        }
        slots[at].next = after;
    }
}

/// The entry that a claim makes. What is known of an earlier one stays true: the flow counts as congesting since then, and
/// a root that was found elsewhere does not become this switch's. A CIM names the root anew.
fn inherit(claim: &Claim, ghost: Option<Ghost>) -> Slot {
    let new = Slot {
        key: claim.key,
        first: claim.now,
        last: claim.now,
        root: claim.root,
        egress: claim.egress,
        origin: claim.origin,
        live: true,
        ..Slot::default()
    };
    match (ghost, claim.origin) {
        (None, _) => new,
        (Some(ghost), Origin::Cim) => Slot { first: ghost.first, ..new },
        (Some(ghost), Origin::Local) => {
            Slot { first: ghost.first, root: ghost.root, origin: ghost.origin, ..new }
        }
    }
}
