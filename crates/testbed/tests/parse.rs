//! Reads testbeds: what they come to mean, and what is said about those that cannot be read.
use backwater_control::detector::{Detector, Tcd};
use backwater_testbed::{FlowControl, NodeKind, Testbed, reference};
use backwater_units::{Bytes, Span};
use backwater_wire::{Bth, Datagram, Ethernet, Ipv4, MacAddress, opcode};

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
    let tcd = tcd(&bed);
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
fn there_is_a_watchdog_only_where_one_is_asked_for() {
    let watchdog = |text: &str| match &parse(text).ports[0].flow_control {
        FlowControl::Pfc(pfc) => pfc.watchdog,
        other => panic!("{other:?}"),
    };
    assert_eq!(watchdog(PFC), None);
    let with = PFC.replace("kind = \"pfc\"", "kind = \"pfc\"\nwatchdog = \"200ms\"");
    assert_eq!(watchdog(&with), Some((Span::from_ms(200), Span::from_ms(200))));
}

#[test]
fn under_credits_max_ton_is_their_period() {
    let text = PFC.replace("kind = \"pfc\"", "kind = \"credits\"").replace("tau = \"20us\"\n", "");
    let tcd = tcd(&parse(&text));
    // TCD §4.4: T = max(Ton) = Tc = 60 us
    assert_eq!((tcd.max_ton, tcd.period), (Span::from_us(60), Span::from_us(60)));
}

/// Whatever is behind the headers of the one detector there.
fn tcd(bed: &Testbed) -> Tcd {
    let NodeKind::Switch { detector: Detector::Tcd(tcd), .. } = &bed.nodes[1].kind else {
        panic!("T0 is a switch with TCD")
    };
    *tcd
}

/// The packet that `wire` makes of a payload.
fn packet(payload: usize) -> Bytes {
    let address = MacAddress::default();
    let datagram = Datagram {
        ethernet: Ethernet { destination: address, source: address, vlan: None, ethertype: 0x0800 },
        ip: Ipv4::parse(&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0x7A, 0xDA, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap().0,
        udp_source: 0xC000,
        bth: Bth { opcode: opcode::SEND_ONLY, ..Bth::default() },
        aeth: None,
        payload: &vec![0; payload],
    };
    Bytes::new(datagram.len() as u64)
}

#[test]
fn by_default_tcd_counts_in_packets_as_they_are_sent() {
    // Ethernet, IPv4, UDP, BTH, the payload in whole words, ICRC.
    let frame = |payload: u64| Bytes::new(14 + 20 + 8 + 12 + payload + 4);
    for (payload, filled) in [(1000, 1000), (1001, 1004), (1024, 1024), (64, 64)] {
        let text = PFC.replace("stop = \"600ms\"", &format!("payload = \"{payload}B\""));
        let text = text.replace("rate = \"1Gbps\"", "rate = \"1Gbps\"\npayload = \"1B\"");
        let tcd = tcd(&parse(&text));
        assert_eq!((tcd.low, tcd.delta), (frame(filled), frame(filled) * 2), "{payload}");
        assert_eq!(tcd.low, packet(payload), "{payload}");
    }
    let no_flows = tcd(&parse(&PFC[..PFC.find("[[flow]]").unwrap()]));
    assert_eq!((no_flows.low, no_flows.delta), (Bytes::new(1058), Bytes::new(2116)));
}

#[test]
fn without_tau_the_loop_is_two_packets_on_the_wire_and_two_delays() {
    let tcd = tcd(&parse(&PFC.replace("tau = \"20us\"\n", "")));
    // Preamble 8, check sequence 4, gap 12: tau = 2 · 1082 · 8 / 10G + 2 · 4 us = 9.7312 us;
    // [2 · 30 KB · 8 + tau · 10G] / (2 · 0.04 · 10G) + tau = 721.64 us + 9.7312 us
    assert_eq!(tcd.max_ton, Span::from_ps(731_371_200));
}

/// Credits, their keys, and what is said about them: the message, the label, the fix.
const BUFFERS: [(&str, &str, &str, &str); 3] = [
    (
        "buffer = \"2KB\"",
        "flow-control.buffer = \"2KB\" is below the longest frame, run.frame-bytes = \"2.048KB\"",
        "allowed: 2.048KB to 1TB",
        "such a frame would wait for ever; write buffer = \"2.048KB\", or lower run.frame-bytes",
    ),
    (
        "buffer = \"2047B\"",
        "flow-control.buffer = \"2.047KB\" is below the longest frame, run.frame-bytes = \"2.048KB\"",
        "allowed: 2.048KB to 1TB",
        "such a frame would wait for ever; write buffer = \"2.048KB\", or lower run.frame-bytes",
    ),
    // Whole blocks of 64 B.
    (
        "buffer = \"9000B\"\n[run]\nframe-bytes = \"9000B\"",
        "flow-control.buffer = \"9KB\" is below the longest frame, run.frame-bytes = \"9KB\"",
        "allowed: 9.024KB to 1TB",
        "such a frame would wait for ever; write buffer = \"9.024KB\", or lower run.frame-bytes",
    ),
];

/// The testbed above under credits.
fn with_credits(keys: &str) -> String {
    let kind = format!("kind = \"credits\"\n{keys}");
    PFC.replace("[run]\nduration = \"1s\"\n", "")
        .replace("kind = \"pfc\"", &kind)
        .replace("tau = \"20us\"\n", "")
}

#[test]
fn a_credit_buffer_holds_the_longest_frame() {
    for (keys, message, label, fix) in BUFFERS {
        let error = Testbed::parse(&with_credits(keys), "bed.toml")
            .err()
            .unwrap_or_else(|| panic!("{keys}: was read"));
        let [problem] = error.problems() else { panic!("{error}") };
        assert_eq!(
            (problem.message(), problem.label(), problem.fix()),
            (message, label, Some(fix)),
            "{keys}"
        );
        assert_eq!(error.line_of(problem).1, 4, "{keys}");
    }
    assert_eq!(parse(&with_credits("buffer = \"2.048KB\"")).flows.len(), 2);
}

#[test]
fn a_credit_buffer_below_what_is_under_way_is_warned_of() {
    // 10 Gbps for 60 us and 2 · 4 us are 85 000 B, two packets on the wire 2164 B: 87 164 B, in whole blocks 87 168 B.
    assert_eq!(
        parse(&with_credits("buffer = \"10KB\"")).warnings,
        ["bed.toml:4: warning: flow-control.buffer = \"10KB\" is below what S0.p0 can have under way: \
          10Gbps for a period of 60us, 4us there and back, and two packets want 87.168KB; write buffer = \"87.168KB\", or \
          shorten period"]
    );
    // The worst of the ports is named.
    let tight = with_credits("buffer = \"87168B\"");
    let longer =
        tight.replacen("delay = \"4us\"\n[[link]]\na = \"T2\"", "delay = \"5us\"\n[[link]]\na = \"T2\"", 1);
    let said = parse(&longer).warnings;
    assert!(
        said.len() == 1 && said[0].contains("what T0.P0 can") && said[0].contains("want 89.664KB"),
        "{said:?}"
    );
    for enough in ["buffer = \"87.168KB\"", "buffer = \"800KB\"", "", "buffer = \"30KB\"\nperiod = \"14us\""]
    {
        assert_eq!(parse(&with_credits(enough)).warnings, [""; 0], "{enough}");
    }
    assert_eq!(parse(PFC).warnings, [""; 0]);
}

/// A change of the testbed above, and what is said about it: the line, the message, the fix (a part of it).
const WRONG: [(&str, &str, usize, &str, &str); 23] = [
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
    // No switch can know what the simulator knows.
    ("kind = \"tcd\"", "kind = \"oracle\"", 7, "detector.kind = \"oracle\" is not known", "choose one of"),
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
