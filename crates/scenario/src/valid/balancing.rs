//! How switches spread data over equally short ways, and what that cannot work with.
use backwater_codes::Code;
use backwater_fabric::{Around, Balancing, QueueOf};
use backwater_topology::{Network, Routes};

use super::Context;
use crate::document::{Node, at};
use crate::settings::{LoadBalancing, Routing, Settings, Traffic, Transport, UgalQueue};

/// Whether these routes leave switches a choice among ways of a flow.
pub(super) const fn leaves_choice(routing: Routing) -> bool {
    matches!(routing, Routing::Ecmp | Routing::Minimal)
}

/// Writes out what follows from other values: a profile's spreading is for routes with several ways.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    let said = written.get("switch").is_some_and(|switch| switch.get("load-balancing").is_some());
    if !said && !leaves_choice(settings.topology.routes_by()) {
        settings.switch.load_balancing = LoadBalancing::Ecmp;
    }
}

/// How they do it. What does not go together with it is in [`super::compatibility`].
pub(super) fn balancing(context: &mut Context<'_>, fabric: Option<(&Network, &Routes)>) -> Balancing {
    let switch = &context.settings.switch;
    if let Some(around) = around(context.settings) {
        return Balancing::Around(around);
    }
    let balancing = match switch.load_balancing {
        LoadBalancing::Ecmp => return Balancing::Ecmp,
        LoadBalancing::Spray => Balancing::Spray,
        LoadBalancing::Flowlet => Balancing::Flowlet { gap: switch.flowlet_gap.0 },
        LoadBalancing::Adaptive => Balancing::Adaptive,
        LoadBalancing::Entropy => Balancing::Entropy,
    };
    if balancing == Balancing::Entropy && !gives_entropies(context.settings) {
        let caveat = "switch.load-balancing = \"entropy\": no traffic gives its packets entropies, and that of queue pairs and PUTs goes \
                      by ecmp";
        context.caveat(Code::NoEffect, "switch.load-balancing", caveat);
        return balancing;
    }
    let profile = context.scenario.of_profile(&at!["switch", "load-balancing"]);
    if let Some((network, routes)) = fabric
        && !profile
        && !has_choice(network, routes)
    {
        let caveat = "without effect with one way from each switch to each host: switch.{load-balancing}";
        context.caveat(Code::NoEffect, "switch.load-balancing", caveat);
    }
    balancing
}

/// How packets are sent through third groups of a dragonfly.
fn around(settings: &Settings) -> Option<Around> {
    let ugal = settings.topology.ugal.clone().unwrap_or_default();
    let queue = match ugal.queue {
        UgalQueue::Waiting => QueueOf::Waiting,
        UgalQueue::Credits => QueueOf::Credits,
    };
    let of_ugal = |every| Some(Around::Ugal { bias: ugal.bias.0, queue, every });
    match settings.topology.routes_by() {
        Routing::Valiant => Some(Around::Valiant),
        Routing::UgalL => of_ugal(None),
        Routing::UgalG => of_ugal(Some(ugal.every.0)),
        Routing::Ecmp | Routing::DModK | Routing::DimensionOrder | Routing::Minimal | Routing::Table => None,
    }
}

/// Whether any traffic has a transport that knows entropies and trimmed packets.
pub(super) fn gives_entropies(settings: &Settings) -> bool {
    settings.traffic.iter().any(knows_entropies)
}

/// Whether an entry has such a transport.
pub(super) const fn knows_entropies(entry: &Traffic) -> bool {
    !matches!(entry.transport, None | Some(Transport::Roce | Transport::Put))
}

/// Whether some switch has several ways to some host.
fn has_choice(network: &Network, routes: &Routes) -> bool {
    let mut switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
    switches.any(|node| routes.has_choice(node))
}
