//! A crowd is what leaves a queue while it is above K.
use backwater_control::detector::{Detector, Red};
use backwater_engine::Kind;
use backwater_fabric::Spec;
use backwater_fabric::record::CrowdRecord;
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, authors, flow, host, ideal, per_port, red, run, run_until, try_run, us};

use crate::watched;

/// RED of the authors' release marks every packet that leaves more than this: 200 units of 1030 B and the one that is
/// not counted.
const K: u64 = 207_030;

/// The scene of the TCD paper's Figure 3: P3 is flooded and holds back P2, and that P0 and P1.
fn figure_3() -> Spec {
    let net = generate::tcd_figure_2(Rate::from_gbps(40), Span::from_us(4), None, false).unwrap();
    let constant = Pacing::Constant { rate: Rate::from_gbps(5), jitter_ppm: 100_000, catch_up: true };
    let mut flows = vec![
        flow(host(&net, "S1"), host(&net, "R1"), u64::MAX, us(0), Pacing::Controlled),
        flow(host(&net, "S0"), host(&net, "R0"), u64::MAX, us(100), constant),
        flow(host(&net, "S2"), host(&net, "R0"), u64::MAX, us(100), constant),
    ];
    for burst in 0..15 {
        let source = host(&net, &format!("A{burst}"));
        flows.push(flow(source, host(&net, "R1"), 640_000, us(100), Pacing::Controlled));
    }
    authors(net, flows, red())
}

fn packets(crowds: &[CrowdRecord]) -> u64 {
    crowds.iter().map(|crowd| crowd.packets).sum()
}

#[test]
fn every_packet_of_a_crowd_carries_ce_where_red_marks_all_above_k() {
    let outcome = run_until(watched(figure_3(), K), us(2_000));
    let crowds = &outcome.records.crowds;
    assert!(packets(crowds) > 5_000);
    assert!(crowds.iter().all(|crowd| crowd.ce == crowd.packets));
    // Those that were not marked before were marked here.
    let marks = outcome.records.marks.iter().filter(|mark| mark.queue.get() > K).count() as u64;
    assert!(marks <= packets(crowds));
    let p3 = outcome.simulation.network().alias("P3").unwrap();
    let at_p3 = |node, port| (node, port) == p3;
    let marks = outcome.records.marks.iter().filter(|m| at_p3(m.node, m.port) && m.queue.get() > K).count();
    let from_hosts = crowds.iter().filter(|crowd| at_p3(crowd.node, crowd.port) && crowd.flow > 2);
    let unmarked_before: u64 = from_hosts.map(|crowd| crowd.packets).sum();
    assert!(marks as u64 >= unmarked_before, "only F1 came by another port that marks");
}

#[test]
fn a_detector_sees_to_its_marks_and_not_to_who_crowds() {
    let seen = |detector: Detector| {
        let net = generate::star(9, Rate::from_gbps(40), Span::from_us(1)).unwrap();
        let flows = (1..9).map(|src| flow(src, 0, 300_000, Time::ZERO, Pacing::LineRate)).collect();
        let mut spec = ideal(net, flows);
        spec.switch.detectors = per_port(&spec.network, |_| detector);
        run(watched(spec, 200_000)).records.crowds
    };
    let step = Red::new(Bytes::new(200_000), Bytes::new(200_000), 1.0, Bytes::ZERO).unwrap();
    let unmarked = |crowds: Vec<CrowdRecord>| -> Vec<CrowdRecord> {
        crowds.into_iter().map(|crowd| CrowdRecord { ce: 0, ce_before: 0, ..crowd }).collect()
    };
    let plain = seen(Detector::None);
    assert!(!plain.is_empty());
    assert_eq!(plain, unmarked(seen(Detector::Red(Red::standard()))));
    assert_eq!(plain, unmarked(seen(Detector::Red(step))));
}

#[test]
fn eight_to_one_crowds_from_the_packet_that_leaves_more_than_k_to_the_one_that_leaves_k() {
    // Per slot of 200 ns eight packets come and one leaves; 2400 come in all.
    let net = generate::star(9, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows = (1..9).map(|src| flow(src, 0, 300_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(net, flows);
    spec.switch.pfc = None;
    let outcome = run(watched(spec, 200_000));
    let crowds = &outcome.records.crowds;
    // The first leaves as it comes, any later one just before the next eight come: departure n leaves 8(n - 1) - n behind,
    // more than 200 from n = 30 on; when all have come 2400 - n, more than 200 up to n = 2199.
    assert_eq!(packets(crowds), 2199 - 29);
    let slots = |n: u64| Span::from_ns(1_200 + 200 * (n - 1));
    assert_eq!(crowds[0].start, Time::ZERO + slots(30));
    assert_eq!(crowds.last().unwrap().end, Time::ZERO + slots(2_200));
    assert!(crowds.iter().all(|crowd| crowd.bytes.get() == 1_000 * crowd.packets));
    // It is cut every 100 us and ends when the queue has fallen to K.
    let (last, cut) = crowds.split_last().unwrap();
    let at_end = cut.iter().filter(|crowd| crowd.end == last.end).chain([last]);
    assert!(at_end.into_iter().all(|crowd| crowd.queue == crowd.threshold));
    let earlier: Vec<_> = cut.iter().filter(|crowd| crowd.end < last.end).collect();
    assert!(!earlier.is_empty() && earlier.iter().all(|crowd| crowd.queue > crowd.threshold));
    assert!(crowds.iter().all(|crowd| crowd.threshold.get() == 200_000));
}

#[test]
fn what_another_port_marked_before_is_told_from_what_this_port_marks() {
    let outcome = run_until(watched(figure_3(), K), us(2_000));
    let network = outcome.simulation.network();
    let p3 = network.alias("P3").unwrap();
    let p2 = network.alias("P2").unwrap();
    let at = |port: (u32, u16)| {
        outcome.records.crowds.iter().filter(move |crowd| (crowd.node, crowd.port) == port)
    };
    assert!(outcome.records.crowds.iter().all(|crowd| crowd.ce_before <= crowd.ce));
    // The bursts come to P3 straight from their hosts; F1 came by P2, which RED marks while it is held.
    assert!(at(p3).filter(|crowd| crowd.flow > 2).all(|crowd| crowd.ce_before == 0));
    assert!(at(p3).any(|crowd| crowd.flow == 0 && crowd.ce_before > 0));
    // Of all that left P2's long queue with CE, as much as did not come with it was marked there.
    let here: u64 = at(p2).map(|crowd| crowd.ce - crowd.ce_before).sum();
    let marks =
        outcome.records.marks.iter().filter(|mark| (mark.node, mark.port) == p2 && mark.queue.get() > K);
    assert_eq!(here, marks.count() as u64);
}

#[test]
fn crowds_lie_between_closings_of_the_gate_and_within_periods_of_100_us() {
    let outcome = run_until(watched(figure_3(), K), us(2_000));
    for crowd in &outcome.records.crowds {
        assert!(crowd.start <= crowd.end);
        let closing = |pause: &&backwater_fabric::record::PauseRecord| {
            pause.paused && pause.time > crowd.start && pause.time < crowd.end
        };
        assert_eq!(outcome.pauses_at((crowd.node, crowd.port)).iter().find(closing), None, "{crowd:?}");
        // The packet that ends it is the first of the next period: one of 1020 B is 204 ns.
        let period = us(100).as_ps();
        assert!(crowd.end.as_ps() < (crowd.start.as_ps() / period + 1) * period + 204_000, "{crowd:?}");
    }
}

#[test]
fn the_ground_truth_is_the_same_on_every_engine_with_or_without_batching() {
    let seen = |kind: Kind, batching: bool| {
        let spec = Spec { batching, ..watched(figure_3(), K) };
        let outcome = try_run(spec, kind, Some(us(1_500))).unwrap_or_else(|violation| panic!("{violation}"));
        let Outcome { totals, records, .. } = outcome;
        assert!(!records.holds.is_empty() && !records.crowds.is_empty() && !records.waits.is_empty());
        (totals.digest, records.holds, records.crowds, records.waits)
    };
    let reference = seen(Kind::Heap, false);
    for (kind, batching) in [(FAST, true), (FAST, false), (Kind::Windows { threads: 2 }, true)] {
        assert!(seen(kind, batching) == reference, "{kind:?}, batching {batching}");
    }
    let unseen = try_run(figure_3(), FAST, Some(us(1_500))).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(unseen.totals.digest, reference.0, "looking changes the course");
    assert!(unseen.records.holds.is_empty() && unseen.records.crowds.is_empty());
}
