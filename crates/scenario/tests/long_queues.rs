//! What the ground truth calls a long queue in switches with regions: never a length that no queue of a class can have.
mod common;

use backwater_scenario::ValidScenario;
use common::paper;

const KIB: u64 = 1024;

/// The threshold K of the ports of the switch, and what the results say.
fn long(overrides: &[&str]) -> (u64, String) {
    let scenario: ValidScenario = paper(overrides);
    let said = scenario.caveats().join("\n");
    let spec = scenario.build();
    let switch = spec.network.find("s").unwrap() as usize;
    let thresholds = &spec.probe.blame.unwrap()[switch];
    assert!(thresholds.iter().all(|own| *own == thresholds[0]), "all ports have one rate");
    (thresholds[0].get(), said)
}

#[test]
fn without_isolation_one_class_has_the_region_and_can_exceed_what_the_detector_calls_long() {
    // 160 KiB of 256
    assert_eq!(long(&[]), (160 * KIB, String::new()));
    assert_eq!(long(&["switch.detector.kind=tcd"]).0, 160 * KIB);
}

#[test]
fn with_isolation_a_queue_is_long_where_isolation_begins_for_no_class_may_reach_what_the_detector_says() {
    // The NFQ has at most 144 KiB of the egress region and the CFQ 112, both less than RED's 160.
    for kind in ["ci", "ici"] {
        assert_eq!(long(&[&format!("switch.isolation.kind={kind}")]), (48 * KIB, String::new()), "{kind}");
    }
    // Nobody is judged by the detector's threshold if there is none.
    let plus = long(&["switch.isolation.kind=ici+", "switch.detector.kind=none"]);
    assert_eq!(plus, (48 * KIB, String::new()));
}

#[test]
fn a_threshold_of_the_detector_that_both_classes_can_exceed_stays() {
    let at = |kmax: u64| {
        let kmax = format!("switch.detector.kmax={kmax}B");
        long(&["switch.isolation.kind=ci", "switch.detector.kind=red", "switch.detector.kmin=1KiB", &kmax])
    };
    // A full CFQ of 112 KiB leaves 108 behind when a packet of 4 KiB goes.
    assert_eq!(at(108 * KIB - 1), (108 * KIB - 1, String::new()));
    assert_eq!(at(108 * KIB).0, 48 * KIB);
}

#[test]
fn where_isolation_begins_beyond_the_smaller_class_half_of_that_is_long() {
    assert_eq!(long(&["switch.isolation.kind=ci", "switch.isolation.detect=120KiB"]).0, 56 * KIB);
}

#[test]
fn priorities_that_share_a_region_equally_share_what_is_long() {
    // Data on 3 and, 128 KiB each, ACKs on 4: less than RED's 160.
    assert_eq!(long(&["ack.every=1", "ack.priority=4"]).0, 64 * KIB);
}
