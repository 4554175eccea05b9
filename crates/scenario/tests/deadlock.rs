//! Under credits, traffic whose frames can wait for each other in a circle is refused; virtual lanes break circles.

use crate::common::{Said, report, says, validate};

/// Five switches in a ring, a host at each, and every host sends to the one two switches on; `lanes` are the virtual lanes
/// of the five flows.
fn ring(lanes: [u8; 5]) -> String {
    let link =
        |a: &str, b: &str| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"32Gbps\", delay = \"1us\" }},\n");
    let pair =
        |i| link(&format!("h{i}"), &format!("s{i}")) + &link(&format!("s{i}"), &format!("s{}", (i + 1) % 5));
    let links: String = (0..5).map(pair).collect();
    let flow = |(i, lane): (usize, &u8)| {
        let ends = format!("from = \"h{i}\"\nto = \"h{}\"", (i + 2) % 5);
        format!("[[traffic]]\nname = \"f{i}\"\nkind = \"flow\"\n{ends}\nsize = \"1MB\"\npriority = {lane}\n")
    };
    let flows: String = lanes.iter().enumerate().map(flow).collect();
    format!(
        r#"profile = "infiniband"
[topology]
kind = "edges"
hosts = ["h0", "h1", "h2", "h3", "h4"]
switches = ["s0", "s1", "s2", "s3", "s4"]
links = [
{links}]
[switch.credits]
buffer = "1MB"
{flows}"#
    )
}

#[test]
fn five_flows_around_a_ring_on_one_lane_are_refused_and_the_ports_of_the_circle_named() {
    says(
        &report(&ring([2; 5]), &[]),
        &[
            "virtual lane 2 can deadlock",
            "a cyclic buffer dependency of 5 egress ports: s0->s1, s1->s2, s2->s3, s3->s4, s4->s0, and s0->s1 again",
            "another virtual lane",
            "topology.allow-cycles = true",
            "test.toml:2",
        ],
    );
}

#[test]
fn the_same_flows_on_two_lanes_of_which_neither_is_a_circle_are_accepted() {
    let scenario = validate(&ring([2, 2, 2, 4, 4]), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
}

#[test]
fn acks_travel_the_other_way_round_and_can_close_a_circle_of_their_own() {
    let text = ring([2, 2, 2, 4, 4]);
    let acks = ["ack.every=1", "ack.priority=5"];
    says(&report(&text, &acks), &["virtual lane 5 can deadlock", "s0->s4"]);
    assert!(validate(&text, &["ack.every=1"]).is_ok(), "with their data they are on two lanes, too");
    assert!(
        validate(&text, &["ack.every=1", "ack.priority=7"]).is_ok(),
        "the control priority waits for no credit"
    );
}

#[test]
fn what_is_injected_may_go_from_any_host_to_any_other() {
    let injected = ring([2; 5]).split("[[traffic]]").next().unwrap().to_owned()
        + "[[traffic]]\nname = \"messages\"\nkind = \"injected\"\npriority = 2\n";
    says(&report(&injected, &[]), &["virtual lane 2 can deadlock", "s0->s1", "topology.allow-cycles = true"]);
    // Without the link that closes the ring there is no circle, whoever sends to whom.
    let open = injected.lines().filter(|line| !line.contains("a = \"s4\"")).collect::<Vec<_>>().join("\n");
    validate(&open, &[]).unwrap_or_else(|error| panic!("{error}"));
    // Their ACKs may close one in a priority of their own.
    says(&report(&injected, &["ack.every=1", "ack.priority=5"]), &["virtual lane 5 can deadlock"]);
}

#[test]
fn a_deadlock_to_be_studied_is_allowed_and_said() {
    let scenario = validate(&ring([2; 5]), &["topology.allow-cycles=true"]).unwrap();
    says(&scenario.caveats().said(), &["virtual lane 2 can deadlock: the routes form", "s4->s0"]);
}

#[test]
fn a_circle_of_pauses_is_a_caveat_and_without_flow_control_there_is_none() {
    let caveats = |overrides: &[&str]| validate(&ring([2; 5]), overrides).unwrap().caveats().said();
    says(&caveats(&["switch.flow-control=pfc"]), &["priority 2 can deadlock: the routes form"]);
    assert!(!caveats(&["switch.flow-control=none"]).contains("deadlock"));
    // Queues that flows share wait for each other as priorities do; queues of destinations follow the tree of each.
    let holds = |kind: &str| {
        let kind = format!("switch.isolation.kind={kind}");
        caveats(&["profile=ideal", "switch.flow-control=none", "switch.queueing=output", &kind])
    };
    says(&holds("bfc"), &["priority 2 can deadlock: the routes form"]);
    assert!(!holds("dst-pfc").contains("deadlock"));
    let split = validate(&ring([2, 2, 2, 4, 4]), &["switch.flow-control=pfc"]).unwrap();
    assert!(!split.caveats().said().contains("deadlock"), "each priority is paused for itself");
}
