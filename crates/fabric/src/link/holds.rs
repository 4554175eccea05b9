//! Frames that hold a queue at the other end of a link, or at a NIC a flow, and let it go again.
use backwater_control::isolation::KeyKind;
use backwater_control::isolation::recn::Aside;

use crate::packet::{Kind, Packet};
use crate::record::KeyedBy;
use crate::spec::{Pauses, Queueing};
use crate::world::World;

/// An egress port of a switch as one number.
pub(crate) const fn root(node: u32, port: u16) -> u32 {
    node << 10 | port as u32
}

/// The switch and the port.
pub(crate) const fn parts(root: u32) -> (u32, u16) {
    (root >> 10, (root & 0x3ff) as u16)
}

impl Packet {
    /// Holds the queue upstream that a packet came from, or lets it go. For a NIC it names the flow.
    pub(crate) fn hold(of: &Self, upstream: u16, holds: bool, size: u16) -> Self {
        let seq = u32::from(holds) | u32::from(of.class) << 8 | u32::from(upstream) << 16;
        Self { flow: of.flow, dst: of.dst, seq, size, kind: Kind::Hold, ..Self::NONE }
    }

    /// What a Hold frame says: whether it holds, the class, and the queue.
    pub(crate) const fn held(&self) -> (bool, u8, u16) {
        (self.seq & 1 == 1, (self.seq >> 8) as u8, (self.seq >> 16) as u16)
    }
}

impl Packet {
    /// The priority that a Hold frame is about, as PFC frames say it.
    pub(crate) fn held_priorities(&self, world: &World) -> u32 {
        let (holds, class, _) = self.held();
        1 << (world.classes.priority(class) + if holds { 0 } else { 8 })
    }
}

impl World {
    /// What a Hold or Halt frame names to a NIC: the flow; a destination, or a root, and a class; or that alone.
    pub(crate) fn hold_key(&self, flow: u32, dst: u32, class: u8) -> u64 {
        let of = match self.queueing {
            Queueing::Sfc(sfc) if sfc.pauses == Pauses::Priority => return class.into(),
            Queueing::DstPfc(_) => dst,
            Queueing::Pyrrha(_) => flow,
            Queueing::Recn(spec) => match spec.rules.aside {
                Aside::Root => flow,
                Aside::Destinations(range) => dst / range,
            },
            _ => return self.flow_key(flow, dst).into(),
        };
        u64::from(class) << 32 | u64::from(of)
    }

    /// Whether nodes record the ground truth.
    pub(crate) const fn notes_truth(&self) -> bool {
        !self.last_packet.is_empty()
    }

    /// What a Hold or Halt frame names to a NIC, as records have it: a connection by its first flow, whichever the frame is of. A root has the
    /// place of a flow in frames.
    pub(crate) fn hold_names(&self, flow: u32, dst: u32, class: u8) -> (KeyedBy, u32) {
        match self.queueing {
            Queueing::Sfc(sfc) if sfc.pauses == Pauses::Priority => {
                (KeyedBy::Priority, self.classes.priority(class).into())
            }
            Queueing::Pyrrha(_) => (KeyedBy::Root, flow),
            Queueing::Recn(spec) => match spec.rules.aside {
                Aside::Root => (KeyedBy::Root, flow),
                // By its first host, as frames name it.
                Aside::Destinations(range) => (KeyedBy::Destination, dst / range * range),
            },
            Queueing::DstPfc(_) => (KeyedBy::Destination, dst),
            _ => (KeyedBy::Flow, self.first_of(flow)),
        }
    }

    /// Whether that is on the way of a flow.
    pub(crate) fn is_held_by(&self, key: u64, (flow, dst, class): (u32, u32, u8)) -> bool {
        match &self.ways {
            Some(ways) => key >> 32 == u64::from(class) && ways.of(flow).contains(&(key as u32)),
            None => key == self.hold_key(flow, dst, class),
        }
    }

    /// The flow of a packet, as switches and NICs know it that hold flows.
    pub(crate) fn flow_key(&self, flow: u32, dst: u32) -> u32 {
        self.key(KeyKind::Flow, flow, dst) as u32
    }

    /// The class at NICs in which what is held waits: one more than packets have. Its gate never opens.
    pub(crate) const fn held_class(&self) -> u8 {
        self.classes.count
    }
}
