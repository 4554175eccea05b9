//! Switches that hold flows upstream (BFC): what they are beside, and what does not go with them.
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::pyrrha::Rules;
use backwater_control::isolation::recn::{Aside, RecnConfig};
use backwater_control::isolation::sfc::SfcConfig;
use backwater_fabric::{
    Apart, BfcSpec, DstPfcSpec, FloodgateSpec, Pace, Pauses, PoolOrder, PyrrhaSpec, Queueing, RecnSpec,
    SfcSpec,
};
use backwater_units::{Bytes, Span};

use crate::common::{Said, report, says, valid};

const STAR: &str = r#"
profile = "ideal"
topology = { kind = "star", hosts = 3, rate = "100Gbps", delay = "1us" }
cc = { kind = "none" }
switch = { flow-control = "none", detector = { kind = "none" }, isolation = { kind = "bfc" } }
traffic = [{ name = "a", kind = "flow", from = "h0", to = "h2", size = "1MB" }]
"#;

#[test]
fn flows_have_32_queues_in_turn_unless_the_file_says_otherwise() {
    let queueing = |overrides: &[&str]| valid(STAR, overrides).build().switch.queueing;
    let usual = BfcSpec { queues: 32, sticky: 2, order: PoolOrder::RoundRobin, frame: Bytes::new(64) };
    assert_eq!(queueing(&[]), Queueing::Bfc(usual));
    let other = ["switch.isolation.bfc.queues=7", "switch.isolation.bfc.order=lowest-first"];
    assert_eq!(
        queueing(&other),
        Queueing::Bfc(BfcSpec { queues: 7, order: PoolOrder::LowestFirst, ..usual })
    );
    assert_eq!(queueing(&["switch.isolation.kind=none"]), Queueing::Output);
}

#[test]
fn what_does_not_go_with_flows_that_are_held_says_what_does() {
    let refused = |set: &[&str], wanted: &[&str]| says(&report(STAR, set), wanted);
    refused(
        &["switch.flow-control=pfc"],
        &[
            "isolation.kind = \"bfc\" holds flows back itself",
            "would hold back the others",
            "flow-control = \"none\"",
        ],
    );
    refused(&["switch.flow-control=credits"], &["holds flows back itself"]);
    refused(
        &["switch.queueing=voq"],
        &["gives flows queues of their own at egress ports", "queueing = \"output\""],
    );
    refused(&["switch.queueing=combined"], &["gives flows queues of their own at egress ports"]);
    refused(&["switch.overflow=drop"], &["loses nothing", "overflow = \"stop\""]);
    refused(&["switch.arbiter=deficit"], &["takes turns between queues", "round-robin"]);
    refused(&["switch.detector.kind=oracle"], &["the oracle follows the pauses of classes"]);
    refused(&["host.transport=put"], &["holds queue pairs at NICs", "transport = \"roce\""]);
    refused(&["switch.isolation.bfc.queues=1"], &["switch.isolation.bfc.queues", "2"]);
}

#[test]
fn destinations_are_held_from_two_hops_to_one_unless_the_file_says_otherwise() {
    let queueing = |overrides: &[&str]| {
        let set = [&["switch.isolation.kind=dst-pfc"], overrides].concat();
        valid(STAR, &set).build().switch.queueing
    };
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let usual = DstPfcSpec { apart: Apart::Always, thresholds, first_packets: false, frame: Bytes::new(64) };
    assert_eq!(queueing(&[]), Queueing::DstPfc(usual));
    let thresholds = Thresholds { high: 1500, low: 250 };
    let other = [
        "switch.isolation.dst-pfc.apart=held",
        "switch.isolation.dst-pfc.high=1.5",
        "switch.isolation.dst-pfc.low=0.25",
    ];
    assert_eq!(queueing(&other), Queueing::DstPfc(DstPfcSpec { apart: Apart::Held, thresholds, ..usual }));
    let upside_down = ["switch.isolation.kind=dst-pfc", "switch.isolation.dst-pfc.low=3"];
    says(&report(STAR, &upside_down), &["lets its destination go at 3 hops", "only above 2"]);
    says(
        &report(STAR, &["switch.isolation.kind=dst-pfc", "switch.flow-control=pfc"]),
        &["\"dst-pfc\" holds"],
    );
}

/// `TH_CONGESTION`, `TH_RESUME` and `TH_HOL` of the authors' `config-CI.ini`; in their simulator `TH_HOL` has no effect.
#[test]
fn roots_are_held_from_two_hops_to_one_unless_the_file_says_otherwise() {
    let queueing = |overrides: &[&str]| {
        let set = [&["switch.isolation.kind=pyrrha"], overrides].concat();
        valid(STAR, &set).build().switch.queueing
    };
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let rules = Rules { thresholds, hol: 2000, only_down: false, merge: true, nearest: true };
    let usual = PyrrhaSpec { queues: 32, rules, pace: Pace::OwnPort, frame: Bytes::new(64) };
    assert_eq!(queueing(&[]), Queueing::Pyrrha(usual));
    let other = ["merge=false", "match=farthest", "only-down=true", "pace=last-port", "queues=4"];
    let other = other.map(|it| format!("switch.isolation.pyrrha.{it}"));
    let rules = Rules { only_down: true, merge: false, nearest: false, ..rules };
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    assert_eq!(
        queueing(&other),
        Queueing::Pyrrha(PyrrhaSpec { queues: 4, rules, pace: Pace::LastPort, ..usual })
    );
    let refused = |set: &[&str], wanted: &[&str]| {
        says(&report(STAR, &[&["switch.isolation.kind=pyrrha"], set].concat()), wanted);
    };
    refused(&["switch.isolation.pyrrha.low=3"], &["lets its root go at 3 hops", "only above 2"]);
    refused(&["switch.isolation.pyrrha.queues=0"], &["switch.isolation.pyrrha.queues", "1"]);
    refused(&["switch.flow-control=pfc"], &["\"pyrrha\" holds", "flow-control = \"none\""]);
    refused(
        &["switch.load-balancing=spray"],
        &["switch.load-balancing", "knows the one way of each flow", "\"ecmp\""],
    );
    let early = valid(STAR, &["switch.isolation.kind=pyrrha", "switch.isolation.pyrrha.low=0.5"]);
    says(&early.caveats().said(), &["switch.isolation.pyrrha.low = 0.5", "its link idles"]);
}

#[test]
fn queues_are_set_aside_by_roots_destinations_and_ranges() {
    let queueing = |kind: &str, overrides: &[&str]| {
        let kind = format!("switch.isolation.kind={kind}");
        valid(STAR, &[&[kind.as_str()], overrides].concat()).build().switch.queueing
    };
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let rules = RecnConfig { detect: 1000, notify: 500, thresholds, aside: Aside::Root, marks_roots: false };
    let usual = RecnSpec { queues: 8, rules, order: PoolOrder::RoundRobin, frame: Bytes::new(64) };
    assert_eq!(queueing("recn", &[]), Queueing::Recn(usual));
    let of = |aside, marks_roots| {
        Queueing::Recn(RecnSpec { rules: RecnConfig { aside, marks_roots, ..rules }, ..usual })
    };
    assert_eq!(queueing("fbicm", &[]), of(Aside::Destinations(1), false));
    assert_eq!(queueing("drbcm", &[]), of(Aside::Destinations(8), false));
    assert_eq!(queueing("drbcm", &["switch.isolation.drbcm.range=3"]), of(Aside::Destinations(3), false));
    assert_eq!(queueing("ccfit", &["switch.detector.kind=fecn"]), of(Aside::Destinations(1), true));
    let other = ["detect=0.75", "notify=0.25", "low=1.5", "queues=2", "order=lowest-first"];
    let other = other.map(|it| format!("switch.isolation.recn.{it}"));
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    let thresholds = Thresholds { low: 1500, ..thresholds };
    let rules = RecnConfig { detect: 750, notify: 250, thresholds, ..rules };
    let order = PoolOrder::LowestFirst;
    assert_eq!(queueing("recn", &other), Queueing::Recn(RecnSpec { queues: 2, rules, order, ..usual }));
}

#[test]
fn what_does_not_go_with_queues_that_are_set_aside_says_what_does() {
    let refused = |kind: &str, set: &[&str], wanted: &[&str]| {
        let kind = format!("switch.isolation.kind={kind}");
        says(&report(STAR, &[&[kind.as_str()], set].concat()), wanted);
    };
    for kind in ["recn", "fbicm", "drbcm"] {
        let named = format!("\"{kind}\" holds");
        refused(kind, &["switch.flow-control=pfc"], &[&named, "flow-control = \"none\""]);
        refused(kind, &["switch.load-balancing=spray"], &["knows the one way of each flow", "\"ecmp\""]);
        refused(kind, &["switch.isolation.recn.low=3"], &["lets its root go at 3 hops", "only above 2"]);
        refused(
            kind,
            &["switch.isolation.recn.notify=3"],
            &["are set aside from 3 hops on, and held from 2"],
        );
        refused(kind, &["switch.isolation.recn.queues=0"], &["switch.isolation.recn.queues", "1"]);
    }
    refused("ccfit", &[], &["slows sources by marks of roots, and here nothing marks", "\"fecn\""]);
    let early = valid(STAR, &["switch.isolation.kind=recn", "switch.isolation.recn.low=0.5"]);
    says(&early.caveats().said(), &["switch.isolation.recn.low = 0.5", "its link idles"]);
    let idle = valid(STAR, &["switch.isolation.kind=recn", "switch.isolation.drbcm.range=3"]);
    says(&idle.caveats().said(), &["without effect", "drbcm"]);
}

/// 100 Gbit/s · 50 ns = 625 B, and a packet has 1000 B and the headers of the profile.
#[test]
fn a_hop_of_less_than_a_packet_is_said() {
    let caveats = |delay: &str| {
        let delay = format!("topology.delay={delay}");
        valid(STAR, &["switch.isolation.kind=fbicm", &delay]).caveats().said()
    };
    says(
        &caveats("25ns"),
        &["switch.isolation.recn.low = 1: 625 B at s", "less than a packet", "link idles"],
    );
    assert!(!caveats("1us").contains("less than a packet"), "{}", caveats("1us"));
}

/// Numbers of entries have 16 bits.
#[test]
fn more_destinations_than_have_numbers_are_refused() {
    let many = "topology={ kind = \"leaf-spine\", leaves = 66, spines = 1, hosts-per-leaf = 1000, rate = \"100Gbps\", delay = \"1us\" }";
    let refused = report(STAR, &["switch.isolation.kind=fbicm", many]);
    says(&refused, &["66000 hosts", "allowed: 65000 hosts"]);
}

/// Seven switches in a ring, each with a host and two neighbours: 21 egress ports may be roots. Every host sends to the third one further on.
#[test]
fn circles_of_what_is_set_aside_are_said() {
    let caveats = |kind: &str, set: &[&str]| {
        let flows: Vec<_> = (0..7)
            .map(|i| {
                format!(
                    "{{ name = \"f{i}\", kind = \"flow\", from = \"h{i}\", to = \"h{}\", size = \"1MB\" }}",
                    (i + 3) % 7
                )
            })
            .collect();
        let traffic = format!("traffic=[{}]", flows.join(", "));
        let kind = format!("switch.isolation.kind={kind}");
        let ring = "topology={ kind = \"torus\", sizes = [7], rate = \"100Gbps\", delay = \"1us\" }";
        let set = [&[ring, traffic.as_str(), kind.as_str()], set].concat();
        valid(STAR, &set).caveats().said()
    };
    let deadlock = "can deadlock";
    says(&caveats("recn", &["switch.isolation.recn.queues=7"]), &[deadlock]);
    assert!(!caveats("recn", &["switch.isolation.recn.queues=21"]).contains(deadlock));
    says(&caveats("fbicm", &["switch.isolation.recn.queues=6"]), &[deadlock]);
    assert!(!caveats("fbicm", &["switch.isolation.recn.queues=7"]).contains(deadlock));
    says(
        &caveats("drbcm", &["switch.isolation.recn.queues=7", "switch.isolation.drbcm.range=2"]),
        &[deadlock],
    );
    let apart = ["switch.isolation.recn.queues=7", "switch.isolation.drbcm.range=1"];
    assert!(!caveats("drbcm", &apart).contains(deadlock));
}

/// InfiniBand, where FECN and BECN are what CCFIT was made with.
#[test]
fn ccfit_goes_with_congestion_control_of_infiniband() {
    let text = r#"
profile = "infiniband"
topology = { kind = "star", hosts = 3, rate = "100Gbps", delay = "1us" }
switch = { queueing = "output", flow-control = "none", isolation = { kind = "ccfit" } }
traffic = [{ name = "a", kind = "flow", from = "h0", to = "h2", size = "1MB" }]
"#;
    let spec = valid(text, &[]).build();
    assert!(matches!(spec.switch.queueing, Queueing::Recn(spec) if spec.rules.marks_roots));
}

/// Of two uplinks none has more than twice the mean of both.
#[test]
fn uplinks_that_are_never_roots_are_said() {
    let caveats = |set: &[&str]| {
        let leaf_spine = "topology={ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = \"100Gbps\", delay = \"1us\" }";
        valid(STAR, &[&["switch.isolation.kind=pyrrha", leaf_spine], set].concat()).caveats().said()
    };
    says(&caveats(&[]), &["no port of leaf0 to a higher tier is ever a root", "hol = 2"]);
    says(&caveats(&["switch.isolation.pyrrha.only-down=true"]), &["only-down = true"]);
    let any = caveats(&["switch.isolation.pyrrha.hol=0"]);
    assert!(!any.contains("ever a root"), "{any}");
}

#[test]
fn a_nic_needs_a_class_for_what_is_held() {
    let entry = |priority: u8| {
        format!(
            "{{ name = \"p{priority}\", kind = \"flow\", from = \"h0\", to = \"h2\", size = \"1KB\", priority = {priority} }}"
        )
    };
    let of = |priorities: std::ops::Range<u8>| {
        let entries: Vec<String> = priorities.map(entry).collect();
        let text = STAR.lines().filter(|line| !line.starts_with("traffic")).collect::<Vec<_>>().join("\n");
        format!("{text}\ntraffic = [{}]", entries.join(", "))
    };
    assert!(matches!(valid(&of(0..6), &[]).build().switch.queueing, Queueing::Bfc(_)));
    says(&report(&of(0..7), &[]), &["8 priorities leave no room", "allowed: 7 priorities"]);
}

#[test]
fn faults_would_break_what_switches_know_of_each_other() {
    let fault = "\n[[fault]]\nkind = \"link-down\"\nlink = [\"h0\", \"s\"]\nat = \"1us\"\nfor = \"1us\"\n";
    let text = format!("{STAR}{fault}");
    says(&report(&text, &[]), &["would break what switches know of each other"]);
}

#[test]
fn tcd_sees_gates_that_are_closed_by_holds() {
    let caveats = |set: &[&str]| valid(STAR, &[&["switch.detector.kind=tcd"], set].concat()).caveats().said();
    assert!(!caveats(&[]).contains("no port is ever OFF"), "{}", caveats(&[]));
    says(&caveats(&["switch.isolation.kind=none"]), &["no port is ever OFF"]);
}

#[test]
fn a_queue_that_lets_go_too_late_and_a_key_that_does_nothing_are_said() {
    let caveats =
        |set: &[&str]| valid(STAR, &[&["switch.isolation.kind=dst-pfc"], set].concat()).caveats().said();
    says(&caveats(&["switch.isolation.dst-pfc.low=0.5"]), &["low = 0.5", "its link idles"]);
    says(
        &caveats(&["switch.isolation.dst-pfc.first-packets=true"]),
        &["without effect with apart = \"always\""],
    );
    let held =
        caveats(&["switch.isolation.dst-pfc.first-packets=true", "switch.isolation.dst-pfc.apart=held"]);
    assert!(!held.contains("without effect") && !held.contains("idles"), "{held}");
}

/// Two racks of two, of which only the uplinks need windows.
const FLOODGATE: &str = r#"
profile = "ideal"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us" }
cc = { kind = "none" }
switch = { flow-control = "none", detector = { kind = "none" }, isolation = { kind = "floodgate" } }
traffic = [{ name = "a", kind = "flow", from = "h0", to = "h2", size = "1MB" }]
"#;

#[test]
fn windows_are_one_and_a_half_round_trips_and_an_interval_unless_the_file_says_otherwise() {
    let queueing = |overrides: &[&str]| valid(FLOODGATE, overrides).build().switch.queueing;
    let rules = FloodgateConfig { window: 1500, interval: Span::from_us(10), count: 10_240, delay: 1500 };
    let usual = FloodgateSpec { rules, voqs: 100, frame: Bytes::new(38), entry: Bytes::new(8) };
    assert_eq!(queueing(&[]), Queueing::Floodgate(usual));
    let other = ["switch.isolation.floodgate.window=2.25", "switch.isolation.floodgate.voqs=3"];
    let rules = FloodgateConfig { window: 2250, ..rules };
    assert_eq!(queueing(&other), Queueing::Floodgate(FloodgateSpec { rules, voqs: 3, ..usual }));
}

#[test]
fn a_window_that_holds_no_packet_is_named_with_its_port() {
    let small =
        |set: &[&str]| report(FLOODGATE, &[&["switch.isolation.floodgate.window=0.03"], set].concat());
    // 0.03 of 25,000 B.
    says(
        &small(&["switch.isolation.floodgate.count=1B"]),
        &[
            "floodgate.window",
            "0.03 round trips",
            "is 750 B at leaf0->spine0",
            "a packet has 1",
            "none would ever pass",
        ],
    );
    // A shorter interval: 12 B of 1 ns.
    says(&small(&["switch.isolation.floodgate.interval=1ns"]), &["an interval of 1ns is 762 B"]);
    let valid_still = ["switch.isolation.floodgate.window=0.03"];
    assert!(matches!(valid(FLOODGATE, &valid_still).build().switch.queueing, Queueing::Floodgate(_)));
}

#[test]
fn what_does_not_go_with_windows_says_what_does() {
    let refused = |set: &[&str], wanted: &[&str]| says(&report(FLOODGATE, set), wanted);
    refused(&["switch.isolation.floodgate.interval=0s"], &["switch.isolation.floodgate.interval", "1ns"]);
    refused(&["switch.isolation.floodgate.voqs=0"], &["switch.isolation.floodgate.voqs", "1"]);
    refused(&["switch.isolation.floodgate.count=0B"], &["switch.isolation.floodgate.count", "1"]);
    refused(
        &["switch.flow-control=pfc"],
        &["\"floodgate\" holds flows back itself", "flow-control = \"none\""],
    );
    refused(&["switch.queueing=voq"], &["keeps packets apart before the queues", "queueing = \"output\""]);
    refused(&["switch.overflow=drop"], &["loses nothing"]);
    refused(&["switch.arbiter=deficit"], &["takes turns between queues"]);
    // NICs have no part in it, and a window is one whatever the way.
    for set in ["host.transport=put", "switch.load-balancing=spray"] {
        assert!(matches!(valid(FLOODGATE, &[set]).build().switch.queueing, Queueing::Floodgate(_)), "{set}");
    }
}

const SFC: &[&str] = &["switch.isolation.kind=sfc"];

#[test]
fn sources_pause_a_priority_above_100_kb_until_50_are_left_unless_the_file_says_otherwise() {
    let queueing = |overrides: &[&str]| valid(STAR, &[SFC, overrides].concat()).build().switch.queueing;
    let rules = SfcConfig { threshold: Bytes::from_kb(100), target: Bytes::from_kb(50) };
    let usual = SfcSpec { rules, pauses: Pauses::Priority, cache: false, frame: Bytes::new(64) };
    assert_eq!(queueing(&[]), Queueing::Sfc(usual));
    // Beside PFC, and where packets may be lost.
    assert_eq!(queueing(&["switch.flow-control=pfc"]), Queueing::Sfc(usual));
    let lossy =
        ["switch.overflow=drop", "transport.reliability=go-back-n", "switch.isolation.sfc.pauses=flow"];
    assert_eq!(queueing(&lossy), Queueing::Sfc(SfcSpec { pauses: Pauses::Flow, ..usual }));
}

#[test]
fn what_does_not_go_with_sources_that_pause_says_what_does() {
    let refused = |set: &[&str], wanted: &[&str]| says(&report(STAR, &[SFC, set].concat()), wanted);
    refused(
        &["switch.flow-control=credits"],
        &["isolation.kind = \"sfc\" watches the queues of a shared memory", "flow-control = \"pfc\""],
    );
    refused(&["switch.queueing=voq"], &["watches the queues of egress ports alone", "queueing = \"output\""]);
    refused(&["switch.overflow=trim"], &["trimming has queues of its own"]);
    refused(&["switch.arbiter=deficit"], &["takes turns between queues", "round-robin"]);
    refused(&["switch.load-balancing=spray"], &["knows the one way of each flow"]);
    refused(&["host.transport=put"], &["holds queue pairs at NICs", "transport = \"roce\""]);
    refused(
        &["switch.isolation.sfc.target=100KB"],
        &["begins above 100KB and is to last until 100KB are left", "less than threshold"],
    );
}
