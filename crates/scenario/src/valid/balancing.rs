//! How switches spread data over equally short ways, and what that cannot work with.
use backwater_codes::Code;
use std::collections::BTreeSet;

use backwater_fabric::Balancing;
use backwater_topology::{Network, Routes};
use backwater_traffic::{Flow, Pacing};

use super::compatibility::{IN_ORDER, out_of_order};
use super::{Context, is_put};
use crate::document::at;
use crate::settings::LoadBalancing;

/// How they do it. What does not go together with it is in [`super::compatibility`], but for programs of ranks.
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
    receivers(context, flows);
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

/// Messages of ranks are identified by the order of their packets.
fn receivers(context: &mut Context<'_>, flows: &[Flow]) {
    let settings = context.settings;
    let of_ranks = flows.iter().filter(|flow| flow.pacing == Pacing::Messages);
    let of_ranks: BTreeSet<usize> = of_ranks.map(|flow| usize::from(flow.group)).collect();
    for index in of_ranks.into_iter().filter(|index| !is_put(settings, *index)) {
        let why = "of ranks, whose messages are identified by the order of their packets";
        let message = out_of_order(settings, &settings.traffic[index].name, why);
        context.report(&at!["traffic", index], message, IN_ORDER.0, IN_ORDER.1);
    }
}
