//! Dragonflies whose packets may go through a third group: what they need, and what does not go with them.
use backwater_fabric::{Around, Balancing, QueueOf};
use backwater_units::{Bytes, Span};

use crate::common::{Said, report, says, validate};

const FLY: &str = r#"profile = "infiniband"
[topology]
kind = "dragonfly"
a = 4
p = 2
h = 2
rate = "32Gbps"
delay = "1us"
[switch.credits]
buffer = "1MB"
[[traffic]]
name = "all"
kind = "permutation"
size = "64KB"
priority = 1
"#;
const VALIANT: &str = "topology.routing=valiant";
const KEYS: &str = r#"topology.ugal={ bias = "2KB", queue = "credits" }"#;

fn around(overrides: &[&str]) -> (Balancing, u8) {
    let spec = validate(FLY, overrides).unwrap_or_else(|error| panic!("{error}")).build();
    (spec.switch.balancing, spec.routes.lanes())
}

#[test]
fn rules_and_their_keys_reach_the_switches_with_three_lanes() {
    assert_eq!(around(&[]), (Balancing::Ecmp, 2));
    assert_eq!(around(&[VALIANT]), (Balancing::Around(Around::Valiant), 3));
    let ugal = |bias, queue, every| (Balancing::Around(Around::Ugal { bias, queue, every }), 3);
    let plain = ugal(Bytes::ZERO, QueueOf::Waiting, None);
    assert_eq!(around(&["topology.routing=ugal-l"]), plain);
    let keys = ["topology.routing=ugal-l", KEYS];
    assert_eq!(around(&keys), ugal(Bytes::new(2000), QueueOf::Credits, None));
    let global = ugal(Bytes::ZERO, QueueOf::Waiting, Some(Span::from_ns(100)));
    assert_eq!(around(&["topology.routing=ugal-g"]), global);
}

#[test]
fn too_few_lanes_or_groups_are_refused_with_the_number_that_is_needed() {
    let lanes = [VALIANT, "traffic.all.priority=5"];
    says(&report(FLY, &lanes), &["change to virtual lane 7", "needs 3 lanes for each priority", "1 and 4"]);
    says(&report(FLY, &[VALIANT, "topology.lanes=false"]), &["virtual lane 1 can deadlock"]);
    says(
        &report(FLY, &[VALIANT, "topology.g=2"]),
        &["a third group, and this dragonfly has 2", "from 3 to 4095"],
    );
}

#[test]
fn what_needs_one_way_for_each_flow_is_refused_with_the_reason() {
    for (with, why) in [
        ("traffic.all.transport=put", "topology.routing = \"valiant\" reorders packets"),
        ("cc.kind=hpcc", "topology.routing = \"valiant\" sends them over different links"),
        ("switch.load-balancing=spray", "topology.routing = \"valiant\" chooses itself"),
        ("switch.queueing=combined", "topology.routing = \"valiant\" does not work with"),
    ] {
        says(&report(FLY, &[VALIANT, with]), &[why]);
    }
    let pfc = ["switch.flow-control=pfc", "topology.routing=ugal-l"];
    let scenario = validate(FLY, &pfc).unwrap_or_else(|error| panic!("{error}"));
    says(&scenario.caveats().said(), &["priority 1 can deadlock"]);
    says(&report(FLY, &[pfc[0], pfc[1], KEYS]), &["counts credits in use", "queue = \"waiting\""]);
    let idle = validate(FLY, &[VALIANT, KEYS]).unwrap();
    says(&idle.caveats().said(), &["topology.routing = \"valiant\""]);
}

#[test]
fn links_that_fail_leave_the_routes_and_that_is_said() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"sw0.0\", \"sw1.0\"]\nat = \"10us\"\n";
    let again = ["transport.reliability=go-back-n", "ack.every=1"];
    let text = format!("{FLY}{fault}");
    for routing in [VALIANT, "topology.routing=ugal-l", "topology.routing=ugal-g"] {
        let scenario =
            validate(&text, &[&again[..], &[routing]].concat()).unwrap_or_else(|error| panic!("{error}"));
        says(&scenario.caveats().said(), &["are not computed again"]);
    }
}
