//! What must add up in a switch with combined queueing at the end of a run.
use std::collections::BTreeMap;

use crate::packet::Packet;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::world::World;

impl Cioq {
    /// Packets in the ingress queues.
    pub(crate) fn in_line<'a>(
        &self,
        chassis: &'a Chassis,
        at: usize,
    ) -> impl Iterator<Item = &'a Packet> + use<'a> {
        chassis.ports.pool().iter(self.lines[at].fifo)
    }

    /// Packets on their way across the crossbar, with the egress port they go to.
    fn moving(&self) -> impl Iterator<Item = (&Packet, u16)> {
        self.inputs.iter().filter(|input| input.busy).map(|input| (&input.moving, input.out))
    }

    /// The first count that is not what is there, in words.
    pub(crate) fn check_regions(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        let count = chassis.ports.queues().len();
        let mut charged = vec![0; count];
        let mut taken = vec![0; usize::from(chassis.ports.count())];
        let mut used = 0;
        for at in 0..count {
            charged[at] = self.in_line(chassis, at).map(|packet| u64::from(packet.size)).sum();
            if at % chassis.ports.classes() != 0 {
                let waiting: u32 = chassis.waiting(self, at).map(|packet| u32::from(packet.size)).sum();
                taken[at / chassis.ports.classes()] += waiting;
                used += u64::from(waiting);
            }
        }
        for (packet, out) in self.moving() {
            charged[chassis.ports.at(packet.port, packet.class)] += u64::from(packet.size);
            taken[usize::from(out)] += u32::from(packet.size);
        }
        used += charged.iter().sum::<u64>();
        if used != chassis.memory.used() {
            return Err(format!("the memory counts {} B and holds {used} B", chassis.memory.used()));
        }
        for (at, (account, bytes)) in chassis.memory.accounts().iter().zip(&charged).enumerate() {
            if account.held() != *bytes {
                return Err(format!("ingress account {at} counts {} B, {bytes} B are there", account.held()));
            }
        }
        for (port, (output, bytes)) in self.outputs.iter().zip(&taken).enumerate() {
            if output.taken != *bytes {
                return Err(format!("egress region {port} counts {} B, {bytes} B are there", output.taken));
            }
        }
        self.check_normal_queues(chassis, world)?;
        self.check_entries(chassis, world)
    }

    /// Every entry of the congested-flow table counts its packets in the CFQs.
    fn check_entries(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        let Some(isolating) = &self.isolation else { return Ok(()) };
        let congested = isolating.rules.lanes.congested;
        let mut there: BTreeMap<Option<usize>, u32> = BTreeMap::new();
        for port in 0..chassis.ports.count() {
            let at = chassis.ports.at(port, congested);
            for packet in chassis.waiting(self, at).chain(self.in_line(chassis, at)) {
                *there.entry(isolating.entry(packet, world)).or_default() += 1;
            }
        }
        for (packet, _) in self.moving().filter(|(packet, _)| packet.class == congested) {
            *there.entry(isolating.entry(packet, world)).or_default() += 1;
        }
        let live = isolating.slots.iter().enumerate().filter(|(_, slot)| slot.is_live());
        let mut cost = 0;
        for (index, slot) in live {
            let count = there.remove(&Some(index)).unwrap_or(0);
            cost += slot.cost();
            if count != slot.in_cfq() {
                return Err(format!("entry {index} counts {} packets, {count} are in CFQs", slot.in_cfq()));
            }
        }
        if cost != isolating.cft.used() {
            return Err(format!("the table counts {} slots, its entries have {cost}", isolating.cft.used()));
        }
        if there.is_empty() { Ok(()) } else { Err("packets without an entry are in CFQs".into()) }
    }
}
