//! What holds for any sources: nobody sends to itself or to a host outside of the pool, counts are exact, and what a source
//! shares out is never more than it has.
use std::collections::{BTreeMap, BTreeSet};

use backwater_traffic::generate::{Poisson, Stop, Supply};
use backwater_traffic::{Cdf, Full, Gaps, Group, Pacing, connect, draw, pairs};
use backwater_units::{Bytes, Rate, Time};
use proptest::prelude::*;

const GROUP: Group = Group { id: 2, priority: 3, pacing: Pacing::Controlled, start: Time::from_ps(77) };

fn hosts() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::btree_set(0u32..40, 1..20).prop_map(|set| set.into_iter().collect())
}

/// Any steps and slopes.
fn cdf() -> impl Strategy<Value = Cdf> {
    (prop::collection::vec((0u64..100_000, 0u32..=100), 1..8)).prop_map(|points| {
        let (mut sizes, mut shares): (Vec<u64>, Vec<u32>) = points.into_iter().unzip();
        sizes.sort_unstable();
        shares.sort_unstable();
        shares.push(100);
        let lines = sizes.iter().zip(&shares[1..]).map(|(size, share)| format!("{size} {share}\n"));
        Cdf::parse(&lines.collect::<String>()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn poisson_sources_send_exactly_the_messages_asked_for_to_the_hosts_of_the_pool(
        (from, to) in (hosts(), hosts()), sizes in cdf(), count in 1u32..300, seed: u64
    ) {
        let rate = |host: u32| Rate::from_gbps(u64::from(host) + 1);
        let poisson = Poisson {
            from: from.iter().map(|&host| (host, rate(host))).collect(),
            to: to.clone(),
            mean: 100.0,
            sizes: sizes.clone(),
            load: 0.5,
            stop: Stop::After(count),
        };
        let flows = poisson.flows(&GROUP, seed);
        let can_send = from.iter().any(|src| to.iter().any(|dst| dst != src));
        prop_assert_eq!(flows.len(), if can_send { count as usize } else { 0 });
        for flow in &flows {
            prop_assert!(flow.src != flow.dst && from.contains(&flow.src) && to.contains(&flow.dst));
            prop_assert!(flow.size.get() >= 1 && flow.size <= sizes.max() && flow.start >= GROUP.start);
        }
        prop_assert!(flows.is_sorted_by_key(|flow| flow.start));
    }

    #[test]
    fn messages_of_one_source_and_destination_and_no_others_share_a_connection(
        ends in prop::collection::vec((0u32..6, 0u32..6, 0u8..3), 0..60), first in 0u32..9
    ) {
        let mut flows: Vec<_> = ends
            .iter()
            .map(|&(src, dst, priority)| Group { priority, ..GROUP }.flow(src, dst, Bytes::new(1), GROUP.start))
            .collect();
        let next = connect(&mut flows, first);
        let mut numbers = BTreeMap::new();
        for (flow, end) in flows.iter().zip(&ends) {
            prop_assert_eq!(*numbers.entry(*end).or_insert(flow.connection), flow.connection);
        }
        let distinct: BTreeSet<u32> = numbers.values().copied().collect();
        prop_assert_eq!(distinct.into_iter().collect::<Vec<_>>(), (first..next).collect::<Vec<_>>());
        prop_assert_eq!(numbers.len() as u32, next - first);
    }

    #[test]
    fn what_a_source_shares_among_its_destinations_is_no_more_than_it_has(
        (from, to) in (hosts(), hosts()), mbps in 1u64..200_000, backlog in 1u64..1000
    ) {
        let rate = Rate::from_mbps(mbps);
        let (drawn, gaps, full) = (false, Gaps::Exponential, Full::Wait);
        let supply = Supply { pairs: pairs(&from, &to), rate, backlog, until: Time::MAX, drawn, gaps, full };
        let Ok(flows) = supply.flows(&GROUP) else {
            // only a backlog can be too small here
            prop_assert!(backlog < to.len() as u64);
            return Ok(());
        };
        let mut of_source: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for flow in &flows {
            let Pacing::Supplied { rate, backlog, .. } = flow.pacing else { panic!("no supply") };
            prop_assert!(backlog >= 1 && rate > Rate::ZERO);
            let sums = of_source.entry(flow.src).or_default();
            *sums = (sums.0 + rate.as_bps(), sums.1 + u64::from(backlog));
        }
        for (bps, packets) in of_source.into_values() {
            prop_assert!(bps <= rate.as_bps() && rate.as_bps() - bps < 40);
            prop_assert!(packets <= backlog);
        }
    }

    #[test]
    fn the_mean_number_of_packets_lies_between_whole_and_cut_packets(sizes in cdf(), payload in 1u64..9000) {
        let packets = sizes.mean_packets(Bytes::new(payload));
        let full = sizes.mean() / payload as f64;
        // sizes are whole bytes, up to one below the mean of a slope
        prop_assert!(packets >= 1.0 - 1e-9 && packets >= full - 1.0 / payload as f64 - 1e-9, "{packets} {full}");
        prop_assert!(packets <= full + 1.0 + 1e-9, "{packets} {full}");
    }

    #[test]
    fn a_draw_and_the_rest_are_the_list(hosts in hosts(), count in 0usize..25, seed: u64, number: u32) {
        let (drawn, others) = draw(&hosts, count, seed, number);
        prop_assert_eq!(drawn.len(), count.min(hosts.len()));
        let all: BTreeSet<u32> = drawn.into_iter().chain(others).collect();
        prop_assert_eq!(all.into_iter().collect::<Vec<_>>(), hosts);
    }
}
