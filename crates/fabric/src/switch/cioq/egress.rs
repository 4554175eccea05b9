//! The egress side: packets by class before the gate, judged when they come or when they leave.
use backwater_control::CodePoint;
use backwater_control::arbitration::Head;
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::link::egress::pick;
use crate::packet::{Kind, Packet};
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::world::{Turns, World};
use backwater_control::detector::{MarkAt, MarkBasis};

impl Cioq {
    /// A packet has moved to the region of `out`.
    pub(crate) fn enter_egress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let mut packet = *packet;
        if packet.kind == Kind::Data {
            packet.echo = CodePoint::NotCapable;
        }
        let fresh = self.isolate_at_egress(chassis, &mut packet, out, cx);
        if packet.kind == Kind::Data {
            chassis.judge_at_arrival(&mut packet, out, cx);
        }
        chassis.ports.enqueue(out, &packet);
        if fresh {
            self.settle_all(chassis, cx);
        } else {
            self.settle_output(chassis, out, cx.now, cx.world);
        }
    }

    /// Sends what an idle port may send, if anything.
    pub(crate) fn send_from_egress<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let Some(class) = self.choose_at_egress(chassis, out, cx.world) else { return };
        let packet = chassis.ports.dequeue(out, class);
        if class == 0 {
            chassis.ports.count_sent(out, &packet);
            chassis.ports.transmit(out, &packet, packet.code, cx);
            return;
        }
        chassis.waited(&packet, out, cx);
        chassis.memory.release_unpaused(u32::from(packet.size));
        self.outputs[usize::from(out)].taken -= u32::from(packet.size);
        if let Some(flows) = &mut self.isolation {
            flows.leaves_egress(chassis, &packet, out, cx.now, cx.world);
        }
        let code = chassis.judge_at_departure(out, &packet, cx);
        chassis.ports.transmit_unflagged(out, &packet, code, cx);
        self.settle_output(chassis, out, cx.now, cx.world);
        self.try_output(chassis, out, cx);
    }

    /// The class that an idle port serves now, of those that wait at an open gate.
    fn choose_at_egress(&mut self, chassis: &mut Chassis, out: u16, world: &World) -> Option<u8> {
        let egress = chassis.ports.egress(out);
        let ready = egress.waiting() & !egress.paused();
        if ready == 0 {
            return None;
        }
        let Some(Turns::Deficit(quanta)) = &world.turns else {
            return Some(pick(ready, egress.turn(), world.round_robin));
        };
        if ready & 1 != 0 {
            return Some(0);
        }
        let (ports, deficits) = (&chassis.ports, &mut self.deficits);
        deficits[usize::from(out)].pick(quanta, ready, |class| {
            let queue = ports.queue(ports.at(out, class));
            let bytes = u32::from(ports.pool().first(*queue.fifo()).size);
            Head { bytes, last: queue.bytes() == bytes }
        })
    }
}

impl Chassis {
    /// Detectors may look at packets as they come into the egress queue.
    fn judge_at_arrival<P: Post<Packet>>(&mut self, packet: &mut Packet, out: u16, cx: &mut Ctx<'_, P>) {
        let queue = self.ports.queue(self.ports.at(out, packet.class)).bytes();
        if cx.world.mark.at == MarkAt::Dequeue {
            let detector = &cx.world.detectors[usize::from(self.ports.egress(out).detector())];
            if detector.on_arrival(u64::from(queue)) {
                packet.echo = CodePoint::Congestion;
            }
            return;
        }
        let others = match cx.world.mark.basis {
            MarkBasis::Queue => queue,
            MarkBasis::Port => self.waiting_at(out),
        };
        let with_it = u64::from(others) + u64::from(packet.size);
        let code = self.ask_detector(out, packet, with_it, cx);
        if code != packet.code {
            packet.code = code;
            packet.echo = CodePoint::Congestion;
        }
    }

    fn judge_at_departure<P: Post<Packet>>(
        &mut self,
        out: u16,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) -> CodePoint {
        if cx.world.mark.at == MarkAt::Dequeue {
            if packet.is_flagged() || cx.world.mark.basis == MarkBasis::Port {
                self.ports.count_sent(out, packet);
                return self.judge(out, packet, cx);
            }
            return self.depart(out, packet, cx);
        }
        self.ports.count_sent(out, packet);
        if self.truth.is_some() {
            let mut came = *packet;
            if packet.is_flagged() {
                came.code = CodePoint::Capable;
            }
            self.crowd(out, &came, packet.code, cx);
        }
        packet.code
    }
}
