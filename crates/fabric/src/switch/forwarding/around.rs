//! Ways through a third group of a dragonfly: Valiant, UGAL-L and UGAL-G (Kim, Dally, Scott and Abts, ISCA 2008, section 4).
//!
//! The switch of the source decides, packet by packet. The third group is drawn from the seed, the flow and the packet's number, and written
//! beside the destination (`Packet::dst`) until the packet is there. All switches on the way go by the tables of minimal routes.
//!
//! UGAL-L compares what its own ports hold. UGAL-G compares what the global ports of its group hold: an idealisation, as no switch knows
//! that. Here it is told over the links of the group by frames that take no time on the wire, so that it is known one link delay late. Nothing
//! else of it crosses between nodes, and threads cannot change it.
use std::io;

use backwater_engine::{Post, mix};
use backwater_topology::Groups;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::{Ports, Purpose};
use crate::packet::{Kind, Packet};
use crate::spec::{Around, QueueOf};
use crate::switch::chassis::Chassis;
use crate::switch::forwarding::ecmp::{salt, way};
use crate::switch::forwarding::{Choice, Forwarding};
use crate::world::World;

/// Purpose of the random choices of third groups; entity: flow << 32 | packet.
const THIRD: u64 = 0xd1a6;

/// What a switch needs for them.
#[derive(Clone, Debug)]
pub(super) struct Detours {
    rule: Around,
    groups: Groups,
    /// Its group.
    own: u32,
    /// What waits at the global ports of the group, as far as the switch has heard: by switch and port. Empty if nobody tells.
    heard: Vec<Vec<u32>>,
    /// What it has told of its own.
    told: Vec<u32>,
    /// It will tell again.
    armed: bool,
}

impl Detours {
    pub(super) fn new(rule: Around, groups: Groups, node: u32) -> Self {
        let locals = match rule {
            Around::Ugal { every: Some(_), .. } => groups.local_ports().len() + 1,
            _ => 0,
        };
        let (heard, told) = (vec![Vec::new(); locals], Vec::new());
        Self { rule, groups, own: groups.of_switch(node), heard, told, armed: false }
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { rule: _, groups: _, own: _, heard, told, armed } = self;
        (heard, told, armed).serialize(out)
    }

    pub(super) fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.heard, self.told, self.armed) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }

    /// The third group that a packet might go through from the switch of its source; none if its destination is in this group.
    fn third(&self, packet: &Packet, seed: u64) -> Option<u32> {
        let to = self.groups.of_host(packet.dst);
        let others = self.groups.count().saturating_sub(2);
        if to == self.own || others == 0 {
            return None;
        }
        let draw = mix(seed, THIRD, u64::from(packet.flow) << 32 | u64::from(packet.number())) >> 32;
        let number = ((draw * u64::from(others)) >> 32) as u32;
        let (low, high) = (to.min(self.own), to.max(self.own));
        let number = number + u32::from(number >= low);
        Some(number + u32::from(number >= high))
    }
}

/// Bytes that speak against an egress port: those that wait for it in this switch, and those whose credits are in use on its link if asked for.
fn queue_of(port: u16, queue: QueueOf, ports: &Ports) -> u64 {
    let wait = (0..ports.classes() as u8).map(|class| u64::from(ports.queue(ports.at(port, class)).bytes()));
    let used = match (queue, ports.credits()) {
        (QueueOf::Credits, Some(credits)) => {
            u64::from(ports.used_by_port(port)) * credits.unit().size().get()
        }
        _ => 0,
    };
    wait.sum::<u64>() + used
}

impl Forwarding {
    /// The port towards the third group that a packet is on its way to.
    pub(super) fn way_through(&self, packet: &Packet) -> Option<u16> {
        let Choice::Around(detours) = &self.all.choice else { return None };
        self.port_to(detours.groups.first_host(packet.through()?), packet)
    }

    /// The port towards a host that packets of this one's flow take.
    fn port_to(&self, host: u32, packet: &Packet) -> Option<u16> {
        let cell = self.all.cell(host);
        let group = cell.port().is_none().then(|| &*self.all.groups[cell.group()]);
        match group {
            None => cell.port(),
            Some([]) => None,
            Some(group) => Some(self.by_flow(group, packet)),
        }
    }

    /// The third group that a packet which has come from its host goes through.
    fn third(&self, detours: &Detours, packet: &Packet, ports: &Ports, world: &World) -> Option<u32> {
        let third = detours.third(packet, world.seed)?;
        let to = |host: u32| {
            let port = self.port_to(host, packet)?;
            let down = ports.faults().is_some_and(|faults| faults.avoided().contains(&port));
            (!down).then_some((host, port))
        };
        let (minimal, around) = match (to(packet.dst), to(detours.groups.first_host(third))) {
            (_, None) => return None,
            (None, Some(_)) => return Some(third),
            (Some(minimal), Some(around)) => (minimal, around),
        };
        let Around::Ugal { bias, queue, every } = detours.rule else { return Some(third) };
        let held = |(host, port): (u32, u16)| {
            let gateway = ports.egress(port).peer();
            if every.is_none() || detours.groups.of_switch(gateway) != detours.own {
                return queue_of(port, queue, ports);
            }
            let links = world.routes.next_ports(gateway, host);
            let (key, salt) = (world.path_key(packet.flow), salt(world.seed, gateway, &world.hashes));
            let link = links[way(links.len(), key, false, salt, &world.hashes)];
            let number = usize::from(link - detours.groups.local_ports().end);
            let heard = detours.heard[detours.groups.place(gateway) as usize].get(number);
            heard.copied().unwrap_or(0).into()
        };
        (held(minimal) > 2 * held(around) + bias.get()).then_some(third)
    }
}

impl Chassis {
    /// A packet that has come, with where it goes now: its source's switch may send it through a third group, and in that it goes on to its
    /// destination.
    pub(in crate::switch) fn aimed(&self, packet: &Packet, world: &World) -> Packet {
        let Choice::Around(detours) = &self.forwarding.all.choice else { return *packet };
        let from_host = || detours.groups.is_host(self.ports.egress(packet.port).peer());
        match packet.through() {
            Some(group) if group == detours.own => packet.by_way_of(None),
            None if packet.kind == Kind::Data && from_host() => {
                packet.by_way_of(self.forwarding.third(detours, packet, &self.ports, world))
            }
            _ => *packet,
        }
    }

    /// A packet goes to `out`: if that is a global port, the group is told of its queue.
    pub(in crate::switch) fn will_tell<P: Post<Packet>>(&mut self, out: u16, cx: &mut Ctx<'_, P>) {
        let Choice::Around(detours) = &mut self.forwarding.all.choice else { return };
        let Around::Ugal { every: Some(every), .. } = detours.rule else { return };
        if !detours.armed && out >= detours.groups.local_ports().end {
            detours.armed = true;
            self.ports.set_timer(cx.now + every.as_ps(), out, Purpose::Tell, 0);
        }
    }

    /// Tells the group what has changed at the global ports, and again until nothing waits there.
    #[cold]
    pub(in crate::switch) fn tell_queues<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let Self { forwarding, ports, .. } = self;
        let Choice::Around(detours) = &mut forwarding.all.choice else { return };
        let Around::Ugal { queue, every: Some(every), .. } = detours.rule else { return };
        let (local, first) = (detours.groups.local_ports(), detours.groups.local_ports().end);
        let held = |port| u32::try_from(queue_of(port, queue, ports)).unwrap_or(u32::MAX);
        let now: Vec<u32> = (first..ports.count()).map(held).collect();
        detours.told.resize(now.len(), 0);
        let news = now.iter().zip(&detours.told).enumerate().filter(|(_, (now, told))| now != told);
        for (number, (bytes, _)) in news {
            let frame = Packet { flow: number as u32, seq: *bytes, kind: Kind::Queue, ..Packet::NONE };
            for port in local.clone() {
                let egress = ports.egress(port);
                let (time, peer_port) = (cx.now + egress.until_known(0, true), egress.peer_port());
                cx.post.send(egress.place(), time, &frame, |copy| {
                    copy.time = time;
                    copy.port = peer_port;
                });
            }
        }
        detours.armed = now.iter().any(|bytes| *bytes > 0);
        detours.told = now;
        if detours.armed {
            self.ports.set_timer(cx.now + every.as_ps(), first, Purpose::Tell, 0);
        }
    }

    /// A switch of the group tells what waits at one of its global ports.
    #[cold]
    pub(in crate::switch) fn hear_queue(&mut self, frame: &Packet) {
        let from = self.ports.egress(frame.port).peer();
        let Choice::Around(detours) = &mut self.forwarding.all.choice else { return };
        let of = &mut detours.heard[detours.groups.place(from) as usize];
        let number = frame.flow as usize;
        of.resize(of.len().max(number + 1), 0);
        of[number] = frame.seq;
    }
}
