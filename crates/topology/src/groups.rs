//! The groups of a dragonfly by numbers, and the lanes of packets that go through a third group.
//!
//! Kim, Dally, Scott and Abts (ISCA 2008, section 4.1) need three virtual channels where packets may take a way that is not minimal. A packet
//! never goes back to a lower lane, and within a lane local links come before global ones:
//!
//! | lane | the packet |
//! |---|---|
//! | 0 | is on its way to a third group |
//! | 1 | is on its way to the group of its destination, from there or from its source |
//! | 2 | is in the group of its destination |
use crate::{Network, Structure};

/// Hosts are the first nodes, as many at each switch; then come the switches, as many in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The first switch: so many hosts.
    first: u32,
    /// Switches of a group.
    switches: u32,
    /// Hosts at a switch.
    hosts: u32,
    /// Groups.
    count: u32,
}

impl Groups {
    /// Lanes of packets that may go through a third group.
    pub const LANES: u8 = 3;

    /// Those of a dragonfly.
    pub(crate) fn new(net: &Network) -> Option<Self> {
        let (nodes, first) = (net.nodes().len() as u32, net.hosts().len() as u32);
        let last = &net.place(nodes - 1).at;
        (*net.structure() == Structure::Dragonfly).then(|| Self {
            first,
            switches: last[1] + 1,
            hosts: first / (nodes - first),
            count: last[0] + 1,
        })
    }

    /// How many there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Whether a node is a host.
    pub const fn is_host(&self, node: u32) -> bool {
        node < self.first
    }

    /// The group of a switch.
    pub const fn of_switch(&self, node: u32) -> u32 {
        (node - self.first) / self.switches
    }

    /// The number of a switch in its group.
    pub const fn place(&self, node: u32) -> u32 {
        (node - self.first) % self.switches
    }

    /// The switch of a host, by its host index.
    pub const fn switch_of(&self, host: u32) -> u32 {
        self.first + host / self.hosts
    }

    /// The group of a host, by its host index.
    pub const fn of_host(&self, host: u32) -> u32 {
        host / self.hosts / self.switches
    }

    /// The first host of a group, by its host index: routes to it are routes to the group.
    pub const fn first_host(&self, group: u32) -> u32 {
        group * self.switches * self.hosts
    }

    /// The ports of a switch to the others of its group; those to hosts come before them, the global ones after.
    pub const fn local_ports(&self) -> std::ops::Range<u16> {
        let first = self.hosts as u16;
        first..first + self.switches as u16 - 1
    }

    /// The lane of a packet on the link by which it leaves a switch, if it is not on its way to a third group.
    pub const fn lane(&self, node: u32, dst_host: u32) -> u8 {
        if self.switch_of(dst_host) == node {
            0
        } else if self.of_switch(node) == self.of_host(dst_host) {
            2
        } else {
            1
        }
    }
}
