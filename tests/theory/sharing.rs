//! How flows under congestion control share one link. DCQCN has one fixed point, the fair share (Zhu et al., SIGCOMM 2015,
//! §5; Zhu et al., ECN or Delay, 2016, §3.1). TIMELY's has none to speak of (ECN or Delay, 2016, §4.2): its delay swings about Tlow, and
//! flows that start alike stay alike.
use backwater_control::reaction::{ReactionConfig, TimelyConfig};
use backwater_fabric::{AckSpec, SegmentSpec, Spec};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{authors, flow, red, run_until, us};

/// `n` endless flows that start within 10 us, each from a host of its own, over one 40 Gbps link.
fn shared(n: u32) -> Spec {
    let network = generate::dumbbell(n, 1, Rate::from_gbps(40), Span::from_us(4), None).expect("a dumbbell");
    let start = |i: u32| Time::from_ps(u64::from(i) * 1_000_000);
    let flows = (0..n).map(|i| flow(i, n, u64::MAX, start(i), Pacing::Controlled)).collect();
    authors(network, flows, red())
}

fn timely(n: u32) -> Spec {
    let mut spec = shared(n);
    let pair = &mut spec.pairs[0];
    pair.reaction = ReactionConfig::Timely(TimelyConfig::authors(Rate::from_gbps(40), Span::from_us(24)));
    pair.notify = None;
    pair.ack = Some(AckSpec { every: 16, size: Bytes::new(64), priority: Some(7) });
    pair.segment = Some(SegmentSpec { packets: 16, burst: true, once_per_round_trip: false });
    spec
}

/// Gbit/s of payload that each flow got from `from` to `to`, in microseconds.
fn goodput(spec: impl Fn() -> Spec, from: u64, to: u64) -> Vec<f64> {
    let received = |at| run_until(spec(), us(at)).flows.iter().map(|f| f.received.get()).collect::<Vec<_>>();
    let (before, after) = (received(from), received(to));
    before
        .iter()
        .zip(after)
        .map(|(before, after)| (after - before) as f64 * 8e-3 / (to - from) as f64)
        .collect()
}

/// Jain's index: 1 for equal shares, 1/n if one has it all.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn dcqcn_flows_end_at_equal_shares_of_a_link_that_they_fill() {
    for n in [2, 4, 8] {
        let shares = goodput(|| shared(n), 60_000, 100_000);
        assert!(jain(&shares) > 0.95, "{n} flows: {shares:?}");
        let sum: f64 = shares.iter().sum();
        // 1000 of 1020 B are payload: 39.2 Gbps at most.
        assert!(sum > 0.9 * 39.2, "{n} flows: {shares:?}");
    }
}

#[test]
fn timely_flows_starve_no_one_and_leave_little_of_the_link() {
    for n in [2, 4, 8] {
        let shares = goodput(|| timely(n), 60_000, 100_000);
        let fair = 39.2 / f64::from(n);
        assert!(shares.iter().all(|&share| share > fair / 2.0), "{n} flows: {shares:?}");
        assert!(shares.iter().sum::<f64>() > 0.8 * 39.2, "{n} flows: {shares:?}");
    }
}

#[test]
fn timely_s_standing_queue_costs_less_than_thigh() {
    // Thigh is 500 us; the empty network takes 24 us of that, and at 40 Gbps 476 us are 2.38 MB.
    let mut spec = timely(4);
    spec.probe.sample = Some(Span::from_us(10));
    let bottleneck =
        spec.network.port_to(spec.network.find("left").unwrap(), spec.network.find("right").unwrap());
    spec.probe.ports = vec![(spec.network.find("left").unwrap(), bottleneck.unwrap())];
    let outcome = run_until(spec, us(100_000));
    let settled = outcome.records.samples.iter().filter(|sample| sample.time > us(60_000));
    let most = settled.map(|sample| sample.queue.get()).max().unwrap();
    assert!(most < 2_380_000, "{most} B");
}
