//! Pyrrha: queues of roots. What is a root, and which packets wait for it, is the rule of [`backwater_control::isolation::pyrrha`].
//!
//! Queue 0 is the ordinary one, in which ACKs wait, too: it alone reaches the wire. The others belong to roots further on, each from the frame
//! that tells of its root until it is freed. A timer of the port gives a packet of each to the next queue on its way.
//!
//! A switch speaks of what is held upstream by number: its own egress queues, and from [`FOREIGN`] on the entries of roots elsewhere.
use backwater_control::isolation::pyrrha::{Candidate, Child, Uplinks, choose};
use backwater_topology::Network;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::egress::Egress;
use crate::link::gates::Scope;
use crate::link::holds::{self, parts, root};
use crate::link::queue::Pool;
use crate::link::queue_pool::QueuePool;
use crate::packet::{Kind, Packet};
use crate::record::KeyedBy;
use crate::spec::{Pace, PoolOrder, PyrrhaSpec};
use crate::switch::keyed::{Consequence, Keyed, Links, Moved, Place, Queues, Scheme};
use crate::world::World;

/// The queue that reaches the wire.
const ORDINARY: u16 = 0;
/// The number of the first entry among what is held upstream.
const FOREIGN: u16 = 1 << 15;

/// What is known here of a root at another switch.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Entry {
    root: u32,
    class: u8,
    /// Links from the root.
    hop: u16,
    /// By ingress port what is known of the node there, and the bytes that came from it and wait for the root.
    children: Vec<(Child, u32)>,
    /// Isolation queues for it.
    queues: u16,
}

/// An isolation queue.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Ciq {
    queue: u16,
    /// Whose it is.
    entry: u16,
    root: u32,
    /// It takes only what has no other queue, and is freed when it is empty.
    merged: bool,
}

#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Pyrrha {
    spec: PyrrhaSpec,
    node: u32,
    classes: usize,
    /// Ports that lead to hosts or a lower tier, and to a higher one.
    directions: Vec<(bool, bool)>,
    uplinks: u32,
    /// By class bytes in the ordinary queues of ports to higher tiers.
    up_bytes: Vec<u64>,
    /// By egress port and class which ingress ports hold that port as a root: `[at * ports + port]`.
    told: Vec<bool>,
    /// How many do, by egress port and class.
    holding: Vec<u16>,
    /// Which ingress ports ever did, in the order of their first time; they are let go in the opposite one.
    first: Vec<Vec<u16>>,
    entries: Vec<Option<Entry>>,
    /// By egress port and class.
    ciqs: Vec<Vec<Ciq>>,
    /// Roots that have no queue there and are held.
    refused: Vec<Vec<u32>>,
    /// Picoseconds between two turns of the isolation queues, by port.
    period: Vec<u64>,
    /// When these turns are counted from: the first root that was heard of.
    origin: Option<u64>,
    /// By port the next turn that is waited for, or the last one.
    turn: Vec<u64>,
}

impl Pyrrha {
    pub(crate) fn switch(
        node: u32,
        network: &Network,
        classes: usize,
        spec: PyrrhaSpec,
        (egress, world): (&[Egress], &World),
    ) -> Keyed<Self> {
        let ports = egress.len();
        let wire_times = egress.iter().map(|port| port.wire_time(world.payload + world.header).max(1));
        let wire_times: Vec<u64> = wire_times.collect();
        let directions = world.ways.as_ref().expect("made for this kind").directions(network, node);
        let last = *wire_times.last().expect("a switch has ports");
        let period = match spec.pace {
            Pace::OwnPort => wire_times,
            Pace::LastPort => vec![last; ports],
        };
        let scheme = |_: &Links| Self {
            spec,
            node,
            classes,
            uplinks: directions.iter().filter(|(_, up)| *up).count() as u32,
            directions,
            up_bytes: vec![0; classes],
            told: vec![false; ports * ports * classes],
            holding: vec![0; ports * classes],
            first: vec![Vec::new(); ports * classes],
            entries: Vec::new(),
            ciqs: vec![Vec::new(); ports * classes],
            refused: vec![Vec::new(); ports * classes],
            period,
            origin: None,
            turn: vec![0; ports],
        };
        let queues = (spec.queues + 1, PoolOrder::LowestFirst, spec.frame);
        let mut keyed = Keyed::new((node, network, classes), queues, scheme);
        for pool in keyed.pools.iter_mut().filter(|pool| pool.count() > 0) {
            pool.assign(ORDINARY);
        }
        keyed
    }

    fn ports(&self) -> usize {
        self.directions.len()
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

    fn find(&self, root: u32, class: u8) -> Option<u16> {
        let is_it =
            |entry: &Option<Entry>| entry.as_ref().is_some_and(|it| (it.root, it.class) == (root, class));
        self.entries.iter().position(is_it).map(|at| at as u16)
    }

    /// That of a root that is so many links away, which may be a new one.
    fn find_or_make(&mut self, root: u32, class: u8, hop: u16) -> u16 {
        if let Some(known) = self.find(root, class) {
            self.entry(known).hop = hop;
            return known;
        }
        let children = vec![(Child::Free, 0); self.ports()];
        let new = Some(Entry { root, class, hop, children, queues: 0 });
        let free = self.entries.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[at] = new;
        at as u16
    }

    /// The isolation queue that a packet waits in at an egress port; `before`: of those of nearer roots than this one, the farthest.
    fn queue_for(
        &self,
        packet: &Packet,
        at: usize,
        before: Option<u32>,
        pool: &QueuePool,
        world: &World,
    ) -> u16 {
        let ciqs = &self.ciqs[at];
        if ciqs.is_empty() || !packet.is_data() {
            return ORDINARY;
        }
        let way = world.ways.as_ref().expect("made for this kind").beyond(packet.flow, self.node);
        let nearer = way.iter().take_while(|root| Some(**root) != before);
        let found = nearer.filter_map(|root| ciqs.iter().find(|ciq| ciq.root == *root));
        let found = found.map(|ciq| Candidate {
            queue: ciq.queue,
            empty: pool.bytes(ciq.queue) == 0,
            merged: ciq.merged,
        });
        choose(self.spec.rules.nearest && before.is_none(), found).unwrap_or(ORDINARY)
    }

    /// A packet is in a queue: what is to be held upstream for its sake.
    fn entered(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue): (&QueuePool, u16),
        links: &Links,
    ) -> Option<u16> {
        let rules = self.spec.rules;
        let hop = links.hop_bytes(packet.port, place.out);
        if queue != ORDINARY {
            let number = self.ciq(place.at, queue).entry;
            let (child, bytes) = &mut self.entry(number).children[usize::from(packet.port)];
            *bytes += u32::from(packet.size);
            return (rules.holds(u64::from(*bytes), hop) && child.hold()).then_some(FOREIGN | number);
        }
        let up = self.directions[usize::from(place.out)].1;
        let class = usize::from(packet.class);
        if up {
            self.up_bytes[class] += u64::from(packet.size);
        }
        let bytes = u64::from(pool.bytes(ORDINARY));
        let uplinks = up.then(|| Uplinks { count: self.uplinks, bytes: self.up_bytes[class] });
        let ports = self.ports();
        let told = &mut self.told[place.at * ports + usize::from(packet.port)];
        let new = packet.is_data()
            && !*told
            && rules.holds(bytes, hop)
            && rules.is_root(bytes, uplinks)
            && (!rules.only_down || self.directions[usize::from(place.out)].0);
        *told |= new;
        self.holding[place.at] += u16::from(new);
        if new && !self.first[place.at].contains(&packet.port) {
            self.first[place.at].push(packet.port);
        }
        new.then_some(place.at as u16)
    }

    fn ciq(&self, at: usize, queue: u16) -> &Ciq {
        self.ciqs[at].iter().find(|ciq| ciq.queue == queue).expect("a queue with packets belongs to a root")
    }

    /// A queue for a root at an egress port, which may be a new one; `None`: there is no more.
    fn make_queue(
        &mut self,
        at: usize,
        (number, root): (u16, u32),
        pool: &mut QueuePool,
    ) -> (Option<u16>, bool) {
        if let Some(known) = self.ciqs[at].iter_mut().find(|ciq| ciq.root == root) {
            known.merged = false;
            return (Some(known.queue), false);
        }
        let Some(queue) = pool.free() else { return (None, false) };
        pool.assign(queue);
        self.ciqs[at].push(Ciq { queue, entry: number, root, merged: false });
        self.entry(number).queues += 1;
        (Some(queue), true)
    }

    /// A frame of what becomes of a root, for the other end of a port.
    fn frame(&self, kind: Kind, root: u32, (class, hop): (u8, u16), old: u32) -> Packet {
        let seq = u32::from(class) << 8 | u32::from(hop) << 16;
        Packet { flow: root, dst: old, seq, size: self.spec.frame.get() as u16, kind, ..Packet::NONE }
    }

    /// A root is held at the other end of an egress port.
    fn hold(
        &mut self,
        at: usize,
        (root, hop): (u32, u16),
        queues: &mut Queues<'_>,
        told: &mut Vec<Consequence>,
    ) {
        let (port, class) = self.port_and_class(at);
        self.origin.get_or_insert(queues.now);
        let number = self.find_or_make(root, class, hop);
        let (queue, new) = self.make_queue(at, (number, root), &mut queues.pools[at]);
        let Some(queue) = queue else {
            self.refuse(at, root, queues, told);
            return self.drop_if_idle(number);
        };
        if !queues.pools[at].is_closed(queue) {
            let gate = (KeyedBy::Root, root);
            told.push(Consequence::Gate { queue: (port, class, queue), gate, closes: true });
        }
        queues.pools[at].close(queue, queues.now);
        if new {
            told.push(Consequence::Made { port, root, used: self.ciqs[at].len() as u32 });
        }
        let merges =
            new && self.spec.rules.merge && self.directions[usize::from(port)].0 && self.holding[at] > 0;
        if merges {
            let (ports, old) = (self.ports(), holds::root(self.node, port));
            for ingress in 0..ports {
                if std::mem::take(&mut self.told[at * ports + ingress]) {
                    self.entry(number).children[ingress].0.merge();
                    told.push(Consequence::Frame(
                        ingress as u16,
                        self.frame(Kind::Merge, root, (class, hop + 1), old),
                    ));
                }
            }
            self.holding[at] = 0;
        }
    }

    /// A root has no queue at an egress port: all of the port waits for it.
    fn refuse(&mut self, at: usize, root: u32, queues: &mut Queues<'_>, told: &mut Vec<Consequence>) {
        let (port, _) = self.port_and_class(at);
        if !self.refused[at].contains(&root) {
            self.refused[at].push(root);
            queues.pools[at].close(ORDINARY, queues.now);
            told.push(Consequence::Refused { port, root, used: self.ciqs[at].len() as u32 });
        }
    }

    /// The other end of an egress port is told that nothing is kept here for a root of its.
    fn free(&self, at: usize, root: u32) -> Consequence {
        let (port, class) = self.port_and_class(at);
        Consequence::Frame(port, self.frame(Kind::Free, root, (class, 0), u32::MAX))
    }

    /// A root is held no more at the other end of an egress port.
    fn let_go(&mut self, at: usize, root: u32, queues: &mut Queues<'_>, told: &mut Vec<Consequence>) {
        let refused = self.refused[at].len();
        self.refused[at].retain(|refused| *refused != root);
        if self.refused[at].is_empty() {
            queues.pools[at].open(ORDINARY);
        }
        if self.refused[at].len() < refused && self.ciqs[at].iter().all(|ciq| ciq.root != root) {
            // It had no queue here that could tell so when it is freed.
            told.push(self.free(at, root));
        }
        if let Some(&Ciq { queue, entry, .. }) = self.ciqs[at].iter().find(|ciq| ciq.root == root) {
            if queues.pools[at].is_closed(queue) {
                let ((port, class), gate) = (self.port_and_class(at), (KeyedBy::Root, root));
                told.push(Consequence::Gate { queue: (port, class, queue), gate, closes: false });
            }
            queues.pools[at].open(queue);
            self.release(entry, queues, told);
        }
    }

    /// Behind an egress port a root became a part of another one.
    fn merge(&mut self, at: usize, frame: &Packet, queues: &mut Queues<'_>, told: &mut Vec<Consequence>) {
        let (port, class) = self.port_and_class(at);
        let (new, old, hop) = (frame.flow, frame.dst, frame.held().2);
        self.origin.get_or_insert(queues.now);
        let number = self.find_or_make(new, class, hop);
        let (queue, made) = self.make_queue(at, (number, new), &mut queues.pools[at]);
        if made {
            told.push(Consequence::Made { port, root: new, used: self.ciqs[at].len() as u32 });
        }
        if queue.is_none() {
            told.push(self.free(at, new));
        }
        if let Some(ciq) = self.ciqs[at].iter_mut().find(|ciq| ciq.root == old) {
            ciq.merged = true;
            let entry = ciq.entry;
            // Without a queue for the new root those upstream are let go when this one is short.
            for ingress in (0..self.ports()).filter(|_| queue.is_some()) {
                let child = &mut self.entry(entry).children[ingress].0;
                if *child == Child::Held {
                    *child = Child::Free;
                    self.entry(number).children[ingress].0.merge();
                    told.push(Consequence::Frame(
                        ingress as u16,
                        self.frame(Kind::Merge, new, (class, hop + 1), old),
                    ));
                }
            }
        }
        self.let_go(at, old, queues, told);
        if queue.is_some() {
            // What it was made for may have gone by: then nothing else frees it.
            self.release(number, queues, told);
        } else {
            self.drop_if_idle(number);
        }
    }

    /// Frees the queues of a root that nobody needs any more, and tells the nodes downstream, which may then free theirs.
    fn release(&mut self, number: u16, queues: &mut Queues<'_>, told: &mut Vec<Consequence>) {
        let to_host = |port: usize| queues.links.to_host[port];
        let done = |(port, (child, _)): (usize, &(Child, u32))| child.is_done(to_host(port));
        let entry = self.known(number);
        let (root, class) = (entry.root, entry.class);
        if !entry.children.iter().enumerate().all(done) {
            return;
        }
        for at in (usize::from(class)..self.ciqs.len()).step_by(self.classes) {
            let Some(place) = self.ciqs[at].iter().position(|ciq| ciq.entry == number) else { continue };
            let Ciq { queue, merged, .. } = self.ciqs[at][place];
            let pool = &mut queues.pools[at];
            if pool.bytes(queue) > 0 || pool.is_closed(queue) {
                continue;
            }
            pool.unassign(queue);
            self.ciqs[at].remove(place);
            self.entry(number).queues -= 1;
            let (port, used) = ((at / self.classes) as u16, self.ciqs[at].len() as u32);
            told.push(Consequence::Freed { port, root, used });
            if !merged {
                told.push(self.free(at, root));
            }
        }
        self.drop_if_idle(number);
    }

    /// Forgets a root that has no queue here.
    fn drop_if_idle(&mut self, number: u16) {
        if self.known(number).queues == 0 {
            self.entries[usize::from(number)] = None;
        }
    }

    /// Whether a packet of an isolation queue of a port may move on.
    fn moves(&self, at: usize, pool: &QueuePool) -> bool {
        self.ciqs[at].iter().any(|ciq| pool.is_ready(ciq.queue))
    }
}

impl Scheme for Pyrrha {
    const ROOTS: bool = true;
    const MADE: bool = true;

    fn join(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, memory): (&mut QueuePool, &mut Pool),
        (links, world): (&Links, &World),
    ) -> (u16, Option<u16>) {
        let queue = self.queue_for(packet, place.at, None, pool, world);
        pool.push(memory, queue, packet);
        (queue, self.entered(packet, place, (pool, queue), links))
    }

    /// Only the ordinary queue reaches the wire.
    fn left(
        &mut self,
        packet: &Packet,
        place: Place,
        (pool, queue, _): (&mut QueuePool, u16, usize),
        (links, _): (&Links, &World),
    ) -> Option<(u16, u16)> {
        if self.directions[usize::from(place.out)].1 {
            self.up_bytes[usize::from(packet.class)] -= u64::from(packet.size);
        }
        self.more(packet, place, (pool, queue), links)
    }

    /// The next node that holds this port as a root and is let go.
    fn more(
        &mut self,
        _packet: &Packet,
        place: Place,
        (pool, _): (&QueuePool, u16),
        links: &Links,
    ) -> Option<(u16, u16)> {
        if self.holding[place.at] == 0 {
            return None;
        }
        let bytes = u64::from(pool.bytes(ORDINARY));
        let (ports, rules) = (self.ports(), self.spec.rules);
        let told = &mut self.told[place.at * ports..][..ports];
        let is_let_go =
            |port: &u16| told[usize::from(*port)] && rules.lets_go(bytes, links.hop_bytes(*port, place.out));
        let port = self.first[place.at].iter().rev().copied().find(is_let_go)?;
        told[usize::from(port)] = false;
        self.holding[place.at] -= 1;
        Some((port, place.at as u16))
    }

    fn next(pool: &QueuePool, _: PoolOrder) -> Option<u16> {
        pool.is_ready(ORDINARY).then_some(ORDINARY)
    }

    fn is_ready(pool: &QueuePool) -> bool {
        pool.is_ready(ORDINARY)
    }

    /// What will move on by itself does not wait for the gate.
    fn is_waiting(pool: &QueuePool) -> bool {
        pool.bytes(ORDINARY) > 0 || (pool.active() == 0 && !pool.is_empty())
    }

    fn hold_frame(&self, of: &Packet, upstream: u16, holds: bool, _: u16) -> Packet {
        let (root, hop) = if upstream < FOREIGN {
            (root(self.node, self.port_and_class(usize::from(upstream)).0), 0)
        } else {
            let entry = self.known(upstream - FOREIGN);
            (entry.root, entry.hop)
        };
        let frame = self.frame(Kind::Hold, root, (of.class, hop + 1), u32::MAX);
        Packet { seq: frame.seq | u32::from(holds), ..frame }
    }

    fn hear(&mut self, frame: &Packet, at: usize, mut queues: Queues<'_>, told: &mut Vec<Consequence>) {
        let (holds, class, hop) = frame.held();
        match frame.kind {
            Kind::Hold if holds => self.hold(at, (frame.flow, hop), &mut queues, told),
            Kind::Hold => self.let_go(at, frame.flow, &mut queues, told),
            Kind::Merge => self.merge(at, frame, &mut queues, told),
            _ => {
                if let Some(number) = self.find(frame.flow, class) {
                    self.entry(number).children[usize::from(frame.port)].0.free();
                    self.release(number, &mut queues, told);
                }
            }
        }
    }

    /// The next turn on the clock of the port, if something is to move.
    fn due(&mut self, at: usize, pool: &QueuePool, now: u64) -> Option<u64> {
        if self.ciqs[at].is_empty() || !self.moves(at, pool) {
            return None;
        }
        let port = at / self.classes;
        let (origin, period, turn) = (self.origin.unwrap_or(now), self.period[port], self.turn[port]);
        if turn > now {
            return None;
        }
        let next = origin + (now - origin).div_ceil(period) * period;
        self.turn[port] = if next == turn { turn + period } else { next };
        Some(self.turn[port])
    }

    fn turns(&self, at: usize, turns: &mut Vec<u16>) {
        turns.extend(self.ciqs[at].iter().map(|ciq| ciq.queue));
        let hop = |queue: u16| self.known(self.ciq(at, queue).entry).hop;
        turns.sort_unstable_by_key(|queue| (std::cmp::Reverse(hop(*queue)), *queue));
    }

    fn give_on(
        &mut self,
        (out, at, queue): (u16, usize, u16),
        mut queues: Queues<'_>,
        (memory, world): (&mut Pool, &World),
        told: &mut Vec<Consequence>,
    ) -> Moved {
        let Ciq { entry: number, root, .. } = *self.ciq(at, queue);
        let packet = queues.pools[at].pop(memory, queue).1;
        let from = usize::from(packet.port) * self.classes + usize::from(packet.class);
        let place = Place { out, at, from, now: Time::from_ps(queues.now) };
        let next = self.queue_for(&packet, at, Some(root), &queues.pools[at], world);
        queues.pools[at].push(memory, next, &Packet { time: queues.now, ..packet });
        let held = self.entered(&packet, place, (&queues.pools[at], next), queues.links);
        let (rules, hop) = (self.spec.rules, queues.links.hop_bytes(packet.port, out));
        let (child, bytes) = &mut self.entry(number).children[usize::from(packet.port)];
        *bytes -= u32::from(packet.size);
        let lets_go = rules.lets_go(u64::from(*bytes), hop) && child.let_go();
        if lets_go {
            told.push(Consequence::Frame(packet.port, self.hold_frame(&packet, FOREIGN | number, false, 0)));
        }
        if queues.pools[at].bytes(queue) == 0 {
            self.release(number, &mut queues, told);
        }
        Moved { packet, queue: next, held }
    }

    fn queue_of(&self, _: &Packet) -> u16 {
        unreachable!("it hears frames itself")
    }

    fn gate(&self, at: usize, queue: u16) -> Option<(KeyedBy, u32)> {
        (queue != ORDINARY).then(|| (KeyedBy::Root, self.ciq(at, queue).root))
    }

    fn key(&self, at: usize, queue: u16) -> u32 {
        match queue {
            ORDINARY => self.refused[at].first().copied().unwrap_or(Scope::ALL),
            _ => self.ciqs[at].iter().find(|ciq| ciq.queue == queue).map_or(Scope::ALL, |ciq| ciq.root),
        }
    }

    fn upstream_key(&self, upstream: u16) -> u32 {
        if upstream < FOREIGN {
            root(self.node, self.port_and_class(usize::from(upstream)).0)
        } else {
            self.known(upstream - FOREIGN).root
        }
    }

    fn is_of(&self, _: &Packet, _: usize, (at, queue): (usize, u16), upstream: u32, _: &Links) -> bool {
        let (node, port) = parts(upstream);
        match queue {
            ORDINARY => {
                (node, port) == (self.node, self.port_and_class(at).0) || self.refused[at].contains(&upstream)
            }
            _ => self.key(at, queue) == upstream,
        }
    }

    fn holds(&self, packet: &Packet, _: usize, (at, queue): (usize, u16)) -> bool {
        match queue {
            ORDINARY => {
                self.told[at * self.ports() + usize::from(packet.port)] || !self.refused[at].is_empty()
            }
            _ => self.known(self.ciq(at, queue).entry).children[usize::from(packet.port)].0 == Child::Held,
        }
    }

    /// What entries count is what waits for their roots, and where nothing waits nothing is held.
    fn check(&self, pools: &[QueuePool], memory: &Pool) -> Result<(), String> {
        for (number, entry) in
            (0..).zip(&self.entries).filter_map(|(number, it)| Some((number, it.as_ref()?)))
        {
            let mut bytes = vec![0; self.ports()];
            for (at, ciq) in (0..).zip(&self.ciqs).flat_map(|(at, all)| all.iter().map(move |it| (at, it))) {
                if ciq.entry == number {
                    let fifo: usize = at;
                    for packet in memory.iter(pools[fifo].fifos()[usize::from(ciq.queue)]) {
                        bytes[usize::from(packet.port)] += u32::from(packet.size);
                    }
                }
            }
            for (port, (counted, is)) in entry.children.iter().map(|it| it.1).zip(bytes).enumerate() {
                if counted != is {
                    return Err(format!(
                        "{counted} B from port {port} are counted for a root, and {is} B wait"
                    ));
                }
            }
        }
        let held = self.entries.iter().flatten().flat_map(|entry| &entry.children);
        let held = held.filter(|(child, _)| *child == Child::Held).count();
        let told = self.told.iter().filter(|told| **told).count() + held;
        if told > 0 && pools.iter().all(QueuePool::is_empty) {
            return Err(format!("roots are held in {told} places, and no packet waits"));
        }
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        let entries = self.entries.iter().flatten().map(|entry| size_of_val(&*entry.children)).sum::<usize>();
        let ciqs = self.ciqs.iter().map(|all| size_of_val(&**all)).sum::<usize>();
        size_of_val(&*self.told) + size_of_val(&*self.holding) + entries + ciqs
    }
}
