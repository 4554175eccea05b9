//! Which ports and flows are sampled.
mod long;
mod puts;

use backwater_codes::Code;
use backwater_fabric::ProbeSpec;
use backwater_topology::{Network, Port};
use backwater_traffic::Flow;
use backwater_units::Bytes;

pub use self::long::LongQueues;
pub(super) use self::long::{Memory, thresholds};
pub(super) use self::puts::fill;
use super::pattern::Pattern;
use super::uec::is_uec;
use super::{Context, is_put};
use crate::document::at;
use crate::document::nearest;
use crate::settings::Control;

/// What the fabric records.
pub(super) fn probe(
    context: &mut Context<'_>,
    network: &Network,
    flows: &[Flow],
    long: Option<Vec<Vec<Bytes>>>,
) -> ProbeSpec {
    let probe = &context.settings.probe;
    if probe.blame && !probe.pauses {
        let caveat = "probe.blame = true without probe.pauses: blame cannot be computed without the table of closed gates; set both \
                      or neither";
        context.caveat(Code::BlameWithoutPauses, "probe.pauses", caveat);
    }
    ProbeSpec {
        sample: probe.sample.map(|period| period.0),
        ports: match &probe.ports {
            Some(patterns) => ports(context, network, "ports", patterns),
            None => switch_ports(network),
        },
        rates: rates(context, flows),
        marks: probe.marks,
        pauses: probe.pauses,
        states: probe.states,
        delivered: delivered(context),
        packets: packets(context),
        isolation: probe.isolation,
        puts: puts::followed(context),
        streams: puts::sums(context, "streams", probe.streams),
        endpoints: puts::sums(context, "endpoints", probe.endpoints),
        drops: probe.drops,
        frames: probe
            .frames
            .as_ref()
            .map_or_else(Vec::new, |patterns| ports(context, network, "frames", patterns)),
        throttle: puts::sums(context, "throttle", probe.throttle),
        throttle_states: probe.throttle_states,
        dependencies: probe.dependencies,
        blame: long.filter(|_| probe.blame),
    }
}

fn switch_ports(network: &Network) -> Vec<(u32, u16)> {
    let switches = (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node));
    switches.flat_map(|node| (0..network.ports(node).len() as u16).map(move |port| (node, port))).collect()
}

/// The egress ports that a list of `[probe]` stands for.
fn ports(
    context: &mut Context<'_>,
    network: &Network,
    list: &'static str,
    patterns: &[String],
) -> Vec<(u32, u16)> {
    let mut chosen: Vec<(u32, u16)> = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let found = find(network, pattern);
        if found.is_empty() {
            let aliases: Vec<&str> = network.aliases().map(|(alias, _)| alias).collect();
            let nodes = network.nodes().iter().map(|node| node.name.as_str());
            let label = match nearest(pattern, aliases.iter().copied().chain(nodes)) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "no such port".to_owned(),
            };
            let mut help =
                "write A->B for the port of A towards its neighbour B, or A:* for all ports of A".to_owned();
            if !aliases.is_empty() {
                help = format!("{help}; this topology names the ports {}", aliases.join(", "));
            }
            let message = format!("{pattern:?} is no port of this network");
            context.report(&at!["probe", list, index], message, label, help);
        }
        chosen.extend(found);
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The ports that an alias, `A->B` or `A:*` stand for; both ends may be patterns. `A->B` are all links from A to B, `A->B:1`
/// the second of them.
fn find(network: &Network, pattern: &str) -> Vec<(u32, u16)> {
    if let Some(port) = network.alias(pattern) {
        return vec![port];
    }
    let (from, to) = match pattern.split_once("->") {
        Some((from, to)) => (from.trim(), to.trim()),
        None => match pattern.split_once(':') {
            Some((from, "*")) => (from.trim(), "*"),
            _ => return Vec::new(),
        },
    };
    let (Ok(from_pattern), Ok(to_pattern)) = (Pattern::parse(from), Pattern::parse(to)) else {
        return Vec::new();
    };
    let candidates = match network.find(from) {
        Some(node) => vec![node],
        None if Pattern::is_one(from) => (0..network.nodes().len() as u32).collect(),
        None => Vec::new(),
    };
    let from_fits = candidates.into_iter().filter(|&node| from_pattern.fits(network.name(node)));
    let ports = from_fits
        .flat_map(|node| (0..).zip(network.ports(node)).map(move |(index, port)| (node, index, port)));
    let to_fits = |&(node, index, port): &(u32, u16, &Port)| {
        let name = network.name(port.peer);
        let numbered = |number: u16| to_pattern.fits(&format!("{name}:{number}"));
        to_pattern.fits(name) || to.contains(':') && network.parallel(node, index).is_some_and(numbered)
    };
    ports.filter(to_fits).map(|(node, index, _)| (node, index)).collect()
}

/// The traffic entry of a name that stands in a list of `[probe]`; what is none is reported.
fn entry(context: &mut Context<'_>, list: &'static str, index: usize, name: &str) -> Option<usize> {
    let traffic = &context.settings.traffic;
    let found = traffic.iter().position(|entry| entry.name == *name);
    if found.is_none() {
        let names: Vec<&str> = traffic.iter().map(|entry| entry.name.as_str()).collect();
        let label = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "no such entry".to_owned(),
        };
        let help = format!("the traffic entries are {}", names.join(", "));
        let message = format!("no traffic entry is named {name:?}");
        context.report(&at!["probe", list, index], message, label, help);
    }
    found
}

/// Whether packets are followed, by traffic entry.
fn packets(context: &mut Context<'_>) -> Vec<bool> {
    let settings = context.settings;
    let mut followed = vec![false; settings.traffic.len()];
    for (index, name) in settings.probe.packets.iter().enumerate() {
        if let Some(group) = entry(context, "packets", index, name) {
            followed[group] = true;
        }
    }
    if settings.probe.packets.is_empty() { Vec::new() } else { followed }
}

/// Sums need a period.
fn delivered(context: &mut Context<'_>) -> bool {
    let probe = &context.settings.probe;
    if probe.delivered && probe.sample.is_none() {
        let message = "probe.delivered = true needs a period: what hosts receive is summed up for each";
        let help = "add probe.sample = \"50us\", or set probe.delivered = false";
        context.report(&at!["probe", "delivered"], message.to_owned(), "probe.sample is missing", help);
    }
    probe.delivered
}

/// Whether controlled rates are sampled, by traffic entry.
fn rates(context: &mut Context<'_>, flows: &[Flow]) -> Vec<bool> {
    let settings = context.settings;
    let mut sampled = vec![false; settings.traffic.len()];
    for (index, name) in settings.probe.rates.iter().enumerate() {
        let Some(group) = entry(context, "rates", index, name) else { continue };
        sampled[group] = true;
        let mut own = flows.iter().filter(|flow| usize::from(flow.group) == group).peekable();
        let entry = &settings.traffic[group];
        let never = if entry.workload.is_injected() {
            entry.control == Some(Control::LineRate)
        } else {
            own.peek().is_some() && own.all(|flow| !flow.pacing.is_controlled())
        };
        if is_uec(settings, group) {
            let message =
                format!("{name:?} is of transport = \"uec\", whose windows and credits are no rates");
            let help = "take it out of probe.rates";
            context.report(&at!["probe", "rates", index], message, "no controlled rate", help);
        } else if is_put(settings, group) {
            let message = format!("{name:?} has PUTs, whose windows are no rates");
            let help = "take it out of probe.rates; probe.puts = [\"…\"] follows streams, probe.streams sums them up";
            context.report(&at!["probe", "rates", index], message, "no controlled rate", help);
        } else if never {
            let message =
                format!("the flows of {name:?} are not under congestion control and have no rate to sample");
            context.report(
                &at!["probe", "rates", index],
                message,
                "no controlled rate",
                "take it out of probe.rates",
            );
        }
    }
    if settings.probe.rates.is_empty() { Vec::new() } else { sampled }
}
