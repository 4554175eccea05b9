//! RECN and its heirs: queues that are set aside (SAQs) for roots of congestion further on, or for destinations behind them. What is told of them,
//! and when, is the rule of [`backwater_control::isolation::recn`].
//!
//! Queue 0 is the ordinary one; it makes its port a root when it is long. The others are SAQs, each from the frame that tells of it until it is
//! freed. What packets of a SAQ or of a root have in common is its key: the root, or a number of destinations.
//!
//! A switch speaks of what is held upstream by the number of its entry.
use backwater_control::isolation::recn::{Aside, Child, Notice};
use backwater_topology::Network;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::gates::Scope;
use crate::link::holds::{parts, root};
use crate::link::queue::Pool;
use crate::link::queue_pool::QueuePool;
use crate::packet::{Kind, Packet};
use crate::record::KeyedBy;
use crate::spec::RecnSpec;
use crate::switch::keyed::{Consequence, Keyed, Links, Place, Queues, Scheme};
use crate::world::World;

const ORDINARY: u16 = 0;

/// The other end of an ingress port, as far as a key is concerned.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Upstream {
    /// What is known of the SAQ there.
    child: Child,
    /// The number of the last frame to it that may make a SAQ.
    number: u16,
    /// What came from there: in SAQs of the key, and at its roots.
    bytes: u32,
}

/// What is known here of a key.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Entry {
    key: u32,
    class: u8,
    /// By ingress port.
    children: Vec<Upstream>,
    /// SAQs for it.
    queues: u16,
    /// Egress ports that are roots for it.
    roots: u16,
}

impl Entry {
    /// Whether nobody upstream has a SAQ, and no host is held.
    fn is_alone(&self) -> bool {
        self.children.iter().all(|upstream| upstream.child == Child::Free)
    }

    fn is_empty(&self) -> bool {
        self.children.iter().all(|upstream| upstream.bytes == 0)
    }
}

/// A queue that is set aside.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Saq {
    queue: u16,
    entry: u16,
    key: u32,
    /// Of the last frame that asked for it.
    number: u16,
    held: bool,
    /// It is new: nobody has looked yet for what came before.
    fresh: bool,
    /// Markers: queues with packets that came before, and how many have to leave first.
    behind: Vec<(u16, u32)>,
}

/// A key for which no SAQ was left.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Refused {
    key: u32,
    /// Of the last frame that asked for one.
    number: u16,
    held: bool,
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Recn {
    spec: RecnSpec,
    node: u32,
    classes: usize,
    /// Per port whether its other end is a host.
    to_host: Vec<bool>,
    entries: Vec<Option<Entry>>,
    /// By egress port and class.
    saqs: Vec<Vec<Saq>>,
    /// Entries for which the port is a root.
    roots: Vec<Vec<u16>>,
    refused: Vec<Vec<Refused>>,
    pending: Vec<Consequence>,
}

/// What records call the gate of a SAQ.
const fn gate(aside: Aside, key: u32) -> (KeyedBy, u32) {
    match aside {
        Aside::Root => (KeyedBy::Root, key),
        Aside::Destinations(_) => (KeyedBy::Queue, key),
    }
}

impl Recn {
    pub(crate) fn switch(node: u32, network: &Network, classes: usize, spec: RecnSpec) -> Keyed<Self> {
        let places = network.ports(node).len() * classes;
        let scheme = |links: &Links| Self {
            spec,
            node,
            classes,
            to_host: links.to_host.clone(),
            entries: Vec::new(),
            saqs: vec![Vec::new(); places],
            roots: vec![Vec::new(); places],
            refused: vec![Vec::new(); places],
            pending: Vec::new(),
        };
        let queues = (spec.queues + 1, spec.order, spec.frame);
        let mut keyed = Keyed::new((node, network, classes), queues, scheme);
        for pool in keyed.pools.iter_mut().filter(|pool| pool.count() > 0) {
            pool.assign(ORDINARY);
        }
        keyed
    }

    fn port_and_class(&self, at: usize) -> (u16, u8) {
        ((at / self.classes) as u16, (at % self.classes) as u8)
    }

    fn entry(&mut self, number: u16) -> &mut Entry {
        self.entries[usize::from(number)].as_mut().expect("whoever has its number keeps it")
    }

    fn known(&self, number: u16) -> &Entry {
        self.entries[usize::from(number)].as_ref().expect("whoever has its number keeps it")
    }

    fn find(&self, key: u32, class: u8) -> Option<u16> {
        let is_it =
            |entry: &Option<Entry>| entry.as_ref().is_some_and(|it| (it.key, it.class) == (key, class));
        self.entries.iter().position(is_it).map(|at| at as u16)
    }

    fn find_or_make(&mut self, key: u32, class: u8) -> u16 {
        if let Some(known) = self.find(key, class) {
            return known;
        }
        let children = vec![Upstream::default(); self.saqs.len() / self.classes];
        let new = Some(Entry { key, class, children, queues: 0, roots: 0 });
        let free = self.entries.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[at] = new;
        at as u16
    }

    /// By what a packet is known at its egress port, if that is a root.
    fn key_at_root(&self, packet: &Packet, out: u16) -> u32 {
        match self.spec.rules.aside {
            Aside::Root => root(self.node, out),
            Aside::Destinations(range) => packet.dst / range,
        }
    }

    fn beyond<'a>(&self, packet: &Packet, world: &'a World) -> &'a [u32] {
        world.ways.as_ref().expect("made for this kind").beyond(packet.flow, self.node)
    }

    /// The SAQ that a packet belongs to at an egress port: of several that of the farthest root. Its queue, and its entry.
    fn saq_for(&self, packet: &Packet, at: usize, world: &World) -> Option<(u16, u16)> {
        let saqs = &self.saqs[at];
        if saqs.is_empty() || !packet.is_data() {
            return None;
        }
        let of = |key: u32| saqs.iter().find(|saq| saq.key == key);
        let found = match self.spec.rules.aside {
            Aside::Root => self.beyond(packet, world).iter().rev().find_map(|root| of(*root)),
            Aside::Destinations(range) => of(packet.dst / range),
        };
        found.map(|saq| (saq.queue, saq.entry))
    }

    /// The entry of a packet for which its egress port is a root.
    fn root_of(&self, packet: &Packet, at: usize) -> Option<u16> {
        if self.roots[at].is_empty() || !packet.is_data() {
            return None;
        }
        let key = self.key_at_root(packet, self.port_and_class(at).0);
        self.roots[at].iter().copied().find(|number| self.known(*number).key == key)
    }

    fn find_saq(&self, at: usize, queue: u16) -> Option<&Saq> {
        self.saqs[at].iter().find(|saq| saq.queue == queue)
    }

    fn saq(&self, at: usize, queue: u16) -> &Saq {
        self.saqs[at].iter().find(|saq| saq.queue == queue).expect("a queue with packets is set aside")
    }

    /// A packet counts for an entry from now on; its egress port, and the queue that it is in.
    fn grew(&mut self, number: u16, packet: &Packet, queue: (u16, u16), links: &Links) {
        self.entry(number).children[usize::from(packet.port)].bytes += u32::from(packet.size);
        self.tell_growth(number, packet, queue, links);
    }

    fn tell_growth(&mut self, number: u16, packet: &Packet, queue: (u16, u16), links: &Links) {
        let (rules, hop) = (self.spec.rules, links.hop_bytes(packet.port, queue.0));
        let is_host = self.to_host[usize::from(packet.port)];
        let upstream = &mut self.entry(number).children[usize::from(packet.port)];
        let Some(told) = upstream.child.grew(u64::from(upstream.bytes), hop, &rules, is_host) else { return };
        upstream.number = upstream.number.wrapping_add(1);
        let what = if told == Notice::Off {
            Consequence::Hold { packet: *packet, queue, upstream: number }
        } else {
            Consequence::Frame(packet.port, self.frame_to(packet.port, Kind::Aside, number))
        };
        self.pending.push(what);
    }

    /// A packet counts for an entry no more.
    fn shrank(&mut self, number: u16, packet: &Packet, out: u16, links: &Links) {
        let (rules, hop) = (self.spec.rules, links.hop_bytes(packet.port, out));
        let is_host = self.to_host[usize::from(packet.port)];
        let upstream = &mut self.entry(number).children[usize::from(packet.port)];
        upstream.bytes -= u32::from(packet.size);
        if upstream.child.shrank(u64::from(upstream.bytes), hop, &rules, is_host).is_some() {
            let frame = self.hold_frame(packet, number, false, 0);
            self.pending.push(Consequence::Frame(packet.port, frame));
        }
    }

    /// A frame about an entry, for the other end of an ingress port.
    fn frame_to(&self, port: u16, kind: Kind, number: u16) -> Packet {
        let entry = self.known(number);
        self.frame(kind, (entry.key, entry.class), entry.children[usize::from(port)].number)
    }

    /// A frame about a key, for the other end of a port, with the number of what asks for a SAQ.
    fn frame(&self, kind: Kind, (key, class): (u32, u8), number: u16) -> Packet {
        let (flow, dst) = match self.spec.rules.aside {
            Aside::Root => (key, u32::MAX),
            Aside::Destinations(range) => (u32::MAX, key * range),
        };
        let size = self.spec.frame.get() as u16;
        Packet { flow, dst, seq: u32::from(class) << 8 | u32::from(number) << 16, size, kind, ..Packet::NONE }
    }

    fn key_in(&self, frame: &Packet) -> u32 {
        match self.spec.rules.aside {
            Aside::Root => frame.flow,
            Aside::Destinations(range) => frame.dst / range,
        }
    }

    /// A packet stands in the ordinary queue, which may make its port a root.
    fn entered(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, memory): (&QueuePool, &Pool),
        (links, world): (&Links, &World),
    ) {
        let queue = (place.out, ORDINARY);
        if let Some(number) = self.root_of(packet, place.at) {
            return self.grew(number, packet, queue, links);
        }
        let bytes = u64::from(pool.bytes(ORDINARY));
        let hop = links.hop_bytes(packet.port, place.out);
        // What has a SAQ goes there when it is first, but not while the whole port is held.
        let goes_on = || !pool.is_closed(ORDINARY) && self.saq_for(packet, place.at, world).is_some();
        if !packet.is_data() || !self.spec.rules.is_root(bytes, hop) || goes_on() {
            return;
        }
        let key = self.key_at_root(packet, place.out);
        let number = self.find_or_make(key, packet.class);
        self.roots[place.at].push(number);
        self.entry(number).roots += 1;
        for waiting in memory.iter(pool.fifos()[usize::from(ORDINARY)]) {
            if waiting.is_data() && self.key_at_root(waiting, place.out) == key {
                self.entry(number).children[usize::from(waiting.port)].bytes += u32::from(waiting.size);
            }
        }
        self.tell_growth(number, packet, queue, links);
    }

    /// A port is a root no more for what nobody upstream has a SAQ for, if its ordinary queue is short.
    fn end_roots(&mut self, at: usize, bytes: u64, hop: u64) {
        if !self.spec.rules.is_over(bytes, hop) {
            return;
        }
        for place in (0..self.roots[at].len()).rev() {
            let number = self.roots[at][place];
            let entry = self.known(number);
            // What still waits there is counted no more.
            let last = entry.queues == 0 && entry.roots == 1;
            if entry.is_alone() && (last || entry.is_empty()) {
                self.roots[at].remove(place);
                self.entry(number).roots -= 1;
                self.drop_if_idle(number);
            }
        }
    }

    fn drop_if_idle(&mut self, number: u16) {
        let entry = self.known(number);
        if entry.queues == 0 && entry.roots == 0 && entry.is_alone() {
            self.entries[usize::from(number)] = None;
        }
    }

    /// Frees the SAQ of an entry at a port if nobody needs it, and gives the token to the node downstream.
    fn release(&mut self, number: u16, at: usize, pool: &mut QueuePool, now: u64) {
        let entry = self.known(number);
        let (key, class) = (entry.key, entry.class);
        // A host has no SAQ. If it is held, then for what waits at another port.
        let mut upstream = entry.children.iter().zip(&self.to_host).filter(|(_, is_host)| !**is_host);
        if !upstream.all(|(upstream, _)| upstream.child == Child::Free) {
            return;
        }
        let Some(place) = self.saqs[at].iter().position(|saq| saq.entry == number) else { return };
        let Saq { queue, held, number: asked, .. } = self.saqs[at][place];
        if held || pool.bytes(queue) > 0 {
            return;
        }
        pool.unassign(queue);
        pool.open(queue);
        self.saqs[at].remove(place);
        self.entry(number).queues -= 1;
        let (port, used) = (self.port_and_class(at).0, self.saqs[at].len() as u32);
        self.pending.push(Consequence::Freed { port, root: key, used });
        self.pending.push(Consequence::Frame(port, self.frame(Kind::Free, (key, class), asked)));
        self.drop_if_idle(number);
        // It goes to what holds the whole port for want of one.
        if let Some(refused) = self.refused[at].iter().find(|refused| refused.held).copied() {
            self.hold(at, (refused.key, refused.number), pool, now);
            self.pending.push(Consequence::Settle(port, class));
        }
    }

    /// The SAQ for a key at an egress port, which may be a new one; `None`: there is none left.
    fn set_aside(&mut self, at: usize, (key, number): (u32, u16), pool: &mut QueuePool) -> Option<usize> {
        if let Some(known) = self.saqs[at].iter().position(|saq| saq.key == key) {
            self.saqs[at][known].number = number;
            return Some(known);
        }
        let (port, class) = self.port_and_class(at);
        let used = self.saqs[at].len() as u32;
        let Some(queue) = pool.free() else {
            if let Some(known) = self.refused[at].iter_mut().find(|refused| refused.key == key) {
                known.number = number;
            } else {
                self.refused[at].push(Refused { key, number, held: false });
                self.pending.push(Consequence::Refused { port, root: key, used });
            }
            return None;
        };
        pool.assign(queue);
        let entry = self.find_or_make(key, class);
        self.entry(entry).queues += 1;
        self.saqs[at].push(Saq { queue, entry, key, number, held: false, fresh: true, behind: Vec::new() });
        self.pending.push(Consequence::Made { port, root: key, used: used + 1 });
        self.unrefuse(at, key, pool);
        Some(self.saqs[at].len() - 1)
    }

    /// A key that had no SAQ holds the port no more. What was known of it.
    fn unrefuse(&mut self, at: usize, key: u32, pool: &mut QueuePool) -> Option<Refused> {
        let place = self.refused[at].iter().position(|refused| refused.key == key)?;
        let known = self.refused[at].remove(place);
        if self.refused[at].iter().all(|refused| !refused.held) {
            pool.open(ORDINARY);
        }
        Some(known)
    }

    /// What goes to a key is held at the other end of an egress port.
    fn hold(&mut self, at: usize, (key, number): (u32, u16), pool: &mut QueuePool, now: u64) {
        let (port, class) = self.port_and_class(at);
        let Some(place) = self.set_aside(at, (key, number), pool) else {
            let refused = self.refused[at].iter_mut().find(|refused| refused.key == key);
            refused.expect("noted just now").held = true;
            return pool.close(ORDINARY, now);
        };
        let saq = &mut self.saqs[at][place];
        let queue = saq.queue;
        if !saq.held {
            let gate = gate(self.spec.rules.aside, key);
            self.pending.push(Consequence::Gate { queue: (port, class, queue), gate, closes: true });
        }
        saq.held = true;
        pool.close(queue, now);
    }

    /// It is held no more, and may be freed.
    fn let_go(&mut self, at: usize, key: u32, pool: &mut QueuePool, now: u64) {
        let (port, class) = self.port_and_class(at);
        if let Some(refused) = self.unrefuse(at, key, pool) {
            // It has no SAQ whose end would give the token back.
            let token = self.frame(Kind::Free, (key, class), refused.number);
            self.pending.push(Consequence::Frame(port, token));
        }
        let Some(saq) = self.saqs[at].iter_mut().find(|saq| saq.key == key) else { return };
        let (queue, entry) = (saq.queue, saq.entry);
        if saq.held {
            let gate = gate(self.spec.rules.aside, key);
            self.pending.push(Consequence::Gate { queue: (port, class, queue), gate, closes: false });
        }
        saq.held = false;
        if saq.behind.is_empty() {
            pool.open(queue);
        }
        self.release(entry, at, pool, now);
    }

    /// A packet has left a queue: markers behind it come nearer.
    fn passed(&mut self, at: usize, queue: u16, pool: &mut QueuePool) {
        for saq in self.saqs[at].iter_mut().filter(|saq| !saq.behind.is_empty()) {
            for (of, packets) in &mut saq.behind {
                *packets -= u32::from(*of == queue);
            }
            saq.behind.retain(|(_, packets)| *packets > 0);
            if saq.behind.is_empty() && !saq.held {
                pool.open(saq.queue);
            }
        }
    }

    /// Puts markers for a new SAQ into queues with packets that belong to it.
    fn mark(
        &mut self,
        at: usize,
        place: usize,
        (pool, memory): (&mut QueuePool, &Pool),
        context: (&World, u64),
    ) {
        let (queue, (world, now)) = (self.saqs[at][place].queue, context);
        let mut behind = Vec::new();
        for (other, fifo) in (0u16..).zip(pool.fifos()).filter(|(other, _)| *other != queue) {
            let waiting = || memory.iter(*fifo);
            if waiting().any(|packet| self.saq_for(packet, at, world).is_some_and(|(own, _)| own == queue)) {
                behind.push((other, waiting().count() as u32));
            }
        }
        if !behind.is_empty() {
            pool.close(queue, now);
        }
        self.saqs[at][place].behind = behind;
        self.saqs[at][place].fresh = false;
    }
}

impl Scheme for Recn {
    const MADE: bool = true;

    fn join(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, memory): (&mut QueuePool, &mut Pool),
        (links, world): (&Links, &World),
    ) -> (u16, Option<u16>) {
        let saq = match self.spec.rules.aside {
            Aside::Root => self.saq_for(packet, place.at, world),
            Aside::Destinations(_) => None,
        };
        let queue = saq.map_or(ORDINARY, |(queue, _)| queue);
        pool.push(memory, queue, packet);
        match saq {
            Some((queue, entry)) => self.grew(entry, packet, (place.out, queue), links),
            None => self.entered(packet, place, (pool, memory), (links, world)),
        }
        (queue, None)
    }

    fn left(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue, _): (&mut QueuePool, u16, usize),
        (links, _): (&Links, &World),
    ) -> Option<(u16, u16)> {
        self.passed(place.at, queue, pool);
        if queue != ORDINARY {
            let number = self.saq(place.at, queue).entry;
            self.shrank(number, packet, place.out, links);
            self.release(number, place.at, pool, place.now.as_ps());
            return None;
        }
        if let Some(number) = self.root_of(packet, place.at) {
            self.shrank(number, packet, place.out, links);
        }
        if !self.roots[place.at].is_empty() {
            let hop = links.hop_bytes(packet.port, place.out);
            self.end_roots(place.at, u64::from(pool.bytes(ORDINARY)), hop);
        }
        None
    }

    fn tidy(
        &mut self,
        (out, at, now): (u16, usize, u64),
        (pool, memory): (&mut QueuePool, &mut Pool),
        (links, world): (&Links, &World),
    ) {
        if self.saqs[at].is_empty() {
            return;
        }
        if self.spec.rules.aside == Aside::Root {
            if let Some(place) = self.saqs[at].iter().position(|saq| saq.fresh) {
                self.mark(at, place, (pool, memory), (world, now));
            }
            return;
        }
        while !pool.fifos()[usize::from(ORDINARY)].is_empty() {
            let head = *memory.first(pool.fifos()[usize::from(ORDINARY)]);
            let Some((queue, entry)) = self.saq_for(&head, at, world) else { break };
            pool.shift(memory, ORDINARY, queue);
            // At a root its bytes were counted before.
            if self.root_of(&head, at).is_some() {
                self.tell_growth(entry, &head, (out, queue), links);
            } else {
                self.grew(entry, &head, (out, queue), links);
            }
        }
    }

    fn pending(&mut self) -> Vec<Consequence> {
        std::mem::take(&mut self.pending)
    }

    fn is_marked(&self, packet: &Packet, at: usize) -> bool {
        !self.spec.rules.marks_roots || self.root_of(packet, at).is_some()
    }

    fn named(&self, key: u32) -> (Option<(u32, u16)>, Option<u32>) {
        match self.spec.rules.aside {
            Aside::Root => (Some(parts(key)), None),
            Aside::Destinations(range) => (None, Some(key * range)),
        }
    }

    /// For a NIC it names the flow, too, unless it is about a root.
    fn hold_frame(&self, of: &Packet, number: u16, holds: bool, _: u16) -> Packet {
        let frame = self.frame_to(of.port, Kind::Hold, number);
        let flow = if frame.dst == u32::MAX { frame.flow } else { of.flow };
        Packet { flow, seq: frame.seq | u32::from(holds), ..frame }
    }

    fn hear(&mut self, frame: &Packet, at: usize, queues: Queues<'_>, told: &mut Vec<Consequence>) {
        let (holds, class, asked) = frame.held();
        let key = self.key_in(frame);
        let pool = &mut queues.pools[at];
        match frame.kind {
            Kind::Aside => _ = self.set_aside(at, (key, asked), pool),
            Kind::Hold if holds => self.hold(at, (key, asked), pool, queues.now),
            Kind::Hold => self.let_go(at, key, pool, queues.now),
            _ => {
                if let Some(number) = self.find(key, class) {
                    let upstream = &mut self.entry(number).children[usize::from(frame.port)];
                    // A newer frame that asks for a SAQ may still be on its way, and has a token of its own.
                    if upstream.number == asked {
                        upstream.child.freed();
                    }
                    let places = (usize::from(class)..self.saqs.len()).step_by(self.classes);
                    for at in places.clone() {
                        if self.find(key, class).is_some() {
                            self.release(number, at, &mut queues.pools[at], queues.now);
                        }
                    }
                    for at in places {
                        let hop = queues.links.hop_bytes(frame.port, self.port_and_class(at).0);
                        self.end_roots(at, u64::from(queues.pools[at].bytes(ORDINARY)), hop);
                    }
                }
            }
        }
        told.append(&mut self.pending);
    }

    fn queue_of(&self, _: &Packet) -> u16 {
        unreachable!("it hears frames itself")
    }

    fn gate_of(&self, _: &Packet) -> Option<u16> {
        None
    }

    fn key(&self, at: usize, queue: u16) -> u32 {
        match queue {
            ORDINARY => {
                self.refused[at].iter().find(|refused| refused.held).map_or(Scope::ALL, |refused| refused.key)
            }
            _ => self.find_saq(at, queue).map_or(Scope::ALL, |saq| saq.key),
        }
    }

    fn gate(&self, at: usize, queue: u16) -> Option<(KeyedBy, u32)> {
        self.find_saq(at, queue).map(|saq| gate(self.spec.rules.aside, saq.key))
    }

    fn upstream_key(&self, number: u16) -> u32 {
        self.known(number).key
    }

    fn is_of(&self, packet: &Packet, _: usize, (at, queue): (usize, u16), upstream: u32, _: &Links) -> bool {
        if queue != ORDINARY {
            return self.find_saq(at, queue).is_some_and(|saq| saq.key == upstream);
        }
        self.root_of(packet, at).is_some_and(|number| self.known(number).key == upstream)
            || self.refused[at].iter().any(|refused| refused.held && refused.key == upstream)
    }

    fn holds(&self, packet: &Packet, _: usize, (at, queue): (usize, u16)) -> bool {
        let number = match queue {
            ORDINARY => self.root_of(packet, at),
            _ => self.saqs[at].iter().find(|saq| saq.queue == queue).map(|saq| saq.entry),
        };
        let child = |number: u16| self.known(number).children[usize::from(packet.port)].child;
        number.is_some_and(|number| child(number) == Child::Held)
            || (queue == ORDINARY && self.refused[at].iter().any(|refused| refused.held))
    }

    /// What entries count is what waits for their keys, and where nothing waits nothing is held.
    fn check(&self, pools: &[QueuePool], memory: &Pool) -> Result<(), String> {
        for (number, entry) in
            (0..).zip(&self.entries).filter_map(|(number, it)| Some((number, it.as_ref()?)))
        {
            let mut bytes = vec![0; entry.children.len()];
            for (at, pool) in
                pools.iter().enumerate().filter(|(at, _)| self.port_and_class(*at).1 == entry.class)
            {
                for (queue, fifo) in (0u16..).zip(pool.fifos()) {
                    let all = self.find_saq(at, queue).is_some_and(|saq| saq.key == entry.key);
                    let counts = |packet: &&Packet| {
                        all || (queue == ORDINARY && self.root_of(packet, at) == Some(number))
                    };
                    for packet in memory.iter(*fifo).filter(counts) {
                        bytes[usize::from(packet.port)] += u32::from(packet.size);
                    }
                }
            }
            for (port, (counted, is)) in entry.children.iter().map(|it| it.bytes).zip(bytes).enumerate() {
                if counted != is {
                    return Err(format!(
                        "{counted} B from port {port} are counted for what is set aside, and {is} B wait"
                    ));
                }
            }
        }
        let children = self.entries.iter().flatten().flat_map(|entry| &entry.children);
        let held = children.filter(|upstream| upstream.child == Child::Held).count();
        if held > 0 && pools.iter().all(QueuePool::is_empty) {
            return Err(format!("something is held in {held} places, and no packet waits"));
        }
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        let entries = self.entries.iter().flatten().map(|entry| size_of_val(&*entry.children)).sum::<usize>();
        let saqs = self.saqs.iter().map(|all| size_of_val(&**all)).sum::<usize>();
        let roots = self.roots.iter().map(|all| size_of_val(&**all)).sum::<usize>();
        entries + saqs + roots
    }
}
