//! Which requests of a program nothing waits for.
use super::super::{Op, SETS};

/// By set the first op that has posted a request since the last wait for it; the last one: puts and gets since the last flush.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenRequests {
    since: [Option<usize>; SETS as usize + 1],
}

impl OpenRequests {
    /// The op number `at`.
    pub(super) fn note(&mut self, at: usize, op: Op) {
        match op {
            Op::Isend { set, .. } | Op::Irecv { set, .. } => {
                self.since[usize::from(set)].get_or_insert(at);
            }
            Op::Put { .. } | Op::Get { .. } => {
                self.since[usize::from(SETS)].get_or_insert(at);
            }
            Op::Wait { sets } => {
                for set in (0..SETS).filter(|set| sets & 1 << set != 0) {
                    self.since[usize::from(set)] = None;
                }
            }
            Op::Flush => self.since[usize::from(SETS)] = None,
            Op::Compute(_) | Op::Loop { .. } | Op::End { .. } | Op::Start { .. } | Op::Stop { .. } => {}
        }
    }

    /// The first op that leaves something open, after a sentence about it.
    pub(super) fn first(&self) -> Option<(String, usize)> {
        let open = (0..).zip(self.since).filter_map(|(set, op)| op.map(|op| (set, op)));
        let (set, op) = open.min_by_key(|(_, op)| *op)?;
        let what = match set {
            SETS => "nothing flushes what this puts or gets: add a flush after it".to_owned(),
            set => format!("nothing waits for this request: add a wait after it (request {set}, or all)"),
        };
        Some((what, op))
    }
}
