//! A packet that has to wait in a switch with output queues: is there room for it, and what follows from its being there.
use backwater_control::CodePoint;
use backwater_control::flow_control::Level;
use backwater_engine::{Post, mix};

use crate::ctx::Ctx;
use crate::packet::Packet;
use crate::record::DropReason;
use crate::spec::EarlyDrop;
use crate::switch::chassis::{Chassis, Fabric};
use crate::violation::What;
use crate::world::World;

/// Purpose of the draws of RED at queues that may lose; entity: node << 16 | ingress port, then the instant.
const EARLY_DROP: u64 = 0x4ed0;

impl Chassis {
    /// Books a packet that has to wait for `out`; false if there is no room for it: then it is dropped, or the run stops.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: since it can drop it is a call of its own, which costs 5 instructions a hop"
    )]
    pub(crate) fn admit<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) -> bool {
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        let fits = if cx.world.lossless & (1 << class) != 0 {
            self.memory.admit(port, class, size)
        } else if self.memory.is_credited(class) {
            self.memory.admit_credited(port, class, size)
        } else {
            self.admit_unpaused(packet, out, cx.world)
        };
        if !fits {
            self.no_room(packet, out, cx);
        }
        fits
    }

    /// A packet stands in its queue: its ingress port may be too full, its egress port may send.
    #[inline]
    pub(crate) fn stored<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let (port, class) = (packet.port, packet.class);
        if cx.world.lossless & (1 << class) != 0
            && !self.memory.account(self.ports.at(port, class)).stays_calm(0)
            && !self.memory.spares(port, class)
        {
            self.arrived(fabric, packet, cx);
        }
        let busy_until = self.ports.egress(out).busy_until();
        if busy_until > packet.time {
            self.ports.set_wake(out, busy_until);
        } else {
            self.send_next(fabric, out, cx);
        }
        self.ports.note_queue(out, class);
    }

    /// Something came in at an ingress port that may be too full: PAUSE for its class, or for all if the whole port
    /// is above its threshold?
    fn arrived<F: Fabric, P: Post<Packet>>(&mut self, fabric: &mut F, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let port = packet.port;
        let form = cx.world.pfc.form;
        let whole_port = self.memory.whole_port(port);
        for class in 1..cx.world.classes.count {
            if class == packet.class || (whole_port && cx.world.lossless & (1 << class) != 0) {
                let level = self.memory.level(port, class);
                if level == Level::AboveXoff {
                    self.memory.note_peak(port, class);
                }
                let outstanding = self.memory.account(self.ports.at(port, class)).is_outstanding();
                self.tell(fabric, port, class, form.on_arrival(level, outstanding), cx);
            }
        }
    }

    /// Books a packet of a class without flow control; false if its port or the memory has no room for it.
    #[inline(never)]
    fn admit_unpaused(&mut self, packet: &Packet, out: u16, world: &World) -> bool {
        let size = u32::from(packet.size);
        match world.lossy {
            Some(pool) if packet.class != 0 => {
                let queue = self.ports.queue(self.ports.at(out, packet.class)).bytes();
                !self.drops_early(packet, queue, world) && self.memory.admit_lossy(pool, queue, size)
            }
            _ => self.port_takes(out, packet, world) && self.memory.admit_unpaused(size),
        }
    }

    /// RED: whether a packet of a class that may lose is dropped for the `queue` bytes before it, though there is room. A function of the
    /// packet and its instant, as no two packets come by one port at once: asked again, it says the same.
    fn drops_early(&self, packet: &Packet, queue: u32, world: &World) -> bool {
        let Some(EarlyDrop { ramp, capable }) = world.early else { return false };
        let wire = u64::from(self.ports.node()) << 16 | u64::from(packet.port);
        let draw = || (mix(mix(world.seed, EARLY_DROP, wire), 0, packet.time) >> 32) as u32;
        (capable || packet.code == CodePoint::NotCapable) && ramp.hits(u64::from(queue), draw)
    }

    #[cold]
    fn no_room<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        if cx.world.most_at_port.is_some() {
            let at_port = self.port_takes(out, packet, cx.world);
            let reason = if at_port { DropReason::Memory } else { DropReason::PortBuffer };
            self.drop_packet(packet, out, reason, cx);
            return;
        }
        let size = u64::from(packet.size);
        let (used, capacity) = (self.memory.used(), self.memory.capacity());
        let full = used + size > capacity;
        if let Some(fault) = self.ports.overrun_by(packet.port, packet.class) {
            return self.ports.lose(packet, packet.port, DropReason::Headroom, fault, cx);
        }
        if cx.world.lossy.is_some() {
            let lossless = cx.world.lossless & (1 << packet.class) != 0;
            let reason = match (lossless, full) {
                // A CNP or an ACK that nobody sends again must not be lost in silence.
                (false, _) if packet.class == 0 => None,
                (false, _) => {
                    let queue = self.ports.queue(self.ports.at(out, packet.class)).bytes();
                    let early = self.drops_early(packet, queue, cx.world);
                    Some(if early { DropReason::Red } else { DropReason::Pool })
                }
                (true, false) => cx.world.drops_lossless.then_some(DropReason::Headroom),
                (true, true) => cx.world.drops_lossless.then_some(DropReason::Memory),
            };
            if let Some(reason) = reason {
                return self.drop_packet(packet, out, reason, cx);
            }
        }
        let what = if full {
            What::Buffer(used + size, capacity)
        } else {
            let account = self.memory.account(self.ports.at(packet.port, packet.class));
            What::Headroom(account.headroom() + size, self.memory.most_headroom(packet.port))
        };
        self.ports.fail(packet.time, packet.port, what, cx);
    }
}
