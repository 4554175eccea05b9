//! Which queue a packet goes to, and moves to, at both sides of the crossbar.
use backwater_control::CodePoint;
use backwater_control::isolation::{KeyKind, MarkFacts, Origin, RootFacts};
use backwater_engine::Post;
use backwater_units::Time;
use rand_core::Rng;

use super::entries::root_of;
use crate::ctx::Ctx;
use crate::packet::{Kind, Packet};
use crate::record::IsolationEvent;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::isolation::CongestedFlows;
use crate::switch::cioq::{Cioq, IngressQueue, Output};
use crate::world::World;

impl CongestedFlows {
    /// The class in which a packet that has come in is stored, and the slot of its entry.
    #[inline]
    pub(crate) fn class_at_ingress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) -> (u8, Option<usize>) {
        if !self.rules.concern(packet.class) {
            return (packet.class, None);
        }
        let slot = self.entry(packet, cx.world);
        let apart = slot.is_some_and(|slot| {
            self.admits(chassis, slot, packet.port, cx) && self.in_nfq[self.at(slot, packet.port)] == 0
        });
        let lanes = self.rules.lanes;
        (if apart { lanes.congested } else { lanes.monitored }, slot)
    }

    /// Whether packets of an entry that come in by `port` may be isolated there: CI needs a slot for that.
    fn admits<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        slot: usize,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        if !self.rules.algorithm.mirrors() {
            return true;
        }
        let rules = self.rules;
        let used = self.cft.used();
        let admitted = self.cft.mirror(&rules.algorithm, &mut self.slots[slot], port, rules.slots);
        let at = self.at(slot, port);
        let before = std::mem::replace(&mut self.refused[at], !admitted);
        self.wanting |= !admitted;
        let (entry, took) = (self.slots[slot], self.cft.used() > used);
        if took {
            self.note_entry(chassis, IsolationEvent::Mirrored, &entry, Some(port), cx);
        } else if !admitted && !before {
            self.note_entry(chassis, IsolationEvent::MirrorRefused, &entry, Some(port), cx);
        }
        admitted
    }

    /// A packet that came in class `came` stands in its ingress queue; its entry counts it. Returns whether a CIM waits to be sent.
    pub(crate) fn stands_at_ingress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        came: u8,
        slot: usize,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let congested = self.rules.lanes.congested;
        if packet.class != congested {
            let at = self.at(slot, packet.port);
            self.in_nfq[at] += 1;
            return false;
        }
        self.slots[slot].entered(Time::from_ps(cx.now));
        self.consider_cim(chassis, slot, packet, came != congested, false, cx)
    }

    /// A packet without an entry is about to enter a long NFQ: an entry, whose slot is returned, or a mark?
    fn detect<P: Post<Packet>>(
        &mut self,
        (chassis, queues): (&mut Chassis, &Queues<'_>),
        packet: &mut Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> Option<usize> {
        let lanes = self.rules.lanes;
        let queue =
            chassis.ports.queue(chassis.ports.at(out, lanes.monitored)).bytes() + u32::from(packet.size);
        if u64::from(queue) < self.rules.algorithm.detects_at() {
            return None;
        }
        let rules = self.rules;
        let paused = chassis.ports.egress(out).paused();
        let root = root_of(chassis.ports.node(), out);
        let last_pfc = queues.outputs[usize::from(out)].last_pfc;
        let (ingress, ingress_of_destination) = if rules.algorithm.common().early.is_some() {
            self.ingress_share(chassis, queues.lines, packet)
        } else {
            (0, 0)
        };
        let facts = RootFacts {
            key: match rules.key {
                KeyKind::Root => u64::from(root),
                kind => cx.world.key(kind, packet.flow, packet.dst),
            },
            queue: u64::from(queue),
            of_destination: u64::from(self.towards[self.towards_at(out, packet.dst)]),
            gate_closed: paused & (1 << lanes.monitored) != 0,
            last_pfc: (last_pfc != u64::MAX).then(|| Time::from_ps(last_pfc)),
            ingress,
            ingress_of_destination,
            now: Time::from_ps(cx.now),
        };
        if rules.algorithm.is_root(&self.cft, &facts) {
            let slot = self.claim((chassis, queues.lines), packet, out, root, Origin::Local, cx);
            if slot.is_some() {
                return slot;
            }
        }
        if rules.algorithm.marks() && is_markable(packet) {
            let random = &mut chassis.random[usize::from(out)];
            let any_closed = paused & (1 << lanes.monitored | 1 << lanes.congested) != 0;
            if rules.algorithm.marks_monitored(&self.cft, &facts, any_closed, || random.next_u32()) {
                chassis.ports.isolation_counts_mut().count_monitored_mark();
                chassis.mark_here(packet, out, cx);
            }
        }
        None
    }

    /// Bytes in the NFQ of the ingress port that a packet is about to leave, with it, and those to its destination.
    fn ingress_share(&self, chassis: &Chassis, lines: &[IngressQueue], packet: &Packet) -> (u64, u64) {
        let line = &lines[chassis.ports.at(packet.port, self.rules.lanes.monitored)];
        let own = u64::from(packet.size);
        chassis.ports.pool().iter(line.fifo).fold((own, own), |(all, same), other| {
            let size = u64::from(other.size);
            (all + size, if other.dst == packet.dst { same + size } else { same })
        })
    }

    fn mark_isolated<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &mut Packet,
        slot: usize,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let rules = &self.rules;
        if !rules.algorithm.marks() || !is_markable(packet) {
            return;
        }
        let congested = rules.lanes.congested;
        let queue = chassis.ports.queue(chassis.ports.at(out, congested)).bytes() + u32::from(packet.size);
        let facts = MarkFacts {
            queue: u64::from(queue),
            gate_closed: self.is_closed(chassis.ports.egress(out)),
            now: Time::from_ps(cx.now),
        };
        let random = &mut chassis.random[usize::from(out)];
        let entry = &mut self.slots[slot];
        if rules.algorithm.marks_isolated(&self.cft, entry, &facts, || random.next_u32()) {
            chassis.ports.isolation_counts_mut().count_isolated_mark();
            chassis.mark_here(packet, out, cx);
        }
    }

    /// A packet is leaving its egress queue.
    pub(crate) fn leaves_egress(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        now: u64,
        world: &World,
    ) {
        if !self.rules.concern(packet.class) {
            return;
        }
        let slot = self.entry(packet, world);
        if packet.class == self.rules.lanes.congested {
            let slot = slot.expect("an entry lives as long as it has packets in a CFQ");
            self.left_cfqs(chassis, slot, now);
            return;
        }
        let towards = self.towards_at(out, packet.dst);
        self.towards[towards] -= u32::from(packet.size);
        if let Some(slot) = slot {
            let at = self.at(slot, out);
            self.out_nfq[at] -= 1;
        }
    }

    /// Moves packets with an entry from the front of the NFQ of an egress port to the end of its CFQ; returns whether any moved.
    #[inline(never)]
    fn settle_output(&mut self, chassis: &mut Chassis, out: u16, now: u64, world: &World) -> bool {
        let lanes = self.rules.lanes;
        let mut moved = false;
        while chassis.ports.egress(out).waiting() & (1 << lanes.monitored) != 0 {
            let first = *chassis.ports.first(out, lanes.monitored);
            let Some(slot) = self.entry(&first, world) else { break };
            let (at, towards) = (self.at(slot, out), self.towards_at(out, first.dst));
            self.out_nfq[at] -= 1;
            self.towards[towards] -= u32::from(first.size);
            self.slots[slot].entered(Time::from_ps(now));
            chassis.ports.isolation_counts_mut().count_moved();
            let mut packet = chassis.ports.dequeue(out, lanes.monitored);
            packet.class = lanes.congested;
            chassis.ports.enqueue(out, &packet);
            chassis.ports.note_queue(out, lanes.congested);
            moved = true;
        }
        moved
    }
}

/// What a decision at an egress port looks at besides.
struct Queues<'a> {
    lines: &'a [IngressQueue],
    outputs: &'a [Output],
}

impl Cioq {
    /// The first packet of the monitored class has left the ingress queue of its port: those behind it may have an entry.
    pub(crate) fn left_line<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let Some(flows) = self.isolation.as_mut().filter(|flows| flows.has_entries()) else { return };
        if packet.class != flows.rules.lanes.monitored {
            return;
        }
        if let Some(slot) = flows.entry(packet, cx.world) {
            let at = flows.at(slot, packet.port);
            flows.in_nfq[at] -= 1;
        }
        if self.settle_input(chassis, packet.port, cx) {
            self.mind_upstream(chassis, packet.port, cx);
        }
    }

    /// Moves packets with an entry from the front of the NFQ of an ingress port to the end of its CFQ. Returns whether any
    /// moved; then the port may have something to tell upstream.
    fn settle_input<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let (mut moved, mut cim) = (false, false);
        while let Some(flows) = &mut self.isolation {
            let lanes = flows.rules.lanes;
            let line = self.lines[chassis.ports.at(port, lanes.monitored)];
            if line.fifo.is_empty() {
                break;
            }
            let first = *chassis.ports.pool().first(line.fifo);
            let Some(slot) = flows.entry(&first, cx.world) else { break };
            if !flows.admits(chassis, slot, port, cx) {
                break;
            }
            let at = flows.at(slot, port);
            flows.in_nfq[at] -= 1;
            flows.slots[slot].entered(Time::from_ps(cx.now));
            chassis.ports.isolation_counts_mut().count_moved();
            let mut packet = self.pop_at_ingress(chassis, port, lanes.monitored);
            chassis.memory.discharge(chassis.ports.at(port, lanes.monitored), packet.size);
            chassis.memory.charge(chassis.ports.at(port, lanes.congested), packet.size);
            let strayed = packet.is_flagged();
            if strayed {
                self.inputs[usize::from(port)].strays -= 1;
                packet.echo = CodePoint::NotCapable;
            }
            packet.class = lanes.congested;
            self.line_up_at_ingress(chassis, &packet, line.out);
            if let Some(flows) = &mut self.isolation {
                cim |= flows.consider_cim(chassis, slot, &packet, !strayed, false, cx);
            }
            moved = true;
        }
        if cim {
            chassis.send_next(self, port, cx);
        }
        moved
    }

    /// A packet is about to enter the region of `out`: in which class, does it congest the port, is it marked? Returns whether
    /// there is a new entry.
    pub(crate) fn isolate_at_egress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &mut Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let Some(flows) = self.isolation.as_mut().filter(|flows| flows.rules.concern(packet.class)) else {
            return false;
        };
        let lanes = flows.rules.lanes;
        let mut slot = flows.entry(packet, cx.world);
        if packet.class == lanes.congested {
            let slot = slot.expect("an entry lives as long as it has packets in a CFQ");
            if flows.out_nfq[flows.at(slot, out)] == 0 {
                flows.mark_isolated(chassis, packet, slot, out, cx);
                return false;
            }
            flows.left_cfqs(chassis, slot, cx.now);
            packet.class = lanes.monitored;
        }
        let towards = flows.towards_at(out, packet.dst);
        flows.towards[towards] += u32::from(packet.size);
        let mut fresh = false;
        if slot.is_none() {
            let queues = Queues { lines: &self.lines, outputs: &self.outputs };
            if let Some(new) = flows.detect((chassis, &queues), packet, out, cx) {
                fresh = true;
                if flows.consider_cim(chassis, new, packet, true, true, cx) {
                    chassis.send_next(self, packet.port, cx);
                }
            }
        }
        if let Some(flows) = &mut self.isolation {
            if fresh {
                slot = flows.entry(packet, cx.world);
            }
            if let Some(slot) = slot {
                let at = flows.at(slot, out);
                flows.out_nfq[at] += 1;
            }
        }
        fresh
    }

    /// The same as [`CongestedFlows::settle_output`], at any switch.
    #[inline]
    pub(crate) fn settle_output(&mut self, chassis: &mut Chassis, out: u16, now: u64, world: &World) -> bool {
        let flows = self.isolation.as_mut().filter(|flows| flows.has_entries());
        flows.is_some_and(|flows| flows.settle_output(chassis, out, now, world))
    }

    /// The table has changed: any first packet of an NFQ may have an entry now.
    pub(crate) fn settle_all<P: Post<Packet>>(&mut self, chassis: &mut Chassis, cx: &mut Ctx<'_, P>) {
        for port in 0..chassis.ports.count() {
            if self.settle_input(chassis, port, cx) {
                self.mind_upstream(chassis, port, cx);
                self.try_input(chassis, port, cx);
            }
        }
        for out in 0..chassis.ports.count() {
            if self.settle_output(chassis, out, cx.now, cx.world) {
                chassis.send_next(self, out, cx);
                self.try_output(chassis, out, cx);
            }
        }
    }
}

fn is_markable(packet: &Packet) -> bool {
    packet.kind == Kind::Data && packet.code == CodePoint::Capable
}

impl Chassis {
    fn mark_here<P: Post<Packet>>(&mut self, packet: &mut Packet, out: u16, cx: &mut Ctx<'_, P>) {
        self.marked(out, packet, CodePoint::Congestion, cx);
        packet.code = CodePoint::Congestion;
        packet.echo = CodePoint::Congestion;
    }
}
