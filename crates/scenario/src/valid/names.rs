//! Names and patterns of hosts and ports.
use backwater_topology::Network;

use super::Context;
use crate::document::Step;
use crate::nearest::nearest;
use crate::settings::Names;

/// Hosts that some names and patterns stand for.
pub(super) struct Hosts {
    /// Host indices without repeats, in the order of the patterns.
    pub(super) list: Vec<u32>,
    /// Those of them that were written by name.
    pub(super) named: Vec<u32>,
}

/// Whether a name fits a pattern with `*` (any text) and `?` (one character).
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                (p, n) = (star + 1, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Whether a text is a pattern and not a name.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

impl Context<'_> {
    /// The hosts that `names`, written at `path`, stand for; `None` if a name is wrong, which is reported.
    pub(super) fn hosts(&mut self, network: &Network, path: &[Step], names: &Names) -> Option<Hosts> {
        let mut hosts = Hosts { list: Vec::new(), named: Vec::new() };
        let mut seen = vec![false; network.hosts().len()];
        let mut good = true;
        for (index, pattern) in names.patterns().iter().enumerate() {
            let place = [path, &[Step::Index(index)]].concat();
            let found: Vec<u32> = if is_pattern(pattern) {
                (0..)
                    .zip(network.hosts())
                    .filter(|(_, node)| fits(pattern, network.name(**node)))
                    .map(|(i, _)| i)
                    .collect()
            } else {
                let host = self.host(network, &place, pattern);
                good &= host.is_some();
                hosts.named.extend(host);
                host.into_iter().collect()
            };
            if is_pattern(pattern) && found.is_empty() {
                let help = format!("the hosts are {}", listed(network));
                self.report(&place, format!("the pattern {pattern:?} fits no host"), "fits nothing", help);
                good = false;
            }
            for host in found {
                if !std::mem::replace(&mut seen[host as usize], true) {
                    hosts.list.push(host);
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_a_question_mark_for_one_character() {
        assert!(fits("A*", "A14") && fits("*", "") && fits("*1*", "A14") && fits("A??", "A14"));
        assert!(!fits("A*", "B1") && !fits("A?", "A14") && !fits("", "A") && !fits("*5", "A14"));
        assert!(fits("a*b*c", "aXbXbXc") && !fits("a*b*c", "aXbXbX"));
    }
}
