//! Spraying, flowlets and adaptive routing: what is said where they cannot work, or have nothing to do.

use crate::common::{Said, report, says, validate};
use backwater_fabric::Balancing;
use backwater_units::Span;

const CLOS: &str = r#"
profile = "ideal"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "across"
kind = "incast"
from = "h0"
to = "h3"
size = "1MB"
start = "0us"
"#;

const SPRAY: &str = "switch.load-balancing=spray";

fn balancing(overrides: &[&str]) -> Balancing {
    validate(CLOS, overrides).unwrap().build().switch.balancing
}

#[test]
fn the_word_says_how_packets_are_spread() {
    assert_eq!(balancing(&[]), Balancing::Ecmp);
    assert_eq!(balancing(&[SPRAY]), Balancing::Spray);
    assert!(validate(CLOS, &[SPRAY]).unwrap().build().probe.blame.is_some());
    assert_eq!(balancing(&["switch.load-balancing=adaptive"]), Balancing::Adaptive);
    let flowlet = "switch.load-balancing=flowlet";
    assert_eq!(balancing(&[flowlet]), Balancing::Flowlet { gap: Span::from_us(500) });
    let gap = Balancing::Flowlet { gap: Span::from_us(20) };
    assert_eq!(balancing(&[flowlet, "switch.flowlet-gap=20us"]), gap);
    says(&report(CLOS, &["switch.load-balancing=sprayed"]), &["sprayed", "spray"]);
}

#[test]
fn what_needs_one_way_or_order_is_refused() {
    let refused: [(&[&str], &[&str]); 4] = [
        (&["topology.routing=d-mod-k"], &["chooses among several ways", "topology.routing = \"d-mod-k\""]),
        (
            &["switch.queueing=combined"],
            &["switch.load-balancing = \"spray\" does not work with switch.queueing = \"combined\""],
        ),
        (&["cc.kind=hpcc"], &["cc.kind = \"hpcc\" compares two packets link by link"]),
        (
            &["traffic.across.transport=put"],
            &["reorders packets, which does not fit traffic.across, of PUTs", "go-back-N"],
        ),
    ];
    for (overrides, words) in refused {
        says(&report(CLOS, &[&[SPRAY], overrides].concat()), words);
    }
    for kind in ["dcqcn", "timely", "dctcp", "swift", "none"] {
        assert_eq!(balancing(&[SPRAY, &format!("cc.kind={kind}")]), Balancing::Spray);
    }
}

#[test]
fn entropies_choose_the_way_of_traffic_that_has_them() {
    let entropy = "switch.load-balancing=entropy";
    assert_eq!(balancing(&[entropy]), Balancing::Entropy);
    // Queue pairs have none: what needs one way for a flow has it.
    let said = validate(CLOS, &[entropy]).unwrap().caveats().said();
    says(&said, &["no traffic gives its packets entropies", "goes by ecmp"]);
    assert_eq!(balancing(&[entropy, "cc.kind=hpcc"]), Balancing::Entropy);
    let refused: [(&str, &[&str]); 3] = [
        ("switch.queueing=combined", &["\"entropy\" gives a flow several ways", "knows one"]),
        ("switch.ecmp-hash=five-tuple", &["a hash of a flow's addresses and ports", "mixes in an entropy"]),
        ("topology.routing=d-mod-k", &["chooses among several ways"]),
    ];
    for (other, words) in refused {
        says(&report(CLOS, &[entropy, other]), words);
    }
}

#[test]
fn what_has_no_effect_is_said() {
    let caveats = |overrides: &[&str]| validate(CLOS, overrides).unwrap().caveats().said();
    let idle = "without effect with switch.load-balancing = \"spray\": switch.{flowlet-gap}";
    says(&caveats(&[SPRAY, "switch.flowlet-gap=20us"]), &[idle]);
    let idle = "without effect with one way from each switch to each host: switch.{load-balancing}";
    says(&caveats(&[SPRAY, "topology.spines=1"]), &[idle]);
    assert!(!caveats(&[SPRAY]).contains("load-balancing"));
}
