//! Virtual lanes that packets change on their way, so that circles of waits are broken (Dally and Seitz, IEEE Trans. Computers
//! 1987). A packet comes in on one lane and leaves on another: it holds its place in the buffer of the first until it has left, and
//! waits for credits of the second. Which they are is in the routing tables: [`backwater_topology::Routes::lane`] of the switch
//! upstream, and of this one. Where packets may go through a third group of a dragonfly, whether it does is written in the packet until
//! it is there (`forwarding/around.rs`).
use backwater_topology::Groups;

use crate::packet::Packet;
use crate::spec::Spec;
use crate::switch::chassis::Chassis;
use crate::world::{Classes, World};

/// The lanes that belong together, as classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// By class: the one in which its packets begin.
    first: [u8; 8],
    /// By lane and by class in which packets begin: the one that they have there.
    on: [[u8; 8]; Groups::LANES as usize],
}

/// Of the priorities that are `used`, as bits, those whose packets go over to the next ones on their way.
pub(crate) fn changing(spec: &Spec, used: u8) -> u8 {
    match (&spec.switch.credits, spec.routes.lanes()) {
        (None, _) | (_, 1) => 0,
        (Some(credits), _) => used & credits.priorities & !(1 << spec.switch.control_priority),
    }
}

/// Those that packets of the priorities `change` go over to, of which each has so many `lanes`.
pub(crate) fn raised(change: u8, lanes: u8) -> u8 {
    (1..lanes).fold(0, |set, lane| set | change << lane)
}

impl Lanes {
    /// Packets of a priority in `change` go over to the next higher ones, of so many `lanes`; `None` if there are none.
    pub(crate) fn new(change: u8, lanes: u8, classes: &Classes) -> Option<Self> {
        if change == 0 {
            return None;
        }
        let own = std::array::from_fn(|c| c as u8);
        let mut all = Self { first: own, on: [own; Groups::LANES as usize] };
        for priority in (0..7).filter(|priority| change & (1 << priority) != 0) {
            let first = classes.class(priority);
            for lane in 0..lanes {
                let class = classes.class(priority + lane);
                all.first[usize::from(class)] = first;
                all.on[usize::from(lane)][usize::from(first)] = class;
            }
        }
        Some(all)
    }

    /// The class of a packet on a lane, from its class on any of its lanes.
    const fn class(&self, class: u8, lane: u8) -> u8 {
        self.on[lane as usize][self.first[class as usize] as usize]
    }

    /// Whether two classes are lanes of the same packets.
    pub(crate) const fn belong(&self, one: u8, other: u8) -> bool {
        self.first[one as usize] == self.first[other as usize]
    }
}

impl Chassis {
    /// The class in which a packet leaves that has come in.
    pub(crate) fn leaves_in(&self, packet: &Packet, lanes: &Lanes, world: &World) -> u8 {
        let lane = match (packet.through(), world.routes.around()) {
            (Some(_), Some(_)) => 0,
            _ => world.routes.lane(self.ports.node(), packet.dst),
        };
        lanes.class(packet.class, lane)
    }

    /// The class in which a packet came in that stands in an egress queue.
    #[inline]
    pub(crate) fn came_in(&self, packet: &Packet, world: &World) -> u8 {
        match &world.lanes {
            None => packet.class,
            Some(lanes) => self.class_upstream(packet, lanes, world),
        }
    }

    #[cold]
    fn class_upstream(&self, packet: &Packet, lanes: &Lanes, world: &World) -> u8 {
        let upstream = self.ports.egress(packet.port).peer();
        let lane = match world.routes.around() {
            None => world.routes.lane(upstream, packet.dst),
            Some(groups) => self.lane_upstream(packet, upstream, groups),
        };
        lanes.class(packet.class, lane)
    }
}

impl Chassis {
    /// Whether a packet was on its way to a third group before it came here is no more to be seen on it: but then it came to this group by
    /// a global link, and its destination is in another.
    fn lane_upstream(&self, packet: &Packet, upstream: u32, groups: &Groups) -> u8 {
        if groups.is_host(upstream) || packet.through().is_some() {
            return 0;
        }
        let own = groups.of_switch(self.ports.node());
        match (own == groups.of_switch(upstream), own == groups.of_host(packet.dst)) {
            (true, true) => 2,
            (true, false) | (false, true) => 1,
            (false, false) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_one_class_for_each_of_its_lanes_and_others_have_one() {
        let classes = Classes::new(7, 0b0000_1110);
        assert!(Lanes::new(0, 2, &classes).is_none());
        let lanes = Lanes::new(0b0000_0010, 2, &classes).expect("one priority changes");
        let [one, two, three] = [1, 2, 3].map(|priority| classes.class(priority));
        assert_eq!([lanes.class(one, 0), lanes.class(one, 1)], [one, two]);
        assert_eq!([lanes.class(two, 0), lanes.class(two, 1)], [one, two]);
        assert_eq!([lanes.class(three, 1), lanes.class(0, 1)], [three, 0]);
        assert!(lanes.belong(one, two) && !lanes.belong(one, three));
    }
}
