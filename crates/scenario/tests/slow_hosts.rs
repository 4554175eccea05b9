//! Hosts that are slower than their links: how fast, which, and when they pause their switch.

use std::path::Path;

use crate::common::{SMALL, Said, report, says, small, valid};
use backwater_control::flow_control::Threshold;
use backwater_fabric::{DrainSpec, EndpointSpec};
use backwater_scenario::Scenario;
use backwater_units::{Bytes, Rate, Span, Time};

/// The receive queue of h1, the destination of [`SMALL`].
fn endpoint(overrides: &[&str]) -> Option<EndpointSpec> {
    valid(SMALL, overrides).build().endpoints.get(1).cloned().flatten()
}

#[test]
fn hosts_are_as_fast_as_their_links_unless_a_drain_is_given() {
    assert_eq!(endpoint(&[]), None);
    let slow = endpoint(&["profile=ideal", "host.drain=50Gbps"]).unwrap();
    assert_eq!((slow.depth, slow.drain), (Bytes::new(262_144), DrainSpec::Constant(Rate::from_gbps(50))));
    assert_eq!(
        endpoint(&["host.drain=0bps", "host.queue=1MB"]).unwrap().drain,
        DrainSpec::Constant(Rate::ZERO)
    );
    let spec = small(&["host.drain=50Gbps", "host.of=[\"*\", \"!h1\"]"]).unwrap().build();
    let slow: Vec<bool> = spec.endpoints.iter().map(Option::is_some).collect();
    assert_eq!(slow, [true, false, true, true]);
    says(&report(SMALL, &["host.drain=50Gbps", "host.of=h9"]), &["there is no host \"h9\""]);
    says(&report(SMALL, &["host.drain=fast"]), &["host.drain = \"fast\"", "rate"]);
}

#[test]
fn a_drain_can_change_between_two_rates() {
    let on_off = ["host.drain=80Gbps", "host.pattern.kind=on-off", "host.pattern.low=8Gbps"];
    let text = format!("{SMALL}[host.pattern]\nkind = \"on-off\"\nlow = \"8Gbps\"\nlow-for = \"5us\"\n");
    let drain = |overrides: &[&str]| valid(&text, overrides).build().endpoints[1].clone().unwrap().drain;
    let fixed = DrainSpec::OnOff {
        high: Rate::from_gbps(80),
        low: Rate::from_gbps(8),
        high_for: Span::from_us(25),
        low_for: Span::from_us(5),
        sigma: None,
    };
    assert_eq!(drain(&["host.drain=80Gbps"]), fixed);
    assert_eq!(endpoint(&on_off).unwrap().depth, Bytes::new(262_144));
    let DrainSpec::OnOff { sigma, .. } = drain(&["host.drain=80Gbps", "host.pattern.sigma=0.5"]) else {
        panic!()
    };
    assert_eq!(sigma, Some(0.5));
    says(&report(&text, &[]), &["host.pattern.kind = \"on-off\" needs a rate to go down from", "host.drain"]);
    says(
        &report(&text, &["host.drain=8Gbps"]),
        &["host.pattern.low = 8Gbps is not below host.drain = 8Gbps"],
    );
    says(&report(SMALL, &["host.pattern.kind=on-off"]), &["host.pattern has no low", "add low"]);
    says(&report(&text, &["host.pattern.kind=constant"]), &["unknown key", "low"]);
}

#[test]
fn a_drain_can_follow_a_file() {
    let folder = std::env::temp_dir().join(format!("backwater-drain-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("{SMALL}[host.pattern]\nkind = \"trace\"\nfile = \"drain.csv\"\n");
    let read = |lines: &str| {
        std::fs::write(folder.join("drain.csv"), lines).unwrap();
        Scenario::parse(&text, "test.toml", Path::new(&folder), &[]).and_then(Scenario::validate)
    };
    let spec = read("time,rate\n0s,100Gbps\n20us,0bps\n30us,50Gbps\n").unwrap().build();
    let rate = |us, gbps| (Time::ZERO + Span::from_us(us), Rate::from_gbps(gbps));
    let expected = DrainSpec::Trace(vec![rate(0, 100), rate(20, 0), rate(30, 50)]);
    assert_eq!(spec.endpoints[1].as_ref().unwrap().drain, expected);
    let wrong = read("0s,100Gbps\n0s,50Gbps\n").err().unwrap().to_string();
    says(&wrong, &["\"drain.csv\", line 2: the time 0ps is not after the one before it", "20us,51.2Gbps"]);
    std::fs::remove_dir_all(&folder).unwrap();
    says(&report(&text, &[]), &["\"drain.csv\" cannot be read", "looked for"]);
}

/// PFC thresholds of h1: Xoff and Xon.
fn pause(overrides: &[&str]) -> (u64, u64) {
    match endpoint(overrides).unwrap().pfc.as_deref() {
        Some(&[Threshold::Static { xoff, xon, port_xoff: u64::MAX, port_xon: u64::MAX, buffer: _ }]) => {
            (xoff, xon)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_slow_host_pauses_its_switch_so_early_that_what_still_arrives_fits() {
    // 2 · 1 us · 100 Gbps + 3 · 1000 B + 64 B = 28 064 B of 262 144 B; RESUME two packets below
    assert_eq!(pause(&["profile=ideal", "host.drain=50Gbps"]), (234_080, 232_080));
    assert_eq!(pause(&["profile=ideal", "host.drain=50Gbps", "host.pfc.xoff=100KB"]), (100_000, 98_000));
    assert_eq!(pause(&["profile=ideal", "host.drain=50Gbps", "host.pfc.xon=1KB"]), (234_080, 1_000));
    assert_eq!(endpoint(&["switch.flow-control=none", "host.drain=50Gbps"]).unwrap().pfc, None);
    let exact = ["profile=ideal", "host.drain=50Gbps", "host.queue=29064B"];
    assert_eq!(pause(&exact), (1_000, 0));
}

#[test]
fn a_receive_queue_without_headroom_is_refused_where_something_lossless_arrives() {
    let short = ["profile=ideal", "host.drain=50Gbps", "host.queue=29063B"];
    says(
        &report(SMALL, &short),
        &[
            "the receive queue of h1 has no headroom: it may have to hold 29.064KB",
            "host.queue must be at least 29.064KB",
        ],
    );
    // What is lossless must not be lost, PUTs as little as anything else.
    let puts = [&short[..], &["host.transport=put", "put.policy=opt"]].concat();
    says(&report(SMALL, &puts), &["the receive queue of h1 has no headroom"]);
    valid(SMALL, &[&puts[..], &["switch.pfc.priorities=[4]"]].concat());
    valid(SMALL, &[&short[..], &["host.of=[\"h0\", \"h2\"]"]].concat());
    says(
        &report(SMALL, &["profile=ideal", "host.drain=50Gbps", "host.pfc.xoff=240KB"]),
        &["it may have to hold 268.064KB", "lower host.pfc.xoff"],
    );
    says(
        &report(SMALL, &["profile=ideal", "host.drain=50Gbps", "host.pfc.xoff=1KB", "host.pfc.xon=2KB"]),
        &["host.pfc.xon = 2KB is above host.pfc.xoff = 1KB", "allowed: at most 1KB"],
    );
}

#[test]
fn a_receive_queue_that_nothing_guards_is_a_caveat() {
    let caveats = small(&["switch.flow-control=none", "host.drain=50Gbps"]).unwrap().caveats().said();
    says(&caveats, &["nothing keeps the receive queue of h1 from overflowing", "a full queue stops the run"]);
}

#[test]
fn a_host_that_drains_more_than_its_link_brings_is_not_slow_which_is_a_caveat() {
    let caveats =
        |drain: &str| small(&[&format!("host.drain={drain}"), "host.queue=1MB"]).unwrap().caveats().said();
    says(&caveats("200Gbps"), &["host.drain = 200Gbps is more than the link", "100Gbps", "unlimited"]);
    assert_eq!(caveats("100Gbps"), "");
}

#[test]
fn with_isolation_a_slow_host_has_two_classes_to_pause() {
    // 512 KiB / 2 − (2 · 25 ns · 100 Gbps + 3 · 4 KiB + 64 B)
    let xoff = |kind: &str| {
        let kind = format!("switch.isolation.kind={kind}");
        let spec = crate::common::paper(&["host.drain=50Gbps", "host.queue=512KiB", &kind]).build();
        match spec.endpoints[1].as_ref().unwrap().pfc.as_deref() {
            Some(&[Threshold::Static { xoff, .. }]) => xoff,
            other => panic!("{other:?}"),
        }
    };
    let beyond = 625 + 3 * 4096 + 64;
    assert_eq!((xoff("none"), xoff("ici")), (524_288 - beyond, 262_144 - beyond));
}
