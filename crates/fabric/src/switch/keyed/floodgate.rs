//! Floodgate: windows of destinations between switches. How large they are, and when they are given back, is the rule of
//! [`backwater_control::isolation::floodgate`].
//!
//! ```text
//!   link ─▶ window left, nothing of its destination waits ─▶ egress queue ─▶ link; owed to the switch that it came from
//!             └─ no ─▶ VOQ of its destination ─▶ when a Return frame comes, one packet each in turn ─▶ egress queue
//! ```
//! 1. A VOQ is a queue of the switch, not of a port ([`QueuePool`]). A destination has one while something waits for it. When none is free it
//!    shares that of a number that follows from it; the record and count of that are those of a full congested-flow table.
//! 2. A [`Kind::Return`] frame has an entry for each destination beside it: its number, and how much has left in all.
//! 3. No gate closes. What waits for a window is known to the deadlock check by the destination at the head of its VOQ.
//!
//! Only data needs a window, and none where its destination is at the other end of the port.
use std::collections::BTreeMap;

use backwater_control::isolation::floodgate::{Account, Heard, Turns, UnderWay};
use backwater_engine::{MAX_EXTENSION, Post};
use backwater_topology::Network;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::link::queue_pool::QueuePool;
use crate::observe::isolation_stats::Noted;
use crate::packet::{Kind, Packet};
use crate::record::{GateChange, IsolationEvent, KeyedBy, WindowRecord};
use crate::spec::FloodgateSpec;
use crate::switch::chassis::{Chassis, Fabric};
use crate::switch::keyed::Links;
use crate::switch::keyed::closures::push;
use crate::switch::truth::Holder;
use crate::world::World;

/// Bytes of an entry beside a Return frame: destination, what has left in all.
const ENTRY: usize = 2 + 4;
/// Entries of a frame.
const MOST: usize = MAX_EXTENSION / ENTRY;
/// The least frame of Ethernet.
const LEAST: u64 = 64;
/// What stands in an egress queue waits for no destination.
const NOBODY: u32 = u32::MAX;

/// What a switch knows of a destination.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Destination {
    under_way: UnderWay,
    /// Bytes in its VOQ.
    waiting: u32,
    voq: u16,
}

/// What a port is owed in all, and when it is given back.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Owed {
    bytes: u64,
    turns: Turns,
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Floodgate {
    spec: FloodgateSpec,
    links: Links,
    /// By egress port.
    windows: Vec<u64>,
    /// What the fastest port takes in the longest round trip of a link.
    hop: u64,
    destinations: Vec<Destination>,
    /// Those that have a VOQ, by number.
    waiting: Vec<u16>,
    voqs: QueuePool,
    /// How many of them are in use.
    used: u32,
    /// By slot of the packet memory: the egress port of what is in a VOQ.
    outs: Vec<u16>,
    /// By port.
    owed: Vec<Owed>,
    /// `[port * destinations + destination]`: what left of what came in by a port, and what the switch there says has left it.
    accounts: Vec<Account>,
    heard: Vec<Heard>,
    /// Return frames made.
    returns: u32,
    /// Only for the ground truth.
    truth: Apart,
}

/// What the ground truth is told, but for packets.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Apart {
    /// How many packets wait for a window, by egress port and destination.
    closed: BTreeMap<(u16, u32), u32>,
    /// Where what came in by a port for a destination waited last: the egress port, and whether it was for a window.
    blocker: BTreeMap<(u16, u32), (u16, bool)>,
}

impl Floodgate {
    pub(crate) fn new(node: u32, network: &Network, spec: FloodgateSpec) -> Self {
        let links = Links::new(node, network);
        let (ports, destinations) = (links.rate.len(), network.hosts().len());
        let each = links.rate.iter().zip(&links.round_trip);
        let rate = links.rate.iter().max().copied().unwrap_or_default();
        let longest = links.round_trip.iter().max().copied().unwrap_or_default();
        Self {
            windows: each.map(|(rate, round_trip)| spec.rules.window(*rate, *round_trip)).collect(),
            hop: rate.bytes_in(longest).get(),
            destinations: vec![Destination::default(); destinations],
            waiting: Vec::new(),
            voqs: QueuePool::new(spec.voqs),
            used: 0,
            outs: Vec::new(),
            owed: vec![Owed::default(); ports],
            accounts: vec![Account::default(); ports * destinations],
            heard: vec![Heard::default(); ports * destinations],
            returns: 0,
            truth: Apart::default(),
            links,
            spec,
        }
    }

    /// Whether a packet needs a window to leave by a port.
    fn is_governed(&self, packet: &Packet, out: u16) -> bool {
        packet.is_data() && !self.links.to_host[usize::from(out)]
    }

    /// The window of a destination changed.
    fn note<P: Post<Packet>>(&self, chassis: &mut Chassis, dst: u32, out: u16, cx: &mut Ctx<'_, P>) {
        if !cx.world.isolation_events {
            return;
        }
        let node = chassis.ports.node();
        let left = self.destinations[dst as usize].under_way.left(self.windows[usize::from(out)]);
        let waiting = self.destinations[dst as usize].waiting;
        let record = WindowRecord {
            time: Time::from_ps(cx.now),
            node,
            port: out,
            dst: cx.world.hosts[dst as usize],
            left,
            waiting,
        };
        chassis.ports.records_mut().windows.push(record);
        cx.post.recorded(1);
    }

    /// Takes a window for a packet, if it has one.
    fn passes<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) -> bool {
        let dst = packet.destination();
        let destination = &mut self.destinations[dst as usize];
        let taken = destination.waiting == 0
            && destination.under_way.take(packet.size, self.windows[usize::from(out)]);
        if taken {
            self.note(chassis, dst, out, cx);
        }
        taken
    }

    /// Puts a packet without a window into the VOQ of its destination.
    fn set_aside<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let dst = packet.destination();
        if self.destinations[dst as usize].waiting == 0 {
            self.lease(chassis, packet, out, cx);
        }
        let destination = &mut self.destinations[dst as usize];
        destination.waiting += u32::from(packet.size);
        let slot = self.voqs.push(chassis.ports.pool_mut(), destination.voq, packet);
        self.voqs.close(destination.voq, cx.now);
        if self.outs.len() <= slot {
            self.outs.resize(chassis.ports.pool().slots(), 0);
        }
        self.outs[slot] = out;
        if chassis.truth.is_some() {
            self.note_blocker(chassis, packet, (out, true), cx);
            self.note_gate(chassis, packet, out, true, cx);
        }
    }

    /// A packet begins to wait for a window, or gets it: for records, what goes by that port to its destination has a gate.
    fn note_gate<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        closes: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let dst = packet.destination();
        let waiting = self.truth.closed.entry((out, dst)).or_default();
        *waiting = if closes { *waiting + 1 } else { *waiting - 1 };
        let change = match (closes, *waiting) {
            (true, 1) => GateChange::Closed,
            (false, 0) => GateChange::Opened,
            _ => return,
        };
        let gate = (KeyedBy::Destination, cx.world.hosts[dst as usize]);
        push(chassis, (out, packet.class), gate, (change, self.destinations[dst as usize].waiting), cx);
    }

    /// A packet of data waits: what is upstream for its destination, if it waits for a window, does so for the sake of this queue.
    fn note_blocker<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        at: (u16, bool),
        cx: &mut Ctx<'_, P>,
    ) {
        let dst = packet.destination();
        let from_host = self.links.to_host[usize::from(packet.port)];
        if from_host || self.truth.blocker.insert((packet.port, dst), at) == Some(at) {
            return;
        }
        let (key, (out, for_window)) = (cx.world.hosts[dst as usize], at);
        let scope = Scope { class: packet.class, key: if for_window { key } else { Scope::ALL } };
        let holder = Holder { out, scope, bytes: u64::from(packet.size) };
        chassis.push_hold_of((packet.port, packet.class), Some(key), holder, cx);
    }

    /// A destination gets a VOQ: the first that is free, else one that another has.
    fn lease<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let dst = packet.destination();
        let free = self.voqs.free();
        let voq = free.unwrap_or_else(|| shared(dst, self.spec.voqs));
        self.destinations[dst as usize].voq = voq;
        self.voqs.assign(voq);
        self.used += u32::from(free.is_some());
        let at = self.waiting.partition_point(|other| u32::from(*other) < dst);
        self.waiting.insert(at, dst as u16);
        let what = if free.is_some() { IsolationEvent::Allocated } else { IsolationEvent::Refused };
        self.note_lease(chassis, (what, Some(packet.port)), dst, out, cx);
    }

    fn note_lease<P: Post<Packet>>(
        &self,
        chassis: &mut Chassis,
        (what, ingress): (IsolationEvent, Option<u16>),
        dst: u32,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let noted = Noted {
            what,
            port: out,
            ingress,
            src: None,
            dst: Some(dst),
            origin: 0,
            root: None,
            used: self.used,
        };
        chassis.ports.note_isolation(&noted, cx);
    }

    /// The first packet of a VOQ, and its egress port.
    fn head<'a>(&self, chassis: &'a Chassis, voq: u16) -> (&'a Packet, u16) {
        let fifo = self.voqs.fifos()[usize::from(voq)];
        (chassis.ports.pool().first(fifo), self.outs[fifo.slots().0])
    }

    /// Sends the first packet of a VOQ on, if it fits into its window.
    fn send_on<P: Post<Packet>>(&mut self, chassis: &mut Chassis, voq: u16, cx: &mut Ctx<'_, P>) -> bool {
        let (packet, out) = self.head(chassis, voq);
        let (dst, size) = (packet.destination(), packet.size);
        let destination = &mut self.destinations[dst as usize];
        if !destination.under_way.take(size, self.windows[usize::from(out)]) {
            return false;
        }
        destination.waiting -= u32::from(size);
        let waits = destination.waiting > 0;
        let (_, packet) = self.voqs.pop(chassis.ports.pool_mut(), voq);
        self.note(chassis, dst, out, cx);
        if chassis.truth.is_some() {
            chassis.waited_in(&packet, (out, Some(cx.world.hosts[dst as usize])), cx);
            self.note_gate(chassis, &packet, out, false, cx);
        }
        self.voqs.open(voq);
        if self.voqs.bytes(voq) > 0 {
            self.voqs.close(voq, cx.now);
        }
        if !waits {
            self.waiting.retain(|other| u32::from(*other) != dst);
            if self.voqs.unassign(voq) {
                self.used -= 1;
                self.note_lease(chassis, (IsolationEvent::Released, None), dst, out, cx);
            }
        }
        self.join(chassis, &Packet { time: cx.now, ..packet }, out, cx);
        true
    }

    /// Sends on what fits into the windows that there are now: of each destination's VOQ one packet in turn.
    fn release<P: Post<Packet>>(&mut self, chassis: &mut Chassis, cx: &mut Ctx<'_, P>) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            let mut at = 0;
            while let Some(&dst) = self.waiting.get(at) {
                moved |= self.send_on(chassis, self.destinations[usize::from(dst)].voq, cx);
                // One that has nothing left is not in the list any more.
                at += usize::from(self.waiting.get(at) == Some(&dst));
            }
        }
    }

    /// A packet joins an egress queue.
    fn join<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if chassis.truth.is_some() && packet.is_data() && chassis.ports.egress(out).busy_until() > cx.now {
            self.note_blocker(chassis, packet, (out, false), cx);
        }
        chassis.ports.enqueue(out, packet);
        chassis.go(self, out, cx);
        chassis.ports.note_queue(out, packet.class);
    }

    /// Data has left that came from a switch: it is owed to that one.
    fn owe<P: Post<Packet>>(&mut self, chassis: &mut Chassis, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let port = packet.port;
        if !packet.is_data() || self.links.to_host[usize::from(port)] {
            return;
        }
        let now = Time::from_ps(cx.now);
        let account = self.at(port, packet.destination());
        self.accounts[account].leave(packet.size);
        if !self.owed[usize::from(port)].turns.have_begun() {
            self.owed.iter_mut().for_each(|owed| owed.turns.begin(now));
        }
        self.owed[usize::from(port)].bytes += u64::from(packet.size);
        self.wait(chassis, port, now);
        for port in 0..chassis.ports.count() {
            if self.owed[usize::from(port)].bytes >= self.spec.rules.count
                && self.due(port) >= self.spec.rules.count
            {
                self.owed[usize::from(port)].turns.given(now);
                self.give_back(chassis, port, cx);
                self.wait(chassis, port, now);
            }
        }
    }

    /// Sets a timer for the next turn of a port, if something is owed to it.
    fn wait(&mut self, chassis: &mut Chassis, port: u16, now: Time) {
        let owed = &mut self.owed[usize::from(port)];
        if owed.bytes > 0
            && let Some(due) = owed.turns.wait(now, self.spec.rules.interval)
        {
            chassis.ports.set_timer(due.as_ps(), port, Purpose::Return, 0);
        }
    }

    fn at(&self, port: u16, dst: u32) -> usize {
        usize::from(port) * self.destinations.len() + dst as usize
    }

    /// The first destination from a number on for which a port may be given back something, and how much.
    fn next_due(&self, port: u16, from: u16) -> Option<(u16, u32)> {
        (from..self.destinations.len() as u16).find_map(|dst| {
            let waiting = u64::from(self.destinations[usize::from(dst)].waiting);
            let owed = self.accounts[self.at(port, u32::from(dst))].owed();
            (owed > 0 && !self.spec.rules.delays(waiting, self.hop)).then_some((dst, owed))
        })
    }

    /// Bytes that a port may be given back.
    fn due(&self, port: u16) -> u64 {
        let (mut all, mut next) = (0, 0);
        while let Some((dst, bytes)) = self.next_due(port, next) {
            (all, next) = (all + u64::from(bytes), dst + 1);
        }
        all
    }

    /// Tells the other end of a port how much has left, of each destination that is not delayed.
    fn give_back<P: Post<Packet>>(&mut self, chassis: &mut Chassis, port: u16, cx: &mut Ctx<'_, P>) {
        let mut next = 0;
        loop {
            let (mut entries, mut filled) = ([0; MOST * ENTRY], 0);
            while filled < MOST
                && let Some((dst, bytes)) = self.next_due(port, next)
            {
                let account = self.at(port, u32::from(dst));
                let entry = &mut entries[filled * ENTRY..][..ENTRY];
                entry[..2].copy_from_slice(&dst.to_le_bytes());
                entry[2..].copy_from_slice(&self.accounts[account].tell().to_le_bytes());
                self.owed[usize::from(port)].bytes -= u64::from(bytes);
                (filled, next) = (filled + 1, dst + 1);
            }
            if filled == 0 {
                break;
            }
            let frame = self.frame(chassis, port, filled);
            chassis.ports.extensions_mut().put(&frame, &entries[..filled * ENTRY]);
            chassis.ports.enqueue(port, &frame);
        }
        chassis.go(self, port, cx);
    }

    /// The next Return frame, with so many entries.
    fn frame(&mut self, chassis: &Chassis, port: u16, entries: usize) -> Packet {
        self.returns = self.returns.wrapping_add(1);
        let size = self.spec.frame.get() + self.spec.entry.get() * entries as u64;
        Packet {
            flow: chassis.ports.node() << 10 | u32::from(port),
            seq: self.returns,
            size: size.max(LEAST) as u16,
            kind: Kind::Return,
            ..Packet::NONE
        }
    }
}

/// The VOQ of a destination when none is free. Fibonacci hashing: the high bits of the product depend on all bits of the number.
fn shared(dst: u32, voqs: u16) -> u16 {
    let mixed = u64::from(dst.wrapping_mul(0x9E37_79B9));
    ((mixed * u64::from(voqs)) >> 32) as u16
}

impl Fabric for Floodgate {
    fn arrive<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        if !chassis.admit(packet, out, cx) {
            return;
        }
        if self.is_governed(packet, out) && !self.passes(chassis, packet, out, cx) {
            return self.set_aside(chassis, packet, out, cx);
        }
        self.join(chassis, packet, out, cx);
    }

    fn pull<P: Post<Packet>>(&mut self, chassis: &mut Chassis, out: u16, cx: &mut Ctx<'_, P>) {
        let Some(class) = chassis.ports.choose(out, cx.world.round_robin) else { return };
        let packet = chassis.ports.dequeue(out, class);
        if packet.kind == Kind::Return {
            return chassis.ports.transmit_extended(out, &packet, cx);
        }
        chassis.waited(&packet, out, cx);
        chassis.let_go(self, &packet, cx);
        let code = chassis.depart(out, &packet, cx);
        chassis.ports.transmit(out, &packet, code, cx);
        self.owe(chassis, &packet, cx);
    }

    fn fifos<'a>(&'a self, ports: &'a Ports, at: usize) -> &'a [Fifo] {
        std::slice::from_ref(ports.queue(at).fifo())
    }

    /// A Return frame: windows grow.
    fn frame<P: Post<Packet>>(&mut self, chassis: &mut Chassis, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let Some(entries) = chassis.ports.extensions_mut().take(frame) else { return };
        for entry in entries.bytes().chunks_exact(ENTRY) {
            let Some((dst, left)) = entry.split_first_chunk() else { continue };
            let Some(left) = left.first_chunk() else { continue };
            let (dst, left) = (u32::from(u16::from_le_bytes(*dst)), u32::from_le_bytes(*left));
            let at = self.at(frame.port, dst);
            let bytes = self.heard[at].hear(left);
            self.destinations[dst as usize].under_way.give_back(bytes);
            self.note(chassis, dst, frame.port, cx);
        }
        self.release(chassis, cx);
    }

    /// A port has its turn.
    fn timer<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        _purpose: Purpose,
        (port, _): (u16, u32),
        cx: &mut Ctx<'_, P>,
    ) {
        let now = Time::from_ps(cx.now);
        if self.owed[usize::from(port)].turns.take(now) {
            self.give_back(chassis, port, cx);
            self.wait(chassis, port, now);
        }
    }

    /// What stands at the head of a VOQ waits for the next switch to give back some of its destination.
    fn waits(&self, chassis: &Chassis) -> Vec<Wait> {
        let wait = |(voq, since): (u16, u64)| {
            let (packet, out) = self.head(chassis, voq);
            let scope = Scope { class: packet.class, key: packet.destination() };
            let egress = chassis.ports.egress(out);
            Wait { port: out, scope, since, node: egress.peer(), ingress: egress.peer_port() }
        };
        self.voqs.held().map(wait).collect()
    }

    /// Of what came for a destination: the egress queues that it stands in, and the head of its VOQ.
    fn waits_for(&self, chassis: &Chassis, port: u16, scope: Scope, _world: &World) -> Vec<Holder> {
        let at_ports = (0..chassis.ports.count()).filter_map(|out| {
            let waiting = chassis.waiting(self, chassis.ports.at(out, scope.class));
            let own = waiting.filter(|it| it.port == port && it.is_data() && it.destination() == scope.key);
            let bytes = own.map(|packet| u64::from(packet.size)).sum();
            let scope = Scope { class: scope.class, key: NOBODY };
            (bytes > 0).then_some(Holder { out, scope, bytes })
        });
        let it = &self.destinations[scope.key as usize];
        let in_voq = (it.waiting > 0).then(|| {
            let (packet, out) = self.head(chassis, it.voq);
            let scope = Scope { class: packet.class, key: packet.destination() };
            Holder { out, scope, bytes: u64::from(it.waiting) }
        });
        at_ports.chain(in_voq).collect()
    }

    fn apart(&self, chassis: &Chassis) -> Vec<Packet> {
        let all = self.voqs.fifos().iter().flat_map(|fifo| chassis.ports.pool().iter(*fifo));
        all.copied().collect()
    }

    /// Each destination counts what is in its VOQ, and each port what it is owed.
    fn check(&self, chassis: &Chassis, world: &World) -> Result<(), String> {
        chassis.check_memory(self, world)?;
        let mut waiting = vec![0; self.destinations.len()];
        for packet in self.apart(chassis) {
            waiting[packet.destination() as usize] += u32::from(packet.size);
        }
        for (dst, (it, bytes)) in self.destinations.iter().zip(&waiting).enumerate() {
            let listed = self.waiting.contains(&(dst as u16));
            if it.waiting != *bytes || listed != (*bytes > 0) {
                return Err(format!(
                    "{} B are counted that wait for host {dst}, and {bytes} B do",
                    it.waiting
                ));
            }
        }
        let accounts = self.accounts.chunks(self.destinations.len());
        for (port, (owed, accounts)) in self.owed.iter().zip(accounts).enumerate() {
            let bytes: u64 = accounts.iter().map(|account| u64::from(account.owed())).sum();
            if owed.bytes != bytes {
                return Err(format!("port {port} is owed {bytes} B, and {} B are counted", owed.bytes));
            }
        }
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        self.voqs.state_bytes()
            + size_of_val(&*self.destinations)
            + size_of_val(&*self.waiting)
            + size_of_val(&*self.outs)
            + size_of_val(&*self.owed)
            + size_of_val(&*self.accounts)
            + size_of_val(&*self.heard)
    }
}
