//! Links and devices: which node has which ports, and which port leads where.
use std::collections::VecDeque;

use backwater_document::{Step, at};
use backwater_units::{Bytes, Rate, Span};
use backwater_wire::MacAddress;

use crate::addresses::{self, NAME_HELP, is_name};
use crate::check;
use crate::resolve::Report;
use crate::settings::{self, Node as Written, Settings};
use crate::testbed::{Credits, Entry, FlowControl, Link, Node, NodeKind, Pfc, Port};

/// Characters of a device.
const DEVICE_MOST: usize = 255;

/// One end of a link, before the ports of a node are brought together.
struct End {
    node: usize,
    name: Option<String>,
    path: Vec<Step>,
    /// Number of the end at the other side.
    peer: Option<usize>,
    device: Option<String>,
    rate: Option<Rate>,
    nominal: Rate,
    delay: Span,
    overhead: Bytes,
}

/// The ports, those of a node together in the order of the file; the nodes learn theirs.
pub(crate) fn ports(settings: &Settings, nodes: &mut [Node], report: &mut Report<'_>) -> Vec<Port> {
    let ends = ends(settings, nodes, report);
    // Where each end comes to lie when they are sorted by node.
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|end| ends[*end].node);
    let mut place = vec![0; ends.len()];
    for (at, end) in order.iter().enumerate() {
        place[*end] = at;
    }
    let mut ports: Vec<Port> = Vec::new();
    for end in &order {
        let end = &ends[*end];
        let node = &mut nodes[end.node];
        if node.port_count == 0 {
            node.first_port = ports.len();
        }
        let name = end.name.clone().unwrap_or_else(|| format!("p{}", node.port_count));
        if ports[node.first_port..].iter().any(|other: &Port| other.name == name) {
            report.add(
                &end.path,
                format!("{} has two ports {name}", node.name),
                "taken",
                "choose another name",
            );
        }
        let mac = if matches!(node.kind, NodeKind::Switch { .. }) {
            MacAddress([2, 0, 1, end.node as u8 + 1, 0, node.port_count as u8])
        } else {
            node.mac
        };
        let index = ports.len();
        node.port_count += 1;
        ports.push(Port {
            name,
            node: end.node,
            link: match (&end.device, end.peer) {
                (Some(device), _) => Link::Device(device.clone()),
                (None, peer) => Link::Peer(place[peer.unwrap_or(0)]),
            },
            mac,
            rate: end.rate,
            nominal: end.nominal,
            delay: end.delay,
            overhead: end.overhead,
            flow_control: flow_control(settings, index),
            lossless: lossless(settings),
            lossy_queue: lossy_queue(&settings.node[end.node]),
        });
    }
    // What is wrong with links makes ports miss: that is told alone.
    if report.problems.is_empty() {
        check::check(settings, nodes, &ports, report);
    }
    ports
}

fn ends(settings: &Settings, nodes: &[Node], report: &mut Report<'_>) -> Vec<End> {
    let mut ends = Vec::new();
    for (index, link) in settings.link.iter().enumerate() {
        let a = named(nodes, &link.a, &at!["link", index, "a"], report);
        let b = named(nodes, &link.b, &at!["link", index, "b"], report);
        let (Some(a), Some(b)) = (a, b) else { continue };
        if a.0 == b.0 {
            let message = format!("{} is linked to itself", nodes[a.0].name);
            report.add(&at!["link", index, "b"], message, "the same node", "name another node");
        }
        let first = ends.len();
        for (key, (node, name), peer) in [("a", a, first + 1), ("b", b, first)] {
            ends.push(End {
                node,
                name,
                path: at!["link", index, key].to_vec(),
                peer: Some(peer),
                device: None,
                rate: Some(link.rate.0),
                nominal: link.rate.0,
                delay: link.delay.0,
                overhead: link.overhead.0,
            });
        }
    }
    for (index, port) in settings.port.iter().enumerate() {
        if let Some(name) = port.name.as_ref().filter(|name| !is_name(name)) {
            report.add(
                &at!["port", index, "name"],
                format!("name = {name:?} is not allowed"),
                NAME_HELP,
                "choose another name",
            );
        }
        if port.device.len() > DEVICE_MOST {
            let message = format!("device has {} characters", port.device.len());
            report.add(&at!["port", index, "device"], message, "allowed: up to 255", "shorten its arguments");
        }
        let Some(node) = station(nodes, ("node", &port.node), &at!["port", index, "node"], report) else {
            continue;
        };
        let nominal = port.nominal.or(port.rate).map_or(Rate::from_gbps(10), |rate| rate.0);
        ends.push(End {
            node,
            name: port.name.clone(),
            path: at!["port", index, "name"].to_vec(),
            peer: None,
            device: Some(port.device.clone()),
            rate: port.rate.map(|rate| rate.0),
            nominal,
            delay: port.delay.0,
            overhead: port.overhead.0,
        });
    }
    ends
}

/// The node of a name, which must have ports here.
fn station(
    nodes: &[Node],
    (key, name): (&str, &str),
    path: &[Step],
    report: &mut Report<'_>,
) -> Option<usize> {
    let here = |node: &&Node| !matches!(node.kind, NodeKind::Remote);
    match nodes.iter().position(|node| node.name == name) {
        Some(found) if here(&&nodes[found]) => Some(found),
        Some(_) => {
            let message = format!("{key} = {name:?} is remote");
            report.add(path, message, "it has no ports here", "name the port on a device that leads there");
            None
        }
        None => {
            report.no_such(path, (key, name), nodes.iter().filter(here).map(|node| node.name.as_str()));
            None
        }
    }
}

/// Node and port of `node` or `node.port`.
fn named(
    nodes: &[Node],
    text: &str,
    path: &[Step],
    report: &mut Report<'_>,
) -> Option<(usize, Option<String>)> {
    let (node, port) = match text.split_once('.') {
        Some((node, port)) => (node, Some(port)),
        None => (text, None),
    };
    if let Some(port) = port.filter(|port| !is_name(port)) {
        report.add(path, format!("the port {port:?} is not allowed"), NAME_HELP, "write node, or node.port");
    }
    Some((station(nodes, ("node", node), path, report)?, port.map(str::to_owned)))
}

fn flow_control(settings: &Settings, port: usize) -> FlowControl {
    match &settings.flow_control {
        settings::FlowControl::None => FlowControl::None,
        settings::FlowControl::Pfc {
            xoff,
            xon,
            quanta,
            headroom,
            watchdog,
            watchdog_restore,
            watchdog_action,
            ..
        } => FlowControl::Pfc(Pfc {
            xoff: xoff.0,
            xon: xon.0,
            quanta: *quanta,
            limit: headroom.map(|headroom| Bytes::new(xoff.0.get().saturating_add(headroom.0.get()))),
            watchdog: watchdog.map(|detect| (detect.0, watchdog_restore.unwrap_or(detect).0)),
            action: *watchdog_action,
        }),
        settings::FlowControl::Credits { buffer, period, phase, .. } => {
            let drawn = Span::from_ps(mix(settings.run.seed, port as u64) % period.0.as_ps().max(1));
            FlowControl::Credits(Credits {
                buffer: buffer.0,
                period: period.0,
                phase: phase.map_or(drawn, |phase| phase.0),
            })
        }
    }
}

/// A number that looks like chance (the finaliser of `SplitMix64`).
fn mix(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn lossless(settings: &Settings) -> u8 {
    match &settings.flow_control {
        settings::FlowControl::None => 0,
        settings::FlowControl::Pfc { priorities, .. } | settings::FlowControl::Credits { priorities, .. } => {
            priorities.iter().fold(0, |mask, priority| mask | 1 << (priority & 7))
        }
    }
}

fn lossy_queue(node: &Written) -> Option<Bytes> {
    match node {
        Written::Switch { lossy_queue, .. } => Some(lossy_queue.0),
        Written::Sender { .. } | Written::Receiver { .. } | Written::Remote { .. } => None,
    }
}

/// What switches with static forwarding know: the hosts of the file by the shortest way, and the stations.
pub(crate) fn entries(
    settings: &Settings,
    nodes: &[Node],
    ports: &[Port],
    report: &mut Report<'_>,
) -> Vec<Entry> {
    let fixed = |node: usize| matches!(nodes[node].kind, NodeKind::Switch { learning: false, .. });
    let mut entries = Vec::new();
    let hosts = nodes.iter().enumerate().filter(|(_, node)| !matches!(node.kind, NodeKind::Switch { .. }));
    for (host, station) in hosts.filter(|(_, node)| node.port_count == 1) {
        for (node, port) in ways(nodes, ports, host) {
            if fixed(node) {
                entries.push(Entry { node, port, mac: station.mac });
            }
        }
    }
    for (index, written) in settings.station.iter().enumerate() {
        let path = at!["station", index, "port"];
        let mac = addresses::mac(&at!["station", index, "mac"], &written.mac, report);
        let Some((node, name)) = named(nodes, &written.port, &path, report) else { continue };
        let own = ports.iter().filter(|port| port.node == node);
        let found = own.clone().position(|port| Some(&port.name) == name.as_ref());
        match found {
            Some(port) if fixed(node) => entries.push(Entry { node, port, mac }),
            Some(_) => {
                let message = format!("{} has no static forwarding", nodes[node].name);
                report.add(&path, message, "without effect", "write forwarding = \"static\" at that switch");
            }
            None => report.no_such(&path, ("port", &written.port), own.map(|port| port.name.as_str())),
        }
    }
    entries
}

/// For each node that reaches the host through links of this process, the port (counted within the node) that leads there.
fn ways(nodes: &[Node], ports: &[Port], host: usize) -> Vec<(usize, usize)> {
    let mut seen = vec![false; nodes.len()];
    seen[host] = true;
    let (mut queue, mut ways) = (VecDeque::from([host]), Vec::new());
    while let Some(node) = queue.pop_front() {
        let own = &ports[nodes[node].first_port..][..nodes[node].port_count];
        for port in own {
            let Link::Peer(peer) = port.link else { continue };
            let next = ports[peer].node;
            if !std::mem::replace(&mut seen[next], true) {
                ways.push((next, peer - nodes[next].first_port));
                queue.push_back(next);
            }
        }
    }
    ways
}
