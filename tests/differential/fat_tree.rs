//! `k4`: a fat tree of 16 hosts, `WebSearch` at 60 % for 5 ms, 350 flows on the ways of the peer's ECMP. What is left to
//! chance are the marks and the order of ties: eight seeds.
use std::sync::OnceLock;

use backwater_fabric::End;
use scene::{run_until, us};

use crate::statistics::{deviation, mean, percentile};
use crate::{Wire, peer, spec, ways};

pub(crate) const SEEDS: u64 = 8;

/// Size classes: name, above, up to (bytes).
pub(crate) const CLASSES: [(&str, u64, u64); 4] = [
    ("all", 0, u64::MAX),
    ("up to 100 KB", 0, 100_000),
    ("up to 1 MB", 100_000, 1_000_000),
    ("larger", 1_000_000, u64::MAX),
];
/// Measures of a class.
pub(crate) const MEASURES: [&str; 4] = ["mean", "p50", "p95", "p99"];

/// FCT in nanoseconds, in the order of the flow list.
type Fcts = Vec<f64>;

/// The peer's FCTs, ours by seed, and the case.
pub(crate) struct Comparison {
    pub(crate) case: peer::Case,
    pub(crate) peer: Fcts,
    pub(crate) ours: Vec<Fcts>,
}

/// The eight runs, made once.
pub(crate) fn comparison(wire: Wire) -> &'static Comparison {
    static RUNS: [OnceLock<Comparison>; 2] = [OnceLock::new(), OnceLock::new()];
    RUNS[usize::from(wire == Wire::AsFast)].get_or_init(|| {
        let case = peer::case("k4");
        let peer = case.answers.iter().map(|answer| answer.fct_ns as f64).collect();
        let ours = (1..=SEEDS).map(|seed| fcts(&case, seed, wire)).collect();
        Comparison { case, peer, ours }
    })
}

fn fcts(case: &peer::Case, seed: u64, wire: Wire) -> Fcts {
    let mut spec = spec(case, 32 << 20, seed, wire);
    let (flows, numbers) = ways::numbered(case, &spec.routes, seed);
    spec.flows = flows;
    let outcome = run_until(spec, us(100_000));
    assert_eq!(outcome.totals.end, End::Until);
    assert_eq!(outcome.totals.packet_hops, 6_649_648, "data and ACKs, once per link, as in stats.json");
    let fct = |number: &usize| {
        let flow = &outcome.flows[*number];
        flow.acked.since(flow.start).as_ps() as f64 / 1e3
    };
    numbers.iter().map(fct).collect()
}

impl Comparison {
    /// A measure of the slowdowns of a class, at least 1 each as in the peer's own analysis.
    pub(crate) fn slowdown(&self, fcts: &Fcts, class: usize, measure: usize) -> f64 {
        let (_, above, up_to) = CLASSES[class];
        let flows = fcts.iter().zip(&self.case.answers).zip(&self.case.flows);
        let flows = flows.filter(|(_, flow)| flow.size.get() > above && flow.size.get() <= up_to);
        let slowdowns: Vec<f64> =
            flows.map(|((fct, answer), _)| (fct / answer.standalone_ns as f64).max(1.0)).collect();
        match measure {
            0 => mean(&slowdowns),
            1 => percentile(&slowdowns, 50.0),
            2 => percentile(&slowdowns, 95.0),
            _ => percentile(&slowdowns, 99.0),
        }
    }

    /// The same of all seeds.
    pub(crate) fn slowdowns(&self, class: usize, measure: usize) -> Vec<f64> {
        self.ours.iter().map(|fcts| self.slowdown(fcts, class, measure)).collect()
    }

    /// Median over the flows and seeds of our FCT over the peer's.
    pub(crate) fn median_ratio(&self) -> f64 {
        let ratios = |fcts: &Fcts| fcts.iter().zip(&self.peer).map(|(a, b)| a / b).collect::<Vec<f64>>();
        percentile(&self.ours.iter().flat_map(ratios).collect::<Vec<f64>>(), 50.0)
    }

    /// How far FCTs are from the peer's, flow by flow, and how far those of two seeds are from each other: standard
    /// deviations of the log ratio, averaged.
    pub(crate) fn distances(&self) -> (f64, f64) {
        let distance = |one: &Fcts, other: &Fcts| {
            deviation(&one.iter().zip(other).map(|(a, b)| (a / b).ln()).collect::<Vec<f64>>())
        };
        let to_peer: Vec<f64> = self.ours.iter().map(|fcts| distance(fcts, &self.peer)).collect();
        let pairs = self.ours.windows(2).map(|pair| distance(&pair[0], &pair[1]));
        (mean(&to_peer), mean(&pairs.collect::<Vec<f64>>()))
    }
}

/// Our mean over the seeds is within `tolerance` of the peer's answer, which is one run with one draw of marks and ties.
fn check_within(wire: Wire, class: usize, measure: usize, tolerance: f64) {
    let comparison = comparison(wire);
    let peer = comparison.slowdown(&comparison.peer, class, measure);
    let ours = mean(&comparison.slowdowns(class, measure));
    assert!(
        (ours / peer - 1.0).abs() < tolerance,
        "{} {}: {ours} against {peer}",
        CLASSES[class].0,
        MEASURES[measure]
    );
}

#[test]
fn mean_and_median_slowdown_are_the_peers_within_three_percent() {
    for class in [0, 3] {
        check_within(Wire::Exact, class, 0, 0.03);
        check_within(Wire::Exact, class, 1, 0.03);
    }
}

#[test]
fn mean_and_median_slowdown_of_shorter_flows_are_the_peers_within_eight_percent() {
    // The median of a class moves by 8 % from seed to seed, hence by 3 % in the mean of eight.
    for class in [1, 2] {
        check_within(Wire::Exact, class, 0, 0.08);
        check_within(Wire::Exact, class, 1, 0.08);
    }
}

#[test]
fn the_slowest_flows_are_the_peers_within_15_percent_and_within_a_quarter_in_the_classes_of_shorter_ones() {
    for (class, tolerance) in [(0, 0.15), (3, 0.15), (1, 0.25), (2, 0.25)] {
        check_within(Wire::Exact, class, 2, tolerance);
        check_within(Wire::Exact, class, 3, tolerance);
    }
}

#[test]
fn flow_by_flow_the_peer_is_as_near_to_a_seed_as_another_seed_is() {
    let (to_peer, among_ours) = comparison(Wire::Exact).distances();
    assert!(to_peer < 1.05 * among_ours, "{to_peer} to the peer, {among_ours} among the seeds");
}

#[test]
fn the_median_flow_takes_as_long_as_the_peers_once_its_links_are_as_fast() {
    let exact = comparison(Wire::Exact).median_ratio();
    // 83.84 ns instead of 83 ns is 1.0 %; part of an FCT is propagation
    assert!((1.003..1.010).contains(&exact), "{exact}");
    let as_fast = comparison(Wire::AsFast).median_ratio();
    assert!((as_fast - 1.0).abs() < 0.002, "{as_fast}");
}
