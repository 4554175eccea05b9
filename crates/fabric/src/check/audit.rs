//! Invariants checked at the end of every run: what came in and has not gone out is still there.

use crate::node::FabricNode;
use crate::packet::Packet;
use crate::switch::Switch;
use crate::switch::chassis::SwitchFabric;
use crate::world::World;

/// The first account that does not add up at this node, in words.
pub(crate) fn check(node: &FabricNode, world: &World) -> Result<(), String> {
    let ports = node.ports();
    let mut held = 0;
    for (at, queue) in ports.queues.iter().enumerate() {
        let (mut bytes, mut packets) = (0, 0);
        let waiting: Box<dyn Iterator<Item = &Packet>> = match node {
            FabricNode::Host(_) => Box::new(ports.pool.iter(queue.fifo)),
            FabricNode::Switch(switch) => Box::new(switch.waiting(at)),
        };
        for packet in waiting {
            bytes += u64::from(packet.size);
            packets += 1;
        }
        if bytes != u64::from(queue.bytes) {
            return Err(format!("queue {at} counts {} B and holds {bytes} B", queue.bytes));
        }
        let (port, class) = (at / ports.classes, at % ports.classes);
        if (packets > 0) != (ports.egress[port].waiting & (1 << class) != 0) {
            return Err(format!("port {port} does not know that class {class} holds {packets} packets"));
        }
        held += packets;
        if let FabricNode::Switch(switch) = node
            && let SwitchFabric::Cioq(cioq) = &switch.fabric
        {
            held += cioq.waiting_at_ingress(&switch.chassis, at).count();
        }
    }
    if held + ports.pool.free_slots() != ports.pool.slots() {
        return Err(format!("{held} packets wait, but {} slots are taken", ports.pool.slots()));
    }
    match node {
        FabricNode::Host(host) => host.endpoint.as_ref().map_or(Ok(()), |endpoint| endpoint.check(ports)),
        FabricNode::Switch(switch) => match &switch.fabric {
            SwitchFabric::Cioq(cioq) => cioq.check(&switch.chassis, world),
            SwitchFabric::Output | SwitchFabric::Voq(_) => check_memory(switch, world),
        },
    }
}

fn check_memory(switch: &Switch, world: &World) -> Result<(), String> {
    let ports = &switch.chassis.ports;
    let mut by_ingress = vec![0u64; switch.chassis.memory.accounts.len()];
    let mut used = 0;
    let mut units_held = vec![0u32; switch.chassis.memory.accounts.len()];
    for at in 0..ports.queues.len() {
        for packet in switch.waiting(at) {
            // It holds its place in the lane that it came in by.
            let ingress = ports.at(packet.port, switch.chassis.came_in(packet, world));
            if switch.chassis.memory.credited & (1 << packet.class) == 0 {
                used += u64::from(packet.size);
            }
            if (world.lossless | switch.chassis.memory.credited) & (1 << packet.class) != 0 {
                by_ingress[ingress] += u64::from(packet.size);
                units_held[ingress] += ports.credits.as_ref().map_or(0, |credits| credits.units(packet.size));
            }
        }
    }
    for (at, mut waiting) in units_held.into_iter().enumerate() {
        let (port, class) = ((at / ports.classes) as u16, (at % ports.classes) as u8);
        let Some(credits) = ports.credits.as_ref().filter(|credits| credits.govern(class)) else { continue };
        waiting += credits.on_their_way(at);
        let (held, buffer) = credits.held(at);
        if held != waiting || held > buffer {
            return Err(format!(
                "ingress port {port}, class {class} counts {held} of {buffer} units, {waiting} are there"
            ));
        }
    }
    let ports = &switch.chassis.ports;
    let waiting: u64 = (0..ports.queues.len()).map(|at| switch.waiting(at).count() as u64).sum();
    let sent: u64 = ports.queues.iter().map(|queue| queue.sent_packets).sum();
    let dropped: u64 = ports.gates.iter().map(|gate| gate.dropped_packets).sum();
    if ports.packet_hops() != sent + waiting + dropped {
        return Err(format!(
            "{} packets came in, {sent} were sent, {dropped} dropped and {waiting} wait",
            ports.packet_hops()
        ));
    }
    if used != switch.chassis.memory.used {
        return Err(format!("the memory counts {} B and holds {used} B", switch.chassis.memory.used));
    }
    for (at, (account, bytes)) in switch.chassis.memory.accounts.iter().zip(by_ingress).enumerate() {
        if account.held.total() != bytes {
            return Err(format!(
                "ingress account {at} counts {} B, {bytes} B are there",
                account.held.total()
            ));
        }
    }
    Ok(())
}
