//! Source flow control: signals to the sources of what comes to a long queue. When, and for how long these pause, is the rule of
//! [`backwater_control::isolation::sfc`].
//!
//! ```text
//!   link ─▶ egress queue ─▶ link
//!             ▲ too long: a Halt frame to the source, by the way back of the flow, before all priorities
//! ```
//! 1. The queues are those of a plain switch, with PFC beside it or without.
//! 2. A [`Kind::Halt`] frame goes as a CNP does. What its source holds back is known there (`nic/isolation.rs`): the flow; or the priority, as if
//!    the last switch had turned the frame into one of PFC with that time. That holds beside the PFC of the link, and neither ends the other.
//! 3. What a switch has told a source, or as the last one before it has heard, keeps it from telling that again before the pause is over.
//! 4. Where a fault leaves no way to the source, or the link of that way is down, there is no signal.
use backwater_control::isolation::sfc::{Pausing, in_ns};
use backwater_engine::Post;
use backwater_topology::Network;
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::{NIC, Ports};
use crate::link::queue::Fifo;
use crate::observe::isolation_stats::Noted;
use crate::packet::{Kind, Packet};
use crate::record::{HoldRecord, IsolationEvent};
use crate::spec::{Pauses, SfcSpec};
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::keyed::Links;
use crate::world::World;

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Sfc {
    spec: SfcSpec,
    links: Links,
    /// What sources pause, as far as this switch knows: by [`Sfc::number`], up to the highest that it has told or heard of.
    sources: Vec<Pausing>,
    /// By destination what signals to sources here were about. The same.
    congested: Vec<Pausing>,
    /// Signals made.
    made: u64,
}

fn extend(all: &mut Vec<Pausing>, number: usize, until: Time) {
    if all.len() <= number {
        all.resize(number + 1, Pausing::default());
    }
    all[number].extend(until);
}

fn left(all: &[Pausing], number: usize, now: u64) -> Option<Span> {
    all.get(number).and_then(|it| it.left(Time::from_ps(now)))
}

impl Sfc {
    pub(crate) fn new(node: u32, network: &Network, spec: SfcSpec) -> Self {
        Self { spec, links: Links::new(node, network), sources: Vec::new(), congested: Vec::new(), made: 0 }
    }

    /// What the source of a flow pauses: the flow, or a class of the host.
    fn number(&self, flow: u32, world: &World) -> usize {
        let it = &world.flows[flow as usize];
        match self.spec.pauses {
            // The lowest bit says that a flow goes back; those of sources do not.
            Pauses::Flow => (world.flow_key(flow, it.dst) >> 1) as usize,
            Pauses::Priority => {
                let class = world.classes.class(it.priority);
                it.src as usize * usize::from(world.classes.count) + usize::from(class)
            }
        }
    }

    /// A packet is about to join a queue: is its source to pause?
    fn judge<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let queue = Bytes::new(u64::from(chassis.ports.queue(chassis.ports.at(out, packet.class)).bytes()));
        let own = self.spec.rules.pause(queue, chassis.ports.egress(out).rate());
        let remembered = if self.links.to_host[usize::from(packet.port)] {
            left(&self.congested, packet.destination() as usize, cx.now)
        } else {
            None
        };
        let Some(pause) = own.max(remembered) else { return };
        let number = self.number(packet.flow, cx.world);
        if left(&self.sources, number, cx.now).is_none() {
            self.tell(chassis, (packet, out), (pause, own.is_some()), cx);
        }
    }

    /// Sends a signal to the source of a packet, for the sake of this queue, or because of an earlier signal. If there is no way, there is none.
    #[cold]
    fn tell<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        (packet, queue): (&Packet, u16),
        (pause, own): (Span, bool),
        cx: &mut Ctx<'_, P>,
    ) {
        let halt = Packet {
            time: cx.now,
            flow: packet.flow,
            seq: in_ns(pause),
            dst: cx.world.flows[packet.flow as usize].src,
            port: packet.port,
            size: self.spec.frame.get() as u16,
            kind: Kind::Halt,
            ..Packet::NONE
        };
        let Some(out) = chassis.forwarding.way_round(&halt, &chassis.ports) else { return };
        if chassis.ports.faults().is_some_and(|faults| faults.down(out).is_some()) {
            return;
        }
        if own && chassis.truth.is_some() {
            note(chassis, packet, queue, cx);
        }
        count(chassis, packet, queue, cx);
        self.made += 1;
        self.hear(&halt, cx);
        self.arrive(chassis, &halt, out, cx);
    }

    /// A signal is sent, or goes to its source from here.
    fn hear<P: Post<Packet>>(&mut self, halt: &Packet, cx: &Ctx<'_, P>) {
        let until = Time::from_ps(cx.now + u64::from(halt.seq) * 1000);
        let number = self.number(halt.flow, cx.world);
        extend(&mut self.sources, number, until);
    }

    /// The same, and it is the last switch before that.
    #[cold]
    fn hear_last<P: Post<Packet>>(&mut self, halt: &Packet, cx: &Ctx<'_, P>) {
        self.hear(halt, cx);
        if self.spec.cache {
            let until = Time::from_ps(cx.now + u64::from(halt.seq) * 1000);
            extend(&mut self.congested, cx.world.flows[halt.flow as usize].dst as usize, until);
        }
    }
}

/// A signal is a frame that holds, and counts among messages about congestion.
#[cold]
fn count<P: Post<Packet>>(chassis: &mut Chassis, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
    chassis.memory.count_pause(chassis.ports.at(packet.port, packet.class));
    let noted = Noted {
        what: IsolationEvent::Notified,
        port: out,
        ingress: Some(packet.port),
        src: Some(cx.world.flows[packet.flow as usize].src),
        dst: Some(packet.destination()),
        origin: 0,
        root: None,
        used: 0,
    };
    chassis.ports.note_isolation(&noted, cx);
}

/// The ground truth is to know for the sake of which queue a source pauses.
#[cold]
fn note<P: Post<Packet>>(chassis: &mut Chassis, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
    let flow = &cx.world.flows[packet.flow as usize];
    let priority = cx.world.classes.priority(packet.class);
    let name = cx.world.hold_names(packet.flow, flow.dst, packet.class);
    let at = chassis.ports.at(out, packet.class);
    let of_source = |it: &&Packet| it.is_data() && cx.world.flows[it.flow as usize].src == flow.src;
    let fifo = *chassis.ports.queue(at).fifo();
    let bytes = chassis.ports.pool().iter(fifo).filter(of_source).map(|it| u64::from(it.size)).sum();
    let record = HoldRecord {
        time: Time::from_ps(cx.now),
        node: chassis.ports.node(),
        port: packet.port,
        held_node: cx.world.hosts[flow.src as usize],
        held_port: NIC,
        priority,
        held_key: Some(name.1),
        blocker: out,
        blocker_priority: priority,
        blocker_key: None,
        bytes: Bytes::new(bytes),
        queue: Bytes::new(u64::from(chassis.ports.queue(at).bytes())),
        closed: chassis.ports.egress(out).paused() & (1 << packet.class) != 0,
    };
    chassis.ports.records_mut().holds.push(record);
    cx.post.recorded(1);
}

impl Fabric for Sfc {
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if packet.is_data() && packet.class != 0 {
            self.judge(chassis, packet, out, cx);
        } else if packet.kind == Kind::Halt && self.links.to_host[usize::from(out)] {
            self.hear_last(packet, cx);
        }
        if chassis.admit(packet, out, cx) {
            chassis.ports.enqueue(out, packet);
            chassis.stored(self, packet, out, cx);
        }
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        chassis.pull_in_order(self, out, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }

    fn made(&self) -> u64 {
        self.made
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.sources) + size_of_val(&*self.congested)
    }
}
