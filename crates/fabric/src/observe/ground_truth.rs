//! The ground truth of congestion: who holds back whom, which flows crowd a port, where a packet waited. No detector
//! sees any of it and no packet feels it: it is what detectors are judged by.
//!
//! ```text
//!   PAUSE decided   ─▶ HoldRecord   which egress queues hold what came in by that ingress port
//!   dequeue above K ─▶ CrowdRecord  which flows leave a long queue, how many of their packets with CE
//!   followed packet ─▶ WaitRecord   from when to when it waited in an egress queue
//! ```
use backwater_control::CodePoint;
use backwater_engine::Post;
use backwater_units::{Bytes, Time};

use crate::ctx::Ctx;
use crate::packet::{Kind, LAST, Packet};
use crate::record::{CrowdRecord, FOLLOWED, HoldRecord, WaitRecord};
use crate::switch::chassis::{Chassis, Fabric};
use crate::world::World;

/// A crowd is written out at least so often, in periods counted from the start of the run, so that its packets can be
/// placed in time. In picoseconds.
const PERIOD: u64 = 100_000_000;

/// What a switch keeps to record the ground truth.
#[derive(Clone)]
pub(crate) struct Truth {
    /// Per egress port the threshold K.
    pub(crate) above: Vec<u32>,
    /// `crowds[port * classes + class]`
    crowds: Vec<Crowd>,
}

/// The flows that leave a queue while it stays above K.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    /// When it began; meaningless while there are no members.
    start: u64,
    /// Sorted by flow.
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    flow: u32,
    packets: u32,
    ce: u32,
    ce_before: u32,
    bytes: u64,
}

/// The queue that a crowd leaves, as it is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) node: u32,
    pub(crate) port: u16,
    pub(crate) priority: u8,
    /// Bytes in the queue.
    pub(crate) queue: u64,
    /// Its threshold K.
    pub(crate) threshold: u64,
}

impl Truth {
    pub(crate) fn new(above: &[Bytes], classes: usize) -> Self {
        Self {
            above: above.iter().map(|above| above.get().min(u64::from(u32::MAX)) as u32).collect(),
            crowds: vec![Crowd::default(); above.len() * classes],
        }
    }
}

impl Crowd {
    /// A packet has left a queue with `code`. Returns how many records that made.
    pub(crate) fn leaves(
        &mut self,
        packet: &Packet,
        code: CodePoint,
        left: Left,
        now: u64,
        records: &mut Vec<CrowdRecord>,
    ) -> u64 {
        let above = left.queue > left.threshold;
        let over = !self.members.is_empty() && (!above || now / PERIOD != self.start / PERIOD);
        let made = if over { self.disperse(left, now, records) } else { 0 };
        if above && packet.is_data() {
            self.add(packet, code, now);
        }
        made
    }

    fn add(&mut self, packet: &Packet, code: CodePoint, now: u64) {
        if self.members.is_empty() {
            self.start = now;
        }
        let at = match self.members.binary_search_by_key(&packet.flow, |member| member.flow) {
            Ok(at) => at,
            Err(at) => {
                self.members
                    .insert(at, Member { flow: packet.flow, packets: 0, ce: 0, ce_before: 0, bytes: 0 });
                at
            }
        };
        let member = &mut self.members[at];
        member.packets += 1;
        member.ce += u32::from(code == CodePoint::Congestion);
        member.ce_before += u32::from(packet.code == CodePoint::Congestion);
        member.bytes += u64::from(packet.size);
    }

    /// Ends the crowd and records it; returns the number of records.
    pub(crate) fn disperse(&mut self, left: Left, now: u64, records: &mut Vec<CrowdRecord>) -> u64 {
        let record = |member: &Member| CrowdRecord {
            start: Time::from_ps(self.start),
            end: Time::from_ps(now),
            node: left.node,
            port: left.port,
            priority: left.priority,
            flow: member.flow,
            packets: u64::from(member.packets),
            bytes: Bytes::new(member.bytes),
            ce: u64::from(member.ce),
            ce_before: u64::from(member.ce_before),
            queue: Bytes::new(left.queue),
            threshold: Bytes::new(left.threshold),
        };
        records.extend(self.members.iter().map(record));
        let count = self.members.len() as u64;
        self.members.clear();
        count
    }
}

/// Whether a data packet is followed, and whether it is its flow's last.
#[inline]
pub(crate) fn followed(packet: &Packet, world: &World) -> Option<bool> {
    let number = world.number(packet);
    let last = packet.seq & LAST != 0
        || packet.kind == Kind::Data && number == world.last_packet[packet.flow as usize];
    (last || number.is_multiple_of(FOLLOWED)).then_some(last)
}

impl Chassis {
    /// A packet has left the queue of `out` with `code`.
    pub(crate) fn crowd<P: Post<Packet>>(
        &mut self,
        out: u16,
        packet: &Packet,
        code: CodePoint,
        cx: &mut Ctx<'_, P>,
    ) {
        let at = self.ports.at(out, packet.class);
        let Some(truth) = &mut self.truth else { return };
        let left = Left {
            node: self.ports.node,
            port: out,
            priority: cx.world.classes.priority(packet.class),
            queue: u64::from(self.ports.queues[at].bytes),
            threshold: u64::from(truth.above[out as usize]),
        };
        let made = truth.crowds[at].leaves(packet, code, left, cx.now, &mut self.ports.records.crowds);
        if made > 0 {
            cx.post.recorded(made);
        }
    }

    /// Ends a crowd and records it; returns the number of records.
    fn disperse(&mut self, port: u16, class: u8, now: u64, world: &World) -> u64 {
        let at = self.ports.at(port, class);
        let Some(truth) = &mut self.truth else { return 0 };
        let left = Left {
            node: self.ports.node,
            port,
            priority: world.classes.priority(class),
            queue: u64::from(self.ports.queues[at].bytes),
            threshold: u64::from(truth.above[port as usize]),
        };
        truth.crowds[at].disperse(left, now, &mut self.ports.records.crowds)
    }

    /// Gates of a port closed: behind them there is waiting, not crowding.
    #[cold]
    pub(crate) fn gate_closed<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        classes: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        for class in (0..cx.world.classes.count).filter(|class| classes & (1 << class) != 0) {
            cx.post.recorded(self.disperse(port, class, cx.now, cx.world));
            fabric.gate_closed(self, port, class);
        }
    }

    /// The run ends.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        for port in 0..self.ports.egress.len() as u16 {
            for class in 0..world.classes.count {
                self.disperse(port, class, now, world);
            }
        }
    }

    /// A packet was taken out of the queue of `out`.
    #[inline]
    pub(crate) fn waited<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        // Apart from the rest, so that a run which records no waits pays for one comparison.
        if !cx.world.last_packet.is_empty() {
            self.follow(packet, out, cx);
        }
    }

    #[inline(never)]
    fn follow<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        if !packet.is_data() || cx.now <= packet.time {
            return;
        }
        if let Some(last) = followed(packet, cx.world) {
            self.note_wait(packet, out, cx.now, last, cx.world);
            cx.post.recorded(1);
        }
    }

    #[cold]
    fn note_wait(&mut self, packet: &Packet, port: u16, now: u64, last: bool, world: &World) {
        self.ports.records.waits.push(WaitRecord {
            start: Time::from_ps(packet.time),
            end: Time::from_ps(now),
            node: self.ports.node,
            port,
            priority: world.classes.priority(packet.class),
            flow: packet.flow,
            seq: world.number(packet),
            last,
        });
    }

    /// A PAUSE for an ingress port is about to be sent. If it is not one that only keeps up another, records which
    /// egress queues hold what came in there. It walks the queues: a PAUSE is rare.
    #[cold]
    pub(crate) fn note_hold_at_egress<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        let account = &self.memory.accounts[self.ports.at(port, class)];
        // A timed pause is kept up by polls; if none followed the last PAUSE in time, the pause has run out.
        if account.outstanding && cx.now <= account.poll_at {
            return;
        }
        let classes =
            if self.memory.whole_port(port) { cx.world.lossless } else { cx.world.queues_of(class) };
        for blocker in 0..self.ports.egress.len() as u16 {
            for queue in (0..cx.world.classes.count).filter(|queue| classes & (1 << queue) != 0) {
                let bytes = self.bytes_from(fabric, port, (blocker, queue), class, cx.world);
                if bytes > 0 {
                    self.push_hold(port, class, blocker, queue, bytes, cx.now, cx.world);
                    cx.post.recorded(1);
                }
            }
        }
    }

    /// Bytes in an egress queue that came in by `port`, in `held` if it is one of several lanes, or that wait there to enter it.
    fn bytes_from<F: Fabric>(
        &self,
        fabric: &F,
        port: u16,
        (blocker, class): (u16, u8),
        held: u8,
        world: &World,
    ) -> u64 {
        let own = self.waiting(fabric, self.ports.at(blocker, class)).filter(|packet| packet.port == port);
        let own = own.filter(|packet| world.lanes.is_none() || self.came_in(packet, world) == held);
        own.map(|packet| u64::from(packet.size)).sum()
    }

    #[allow(clippy::too_many_arguments, reason = "one flat record; its caller names all of its fields")]
    pub(crate) fn push_hold(
        &mut self,
        port: u16,
        class: u8,
        blocker: u16,
        queue: u8,
        bytes: u64,
        now: u64,
        world: &World,
    ) {
        let upstream = &self.ports.egress[port as usize];
        let record = HoldRecord {
            time: Time::from_ps(now),
            node: self.ports.node,
            port,
            held_node: upstream.peer,
            held_port: upstream.peer_port,
            priority: world.classes.priority(class),
            blocker,
            blocker_priority: world.classes.priority(queue),
            bytes: Bytes::new(bytes),
            queue: Bytes::new(u64::from(self.ports.queues[self.ports.at(blocker, queue)].bytes)),
            closed: self.ports.egress[blocker as usize].paused & (1 << queue) != 0,
        };
        self.ports.records.holds.push(record);
    }
}
