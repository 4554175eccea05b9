//! Switches with ingress and egress regions, and congestion isolation in them: defaults, and what cannot work.
mod common;

use backwater_control::flow_control::{Band, Bands};
use backwater_fabric::{Arbiter, Combined, Crossings, MarkAt, MarkBasis, MarkSpec, Queueing, Spec};
use backwater_scenario::ValidScenario;
use backwater_scenario::settings::Isolation;
use backwater_units::{Bytes, Span};
use common::{report, says, validate};

/// The network of the ICI paper in small: its links, its packets.
const PAPER: &str = r#"
profile = "isolation"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "25ns"

[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

fn valid(text: &str, overrides: &[&str]) -> ValidScenario {
    validate(text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn paper(overrides: &[&str]) -> ValidScenario {
    valid(PAPER, overrides)
}

fn isolation(overrides: &[&str]) -> Isolation {
    paper(overrides).settings().switch.isolation.clone()
}

/// What is wrong with the paper's network under ICI+ and these overrides.
#[track_caller]
fn wrong(overrides: &[&str]) -> String {
    let overrides: Vec<&str> = ["switch.isolation.kind=ici+", "switch.detector.kind=none"]
        .into_iter()
        .chain(overrides.iter().copied())
        .collect();
    report(PAPER, &overrides)
}

fn combined(spec: &Spec) -> Combined {
    let Queueing::Combined(combined) = spec.switch.queueing else { panic!("not combined") };
    combined
}

const fn packets(count: u64) -> Bytes {
    Bytes::new(count * 4096)
}

#[test]
fn the_isolation_profile_is_the_network_of_the_papers_section_4_1() {
    let scenario = paper(&[]);
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
    let spec = scenario.build();
    let expected = Combined {
        speedup_percent: 200,
        ingress: packets(64),
        egress: packets(64),
        caps: [packets(64); 8],
        crossbar: Crossings::Single,
        bands: Bands { own: [Band::port(); 8], port: Band::port() },
    };
    assert_eq!(combined(&spec), expected);
    assert!(spec.packet.padded);
    assert_eq!((spec.packet.payload, spec.packet.header), (packets(1), Bytes::ZERO));
    assert_eq!(spec.switch.mark, MarkSpec { at: MarkAt::Enqueue, basis: MarkBasis::Port });
    assert_eq!(spec.switch.arbiter, Arbiter::Deficit { weights: [1; 8] });
    assert!(spec.pairs[0].ack.is_none());
}

#[test]
fn a_port_is_paused_at_50_of_64_packets_and_resumed_at_45() {
    let scenario = paper(&[]);
    let combined = &scenario.settings().switch.combined;
    assert_eq!((combined.stop.unwrap().0, combined.go.unwrap().0), (packets(50), packets(45)));
}

#[test]
fn with_only_a_kind_written_every_default_is_the_papers_number_of_packets() {
    for kind in ["ci", "ici", "ici+"] {
        let own = isolation(&[&format!("switch.isolation.kind={kind}"), "switch.detector.kind=none"]);
        let class = |class: backwater_scenario::settings::QueueClass| {
            (class.stop.unwrap().0, class.go.unwrap().0, class.cap.unwrap().0, class.weight.unwrap())
        };
        assert_eq!(class(own.nfq), (packets(22), packets(20), packets(36), 22), "{kind}");
        assert_eq!(class(own.cfq), (packets(17), packets(15), packets(28), 17), "{kind}");
        assert_eq!((own.priority, own.cfq_priority), (Some(3), Some(2)));
        assert_eq!((own.detect.unwrap().0, own.cim.level.unwrap().0), (packets(12), packets(8)));
        assert_eq!(own.ici.quorum.unwrap().0, packets(2));
        let ramp = |ramp: backwater_scenario::settings::Ramp| {
            (ramp.kmin.unwrap().0, ramp.kmax.unwrap().0, ramp.pmax)
        };
        assert_eq!(ramp(own.ici.congested), (packets(8), packets(24), 1.0));
        assert_eq!(ramp(own.ici.monitored), (packets(10), packets(40), 0.2));
    }
}
