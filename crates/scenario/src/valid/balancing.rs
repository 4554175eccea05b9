//! How switches spread data over equally short ways, and what that cannot work with.
use backwater_codes::Code;
use std::collections::BTreeSet;

use backwater_fabric::Balancing;
use backwater_topology::{Network, Routes};
use backwater_traffic::{Flow, Pacing};

use super::idle::is;
use super::{Context, is_put};
use crate::document::at;
use crate::settings::{LoadBalancing, Queueing, Routing};

/// How they do it. What does not go together with it is reported.
pub(super) fn balancing(
    context: &mut Context<'_>,
    fabric: Option<(&Network, &Routes)>,
    flows: &[Flow],
) -> Balancing {
    let switch = &context.settings.switch;
    let balancing = match switch.load_balancing {
        LoadBalancing::Ecmp => return Balancing::Ecmp,
        LoadBalancing::Spray => Balancing::Spray,
        LoadBalancing::Flowlet => Balancing::Flowlet { gap: switch.flowlet_gap.0 },
        LoadBalancing::Adaptive => Balancing::Adaptive,
    };
    let what = is("switch.load-balancing", switch.load_balancing);
    switches(context, &what);
    receivers(context, &what, flows);
    reactions(context, &what);
    if let Some((network, routes)) = fabric
        && !has_choice(network, routes)
    {
        let caveat = "without effect with one way from each switch to each host: switch.{load-balancing}";
        context.caveat(Code::NoEffect, "switch.load-balancing", caveat);
    }
    balancing
}

/// Whether some switch has several ways to some host.
fn has_choice(network: &Network, routes: &Routes) -> bool {
    let mut switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
    let hosts = network.hosts().len() as u32;
    switches.any(|node| (0..hosts).any(|host| routes.next_ports(node, host).len() > 1))
}

/// Where there is a choice, and it is made once.
fn switches(context: &mut Context<'_>, what: &str) {
    let settings = context.settings;
    let routing = settings.topology.routes_by();
    if routing != Routing::Ecmp {
        let here = is("topology.routing", routing);
        let message = format!("{what} chooses among the ways of ecmp, and here {here}");
        let help = "write topology.routing = \"ecmp\", or switch.load-balancing = \"ecmp\"";
        context.report(&at!["switch", "load-balancing"], message, "needs all shortest ways", help);
    }
    if settings.switch.queueing == Queueing::Combined {
        let message = format!(
            "{what} does not work with switch.queueing = \"combined\", whose isolation knows the one way of each flow"
        );
        let help = "write switch.queueing = \"output\" or \"voq\" (and switch.isolation.kind = \"none\")";
        context.report(&at!["switch", "load-balancing"], message, "needs other queues", help);
    }
}

/// Those that can put packets in order.
fn receivers(context: &mut Context<'_>, what: &str, flows: &[Flow]) {
    let settings = context.settings;
    let of_ranks = flows.iter().filter(|flow| flow.pacing == Pacing::Messages);
    let of_ranks: BTreeSet<usize> = of_ranks.map(|flow| usize::from(flow.group)).collect();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let why = if is_put(settings, index) {
            "of PUTs, whose target asks again for all that follows a packet out of order (go-back-N)"
        } else if of_ranks.contains(&index) {
            "of ranks, whose messages are told apart by the order of their packets"
        } else {
            continue;
        };
        let message = format!("{what} reorders packets, which does not fit traffic.{}, {why}", entry.name);
        let help =
            "write switch.load-balancing = \"ecmp\", or use flows or a collective with transport = \"roce\"";
        context.report(&at!["traffic", index], message, "needs packets in order", help);
    }
}

/// HPCC compares what one link told two packets.
fn reactions(context: &mut Context<'_>, what: &str) {
    let settings = context.settings;
    let message = |name: &str| {
        format!(
            "{name} = \"hpcc\" compares two packets link by link, and {what} sends them over different links"
        )
    };
    let help = "write cc.kind = \"dcqcn\", \"dctcp\" or \"swift\"; or switch.load-balancing = \"ecmp\"";
    let label = "needs one way for each flow";
    if settings.traffic.iter().any(|entry| entry.cc.is_none()) && settings.cc.kind.wants_telemetry() {
        context.report(&at!["cc", "kind"], message("cc.kind"), label, help);
    }
    for (index, entry) in settings.traffic.iter().enumerate() {
        if entry.cc.as_ref().is_some_and(|cc| cc.kind.wants_telemetry()) {
            let name = format!("traffic.{}.cc.kind", entry.name);
            context.report(&at!["traffic", index, "cc", "kind"], message(&name), label, help);
        }
    }
}
