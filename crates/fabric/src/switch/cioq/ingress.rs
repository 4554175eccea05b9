//! The ingress side: packets stored by class, PAUSE and RESUME by what each class holds.
use backwater_control::CodePoint;
use backwater_control::flow_control::{Decision, Strays};
use backwater_engine::Post;

use super::{Cioq, Input, NOWHERE};
use crate::ctx::Ctx;
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::switch::chassis::Chassis;
use crate::violation::What;

impl Cioq {
    /// A packet has come in completely.
    pub(crate) fn come_in<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let (port, now) = (packet.port, packet.time);
        if packet.class == 0 {
            chassis.ports.enqueue(out, packet);
            chassis.send_next(self, out, cx);
            chassis.ports.note_queue(out, 0);
            return;
        }
        let input = &mut self.inputs[usize::from(port)];
        let held = input.held + u32::from(packet.size);
        if held > self.limits.ingress {
            // All classes of a port share its memory: one that overruns takes the room of the others.
            let overrun = |class| chassis.ports.overrun_by(port, class);
            if let Some(fault) =
                overrun(packet.class).or_else(|| (0..cx.world.classes.count).find_map(overrun))
            {
                return chassis.ports.lose(packet, port, DropReason::Headroom, fault, cx);
            }
            let what = What::Region(u64::from(held), u64::from(self.limits.ingress));
            chassis.ports.fail(now, port, what, cx);
            return;
        }
        input.held = held;
        chassis.ports.isolation_counts_mut().note_ingress(held);
        let (class, slot) = match &mut self.isolation {
            Some(flows) => flows.class_at_ingress(chassis, packet, cx),
            None => (packet.class, None),
        };
        let mut stored = Packet { class, ..*packet };
        if packet.kind == Kind::Data
            && let Some(flows) = &self.isolation
            && packet.class == flows.rules.lanes.congested
            && class == flows.rules.lanes.monitored
        {
            stored.echo = CodePoint::Congestion;
            self.inputs[usize::from(port)].strays += 1;
        }
        chassis.memory.occupy(packet.size);
        chassis.memory.charge(chassis.ports.at(port, class), packet.size);
        if slot.is_none() && self.passes_by(chassis, &stored, out) {
            return self.move_to(chassis, &stored, out, cx);
        }
        self.line_up_at_ingress(chassis, &stored, out);
        if let (Some(slot), Some(flows)) = (slot, &mut self.isolation)
            && flows.stands_at_ingress(chassis, &stored, packet.class, slot, cx)
        {
            chassis.send_next(self, port, cx);
        }
        self.mind_upstream(chassis, port, cx);
        self.try_input(chassis, port, cx);
    }

    /// Appends a packet to its ingress queue.
    pub(crate) fn line_up_at_ingress(&mut self, chassis: &mut Chassis, packet: &Packet, out: u16) {
        let at = chassis.ports.at(packet.port, packet.class);
        chassis.ports.pool_mut().push(&mut self.lines[at].fifo, packet);
        if self.lines[at].out == NOWHERE {
            self.lines[at].out = out;
            self.inputs[usize::from(packet.port)].lined |= 1 << packet.class;
            self.outputs[usize::from(out)].wanted += 1;
        }
    }

    /// Takes the first packet of an ingress queue that is not empty, and sees where the next one wants to go.
    pub(crate) fn pop_at_ingress(&mut self, chassis: &mut Chassis, port: u16, class: u8) -> Packet {
        let at = chassis.ports.at(port, class);
        let line = &mut self.lines[at];
        let packet = chassis.ports.pool_mut().pop(&mut line.fifo);
        let next = if line.fifo.is_empty() {
            NOWHERE
        } else {
            chassis.forwarding.port_by_flow(chassis.ports.pool().first(line.fifo))
        };
        let before = std::mem::replace(&mut line.out, next);
        if before != next {
            self.outputs[usize::from(before)].wanted -= 1;
            if next == NOWHERE {
                self.inputs[usize::from(port)].lined &= !(1 << class);
            } else {
                self.outputs[usize::from(next)].wanted += 1;
            }
        }
        packet
    }

    /// What an ingress port holds has changed: PAUSE or RESUME for some of its classes?
    #[inline]
    pub(crate) fn mind_upstream<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if !self.is_calm(&self.inputs[usize::from(port)]) {
            self.weigh_upstream(chassis, port, cx);
        }
    }

    /// Whether an ingress port has paused nobody, and holds too little for that.
    #[inline]
    pub(crate) const fn is_calm(&self, input: &Input) -> bool {
        input.paused == 0 && (input.held as u64) < self.limits.calm
    }

    /// The same of a port that holds enough for that, or has paused some.
    #[inline(never)]
    fn weigh_upstream<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, cx: &mut Ctx<'_, P>) {
        let first = chassis.ports.at(port, 0);
        let mut held = [0; 8];
        for (held, account) in
            held.iter_mut().zip(&chassis.memory.accounts()[first..][..chassis.ports.classes()])
        {
            *held = account.held() as u32;
        }
        let input = &self.inputs[usize::from(port)];
        let (before, strays) = (input.paused, input.strays);
        let strays = self.isolation.as_ref().filter(|_| strays > 0).map(|flows| {
            let lanes = flows.rules.lanes;
            Strays { of: lanes.congested, held_in: lanes.monitored }
        });
        let after = self.limits.bands.paused(&held, strays, before) & cx.world.lossless;
        if after != before {
            self.tell_upstream(chassis, port, before, after, cx);
        }
    }

    #[cold]
    fn tell_upstream<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        before: u8,
        after: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        self.inputs[usize::from(port)].paused = after;
        for class in 1..cx.world.classes.count {
            let bit = 1 << class;
            if (before ^ after) & bit != 0 {
                let decision = if after & bit != 0 { Decision::Pause } else { Decision::Resume };
                chassis.tell(self, port, class, decision, cx);
            }
        }
    }
}
