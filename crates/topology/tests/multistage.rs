//! k-ary n-trees and real-life fat trees under D-mod-k: every destination has one tree of its own, and the trees share the
//! fabric evenly.
use std::collections::{BTreeMap, BTreeSet};

use backwater_topology::generate::{k_ary_n_tree, rlft};
use backwater_topology::{Network, Routes, Routing, TopologyError, deadlock, summary};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_ns(25);

fn tree(k: u32, n: u32) -> (Network, Routes) {
    routed(k_ary_n_tree(k, n, RATE, DELAY).unwrap())
}

fn routed(net: Network) -> (Network, Routes) {
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    (net, routes)
}

/// The four networks of 64 hosts that the ICI paper's description fits.
fn of_64_hosts() -> [(Network, Routes); 4] {
    [tree(4, 3), tree(8, 2), tree(2, 6), routed(rlft(8, 4, 8, 2, RATE, DELAY).unwrap())]
}

fn hosts(net: &Network) -> u32 {
    net.hosts().len() as u32
}

fn path(net: &Network, routes: &Routes, from: u32, to: u32) -> Vec<(u32, u16)> {
    routes.path(net, from, to, |_| 0)
}

/// How many of the leading digits of two numbers in base k, written with n digits, are equal.
fn common_digits(k: u32, n: u32, a: u32, b: u32) -> u32 {
    (0..n).take_while(|&i| a / k.pow(n - 1 - i) == b / k.pow(n - 1 - i)).count() as u32
}

/// The switch in the middle of a path of links up and as many down.
fn turning_switch(net: &Network, way: &[(u32, u16)]) -> u32 {
    let (node, port) = way[way.len() / 2 - 1];
    net.ports(node)[usize::from(port)].peer
}

/// What sorts a switch below those of higher levels: `s0` and `s1`, `le`af and `sp`ine.
fn level(net: &Network, switch: u32) -> &str {
    &net.name(switch)[..2]
}

#[test]
fn the_shapes_of_64_hosts_have_48_16_192_and_12_switches() {
    let switches = |(net, _): &(Network, Routes)| (net.hosts().len(), net.nodes().len() - net.hosts().len());
    assert_eq!(of_64_hosts().each_ref().map(switches), [(64, 48), (64, 16), (64, 192), (64, 12)]);
}

#[test]
fn the_shapes_of_64_hosts_have_full_bisection() {
    // as many links up from every switch as links down to it
    for (net, _) in of_64_hosts() {
        for node in (0..net.nodes().len() as u32).filter(|&node| net.is_switch(node)) {
            let up = net
                .ports(node)
                .iter()
                .filter(|port| net.is_switch(port.peer) && level(&net, port.peer) > level(&net, node));
            let up = up.count();
            assert!(up == 0 || 2 * up == net.ports(node).len(), "{}: {up} up", net.name(node));
        }
    }
}

#[test]
fn switch_ports_of_a_4_ary_3_tree_lead_where_the_digits_say() {
    let (net, _) = tree(4, 3);
    let peers = |name: &str| -> Vec<&str> {
        let ports = net.ports(net.find(name).unwrap());
        ports.iter().map(|port| net.name(port.peer)).collect()
    };
    // switch 6 = 1·4 + 2 has w0 = 2, w1 = 1: level 0 varies w0 on the way up, level 1 varies w1
    assert_eq!(peers("s0.6"), ["h24", "h25", "h26", "h27", "s1.4", "s1.5", "s1.6", "s1.7"]);
    assert_eq!(peers("s1.6"), ["s0.4", "s0.5", "s0.6", "s0.7", "s2.2", "s2.6", "s2.10", "s2.14"]);
    assert_eq!(peers("s2.6"), ["s1.2", "s1.6", "s1.10", "s1.14"]);
    let port = net.port_to(net.find("s0.6").unwrap(), net.find("s1.5").unwrap()).unwrap();
    assert_eq!(net.ports(net.find("s0.6").unwrap())[usize::from(port)].peer_port, 2, "arrives at port w0");
}

#[test]
fn the_way_of_a_4_ary_3_tree_follows_the_digits_of_the_destination() {
    let (net, routes) = tree(4, 3);
    // d = 27 = 1·16 + 2·4 + 3. Up from level 0 at port 4 + 27 mod 4 = 7, from level 1 at port 4 + 6 mod 4 = 6; down from
    // level 2 at its digit 1, from level 1 at its digit 2, from level 0 at its digit 3.
    let way: Vec<(&str, u16)> =
        path(&net, &routes, 60, 27).iter().map(|&(node, port)| (net.name(node), port)).collect();
    assert_eq!(way, [("h60", 0), ("s0.15", 7), ("s1.15", 6), ("s2.11", 1), ("s1.7", 2), ("s0.6", 3)]);
}

#[test]
fn the_longest_way_of_an_n_tree_has_2n_links() {
    for ((net, routes), links) in of_64_hosts().iter().zip([6, 4, 12, 4]) {
        let summary = summary(net, routes);
        assert_eq!(summary.diameter, links);
        assert_eq!(summary.greatest_delay, DELAY * u64::from(links));
    }
}

#[test]
fn one_level_is_a_star() {
    let (net, routes) = tree(5, 1);
    assert_eq!((net.hosts().len(), net.nodes().len()), (5, 6));
    assert_eq!(path(&net, &routes, 0, 4), [(net.hosts()[0], 0), (net.find("s0.0").unwrap(), 4)]);
}

#[test]
fn every_host_reaches_every_other_and_no_waits_form_a_circle() {
    for (net, routes) in of_64_hosts() {
        for src in 0..64 {
            for dst in (0..64).filter(|&dst| dst != src) {
                let &(node, port) = path(&net, &routes, src, dst).last().unwrap();
                assert_eq!(net.ports(node)[usize::from(port)].peer, net.hosts()[dst as usize]);
            }
        }
        assert_eq!(deadlock::check(&net, &routes), Ok(()));
        assert_eq!(deadlock::check(&net, &Routes::new(&net, Routing::Ecmp).unwrap()), Ok(()));
    }
}

#[test]
fn all_ways_to_one_destination_that_reach_the_top_cross_the_same_top_switch() {
    for (net, routes) in of_64_hosts() {
        let longest = summary(&net, &routes).diameter as usize;
        for dst in 0..64 {
            let ways = (0..64).map(|src| path(&net, &routes, src, dst));
            let tops: BTreeSet<u32> =
                ways.filter(|way| way.len() == longest).map(|way| turning_switch(&net, &way)).collect();
            assert_eq!(tops.len(), 1, "{dst}");
        }
    }
}

#[test]
fn hosts_0_16_32_and_48_of_a_4_ary_3_tree_share_every_port_up_and_the_top_switch() {
    let (net, routes) = tree(4, 3);
    let up = |dst: u32| -> Vec<(u32, u16)> { path(&net, &routes, 7, dst)[..3].to_vec() };
    assert_eq!(up(16), up(32));
    assert_eq!(up(32), up(48));
    assert_ne!(up(32), up(33));
    let tops = [(7, 16), (20, 0), (40, 48)].map(|(src, dst)| path(&net, &routes, src, dst)[3].0);
    assert!(tops.iter().all(|&top| net.name(top) == "s2.0"));
}

#[test]
fn every_port_of_the_shapes_of_64_hosts_is_used_and_those_down_serve_one_host() {
    for (net, routes) in of_64_hosts() {
        let mut destinations: BTreeMap<(u32, u16), BTreeSet<u32>> = BTreeMap::new();
        for src in 0..64 {
            for dst in (0..64).filter(|&dst| dst != src) {
                for step in path(&net, &routes, src, dst) {
                    destinations.entry(step).or_default().insert(dst);
                }
            }
        }
        // every port is used, and with full bisection a port down serves one host
        assert_eq!(destinations.len(), net.port_count());
        for (&(node, port), served) in &destinations {
            let peer = net.ports(node)[usize::from(port)].peer;
            let down = net.is_switch(node) && (!net.is_switch(peer) || level(&net, peer) < level(&net, node));
            if down {
                assert_eq!(served.len(), 1, "{} serves {served:?}", net.port_name(node, port));
            }
        }
    }
}

#[test]
fn a_shift_of_all_hosts_meets_on_no_link() {
    // the property for which D-mod-k is used (Zahavi et al., Concurrency and Computation 2010)
    for (net, routes) in of_64_hosts() {
        for shift in 1..64 {
            let mut used = BTreeSet::new();
            for src in 0..64 {
                let fresh =
                    path(&net, &routes, src, (src + shift) % 64).into_iter().all(|step| used.insert(step));
                assert!(fresh, "shift {shift}: two flows on a link");
            }
        }
    }
}

#[test]
fn parallel_links_have_names_of_their_own_and_share_the_destinations() {
    let (net, routes) = routed(rlft(8, 4, 8, 2, RATE, DELAY).unwrap());
    let (leaf, spine) = (net.find("leaf1").unwrap(), net.find("spine2").unwrap());
    let names: Vec<String> =
        (0..net.ports(leaf).len() as u16).map(|port| net.port_name(leaf, port)).collect();
    assert_eq!(
        names[7..12],
        ["leaf1->h15", "leaf1->spine0:0", "leaf1->spine1:0", "leaf1->spine2:0", "leaf1->spine3:0"]
    );
    assert_eq!(names[12], "leaf1->spine0:1");
    assert_eq!(net.port_name(spine, 9), "spine2->leaf1:1");
    // d = 22: spine 22 mod 4 = 2, of its two links number ⌊22/4⌋ mod 2 = 1, up and down
    let names: Vec<String> =
        path(&net, &routes, 9, 22).iter().map(|&(node, port)| net.port_name(node, port)).collect();
    assert_eq!(names, ["h9->leaf1", "leaf1->spine2:1", "spine2->leaf2:1", "leaf2->h22"]);
}

#[test]
fn parameters_out_of_range_are_refused_with_the_range() {
    let message = |result: Result<Network, TopologyError>| result.unwrap_err().to_string();
    let n_tree = |k, n| message(k_ary_n_tree(k, n, RATE, DELAY));
    assert_eq!(n_tree(1, 3), "topology k-ary-n-tree: k = 1; give a number from 2 to 512");
    assert_eq!(n_tree(4, 0), "topology k-ary-n-tree: n = 0; give a number from 1 to 15");
    assert!(n_tree(512, 15).contains("at most 1048576"));
    // 4¹⁰ hosts and 10 · 4⁹ switches
    assert!(n_tree(4, 10).starts_with("the topology has 3670016 nodes"));
    assert_eq!(hosts(&k_ary_n_tree(512, 1, RATE, DELAY).unwrap()), 512);
    let refused = |leaves, spines, hosts, links| message(rlft(leaves, spines, hosts, links, RATE, DELAY));
    assert_eq!(refused(8, 4, 8, 0), "topology rlft: links = 0; give a number from 1 to 1024");
    assert!(refused(8, 512, 8, 2).starts_with("topology rlft: spines = 512; give fewer"));
    assert!(refused(1024, 4, 8, 2).starts_with("topology rlft: leaves = 1024; give fewer"));
    assert!(refused(1024, 1024, 1024, 1024).contains("1024"));
    assert!(refused(1024, 1, 1023, 1).contains("at most 1048576"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_way_between_hosts_with_c_common_leading_digits_has_2_times_n_minus_c_links(
        (k, n) in (2u32..=6, 1u32..=4), pairs in prop::collection::vec((any::<u32>(), any::<u32>()), 40)
    ) {
        let (net, routes) = tree(k, n);
        let count = k.pow(n);
        prop_assert_eq!(hosts(&net), count);
        prop_assert_eq!(net.nodes().len() as u32, count + n * count / k);
        for (a, b) in pairs {
            let (a, b) = (a % count, b % count);
            let expected = if a == b { 0 } else { 2 * (n - common_digits(k, n, a, b)) };
            prop_assert_eq!(path(&net, &routes, a, b).len() as u32, expected);
        }
    }

    #[test]
    fn up_ports_follow_the_formula_and_equal_destinations_modulo_the_switches_of_a_level_share_them(
        (k, n) in (2u32..=6, 2u32..=4)
    ) {
        let (net, routes) = tree(k, n);
        let width = k.pow(n - 1);
        for level in 0..n {
            for w in 0..width {
                let switch = net.find(&format!("s{level}.{w}")).unwrap();
                for dst in 0..k.pow(n) {
                    let below = dst / k / k.pow(level) == w / k.pow(level);
                    let expected = match (below, level) {
                        (true, 0) => dst % k,
                        (true, _) => dst / k.pow(level) % k,
                        (false, _) => k + dst / k.pow(level) % k,
                    };
                    prop_assert_eq!(routes.next_ports(switch, dst), [expected as u16]);
                }
            }
        }
    }

    #[test]
    fn in_any_rlft_a_destination_has_one_spine_and_one_of_the_parallel_links(
        (leaves, spines) in (1u32..=6, 1u32..=5), (per_leaf, links) in (1u32..=6, 1u32..=3)
    ) {
        let (net, routes) = routed(rlft(leaves, spines, per_leaf, links, RATE, DELAY).unwrap());
        prop_assert_eq!(deadlock::check(&net, &routes), Ok(()));
        for src in 0..hosts(&net) {
            for dst in (0..hosts(&net)).filter(|&dst| dst != src) {
                let way = path(&net, &routes, src, dst);
                prop_assert_eq!(way.len(), if src / per_leaf == dst / per_leaf { 2 } else { 4 });
                if way.len() == 4 {
                    prop_assert_eq!(net.name(way[2].0).to_owned(), format!("spine{}", dst % spines));
                    let link = (links > 1).then(|| (dst / spines % links) as u16);
                    prop_assert_eq!(net.parallel(way[1].0, way[1].1), link);
                    prop_assert_eq!(net.parallel(way[2].0, way[2].1), link);
                }
            }
        }
    }
}
