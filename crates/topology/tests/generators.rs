//! The generated topologies are the ones that the papers draw.
use backwater_topology::{Network, Routes, Routing, TopologyError, generate, summary};
use backwater_units::{Bytes, Rate, Span};
use proptest::prelude::*;

const GBPS_40: Rate = Rate::from_gbps(40);
const US_4: Span = Span::from_us(4);

fn figure_2() -> Network {
    generate::tcd_figure_2(GBPS_40, US_4, None, false).unwrap()
}

/// The names of the ports on the way between two hosts.
fn way(net: &Network, from: &str, to: &str) -> Vec<String> {
    let routes = Routes::new(net, Routing::Ecmp).unwrap();
    let host = |name| net.host_index(net.find(name).unwrap()).unwrap();
    let path = routes.path(net, host(from), host(to), |_| 0);
    path.into_iter().map(|(node, port)| net.port_name(node, port)).collect()
}

fn switches(net: &Network) -> usize {
    net.nodes().len() - net.hosts().len()
}

#[test]
fn figure_2_has_20_hosts_and_4_switches_and_the_fairness_variant_4_hosts_more() {
    let net = figure_2();
    assert_eq!((net.hosts().len(), switches(&net)), (20, 4));
    let net = generate::tcd_figure_2(GBPS_40, US_4, None, true).unwrap();
    assert_eq!((net.hosts().len(), switches(&net)), (24, 4));
    assert_eq!(way(&net, "B3", "R0"), ["B3->L0", "L0->T2", "T2->R0"]);
}

#[test]
fn the_flows_of_figure_2_cross_the_ports_that_the_paper_says() {
    let net = figure_2();
    let port = |alias: &str| {
        let (node, port) = net.alias(alias).unwrap();
        net.port_name(node, port)
    };
    let [p0, p1, p2, p3] = ["P0", "P1", "P2", "P3"].map(port);
    assert_eq!(way(&net, "S0", "R0"), ["S0->T0", &p0, &p2, "T2->R0"]);
    assert_eq!(way(&net, "S1", "R1"), ["S1->T0", &p0, &p2, &p3]);
    assert_eq!(way(&net, "S2", "R0"), ["S2->T1", &p1, &p2, "T2->R0"]);
    for burst in 0..15 {
        let host = format!("A{burst}");
        assert_eq!(way(&net, &host, "R1"), [format!("{host}->T2"), p3.clone()]);
    }
}

#[test]
fn the_base_rtt_of_figure_2_is_the_papers_32_us() {
    let net = figure_2();
    let s = summary(&net, &Routes::new(&net, Routing::Ecmp).unwrap());
    assert_eq!((s.hosts, s.switches, s.links, s.diameter), (20, 4, 23, 4));
    assert_eq!(s.greatest_delay * 2, Span::from_us(32));
    // two hosts at one switch
    assert_eq!(s.least_delay * 2, Span::from_us(16));
    assert_eq!(
        s.to_string(),
        "20 hosts, 4 switches, 23 links of 40Gbps; up to 4 links and 8us to 16us of propagation between hosts"
    );
}

#[test]
fn the_victim_scenario_slows_only_the_links_of_s0_and_s1() {
    let net = generate::tcd_figure_2(GBPS_40, US_4, Some(Rate::from_gbps(20)), false).unwrap();
    let slow = net.hosts().iter().filter(|&&host| net.ports(host)[0].rate < GBPS_40);
    let slow: Vec<&str> = slow.map(|&host| net.name(host)).collect();
    assert_eq!(slow, ["S0", "S1"]);
}

#[test]
fn the_testbed_joins_t0_to_t2_and_fits_two_four_port_switches() {
    let net = generate::tcd_testbed(Rate::from_gbps(10), Span::from_us(1)).unwrap();
    assert_eq!(way(&net, "S1", "R1"), ["S1->T0", "T0->T2", "T2->R1"]);
    assert_eq!(net.alias("P0"), Some((net.find("T0").unwrap(), 2)));
    for switch in ["T0", "T2"] {
        assert!(net.ports(net.find(switch).unwrap()).len() <= 4);
    }
}

#[test]
fn a_lone_1000_byte_frame_crosses_figure_2_in_16_8_us() {
    let net = figure_2();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let path = routes.path(&net, 0, 3, |_| 0);
    // four links of 4 us, and 200 ns to put 1000 B on each
    assert_eq!(net.one_way(&path, Bytes::new(1000)), Span::from_ps(16_800_000));
    assert_eq!(net.bottleneck(&path), Some(GBPS_40));
}

#[test]
fn a_dumbbell_has_one_link_between_its_halves() {
    let net = generate::dumbbell(3, 2, GBPS_40, US_4, Some(Rate::from_gbps(10))).unwrap();
    assert_eq!(way(&net, "l2", "r1"), ["l2->left", "left->right", "right->r1"]);
    let (node, port) = net.alias("bottleneck").unwrap();
    assert_eq!(net.ports(node)[usize::from(port)].rate, Rate::from_gbps(10));
}

#[test]
fn ports_are_numbered_in_the_order_of_the_links() {
    let net = generate::star(5, GBPS_40, US_4).unwrap();
    let s = net.find("s").unwrap();
    let peers: Vec<&str> = net.ports(s).iter().map(|port| net.name(port.peer)).collect();
    assert_eq!(peers, ["h0", "h1", "h2", "h3", "h4"]);
    let tree = generate::fat_tree(4, GBPS_40, US_4).unwrap();
    let peers = |name| -> Vec<&str> {
        let ports = tree.ports(tree.find(name).unwrap());
        ports.iter().map(|port| tree.name(port.peer)).collect()
    };
    assert_eq!(peers("edge1.0"), ["h4", "h5", "agg1.0", "agg1.1"]);
    assert_eq!(peers("agg1.1"), ["edge1.0", "edge1.1", "core2", "core3"]);
    assert_eq!(peers("core2"), ["agg0.1", "agg1.1", "agg2.1", "agg3.1"]);
}

#[test]
fn the_papers_fat_trees_have_250_and_1024_servers() {
    let hosts = |k| generate::fat_tree(k, GBPS_40, US_4).unwrap().hosts().len();
    assert_eq!((hosts(10), hosts(16)), (250, 1024));
}

#[test]
fn a_fat_tree_of_16_ports_has_128_racks_of_8_hosts_in_16_pods_of_64_between_which_paths_have_6_links() {
    let net = generate::fat_tree(16, GBPS_40, US_4).unwrap();
    let racks = net.racks();
    assert_eq!((racks.len(), generate::fat_tree_pod(16)), (128, 64));
    assert!((0..).zip(&racks).all(|(rack, hosts)| *hosts == (8 * rack..8 * rack + 8).collect::<Vec<u32>>()));
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    let links = |to| routes.path(&net, 0, to, |_| 0).len();
    assert_eq!([7, 8, 63, 64].map(links), [2, 4, 4, 6]);
}

#[test]
fn racks_stand_in_the_order_of_their_first_hosts() {
    // S0 and S1 at T0, S2 at T1, R0 and R1 at T2 with the fifteen bursts' hosts
    let racks = figure_2().racks();
    let mut sizes: Vec<usize> = racks.iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes.iter().sum::<usize>(), 20);
    assert_eq!(racks[0], [0, 1]);
    assert!(racks.is_sorted_by_key(|rack| rack[0]));
}

#[test]
fn parameters_out_of_range_are_refused_with_the_range() {
    let odd = generate::fat_tree(5, GBPS_40, US_4).unwrap_err();
    assert_eq!(odd.to_string(), "topology fat-tree: k = 5; give an even number from 2 to 158");
    let refused =
        |result: Result<Network, TopologyError>| matches!(result, Err(TopologyError::Parameter { .. }));
    assert!(refused(generate::star(0, GBPS_40, US_4)));
    assert!(refused(generate::star(1025, GBPS_40, US_4)));
    assert!(refused(generate::dumbbell(1, 0, GBPS_40, US_4, None)));
    assert!(refused(generate::leaf_spine(0, 1, 1, GBPS_40, None, US_4)));
    assert!(refused(generate::fat_tree(u32::MAX, GBPS_40, US_4)));
    let many = generate::leaf_spine(1024, 1, 1024, GBPS_40, None, US_4);
    assert!(matches!(many, Err(TopologyError::TooManyNodes { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_k_ary_fat_tree_has_k_cubed_over_4_hosts_and_5_k_squared_over_4_switches_of_k_ports(half in 1u32..=6) {
        let k = 2 * half;
        let net = generate::fat_tree(k, GBPS_40, US_4).unwrap();
        prop_assert_eq!(net.hosts().len() as u32, k * k * k / 4);
        prop_assert_eq!(switches(&net) as u32, 5 * k * k / 4);
        prop_assert_eq!(net.links().len() as u32, 3 * k * k * k / 4);
        for node in 0..net.nodes().len() as u32 {
            let ports = if net.is_switch(node) { k } else { 1 };
            prop_assert_eq!(net.ports(node).len() as u32, ports);
        }
    }

    #[test]
    fn every_leaf_is_linked_to_every_spine(leaves in 1u32..8, spines in 1u32..8, hosts in 1u32..8) {
        let fast = Rate::from_gbps(100);
        let net = generate::leaf_spine(leaves, spines, hosts, GBPS_40, Some(fast), US_4).unwrap();
        prop_assert_eq!(net.hosts().len() as u32, leaves * hosts);
        for leaf in 0..leaves {
            let leaf = net.find(&format!("leaf{leaf}")).unwrap();
            prop_assert_eq!(net.ports(leaf).len() as u32, hosts + spines);
            for spine in 0..spines {
                let spine = net.find(&format!("spine{spine}")).unwrap();
                let port = net.port_to(leaf, spine).unwrap();
                prop_assert_eq!(net.ports(leaf)[usize::from(port)].rate, fast);
            }
        }
    }

    #[test]
    fn the_two_ends_of_a_link_know_each_other(half in 1u32..=4) {
        let net = generate::fat_tree(2 * half, GBPS_40, US_4).unwrap();
        for node in 0..net.nodes().len() as u32 {
            for (number, port) in net.ports(node).iter().enumerate() {
                let back = &net.ports(port.peer)[usize::from(port.peer_port)];
                prop_assert_eq!((back.peer, usize::from(back.peer_port), back.link), (node, number, port.link));
                prop_assert_eq!(net.port_to(node, port.peer), Some(number as u16));
            }
        }
    }
}
