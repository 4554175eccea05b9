//! Tail drop: a switch without flow control loses a packet for which it has no room, and says so.
//!
//! What is asked is the room at the instant of the arrival: of the egress port, for all priorities but the control one, and of
//! the packet memory, for all. A packet in transmission takes no room, nor does one that finds its port idle.
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::packet::Packet;
use crate::record::DropReason;
use crate::switch::chassis::Chassis;
use crate::world::World;

impl Chassis {
    /// Whether an egress port takes one more packet, if ports are limited.
    #[inline]
    pub(crate) fn port_takes(&self, out: u16, packet: &Packet, world: &World) -> bool {
        match world.most_at_port {
            Some(most) if packet.class != 0 => {
                u64::from(self.waiting_at(out)) + u64::from(packet.size) <= most
            }
            _ => true,
        }
    }

    /// A packet that was to leave by `out` is gone.
    #[cold]
    pub(crate) fn drop_packet<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        out: u16,
        reason: DropReason,
        cx: &mut Ctx<'_, P>,
    ) {
        self.ports.drop_packet(packet, out, reason, cx);
    }
}
