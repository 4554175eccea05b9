//! A port that is paused on and off is ON for the time that Eqn 1 of the TCD paper (SIGCOMM 2021) gives, and for
//! max(Ton) at most as long as its flows exceed their share by epsilon.
//!
//! ```text
//!   y ──Ri──▶ d ──▶ sink        d serves priorities 3 and 4 in turn: Rd = 20 of 40 Gbps each
//!   x ──40G─▶ ┘                 y sends at Ri whenever its gate is open and does not catch up
//! ```
use backwater_control::detector::{fluid_toff, fluid_ton, max_ton};
use backwater_fabric::Spec;
use backwater_topology::Builder;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow_of_priority, ideal, run_until, us};

const LINE: Rate = Rate::from_gbps(40);
const DELAY: Span = Span::from_us(4);
const MTU: Bytes = Bytes::new(1000);
/// Xoff - Xon of the paper.
const GAP: Bytes = Bytes::new(2000);
const DRAIN: Rate = Rate::from_gbps(20);

/// A source of `input` against a backlogged one of another priority, both into one 40 Gbps port, and the egress port
/// of the first.
fn two_senders(input: Rate) -> (Spec, (u32, u16)) {
    let mut builder = Builder::new();
    let [sink, x, y] = ["sink", "x", "y"].map(|name| builder.host(name));
    let d = builder.switch("d");
    for host in [sink, x, y] {
        builder.link(host, d, LINE, DELAY);
    }
    let paced = Pacing::Constant { rate: input, jitter_ppm: 0, catch_up: false };
    let flows = vec![
        flow_of_priority(4, 1, 0, u64::MAX, Time::ZERO, Pacing::LineRate),
        flow_of_priority(3, 2, 0, u64::MAX, Time::ZERO, paced),
    ];
    (ideal(builder.build().unwrap(), flows), (y, 0))
}

fn mean_us(periods: &[Span]) -> f64 {
    periods.iter().map(|p| p.as_us_f64()).sum::<f64>() / periods.len() as f64
}

fn off_periods(outcome: &Outcome, port: (u32, u16)) -> Vec<Span> {
    let changes = outcome.pauses_at(port);
    let pairs = changes.windows(2).filter(|pair| pair[0].paused);
    pairs.map(|pair| pair[1].time.since(pair[0].time)).collect()
}

#[test]
fn on_and_off_periods_are_those_of_equation_1_within_two_and_four_percent() {
    // The reverse wire is idle: the loop takes two delays and a PFC frame. The paper's allows for two packets more.
    let tau = DELAY * 2 + LINE.serialize(Bytes::new(64));
    let longest_tau = DELAY * 2 + LINE.serialize(MTU) * 2;
    for gbps in [21, 22, 24, 28, 34, 40] {
        let input = Rate::from_gbps(gbps);
        let (spec, port) = two_senders(input);
        let outcome = run_until(spec, us(8_000));
        let (on, off) = (outcome.on_periods(port), off_periods(&outcome, port));
        assert!(on.len() > 20, "{gbps}G: {} ON periods", on.len());
        let model = [fluid_ton, fluid_toff].map(|f| f(GAP, tau, input, DRAIN).unwrap().as_us_f64());
        let bounds = [fluid_ton, fluid_toff].map(|f| f(GAP, longest_tau, input, DRAIN).unwrap());
        for (what, periods, model, bound, tolerance) in
            [("ON", on, model[0], bounds[0], 0.02), ("OFF", off, model[1], bounds[1], 0.04)]
        {
            let mean = mean_us(&periods);
            assert!((mean / model - 1.0).abs() < tolerance, "{gbps}G: {what} {mean} us, model {model} us");
            assert!(periods.iter().all(|p| *p <= bound), "{gbps}G: {what} above {bound}");
        }
    }
}

#[test]
fn no_on_period_is_longer_than_max_ton_as_long_as_the_excess_is_epsilon_or_more() {
    let bound = max_ton(LINE, DELAY, MTU, GAP, 0.05).unwrap().max_ton;
    assert_eq!(bound, Span::from_ps(100_400_000));
    // epsilon · 40 Gbps = 2 Gbps above the drain rate, and more
    for mbps in [22_000, 22_500, 24_000, 28_000, 34_000, 40_000] {
        let (spec, port) = two_senders(Rate::from_mbps(mbps));
        let periods = run_until(spec, us(6_000)).on_periods(port);
        assert!(periods.len() > 20, "{mbps} Mbps: {} periods", periods.len());
        let longest = periods.iter().max().unwrap();
        assert!(*longest <= bound, "{mbps} Mbps: {longest} > {bound}");
    }
}

#[test]
fn an_excess_below_epsilon_lets_on_periods_grow_beyond_max_ton() {
    let bound = max_ton(LINE, DELAY, MTU, GAP, 0.05).unwrap().max_ton;
    let (spec, port) = two_senders(Rate::from_mbps(21_000));
    let periods = run_until(spec, us(8_000)).on_periods(port);
    assert!(periods.iter().all(|period| *period > bound), "{periods:?}");
}
