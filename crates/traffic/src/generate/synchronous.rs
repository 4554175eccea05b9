//! The generator behind the TCD paper's Table 3: one exponential clock shared by all sources; each tick starts
//! one flow at every source at the same instant.
use backwater_engine::stream;
use backwater_units::{Bytes, PS_PER_S, Rate, Span};

use crate::cdf::Cdf;
use crate::flow::{Flow, Group};
use crate::generate::Stop;
use crate::stream::{CLOCK, SIZES, entity, exponential};

/// How large the flows of a tick are.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Every source draws its own size.
    Independent(Cdf),
    /// One size is drawn per tick and used by all sources.
    Common(Cdf),
    /// Always this size.
    Fixed(Bytes),
}

impl Sizes {
    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Independent(cdf) | Self::Common(cdf) => cdf.mean(),
            Self::Fixed(size) => size.get() as f64,
        }
    }
}

/// Flows of all sources at the ticks of one exponential clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchronous {
    /// Source and destination hosts.
    pub pairs: Vec<(u32, u32)>,
    /// Flow sizes.
    pub sizes: Sizes,
    /// Mean time between ticks, above zero.
    pub interval: Span,
    /// When ticks end; a count counts flows, not ticks.
    pub stop: Stop,
}

impl Synchronous {
    /// The mean interval at which `pairs` flows per tick with a mean of `mean_size` bytes offer `load` of a link
    /// of `rate`: `pairs · 8 · E[size] / (load · C)`, at least 1 ps. Payload counts, headers do not.
    pub fn interval_for(pairs: usize, mean_size: f64, load: f64, rate: Rate) -> Span {
        let ps = pairs as f64 * 8.0 * mean_size * PS_PER_S as f64 / (load * rate.as_bps() as f64);
        Span::from_ps((ps as u64).max(1))
    }

    /// The flows, tick by tick in the order of the pairs.
    pub fn flows(&self, group: &Group, seed: u64) -> Vec<Flow> {
        let mut clock = stream(seed, CLOCK, entity(group.id, 0));
        let mut common = stream(seed, SIZES, entity(group.id, u32::MAX));
        let own = |&(src, _): &(u32, u32)| stream(seed, SIZES, entity(group.id, src));
        let mut own: Vec<_> = self.pairs.iter().map(own).collect();
        let mut flows = Vec::new();
        let mut tick = group.start;
        while !self.pairs.is_empty() {
            let gap = exponential(&mut clock) * self.interval.as_ps() as f64;
            tick = tick.saturating_add(Span::from_ps((gap as u64).max(1)));
            let (over, room) = match self.stop {
                Stop::At(until) => (tick >= until, usize::MAX),
                Stop::After(count) => (false, (count as usize).saturating_sub(flows.len())),
            };
            if over || room == 0 || tick.as_ps() == u64::MAX {
                break;
            }
            let shared = match &self.sizes {
                Sizes::Independent(_) => None,
                Sizes::Common(cdf) => Some(cdf.draw(&mut common)),
                Sizes::Fixed(size) => Some(*size),
            };
            for (&(src, dst), random) in self.pairs.iter().zip(&mut own).take(room) {
                let size = match &self.sizes {
                    Sizes::Independent(cdf) => cdf.draw(random),
                    Sizes::Common(_) | Sizes::Fixed(_) => shared.unwrap_or(Bytes::new(1)),
                };
                flows.push(group.flow(src, dst, size, tick));
            }
        }
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;
    use backwater_units::Time;

    fn synchronous(sizes: Sizes, load: f64) -> Synchronous {
        let interval = Synchronous::interval_for(15, sizes.mean(), load, Rate::from_gbps(40));
        let pairs = (1..=15).map(|src| (src, 0)).collect();
        Synchronous { pairs, sizes, interval, stop: Stop::At(Time::from_ps(10 * PS_PER_S)) }
    }

    #[test]
    fn every_tick_starts_one_flow_at_every_source() {
        let flows = synchronous(Sizes::Independent(Cdf::hadoop()), 0.7).flows(&GROUP, 1);
        for tick in flows.chunks(15) {
            assert!(tick.iter().all(|f| f.start == tick[0].start));
            assert_eq!(tick.iter().map(|f| f.src).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
        }
    }

    #[test]
    fn together_the_sources_offer_the_load_of_the_receivers_link() {
        for sizes in [Sizes::Independent(Cdf::hadoop()), Sizes::Fixed(Bytes::from_kb(64))] {
            let flows = synchronous(sizes, 0.7).flows(&GROUP, 1);
            let offered: u64 = flows.iter().map(|f| f.size.get()).sum();
            // 40 Gbps x 10 s = 50 GB
            assert!((offered as f64 / 50e9 - 0.7).abs() < 0.02, "{offered}");
        }
    }

    #[test]
    fn a_common_size_is_shared_by_a_tick_and_independent_ones_are_not() {
        let common = synchronous(Sizes::Common(Cdf::hadoop()), 0.7).flows(&GROUP, 1);
        assert!(common.chunks(15).all(|tick| tick.iter().all(|f| f.size == tick[0].size)));
        let own = synchronous(Sizes::Independent(Cdf::hadoop()), 0.7).flows(&GROUP, 1);
        assert!(own[..15].iter().any(|f| f.size != own[0].size));
        assert_eq!(common[0].start, own[0].start, "the clock does not depend on the sizes");
    }

    #[test]
    fn fifteen_64_kb_bursts_fill_r1s_link_if_they_come_every_192_us() {
        let interval = Synchronous::interval_for(15, 64_000.0, 1.0, Rate::from_gbps(40));
        assert_eq!(interval, Span::from_us(192));
    }
}
