//! Hosts with several ports: which of them an event is about, which queue pair sends by which, and what changes that.
//!
//! Each port has a pacing queue, gates and a wake of its own: a PAUSE of one leaves the others sending. A queue pair sends by one port,
//! of those on shortest ways to its destination, as [`crate::PortRule`] says; or, sprayed, by several: these take its packets from one
//! pacing queue, each when it is idle and its gate is open, in turn. When a link goes down, queue pairs move to other ports; when
//! it comes up again, back. Answers leave by the port at which the data came, if it is on a shortest way back.
//!
//! Hosts with one port are another type of the same code, in which [`Host::nic`] is a constant.
use std::collections::BTreeMap;
use std::ops::Range;

use backwater_engine::Post;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::{NIC, Ports};
use crate::nic::host::Host;
use crate::nic::pacing_queue::PacingQueue;
use crate::nic::pft::Throttle;
use crate::packet::Packet;
use crate::spec::PortRule;
use crate::switch::forwarding::ecmp::{salt, way};
use crate::transport::put::streams::Stream;
use crate::transport::put::{Puts, streams};
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// What a host knows of its ports: nothing of one, or which of several does what.
pub(crate) trait Nics: Clone + Send + BorshSerialize + BorshDeserialize {
    fn new(several: impl FnOnce() -> SeveralPorts) -> Self;
    fn several(&self) -> Option<&SeveralPorts>;
    fn several_mut(&mut self) -> Option<&mut SeveralPorts>;
}

/// Of a host with one port.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct OnePort;

impl Nics for OnePort {
    fn new(_: impl FnOnce() -> SeveralPorts) -> Self {
        Self
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a constant")]
    fn several(&self) -> Option<&SeveralPorts> {
        None
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a constant")]
    fn several_mut(&mut self) -> Option<&mut SeveralPorts> {
        None
    }
}

/// Of a host with several.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct SeveralPorts {
    /// The port that the present event is about.
    current: u16,
    /// Who is asked first whether it can send: the port after the one by which a packet was sprayed last.
    first: u16,
    /// The pacing queue that [`Host::next_pair`] has found: those of the ports have their numbers.
    found: u16,
    /// The pacing queues but that of the first port: those of the other ports, then the `shared` ones.
    others: Vec<PacingQueue>,
    /// Of each of these the ports that take from it.
    shared: Vec<Box<[u16]>>,
    /// By queue pair: its pacing queue.
    queues: Vec<u16>,
    /// By queue pair: the port by which it sent last, or will send first.
    of: Vec<u16>,
    /// The throttles of the ports but the first, if NICs throttle themselves.
    throttles: Vec<Throttle>,
    /// By destination: the ports that lead there now, where faults have changed them.
    ways: BTreeMap<u32, Box<[u16]>>,
}

impl Nics for SeveralPorts {
    fn new(several: impl FnOnce() -> Self) -> Self {
        several()
    }

    fn several(&self) -> Option<&SeveralPorts> {
        Some(self)
    }

    fn several_mut(&mut self) -> Option<&mut SeveralPorts> {
        Some(self)
    }
}

impl SeveralPorts {
    /// `of` says by which ports each queue pair sends; `empty` is a pacing queue; `throttles` are those of the ports but the first.
    pub(crate) fn of(ports: &Ports, of: &[Vec<u16>], empty: &PacingQueue, throttles: Vec<Throttle>) -> Self {
        let mut this = Self {
            current: NIC,
            first: NIC,
            found: NIC,
            others: vec![empty.clone(); usize::from(ports.count() - 1)],
            shared: Vec::new(),
            queues: Vec::new(),
            of: Vec::new(),
            throttles,
            ways: BTreeMap::new(),
        };
        for of in of {
            let queue = this.queue_of(of, || empty.clone());
            this.queues.push(queue);
            this.of.push(of[0]);
        }
        this
    }

    /// The pacing queue from which these ports take, and no others.
    fn queue_of(&mut self, of: &[u16], empty: impl FnOnce() -> PacingQueue) -> u16 {
        if let [port] = *of {
            return port;
        }
        let first = self.ports();
        let known = self.shared.iter().position(|shared| **shared == *of);
        let number = known.unwrap_or_else(|| {
            self.others.push(empty());
            self.shared.push(of.into());
            self.shared.len() - 1
        });
        first + number as u16
    }

    /// The ports that take from a pacing queue, if they are several.
    fn shared(&self, queue: u16) -> Option<&[u16]> {
        self.shared.get(usize::from(queue).checked_sub(usize::from(self.ports()))?).map(|ports| &**ports)
    }

    /// How many ports there are, which is the number of the first shared queue.
    fn ports(&self) -> u16 {
        (self.others.len() + 1 - self.shared.len()) as u16
    }

    /// The pacing queues that a port may take from.
    fn queues_at(&self, port: u16) -> impl Iterator<Item = u16> + use<> {
        std::iter::once(port).chain(self.ports()..=self.others.len() as u16)
    }

    /// Whether it does.
    fn takes(&self, port: u16, queue: u16) -> bool {
        queue == port || self.shared(queue).is_some_and(|ports| ports.contains(&port))
    }
}

/// What these ports have together now.
pub(crate) fn rate_of(of: &[u16], ports: &Ports) -> Rate {
    Rate::from_bps(of.iter().map(|port| ports.egress(*port).rate().as_bps()).sum())
}

/// The port, of these, by which the packets of a flow leave a host if all links are up; or what goes `back`.
pub(crate) fn port_by_rule(node: u32, ports: &[u16], flow: u32, back: bool, world: &World) -> Option<u16> {
    let choose =
        |ways| world.key_of(flow).way(ways, back, true, salt(world.seed, node, &world.hashes), &world.hashes);
    (!ports.is_empty()).then(|| ports[choose(ports.len())])
}

/// The ports, of these, by which a queue pair sends if all links are up.
pub(crate) fn ports_by_rule(node: u32, ports: &[u16], flow: u32, world: &World) -> Vec<u16> {
    if world.nic.port == PortRule::Spray && !ports.is_empty() {
        return ports.to_vec();
    }
    vec![port_by_rule(node, ports, flow, false, world).unwrap_or(NIC)]
}

/// A pacing queue for so many queue pairs of a host. Those of ranks are set up before the programs run.
pub(crate) fn pacing_queue(ports: &Ports, senders: &[Sender], pacers: usize, world: &World) -> PacingQueue {
    let is_standing = |sender: &&Sender| world.flows[sender.flow() as usize].pacing == Pacing::Messages;
    let standing = senders.iter().filter(is_standing).map(Sender::pacer);
    let lines = ports.classes() + usize::from(world.holds);
    PacingQueue::new(world.nic.scheduler, lines, pacers, standing)
}

/// The pacing queue of a number, of that of the first port and the others.
pub(super) fn queue_among<'a, N: Nics>(
    first: &'a mut PacingQueue,
    nics: &'a mut N,
    number: u16,
) -> &'a mut PacingQueue {
    match (usize::from(number).checked_sub(1), nics.several_mut()) {
        (Some(other), Some(nics)) => &mut nics.others[other],
        _ => first,
    }
}

/// The throttle of the present port, of that of the first one and the others.
pub(super) fn throttle_among<'a, N: Nics>(
    first: &'a mut Option<Box<Throttle>>,
    nics: &'a mut N,
) -> Option<&'a mut Throttle> {
    match nics.several_mut() {
        Some(nics) if nics.current != NIC => nics.throttles.get_mut(usize::from(nics.current) - 1),
        _ => first.as_deref_mut(),
    }
}

impl<N: Nics> Host<N> {
    /// The port that the present event is about.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a constant where there is one port")]
    pub(super) fn nic(&self) -> u16 {
        self.nics.several().map_or(NIC, |nics| nics.current)
    }

    /// From now on it is about this port. Messages that come by none are about the first one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn turn_to(&mut self, port: u16) {
        if let Some(nics) = self.nics.several_mut() {
            nics.current = if port < self.ports.count() { port } else { NIC };
            if let Some(puts) = self.transports.puts_mut() {
                puts.turn_to(nics.current);
            }
        }
    }

    /// The port by which a queue pair sent last, or will send first.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn port_of(&self, queue_pair: u32) -> u16 {
        self.nics.several().map_or(NIC, |nics| nics.of[queue_pair as usize])
    }

    /// The port by which the queue pair of a sender sends.
    pub(crate) fn port_of_sender(&self, slot: u32) -> u16 {
        self.port_of(self.senders[slot as usize].pacer())
    }

    /// The pacing queue of the queue pair that [`Host::next_pair`] has found.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn queue(&mut self) -> &mut PacingQueue {
        match self.nics.several() {
            Some(nics) => self.queue_at(nics.found),
            None => &mut self.pacing_queue,
        }
    }

    /// That of a queue pair.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn queue_of(&mut self, queue_pair: u32) -> &mut PacingQueue {
        match self.nics.several() {
            Some(nics) => self.queue_at(nics.queues[queue_pair as usize]),
            None => &mut self.pacing_queue,
        }
    }

    fn queue_at(&mut self, number: u16) -> &mut PacingQueue {
        queue_among(&mut self.pacing_queue, &mut self.nics, number)
    }

    /// What [`PacingQueue::next`] says of the port that the present event is about, which is free at `at`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn next_pair(&mut self, open: u8, at: u64, now: u64) -> Option<(u8, u64, u32)> {
        match self.nics.several() {
            Some(_) => self.next_of_several(open, at, now),
            None => self.pacing_queue.next(open, at),
        }
    }

    /// The same where it may take from several: what has been due for longest. Of a shared one nobody knows who will be next when
    /// this port is free: it is asked who would be now.
    #[inline(never)]
    fn next_of_several(&mut self, open: u8, at: u64, now: u64) -> Option<(u8, u64, u32)> {
        let nics = self.nics.several()?;
        let (own, queues) = (nics.current, nics.queues_at(nics.current));
        let mut found: Option<(u8, u64, u32)> = None;
        for queue in queues {
            if !self.nics.several()?.takes(own, queue) {
                continue;
            }
            let next = self.queue_at(queue).next(open, if queue == own { at } else { now });
            if let Some(next) = next
                && found.is_none_or(|found| next.1 < found.1)
            {
                found = Some(next);
                self.nics.several_mut()?.found = queue;
            }
        }
        found
    }

    /// What [`PacingQueue::earliest`] says of that port.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn earliest_pair(&mut self, open: u8) -> Option<u64> {
        match self.nics.several() {
            Some(_) => self.of_all_queues(|queue| queue.earliest(open)).min(),
            None => self.pacing_queue.earliest(open),
        }
    }

    /// The classes in which queue pairs wait that may send by that port: a bit each.
    pub(super) fn sending(&self) -> u8 {
        self.of_all_queues(|queue| Some(queue.sending())).fold(0, |all, of| all | of)
    }

    /// What is said of each pacing queue that the present port takes from.
    fn of_all_queues<T>(&self, of: impl Fn(&PacingQueue) -> Option<T>) -> impl Iterator<Item = T> {
        let others = self.nics.several().into_iter().flat_map(|nics| {
            let queues = nics.queues_at(nics.current).filter(|queue| nics.takes(nics.current, *queue));
            queues.filter_map(|queue| nics.others.get(usize::from(queue).checked_sub(1)?))
        });
        let own = (self.nic() == NIC).then_some(&self.pacing_queue);
        own.into_iter().chain(others).filter_map(of)
    }

    /// A packet of `size` bytes, of the queue pair of a sender, leaves by the present port, where it takes `wire_time`. The least time to
    /// the next one of its queue pair, which other ports may take before this one is free.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn leaves(&mut self, pair: u32, class: u8, size: u16, wire_time: u64, now: u64) -> u64 {
        match self.nics.several() {
            Some(_) => self.leaves_one_of(pair, class, size, now).unwrap_or(wire_time),
            None => wire_time,
        }
    }

    #[inline(never)]
    fn leaves_one_of(&mut self, pair: u32, class: u8, size: u16, now: u64) -> Option<u64> {
        let sender = &mut self.senders[pair as usize];
        let (nics, queue_pair) = (self.nics.several_mut()?, sender.pacer() as usize);
        let (from, to) = (std::mem::replace(&mut nics.of[queue_pair], nics.current), nics.current);
        if from != to {
            self.book_throttled(now);
            let closed = [from, to].map(|port| self.ports.closed_for(port, class, now));
            self.senders[pair as usize].source_delay_mut().change_gates(closed[0], closed[1]);
        }
        let (nics, sender) = (self.nics.several_mut()?, &mut self.senders[pair as usize]);
        let rate = rate_of(nics.shared(nics.queues[queue_pair])?, &self.ports);
        nics.first = (to + 1) % nics.ports();
        sender.source_delay_mut().overlap(now);
        Some(rate.serialize(Bytes::new(size.into())).as_ps())
    }

    /// How long a packet that leaves by the present port is on its wire, whose queue pair may send the next one after `least`.
    pub(super) fn on_wire(&self, size: u16, least: u64) -> u64 {
        self.nics.several().map_or(least, |nics| self.ports.egress(nics.current).wire_time(size))
    }

    /// There is one more queue pair, after all others, of this flow. The rate of its ports together if no fault has changed them: what it
    /// would have had from the beginning.
    pub(super) fn add_queue_pair(&mut self, flow: u32, world: &World) -> Rate {
        let of = self.ports_for(flow, world);
        let queue = self.pacing_queue_of(&of, world);
        self.pacing_queue.add();
        if let Some(nics) = self.nics.several_mut() {
            nics.others.iter_mut().for_each(PacingQueue::add);
            nics.queues.push(queue);
            nics.of.push(of[0]);
        }
        let (node, dst) = (self.ports.node(), world.flows[flow as usize].dst);
        let all = ports_by_rule(node, world.routes.next_ports(node, dst), flow, world);
        let rates = all.iter().map(|port| self.ports.rate_at_first(*port).as_bps());
        Rate::from_bps(rates.sum())
    }

    /// The pacing queue from which these ports take.
    fn pacing_queue_of(&mut self, of: &[u16], world: &World) -> u16 {
        let Self { nics, ports, senders, pacers, .. } = self;
        let empty = || pacing_queue(ports, senders, pacers.len(), world);
        nics.several_mut().map_or(NIC, |nics| nics.queue_of(of, empty))
    }

    /// Sends what each port may send now.
    #[inline(never)]
    pub(super) fn send_by_all<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let Some((before, first)) = self.nics.several().map(|nics| (nics.current, nics.first)) else {
            return;
        };
        for port in (first..self.ports.count()).chain(0..first) {
            self.turn_to(port);
            self.send_by_one(cx);
        }
        self.turn_to(before);
    }

    /// Whether some port will send anything if nothing happens.
    pub(crate) fn has_next(&mut self, now: u64, world: &World) -> bool {
        let mut has_next = false;
        self.at_each_port(|host| has_next = has_next || host.port_has_next(now, world));
        has_next
    }

    /// Does it at each port.
    pub(super) fn at_each_port(&mut self, mut what: impl FnMut(&mut Self)) {
        let before = self.nic();
        for port in 0..self.ports.count() {
            self.turn_to(port);
            what(self);
        }
        self.turn_to(before);
    }

    /// The throttles of the ports but the first.
    pub(super) fn other_throttles(&self) -> &[Throttle] {
        self.nics.several().map_or(&[], |nics| &nics.throttles)
    }

    /// The ports on shortest ways to a host; where none is left those of before, by which packets are lost.
    fn ways<'a>(&'a self, dst: u32, world: &'a World) -> &'a [u16] {
        match self.nics.several().and_then(|nics| nics.ways.get(&dst)) {
            Some(changed) if !changed.is_empty() => changed,
            _ => world.routes.next_ports(self.ports.node(), dst),
        }
    }

    fn is_up(&self, port: u16) -> bool {
        self.ports.faults().is_none_or(|state| state.down(port).is_none())
    }

    /// The port by which packets of a flow leave for a host, or what goes `back`: one whose link is up, if there is one.
    fn choose(&self, flow: u32, dst: u32, back: bool, world: &World) -> u16 {
        let (node, ports) = (self.ports.node(), self.ways(dst, world));
        let first = port_by_rule(node, ports, flow, back, world).unwrap_or(NIC);
        if self.is_up(first) {
            return first;
        }
        let other = |fits: &dyn Fn(u16) -> bool| {
            let others = || ports.iter().copied().filter(|port| self.is_up(*port) && fits(*port));
            let count = others().count().max(1);
            let salt = salt(world.seed, node, &world.hashes);
            others().nth(way(count, world.path_key(flow), back, salt, &world.hashes))
        };
        let plane = |port| self.ports.peer(port).and_then(|peer| world.planes.get(peer as usize));
        let in_plane = plane(first).and_then(|own| other(&|port| plane(port) == Some(own)));
        in_plane.or_else(|| other(&|_| true)).unwrap_or(first)
    }

    /// The ports by which the queue pair of a flow is to send.
    fn ports_for(&self, flow: u32, world: &World) -> Vec<u16> {
        let dst = world.flows[flow as usize].dst;
        if self.nics.several().is_none() {
            return vec![NIC];
        }
        if world.nic.port == PortRule::Spray {
            let up: Vec<u16> =
                self.ways(dst, world).iter().copied().filter(|port| self.is_up(*port)).collect();
            if !up.is_empty() {
                return up;
            }
        }
        vec![self.choose(flow, dst, false, world)]
    }

    /// The port by which an answer leaves: that at which the data came, if it is on a shortest way back.
    #[inline]
    pub(super) fn port_back(&self, frame: &Packet, world: &World) -> u16 {
        let Some(current) = self.nics.several().map(|nics| nics.current) else { return NIC };
        self.port_back_from(current, (frame.flow, frame.dst), world)
    }

    /// The same of an answer to what came by `port`.
    fn port_back_from(&self, port: u16, (flow, dst): (u32, u32), world: &World) -> u16 {
        if self.ways(dst, world).contains(&port) && self.is_up(port) {
            return port;
        }
        self.choose(flow, dst, true, world)
    }

    /// The port by which a PUT stream of a number sends.
    pub(super) fn port_of_stream(&self, number: u32, world: &World) -> u16 {
        let stream = streams(world).stream(number);
        if self.nics.several().is_none() { NIC } else { self.choose(stream.flow, stream.dst, false, world) }
    }

    /// The present event is about the port by which an outgoing stream sends.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "nothing where there is one port")]
    pub(super) fn turn_to_stream(&mut self, slot: u32) {
        if self.nics.several().is_some()
            && let Some(port) = self.transports.puts().and_then(|puts| puts.sends_by(slot))
        {
            self.turn_to(port);
        }
    }

    /// It is about the port by which an incoming stream, of which a packet has come by the present one, is acknowledged: that one, if it is on
    /// a shortest way back.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn turn_to_answers(&mut self, stream: &Stream, now: u64, world: &World) {
        if let Some(current) = self.nics.several().map(|nics| nics.current) {
            let port = self.port_back_from(current, (stream.flow, stream.src), world);
            if let Some(puts) = self.transports.puts_mut() {
                puts.answer_by(stream.in_slot, port, now, world);
            }
            self.turn_to(port);
        }
    }

    /// Links have gone down or come up, or other ports lead to some hosts: each PUT stream moves to the port by which it is to send, or to be
    /// acknowledged.
    fn choose_stream_ports(&mut self, now: u64, world: &World) {
        let before = self.nic();
        let (sent, received) = self.transports.puts().map_or((0, 0), Puts::counts);
        for slot in 0..sent {
            let Some(puts) = self.transports.puts() else { return };
            let (from, stream) = (puts.sends_by(slot), *puts.outgoing(slot, world));
            let (Some(from), to) = (from, self.choose(stream.flow, stream.dst, false, world)) else { return };
            if from != to {
                let closed = [from, to].map(|port| self.ports.closed_for(port, stream.class, now));
                let pairs = self.transports.puts_mut().map(|puts| puts.send_by(slot, to));
                for pair in pairs.into_iter().flatten() {
                    self.senders[pair as usize].source_delay_mut().change_gates(closed[0], closed[1]);
                }
                self.turn_to(to);
                self.after_change(slot, now, world);
            }
        }
        for slot in 0..received {
            let Some(puts) = self.transports.puts() else { return };
            let (from, stream) = (puts.answers_by(slot), *puts.incoming(slot, world));
            let Some(from) = from else { return };
            let to = self.port_back_from(from, (stream.flow, stream.src), world);
            if let Some(puts) = self.transports.puts_mut() {
                puts.answer_by(slot, to, now, world);
            }
        }
        self.turn_to(before);
    }

    /// Other ports lead to some hosts.
    #[cold]
    pub(super) fn reroute<'a>(&mut self, new: impl Iterator<Item = (Range<u32>, &'a [u16])>) {
        let Some(nics) = self.nics.several_mut() else { return };
        for (hosts, ports) in new {
            nics.ways.extend(hosts.map(|host| (host, ports.into())));
        }
    }

    /// Links have gone down or come up, or other ports lead to some hosts: each queue pair moves to the ports by which it is to send.
    #[cold]
    pub(super) fn choose_ports(&mut self, now: u64, world: &World) {
        self.book_throttled(now);
        let Some(before) = self.nics.several().map(|nics| nics.of.clone()) else { return };
        self.choose_stream_ports(now, world);
        for slot in 0..self.senders.len() {
            let (flow, queue_pair) = (self.senders[slot].flow(), self.senders[slot].pacer() as usize);
            let of = self.ports_for(world.first_of(flow), world);
            let queue = self.pacing_queue_of(&of, world);
            let Some(nics) = self.nics.several_mut() else { return };
            let from = before[queue_pair];
            let to = if of.contains(&from) { from } else { of[0] };
            (nics.queues[queue_pair], nics.of[queue_pair]) = (queue, to);
            if from != to {
                let closed = [from, to].map(|port| {
                    let class = self.notified.class_of(&self.senders[slot], port, world);
                    self.ports.closed_for(port, class, now)
                });
                self.senders[slot].source_delay_mut().change_gates(closed[0], closed[1]);
            }
        }
        let Some(nics) = self.nics.several() else { return };
        let to: Vec<u16> = self.senders.iter().map(|sender| nics.queues[sender.pacer() as usize]).collect();
        let queues = nics.others.len() as u16 + 1;
        for (class, from) in
            (0..world.classes.count).flat_map(|class| (0..queues).map(move |from| (class, from)))
        {
            let mut moved = self.queue_at(from).take_if(class, |slot| to[slot as usize] != from);
            moved.sort_unstable_by_key(|entry| (entry.due, entry.pair));
            for entry in moved {
                let sender = &self.senders[entry.pair as usize];
                let queue_pair = sender.pacer();
                let class = self.notified.class_of(sender, self.port_of(queue_pair), world);
                self.queue_of(queue_pair).push(class, entry.due, entry.pair, queue_pair);
            }
        }
    }
}
