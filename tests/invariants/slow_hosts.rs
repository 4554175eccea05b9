//! Slow hosts in fabrics that lose nothing: every byte arrives, in order, no sooner than it can be drained, whatever the drain.
use backwater_control::flow_control::{CreditReturn, Form, Threshold};
use backwater_fabric::{AckSpec, DrainSpec, End, Kind, Queueing, Spec, Switching, Violation};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{
    FAST, Outcome, fixed, flow, flow_of_priority, ideal, infiniband, mbps, per_port, run, slow_host,
    slow_under_pfc, tcd, try_run, us,
};

/// Two racks of four hosts.
fn racks() -> Network {
    generate::leaf_spine(2, 2, 4, Rate::from_gbps(40), None, Span::from_us(1)).unwrap()
}

/// Every other host sends to host 0, and host 0 and 1 to others.
fn traffic(bytes: u64) -> Vec<Flow> {
    let to_0 = (1..8).map(|src| (src, 0));
    let others = [(0, 5), (0, 6), (1, 2), (1, 7)];
    to_0.chain(others).map(|(src, dst)| flow(src, dst, bytes, Time::ZERO, Pacing::LineRate)).collect()
}

fn everything_arrives(spec: Spec) -> Outcome {
    let sizes: Vec<Bytes> = spec.flows.iter().map(|flow| flow.size).collect();
    let outcome = run(spec);
    assert_eq!(outcome.totals.end, End::Finished);
    assert!(
        outcome.flows.iter().zip(sizes).all(|(flow, size)| flow.received == size && flow.finish < Time::MAX)
    );
    outcome
}

/// Host 0 drains 8 Gbps of its 40, in every lossless fabric there is.
fn fabrics(drain: &DrainSpec, depth: u64) -> Vec<(&'static str, Spec)> {
    let pfc = |form, queueing| {
        let mut spec = ideal(racks(), traffic(100_000));
        spec.switch.queueing = queueing;
        let pfc = spec.switch.pfc.as_mut().unwrap();
        // So low that what the host pushes back fills the switches, too.
        pfc.thresholds = per_port(&spec.network, |_| fixed(20_000, 18_000, 18_000_000));
        pfc.form = form;
        slow_under_pfc(&mut spec, 0, drain.clone(), depth, 1);
        spec
    };
    let credits = |returned, queueing, switching| {
        let mut spec = infiniband(racks(), traffic(100_000));
        (spec.switch.queueing, spec.switch.switching) = (queueing, switching);
        let credits = spec.switch.credits.as_mut().unwrap();
        (credits.returned, credits.buffer) = (returned, Bytes::new(depth));
        slow_host(&mut spec, 0, drain.clone(), depth);
        spec
    };
    let cut = Switching::CutThrough { header: Bytes::new(20) };
    let period = CreditReturn::Periodic(Span::from_us(10));
    vec![
        ("PFC", pfc(Form::Ideal, Queueing::Output)),
        ("timed PFC", pfc(Form::authors(), Queueing::Output)),
        ("PFC, virtual output queues", pfc(Form::Ideal, Queueing::VirtualOutput)),
        ("CBFC", credits(period, Queueing::VirtualOutput, cut)),
        ("CBFC, output queues", credits(period, Queueing::Output, Switching::StoreAndForward)),
        ("credits at once", credits(CreditReturn::AtOnce, Queueing::VirtualOutput, cut)),
    ]
}

#[test]
fn a_slow_host_pushes_back_and_gets_every_byte_at_the_rate_at_which_it_drains() {
    for (name, spec) in fabrics(&mbps(8_000), 60_000) {
        let outcome = everything_arrives(spec);
        let end = outcome.flows[..7].iter().map(|flow| flow.finish).max().unwrap();
        // 700 000 B at 8 Gbps, from the first packet on: three links of at least 1 us and 0.2 us.
        let least = us(700) + Span::from_us(2);
        assert!(end >= least && end < least + Span::from_us(40), "{name}: {end}");
        let peak = outcome.port((outcome.flows[0].dst, 0), 3).peak_ingress;
        assert!(peak > Bytes::new(12_000) && peak <= Bytes::new(60_000), "{name}: {peak}");
        // What it pushes back fills the switch, which pushes back in turn.
        let held = outcome.ports.iter().filter(|port| port.pauses > 0).count();
        assert!(held >= 4, "{name}: {held} gates were ever closed");
    }
}

#[test]
fn flows_that_do_not_go_to_the_slow_host_and_share_no_port_with_those_that_do_are_as_fast_as_ever() {
    for (name, spec) in fabrics(&mbps(8_000), 60_000) {
        let mut spec = spec;
        spec.flows.retain(|flow| flow.dst != 0 || flow.src == 2);
        let outcome = everything_arrives(spec);
        // From 0 to 5 and 6: 200 000 B at 40 Gbps, and what four links take.
        let ends = outcome.flows.iter().filter(|flow| flow.src != outcome.flows[0].src && flow.dst != 0);
        assert!(ends.clone().count() >= 3);
        for flow in ends {
            assert!(flow.finish < us(60), "{name}: {}", flow.finish);
        }
    }
}

#[test]
fn a_host_as_fast_as_its_link_changes_nothing_but_the_end_of_each_packet() {
    for (name, spec) in fabrics(&mbps(40_000), 280_000) {
        let rate = Rate::from_gbps(40);
        let (mtu, credits) = (spec.packet.payload, spec.switch.credits.is_some());
        let (_, mut plain) = fabrics(&mbps(40_000), 280_000).into_iter().find(|(n, _)| *n == name).unwrap();
        plain.endpoints.clear();
        let (slow, plain) = (everything_arrives(spec), everything_arrives(plain));
        // Nothing that comes in depends on the queue, but for credits, which come back later.
        assert_eq!(slow.totals.digest == plain.totals.digest, !credits, "{name}");
        for (slow, plain) in slow.flows.iter().zip(&plain.flows).filter(|(flow, _)| flow.dst == 0) {
            let last = match plain.size.get() % mtu.get() {
                0 => mtu,
                rest => Bytes::new(rest),
            };
            if !credits {
                assert_eq!(slow.finish, plain.finish + rate.serialize(last), "{name}");
            }
        }
    }
}

#[test]
fn two_priorities_share_the_receive_queue_and_each_is_paused_by_its_own_bytes() {
    let flows = vec![
        flow_of_priority(3, 1, 0, 400_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 2, 0, 400_000, Time::ZERO, Pacing::LineRate),
    ];
    let mut spec = ideal(racks(), flows);
    slow_under_pfc(&mut spec, 0, mbps(4_000), 60_000, 2);
    let outcome = everything_arrives(spec);
    for priority in [3, 4] {
        let port = outcome.port((outcome.flows[0].dst, 0), priority);
        assert!(port.pauses_sent > 0 && port.peak_ingress <= Bytes::new(30_000), "{port:?}");
    }
    // Drained in the order in which they come in, they share the rate: 800 000 B at 4 Gbps.
    let ends = [0, 1].map(|i| outcome.flows[i].finish);
    assert!(ends.iter().all(|end| *end > us(1_400) && *end < us(1_620)), "{ends:?}");
}

#[test]
fn a_threshold_of_the_whole_queue_pauses_every_priority_and_resumes_those_that_hold_nothing() {
    // Priority 4 sends 12 packets and is done with; 3 holds the queue above the threshold of the whole for long.
    let flows = vec![
        flow_of_priority(3, 1, 0, 400_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 2, 0, 12_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 2, 0, 12_000, us(600), Pacing::LineRate),
    ];
    let mut spec = ideal(racks(), flows);
    let whole =
        Threshold::Static { xoff: 60_000, xon: 58_000, port_xoff: 20_000, port_xon: 18_000, buffer: 60_000 };
    slow_host(&mut spec, 0, mbps(4_000), 60_000).pfc = Some(vec![whole]);
    let outcome = everything_arrives(spec);
    let host = outcome.flows[0].dst;
    let [three, four] = [3, 4].map(|priority| outcome.port((host, 0), priority));
    assert!(three.pauses_sent > 3 && four.pauses_sent > 3, "{three:?} {four:?}");
    // Both priorities come to a stop by the port's threshold, and what is on its way then is all that comes on top.
    assert!(three.peak_ingress + four.peak_ingress < Bytes::new(48_000));
}

#[test]
fn too_little_headroom_at_a_slow_host_stops_the_run_with_the_arithmetic() {
    let mut spec = ideal(racks(), traffic(100_000));
    slow_under_pfc(&mut spec, 0, mbps(8_000), 60_000, 1);
    // 2 · 1 us at 40 Gbps, two packets of 1000 B and a frame come in after PAUSE: 12 064 B.
    spec.endpoints[0].as_mut().unwrap().depth = Bytes::new(54_000);
    let Err(violation) = try_run(spec, FAST, None) else { panic!("nothing was lost") };
    assert!(matches!(&violation, Violation::ReceiveOverflow { node, depth, .. }
        if node == "h0" && *depth == Bytes::new(54_000)));
    let text = violation.to_string();
    for part in ["receive queue of host h0", "54KB exist", "leaf0", "2·delay·rate 10KB", "host.queue"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn without_flow_control_a_full_receive_queue_stops_the_run_of_a_queue_pair() {
    let mut spec = ideal(racks(), traffic(100_000));
    spec.switch.pfc = None;
    slow_host(&mut spec, 0, mbps(8_000), 60_000);
    let Err(violation) = try_run(spec, FAST, None) else { panic!("nothing was lost") };
    let text = violation.to_string();
    assert!(text.contains("host h0 overflows") && text.contains("switch.flow-control"), "{text}");
}

#[test]
fn congestion_control_adapts_to_a_slow_host_whose_queue_makes_the_switch_mark() {
    let flows = (1..8).map(|src| flow(src, 0, u64::MAX, Time::ZERO, Pacing::Controlled)).collect();
    let mut spec = scene::authors(racks(), flows, tcd());
    spec.endpoints.clear();
    slow_under_pfc(&mut spec, 0, mbps(20_000), 100_000, 1);
    let outcome = try_run(spec, FAST, Some(us(5_000))).unwrap_or_else(|violation| panic!("{violation}"));
    let got: u64 = outcome.flows.iter().map(|flow| flow.packets).sum();
    // 20 Gbps for 5 ms are 12 207 packets of 1024 B.
    assert!((11_000..=12_300).contains(&got), "{got}");
    assert!(outcome.flows.iter().any(|flow| flow.cnps_ce + flow.cnps_ue > 0));
}

fn drains() -> impl Strategy<Value = DrainSpec> {
    let rate = || prop_oneof![(1_u64..40_000), (100_u64..1_000)].prop_map(Rate::from_mbps);
    let pulses =
        (rate(), prop_oneof![Just(Rate::ZERO), rate()], 1_u64..100, 1_u64..100, prop::option::of(0.0..2.0))
            .prop_map(|(high, low, on, off, sigma)| DrainSpec::OnOff {
                high,
                low,
                high_for: Span::from_us(on),
                low_for: Span::from_us(off),
                sigma,
            });
    let trace = prop::collection::vec((1_u64..50, prop_oneof![Just(Rate::ZERO), rate()]), 0..6)
        .prop_flat_map(move |pieces| {
            rate().prop_map(move |last| {
                let mut at = 0;
                let mut trace: Vec<(Time, Rate)> = Vec::new();
                for (span, rate) in &pieces {
                    trace.push((us(at), *rate));
                    at += span;
                }
                trace.push((us(at), last));
                DrainSpec::Trace(trace)
            })
        });
    prop_oneof![rate().prop_map(DrainSpec::Constant), pulses, trace]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_is_lost_at_any_drain_in_any_lossless_fabric(
        drain in drains(),
        other in drains(),
        depth in 16_000_u64..60_000,
        acks in any::<bool>(),
        header in 0_u64..80,
        which in 0_usize..6,
        seed in any::<u64>(),
    ) {
        let build = || {
            let (_, mut spec) = fabrics(&drain, depth).swap_remove(which);
            spec.seed = seed;
            // A queue has room for its headroom and a packet, under credits for a packet.
            spec.packet.header = Bytes::new(header);
            spec.endpoints.clear();
            for (host, drain) in [(0, &drain), (5, &other)] {
                if spec.switch.pfc.is_some() {
                    slow_under_pfc(&mut spec, host, drain.clone(), depth, 1);
                } else {
                    slow_host(&mut spec, host, drain.clone(), depth);
                }
            }
            spec.pairs[0].ack = acks.then_some(AckSpec { every: 2, size: Bytes::new(64), priority: Some(7) });
            (spec.probe.sample, spec.probe.endpoints) = (Some(Span::from_us(20)), true);
            spec
        };
        let outcome = everything_arrives(build());
        let [zero, five] = [0, 5].map(|i| outcome.simulation.network().hosts()[i]);
        for host in [zero, five] {
            // What was drained is what was sent, and the peak of a queue is that of its fullest period.
            let own = outcome.records.endpoints.iter().filter(|record| record.node == host);
            let drained: u64 = own.clone().map(|record| record.drained_bytes.get()).sum();
            let wire: u64 = outcome.flows.iter().filter(|flow| flow.dst == host)
                .map(|flow| flow.received.get() + header * flow.packets).sum();
            prop_assert_eq!(drained, wire);
            let peak = own.map(|record| record.peak).max().unwrap();
            prop_assert_eq!(peak, outcome.port((host, 0), 3).peak_ingress);
        }
        // A slow drain makes many windows, and at the end of each the threads wait for each other: every third case has them.
        let threads = (seed % 3 == 0).then_some(Kind::Windows { threads: 3 });
        for kind in std::iter::once(Kind::Heap).chain(threads) {
            let mut spec = build();
            (spec.probe.sample, spec.probe.endpoints) = (None, false);
            let again = try_run(spec, kind, None).unwrap_or_else(|violation| panic!("{violation}"));
            prop_assert_eq!(again.totals.digest, outcome.totals.digest);
        }
    }
}
