//! What the ground truth is told of gates of less than a priority: when they close and open, and when what stood there has left.
//! Without it nothing here is done.
use std::collections::BTreeMap;

use backwater_engine::Post;
use backwater_units::{Bytes, Time};

use crate::ctx::Ctx;
use crate::packet::Packet;
use crate::record::{ClosureRecord, GateChange, KeyedBy};
use crate::switch::chassis::Chassis;
use crate::switch::keyed::{Keyed, Scheme};

/// Bytes that stood in open queues when they opened, and have not left: by egress port and class, and queue.
pub(super) type Draining = BTreeMap<(usize, u16), u32>;

impl<S: Scheme> Keyed<S> {
    /// A frame is about to close a queue, or to open it.
    pub(super) fn note_change<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        (port, class, queue): (u16, u8, u16),
        closes: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = chassis.ports.at(port, class);
        if self.pools[at].is_closed(queue) != closes {
            let gate = self.scheme.gate(at, queue);
            self.note_gate(chassis, (port, class, queue), (gate, closes), cx);
        }
    }

    /// The gate of a queue closes or opens.
    pub(super) fn note_gate<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        (port, class, queue): (u16, u8, u16),
        (gate, closes): (Option<(KeyedBy, u32)>, bool),
        cx: &mut Ctx<'_, P>,
    ) {
        let at = chassis.ports.at(port, class);
        if chassis.truth.is_none() {
            return;
        }
        let bytes = self.pools[at].bytes(queue);
        if closes {
            self.draining.remove(&(at, queue));
        } else if bytes > 0 && !S::ROOTS {
            self.draining.insert((at, queue), bytes);
        }
        let change = if closes { GateChange::Closed } else { GateChange::Opened };
        if let Some(gate) = gate {
            push(chassis, (port, class), gate, (change, bytes), cx);
        }
    }

    /// A packet has left a queue, and is about to leave the switch.
    pub(super) fn note_left<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        (port, queue): (u16, u16),
        gate: Option<(KeyedBy, u32)>,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = chassis.ports.at(port, packet.class);
        let Some(truth) = &mut chassis.truth else { return };
        let rest = self.draining.get_mut(&(at, queue));
        let drained = rest.is_some_and(|rest| {
            *rest = rest.saturating_sub(u32::from(packet.size));
            *rest == 0
        });
        if drained {
            self.draining.remove(&(at, queue));
        }
        let waiting: u32 = self.draining.range((at, 0)..=(at, u16::MAX)).map(|(_, bytes)| bytes).sum();
        let closed: u32 = self.pools[at].held().map(|(queue, _)| self.pools[at].bytes(queue)).sum();
        truth.set_held(at, waiting + closed);
        if drained {
            let bytes = self.pools[at].bytes(queue);
            if let Some(gate) = gate {
                push(chassis, (port, packet.class), gate, (GateChange::Drained, bytes), cx);
            }
        }
    }
}

impl<S: Scheme> Keyed<S> {
    /// A packet has left the first queue: what waits at its port for roots does not crowd it.
    pub(super) fn note_apart(&self, chassis: &mut Chassis, port: u16, class: u8) {
        let at = chassis.ports.at(port, class);
        if let Some(truth) = &mut chassis.truth {
            let pool = &self.pools[at];
            truth.set_held(at, (1..pool.count()).map(|queue| pool.bytes(queue)).sum());
        }
    }
}

/// Records what became of a gate at an egress port.
pub(super) fn push<P: Post<Packet>>(
    chassis: &mut Chassis,
    (port, class): (u16, u8),
    (scope, key): (KeyedBy, u32),
    (change, bytes): (GateChange, u32),
    cx: &mut Ctx<'_, P>,
) {
    let record = ClosureRecord {
        time: Time::from_ps(cx.now),
        node: chassis.ports.node(),
        port,
        priority: cx.world.classes.priority(class),
        scope,
        key,
        change,
        bytes: Bytes::new(u64::from(bytes)),
    };
    chassis.ports.records_mut().closures.push(record);
    cx.post.recorded(1);
}
