//! `incast`: 60 senders of 2 MB into one port of one switch of 9 MiB; PFC fires.
use std::sync::OnceLock;

use backwater_units::{Rate, Time};
use scene::{run, with_links};

use crate::statistics::{kolmogorov_smirnov, mean, z};
use crate::{peer, spec};

pub(crate) const SEEDS: u64 = 20;

/// What is compared of each run.
pub(crate) const FIGURES: [&str; 4] = ["PAUSEs", "mean FCT, us", "median FCT, us", "last FCT, us"];

/// These of a run.
fn figures(seed: u64) -> [f64; 4] {
    let outcome = run(spec(&peer::case("incast"), 9 << 20, seed));
    let pauses = outcome.records.pauses.iter().filter(|r| r.paused).count();
    let mut fct_us: Vec<f64> =
        outcome.flows.iter().map(|flow| flow.acked.since(flow.start).as_us_f64()).collect();
    fct_us.sort_by(f64::total_cmp);
    // The median as in runs.csv: the later one of the two in the middle.
    [pauses as f64, mean(&fct_us), fct_us[fct_us.len() / 2], fct_us[fct_us.len() - 1]]
}

/// A figure in each of the peer's twenty draws in exact arithmetic, and in twenty seeds.
pub(crate) fn both(figure: usize) -> [Vec<f64>; 2] {
    static RUNS: OnceLock<Vec<[f64; 4]>> = OnceLock::new();
    let ours = RUNS.get_or_init(|| (1..=SEEDS).map(figures).collect());
    [of_peer("ps", figure), ours.iter().map(|run| run[figure]).collect()]
}

/// The same of the peer with this arithmetic.
pub(crate) fn of_peer(arithmetic: &str, figure: usize) -> Vec<f64> {
    let rows = peer::rows("incast", "runs.csv");
    let rows = rows.iter().filter(|row| row[0] == arithmetic);
    rows.map(|row| row[2 + figure].parse().expect("a number")).collect()
}

/// How many of the first 60 PAUSEs came in each nanosecond.
fn first_wave(pauses: impl Iterator<Item = Time>) -> Vec<(u64, usize)> {
    let mut wave: Vec<(u64, usize)> = Vec::new();
    for ns in pauses.take(60).map(|time| time.as_ps() / 1000) {
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
    let case = peer::case("incast");
    assert_eq!(first_wave(peer::pauses("incast").into_iter()), [(10_386, 22), (10_469, 38)]);
    // On links on which 1048 B take 83 ns as in the unmodified peer.
    let mut spec = spec(&case, 9 << 20, 1);
    let rate = Rate::from_bps(1048 * 8 * 1_000_000_000 / 83);
    spec.network = with_links(&case.network, |_, link| link.rate = rate);
    let outcome = run(spec);
    let ours = outcome.records.pauses.iter().filter(|r| r.paused).map(|r| r.time);
    assert_eq!(first_wave(ours), [(10_386, 21), (10_469, 39)]);
}

#[test]
fn pauses_and_completion_times_are_the_peers_within_three_standard_errors() {
    for (figure, name) in FIGURES.iter().enumerate() {
        let [peer, ours] = both(figure);
        let z = z(&ours, &peer);
        assert!(z.abs() < 3.0, "{name}: {} against {}, z = {z}", mean(&ours), mean(&peer));
    }
}

#[test]
fn pauses_and_completion_times_are_distributed_as_the_peers() {
    // Kolmogorov and Smirnov: of two samples of 20 of one distribution, 1 % are farther apart than 1.63 sqrt(2 / 20).
    for (figure, name) in FIGURES.iter().enumerate() {
        let [peer, ours] = both(figure);
        let distance = kolmogorov_smirnov(&ours, &peer);
        assert!(distance < 1.63 * (2.0_f64 / 20.0).sqrt(), "{name}: {distance}");
    }
}
