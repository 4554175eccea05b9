//! Endless flows: a source that always has more to send.
use backwater_units::Bytes;

use crate::flow::{Flow, Group};

/// One endless flow per pair, all from the start of the entry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongLived {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
}

impl LongLived {
    /// The flows, in the order of the pairs.
    pub fn flows(&self, group: &Group) -> Vec<Flow> {
        let flow = |&(src, dst): &(u32, u32)| group.flow(src, dst, Bytes::MAX, group.start);
        self.pairs.iter().map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn a_long_lived_flow_starts_with_its_entry_and_never_ends() {
        let flows = LongLived { pairs: vec![(0, 1)] }.flows(&GROUP);
        assert!(flows[0].is_endless());
        assert_eq!(flows[0].start, GROUP.start);
    }
}
