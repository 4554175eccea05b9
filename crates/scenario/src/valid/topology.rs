//! The network and its routes.
use backwater_fabric::MOST_GROUPS;
use backwater_topology::{Groups, Network, RouteError, Routes, Routing, TopologyError, generate, read};

use super::Context;
use super::idle::is;
use crate::document::at;
use crate::settings::{self, Edge, FlowControl, Shape};

/// The network that `[topology]` describes, with the latency of its switches.
pub(super) fn network(context: &mut Context<'_>) -> Option<Network> {
    let latency = context.settings.switch.latency.0;
    graph(context).map(|network| network.with_switch_latency(latency))
}

fn graph(context: &mut Context<'_>) -> Option<Network> {
    let outcome = match &context.settings.topology.shape {
        Shape::TcdFigure2 { rate, delay, source_rate, fairness_hosts } => {
            generate::tcd_figure_2(rate.0, delay.0, source_rate.map(|rate| rate.0), *fairness_hosts)
        }
        Shape::TcdTestbed { rate, delay } => generate::tcd_testbed(rate.0, delay.0),
        Shape::Dumbbell { left, right, rate, delay, bottleneck_rate } => {
            generate::dumbbell(*left, *right, rate.0, delay.0, bottleneck_rate.map(|rate| rate.0))
        }
        Shape::Star { hosts, rate, delay } => generate::star(*hosts, rate.0, delay.0),
        Shape::LeafSpine { leaves, spines, hosts_per_leaf, rate, spine_rate, delay } => {
            let spine_rate = spine_rate.map(|rate| rate.0);
            generate::leaf_spine(*leaves, *spines, *hosts_per_leaf, rate.0, spine_rate, delay.0)
        }
        Shape::FatTree { k, rate, delay } => generate::fat_tree(*k, rate.0, delay.0),
        Shape::KAryNTree { k, n, rate, delay } => generate::k_ary_n_tree(*k, *n, rate.0, delay.0),
        Shape::Rlft { leaves, spines, hosts_per_leaf, links, rate, delay } => {
            generate::rlft(*leaves, *spines, *hosts_per_leaf, *links, rate.0, delay.0)
        }
        Shape::Xgft { m, w, rate, delay } => generate::xgft(m, w, rate.0, delay.0),
        Shape::Clos {
            pods,
            leaves,
            hosts_per_leaf,
            oversubscription,
            rate,
            leaf_rate,
            spine_rate,
            delay,
        } => {
            let leaf_rate = leaf_rate.unwrap_or(*rate).0;
            generate::clos(&generate::Clos {
                pods: *pods,
                leaves: *leaves,
                hosts_per_leaf: *hosts_per_leaf,
                rates: [rate.0, leaf_rate, spine_rate.map_or(leaf_rate, |rate| rate.0)],
                oversubscription: *oversubscription,
                delay: delay.0,
            })
        }
        Shape::Rail { units, servers, gpus, oversubscription, rate, spine_rate, delay } => {
            generate::rail(&generate::Rail {
                units: *units,
                servers: *servers,
                gpus: *gpus,
                rates: [rate.0, spine_rate.unwrap_or(*rate).0],
                oversubscription: *oversubscription,
                delay: delay.0,
            })
        }
        Shape::AiPod(of) => ai_pod(of),
        Shape::Dragonfly { a, p, h, g, rate, local_rate, global_rate, delay, global_delay } => {
            generate::dragonfly(&generate::Dragonfly {
                a: *a,
                p: *p,
                h: *h,
                g: g.unwrap_or_else(|| a.saturating_mul(*h).saturating_add(1)),
                rates: [rate.0, local_rate.unwrap_or(*rate).0, global_rate.unwrap_or(*rate).0],
                delays: [delay.0, global_delay.unwrap_or(*delay).0],
            })
        }
        Shape::Torus { sizes, hosts_per_switch, rate, switch_rate, delay } => {
            generate::grid(sizes, true, *hosts_per_switch, [rate.0, switch_rate.unwrap_or(*rate).0], delay.0)
        }
        Shape::Mesh { sizes, hosts_per_switch, rate, switch_rate, delay } => {
            generate::grid(sizes, false, *hosts_per_switch, [rate.0, switch_rate.unwrap_or(*rate).0], delay.0)
        }
        Shape::Hpcc { file, scale_up } => {
            let network = hpcc(context, file)?;
            if !scale_up.is_empty() && network.hosts().iter().any(|host| network.server_of(*host).is_some()) {
                let message = format!("{file:?} is a file of SimAI, which names its NVSwitches itself");
                let help = "remove topology.scale-up";
                context.report(&at!["topology", "scale-up"], message, "named twice", help);
                return None;
            }
            network.with_scale_up(scale_up)
        }
        Shape::Edges { hosts, switches, scale_up, parallel_links, links } => {
            let edge = |link: &Edge| generate::Edge {
                a: link.a.clone(),
                b: link.b.clone(),
                rate: link.rate.0,
                delay: link.delay.0,
            };
            let links: Vec<_> = links.iter().map(edge).collect();
            let make = if *parallel_links {
                generate::from_parallel_edges::<String>
            } else {
                generate::from_edges::<String>
            };
            make(hosts, switches, &links).and_then(|network| network.with_scale_up(scale_up))
        }
    };
    outcome.map_err(|error| report(context, &error)).ok()
}

fn ai_pod(of: &settings::AiPod) -> Result<Network, TopologyError> {
    let spine_rate = of.spine_rate.unwrap_or(of.rate).0;
    generate::ai_pod(&generate::AiPod {
        pods: of.pods,
        units: of.units,
        servers: of.servers,
        gpus: of.gpus,
        nics: of.nics,
        rails: of.wiring == settings::Wiring::Rails,
        planes: of.planes,
        homes: of.homes,
        rates: [of.rate.0, spine_rate, of.core_rate.map_or(spine_rate, |rate| rate.0), of.scale_up_rate.0],
        oversubscription: of.oversubscription.clone(),
        delays: [of.scale_up_delay.0, of.delay.0],
    })
}

fn report(context: &mut Context<'_>, error: &TopologyError) {
    let path = match (error, error.link(), &context.settings.topology.shape) {
        (_, Some(link), Shape::Edges { .. }) => at!["topology", "links", link].to_vec(),
        (&TopologyError::ScaleUp { number, .. }, ..) => at!["topology", "scale-up", number].to_vec(),
        (&TopologyError::Level { list, level, .. }, ..) => at!["topology", list, level].to_vec(),
        _ => at!["topology"].to_vec(),
    };
    let help =
        "see the description of this kind of topology in the schema; links and levels are counted from 0";
    context.report(&path, format!("this is no network: {error}"), "here", help);
}

fn hpcc(context: &mut Context<'_>, file: &str) -> Option<Network> {
    let path = at!["topology", "file"];
    let bytes = context.read(&path, file)?;
    match read::hpcc_bytes(&bytes) {
        Ok(network) => Some(network),
        Err(error) => {
            let help = "the format is: `nodes switches links`, the switch ids, then `a b rate delay 0` per link; SimAI's first line is \
                 `nodes gpus-per-server nvswitches switches links gpu`";
            context.report(&path, format!("{file:?}, {error}"), "this file", help);
            None
        }
    }
}

/// The forwarding tables.
pub(super) fn routes(context: &mut Context<'_>, network: &Network) -> Option<Routes> {
    let topology = &context.settings.topology;
    let routing = match topology.routes_by() {
        settings::Routing::Ecmp => Routing::Ecmp,
        settings::Routing::DModK => Routing::DModK,
        settings::Routing::DimensionOrder => Routing::DimensionOrder,
        settings::Routing::Minimal => Routing::Minimal,
        settings::Routing::Valiant | settings::Routing::UgalL | settings::Routing::UgalG => {
            Routing::NonMinimal
        }
        settings::Routing::Table => return written_out(context, network),
    };
    if topology.table.is_some() {
        let message =
            "topology.table is a file of forwarding tables, and here topology.routing does not go by it";
        let help = "leave topology.routing out, or remove this line";
        context.report(&at!["topology", "table"], message.to_owned(), "not read", help);
        return None;
    }
    match Routes::new(network, routing) {
        Ok(routes) => {
            third_groups(context, &routes);
            Some(lanes(context, routes))
        }
        Err(RouteError::Structure { wanted, .. }) => {
            let message = format!("{} is for {wanted}", is("topology.routing", topology.routes_by()));
            let help =
                "leave topology.routing out: every kind has a default; ecmp and d-mod-k work everywhere";
            context.report(&at!["topology", "routing"], message, "not for this kind", help);
            None
        }
        Err(error) => {
            let help = "every host must be able to reach every other host";
            context.report(&at!["topology"], error.to_string(), "in this network", help);
            None
        }
    }
}

/// Whether packets that may go through a third group have one, and can name it.
fn third_groups(context: &mut Context<'_>, routes: &Routes) {
    let Some(groups) = routes.around().map(Groups::count) else { return };
    if (3..=MOST_GROUPS).contains(&groups) {
        return;
    }
    let routing = is("topology.routing", context.settings.topology.routes_by());
    let message = format!("{routing} sends packets through a third group, and this dragonfly has {groups}");
    let help = format!("give topology.g a number from 3 to {MOST_GROUPS}, or write routing = \"minimal\"");
    context.report(&at!["topology", "routing"], message, "number of groups", &help);
}

/// Those of the file that `topology.table` names.
fn written_out(context: &mut Context<'_>, network: &Network) -> Option<Routes> {
    let Some(file) = context.settings.topology.table.clone() else {
        let help = "add topology.table = \"FILE\", or choose \"ecmp\" or \"d-mod-k\"";
        let message = "topology.routing = \"table\" needs the file of the tables".to_owned();
        context.report(&at!["topology", "routing"], message, "which file?", help);
        return None;
    };
    let path = at!["topology", "table"];
    let text = context.read_text(&path, &file)?;
    let entries = match read::table(&text, network) {
        Ok(entries) => entries,
        Err(error) => {
            let help = "each line is: a switch, the node behind one of its ports, and the hosts that this port leads to";
            context.report(&path, format!("{file:?}, {error}"), "this file", help);
            return None;
        }
    };
    match Routes::from_entries(network, &entries) {
        Ok(routes) => Some(lanes(context, routes)),
        Err(error) => {
            let help = "packets of every host must reach every other host by the ports of this file";
            context.report(&path, format!("{file:?}: {error}"), "this file", help);
            None
        }
    }
}

/// The routes with the lanes that are wanted. Under PFC a packet keeps its priority.
fn lanes(context: &mut Context<'_>, routes: Routes) -> Routes {
    let (topology, switch) = (&context.settings.topology, &context.settings.switch);
    let able = switch.flow_control == FlowControl::Credits && switch.queueing != settings::Queueing::Combined;
    let wrong = match (topology.lanes, routes.lanes()) {
        (Some(true), 1) => Some(
            "these routes have one lane: only dimension-order in a torus with rows of 3 or more, and minimal, valiant, \
             ugal-l and ugal-g in a dragonfly, change it",
        ),
        (Some(true), _) if !able => Some(
            "lanes are virtual lanes of credits, with the queues of any switch.queueing but \"combined\"",
        ),
        _ => None,
    };
    if let Some(why) = wrong {
        let help =
            "remove this line: lanes are used where they can be; for credits set profile = \"infiniband\"";
        let message = format!("topology.lanes = true, but {why}");
        context.report(&at!["topology", "lanes"], message, "no lanes to change", help);
    }
    if able && topology.lanes.unwrap_or(true) { routes } else { routes.on_one_lane() }
}
