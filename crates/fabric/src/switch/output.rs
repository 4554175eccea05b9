//! The plain fabric: packets wait at their egress port, class by class, in a memory that all ports share.
use backwater_engine::Post;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::link::queue::Fifo;
use crate::packet::Packet;
use crate::record::DropReason;
use crate::switch::batch::Batched;
use crate::switch::chassis::{Chassis, Fabric};

/// It has nothing but the queues that every port has.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Output;

impl Fabric for Output {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is on the path of every packet that waits")]
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if chassis.admit(packet, out, cx) {
            chassis.ports.enqueue(out, packet);
            chassis.stored(self, packet, out, cx);
        }
    }

    #[inline]
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        chassis.pull_in_order(self, out, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }
}

impl Batched for Output {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is on the path of every packet that waits")]
    fn wait<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if chassis.port_takes(out, packet, cx.world) {
            chassis.memory.keep(packet, cx.world.lossless);
            chassis.ports.enqueue(out, packet);
            chassis.ports.note_queue(out, packet.class);
        } else {
            chassis.drop_packet(packet, out, DropReason::PortBuffer, cx);
        }
    }
}
