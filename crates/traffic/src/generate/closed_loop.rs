//! Messages of which always so many are under way: the next one is posted when the oldest has been acknowledged, as perftest's
//! `ib_write_bw --size SIZE --tx-depth DEPTH` does.
use backwater_units::{Bytes, Span, Time};

use crate::flow::{Flow, Group};
use crate::trace::{Event, Step};

/// `messages` messages per pair, `depth` under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLoop {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Payload of one message.
    pub size: Bytes,
    /// Messages of a pair under way, at least 1.
    pub depth: u32,
    /// From the acknowledgement of a message to the posting of the next one.
    pub gap: Span,
    /// Messages per pair.
    pub messages: u32,
}

impl ClosedLoop {
    /// The flows, pair by pair, and what posts those that are not there from the start.
    pub fn flows(&self, group: &Group) -> (Vec<Flow>, Vec<Step>) {
        let (mut flows, mut steps) = (Vec::new(), Vec::new());
        for &(src, dst) in &self.pairs {
            for message in 0..self.messages {
                let number = flows.len() as u32;
                let first = message < self.depth;
                let start = if first { group.start } else { Time::MAX };
                flows.push(group.flow(src, dst, self.size, start));
                if !first {
                    steps.push(Step {
                        host: src,
                        rank: src,
                        group: group.id,
                        line: 0,
                        after: vec![Event::Acked(number - self.depth)],
                        delay: self.gap,
                        starts: vec![number],
                        part: None,
                    });
                }
            }
        }
        (flows, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn each_message_beyond_the_depth_waits_for_the_one_that_many_before_it() {
        let size = Bytes::from_kb(8);
        let (pairs, gap) = (vec![(1, 0), (2, 0)], Span::from_us(3));
        let (flows, steps) = ClosedLoop { pairs, size, depth: 2, gap, messages: 5 }.flows(&GROUP);
        assert!(steps.iter().all(|step| step.delay == gap));
        let at_once: Vec<bool> = flows.iter().map(|flow| flow.start == GROUP.start).collect();
        assert_eq!(at_once, [true, true, false, false, false, true, true, false, false, false]);
        let waits: Vec<_> = steps.iter().map(|step| (step.host, step.starts[0], step.after[0])).collect();
        let acked = |host, number| (host, number, Event::Acked(number - 2));
        assert_eq!(waits, [acked(1, 2), acked(1, 3), acked(1, 4), acked(2, 7), acked(2, 8), acked(2, 9)]);
    }
}
