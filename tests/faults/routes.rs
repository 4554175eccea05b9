//! Which spine is used after a link has failed: none knows at first, then the leaf at the link, then all.
use backwater_fabric::record::{DropReason, FaultEvent};
use scene::{Outcome, try_run, us};

use crate::{KINDS, dropped, events, run, spec};

/// Nodes: hosts h0 to h3, leaves 4 and 5, spines 6 and 7. Ports of a leaf: its two hosts, then the spines.
const TWO_SPINES: &str = r#"
profile = "endpoint"
run = { until = "400us" }
packet = { payload = "1936B", header = "64B" }
put = { retry = "30us" }
switch = { switching = "store-and-forward" }
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 2, rate = "100Gbps", delay = "1us" }
fault-handling = { detect = "20us", converge = "50us" }
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h2"
size = "4MB"
[[traffic]]
name = "y"
kind = "flow"
from = "h1"
to = "h3"
size = "4MB"
"#;

fn fault(link: &str, rest: &str) -> String {
    format!("[[fault]]\nkind = \"link-down\"\nlink = {link}\nat = \"100us\"\n{rest}\n")
}

/// Data that was lost.
fn data(outcome: &Outcome) -> Vec<u64> {
    let lost = dropped(outcome, DropReason::LinkDown);
    lost.iter().filter(|drop| drop.data).map(|drop| drop.time.as_ps()).collect()
}

/// Bytes that a leaf has sent to each spine.
fn spines(outcome: &Outcome) -> [u64; 2] {
    [2, 3].map(|port| outcome.port((4, port), 3).bytes.get())
}

#[test]
fn a_leaf_leaves_a_failed_spine_out_when_it_has_noticed() {
    let names = |outcome: &Outcome| {
        let network = outcome.simulation.network();
        [4, 6].map(|node| network.name(node).to_owned())
    };
    for spine in ["spine0", "spine1"] {
        let outcome = run(TWO_SPINES, &fault(&format!(r#"["leaf0", "{spine}"]"#), ""), 400);
        assert_eq!(names(&outcome), ["leaf0", "spine0"]);
        // Both ends notice after 20 us; after 50 more the other leaf and the spine have new routes, too.
        assert!(events(&outcome, FaultEvent::Detected).iter().all(|(time, _)| *time == 120_000_000));
        let rerouted = events(&outcome, FaultEvent::Rerouted);
        assert!(!rerouted.is_empty() && rerouted.iter().all(|(time, _)| *time == 170_000_000));
        let lost = data(&outcome);
        // The leaf sends nothing into the dead link after it has noticed; at 100 Gbps a packet comes every 160 ns.
        assert!(lost.iter().all(|time| (100_000_000..=122_000_000).contains(time)), "{lost:?}");
        assert!(outcome.flows.iter().all(|flow| flow.received.get() > 100_000));
    }
}

#[test]
fn the_way_down_is_lost_until_all_switches_have_new_routes() {
    // The link below the spine: leaf0 cannot know that spine0 has no way to leaf1 before it is told.
    let outcomes = ["spine0", "spine1"]
        .map(|spine| run(TWO_SPINES, &fault(&format!(r#"["{spine}", "leaf1"]"#), ""), 400));
    let lost: Vec<u64> = outcomes.iter().flat_map(data).collect();
    assert!(lost.iter().any(|time| *time > 130_000_000), "{lost:?}");
    assert!(lost.iter().all(|time| *time < 173_000_000), "{lost:?}");
}

#[test]
fn an_outage_that_is_over_before_it_is_noticed_changes_no_routes() {
    let outcome = run(TWO_SPINES, &fault(r#"["leaf0", "spine0"]"#, "for = \"19us\""), 400);
    assert!(events(&outcome, FaultEvent::Detected).is_empty());
    assert!(events(&outcome, FaultEvent::Rerouted).is_empty());
    let outcome = run(TWO_SPINES, &fault(r#"["leaf0", "spine0"]"#, "for = \"21us\""), 400);
    assert_eq!(events(&outcome, FaultEvent::Detected).len(), 2);
    assert_eq!(events(&outcome, FaultEvent::Admitted), [(141_000_000, 4), (141_000_000, 6)]);
}

#[test]
fn a_dead_spine_is_used_by_nobody_after_detection() {
    let down = "[[fault]]\nkind = \"switch-down\"\nswitch = \"spine0\"\nat = \"1us\"\n";
    let outcome = run(TWO_SPINES, down, 400);
    let [dead, alive] = spines(&outcome);
    // What left before 1 us is 6 packets at most.
    assert!(dead <= 6 * 2000, "{dead}");
    assert!(alive > 1_000_000, "{alive}");
}

#[test]
fn reroutes_are_the_same_on_every_engine_and_number_of_threads() {
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"leaf0\", \"spine0\"]\nat = \"50us\"\nfor = \"40us\"\nevery = \"100us\"\ntimes = 3\n";
    // Equal states of the links share their routes: a link that flaps has those of one that fails once.
    let once = spec(TWO_SPINES, &flaps.replace("times = 3", "times = 1")).faults;
    assert!(once.ways.memory() > 0);
    assert_eq!(spec(TWO_SPINES, flaps).faults.ways, once.ways);
    let runs = KINDS.map(|kind| {
        let outcome = try_run(spec(TWO_SPINES, flaps), kind, Some(us(400)))
            .unwrap_or_else(|violation| panic!("{violation}"));
        (outcome.totals.digest, outcome.records.drops, outcome.records.faults)
    });
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn in_a_fat_tree_whose_links_flap_every_flow_ends_and_routes_come_to_rest() {
    // 128 hosts; a way up, a way down and a whole core fail again and again, each for longer than detection takes.
    let text = r#"
profile = "ideal"
topology = { kind = "fat-tree", k = 8, rate = "100Gbps", delay = "1us", routing = "ecmp" }
fault-handling = { detect = "10us", converge = "20us" }
transport = { reliability = "selective-repeat" }
[switch]
flow-control = "none"
overflow = "drop"
[[traffic]]
name = "x"
kind = "permutation"
size = "1MB"
"#;
    let flaps = |link: &str, at: u32| {
        format!(
            "[[fault]]\nkind = \"link-down\"\nlink = {link}\nat = \"{at}us\"\nfor = \"30us\"\nevery = \"70us\"\ntimes = 5\n"
        )
    };
    let more = flaps(r#"["edge0.0", "agg0.0"]"#, 10)
        + &flaps(r#"["agg5.1", "core5"]"#, 25)
        + "[[fault]]\nkind = \"switch-down\"\nswitch = \"core0\"\nat = [\"20us\", \"120us\"]\nfor = \"40us\"\n";
    let runs = [KINDS[0], KINDS[1]].map(|kind| {
        let outcome =
            try_run(spec(text, &more), kind, None).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(outcome.flows.iter().all(|flow| flow.received.get() == 1_000_000));
        assert!(outcome.flows.iter().any(|flow| flow.resent_packets > 0));
        outcome
    });
    assert_eq!(runs[0].totals.digest, runs[1].totals.digest);
    // Whoever has noticed a failure notices its end, if the run lasts so long: after the last one, from 305 us to 335 us, at 345 us.
    let ended = runs[0].flows.iter().map(|flow| flow.finish).max().expect("flows");
    let count = |event| events(&runs[0], event).len();
    if ended > us(345) {
        assert_eq!(count(FaultEvent::Detected), count(FaultEvent::Admitted));
    }
    assert!(count(FaultEvent::Rerouted) > 0);
}
