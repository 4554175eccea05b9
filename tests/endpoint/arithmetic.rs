//! What can be worked out beforehand in the network of the EC paper: 102.4 Gbps (32 B in 2.5 ns), 8 us there and back.
use backwater_control::flow_control::Threshold;
use backwater_control::reaction::PolicyConfig;
use backwater_fabric::record::{PutEvent, PutRecord};
use backwater_fabric::{Overflow, PfcSpec, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Span, Time};
use scene::{
    DELAY, LINE, Outcome, POLICIES, flow, ideal, lossy, per_port, run, run_until, slow, star, unicast, us,
};

/// OPT and DACK.
const OPT: PolicyConfig = POLICIES[0];
const DACK: PolicyConfig = POLICIES[2];

fn count(outcome: &Outcome, event: PutEvent, from: Time) -> usize {
    times(outcome, event, from).count()
}

fn times(outcome: &Outcome, event: PutEvent, from: Time) -> impl Iterator<Item = &PutRecord> {
    outcome.records.puts.iter().filter(move |record| record.event == event && record.time >= from)
}

/// `bytes` in the time from `from` to `until`, as a share of the link.
fn share(bytes: u64, from: Time, until: Time) -> f64 {
    bytes as f64 * 8e12 / until.since(from).as_ps() as f64 / LINE.as_bps() as f64
}

/// A greedy stream of PUTs of `payload` bytes to a host that drains so many thousandths of the link.
fn stream(policy: PolicyConfig, payload: u64, permille: u64) -> Spec {
    let mut spec = unicast(policy, permille);
    spec.packet.payload = Bytes::new(payload);
    spec
}

#[test]
fn a_put_of_one_flit_and_its_ack_are_8_us_on_their_way() {
    // 95 ns of staging, twice 2.5 ns on a wire and 2 · 1866.25 ns, the same back, 430 ns of processing. The 95 ns count from the
    // start of the flow; the way back has them for what the ACK allows.
    for policy in POLICIES {
        let flows = vec![flow(1, 0, 32, Time::ZERO, Pacing::Controlled)];
        let mut spec = lossy(star(2, LINE, DELAY), flows, policy);
        spec.packet.header = Bytes::ZERO;
        let outcome = run_until(spec, us(10));
        let at =
            |event| times(&outcome, event, Time::ZERO).map(|record| record.time.as_ps()).collect::<Vec<_>>();
        assert_eq!(at(PutEvent::Sent), [95_000]);
        assert_eq!(at(PutEvent::Iack), [95_000 + 8_000_000]);
    }
}

#[test]
fn an_initiator_that_takes_no_time_for_acks_sends_when_they_come() {
    // A window of one PUT, nothing staged, nothing processed: 2 · 165 ns, 2 · 2.5 ns and 4 · 1866.25 ns from one to the next.
    let mut spec =
        lossy(star(2, LINE, DELAY), vec![flow(1, 0, 10 * 2048, Time::ZERO, Pacing::Controlled)], OPT);
    let put = &mut spec.puts[0];
    (put.processing, put.staging, put.buffer) = (Span::ZERO, Span::ZERO, 1);
    let outcome = run(spec);
    let sent: Vec<u64> =
        times(&outcome, PutEvent::Sent, Time::ZERO).map(|record| record.time.as_ps()).collect();
    assert_eq!(sent, (0..10).map(|i| i * 7_800_000).collect::<Vec<_>>());
}

#[test]
fn an_initiator_with_an_overhead_of_95_ns_fills_a_link_with_puts_from_1216_bytes_on() {
    // 95 ns are 38 flits: PUTs of 512 B are 16 of them, of 1 KB 32; longer ones are limited by the wire.
    for (payload, interval) in
        [(512, 95_000), (1024, 95_000), (2048, 165_000), (4096, 325_000), (8192, 645_000)]
    {
        for policy in POLICIES {
            let outcome = run_until(stream(policy, payload, 1000), us(400));
            let sent: Vec<u64> =
                times(&outcome, PutEvent::Accepted, us(300)).map(|record| record.time.as_ps()).collect();
            assert!(
                sent.len() > 100 && sent.windows(2).all(|pair| pair[1] - pair[0] == interval),
                "{payload} {policy:?}"
            );
            let goodput = share(payload, Time::ZERO, Time::from_ps(interval));
            let ceiling = (payload as f64 / 32.0) / (38.0_f64).max((payload + 64) as f64 / 32.0);
            assert!((goodput - ceiling).abs() < 1e-12, "16/38, 32/38, 64/66, 128/130, 256/258");
        }
    }
}

#[test]
fn a_paced_stream_carries_what_its_target_drains_and_loses_nothing() {
    for payload in [512, 1024, 2048, 4096, 8192] {
        for permille in [500, 600, 700, 800, 900, 1000] {
            let outcome = run_until(stream(DACK, payload, permille), us(600));
            // The overshoot of 8 KB PUTs at half the link is more than the queue.
            let (from, until) = (us(200), us(600));
            let start = if (payload, permille) == (8192, 500) { from } else { Time::ZERO };
            let lost = [PutEvent::Dropped, PutEvent::Resent].map(|event| count(&outcome, event, start));
            assert_eq!(lost, [0, 0], "{payload} B at {permille}");
            let accepted = count(&outcome, PutEvent::Accepted, from) as u64;
            let wire = 38.0_f64.max((payload + 64) as f64 / 32.0);
            let rate = (permille as f64 / 1000.0 * payload as f64 / (payload + 64) as f64)
                .min(payload as f64 / 32.0 / wire);
            let goodput = share(accepted * payload, from, until);
            // A packet more or less at both ends of 400 us.
            let grain = share(2 * payload, from, until);
            assert!((goodput - rate).abs() <= grain, "{payload} B at {permille}: {goodput}, not {rate}");
        }
    }
}

#[test]
fn go_back_n_with_a_window_of_a_round_trip_sends_again_what_its_target_does_not_drain() {
    // The link is always full, and r of it gets in: 1 - r is sent again.
    for permille in [500, 600, 700, 800] {
        let outcome = run_until(stream(OPT, 2048, permille), us(1100));
        let (from, until) = (us(100), us(1100));
        let resent = share(count(&outcome, PutEvent::Resent, from) as u64 * 2112, from, until);
        let wasted = 1.0 - permille as f64 / 1000.0;
        assert!((resent / wasted - 1.0).abs() < 0.1, "at {permille}: {resent}");
        let sent = share(count(&outcome, PutEvent::Sent, from) as u64 * 2112, from, until);
        assert!(sent + resent > 0.98, "at {permille}: {sent} new and {resent} again");
    }
}

#[test]
fn opt_at_half_the_link_cycles_through_drops_and_replays_every_18_us() {
    // Fig. 3a of the EC paper; its authors' public simulator has 28 NACKs in 500 us.
    let outcome = run_until(stream(OPT, 2048, 500), us(500));
    assert!((25..=31).contains(&count(&outcome, PutEvent::NackSent, Time::ZERO)));
}

#[test]
fn a_paced_stream_overshoots_by_what_arrives_before_it_is_halted_and_stays_there() {
    // T + (1 - r) · (what the link carries in a round trip and one packet of 2 KB): within two packets.
    for permille in [400, 500, 600, 700, 800, 900] {
        let outcome = run_until(stream(DACK, 2048, permille), us(100));
        let accepted = times(&outcome, PutEvent::Accepted, Time::ZERO);
        let peak = accepted.map(|record| record.value).max().expect("packets") as f64;
        let trip = 8_000.0 + 325.0 + 165.0;
        let carried = trip * LINE.as_bps() as f64 / 8e9;
        let expected = 8_992.0 + (1.0 - permille as f64 / 1000.0) * carried;
        assert!((peak - expected).abs() <= 2.0 * 2112.0, "at {permille}: {peak}, not {expected}");
        // From then on one comes for each that is drained.
        let late: Vec<i64> = times(&outcome, PutEvent::Accepted, us(60)).map(|record| record.value).collect();
        let stays = late.iter().all(|&value| peak - value as f64 <= 2.0 * 2112.0);
        assert!(late.len() > 50 && stays, "at {permille}");
    }
}

#[test]
fn a_stream_that_starts_from_cold_loses_packets_once_where_its_overshoot_exceeds_the_queue() {
    // The authors' public simulator: none from r = 0.40 on, one episode of 18 packets from 0.35 to 0.20, two of 26 at 0.1, then
    // never again.
    let lost = [(500, 0), (400, 0), (350, 18), (300, 18), (250, 18), (200, 18), (100, 26)];
    for (permille, packets) in lost {
        let outcome = run_until(stream(DACK, 2048, permille), us(500));
        assert_eq!(count(&outcome, PutEvent::Resent, Time::ZERO), packets, "at {permille}");
        assert_eq!(count(&outcome, PutEvent::Resent, us(100)), 0, "at {permille}");
    }
}

#[test]
fn a_slow_host_in_a_lossless_fabric_holds_back_its_switch_and_gets_every_put_once() {
    // Room for 81 KB: Xoff leaves what is under way on 2 · 1866 ns of link and a packet at each end.
    for policy in POLICIES {
        let flows = (1..4).map(|src| flow(src, 0, 600 * 2048, Time::ZERO, Pacing::Controlled)).collect();
        let mut spec = lossy(star(4, LINE, DELAY), flows, policy);
        spec.switch.overflow = Overflow::Stop;
        let thresholds = per_port(&spec.network, |_| Threshold::standard(18_000_000));
        let pfc = ideal(star(4, LINE, DELAY), Vec::new()).switch.pfc.expect("PFC");
        spec.switch.pfc = Some(PfcSpec { thresholds, ..pfc });
        let (xoff, xon, buffer) = (25_000, 20_000, 80_992);
        let static_ = Threshold::Static { xoff, xon, port_xoff: u64::MAX, port_xon: u64::MAX, buffer };
        let mut host = slow(300);
        host.pfc = Some(vec![static_]);
        spec.endpoints = vec![Some(host)];
        let outcome = run(spec);
        for event in [
            PutEvent::Dropped,
            PutEvent::OutOfOrder,
            PutEvent::Duplicate,
            PutEvent::Resent,
            PutEvent::NackSent,
        ] {
            assert_eq!(count(&outcome, event, Time::ZERO), 0, "{policy:?}: {event:?}");
        }
        assert!(outcome.flows.iter().all(|flow| flow.received == Bytes::new(600 * 2048)));
        let end = outcome.flows.iter().map(|flow| flow.finish).max().expect("flows");
        let alone = Time::from_ps(1800 * 2112 * 8 * 1_000_000 / (LINE.as_bps() / 1_000_000 * 3 / 10));
        assert!(end > alone && end.since(alone) < us(12).since(Time::ZERO), "{policy:?}: {end} and {alone}");
    }
}
