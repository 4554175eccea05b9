//! Forwarding where links fail: tables that change, groups without the ports that are known to be down, and switches whose packets are
//! asked for one by one, since there may be no way for them.
use std::collections::BTreeSet;

use backwater_topology::Routes;

use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::switch::forwarding::Forwarding;

impl Forwarding {
    /// From now on these tables hold, without `avoided` ports where a group has others. With `aside` each packet is asked for by
    /// [`Forwarding::way_round`]: nothing is laid out for the packet path.
    pub(crate) fn install(&mut self, routes: &Routes, avoided: &BTreeSet<u16>, aside: bool) {
        let left = |group: &[u16]| {
            let left: Box<[u16]> = group.iter().copied().filter(|port| !avoided.contains(port)).collect();
            if left.is_empty() { group.into() } else { left }
        };
        let all = &mut *self.all;
        all.groups = if avoided.is_empty() {
            routes.groups().clone()
        } else {
            routes.groups().iter().map(|group| left(group)).collect()
        };
        (all.routes, all.aside) = (routes.clone(), aside);
        if let Some(spread) = &mut all.spread {
            spread.forget();
        }
        self.lay_out();
    }

    /// The egress port of a packet at a switch whose tables stand aside; `None`: there is no way.
    pub(crate) fn way_round(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        self.way(packet, ports)
    }
}
