//! A switch whose memory is divided among egress queues and among ingress ports ([`backwater_control::flow_control::TwoPools`]).
//!
//! ```text
//!   arrive ── refused ─▶ dropped
//!     └─ booked at both sides ─▶ PAUSE, each time it is due ─▶ egress queue ─▶ unbooked ─▶ RESUME, if a PAUSE is in force ─▶ link
//! ```
//! Packets of the control priority are neither counted nor refused. Without PFC the same is refused, and nobody is told.
use backwater_control::flow_control::{Decision, Refusal, TwoPools};
use backwater_engine::Post;
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::link::queue::Fifo;
use crate::packet::Packet;
use crate::record::DropReason;
use crate::spec::TwoPoolsSpec;
use crate::switch::chassis::{Chassis, Fabric};
use crate::world::World;

/// Priorities that have a reserve, whether they are in use or not.
const PRIORITIES: u64 = 8;

/// What an ingress port and class holds.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Ingress {
    held: u32,
    /// Of it in the headroom.
    extra: u32,
    /// When the last PAUSE runs out.
    until: u64,
}

/// Its books.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Pooled {
    limits: TwoPools,
    ingress: Vec<Ingress>,
    /// What all hold.
    total: u64,
    /// What all egress queues have of their pool.
    taken: u64,
}

impl Pooled {
    /// Of a switch with so many ports and classes.
    pub(crate) fn new(spec: &TwoPoolsSpec, ports: usize, classes: usize, world: &World) -> Self {
        let (reserve, headroom) = (spec.reserve.get(), spec.headroom.get());
        let ports = ports as u64;
        let egress = world.buffer.saturating_sub(ports * PRIORITIES * reserve);
        let limits = TwoPools {
            buffer: world.buffer,
            egress: spec.egress.map_or(egress, Bytes::get),
            ingress: spec.ingress.map_or(egress.saturating_sub(ports * headroom), Bytes::get),
            egress_log_alpha: spec.egress_log_alpha,
            ingress_log_alpha: spec.ingress_log_alpha,
            reserve,
            headroom,
            hysteresis: spec.hysteresis.get(),
        };
        Self { limits, ingress: vec![Ingress::default(); ports as usize * classes], total: 0, taken: 0 }
    }

    /// Books a packet for a queue of `queue` bytes.
    fn book(&mut self, at: usize, queue: u64, size: u32) -> Result<(), Refusal> {
        let it = &mut self.ingress[at];
        let held = (u64::from(it.held), u64::from(it.extra), self.total);
        self.limits.admit((queue, self.taken), held, size)?;
        self.total += u64::from(size);
        self.taken += self.limits.pooled(queue + u64::from(size)) - self.limits.pooled(queue);
        it.held += size;
        it.extra += self.limits.charge(self.total, size);
        Ok(())
    }

    /// Unbooks one that has left a queue of `queue` bytes; its headroom empties first.
    fn unbook(&mut self, at: usize, queue: u64, size: u32) {
        let it = &mut self.ingress[at];
        self.total -= u64::from(size);
        self.taken -= self.limits.pooled(queue + u64::from(size)) - self.limits.pooled(queue);
        it.held -= size;
        it.extra -= size.min(it.extra);
    }

    /// What is to be told upstream, after an arrival or a departure.
    fn decide(&self, at: usize, came: bool, now: u64) -> Decision {
        let it = &self.ingress[at];
        let (held, extra) = (u64::from(it.held), u64::from(it.extra));
        // A PAUSE until RESUME is sent once.
        if came && it.until < u64::MAX && self.limits.pauses(held, extra, self.total) {
            Decision::Pause
        } else if !came && now < it.until && self.limits.resumes(held, extra, self.total) {
            Decision::Resume
        } else {
            Decision::Nothing
        }
    }

    /// Tells it.
    #[cold]
    fn tell<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        (port, class): (u16, u8),
        decision: Decision,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = chassis.ports.at(port, class);
        let pause = cx.world.pfc.form.pause();
        if decision == Decision::Pause && (chassis.truth.is_some() || chassis.roots.is_some()) {
            self.note_hold(chassis, port, class, cx);
        }
        if let Some(roots) = &mut chassis.roots {
            roots.told(at, decision, cx.now, pause);
        }
        chassis.memory.book(port, class, decision, cx.now, pause);
        let (paused, resumed) = if decision == Decision::Pause { (1 << class, 0) } else { (0, 1 << class) };
        let lasts = pause.map_or(u64::MAX, |pause| cx.now + pause.as_ps());
        self.ingress[at].until = if decision == Decision::Pause { lasts } else { 0 };
        chassis.ports.egress_mut(port).owe_pfc(paused, resumed);
        chassis.go(self, port, cx);
    }
}

impl Fabric for Pooled {
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        let at = chassis.ports.at(port, class);
        let is_lossless = cx.world.lossless & (1 << class) != 0;
        if class != 0 {
            let queue = u64::from(chassis.ports.queue(chassis.ports.at(out, class)).bytes());
            if let Err(refusal) = self.book(at, queue, size) {
                let reason = match refusal {
                    Refusal::Egress => DropReason::Pool,
                    Refusal::Memory => DropReason::Memory,
                    Refusal::Headroom => DropReason::Headroom,
                };
                return chassis.drop_packet(packet, out, reason, cx);
            }
            if is_lossless {
                chassis.memory.charge(at, packet.size);
            }
        }
        chassis.memory.occupy(packet.size);
        if is_lossless && self.decide(at, true, cx.now) == Decision::Pause {
            self.tell(chassis, (port, class), Decision::Pause, cx);
        }
        chassis.ports.enqueue(out, packet);
        chassis.go(self, out, cx);
        chassis.ports.note_queue(out, class);
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let packet = chassis.ports.dequeue(out, class);
        chassis.waited(&packet, out, cx);
        self.forget(chassis, &packet, out, cx.world);
        let code = chassis.depart(out, &packet, cx);
        chassis.ports.transmit(out, &packet, code, cx);
        self.may_resume(chassis, &packet, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }

    fn discarded<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        self.forget(chassis, packet, out, cx.world);
        self.may_resume(chassis, packet, cx);
    }

    fn pause_forgotten(&mut self, chassis: &Chassis, port: u16, class: u8) {
        self.ingress[chassis.ports.at(port, class)].until = 0;
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.ingress)
    }
}

impl Pooled {
    /// A packet has left: RESUME for where it came in?
    fn may_resume<P: Post<Packet>>(&mut self, chassis: &mut Chassis, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let (port, class) = (packet.port, packet.class);
        if cx.world.lossless & (1 << class) != 0
            && self.decide(chassis.ports.at(port, class), false, cx.now) == Decision::Resume
        {
            self.tell(chassis, (port, class), Decision::Resume, cx);
        }
    }

    /// A packet has left its queue.
    fn forget(&mut self, chassis: &mut Chassis, packet: &Packet, out: u16, world: &World) {
        let (class, at) = (packet.class, chassis.ports.at(packet.port, packet.class));
        if class != 0 {
            let queue = u64::from(chassis.ports.queue(chassis.ports.at(out, class)).bytes());
            self.unbook(at, queue, u32::from(packet.size));
            if world.lossless & (1 << class) != 0 {
                chassis.memory.discharge(at, packet.size);
            }
        }
        chassis.memory.release_unpaused(u32::from(packet.size));
    }
}
