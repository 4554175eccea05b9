//! Hosts with several ports: they are reached over any of them, send by those that are near, and never forward.
use std::collections::BTreeSet;

use backwater_topology::generate::{Edge, from_edges, from_parallel_edges};
use backwater_topology::{
    Builder, Network, Reroutes, RouteError, Routes, Routing, TopologyError, deadlock, facts, summary,
};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const DELAY: Span = Span::from_us(1);

fn edge(a: &str, b: &str) -> Edge {
    Edge { a: a.to_owned(), b: b.to_owned(), rate: Rate::from_gbps(400), delay: DELAY }
}

/// Links between any two nodes on ways that pass no host, without some links: by relaxing all links until nothing changes.
pub(crate) fn distances(net: &Network, to: u32, down: &[bool]) -> Vec<u32> {
    let far = u32::MAX / 2;
    let mut distance = vec![far; net.nodes().len()];
    distance[to as usize] = 0;
    loop {
        let before = distance.clone();
        for (_, link) in net.links().iter().enumerate().filter(|(index, _)| !down[*index]) {
            for (from, via) in [(link.a, link.b), (link.b, link.a)] {
                if via == to || net.is_switch(via) {
                    distance[from as usize] = distance[from as usize].min(distance[via as usize] + 1);
                }
            }
        }
        if before == distance {
            return distance;
        }
    }
}

/// A connected graph of switches, and hosts with 1 to 16 ports of unlike rates at random ones of them, some twice.
fn any_network() -> impl Strategy<Value = Network> {
    (2usize..9).prop_flat_map(|n| {
        let parents = prop::collection::vec(any::<prop::sample::Index>(), n);
        let chords = prop::collection::vec((0..n as u32, 0..n as u32), 0..12);
        let ports = prop::collection::vec((0..n as u32, 1u64..9), 1..=16);
        let hosts = prop::collection::vec(ports, 1..9);
        (parents, chords, hosts).prop_map(move |(parents, chords, hosts)| {
            let mut b = Builder::with_parallel_links();
            for i in 0..n {
                b.switch(format!("s{i}"));
            }
            let mut links: BTreeSet<(u32, u32)> =
                (1..n).map(|i| (parents[i].index(i) as u32, i as u32)).collect();
            links.extend(chords.into_iter().filter(|(a, z)| a < z));
            for (a, z) in links {
                b.link(a, z, Rate::from_gbps(100), DELAY);
            }
            for (i, ports) in hosts.into_iter().enumerate() {
                let host = b.host(format!("h{i}"));
                for (at, rate) in ports {
                    b.link(host, at, Rate::from_gbps(50 * rate), DELAY);
                }
            }
            b.build().unwrap()
        })
    })
}

/// The ports of a node on shortest ways to a host.
pub(crate) fn expected(net: &Network, node: u32, to: u32, distance: &[u32], down: &[bool]) -> Vec<u16> {
    if node == to || distance[node as usize] >= u32::MAX / 2 {
        return Vec::new();
    }
    let near = |port: &backwater_topology::Port| {
        !down[port.link as usize]
            && (port.peer == to || net.is_switch(port.peer))
            && distance[port.peer as usize] + 1 == distance[node as usize]
    };
    (0..).zip(net.ports(node)).filter(|(_, port)| near(port)).map(|(number, _)| number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_shortest_ways_that_pass_no_host_are_used(net in any_network()) {
        let up = vec![false; net.links().len()];
        let (ecmp, fixed) = (Routes::new(&net, Routing::Ecmp).unwrap(), Routes::new(&net, Routing::DModK).unwrap());
        for (dst, &host) in net.hosts().iter().enumerate() {
            let distance = distances(&net, host, &up);
            for node in 0..net.nodes().len() as u32 {
                let expected = expected(&net, node, host, &distance, &up);
                prop_assert_eq!(ecmp.next_ports(node, dst as u32), &expected[..]);
                let one = fixed.next_ports(node, dst as u32);
                if net.is_switch(node) {
                    prop_assert!(one.len() == 1 && expected.contains(&one[0]));
                } else {
                    prop_assert_eq!(one, expected);
                }
            }
        }
        let most = net.hosts().iter().flat_map(|to| {
            let distance = distances(&net, *to, &up);
            net.hosts().iter().map(|from| distance[*from as usize]).collect::<Vec<_>>()
        });
        let most = most.max().unwrap();
        prop_assert_eq!(facts::diameter(&net), most);
        prop_assert_eq!(summary(&net, &ecmp).diameter, most);
        prop_assert_eq!(facts::farthest(&net, &ecmp, |_| 1), u64::from(most));
    }

    #[test]
    fn ways_follow_links_that_go_down_and_come_up(
        net in any_network(),
        toggled in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let routes = Routes::new(&net, Routing::Ecmp).unwrap();
        let mut reroutes = Reroutes::new(&net, Routing::Ecmp, &routes).unwrap();
        let mut down = vec![false; net.links().len()];
        let mut new = Vec::new();
        for link in &toggled {
            let link = link.index(down.len());
            down[link] = !down[link];
            new.push((down.clone(), reroutes.toggle(&[link as u32]).unwrap().to_vec()));
        }
        let hosts = 0..net.hosts().len() as u32;
        let nodes = 0..net.nodes().len() as u32;
        let mut now: Vec<Vec<Vec<u16>>> =
            nodes.clone().map(|node| hosts.clone().map(|dst| routes.next_ports(node, dst).to_vec()).collect()).collect();
        let ways = reroutes.ways();
        for (down, new) in new {
            for it in new {
                for (some, ports) in ways.of(it.ways) {
                    some.for_each(|dst| now[it.switch as usize][dst as usize] = ports.to_vec());
                }
            }
            for (dst, &host) in net.hosts().iter().enumerate() {
                // A host none of whose links is up is still looked for where it is.
                if net.ports(host).iter().all(|port| down[port.link as usize]) {
                    continue;
                }
                let distance = distances(&net, host, &down);
                for node in nodes.clone().filter(|node| net.is_switch(*node) || net.ports(*node).len() > 1) {
                    let expected = expected(&net, node, host, &distance, &down);
                    prop_assert_eq!(&now[node as usize][dst], &expected, "{} to {}", net.name(node), dst);
                }
            }
        }
    }

    #[test]
    fn what_is_checked_for_circles_is_the_same_for_all_hosts_as_for_all_pairs(net in any_network()) {
        let routes = Routes::new(&net, Routing::Ecmp).unwrap();
        let hosts = 0..net.hosts().len() as u32;
        let pairs = hosts.clone().flat_map(|src| hosts.clone().map(move |dst| (src, dst)));
        let pairs = pairs.filter(|(src, dst)| src != dst);
        // All entries stand for more sources than there are: of those that come nearer by another port.
        if deadlock::check(&net, &routes).is_ok() {
            prop_assert!(deadlock::check_pairs(&net, &routes, pairs).is_ok());
        }
    }
}

/// Servers with a port in each of two planes that nothing joins: routes of the whole by structure, and a table for each host.
#[test]
fn two_planes_are_one_network_for_hosts_that_are_in_both() {
    let mut edges = Vec::new();
    let hosts: Vec<String> = (0..8).map(|i| format!("h{i}")).collect();
    let mut switches = Vec::new();
    for plane in ["a", "b"] {
        for leaf in 0..4 {
            switches.push(format!("leaf{plane}{leaf}"));
            edges.extend((0..2).map(|i| edge(&hosts[2 * leaf + i], &format!("leaf{plane}{leaf}"))));
            edges.extend(
                (0..2).map(|spine| edge(&format!("leaf{plane}{leaf}"), &format!("spine{plane}{spine}"))),
            );
        }
        switches.extend((0..2).map(|spine| format!("spine{plane}{spine}")));
    }
    let net = from_edges(&hosts, &switches, &edges).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let node = net.hosts()[0];
    assert_eq!(routes.next_ports(node, 7), [0, 1]);
    assert!(routes.next_ports(node, 0).is_empty());
    assert!(deadlock::check(&net, &routes).is_ok());
    // Half of the hosts can send at 2 · 400 Gbps each, and the spines carry it.
    let bisection = facts::bisection(&net);
    assert_eq!([bisection.rate, bisection.hosts], [Rate::from_gbps(3200); 2]);
    assert_eq!(facts::diameter(&net), 4);
    // The tables are the same whether they come from structure or from distances.
    assert_eq!(routes, Routes::new(&net, Routing::Ecmp).unwrap());
    let searched = Routes::without(&net, Routing::Ecmp, &vec![false; net.links().len()]).unwrap();
    assert_eq!(format!("{routes:?}"), format!("{searched:?}"));
}

#[test]
fn a_host_is_no_way_for_others() {
    // h1 joins both switches, and forwards nothing.
    let edges = [edge("h0", "s"), edge("h1", "s"), edge("h1", "t"), edge("h2", "t")];
    let net = from_edges(&["h0", "h1", "h2"], &["s", "t"], &edges).unwrap();
    let error = Routes::new(&net, Routing::Ecmp).unwrap_err();
    assert_eq!(error, RouteError::Unreachable { from: "h0".to_owned(), to: "h2".to_owned() });
}

#[test]
fn a_host_has_from_1_to_16_links_which_may_be_parallel() {
    let with = |links: usize| {
        let edges: Vec<Edge> = (0..links).map(|_| edge("a", "s")).chain([edge("b", "s")]).collect();
        from_parallel_edges(&["a", "b"], &["s"], &edges)
    };
    let net = with(16).unwrap();
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    assert_eq!(routes.next_ports(0, 1), (0..16).collect::<Vec<u16>>());
    assert_eq!(routes.next_ports(net.find("s").unwrap(), 0), [0]);
    assert_eq!(net.port_name(0, 3), "a->s:3");
    let error = with(17).unwrap_err();
    assert!(matches!(&error, TopologyError::HostPorts { ports: 17, link: Some(16), .. }));
    assert!(error.to_string().starts_with("host a has 17 links; a host has from 1 to 16"));
    let none = from_edges(&["a", "b"], &["s"], &[edge("a", "s")]).unwrap_err();
    assert!(none.to_string().starts_with("host b has 0 links"));
}

#[test]
fn a_table_written_out_tells_which_ports_of_a_host_are_good() {
    let edges = [edge("a", "s"), edge("a", "t"), edge("b", "s"), edge("b", "t"), edge("c", "s")];
    let net = from_edges(&["a", "b", "c"], &["s", "t"], &edges).unwrap();
    let of = |text: &str| {
        let entries = backwater_topology::read::table(text, &net).unwrap();
        Routes::from_entries(&net, &entries)
    };
    let routes = of("s a a\ns b b\ns c c\nt b b\n").unwrap();
    assert_eq!([0, 1, 2].map(|dst| routes.next_ports(0, dst).to_vec()), [vec![], vec![0, 1], vec![0]]);
    // c has one port, behind which nobody knows the way to b.
    assert!(matches!(of("s a a\ns c c\nt b b\n"), Err(RouteError::Missing { .. })));
}

#[test]
fn an_hpcc_file_may_have_parallel_links() {
    let text = "3 1 3\n2\n0 2 100Gbps 1us 0\n0 2 200Gbps 1us 0\n1 2 400Gbps 1us 0\n";
    let net = backwater_topology::read::hpcc(text).unwrap();
    let rates: Vec<Rate> = net.nics(0).iter().map(|nic| nic.rate).collect();
    assert_eq!(rates, [100, 200].map(Rate::from_gbps));
}
