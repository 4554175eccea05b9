//! Hosts with several ports: by which of them they send, and what is said where that rule has nothing to do, or ports cannot be several.
use backwater_fabric::PortRule;
use backwater_scenario::Scenario;
use std::path::Path;

use crate::common::{Said, report, says, validate};

/// `h0` and `h1` have a port in each of two planes.
const PLANES: &str = r#"
profile = "ideal"
[topology]
kind = "edges"
hosts = ["h0", "h1"]
switches = ["a", "b"]
links = [
  { a = "h0", b = "a", rate = "100Gbps", delay = "1us" },
  { a = "h0", b = "b", rate = "25Gbps", delay = "1us" },
  { a = "h1", b = "a", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "b", rate = "25Gbps", delay = "1us" },
]
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

const STAR: &str = r#"
profile = "ideal"
[topology]
kind = "star"
hosts = 2
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

#[test]
fn the_word_says_by_which_port_queue_pairs_send() {
    let rule = |overrides: &[&str]| validate(PLANES, overrides).unwrap().build().nic.port;
    assert_eq!(rule(&[]), PortRule::Hash);
    assert_eq!(rule(&["host.nic.port=rail"]), PortRule::Rail);
    assert_eq!(rule(&["host.nic.port=plane"]), PortRule::Plane);
    assert_eq!(rule(&["host.nic.port=spray"]), PortRule::Spray);
    says(&report(PLANES, &["host.nic.port=rails"]), &["rails", "rail"]);
}

#[test]
fn a_rule_that_chooses_nothing_is_said() {
    let caveats =
        |text, rule: &str| validate(text, &[&format!("host.nic.port={rule}")]).unwrap().caveats().said();
    says(&caveats(STAR, "plane"), &["without effect with one link at each host: host.nic.{port}"]);
    says(&caveats(STAR, "spray"), &["without effect with one link at each host: host.nic.{port}"]);
    assert!(!caveats(PLANES, "spray").contains("nic.{port}"));
    says(&caveats(PLANES, "rail"), &["without effect with traffic without ranks: host.nic.{port}"]);
    assert!(!caveats(PLANES, "plane").contains("nic.{port}"));
    assert!(!caveats(STAR, "hash").contains("nic.{port}"));
}

#[test]
fn what_needs_packets_in_order_is_refused_where_they_are_sprayed() {
    let refused = report(PLANES, &["host.nic.port=spray", "cc.kind=hpcc", "traffic.x.control=cc"]);
    says(
        &refused,
        &["host.nic.port = \"spray\" sends them over different links", "host.nic.port = \"hash\""],
    );
    let refused = report(STAR, &["host.nic.port=spray", "traffic.x.transport=put"]);
    says(&refused, &["host.nic.port = \"spray\" reorders packets", "traffic.x, of PUTs"]);
}

#[test]
fn hosts_with_several_ports_send_puts_and_are_slow() {
    assert!(validate(PLANES, &["traffic.x.transport=put"]).is_ok());
    let slow = validate(PLANES, &["host.drain=10Gbps"]).unwrap().build();
    let thresholds = slow.endpoints[0].as_ref().unwrap().pfc.as_ref().map(Vec::len);
    assert_eq!(thresholds, Some(2), "each port has its own");
}

#[test]
fn a_constant_source_must_fit_the_slowest_port_of_its_host() {
    let source = "kind = \"constant\"\nrate = \"40Gbps\"";
    let text = PLANES.replace("kind = \"flow\"", source).replace("size = \"1MB\"\n", "");
    says(&report(&text, &[]), &["rate 40Gbps is more than the link of the source, 25Gbps"]);
}

#[test]
fn rails_that_do_not_match_are_said() {
    // Ranks at h0 with two ports and at h1 with three, at leaves of their own.
    let text = r#"
profile = "ideal"
[topology]
kind = "edges"
hosts = ["h0", "h1"]
switches = ["a", "b", "c", "d", "e", "spine"]
links = [
  { a = "h0", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h0", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "c", rate = "100Gbps", delay = "1us" }, { a = "h1", b = "d", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "e", rate = "100Gbps", delay = "1us" },
  { a = "a", b = "spine", rate = "100Gbps", delay = "1us" }, { a = "b", b = "spine", rate = "100Gbps", delay = "1us" },
  { a = "c", b = "spine", rate = "100Gbps", delay = "1us" }, { a = "d", b = "spine", rate = "100Gbps", delay = "1us" },
  { a = "e", b = "spine", rate = "100Gbps", delay = "1us" },
]
[[traffic]]
name = "x"
kind = "program"
file = "programs/halo.program"
ranks-per-host = 8
"#;
    let said = |text: &str, rule: &str| {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let made = Scenario::parse(text, "test.toml", &base, &[format!("host.nic.port={rule}")]);
        made.unwrap().validate().unwrap_or_else(|error| panic!("{error}")).caveats().said()
    };
    says(&said(text, "rail"), &["h0 with 2 ports and h1 with 3 have no switch in common"]);
    assert!(!said(text, "hash").contains("in common"));
    // As many ports: rail r is rail r, through the spine.
    let alike = text.replace("  { a = \"h1\", b = \"e\", rate = \"100Gbps\", delay = \"1us\" },\n", "");
    let alike = alike
        .replace("  { a = \"e\", b = \"spine\", rate = \"100Gbps\", delay = \"1us\" },\n", "")
        .replace(", \"e\"", "");
    assert!(!said(&alike, "rail").contains("in common"));
}
