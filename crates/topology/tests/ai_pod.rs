//! Servers of GPUs: those of a server reach each other within it, all others by their NICs.
use backwater_topology::generate::{self, AiPod, Edge};
use backwater_topology::{Link, Network, Routes, Routing, TopologyError, deadlock, facts, summary};
use backwater_units::{Rate, Span};

use crate::several_ports::{distances, expected};

const SHORT: Span = Span::from_ns(200);
const LONG: Span = Span::from_us(1);

/// One unit of 2 servers with 4 GPUs, on rails, in one plane.
fn pod() -> AiPod {
    AiPod {
        pods: 1,
        units: 1,
        servers: 2,
        gpus: 4,
        nics: 1,
        rails: true,
        planes: 1,
        homes: 1,
        rates: [400, 400, 400, 3600].map(Rate::from_gbps),
        oversubscription: vec![1.0],
        delays: [SHORT, LONG],
    }
}

fn made(of: &AiPod) -> Network {
    generate::ai_pod(of).unwrap()
}

/// Rails and shared leaves, one plane and two, leaves once and twice, one NIC and two, one pod and several.
pub(crate) fn all() -> Vec<Network> {
    let mut all = Vec::new();
    for rails in [true, false] {
        for (planes, homes, nics) in [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (2, 1, 2), (1, 1, 3)] {
            for (pods, units, servers, gpus) in
                [(1, 1, 1, 4), (1, 1, 3, 2), (1, 2, 2, 4), (2, 2, 2, 2), (3, 1, 4, 1)]
            {
                all.push(made(&AiPod { pods, units, servers, gpus, nics, rails, planes, homes, ..pod() }));
            }
        }
    }
    let oversubscription = vec![4.0, 2.0];
    all.push(made(&AiPod { pods: 2, units: 2, servers: 8, oversubscription, ..pod() }));
    all
}

/// The ports behind which a node's ways lead, by the names of their peers.
fn peers<'a>(net: &'a Network, routes: &Routes, node: &str, to: &str) -> Vec<&'a str> {
    let node = net.find(node).unwrap();
    let to = net.host_index(net.find(to).unwrap()).unwrap();
    let ports = routes.next_ports(node, to);
    ports.iter().map(|port| net.name(net.ports(node)[usize::from(*port)].peer)).collect()
}

#[test]
fn a_gpu_has_its_leaves_and_a_scale_up_switch() {
    // Two servers of four GPUs in each of two units, two planes: four leaves a unit and plane, each with 2 x 400 Gbps down and up.
    let net = made(&AiPod { units: 2, planes: 2, ..pod() });
    let switches = net.nodes().len() - net.hosts().len();
    assert_eq!((net.hosts().len(), switches), (16, 4 + 2 * (8 + 2)));
    let of = |name: &str| -> Vec<&str> {
        net.ports(net.find(name).unwrap()).iter().map(|port| net.name(port.peer)).collect()
    };
    assert_eq!(of("gpu3.2"), ["leaf0.1.2", "leaf1.1.2", "scaleup3"]);
    assert_eq!(of("scaleup1"), ["gpu1.0", "gpu1.1", "gpu1.2", "gpu1.3"]);
    assert_eq!(of("leaf1.1.2"), ["gpu2.2", "gpu3.2", "spine1.0.0", "spine1.0.1"]);
    assert_eq!(of("spine1.0.1").len(), 8);
    let gpu = net.find("gpu3.2").unwrap();
    assert_eq!((net.place(gpu).group, &net.place(gpu).at[..]), (Some(1), &[3, 2][..]));
    assert_eq!(net.server_of(gpu), net.find("scaleup3"));
    let rates: Vec<Rate> = net.outward(gpu).map(|port| port.rate).collect();
    assert_eq!(rates, [Rate::from_gbps(400); 2]);
    let within = net.ports(gpu)[2];
    assert_eq!((within.rate, within.delay), (Rate::from_gbps(3600), SHORT));
    // Dual-homed without rails: all NICs of a unit are at the same two leaves, and two NICs of a GPU are at each of them.
    let net = made(&AiPod { homes: 2, nics: 2, rails: false, ..pod() });
    let of = |name: &str| -> Vec<&str> {
        net.ports(net.find(name).unwrap()).iter().map(|port| net.name(port.peer)).collect()
    };
    assert_eq!(of("gpu1.3"), ["leaf0.0.0", "leaf0.0.1", "leaf0.0.0", "leaf0.0.1", "scaleup1"]);
    assert_eq!(of("leaf0.0.1").len(), 16 + 16);
}

#[test]
fn each_tier_has_its_oversubscription() {
    // A leaf has 16 x 400 Gbps down, 4 x 400 up at 4:1; a spine 2 x 4 leaves down, 4 cores up at 2:1.
    let oversubscription = vec![4.0, 2.0];
    let net = made(&AiPod { pods: 3, units: 2, servers: 16, oversubscription, ..pod() });
    assert_eq!(facts::oversubscription(&net), [(1, 4.0), (2, 2.0)]);
    let switches = net.nodes().len() - net.hosts().len();
    assert_eq!(switches, 96 + 3 * 8 + 3 * 4 + 4 * 4);
    assert_eq!(net.ports(net.find("core0.3.3").unwrap()).len(), 3);
    assert_eq!((facts::diameter(&net), net.place(net.find("spine0.2.1").unwrap()).group), (6, Some(2)));
}

#[test]
fn gpus_of_a_server_meet_in_it_and_all_others_over_nics() {
    for (rails, via) in [(true, ["leaf0.0.1", "leaf1.0.1"]), (false, ["leaf0.0.0", "leaf1.0.0"])] {
        let net = made(&AiPod { planes: 2, rails, ..pod() });
        let routes = Routes::new(&net, Routing::Ecmp).unwrap();
        // With shared leaves the way over a leaf is as short.
        assert_eq!(peers(&net, &routes, "gpu0.1", "gpu0.3"), ["scaleup0"]);
        assert_eq!(peers(&net, &routes, "scaleup0", "gpu0.3"), ["gpu0.3"]);
        assert_eq!(peers(&net, &routes, "gpu0.1", "gpu1.1"), via);
        assert_eq!(peers(&net, &routes, "gpu0.1", "gpu1.3"), via);
        assert!(peers(&net, &routes, "scaleup0", "gpu1.1").is_empty());
        assert!(peers(&net, &routes, "gpu0.1", "gpu0.1").is_empty());
    }
}

#[test]
fn routes_are_those_that_a_search_finds_but_that_a_server_comes_first() {
    for net in all() {
        let up = vec![false; net.links().len()];
        let [ecmp, fixed] =
            [Routing::Ecmp, Routing::DModK].map(|routing| Routes::new(&net, routing).unwrap());
        let searched =
            [Routing::Ecmp, Routing::DModK].map(|routing| Routes::without(&net, routing, &up).unwrap());
        for (dst, &host) in (0..).zip(net.hosts()) {
            let distance = distances(&net, host, &up);
            for node in 0..net.nodes().len() as u32 {
                let mut ports = expected(&net, node, host, &distance, &up);
                if net.server_of(node).is_some() && net.server_of(node) == net.server_of(host) && node != host
                {
                    ports = vec![net.ports(node).len() as u16 - 1];
                }
                assert_eq!(
                    ecmp.next_ports(node, dst),
                    &ports[..],
                    "{} to {}",
                    net.name(node),
                    net.name(host)
                );
                assert_eq!(searched[0].next_ports(node, dst), &ports[..]);
                let one = fixed.next_ports(node, dst);
                assert!(one.iter().all(|port| ports.contains(port)));
                assert_eq!(one.len(), if net.is_switch(node) { ports.len().min(1) } else { ports.len() });
                assert_eq!(searched[1].next_ports(node, dst), one);
            }
        }
        assert!(deadlock::check(&net, &ecmp).is_ok() && deadlock::check(&net, &searched[0]).is_ok());
        let most = summary(&net, &ecmp).diameter;
        assert_eq!((facts::diameter(&net), facts::farthest(&net, &ecmp, |_| 1)), (most, u64::from(most)));
    }
}

#[test]
fn no_switch_of_a_large_pod_has_a_table_of_all_gpus() {
    let net = made(&AiPod { units: 8, servers: 64, gpus: 8, planes: 2, ..pod() });
    assert_eq!(net.hosts().len(), 4096);
    let rows = net.nodes().len();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    assert!(routes.memory() < rows * 4096 * 2 / 20, "{} bytes for {rows} nodes", routes.memory());
}

#[test]
fn where_the_way_within_a_server_is_down_nics_lead_to_its_gpus() {
    let net = made(&pod());
    let mut down = vec![false; net.links().len()];
    let gpu = net.find("gpu0.1").unwrap();
    down[net.ports(gpu).last().unwrap().link as usize] = true;
    let routes = Routes::without(&net, Routing::Ecmp, &down).unwrap();
    assert_eq!(peers(&net, &routes, "gpu0.1", "gpu0.3"), ["leaf0.0.1"]);
    assert_eq!(peers(&net, &routes, "gpu0.3", "gpu0.1"), ["leaf0.0.3"]);
    assert_eq!(peers(&net, &routes, "gpu0.2", "gpu0.3"), ["scaleup0"]);
}

#[test]
fn the_time_of_a_switch_counts_between_leaves_and_not_within_servers() {
    let net = made(&pod()).with_switch_latency(Span::from_ns(500));
    let gpu = net.find("gpu0.0").unwrap();
    let delays: Vec<Span> = net.ports(gpu).iter().map(|port| port.delay).collect();
    assert_eq!(delays, [LONG + Span::from_ns(250), SHORT]);
}

#[test]
fn what_makes_no_pod_is_refused_with_the_key_and_what_it_may_be() {
    let wrong = |of: AiPod| generate::ai_pod(&of).unwrap_err().to_string();
    assert_eq!(wrong(AiPod { planes: 3, ..pod() }), "topology ai-pod: planes = 3; give 1 or 2");
    assert_eq!(wrong(AiPod { homes: 0, ..pod() }), "topology ai-pod: homes = 0; give 1 or 2");
    assert_eq!(wrong(AiPod { gpus: 0, ..pod() }), "topology ai-pod: gpus = 0; give a number from 1 to 1024");
    assert_eq!(
        wrong(AiPod { nics: 4, planes: 2, homes: 2, ..pod() }),
        "topology ai-pod: nics = 4; give so few that nics x planes x homes is at most 15: a GPU has at most 16 ports, one of them to its \
         scale-up switch"
    );
    assert_eq!(
        wrong(AiPod { oversubscription: vec![3.0], ..pod() }),
        "topology ai-pod: oversubscription[0] = 3 would give a leaf 0.6667 links up of 400Gbps; choose 2 for 1 link, or 1 for 2"
    );
    assert_eq!(
        wrong(AiPod { pods: 2, oversubscription: vec![1.0, 3.0], ..pod() }),
        "topology ai-pod: oversubscription[1] = 3 would give a spine 1.3333 links up of 400Gbps; choose 4 for 1 link, or 2 for 2"
    );
    assert!(wrong(AiPod { oversubscription: vec![1.0, 2.0], ..pod() }).contains("pods = 1; give 2 or more"));
    let many = AiPod { units: 1024, servers: 1024, gpus: 8, oversubscription: vec![1024.0], ..pod() };
    assert!(matches!(generate::ai_pod(&many), Err(TopologyError::TooManyNodes { .. })));
    // No leaf has so many ports.
    let wide = AiPod { servers: 256, gpus: 8, rails: false, oversubscription: vec![64.0], ..pod() };
    assert!(matches!(generate::ai_pod(&wide), Err(TopologyError::TooManyPorts { .. })));
}

/// The same network as a list of links, with its switches within servers named.
fn listed(net: &Network) -> Result<Network, TopologyError> {
    let names = |switch: bool| -> Vec<&str> {
        let nodes = (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node) == switch);
        nodes.map(|node| net.name(node)).collect()
    };
    let name = |node: u32| net.name(node).to_owned();
    let edge = |link: &Link| Edge { a: name(link.a), b: name(link.b), rate: link.rate, delay: link.delay };
    let edges: Vec<Edge> = net.links().iter().map(edge).collect();
    let scale_up: Vec<&str> =
        names(true).into_iter().filter(|name| net.is_scale_up(net.find(name).unwrap())).collect();
    generate::from_parallel_edges(&names(false), &names(true), &edges)?.with_scale_up(&scale_up)
}

#[test]
fn a_pod_written_out_has_the_routes_of_the_pod() {
    for pod in all() {
        let net = listed(&pod).unwrap();
        let of = |net| format!("{:?}", Routes::new(net, Routing::Ecmp).unwrap());
        assert_eq!(of(&net), of(&pod));
        let hosts = || pod.hosts().iter().copied();
        assert!(hosts().all(|host| net.server_of(host) == pod.server_of(host)));
        assert!((0..pod.hosts().len() as u32).all(|host| net.rate_of(host) == pod.rate_of(host)));
        assert_eq!(net.racks(), pod.racks());
        assert_eq!(facts::bisection(&net), facts::bisection(&pod));
    }
}

#[test]
fn a_server_may_have_several_links_to_its_switch_before_those_of_its_nics() {
    let link = |a: &str, b: &str| Edge { a: a.into(), b: b.into(), rate: Rate::from_gbps(100), delay: LONG };
    let hosts = ["a0", "a1", "b0", "b1"];
    let mut edges = Vec::new();
    for host in hosts {
        let within = if host.starts_with('a') { "nva" } else { "nvb" };
        edges.extend([link(host, within), link(host, within), link(host, "leaf"), link(host, "other")]);
    }
    let net = generate::from_parallel_edges(&hosts, &["nva", "nvb", "leaf", "other"], &edges).unwrap();
    let net = net.with_scale_up(&["nvb", "nva"]).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    // Two links lead to the other host of the server, over whichever switch: only those of the server's own count.
    assert_eq!(peers(&net, &routes, "a0", "a1"), ["nva", "nva"]);
    assert_eq!(peers(&net, &routes, "a0", "b1"), ["leaf", "other"]);
    assert_eq!(net.nic(0).peer, net.find("leaf").unwrap());
    assert_eq!(net.rate_of(0), Rate::from_gbps(200));
    assert_eq!(net.racks(), [[0, 1, 2, 3]]);
}

#[test]
fn what_is_no_scale_up_switch_is_said_with_its_name() {
    let refused = |links: &[(&str, &str)], scale_up: &[&str]| {
        let edge = |(a, b): &(&str, &str)| Edge {
            a: (*a).into(),
            b: (*b).into(),
            rate: Rate::from_gbps(100),
            delay: LONG,
        };
        let edges: Vec<Edge> = links.iter().map(edge).collect();
        let net = generate::from_edges(&["a", "b"], &["s", "n", "m"], &edges).unwrap();
        net.with_scale_up(scale_up).unwrap_err().to_string()
    };
    let good = [("a", "s"), ("b", "s"), ("a", "n"), ("b", "n")];
    let told = refused(&good, &["x"]);
    assert_eq!(
        told,
        "\"x\" is no scale-up switch: no switch of the network has this name; give names of switches"
    );
    assert!(refused(&good, &["a"]).contains("no switch of the network"));
    assert!(refused(&good, &["n", "n"]).contains("named twice"));
    let up = [&good[..], &[("n", "m")]].concat();
    assert!(refused(&up, &["n"]).contains("linked to the switch m, and may be linked to hosts only"));
    let shared = [&good[..], &[("b", "m")]].concat();
    assert!(refused(&shared, &["n", "m"]).contains("host b is at the scale-up switch n, too"));
    let alone = [("a", "n"), ("b", "n"), ("b", "s")];
    assert!(refused(&alone, &["n"]).contains("host a has no other links"));
    let beside = [&good[..], &[("a", "b")]].concat();
    assert!(refused(&beside, &["n"]).contains("host a is linked to the host b directly"));
}
