//! A switch that cuts packets for which it has no room to their headers ([`backwater_control::flow_control::Trimming`]).
//!
//! ```text
//!   arrive ── class under PFC ─▶ booked as at any switch with output queues
//!     ├─ class of ACKs ── room? ─▶ egress queue of its class, else lost
//!     └─ other class ──── room? ─▶ egress queue of its class
//!           no: of UEC? ── no ─▶ lost
//!                  └─ yes ─▶ it, or the last one that waits and is of UEC, goes on as a header in the class of ACKs
//! ```
//! Each egress queue has room of its own, which no other port takes, so that what happens at one port is nobody else's affair: a window
//! can be run port by port.
use backwater_control::flow_control::{TrimRoom, Trimming, Victim};
use backwater_engine::{Post, mix};
use backwater_topology::{Network, Port};
use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::link::queue::Fifo;
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::switch::batch::Batched;
use crate::switch::chassis::{Chassis, Fabric};
use crate::world::World;

#[cfg(test)]
mod tests;

/// Purpose of the draws of victims; entity: node << 16 | ingress port, then the instant.
const COIN: u64 = 0x781c;

/// A coin for a packet that has come to a node: a function of both and of the instant, as no two packets come by one port at once.
fn heads(seed: u64, node: u32, packet: &Packet) -> bool {
    let wire = u64::from(node) << 16 | u64::from(packet.port);
    mix(mix(seed, COIN, wire), 0, packet.time) >> 63 != 0
}

/// The packet that an egress port sent last.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Sent {
    /// Until when it is in transmission.
    until: u64,
    size: u16,
    class: u8,
}

/// What an egress port has while its link is as fast as it should be: rate, detector, and the queues that this is shown.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Nominal {
    rate: Rate,
    detector: u16,
    from: u32,
}

/// What it knows of its ports.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Trimmer {
    rules: Trimming,
    rooms: Vec<TrimRoom>,
    nominal: Vec<Nominal>,
    sent: Vec<Sent>,
    /// Whether a host is at the other end.
    last_hop: Vec<bool>,
}

impl Trimmer {
    /// That of a switch.
    pub(crate) fn new(node: u32, network: &Network, ports: &Ports, rules: Trimming) -> Self {
        let links = network.ports(node);
        let nominal =
            |(link, (detector, from)): (&Port, (u16, u32))| Nominal { rate: link.rate, detector, from };
        Self {
            rules,
            rooms: links.iter().map(|link| rules.room(link.rate)).collect(),
            nominal: links.iter().zip(ports.watched()).map(nominal).collect(),
            sent: vec![Sent::default(); links.len()],
            last_hop: links.iter().map(|link| !network.is_switch(link.peer)).collect(),
        }
    }

    /// Bytes that may wait at all ports.
    pub(crate) fn rooms(&self, classes: usize) -> u64 {
        self.rooms.iter().map(|room| room.most(classes as u64)).sum()
    }

    /// Bytes of a class that wait for `out` or are in transmission.
    #[inline]
    fn held(&self, chassis: &Chassis, out: u16, class: u8, now: u64) -> u32 {
        let sent = self.sent[usize::from(out)];
        let sending =
            sent.class == class && sent.until > now && sent.until == chassis.ports.egress(out).busy_until();
        chassis.ports.queue(chassis.ports.at(out, class)).bytes()
            + if sending { u32::from(sent.size) } else { 0 }
    }

    /// Lets a packet of a class without flow control wait for `out`, or what is left of it or of another; false if it is lost.
    fn take<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        if packet.class == 0 {
            return self.take_header(chassis, packet, out, cx);
        }
        let held = self.held(chassis, out, packet.class, cx.now);
        if self.rooms[usize::from(out)].takes(held, packet.size) {
            chassis.memory.occupy(packet.size);
            chassis.ports.enqueue(out, packet);
            true
        } else if packet.kind == Kind::UecData {
            let cut = self.cut(chassis, packet, out, cx);
            // Marks stay.
            let header = cut.trimmed(cut.size.min(self.rules.size), self.last_hop[usize::from(out)]);
            let off = Packet { size: cut.size - header.size, ..cut };
            chassis.ports.count_drop(&off, out, DropReason::Trimmed, cx);
            self.take_header(chassis, &header, out, cx)
        } else {
            chassis.drop_packet(packet, out, DropReason::PortBuffer, cx);
            false
        }
    }

    /// Chooses the packet that is cut. The other one waits.
    fn cut<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &Ctx<'_, P>,
    ) -> Packet {
        if self.rules.victim == Victim::Arriving || !heads(cx.world.seed, chassis.ports.node(), packet) {
            return *packet;
        }
        // It takes the place of the last one: that is to take that out and to get in line.
        let Some(last) = chassis.ports.replace_last(out, packet, |last| last.kind == Kind::UecData) else {
            return *packet;
        };
        chassis.memory.release_unpaused(u32::from(last.size));
        chassis.memory.occupy(packet.size);
        last
    }

    /// Lets a header, or another frame of its class, wait; false if it is lost.
    fn take_header<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let held = self.held(chassis, out, 0, cx.now);
        if !self.rooms[usize::from(out)].takes_header(held, packet.size) {
            chassis.drop_packet(packet, out, DropReason::Headers, cx);
            return false;
        }
        chassis.memory.occupy(packet.size);
        chassis.ports.enqueue(out, packet);
        true
    }
}

impl Batched for Trimmer {
    #[inline]
    fn wait<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if cx.world.lossless & (1 << packet.class) != 0 {
            chassis.memory.keep(packet, cx.world.lossless);
            chassis.ports.enqueue(out, packet);
        } else {
            self.take(chassis, packet, out, cx);
        }
        chassis.ports.note_queue(out, packet.class);
        chassis.ports.note_queue(out, 0);
    }

    #[inline]
    fn left(&mut self, ports: &Ports, out: u16, packet: &Packet) {
        let until = ports.egress(out).busy_until();
        self.sent[usize::from(out)] = Sent { until, size: packet.size, class: packet.class };
    }
}

impl Fabric for Trimmer {
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if cx.world.lossless & (1 << packet.class) != 0 {
            if chassis.admit(packet, out, cx) {
                chassis.ports.enqueue(out, packet);
                chassis.stored(self, packet, out, cx);
            }
            return;
        }
        self.take(chassis, packet, out, cx);
        chassis.go(self, out, cx);
        chassis.ports.note_queue(out, packet.class);
        chassis.ports.note_queue(out, 0);
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let packet = chassis.ports.dequeue(out, class);
        chassis.waited(&packet, out, cx);
        chassis.let_go(self, &packet, cx);
        chassis.send_off(out, &packet, cx);
        self.left(&chassis.ports, out, &packet);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }

    fn rate_changed(&mut self, ports: &mut Ports, port: u16, rate: Rate, world: &World) {
        self.rules = world.trimming.unwrap_or(self.rules);
        self.rooms[usize::from(port)] = self.rules.room(rate);
        if self.rules.rate.is_none() {
            return;
        }
        let Nominal { rate: full, detector, from } = self.nominal[usize::from(port)];
        if rate == full {
            return ports.egress_mut(port).watch(detector, u64::from(from));
        }
        let judged = world.detectors[usize::from(detector)].in_proportion(rate, full);
        // The ground truth may want to see shorter queues than the detector.
        let from = judged.calm().saturating_add(1).min(u64::from(from));
        ports.egress_mut(port).watch(world.detector_number(&judged), from);
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.rooms)
            + size_of_val(&*self.nominal)
            + size_of_val(&*self.sent)
            + size_of_val(&*self.last_hop)
    }
}
