//! Clos and rail-optimised networks, tori, meshes and dragonflies: as their definitions have them, and free of deadlock.
use backwater_topology::generate::{self, Clos, Dragonfly, Rail};
use backwater_topology::{Network, Port, RouteError, Routes, Routing, Structure, deadlock, facts, summary};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_ns(500);

fn clos(oversubscription: [f64; 2]) -> Clos {
    let rates = [RATE, Rate::from_gbps(400), Rate::from_gbps(400)];
    Clos { pods: 4, leaves: 4, hosts_per_leaf: 16, rates, oversubscription, delay: DELAY }
}

fn rail(units: u32, servers: u32) -> Network {
    let rates = [RATE, Rate::from_gbps(400)];
    generate::rail(&Rail { units, servers, gpus: 4, rates, oversubscription: 1.0, delay: DELAY }).unwrap()
}

fn dragonfly(a: u32, p: u32, h: u32, g: u32) -> Network {
    generate::dragonfly(&Dragonfly { a, p, h, g, rates: [RATE; 3], delays: [DELAY, DELAY * 10] }).unwrap()
}

fn torus(sizes: &[u32]) -> Network {
    generate::grid(sizes, true, 1, [RATE; 2], DELAY).unwrap()
}

fn mesh(sizes: &[u32]) -> Network {
    generate::grid(sizes, false, 1, [RATE; 2], DELAY).unwrap()
}

/// (hosts, switches, links).
fn size(net: &Network) -> (usize, usize, usize) {
    (net.hosts().len(), net.nodes().len() - net.hosts().len(), net.links().len())
}

/// The greatest number of links between two hosts by a search from each of them: independent of racks and routes.
fn longest(net: &Network) -> u32 {
    let mut most = 0;
    for &host in net.hosts() {
        let mut distance = vec![u32::MAX; net.nodes().len()];
        let mut queue = std::collections::VecDeque::from([host]);
        distance[host as usize] = 0;
        while let Some(node) = queue.pop_front() {
            for port in net.ports(node) {
                if distance[port.peer as usize] == u32::MAX {
                    distance[port.peer as usize] = distance[node as usize] + 1;
                    queue.push_back(port.peer);
                }
            }
        }
        most = most.max(net.hosts().iter().map(|host| distance[*host as usize]).max().unwrap());
    }
    most
}

/// What the costliest way to a host costs, of all that the tables allow from a node, one after the other.
fn costliest(net: &Network, routes: &Routes, node: u32, host: u32, cost: &impl Fn(&Port) -> u64) -> u64 {
    let ways = routes.next_ports(node, host).iter().map(|port| &net.ports(node)[usize::from(*port)]);
    ways.map(|port| cost(port) + costliest(net, routes, port.peer, host, cost)).max().unwrap_or(0)
}

#[test]
fn the_farthest_hosts_are_those_of_the_costliest_of_all_ways() {
    let networks = [
        generate::fat_tree(4, RATE, DELAY).unwrap(),
        generate::clos(&Clos { hosts_per_leaf: 4, ..clos([0.5, 1.0]) }).unwrap(),
        generate::leaf_spine(3, 2, 4, RATE, None, DELAY).unwrap(),
        generate::xgft(&[3, 2, 2], &[1, 2, 3], RATE, DELAY).unwrap(),
        generate::xgft(&[5], &[1], RATE, DELAY).unwrap(),
        rail(2, 4),
        torus(&[3, 4]),
        generate::star(1, RATE, DELAY).unwrap(),
    ];
    for net in networks.into_iter().chain(crate::ai_pod::all()) {
        let is_grid = matches!(net.structure(), Structure::Grid { .. });
        let routing = if is_grid { Routing::DimensionOrder } else { Routing::Ecmp };
        let routes = Routes::new(&net, routing).unwrap();
        for seed in 0..3_u32 {
            // Any costs, the same both ways, those of hosts' links the same at each switch.
            let cost = |port: &Port| {
                let is_host = |node: &u32| !net.is_switch(*node);
                let back = net.ports(port.peer)[usize::from(port.peer_port)].peer;
                let key = if is_host(&port.peer) {
                    back
                } else if is_host(&back) {
                    port.peer
                } else {
                    port.link + 1000
                };
                u64::from(key * 7919 + seed * 104_729) % 997
            };
            let hosts = 0..net.hosts().len() as u32;
            let pairs = hosts.clone().flat_map(|src| hosts.clone().map(move |dst| (src, dst)));
            let ways =
                pairs.map(|(src, dst)| costliest(&net, &routes, net.hosts()[src as usize], dst, &cost));
            assert_eq!(facts::farthest(&net, &routes, cost), ways.max().unwrap());
        }
    }
}

#[test]
fn a_clos_has_as_many_links_up_as_its_oversubscription_says() {
    // 16 x 100 Gbps down: 4 x 400 Gbps up, or 2 with 2:1. 4 leaves x 400 down: 4 spines a plane, or 1 with 4:1.
    let net = generate::clos(&clos([1.0, 1.0])).unwrap();
    assert_eq!(size(&net), (256, 16 + 16 + 16, 256 + 64 + 64));
    assert_eq!(facts::oversubscription(&net), [(1, 1.0), (2, 1.0)]);
    let net = generate::clos(&clos([2.0, 4.0])).unwrap();
    assert_eq!(size(&net), (256, 16 + 8 + 2, 256 + 32 + 8));
    assert_eq!(facts::oversubscription(&net), [(1, 2.0), (2, 4.0)]);
    let bisection = facts::bisection(&net);
    // half of the hosts have 12.8 Tbps, their pods' way up an eighth of it
    assert_eq!((bisection.hosts, bisection.rate), (Rate::from_gbps(12_800), Rate::from_gbps(1_600)));
    let (leaf, agg) = (net.find("leaf2.1").unwrap(), net.find("agg2.1").unwrap());
    assert_eq!(
        (net.place(leaf).tier, net.place(leaf).group, &net.place(leaf).at[..]),
        (1, Some(2), &[2, 1][..])
    );
    assert!(net.port_to(leaf, agg).is_some() && net.port_to(agg, net.find("spine1.0").unwrap()).is_some());
    assert!(
        net.port_to(agg, net.find("spine0.0").unwrap()).is_none(),
        "plane 0 is for the first of each pod"
    );
    assert_eq!((facts::diameter(&net), longest(&net)), (6, 6));
}

#[test]
fn an_oversubscription_that_gives_no_whole_number_of_links_is_refused_with_its_neighbours() {
    let error = generate::clos(&clos([3.0, 1.0])).unwrap_err().to_string();
    assert_eq!(
        error,
        "topology clos: oversubscription[0] = 3 would give a leaf 1.3333 links up of 400Gbps; choose 4 for 1 link, or 2 for 2"
    );
    let error = generate::clos(&clos([1.0, 40.0])).unwrap_err().to_string();
    assert_eq!(
        error,
        "topology clos: oversubscription[1] = 40 would give an aggregation switch 0.1 links up of 400Gbps; choose 4 for 1 link, or 2 \
         for 2"
    );
}

#[test]
fn gpus_of_a_rail_are_at_one_switch_and_those_of_a_server_at_different_ones() {
    let net = rail(2, 8);
    // 8 x 100 Gbps down need 2 x 400 Gbps up: 2 spines
    assert_eq!(size(&net), (64, 8 + 2, 64 + 16));
    let at = |name: &str| net.name(net.ports(net.find(name).unwrap())[0].peer).to_owned();
    assert_eq!(
        [at("gpu0.3"), at("gpu7.3"), at("gpu8.3"), at("gpu0.1")],
        ["rail0.3", "rail0.3", "rail1.3", "rail0.1"]
    );
    let host = net.place(net.find("gpu9.2").unwrap());
    assert_eq!((host.tier, host.group, &host.at[..]), (0, Some(1), &[9, 2][..]));
    assert_eq!((facts::diameter(&net), longest(&net)), (4, 4));
    assert_eq!(facts::bisection(&net).rate, Rate::from_gbps(3_200), "full");
}

#[test]
fn the_dragonfly_of_the_paper_has_72_hosts_and_one_link_between_any_two_groups() {
    // Kim et al., Figure 5: p = h = 2, a = 4: 9 groups, 36 switches, 72 hosts
    let net = dragonfly(4, 2, 2, 9);
    assert_eq!(size(&net), (72, 36, 72 + 9 * 6 + 36));
    let group = |node: u32| net.place(node).group.unwrap();
    let mut pairs: Vec<(u32, u32)> =
        net.links().iter().map(|l| (group(l.a), group(l.b))).filter(|(a, b)| a != b).collect();
    assert_eq!(pairs.len(), 36);
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 36, "9 x 8 / 2 pairs of groups");
    let ports = |node| net.ports(node).len();
    assert!((0..108).filter(|node| net.is_switch(*node)).all(|node| ports(node) == 2 + 3 + 2));
    let routes = Routes::new(&net, Routing::Minimal).unwrap();
    assert_eq!(summary(&net, &routes).diameter, 5, "host, local, global, local, host");
}

#[test]
fn minimal_routes_take_one_global_link_even_if_two_are_shorter() {
    let net = dragonfly(4, 2, 2, 9);
    let routes = Routes::new(&net, Routing::Minimal).unwrap();
    for (src, dst) in (0..72).flat_map(|src| (0..72).map(move |dst| (src, dst))) {
        let path = routes.path(&net, src, dst, |node| node.wrapping_mul(0x9E37_79B9));
        let switches: Vec<u32> = path.iter().skip(1).map(|(node, _)| *node).collect();
        let crossed =
            switches.windows(2).filter(|two| net.place(two[0]).group != net.place(two[1]).group).count();
        let group = |host: u32| net.place(net.hosts()[host as usize]).group;
        assert_eq!(crossed, usize::from(group(src) != group(dst)), "{src} to {dst}");
        assert!(switches.len() <= 4);
    }
}

#[test]
fn fewer_groups_have_several_links_to_each_other_and_all_global_ports_are_used() {
    let net = dragonfly(4, 1, 2, 3);
    // 8 global links of each of 3 groups, 4 to each other group
    assert_eq!(size(&net), (12, 12, 12 + 3 * 6 + 12));
    assert!((12..24).all(|node| net.ports(node).len() == 1 + 3 + 2));
    assert!(deadlock::check(&net, &Routes::new(&net, Routing::Minimal).unwrap()).is_ok());
}

#[test]
fn a_torus_has_a_link_per_switch_and_dimension_and_a_mesh_lacks_those_around() {
    assert_eq!(size(&torus(&[4, 3, 5])), (60, 60, 60 + 3 * 60));
    assert_eq!(size(&mesh(&[4, 3, 5])), (60, 60, 60 + 3 * 15 + 2 * 20 + 4 * 12));
    assert_eq!(size(&torus(&[2, 2, 2])), (8, 8, 8 + 12), "rows of two have one link: a cube");
    let net = torus(&[4, 3, 5]);
    let switch = net.find("sw3.0.2").unwrap();
    assert_eq!(net.place(switch).at, [3, 0, 2]);
    let near: Vec<&str> = net.ports(switch).iter().skip(1).map(|port| net.name(port.peer)).collect();
    for name in ["sw0.0.2", "sw2.0.2", "sw3.1.2", "sw3.2.2", "sw3.0.1", "sw3.0.3"] {
        assert!(near.contains(&name), "{name} of {near:?}");
    }
}

#[test]
fn the_diameter_of_a_torus_is_the_sum_of_its_half_rows_and_that_of_a_mesh_of_its_rows() {
    for sizes in [&[5][..], &[4, 6], &[3, 4, 5], &[2, 3, 2, 4]] {
        let torus = torus(sizes);
        let half: u32 = sizes.iter().map(|size| size / 2).sum();
        assert_eq!((facts::diameter(&torus), longest(&torus)), (half + 2, half + 2));
        assert_eq!(
            summary(&torus, &Routes::new(&torus, Routing::DimensionOrder).unwrap()).diameter,
            half + 2
        );
        let mesh = mesh(sizes);
        let whole: u32 = sizes.iter().map(|size| size - 1).sum();
        assert_eq!((facts::diameter(&mesh), longest(&mesh)), (whole + 2, whole + 2));
    }
}

#[test]
fn the_bisection_of_a_torus_is_two_links_for_each_row_across_its_longest_even_dimension() {
    // 8 x 4: 4 rows of 8 are cut twice; Dally 1990
    assert_eq!(facts::bisection(&torus(&[4, 8])).rate, Rate::from_gbps(800));
    assert_eq!(facts::bisection(&torus(&[8, 4])).rate, Rate::from_gbps(800));
    assert_eq!(facts::bisection(&mesh(&[4, 8])).rate, Rate::from_gbps(400));
}

#[test]
fn lanes_free_tori_and_dragonflies_of_deadlock_and_without_them_they_are_not() {
    for net in [torus(&[5]), torus(&[5, 4]), torus(&[3, 4, 5]), torus(&[8, 8])] {
        let routes = Routes::new(&net, Routing::DimensionOrder).unwrap();
        assert_eq!(routes.lanes(), 2);
        assert_eq!(deadlock::check(&net, &routes), Ok(()));
        let cycle = deadlock::check(&net, &routes.on_one_lane()).unwrap_err();
        assert!(cycle.names.iter().all(|name| !name.contains("lane")), "{cycle}");
    }
    for net in [dragonfly(4, 2, 2, 9), dragonfly(2, 1, 1, 3), dragonfly(4, 4, 4, 17)] {
        let routes = Routes::new(&net, Routing::Minimal).unwrap();
        assert_eq!(deadlock::check(&net, &routes), Ok(()));
        assert!(deadlock::check(&net, &routes.on_one_lane()).is_err());
    }
}

#[test]
fn a_mesh_in_dimension_order_needs_no_lanes() {
    for sizes in [&[7][..], &[4, 5], &[3, 4, 3]] {
        let net = mesh(sizes);
        let routes = Routes::new(&net, Routing::DimensionOrder).unwrap();
        assert_eq!((routes.lanes(), deadlock::check(&net, &routes)), (1, Ok(())));
    }
    assert!(deadlock::check(&mesh(&[4, 4]), &Routes::new(&mesh(&[4, 4]), Routing::Ecmp).unwrap()).is_err());
    let cube = torus(&[2, 2, 2]);
    assert_eq!(Routes::new(&cube, Routing::DimensionOrder).unwrap().lanes(), 1, "rows of two are no rings");
}

#[test]
fn routings_by_structure_are_refused_where_there_is_none() {
    let star = generate::star(4, RATE, DELAY).unwrap();
    for (routing, name) in [(Routing::DimensionOrder, "dimension-order"), (Routing::Minimal, "minimal")] {
        let error = Routes::new(&star, routing).unwrap_err();
        assert!(matches!(&error, RouteError::Structure { routing, .. } if *routing == name), "{error}");
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let message =
        |result: Result<Network, backwater_topology::TopologyError>| result.unwrap_err().to_string();
    let fly =
        |a, p, h, g| generate::dragonfly(&Dragonfly { a, p, h, g, rates: [RATE; 3], delays: [DELAY; 2] });
    for (got, wanted) in [
        (
            message(fly(2, 1, 1, 4)),
            "topology dragonfly: g = 4; give at most a x h + 1 groups: a group has a x h global links, and needs one to every other",
        ),
        (
            message(fly(4, 1, 2, 4)),
            "topology dragonfly: g = 4; give a number such that a x h is a multiple of g - 1: as many links between all pairs of groups",
        ),
        (message(fly(0, 1, 1, 1)), "topology dragonfly: a = 0; give a number from 1 to 1024"),
        (message(fly(1024, 1024, 1, 1025)), "topology dragonfly: g = 1025; give a number from 1 to 1024"),
        (
            message(fly(1024, 1024, 1, 2)),
            "the topology has 2099200 nodes; at most 1048576 are supported: choose smaller parameters",
        ),
        (
            message(generate::grid(&[], true, 1, [RATE; 2], DELAY)),
            "topology torus: dimensions = 0; give from 1 to 8 dimensions",
        ),
        (
            message(generate::grid(&[4, 1], false, 1, [RATE; 2], DELAY)),
            "topology mesh: number 1 of sizes is 1; give a number from 2 to 1024",
        ),
        (
            message(generate::grid(&[4], true, 0, [RATE; 2], DELAY)),
            "topology torus: hosts-per-switch = 0; give a number from 1 to 1024",
        ),
        (
            message(generate::grid(&[1024; 8], true, 1, [RATE; 2], DELAY)),
            "the topology has 18446744073709551615 nodes; at most 1048576 are supported: choose smaller parameters",
        ),
        (
            message(generate::rail(&Rail {
                units: 1,
                servers: 3,
                gpus: 8,
                rates: [RATE; 2],
                oversubscription: 2.0,
                delay: DELAY,
            })),
            "topology rail: oversubscription = 2 would give a rail switch 1.5 links up of 100Gbps; choose 3 for 1 link, or 1.5 for 2",
        ),
        (
            message(generate::clos(&Clos { pods: 0, ..clos([1.0; 2]) })),
            "topology clos: pods = 0; give a number from 1 to 1024",
        ),
        (
            message(generate::clos(&Clos { pods: 1024, leaves: 64, ..clos([1.0; 2]) })),
            "the topology has 1118464 nodes; at most 1048576 are supported: choose smaller parameters",
        ),
    ] {
        assert_eq!(got, wanted);
    }
}

proptest! {
    #[test]
    fn dimension_order_routes_are_shortest_and_their_lanes_never_wait_in_a_circle(
        sizes in prop::collection::vec(2u32..6, 1..4),
        wraps in any::<bool>(),
    ) {
        let net = generate::grid(&sizes, wraps, 1, [RATE; 2], DELAY).unwrap();
        let routes = Routes::new(&net, Routing::DimensionOrder).unwrap();
        prop_assert_eq!(deadlock::check(&net, &routes), Ok(()));
        let shortest = Routes::new(&net, Routing::Ecmp).unwrap();
        let hosts = net.hosts().len() as u32;
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
            let links = |routes: &Routes| routes.path(&net, src, dst, |_| 0).len();
            prop_assert_eq!(links(&routes), links(&shortest));
        }
    }

    #[test]
    fn every_dragonfly_is_reached_and_free_of_deadlock(a in 1u32..5, p in 1u32..3, h in 1u32..4, round in 1u32..4) {
        let global = a * h;
        prop_assume!(global.is_multiple_of(round));
        let net = dragonfly(a, p, h, global / round + 1);
        let routes = Routes::new(&net, Routing::Minimal).unwrap();
        prop_assert_eq!(deadlock::check(&net, &routes), Ok(()));
        let switches = (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node));
        prop_assert!(switches.into_iter().all(|node| net.ports(node).len() as u32 == p + a - 1 + h));
    }
}

/// All ways of packets through a third group, as (vertex, vertex behind it), where a vertex is a port and a lane.
fn waits_by_hand(net: &Network, routes: &Routes) -> Vec<(u64, u64)> {
    let groups = routes.around().unwrap();
    let peer = |node: u32, port: u16| net.ports(node)[usize::from(port)].peer;
    let vertex = |node: u32, port: u16, lane: u8| u64::from(net.port_id(node, port)) << 8 | u64::from(lane);
    let mut waits = Vec::new();
    let hosts = net.hosts().len() as u32;
    let through = |src: u32, dst: u32| {
        let ends = [groups.of_host(src), groups.of_host(dst)];
        let third = (0..groups.count()).filter(move |group| ends[0] != ends[1] && !ends.contains(group));
        third.map(Some).chain([None])
    };
    let ways = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
    for (src, dst, third) in ways.flat_map(|(src, dst)| through(src, dst).map(move |third| (src, dst, third)))
    {
        // (switch, still on the way to the third group, vertex by which it came)
        let mut pending = vec![(groups.switch_of(src), third.is_some(), None)];
        while let Some((switch, before, came)) = pending.pop() {
            let before = before && third != Some(groups.of_switch(switch));
            let to = if before { groups.first_host(third.unwrap()) } else { dst };
            let lane = if before { 0 } else { routes.lane(switch, dst) };
            for &port in routes.next_ports(switch, to) {
                let next = vertex(switch, port, lane);
                waits.extend(came.map(|came| (came, next)));
                if net.is_switch(peer(switch, port)) {
                    pending.push((peer(switch, port), before, Some(next)));
                }
            }
        }
    }
    waits.sort_unstable();
    waits.dedup();
    waits
}

#[test]
fn three_lanes_free_ways_through_a_third_group_of_deadlock_and_fewer_do_not() {
    for net in [dragonfly(4, 2, 2, 9), dragonfly(2, 1, 1, 3), dragonfly(4, 1, 2, 3), dragonfly(3, 2, 1, 4)] {
        let routes = Routes::new(&net, Routing::NonMinimal).unwrap();
        assert_eq!(routes.lanes(), 3, "Kim et al., section 4.1");
        assert_eq!(deadlock::check(&net, &routes), Ok(()));
        // The same by following every way: take out what waits for nothing until nothing is left.
        let free = |waits: &[(u64, u64)]| {
            let mut left = waits.to_vec();
            loop {
                let before = left.len();
                let waiting: std::collections::BTreeSet<u64> = left.iter().map(|(one, _)| *one).collect();
                left.retain(|(_, next)| waiting.contains(next));
                if left.len() == before {
                    return left.is_empty();
                }
            }
        };
        let waits = waits_by_hand(&net, &routes);
        assert!(free(&waits));
        // In the dragonfly of the paper's Figure 5 none of them can be left out.
        for lane in if net.hosts().len() == 72 { 0..2 } else { 0..0 } {
            let merged: Vec<(u64, u64)> = waits
                .iter()
                .map(|&(one, next)| {
                    let on = |vertex: u64| if vertex & 0xff > lane { vertex - 1 } else { vertex };
                    (on(one), on(next))
                })
                .collect();
            assert!(!free(&merged), "lanes {lane} and {} are one", lane + 1);
        }
        let one = routes.on_one_lane();
        assert!(deadlock::check(&net, &one).is_err());
        assert!(deadlock::check_pairs(&net, &one, []).is_ok(), "nobody sends");
        assert!(deadlock::check_pairs(&net, &one, [(0, 1)]).is_err());
    }
    let star = generate::star(4, RATE, DELAY).unwrap();
    assert!(matches!(Routes::new(&star, Routing::NonMinimal), Err(RouteError::Structure { .. })));
}
