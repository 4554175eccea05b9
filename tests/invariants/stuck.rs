//! No progress: a host that will never drain what waits in its receive queue ends the run and is named.
use backwater_control::flow_control::{CreditReturn, Form};
use backwater_fabric::{DrainSpec, End, Spec, Stuck, Violation};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, flow, ideal, infiniband, mbps, run, slow_host, slow_under_pfc, try_run, us};

fn star() -> Network {
    generate::star(4, Rate::from_gbps(40), Span::from_us(1)).unwrap()
}

/// Host 1 to 0, endless; host 2 to 3, endless or not.
fn traffic(bytes: u64) -> Vec<Flow> {
    vec![flow(1, 0, u64::MAX, Time::ZERO, Pacing::LineRate), flow(2, 3, bytes, Time::ZERO, Pacing::LineRate)]
}

fn no_progress(spec: Spec, until: Option<Time>) -> (Time, Vec<Stuck>, String) {
    let Err(violation) = try_run(spec, FAST, until) else { panic!("the run came to an end") };
    let text = violation.to_string();
    match violation {
        Violation::NoProgress { time, hosts } => (time, hosts, text),
        other => panic!("{other}"),
    }
}

#[test]
fn a_host_that_drains_nothing_ends_the_run_when_it_pauses_its_switch_although_others_go_on() {
    for form in [Form::Ideal, Form::authors()] {
        let mut spec = ideal(star(), traffic(u64::MAX));
        spec.switch.pfc.as_mut().unwrap().form = form;
        slow_under_pfc(&mut spec, 0, mbps(0), 60_000, 1);
        let (time, hosts, text) = no_progress(spec, None);
        // Xoff is 60 000 - 13 064 B: the 47th packet of 0.2 us is one too many, 2.4 us after it was sent.
        assert_eq!(time, us(2) + Span::from_ns(400 + 46 * 200));
        let [stuck] = &hosts[..] else { panic!("{hosts:?}") };
        assert_eq!((stuck.host.as_str(), stuck.unfinished), ("h0", 1));
        assert_eq!(stuck.flows, ["flow 0 (h1 to h0)"]);
        // The run ends with the window in which that happens.
        assert!((47..=52).contains(&stuck.packets), "{stuck:?}");
        for part in
            ["no progress", "host h0", "flow 0 (h1 to h0)", "host.drain", "1 flows to it are unfinished"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn under_credits_it_ends_the_run_when_it_has_no_room_for_another_packet() {
    for returned in [CreditReturn::AtOnce, CreditReturn::Periodic(Span::from_us(50))] {
        let mut spec = infiniband(star(), traffic(u64::MAX));
        spec.switch.credits.as_mut().unwrap().returned = returned;
        slow_host(&mut spec, 0, mbps(0), 60_000);
        let (time, hosts, _) = no_progress(spec, None);
        // 280 000 B are 136 packets of 2048 B, 409.6 ns each.
        assert!(time > us(55) && time < us(60), "{time}");
        assert_eq!((hosts[0].host.as_str(), hosts[0].packets), ("h0", 136));
    }
}

#[test]
fn where_nothing_holds_it_back_a_full_queue_is_no_progress_and_not_an_overflow() {
    let mut spec = ideal(star(), traffic(u64::MAX));
    spec.switch.pfc = None;
    slow_host(&mut spec, 0, mbps(0), 60_000);
    let (time, hosts, _) = no_progress(spec, None);
    assert!(time < us(20), "{time}");
    assert_eq!((hosts[0].packets, hosts[0].held), (60, Bytes::new(60_000)));
}

#[test]
fn a_queue_that_does_not_fill_is_noticed_at_the_end_of_the_run_or_after_10_ms() {
    let spec = |bytes| {
        let mut spec = ideal(star(), vec![flow(1, 0, 3_000, Time::ZERO, Pacing::LineRate)]);
        spec.flows.push(flow(2, 3, bytes, Time::ZERO, Pacing::LineRate));
        slow_under_pfc(&mut spec, 0, mbps(0), 60_000, 1);
        spec
    };
    // Nothing is left to do, the time is up, others go on for ever.
    let (time, hosts, _) = no_progress(spec(50_000), None);
    assert!(time < us(20), "{time}");
    assert_eq!((hosts[0].packets, hosts[0].unfinished), (3, 1));
    assert_eq!(no_progress(spec(u64::MAX), Some(us(300))).0, us(300));
    assert_eq!(no_progress(spec(u64::MAX), None).0, us(10_000));
}

#[test]
fn a_run_whose_finite_flows_are_done_is_no_success_while_packets_are_stuck() {
    // The flow to h3 is done after 4.4 us, when ten of the endless one's packets are stuck.
    let mut spec = ideal(star(), traffic(10_000));
    slow_under_pfc(&mut spec, 0, mbps(0), 60_000, 1);
    let (time, hosts, _) = no_progress(spec, None);
    assert!(time >= us(4) && time < us(6), "{time}");
    assert!((10..=15).contains(&hosts[0].packets), "{hosts:?}");
}

#[test]
fn many_flows_of_a_source_are_named_once() {
    let flow = |src, start| flow(src, 0, 1_000, us(start), Pacing::LineRate);
    let mut spec = ideal(star(), vec![flow(1, 0), flow(2, 1), flow(1, 2), flow(1, 3)]);
    slow_under_pfc(&mut spec, 0, mbps(0), 60_000, 1);
    let (_, hosts, _) = no_progress(spec, None);
    assert_eq!(hosts[0].flows, ["3 flows from flow 0 on (h1 to h0)", "flow 1 (h2 to h0)"]);
}

#[test]
fn a_trace_that_ends_at_0_is_no_progress_from_the_first_packet_that_outlasts_it() {
    let trace = |last: u64| {
        let at = |t, gbps| (us(t), Rate::from_gbps(gbps));
        DrainSpec::Trace(vec![at(0, 20), at(50, 0), at(400, last)])
    };
    let spec = |last| {
        let mut spec = ideal(star(), vec![flow(1, 0, 400_000, Time::ZERO, Pacing::LineRate)]);
        slow_under_pfc(&mut spec, 0, trace(last), 60_000, 1);
        spec
    };
    // 47.6 us at 20 Gbps are 119 packets; the 120th will never be drained, and the switch is paused or will be, soon.
    let (time, hosts, _) = no_progress(spec(0), None);
    assert!(time >= us(50) && time <= us(70), "{time}");
    assert_eq!((hosts[0].host.as_str(), hosts[0].unfinished), ("h0", 1));
    // 281 packets from 400 us on, at 5 Gbps.
    let finish = run(spec(5)).flows[0].finish;
    assert_eq!(finish, us(400) + Span::from_ns(281 * 1_600));
}

#[test]
fn all_hosts_without_progress_are_named() {
    let mut spec = ideal(star(), vec![flow(1, 0, 3_000, Time::ZERO, Pacing::LineRate)]);
    spec.flows.push(flow(2, 3, 4_000, Time::ZERO, Pacing::LineRate));
    spec.flows.push(flow(1, 3, 4_000, Time::ZERO, Pacing::LineRate));
    for host in [0, 3] {
        slow_under_pfc(&mut spec, host, mbps(0), 60_000, 1);
    }
    let (_, hosts, text) = no_progress(spec, Some(us(50)));
    let got: Vec<_> = hosts.iter().map(|h| (h.host.as_str(), h.packets, h.flows.len())).collect();
    assert_eq!(got, [("h0", 3, 1), ("h3", 8, 2)]);
    assert!(text.contains("host h0 has 3 packets (3KB)") && text.contains("flow 2 (h1 to h3)"), "{text}");
}

#[test]
fn a_host_that_gets_nothing_may_drain_nothing() {
    let mut spec = ideal(star(), vec![flow(0, 3, 300_000, Time::ZERO, Pacing::LineRate)]);
    slow_under_pfc(&mut spec, 0, mbps(0), 60_000, 1);
    assert_eq!(run(spec).totals.end, End::Finished);
}

#[test]
fn a_drain_that_rests_or_crawls_for_longer_than_the_run_looks_for_deadlocks_is_progress() {
    // 0.1 Mbps: 80 ms for a packet. Or nothing for 35 ms of every 36.
    let pulses = DrainSpec::OnOff {
        high: Rate::from_gbps(10),
        low: Rate::ZERO,
        high_for: Span::from_ms(1),
        low_for: Span::from_ms(35),
        sigma: None,
    };
    for (drain, packets, least) in
        [(DrainSpec::Constant(Rate::from_bps(100_000)), 60, 4_800), (pulses, 2_600, 72)]
    {
        let mut spec = ideal(star(), vec![flow(1, 0, packets * 1_000, Time::ZERO, Pacing::LineRate)]);
        slow_under_pfc(&mut spec, 0, drain, 30_000, 1);
        let outcome = run(spec);
        let finish = outcome.flows[0].finish;
        assert!(finish > us(least * 1_000) && finish < us(least * 1_000 + 2_000), "{finish}");
        assert!(outcome.port((outcome.flows[0].dst, 0), 3).pauses_sent > 0);
    }
}
