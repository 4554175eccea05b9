//! Links under credits that fail: what is lost, when credits begin anew, and that none is lost for good.
use backwater_fabric::record::{DropReason, FaultEvent, FrameKind};
use scene::{FAST, Outcome, try_run, us};

use crate::{KINDS, dropped, events, spec};

/// Two hosts on a switch, 100 Gbps and 1 us: PUTs of 2000 B take 160 ns. Updates come every 5 us.
const PAIR: &str = r#"
profile = "ideal"
packet = { payload = "1936B", header = "64B" }
host = { transport = "put" }
put = { retry = "20us" }
topology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }
[switch]
flow-control = "credits"
queueing = "voq"
switching = "store-and-forward"
[switch.credits]
period = "5us"
buffer = "280KB"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

/// Runs it until all flows have ended, with the frames of h0's NIC recorded.
fn ends(text: &str, more: &str) -> Outcome {
    let mut spec = spec(text, more);
    spec.probe.frames = vec![(0, 0)];
    let outcome = try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size), "all that was sent is there");
    outcome
}

const DOWN: &str = "[[fault]]\nkind = \"link-down\"\nlink = [\"h0\", \"s\"]\nat = \"20us\"\nfor = \"10us\"\n";

#[test]
fn nothing_is_sent_on_a_link_that_is_up_again_before_the_other_end_has_told_what_is_free() {
    let outcome = ends(PAIR, DOWN);
    assert_eq!(events(&outcome, FaultEvent::Down), [(20_000_000, 0), (20_000_000, 2)]);
    let on_wire =
        dropped(&outcome, DropReason::LinkDown).iter().filter(|drop| drop.node == 2 && drop.data).count();
    // A frame is on its way for 1.16 us, and one begins every 160 ns.
    assert!((1..=8).contains(&on_wire), "{on_wire}");
    let puts = outcome.records.frames.iter().filter(|frame| frame.kind == FrameKind::Put);
    let after: Vec<u64> = puts.map(|frame| frame.sent.as_ps()).filter(|sent| *sent > 20_000_000).collect();
    // An update of 8 B takes 640 ps and 1 us.
    assert!(after[0] >= 31_000_640, "{}", after[0]);
    assert!(after[0] < 45_000_000, "{}", after[0]);
}

#[test]
fn frames_that_a_link_loses_cost_no_credits_for_good() {
    // 2 % of 20 000 packets of 32 units would be 12 800 units; the buffer has 4375.
    let loss = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nframes = 0.02\n";
    let outcome = ends(&PAIR.replace("1MB", "40MB"), loss);
    let lost = dropped(&outcome, DropReason::Corrupted).len();
    assert!(lost * 32 > 4375, "{lost}");
}

#[test]
fn packets_that_are_flushed_give_their_room_back() {
    // Two hosts send to a third, whose link fails again and again: what waits for it is flushed.
    let incast = PAIR.replace("hosts = 2", "hosts = 3").replace("from = \"h0\"", "from = [\"h0\", \"h2\"]");
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"20us\"\nfor = \"5us\"\nevery = \"30us\"\ntimes = 10\n";
    let outcome = ends(&incast, flaps);
    let flushed = dropped(&outcome, DropReason::LinkDown).iter().filter(|drop| drop.time == us(20)).count();
    assert!(flushed > 10, "{flushed}");
}

#[test]
fn packets_without_a_way_give_their_credits_back() {
    // h0 goes on to send to h1, whose link is down. In 400 us it could send 2500 packets of 32 units; the buffer has 4375 units.
    let star = PAIR.replace("hosts = 2", "hosts = 3").replace("\"20us\" }", "\"20us\", retries = 1000 }");
    let star = star.replace("1MB", "10MB");
    let other = "[[traffic]]\nname = \"y\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h2\"\nsize = \"1MB\"\nstart = \"1ms\"\n";
    let down = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"20us\"\nfor = \"400us\"\n";
    let known = "[fault-handling]\ndetect = \"50us\"\nconverge = \"50us\"\n";
    for returned in ["period = \"5us\"", "returned = \"at-once\""] {
        let text = star.replace("period = \"5us\"", returned);
        let runs = KINDS.map(|kind| {
            let outcome = try_run(spec(&text, &format!("{known}{other}{down}")), kind, None)
                .unwrap_or_else(|violation| panic!("{violation}"));
            let without_way =
                dropped(&outcome, DropReason::LinkDown).iter().filter(|drop| drop.port == 1).count();
            assert!(without_way * 32 > 4375, "{returned}: {without_way}");
            // 1 MB takes 83 us on the wire; x may take its half of the time.
            assert_eq!(
                outcome.flows[1].received.get(),
                1_000_000,
                "{returned}: y never meets the failed link"
            );
            assert!(outcome.flows[1].finish < us(1200), "{returned}: {}", outcome.flows[1].finish);
            assert_eq!(outcome.flows[0].received.get(), 10_000_000, "{returned}: the link is up again");
            outcome.totals.digest
        });
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{returned}");
    }
}

const LEAF_SPINE: &str = r#"
profile = "ideal"
run = { until = "400us" }
host = { transport = "put" }
put = { retry = "30us" }
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us", routing = "ecmp" }
fault-handling = { detect = "20us", converge = "50us" }
[switch]
flow-control = "credits"
queueing = "voq"
[switch.credits]
period = "5us"
[[traffic]]
name = "x"
kind = "permutation"
size = "4MB"
"#;

#[test]
fn faults_under_credits_are_the_same_on_every_engine_and_number_of_threads() {
    let dead = "[[fault]]\nkind = \"switch-down\"\nswitch = \"spine0\"\nat = \"50us\"\nfor = \"100us\"\n";
    let slow = "[[fault]]\nkind = \"link-slow\"\nlink = [\"h0\", \"leaf0\"]\nrate = \"25Gbps\"\nat = \"60us\"\nuntil = \"200us\"\n";
    for switching in ["store-and-forward", "cut-through"] {
        let text = LEAF_SPINE.replace("[switch]\n", &format!("[switch]\nswitching = \"{switching}\"\n"));
        let runs = KINDS.map(|kind| {
            let outcome = try_run(spec(&text, &format!("{dead}{slow}")), kind, Some(us(400)))
                .unwrap_or_else(|v| panic!("{v}"));
            let received: Vec<u64> = outcome.flows.iter().map(|flow| flow.received.get()).collect();
            (outcome.totals.digest, outcome.records.drops, outcome.records.faults, received)
        });
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{switching}");
        assert!(runs[0].3.iter().all(|received| *received > 200_000), "{:?}", runs[0].3);
    }
}
