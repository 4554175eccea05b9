//! Names and patterns of hosts and ports.
use backwater_topology::Network;

use super::Context;
use super::pattern::Pattern;
use crate::document::Step;
use crate::document::nearest;
use crate::settings::Names;

/// Hosts that some names and patterns stand for.
pub(super) struct Hosts {
    /// Host indices without repeats, in the order of the patterns.
    pub(super) list: Vec<u32>,
    /// Those of them that were written by name.
    pub(super) named: Vec<u32>,
}

/// What takes hosts out of a list.
const EXCEPT: char = '!';

impl Context<'_> {
    /// The hosts that `names`, written at `path`, stand for; `None` if something is wrong, which is reported.
    pub(super) fn hosts(&mut self, network: &Network, path: &[Step], names: &Names) -> Option<Hosts> {
        let Names::Draw(draw) = names else {
            return self.listed_hosts(network, path, names.patterns());
        };
        let of = self.listed_hosts(network, &[path, &[Step::Key("of")]].concat(), draw.of.patterns())?;
        let (count, most) = (draw.random as usize, of.list.len());
        if count > most || (draw.rest && count == most) {
            let rest = if draw.rest { ", of which some must be left" } else { "" };
            let message = format!("{count} hosts cannot be drawn from {most}{rest}");
            let label = format!("allowed: 1 to {}", most - usize::from(draw.rest));
            let place = [path, &[Step::Key("random")]].concat();
            self.report(&place, message, label, "draw fewer, or name more hosts");
            return None;
        }
        let (drawn, others) = backwater_traffic::draw(&of.list, count, self.settings.run.seed, draw.number);
        Some(Hosts { list: if draw.rest { others } else { drawn }, named: Vec::new() })
    }

    fn listed_hosts(&mut self, network: &Network, path: &[Step], patterns: &[String]) -> Option<Hosts> {
        let mut hosts = Hosts { list: Vec::new(), named: Vec::new() };
        let mut taken = vec![false; network.hosts().len()];
        let mut good = true;
        for (index, text) in patterns.iter().enumerate() {
            let place = [path, &[Step::Index(index)]].concat();
            let (except, pattern) = match text.strip_prefix(EXCEPT) {
                Some(pattern) => (true, pattern),
                None => (false, text.as_str()),
            };
            if except && index == 0 {
                let help = format!("begin with those to take it from: [\"*\", {text:?}]");
                self.report(
                    &place,
                    format!("{text:?} takes hosts out of none"),
                    "the first of its list",
                    help,
                );
                good = false;
            }
            let Some(found) = self.found(network, &place, pattern) else {
                good = false;
                continue;
            };
            if except {
                for host in found {
                    taken[host as usize] = false;
                }
                hosts.list.retain(|&host| taken[host as usize]);
                hosts.named.retain(|&host| taken[host as usize]);
                continue;
            }
            if !Pattern::is_one(pattern) {
                hosts.named.extend(&found);
            }
            let new = |host: &u32| !std::mem::replace(&mut taken[*host as usize], true);
            hosts.list.extend(found.into_iter().filter(new));
        }
        if good && hosts.list.is_empty() {
            self.report(
                path,
                "no hosts are named".to_owned(),
                "empty",
                "name a host, or write \"*\" for all",
            );
        }
        (good && !hosts.list.is_empty()).then_some(hosts)
    }

    /// The hosts of one name or pattern.
    fn found(&mut self, network: &Network, place: &[Step], text: &str) -> Option<Vec<u32>> {
        if !Pattern::is_one(text) {
            return self.host(network, place, text).map(|host| vec![host]);
        }
        let pattern = match Pattern::parse(text) {
            Ok(pattern) => pattern,
            Err(malformed) => {
                let help = "write h[0-63] for h0 to h63, h[3-63/4] for every fourth of them from h3 on";
                self.report(place, format!("{text:?} is no pattern"), malformed.label(), help);
                return None;
            }
        };
        let names = (0..).zip(network.hosts());
        let found: Vec<u32> =
            names.filter(|(_, node)| pattern.fits(network.name(**node))).map(|(index, _)| index).collect();
        if found.is_empty() {
            let help = format!("the hosts are {}", listed(network));
            self.report(place, format!("the pattern {text:?} fits no host"), "fits nothing", help);
            return None;
        }
        Some(found)
    }

    /// The host of a name written at `path`.
    pub(super) fn host(&mut self, network: &Network, path: &[Step], name: &str) -> Option<u32> {
        let node = network.find(name);
        if let Some(host) = node.and_then(|node| network.host_index(node)) {
            return Some(host);
        }
        let message = match node {
            Some(_) => format!("{name:?} is a switch, not a host"),
            None => format!("there is no host {name:?}"),
        };
        let names = network.hosts().iter().map(|&node| network.name(node));
        let label = match nearest(name, names) {
            Some(near) if node.is_none() => format!("did you mean {near:?}?"),
            _ => "not a host".to_owned(),
        };
        let help = format!("the hosts are {}", listed(network));
        self.report(path, message, label, help);
        None
    }
}

/// The hosts of a network for a message: all of a few, the ends of many.
fn listed(network: &Network) -> String {
    let names: Vec<&str> = network.hosts().iter().map(|&node| network.name(node)).collect();
    match names.len() {
        0..=30 => names.join(", "),
        n => format!("{}, … {} ({n} in all)", names[..8].join(", "), names[n - 1]),
    }
}
