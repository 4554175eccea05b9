//! Which requests of a program nothing waits for.
use std::collections::BTreeMap;

use super::super::{Op, SETS};

/// By set the first op that has posted a request since the last wait for it; of set [`SETS`]: puts and gets since the last flush.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRequests {
    since: BTreeMap<u8, usize>,
}

impl OpenRequests {
    /// The op number `at`.
    pub(super) fn note(&mut self, at: usize, op: Op) {
        match op {
            Op::Isend { set, .. } | Op::Irecv { set, .. } => {
                self.since.entry(set).or_insert(at);
            }
            Op::Put { .. } | Op::Get { .. } => {
                self.since.entry(SETS).or_insert(at);
            }
            Op::Wait { sets } => self.since.retain(|set, _| *set == SETS || sets & 1 << set == 0),
            Op::Flush => {
                self.since.remove(&SETS);
            }
            Op::Compute(_) | Op::Loop { .. } | Op::End { .. } | Op::Start { .. } | Op::Stop { .. } => {}
        }
    }

    /// The first op that leaves something open, after a sentence about it.
    pub(super) fn first(&self) -> Option<(String, usize)> {
        let (set, op) = self.since.iter().min_by_key(|(_, op)| **op)?;
        let what = match *set {
            SETS => "nothing flushes what this puts or gets: add a flush after it".to_owned(),
            set => format!("nothing waits for this request: add a wait after it (request {set}, or all)"),
        };
        Some((what, *op))
    }
}
