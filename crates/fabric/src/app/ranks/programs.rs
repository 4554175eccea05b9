//! What all hosts know of the programs.
use backwater_traffic::Pacing;
use backwater_traffic::program::{Costs, Op};

use crate::packet::{LAST, Packet};
use crate::world::World;

impl World {
    /// What a rank's calls cost.
    pub(crate) fn costs(&self, rank: u32) -> &Costs {
        &self.programs.costs[usize::from(self.programs.ranks[rank as usize].costs)]
    }

    /// An op of a rank.
    pub(crate) fn op(&self, rank: u32, op: u32) -> &Op {
        &self.programs.ranks[rank as usize].ops[op as usize]
    }

    /// A data packet's number in its flow, for the record. The last packet of a message between ranks carries something else in its
    /// place: `u32::MAX`.
    pub(crate) fn number(&self, packet: &Packet) -> u32 {
        let tells = packet.seq & LAST != 0 && self.flows[packet.flow as usize].pacing == Pacing::Messages;
        if tells { u32::MAX } else { packet.number() }
    }

    /// Whether two ranks are at one host.
    pub(crate) fn same_host(&self, one: u32, other: u32) -> bool {
        self.programs.ranks[one as usize].host == self.programs.ranks[other as usize].host
    }
}
