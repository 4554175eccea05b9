//! Invariants checked at the end of every run: what came in and has not gone out is still there.

use crate::node::{FabricNode, HostRef};
use crate::packet::Packet;
use crate::world::World;

/// The first account that does not add up at this node, in words.
pub(crate) fn check(node: &FabricNode, world: &World) -> Result<(), String> {
    let ports = node.ports();
    let mut held = 0;
    for (at, queue) in ports.queues().iter().enumerate() {
        let (bytes, packets) = match node {
            FabricNode::Switch(switch) => count(switch.waiting(at)),
            _ => count(ports.pool().iter(*queue.fifo())),
        };
        if bytes != u64::from(queue.bytes()) {
            return Err(format!("queue {at} counts {} B and holds {bytes} B", queue.bytes()));
        }
        let (port, class) = ports.port_and_class(at);
        let ready = match node {
            FabricNode::Switch(switch) => !switch.first_sizes(at).is_empty(),
            _ => packets > 0,
        };
        if ready != (ports.egress(port).waiting() & (1 << class) != 0) {
            return Err(format!("port {port} does not know that class {class} holds {packets} packets"));
        }
        held += packets;
        if let FabricNode::Switch(switch) = node {
            held += switch.waiting_at_ingress(at);
        }
    }
    if held + ports.pool().free_slots() != ports.pool().slots() {
        return Err(format!("{held} packets wait, but {} slots are taken", ports.pool().slots()));
    }
    match node {
        FabricNode::Switch(switch) => switch.check(world),
        _ => node.host().and_then(HostRef::endpoint).map_or(Ok(()), |endpoint| endpoint.check(ports)),
    }
}

/// How many bytes and packets these are.
fn count<'a>(packets: impl Iterator<Item = &'a Packet>) -> (u64, usize) {
    packets.fold((0, 0), |(bytes, count), packet| (bytes + u64::from(packet.size), count + 1))
}
