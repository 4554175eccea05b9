//! Sources of a constant rate, like the paper's F0 and F2: an application that sends by its own clock.
use backwater_units::{Bytes, Rate};

use crate::flow::{Flow, Group, Pacing};

/// One flow of constant rate per pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Rate on the wire, headers included.
    pub rate: Rate,
    /// Each gap is scaled by a uniform factor in `1 ± jitter_ppm / 10⁶`.
    pub jitter_ppm: u32,
    /// Whether the backlog of a pause is sent afterwards.
    pub catch_up: bool,
    /// Payload of each flow, or [`Bytes::MAX`].
    pub size: Bytes,
}

impl Constant {
    /// The flows, in the order of the pairs. The pacing of the group is replaced.
    pub fn flows(&self, group: &Group) -> Vec<Flow> {
        let pacing =
            Pacing::Constant { rate: self.rate, jitter_ppm: self.jitter_ppm, catch_up: self.catch_up };
        let group = Group { pacing, ..*group };
        let flow = |&(src, dst): &(u32, u32)| group.flow(src, dst, self.size, group.start);
        self.pairs.iter().map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;

    #[test]
    fn a_constant_source_is_paced_by_itself_not_by_congestion_control() {
        let source = Constant {
            pairs: vec![(0, 1)],
            rate: Rate::from_gbps(5),
            jitter_ppm: 100_000,
            catch_up: true,
            size: Bytes::MAX,
        };
        assert!(matches!(
            source.flows(&GROUP)[0].pacing,
            Pacing::Constant { jitter_ppm: 100_000, catch_up: true, .. }
        ));
    }
}
