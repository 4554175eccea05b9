//! What a NIC notes of data that leaves it and comes in.
use backwater_control::CodePoint;
use backwater_engine::Post;
use backwater_traffic::Pacing;
use backwater_units::Time;

use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::record::{ArrivedRecord, InjectedRecord};

impl<N: Nics> Host<N> {
    /// Data packet `seq` of its flow has come in.
    #[cold]
    pub(crate) fn note_arrival<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        seq: u32,
        payload: u64,
        cx: &mut Ctx<'_, P>,
    ) {
        if let Some(delivered) = &mut self.delivered {
            delivered.arrived(packet, payload, &mut self.ports, cx);
        }
        if cx.world.follows(packet.flow) {
            self.ports.records_mut().arrived.push(ArrivedRecord {
                time: Time::from_ps(packet.time),
                flow: packet.flow,
                seq,
                ce: packet.code == CodePoint::Congestion,
            });
            cx.post.recorded(1);
        }
    }

    /// Data packet `seq` of a flow that was due at `due` starts to leave.
    #[cold]
    pub(crate) fn note_injection<P: Post<Packet>>(
        &mut self,
        flow: u32,
        seq: u32,
        due: u64,
        cx: &mut Ctx<'_, P>,
    ) {
        let entry = &cx.world.flows[flow as usize];
        let slot = cx.world.sender_slot[flow as usize];
        let made = match entry.pacing {
            Pacing::Constant { .. } => Time::from_ps(due),
            Pacing::Supplied { .. } => Time::from_ps(self.senders[slot as usize].made()),
            _ if entry.is_endless() => Time::MAX,
            _ => self.start_of(slot, cx.world),
        };
        self.ports.records_mut().injected.push(InjectedRecord {
            time: Time::from_ps(cx.now),
            made,
            flow,
            seq,
        });
        cx.post.recorded(1);
    }
}
