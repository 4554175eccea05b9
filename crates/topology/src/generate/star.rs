//! One switch, any number of hosts.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// Hosts `h0`, `h1`, … on the ports 0, 1, … of one switch `s`.
///
/// # Errors
/// `hosts` must be from 1 to 1024.
pub fn star(hosts: u32, rate: Rate, delay: Span) -> Result<Network, TopologyError> {
    super::count("star", "hosts", hosts)?;
    let mut b = Builder::new();
    let hosts = b.hosts("h", hosts);
    let switch = b.switch("s");
    for host in hosts {
        b.link(host, switch, rate, delay);
    }
    b.build()
}
