//! The crossbar: which packet moves next, and what happens when it has moved.
use backwater_engine::Post;

use super::{Cioq, NOWHERE};
use crate::ctx::Ctx;
use crate::link::egress::pick;
use crate::packet::Packet;
use crate::switch::chassis::Chassis;

impl Cioq {
    /// Whether nothing keeps packets from moving to `out` but lack of room.
    #[inline]
    fn is_idle(&self, out: u16) -> bool {
        !(self.limits.single && self.outputs[usize::from(out)].moving > 0)
    }

    /// Whether the region of `out`, and the part of a class in it, have room for so many bytes.
    #[inline]
    fn has_room(&self, chassis: &Chassis, class: u8, size: u32, out: u16) -> bool {
        let (limits, output) = (&self.limits, &self.outputs[usize::from(out)]);
        let own =
            chassis.ports.queue(chassis.ports.at(out, class)).bytes() + output.coming[usize::from(class)];
        output.taken + size <= limits.egress && own + size <= limits.caps[usize::from(class)]
    }

    /// Whether the first packet of an ingress queue could move to `out` now.
    #[inline]
    fn fits_at_egress(&self, chassis: &Chassis, at: usize, class: u8, out: u16) -> bool {
        let size = || u32::from(chassis.ports.pool().first(self.lines[at].fifo).size);
        self.is_idle(out) && self.has_room(chassis, class, size(), out)
    }

    /// Whether a packet that has just come in can move to `out` at once, as if its ingress queue were not there: nothing waits before it,
    /// and nobody upstream need be notified.
    #[inline]
    pub(crate) fn passes_by(&self, chassis: &Chassis, packet: &Packet, out: u16) -> bool {
        let input = &self.inputs[usize::from(packet.port)];
        !input.busy
            && input.lined == 0
            && self.is_calm(input)
            && self.is_idle(out)
            && self.has_room(chassis, packet.class, u32::from(packet.size), out)
    }

    /// The classes of an ingress port whose first packet could move now, only to `to` if that is a port.
    #[inline]
    fn ready_at_ingress(&self, chassis: &Chassis, port: u16, to: u16) -> u8 {
        let (mut ready, mut lined) = (0, self.inputs[usize::from(port)].lined);
        while lined != 0 {
            let class = lined.trailing_zeros() as u8;
            lined &= lined - 1;
            let at = chassis.ports.at(port, class);
            let out = self.lines[at].out;
            if (to == NOWHERE || out == to) && self.fits_at_egress(chassis, at, class, out) {
                ready |= 1 << class;
            }
        }
        ready
    }

    /// An ingress port that may be idle: moves the first packet of its next class for which there is room, if any.
    #[inline]
    pub(crate) fn try_input<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let input = &self.inputs[usize::from(port)];
        if input.busy || input.lined == 0 {
            return;
        }
        let ready = self.ready_at_ingress(chassis, port, NOWHERE);
        if ready != 0 {
            self.start_to_move(chassis, port, pick(ready, input.turn, true), cx);
        }
    }

    /// There is room at an egress port, or its side of the crossbar is idle: the ingress ports take turns, and in each its classes.
    #[inline]
    pub(crate) fn try_output<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        while self.is_wanted(out)
            && let Some((port, class)) = self.next_for(chassis, out)
        {
            self.start_to_move(chassis, port, class, cx);
        }
    }

    /// Whether packets wait for an egress port whose side of the crossbar is idle.
    #[inline]
    fn is_wanted(&self, out: u16) -> bool {
        self.outputs[usize::from(out)].wanted > 0 && self.is_idle(out)
    }

    /// The ingress port whose turn it is to move a packet to `out`, and the class of that.
    fn next_for(&self, chassis: &Chassis, out: u16) -> Option<(u16, u8)> {
        let mut next = None;
        let mut longest = u64::MAX;
        for ((port, input), served) in (0..).zip(&self.inputs).zip(self.served_by(out)) {
            if *served < longest && !input.busy && input.lined != 0 {
                let ready = self.ready_at_ingress(chassis, port, out);
                if ready != 0 {
                    longest = *served;
                    next = Some((port, pick(ready, input.turn, true)));
                }
            }
        }
        next
    }

    fn start_to_move<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        let out =
            self.lines[usize::from(port) * usize::from(cx.world.classes.count) + usize::from(class)].out;
        let packet = self.pop_at_ingress(chassis, port, class);
        self.move_to(chassis, &packet, out, cx);
        self.left_line(chassis, &packet, cx);
    }

    /// A packet begins to move to `out`.
    #[inline]
    pub(crate) fn move_to<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        let [from, to] = [port, out].map(|port| chassis.ports.egress(port).wire_time(packet.size));
        let output = &mut self.outputs[usize::from(out)];
        output.coming[usize::from(class)] += size;
        output.taken += size;
        let taken = output.taken;
        output.moving += 1;
        self.serve(out, port);
        let input = &mut self.inputs[usize::from(port)];
        input.busy = true;
        input.turn = class;
        input.moving = *packet;
        input.out = out;
        chassis.ports.isolation_counts_mut().note_egress(taken);
        let end = cx.now + (from.min(to) * 100).div_ceil(self.limits.speedup_percent);
        chassis.ports.set_crossing(end, port);
    }

    /// The packet of an ingress port has moved.
    pub(crate) fn crossed<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, cx: &mut Ctx<'_, P>) {
        let input = &mut self.inputs[usize::from(port)];
        input.busy = false;
        let (packet, out) = (input.moving, input.out);
        let size = u32::from(packet.size);
        input.held -= size;
        if packet.is_flagged() {
            input.strays -= 1;
        }
        let output = &mut self.outputs[usize::from(out)];
        output.coming[usize::from(packet.class)] -= size;
        output.moving -= 1;
        chassis.memory.discharge(chassis.ports.at(port, packet.class), packet.size);
        self.enter_egress(chassis, &packet, out, cx);
        self.mind_upstream(chassis, port, cx);
        chassis.send_next(self, out, cx);
        chassis.ports.note_queue(out, packet.class);
        self.try_output(chassis, out, cx);
        self.try_input(chassis, port, cx);
    }
}
