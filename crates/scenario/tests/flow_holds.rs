//! Switches that hold flows upstream (BFC): what they are beside, and what does not go with them.
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_fabric::{Apart, BfcSpec, DstPfcSpec, PoolOrder, Queueing};
use backwater_units::Bytes;

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
    says(&report(&text, &[]), &["would break what switches know of each other's queues"]);
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
