//! A switch with queues at both sides of a crossbar that is faster than the links (combined input and output queueing).
//!
//! ```text
//!   link ─▶ ingress region ─▶ ▯▯▯ per class ─┐ whole packets, at speedup times the faster link
//!                              ▯▯▯            ├─▶ egress region ─▶ ▯▯▯ per class ─▶ arbiter & gate ─▶ link
//!   PFC counts here ◀──────────┘             │                    ▯▯▯  detectors look here
//!                       next ingress port ───┘
//! ```
//! A packet holds its place in the ingress region until it has moved completely, and a place in the egress region from when it
//! begins to move until it starts to leave. The first packet of an ingress queue holds up those behind it when its egress region,
//! or the share of its class in it, is full: this is the head-of-line blocking that congestion isolation is about.
//! The way of a packet:
//!
//! 1. `ingress.rs`: the packet stands in the queue of its class at the ingress port. PFC counts bytes of that queue and of the port:
//!    at the stop of the queue it pauses the class, at the stop of the port every class. A packet that can move at once passes by the queue.
//! 2. `crossing.rs`: the first packet of a queue moves to the egress region faster than links are (speedup), if that region and the
//!    part of its class have room. Until then it holds up all behind it. Its place at the ingress is free when it has moved.
//! 3. `egress.rs`: detectors judge the packet as it joins the egress queue or as it leaves it. The arbiter chooses a class by weights.
//! 4. `audit.rs` adds up regions, tables and counters at the end of a run. A difference is a broken invariant (exit code 3).
//!
//! Source: ICI paper, sections 3 and 4.1 (a shared memory with 256 KB for each egress port, as much for ingress and margin, PFC
//! per ingress port, a fabric of twice the speed of the links). Control frames (CNP) go straight to their egress port.
mod audit;
mod crossing;
mod egress;
mod ingress;
pub(crate) mod isolation;
mod truth;

use backwater_control::CodePoint;
use backwater_control::arbitration::Drr;
use backwater_control::detector::Detector;
use backwater_control::flow_control::Bands;
use backwater_engine::Post;
use backwater_topology::Network;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::Scope;
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::packet::{Kind, Packet};
use crate::spec::{Combined as Settings, Crossings};
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::cioq::isolation::CongestedFlows;
use crate::switch::truth::Holder;
use crate::world::{Classes, World};

/// No egress port: an ingress queue without packets.
pub(crate) const NOWHERE: u16 = u16::MAX;

/// [`Settings`] by class.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Limits {
    speedup_percent: u64,
    ingress: u32,
    egress: u32,
    caps: [u32; 8],
    single: bool,
    bands: Bands,
    /// An ingress port that holds less than this, of whatever class, pauses nobody.
    calm: u64,
}

impl Limits {
    pub(crate) const fn speedup_percent(&self) -> u64 {
        self.speedup_percent
    }

    pub(crate) fn new(settings: &Settings, classes: &Classes) -> Self {
        let priority = |class: usize| usize::from(classes.priority(class as u8 % classes.count));
        let bytes = |bytes: backwater_units::Bytes| bytes.get().min(u64::from(u32::MAX)) as u32;
        Self {
            speedup_percent: u64::from(settings.speedup_percent),
            ingress: bytes(settings.ingress),
            egress: bytes(settings.egress),
            caps: std::array::from_fn(|class| bytes(settings.caps[priority(class)])),
            single: settings.crossbar == Crossings::Single,
            calm: settings.bands.own.iter().map(|band| band.stop).fold(settings.bands.port.stop, u64::min),
            bands: Bands {
                own: std::array::from_fn(|class| settings.bands.own[priority(class)]),
                port: settings.bands.port,
            },
        }
    }
}

/// An ingress queue.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct IngressQueue {
    fifo: Fifo,
    /// The egress port of its first packet.
    out: u16,
}

/// An ingress port.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Input {
    /// The packet on its way across the crossbar, and to which port; meaningless while not `busy`.
    moving: Packet,
    out: u16,
    busy: bool,
    /// Class served last.
    turn: u8,
    /// Classes in whose queues packets stand, a bit each.
    lined: u8,
    /// Classes that it holds paused upstream, a bit each.
    paused: u8,
    /// Bytes of its region in use.
    held: u32,
    /// Packets of the monitored class that came in the congested class.
    strays: u32,
}

/// An egress port.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Output {
    /// Bytes on their way to it, by class.
    coming: [u32; 8],
    /// Bytes of its region in use: waiting, or on their way.
    taken: u32,
    /// Packets on their way.
    moving: u16,
    /// Ingress queues whose first packet wants to go there.
    wanted: u16,
    /// When a frame of the link's flow control arrived last; `u64::MAX` if none did.
    last_pfc: u64,
}

/// The state of such a switch beside its egress queues.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Cioq {
    /// `lines[port * classes + class]`
    lines: Vec<IngressQueue>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// For each egress port when it served the ingress ports last, by the number of the service: the one served longest ago goes first.
    /// Ports in turn, but one that finds no room for its class when its turn comes keeps it: by a mere pointer, others that find room
    /// would take it for ever.
    served: Vec<u64>,
    services: u64,
    /// Per egress port, if turns go by deficits.
    deficits: Vec<Drr>,
    /// Whether detectors look at arrivals.
    arrivals: bool,
    limits: Limits,
    /// What keeps congesting flows apart, if anything.
    isolation: Option<Box<CongestedFlows>>,
}

impl Cioq {
    pub(crate) fn new(node: u32, network: &Network, classes: usize, world: &World) -> Box<Self> {
        let limits = world.combined.expect("its regions are in the settings");
        let ports = network.ports(node).len();
        let input = Input {
            moving: Packet::NONE,
            out: NOWHERE,
            busy: false,
            turn: 0,
            lined: 0,
            paused: 0,
            held: 0,
            strays: 0,
        };
        let output = Output { coming: [0; 8], taken: 0, moving: 0, wanted: 0, last_pfc: u64::MAX };
        Box::new(Self {
            lines: vec![IngressQueue { fifo: Fifo::default(), out: NOWHERE }; ports * classes],
            inputs: vec![input; ports],
            outputs: vec![output; ports],
            served: (0..ports).flat_map(|_| 0..ports as u64).collect(),
            services: ports as u64,
            limits,
            isolation: CongestedFlows::new(node, network, world),
            arrivals: world.detectors.iter().any(Detector::wants_arrivals),
            deficits: if world.turns.is_some() { vec![Drr::default(); ports] } else { Vec::new() },
        })
    }

    /// When `out` served each ingress port last.
    fn served_by(&self, out: u16) -> &[u64] {
        let ports = self.inputs.len();
        &self.served[usize::from(out) * ports..][..ports]
    }

    /// `out` serves an ingress port: it comes last now.
    #[inline]
    fn serve(&mut self, out: u16, port: u16) {
        self.served[usize::from(out) * self.inputs.len() + usize::from(port)] = self.services;
        self.services += 1;
    }
}

impl Fabric for Cioq {
    #[inline]
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        self.come_in(chassis, packet, out, cx);
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        self.send_from_egress(chassis, out, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }

    fn pfc(&mut self, port: u16, now: u64) {
        self.outputs[usize::from(port)].last_pfc = now;
    }

    fn frame<P: Post<Packet>>(&mut self, chassis: &mut Chassis, frame: &Packet, cx: &mut Ctx<'_, P>) {
        self.take_cim(chassis, frame, cx);
    }

    fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        purpose: Purpose,
        (port, argument): (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        match purpose {
            Purpose::Crossed => self.crossed(chassis, port, cx),
            Purpose::Residency => self.look_at_entry(chassis, argument, cx),
            other => unreachable!("no crossbar sets a timer for {other:?}"),
        }
    }

    fn waits_for(&self, chassis: &Chassis, port: u16, scope: Scope, world: &World) -> Vec<Holder> {
        self.waits_across(chassis, port, scope.class, world)
    }

    /// What stands before the gate is delayed by lack of credits, no candidate for a mark.
    fn gate_closed(&mut self, chassis: &mut Chassis, out: u16, class: u8, _now: u64) {
        let fifo = *chassis.ports.queue(chassis.ports.at(out, class)).fifo();
        if self.arrivals && !fifo.is_empty() && chassis.ports.pool().first(fifo).kind == Kind::Data {
            chassis.ports.pool_mut().first_mut(fifo).echo = CodePoint::NotCapable;
        }
    }

    fn gate_opened(&mut self, chassis: &mut Chassis, out: u16, class: u8, now: u64) {
        if let Some(flows) = &mut self.isolation
            && class == flows.rules.lanes.congested
        {
            flows.arm_entries_of(chassis, out, now);
        }
    }

    fn note_hold<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        self.note_hold_at_ingress(chassis, port, class, cx);
    }
    fn crossing(&self) -> Vec<Packet> {
        self.inputs.iter().filter(|input| input.busy).map(|input| input.moving).collect()
    }

    fn waiting_at_ingress(&self, chassis: &Chassis, at: usize) -> usize {
        self.in_line(chassis, at).count()
    }

    fn check(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        self.check_regions(chassis, world)
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.lines)
            + size_of_val(&*self.inputs)
            + size_of_val(&*self.outputs)
            + size_of_val(&*self.served)
            + size_of_val(&*self.deficits)
            + self.isolation.as_ref().map_or(0, |flows| flows.state_bytes())
    }
}
