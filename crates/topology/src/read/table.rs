//! Forwarding tables written out, one line for each port of a switch and the hosts that it leads to:
//!
//! ```text
//! # switch port hosts
//! leaf0 spine1 h4 h5
//! leaf0 spine0:1 h6
//! ```
//! A port is named by the node behind it, and by its number from 0 if several links join the two. Several lines for one switch and host are
//! ways that count as equally short.
use std::collections::BTreeMap;

use crate::Network;

/// Ports by switch (node index) and host (host index).
pub type Entries = BTreeMap<(u32, u32), Vec<u16>>;

/// What is wrong with a file, and in which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TableError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// Reads the tables of the switches of `net`.
///
/// # Errors
/// [`TableError`] names the line.
pub fn table(text: &str, net: &Network) -> Result<Entries, TableError> {
    let mut entries = Entries::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        let wrong = |what: String| TableError { line, what };
        let mut words = content.split_whitespace();
        let Some(name) = words.next() else { continue };
        let switch = net.find(name).filter(|&node| net.is_switch(node));
        let switch = switch.ok_or_else(|| wrong(format!("there is no switch {name:?}")))?;
        let port = words.next().ok_or_else(|| wrong("expected a switch, a port and hosts".to_owned()))?;
        let number = port_of(net, switch, port).ok_or_else(|| {
            wrong(format!("{name} has no port {port:?}; name the node behind it, and of several links the number, such as spine0:1"))
        })?;
        let mut hosts = 0;
        for host in words {
            let index = net.find(host).and_then(|node| net.host_index(node));
            let index = index.ok_or_else(|| wrong(format!("there is no host {host:?}")))?;
            let ports = entries.entry((switch, index)).or_default();
            if ports.contains(&number) {
                return Err(wrong(format!("{name} sends to {host} by {port} already; remove one")));
            }
            ports.push(number);
            ports.sort_unstable();
            hosts += 1;
        }
        if hosts == 0 {
            return Err(wrong(format!("{name} {port} leads to no host; name some, or remove the line")));
        }
    }
    Ok(entries)
}

/// The port of a switch to a neighbour: `spine0`, or `spine0:1` of several links.
fn port_of(net: &Network, switch: u32, text: &str) -> Option<u16> {
    let (name, number) = match text.rsplit_once(':') {
        Some((name, number)) => (name, Some(number.parse().ok()?)),
        None => (text, None),
    };
    let peer = net.find(name)?;
    let ports = (0..).zip(net.ports(switch)).filter(|(_, port)| port.peer == peer).map(|(port, _)| port);
    ports.into_iter().find(|&port| net.parallel(switch, port) == number)
}
