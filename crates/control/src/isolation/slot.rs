//! An entry of the congested-flow table, and what moves its packet counter. The table itself is in `cft.rs`.
use backwater_units::Time;

use super::Key;

/// Who made an entry. The first cause stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "snapshot", borsh(use_discriminant = true))]
#[repr(u8)]
pub enum Origin {
    /// This switch: the egress port is a root of congestion.
    #[default]
    Local = 0,
    /// A CIM of the next switch: the root is further down.
    Cim = 1,
}

/// One entry of the table, or room for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Slot {
    pub(super) key: Key,
    pub(super) first: Time,
    pub(super) last: Time,
    /// ICI+ marks no packet of this entry before.
    pub(super) quiet_until: Time,
    /// CI: ingress ports at which it has a mirror.
    pub(super) mirrors: [u64; 2],
    pub(super) in_cfq: u32,
    pub(super) root: u32,
    /// The next of the chain, or the next free one; counted from 1, 0: none.
    pub(super) next: u32,
    pub(super) egress: u16,
    pub(super) origin: Origin,
    pub(super) live: bool,
}

impl Slot {
    /// Ingress ports that can have a mirror.
    pub const PORTS: u16 = 128;

    /// Whether there is an entry.
    #[inline]
    pub const fn is_live(&self) -> bool {
        self.live
    }
    /// Whose packets are isolated.
    #[inline]
    pub const fn key(&self) -> Key {
        self.key
    }
    /// The egress port its packets leave by.
    #[inline]
    pub const fn egress(&self) -> u16 {
        self.egress
    }
    /// The port that is the root of the congestion, in the caller's numbers. That of a CIM is inherited.
    #[inline]
    pub const fn root(&self) -> u32 {
        self.root
    }
    /// Who made it.
    #[inline]
    pub const fn origin(&self) -> Origin {
        self.origin
    }
    /// Its packets in all CFQs of the switch.
    #[inline]
    pub const fn in_cfq(&self) -> u32 {
        self.in_cfq
    }
    /// Since when the flow counts as congesting.
    #[inline]
    pub const fn first(&self) -> Time {
        self.first
    }
    /// When a packet last entered or left a CFQ, or the entry was made.
    #[inline]
    pub const fn last(&self) -> Time {
        self.last
    }
    /// Slots it takes.
    #[inline]
    pub const fn cost(&self) -> u32 {
        1 + self.mirrors[0].count_ones() + self.mirrors[1].count_ones()
    }

    /// A packet of the entry went into a CFQ of this switch. From CFQ to CFQ it does not count again.
    #[inline]
    pub const fn entered(&mut self, now: Time) {
        self.in_cfq += 1;
        self.last = now;
    }

    /// A packet of the entry left the CFQs of this switch: it is sent, or follows older ones into an NFQ.
    #[inline]
    pub const fn left(&mut self, now: Time) {
        self.in_cfq -= 1;
        self.last = now;
    }

    pub(super) const fn has_mirror(&self, ingress: u16) -> bool {
        self.mirrors[(ingress >> 6) as usize] & (1 << (ingress & 63)) != 0
    }

    pub(super) const fn add_mirror(&mut self, ingress: u16) {
        self.mirrors[(ingress >> 6) as usize] |= 1 << (ingress & 63);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_fills_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 64);
    }

    #[test]
    fn mirrors_at_any_of_128_ports_cost_a_slot_each() {
        let mut slot = Slot::default();
        for ingress in [0, 63, 64, 127] {
            assert!(!slot.has_mirror(ingress));
            slot.add_mirror(ingress);
            assert!(slot.has_mirror(ingress));
        }
        assert_eq!(slot.cost(), 5);
    }
}
