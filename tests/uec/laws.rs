//! What holds for any flows of Ultra Ethernet: everything comes once, everybody gets on, and no thread changes that.
use std::collections::BTreeMap;

use backwater_fabric::record::FaultKind;
use backwater_fabric::{Balancing, Control, Kind, LossShare, LossSpec, Simulation, Spec, UecWindow};
use backwater_traffic::Pacing;
use backwater_units::{Span, Time};
use proptest::prelude::*;
use scene::{
    FAST, Rules, chain, flow_of_priority, ideal, ring, run, run_until, star, try_run, try_saved, uec, us,
};

use crate::{LINE, LINK, far, from_zero, near};

const RULES: [Rules; 4] = [Rules::Window, Rules::Nscc, Rules::Rccc, Rules::Both];

/// Hosts 1, 2, … send so much to host 0.
fn incast(sources: u32, bytes: u64, rules: Rules) -> Spec {
    near(sources + 1, (1..=sources).map(|source| from_zero(source, 0, bytes)).collect(), rules)
}

/// What each flow gets between two instants, in µs.
fn between(from: u64, to: u64, spec: impl Fn() -> Spec) -> Vec<u64> {
    let got = |at| run_until(spec(), us(at)).flows.into_iter().map(|flow| flow.received.get());
    got(from).zip(got(to)).map(|(before, after)| after - before).collect()
}

/// Jain's index of fairness.
fn fairness(got: &[u64]) -> f64 {
    let got: Vec<f64> = got.iter().map(|got| *got as f64).collect();
    let (sum, squares) = (got.iter().sum::<f64>(), got.iter().map(|got| got * got).sum::<f64>());
    sum * sum / (squares * got.len() as f64)
}

/// Queues that drop: everything gets through, and the link is not idle for long.
#[test]
fn everything_that_is_sent_to_one_host_comes_once_though_most_of_a_first_window_is_lost() {
    for rules in RULES {
        let outcome = run(incast(16, 400_000, rules));
        for flow in &outcome.flows {
            assert_eq!(flow.received.get(), 400_000, "{rules:?}");
            assert!(flow.acked < Time::MAX);
            assert_eq!(flow.packets, 98);
        }
        let lost: u64 = outcome.flows.iter().map(|flow| flow.resent_packets).sum();
        assert!(lost > 0, "{rules:?}: 16 windows do not fit");
    }
}

/// NSCC: Jain's index of 0.95 or more of what 2, 8 and 64 flows get on one link.
#[test]
fn flows_under_windows_share_a_link() {
    for sources in [2, 8, 64] {
        let got = between(500, 4_000, || incast(sources, u64::MAX, Rules::Nscc));
        let index = fairness(&got);
        assert!(index >= 0.95, "{sources} flows: {index}");
    }
}

/// RCCC: credits are given in turn, so that what flows get differs by little more than one grant.
#[test]
fn flows_under_credits_get_the_same_to_one_grant() {
    for sources in [2, 8] {
        let got = between(500, 2_000, || incast(sources, u64::MAX, Rules::Rccc));
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(most - least <= 2 * 16_384, "{sources} flows: {got:?}");
        // 0.99 of the link, of which 4086 of 4150 B are payload, and what waited in the switch.
        let all: u64 = got.iter().sum();
        let link = 1_500 * 12_500 * 4086_u64 / 4150;
        assert!((0.985..=1.0).contains(&(all as f64 / link as f64)), "{all} of {link}");
    }
}

/// What wires lose is sent again, whoever rules.
#[test]
fn what_a_wire_loses_is_sent_again_after_a_timeout() {
    for rules in RULES {
        // At a switch; of what comes to the destination, and of what comes back to the source.
        for node in [4, 1, 0] {
            let mut spec = far(vec![from_zero(0, 1, 2_000_000)], rules);
            lose(&mut spec, node, 0.02, (Time::ZERO, Time::MAX));
            let flow = run(spec).flows[0];
            assert_eq!((flow.received.get(), flow.packets), (2_000_000, 490), "{rules:?}");
            assert!(flow.acked < Time::MAX, "{rules:?}");
            assert!(flow.timeouts > 0 || node == 0, "{rules:?}: {} timeouts", flow.timeouts);
        }
    }
}

/// A node loses a share of the frames that come to it.
fn lose(spec: &mut Spec, node: u32, share: f64, (from, until): (Time, Time)) {
    let share = LossShare::Frames(share);
    let loss = LossSpec { fault: 0, node, port: None, from, until, share, source: None, destination: None };
    spec.faults.losses.push(loss);
    spec.faults.kinds = vec![FaultKind::Loss];
}

/// Two hosts at a switch, 200 µs away: in 1.7 ms come 21 MB of which nothing is heard. The first ACK after that says all of it, and as the
/// window is larger, the flow takes as long as without loss.
#[test]
fn an_ack_makes_up_for_those_before_it_however_much_has_come() {
    let times = [0.0, 1.0].map(|share| {
        let network = chain(&[(LINE, Span::from_us(100)); 2]);
        let rtt = Span::from_us(401);
        let mut spec = uec(network, vec![from_zero(0, 1, 60_000_000)], Rules::Window, (LINE, rtt));
        spec.uecs[0].window = Some(UecWindow { first: 30_000_000, nscc: None });
        spec.uecs[0].rto = Span::from_ms(20);
        lose(&mut spec, 0, share, (us(1_000), us(2_700)));
        let flow = run(spec).flows[0];
        assert_eq!((flow.received.get(), flow.timeouts, flow.resent_packets), (60_000_000, 0, 0));
        flow.acked
    });
    assert!(times[0] < Time::MAX);
    assert_eq!(times[0], times[1]);
}

/// A ring of four switches has two equal ways to the switch at the other side: packets that are spread take both, an ECMP flow one.
#[test]
fn switches_that_spread_packets_spread_those_of_uec() {
    for (balancing, least) in [(Balancing::Spray, 80), (Balancing::Adaptive, 80), (Balancing::Ecmp, 0)] {
        let network = ring(4, LINE, LINK);
        let mut spec = uec(network, vec![from_zero(0, 2, 1_000_000)], Rules::Nscc, (LINE, Span::from_us(10)));
        spec.switch.balancing = balancing;
        let outcome = run(spec);
        // 245 packets; switch 4 is that of host 0, whose port 0 leads there.
        let by = |port| {
            let of = outcome.ports.iter().filter(|record| (record.node, record.port) == (4, port));
            of.map(|record| record.packets).sum::<u64>()
        };
        assert_eq!(by(1) + by(2), 245, "{balancing:?}");
        assert!(by(1).min(by(2)) >= least, "{balancing:?}: {} and {}", by(1), by(2));
        assert!(least > 0 || by(1).min(by(2)) == 0, "{balancing:?}");
    }
}

/// What goes ahead between two hosts on one link takes as long as the link, to the picosecond.
#[test]
fn two_hosts_may_be_an_odd_number_of_picoseconds_apart() {
    let network = chain(&[(LINE, Span::from_ps(1_000_001))]);
    let spec = uec(network, vec![from_zero(0, 1, 100_000)], Rules::Nscc, (LINE, Span::from_us(3)));
    let flow = try_run(spec, Kind::Windows { threads: 2 }, None).expect("nothing breaks").flows[0];
    assert_eq!((flow.received.get(), flow.resent_packets), (100_000, 0));
}

/// Without speculation an RTS leaves at once: 6 · 5.12 ns and 6 µs to the receiver and back for the pull, then as any flow of ten packets.
#[test]
fn a_flow_that_may_not_speculate_asks_at_once() {
    let mut spec = far(vec![from_zero(0, 1, 10 * 4086)], Rules::Rccc);
    spec.uecs[0].credits.as_mut().expect("RCCC").config.speculates = false;
    let flow = run(spec).flows[0];
    assert_eq!((flow.rts, flow.timeouts, flow.received.get()), (1, 0, 40_860));
    let asked = 2 * (6_000_000 + 6 * 5_120);
    // At most the gaps of three pulls of 16 384 B at 0.99 of the line, and what the ACK of the RTS takes before its first pull.
    let alone = asked + 17_010_720;
    let took = flow.acked.as_ps();
    assert!((alone..alone + 4 * 1_330_000).contains(&took), "{took} of {alone}");
}

/// A priority that is paused at the NIC does not hold up another one: the victim has at least half of the link of its host.
#[test]
fn a_priority_that_is_paused_lets_others_pass() {
    let jam = |source| flow_of_priority(3, source, 4, 10_000_000, Time::ZERO, Pacing::Controlled);
    let victim = flow_of_priority(4, 0, 5, 10_000_000, Time::ZERO, Pacing::Controlled);
    let flows: Vec<_> = std::iter::once(victim).chain((0..4).map(jam)).collect();
    let lossless = ideal(star(6, LINE, LINK), flows.clone()).switch;
    let mut spec = near(6, flows, Rules::Window);
    spec.uecs[0].window = Some(UecWindow { first: 2_000_000, nscc: None });
    spec.uecs[0].rto = Span::from_ms(50);
    (spec.switch.pfc, spec.switch.overflow) = (lossless.pfc, lossless.overflow);
    let outcome = run(spec);
    assert!(outcome.ports.iter().any(|port| port.pauses > 0), "nothing is paused");
    let took = outcome.flows[0].acked;
    // Twice 10 MB with headers at 100 Gbps are 1.63 ms.
    assert!(took < us(1_700), "{took:?}");
}

/// Records of packets say when the same one left and came, though others are lost.
#[test]
fn records_of_packets_join_the_same_packet() {
    let mut spec = far(vec![from_zero(0, 1, 2_000_000)], Rules::Nscc);
    spec.probe.packets = vec![true];
    lose(&mut spec, 1, 0.02, (Time::ZERO, Time::MAX));
    let outcome = run(spec);
    assert!(outcome.flows[0].resent_packets > 0);
    let left: BTreeMap<u32, Time> = outcome.records.injected.iter().map(|it| (it.seq, it.time)).collect();
    let mut took: Vec<u64> =
        outcome.records.arrived.iter().map(|it| it.time.since(left[&it.seq]).as_ps()).collect();
    assert_eq!((left.len(), took.len()), (490, 490));
    took.sort_unstable();
    // Six links of 1 µs and six times a full packet; one in fifty waits for its timeout.
    let alone = 6_000_000 + 6 * 332_000;
    assert!(took[1] >= alone && took[400] == alone, "{} {}", took[1], took[400]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// The same on one thread, on two, from one heap, and port by port or in order.
    #[test]
    fn what_happens_does_not_depend_on_how_it_is_computed(
        ends in prop::collection::vec((0..6_u32, 1..6_u32, 1..300_000_u64), 1..20),
        rules in prop::sample::select(RULES.to_vec()),
    ) {
        let flows = || ends.iter().map(|(src, by, bytes)| from_zero(*src, (src + by) % 6, *bytes)).collect();
        let digest = |kind, batching| {
            let spec = Spec { batching, ..near(6, flows(), rules) };
            let outcome = try_run(spec, kind, None).expect("nothing breaks");
            assert!(outcome.flows.iter().all(|flow| flow.acked < Time::MAX));
            (outcome.totals.digest, outcome.flows)
        };
        let first = digest(FAST, true);
        prop_assert_eq!(&digest(FAST, false), &first);
        prop_assert_eq!(&digest(Kind::Windows { threads: 2 }, true), &first);
        prop_assert_eq!(&digest(Kind::Heap, true), &first);
        // Saved and loaded twice while packets are under way.
        let mut next = || Simulation::new(near(6, flows(), rules), FAST);
        let stops = [(us(7), Vec::new()), (us(30), Vec::new())];
        let saved = try_saved(&mut next, &Control::default(), &stops).expect("nothing breaks");
        prop_assert_eq!(&(saved.totals.digest, saved.flows), &first);
    }
}
