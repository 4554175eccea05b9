//! Reads testbeds: what they come to mean, and what is said about those that cannot be read.
use backwater_testbed::{Testbed, reference};
use backwater_units::Span;

/// The compact testbed of the TCD paper, §5.1.1.
const PFC: &str = r#"
[run]
duration = "1s"
[flow-control]
kind = "pfc"
[detector]
kind = "tcd"
tau = "20us"
[[node]]
name = "S0"
kind = "sender"
[[node]]
name = "T0"
kind = "switch"
forwarding = "static"
[[node]]
name = "T2"
kind = "switch"
forwarding = "static"
[[node]]
name = "R0"
kind = "receiver"
[[link]]
a = "S0"
b = "T0"
rate = "10Gbps"
delay = "4us"
[[link]]
a = "T0.P0"
b = "T2"
rate = "10Gbps"
delay = "4us"
[[link]]
a = "T2"
b = "R0"
rate = "10Gbps"
delay = "4us"
[[flow]]
name = "F0"
from = "S0"
to = "R0"
rate = "1Gbps"
[[flow]]
name = "A0"
from = "S0"
to = "R0"
rate = "line"
start = "300ms"
stop = "600ms"
"#;

fn parse(text: &str) -> Testbed {
    Testbed::parse(text, "bed.toml").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_paper_s_testbed_has_870_us_under_pfc() {
    let bed = parse(PFC);
    let backwater_testbed::NodeKind::Switch { detector, .. } = &bed.nodes[1].kind else {
        panic!("T0 is a switch")
    };
    let backwater_control::detector::Detector::Tcd(tcd) = detector else { panic!("TCD was asked for") };
    // [2 · 30 KB · 8 + 20 us · 10G] / (2 · 0.04 · 10G) + 20 us = 850 us + 20 us
    assert_eq!(tcd.max_ton, Span::from_us(870));
    assert_eq!((bed.ports.len(), bed.nodes[2].port_count), (6, 2));
    assert_eq!(bed.flows[1].rate, None);
    // R0 is behind port P0 of T0, S0 behind port 0 of T2.
    let way = |node: usize, host: usize| {
        bed.entries.iter().find(|entry| entry.node == node && entry.mac == bed.nodes[host].mac).unwrap().port
    };
    assert_eq!((way(1, 3), way(1, 0), way(2, 0), way(2, 3)), (1, 0, 0, 1));
    assert_eq!(bed.ports[bed.nodes[1].first_port + 1].name, "P0");
}

#[test]
fn under_credits_max_ton_is_their_period() {
    let text = PFC.replace("kind = \"pfc\"", "kind = \"credits\"").replace("tau = \"20us\"\n", "");
    let bed = parse(&text);
    let backwater_testbed::NodeKind::Switch { detector, .. } = &bed.nodes[1].kind else {
        panic!("T0 is a switch")
    };
    let backwater_control::detector::Detector::Tcd(tcd) = detector else { panic!("TCD was asked for") };
    // TCD §4.4: max(Ton) = Tc = 60 us; T: whole periods, at least 4 and 200 us
    assert_eq!((tcd.max_ton, tcd.period), (Span::from_us(60), Span::from_us(240)));
}

/// A change of the testbed above, and what is said about it: the line, the message, the fix (a part of it).
const WRONG: [(&str, &str, usize, &str, &str); 22] = [
    ("kind = \"pfc\"", "kind = \"pcf\"", 5, "flow-control.kind = \"pcf\" is not known", "choose one of"),
    ("kind = \"pfc\"", "kind = \"cbfc\"", 5, "flow-control.kind = \"cbfc\" is not known", "choose one of"),
    (
        "kind = \"pfc\"",
        "kind = \"pfc\"\nxof = \"1KB\"",
        6,
        "unknown key \"xof\" in flow-control (kind \"pfc\")",
        "the keys here are",
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pfc\"\nxoff = 800",
        6,
        "flow-control.xoff = 800 is a whole number",
        "write flow-control.xoff as a size in quotes",
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pfc\"\nxon = \"900KB\"",
        6,
        "flow-control.xon = \"900KB\" is above xoff",
        "raise xoff or lower xon",
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pfc\"\npriorities = [9]",
        6,
        "flow-control.priorities[0] = 9 is out of range",
        "",
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pfc\"\nwatchdog-restore = \"1ms\"",
        6,
        "flow-control.watchdog-restore has no effect",
        "write watchdog",
    ),
    ("kind = \"pfc\"", "kind = \"credits\"", 8, "detector.tau has no effect", "leave tau out"),
    (
        "duration = \"1s\"",
        "duration = \"1h\"",
        3,
        "run.duration = \"1h\" is not allowed",
        "give a time from 1us to 10000s",
    ),
    ("duration = \"1s\"", "frames = 3", 3, "run.frames = 3 is out of range", "Packet buffers"),
    (
        "[run]",
        "[clock]\nkind = \"lockstep\"\n[run]",
        3,
        "lockstep has no lookahead",
        "give the ports on devices a delay",
    ),
    (
        "[run]",
        "[clock]\nprocess = 1\n[run]",
        3,
        "clock.process has a meaning only with kind = \"lockstep\"",
        "write kind",
    ),
    ("name = \"T0\"", "name = \"T2\"", 17, "two nodes are called T2", "choose another name"),
    ("a = \"S0\"", "a = \"S1\"", 24, "node = \"S1\" is not known", "the names are S0, T0, T2, R0"),
    ("b = \"T0\"", "b = \"S0\"", 25, "S0 is linked to itself", "name another node"),
    ("rate = \"10Gbps\"", "rate = \"10GB\"", 26, "link[0].rate = \"10GB\" is not allowed", "give a rate"),
    ("to = \"R0\"", "to = \"T2\"", 41, "to = \"T2\" is no receiver", "name a node of kind"),
    ("stop = \"600ms\"", "stop = \"100ms\"", 49, "A0 stops before it starts", "move stop"),
    ("rate = \"line\"", "rate = \"lin\"", 47, "flow.A0.rate = \"lin\" is not allowed", "or write \"line\""),
    ("name = \"F0\"", "name = \"F 0\"", 39, "name = \"F 0\" is not allowed", "choose another name"),
    (
        "rate = \"1Gbps\"",
        "rate = \"1Gbps\"\npayload = \"4KB\"",
        43,
        "F0: a packet with 4KB does not fit into a packet buffer",
        "write run.frame-bytes = \"4065B\"",
    ),
    (
        "kind = \"sender\"",
        "kind = \"sender\"\nmac = \"01:00:00:00:00:01\"",
        12,
        "mac = \"01:00:00:00:00:01\" is a group address",
        "write it like",
    ),
];

#[test]
fn what_is_wrong_is_shown_with_its_line_and_a_fix() {
    let mut differ = Vec::new();
    for (before, after, line, message, fix) in WRONG {
        let text = PFC.replacen(before, after, 1);
        assert_ne!(text, PFC, "{before} is not there");
        let Err(error) = Testbed::parse(&text, "bed.toml") else {
            differ.push(format!("{after}: was read"));
            continue;
        };
        let good = error.problems().iter().any(|problem| {
            error.line_of(problem).1 == line
                && problem.message().starts_with(message)
                && problem.fix().unwrap_or_default().contains(fix)
        });
        if !good {
            differ.push(format!("{after}: wanted line {line}: {message} / {fix}\n{error}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

#[test]
fn what_is_no_testbed_at_all_is_refused_too() {
    for text in
        ["", "node = 3", "[[node]]", "\u{0}", "[[node]]\nname=\"a\"\nkind=\"switch\"", "[[flow]]\n", "= ="]
    {
        assert!(Testbed::parse(text, "bed.toml").is_err(), "{text:?}");
    }
}

#[test]
fn the_reference_has_every_table() {
    let reference = reference();
    for table in [
        "[run]",
        "[clock]",
        "[flow-control] kind = \"pfc\"",
        "[detector] kind = \"tcd\"",
        "[[node]] kind = \"switch\"",
        "[[link]]",
        "[[port]]",
        "[[flow]]",
    ] {
        assert!(reference.contains(&format!("### `{table}`")), "{table} in\n{reference}");
    }
}
