//! Poisson arrivals at every source, sizes from a distribution, destinations uniform.
//!
//! The rate of arrivals at a source is `λ = load · C / (8 · E[bytes])` with C the rate of its host link. Which bytes the load
//! counts is the caller's choice: payload, as in the HPCC generator and in the TCD paper's 60 %, or what is on the wire.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use backwater_engine::{Stream, stream};
use backwater_units::{PS_PER_S, Rate, Span, Time};

use crate::cdf::Cdf;
use crate::flow::{Flow, Group};
use crate::stream::{POISSON, below, entity, exponential};

/// When arrivals end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No arrival at or after this time.
    At(Time),
    /// After this many flows of all sources together.
    After(u32),
}

/// Independent Poisson arrivals at every source.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Sources and the rates of their host links.
    pub from: Vec<(u32, Rate)>,
    /// Destinations; a source never draws itself.
    pub to: Vec<u32>,
    /// Flow sizes.
    pub sizes: Cdf,
    /// What is offered over the capacity of the source's host link, above 0.
    pub load: f64,
    /// The mean of what the load counts of a flow, in bytes, above 0: [`Cdf::mean`] for payload.
    pub mean: f64,
    /// When arrivals end.
    pub stop: Stop,
}

/// One source: its own stream, so that its arrivals do not depend on who else takes part.
struct Source {
    host: u32,
    /// Mean gap between arrivals in picoseconds.
    gap: f64,
    destinations: Vec<u32>,
    random: Stream,
}

impl Source {
    fn next_after(&mut self, time: Time) -> Time {
        let gap = exponential(&mut self.random) * self.gap;
        time.saturating_add(Span::from_ps(gap as u64))
    }
}

impl Poisson {
    /// Mean gap between two arrivals at a source with a link of `rate`, in picoseconds.
    pub fn mean_gap_ps(&self, rate: Rate) -> f64 {
        8.0 * self.mean * PS_PER_S as f64 / (self.load * rate.as_bps() as f64)
    }

    fn source(&self, group: &Group, seed: u64, host: u32, rate: Rate) -> Source {
        Source {
            host,
            gap: self.mean_gap_ps(rate),
            destinations: self.to.iter().copied().filter(|&to| to != host).collect(),
            random: stream(seed, POISSON, entity(group.id, host)),
        }
    }

    /// The flows in order of time; arrivals at one instant in order of the sources. A source that has no
    /// destination but itself sends nothing.
    pub fn flows(&self, group: &Group, seed: u64) -> Vec<Flow> {
        let sources = self.from.iter().map(|&(host, rate)| self.source(group, seed, host, rate));
        let mut sources: Vec<Source> = sources.filter(|source| !source.destinations.is_empty()).collect();
        let mut next: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            next.push(Reverse((source.next_after(group.start), index)));
        }
        let mut flows = Vec::with_capacity(match self.stop {
            Stop::After(count) if !next.is_empty() => count as usize,
            _ => 0,
        });
        while let Some(mut earliest) = next.peek_mut() {
            let Reverse((time, index)) = *earliest;
            let done = match self.stop {
                Stop::At(until) => time >= until,
                Stop::After(count) => flows.len() >= count as usize,
            };
            if done || time == Time::MAX {
                break;
            }
            let source = &mut sources[index];
            let to =
                source.destinations[below(&mut source.random, source.destinations.len() as u32) as usize];
            flows.push(group.flow(source.host, to, self.sizes.draw(&mut source.random), time));
            *earliest = Reverse((source.next_after(time), index));
        }
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;
    use backwater_units::Bytes;

    fn poisson(sizes: Cdf, hosts: u32, stop: Stop) -> Poisson {
        let rate = Rate::from_gbps(40);
        Poisson {
            from: (0..hosts).map(|h| (h, rate)).collect(),
            to: (0..hosts).collect(),
            mean: sizes.mean(),
            sizes,
            load: 0.6,
            stop,
        }
    }

    #[test]
    fn at_60_percent_of_40_gbps_a_host_starts_24913_hadoop_or_1753_web_search_flows_a_second() {
        let rate = |cdf| 1e12 / poisson(cdf, 2, Stop::After(1)).mean_gap_ps(Rate::from_gbps(40));
        assert!((rate(Cdf::hadoop()) - 24_913.0).abs() < 1.0);
        assert!((rate(Cdf::web_search()) - 1_753.0).abs() < 1.0);
    }

    #[test]
    fn the_offered_load_is_the_one_asked_for() {
        let until = Time::from_ps(PS_PER_S);
        let flows = poisson(Cdf::hadoop(), 16, Stop::At(until)).flows(&GROUP, 1);
        let offered: u64 = flows.iter().map(|f| f.size.get()).sum();
        // 16 hosts x 40 Gbps x 1 s = 80 GB
        assert!((offered as f64 / 80e9 - 0.6).abs() < 0.01, "{offered}");
        assert!(flows.iter().all(|f| f.start < until && f.src != f.dst && f.start >= GROUP.start));
    }

    #[test]
    fn a_source_draws_the_same_flows_whoever_else_sends() {
        let of_host_0 = |hosts| {
            let mut poisson = poisson(Cdf::web_search(), hosts, Stop::At(Time::from_ps(PS_PER_S / 100)));
            poisson.to = vec![0, 1, 2];
            let flows = poisson.flows(&GROUP, 7);
            flows.into_iter().filter(|f| f.src == 0).collect::<Vec<_>>()
        };
        assert_eq!(of_host_0(2), of_host_0(16));
        assert!(!of_host_0(2).is_empty());
    }

    #[test]
    fn a_count_gives_the_first_flows_of_the_same_arrivals() {
        let long = poisson(Cdf::hadoop(), 8, Stop::After(1000)).flows(&GROUP, 3);
        let short = poisson(Cdf::hadoop(), 8, Stop::After(10)).flows(&GROUP, 3);
        assert_eq!(long.len(), 1000);
        assert_eq!(short[..], long[..10]);
        assert!(long.is_sorted_by_key(|f| f.start));
    }

    #[test]
    fn a_load_that_counts_padded_packets_has_fewer_arrivals() {
        // 64 hosts of 100 Gbps at half load: 2 million Google_All messages in 4 KiB packets take 25 ms, their payload 5 ms
        let lasts = |mean: f64| {
            let poisson = Poisson {
                from: (0..64).map(|host| (host, Rate::from_gbps(100))).collect(),
                to: (1..64).collect(),
                sizes: Cdf::google_all(),
                load: 0.5,
                mean,
                stop: Stop::After(200_000),
            };
            let flows = poisson.flows(&GROUP, 1);
            assert_eq!(flows.len(), 200_000);
            assert!(flows.iter().all(|flow| flow.dst != 0));
            10.0 * flows[199_999].start.since(GROUP.start).as_secs_f64() * 1000.0
        };
        let google = Cdf::google_all();
        let padded = lasts(4096.0 * google.mean_packets(Bytes::new(4096)));
        assert!((padded - 24.8).abs() < 0.3, "{padded} ms");
        let payload = lasts(google.mean());
        assert!((payload - 5.0).abs() < 0.1, "{payload} ms");
    }

    #[test]
    fn messages_of_one_full_packet_come_at_the_load_of_the_link_to_all_others_alike() {
        let sizes = Cdf::fixed(Bytes::new(4096));
        let poisson = Poisson {
            from: (0..48).map(|host| (host, Rate::from_gbps(100))).collect(),
            to: (1..64).collect(),
            mean: sizes.mean(),
            sizes,
            load: 0.8,
            stop: Stop::At(Time::from_ps(PS_PER_S / 400)),
        };
        let flows = poisson.flows(&Group { start: Time::ZERO, ..GROUP }, 1);
        assert!(flows.iter().all(|flow| flow.size == Bytes::new(4096)));
        // 48 x 0.8 x 100 Gbps x 2.5 ms / 32768 bit = 292 969, standard deviation 541: five of them
        assert!(flows.len().abs_diff(292_969) < 2_706, "{}", flows.len());
        let mut to = [0u32; 64];
        for flow in &flows {
            to[flow.dst as usize] += 1;
        }
        // 6103.5 from each source, of which source 0 has 63 destinations and the others 62, themselves excepted: a host that is a
        // source gets 46/62 + 1/63 of them, another 47/62 + 1/63; standard deviation 68, five of them
        assert_eq!(to[0], 0);
        assert!(to[1..48].iter().all(|n| n.abs_diff(4_625) < 340), "{to:?}");
        assert!(to[48..].iter().all(|n| n.abs_diff(4_724) < 340), "{to:?}");
    }
}
