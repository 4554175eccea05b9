//! What became of the ranks, when a run is over.
use backwater_units::{Bytes, Span, Time};

use super::Ranks;
use super::state::Doing;
use crate::record::RankRecord;
use crate::world::World;

impl Ranks {
    /// One record for each, as of `now`.
    pub(crate) fn outcome(&self, node: u32, now: u64, world: &World) -> impl Iterator<Item = RankRecord> {
        self.own.iter().map(move |own| {
            let rank = &world.programs.ranks[own.id as usize];
            let (finish, open) = match own.doing {
                Doing::Ended(at) => (Some(Time::from_ps(at)), 0),
                Doing::Waiting(since) => (None, now - since),
                Doing::Busy => (None, 0),
            };
            RankRecord {
                rank: own.id,
                node,
                group: rank.group,
                number: rank.number,
                role: rank.role,
                finish,
                sent_messages: own.sent_messages,
                sent_bytes: Bytes::new(own.sent_bytes),
                received_messages: own.received_messages,
                received_bytes: Bytes::new(own.received_bytes),
                waited: Span::from_ps(own.waited + open),
                unexpected: own.matching.unexpected() as u32,
            }
        })
    }
}
