//! What must add up in a switch whose packets wait at their egress ports.
use crate::link::ports::Queue;
use crate::packet::Packet;
use crate::switch::chassis::{Chassis, Fabric};
use crate::world::World;

impl Chassis {
    /// What packets take of the memory, and of the buffers of ingress ports, must be what is booked.
    pub(crate) fn check_memory<F: Fabric>(&self, fabric: &F, world: &World) -> Result<(), String> {
        let ports = &self.ports;
        let mut by_ingress = vec![0u64; self.memory.accounts().len()];
        let (mut used, mut lossy) = (0, 0);
        let mut units_held = vec![0u32; self.memory.accounts().len()];
        let at_ports = (0..ports.queues().len()).flat_map(|at| self.waiting(fabric, at)).copied();
        let there: Vec<Packet> =
            at_ports.filter(|it| !it.is_flow_control()).chain(fabric.apart(self)).collect();
        for packet in &there {
            // It holds its place in the lane that it came in by.
            let ingress = ports.at(packet.port, self.came_in(packet, world));
            if !self.memory.is_credited(packet.class) {
                used += u64::from(packet.size);
            }
            let guarded = (world.lossless | self.memory.credited()) & (1 << packet.class) != 0;
            if world.lossy.is_some() && packet.class != 0 && !guarded {
                lossy += u64::from(packet.size);
            }
            if guarded {
                by_ingress[ingress] += u64::from(packet.size);
                units_held[ingress] += ports.credits().map_or(0, |credits| credits.units(packet.size));
            }
        }
        for (at, mut waiting) in units_held.into_iter().enumerate() {
            let (port, class) = ports.port_and_class(at);
            let Some(credits) = ports.credits().filter(|credits| credits.govern(class)) else {
                continue;
            };
            waiting += credits.on_their_way(at);
            let (held, buffer) = credits.held(at);
            if held != waiting || held > buffer {
                return Err(format!(
                    "ingress port {port}, class {class} counts {held} of {buffer} units, {waiting} are there"
                ));
            }
        }
        for class in 0..ports.classes() {
            if let Some((given, all)) = ports.credits().and_then(|credits| credits.shared(class))
                && given != all
            {
                return Err(format!(
                    "of the {all} units that ports share in class {class} {given} are counted"
                ));
            }
        }
        let waiting = there.len() as u64;
        let sent: u64 = ports.queues().iter().map(Queue::sent_packets).sum();
        let dropped = ports.all_dropped();
        if ports.packet_hops() + fabric.made() != sent + waiting + dropped {
            return Err(format!(
                "{} packets came in, {sent} were sent, {dropped} dropped and {waiting} wait",
                ports.packet_hops()
            ));
        }
        if used != self.memory.used() {
            return Err(format!("the memory counts {} B and holds {used} B", self.memory.used()));
        }
        if lossy != self.memory.lossy() {
            return Err(format!(
                "the pool of what may be lost counts {} B and holds {lossy} B",
                self.memory.lossy()
            ));
        }
        for (at, (account, bytes)) in self.memory.accounts().iter().zip(by_ingress).enumerate() {
            if account.held() != bytes {
                return Err(format!("ingress account {at} counts {} B, {bytes} B are there", account.held()));
            }
        }
        Ok(())
    }
}
