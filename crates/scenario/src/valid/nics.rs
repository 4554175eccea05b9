//! What hosts with several ports cannot have: what is made for the one port of a NIC.
use backwater_codes::Code;
use backwater_fabric::{Queueing, Spec};

use super::Context;
use crate::document::{Step, at};
use crate::settings::NicPort;

/// Tells a user whose rule for ports chooses nothing.
fn idle(context: &mut Context<'_>, spec: &Spec, several: bool) {
    let rule = context.settings.host.nic.port;
    let why = match rule {
        NicPort::Hash => return,
        _ if !several => "one link at each host",
        NicPort::Rail if spec.programs.channels.is_empty() => "traffic without ranks",
        NicPort::Spray if !has_choice(spec) => "one port of each host on shortest ways to any other",
        NicPort::Rail | NicPort::Plane | NicPort::Spray => return,
    };
    if !context.scenario.of_profile(&at!["host", "nic", "port"]) {
        context.caveat(
            Code::NoEffect,
            "host.nic.port",
            format!("without effect with {why}: host.nic.{{port}}"),
        );
    }
}

/// Whether some host has several ports on shortest ways to another.
fn has_choice(spec: &Spec) -> bool {
    let hosts = spec.network.hosts();
    let several = (0..).zip(hosts).filter(|(host, _)| {
        // Links within a server lead to others than those out of it.
        let nics = spec.network.nics(*host);
        let within = nics.iter().filter(|nic| spec.network.is_scale_up(nic.peer)).count();
        within.max(nics.len() - within) > 1
    });
    let others = 0..hosts.len() as u32;
    several
        .into_iter()
        .any(|(_, node)| others.clone().any(|other| spec.routes.next_ports(*node, other).len() > 1))
}

/// Reports what hosts with several ports do not have.
pub(super) fn check(context: &mut Context<'_>, spec: &Spec) {
    let network = &spec.network;
    let first = network.with_several_ports();
    idle(context, spec, first.is_some());
    let Some(first) = first else { return };
    let has_several = |host: u32| network.nics(host).len() > 1;
    let mut refuse = |place: Vec<Step>, what: &str, host: u32, help: &str| {
        let (name, ports) = (network.name(network.hosts()[host as usize]), network.nics(host).len());
        let message = format!("{what}, and host {name} has {ports} links: this is for hosts with 1");
        context.report(&place, message, "hosts with one link", help);
    };
    let slow = (0..).zip(&spec.endpoints).find(|(host, endpoint)| endpoint.is_some() && has_several(*host));
    if let Some((host, _)) = slow {
        let help = "let other hosts be slow (host.of), or give each NIC of a server a host of its own";
        refuse(at!["host", "drain"].to_vec(), "a slow host drains its receive queue", host, help);
    }
    if matches!(spec.switch.queueing, Queueing::Bfc(_)) {
        let help = "remove this line, or give each NIC of a server a host of its own";
        refuse(
            at!["switch", "isolation", "kind"].to_vec(),
            "NICs hold the flows that switches name",
            first,
            help,
        );
    }
    let is_put = |group: u16| spec.put_of.get(usize::from(group)).copied().flatten().is_some();
    let put = spec.flows.iter().filter(|flow| is_put(flow.group));
    let put = put.flat_map(|flow| [(flow.group, flow.src), (flow.group, flow.dst)]);
    if let Some((group, host)) = put.into_iter().find(|(_, host)| has_several(*host)) {
        let help = "choose transport = \"roce\", or give each NIC of a server a host of its own";
        refuse(at!["traffic", usize::from(group)].to_vec(), "these are PUTs", host, help);
    }
}
