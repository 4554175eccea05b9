//! What the papers promise: DCTCP keeps queues at K, Swift delays at their target, HPCC queues empty and links at η.
use backwater_control::reaction::{ReactionConfig, SwiftConfig};
use backwater_units::Span;
use scene::{Outcome, run, run_until, us};

use crate::settings::{BDP, ROUND_TRIP, bottleneck, dctcp, hpcc, long, swift};

/// Bytes that waited at the bottleneck, sampled in the last 2 ms of so many microseconds.
fn queue(n: u32, reaction: ReactionConfig, until: u64) -> (Vec<u64>, Outcome) {
    let outcome = run_until(long(n, reaction), us(until));
    let settled = us(until - 2_000);
    let samples = outcome.records.samples.iter();
    let late = samples.filter(|sample| sample.time >= settled && sample.priority == 3);
    (late.map(|sample| sample.queue.get()).collect(), outcome)
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

/// Share of the bottleneck that was used from 1 ms to 5 ms.
fn utilisation(n: u32, reaction: ReactionConfig) -> f64 {
    let sent = |at| {
        let outcome = run_until(long(n, reaction), us(at));
        let port = bottleneck(outcome.simulation.network());
        outcome.port(port, 3).bytes.get()
    };
    (sent(5_000) - sent(1_000)) as f64 / (5e9 * 4e-3)
}

#[test]
fn dctcp_keeps_the_queue_of_two_flows_about_k_and_the_link_full() {
    // The paper's §3.3: the queue's amplitude is of the order of √(C·RTT·N/2)/2 packets, here some 8; K is 30 KB, far enough from 0.
    let (queue, _) = queue(2, dctcp(), 5_000);
    let mean = mean(&queue);
    assert!((20_000.0..36_000.0).contains(&mean), "{mean}");
    assert!(queue.iter().all(|&bytes| bytes < 60_000), "{:?}", queue.iter().max());
    assert!(utilisation(2, dctcp()) > 0.98);
}

#[test]
fn swift_keeps_the_delay_of_two_flows_about_its_target() {
    let ReactionConfig::Swift(config) = swift() else { unreachable!("Swift") };
    let (queue, _) = queue(2, swift(), 5_000);
    // Each flow has half of what fills the path and the queue; two switches.
    let delay = |queue: f64| ROUND_TRIP.as_ps() as f64 + queue * 200.0;
    let packets = |queue: f64| (BDP as f64 + queue) / 2000.0;
    let (found, target) = (delay(mean(&queue)), config.target(packets(mean(&queue)), 2));
    assert!((0.8..1.05).contains(&(found / target)), "{found} ps for {target} ps");
    assert!(utilisation(2, swift()) > 0.97);
}

#[test]
fn a_hundred_flows_under_swift_go_below_one_packet_and_keep_the_queue_bounded() {
    // 63 packets fill the path: a hundred flows with one packet each would keep 37 in the queue; flow scaling allows more delay.
    let (queue, outcome) = queue(100, swift(), 12_000);
    assert!(outcome.flows.iter().all(|flow| flow.received.get() > 0), "nobody starves");
    let most = SwiftConfig::standard(1000, BDP, Span::from_ps(ROUND_TRIP.as_ps() / 3)).target(0.5, 2);
    assert!(mean(&queue) * 200.0 < most, "{}", mean(&queue));
}

#[test]
fn hpcc_keeps_the_queue_empty_and_the_link_at_eta() {
    for n in [1, 2, 4] {
        let (queue, _) = queue(n, hpcc(), 5_000);
        // What a flow adds per round trip, 80 B each, is all that may wait beside packets that meet.
        assert!(mean(&queue) < f64::from(n) * 1_500.0, "{n} flows: {}", mean(&queue));
        let used = utilisation(n, hpcc());
        assert!((0.92..0.985).contains(&used), "{n} flows: {used}");
    }
}

/// Jain's index of what `n` flows received from 5 ms to 15 ms: 1 if all the same, 1/n if one had it all.
fn fairness(n: u32, reaction: ReactionConfig) -> f64 {
    let received = |at| -> Vec<u64> {
        let outcome = run_until(long(n, reaction), us(at));
        outcome.flows.iter().map(|flow| flow.received.get()).collect()
    };
    let (before, after) = (received(5_000), received(15_000));
    let shares: Vec<f64> = before.iter().zip(&after).map(|(before, after)| (after - before) as f64).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (f64::from(n) * squares)
}

#[test]
fn flows_that_share_a_link_get_fair_shares() {
    // 0.91 is what the Swift paper's §5.5 reports, of 5000 flows; DCTCP's §3.3 and HPCC's §3.4 promise fair shares without a number.
    for reaction in [dctcp(), swift(), hpcc()] {
        for n in [2, 8] {
            let index = fairness(n, reaction);
            assert!(index > 0.91, "{n} flows under {reaction:?}: {index}");
        }
    }
}

#[test]
fn a_window_of_one_packet_takes_a_round_trip_per_packet() {
    let mut spec = long(1, dctcp());
    let ReactionConfig::Dctcp(config) = &mut spec.pairs[0].reaction else { unreachable!("DCTCP") };
    (config.initial, config.max) = (1000, 1000);
    spec.flows[0].size = backwater_units::Bytes::new(10_000);
    let outcome = run(spec);
    let one_way = Span::from_ps(6_000_000 + 3 * 200_000).as_ps();
    let finish = outcome.flows[0].finish.as_ps();
    assert_eq!(finish, 9 * ROUND_TRIP.as_ps() + one_way);
}
