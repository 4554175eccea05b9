//! Congestion isolation messages (CIM): made where a CFQ grows, taken by the next switch or NIC upstream.
use backwater_control::CodePoint;
use backwater_control::isolation::{CimFacts, Origin};
use backwater_engine::Post;
use backwater_units::Time;

use crate::ctx::Ctx;
use crate::packet::{Kind, Packet};
use crate::record::IsolationEvent;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::switch::cioq::isolation::CongestedFlows;

impl Packet {
    /// A CIM about the flows that a packet of `flow` to `dst` stands for, and the root of their congestion.
    const fn cim(flow: u32, dst: u32, root: u32, size: u16) -> Self {
        Self {
            time: 0,
            flow,
            seq: root,
            dst,
            next: 0,
            port: 0,
            size,
            kind: Kind::Cim,
            code: CodePoint::NotCapable,
            class: 0,
            echo: CodePoint::NotCapable,
        }
    }
}

impl CongestedFlows {
    /// A packet of an entry was stored in the CFQ of its ingress port, or gave cause for the entry (`allocated`): is the port
    /// upstream to isolate them too? Returns whether a CIM waits to be sent.
    pub(super) fn consider_cim<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        slot: usize,
        packet: &Packet,
        as_monitored: bool,
        allocated: bool,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let at = chassis.ports.at(packet.port, self.rules.lanes.congested);
        let facts = CimFacts {
            level: chassis.memory.account(at).held(),
            as_monitored,
            allocated,
            now: Time::from_ps(cx.now),
        };
        if self.deaf[usize::from(packet.port)] {
            return false;
        }
        let state = self.at(slot, packet.port);
        if !self.rules.algorithm.notifies(&mut self.cims[state], &facts) {
            return false;
        }
        let entry = self.slots[slot];
        let cim = Packet::cim(packet.flow, packet.dst, entry.root(), self.rules.frame);
        self.note_entry(chassis, IsolationEvent::Notified, &entry, Some(packet.port), cx);
        chassis.ports.isolation_counts_mut().count_made(packet.port);
        chassis.ports.enqueue(packet.port, &cim);
        true
    }
}

impl Cioq {
    /// A CIM has come from the switch behind the egress port `frame.port`.
    pub(crate) fn take_cim<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        frame: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        chassis.ports.isolation_counts_mut().count_cim();
        if let Some(flows) = &mut self.isolation
            && let at = (&mut *chassis, &*self.lines)
            && flows.claim(at, frame, frame.port, frame.seq, Origin::Cim, cx).is_some()
        {
            self.settle_all(chassis, cx);
        }
    }
}
