//! Which of the packets that wait for an egress port leaves next: the one thing in which switches with queues by ingress port differ.
//!
//! | order | who leaves next | whose |
//! |---|---|---|
//! | [`InTurn`] | the first packet of the next ingress port | round robin over virtual output queues (Tamir and Frazier, ISCA 1988) |
//! | [`Oldest`] | of the first packets the one that entered the network first | age-based arbitration (Abts and Weisser, SC 2007); priority `age` of `BookSim` |
//! | [`InputFifos`] | in turn, but nothing passes what came in before it by the same port and class | input queueing (Karol, Hluchyj and Morgan, IEEE Trans. Comm. 1987) |
use std::collections::VecDeque;

use crate::link::ports::{Ports, Purpose};
use crate::link::queue::Fifo;
use crate::packet::Packet;
use crate::switch::voq::queues::Voqs;
use borsh::{BorshDeserialize, BorshSerialize};

/// A rule by which an egress port chooses. The queues of an egress port and class have the number `at`, and each of them the lane of
/// where its packets came in.
pub(crate) trait Order: Clone {
    /// Whether a packet may stand behind one for another egress port. Then only lanes that are shown may be chosen.
    const BLOCKS: bool = false;

    /// Whether what it does is a call: copies on the path of every packet would make all fabrics dearer.
    const APART: bool = true;

    /// The lane of what came in by a port and class.
    #[inline]
    fn lane(voqs: &Voqs, _ports: &Ports, (port, _class): (u16, u8)) -> usize {
        voqs.lane(port)
    }

    /// Whether something that came in before keeps a packet of a lane from leaving.
    #[inline]
    fn holds_back(&self, _lane: usize, _now: u64) -> bool {
        false
    }

    /// A packet goes into its queue, whose bytes it is among; returns whether it is the first there that may be chosen.
    #[inline]
    fn push(
        &mut self,
        voqs: &mut Voqs,
        ports: &mut Ports,
        (at, lane): (usize, usize),
        packet: &Packet,
        _now: u64,
    ) -> bool {
        voqs.push(ports.pool_mut(), at, lane, packet)
    }

    /// Takes the first packet of a queue.
    #[inline]
    fn pop(&mut self, voqs: &mut Voqs, ports: &mut Ports, at: usize, lane: usize) -> Packet {
        voqs.pop(ports.pool_mut(), at, lane)
    }

    /// Takes out the first packet of a queue, though it may not be its turn.
    fn take_out(
        &mut self,
        voqs: &mut Voqs,
        ports: &mut Ports,
        (at, lane): (usize, usize),
        _now: u64,
    ) -> Packet {
        self.pop(voqs, ports, at, lane)
    }

    /// When the first packet of a queue entered the network, if that decides.
    #[inline]
    fn injected(&self, _queue: Fifo) -> Option<u32> {
        None
    }

    /// A packet of a lane has started to leave by `out`.
    #[inline]
    fn left(&mut self, _ports: &mut Ports, _lane: usize, _out: u16, _now: u64) {}

    /// Something has left a lane completely: the egress queue in which its next packet may be chosen now.
    fn next_head(&mut self, _voqs: &mut Voqs, _ports: &mut Ports, _lane: usize, _now: u64) -> Option<usize> {
        None
    }

    /// The egress queue in which the first packet of a lane waits, which holds up all of the lane.
    fn head_of(&self, _lane: usize) -> Option<usize> {
        None
    }

    /// The gate of an egress queue has closed, or opened.
    fn gate_moved(&mut self, _ports: &Ports, _at: usize, _now: u64, _opened: bool) {}

    /// Picoseconds for which an egress port was free while all packets for it stood behind others.
    fn blocked(&self, _ports: &Ports, _at: usize, _now: u64) -> u64 {
        0
    }

    fn state_bytes(&self) -> usize {
        0
    }
}

/// The ingress ports in turn. With one lane: in the order of arrival.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct InTurn;

impl Order for InTurn {
    const APART: bool = false;
}

/// The packet that is oldest since its first bit left its NIC.
///
/// A frame tells that instant while it is under way, see [`Ports::inject`]; here it stands beside the packets that wait.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Oldest {
    /// By the slots of the pool.
    injected: Vec<u32>,
}

impl Order for Oldest {
    #[inline]
    fn push(
        &mut self,
        voqs: &mut Voqs,
        ports: &mut Ports,
        (at, lane): (usize, usize),
        packet: &Packet,
        _now: u64,
    ) -> bool {
        let first = voqs.push(ports.pool_mut(), at, lane, packet);
        let (_, slot) = voqs.head(at, lane).slots();
        if self.injected.len() <= slot {
            self.injected.resize(ports.pool().slots(), 0);
        }
        self.injected[slot] = packet.next;
        first
    }

    #[inline]
    fn pop(&mut self, voqs: &mut Voqs, ports: &mut Ports, at: usize, lane: usize) -> Packet {
        let next = self.injected[voqs.head(at, lane).slots().0];
        Packet { next, ..voqs.pop(ports.pool_mut(), at, lane) }
    }

    #[inline]
    fn injected(&self, queue: Fifo) -> Option<u32> {
        Some(self.injected[queue.slots().0])
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.injected)
    }
}

/// One FIFO for each ingress port and class. Its first packet is served in turn with those of other FIFOs that are for the same egress port.
/// The one behind it may leave when that has left completely: a FIFO is read as fast as the link by which its packet leaves.
///
/// The packets stand in queues by egress port, as everywhere, of which only those with the first packet of a FIFO are shown.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct InputFifos {
    /// By lane, which is ingress port · classes + class: the egress queues of its packets, first to last.
    order: Vec<VecDeque<u32>>,
    /// By lane: when what left it last has left completely.
    free_at: Vec<u64>,
    /// By egress queue: how long its port stood free though packets for it were here, and since when it may do so now.
    blocked: Vec<u64>,
    idle_from: Vec<u64>,
}

impl InputFifos {
    /// For `queues` egress queues, and as many lanes.
    pub(crate) fn new(queues: usize) -> Self {
        Self {
            order: vec![VecDeque::new(); queues],
            free_at: vec![0; queues],
            blocked: vec![0; queues],
            idle_from: vec![0; queues],
        }
    }

    /// How long an egress port has just stood free, with packets for it that nobody may choose.
    fn idle(&self, ports: &Ports, at: usize, now: u64) -> u64 {
        let (port, class) = ports.port_and_class(at);
        let closed = ports.egress(port).paused() & (1 << class) != 0;
        if closed || ports.queue(at).bytes() == 0 { 0 } else { now.saturating_sub(self.idle_from[at]) }
    }

    /// Adds that up. What comes now is counted from `from` on.
    fn settle(&mut self, ports: &Ports, at: usize, now: u64, from: u64) {
        self.blocked[at] += self.idle(ports, at, now);
        self.idle_from[at] = from;
    }

    /// The first packet of a lane may be chosen from now on.
    fn show(&mut self, voqs: &mut Voqs, ports: &mut Ports, (at, lane): (usize, usize), now: u64) {
        if voqs.is_empty(at) {
            self.settle(ports, at, now, self.idle_from[at].max(now));
        }
        voqs.show(at, lane);
        let (port, class) = ports.port_and_class(at);
        ports.egress_mut(port).set_waiting(class);
    }

    /// The next packet of a lane is looked at when what is leaving has left.
    fn look_again(&self, ports: &mut Ports, lane: usize) {
        let (port, class) = ports.port_and_class(lane);
        ports.set_timer(self.free_at[lane], port, Purpose::Crossed, u32::from(class));
    }
}

impl Order for InputFifos {
    const BLOCKS: bool = true;

    #[inline]
    fn lane(_voqs: &Voqs, ports: &Ports, (port, class): (u16, u8)) -> usize {
        ports.at(port, class)
    }

    #[inline]
    fn holds_back(&self, lane: usize, now: u64) -> bool {
        self.free_at[lane] > now || !self.order[lane].is_empty()
    }

    fn push(
        &mut self,
        voqs: &mut Voqs,
        ports: &mut Ports,
        (at, lane): (usize, usize),
        packet: &Packet,
        now: u64,
    ) -> bool {
        // It is the only one.
        if ports.queue(at).bytes() == u32::from(packet.size) {
            self.idle_from[at] = ports.egress(ports.port_and_class(at).0).busy_until().max(now);
        }
        voqs.store(ports.pool_mut(), at, lane, packet);
        self.order[lane].push_back(at as u32);
        if self.order[lane].len() > 1 {
            return false;
        }
        if self.free_at[lane] > now {
            self.look_again(ports, lane);
            return false;
        }
        self.show(voqs, ports, (at, lane), now);
        true
    }

    fn pop(&mut self, voqs: &mut Voqs, ports: &mut Ports, at: usize, lane: usize) -> Packet {
        self.order[lane].pop_front();
        let packet = voqs.pop(ports.pool_mut(), at, lane);
        voqs.hide(at, lane);
        packet
    }

    /// What stands in the midst of a FIFO is taken out of it. If it was the first one that could be chosen, the next one is shown.
    fn take_out(
        &mut self,
        voqs: &mut Voqs,
        ports: &mut Ports,
        (at, lane): (usize, usize),
        now: u64,
    ) -> Packet {
        self.settle(ports, at, now, now);
        let nth = self.order[lane].iter().position(|of| *of as usize == at).expect("it stands in its FIFO");
        self.order[lane].remove(nth);
        let shown = voqs.is_shown(at, lane);
        let packet = voqs.pop(ports.pool_mut(), at, lane);
        if nth == 0 && shown {
            voqs.hide(at, lane);
            self.free_at[lane] = self.free_at[lane].max(now);
            if !self.order[lane].is_empty() {
                self.look_again(ports, lane);
            }
        }
        packet
    }

    fn left(&mut self, ports: &mut Ports, lane: usize, out: u16, now: u64) {
        let busy_until = ports.egress(out).busy_until();
        for class in 0..ports.classes() as u8 {
            self.settle(ports, ports.at(out, class), now, busy_until);
        }
        self.free_at[lane] = busy_until;
        if !self.order[lane].is_empty() {
            self.look_again(ports, lane);
        }
    }

    fn next_head(&mut self, voqs: &mut Voqs, ports: &mut Ports, lane: usize, now: u64) -> Option<usize> {
        let at = self.head_of(lane)?;
        self.show(voqs, ports, (at, lane), now);
        Some(at)
    }

    fn head_of(&self, lane: usize) -> Option<usize> {
        self.order[lane].front().map(|at| *at as usize)
    }

    fn gate_moved(&mut self, ports: &Ports, at: usize, now: u64, opened: bool) {
        let egress = ports.egress(ports.port_and_class(at).0);
        if !opened && ports.queue(at).bytes() > 0 {
            self.blocked[at] += now.saturating_sub(self.idle_from[at]);
        }
        self.idle_from[at] = egress.busy_until().max(now);
    }

    fn blocked(&self, ports: &Ports, at: usize, now: u64) -> u64 {
        self.blocked[at] + self.idle(ports, at, now)
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&*self.order)
            + size_of_val(&*self.free_at)
            + size_of_val(&*self.blocked)
            + size_of_val(&*self.idle_from)
    }
}
