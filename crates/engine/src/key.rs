//! The order of events inside one node: (time, class, rank of the local port). Nothing else ever decides.

use crate::stream::mix;
use borsh::{BorshDeserialize, BorshSerialize};

/// What kind of event; the order of the variants is the order at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A port that was busy may transmit again.
    Wake = 0,
    /// A flow-control frame (PAUSE, RESUME, credits) takes effect.
    FlowControl = 1,
    /// Any other frame arrives.
    Arrival = 2,
    /// A deadline of the node's own.
    Timer = 3,
}

/// Position of an event among those of its node. Unique by construction: a link direction carries one frame at a
/// time, a port has one pending wake, a timer has one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct Key {
    /// Picoseconds since the start of the run.
    pub time: u64,
    /// Class and rank of the port; compare only.
    pub order: u16,
}

impl Key {
    /// After everything.
    pub const NEVER: Self = Self { time: u64::MAX, order: u16::MAX };
    /// Bits of [`Key::order`].
    pub(crate) const ORDER_BITS: u32 = 12;

    /// The key of an event of `class` at a port (or timer) of rank `rank` (< 1024).
    #[inline]
    pub const fn new(time: u64, class: Class, rank: u16) -> Self {
        debug_assert!(rank < Ties::RANKS);
        Self { time, order: (class as u16) << 10 | rank }
    }

    /// The class.
    #[inline]
    pub const fn class(self) -> Class {
        match self.order >> 10 {
            0 => Class::Wake,
            1 => Class::FlowControl,
            2 => Class::Arrival,
            _ => Class::Timer,
        }
    }

    /// The rank of the port.
    #[inline]
    pub const fn rank(self) -> u16 {
        self.order & (Ties::RANKS - 1)
    }
}

/// Who goes first when two ports of a node have an event of one class at the same picosecond: a permutation of
/// the ports drawn from the run's seed and the node, so that no port is favoured in every run.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub struct Ties {
    odd: u16,
    inverse: u16,
    offset: u16,
}

impl Ties {
    /// Ports (and ranks) a node may have.
    pub const RANKS: u16 = 1024;
    /// In the order of their numbers.
    pub const NUMBERED: Self = Self { odd: 1, inverse: 1, offset: 0 };

    /// The permutation of `node` in the run with `seed`.
    pub const fn new(seed: u64, node: u32) -> Self {
        let bits = mix(seed, 0x7135, node as u64);
        let odd = (bits as u16 & (Self::RANKS - 1)) | 1;
        // Newton's iteration for the inverse of an odd number modulo 2^16.
        let mut inverse = odd;
        let mut i = 0;
        while i < 4 {
            inverse = inverse.wrapping_mul(2u16.wrapping_sub(odd.wrapping_mul(inverse)));
            i += 1;
        }
        Self { odd, inverse, offset: (bits >> 32) as u16 & (Self::RANKS - 1) }
    }

    /// The rank of `port` (< 1024).
    #[inline]
    pub const fn rank(self, port: u16) -> u16 {
        port.wrapping_mul(self.odd).wrapping_add(self.offset) & (Self::RANKS - 1)
    }

    /// The port of `rank`.
    #[inline]
    pub const fn port(self, rank: u16) -> u16 {
        rank.wrapping_sub(self.offset).wrapping_mul(self.inverse) & (Self::RANKS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_a_permutation_of_the_ports() {
        for seed in 0..20 {
            let ties = Ties::new(seed, 7);
            let mut seen = vec![false; 1024];
            for port in 0..1024 {
                let rank = ties.rank(port);
                assert!(!std::mem::replace(&mut seen[rank as usize], true));
                assert_eq!(ties.port(rank), port);
            }
        }
    }

    #[test]
    fn at_one_instant_a_wake_goes_before_flow_control_before_an_arrival_before_a_timer() {
        let at = |class, rank| Key::new(5, class, rank);
        assert!(at(Class::Wake, 1023) < at(Class::FlowControl, 0));
        assert!(at(Class::FlowControl, 1023) < at(Class::Arrival, 0));
        assert!(at(Class::Arrival, 1023) < at(Class::Timer, 0));
        assert!(at(Class::Timer, 1023) < Key::new(6, Class::Wake, 0));
        assert_eq!(at(Class::Arrival, 77).rank(), 77);
        assert_eq!(at(Class::Arrival, 77).class(), Class::Arrival);
    }
}
