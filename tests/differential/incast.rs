//! `incast`: 60 senders of 2 MB into one port of one switch of 9 MiB; PFC fires.
use std::sync::OnceLock;

use backwater_units::{Span, Time};
use scene::run;

use crate::statistics::{mean, percentile};
use crate::{Wire, peer, spec};

pub(crate) const SEEDS: u64 = 20;

/// What is compared of one run.
#[derive(Clone, Debug)]
pub(crate) struct Incast {
    /// PAUSEs as they reach the senders, in order of time.
    pub(crate) pauses: Vec<Time>,
    /// Sum of the times that senders were paused.
    pub(crate) closed: Span,
    /// FCT in microseconds.
    pub(crate) fct_us: Vec<f64>,
}

impl Incast {
    /// What the tables show.
    pub(crate) fn figures(&self) -> [f64; 5] {
        let latest = percentile(&self.fct_us, 100.0);
        let paused_ms = self.closed.as_us_f64() / 1e3;
        [self.pauses.len() as f64, paused_ms, mean(&self.fct_us), percentile(&self.fct_us, 50.0), latest]
    }
}

/// The peer's run.
pub(crate) fn peers() -> Incast {
    let case = peer::case("incast");
    let pauses = case.gates.iter().filter(|gate| gate.paused).map(|gate| gate.time).collect();
    let mut closed = Span::ZERO;
    for (i, gate) in case.gates.iter().enumerate().filter(|(_, gate)| gate.paused) {
        let end = case.gates[i..].iter().find(|other| other.node == gate.node && !other.paused);
        closed += end.expect("a RESUME").time.since(gate.time);
    }
    let fct_us = case.answers.iter().map(|answer| answer.fct_ns as f64 / 1e3).collect();
    Incast { pauses, closed, fct_us }
}

fn ours(seed: u64, wire: Wire) -> Incast {
    let outcome = run(spec(&peer::case("incast"), 9 << 20, seed, wire));
    let pauses = outcome.records.pauses.iter().filter(|r| r.paused).map(|r| r.time).collect();
    let closed = outcome.ports.iter().map(|port| port.paused).sum();
    let fct_us = outcome.flows.iter().map(|flow| flow.acked.since(flow.start).as_us_f64()).collect();
    Incast { pauses, closed, fct_us }
}

/// Twenty seeds, run once.
pub(crate) fn runs(wire: Wire) -> &'static [Incast] {
    static RUNS: [OnceLock<Vec<Incast>>; 2] = [OnceLock::new(), OnceLock::new()];
    RUNS[usize::from(wire == Wire::AsFast)].get_or_init(|| (1..=SEEDS).map(|seed| ours(seed, wire)).collect())
}

/// A figure over the seeds.
pub(crate) fn over_seeds(wire: Wire, figure: usize) -> Vec<f64> {
    runs(wire).iter().map(|run| run.figures()[figure]).collect()
}

/// How many of the first 60 PAUSEs came in each nanosecond.
fn first_wave(pauses: &[Time]) -> Vec<(u64, usize)> {
    let mut wave: Vec<(u64, usize)> = Vec::new();
    for ns in pauses[..60].iter().map(|time| time.as_ps() / 1000) {
        match wave.last_mut() {
            Some((last, count)) if *last == ns => *count += 1,
            _ => wave.push((ns, 1)),
        }
    }
    wave
}

#[test]
fn the_first_pauses_reach_the_senders_in_the_same_nanoseconds() {
    // All 60 packets of a round arrive in one instant, in which one leaves, too: here before them, in the peer after
    // some. It lowers the threshold by an eighth of a packet, as each arrival does, so one sender more is paused.
    let peer = first_wave(&peers().pauses);
    assert_eq!(peer, [(10_386, 22), (10_469, 38)]);
    for run in runs(Wire::AsFast) {
        assert_eq!(first_wave(&run.pauses), [(10_386, 21), (10_469, 39)]);
    }
}

#[test]
fn mean_and_last_fct_are_the_peers_within_two_percent() {
    for figure in [2, 3, 4] {
        let (peer, ours) = (peers().figures()[figure], mean(&over_seeds(Wire::Exact, figure)));
        assert!((ours / peer - 1.0).abs() < 0.02, "{ours} us against {peer} us");
    }
}

#[test]
fn senders_are_paused_for_as_long_as_in_the_peer_within_a_sixth() {
    let (peer, ours) = (peers().figures()[1], mean(&over_seeds(Wire::Exact, 1)));
    assert!((ours / peer - 1.0).abs() < 1.0 / 6.0, "{ours} ms against {peer} ms");
}

#[test]
fn the_number_of_pauses_is_of_the_peers_order_but_smaller() {
    let (peer, ours) = (peers().figures()[0], mean(&over_seeds(Wire::Exact, 0)));
    assert!((0.65..1.0).contains(&(ours / peer)), "{ours} against {peer}");
}
