//! Faults under every flow control and queueing: credits that come back with each packet, FIFOs at ingress ports, crossbars, tori, slow
//! hosts. Every run adds up its books at its end: packets sent are delivered, dropped, duplicates or under way.
use backwater_fabric::record::{DropReason, FaultEvent, FrameKind};
use scene::{FAST, Outcome, try_run, us};

use crate::{KINDS, dropped, events, run, spec};

/// Two hosts on a switch, 100 Gbps and 1 us: packets of 2000 B take 160 ns.
const CREDITS: &str = r#"
profile = "ideal"
packet = { payload = "1936B", header = "64B" }
host = { transport = "put" }
put = { retry = "20us", policy = "opt" }
topology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }
[switch]
flow-control = "credits"
queueing = "voq"
switching = "store-and-forward"
[switch.credits]
returned = "at-once"
buffer = "280KB"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "4MB"
"#;

/// The same with updates every 5 us.
fn periodic(text: &str) -> String {
    text.replace("returned = \"at-once\"", "period = \"5us\"")
}

/// Runs it until all flows have ended, with the frames of h0's NIC recorded.
fn ends(text: &str, more: &str) -> Outcome {
    let mut spec = spec(text, more);
    spec.probe.frames = vec![(0, 0)];
    let outcome = try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size), "all that was sent is there");
    outcome
}

fn same_on_all(text: &str, more: &str, until: u64) -> Outcome {
    let mut runs = KINDS.map(|kind| {
        let outcome =
            try_run(spec(text, more), kind, Some(us(until))).unwrap_or_else(|v| panic!("{v}\n{more}"));
        (outcome.totals.digest, outcome.records.drops.clone(), outcome.records.faults.clone(), Some(outcome))
    });
    for other in &runs[1..] {
        assert_eq!(runs[0].0, other.0, "{more}");
        assert_eq!((&runs[0].1, &runs[0].2), (&other.1, &other.2), "{more}");
    }
    runs[0].3.take().expect("it ran")
}

#[test]
fn a_stream_that_gives_up_names_the_fault_that_lost_its_packets() {
    // Another fault, at the other host's end, loses nothing of it: it begins when the run is over.
    let later = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nframes = 1.0\nat = \"1s\"\n";
    let long = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"20us\"\nuntil = \"10ms\"\n";
    let text = CREDITS.replace("retry = \"20us\",", "retry = \"20us\", retries = 3,");
    let Err(violation) = try_run(spec(&text, &format!("{later}{long}")), FAST, None) else {
        panic!("4 times 20 us are over before 10 ms are")
    };
    let told = violation.to_string();
    assert!(told.contains("Packets of it were lost by fault 1 (link-down): end that sooner"), "{told}");
    // Nobody but the receiver drops: no fault is named.
    let slow = text.replace(
        "host = { transport = \"put\" }",
        "host = { transport = \"put\", of = \"h1\", drain = \"1Mbps\", queue = \"4KB\" }",
    );
    let Err(violation) = try_run(spec(&slow, later), FAST, None) else {
        panic!("a packet takes 16 ms there")
    };
    let told = violation.to_string();
    assert!(told.contains("raise host.drain") && !told.contains("fault"), "{told}");
}

#[test]
fn a_link_that_loses_all_for_a_while_is_as_fast_as_before_whenever_credits_come_back() {
    // In 100 us at line rate 625 packets leave; the credits are for 136 (of 32 blocks, of 4375). All that are sent are lost.
    let all = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nframes = 1.0\nfrom = \"h0\"\nat = \"20us\"\nuntil = \"120us\"\n";
    for text in [CREDITS.to_owned(), periodic(CREDITS)] {
        let outcome = ends(&text, all);
        assert!(dropped(&outcome, DropReason::Corrupted).len() >= 136);
        let puts = outcome.records.frames.iter().filter(|frame| frame.kind == FrameKind::Put);
        let sent: Vec<u64> = puts.map(|frame| frame.sent.as_ps()).collect();
        // Before the fault, and again towards the end: a packet every 160 ns, and updates of credits for ACKs, of 640 ps each.
        let span = |sent: &[u64]| sent[sent.len() - 1] - sent[0];
        let line = 99 * 160_000..=99 * 161_300;
        assert!(line.contains(&span(&sent[..100])), "{}", span(&sent[..100]));
        let late = &sent[sent.len() - 400..sent.len() - 300];
        assert!(line.contains(&span(late)), "{}", span(late));
    }
}

#[test]
fn a_link_that_goes_down_costs_no_credits_that_come_back_at_once() {
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"20us\"\nfor = \"5us\"\nevery = \"30us\"\ntimes = 10\n";
    let outcome = ends(CREDITS, flaps);
    assert!(!dropped(&outcome, DropReason::LinkDown).is_empty());
}

#[test]
fn a_host_that_stops_under_credits_gives_them_back_and_holds_nobody() {
    // h0 sends to h1 and to h2 in turn: if h1's port held the switch, what is for h2 would soon wait behind it.
    let three = CREDITS
        .replace("hosts = 2", "hosts = 3")
        .replace("4MB", "100MB")
        .replace("transport = \"put\"", "transport = \"roce\"")
        + "[[traffic]]\nname = \"y\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h2\"\nsize = \"100MB\"\n[transport]\nreliability = \"go-back-n\"\n";
    let stop = "[[fault]]\nkind = \"host-stop\"\nhost = \"h1\"\nat = \"20us\"\n";
    for text in [three.clone(), periodic(&three)] {
        let outcome = same_on_all(&text, stop, 220);
        let dead = dropped(&outcome, DropReason::DeadNode);
        assert!(dead.iter().all(|drop| drop.node == 1 && drop.time > us(20)));
        // Half of 200 us at line rate are 625 packets, of which the buffer has room for 136.
        assert!(dead.len() > 500, "{}", dead.len());
        // 220 us less the way of 2 us at half of the rate: 681 packets.
        assert!(outcome.flows[1].received.get() > 650 * 1936, "{}", outcome.flows[1].received);
    }
}

const LEAF_SPINE: &str = r#"
profile = "ideal"
run = { until = "400us" }
host = { transport = "put" }
put = { retry = "30us" }
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us", routing = "ecmp" }
fault-handling = { detect = "20us", converge = "50us" }
[[traffic]]
name = "x"
kind = "permutation"
size = "4MB"
[[traffic]]
name = "in"
kind = "flow"
from = ["h1", "h2", "h3"]
to = "h0"
size = "400KB"
"#;

#[test]
fn what_stands_in_the_midst_of_a_fifo_is_flushed_and_the_rest_goes_on() {
    let dead = "[[fault]]\nkind = \"switch-down\"\nswitch = \"spine0\"\nat = \"50us\"\nfor = \"100us\"\n";
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"h0\", \"leaf0\"]\nat = \"20us\"\nfor = \"5us\"\nevery = \"15us\"\ntimes = 12\n";
    for control in ["pfc", "credits"] {
        let more = format!(
            "{dead}{flaps}[switch]\nqueueing = \"input\"\nflow-control = \"{control}\"\n[switch.credits]\nperiod = \"5us\"\n"
        );
        let outcome = same_on_all(LEAF_SPINE, &more, 400);
        let flushed =
            dropped(&outcome, DropReason::LinkDown).iter().filter(|drop| drop.time == us(20)).count();
        assert!(flushed > 0, "{control}");
        ends(&LEAF_SPINE.replace("run = { until = \"400us\" }\n", ""), &more);
    }
}

#[test]
fn a_watchdog_drops_behind_fifos() {
    let storm = "[[fault]]\nkind = \"pause-storm\"\nhost = \"h0\"\nat = \"20us\"\nuntil = \"200us\"\n";
    let watchdog = "[switch]\nqueueing = \"input\"\nflow-control = \"pfc\"\n[switch.pfc.watchdog]\naction = \"drop\"\ndetect = \"20us\"\nrestore = \"20us\"\n";
    let outcome = same_on_all(LEAF_SPINE, &format!("{storm}{watchdog}"), 400);
    assert!(!dropped(&outcome, DropReason::Watchdog).is_empty());
}

#[test]
fn a_link_of_a_crossbar_slows_down_and_is_as_fast_again() {
    let slow = "[[fault]]\nkind = \"link-slow\"\nlink = [\"h0\", \"leaf0\"]\nrate = \"10Gbps\"\nat = \"20us\"\nuntil = \"120us\"\n";
    let more = format!(
        "{slow}[switch]\nqueueing = \"combined\"\nflow-control = \"pfc\"\nswitching = \"store-and-forward\"\n"
    );
    let outcome = same_on_all(LEAF_SPINE, &more, 400);
    assert!(outcome.records.drops.is_empty());
    ends(&LEAF_SPINE.replace("run = { until = \"400us\" }\n", ""), &more);
}

#[test]
fn a_torus_keeps_its_routes_and_what_has_no_other_way_is_lost_until_the_link_is_up() {
    let text = r#"
profile = "infiniband"
host = { transport = "put" }
topology = { kind = "torus", sizes = [3, 3], rate = "32Gbps", delay = "1us" }
switch = { credits = { buffer = "560KB" } }
[[traffic]]
name = "x"
kind = "permutation"
size = "256KB"
priority = 1
"#;
    let names = |name: &str| spec(text, "").network.nodes().iter().find(|node| node.name == name).is_some();
    assert!(names("h0"));
    let network = spec(text, "").network;
    // A link between two switches, as the network names them.
    let link = network
        .links()
        .iter()
        .find(|link| network.is_switch(link.a) && network.is_switch(link.b))
        .expect("one");
    let [a, b] = [link.a, link.b].map(|node| network.name(node));
    let down = format!(
        "[[fault]]\nkind = \"link-down\"\nlink = [\"{a}\", \"{b}\"]\nat = \"10us\"\nfor = \"60us\"\n"
    );
    let outcome = same_on_all(text, &down, 150);
    assert!(events(&outcome, FaultEvent::Rerouted).is_empty());
    ends(text, &down);
}

/// h1 drains at a tenth of the rate of its link. The switch is node 4.
const SLOW: &str = r#"
profile = "ideal"
run = { until = "2ms" }
packet = { payload = "1936B", header = "64B" }
put = { retry = "100us" }
host = { transport = "put", of = "h1", drain = "10Gbps", queue = "400KB" }
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
switch = { flow-control = "pfc" }
[[traffic]]
name = "x"
kind = "flow"
from = ["h0", "h2"]
to = "h1"
size = "1MB"
"#;

#[test]
fn a_slow_host_whose_link_fails_forgets_its_pauses_and_goes_on() {
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"100us\"\nfor = \"10us\"\nevery = \"100us\"\ntimes = 5\n";
    let storm = "[[fault]]\nkind = \"pause-storm\"\nhost = \"h1\"\nat = \"650us\"\nuntil = \"750us\"\n";
    let outcome = same_on_all(SLOW, &format!("{flaps}{storm}"), 2000);
    assert!(!dropped(&outcome, DropReason::LinkDown).is_empty());
    ends(&SLOW.replace("run = { until = \"2ms\" }\n", ""), &format!("{flaps}{storm}"));
}

#[test]
fn the_pause_of_a_host_that_stops_ends_after_the_longest_time_of_one() {
    let stop = "[[fault]]\nkind = \"host-stop\"\nhost = \"h1\"\nat = \"200us\"\n";
    // Queue pairs have no window here, and fill the queue of the slow host.
    let slow = SLOW
        .replace("transport = \"put\"", "transport = \"roce\"")
        .replace("put = { retry = \"100us\" }", "transport = { reliability = \"go-back-n\" }");
    for text in [slow.clone(), SLOW.replace(", of = \"h1\", drain = \"10Gbps\", queue = \"400KB\"", "")] {
        let storm = "[[fault]]\nkind = \"pause-storm\"\nhost = \"h1\"\nat = \"100us\"\n";
        let more = if text == slow { stop.to_owned() } else { format!("{storm}{stop}") };
        let outcome = run(&text, &more, 800);
        let paused = outcome.pauses_at((4, 1));
        let last = paused.last().expect("h1 pauses the switch");
        // 65 535 quanta of 512 bits at 100 Gbps are 335.5392 us, and the link takes 1 us.
        assert!(!last.paused);
        assert_eq!(last.time.as_ps(), 200_000_000 + 335_539_200 + 1_000_000);
        let dead = dropped(&outcome, DropReason::DeadNode);
        assert!(dead.iter().all(|drop| drop.node == 1));
        assert!(dead.iter().any(|drop| drop.time > last.time), "what comes then is lost there");
    }
}

#[test]
fn a_stream_that_a_fault_ends_in_a_later_flow_names_it() {
    // The first flow is over when the link goes down: what is lost is of the second.
    let second = "[[traffic]]\nname = \"y\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\nstart = \"50us\"\n";
    let text = crate::PAIR.replace("size = \"1MB\"", "size = \"10KB\"").replace("100us", "1ms");
    let text = text.replace("put = { retry = \"20us\" }", "put = { retry = \"20us\", retries = 3 }");
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"60us\"\n";
    let spec = spec(&text, &format!("{second}{fault}"));
    let told = try_run(spec, FAST, None).map(drop).unwrap_err().to_string();
    assert!(told.contains("Packets of it were lost by fault 0 (link-down): end that sooner"), "{told}");
}
