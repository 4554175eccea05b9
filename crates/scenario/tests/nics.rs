//! Hosts with several ports: by which of them they send, and what is said where that rule has nothing to do, or ports cannot be several.
use backwater_fabric::PortRule;

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
fn what_is_made_for_one_port_is_refused_with_the_host_and_its_links() {
    let all =
        ["host h0 has 2 links: this is for hosts with 1", "give each NIC of a server a host of its own"];
    says(&report(PLANES, &["traffic.x.transport=put"]), &[&["these are PUTs"], &all[..]].concat());
    says(
        &report(PLANES, &["host.drain=10Gbps"]),
        &[&["a slow host drains its receive queue"], &all[..]].concat(),
    );
}

#[test]
fn a_constant_source_must_fit_the_slowest_port_of_its_host() {
    let source = "kind = \"constant\"\nrate = \"40Gbps\"";
    let text = PLANES.replace("kind = \"flow\"", source).replace("size = \"1MB\"\n", "");
    says(&report(&text, &[]), &["rate 40Gbps is more than the link of the source, 25Gbps"]);
}
