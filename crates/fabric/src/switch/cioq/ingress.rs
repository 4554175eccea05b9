//! The ingress side: packets stored by class, PAUSE and RESUME by what each class holds.
use backwater_control::CodePoint;
use backwater_control::flow_control::{Decision, Strays};
use backwater_engine::Post;

use super::{Combined, NOWHERE};
use crate::check::violation::What;
use crate::ctx::Ctx;
use crate::packet::{Kind, Packet};
use crate::switch::Switch;

impl Switch {
    #[inline]
    pub(crate) fn combined(&mut self) -> &mut Combined {
        self.combined.as_deref_mut().expect("only switches with a combined crossbar come here")
    }

    /// A packet has come in completely.
    pub(crate) fn take_in<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        let (port, now) = (packet.port, packet.time);
        if packet.class == 0 {
            self.ports.enqueue(out, packet);
            self.send_next(out, cx);
            self.ports.note_queue(out, 0);
            return;
        }
        let input = &mut self.combined().inputs[usize::from(port)];
        let held = input.held + u32::from(packet.size);
        if let Some(limits) = &cx.world.combined
            && held > limits.ingress
        {
            let what = What::Region(u64::from(held), u64::from(limits.ingress));
            self.ports.fail(now, port, what, cx);
            return;
        }
        input.held = held;
        self.ports.tally.note_ingress(held);
        let (class, slot) = self.class_at_ingress(packet, cx);
        let mut stored = Packet { class, ..*packet };
        if let Some(rules) = &cx.world.isolation
            && packet.kind == Kind::Data
            && packet.class == rules.lanes().congested
            && class == rules.lanes().monitored
        {
            stored.echo = CodePoint::Congestion;
            self.combined().inputs[usize::from(port)].strays += 1;
        }
        self.memory.used += u64::from(packet.size);
        self.charge(port, class, packet.size);
        self.line_up_at_ingress(&stored, out);
        if let Some(slot) = slot {
            self.isolate_at_ingress(&stored, packet.class, slot, cx);
        }
        self.mind_upstream(port, cx);
        self.try_input(port, cx);
    }

    /// Appends a packet to its ingress queue.
    pub(crate) fn line_up_at_ingress(&mut self, packet: &Packet, out: u16) {
        let at = self.ports.at(packet.port, packet.class);
        let combined =
            self.combined.as_deref_mut().expect("only switches with a combined crossbar come here");
        self.ports.pool.push(&mut combined.lines[at].fifo, packet);
        if combined.lines[at].out == NOWHERE {
            combined.lines[at].out = out;
            combined.outputs[usize::from(out)].wanted += 1;
        }
    }

    /// Takes the first packet of an ingress queue that is not empty, and sees where the next one wants to go.
    pub(crate) fn pop_at_ingress(&mut self, port: u16, class: u8) -> Packet {
        let at = self.ports.at(port, class);
        let combined =
            self.combined.as_deref_mut().expect("only switches with a combined crossbar come here");
        let line = &mut combined.lines[at];
        let packet = self.ports.pool.pop(&mut line.fifo);
        let next = if line.fifo.is_empty() {
            NOWHERE
        } else {
            self.forwarding.port_by_flow(self.ports.pool.first(line.fifo))
        };
        let before = std::mem::replace(&mut line.out, next);
        if before != next {
            combined.outputs[usize::from(before)].wanted -= 1;
            if next != NOWHERE {
                combined.outputs[usize::from(next)].wanted += 1;
            }
        }
        packet
    }

    /// The class `class` of an ingress port holds `size` bytes more.
    #[inline]
    pub(crate) fn charge(&mut self, port: u16, class: u8, size: u16) {
        let account = &mut self.memory.accounts[self.ports.at(port, class)];
        account.held.bytes += u32::from(size);
        account.peak = account.peak.max(account.held.bytes);
    }

    #[inline]
    pub(crate) fn discharge(&mut self, port: u16, class: u8, size: u16) {
        self.memory.accounts[self.ports.at(port, class)].held.bytes -= u32::from(size);
    }

    /// What an ingress port holds has changed: PAUSE or RESUME for some of its classes?
    #[inline]
    pub(crate) fn mind_upstream<P: Post<Packet>>(&mut self, port: u16, cx: &mut Ctx<'_, P>) {
        let limits = cx.world.combined.as_ref().expect("only switches with a combined crossbar come here");
        let input = &self.combined().inputs[usize::from(port)];
        if input.told == 0 && u64::from(input.held) < limits.calm {
            return;
        }
        let first = usize::from(port) * self.ports.classes;
        let mut held = [0; 8];
        for (held, account) in held.iter_mut().zip(&self.memory.accounts[first..first + self.ports.classes]) {
            *held = account.held.bytes;
        }
        let input = &self.combined().inputs[usize::from(port)];
        let (before, strays) = (input.told, input.strays);
        let strays = cx.world.isolation.as_ref().filter(|_| strays > 0).map(|rules| {
            let lanes = rules.lanes();
            Strays { of: lanes.congested, held_in: lanes.monitored }
        });
        let after = limits.bands.paused(&held, strays, before) & cx.world.lossless;
        if after != before {
            self.tell_upstream(port, before, after, cx);
        }
    }

    #[cold]
    fn tell_upstream<P: Post<Packet>>(&mut self, port: u16, before: u8, after: u8, cx: &mut Ctx<'_, P>) {
        self.combined().inputs[usize::from(port)].told = after;
        for class in 1..cx.world.classes.count {
            let bit = 1 << class;
            if (before ^ after) & bit != 0 {
                let decision = if after & bit != 0 { Decision::Pause } else { Decision::Resume };
                self.tell(port, class, decision, cx);
            }
        }
    }
}
