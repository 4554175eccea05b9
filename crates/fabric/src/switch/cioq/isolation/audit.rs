//! What isolation counts of the normal-flow queues must be what is in them.
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::world::World;

impl Cioq {
    /// The first count of packets by entry, or of bytes by destination, that is not what is there, in words.
    pub(crate) fn check_normal_queues(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        let Some(isolating) = self.isolation.as_deref() else { return Ok(()) };
        let count = isolating.slots.len() * isolating.ports;
        let (mut at_ingress, mut at_egress) = (vec![0_u32; count], vec![0_u32; count]);
        let mut towards = vec![0_u32; isolating.towards.len()];
        for port in 0..isolating.ports as u16 {
            let at = chassis.ports.at(port, isolating.rules.lanes.monitored);
            for packet in self.in_line(chassis, at) {
                if let Some(slot) = isolating.entry(packet, world) {
                    at_ingress[isolating.at(slot, port)] += 1;
                }
            }
            for packet in chassis.waiting(self, at) {
                towards[isolating.towards_at(port, packet.dst)] += u32::from(packet.size);
                if let Some(slot) = isolating.entry(packet, world) {
                    at_egress[isolating.at(slot, port)] += 1;
                }
            }
        }
        if towards != isolating.towards {
            return Err("the bytes by destination are not those in the normal-flow queues".into());
        }
        for (slot, _) in isolating.slots.iter().enumerate().filter(|(_, slot)| slot.is_live()) {
            let of = slot * isolating.ports..(slot + 1) * isolating.ports;
            if at_ingress[of.clone()] != isolating.in_nfq[of.clone()] {
                return Err(format!(
                    "entry {slot} miscounts its packets in normal-flow queues at ingress ports"
                ));
            }
            if at_egress[of.clone()] != isolating.out_nfq[of] {
                return Err(format!(
                    "entry {slot} miscounts its packets in normal-flow queues at egress ports"
                ));
            }
        }
        Ok(())
    }
}
