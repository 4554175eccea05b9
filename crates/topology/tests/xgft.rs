//! Extended generalized fat trees: their sizes and ports by the definition of Öhring et al., their ways by D-mod-k.
use std::collections::{BTreeMap, BTreeSet};

use backwater_topology::generate::{k_ary_n_tree, rlft, xgft};
use backwater_topology::{Network, Routes, Routing, deadlock, summary};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_ns(100);

fn routed(m: &[u32], w: &[u32]) -> (Network, Routes) {
    let net = xgft(m, w, RATE, DELAY).unwrap();
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    (net, routes)
}

/// Ten switches of twelve hosts, twelve above them.
fn of_120_hosts() -> (Network, Routes) {
    routed(&[12, 10], &[1, 12])
}

fn peers<'a>(net: &'a Network, name: &str) -> Vec<&'a str> {
    let ports = net.ports(net.find(name).unwrap());
    ports.iter().map(|port| net.name(port.peer)).collect()
}

/// Names of the nodes that a packet leaves, in order.
fn way<'a>(net: &'a Network, routes: &Routes, src: u32, dst: u32) -> Vec<&'a str> {
    routes.path(net, src, dst, |_| 0).iter().map(|&(node, _)| net.name(node)).collect()
}

fn product(numbers: &[u32]) -> u32 {
    numbers.iter().product()
}

#[test]
fn the_tree_of_120_hosts_has_10_switches_of_24_ports_and_12_of_10() {
    let (net, routes) = of_120_hosts();
    let switches: Vec<usize> = (120..142).map(|node| net.ports(node).len()).collect();
    assert_eq!((net.hosts().len(), net.nodes().len()), (120, 142));
    assert_eq!(switches, [vec![24; 10], vec![10; 12]].concat());
    // as many links up from each of the ten as hosts: full bisection
    assert_eq!(peers(&net, "s0.3")[..2], ["h36", "h37"]);
    let up: Vec<String> = (0..12).map(|spine| format!("s1.{spine}")).collect();
    assert_eq!(peers(&net, "s0.3")[12..], up);
    let down: Vec<String> = (0..10).map(|leaf| format!("s0.{leaf}")).collect();
    assert_eq!(peers(&net, "s1.7"), down);
    let summary = summary(&net, &routes);
    assert_eq!((summary.links, summary.diameter), (120 + 120, 4), "three switches on the longest way");
}

#[test]
fn in_the_tree_of_120_hosts_a_destination_has_the_spine_of_its_number_modulo_12() {
    let (net, routes) = of_120_hosts();
    let mut served = BTreeMap::<(u32, u16), BTreeSet<u32>>::new();
    for dst in 0..120 {
        for src in (0..120).filter(|&src| src / 12 != dst / 12) {
            let (leaf, spine) = (format!("s0.{}", src / 12), format!("s1.{}", dst % 12));
            let last = format!("s0.{}", dst / 12);
            assert_eq!(way(&net, &routes, src, dst), [&format!("h{src}"), &leaf, &spine, &last]);
            for step in routes.path(&net, src, dst, |_| 0) {
                served.entry(step).or_default().insert(dst);
            }
        }
    }
    // every port of the fabric is used: up for the nine other hosts of its residue, down for one host only
    assert_eq!(served.len(), net.port_count());
    for ((node, port), hosts) in served {
        let expected = match (net.name(node).split('.').next().unwrap(), port) {
            ("s0", 12..) => 9,
            ("s0" | "s1", _) => 1,
            _ => 108,
        };
        assert_eq!(hosts.len(), expected, "{}", net.port_name(node, port));
    }
}

#[test]
fn a_shift_of_all_120_hosts_meets_on_no_link() {
    // the property for which D-mod-k is used (Zahavi et al., Concurrency and Computation 2010)
    let (net, routes) = of_120_hosts();
    for shift in 1..120 {
        let mut used = BTreeSet::new();
        for src in 0..120 {
            let way = routes.path(&net, src, (src + shift) % 120, |_| 0);
            assert!(way.into_iter().all(|step| used.insert(step)), "shift {shift}: two flows on a link");
        }
    }
}

#[test]
fn a_tree_thinned_to_a_third_above_its_hosts_shares_each_way_up_among_three() {
    // XGFT(3; 6,4,2; 1,2,4): 48 hosts; 8, then 2·2, then 8 switches
    let (net, routes) = routed(&[6, 4, 2], &[1, 2, 4]);
    assert_eq!((net.hosts().len(), net.nodes().len()), (48, 48 + 8 + 4 + 8));
    assert_eq!(peers(&net, "s0.5"), ["h30", "h31", "h32", "h33", "h34", "h35", "s1.2", "s1.3"]);
    assert_eq!(peers(&net, "s1.2"), ["s0.4", "s0.5", "s0.6", "s0.7", "s2.0", "s2.2", "s2.4", "s2.6"]);
    assert_eq!(peers(&net, "s2.6"), ["s1.0", "s1.2"]);
    // 29 goes up by 29 mod 2 = 1, then by ⌊29/2⌋ mod 4 = 2: number 1 + 2·2 at the top
    assert_eq!(way(&net, &routes, 0, 29), ["h0", "s0.0", "s1.1", "s2.5", "s1.3", "s0.4"]);
    let by_port = (24..30).map(|dst| routes.next_ports(net.find("s0.0").unwrap(), dst)[0]);
    assert_eq!(by_port.collect::<Vec<_>>(), [6, 7, 6, 7, 6, 7]);
}

#[test]
fn a_k_ary_n_tree_is_the_xgft_of_equal_numbers_name_by_name_and_way_by_way() {
    for (k, n) in [(2, 5), (4, 3), (5, 1), (8, 2)] {
        let (m, mut w) = (vec![k; n as usize], vec![k; n as usize]);
        w[0] = 1;
        let (net, routes) = routed(&m, &w);
        let same = k_ary_n_tree(k, n, RATE, DELAY).unwrap();
        assert_eq!(net, same);
        assert_eq!(routes, Routes::new(&same, Routing::DModK).unwrap());
    }
}

#[test]
fn a_real_life_fat_tree_with_single_links_is_an_xgft_of_two_levels_under_other_names() {
    for (leaves, spines, hosts) in [(10, 12, 12), (3, 5, 4), (7, 2, 6)] {
        let (net, routes) = routed(&[hosts, leaves], &[1, spines]);
        let same = rlft(leaves, spines, hosts, 1, RATE, DELAY).unwrap();
        assert_eq!(net.links(), same.links());
        assert_eq!(routes, Routes::new(&same, Routing::DModK).unwrap());
    }
}

#[test]
fn lists_that_make_no_tree_are_refused_with_the_number_and_what_is_allowed() {
    let refused = |m: &[u32], w: &[u32]| xgft(m, w, RATE, DELAY).unwrap_err().to_string();
    assert!(refused(&[12, 10], &[1]).starts_with("topology xgft: m has 2 numbers and w has 1; give as many"));
    assert!(refused(&[], &[]).contains("from 1 to 15"));
    assert!(refused(&[1; 16], &[1; 16]).contains("from 1 to 15"));
    assert_eq!(refused(&[4, 2], &[2, 2]), "topology xgft: number 0 of w is 2; give 1: a host has one port");
    assert_eq!(refused(&[4, 0], &[1, 2]), "topology xgft: number 1 of m is 0; give a number from 1 to 1024");
    assert!(refused(&[4, 1025], &[1, 2]).contains("number 1 of m is 1025"));
    assert!(refused(&[1000, 2], &[1, 25]).starts_with("topology xgft: number 1 of w is 25; give less"));
    assert!(refused(&[1024, 1024], &[1, 1]).contains("ports of a switch"));
    assert!(refused(&[1023, 1024], &[1, 1]).starts_with("the topology has 1048577 nodes"));
    assert!(refused(&[512; 15], &[1; 15]).contains("at most 1048576"));
    assert_eq!(xgft(&[1024], &[1], RATE, DELAY).unwrap().hosts().len(), 1024);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_xgft_has_the_sizes_of_its_definition_and_ways_by_the_digits_of_the_destination(
        (m, mut w) in (1usize..=4)
            .prop_flat_map(|h| (prop::collection::vec(1u32..=4, h), prop::collection::vec(1u32..=3, h)))
    ) {
        w[0] = 1;
        let (net, routes) = routed(&m, &w);
        let levels = m.len();
        let size = |level: usize| product(&w[..level]) * product(&m[level..]);
        prop_assert_eq!(net.nodes().len() as u32, (0..=levels).map(size).sum::<u32>());
        prop_assert_eq!(deadlock::check(&net, &routes), Ok(()));
        for src in 0..size(0) {
            for dst in (0..size(0)).filter(|&dst| dst != src) {
                // the lowest level at which both are below the same switch
                let turn = (1..=levels).find(|&l| src / product(&m[..l]) == dst / product(&m[..l])).unwrap();
                let ports: Vec<u32> =
                    routes.path(&net, src, dst, |_| 0).iter().map(|&(_, port)| port.into()).collect();
                let up = (1..turn).map(|l| m[l - 1] + dst / product(&w[..l]) % w[l]);
                let down = (1..=turn).rev().map(|l| dst / product(&m[..l - 1]) % m[l - 1]);
                prop_assert_eq!(ports, [0].into_iter().chain(up).chain(down).collect::<Vec<u32>>());
            }
        }
    }
}
