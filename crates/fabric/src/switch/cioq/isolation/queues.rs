//! Which queue a packet goes to, and moves to, at both sides of the crossbar.
use backwater_control::CodePoint;
use backwater_control::isolation::{MarkFacts, Origin, RootFacts};
use backwater_engine::Post;
use backwater_units::Time;
use rand_core::Rng;

use super::entries::root_of;
use crate::ctx::Ctx;
use crate::packet::{Kind, Packet};
use crate::record::IsolationEvent;
use crate::spec::KeyKind;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::world::World;

impl Cioq {
    /// The class in which a packet that has come in is stored, and the slot of its entry.
    #[inline]
    pub(crate) fn class_at_ingress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) -> (u8, Option<usize>) {
        let Some(rules) = cx.world.isolation.as_ref().filter(|rules| rules.concern(packet.class)) else {
            return (packet.class, None);
        };
        let slot = self.isolating().entry(packet, cx.world);
        let apart = slot.is_some_and(|slot| {
            let admitted = self.admits(chassis, slot, packet.port, cx);
            let isolating = self.isolating();
            admitted && isolating.in_nfq[isolating.at(slot, packet.port)] == 0
        });
        (if apart { rules.lanes().congested } else { rules.lanes().monitored }, slot)
    }

    /// Whether packets of an entry that come in by `port` may be isolated there: CI needs a slot for that.
    fn admits<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        slot: usize,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        if !rules.algorithm.mirrors() {
            return true;
        }
        let isolating = self.isolating();
        let used = isolating.cft.used();
        let admitted = isolating.cft.mirror(&rules.algorithm, &mut isolating.slots[slot], port, rules.slots);
        let at = isolating.at(slot, port);
        let before = std::mem::replace(&mut isolating.refused[at], !admitted);
        isolating.wanting |= !admitted;
        let (entry, took) = (isolating.slots[slot], isolating.cft.used() > used);
        if took {
            self.note_entry(chassis, IsolationEvent::Mirrored, &entry, Some(port), cx);
        } else if !admitted && !before {
            self.note_entry(chassis, IsolationEvent::MirrorRefused, &entry, Some(port), cx);
        }
        admitted
    }

    /// A packet that came in class `came` stands in its ingress queue; its entry counts it.
    pub(crate) fn isolate_at_ingress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        came: u8,
        slot: usize,
        cx: &mut Ctx<'_, P>,
    ) {
        let rules = cx.world.isolation.as_ref().expect("only packets with an entry come here");
        let isolating = self.isolating();
        if packet.class != rules.lanes().congested {
            let at = isolating.at(slot, packet.port);
            isolating.in_nfq[at] += 1;
            return;
        }
        isolating.slots[slot].entered(Time::from_ps(cx.now));
        if self.consider_cim(chassis, slot, packet, came != rules.lanes().congested, false, cx) {
            chassis.send_next(self, packet.port, cx);
        }
    }

    /// The first packet of the monitored class has left the ingress queue of its port: those behind it may have an entry.
    pub(crate) fn left_line<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let Some(rules) = cx.world.isolation.as_ref() else { return };
        if packet.class != rules.lanes().monitored {
            return;
        }
        let isolating = self.isolating();
        if let Some(slot) = isolating.entry(packet, cx.world) {
            let at = isolating.at(slot, packet.port);
            isolating.in_nfq[at] -= 1;
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
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        let lanes = rules.lanes();
        let (mut moved, mut cim) = (false, false);
        loop {
            let line = self.lines[chassis.ports.at(port, lanes.monitored)];
            if line.fifo.is_empty() {
                break;
            }
            let first = *chassis.ports.pool.first(line.fifo);
            let isolating = self.isolating();
            let Some(slot) = isolating.entry(&first, cx.world) else { break };
            if !self.admits(chassis, slot, port, cx) {
                break;
            }
            let isolating = self.isolating();
            let at = isolating.at(slot, port);
            isolating.in_nfq[at] -= 1;
            isolating.slots[slot].entered(Time::from_ps(cx.now));
            chassis.ports.isolation_counts.moved_packets += 1;
            let mut packet = self.pop_at_ingress(chassis, port, lanes.monitored);
            chassis.discharge(port, lanes.monitored, packet.size);
            chassis.charge(port, lanes.congested, packet.size);
            let strayed = packet.is_flagged();
            if strayed {
                self.inputs[usize::from(port)].strays -= 1;
                packet.echo = CodePoint::NotCapable;
            }
            packet.class = lanes.congested;
            self.line_up_at_ingress(chassis, &packet, line.out);
            cim |= self.consider_cim(chassis, slot, &packet, !strayed, false, cx);
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
        let Some(rules) = cx.world.isolation.as_ref().filter(|rules| rules.concern(packet.class)) else {
            return false;
        };
        let lanes = rules.lanes();
        let isolating = self.isolating();
        let slot = isolating.entry(packet, cx.world);
        if packet.class == lanes.congested {
            let slot = slot.expect("an entry lives as long as it has packets in a CFQ");
            if isolating.out_nfq[isolating.at(slot, out)] == 0 {
                self.mark_isolated(chassis, packet, slot, out, cx);
                return false;
            }
            self.left_cfqs(chassis, slot, cx.now, cx.world);
            packet.class = lanes.monitored;
        }
        let isolating = self.isolating();
        let towards = isolating.towards_at(out, packet.dst);
        isolating.towards[towards] += u32::from(packet.size);
        let fresh = slot.is_none() && self.detect(chassis, packet, out, cx);
        let isolating = self.isolating();
        if let Some(slot) = if fresh { isolating.entry(packet, cx.world) } else { slot } {
            let at = isolating.at(slot, out);
            isolating.out_nfq[at] += 1;
        }
        fresh
    }

    /// A packet without an entry is about to enter a long NFQ: an entry, or a mark?
    fn detect<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &mut Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        let lanes = rules.lanes();
        let queue =
            chassis.ports.queues[chassis.ports.at(out, lanes.monitored)].bytes + u32::from(packet.size);
        if u64::from(queue) < rules.algorithm.detects_at() {
            return false;
        }
        let paused = chassis.ports.egress[usize::from(out)].paused;
        let root = root_of(chassis.ports.node, out);
        let last_pfc = self.outputs[usize::from(out)].last_pfc;
        let (ingress, ingress_of_destination) = if rules.algorithm.common().early.is_some() {
            self.ingress_share(chassis, packet, cx.world)
        } else {
            (0, 0)
        };
        let isolating = self.isolating();
        let facts = RootFacts {
            key: match rules.key {
                KeyKind::Root => u64::from(root),
                kind => cx.world.key(kind, packet.flow, packet.dst),
            },
            queue: u64::from(queue),
            of_destination: u64::from(isolating.towards[isolating.towards_at(out, packet.dst)]),
            gate_closed: paused & (1 << lanes.monitored) != 0,
            last_pfc: (last_pfc != u64::MAX).then(|| Time::from_ps(last_pfc)),
            ingress,
            ingress_of_destination,
            now: Time::from_ps(cx.now),
        };
        if rules.algorithm.is_root(&isolating.cft, &facts)
            && let Some(slot) = self.claim(chassis, packet, out, root, Origin::Local, cx)
        {
            if self.consider_cim(chassis, slot, packet, true, true, cx) {
                chassis.send_next(self, packet.port, cx);
            }
            return true;
        }
        if rules.algorithm.marks() && is_markable(packet) {
            let random = &mut chassis.random[usize::from(out)];
            let cft = &self.isolating_ref().cft;
            let any_closed = paused & (1 << lanes.monitored | 1 << lanes.congested) != 0;
            if rules.algorithm.marks_monitored(cft, &facts, any_closed, || random.next_u32()) {
                chassis.ports.isolation_counts.ce_monitored += 1;
                chassis.mark_here(packet, out, cx);
            }
        }
        false
    }

    /// Bytes in the NFQ of the ingress port that a packet is about to leave, with it, and those to its destination.
    fn ingress_share(&self, chassis: &Chassis, packet: &Packet, world: &World) -> (u64, u64) {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let line = &self.lines[chassis.ports.at(packet.port, rules.lanes().monitored)];
        let own = u64::from(packet.size);
        chassis.ports.pool.iter(line.fifo).fold((own, own), |(all, same), other| {
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
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        if !rules.algorithm.marks() || !is_markable(packet) {
            return;
        }
        let congested = rules.lanes().congested;
        let queue = chassis.ports.queues[chassis.ports.at(out, congested)].bytes + u32::from(packet.size);
        let facts = MarkFacts {
            queue: u64::from(queue),
            gate_closed: chassis.ports.egress[usize::from(out)].paused & (1 << congested) != 0,
            now: Time::from_ps(cx.now),
        };
        let random = &mut chassis.random[usize::from(out)];
        let isolating = self.isolating();
        let entry = &mut isolating.slots[slot];
        if rules.algorithm.marks_isolated(&isolating.cft, entry, &facts, || random.next_u32()) {
            chassis.ports.isolation_counts.ce_isolated += 1;
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
        let Some(rules) = world.isolation.as_ref().filter(|rules| rules.concern(packet.class)) else {
            return;
        };
        let isolating = self.isolating();
        let slot = isolating.entry(packet, world);
        if packet.class == rules.lanes().congested {
            let slot = slot.expect("an entry lives as long as it has packets in a CFQ");
            self.left_cfqs(chassis, slot, now, world);
            return;
        }
        let towards = isolating.towards_at(out, packet.dst);
        isolating.towards[towards] -= u32::from(packet.size);
        if let Some(slot) = slot {
            let at = isolating.at(slot, out);
            isolating.out_nfq[at] -= 1;
        }
    }

    /// Moves packets with an entry from the front of the NFQ of an egress port to the end of its CFQ; returns whether any moved.
    pub(crate) fn settle_output(&mut self, chassis: &mut Chassis, out: u16, now: u64, world: &World) -> bool {
        let Some(rules) = world.isolation.as_ref() else { return false };
        let lanes = rules.lanes();
        let mut moved = false;
        while chassis.ports.egress[usize::from(out)].waiting & (1 << lanes.monitored) != 0 {
            let first = *chassis.ports.first(out, lanes.monitored);
            let isolating = self.isolating();
            let Some(slot) = isolating.entry(&first, world) else { break };
            let (at, towards) = (isolating.at(slot, out), isolating.towards_at(out, first.dst));
            isolating.out_nfq[at] -= 1;
            isolating.towards[towards] -= u32::from(first.size);
            isolating.slots[slot].entered(Time::from_ps(now));
            chassis.ports.isolation_counts.moved_packets += 1;
            let mut packet = chassis.ports.dequeue(out, lanes.monitored);
            packet.class = lanes.congested;
            chassis.ports.enqueue(out, &packet);
            chassis.ports.note_queue(out, lanes.congested);
            moved = true;
        }
        moved
    }

    /// The table has changed: any first packet of an NFQ may have an entry now.
    pub(crate) fn settle_all<P: Post<Packet>>(&mut self, chassis: &mut Chassis, cx: &mut Ctx<'_, P>) {
        for port in 0..chassis.ports.egress.len() as u16 {
            if self.settle_input(chassis, port, cx) {
                self.mind_upstream(chassis, port, cx);
                self.try_input(chassis, port, cx);
            }
        }
        for out in 0..chassis.ports.egress.len() as u16 {
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
