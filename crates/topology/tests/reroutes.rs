//! Routes that follow links as these go down and come up are those computed anew, for less.
use std::collections::BTreeSet;

use backwater_topology::generate::{Edge, fat_tree, from_parallel_edges, leaf_spine};
use backwater_topology::{Network, Reroutes, Routes, Routing};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

use crate::routing::any_network;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_us(1);

/// By switch and host the ports, followed from state to state.
type Tables = Vec<Vec<Vec<u16>>>;

fn tables(net: &Network, routes: &Routes) -> Tables {
    let hosts = 0..net.hosts().len() as u32;
    let of = |node| hosts.clone().map(|host| routes.next_ports(node, host).to_vec()).collect();
    (0..net.nodes().len() as u32).map(of).collect()
}

/// Toggles some links at each of several instants, and compares all tables after each with those computed from nothing.
fn follow(net: &Network, routing: Routing, instants: &[Vec<u32>]) {
    let routes = Routes::new(net, routing).unwrap();
    let mut reroutes = Reroutes::new(net, routing, &routes).unwrap();
    let changes: Vec<_> = instants.iter().map(|links| reroutes.toggle(links).unwrap().to_vec()).collect();
    let ways = reroutes.ways();
    let (mut tables_now, mut down) = (tables(net, &routes), vec![false; net.links().len()]);
    for (links, changes) in instants.iter().zip(changes) {
        for link in links {
            down[*link as usize] ^= true;
        }
        for change in changes {
            for (hosts, ports) in ways.of(change.ways) {
                for host in hosts {
                    let cell = &mut tables_now[change.switch as usize][host as usize];
                    assert_ne!(*cell, ports, "only what has changed is told");
                    *cell = ports.to_vec();
                }
            }
        }
        let expected = tables(net, &Routes::without(net, routing, &down).unwrap());
        assert_eq!(tables_now, expected, "without {down:?}");
    }
}

/// Which links change at each of several instants, by numbers that stand for links.
fn instants() -> impl Strategy<Value = Vec<Vec<prop::sample::Index>>> {
    prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..4), 1..20)
}

fn links(net: &Network, of: &[prop::sample::Index]) -> Vec<u32> {
    let numbers: BTreeSet<u32> = of.iter().map(|index| index.index(net.links().len()) as u32).collect();
    numbers.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ways_that_follow_links_are_those_without_these_links(net in any_network(), instants in instants()) {
        let instants: Vec<Vec<u32>> = instants.iter().map(|of| links(&net, of)).collect();
        for routing in [Routing::Ecmp, Routing::DModK] {
            follow(&net, routing, &instants);
        }
    }

    #[test]
    fn so_are_those_of_fat_trees_and_of_leaves_and_spines(instants in instants()) {
        let leaves = leaf_spine(4, 3, 5, RATE, None, DELAY).unwrap();
        for net in [fat_tree(4, RATE, DELAY).unwrap(), leaves, with_parallel_links()] {
            let instants: Vec<Vec<u32>> = instants.iter().map(|of| links(&net, of)).collect();
            for routing in [Routing::Ecmp, Routing::DModK] {
                follow(&net, routing, &instants);
            }
        }
    }
}

/// Three leaves with two hosts each, and two links from each leaf to each of two spines.
fn with_parallel_links() -> Network {
    let edge = |a: String, b: &str| Edge { a, b: b.to_owned(), rate: RATE, delay: DELAY };
    let mut edges = Vec::new();
    for leaf in ["a", "b", "c"] {
        edges.extend(["s", "t", "t", "s"].map(|spine| edge(leaf.to_owned(), spine)));
        edges.extend(["0", "1"].map(|host| edge(format!("{leaf}{host}"), leaf)));
    }
    from_parallel_edges(&["a0", "a1", "b0", "b1", "c0", "c1"], &["a", "b", "c", "s", "t"], &edges).unwrap()
}

fn link(net: &Network, one: &str, other: &str) -> u32 {
    let [one, other] = [one, other].map(|name| net.find(name).unwrap());
    net.ports(one).iter().find(|port| port.peer == other).unwrap().link
}

#[test]
fn a_link_of_a_fat_tree_costs_the_switches_around_it_and_not_all_of_them() {
    for k in [4, 8, 16] {
        let net = fat_tree(k, RATE, DELAY).unwrap();
        let routes = Routes::new(&net, Routing::Ecmp).unwrap();
        let mut reroutes = Reroutes::new(&net, Routing::Ecmp, &routes).unwrap();
        reroutes.toggle(&[link(&net, "edge0.0", "agg0.0")]).unwrap();
        let (k, half) = (u64::from(k), u64::from(k / 2));
        // To all other edge switches the one at the link has one way less. To it the one above is further away, and so are its cores and
        // the switch below them in each other pod; each of these and of their neighbours is asked once.
        let (others, further) = (k * half - 1, 1 + half + (k - 1));
        let neighbours = half + (k - 1) * half;
        assert_eq!(reroutes.computed(), others + further + neighbours, "k = {k}");
    }
}

#[test]
fn a_link_that_flaps_is_computed_twice_whatever_else_is_down() {
    let net = fat_tree(8, RATE, DELAY).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let mut reroutes = Reroutes::new(&net, Routing::Ecmp, &routes).unwrap();
    reroutes.toggle(&[link(&net, "agg3.1", "core5")]).unwrap();
    let before = reroutes.computed();
    let flapping = [link(&net, "edge0.0", "agg0.0")];
    let (down, up) =
        (reroutes.toggle(&flapping).unwrap().to_vec(), reroutes.toggle(&flapping).unwrap().to_vec());
    let twice = reroutes.computed() - before;
    let memory = reroutes.memory();
    for _ in 0..1000 {
        assert_eq!(reroutes.toggle(&flapping).unwrap(), down);
        assert_eq!(reroutes.toggle(&flapping).unwrap(), up);
    }
    assert_eq!((reroutes.computed() - before, reroutes.memory()), (twice, memory));
}

#[test]
fn what_is_known_of_a_state_holds_after_others_between() {
    let net = fat_tree(4, RATE, DELAY).unwrap();
    let [one, two, three] =
        [("edge0.0", "agg0.0"), ("agg1.0", "core0"), ("h3", "edge0.1")].map(|(a, b)| link(&net, a, b));
    // The second and third turns are known; the last is not, and finds the tables behind.
    let turns = [[one, two], [one, two], [one, two], [two, three], [one, three], [two, one], [one, three]];
    follow(&net, Routing::Ecmp, &turns.map(|links| links.to_vec()));
}

#[test]
fn computing_routes_again_takes_two_bytes_for_each_switch_and_host_or_edge_switch() {
    // k = 4: 20 switches, of them 8 with hosts; 16 hosts.
    let net = fat_tree(4, RATE, DELAY).unwrap();
    assert_eq!(Reroutes::table_memory(&net), 2 * 20 * (16 + 8));
}
