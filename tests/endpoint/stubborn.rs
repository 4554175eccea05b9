//! Streams that hardly get anything through: the run goes on, and comes to its end. And what counts as having got through.
use backwater_fabric::{DrainSpec, EndpointSpec, Spec};
use backwater_traffic::{Full, Gaps, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{DELAY, FAST, LINE, POLICIES, flow, lossy, run_until, star, try_run, us};

/// Eight applications that make PUTs at random send to a host that drains `drain`.
fn incast(policy: usize, drain: Rate) -> Spec {
    let pacing = Pacing::Supplied {
        rate: Rate::from_mbps(12_800),
        backlog: 16,
        until: Time::MAX,
        drawn: None,
        gaps: Gaps::Exponential,
        full: Full::Wait,
    };
    let flows = (1..9).map(|source| flow(source, 0, u64::MAX, Time::ZERO, pacing)).collect();
    let slow = EndpointSpec {
        depth: Bytes::new(80_992),
        drain: DrainSpec::Constant(drain),
        cached: None,
        pfc: None,
    };
    Spec { endpoints: vec![Some(slow)], ..lossy(star(9, LINE, DELAY), flows, POLICIES[policy]) }
}

#[test]
fn a_host_a_thousand_times_slower_than_its_link_is_a_slow_host_and_not_a_dead_one() {
    for policy in 0..3 {
        for drain in [1_000, 100, 10] {
            let outcome = run_until(incast(policy, Rate::from_mbps(drain)), us(2_000));
            // 80 992 B fit; what is drained of 2112 B each in 2 ms comes on top.
            let drained = drain * 2_000_000 / 8 / 1_000 / 2_112;
            let accepted: u64 = outcome.flows.iter().map(|flow| flow.packets).sum();
            assert!(
                (drained.saturating_sub(1)..=drained + 1).contains(&accepted),
                "{policy}: {accepted} of {drained}"
            );
        }
    }
}

#[test]
fn a_retry_timer_shorter_than_the_round_trip_ends_the_run_or_does_not_but_the_run_ends() {
    for policy in 0..3 {
        let mut spec = incast(policy, Rate::from_mbps(51_200));
        spec.puts[0].retry = Span::from_us(1);
        let _ = try_run(spec, FAST, Some(us(500)));
    }
}

#[test]
fn what_the_last_packet_is_padded_with_is_not_goodput() {
    let flows = vec![flow(1, 0, 3_000, Time::ZERO, Pacing::LineRate)];
    let mut spec = lossy(star(2, LINE, DELAY), flows, POLICIES[2]);
    // Two packets of 2048 B and a header on the wire, 3000 B of data.
    spec.packet.padded = true;
    (spec.probe.streams, spec.probe.sample) = (true, Some(Span::from_us(50)));
    let outcome = run_until(spec, us(50));
    let streams = &outcome.records.streams;
    assert_eq!(streams.iter().map(|end| end.accepted_bytes.get()).sum::<u64>(), 3_000);
    assert_eq!(streams.iter().map(|end| end.sent_bytes.get()).sum::<u64>(), 2 * 2_112);
    assert_eq!(outcome.flows[0].received, Bytes::new(3_000));
}
