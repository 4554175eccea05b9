//! One finite flow per pair.
use backwater_units::Bytes;

use crate::flow::{Flow, Group};

/// One flow of `size` per pair, all at the start of the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Payload of each flow.
    pub size: Bytes,
}

impl Message {
    /// The flows, in the order of the pairs.
    pub fn flows(&self, group: &Group) -> Vec<Flow> {
        let flow = |&(src, dst): &(u32, u32)| group.flow(src, dst, self.size, group.start);
        self.pairs.iter().map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn a_message_is_sent_once_per_pair() {
        let message = Message { pairs: vec![(0, 1), (2, 1)], size: Bytes::new(9) };
        let flows = message.flows(&GROUP);
        assert_eq!(flows.len(), 2);
        assert!(flows.iter().all(|flow| flow.size == Bytes::new(9) && flow.dst == 1));
    }
}
