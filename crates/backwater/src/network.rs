//! A scenario's network as JSON: for `run.json`, and for whoever asks about the network alone.
use backwater_scenario::ValidScenario;
use backwater_topology::facts::{self, Partition};
use backwater_topology::{Role, RouteError, Routes, Routing, deadlock, summary};
use serde_json::{Value, json};

/// Nodes with their places and links, as columns.
pub(crate) fn columns(scenario: &ValidScenario) -> Value {
    let net = scenario.network();
    let nodes = 0..net.nodes().len() as u32;
    let scale_up: Vec<u32> = nodes.clone().filter(|node| net.is_scale_up(*node)).collect();
    let role = |role: Role| if role == Role::Host { "host" } else { "switch" };
    json!({
        "kind": scenario.resolved()["topology"]["kind"],
        "nodes": {
            "name": net.nodes().iter().map(|node| &node.name).collect::<Vec<_>>(),
            "role": net.nodes().iter().map(|node| role(node.role)).collect::<Vec<_>>(),
            "tier": nodes.clone().map(|node| net.place(node).tier).collect::<Vec<_>>(),
            "group": nodes.clone().map(|node| net.place(node).group).collect::<Vec<_>>(),
            "at": nodes.map(|node| &net.place(node).at).collect::<Vec<_>>(),
        },
        "scale_up": scale_up,
        "links": {
            "a": net.links().iter().map(|link| link.a).collect::<Vec<_>>(),
            "b": net.links().iter().map(|link| link.b).collect::<Vec<_>>(),
            "rate_bps": net.links().iter().map(|link| link.rate.as_bps()).collect::<Vec<_>>(),
            "delay_ps": net.links().iter().map(|link| link.delay.as_ps()).collect::<Vec<_>>(),
        },
    })
}

/// Sizes, distances, bisection, oversubscription, and for each routing whether it can deadlock.
pub fn network_facts(scenario: &ValidScenario) -> Value {
    let (net, routes) = (scenario.network(), scenario.routes());
    let sizes = summary(net, routes);
    let bisection = facts::bisection(net);
    let switches = (0..net.nodes().len() as u32).filter(|node| net.is_switch(*node));
    let ports: Vec<usize> = switches.map(|switch| net.ports(switch).len()).collect();
    let over = facts::oversubscription(net);
    let halves = match bisection.by {
        Partition::Order => "hosts in their order".to_owned(),
        Partition::Dimension(axis) => format!("along dimension {axis}"),
    };
    json!({
        "kind": scenario.resolved()["topology"]["kind"],
        "routing": scenario.resolved()["topology"]["routing"],
        "hosts": sizes.hosts,
        "switches": sizes.switches,
        "ports": net.port_count(),
        "links": sizes.links,
        "switch_ports_least": ports.iter().min(),
        "switch_ports_most": ports.iter().max(),
        "slowest_link_bps": sizes.slowest.as_bps(),
        "fastest_link_bps": sizes.fastest.as_bps(),
        "diameter_links": facts::diameter(net),
        "longest_route_links": sizes.diameter,
        "least_delay_ps": sizes.least_delay.as_ps(),
        "greatest_delay_ps": sizes.greatest_delay.as_ps(),
        "bisection_bps": bisection.rate.as_bps(),
        "bisection_hosts_bps": bisection.hosts.as_bps(),
        "bisection_halves": halves,
        "oversubscription": over.iter().map(|(tier, ratio)| json!({"tier": tier, "ratio": ratio})).collect::<Vec<_>>(),
        "deadlock": deadlocks(scenario),
        "caveats": scenario.caveats(),
        "notes": scenario.notes(),
        "network": columns(scenario),
    })
}

const ROUTINGS: [(&str, Routing); 5] = [
    ("ecmp", Routing::Ecmp),
    ("d-mod-k", Routing::DModK),
    ("dimension-order", Routing::DimensionOrder),
    ("minimal", Routing::Minimal),
    ("valiant, ugal-l, ugal-g", Routing::NonMinimal),
];

/// For every routing that the network can have, with its lanes and without: whether frames between any two hosts can wait for each
/// other in a circle.
fn deadlocks(scenario: &ValidScenario) -> Value {
    let net = scenario.network();
    let mut rows = Vec::new();
    if scenario.settings().topology.table.is_some() {
        let cycle = deadlock::check(net, scenario.routes()).err();
        let why = cycle.as_ref().map(ToString::to_string);
        rows.push(json!({"routing": "table", "lanes": 1, "free": cycle.is_none(), "why": why}));
    }
    for (name, routing) in ROUTINGS {
        let routes = match Routes::new(net, routing) {
            Ok(routes) => routes,
            Err(RouteError::Structure { .. }) => continue,
            Err(error) => {
                rows.push(json!({"routing": name, "lanes": 1, "free": null, "why": error.to_string()}));
                continue;
            }
        };
        let single = (routes.lanes() > 1).then(|| routes.clone().on_one_lane());
        for routes in [Some(routes), single].into_iter().flatten() {
            let cycle = deadlock::check(net, &routes).err();
            let why = cycle.as_ref().map(ToString::to_string);
            rows.push(json!({"routing": name, "lanes": routes.lanes(), "free": cycle.is_none(), "why": why}));
        }
    }
    Value::Array(rows)
}
