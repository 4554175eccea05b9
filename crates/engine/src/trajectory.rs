//! The trajectory digest: what happened at each node, in one number.
use borsh::{BorshDeserialize, BorshSerialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// Sum of well-mixed hashes of (time, entity, kind) of the events of one node. A sum, because the order inside a
/// node follows from the times, and a node may work its ports off one after the other within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
#[repr(C)]
pub struct Trajectory {
    sum: u64,
    /// Side by side the two would be added to by vector instructions: five of them for two.
    apart: u64,
    events: u64,
}

impl Trajectory {
    /// Notes one event: when, what it concerns (port, flow, packet number …) and what happened.
    #[inline]
    pub const fn note(&mut self, time: u64, entity: u64, kind: u64) {
        // Multiply-fold of two 64-bit words (the core of wyhash and xxh3).
        let a = time ^ 0xa076_1d64_78bd_642f;
        let b = entity ^ kind.rotate_left(29) ^ 0xe703_7ed1_a0b4_28db;
        let product = (a as u128).wrapping_mul(b as u128);
        self.sum = self.sum.wrapping_add((product >> 64) as u64 ^ product as u64);
        self.events += 1;
    }

    /// The number of events noted.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// One number for the trajectory of the node with this name.
    pub fn of_named(&self, name: &str) -> u64 {
        xxh3_64_with_seed(name.as_bytes(), Self::fold(std::iter::once(self)))
    }

    /// One number for the trajectories of all nodes, given in node order.
    pub fn fold<'a>(nodes: impl Iterator<Item = &'a Self>) -> u64 {
        let mut hash = Xxh3::new();
        for node in nodes {
            hash.update(&node.sum.to_le_bytes());
            hash.update(&node.events.to_le_bytes());
        }
        hash.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(events: &[(u64, u64, u64)]) -> u64 {
        let mut trajectory = Trajectory::default();
        for &(time, entity, kind) in events {
            trajectory.note(time, entity, kind);
        }
        Trajectory::fold([&trajectory].into_iter())
    }

    #[test]
    fn any_difference_in_time_entity_or_kind_shows() {
        let base = digest(&[(1, 2, 3), (4, 5, 6)]);
        assert_ne!(base, digest(&[(1, 2, 3), (4, 5, 7)]));
        assert_ne!(base, digest(&[(1, 2, 3), (4, 6, 6)]));
        assert_ne!(base, digest(&[(1, 2, 3), (5, 5, 6)]));
        assert_ne!(base, digest(&[(1, 2, 3)]));
    }
}
