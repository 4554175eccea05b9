//! What a switch notes for the ground truth: crowds at its egress queues, waits, and what holds its upstream ports.
use backwater_control::CodePoint;
use backwater_engine::Post;
use backwater_units::{Bytes, Time};

use crate::ctx::Ctx;
use crate::link::gates::Scope;
use crate::observe::ground_truth::{Left, followed};
use crate::observe::roots::Sake;
use crate::packet::Packet;
use crate::record::{HoldRecord, WaitRecord};
use crate::switch::chassis::{Chassis, Fabric};
use crate::world::World;

/// An egress queue with packets that hold a place behind an ingress port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(super) out: u16,
    /// What holds it back if it is.
    pub(super) scope: Scope,
    /// Of those packets.
    pub(super) bytes: u64,
}

impl Chassis {
    /// A packet has left the queue of `out` with `code`.
    #[inline(never)]
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
            node: self.ports.node(),
            port: out,
            priority: cx.world.classes.priority(packet.class),
            queue: u64::from(self.ports.queue(at).bytes() - truth.held(at)),
            threshold: u64::from(truth.threshold(out)),
        };
        let made = truth.crowd(at).leaves(packet, code, left, cx.now, &mut self.ports.records_mut().crowds);
        if made > 0 {
            cx.post.recorded(made);
        }
    }

    /// Ends a crowd and records it; returns the number of records.
    fn disperse(&mut self, port: u16, class: u8, now: u64, world: &World) -> u64 {
        let at = self.ports.at(port, class);
        let Some(truth) = &mut self.truth else { return 0 };
        let left = Left {
            node: self.ports.node(),
            port,
            priority: world.classes.priority(class),
            queue: u64::from(self.ports.queue(at).bytes().saturating_sub(truth.held(at))),
            threshold: u64::from(truth.threshold(port)),
        };
        truth.crowd(at).disperse(left, now, &mut self.ports.records_mut().crowds)
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
            let at = self.ports.at(port, class);
            if let Some(roots) = &mut self.roots {
                roots.closed(at, cx.now);
            }
            fabric.gate_closed(self, port, class, cx.now);
        }
    }

    /// The run ends.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        for port in 0..self.ports.count() {
            for class in 0..world.classes.count {
                self.disperse(port, class, now, world);
            }
        }
    }

    /// A packet was taken out of the queue of `out`.
    #[inline]
    pub(crate) fn waited<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        // Apart from the rest, so that a run which records no waits pays for one comparison.
        if cx.world.notes_truth() {
            self.follow(packet, out, cx);
        }
    }

    /// A packet was taken out of one of several queues of `out`.
    pub(crate) fn waited_in<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        from: (u16, Option<u32>),
        cx: &mut Ctx<'_, P>,
    ) {
        if cx.world.notes_truth() {
            self.follow_in(packet, from, cx);
        }
    }

    #[inline(never)]
    fn follow<P: Post<Packet>>(&mut self, packet: &Packet, out: u16, cx: &mut Ctx<'_, P>) {
        self.follow_in(packet, (out, None), cx);
    }

    fn follow_in<P: Post<Packet>>(&mut self, packet: &Packet, from: (u16, Option<u32>), cx: &mut Ctx<'_, P>) {
        if !packet.is_data() || cx.now <= packet.time {
            return;
        }
        if let Some(last) = followed(packet, cx.world) {
            self.note_wait(packet, from, cx.now, last, cx.world);
            cx.post.recorded(1);
        }
    }

    #[cold]
    fn note_wait(
        &mut self,
        packet: &Packet,
        (port, key): (u16, Option<u32>),
        now: u64,
        last: bool,
        world: &World,
    ) {
        let record = WaitRecord {
            start: Time::from_ps(packet.time),
            end: Time::from_ps(now),
            node: self.ports.node(),
            port,
            priority: world.classes.priority(packet.class),
            key,
            flow: packet.flow,
            seq: world.number(packet),
            last,
        };
        self.ports.records_mut().waits.push(record);
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
        if self.memory.holds(port, class, cx.now) {
            return;
        }
        let holders = fabric.holders(self, port, class, cx.world);
        if self.truth.is_some() {
            for holder in &holders {
                self.push_hold((port, class), *holder, cx);
            }
        }
        if self.roots.is_some() {
            self.note_sakes((port, class), &holders, cx);
        }
    }

    /// An ingress port is held back for the sake of egress queues: the oracle is to know.
    fn note_sakes<P: Post<Packet>>(
        &mut self,
        (port, class): (u16, u8),
        holders: &[Holder],
        cx: &mut Ctx<'_, P>,
    ) {
        let ingress = self.ports.at(port, class);
        let sakes: Vec<Sake> = holders
            .iter()
            .map(|&Holder { out, scope, bytes }| Sake {
                at: self.ports.at(out, scope.class),
                bytes,
                open: self.ports.egress(out).paused() & (1 << scope.class) == 0,
            })
            .collect();
        let shown = self.roots.as_mut().map(|roots| roots.held_back(ingress, &sakes, cx.now));
        self.cut_crowds(&shown.unwrap_or_default(), cx);
    }

    /// Queues are roots from now on: what has left them before is a crowd by itself.
    fn cut_crowds<P: Post<Packet>>(&mut self, queues: &[usize], cx: &mut Ctx<'_, P>) {
        for at in queues {
            let (port, class) = self.ports.port_and_class(*at);
            cx.post.recorded(self.disperse(port, class, cx.now, cx.world));
        }
    }

    /// Tells the next switch what waited behind a port.
    pub(crate) fn tell_truth<P: Post<Packet>>(&mut self, port: u16, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let egress = self.ports.egress(port);
        let (time, peer_port) = (cx.now + egress.until_known(0, true), egress.peer_port());
        cx.post.send(egress.place(), time, frame, |copy| {
            copy.time = time;
            copy.port = peer_port;
        });
    }

    /// A switch upstream tells what waited behind its port.
    #[cold]
    pub(crate) fn hear_truth<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let mut shown = Vec::new();
        let news = self.roots.as_mut().map(|roots| roots.hear(frame, &mut shown));
        for (port, frame) in news.unwrap_or_default() {
            self.tell_truth(port, &frame, cx);
        }
        self.cut_crowds(&shown, cx);
    }

    /// [`Fabric::holders`]; none if one of the packets is leaving just now.
    pub(crate) fn holders_at_rest<F: Fabric>(
        &self,
        fabric: &F,
        port: u16,
        class: u8,
        world: &World,
    ) -> Vec<Holder> {
        if self.ports.is_leaving(port, class) { Vec::new() } else { fabric.holders(self, port, class, world) }
    }

    /// The egress queues in which packets stand that came in by a port and class. Where a threshold of the whole port holds back all
    /// classes, packets of any class may be the reason.
    pub(crate) fn holders_at_egress<F: Fabric>(
        &self,
        fabric: &F,
        port: u16,
        class: u8,
        world: &World,
    ) -> Vec<Holder> {
        let classes = if self.memory.whole_port(port) { world.lossless } else { world.queues_of(class) };
        let mut holders = Vec::new();
        for out in 0..self.ports.count() {
            for queue in (0..world.classes.count).filter(|queue| classes & (1 << queue) != 0) {
                let bytes = self.bytes_from(fabric, port, (out, queue), class, world);
                if bytes > 0 {
                    holders.push(Holder { out, scope: Scope::class(queue), bytes });
                }
            }
        }
        holders
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

    /// Records that an egress queue holds what came in by a port and class.
    pub(crate) fn push_hold<P: Post<Packet>>(
        &mut self,
        held: (u16, u8),
        holder: Holder,
        cx: &mut Ctx<'_, P>,
    ) {
        self.push_hold_of(held, None, holder, cx);
    }

    /// The same of what came in there from one queue, or of one flow or destination.
    pub(crate) fn push_hold_of<P: Post<Packet>>(
        &mut self,
        (port, class): (u16, u8),
        held_key: Option<u32>,
        holder: Holder,
        cx: &mut Ctx<'_, P>,
    ) {
        let Holder { out, scope: Scope { class: queue, key }, bytes } = holder;
        let upstream = self.ports.egress(port);
        let record = HoldRecord {
            time: Time::from_ps(cx.now),
            node: self.ports.node(),
            port,
            held_node: upstream.peer(),
            held_port: upstream.peer_port(),
            priority: cx.world.classes.priority(class),
            held_key,
            blocker: out,
            blocker_priority: cx.world.classes.priority(queue),
            blocker_key: (key != Scope::ALL).then_some(key),
            bytes: Bytes::new(bytes),
            queue: Bytes::new(u64::from(self.ports.queue(self.ports.at(out, queue)).bytes())),
            closed: self.ports.egress(out).paused() & (1 << queue) != 0,
        };
        self.ports.records_mut().holds.push(record);
        cx.post.recorded(1);
    }
}
