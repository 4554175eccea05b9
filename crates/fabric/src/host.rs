//! A host: a NIC with one port, the sending and receiving halves of its queue pairs.
use backwater_control::CodePoint;
use backwater_control::notify::Action;
use backwater_engine::{Class, Key, Node, Place, Post, Trajectory};
use backwater_traffic::OWN_CONNECTION;
use backwater_units::{Bytes, Time};

use crate::batch::Batch;
use crate::connection::{self, Connection};
use crate::due::DueHeap;
use crate::egress::pick;
use crate::node::node_of_ports;
use crate::packet::{Kind, Packet};
use crate::pair::{After, Receiver, Sender, Verdict};
use crate::ports::{Ports, Purpose};
use crate::record::RateRecord;
use crate::spec::Spec;
use crate::violation::What;
use crate::world::{Ends, World};

/// A NIC has one port.
const NIC: u16 = 0;

pub(crate) struct Host {
    pub(crate) ports: Ports,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    connections: Vec<Connection>,
    /// (start, sender) in order of start; those before `started` run.
    starts: Vec<(u64, u32)>,
    started: usize,
    /// Per class the queue pairs that have something to send.
    due: Vec<DueHeap>,
    /// Bit per class: its heap is not empty.
    sending: u8,
    pub(crate) watched: Vec<u32>,
}

impl Node for Host {
    node_of_ports!();

    #[inline]
    fn receive<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        self.sample_until(packet.time, world, post);
        self.ports.note(packet);
        let now = packet.time;
        if self.ports.credits.is_some() && !packet.is_flow_control() {
            self.ports.consume(packet);
        }
        match packet.kind {
            Kind::Credit => {
                self.ports.link_frames += 1;
                self.ports.take_credit(packet);
                self.fed(packet.class, now, world, post);
            }
            Kind::Pfc => {
                self.ports.link_frames += 1;
                if self.ports.obey(packet, world, post) != 0 {
                    self.send_next(now, world, post);
                } else {
                    self.rearm(now);
                }
            }
            Kind::Data => self.on_data(packet, world, post),
            Kind::Ack => {
                let slot = world.sender_slot[packet.flow as usize];
                let sender = &mut self.senders[slot as usize];
                if sender.acknowledged(packet.seq, now) {
                    post.complete();
                }
                if packet.echo.is_marked() || sender.measures() {
                    self.informed(slot, packet, world);
                }
            }
            Kind::Cnp => {
                let slot = world.sender_slot[packet.flow as usize];
                self.senders[slot as usize].count(packet.echo);
                let holder = self.holder(slot);
                self.senders[holder as usize].notified(packet.echo, now, world);
            }
        }
    }

    #[inline]
    fn fire<P: Post<Packet>>(&mut self, key: Key, world: &World, post: &mut P) {
        self.sample_until(key.time, world, post);
        if key.class() == Class::Wake {
            self.ports.take_wake();
            self.send_next(key.time, world, post);
            return;
        }
        let (timer, _) = self.ports.take_timer();
        match timer.purpose {
            Purpose::PauseExpiry => {
                if self.ports.pause_expired(NIC, timer.argument as u8, timer.time, world, post) {
                    self.send_next(timer.time, world, post);
                }
            }
            Purpose::Notify => {
                let receiver = &self.receivers[timer.argument as usize];
                let config = world.pairs[usize::from(receiver.kind)].notify.as_ref();
                let config = config.expect("CNP timers are set only with a notification point");
                let (flow, kind, notes) = (receiver.flow, receiver.kind, receiver.notes);
                if let Some(code) =
                    self.receivers[notes as usize].notify.on_timer(config, Time::from_ps(timer.time))
                {
                    self.send_cnp(flow, kind, code, timer.time, world, post);
                }
            }
            Purpose::Start => self.start(timer.time, world, post),
            Purpose::Credit => {
                self.ports.credit_timer(NIC, timer.argument as u8, timer.time);
                self.send_next(timer.time, world, post);
            }
            Purpose::Poll => unreachable!("a host does not pause its switch"),
        }
    }
}

impl Host {
    pub(crate) fn new(node: u32, spec: &Spec, ends: &Ends, ports: Ports, world: &World) -> Self {
        let host = spec.network.host_index(node).expect("a host");
        let line = ports.egress[usize::from(NIC)].rate();
        let flow = |index: &u32| &world.flows[*index as usize];
        let mut senders: Vec<Sender> =
            ends.sent[host as usize].iter().map(|i| Sender::new(*i, flow(i), line, world)).collect();
        let receivers =
            ends.received[host as usize].iter().map(|i| Receiver::new(*i, flow(i), world)).collect();
        let mut starts: Vec<(u64, u32)> =
            (0..).zip(&senders).map(|(i, s)| (world.flows[s.flow as usize].start.as_ps(), i)).collect();
        starts.sort_unstable();
        let connections = connection::of_host(&starts, &mut senders, world);
        let watched = (0..senders.len() as u32)
            .filter(|i| ends.watched[senders[*i as usize].flow as usize])
            .collect::<Vec<_>>();
        let mut this = Self {
            due: (0..ports.classes).map(|_| DueHeap::default()).collect(),
            sending: 0,
            ports,
            senders,
            receivers,
            connections,
            starts,
            started: 0,
            watched,
        };
        if !this.watched.is_empty() {
            this.ports.next_sample = 0;
        }
        if let Some((start, _)) = this.starts.first() {
            this.ports.set_timer(*start, NIC, Purpose::Start, 0);
        }
        this
    }

    /// Starts the queue pairs that are due now.
    fn start<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        while let Some(&(start, pair)) = self.starts.get(self.started) {
            if start > now {
                self.ports.set_timer(start, NIC, Purpose::Start, 0);
                break;
            }
            let sender = &mut self.senders[pair as usize];
            let class = sender.class;
            sender.lateness.start(now, self.ports.closed_for(NIC, class, now));
            self.started += 1;
            let ready = match sender.connection {
                OWN_CONNECTION => Some((now, pair)),
                connection => {
                    self.connections[connection as usize].start();
                    self.next_message(connection, class, now, world)
                }
            };
            if let Some((due, pair)) = ready {
                self.due[usize::from(class)].push(due, pair);
                self.sending |= 1 << class;
            }
        }
        self.send_next(now, world, post);
    }

    /// Turns a connection to its next message, if it is that one's turn: when its first packet is due, and its sender.
    #[cold]
    fn next_message(&mut self, connection: u32, class: u8, now: u64, world: &World) -> Option<(u64, u32)> {
        let connection = &mut self.connections[connection as usize];
        let (before, next) = connection.begin()?;
        Sender::hand_over(&mut self.senders, before, next);
        let sender = &mut self.senders[next as usize];
        sender.lateness.follow(connection.free_at, self.ports.closed_for(NIC, class, now));
        Some((connection.due.max(world.flows[sender.flow as usize].start.as_ps()), next))
    }

    /// The sender that has the reaction point of this one's connection.
    #[inline]
    fn holder(&self, slot: u32) -> u32 {
        match self.senders[slot as usize].connection {
            OWN_CONNECTION => slot,
            connection => self.connections[connection as usize].holder(),
        }
    }

    /// An ACK tells the reaction point something.
    #[inline(never)]
    fn informed(&mut self, slot: u32, ack: &Packet, world: &World) {
        let sender = &mut self.senders[slot as usize];
        sender.count(ack.echo);
        let rtt = sender.round_trip(ack.seq, ack.time);
        let holder = self.holder(slot);
        self.senders[holder as usize].informed(ack.echo, rtt, ack.time, world);
    }

    #[inline]
    fn on_data<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        let slot = world.receiver_slot[packet.flow as usize];
        let receiver = &mut self.receivers[slot as usize];
        let now = packet.time;
        match receiver.on_data(packet.seq, packet.code, packet.size, now, world) {
            Verdict::OutOfOrder => {
                let what = What::Order(packet.flow, receiver.packets, packet.seq);
                self.ports.fail(now, packet.port, what, post);
            }
            Verdict::Fine { last, ack } => {
                if last {
                    post.complete();
                }
                let (seq, kind, notes) = (receiver.packets, receiver.kind, receiver.notes);
                let pair = &world.pairs[usize::from(kind)];
                if let Some(config) = &pair.notify {
                    let notify = &mut self.receivers[notes as usize].notify;
                    match notify.on_packet(config, Time::from_ps(now), packet.code) {
                        Action::Nothing => {}
                        Action::Send(code) => self.send_cnp(packet.flow, kind, code, now, world, post),
                        Action::Arm(at) => self.ports.set_timer(at.as_ps(), NIC, Purpose::Notify, slot),
                    }
                }
                if let (Some(echo), Some(ack)) = (ack, &pair.ack) {
                    let class = ack.priority.map_or(packet.class, |priority| world.classes.class(priority));
                    let frame = control_frame(Kind::Ack, packet.flow, seq, echo, class, ack.size, world);
                    self.send_control(&frame, now, world, post);
                }
            }
        }
    }

    fn send_cnp<P: Post<Packet>>(
        &mut self,
        flow: u32,
        pair: u16,
        code: CodePoint,
        now: u64,
        world: &World,
        post: &mut P,
    ) {
        let size = world.pairs[usize::from(pair)].cnp_size;
        let frame = control_frame(Kind::Cnp, flow, 0, code, 0, size, world);
        self.send_control(&frame, now, world, post);
    }

    /// ACKs and CNPs go before data.
    fn send_control<P: Post<Packet>>(&mut self, frame: &Packet, now: u64, world: &World, post: &mut P) {
        self.ports.enqueue(NIC, frame);
        self.send_next(now, world, post);
        self.ports.note_queue(NIC, frame.class);
    }

    /// Sends what the port may send now, and arranges to be woken for what comes after it.
    #[inline]
    fn send_next<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        if self.ports.egress[usize::from(NIC)].busy_until <= now {
            if self.ports.credits.is_some() {
                self.send_by_credit(now, world, post);
            } else if let Some(class) = self.ports.choose(NIC, world.round_robin) {
                let packet = self.ports.dequeue(NIC, class);
                self.count_sent(&packet);
                self.ports.transmit(NIC, &packet, packet.code, now, post);
            } else {
                self.send_first_due(now, world, post);
            }
        }
        self.rearm(now);
    }

    /// The same under credits: an update first; a class of which the next packet finds no credits has its gate closed.
    #[inline(never)]
    fn send_by_credit<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        if self.ports.egress[usize::from(NIC)].owes_frame() {
            self.ports.transmit_credit(NIC, now, post);
            return;
        }
        while let Some((class, size)) = self.next_size(now, world) {
            if self.ports.fits(NIC, class, size) {
                if let Some(class) = self.ports.choose(NIC, world.round_robin) {
                    let packet = self.ports.dequeue(NIC, class);
                    self.count_sent(&packet);
                    self.ports.transmit(NIC, &packet, packet.code, now, post);
                    self.ports.spend_credit(NIC, &packet, None);
                } else {
                    self.send_first_due(now, world, post);
                }
                return;
            }
            self.ports.close_gate(NIC, class, now, world, post);
        }
    }

    /// Class and size of the packet that an idle port with open gates sends next, if any is due.
    fn next_size(&self, now: u64, world: &World) -> Option<(u8, u16)> {
        let egress = &self.ports.egress[usize::from(NIC)];
        let ready = egress.waiting & !egress.paused;
        if ready != 0 {
            let class = pick(ready, egress.turn, world.round_robin);
            return Some((class, self.ports.first(NIC, class).size));
        }
        let (class, _, pair) = self.next_pair().filter(|(_, due, _)| *due <= now)?;
        Some((class, self.senders[pair as usize].next_packet(world).2))
    }

    /// New credits of a class have come: its gate opens if they do for what it holds back.
    fn fed<P: Post<Packet>>(&mut self, class: u8, now: u64, world: &World, post: &mut P) {
        let egress = &self.ports.egress[usize::from(NIC)];
        if egress.paused & (1 << class) != 0 {
            let queued = egress.waiting & (1 << class) != 0;
            let due = &self.due[usize::from(class)];
            let size = if queued {
                Some(self.ports.first(NIC, class).size)
            } else {
                due.first().map(|(_, pair)| self.senders[pair as usize].next_packet(world).2)
            };
            if size.is_none_or(|size| self.ports.fits(NIC, class, size)) {
                self.ports.open_gate(NIC, class, now, false, world, post);
                self.send_next(now, world, post);
            }
        }
    }

    /// Sends a packet of the queue pair that has been due for longest, if one is due.
    #[inline]
    fn send_first_due<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        if let Some((class, due, pair)) = self.next_pair()
            && due <= now
        {
            self.send_data(class, due, pair, now, world, post);
        }
    }

    /// The queue pair that has been due for longest among those whose gate is open.
    #[inline]
    fn next_pair(&self) -> Option<(u8, u64, u32)> {
        let mut ready = self.sending & !self.ports.egress[usize::from(NIC)].paused;
        let mut first: Option<(u8, u64, u32)> = None;
        while ready != 0 {
            let class = ready.trailing_zeros() as u8;
            ready &= ready - 1;
            if let Some((due, pair)) = self.due[usize::from(class)].first()
                && first.is_none_or(|(_, earliest, _)| due < earliest)
            {
                first = Some((class, due, pair));
            }
        }
        first
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with two callers it is a call of its own, which costs 4 instructions a hop"
    )]
    fn send_data<P: Post<Packet>>(
        &mut self,
        class: u8,
        due: u64,
        pair: u32,
        now: u64,
        world: &World,
        post: &mut P,
    ) {
        let sender = &mut self.senders[pair as usize];
        let (seq, dst, size) = sender.next_packet(world);
        let packet = Packet {
            time: 0,
            flow: sender.flow,
            seq,
            dst,
            next: 0,
            port: 0,
            size,
            kind: Kind::Data,
            code: CodePoint::Capable,
            class,
            echo: CodePoint::NotCapable,
        };
        let wire_time = self.ports.egress[usize::from(NIC)].wire_time(size);
        sender.lateness.sent(due, now, wire_time, self.ports.closed_for(NIC, class, now));
        let connection = sender.connection;
        match sender.sent(due, now, size, wire_time, world) {
            After::Due(next) => self.due[usize::from(class)].replace_first(next),
            After::Nothing => self.silence_first(class),
            After::Message(next) => {
                self.connections[connection as usize].sent(next, now + wire_time);
                match self.next_message(connection, class, now, world) {
                    Some((due, pair)) => self.due[usize::from(class)].replace_first_by(due, pair),
                    None => self.silence_first(class),
                }
            }
        }
        self.count_sent(&packet);
        self.ports.transmit(NIC, &packet, packet.code, now, post);
        if self.ports.credits.is_some() {
            self.ports.spend_credit(NIC, &packet, None);
        }
    }

    /// The queue pair that was due first has nothing more to send.
    fn silence_first(&mut self, class: u8) {
        let heap = &mut self.due[usize::from(class)];
        heap.remove_first();
        if heap.first().is_none() {
            self.sending &= !(1 << class);
        }
    }

    #[inline]
    fn count_sent(&mut self, packet: &Packet) {
        let queue = &mut self.ports.queues[usize::from(packet.class)];
        queue.sent_bytes += u64::from(packet.size);
        queue.sent_packets += 1;
    }

    /// Sets the wake to the next instant at which the port can send something.
    #[inline]
    fn rearm(&mut self, now: u64) {
        let egress = &self.ports.egress[usize::from(NIC)];
        let free = egress.busy_until.max(now);
        if egress.waiting & !egress.paused != 0 || egress.owes_frame() {
            self.ports.set_wake(NIC, free);
        } else if let Some((_, due, _)) = self.next_pair() {
            self.ports.set_wake(NIC, due.max(free));
        } else {
            self.ports.clear_wake(NIC);
        }
    }

    /// Samples of the NIC's queues and of the watched queue pairs that are due before an event at `now`.
    #[inline]
    pub(crate) fn sample_until<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        if self.ports.next_sample <= now {
            self.sample_rates(now, world, post);
            self.ports.sample_until(now, world, post);
        }
    }

    #[cold]
    fn sample_rates<P: Post<Packet>>(&mut self, now: u64, world: &World, post: &mut P) {
        for &slot in &self.watched {
            let (sender, holder) = (&self.senders[slot as usize], &self.senders[self.holder(slot) as usize]);
            let start = world.flows[sender.flow as usize].start.as_ps();
            let mut at = self.ports.next_sample;
            while at <= now {
                if at >= start {
                    let (time, rate) = (Time::from_ps(at), holder.rate(at, world));
                    self.ports.records.rates.push(RateRecord { time, flow: sender.flow, rate });
                    post.recorded(1);
                }
                at += world.sample;
            }
        }
    }
}

/// An ACK or CNP for a flow: it goes back to the flow's source and is not itself markable.
fn control_frame(
    kind: Kind,
    flow: u32,
    seq: u32,
    echo: CodePoint,
    class: u8,
    size: Bytes,
    world: &World,
) -> Packet {
    Packet {
        time: 0,
        flow,
        seq,
        dst: world.flows[flow as usize].src,
        next: 0,
        port: 0,
        size: size.get() as u16,
        kind,
        code: CodePoint::NotCapable,
        class,
        echo,
    }
}
