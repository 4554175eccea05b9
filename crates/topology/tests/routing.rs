//! Frames take shortest paths, all of them are used, and D-mod-k uses them evenly.
use std::collections::{BTreeMap, BTreeSet};

use backwater_topology::generate::{Edge, fat_tree, from_edges, leaf_spine, star};
use backwater_topology::{Builder, Network, RouteError, Routes, Routing, deadlock, flow_hash, summary};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_us(1);

fn tree(k: u32) -> Network {
    fat_tree(k, RATE, DELAY).unwrap()
}

/// Links between any two nodes by Floyd and Warshall's algorithm: slow, short, and nothing like the code under test.
fn all_distances(net: &Network) -> Vec<Vec<u32>> {
    let n = net.nodes().len();
    let mut d = vec![vec![u32::MAX / 2; n]; n];
    for (i, row) in d.iter_mut().enumerate() {
        row[i] = 0;
    }
    for link in net.links() {
        d[link.a as usize][link.b as usize] = 1;
        d[link.b as usize][link.a as usize] = 1;
    }
    for via in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = d[i][j].min(d[i][via] + d[via][j]);
            }
        }
    }
    d
}

/// A connected graph: a random tree of switches, random chords, and hosts at random switches.
pub(crate) fn any_network() -> impl Strategy<Value = Network> {
    (2usize..12).prop_flat_map(|n| {
        let parents = prop::collection::vec(any::<prop::sample::Index>(), n);
        let chords = prop::collection::vec((0..n as u32, 0..n as u32), 0..20);
        let hosts = prop::collection::vec(0..n as u32, 1..15);
        (parents, chords, hosts).prop_map(move |(parents, chords, hosts)| {
            let mut b = Builder::new();
            for i in 0..n {
                b.switch(format!("s{i}"));
            }
            let mut links: BTreeSet<(u32, u32)> =
                (1..n).map(|i| (parents[i].index(i) as u32, i as u32)).collect();
            links.extend(chords.into_iter().filter(|(a, z)| a < z));
            for (a, z) in links {
                b.link(a, z, RATE, DELAY);
            }
            for (i, at) in hosts.into_iter().enumerate() {
                let host = b.host(format!("h{i}"));
                b.link(host, at, RATE, DELAY);
            }
            b.build().unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ecmp_holds_exactly_the_ports_on_shortest_paths(net in any_network()) {
        let routes = Routes::new(&net, Routing::Ecmp).unwrap();
        let distance = all_distances(&net);
        for (dst, &host) in net.hosts().iter().enumerate() {
            for node in 0..net.nodes().len() as u32 {
                let expected: Vec<u16> = (0u16..)
                    .zip(net.ports(node))
                    .filter(|(_, port)| {
                        distance[port.peer as usize][host as usize] + 1 == distance[node as usize][host as usize]
                    })
                    .map(|(number, _)| number)
                    .collect();
                prop_assert_eq!(routes.next_ports(node, dst as u32), expected);
            }
        }
    }

    #[test]
    fn every_path_is_as_short_as_can_be_and_ends_at_its_host(net in any_network(), hash: u32) {
        let distance = all_distances(&net);
        for routing in [Routing::Ecmp, Routing::DModK] {
            let routes = Routes::new(&net, routing).unwrap();
            for (src, &from) in net.hosts().iter().enumerate() {
                for (dst, &to) in net.hosts().iter().enumerate() {
                    let path = routes.path(&net, src as u32, dst as u32, |node| hash.rotate_left(node));
                    prop_assert_eq!(path.len() as u32, distance[from as usize][to as usize]);
                    let end = path.last().map_or(from, |&(node, port)| net.ports(node)[usize::from(port)].peer);
                    prop_assert_eq!(end, to);
                }
            }
        }
    }

    #[test]
    fn d_mod_k_is_one_of_the_shortest_paths(net in any_network()) {
        let ecmp = Routes::new(&net, Routing::Ecmp).unwrap();
        let fixed = Routes::new(&net, Routing::DModK).unwrap();
        for node in 0..net.nodes().len() as u32 {
            for dst in 0..net.hosts().len() as u32 {
                let one = fixed.next_ports(node, dst);
                let all = ecmp.next_ports(node, dst);
                prop_assert_eq!(one.len(), usize::from(!all.is_empty()));
                prop_assert!(one.iter().all(|port| all.contains(port)));
            }
        }
    }
}

#[test]
fn no_two_hosts_of_a_fat_tree_are_more_than_6_links_apart() {
    for k in [2, 4, 6, 8] {
        let net = tree(k);
        for routing in [Routing::Ecmp, Routing::DModK] {
            let routes = Routes::new(&net, routing).unwrap();
            assert_eq!(summary(&net, &routes).diameter, 6);
        }
    }
}

#[test]
fn the_base_rtt_of_the_papers_fat_tree_is_48_us() {
    let net = fat_tree(10, Rate::from_gbps(40), Span::from_us(4)).unwrap();
    let s = summary(&net, &Routes::new(&net, Routing::Ecmp).unwrap());
    assert_eq!(s.greatest_delay * 2, Span::from_us(48));
    assert_eq!((s.hosts, s.switches, s.diameter), (250, 125, 6));
}

#[test]
fn the_way_between_pods_goes_over_edge_aggregation_and_core() {
    let net = tree(4);
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    let path = routes.path(&net, 0, 15, |_| 0);
    let nodes: Vec<&str> = path.iter().map(|&(node, _)| net.name(node)).collect();
    // host 15: 15 mod 2 = 1 at the edge, 7 mod 2 = 1 above it
    assert_eq!(nodes, ["h0", "edge0.0", "agg0.1", "core3", "agg3.1", "edge3.1"]);
}

#[test]
fn under_d_mod_k_each_core_serves_one_host_of_every_pod() {
    let net = tree(8);
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    for pod in 0..8u32 {
        let src = (pod * 16 + 16) % 128;
        let cores: BTreeSet<u32> =
            (pod * 16..pod * 16 + 16).map(|dst| routes.path(&net, src, dst, |_| 0)[3].0).collect();
        assert_eq!(cores.len(), 16);
    }
}

#[test]
fn under_d_mod_k_a_shift_of_all_hosts_meets_on_no_link() {
    // the property for which InfiniBand fabrics use it (Zahavi et al., Concurrency and Computation 2010)
    let net = tree(4);
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    for shift in 1..16 {
        let mut used = BTreeMap::new();
        for src in 0..16 {
            for step in routes.path(&net, src, (src + shift) % 16, |_| 0) {
                *used.entry(step).or_insert(0) += 1;
            }
        }
        assert!(used.values().all(|&flows| flows == 1), "shift {shift}: {used:?}");
    }
}

#[test]
fn under_d_mod_k_a_leaf_takes_the_spine_of_the_destinations_index() {
    let net = leaf_spine(4, 3, 5, RATE, None, DELAY).unwrap();
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    for dst in 5..20 {
        let (spine, _) = routes.path(&net, 0, dst, |_| 0)[2];
        assert_eq!(net.name(spine), format!("spine{}", dst % 3));
    }
}

#[test]
fn ecmp_spreads_flows_over_all_cores() {
    let net = tree(8);
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let mut flows = BTreeMap::new();
    for flow in 0..16_000 {
        let path = routes.path(&net, 0, 127, |node| flow_hash(flow, false, node));
        *flows.entry(path[3].0).or_insert(0u32) += 1;
    }
    // 16 cores: mean 1 000, standard deviation 31
    assert_eq!(flows.len(), 16);
    assert!(flows.values().all(|n| (845..=1155).contains(n)), "{flows:?}");
}

#[test]
fn a_choice_covers_the_whole_group_from_the_lowest_hash_to_the_highest() {
    let net = leaf_spine(2, 4, 1, RATE, None, DELAY).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let leaf = net.find("leaf0").unwrap();
    assert_eq!(routes.next_ports(leaf, 1), [1, 2, 3, 4]);
    let chosen =
        [0, 0x3FFF_FFFF, 0x4000_0000, 0x8000_0000, u32::MAX].map(|hash| routes.choose(leaf, 1, hash));
    assert_eq!(chosen, [1, 1, 2, 3, 4]);
}

#[test]
fn a_network_in_two_parts_names_two_hosts_without_a_path() {
    let edge = |a: &str, b: &str| Edge { a: a.to_owned(), b: b.to_owned(), rate: RATE, delay: DELAY };
    let edges = [edge("a", "s"), edge("b", "s"), edge("c", "t")];
    let net = from_edges(&["a", "b", "c"], &["s", "t"], &edges).unwrap();
    let error = Routes::new(&net, Routing::Ecmp).unwrap_err();
    assert_eq!(error, RouteError::Unreachable { from: "a".to_owned(), to: "c".to_owned() });
}

#[test]
fn a_switch_apart_from_all_hosts_harms_nobody() {
    let mut b = Builder::new();
    let (h, s, alone) = (b.host("h"), b.switch("s"), b.switch("alone"));
    b.link(h, s, RATE, DELAY);
    let net = b.build().unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    assert!(routes.next_ports(alone, 0).is_empty());
    assert_eq!(routes.next_ports(s, 0), [0]);
    assert_eq!(summary(&net, &routes).greatest_delay, Span::ZERO);
}

#[test]
fn hosts_on_one_switch_are_two_links_apart() {
    let net = star(4, RATE, DELAY).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let s = summary(&net, &routes);
    assert_eq!((s.diameter, s.least_delay, s.greatest_delay), (2, DELAY * 2, DELAY * 2));
    assert_eq!(routes.path(&net, 2, 2, |_| 0), []);
}

#[test]
fn the_extremes_of_delay_look_at_all_equally_short_ways() {
    let edge = |a: &str, b: &str, us: u64| Edge {
        a: a.to_owned(),
        b: b.to_owned(),
        rate: RATE,
        delay: Span::from_us(us),
    };
    // two ways of four links from a to b: 1 + 2 + 2 + 1 and 1 + 5 + 7 + 1
    let edges = [
        edge("a", "s", 1),
        edge("b", "t", 1),
        edge("s", "near", 2),
        edge("near", "t", 2),
        edge("s", "far", 5),
        edge("far", "t", 7),
    ];
    let net = from_edges(&["a", "b"], &["s", "t", "near", "far"], &edges).unwrap();
    let s = summary(&net, &Routes::new(&net, Routing::Ecmp).unwrap());
    assert_eq!((s.least_delay, s.greatest_delay), (Span::from_us(6), Span::from_us(14)));
    // destination a has index 0 and b index 1: one takes the first spine, the other the second
    let s = summary(&net, &Routes::new(&net, Routing::DModK).unwrap());
    assert_eq!((s.least_delay, s.greatest_delay), (Span::from_us(6), Span::from_us(14)));
}

#[test]
fn two_hosts_on_one_cable_reach_each_other_without_a_table() {
    let edge = Edge { a: "a".to_owned(), b: "b".to_owned(), rate: RATE, delay: DELAY };
    let net = from_edges(&["a", "b"], &[], &[edge]).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    assert_eq!(routes.path(&net, 0, 1, |_| 0), [(0, 0)]);
    assert_eq!(deadlock::check(&net, &routes), Ok(()));
    let s = summary(&net, &routes);
    assert_eq!((s.diameter, s.least_delay, s.greatest_delay), (1, DELAY, DELAY));
}

#[test]
fn switches_of_one_kind_share_their_tables() {
    let routes = Routes::new(&tree(16), Routing::DModK).unwrap();
    // Cells of 2 B: 8 hosts below an edge switch, 64 below an aggregation switch, 1024 below a core, and 1024 each for the ways up of
    // edge and aggregation switches: 6,288 B. The other 64 B for each of 1344 nodes are for where its cells are.
    assert!((6_288..6_288 + 64 * 1344).contains(&routes.memory()), "{}", routes.memory());
}

#[test]
fn the_tables_of_27_648_hosts_fit_into_a_megabyte() {
    // By switch and host they would be 2880 x 27,648.
    for routing in [Routing::Ecmp, Routing::DModK] {
        assert!(Routes::new(&tree(48), routing).unwrap().memory() < 1_000_000);
    }
}
