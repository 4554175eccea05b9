//! Lossy classes beside lossless ones, drawn at random: lossless ones lose nothing, the books balance (each run looks at its end), and no
//! engine or number of threads changes anything.
use std::path::Path;

use backwater_fabric::record::{DropReason, DropRecord};
use backwater_fabric::{Kind, Spec};
use backwater_scenario::Scenario;
use proptest::prelude::*;
use scene::{FAST, try_run, us};

const KINDS: [Kind; 4] = [FAST, Kind::Windows { threads: 2 }, Kind::Windows { threads: 4 }, Kind::Heap];

fn spec(text: &str) -> Spec {
    let scenario = Scenario::parse(text, "mixed.toml", Path::new("."), &[]).and_then(Scenario::validate);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).build()
}

fn topology() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(r#"{ kind = "star", hosts = 6, rate = "100Gbps", delay = "1us" }"#),
        Just(
            r#"{ kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 3, rate = "40Gbps", delay = "500ns" }"#
        ),
        Just(
            r#"{ kind = "leaf-spine", leaves = 3, spines = 1, hosts-per-leaf = 2, rate = "25Gbps", delay = "2us" }"#
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn lossy_classes_lose_and_lossless_ones_do_not(
        topology in topology(),
        reliability in prop_oneof![Just("go-back-n"), Just("selective-repeat")],
        other in prop_oneof![Just("none"), Just("go-back-n"), Just("selective-repeat")],
        arbiter in prop_oneof![Just("round-robin"), Just("strict"), Just("deficit")],
        detector in prop_oneof![Just("none"), Just("red")],
        weight in 1..100_u32,
        log_alpha in -3..4_i32,
        pool in 5..60_u32,
        early in prop_oneof![Just("none"), Just("not-capable"), Just("all")],
        receiver in 0..6_u32,
        seed in 1..1000_u32,
    ) {
        let senders = (0..6).filter(|host| *host != receiver).map(|host| format!("\"h{host}\""));
        let senders = senders.collect::<Vec<_>>().join(", ");
        let text = format!(r#"
profile = "roce"
run = {{ until = "300us", seed = {seed} }}
topology = {topology}
[switch]
overflow = "drop-lossy"
arbiter = "{arbiter}"
buffer = "4MB"
shares = [{{ priority = 3, weight = {weight} }}, {{ priority = 1, weight = 50 }}]
detector = {{ kind = "{detector}" }}
pfc = {{ priorities = [3] }}
lossy = {{ pool = "{pool}KB", alpha = {}, red = {{ drops = "{early}", kmin = "2KB", kmax = "20KB", pmax = 0.3 }} }}
[probe]
drops = true
[transport]
go-back-n = {{ timeout = "60us" }}
[[traffic]]
name = "storage"
kind = "incast"
from = [{senders}]
to = "h{receiver}"
size = "100KB"
priority = 3
reliability = "{other}"
[[traffic]]
name = "rest"
kind = "incast"
from = [{senders}]
to = "h{receiver}"
size = "150KB"
priority = 1
reliability = "{reliability}"
"#, 2_f64.powi(log_alpha));
        let runs = KINDS.map(|kind| match try_run(spec(&text), kind, Some(us(300))) {
            Ok(outcome) => outcome,
            Err(violation) => panic!("{violation}\n{text}"),
        });
        for other in &runs[1..] {
            prop_assert_eq!(runs[0].totals.digest, other.totals.digest, "{}", &text);
            prop_assert_eq!(&runs[0].records.drops, &other.records.drops, "{}", &text);
        }
        // What a receiver that goes back N discards is no loss of a switch.
        let lost = |drop: &&DropRecord| drop.reason != DropReason::NotTaken;
        let drops: Vec<&DropRecord> = runs[0].records.drops.iter().filter(lost).collect();
        let is_meant = |drop: &&DropRecord| match drop.reason {
            DropReason::Pool => true,
            DropReason::Red => early == "all" || early == "not-capable" && !drop.data,
            _ => false,
        };
        prop_assert!(drops.iter().all(|drop| drop.priority == 1 && is_meant(drop)), "{}", &text);
        // Five bursts at line rate into one port, and a pool for 60 packets at most.
        prop_assert!(!drops.is_empty(), "{}", &text);
    }
}

#[test]
fn a_lossy_class_is_marked_and_loses() {
    // From 10 KB on all is marked. The five send for a round trip before a CNP is back, which is more than the pool has.
    let outcome = try_run(
        spec(
            r#"
profile = "roce"
run = { until = "500us" }
topology = { kind = "star", hosts = 6, rate = "100Gbps", delay = "1us" }
[switch]
overflow = "drop-lossy"
buffer = "4MB"
pfc = { priorities = [3] }
lossy = { pool = "60KB" }
detector = { kind = "red", kmin = "10KB", kmax = "10KB", pmax = 1.0 }
[transport]
reliability = "selective-repeat"
[[traffic]]
name = "rest"
kind = "incast"
from = ["h1", "h2", "h3", "h4", "h5"]
to = "h0"
size = "200KB"
priority = 1
"#,
        ),
        FAST,
        Some(us(500)),
    );
    let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
    let (marks, drops) = outcome
        .ports
        .iter()
        .fold((0, 0), |(marks, drops), port| (marks + port.ce_marks, drops + port.dropped_packets));
    assert!(marks > 0 && drops > 0, "{marks} marks, {drops} drops");
    assert!(outcome.flows.iter().map(|flow| flow.cnps_ce).sum::<u64>() > 0);
}
