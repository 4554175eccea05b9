//! Names and addresses of nodes.
use std::net::Ipv4Addr;

use backwater_control::detector::Detector;
use backwater_document::at;
use backwater_wire::MacAddress;

use crate::resolve::Report;
use crate::settings::{Forwarding, Node as Written, Settings};
use crate::testbed::{Node, NodeKind};

/// Characters of a name, so that it fits into 32 bytes with its end.
pub(crate) const NAME_MOST: usize = 31;

/// Names stand in tables, labels and files: letters, digits, - and _.
pub(crate) fn is_name(name: &str) -> bool {
    let good = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    !name.is_empty() && name.len() <= NAME_MOST && name.chars().all(good)
}

pub(crate) const NAME_HELP: &str = "up to 31 letters, digits, - and _";

/// The nodes, without ports and detectors.
pub(crate) fn nodes(settings: &Settings, report: &mut Report<'_>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (index, written) in settings.node.iter().enumerate() {
        let name = written.name();
        if !is_name(name) {
            report.add(
                &at!["node", index, "name"],
                format!("name = {name:?} is not allowed"),
                NAME_HELP,
                "choose another name",
            );
        }
        if nodes.iter().any(|other| other.name == name) {
            report.add(
                &at!["node", index, "name"],
                format!("two nodes are called {name}"),
                "taken",
                "choose another name",
            );
        }
        nodes.push(node(written, index, report));
    }
    if nodes.is_empty() {
        report.add(
            &at!["node"],
            "there is no node".to_owned(),
            "empty",
            "add a [[node]] with kind = \"switch\"",
        );
    }
    if nodes.len() > 64 {
        report.add(
            &at!["node", 64],
            format!("there are {} nodes", nodes.len()),
            "allowed: up to 64",
            "use several processes (clock.kind = \"lockstep\")",
        );
    }
    same_addresses(&nodes, report);
    nodes
}

fn node(written: &Written, index: usize, report: &mut Report<'_>) -> Node {
    let number = index + 1;
    let default_mac = MacAddress([2, 0, 0, 0, (number >> 8) as u8, number as u8]);
    let default_ip = Ipv4Addr::new(10, 0, (number >> 8) as u8, number as u8);
    let (mac, ip) = match written {
        Written::Switch { .. } => (None, None),
        Written::Sender { mac, ip, .. } | Written::Receiver { mac, ip, .. } => {
            (mac.as_deref(), ip.as_deref())
        }
        Written::Remote { mac, ip, .. } => (Some(mac.as_str()), Some(ip.as_str())),
    };
    let mac = mac.map_or(default_mac, |text| self::mac(&at!["node", index, "mac"], text, report));
    let ip = ip.map_or(default_ip, |text| {
        text.parse::<Ipv4Addr>().ok().filter(|ip| !ip.is_multicast() && !ip.is_unspecified()).unwrap_or_else(
            || {
                let message = format!("ip = {text:?} is not allowed");
                report.add(
                    &at!["node", index, "ip"],
                    message,
                    "the IPv4 address of a station",
                    "write it like \"10.0.0.1\"",
                );
                default_ip
            },
        )
    });
    let kind = match written {
        Written::Switch { forwarding, ageing, .. } => NodeKind::Switch {
            learning: *forwarding == Forwarding::Learning,
            ageing: ageing.0,
            detector: Detector::None,
        },
        Written::Sender { .. } => NodeKind::Sender,
        Written::Receiver { cnp, cnp_interval, cnp_priority, .. } => {
            NodeKind::Receiver { cnp: cnp.then_some((cnp_interval.0, *cnp_priority)) }
        }
        Written::Remote { .. } => NodeKind::Remote,
    };
    Node { name: written.name().to_owned(), kind, mac, ip, first_port: 0, port_count: 0 }
}

/// The address of a station, or what is wrong with it.
pub(crate) fn mac(path: &[backwater_document::Step], text: &str, report: &mut Report<'_>) -> MacAddress {
    let help = "write it like \"02:00:00:00:00:01\"";
    match text.parse::<MacAddress>() {
        Ok(mac) if !mac.is_group() => return mac,
        Ok(_) => report.add(
            path,
            format!("mac = {text:?} is a group address"),
            "the first number must be even",
            help,
        ),
        Err(_) => report.add(
            path,
            format!("mac = {text:?} is not allowed"),
            "six pairs of hexadecimal digits",
            help,
        ),
    }
    MacAddress::default()
}

fn same_addresses(nodes: &[Node], report: &mut Report<'_>) {
    let hosts = || nodes.iter().enumerate().filter(|(_, node)| !matches!(node.kind, NodeKind::Switch { .. }));
    for (index, node) in hosts() {
        for (key, twin) in [
            ("mac", hosts().take_while(|(other, _)| *other < index).find(|(_, other)| other.mac == node.mac)),
            ("ip", hosts().take_while(|(other, _)| *other < index).find(|(_, other)| other.ip == node.ip)),
        ] {
            if let Some((_, twin)) = twin {
                let message = format!("{} and {} have the same {key} address", twin.name, node.name);
                report.add(
                    &at!["node", index, key],
                    message,
                    "taken",
                    "give every host an address of its own",
                );
            }
        }
    }
}
