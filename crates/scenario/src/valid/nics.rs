//! What hosts with several ports cannot have: what is made for the one port of a NIC.
use backwater_codes::Code;
use backwater_fabric::Spec;

use super::Context;
use crate::document::at;
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

/// Tells of ranks that have no rail in common.
fn unlike_rails(context: &mut Context<'_>, spec: &Spec) {
    let network = &spec.network;
    if context.settings.host.nic.port != NicPort::Rail {
        return;
    }
    let switches = |host: u32| {
        let nics = network.nics(host).iter().map(|nic| nic.peer);
        nics.filter(|peer| !network.is_scale_up(*peer)).collect::<Vec<_>>()
    };
    let unlike = spec.programs.channels.iter().find_map(|channel| {
        let flow = &spec.flows[channel.flow as usize];
        let [from, to] = [flow.src, flow.dst].map(switches);
        let apart =
            from.len() > 1 && from.len() != to.len() && !from.iter().any(|switch| to.contains(switch));
        apart.then_some((flow.src, from.len(), flow.dst, to.len()))
    });
    if let Some((src, ports, dst, others)) = unlike {
        let [src, dst] = [src, dst].map(|host| network.name(network.hosts()[host as usize]));
        context.caveat(
            Code::RailsDiffer,
            "host.nic.port",
            format!("host.nic.port = \"rail\", and {src} with {ports} ports and {dst} with {others} have no switch in common: no port of {src} is at the rail of a rank there"),
        );
    }
}

/// Reports what hosts with several ports do not have.
pub(super) fn check(context: &mut Context<'_>, spec: &Spec) {
    let network = &spec.network;
    let first = network.with_several_ports();
    idle(context, spec, first.is_some());
    let Some(first) = first else { return };
    unlike_rails(context, spec);
    if spec.switch.queueing.holds() {
        let (name, ports) = (network.name(network.hosts()[first as usize]), network.nics(first).len());
        let message = format!(
            "NICs hold the flows that switches name, and host {name} has {ports} links: this is for hosts with 1"
        );
        let help = "remove this line, or give each NIC of a server a host of its own";
        context.report(&at!["switch", "isolation", "kind"], message, "hosts with one link", help);
    }
}
