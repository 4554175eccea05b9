//! Entries of the table: made where congestion is seen or told, ended when they are not needed any more.
use backwater_control::isolation::{Allocation, CimState, Claim, Expiry, Key, Origin, Slot};
use backwater_engine::Post;
use backwater_units::Time;

use super::{CongestedFlows, Rules};
use crate::ctx::Ctx;
use crate::link::ports::Purpose;
use crate::observe::isolation_stats::Noted;
use crate::packet::Packet;
use crate::record::IsolationEvent;
use crate::spec::KeyKind;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::Cioq;
use crate::world::World;

/// A root as a frame carries it: the switch and its egress port.
pub(super) const fn root_of(node: u32, port: u16) -> u32 {
    node << 10 | port as u32
}

/// The switch and the egress port of a root.
pub(crate) const fn parts_of(root: u32) -> (u32, u16) {
    (root >> 10, (root & 0x3ff) as u16)
}

impl CongestedFlows {
    /// Room for one slot more.
    fn grow(&mut self) {
        self.slots.push(Slot::default());
        let count = self.slots.len() * self.ports;
        self.cims.resize(count, CimState::default());
        self.in_nfq.resize(count, 0);
        self.out_nfq.resize(count, 0);
        self.refused.resize(count, false);
        self.armed.push(false);
        self.behind.push(Vec::new());
    }

    /// Of a set of destinations those that are behind no root of the table: a packet has one entry, as long as that lives.
    fn uncovered(&self, mut set: Vec<u64>) -> Vec<u64> {
        for (_, covered) in self.slots.iter().zip(&self.behind).filter(|(slot, _)| slot.is_live()) {
            for (word, covered) in set.iter_mut().zip(covered) {
                *word &= !covered;
            }
        }
        set
    }
}

impl Cioq {
    /// Asks for an entry for a packet that congests `out`. Returns the slot of a new one.
    pub(super) fn claim<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        root: u32,
        origin: Origin,
        cx: &mut Ctx<'_, P>,
    ) -> Option<usize> {
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        let key: Key = match rules.key {
            KeyKind::Root => u64::from(root),
            kind => cx.world.key(kind, packet.flow, packet.dst),
        };
        let claim = Claim {
            key,
            egress: out,
            root,
            origin,
            ingress: (origin == Origin::Local).then_some(packet.port),
            now: Time::from_ps(cx.now),
        };
        let isolating = self.isolating();
        let mut uncovered = Vec::new();
        if rules.key == KeyKind::Root {
            uncovered = isolating.uncovered(behind(chassis.ports.node, root, rules, cx.world));
            if uncovered.iter().all(|word| *word == 0) {
                return None;
            }
        }
        let ghost = isolating.cft.remembers(key, claim.now);
        let allocation = loop {
            match isolating.cft.allocate(&rules.algorithm, &mut isolating.slots, rules.slots, &claim) {
                Allocation::Grow => isolating.grow(),
                done => break done,
            }
        };
        let what = match allocation {
            Allocation::New(_) if ghost => IsolationEvent::Readmitted,
            Allocation::New(_) => IsolationEvent::Allocated,
            Allocation::Refused => IsolationEvent::Refused,
            Allocation::Known(_) | Allocation::Grow => return None,
        };
        let used = isolating.cft.used();
        let noted = Noted {
            what,
            port: out,
            ingress: claim.ingress,
            origin: 1 << origin as u8,
            root: Some(parts_of(root)),
            used,
            ..ends_of(rules.key, key, cx.world)
        };
        chassis.ports.note_isolation(&noted, cx);
        let Allocation::New(slot) = allocation else { return None };
        self.isolating().behind[slot] = uncovered;
        self.begin(chassis, slot, cx.now, cx.world);
        Some(slot)
    }

    /// A new entry: counts what waits for it already.
    fn begin(&mut self, chassis: &mut Chassis, slot: usize, now: u64, world: &World) {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let isolating = self.isolating();
        let first = isolating.at(slot, 0);
        let all = first..first + isolating.ports;
        isolating.cims[all.clone()].fill(CimState::default());
        isolating.refused[all].fill(false);
        let lanes = rules.lanes();
        for port in 0..chassis.ports.egress.len() as u16 {
            let at = chassis.ports.at(port, lanes.monitored);
            let isolating = self.isolating_ref();
            let of_entry = |fifo| {
                let waiting = chassis.ports.pool.iter(fifo);
                waiting.filter(|packet| isolating.entry(packet, world) == Some(slot)).count() as u32
            };
            let (at_ingress, at_egress) =
                (of_entry(self.lines[at].fifo), of_entry(chassis.ports.queues[at].fifo));
            let isolating = self.isolating();
            let at = isolating.at(slot, port);
            (isolating.in_nfq[at], isolating.out_nfq[at]) = (at_ingress, at_egress);
        }
        self.arm(chassis, slot, now, world);
    }

    /// Sets the timer of an entry, unless it is set already or something else must happen first: its last packet must leave
    /// the CFQs, the gate of its egress port must open.
    pub(super) fn arm(&mut self, chassis: &mut Chassis, slot: usize, now: u64, world: &World) {
        let rules = world.isolation.as_ref().expect("only switches that isolate come here");
        let isolating = self.isolating();
        let entry = &isolating.slots[slot];
        let egress = entry.egress();
        let closed = chassis.ports.egress[usize::from(egress)].paused & (1 << rules.lanes().congested) != 0;
        if entry.in_cfq() > 0 || closed || std::mem::replace(&mut isolating.armed[slot], true) {
            return;
        }
        let look = isolating.cft.next_look(&rules.algorithm, &isolating.slots[slot]).as_ps().max(now);
        chassis.ports.set_timer(look, egress, Purpose::Residency, slot as u32);
    }

    /// The gate of the congested class of an egress port opened: the time of its entries runs again.
    pub(crate) fn arm_entries_of(
        &mut self,
        chassis: &mut Chassis,
        port: u16,
        class: u8,
        now: u64,
        world: &World,
    ) {
        if world.isolation.as_ref().is_none_or(|rules| rules.lanes().congested != class) {
            return;
        }
        for slot in 0..self.isolating().slots.len() {
            let entry = &self.isolating().slots[slot];
            if entry.is_live() && entry.egress() == port {
                self.arm(chassis, slot, now, world);
            }
        }
    }

    /// A packet of an entry left the CFQs of this switch.
    pub(super) fn left_cfqs(&mut self, chassis: &mut Chassis, slot: usize, now: u64, world: &World) {
        let entry = &mut self.isolating().slots[slot];
        entry.left(Time::from_ps(now));
        if entry.in_cfq() == 0 {
            self.arm(chassis, slot, now, world);
        }
    }

    /// The time to look at an entry has come: it ends, or its timer is set again when it may.
    pub(crate) fn look_at_entry<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        slot: u32,
        cx: &mut Ctx<'_, P>,
    ) {
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        let slot = slot as usize;
        let isolating = self.isolating();
        let egress = isolating.slots[slot].egress();
        let before = isolating.slots[slot];
        let closed = chassis.ports.egress[usize::from(egress)].paused & (1 << rules.lanes().congested) != 0;
        let expiry =
            isolating.cft.expiry(&rules.algorithm, &mut isolating.slots, slot, Time::from_ps(cx.now), closed);
        isolating.armed[slot] = false;
        match expiry {
            Expiry::LookAgain(_) => self.arm(chassis, slot, cx.now, cx.world),
            Expiry::Freed => {
                let wanting = std::mem::take(&mut isolating.wanting);
                self.note_entry(chassis, IsolationEvent::Released, &before, None, cx);
                if wanting {
                    self.settle_all(chassis, cx);
                }
            }
        }
    }

    /// Something happened to an entry, at an ingress port if one is named.
    #[cold]
    pub(super) fn note_entry<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        what: IsolationEvent,
        entry: &Slot,
        ingress: Option<u16>,
        cx: &mut Ctx<'_, P>,
    ) {
        let rules = cx.world.isolation.as_ref().expect("only switches that isolate come here");
        let noted = Noted {
            what,
            port: entry.egress(),
            ingress,
            origin: 1 << entry.origin() as u8,
            root: Some(parts_of(entry.root())),
            used: self.isolating().cft.used(),
            ..ends_of(rules.key, entry.key(), cx.world)
        };
        chassis.ports.note_isolation(&noted, cx);
    }
}

/// The destinations to which the way from `node` leads through `root`, a bit each.
pub(crate) fn behind(node: u32, root: u32, rules: &Rules, world: &World) -> Vec<u64> {
    let (switch, port) = parts_of(root);
    let mut set = vec![0; world.hosts.len().div_ceil(64)];
    for (host, end) in (0..).zip(&world.hosts) {
        let mut at = node;
        while at != *end {
            let [out] = world.routes.next_ports(at, host) else { break };
            if (at, *out) == (switch, port) {
                set[host as usize / 64] |= 1 << (host % 64);
                break;
            }
            at = rules.peers[at as usize][usize::from(*out)];
        }
    }
    set
}

/// The hosts that a key names.
pub(crate) fn ends_of(kind: KeyKind, key: Key, world: &World) -> Noted {
    let (src, dst) = match kind {
        KeyKind::Pair => (Some((key >> 32) as u32), Some(key as u32)),
        KeyKind::Flow => {
            let flow = &world.flows[(key >> 1) as usize];
            if key & 1 == 0 { (Some(flow.src), Some(flow.dst)) } else { (Some(flow.dst), Some(flow.src)) }
        }
        KeyKind::Destination => (None, Some(key as u32)),
        KeyKind::Root => (None, None),
    };
    Noted {
        what: IsolationEvent::Allocated,
        port: 0,
        ingress: None,
        src,
        dst,
        origin: 0,
        root: None,
        used: 0,
    }
}
