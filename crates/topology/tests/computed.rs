//! Routes that are computed from the place of switches are those that a search finds, in every entry and in the order of ports; and
//! tables of any networks say what a search by the definition says, however they are stored.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use backwater_topology::generate::{self, Clos, Dragonfly, Edge, Rail};
use backwater_topology::{Network, Role, Routes, Routing, deadlock};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_us(1);

/// Links between a node and all others without the links that are down.
fn distances(net: &Network, from: u32, down: &[bool]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; net.nodes().len()];
    distance[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for port in net.ports(node).iter().filter(|port| !down[port.link as usize]) {
            if distance[port.peer as usize] == u32::MAX {
                distance[port.peer as usize] = distance[node as usize] + 1;
                queue.push_back(port.peer);
            }
        }
    }
    distance
}

/// The D of D-mod-k as [`Routing::DModK`] defines it.
fn divisors(net: &Network) -> Vec<u64> {
    let up = vec![false; net.links().len()];
    let mut tier = vec![u32::MAX; net.nodes().len()];
    for &host in net.hosts() {
        for (tier, distance) in tier.iter_mut().zip(distances(net, host, &up)) {
            *tier = (*tier).min(distance);
        }
    }
    let mut divisor = vec![1u64; net.nodes().len()];
    let highest = tier.iter().copied().filter(|tier| *tier < u32::MAX).max().unwrap();
    for below in 0..highest {
        for node in (0..net.nodes().len()).filter(|node| tier[*node] == below) {
            let above = |port: &&backwater_topology::Port| tier[port.peer as usize] == below + 1;
            let peers: BTreeSet<u32> =
                net.ports(node as u32).iter().filter(above).map(|port| port.peer).collect();
            for &peer in &peers {
                divisor[peer as usize] = divisor[peer as usize].max(divisor[node] * peers.len() as u64);
            }
        }
    }
    divisor
}

/// Compares every entry with the definition: all ports whose link is up and whose peer is one link closer to the host, or the one of them
/// whose turn it is.
fn is_as_defined(net: &Network, routing: Routing, down: &[bool], routes: &Routes) {
    let divisors = divisors(net);
    for (host, &node) in (0u32..).zip(net.hosts()) {
        let nic = net.ports(node)[0];
        // That the link of a host is down is known to its switch alone: others go by the links between switches.
        let distance = distances(net, nic.peer, down);
        for switch in (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node)) {
            let own = distance[switch as usize];
            let closer = |port: &backwater_topology::Port| {
                let before = own.checked_sub(1).filter(|_| own != u32::MAX);
                !down[port.link as usize] && before == Some(distance[port.peer as usize])
            };
            let leads = |port: &backwater_topology::Port| {
                if switch == nic.peer { port.peer == node && !down[nic.link as usize] } else { closer(port) }
            };
            let mut wanted: Vec<u16> = (0u16..)
                .zip(net.ports(switch))
                .filter(|(_, port)| leads(port))
                .map(|(number, _)| number)
                .collect();
            if routing == Routing::DModK && !wanted.is_empty() {
                let mut links = BTreeMap::<u32, Vec<u16>>::new();
                let mut neighbours = Vec::new();
                for &port in &wanted {
                    let peer = net.ports(switch)[usize::from(port)].peer;
                    let known = links.entry(peer).or_default();
                    if known.is_empty() {
                        neighbours.push(peer);
                    }
                    known.push(port);
                }
                let turn = u64::from(host) / divisors[switch as usize];
                let links = &links[&neighbours[(turn % neighbours.len() as u64) as usize]];
                wanted = vec![links[(turn / neighbours.len() as u64 % links.len() as u64) as usize]];
            }
            let found = routes.next_ports(switch, host);
            assert_eq!(found, wanted, "{} to {} by {routing:?}", net.name(switch), net.name(node));
            let cell = routes.cell(switch, host);
            assert_eq!(cell.port(), if let [port] = *found { Some(port) } else { None });
            if found.len() != 1 {
                assert_eq!(&*routes.groups()[cell.group()], found);
            }
            let near = routes.near(switch);
            let of_near =
                near.cells.get(host.wrapping_sub(near.first) as usize).copied().unwrap_or(near.otherwise);
            assert!(of_near == cell || of_near == backwater_topology::Cell::BEYOND);
        }
    }
    for switch in (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node)) {
        let hosts = 0..net.hosts().len() as u32;
        let most = hosts.clone().map(|host| routes.next_ports(switch, host).len()).max().unwrap();
        assert_eq!(routes.has_choice(switch), most > 1);
        assert_eq!(
            routes.has_gaps(switch),
            hosts.clone().any(|host| routes.next_ports(switch, host).is_empty())
        );
    }
}

fn checked(net: &Network) {
    let up = vec![false; net.links().len()];
    for routing in [Routing::Ecmp, Routing::DModK] {
        is_as_defined(net, routing, &up, &Routes::new(net, routing).unwrap());
        let searched = Routes::without(net, routing, &up).unwrap();
        is_as_defined(net, routing, &up, &searched);
        // Whether waits form a circle is known of ways up and down, and followed in the others.
        let known = deadlock::check(net, &Routes::new(net, routing).unwrap());
        assert_eq!(known, deadlock::check(net, &searched));
    }
}

/// The same network with hosts and switches, and links, in another order: a list of links, of which nobody says what it is.
fn shuffled(net: &Network, by: usize) -> Network {
    let step = |length: usize| (1..=by).rev().find(|step| gcd(*step, length) == 1).unwrap();
    let order = |length: usize| (0..length).map(move |i| i * step(length) % length);
    let names = |role: Role| -> Vec<&str> {
        let all: Vec<&str> =
            net.nodes().iter().filter(|node| node.role == role).map(|node| &*node.name).collect();
        order(all.len()).map(|i| all[i]).collect()
    };
    let edges: Vec<Edge> = order(net.links().len())
        .map(|i| net.links()[i])
        .map(|link| Edge {
            a: net.name(link.a).to_owned(),
            b: net.name(link.b).to_owned(),
            rate: link.rate,
            delay: link.delay,
        })
        .collect();
    generate::from_parallel_edges(&names(Role::Host), &names(Role::Switch), &edges).unwrap()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn rail(units: u32, servers: u32, gpus: u32) -> Network {
    let rates = [RATE, RATE];
    generate::rail(&Rail { units, servers, gpus, rates, oversubscription: 1.0, delay: DELAY }).unwrap()
}

fn clos(pods: u32, leaves: u32, hosts_per_leaf: u32, oversubscription: [f64; 2]) -> Network {
    let rates = [RATE; 3];
    generate::clos(&Clos { pods, leaves, hosts_per_leaf, rates, oversubscription, delay: DELAY }).unwrap()
}

fn dragonfly(a: u32, p: u32, h: u32, g: u32) -> Network {
    generate::dragonfly(&Dragonfly { a, p, h, g, rates: [RATE; 3], delays: [DELAY; 2] }).unwrap()
}

/// Every generator, in several sizes.
fn all() -> Vec<Network> {
    let mut all: Vec<Network> = [2, 4, 6, 8, 10].map(|k| generate::fat_tree(k, RATE, DELAY).unwrap()).into();
    for (leaves, spines, hosts) in [(1, 1, 1), (2, 1, 3), (3, 2, 1), (4, 3, 5), (6, 7, 20), (5, 4, 1)] {
        all.push(generate::leaf_spine(leaves, spines, hosts, RATE, None, DELAY).unwrap());
    }
    all.extend([
        clos(1, 1, 1, [1.0, 1.0]),
        clos(3, 2, 4, [1.0, 1.0]),
        clos(4, 4, 8, [2.0, 4.0]),
        clos(2, 5, 6, [3.0, 1.0]),
    ]);
    all.extend([rail(1, 1, 1), rail(1, 4, 2), rail(3, 4, 5), rail(2, 16, 8)]);
    for (k, n) in [(2, 1), (5, 1), (2, 2), (3, 3), (2, 6), (4, 3)] {
        all.push(generate::k_ary_n_tree(k, n, RATE, DELAY).unwrap());
    }
    for (m, w) in [
        (vec![4], vec![1]),
        (vec![10, 12], vec![1, 10]),
        (vec![3, 1, 2], vec![1, 2, 3]),
        (vec![2, 3, 2, 2], vec![1, 2, 1, 3]),
        (vec![1, 2], vec![1, 3]),
    ] {
        all.push(generate::xgft(&m, &w, RATE, DELAY).unwrap());
    }
    for (leaves, spines, hosts, links) in [(2, 1, 2, 3), (8, 4, 8, 2), (3, 2, 5, 4), (1, 2, 3, 2)] {
        all.push(generate::rlft(leaves, spines, hosts, links, RATE, DELAY).unwrap());
    }
    for (sizes, hosts) in [(vec![2], 1), (vec![5, 4], 2), (vec![3, 3, 3], 1), (vec![4, 2, 3], 9)] {
        all.extend(
            [true, false].map(|wraps| generate::grid(&sizes, wraps, hosts, [RATE; 2], DELAY).unwrap()),
        );
    }
    all.extend([dragonfly(4, 2, 2, 9), dragonfly(1, 1, 1, 2), dragonfly(4, 8, 2, 5), dragonfly(3, 1, 1, 1)]);
    all.extend([generate::star(1, RATE, DELAY).unwrap(), generate::star(40, RATE, DELAY).unwrap()]);
    all.extend(
        [(1, 1), (3, 20), (9, 2)]
            .map(|(left, right)| generate::dumbbell(left, right, RATE, DELAY, None).unwrap()),
    );
    all.push(generate::tcd_figure_2(RATE, DELAY, None, true).unwrap());
    all
}

#[test]
fn every_generator_has_the_routes_that_a_search_finds() {
    for net in all() {
        checked(&net);
    }
}

#[test]
fn a_list_of_links_in_any_order_has_the_routes_that_a_search_finds() {
    for (net, by) in
        all().iter().zip([3, 7, 11, 30].into_iter().cycle()).filter(|(net, _)| net.nodes().len() < 300)
    {
        checked(&shuffled(net, by));
    }
}

#[test]
fn routes_of_grids_and_dragonflies_go_by_coordinates_only_where_they_are_asked_to() {
    for (net, routing) in [
        (generate::grid(&[3, 4, 2], true, 3, [RATE; 2], DELAY).unwrap(), Routing::DimensionOrder),
        (dragonfly(4, 2, 2, 9), Routing::Minimal),
    ] {
        let routes = Routes::new(&net, routing).unwrap();
        for host in 0..net.hosts().len() as u32 {
            for switch in (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node)) {
                let cell = routes.cell(switch, host);
                let found = routes.next_ports(switch, host);
                assert_eq!(cell.port(), if let [port] = *found { Some(port) } else { None });
                assert!(!found.is_empty());
            }
        }
        assert_eq!((routes.lanes(), routes.clone().on_one_lane().lanes()), (2, 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn links_that_are_down_leave_the_routes_that_a_search_finds(
        which: prop::sample::Index,
        draws in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let nets = all();
        let net = which.get(&nets);
        let mut down = vec![false; net.links().len()];
        for draw in draws {
            down[draw.index(net.links().len())] = true;
        }
        for routing in [Routing::Ecmp, Routing::DModK] {
            is_as_defined(net, routing, &down, &Routes::without(net, routing, &down).unwrap());
        }
        // The same links are not even there, if that leaves one network.
        let kept = net.links().iter().zip(&down).filter(|(_, down)| !**down).map(|(link, _)| *link);
        let mut b = backwater_topology::Builder::with_parallel_links();
        for node in net.nodes() {
            match node.role {
                Role::Host => b.host(&*node.name),
                Role::Switch => b.switch(&*node.name),
            };
        }
        for link in kept {
            b.link(link.a, link.b, link.rate, link.delay);
        }
        if let Ok(less) = b.build() && Routes::new(&less, Routing::Ecmp).is_ok() {
            checked(&less);
        }
    }
}
