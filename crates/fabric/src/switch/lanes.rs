//! Virtual lanes that packets change on their way, so that circles of waits are broken (Dally and Seitz, IEEE Trans. Computers
//! 1987). A packet comes in on one lane and leaves on another: it holds its place in the buffer of the first until it has left, and
//! waits for credits of the second. Which they are is in the routing tables: [`backwater_topology::Routes::lane`] of the switch
//! upstream, and of this one.
use crate::packet::Packet;
use crate::spec::Spec;
use crate::switch::chassis::Chassis;
use crate::world::{Classes, World};

/// The lanes that belong together, as classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// By class: the one in which its packets begin.
    first: [u8; 8],
    /// By class in which packets begin: the one to which they change.
    second: [u8; 8],
}

/// Of the priorities that are `used`, as bits, those whose packets go over to the next one on their way.
pub(crate) fn changing(spec: &Spec, used: u8) -> u8 {
    match (&spec.switch.credits, spec.routes.lanes()) {
        (None, _) | (_, 1) => 0,
        (Some(credits), _) => used & credits.priorities & !(1 << spec.switch.control_priority),
    }
}

impl Lanes {
    /// Packets of a priority in `change` go over to the next higher one; `None` if there are none.
    pub(crate) fn new(change: u8, classes: &Classes) -> Option<Self> {
        if change == 0 {
            return None;
        }
        let mut lanes =
            Self { first: std::array::from_fn(|c| c as u8), second: std::array::from_fn(|c| c as u8) };
        for priority in (0..7).filter(|priority| change & (1 << priority) != 0) {
            let (first, second) = (classes.class(priority), classes.class(priority + 1));
            lanes.first[usize::from(second)] = first;
            lanes.second[usize::from(first)] = second;
        }
        Some(lanes)
    }

    /// The class of a packet on a lane, from its class on any of its lanes.
    const fn class(&self, class: u8, lane: u8) -> u8 {
        let first = self.first[class as usize];
        if lane == 0 { first } else { self.second[first as usize] }
    }

    /// Whether two classes are lanes of the same packets.
    pub(crate) const fn belong(&self, one: u8, other: u8) -> bool {
        self.first[one as usize] == self.first[other as usize]
    }
}

impl Chassis {
    /// The class in which a packet leaves that has come in.
    pub(crate) fn leaves_in(&self, packet: &Packet, lanes: &Lanes, world: &World) -> u8 {
        lanes.class(packet.class, world.routes.lane(self.ports.node(), packet.dst))
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
        lanes.class(packet.class, world.routes.lane(upstream, packet.dst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_one_class_for_each_of_its_lanes_and_others_have_one() {
        let classes = Classes::new(7, 0b0000_1110);
        assert!(Lanes::new(0, &classes).is_none());
        let lanes = Lanes::new(0b0000_0010, &classes).expect("one priority changes");
        let [one, two, three] = [1, 2, 3].map(|priority| classes.class(priority));
        assert_eq!([lanes.class(one, 0), lanes.class(one, 1)], [one, two]);
        assert_eq!([lanes.class(two, 0), lanes.class(two, 1)], [one, two]);
        assert_eq!([lanes.class(three, 1), lanes.class(0, 1)], [three, 0]);
        assert!(lanes.belong(one, two) && !lanes.belong(one, three));
    }
}
