//! Entries of the table: made where congestion is seen or told, ended when they are not needed any more.
use backwater_control::isolation::{Allocation, CimState, Claim, Expiry, Key, Origin, Slot};
use backwater_engine::Post;
use backwater_units::Time;

use super::Isolating;
use crate::packet::Packet;
use crate::ports::Purpose;
use crate::record::IsolationEvent;
use crate::spec::KeyKind;
use crate::switch::Switch;
use crate::world::World;

/// A root as a frame carries it: the switch and its egress port.
pub(super) const fn root_of(node: u32, port: u16) -> u32 {
    node << 10 | port as u32
}

impl Isolating {
    /// Room for one slot more.
    fn grow(&mut self) {
        self.slots.push(Slot::default());
        let count = self.slots.len() * self.ports;
        self.cims.resize(count, CimState::default());
        self.in_nfq.resize(count, 0);
        self.out_nfq.resize(count, 0);
        self.behind.push(Vec::new());
    }
}

impl Switch {
    /// Asks for an entry for a packet that congests `out`. Returns the slot of a new one.
    pub(super) fn claim<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        out: u16,
        root: u32,
        origin: Origin,
        now: u64,
        world: &World,
        post: &mut P,
    ) -> Option<usize> {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let key: Key = match rules.key {
            KeyKind::Root => u64::from(root),
            kind => world.key(kind, packet.flow, packet.dst),
        };
        let claim = Claim {
            key,
            egress: out,
            root,
            origin,
            ingress: (origin == Origin::Local).then_some(packet.port),
            now: Time::from_ps(now),
        };
        let isolating = self.isolating.as_deref_mut().expect("only switches that isolate come here");
        let allocation = loop {
            match isolating.cft.allocate(&rules.rules, &mut isolating.slots, rules.slots, &claim) {
                Allocation::Grow => isolating.grow(),
                done => break done,
            }
        };
        match allocation {
            Allocation::New(slot) => {
                self.begin(slot, packet, now, world);
                self.note_isolation(IsolationEvent::Allocated, packet, slot, now, world, post);
                Some(slot)
            }
            Allocation::Refused => {
                self.note_refusal(packet, out, root, origin, now, world, post);
                None
            }
            Allocation::Known(_) | Allocation::Grow => None,
        }
    }

    /// A new entry: counts what waits for it already.
    fn begin(&mut self, slot: usize, packet: &Packet, now: u64, world: &World) {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let isolating = self.isolating.as_deref_mut().expect("only switches that isolate come here");
        if rules.key == KeyKind::Root {
            isolating.behind[slot] = behind(self.ports.node, isolating.slots[slot].root(), world);
        }
        let first = isolating.at(slot, 0);
        for port in 0..isolating.ports {
            isolating.cims[first + port] = CimState::default();
        }
        let lanes = rules.lanes();
        for port in 0..self.ports.egress.len() as u16 {
            let at = self.ports.at(port, lanes.monitored);
            let combined = self.combined.as_deref().expect("isolation needs a combined crossbar");
            let isolating = self.isolating.as_deref().expect("only switches that isolate come here");
            let of_entry = |fifo| {
                let waiting = self.ports.pool.iter(fifo);
                waiting.filter(|packet| isolating.entry(packet, world) == Some(slot)).count() as u16
            };
            let (at_ingress, at_egress) = (of_entry(combined.lines[at].fifo), of_entry(self.ports.queues[at].fifo));
            let isolating = self.isolating.as_deref_mut().expect("only switches that isolate come here");
            let at = isolating.at(slot, port);
            (isolating.in_nfq[at], isolating.out_nfq[at]) = (at_ingress, at_egress);
        }
        let isolating = self.isolating.as_deref_mut().expect("only switches that isolate come here");
        let entry = &isolating.slots[slot];
        let (look, egress) = (isolating.cft.next_look(&rules.rules, entry), entry.egress());
        self.ports.set_timer(look.as_ps().max(now), egress, Purpose::Residency, slot as u32);
    }

    /// The time to look at an entry has come: it ends, or is looked at again later.
    pub(crate) fn look_at_entry<P: Post<Packet>>(&mut self, slot: u32, now: u64, world: &World, post: &mut P) {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let slot = slot as usize;
        let isolating = self.isolating.as_deref_mut().expect("only switches that isolate come here");
        let egress = isolating.slots[slot].egress();
        let before = isolating.slots[slot];
        let closed = self.ports.egress[usize::from(egress)].paused & (1 << rules.lanes().congested) != 0;
        let expiry = isolating.cft.expiry(&rules.rules, &mut isolating.slots, slot, Time::from_ps(now), closed);
        match expiry {
            Expiry::LookAgain(at) => {
                self.ports.set_timer(at.as_ps(), egress, Purpose::Residency, slot as u32);
            }
            Expiry::Freed => {
                let wanting = std::mem::take(&mut isolating.wanting);
                self.note_release(&before, slot, now, world, post);
                if wanting {
                    self.settle_all(now, world, post);
                }
            }
        }
    }
}

/// The destinations to which the way from `node` leads through `root`.
fn behind(node: u32, root: u32, world: &World) -> Vec<u64> {
    let (switch, port) = (root >> 10, (root & 0x3ff) as u16);
    let hosts = world.hosts;
    let mut set = vec![0; hosts.div_ceil(64) as usize];
    for host in 0..hosts {
        let mut at = node;
        // No way is longer than there are nodes; one that passes a host has arrived.
        while let Some((out, next)) = world.next_hop(at, host) {
            if at == switch && out == port {
                set[host as usize / 64] |= 1 << (host % 64);
                break;
            }
            at = next;
        }
    }
    set
}
