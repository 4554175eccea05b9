//! Hosts with several ports: which of them an event is about, which queue pair sends by which, and what changes that.
//!
//! Each port has a pacing queue, gates and a wake of its own: a PAUSE of one leaves the others sending. A queue pair sends by one port,
//! of those on shortest ways to its destination, as [`crate::PortRule`] says. When the link of that port goes down, it moves to another one; when
//! it comes up again, back. Answers leave by the port at which the data came, if it is on a shortest way back.
//!
//! Hosts with one port are another type of the same code, in which [`Host::nic`] is a constant.
use std::collections::BTreeMap;
use std::ops::Range;

use backwater_engine::Post;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::NIC;
use crate::nic::host::Host;
use crate::nic::pacing_queue::PacingQueue;
use crate::packet::Packet;
use crate::switch::forwarding::ecmp::way;
use crate::switch::salt;
use crate::world::World;

/// What a host with several ports has beside that of a host with one.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Nics {
    /// The port that the present event is about.
    current: u16,
    /// The pacing queues of all ports but the first.
    others: Vec<PacingQueue>,
    /// The port by which a queue pair sends.
    of: Vec<u16>,
    /// By destination: the ports that lead there now, where faults have changed them.
    ways: BTreeMap<u32, Box<[u16]>>,
}

impl Nics {
    /// `of` says by which port each queue pair sends; `queue` is the pacing queue of the first port.
    pub(crate) fn new(ports: u16, of: Vec<u16>, queue: &PacingQueue) -> Self {
        let others = vec![queue.clone(); usize::from(ports - 1)];
        Self { current: NIC, others, of, ways: BTreeMap::new() }
    }
}

/// The port, of these, by which the packets of a flow leave a host if all links are up; or what goes `back`.
pub(crate) fn port_by_rule(node: u32, ports: &[u16], flow: u32, back: bool, world: &World) -> Option<u16> {
    let choose = |ways| world.key_of(flow).way(ways, back, true, salt(world.seed, node), &world.hashes);
    (!ports.is_empty()).then(|| ports[choose(ports.len())])
}

impl<const SEVERAL: bool> Host<SEVERAL> {
    fn nics(&self) -> &Nics {
        self.nics.as_deref().expect("a host with several ports")
    }

    fn nics_mut(&mut self) -> &mut Nics {
        self.nics.as_deref_mut().expect("a host with several ports")
    }

    /// The port that the present event is about.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a constant where there is one port")]
    pub(super) fn nic(&self) -> u16 {
        if SEVERAL { self.nics().current } else { NIC }
    }

    /// From now on it is about this port. Messages that come by none are about the first one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn turn_to(&mut self, port: u16) {
        if SEVERAL {
            let port = if port < self.ports.count() { port } else { NIC };
            self.nics_mut().current = port;
        }
    }

    /// The port by which a queue pair sends.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn port_of(&self, queue_pair: u32) -> u16 {
        if SEVERAL { self.nics().of[queue_pair as usize] } else { NIC }
    }

    /// The port by which the queue pair of a sender sends.
    pub(crate) fn port_of_sender(&self, slot: u32) -> u16 {
        self.port_of(self.senders[slot as usize].pacer())
    }

    /// The queue pairs that have something to send by the port that the present event is about.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn queue(&mut self) -> &mut PacingQueue {
        if SEVERAL { self.queue_at(self.nics().current) } else { &mut self.pacing_queue }
    }

    /// Those that have something to send by the port of a queue pair.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn queue_of(&mut self, queue_pair: u32) -> &mut PacingQueue {
        if SEVERAL { self.queue_at(self.nics().of[queue_pair as usize]) } else { &mut self.pacing_queue }
    }

    fn queue_at(&mut self, port: u16) -> &mut PacingQueue {
        match usize::from(port).checked_sub(1) {
            None => &mut self.pacing_queue,
            Some(other) => &mut self.nics_mut().others[other],
        }
    }

    /// There is one more queue pair, after all others.
    pub(super) fn add_queue_pair(&mut self, port: u16) {
        self.pacing_queue.add();
        if SEVERAL {
            self.nics_mut().others.iter_mut().for_each(PacingQueue::add);
            self.nics_mut().of.push(port);
        }
    }

    /// Sends what each port may send now.
    #[inline(never)]
    pub(super) fn send_by_all<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let before = self.nics().current;
        for port in 0..self.ports.count() {
            self.nics_mut().current = port;
            self.send_by_one(cx);
        }
        self.nics_mut().current = before;
    }

    /// Whether some port will send anything if nothing happens.
    pub(crate) fn has_next(&mut self, now: u64, world: &World) -> bool {
        (0..self.ports.count()).any(|port| {
            self.turn_to(port);
            self.port_has_next(now, world)
        })
    }

    /// The ports on shortest ways to a host; where none is left those of before, by which packets are lost.
    fn ways<'a>(&'a self, dst: u32, world: &'a World) -> &'a [u16] {
        match self.nics().ways.get(&dst) {
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
            let salt = salt(world.seed, node);
            others().nth(way(count, world.path_key(flow), back, salt, &world.hashes))
        };
        let plane = |port| self.ports.peer(port).and_then(|peer| world.planes.get(peer as usize));
        let in_plane = plane(first).and_then(|own| other(&|port| plane(port) == Some(own)));
        in_plane.or_else(|| other(&|_| true)).unwrap_or(first)
    }

    /// The port by which the queue pair of a flow is to send.
    pub(super) fn port_for(&self, flow: u32, world: &World) -> u16 {
        if SEVERAL { self.choose(flow, world.flows[flow as usize].dst, false, world) } else { NIC }
    }

    /// The port by which an answer leaves: that at which the data came, if it is on a shortest way back.
    #[inline]
    pub(super) fn port_back(&self, frame: &Packet, world: &World) -> u16 {
        if !SEVERAL {
            return NIC;
        }
        let current = self.nics().current;
        if self.ways(frame.dst, world).contains(&current) && self.is_up(current) {
            return current;
        }
        self.choose(frame.flow, frame.dst, true, world)
    }

    /// Other ports lead to some hosts.
    #[cold]
    pub(super) fn reroute<'a>(&mut self, new: impl Iterator<Item = (Range<u32>, &'a [u16])>) {
        for (hosts, ports) in new {
            self.nics_mut().ways.extend(hosts.map(|host| (host, ports.into())));
        }
    }

    /// Links have gone down or come up, or other ports lead to some hosts: each queue pair moves to the port by which it is to send.
    #[cold]
    pub(super) fn choose_ports(&mut self, now: u64, world: &World) {
        if !SEVERAL {
            return;
        }
        let before = self.nics().of.clone();
        for slot in 0..self.senders.len() {
            let (flow, queue_pair) = (self.senders[slot].flow(), self.senders[slot].pacer() as usize);
            let (from, to) = (before[queue_pair], self.port_for(world.first_of(flow), world));
            if from != to {
                self.nics_mut().of[queue_pair] = to;
                let class = self.notified.class_of(&self.senders[slot], world);
                let closed = [from, to].map(|port| self.ports.closed_for(port, class, now));
                self.senders[slot].source_delay_mut().change_gates(closed[0], closed[1]);
            }
        }
        let to: Vec<u16> = (0..self.senders.len() as u32).map(|slot| self.port_of_sender(slot)).collect();
        let ports = self.ports.count();
        for (class, from) in
            (0..world.classes.count).flat_map(|class| (0..ports).map(move |from| (class, from)))
        {
            let mut moved = self.queue_at(from).take_if(class, |slot| to[slot as usize] != from);
            moved.sort_unstable_by_key(|entry| (entry.due, entry.pair));
            for entry in moved {
                let queue_pair = self.senders[entry.pair as usize].pacer();
                self.queue_of(queue_pair).push(class, entry.due, entry.pair, queue_pair);
            }
        }
    }
}
