//! What takes long is no deadlock: a jam before a slow link, updates that tell nothing new, updates that get lost.
use backwater_control::flow_control::{CreditReturn, Form, Threshold};
use backwater_fabric::{End, Queueing, Spec};
use backwater_topology::{Builder, Network};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{FAST, Outcome, chain, flow, ideal, infiniband, per_port, run, try_run, us};

const RATE: Rate = Rate::from_gbps(32);
const DELAY: Span = Span::from_us(1);
const SLOW: Rate = Rate::from_mbps(10);

/// Switches s0 to s3 in a row with two hosts each; the receiver hangs on the last one by a link of 10 Mbps.
fn row() -> Network {
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..8).map(|i| builder.host(format!("h{i}"))).collect();
    let receiver = builder.host("r");
    let row: Vec<u32> = (0..4).map(|i| builder.switch(format!("s{i}"))).collect();
    for (i, &host) in hosts.iter().enumerate() {
        builder.link(host, row[i / 2], RATE, DELAY);
    }
    for pair in row.windows(2) {
        builder.link(pair[0], pair[1], RATE, DELAY);
    }
    builder.link(receiver, row[3], SLOW, DELAY);
    builder.build().expect("a row")
}

/// Everyone sends `bytes` to the receiver behind the slow link.
fn into_the_slow_link(bytes: u64) -> Vec<Flow> {
    (0..8).map(|src| flow(src, 8, bytes, Time::ZERO, Pacing::LineRate)).collect()
}

fn longest_off(outcome: &Outcome) -> Span {
    let changes = &outcome.records.pauses;
    let off = changes.iter().enumerate().filter(|(_, change)| change.paused).filter_map(|(i, change)| {
        let same = |other: &&backwater_fabric::record::PauseRecord| {
            (other.node, other.port) == (change.node, change.port)
        };
        changes[i + 1..].iter().find(same).map(|end| end.time.since(change.time))
    });
    off.max().unwrap_or(Span::ZERO)
}

fn everything_arrives(spec: Spec) -> Outcome {
    let outcome = run(spec);
    assert_eq!(outcome.totals.end, End::Finished);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    outcome
}

#[test]
fn a_jam_under_credits_with_gates_closed_for_tens_of_milliseconds_is_no_deadlock() {
    // 2048 B take 1.6384 ms. s3 serves three ports in turn, so that the row has one packet in 4.9 ms, s2 of that a third, s1 a
    // ninth: 44 ms, and s0, a port of s1, gets one packet in 44 ms or more.
    for queueing in [Queueing::Output, Queueing::VirtualOutput] {
        for unchanged in [false, true] {
            let mut spec = infiniband(row(), into_the_slow_link(10 * 2048));
            let credits = spec.switch.credits.as_mut().unwrap();
            (credits.buffer, credits.unchanged) = (Bytes::new(4 * 2048), unchanged);
            credits.returned = CreditReturn::Periodic(Span::from_us(60));
            spec.switch.queueing = queueing;
            let outcome = everything_arrives(spec);
            // 80 packets over the slow link.
            assert!(outcome.totals.now >= us(80 * 1638));
            assert!(longest_off(&outcome) > Span::from_ms(20), "{}", longest_off(&outcome));
        }
    }
}

#[test]
fn a_jam_under_pfc_with_pauses_of_tens_of_milliseconds_is_no_deadlock() {
    for form in [Form::Ideal, Form::authors()] {
        let mut spec = ideal(row(), into_the_slow_link(100_000));
        spec.switch.pfc.as_mut().unwrap().form = form;
        let threshold = Threshold::Static {
            xoff: 10_000,
            xon: 8_000,
            port_xoff: u64::MAX,
            port_xon: u64::MAX,
            buffer: 18_000_000,
        };
        spec.switch.pfc.as_mut().unwrap().thresholds = per_port(&spec.network, |_| threshold);
        let outcome = everything_arrives(spec);
        assert!(longest_off(&outcome) > Span::from_ms(20), "{}", longest_off(&outcome));
    }
}

#[test]
fn a_link_of_which_a_single_packet_takes_longer_than_the_patience_is_slow_and_not_dead() {
    // 2048 B at 500 kbps: 33 ms each.
    let link = |kbps: u64| (Rate::from_bps(kbps * 1000), DELAY);
    let flows = || vec![flow(0, 1, 20 * 2048, Time::ZERO, Pacing::LineRate)];
    let mut spec = infiniband(chain(&[link(32_000_000), link(500)]), flows());
    spec.switch.credits.as_mut().unwrap().buffer = Bytes::new(4 * 2048);
    everything_arrives(spec);
}

#[test]
fn updates_without_news_do_not_keep_a_run_from_ending() {
    let mut spec = infiniband(row(), vec![flow(0, 7, 300_000, Time::ZERO, Pacing::LineRate)]);
    spec.switch.credits.as_mut().unwrap().unchanged = true;
    let outcome = try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(outcome.totals.end, End::Finished);
    assert!(outcome.totals.now < us(300));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_link_that_loses_almost_all_updates_is_slow_and_not_dead(
        seed in any::<u64>(),
        loss_ppm in 900_000_u32..990_000,
        period in 20_u64..60,
    ) {
        let flows = vec![flow(0, 1, 40 * 2048, Time::ZERO, Pacing::LineRate)];
        let mut spec = infiniband(chain(&[(RATE, DELAY); 3]), flows);
        spec.seed = seed;
        let credits = spec.switch.credits.as_mut().unwrap();
        (credits.unchanged, credits.loss_ppm) = (true, loss_ppm);
        (credits.buffer, credits.returned) = (Bytes::new(4 * 2048), CreditReturn::Periodic(Span::from_us(period)));
        everything_arrives(spec);
    }
}
