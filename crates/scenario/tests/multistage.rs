//! The multistage networks of 64 hosts: k-ary n-trees and real-life fat trees, written as scenarios.

use crate::common::{report, says, validate};
use backwater_units::{Rate, Span};

/// One flow from the first host to the last of a network of 64.
fn scenario(topology: &str) -> String {
    format!(
        "profile = \"authors\"\n[topology]\nrouting = \"d-mod-k\"\n{topology}\n[[traffic]]\nname = \"one\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h63\"\nsize = \"1MB\"\n"
    )
}

const RLFT: &str = "kind = \"rlft\"\nleaves = 8\nspines = 4\nhosts-per-leaf = 8\nlinks = 2";

#[test]
fn the_four_shapes_have_64_hosts_on_links_of_100_gbps_and_25_ns() {
    let n_tree = |k: u32, n: u32| format!("kind = \"k-ary-n-tree\"\nk = {k}\nn = {n}");
    for (topology, switches) in
        [(n_tree(4, 3), 48), (n_tree(8, 2), 16), (n_tree(2, 6), 192), (RLFT.to_owned(), 12)]
    {
        let valid = validate(&scenario(&topology), &[]).unwrap();
        let net = valid.network();
        assert_eq!((net.hosts().len(), net.nodes().len()), (64, 64 + switches));
        assert!(net.links().iter().all(|link| link.rate == Rate::from_gbps(100)));
        assert_eq!(net.least_delay(), Span::from_ns(25));
    }
}

#[test]
fn one_of_several_links_between_two_switches_is_probed_by_its_number() {
    let ports = |pattern: &str| {
        let set = format!("probe.ports=[\"{pattern}\"]");
        validate(&scenario(RLFT), &[set.as_str()]).unwrap().build().probe.ports
    };
    // leaf0: ports 0 to 7 to its hosts, 8 to 11 and 12 to 15 to the four spines
    let leaf = ports("leaf0:*")[0].0;
    assert_eq!(ports("leaf0->spine1"), [(leaf, 9), (leaf, 13)]);
    assert_eq!(ports("leaf0->spine1:1"), [(leaf, 13)]);
    assert_eq!(ports("leaf0->spine*:0"), [(leaf, 8), (leaf, 9), (leaf, 10), (leaf, 11)]);
    assert_eq!(ports("leaf0->h3"), [(leaf, 3)]);
    says(
        &report(&scenario(RLFT), &["probe.ports=[\"leaf0->h3:0\"]"]),
        &["\"leaf0->h3:0\" is no port of this network"],
    );
}

#[test]
fn parameters_that_make_no_network_are_refused_with_what_is_allowed() {
    let n_tree = "kind = \"k-ary-n-tree\"\nk = 2\nn = 6";
    says(&report(&scenario(n_tree), &["topology.k=1"]), &["topology.k = 1", "allowed: 2 to 512"]);
    says(&report(&scenario(n_tree), &["topology.n=0"]), &["topology.n = 0", "allowed: 1 to 15"]);
    says(&report(&scenario(n_tree), &["topology.k=4", "topology.n=10"]), &["3670016 nodes; at most 1048576"]);
    says(&report(&scenario(RLFT), &["topology.links=0"]), &["topology.links = 0", "allowed: 1 to 1024"]);
    says(&report(&scenario(RLFT), &["topology.links=300"]), &["spines = 4; give fewer", "may be 1024"]);
    says(&report(&scenario(RLFT), &["topology.link=2"]), &["did you mean \"links\"?"]);
}

/// The fat tree of 120 hosts: twelve at each of ten switches, twelve switches above.
const XGFT: &str = "kind = \"xgft\"\nm = [12, 10]\nw = [1, 12]\ndelay = \"100ns\"";

#[test]
fn the_xgft_of_120_hosts_has_22_switches_on_links_of_100_gbps() {
    let valid = validate(&scenario(XGFT), &[]).unwrap();
    let net = valid.network();
    assert_eq!((net.hosts().len(), net.nodes().len()), (120, 142));
    assert!(net.links().iter().all(|link| link.rate == Rate::from_gbps(100)));
}

#[test]
fn lists_that_make_no_xgft_are_refused_at_their_place() {
    let refused = |set: &str| report(&scenario(XGFT), &[set]);
    says(&refused("topology.w=[1]"), &["m has 2 numbers and w has 1", "one per level"]);
    says(&refused("topology.w=[2, 6]"), &["number 0 of w is 2; give 1: a host has one port"]);
    says(&refused("topology.m=[12, 0]"), &["topology.m[1] = 0", "allowed: 1 to 1024"]);
    says(&refused("topology.w=[1, 1020]"), &["number 1 of w is 1020; give less"]);
    let large = ["topology.m=[1000, 1000, 2]", "topology.w=[1, 12, 1]"];
    says(&report(&scenario(XGFT), &large), &["nodes; at most 1048576"]);
    says(&refused("topology.m=[]"), &["m has 0 numbers"]);
}
