//! What every switch has, what its fabric is asked, and the list of fabrics.
use backwater_engine::{Post, Stream};
use backwater_topology::Network;
use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ingress::Memory;
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::observe::ground_truth::Truth;
use crate::observe::roots::Roots;
use crate::packet::Packet;
use crate::spec::Queueing;
use crate::switch::cioq::Cioq;
use crate::switch::forwarding::Forwarding;
use crate::switch::keyed::Keyed;
use crate::switch::keyed::bfc::Bfc;
use crate::switch::keyed::dst_pfc::DstPfc;
use crate::switch::keyed::floodgate::Floodgate;
use crate::switch::keyed::pyrrha::Pyrrha;
use crate::switch::keyed::recn::Recn;
use crate::switch::keyed::sfc::Sfc;
use crate::switch::output::Output;
use crate::switch::trimming::Trimmer;
use crate::switch::truth::Holder;
use crate::switch::two_pools::Pooled;
use crate::switch::voq::order::{InTurn, InputFifos, Oldest};
use crate::switch::voq::{self, Voq};
use crate::user::UserQueues;
use crate::world::World;

/// Ports, packet memory, routes and detectors: what a switch has whatever its queues are like.
#[derive(Clone)]
pub(crate) struct Chassis {
    pub(super) ports: Ports,
    pub(super) memory: Memory,
    pub(super) forwarding: Forwarding,
    /// Random streams of the detectors, by egress port.
    pub(super) random: Vec<Stream>,
    /// What is kept for the ground truth, if it is recorded.
    pub(super) truth: Option<Box<Truth>>,
    /// Which queues are roots, if a detector asks.
    pub(super) roots: Option<Box<Roots>>,
    /// What a detector of the user's remembers.
    pub(super) user: Option<Box<UserQueues>>,
}

/// Where the packets of a switch wait, and which of them leaves next.
///
/// Three verbs a fabric must have; the others are for what only some have: timers, frames and gates of their own, places beside the
/// egress queues.
pub(crate) trait Fabric: Sized {
    /// A packet for `out` that could not [pass](Chassis::may_pass) has come.
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    );

    /// Sends what the idle port `out` may send, if anything.
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>);

    /// The queues of an egress port and class.
    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo];

    /// Takes a packet out of an egress queue, whatever its gate.
    fn discard(&mut self, chassis: &mut Chassis, out: u16, class: u8, _now: u64) -> Option<Packet> {
        let waits = !chassis.ports.queue(chassis.ports.at(out, class)).fifo().is_empty();
        waits.then(|| chassis.ports.dequeue(out, class))
    }

    /// What was taken out so leaves the memory.
    fn discarded<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        _out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        chassis.let_go(self, packet, cx);
        if chassis.memory.is_credited(packet.class) {
            let class = chassis.came_in(packet, cx.world);
            chassis.ports.give_back(&Packet { class, ..*packet }, cx.now);
        }
    }

    /// A PAUSE that was sent for an ingress port has no effect any more, by a fault.
    fn pause_forgotten(&mut self, _chassis: &Chassis, _port: u16, _class: u8) {}

    /// The link of a port has another rate, or is to be looked at anew.
    fn rate_changed(&mut self, _ports: &mut Ports, _port: u16, _rate: Rate, _world: &World) {}

    /// New credits have come for a class of a port.
    fn credit<P: Post<Packet>>(
        &mut self,
        _chassis: &mut Chassis,
        _port: u16,
        _class: u8,
        _cx: &mut Ctx<'_, P>,
    ) {
    }

    /// A PFC frame has come at a port.
    fn pfc(&mut self, _port: u16, _now: u64) {}

    /// A frame of the link has come that is neither PFC nor a credit update.
    fn frame<P: Post<Packet>>(&mut self, _chassis: &mut Chassis, _frame: &Packet, _cx: &mut Ctx<'_, P>) {}

    /// A timer of the fabric's own.
    fn timer<P: Post<Packet>>(
        &mut self,
        _chassis: &mut Chassis,
        purpose: Purpose,
        _at: (u16, u32),
        _cx: &mut Ctx<'_, P>,
    ) {
        unreachable!("nobody here sets a timer for {purpose:?}")
    }

    /// The gate of an egress queue has closed.
    fn gate_closed(&mut self, _chassis: &mut Chassis, _out: u16, _class: u8, _now: u64) {}

    /// The gate of an egress queue has opened.
    fn gate_opened(&mut self, _chassis: &mut Chassis, _out: u16, _class: u8, _now: u64) {}

    /// What the closed gates wait for: those of classes, or of what within a class has one.
    fn waits(&self, chassis: &Chassis) -> Vec<Wait> {
        chassis.ports.waits().collect()
    }

    /// The egress queues that hold what came in by a port and class.
    fn holders(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        chassis.holders_at_egress(self, port, class, world)
    }

    /// Sizes of the packets of an egress queue of which one leaves next.
    fn first_sizes(&self, ports: &Ports, at: usize) -> Vec<u16> {
        let fifos = self.fifos(ports, at).iter().filter(|fifo| !fifo.is_empty());
        fifos.map(|fifo| ports.pool().first(*fifo).size).collect()
    }

    /// Picoseconds for which the port of an egress queue was free while all packets for it stood behind others.
    fn blocked(&self, _ports: &Ports, _at: usize, _now: u64) -> u64 {
        0
    }

    /// The most queues of an egress port and class that had packets at a time, where it is them that a scheme has few of.
    fn most_queues(&self) -> Option<u32> {
        None
    }

    /// The egress queues that what came in by a port waits for, as far as a gate upstream holds it back, if nothing of it is
    /// leaving just now.
    fn waits_for(&self, chassis: &Chassis, port: u16, scope: Scope, world: &World) -> Vec<Holder> {
        chassis.holders_at_rest(self, port, scope.class, world)
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

    /// As which of those that were let go at one instant a port was told so, if what it sends since `began` comes of that.
    fn let_go_as(&self, _port: u16, _began: u64) -> u32 {
        0
    }

    /// Packets on their way across a crossbar.
    fn crossing(&self) -> Vec<Packet> {
        Vec::new()
    }

    /// Packets that wait elsewhere than before a gate: at the ingress port and class of this number.
    fn waiting_at_ingress(&self, chassis: &Chassis, at: usize) -> usize {
        let own = |packet: &Packet| chassis.ports.at(packet.port, packet.class) == at;
        self.apart(chassis).into_iter().filter(own).count()
    }

    /// Packets that wait in the memory of all ports, but at none of them.
    fn apart(&self, _chassis: &Chassis) -> Vec<Packet> {
        Vec::new()
    }

    /// Packets that it has made itself, which go to hosts.
    fn made(&self) -> u64 {
        0
    }

    /// The first account that is not what is there at the end of a run, in words.
    fn check(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        chassis.check_memory(self, world)
    }

    /// Bytes of its state.
    fn state_bytes(&self) -> usize {
        0
    }
}

/// The kinds of switches. A new one is a variant, an arm of `of!`, and a line of [`SwitchFabric::new`].
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) enum SwitchFabric {
    /// One queue per egress port and class in a shared memory, in the order of arrival.
    Output(Output),
    /// The same without a shared memory: packets without room are trimmed.
    Trimmed(Box<Trimmer>),
    /// Queues by ingress port, credits, or weighted turns.
    Voq(Box<Voq<InTurn>>),
    /// The same, and the oldest packet goes first.
    Oldest(Box<Voq<Oldest>>),
    /// One FIFO for each ingress port.
    Input(Box<Voq<InputFifos>>),
    /// Queues at both sides of a crossbar.
    Cioq(Box<Cioq>),
    /// A memory that is divided among egress queues and among ingress ports.
    Pooled(Box<Pooled>),
    /// Queues of flows, which are held upstream.
    Bfc(Box<Keyed<Bfc>>),
    /// Queues of destinations, which are held upstream.
    DstPfc(Box<Keyed<DstPfc>>),
    /// Windows of destinations, and queues for what finds none left.
    Floodgate(Box<Floodgate>),
    /// Queues of roots, which are held upstream.
    Pyrrha(Box<Keyed<Pyrrha>>),
    /// Queues set aside for roots, which are held upstream.
    Recn(Box<Keyed<Recn>>),
    /// One queue per egress port and class; a long one makes sources pause.
    Sfc(Box<Sfc>),
}

/// Asks the fabric that it is.
macro_rules! of {
    ($fabric:expr, $it:ident => $ask:expr) => {
        match $fabric {
            SwitchFabric::Output($it) => $ask,
            SwitchFabric::Trimmed($it) => $ask,
            SwitchFabric::Voq($it) => $ask,
            SwitchFabric::Oldest($it) => $ask,
            SwitchFabric::Input($it) => $ask,
            SwitchFabric::Cioq($it) => $ask,
            SwitchFabric::Pooled($it) => $ask,
            SwitchFabric::Bfc($it) => $ask,
            SwitchFabric::DstPfc($it) => $ask,
            SwitchFabric::Floodgate($it) => $ask,
            SwitchFabric::Pyrrha($it) => $ask,
            SwitchFabric::Recn($it) => $ask,
            SwitchFabric::Sfc($it) => $ask,
        }
    };
}

impl SwitchFabric {
    /// The fabric of a switch: the first one that the settings ask for.
    pub(crate) fn new(node: u32, network: &Network, ports: &Ports, world: &World) -> Self {
        let (count, classes) = (usize::from(ports.count()), ports.classes());
        let queues = count * classes;
        if let Some(rules) = world.trimming {
            return Self::Trimmed(Box::new(Trimmer::new(node, network, ports, rules)));
        }
        match world.queueing {
            Queueing::Bfc(spec) => Self::Bfc(Box::new(Bfc::switch(node, network, classes, spec, world.seed))),
            Queueing::DstPfc(spec) => Self::DstPfc(Box::new(DstPfc::switch(node, network, classes, spec))),
            Queueing::Floodgate(spec) => Self::Floodgate(Box::new(Floodgate::new(node, network, spec))),
            Queueing::Combined(_) => Self::Cioq(Cioq::new(node, network, classes, world)),
            Queueing::TwoPools(spec) => Self::Pooled(Box::new(Pooled::new(&spec, count, classes, world))),
            Queueing::Output if !voq::is_needed(world) => Self::Output(Output),
            Queueing::Output | Queueing::Shared => {
                Self::Voq(Box::new(Voq::new(count, classes, 1, InTurn, world)))
            }
            Queueing::VirtualOutput => Self::Voq(Box::new(Voq::new(count, classes, count, InTurn, world))),
            Queueing::OldestFirst => {
                Self::Oldest(Box::new(Voq::new(count, classes, count, Oldest::default(), world)))
            }
            Queueing::Pyrrha(spec) => {
                let of = (ports.all_egress(), world);
                Self::Pyrrha(Box::new(Pyrrha::switch(node, network, classes, spec, of)))
            }
            Queueing::Recn(spec) => Self::Recn(Box::new(Recn::switch(node, network, classes, spec))),
            Queueing::Sfc(spec) => Self::Sfc(Box::new(Sfc::new(node, network, spec))),
            Queueing::Input => {
                Self::Input(Box::new(Voq::new(count, classes, queues, InputFifos::new(queues), world)))
            }
        }
    }
}

impl Fabric for SwitchFabric {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is on the path of every packet that waits")]
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        of!(self, it => it.arrive(chassis, packet, out, cx));
    }

    #[inline]
    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        of!(self, it => it.pull(chassis, out, cx));
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        of!(self, it => it.fifos(ports, at))
    }

    fn discard(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) -> Option<Packet> {
        of!(self, it => it.discard(chassis, out, class, now))
    }

    fn discarded<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        of!(self, it => it.discarded(chassis, packet, out, cx));
    }

    fn pause_forgotten(&mut self, chassis: &Chassis, port: u16, class: u8) {
        of!(self, it => it.pause_forgotten(chassis, port, class));
    }

    fn rate_changed(&mut self, ports: &mut Ports, port: u16, rate: Rate, world: &World) {
        of!(self, it => it.rate_changed(ports, port, rate, world));
    }

    fn credit<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        of!(self, it => it.credit(chassis, port, class, cx));
    }

    fn pfc(&mut self, port: u16, now: u64) {
        of!(self, it => it.pfc(port, now));
    }

    fn frame<P: Post<Packet>>(&mut self, chassis: &mut Chassis, frame: &Packet, cx: &mut Ctx<'_, P>) {
        of!(self, it => it.frame(chassis, frame, cx));
    }

    fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        purpose: Purpose,
        at: (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        of!(self, it => it.timer(chassis, purpose, at, cx));
    }

    fn gate_closed(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        of!(self, it => it.gate_closed(chassis, out, class, now));
    }

    fn gate_opened(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        of!(self, it => it.gate_opened(chassis, out, class, now));
    }

    fn waits(&self, chassis: &Chassis) -> Vec<Wait> {
        of!(self, it => it.waits(chassis))
    }

    fn holders(&self, chassis: &Chassis, port: u16, class: u8, world: &World) -> Vec<Holder> {
        of!(self, it => it.holders(chassis, port, class, world))
    }

    fn first_sizes(&self, ports: &Ports, at: usize) -> Vec<u16> {
        of!(self, it => it.first_sizes(ports, at))
    }

    fn blocked(&self, ports: &Ports, at: usize, now: u64) -> u64 {
        of!(self, it => it.blocked(ports, at, now))
    }

    fn most_queues(&self) -> Option<u32> {
        of!(self, it => it.most_queues())
    }

    fn waits_for(&self, chassis: &Chassis, port: u16, scope: Scope, world: &World) -> Vec<Holder> {
        of!(self, it => it.waits_for(chassis, port, scope, world))
    }

    fn note_hold<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        of!(self, it => it.note_hold(chassis, port, class, cx));
    }

    fn let_go_as(&self, port: u16, began: u64) -> u32 {
        of!(self, it => it.let_go_as(port, began))
    }

    fn crossing(&self) -> Vec<Packet> {
        of!(self, it => it.crossing())
    }

    fn waiting_at_ingress(&self, chassis: &Chassis, at: usize) -> usize {
        of!(self, it => it.waiting_at_ingress(chassis, at))
    }

    fn apart(&self, chassis: &Chassis) -> Vec<Packet> {
        of!(self, it => it.apart(chassis))
    }

    fn check(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        of!(self, it => it.check(chassis, world))
    }

    fn state_bytes(&self) -> usize {
        of!(self, it => it.state_bytes())
    }
}
