//! When the packets of a throttled NIC leave, by arithmetic. Packets of 1024 B: 64 flits of 1.28 ns, 81.92 ns on a wire.
use backwater_control::reaction::{RateLaw, StateRule};
use backwater_fabric::{Scope, Spec};
use backwater_topology::generate::star;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, run, run_until, spaced, throttled, us, with_links};

const LINE: Rate = Rate::from_gbps(100);
const PACKET: u64 = 81_920;

/// Host 1 sends so many packets to host 2. A cable of 200 us between it and the switch: no credit comes back for long.
fn far(packets: u64) -> (backwater_topology::Network, Vec<backwater_traffic::Flow>) {
    let network = star(3, LINE, Span::from_ns(500)).unwrap();
    let network = with_links(&network, |i, link| {
        if i == 1 {
            link.delay = Span::from_us(200);
        }
    });
    (network, vec![flow(1, 2, packets * 1024, Time::ZERO, Pacing::LineRate)])
}

/// When each packet left, in ps.
fn starts(mut spec: Spec) -> (Vec<u64>, Outcome) {
    spec.probe.packets = vec![true];
    let outcome = run(spec);
    (outcome.records.injected.iter().map(|packet| packet.time.as_ps()).collect(), outcome)
}

#[test]
fn with_a_fixed_interval_the_link_is_idle_so_many_flit_times_after_each_flit() {
    // The first packet finds nothing in use. It leaves no gap; every other one does, of 64 * 3 flit times.
    let (network, flows) = far(20);
    let (starts, outcome) = starts(spaced(network, flows, 3));
    let expected: Vec<u64> = (0..20).map(|i| PACKET * if i == 0 { 0 } else { 1 + 4 * (i - 1) }).collect();
    assert_eq!(starts, expected);
    // All that time the flow was held, and its NIC's gate for want of credits was open.
    let record = &outcome.flows[0];
    assert_eq!(record.nic_held.as_ps(), 18 * 3 * PACKET);
    assert_eq!((record.paced, record.nic_queue), (Span::ZERO, Span::ZERO));
    let nic = outcome.simulation.network().hosts()[1];
    assert_eq!(outcome.port((nic, 0), 3).paused, Span::ZERO);
}

#[test]
fn idle_cycles_are_those_of_the_core_clock_whatever_a_flit_takes() {
    // The paper's 700 MHz: 64 flits with three idle cycles of 10/7 ns each are 274.2857 ns, rounded down to a picosecond.
    let (network, flows) = far(3);
    let mut spec = spaced(network, flows, 3);
    spec.throttle.as_mut().unwrap().config.clock = 700_000_000;
    assert_eq!(starts(spec).0, [0, PACKET, 2 * PACKET + 274_285]);
}

#[test]
fn the_interval_grows_with_the_credits_in_use_when_a_packet_starts() {
    // f(c) = c / 16: packet i starts with 64 i flits in use, as none comes back, and f(c) = 4 i.
    let (network, flows) = far(24);
    let mut spec = spaced(network, flows, 0);
    spec.throttle.as_mut().unwrap().config.n = 4;
    let (starts, outcome) = starts(spec);
    let mut expected = vec![0];
    for i in 0..23 {
        expected.push(expected[i] + PACKET * (1 + 4 * i as u64));
    }
    assert_eq!(starts, expected);
    // The last one starts after 1035 packet times, 84.8 us. All flits are in use until the first credit is back after 400 us.
    let periods = &outcome.records.throttle;
    assert_eq!(periods.iter().map(|period| period.used_max).max(), Some(24 * 64));
    assert!(
        periods
            .iter()
            .filter(|p| (us(90)..us(400)).contains(&p.start))
            .all(|p| p.used_mean_milli == 1_536_000)
    );
    assert_eq!(periods.iter().map(|period| period.sent_flits).sum::<u64>(), 24 * 64);
}

#[test]
fn with_the_mean_of_a_random_interval_the_rate_is_1_less_f_over_r() {
    // f = R / 4: for each flit that goes, a third of a flit time is idle.
    let (network, flows) = far(40);
    let mut spec = spaced(network, flows, 1 << 20);
    spec.throttle.as_mut().unwrap().config.law = RateLaw::MeanInterval { bits: 22 };
    let (starts, _) = starts(spec);
    for (i, start) in starts.iter().enumerate().skip(1) {
        // 64 / 3 flit times, rounded to a picosecond.
        let expected = PACKET + (i as u64 - 1) * (PACKET + PACKET / 3);
        assert!(start.abs_diff(expected) <= i as u64, "{i}: {start} {expected}");
    }
}

#[test]
fn random_intervals_are_whole_flit_times_and_have_their_mean() {
    // p = 3/4: 64 flits need 64 / p cycles on average, with a variance of 64 (1 − p) / p^2.
    let (network, flows) = far(60);
    let mut gaps = Vec::new();
    for seed in 1..=20 {
        let mut spec = spaced(network.clone(), flows.clone(), 1 << 20);
        spec.throttle.as_mut().unwrap().config.law = RateLaw::RandomInterval { bits: 22 };
        spec.seed = seed;
        let (starts, _) = starts(spec);
        gaps.extend(starts.windows(2).skip(1).map(|pair| pair[1] - pair[0] - PACKET));
    }
    assert!(gaps.iter().all(|gap| gap.is_multiple_of(1_280)));
    let mean = gaps.iter().sum::<u64>() as f64 / 1_280.0 / gaps.len() as f64;
    let deviation = (64.0 / 4.0 / (9.0 / 16.0) / gaps.len() as f64).sqrt();
    assert!((mean - 64.0 / 3.0).abs() < 4.0 * deviation, "{mean}");
}

#[test]
fn a_random_interval_depends_on_2_to_the_m_over_r_alone() {
    // With 2^m / R = 2^-10 and up to 960 flits in use the chance stays above 0.
    let (network, flows) = far(15);
    let starts_with = |m, bits| {
        let mut spec = throttled(network.clone(), flows.clone());
        let config = &mut spec.throttle.as_mut().unwrap().config;
        config.rule = StateRule::Fixed { enter: 0, escape: 0 };
        (config.law, config.m) = (RateLaw::RandomInterval { bits }, m);
        starts(spec).0
    };
    assert_eq!(starts_with(18, 28), starts_with(22, 32));
    assert_ne!(starts_with(18, 28), starts_with(18, 30));
}

#[test]
fn what_is_held_is_told_in_every_period_and_adds_up() {
    let (network, flows) = far(200);
    let mut spec = spaced(network, flows, 3);
    spec.switch.credits.as_mut().unwrap().buffer = Bytes::new(1 << 20);
    let outcome = run(spec);
    let periods = &outcome.records.throttle;
    let held: u64 = periods.iter().map(|period| period.held.as_ps()).sum();
    assert_eq!(held, outcome.flows[0].nic_held.as_ps());
    assert_eq!(held, 198 * 3 * PACKET);
    // While it sends, three quarters of every period but the first are held.
    for period in periods.iter().filter(|period| (us(10)..us(60)).contains(&period.start)) {
        assert!(period.held.as_ps().abs_diff(7_500_000) <= PACKET * 3, "{period:?}");
        assert_eq!(period.congested, Span::from_us(10));
    }
    assert_eq!(periods.iter().map(|period| period.entries).sum::<u32>(), 1);
}

#[test]
fn time_that_a_flow_waits_for_others_is_not_time_held() {
    // Two flows at one NIC take turns. Each waits for two gaps and one packet of the other.
    let (network, mut flows) = far(10);
    flows.push(flow(1, 0, 10 * 1024, Time::ZERO, Pacing::LineRate));
    let (starts, outcome) = starts(spaced(network, flows, 3));
    assert_eq!(starts.len(), 20);
    let [first, second] = [0, 1].map(|i| &outcome.flows[i]);
    // Of 20 packets 0 and 1 leave back to back, and then one in four packet times.
    assert_eq!((first.nic_queue.as_ps(), first.nic_held.as_ps()), (9 * PACKET, 17 * 3 * PACKET));
    assert_eq!((second.nic_queue.as_ps(), second.nic_held.as_ps()), (10 * PACKET, 18 * 3 * PACKET));
}

#[test]
fn below_the_threshold_nothing_is_held() {
    // Round trip: 2 us of cable and a packet each way; 2.2 us are 1700 flits at line rate, 41 % of 4096.
    let network = star(2, LINE, Span::from_us(1)).unwrap();
    let mut spec = throttled(network, vec![flow(1, 0, u64::MAX, Time::ZERO, Pacing::LineRate)]);
    let throttle = spec.throttle.as_mut().unwrap();
    assert_eq!(throttle.scope, Scope::Port);
    throttle.config.rule = StateRule::Fixed { enter: 1_800, escape: 1_800 };
    let outcome = run_until(spec, us(500));
    assert_eq!(outcome.records.throttle_states, []);
    let periods = &outcome.records.throttle;
    assert!(periods.iter().all(|period| period.held == Span::ZERO && period.congested == Span::ZERO));
    assert!(periods.iter().skip(1).all(|period| (1_500..1_800).contains(&period.used_max)));
}
