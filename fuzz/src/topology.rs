//! Any file is a network or refused with a line; a network's ports agree with its links, and its routes arrive.
use backwater_topology::{Network, Routes, Routing, deadlock, read, summary};

pub(crate) fn target(bytes: &[u8]) {
    match read::hpcc_bytes(bytes) {
        Ok(network) => {
            ports_mirror_each_other(&network);
            if network.nodes().len() <= 40 {
                routes_arrive(&network, Routing::Ecmp);
                routes_arrive(&network, Routing::DModK);
            }
        }
        Err(error) => assert!(error.line > 0 && !error.to_string().is_empty()),
    }
}

fn ports_mirror_each_other(network: &Network) {
    for node in 0..network.nodes().len() as u32 {
        for port in network.ports(node) {
            let back = &network.ports(port.peer)[usize::from(port.peer_port)];
            assert_eq!((back.peer, back.link), (node, port.link));
            assert!(port.rate.as_bps() > 0 && port.delay.as_ps() > 0);
        }
    }
}

fn routes_arrive(network: &Network, routing: Routing) {
    let Ok(routes) = Routes::new(network, routing) else { return };
    let hosts = network.hosts().len() as u32;
    for src in 0..hosts {
        for dst in (0..hosts).filter(|&dst| dst != src) {
            let path = routes.path(network, src, dst, |node| node.wrapping_mul(0x9e37_79b9));
            let &(node, port) = path.last().expect("another host is at least one link away");
            assert_eq!(network.ports(node)[usize::from(port)].peer, network.hosts()[dst as usize]);
        }
    }
    if let Err(cycle) = deadlock::check(network, &routes) {
        assert!(!cycle.to_string().is_empty());
    }
    let _ = summary(network, &routes);
}
