//! What takes long is no deadlock: a jam before a slow link, updates that tell nothing new, updates that get lost.
use backwater_control::flow_control::{CreditReturn, Form, Threshold};
use backwater_fabric::record::PauseRecord;
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
        let same = |other: &&PauseRecord| (other.node, other.port) == (change.node, change.port);
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

/// Five switches in a ring, each with so many hosts and, at a link of the rate `exit`, a receiver.
fn ring_with_slow_exits(hosts: u32, exit: Rate) -> Network {
    let per_switch = hosts as usize;
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..5 * hosts).map(|i| builder.host(format!("h{i}"))).collect();
    let receivers: Vec<u32> = (0..5).map(|i| builder.host(format!("r{i}"))).collect();
    let ring: Vec<u32> = (0..5).map(|i| builder.switch(format!("s{i}"))).collect();
    for (i, &host) in hosts.iter().enumerate() {
        builder.link(host, ring[i / per_switch], RATE, DELAY);
    }
    for (i, &receiver) in receivers.iter().enumerate() {
        builder.link(receiver, ring[i], exit, DELAY);
        builder.link(ring[i], ring[(i + 1) % 5], RATE, DELAY);
    }
    builder.build().expect("a ring")
}

/// At each switch so many `locals` send 2048 B, three times, to its receiver: one packet in 1.6384 ms, the first host's first. From
/// the switch before comes one packet for it at each instant of `exits` (us), which has its turn after all of them, and at 10 us
/// three that go on to the next switch; there is room for four. When all gates of the ring have been closed for long, and
/// before each stand packets from the gate behind it, one packet in each buffer still waits for nothing but its turn.
fn around_slow_exits(locals: u32, exits: &[u64]) -> Spec {
    let mut flows = Vec::new();
    for i in 0..5 {
        let at = |switch: u32, host: u32| 16 * (switch % 5) + host;
        let send =
            |src, dst, packets: u64, start| flow(src, dst, packets * 2048, us(start), Pacing::LineRate);
        flows.extend((2..2 + locals).map(|host| send(at(i, host), 80 + i, 3, u64::from(host > 2))));
        flows.extend(exits.iter().map(|&start| send(at(i, 0), 80 + (i + 1) % 5, 1, start)));
        flows.push(send(at(i, 1), at(i + 2, 0), 3, 10));
    }
    flows.sort_by_key(|flow| flow.start);
    let mut spec = infiniband(ring_with_slow_exits(16, SLOW), flows);
    spec.switch.credits.as_mut().unwrap().buffer = Bytes::new(4 * 2048);
    spec
}

#[test]
fn a_circle_of_gates_of_which_each_will_open_when_a_slow_link_has_time_is_no_deadlock() {
    // Two wait for their turn after 14 others, 23 ms. Or one is on its way after 12 others, from 19.7 to 21.3 ms, before another.
    for (locals, exits) in [(14, [1, 1]), (12, [1, 20])] {
        let spec = around_slow_exits(locals, &exits);
        let ring = |i: u32| spec.network.port_to(85 + i, 85 + (i + 1) % 5).unwrap();
        let ports: Vec<(u32, u16)> = (0..5).map(|i| (85 + i, ring(i))).collect();
        let outcome = everything_arrives(spec);
        for port in ports {
            let gate = outcome.pauses_at(port);
            let long =
                |off: &[PauseRecord]| off[0].paused && off[0].time < us(100) && off[1].time > us(20_000);
            assert!(gate.windows(2).any(long), "{gate:?}");
        }
    }
}

#[test]
fn pauses_that_will_run_out_are_no_circle_however_long_they_last() {
    // A pause lasts 2 ms. Each ingress of the ring gets 40 KB that go on and 40 KB for the slow receiver, and crosses 30 KB. The
    // latter leave; what is left waits behind the pause of the next port, between Xon and Xoff: nothing is renewed or taken back.
    let form = Form::Timed { pause: Span::from_ms(2), poll: Span::from_us(500) };
    let spec = || {
        let flows = (0..5).map(|i| flow(i, 5 + (i + 2) % 5, 40_000, Time::ZERO, Pacing::LineRate)).collect();
        let mut spec = ideal(ring_with_slow_exits(1, Rate::from_gbps(1)), flows);
        let threshold = Threshold::Static {
            xoff: 30_000,
            xon: 0,
            port_xoff: u64::MAX,
            port_xon: u64::MAX,
            buffer: 18_000_000,
        };
        let pfc = spec.switch.pfc.as_mut().unwrap();
        (pfc.form, pfc.thresholds) = (form, per_port(&spec.network, |_| threshold));
        spec
    };
    let outcome = everything_arrives(spec());
    for switch in 10..15 {
        let gates = (0..4).map(|port| outcome.pauses_at((switch, port)));
        let long = |off: &[PauseRecord]| off[0].paused && off[0].time < us(200) && off[1].time > us(2_000);
        assert_eq!(gates.filter(|gate| gate.windows(2).any(long)).count(), 1);
    }
    // The end of a run is when it is looked for.
    for end in 2..20 {
        assert!(try_run(spec(), FAST, Some(us(100 * end))).is_ok());
    }
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
