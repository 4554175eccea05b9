//! Faults that cannot be: each is refused with its place, its value and a fix.
use crate::common::{report, says};

const SMALL: &str = r#"
profile = "endpoint"
run = { until = "1ms" }
switch = { switching = "store-and-forward" }
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us", routing = "ecmp" }
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h2"
size = "1MB"
"#;

fn fault(lines: &str) -> String {
    format!("{SMALL}[[fault]]\n{lines}\n")
}

#[test]
fn a_link_that_is_not_there_is_refused_with_the_nearest_names() {
    let misspelt = "kind = \"link-down\"\nlink = [\"leaf0\", \"spin0\"]\nat = \"1us\"";
    says(&report(&fault(misspelt), &[]), &["there is no node \"spin0\"", "did you mean \"spine0\"?"]);
    let apart = "kind = \"link-down\"\nlink = [\"leaf0\", \"leaf1\"]\nat = \"1us\"";
    let error = report(&fault(apart), &[]);
    says(&error, &["no link joins \"leaf0\" and \"leaf1\"", "\"leaf0\" has links to h0, h1, spine0, spine1"]);
    says(
        &report(&fault("kind = \"switch-down\"\nswitch = \"h0\"\nat = \"1us\""), &[]),
        &["\"h0\" is a host, not a switch"],
    );
}

#[test]
fn times_after_the_end_or_backwards_are_refused() {
    let late = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1ms\"";
    says(&report(&fault(late), &[]), &["the fault begins at 1ms, and the run ends at 1ms", "less than 1ms"]);
    let backwards = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nuntil = \"10us\"";
    says(&report(&fault(backwards), &[]), &["ends at 10us, before it begins at 20us"]);
    let half = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nevery = \"10us\"";
    says(&report(&fault(half), &[]), &["both every and times"]);
}

#[test]
fn a_thing_cannot_fail_twice_at_a_time() {
    let twice = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"20us\"\nfor = \"10us\"\n\
                 [[fault]]\nkind = \"switch-down\"\nswitch = \"spine0\"\nat = \"25us\"";
    says(
        &report(&fault(twice), &[]),
        &["the link leaf0-spine0 is down twice at a time: by fault 0 and by fault 1"],
    );
}

#[test]
fn a_storm_needs_pfc_and_a_lossless_priority() {
    let storm = "kind = \"pause-storm\"\nhost = \"h0\"\nat = \"1us\"";
    says(&report(&fault(storm), &[]), &["\"pause-storm\" needs PFC", "switch.flow-control = \"pfc\""]);
    let lossy = format!("{storm}\npriorities = [7]");
    let set = ["switch.flow-control=pfc".to_owned()];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    says(&report(&fault(&lossy), &set), &["PAUSE for priority 7 has no effect"]);
}

#[test]
fn traffic_that_sends_nothing_twice_is_refused_where_packets_are_lost() {
    let down = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1us\"";
    let roce = fault(down).replace("run =", "host = { transport = \"roce\" }\nrun =");
    says(&report(&roce, &["switch.flow-control=pfc"]), &["loses packets, and traffic.x sends nothing twice"]);
    let loss = "kind = \"loss\"\nlink = [\"leaf0\", \"spine0\"]\nframes = 0.1\nbits = 0.1";
    says(&report(&fault(loss), &[]), &["either frames or bits"]);
}

#[test]
fn links_under_credits_and_routes_that_cannot_be_computed_again_do_not_fail() {
    let down = "kind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"1us\"";
    says(&report(&fault(down), &["switch.flow-control=credits"]), &["needs switches without credits"]);
    says(
        &report(&fault(down), &["switch.flow-control=pfc", "switch.queueing=input"]),
        &["flushes egress queues"],
    );
}
