//! What every switch has, and what its fabric is asked.
use backwater_engine::{Post, Stream};

use crate::ctx::Ctx;
use crate::link::ingress::Memory;
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::observe::ground_truth::Truth;
use crate::packet::Packet;
use crate::switch::cioq::Cioq;
use crate::switch::forwarding::Forwarding;
use crate::switch::truth::Holder;
use crate::switch::voq::Voq;
use crate::user::UserQueues;
use crate::world::World;

/// Ports, packet memory, routes and detectors: what a switch has whatever its queues are like.
#[derive(Clone)]
pub(crate) struct Chassis {
    pub(crate) ports: Ports,
    pub(crate) memory: Memory,
    pub(crate) forwarding: Forwarding,
    /// Random streams of the detectors, by egress port.
    pub(crate) random: Vec<Stream>,
    /// What is kept for the ground truth, if it is recorded.
    pub(crate) truth: Option<Box<Truth>>,
    /// What a detector of the user's remembers.
    pub(crate) user: Option<Box<UserQueues>>,
}

/// Where the packets of a switch wait, and which of them leaves next.
pub(crate) trait Fabric: Sized {
    /// Sends what the idle port `out` may send, if anything.
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>);

    /// The queues of an egress port and class.
    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo];

    /// The gate of an egress queue has closed.
    fn gate_closed(&mut self, _chassis: &mut Chassis, _out: u16, _class: u8) {}

    /// The gate of an egress queue has opened.
    fn gate_opened(&mut self, _chassis: &mut Chassis, _out: u16, _class: u8, _now: u64) {}

    /// The egress queues that what came in by a port and class waits for, if nothing of it is leaving just now.
    fn waits_for(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        chassis.holders_at_rest(self, port, class, world)
    }

    /// A PAUSE for an ingress port is about to be sent, or fewer credits than line rate takes: records what holds its packets.
    fn note_hold<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        chassis.note_hold_at_egress(self, port, class, cx);
    }
}

/// The kinds of switches.
#[derive(Clone)]
pub(crate) enum SwitchFabric {
    /// One queue per egress port and class in a shared memory, in the order of arrival.
    Output,
    /// Queues by ingress port, credits, or weighted turns.
    Voq(Box<Voq>),
    /// Queues at both sides of a crossbar.
    Cioq(Box<Cioq>),
}

impl SwitchFabric {
    /// New credits have come for a class of a port.
    pub(crate) fn credit<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        if let Self::Voq(voq) = self {
            voq.fed(chassis, port, class, cx);
        }
    }

    /// A timer of the fabric's own.
    pub(crate) fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        purpose: Purpose,
        (port, argument): (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        match (self, purpose) {
            (Self::Cioq(cioq), Purpose::Crossed) => cioq.crossed(chassis, port, cx),
            (Self::Cioq(cioq), Purpose::Residency) => cioq.look_at_entry(chassis, argument, cx),
            _ => unreachable!("a switch has no queue pairs"),
        }
    }

    pub(crate) fn state_bytes(&self) -> usize {
        match self {
            Self::Output => 0,
            Self::Voq(voq) => voq.state_bytes(),
            Self::Cioq(cioq) => cioq.state_bytes(),
        }
    }
}

impl Fabric for SwitchFabric {
    #[inline]
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        match self {
            Self::Output => chassis.pull_in_order(self, out, cx),
            Self::Voq(voq) => voq.pull(chassis, out, cx),
            Self::Cioq(cioq) => cioq.pull(chassis, out, cx),
        }
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        match self {
            Self::Output => std::slice::from_ref(&ports.queues[at].fifo),
            Self::Voq(voq) => voq.fifos(ports, at),
            Self::Cioq(cioq) => cioq.fifos(ports, at),
        }
    }

    fn gate_closed(&mut self, chassis: &mut Chassis, out: u16, class: u8) {
        match self {
            Self::Output => {}
            Self::Voq(voq) => voq.gate_closed(chassis, out, class),
            Self::Cioq(cioq) => cioq.gate_closed(chassis, out, class),
        }
    }

    fn gate_opened(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        if let Self::Cioq(cioq) = self {
            cioq.gate_opened(chassis, out, class, now);
        }
    }

    fn waits_for(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        match self {
            Self::Output => chassis.holders_at_rest(self, port, class, world),
            Self::Voq(voq) => voq.waits_for(chassis, port, class, world),
            Self::Cioq(cioq) => cioq.waits_for(chassis, port, class, world),
        }
    }

    fn note_hold<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        match self {
            Self::Cioq(cioq) => cioq.note_hold(chassis, port, class, cx),
            Self::Output | Self::Voq(_) => chassis.note_hold_at_egress(self, port, class, cx),
        }
    }
}
