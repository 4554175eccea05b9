//! Entries of the table: made where congestion is seen or notified, ended when they are not needed any more.
use backwater_control::isolation::{Allocation, CimState, Claim, Expiry, Key, KeyKind, Origin, Slot};
use backwater_engine::Post;
use backwater_units::Time;

use super::CongestedFlows;
use crate::ctx::Ctx;
use crate::link::egress::Egress;
use crate::link::ports::Purpose;
use crate::observe::isolation_stats::Noted;
use crate::packet::Packet;
use crate::record::IsolationEvent;
use crate::switch::chassis::Chassis;
use crate::switch::cioq::{Cioq, IngressQueue};
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

impl CongestedFlows {
    /// Asks for an entry for a packet that congests `out`. Returns the slot of a new one.
    pub(super) fn claim<P: Post<Packet>>(
        &mut self,
        (chassis, lines): (&mut Chassis, &[IngressQueue]),
        packet: &Packet,
        out: u16,
        root: u32,
        origin: Origin,
        cx: &mut Ctx<'_, P>,
    ) -> Option<usize> {
        let key: Key = match self.rules.key {
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
        let mut uncovered = Vec::new();
        if self.rules.key == KeyKind::Root {
            uncovered = self.uncovered(behind(chassis.ports.node(), root, cx.world));
            if uncovered.iter().all(|word| *word == 0) {
                return None;
            }
        }
        let ghost = self.cft.remembers(key, claim.now);
        let allocation = loop {
            match self.cft.allocate(&self.rules.algorithm, &mut self.slots, self.rules.slots, &claim) {
                Allocation::Grow => self.grow(),
                done => break done,
            }
        };
        let what = match allocation {
            Allocation::New(_) if ghost => IsolationEvent::Readmitted,
            Allocation::New(_) => IsolationEvent::Allocated,
            Allocation::Refused => IsolationEvent::Refused,
            Allocation::Known(_) | Allocation::Grow => return None,
        };
        let noted = Noted {
            what,
            port: out,
            ingress: claim.ingress,
            origin: 1 << origin as u8,
            root: Some(parts_of(root)),
            used: self.cft.used(),
            ..ends_of(self.rules.key, key, cx.world)
        };
        chassis.ports.note_isolation(&noted, cx);
        let Allocation::New(slot) = allocation else { return None };
        self.behind[slot] = uncovered;
        self.begin((chassis, lines), slot, cx.now, cx.world);
        Some(slot)
    }

    /// A new entry: counts what waits for it already.
    fn begin(
        &mut self,
        (chassis, lines): (&mut Chassis, &[IngressQueue]),
        slot: usize,
        now: u64,
        world: &World,
    ) {
        let first = self.at(slot, 0);
        let all = first..first + self.ports;
        self.cims[all.clone()].fill(CimState::default());
        self.refused[all].fill(false);
        for port in 0..chassis.ports.count() {
            let at = chassis.ports.at(port, self.rules.lanes.monitored);
            let of_entry = |fifo| {
                let waiting = chassis.ports.pool().iter(fifo);
                waiting.filter(|packet| self.entry(packet, world) == Some(slot)).count() as u32
            };
            let (at_ingress, at_egress) =
                (of_entry(lines[at].fifo), of_entry(*chassis.ports.queue(at).fifo()));
            let at = self.at(slot, port);
            (self.in_nfq[at], self.out_nfq[at]) = (at_ingress, at_egress);
        }
        self.arm(chassis, slot, now);
    }

    /// Whether the gate of the congested class of an egress port is closed.
    pub(super) const fn is_closed(&self, egress: &Egress) -> bool {
        egress.paused() & (1 << self.rules.lanes.congested) != 0
    }

    /// Sets the timer of an entry, unless it is set already or something else must happen first: its last packet must leave
    /// the CFQs, the gate of its egress port must open.
    fn arm(&mut self, chassis: &mut Chassis, slot: usize, now: u64) {
        let entry = &self.slots[slot];
        let egress = entry.egress();
        let closed = self.is_closed(chassis.ports.egress(egress));
        if entry.in_cfq() > 0 || closed || std::mem::replace(&mut self.armed[slot], true) {
            return;
        }
        let look = self.cft.next_look(&self.rules.algorithm, &self.slots[slot]).as_ps().max(now);
        chassis.ports.set_timer(look, egress, Purpose::Residency, slot as u32);
    }

    /// The gate of the congested class of an egress port opened: the time of its entries runs again.
    pub(crate) fn arm_entries_of(&mut self, chassis: &mut Chassis, port: u16, now: u64) {
        for slot in 0..self.slots.len() {
            let entry = &self.slots[slot];
            if entry.is_live() && entry.egress() == port {
                self.arm(chassis, slot, now);
            }
        }
    }

    /// A packet of an entry left the CFQs of this switch.
    pub(super) fn left_cfqs(&mut self, chassis: &mut Chassis, slot: usize, now: u64) {
        let entry = &mut self.slots[slot];
        entry.left(Time::from_ps(now));
        if entry.in_cfq() == 0 {
            self.arm(chassis, slot, now);
        }
    }

    /// The time to look at an entry has come: it ends, or its timer is set again when it may. Whether its end makes room for
    /// what an ingress port wanted.
    fn look_at<P: Post<Packet>>(&mut self, chassis: &mut Chassis, slot: usize, cx: &mut Ctx<'_, P>) -> bool {
        let before = self.slots[slot];
        let closed = self.is_closed(chassis.ports.egress(before.egress()));
        let now = Time::from_ps(cx.now);
        let expiry = self.cft.expiry(&self.rules.algorithm, &mut self.slots, slot, now, closed);
        self.armed[slot] = false;
        match expiry {
            Expiry::LookAgain(_) => {
                self.arm(chassis, slot, cx.now);
                false
            }
            Expiry::Freed => {
                self.note_entry(chassis, IsolationEvent::Released, &before, None, cx);
                std::mem::take(&mut self.wanting)
            }
        }
    }

    /// Something happened to an entry, at an ingress port if one is named.
    #[cold]
    pub(super) fn note_entry<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        what: IsolationEvent,
        entry: &Slot,
        ingress: Option<u16>,
        cx: &mut Ctx<'_, P>,
    ) {
        let noted = Noted {
            what,
            port: entry.egress(),
            ingress,
            origin: 1 << entry.origin() as u8,
            root: Some(parts_of(entry.root())),
            used: self.cft.used(),
            ..ends_of(self.rules.key, entry.key(), cx.world)
        };
        chassis.ports.note_isolation(&noted, cx);
    }
}

impl Cioq {
    /// The timer of an entry.
    pub(crate) fn look_at_entry<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        slot: u32,
        cx: &mut Ctx<'_, P>,
    ) {
        if let Some(flows) = &mut self.isolation
            && flows.look_at(chassis, slot as usize, cx)
        {
            self.settle_all(chassis, cx);
        }
    }
}

/// The destinations to which the way from `node` leads through `root`, a bit each.
pub(crate) fn behind(node: u32, root: u32, world: &World) -> Vec<u64> {
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
            at = world.peers[at as usize][usize::from(*out)];
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
