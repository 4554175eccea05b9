//! Rings can lock up under PFC; trees that are climbed and then descended cannot.
use backwater_topology::generate::{fat_tree, leaf_spine, tcd_figure_2};
use backwater_topology::{Builder, Link, Network, Routes, Routing, deadlock};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(40);
const DELAY: Span = Span::from_us(1);

/// A ring of `n` switches, of which the first `with_host` have a host each.
fn ring(n: u32, with_host: u32) -> Network {
    let mut b = Builder::new();
    let switches: Vec<u32> = (0..n).map(|i| b.switch(format!("s{i}"))).collect();
    for (i, &switch) in switches.iter().enumerate() {
        b.link(switch, switches[(i + 1) % switches.len()], RATE, DELAY);
    }
    for i in 0..with_host {
        let host = b.host(format!("h{i}"));
        b.link(host, i, RATE, DELAY);
    }
    b.build().unwrap()
}

fn check(net: &Network, routing: Routing) -> Result<(), deadlock::BufferCycle> {
    deadlock::check(net, &Routes::new(net, routing).unwrap())
}

#[test]
fn a_ring_of_three_has_no_cycle_since_every_switch_is_a_neighbour() {
    assert_eq!(check(&ring(3, 3), Routing::Ecmp), Ok(()));
}

#[test]
fn a_ring_of_four_has_a_cycle_under_ecmp_since_opposite_switches_use_both_ways() {
    assert_eq!(check(&ring(4, 4), Routing::Ecmp).unwrap_err().ports.len(), 4);
}

#[test]
fn the_cycle_of_a_ring_is_named_port_by_port() {
    let cycle = check(&ring(5, 5), Routing::Ecmp).unwrap_err();
    let clockwise = ["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"];
    assert_eq!(cycle.names, clockwise);
    assert_eq!(
        cycle.to_string(),
        "the routes form a cyclic buffer dependency of 5 egress ports: \
         s0->s1, s1->s2, s2->s3, s3->s4, s4->s0, and s0->s1 again"
    );
}

#[test]
fn links_that_no_path_uses_close_no_cycle() {
    // three hosts side by side on a ring of seven: the far side of the ring stays idle
    assert_eq!(check(&ring(7, 3), Routing::Ecmp), Ok(()));
}

#[test]
fn the_papers_figure_2_cannot_lock_up() {
    assert_eq!(check(&tcd_figure_2(RATE, DELAY, None, true).unwrap(), Routing::Ecmp), Ok(()));
}

#[test]
fn up_and_down_routing_has_no_cycle() {
    for routing in [Routing::Ecmp, Routing::DModK] {
        for k in [2, 4, 6, 8] {
            assert_eq!(check(&fat_tree(k, RATE, DELAY).unwrap(), routing), Ok(()));
        }
        assert_eq!(check(&leaf_spine(6, 4, 3, RATE, None, DELAY).unwrap(), routing), Ok(()));
    }
}

#[test]
fn a_single_shortcut_between_two_pods_of_a_fat_tree_closes_a_cycle() {
    let tree = fat_tree(4, RATE, DELAY).unwrap();
    let node = |name| tree.find(name).unwrap();
    let mut links = tree.links().to_vec();
    links.push(Link { a: node("edge0.0"), b: node("edge1.0"), rate: RATE, delay: DELAY });
    let net = Network::new(tree.nodes().to_vec(), links, Vec::new()).unwrap();
    let cycle = check(&net, Routing::Ecmp).unwrap_err();
    assert!(is_a_circle(&net, &cycle));
    // Up after down: from edge1.1 down to edge1.0 and across, or across and then up to edge0.1. The rest of the circle
    // are ordinary waits: up from edge0.0 to a core for pod 2, over the core into pod 1, down to edge1.0.
    let circle = ["edge0.0->agg0.0", "agg0.0->core0", "core0->agg1.0", "agg1.0->edge1.0", "edge1.0->edge0.0"];
    assert_eq!(cycle.names, circle);
}

/// What the traffic between these hosts of a ring of five can wait for; host i is at switch i.
fn pairs(pairs: &[(u32, u32)]) -> Result<(), deadlock::BufferCycle> {
    let net = ring(5, 5);
    deadlock::check_pairs(&net, &Routes::new(&net, Routing::Ecmp).unwrap(), pairs.iter().copied())
}

/// Every host sends to the one two switches on, clockwise.
const CLOCKWISE: [(u32, u32); 5] = [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)];

#[test]
fn flows_that_go_right_around_a_ring_close_the_circle_and_any_four_of_them_do_not() {
    let cycle = pairs(&CLOCKWISE).unwrap_err();
    assert_eq!(cycle.names, ["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"]);
    for left_out in 0..5 {
        let rest: Vec<_> = CLOCKWISE.iter().copied().filter(|&(src, _)| src != left_out).collect();
        assert_eq!(pairs(&rest), Ok(()), "without the flow from h{left_out}");
    }
}

#[test]
fn the_same_flows_on_two_lanes_close_no_circle_on_either() {
    assert_eq!(pairs(&CLOCKWISE[..3]), Ok(()));
    assert_eq!(pairs(&CLOCKWISE[3..]), Ok(()));
}

#[test]
fn flows_between_neighbours_and_no_flows_at_all_wait_for_nothing() {
    assert_eq!(pairs(&[]), Ok(()));
    assert_eq!(pairs(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]), Ok(()));
}

#[test]
fn all_pairs_of_hosts_give_the_same_answer_as_the_check_of_the_routes() {
    let shortcut = {
        let tree = fat_tree(4, RATE, DELAY).unwrap();
        let mut links = tree.links().to_vec();
        let node = |name| tree.find(name).unwrap();
        links.push(Link { a: node("edge0.0"), b: node("edge1.0"), rate: RATE, delay: DELAY });
        Network::new(tree.nodes().to_vec(), links, Vec::new()).unwrap()
    };
    for net in [ring(3, 3), ring(4, 4), ring(7, 3), fat_tree(6, RATE, DELAY).unwrap(), shortcut] {
        for routing in [Routing::Ecmp, Routing::DModK] {
            let routes = Routes::new(&net, routing).unwrap();
            let hosts = 0..net.hosts().len() as u32;
            let all = hosts.clone().flat_map(|src| hosts.clone().map(move |dst| (src, dst)));
            let all = all.filter(|(src, dst)| src != dst);
            assert_eq!(deadlock::check_pairs(&net, &routes, all), deadlock::check(&net, &routes));
        }
    }
}

/// Every port leads to the switch at which the next one is.
fn is_a_circle(net: &Network, cycle: &deadlock::BufferCycle) -> bool {
    let successors = cycle.ports.iter().cycle().skip(1);
    let joined = |(&(node, port), &(then, _)): (&(u32, u16), &(u32, u16))| {
        net.ports(node)[usize::from(port)].peer == then
    };
    cycle.ports.len() > 1 && cycle.ports.iter().zip(successors).all(joined)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_ring_of_five_or_more_switches_has_a_cycle_right_around(n in 5u32..40) {
        let net = ring(n, n);
        for routing in [Routing::Ecmp, Routing::DModK] {
            let cycle = check(&net, routing).unwrap_err();
            prop_assert_eq!(cycle.ports.len() as u32, n);
            prop_assert!(is_a_circle(&net, &cycle));
        }
    }
}
