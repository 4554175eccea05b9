//! More senders than a link carries: the throttle must not idle the hot port, and spares those who do not use it.
use backwater_control::reaction::{RateLaw, StateRule};
use backwater_fabric::Spec;
use backwater_topology::generate::star;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span, Time};
use scene::{Outcome, flow, run, run_until, throttled, us};

const LINE: Rate = Rate::from_gbps(100);
const CABLE: Span = Span::from_ns(100);

/// Hosts 1 to `senders` send to host 0 without an end.
fn incast(senders: u32) -> Vec<Flow> {
    (1..=senders).map(|i| flow(i, 0, u64::MAX, Time::ZERO, Pacing::LineRate)).collect()
}

fn crowd(senders: u32) -> Spec {
    throttled(star(senders + 1, LINE, CABLE).unwrap(), incast(senders))
}

/// Bytes that left the switch for host 0.
fn through_the_hot_port(outcome: &Outcome) -> u64 {
    let network = outcome.simulation.network();
    let port = &network.ports(network.hosts()[0])[0];
    outcome.port((port.peer, port.peer_port), 3).bytes.get()
}

#[test]
fn twenty_three_senders_keep_the_port_that_they_share_at_line_rate() {
    let rules = [
        StateRule::Fixed { enter: 672, escape: 592 },
        throttled(star(2, LINE, CABLE).unwrap(), Vec::new()).throttle.unwrap().config.rule,
    ];
    let fixed = (RateLaw::FixedInterval, 0, 10);
    let random = (RateLaw::RandomInterval { bits: 30 }, 18, 0);
    for rule in rules {
        for (law, m, n) in [fixed, random] {
            let mut spec = crowd(23);
            let config = &mut spec.throttle.as_mut().unwrap().config;
            (config.rule, config.law, config.m, config.n) = (rule, law, m, n);
            let outcome = run_until(spec, us(1_000));
            // 12.5 B/ns from the arrival of the first packet on, which is there after 0.2 us; the first periods are full already.
            let bytes = through_the_hot_port(&outcome);
            assert!(bytes >= 12_500 * 999, "{rule:?} {law:?}: {bytes}");
        }
    }
}

#[test]
fn where_congestion_lasts_fewer_credits_are_in_use_with_the_throttle_than_without() {
    let mean = |throttle: bool| {
        let mut spec = crowd(23);
        if !throttle {
            // c is counted, but nobody is ever Congested.
            spec.throttle.as_mut().unwrap().config.rule = StateRule::Fixed { enter: u32::MAX, escape: 0 };
        }
        let periods = run_until(spec, us(1_000)).records.throttle;
        let late = periods.iter().filter(|period| period.start >= us(500));
        let used: Vec<u64> = late.map(|period| period.used_mean_milli).collect();
        assert_eq!(used.len(), 23 * 50);
        used.iter().sum::<u64>() / used.len() as u64
    };
    let (with, without) = (mean(true), mean(false));
    // Without it each sender has all 4096 in use but for the packet that is being freed.
    assert!(without > 4_000_000, "{without}");
    // With it a sender that has its share of 1/23 settles where 1 - c / 4096 is no less than that.
    assert!(with < without * 97 / 100, "{with} {without}");
}

#[test]
fn a_sender_whose_port_is_free_uses_few_credits_beside_a_crowd() {
    let mut flows = incast(10);
    flows.push(flow(11, 12, u64::MAX, Time::ZERO, Pacing::LineRate));
    let outcome = run_until(throttled(star(13, LINE, CABLE).unwrap(), flows), us(300));
    let network = outcome.simulation.network();
    let bystander = network.hosts()[11];
    let most = |of: bool| {
        let periods = outcome.records.throttle.iter().filter(|period| (period.node == bystander) == of);
        periods.map(|period| period.used_max).max().unwrap()
    };
    // A round trip of 0.2 us and three packets: 20 packets at most; a crowd of 10 has the thresholds behind it.
    assert!(most(true) < 592, "{}", most(true));
    assert!(most(false) > 672);
    assert!(outcome.records.throttle_states.iter().all(|state| state.node != bystander));
}

#[test]
fn a_nic_that_stops_for_too_many_credits_in_use_goes_on_when_they_come_back() {
    // p = 0 from 1024 flits in use on, and so down to the threshold: only credits that come back wake the NIC.
    let flows = (1..=4).map(|i| flow(i, 0, 1024 * 500, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = throttled(star(5, LINE, CABLE).unwrap(), flows);
    let config = &mut spec.throttle.as_mut().unwrap().config;
    config.rule = StateRule::Fixed { enter: 1_100, escape: 1_000 };
    config.m = 20;
    let outcome = run(spec);
    let periods = &outcome.records.throttle;
    // Congested is entered by the packet after which 1100 are exceeded, the 18th.
    assert_eq!(periods.iter().map(|period| period.used_max).max(), Some(18 * 64));
    assert!(periods.iter().any(|period| period.entries > 1));
    // The hot port never waits: 2000 packets, and the way of the first.
    let last = outcome.flows.iter().map(|flow| flow.finish).max().unwrap();
    let least = 2_000 * 81_920;
    assert!(last.as_ps() < least + 1_000_000, "{last}");
}

#[test]
fn between_the_thresholds_of_the_paper_the_state_alternates() {
    // 592 < c < 672 for a while: 768 cycles Normal and 768 Congested, 1.097 us each. A cable of 100 us, and 640 flits that are not
    // given back before 200 us.
    let network = star(2, LINE, Span::from_us(100)).unwrap();
    let outcome = run(throttled(network, vec![flow(1, 0, 10 * 1024, Time::ZERO, Pacing::LineRate)]));
    let states = &outcome.records.throttle_states;
    let cycles = 768.0 * 1e6 / 700.0;
    assert!(states.len() > 150, "{}", states.len());
    for pair in states.windows(2) {
        assert_ne!(pair[0].congested, pair[1].congested);
        let apart = pair[1].time.since(pair[0].time).as_ps() as f64;
        // The last one is left by the credits that come back.
        assert!((apart - cycles).abs() < 2.0 || pair[1].time > us(200), "{apart}");
        assert_eq!((pair[0].used, pair[0].lane), (640, 0));
    }
    // Half of each period between is Congested.
    for period in outcome.records.throttle.iter().filter(|p| (us(10)..us(190)).contains(&p.start)) {
        assert!(period.congested.as_ps().abs_diff(5_000_000) < 1_100_000, "{period:?}");
        assert_eq!(period.used_mean_milli, 640_000);
    }
}
