//! What must add up at the end of a run.
use backwater_control::isolation::bfc::{FlowEntry, Upstream};

use crate::switch::bfc::Bfc;
use crate::switch::bfc::flows::FlowTable;
use crate::switch::chassis::Chassis;

impl Bfc {
    /// Each queue or flow that is held upstream is so for marked packets that are here, and each marked packet holds one.
    pub(super) fn check_holds(&self, chassis: &Chassis) -> Result<(), String> {
        let memory = chassis.ports.pool();
        let (mut packets, mut marked) = (0, 0);
        for pool in &self.pools {
            for (slot, _) in pool.fifos().iter().flat_map(|fifo| memory.slots_of(*fifo)) {
                packets += 1;
                marked += u32::from(self.tags[slot].marked);
            }
        }
        let flows = || self.flows.iter().flat_map(FlowTable::iter);
        let known: u32 = flows().map(FlowEntry::packets).sum();
        if known != packets {
            return Err(format!("the flows count {known} packets, and {packets} wait"));
        }
        let holds = self.upstream.iter().chain(flows().map(|flow| &flow.upstream));
        let counted: u32 = holds.map(Upstream::marked).sum();
        if counted != marked {
            return Err(format!(
                "{marked} packets are marked, and {counted} are counted as holding a queue upstream"
            ));
        }
        Ok(())
    }
}
