//! PUTs in scenarios: what the profile says, which flows are one stream, and what does not fit.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Said, report, says, valid};
use backwater_control::notify::put::{Fairness, TargetConfig};
use backwater_control::reaction::{AimdConfig, DackConfig, OptConfig, PolicyConfig};
use backwater_control::transport::ReplayMoves;
use backwater_fabric::{Overflow, Queueing, Spec, Switching};
use backwater_units::{Bytes, Span};

/// The network of the EC paper in small.
const INCAST: &str = r#"
profile = "endpoint"
[run]
until = "1ms"
[topology]
kind = "star"
hosts = 4
rate = "102.4Gbps"
delay = "1.8us"
[host]
of = "h0"
drain = "51.2Gbps"
[[traffic]]
name = "in"
kind = "incast"
from = ["h1", "h2", "h3"]
to = "h0"
size = "1MB"
"#;

fn incast(overrides: &[&str]) -> Spec {
    valid(INCAST, overrides).build()
}

fn caveats(overrides: &[&str]) -> String {
    valid(INCAST, overrides).caveats().said()
}

#[test]
fn the_profile_endpoint_is_the_network_of_the_ec_paper() {
    let spec = incast(&[]);
    assert_eq!((spec.packet.payload, spec.packet.header), (Bytes::new(2048), Bytes::new(64)));
    let switch = &spec.switch;
    assert_eq!(
        (switch.queueing, switch.overflow),
        (Queueing::Output, Overflow::Drop { port: Bytes::new(1_024_000) })
    );
    assert_eq!(switch.switching, Switching::CutThrough { header: Bytes::new(32) });
    assert!(switch.pfc.is_none() && switch.credits.is_none());
    assert_eq!(spec.put_of, [Some(0)]);
    let put = &spec.puts[0];
    assert_eq!(put.policy, PolicyConfig::Dack(DackConfig::standard()));
    assert_eq!(put.target, TargetConfig::standard());
    assert_eq!((put.moves, put.ack_size, put.buffer), (ReplayMoves::AtOnce, Bytes::new(32), 256));
    // 38 cycles of 2.5 ns, 172 cycles, 400 000 cycles
    assert_eq!((put.overhead, put.staging), (Span::from_ns(95), Span::from_ns(95)));
    assert_eq!((put.processing, put.retry, put.retries), (Span::from_ns(430), Span::from_us(1000), 50));
    // 2531 flits of 32 B
    let slow: Vec<Option<Bytes>> = spec.endpoints.iter().map(|e| e.as_ref().map(|e| e.depth)).collect();
    assert_eq!(slow, [Some(Bytes::new(80_992)), None, None, None]);
    assert!(caveats(&[]).is_empty(), "{}", caveats(&[]));
}

#[test]
fn the_baselines_have_limits_of_their_own_and_acknowledge_at_once() {
    let opt = incast(&["put.policy=opt"]);
    assert_eq!(opt.puts[0].policy, PolicyConfig::Opt(OptConfig::standard()));
    assert_eq!((opt.puts[0].target, opt.puts[0].moves), (TargetConfig::baseline(), ReplayMoves::AtEnd));
    let aimd = incast(&["put.policy=aimd"]);
    assert_eq!(aimd.puts[0].policy, PolicyConfig::Aimd(AimdConfig::standard()));
}

#[test]
fn the_readings_of_the_authors_simulator_and_of_the_paper_can_be_written() {
    let authors = incast(&[
        "put.dack.experimental.release=below",
        "put.dack.experimental.reservation=8992B",
        "put.dack.experimental.reserved-counts=true",
        "put.dack.experimental.escape-needs-none=true",
        "put.dack.experimental.grants=ack",
        "put.dack.experimental.clear=false",
        "put.dack.experimental.free=until-ack",
    ]);
    assert_eq!(authors.puts[0].policy, PolicyConfig::Dack(DackConfig::authors()));
    assert_eq!(authors.puts[0].target, TargetConfig::authors());
    let paper = incast(&[
        "put.dack.experimental.signal=frame",
        "put.dack.experimental.reservation=none",
        "put.dack.experimental.after-nack=dack",
        "put.dack.experimental.fairness=verbs",
        "put.dack.experimental.grants=ack",
        "put.dack.escape=never",
        "put.dack.experimental.halt-after-replay=true",
    ]);
    assert_eq!(paper.puts[0].policy, PolicyConfig::Dack(DackConfig::paper()));
    assert_eq!(paper.puts[0].target, TargetConfig::paper());
    assert_eq!(paper.puts[0].target.fairness, Fairness::verbs());
}

const TWO: &str = r#"
[[traffic]]
name = "more"
kind = "bursts"
from = ["h1", "h2"]
to = "h0"
size = "64KB"
rounds = 2
interval = "10us"
"#;

fn two(overrides: &[&str]) -> BTreeMap<(u32, u16), BTreeSet<u32>> {
    let spec = valid(&format!("{INCAST}{TWO}"), overrides).build();
    let mut connections: BTreeMap<(u32, u16), BTreeSet<u32>> = BTreeMap::new();
    for flow in &spec.flows {
        connections.entry((flow.src, flow.group)).or_default().insert(flow.connection);
    }
    connections
}

#[test]
fn puts_of_one_source_destination_and_priority_are_one_stream_whatever_their_entries() {
    let same = two(&[]);
    assert!(same.values().all(|own| own.len() == 1));
    assert_eq!(same[&(1, 0)], same[&(1, 1)]);
    assert_ne!(same[&(1, 0)], same[&(2, 0)]);
    for other in ["traffic.more.priority=4", "traffic.more.put.policy=opt"] {
        let apart = two(&[other]);
        assert_ne!(apart[&(1, 0)], apart[&(1, 1)], "{other}");
    }
}

#[test]
fn an_entry_has_a_protocol_of_its_own_which_says_only_what_differs() {
    let spec =
        valid(&format!("{INCAST}{TWO}"), &["traffic.more.put.policy=opt", "put.opt.packets=100"]).build();
    assert_eq!(spec.put_of, [Some(0), Some(1)]);
    assert_eq!(spec.puts[1].policy, PolicyConfig::Opt(OptConfig { packets: 100, bytes: 128_000 }));
    let pairs = valid(
        &format!("{INCAST}{TWO}"),
        &["traffic.more.transport=roce", "switch.overflow=stop", "traffic.more.to=h3"],
    );
    assert_eq!(pairs.build().put_of, [Some(0), None]);
}

#[test]
fn nothing_is_sent_after_flows_without_an_end_of_the_same_stream() {
    let endless = format!("{INCAST}{}", TWO.replace("\"bursts\"", "\"long-lived\""))
        .replace("size = \"64KB\"\nrounds = 2\ninterval = \"10us\"\n", "start = \"1us\"\n");
    let first = endless.replace("kind = \"incast\"", "kind = \"long-lived\"").replace("size = \"1MB\"\n", "");
    says(
        &report(&first, &[]),
        &["traffic.more: its PUTs would wait for ever behind those of traffic.in", "another priority"],
    );
    valid(&first, &["traffic.more.priority=4"]);
    valid(&endless, &[]);
}

#[test]
fn queue_pairs_need_a_fabric_that_loses_nothing() {
    let said = report(INCAST, &["traffic.in.transport=roce"]);
    says(
        &said,
        &[
            "traffic.in: queue pairs with transport.reliability = \"none\" send nothing twice",
            "write transport.reliability = \"go-back-n\"",
        ],
    );
    says(&report(INCAST, &["host.transport=roce"]), &["traffic.in: queue pairs"]);
    valid(INCAST, &["host.transport=roce", "transport.reliability=go-back-n"]);
    valid(INCAST, &["host.transport=roce", "switch.flow-control=pfc", "host.queue=300KB"]);
}

#[test]
fn a_fabric_under_credits_or_with_other_queues_refuses_to_drop() {
    assert_eq!(incast(&["switch.flow-control=pfc", "host.queue=300KB"]).switch.overflow, Overflow::Stop);
    assert_eq!(
        incast(&["switch.flow-control=credits", "switch.credits.buffer=700KB"]).switch.overflow,
        Overflow::Stop
    );
    for (key, word) in [("flow-control", "credits"), ("queueing", "voq")] {
        let said = report(INCAST, &["switch.overflow=drop", &format!("switch.{key}={word}")]);
        says(&said, &[&format!("switch.overflow = \"drop\" does not work with switch.{key} = \"{word}\"")]);
    }
    says(
        &report(INCAST, &["switch.port-buffer=2KiB"]),
        &["switch.port-buffer = 2.048KB holds no packet: one has 2.112KB", "at least 2.112KB"],
    );
}

#[test]
fn windows_that_let_no_packet_out_or_are_larger_than_what_is_kept_are_refused() {
    says(
        &report(INCAST, &["put.opt.bytes=2111B"]),
        &["put.opt.bytes = 2.111KB is not allowed", "at least one packet"],
    );
    says(
        &report(INCAST, &["put.opt.packets=300"]),
        &["put.opt.packets = 300 is more than a source can keep", "put.buffer = 256", "allowed: 1 to 256"],
    );
    says(&report(INCAST, &["put.buffer=8193"]), &["put.buffer = 8193 is out of range", "1 to 8192"]);
    says(
        &report(INCAST, &["traffic.in.put.opt.packets=300"]),
        &["traffic.0.put.opt.packets = 300 is more than"],
    );
    says(
        &report(INCAST, &["put.policy=tcp"]),
        &["put.policy = \"tcp\" is not known", "did you mean \"aimd\"?"],
    );
    says(
        &report(INCAST, &["packet.payload=65001B"]),
        &["packet.payload = \"65001B\" is not allowed", "65000B"],
    );
}

#[test]
fn thresholds_and_room_beyond_the_receive_queue_are_refused() {
    let said = report(INCAST, &["put.dack.threshold=81KB", "put.dack.experimental.reservation=100KB"]);
    says(&said, &["put.dack.threshold = 81KB is not below host.queue = 80.992KB", "allowed: below 80.992KB"]);
    says(&said, &["put.dack.experimental.reservation = 100KB is more than host.queue = 80.992KB"]);
    says(
        &report(INCAST, &["host.queue=2KB"]),
        &["host.queue = 2KB holds no packet: one has 2.112KB on the wire"],
    );
    // Under credits hosts have the buffers of the links.
    let credits = ["switch.flow-control=credits", "switch.credits.buffer=700KB", "put.dack.threshold=700KB"];
    says(
        &report(INCAST, &credits),
        &["put.dack.threshold = 700KB is not below switch.credits.buffer = 700KB"],
    );
    valid(INCAST, &["put.policy=opt", "put.dack.threshold=81KB"]);
}

#[test]
fn what_spaces_queue_pairs_is_not_for_puts() {
    says(&report(INCAST, &["traffic.in.control=cc"]), &["PUTs are spaced by put.policy", "remove this line"]);
    let bursts = format!("{INCAST}{TWO}");
    says(&report(&bursts, &["traffic.more.connection=pair"]), &["are one stream", "remove this line"]);
    let constant = INCAST.replace("\"incast\"", "\"constant\"").replace("size = \"1MB\"", "rate = \"1Gbps\"");
    says(&report(&constant, &[]), &["constant sources have a rate of their own", "kind = \"supply\""]);
    says(&report(INCAST, &["probe.sample=1us", "probe.rates=[\"in\"]"]), &["whose windows are no rates"]);
    says(
        &report(INCAST, &["host.transport=roce", "switch.overflow=stop", "probe.puts=[\"in\"]"]),
        &["\"in\" has queue pairs"],
    );
}

#[test]
fn a_retry_timer_that_is_shorter_than_a_round_trip_is_a_caveat() {
    // 4 · 1.8 us of cable, 430 and 95 ns at the source, 2112 B twice (2 · 165 ns) and 32 B twice (2 · 2.5 ns): 8.06 us
    assert!(caveats(&["put.policy=opt", "put.retry=8060ns"]).contains("a round trip takes at least 8.06us"));
    assert_eq!(caveats(&["put.policy=opt", "put.retry=8061ns"]), "");
    // (80 992 − 8992) B at 51.2 Gbps: 11.25 us until a packet is below the threshold
    assert!(caveats(&["put.retry=19us"]).contains("up to 11.25us in a full receive queue"));
    assert_eq!(caveats(&["put.retry=20us"]), "");
}

#[test]
fn keys_that_nothing_reads_are_caveats() {
    for (overrides, said) in [
        (&["put.policy=opt", "put.dack.count=3"][..], "without effect with put.policy = \"opt\": put.{dack}"),
        (&["put.policy=aimd", "put.opt.packets=9"], "without effect with put.policy = \"aimd\": put.{opt}"),
        (&["put.aimd.mss=1KB"], "without effect with put.policy = \"dack\": put.{aimd}"),
        (
            &["put.dack.experimental.hold=1us"],
            "with put.dack.experimental.fairness = \"ordered\": put.dack.experimental.{hold}",
        ),
        (
            &["put.dack.experimental.fairness=none", "put.dack.experimental.period=1us"],
            "with put.dack.experimental.fairness = \"none\": put.dack.experimental.{period}",
        ),
        (
            &["put.dack.experimental.reservation=none", "put.dack.experimental.reserved-counts=true"],
            "put.dack.experimental.{reserved-counts}",
        ),
        (
            &["host.drain=unlimited", "put.dack.threshold=9KB"],
            "no receive queue is ever congested: put.dack.{threshold}",
        ),
        (
            &["traffic.in.put.policy=opt", "put.policy=aimd"],
            "these entries, of which none reads them: put.{policy}",
        ),
        (&["traffic.in.put.policy=opt", "put.dack.count=2"], "with put.policy = \"opt\": put.{dack}"),
        (
            &["host.transport=roce", "switch.overflow=stop", "put.policy=opt"],
            "without effect with traffic without PUTs: put.{policy}",
        ),
        (&["cc.kind=dcqcn"], "cc.{kind}"),
        (&["ack.every=1"], "which have [put.ack]: ack.{every}"),
        (&["switch.detector.kind=red"], "which are never marked: switch.detector.{kind}"),
        (
            &["switch.overflow=stop", "switch.port-buffer=1MB"],
            "switch.overflow = \"stop\": switch.{port-buffer}",
        ),
        (&["host.drain=unlimited", "host.queue=1MB"], "with host.drain = \"unlimited\": host.{of, queue}"),
        (&["host.pfc.xoff=40KB"], "with switch.flow-control = \"none\": host.{pfc}"),
        (
            &["switch.flow-control=credits", "switch.credits.buffer=700KB", "host.queue=1MB"],
            "whose switch.credits.buffer hosts have, too: host.{queue}",
        ),
    ] {
        let caveats = caveats(overrides);
        assert!(caveats.contains(said), "{overrides:?}: {said:?} is not in {caveats:?}");
    }
}

#[test]
fn streams_and_receive_queues_are_summed_up_where_there_are_some_and_a_period() {
    let probe = |overrides: &[&str]| {
        let probe = incast(overrides).probe;
        (probe.streams, probe.endpoints)
    };
    assert_eq!(probe(&[]), (false, false));
    assert_eq!(probe(&["probe.sample=10us"]), (true, true));
    assert_eq!(probe(&["probe.sample=10us", "host.drain=unlimited", "probe.streams=false"]), (false, false));
    says(
        &report(INCAST, &["probe.streams=true"]),
        &["probe.streams = true needs a period", "probe.sample is missing"],
    );
    assert_eq!(incast(&["probe.puts=[\"in\"]"]).probe.puts, [true]);
}

#[test]
fn a_scenario_with_all_defaults_written_out_is_the_same_scenario() {
    let read = |file: &str| std::fs::read_to_string(crate::common::root().join(file)).unwrap();
    for file in
        ["fuzz/seeds/scenario/puts.toml", "fuzz/seeds/scenario/slow-hosts.toml", "scenarios/put-incast.toml"]
    {
        let first = valid(&read(file), &[]);
        let written = toml::to_string(first.settings()).unwrap();
        assert_eq!(valid(&written, &[]).settings(), first.settings(), "{file}");
    }
}

#[test]
fn a_wrong_value_that_entries_take_over_is_told_once_and_words_beside_quantities_are_named() {
    let own = INCAST.replace("size = \"1MB\"", "size = \"1MB\"\nput = { policy = \"opt\" }");
    let said = report(
        &own,
        &["put.dack.escape=soon", "host.drain=50%", "put.dack.experimental.reservation=packets"],
    );
    says(
        &said,
        &["or write \"never\"", "or write \"unlimited\"", "or write \"none\" or \"packet\"", "3 problems"],
    );
    assert!(!said.contains("traffic.in.put"), "{said}");
    says(
        &report(&own, &["host.pattern=on-off"]),
        &["write host.pattern = { kind = \"…\" }", "constant, on-off, trace"],
    );
    says(&report(&own, &["traffic.in.transport=rdma"]), &["did you mean \"roce\"?"]);
}
