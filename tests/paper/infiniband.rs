//! Figures 3, 4, 12 and 13 of the TCD paper on InfiniBand, against the numbers of an independent check: a second, small
//! packet simulator of the same rules (280 KB per ingress port, Tc 50 us, links of 32 Gbps, K 50 KB). Times count from the
//! start of the bursts.
use backwater_control::detector::{Detector, Fecn, Red, Tcd, Trend, max_ton};
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{IbCcConfig, ReactionConfig};
use backwater_fabric::Spec;
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow, host, infiniband, per_port};

use crate::figure_2::{F0, F2, Seen, seen};

const BURSTS: Span = Span::from_ms(1);

fn fecn() -> Detector {
    Detector::Fecn(Fecn { threshold: Bytes::from_kb(50), marking_rate: 0, packet_size: Bytes::ZERO })
}

fn tcd() -> Detector {
    Detector::Tcd(Tcd::credits(Trend::RiseBp, Span::from_us(50), Bytes::from_kb(50), Bytes::new(2048)))
}

/// F1 alone for 1 ms, then 16 messages of 64 KB from each of 15 hosts back to back, then F0 and F2 at `gbps`.
fn scene(gbps: u64, detector: Detector) -> Spec {
    let net = generate::tcd_figure_2(Rate::from_gbps(32), Span::from_us(4), None, false).unwrap();
    let h = |name: &str| host(&net, name);
    let origin = Time::ZERO.saturating_add(BURSTS);
    let start = origin.saturating_add(Span::from_us(320));
    // What a source could not send while it was held is never sent: so in the check.
    let constant = Pacing::Constant { rate: Rate::from_gbps(gbps), jitter_ppm: 0, catch_up: false };
    let mut flows: Vec<Flow> = vec![
        flow(h("S0"), h("R0"), u64::MAX, start, constant),
        flow(h("S1"), h("R1"), u64::MAX, Time::ZERO, Pacing::Controlled),
        flow(h("S2"), h("R0"), u64::MAX, start, constant),
    ];
    flows.extend((0..15).map(|i| flow(h(&format!("A{i}")), h("R1"), 16 * 64_000, origin, Pacing::LineRate)));
    let mut spec = infiniband(net, flows);
    spec.switch.detectors = per_port(&spec.network, |_| detector);
    spec.pairs[0].reaction = ReactionConfig::IbCc(IbCcConfig::standard());
    spec.pairs[0].notify =
        Some(NotifyConfig { interval: Span::from_us(50), mode: Mode::EachMark, fraction: 0.0 });
    spec.probe.sample = Some(Span::from_us(1));
    spec.probe.ports = ["P0", "P1", "P2"].map(|name| spec.network.alias(name).unwrap()).to_vec();
    spec
}

/// Lengths of the ON periods of a port before its last OFF period, in us: the median and the longest.
fn on_us(seen: &Seen, alias: &str) -> (f64, f64) {
    let mut on: Vec<f64> =
        seen.outcome.on_periods(seen.port(alias)).iter().map(|on| on.as_ps() as f64 / 1e6).collect();
    on.sort_by(f64::total_cmp);
    (on[on.len() / 2], on[on.len() - 1])
}

/// Whether `ours` is within so many percent of the independent check's number.
#[track_caller]
fn near(ours: f64, check: f64, percent: f64) {
    assert!((ours / check - 1.0).abs() <= percent / 100.0, "{ours} instead of {check} +- {percent} %");
}

const SINGLE: u64 = 5;
const MULTI: u64 = 25;
const WATCHED: Span = Span::from_ms(7);

#[test]
fn credits_make_p2_send_on_and_off_until_the_bursts_are_through() {
    for gbps in [SINGLE, MULTI] {
        let seen = seen(scene(gbps, fecn()), WATCHED);
        let bursts = seen.outcome.flows[3..].iter().map(|flow| flow.finish.as_ps()).max().unwrap();
        near((bursts - BURSTS.as_ps()) as f64 / 1e9, 4.11, 1.0);
        let (first, last) = seen.off_from_to("P2");
        near(first, 0.071, 2.0);
        near(last, 4.182, 1.0);
        near(seen.peak_kb("P2"), 545.0, 5.0);
        near(seen.peak_kb("P1"), 279.0, 5.0);
        near(seen.peak_kb("P0"), 547.0, 5.0);
        let (median, longest) = on_us(&seen, "P2");
        near(median, 12.3, 2.0);
        // Shorter than max(Ton) = Tc, as the paper has it (Eqn 4).
        assert!(longest < 50.0);
    }
}

#[test]
fn fecn_marks_flows_that_only_pass_by_ports_which_lack_credits() {
    let seen = seen(scene(SINGLE, fecn()), WATCHED);
    let ce = |flow: usize| seen.outcome.flows[flow].ce_packets as f64;
    near(ce(F0), 634.0, 5.0);
    near(ce(F2), 1117.0, 5.0);
}

#[test]
fn tcd_calls_p2_undetermined_and_then_free_where_p3_alone_is_congested() {
    let seen = seen(scene(SINGLE, tcd()), WATCHED);
    let flow = |flow: usize| &seen.outcome.flows[flow];
    assert_eq!((flow(F0).ce_packets, flow(F2).ce_packets), (0, 0));
    near(flow(F0).ue_packets as f64, 644.0, 5.0);
    near(flow(F2).ue_packets as f64, 1097.0, 5.0);
    let verdicts = seen.verdicts("P2");
    assert_eq!(verdicts.iter().map(|(_, state)| *state).collect::<Vec<_>>(), [2, 3, 0]);
    near(verdicts[0].0, 0.08, 10.0);
    near(verdicts[2].0, 4.66, 1.0);
    assert_eq!(seen.verdicts("P1").last().unwrap().1, 0);
}

#[test]
fn tcd_calls_p2_undetermined_and_then_congested_where_it_is_overloaded_itself() {
    let seen = seen(scene(MULTI, tcd()), WATCHED);
    let flow = |flow: usize| &seen.outcome.flows[flow];
    near(flow(F0).ce_packets as f64, 2013.0, 5.0);
    near(flow(F2).ce_packets as f64, 2303.0, 5.0);
    near(flow(F0).ue_packets as f64, 548.0, 5.0);
    near(flow(F2).ue_packets as f64, 1231.0, 5.0);
    let verdicts = seen.verdicts("P2");
    assert_eq!(verdicts.iter().map(|(_, state)| *state).collect::<Vec<_>>(), [2, 3, 1]);
    near(verdicts[2].0, 4.63, 1.0);
    assert_eq!(seen.verdicts("P1").last().unwrap().1, 2);
}

#[test]
fn however_often_credits_come_back_an_overloaded_port_is_found_congested_and_no_other() {
    let returns = [2_000, 4_096, 4_300, 5_000, 7_000, 10_000, 15_000, 20_000, 50_000]
        .map(|ns| (Some(Span::from_ns(ns)), CreditReturn::Periodic(Span::from_ns(ns))));
    for (tc, returned) in returns.into_iter().chain([(None, CreditReturn::AtOnce)]) {
        for (gbps, last, seed) in [(SINGLE, 0, 1), (SINGLE, 0, 6), (SINGLE, 0, 12), (MULTI, 1, 1)] {
            let mut spec = scene(gbps, tcd());
            spec.seed = seed;
            spec.switch.credits.as_mut().unwrap().returned = returned;
            let (threshold, mtu) = (Bytes::from_kb(50), Bytes::new(2048));
            // Returned at once there is no Tc: max(Ton) is that of Eqn 3, with a gap of the one packet that a port waits for.
            let at_once = || max_ton(Rate::from_gbps(32), Span::from_us(4), mtu, mtu, 0.05).unwrap().max_ton;
            let detector = match tc {
                Some(tc) => Tcd::credits(Trend::RiseBp, tc, threshold, mtu),
                None => Tcd { red: Red::step(threshold), ..Tcd::flowchart(Trend::RiseBp, at_once(), mtu) },
            };
            spec.switch.detectors = per_port(&spec.network, |_| Detector::Tcd(detector));
            let seen = seen(spec, WATCHED);
            let verdict = seen.verdicts("P2").last().unwrap().1;
            assert_eq!(verdict, last, "P2 at {gbps} Gbps with {returned:?}");
            if gbps == SINGLE {
                let ce = [F0, F2].map(|flow| seen.outcome.flows[flow].ce_packets);
                assert_eq!(ce, [0, 0], "marks on passers-by with {returned:?}");
            }
        }
    }
}
