//! Reaction points with windows: their values that follow from the network, and what is said where they cannot work.

use crate::common::{Folder, SMALL, Said, report, says, validate};
use backwater_control::reaction::{DctcpConfig, HpccConfig, ReactionConfig, SwiftConfig};
use backwater_scenario::Scenario;
use backwater_units::{Rate, Span};

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
    let caveats = |overrides: &[&str]| validate(SMALL, overrides).unwrap().caveats().said();
    says(&caveats(&["cc.swift.beta=0.5"]), &["without effect with cc.kind = \"dcqcn\": cc.{swift}"]);
    says(&caveats(&["cc.kind=dctcp", "switch.detector.kind=none"]), &["gets no marks"]);
    let step =
        ["cc.kind=dctcp", "switch.detector.kind=red", "switch.detector.kmin=9KB", "switch.detector.kmax=9KB"];
    assert_eq!(caveats(&step), "");
}

/// Hosts at a switch, one of them far away, one with a slow link, one with a fast one; the first sends to the second, `from` to `to`.
fn star(from: &str, to: &str) -> String {
    let hosts =
        [("a", 40, "1us"), ("b", 40, "1us"), ("far", 40, "1ms"), ("slow", 10, "1us"), ("idle", 100, "1us")];
    let link = |(host, rate, delay)| {
        format!("  {{ a = \"{host}\", b = \"s\", rate = \"{rate}Gbps\", delay = \"{delay}\" }},\n")
    };
    let flow = |(name, (from, to))| {
        format!(
            "[[traffic]]\nname = \"{name}\"\nkind = \"flow\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"1MB\"\n"
        )
    };
    let names: Vec<String> = hosts.iter().map(|(host, ..)| format!("{host:?}")).collect();
    let head = format!(
        "profile = \"authors\"\n[topology]\nkind = \"edges\"\nhosts = [{}]\nswitches = [\"s\"]\nlinks = [\n",
        names.join(", ")
    );
    let links: Vec<String> = hosts.into_iter().map(link).collect();
    let flows: Vec<String> = [("one", ("a", "b")), ("two", (from, to))].into_iter().map(flow).collect();
    format!("{head}{}]\n{}", links.concat(), flows.concat())
}

fn caveats(text: &str, overrides: &[&str]) -> String {
    validate(text, overrides).unwrap_or_else(|error| panic!("{error}")).caveats().said()
}

/// Without what other caveats are about.
const CLEAN: [&str; 3] = ["switch.detector.kmin=120KB", "switch.detector.kmax=120KB", "packet.header=62B"];

#[test]
fn windows_that_do_not_fit_all_flows_are_told_of() {
    for (kind, key) in [("dctcp", "dctcp.window"), ("swift", "swift.window"), ("hpcc", "hpcc.base-rtt")] {
        let kind = format!("cc.kind={kind}");
        let with = |text: &str, more: &[&str]| caveats(text, &[&[kind.as_str()], &CLEAN[..], more].concat());
        // There and back: 2 · (1 us + 1 ms), and some hundred ns of the packet and its ACK.
        let far = with(&star("a", "far"), &[]);
        says(&far, &[&format!("cc.{key} = \"auto\""), "round trips take 4.", "to 2.00"]);
        assert!(!far.contains("senders have"), "{far}");
        says(&with(&star("slow", "b"), &[]), &["senders have 10Gbps to 40Gbps", "a cc of its own"]);
        assert!(!with(&star("b", "a"), &[]).contains("\"auto\""), "all alike");
        // Who only receives sets no pace, whatever link it has.
        assert!(!with(&star("b", "idle"), &[]).contains("senders have"), "idle hosts");
    }
    let given = [&["cc.kind=dctcp", "cc.dctcp.window=20KB"], &CLEAN[..]].concat();
    assert!(!caveats(&star("slow", "b"), &given).contains("\"auto\""));
}

#[test]
fn hosts_that_do_not_send_set_no_window() {
    let window = |text: &str| match validate(text, &["cc.kind=dctcp"]).unwrap().build().pairs[0].reaction {
        ReactionConfig::Dctcp(dctcp) => dctcp.initial,
        _ => unreachable!(),
    };
    // 5 B/ns for 4 us, two packets of 1020 B (204 ns) and two ACKs of 64 B (12.8 ns): 22 168 B; the 100 Gbps of the idle host play no part.
    assert_eq!(window(&star("b", "a")), 22_168);
}

#[test]
fn the_line_rate_is_the_senders_where_switches_have_the_first_numbers() {
    // As files of the HPCC simulator may be: switches 0 and 1 with 400 Gbps between them, hosts 2 and 3 with 40 Gbps.
    let folder = Folder::new("switches-first");
    folder.write("topology.txt", b"4 2 3\n0 1\n0 1 400Gbps 1us 0\n2 0 40Gbps 1us 0\n3 1 40Gbps 1us 0\n");
    folder.write("flow.txt", b"1\n2 3 3 100 1000000 0\n");
    let text = "profile = \"authors\"\n[topology]\nkind = \"hpcc\"\nfile = \"topology.txt\"\n\
                [[traffic]]\nname = \"one\"\nkind = \"hpcc-flows\"\nfile = \"flow.txt\"\n";
    let of = |kind: &str| {
        let file = folder.write("s.toml", text.as_bytes());
        let scenario = Scenario::load(&file, &[format!("cc.kind={kind}")]).unwrap();
        scenario.validate().unwrap().build().pairs[0].reaction
    };
    // 1020 B take 204 ns at 40 Gbps and 20.4 ns at 400, 64 B 12.8 and 1.28 ns.
    let trip = Span::from_ps(6_000_000 + 2 * (204_000 + 12_800) + 20_400 + 1_280);
    assert_eq!(of("hpcc"), ReactionConfig::Hpcc(HpccConfig::paper(1020, Rate::from_gbps(40), trip)));
    // 5 B/ns for 6455.28 ns.
    assert_eq!(of("dctcp"), ReactionConfig::Dctcp(DctcpConfig::paper(1020, 32_276)));
}

#[test]
fn what_hardly_works_as_its_paper_meant_is_told() {
    let dctcp = caveats(SMALL, &["cc.kind=dctcp", "switch.detector.kind=red"]);
    says(
        &dctcp,
        &[
            "cc.kind = \"dctcp\" wants every packet above one threshold marked",
            "switch.detector.kmin and switch.detector.kmax to 300KB",
        ],
    );
    assert!(!caveats(SMALL, &[&["cc.kind=dctcp"], &CLEAN[..]].concat()).contains("above one threshold"));
    let hpcc = caveats(SMALL, &["cc.kind=hpcc"]);
    says(&hpcc, &["telemetry takes no room", "packet.header = \"62B\" and ack.size = \"106B\""]);
    assert!(!caveats(SMALL, &[&["cc.kind=hpcc"], &CLEAN[..]].concat()).contains("telemetry"));
    let swift = ["cc.kind=swift", "cc.swift.base-target=1us", "cc.swift.hop=1us"];
    says(&caveats(SMALL, &swift), &["the target of the longest path is 2us", "Raise base-target or hop"]);
    says(
        &caveats(SMALL, &["cc.kind=hpcc", "cc.hpcc.base-rtt=20us"]),
        &["cc.hpcc.base-rtt = \"20us\" is far from"],
    );
    for kind in ["cc.kind=swift", "cc.kind=hpcc"] {
        let said = caveats(SMALL, &[kind]);
        assert!(!said.contains("target of the longest") && !said.contains("is far from"), "{said}");
    }
}
