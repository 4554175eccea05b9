//! Priorities that may lose beside lossless ones, and their shares of a link.
use crate::common::{Said, report, says, valid};
use backwater_control::detector::Red;
use backwater_control::flow_control::{LossyPool, Threshold};
use backwater_fabric::{Arbiter, EarlyDrop, Overflow};
use backwater_units::Bytes;

/// Storage is lossless, the rest is not.
const MIXED: &str = r#"profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[switch]
overflow = "drop-lossy"
pfc = { priorities = [3] }
[transport]
go-back-n = { timeout = "100us" }
[[traffic]]
name = "storage"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
priority = 3
[[traffic]]
name = "rest"
kind = "flow"
from = "h2"
to = "h1"
size = "1MB"
priority = 1
reliability = "go-back-n"
"#;

fn refused(overrides: &[&str], wanted: &[&str]) {
    says(&report(MIXED, overrides), wanted);
}

#[test]
fn the_pool_is_taken_from_the_buffer_and_lossless_priorities_have_the_rest() {
    let spec = valid(MIXED, &["switch.lossy.pool=3MB", "switch.lossy.alpha=8"]).build();
    let pool = LossyPool { bytes: 3_000_000, log_alpha: 3 };
    assert_eq!(spec.switch.overflow, Overflow::Share { pool, early: None, lossless: false });
    assert_eq!(spec.switch.buffer, Bytes::new(18_000_000));
    let pfc = spec.switch.pfc.expect("PFC");
    assert_eq!(pfc.priorities, 1 << 3);
    let Threshold::Static { buffer, .. } = pfc.thresholds[4][0] else { panic!("static") };
    assert_eq!(buffer, 15_000_000);
    let spec = valid(MIXED, &["switch.overflow=drop", "traffic.storage.reliability=go-back-n"]).build();
    assert!(matches!(spec.switch.overflow, Overflow::Share { lossless: true, .. }));
}

#[test]
fn lossless_priorities_without_headroom_beside_lossy_ones_are_refused_with_the_sum() {
    for overflow in ["drop-lossy", "drop"] {
        let overflow = format!("switch.overflow={overflow}");
        // 4 ports of 329.6 KB and what arrives after PAUSE; the pool is 2 MB.
        refused(
            &["switch.buffer=3MB", "traffic.storage.reliability=go-back-n", &overflow],
            &[
                "--set switch.buffer=3MB:1:15",
                "switch s has no headroom",
                "its buffer is 1MB beside the 2MB of switch.lossy.pool",
                "at least 3.427MB",
                "raise switch.buffer",
            ],
        );
    }
    refused(
        &["switch.buffer=1MB"],
        &["its buffer is 0B beside the 2MB of switch.lossy.pool", "or switch.lossy.pool"],
    );
}

#[test]
fn a_pool_has_room_for_a_packet_and_alpha_is_a_power_of_two() {
    refused(&["switch.lossy.pool=500B"], &["switch.lossy.pool = 500B holds no packet", "at least"]);
    refused(
        &["switch.lossy.alpha=3"],
        &["switch.lossy.alpha = 3 is no power of two", "allowed: 0.0078125 to 128"],
    );
}

#[test]
fn red_has_a_ramp_that_rises_and_says_which_packets_it_drops() {
    let early = |overrides: &[&str]| valid(MIXED, overrides).build().switch.overflow;
    let all = ["switch.lossy.red={drops=\"all\",kmin=\"10KB\",kmax=\"40KB\",pmax=0.5}"];
    let ramp = Red::new(Bytes::from_kb(10), Bytes::from_kb(40), 0.5, Bytes::ZERO).expect("a ramp");
    let Overflow::Share { early: some, .. } = early(&all) else { panic!("a pool") };
    assert_eq!(some, Some(EarlyDrop { ramp, capable: true }));
    let Overflow::Share { early: some, .. } = early(&["switch.lossy.red.drops=not-capable"]) else {
        panic!("a pool")
    };
    assert_eq!(some, Some(EarlyDrop { ramp: Red::standard(), capable: false }));
    refused(
        &["switch.lossy.red.drops=all", "switch.lossy.red.kmin=1MB"],
        &["switch.lossy.red.kmin = 1MB is not allowed", "at most kmax", "raise kmax or lower kmin"],
    );
    refused(&["switch.lossy.red.drops=all", "switch.lossy.red.pmax=1.5"], &["switch.lossy.red.pmax", "1.5"]);
}

#[test]
fn what_may_be_lost_is_sent_again() {
    refused(
        &["traffic.rest.reliability=none"],
        &[
            "traffic.rest: queue pairs with transport.reliability = \"none\" send nothing twice",
            "switch.overflow = \"drop-lossy\"",
        ],
    );
    let acks = ["ack.every=1", "ack.priority=1"];
    refused(
        &acks,
        &[
            "traffic.storage: switches may drop its ACKs, of priority 1",
            "a lossless priority, or the control priority",
        ],
    );
    // The control priority never loses, and ACKs of what is sent again may.
    valid(MIXED, &["ack.every=1", "ack.priority=7"]);
    valid(MIXED, &["ack.every=1", "ack.priority=1", "traffic.storage.reliability=selective-repeat"]);
}

#[test]
fn shares_are_those_of_all_priorities_with_traffic() {
    let some = "switch.shares=[{priority=3,weight=60},{priority=1,weight=40}]";
    let Arbiter::Deficit { weights } = valid(MIXED, &["switch.arbiter=deficit", some]).build().switch.arbiter
    else {
        panic!("deficit")
    };
    assert_eq!(weights, [1, 40, 1, 60, 1, 1, 1, 1]);
    let wrong = |list: &str, wanted: &[&str]| {
        refused(&["switch.arbiter=deficit", &format!("switch.shares={list}")], wanted);
    };
    wrong(
        "[{priority=3,weight=60}]",
        &[
            "priority 1 carries traffic.rest but is neither in switch.shares nor in switch.strict",
            "weight = 10",
        ],
    );
    wrong(
        "[{priority=3,weight=6},{priority=3,weight=4}]",
        &["switch.shares names priority 3, which has its place already"],
    );
    wrong("[{priority=7,weight=6}]", &["switch.shares names 7, the control priority"]);
    wrong("[{priority=3,weight=0}]", &["weight", "1 to 100"]);
    let idle = valid(MIXED, &[some]).caveats().said();
    says(&idle, &["without effect with switch.arbiter = \"round-robin\": switch.{shares}"]);
}

#[test]
fn strict_priorities_have_no_weight_and_no_share() {
    let weights = |overrides: &[&str]| {
        let spec = valid(MIXED, &[&["switch.arbiter=deficit"], overrides].concat()).build();
        let Arbiter::Deficit { weights } = spec.switch.arbiter else { panic!("deficit") };
        weights
    };
    let storage = "switch.shares=[{priority=3,weight=60}]";
    assert_eq!(weights(&[storage, "switch.strict=[1]"]), [1, 0, 1, 60, 1, 1, 1, 1]);
    // Without shares the others have equal ones.
    assert_eq!(weights(&["switch.strict=[6,1]"]), [1, 0, 1, 1, 1, 1, 0, 1]);
    let wrong = |strict: &str, wanted: &[&str]| {
        refused(&["switch.arbiter=deficit", storage, &format!("switch.strict={strict}")], wanted);
    };
    wrong("[1,3]", &["switch.shares names priority 3, which has its place already", "name it once"]);
    wrong("[1,1]", &["switch.strict names priority 1, which has its place already"]);
    wrong("[1,7]", &["switch.strict names 7, the control priority, which always goes first"]);
    wrong("[1,8]", &["switch.strict", "8", "0 to 7"]);
    let idle = valid(MIXED, &["switch.strict=[1]"]).caveats().said();
    says(&idle, &["without effect with switch.arbiter = \"round-robin\": switch.{strict}"]);
}
