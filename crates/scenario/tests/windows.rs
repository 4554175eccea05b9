//! Reaction points with windows: their values that follow from the network, and what is said where they cannot work.
mod common;

use backwater_control::reaction::{DctcpConfig, HpccConfig, ReactionConfig, SwiftConfig};
use backwater_units::{Rate, Span};
use common::{SMALL, report, says, validate};

fn reaction(overrides: &[&str]) -> ReactionConfig {
    validate(SMALL, overrides).unwrap().build().pairs[0].reaction
}

/// Two cables of 1 us there and back; 1020 B at 100 Gbps take 81.6 ns on each, the ACK's 64 B 5.12 ns.
const ROUND_TRIP: Span = Span::from_ps(4_000_000 + 2 * 81_600 + 2 * 5_120);
/// 12.5 B/ns for 4173.44 ns.
const BDP: u64 = 52_168;

#[test]
fn windows_follow_from_the_round_trip_of_the_empty_network() {
    let dctcp = DctcpConfig::paper(1020, BDP);
    assert_eq!(reaction(&["cc.kind=dctcp"]), ReactionConfig::Dctcp(dctcp));
    let swift = SwiftConfig::standard(1020, BDP, Span::from_ps(ROUND_TRIP.as_ps() / 2));
    assert_eq!(reaction(&["cc.kind=swift"]), ReactionConfig::Swift(swift));
    let hpcc = HpccConfig::paper(1020, Rate::from_gbps(100), ROUND_TRIP);
    assert_eq!(reaction(&["cc.kind=hpcc"]), ReactionConfig::Hpcc(hpcc));
}

#[test]
fn each_packet_is_acknowledged_ahead_of_the_data_whatever_the_profile_says() {
    for kind in ["dctcp", "swift", "hpcc"] {
        let spec = validate(SMALL, &[&format!("cc.kind={kind}")]).unwrap().build();
        let ack = spec.pairs[0].ack.unwrap();
        assert_eq!((ack.every, ack.priority), (1, Some(7)), "{kind}");
        assert!(spec.pairs[0].notify.is_none(), "{kind} reads no CNPs");
    }
}

#[test]
fn acks_for_several_packets_are_refused_as_a_small_window_would_wait_for_ever() {
    for kind in ["dctcp", "swift", "hpcc"] {
        let text = report(SMALL, &[&format!("cc.kind={kind}"), "ack.every=4"]);
        says(&text, &["ack.every = 4", "would wait for ever", "allowed: 0 or 1"]);
    }
}

#[test]
fn puts_isolation_and_combined_switches_are_refused_with_a_way_out() {
    let put = "cc = { kind = \"swift\" }\ntransport = \"put\"\n";
    says(&report(&format!("{SMALL}{put}"), &[]), &["traffic.one is of PUTs", "transport = \"roce\""]);
    let isolated = ["profile=isolation", "switch.isolation.kind=ici", "cc.kind=dctcp"];
    says(&report(SMALL, &isolated), &["has a window", "switch.isolation.kind = \"none\""]);
    let combined = report(SMALL, &["profile=isolation", "cc.kind=hpcc"]);
    says(&combined, &["needs telemetry", "switch.queueing = \"output\" or \"voq\""]);
}

#[test]
fn messages_that_share_a_queue_pair_are_refused() {
    let text = SMALL.replace(
        "kind = \"flow\"",
        "kind = \"poisson\"\nconnection = \"pair\"\nload = 0.3\nuntil = \"1ms\"\ncdf = \"hadoop\"",
    );
    let text = text.replace("from = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\n", "");
    says(&report(&text, &["cc.kind=swift"]), &["window per flow", "share a queue pair"]);
}

#[test]
fn wrong_values_are_shown_at_their_keys() {
    let cases = [
        ("cc.kind=dctcp", "cc.dctcp.g=1.5", "cc.dctcp.g = 1.5"),
        ("cc.kind=dctcp", "cc.dctcp.add=0B", "cc.dctcp.add = \"0B\""),
        ("cc.kind=dctcp", "cc.dctcp.min-window=1GB", "cc.dctcp.min-window = 1GB"),
        ("cc.kind=hpcc", "cc.hpcc.min-window=1MB", "cc.hpcc.min-window = 1MB"),
        ("cc.kind=dctcp", "cc.dctcp.window=10B", "cc.dctcp.window = 10B"),
        ("cc.kind=dctcp", "cc.dctcp.max-window=10B", "cc.dctcp.max-window = 10B"),
        ("cc.kind=swift", "cc.swift.max-mdf=1", "cc.swift.max-mdf = 1"),
        ("cc.kind=swift", "cc.swift.fs-max-window=0.05", "cc.swift.fs-max-window = 0.05"),
        ("cc.kind=hpcc", "cc.hpcc.eta=0", "cc.hpcc.eta = 0"),
        ("cc.kind=hpcc", "cc.hpcc.base-rtt=1ns", "cc.hpcc.base-rtt = 1ns"),
        ("cc.kind=hpcc", "cc.hpcc.base-rtt=soon", "cc.hpcc.base-rtt = \"soon\""),
    ];
    for (kind, wrong, shown) in cases {
        says(&report(SMALL, &[kind, wrong]), &[shown]);
    }
    says(&report(SMALL, &["cc.hpc.eta=1"]), &["did you mean \"hpcc\"?"]);
}

#[test]
fn what_nobody_reads_or_marks_is_a_caveat() {
    let caveats = |overrides: &[&str]| validate(SMALL, overrides).unwrap().caveats().join("\n");
    says(&caveats(&["cc.swift.beta=0.5"]), &["without effect with cc.kind = \"dcqcn\": cc.{swift}"]);
    says(&caveats(&["cc.kind=dctcp", "switch.detector.kind=none"]), &["gets no marks"]);
    assert_eq!(caveats(&["cc.kind=dctcp", "switch.detector.kind=red"]), "");
}
