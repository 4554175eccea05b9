//! A host: a NIC with one port or several, the sending and receiving halves of its queue pairs.
use std::io::{Result, Write};

use backwater_control::notify::{Advice, Mode, Notify};
use backwater_engine::{
    Class, Key, Keys, Message, Node, Place, Post, Trajectory, Window, in_order, in_order_wakes_last,
};
use backwater_traffic::OWN_CONNECTION;
use backwater_units::{Bytes, Rate, Time, relative};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::host_flows::HostFlows;
use crate::app::jobs::JobsHere;
use crate::app::ranks::Ranks;
use crate::app::steps::{Happened, Steps};
use crate::ctx::Ctx;
use crate::link::bursts::Bursts;
use crate::link::egress::Egress;
use crate::link::ports::{NIC, Ports, Purpose};
use crate::nic::isolation::Notified;
use crate::nic::nics::{Nics, SeveralPorts, pacing_queue, ports_by_rule, rate_of, throttle_among};
use crate::nic::pacing_queue::PacingQueue;
use crate::nic::pft::Throttle;
use crate::nic::receive_queue::Endpoint;
use crate::nic::reliable::Responders;
use crate::nic::reorder::{Counts as Early, Reorder};
use crate::nic::requests::Requests;
use crate::node::node_of_ports;
use crate::observe::goodput::Delivered;
use crate::packet::{Kind, Packet};
use crate::record::RateRecord;
use crate::reuse::laps::AtHost;
use crate::reuse::relative as view;
use crate::spec::{Clock, Spec};
use crate::switch::batch::Batch;
use crate::transport::Transports;
use crate::transport::put::streams::Stream;
use crate::transport::roce::connection::Connection;
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::queue_pair::{Receiver, Sender};
use crate::transport::roce::queue_pairs;
use crate::transport::uec::outgoing::Counts;
use crate::user::UserFault;
use crate::world::World;

/// With one port, or with several: what it knows of these is `N`.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Host<N: Nics> {
    pub(super) ports: Ports,
    pub(super) senders: Vec<Sender>,
    /// One for each sender, or for all those of a connection.
    pub(super) pacers: Vec<Pacer>,
    pub(super) receivers: Vec<Receiver>,
    /// Notification points: one for each receiver, or for all those of a connection. Empty if nobody notifies.
    pub(super) notifiers: Vec<Notify>,
    pub(super) connections: Vec<Connection>,
    /// The senders in order of their starts, if that is not the order of their numbers.
    order: Vec<u32>,
    /// How many of them have started.
    started: u32,
    /// The queue pairs that have something to send; with several ports those of the first.
    pub(super) pacing_queue: PacingQueue,
    watched: Vec<u32>,
    /// Queue pairs that isolation moves to the congested class.
    pub(super) notified: Notified,
    /// What its messages and its CNPs cost, if they cost anything.
    pub(super) requests: Option<Box<Requests>>,
    /// What holds it back when it uses many credits; with several ports that of the first.
    pub(super) throttle: Option<Box<Throttle>>,
    /// What it has beside queue pairs.
    pub(super) transports: Transports,
    /// What starts flows that depend on others.
    pub(super) steps: Option<Box<Steps>>,
    /// Its ranks.
    pub(super) ranks: Option<Box<Ranks>>,
    /// What it knows of jobs, if there are any.
    pub(super) jobs: Option<Box<JobsHere>>,
    /// Where what comes in waits, if the host is slower than its link.
    pub(super) endpoint: Option<Box<Endpoint>>,
    /// What sorts data, if the fabric spreads packets of a flow.
    pub(super) reorder: Option<Box<Reorder>>,
    /// What receivers remember of what was lost, if any sender sends that again.
    pub(super) responders: Option<Box<Responders>>,
    /// Data does not simply go on: there is one of these.
    detour: bool,
    /// What came in this period, if that is recorded.
    pub(super) delivered: Option<Box<Delivered>>,
    /// Which port does what.
    pub(super) nics: N,
}

impl<N: Nics> Node for Host<N> {
    node_of_ports!(ports);

    #[inline]
    fn run<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        keys: &mut Keys,
        _batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) {
        // Once a window, not once a packet.
        if world.is_watched {
            let spared = self.ports.watch(arrivals, window.end, &mut Ctx { now: window.start, world, post });
            let arrivals = spared.as_deref().unwrap_or(arrivals);
            match world.clock {
                Clock::Exact => in_order(self, arrivals, window, keys, world, post),
                Clock::Ns3 => {
                    let arrivals =
                        Bursts::default().in_order(arrivals, &self.ports, window.end, |frame, _, _| {
                            ((frame.class(), 0), 0)
                        });
                    in_order_wakes_last(self, arrivals, window, world, post);
                }
            }
            return;
        }
        in_order(self, arrivals, window, keys, world, post);
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with a second caller, by the clock of ns-3, the call costs 31 instructions a hop"
    )]
    fn receive<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        let cx = &mut Ctx { now: packet.time, world, post };
        self.turn_to(packet.port);
        self.sample_until(cx);
        self.ports.note(packet);
        let now = packet.time;
        if self.detour && packet.is_data() {
            if !self.before_data(packet, cx) {
                return;
            }
        } else if self.ports.has_credits() && !packet.is_flow_control() {
            self.ports.consume(packet);
        }
        match packet.kind {
            Kind::Credit => {
                self.ports.note_link_frame();
                self.ports.take_credit(packet);
                self.credits_came(packet.class, cx);
            }
            Kind::Pfc => {
                self.ports.note_link_frame();
                if self.ports.obey(packet, cx) != 0 {
                    self.send_next(cx);
                } else {
                    self.rearm(now, world);
                }
            }
            Kind::Data if self.detour => self.detour(packet, cx),
            Kind::Data => self.on_data(packet, cx),
            Kind::Ack => {
                let slot = world.sender_slot[packet.flow as usize];
                let sender = &mut self.senders[slot as usize];
                let (done, informs) =
                    (sender.acknowledged(packet.seq, now), packet.echo.is_marked() || sender.measures());
                if done && sender.begun().is_some() {
                    sender.goes_on();
                } else if done {
                    cx.post.complete();
                    self.happened(Happened::Acked(slot), now);
                }
                if informs {
                    self.informed(slot, packet, cx);
                }
            }
            Kind::Cim => {
                self.ports.note_link_frame();
                self.on_cim(packet, cx);
            }
            Kind::Hold | Kind::Merge => {
                self.ports.note_link_frame();
                self.on_hold(packet, cx);
            }
            Kind::Halt => self.on_halt(packet, cx),
            Kind::Cnp => {
                let slot = world.sender_slot[packet.flow as usize];
                self.senders[slot as usize].count(packet.echo);
                let sender = &self.senders[slot as usize];
                let pacer = &mut self.pacers[sender.pacer() as usize];
                if packet.seq == 0 {
                    pacer.notified(sender.kind(), packet.echo, now, world);
                } else {
                    pacer.advised(sender.kind(), packet, world);
                }
            }
            Kind::JobEnd | Kind::JobStart => {
                self.ports.note_link_frame();
                self.scheduled(packet, cx);
            }
            Kind::Heed => {
                self.ports.note_link_frame();
                self.hear_heed(packet, cx);
            }
            _ => self.on_frame(packet, cx),
        }
    }

    #[inline]
    fn fire<P: Post<Packet>>(&mut self, key: Key, world: &World, post: &mut P) {
        let cx = &mut Ctx { now: key.time, world, post };
        self.sample_until(cx);
        if key.class() == Class::Wake {
            let port = self.ports.take_wake();
            self.turn_to(port);
            self.send_next(cx);
            return;
        }
        let (timer, port) = self.ports.take_timer();
        self.turn_to(port);
        match timer.purpose {
            Purpose::PauseExpiry => {
                if self.ports.pause_expired(self.nic(), timer.argument as u8, cx) {
                    self.send_next(cx);
                }
            }
            Purpose::Notify => {
                let receiver = &self.receivers[timer.argument as usize];
                let config = world.pairs[usize::from(receiver.kind())].notify.as_ref();
                let config = config.expect("CNP timers are set only with a notification point");
                let (flow, kind, notes) = (receiver.flow(), receiver.kind(), receiver.notes());
                let notifier = &mut self.notifiers[notes as usize];
                if config.mode == Mode::Advice {
                    let Advice { code, rate } = notifier.advise(config);
                    let kbps = u32::try_from(rate.as_bps() / 1_000).unwrap_or(u32::MAX).max(1);
                    self.send_cnp(flow, kind, code, kbps, cx);
                } else if let Some(code) = notifier.on_timer(config, Time::from_ps(timer.time)) {
                    self.send_cnp(flow, kind, code, 0, cx);
                }
            }
            Purpose::Cnp => self.cnp_made(cx),
            Purpose::Start => self.start(cx),
            Purpose::Credit => {
                self.ports.credit_timer(self.nic(), timer.argument, timer.time);
                self.send_next(cx);
            }
            Purpose::Replay => {
                self.ports.replay_due(self.nic(), cx);
                self.send_next(cx);
            }
            Purpose::Step => self.carry_out(timer.argument, cx),
            Purpose::Forget => self.forget(cx),
            Purpose::Poll => self.poll(timer.argument as u8, cx),
            Purpose::Drained => self.drained(cx),
            Purpose::Watchdog => self.watchdog_due(timer.argument as u8, cx),
            Purpose::Crossed | Purpose::Residency => {
                unreachable!("a host is no switch")
            }
            Purpose::Fault => self.fault_due(cx),
            Purpose::Storm => self.storm(cx),
            Purpose::Stopped => self.stopped_link(timer.argument, cx),
            Purpose::Rank => self.rank_due(timer.argument, cx),
            Purpose::Gone => self.message_gone(timer.argument, cx),
            Purpose::Local => self.local_message(timer.argument, cx),
            of_transport => self.on_timer(of_transport, timer.argument, cx),
        }
    }
}

impl<N: Nics> Host<N> {
    pub(crate) fn new(node: u32, spec: &Spec, ends: &HostFlows, mut ports: Ports, world: &World) -> Self {
        if world.holds {
            ports.add_closed_class(world.held_class());
        }
        let host = spec.network.host_index(node).expect("a host") as usize;
        let ports_of = |flow: u32| {
            let ways = match ports.count() {
                1 => &[],
                _ => world.routes.next_ports(node, world.flows[flow as usize].dst),
            };
            ports_by_rule(node, ways, flow, world)
        };
        let line_of = |flow| rate_of(&ports_of(flow), &ports);
        let (senders, pacers, connections) = queue_pairs::sending(ends.sent(host), line_of, world);
        let (receivers, notifiers) = queue_pairs::receiving(ends.received(host), world);
        let steps = Steps::new(ends.steps(host), &spec.steps, senders.len(), world);
        let watched = (0..senders.len() as u32)
            .filter(|i| world.samples_rate(&world.flows[senders[*i as usize].flow() as usize]))
            .collect::<Vec<_>>();
        let endpoint = spec.endpoints.get(host).and_then(Option::as_ref);
        let endpoint = endpoint.map(|spec| Box::new(Endpoint::new(spec, &ports, world)));
        let reliable = |it: &Receiver| world.pairs[usize::from(it.kind())].reliable.as_ref();
        let responders = receivers.iter().any(|it| reliable(it).is_some());
        let responders = responders.then(|| Box::new(Responders::new(receivers.len())));
        let selects = |it: &Receiver| reliable(it)?.repeat.keeps().then_some(());
        let sorts = world.spreads || receivers.iter().find_map(selects).is_some();
        let reorder = sorts.then(|| Box::new(Reorder::new(receivers.len())));
        let throttle = |port| Throttle::new(spec.throttle.as_ref(), (host as u32, port), &ports, world);
        let pacing_queue = pacing_queue(&ports, &senders, pacers.len(), world);
        let nics = N::new(|| {
            let mut of = vec![vec![NIC]; pacers.len()];
            for sender in &senders {
                of[sender.pacer() as usize] = ports_of(sender.flow());
            }
            let throttles = (1..ports.count()).filter_map(throttle).map(|it| *it).collect();
            SeveralPorts::of(&ports, &of, &pacing_queue, throttles)
        });
        let throttle = throttle(NIC);
        let way = |stream: &Stream| {
            let port = ports_of(stream.flow)[0];
            (port, ports.egress(port).rate())
        };
        let of_host = (ends.sent(host), ends.received(host));
        let transports = Transports::new(host as u32, ports.count(), of_host, way, world);
        let mut this = Self {
            nics,
            detour: endpoint.is_some() || reorder.is_some() || responders.is_some(),
            endpoint,
            reorder,
            responders,
            pacing_queue,
            ports,
            order: queue_pairs::order(&senders, world),
            senders,
            pacers,
            receivers,
            notifiers,
            connections,
            started: 0,
            watched,
            notified: Notified::default(),
            requests: Requests::new(world.nic.costs),
            throttle,
            transports,
            steps,
            ranks: Ranks::new(host, ends, spec, world),
            jobs: JobsHere::new(node, world),
            delivered: world.delivered.then(|| Box::new(Delivered::new(world))),
        };
        if !this.watched.is_empty() {
            this.ports.sample_from(0, world.sample);
        }
        if let Some((start, _)) = this.next_start(world) {
            this.ports.set_timer(start, NIC, Purpose::Start, 0);
        }
        this.ports.arm_fault(world);
        for (at, rank) in this.ranks.iter().flat_map(|ranks| ranks.starts(world)) {
            this.ports.set_timer(at, NIC, Purpose::Rank, rank);
        }
        for (at, step) in this.steps.iter().flat_map(|steps| steps.first(world)) {
            this.ports.set_timer(at, NIC, Purpose::Step, step);
        }
        this
    }

    /// What it is, relative to an instant: `of` are its flows and steps, of which those before the iteration `first` are over, and those
    /// after `last` have not begun.
    pub(crate) fn relative<W: Write>(
        &self,
        of: &AtHost,
        (first, last): (u32, u32),
        world: &World,
        out: &mut W,
    ) -> Result<()> {
        let Self {
            ports,
            senders,
            pacers,
            receivers,
            notifiers,
            connections,
            order,
            started,
            pacing_queue,
            watched,
            notified,
            requests,
            throttle,
            transports,
            steps,
            ranks,
            jobs,
            endpoint,
            reorder,
            responders,
            detour: _,
            delivered,
            nics,
        } = self;
        let now = relative::now().unwrap_or_default();
        let (from, to) = (first as usize, last as usize + 1);
        ports.serialize(out)?;
        for slot in slice_of(&of.senders, from, to).iter().flatten() {
            let begun = self.has_begun(*slot, world);
            begun.serialize(out)?;
            if begun {
                let sender = &senders[*slot as usize];
                let port = self.port_of(sender.pacer());
                let class = notified.class_of(sender, port, world);
                view::behind_gate(ports.closed_for(port, class, now));
                (sender, &pacers[sender.pacer() as usize]).serialize(out)?;
                relative::instant(&self.start_of(*slot, world).as_ps(), out)?;
                pacing_queue.relative_number(sender.pacer()).serialize(out)?;
            }
        }
        for slot in slice_of(&of.receivers, from, to).iter().flatten() {
            let receiver = &receivers[*slot as usize];
            (receiver, notifiers.get(receiver.notes() as usize)).serialize(out)?;
        }
        // Those of the next iteration may have seen something that they wait for.
        if let Some(steps) = steps {
            steps.relative(slice_of(&of.steps, from, to + 1), out)?;
        }
        if let Some(jobs) = jobs {
            jobs.relative(out)?;
        }
        pacing_queue.relative(out)?;
        (order, started, watched, requests).serialize(out)?;
        let others = [
            (!connections.is_empty(), "messages that share queue pairs"),
            (!notified.is_empty(), "isolation at NICs"),
            (throttle.is_some(), "throttles of NICs"),
            (!transports.is_empty(), "PUT streams"),
            (ranks.is_some(), "programs of ranks"),
            (endpoint.is_some(), "slow hosts"),
            (reorder.is_some(), "receivers that sort"),
            (responders.is_some(), "queue pairs that send again what is lost"),
            (delivered.is_some(), "what hosts get by period"),
            (nics.several().is_some(), "hosts with several ports"),
        ];
        others.iter().filter(|(is_there, _)| *is_there).for_each(|(_, what)| view::untold(what));
        Ok(())
    }

    /// The sending half of one more flow, which starts `now` or later. `number`: the stream of PUTs that begins with it.
    pub(crate) fn add_sender(&mut self, index: u32, number: Option<u32>, now: u64, world: &World) {
        let start = |sender: &Sender| world.flows[sender.flow() as usize].start;
        let flow = &world.flows[index as usize];
        let (slot, pacer) = (self.senders.len() as u32, self.pacers.len() as u32);
        let is_last = self.senders.last().is_none_or(|last| start(last) <= flow.start);
        if self.order.is_empty() && !is_last {
            self.order = (0..slot).collect();
        }
        if !self.order.is_empty() {
            let waiting = &self.order[self.started as usize..];
            let before = waiting.partition_point(|slot| start(&self.senders[*slot as usize]) <= flow.start);
            self.order.insert(self.started as usize + before, slot);
        }
        let line = self.add_queue_pair(index, world);
        self.pacers.push(Pacer::new(index, flow, line, world));
        self.senders.push(Sender::new(index, flow, pacer, OWN_CONNECTION, world));
        if world.samples_rate(flow) {
            self.ports.sample_from(now, world.sample);
            self.watched.push(slot);
        }
        if let Some(number) = number {
            let port = self.port_of_stream(number, world);
            let way = (port, self.ports.rate_at_first(port));
            self.transports.puts_or_new(self.ports.count(), world).add_outgoing(number, way, world);
        }
        if let Some(steps) = &mut self.steps {
            steps.add_sender();
        }
        self.ports.stop_timers(Purpose::Start);
        if let Some((start, _)) = self.next_start(world) {
            self.ports.set_timer(start, NIC, Purpose::Start, 0);
        }
    }

    /// Its receiving half.
    pub(crate) fn add_receiver(&mut self, index: u32, number: Option<u32>, world: &World) {
        if let Some(number) = number {
            self.transports.puts_or_new(self.ports.count(), world).add_incoming(number, world);
        }
        let flow = &world.flows[index as usize];
        let pair = &world.pairs[usize::from(world.pair_of(flow))];
        let notes = if pair.notify.is_some() {
            self.notifiers.push(Notify::default());
            self.notifiers.len() as u32 - 1
        } else {
            0
        };
        let others = self.receivers.len();
        self.receivers.push(Receiver::new(index, flow, notes, world));
        if pair.reliable.is_some() {
            self.responders.get_or_insert_with(|| Box::new(Responders::new(others)));
        }
        if pair.reliable.as_ref().is_some_and(|reliable| reliable.repeat.keeps()) {
            self.reorder.get_or_insert_with(|| Box::new(Reorder::new(others)));
        }
        self.responders.iter_mut().for_each(|responders| responders.add());
        self.reorder.iter_mut().for_each(|reorder| reorder.add());
        self.detour |= self.reorder.is_some() || self.responders.is_some();
        if let Some(delivered) = &mut self.delivered {
            delivered.of_groups(world.groups);
        }
    }

    /// Tells where all nodes live.
    pub(crate) fn place_jobs(&mut self, places: &[Place]) {
        if let Some(jobs) = &mut self.jobs {
            jobs.place(places);
        }
        if let Some(uec) = self.transports.uec_mut() {
            uec.place(places);
        }
    }

    #[inline]
    pub(crate) const fn ports(&self) -> &Ports {
        &self.ports
    }

    #[inline]
    pub(crate) const fn ports_mut(&mut self) -> &mut Ports {
        &mut self.ports
    }

    /// The sending half of the queue pair of a slot.
    pub(crate) fn sender(&self, slot: u32) -> &Sender {
        &self.senders[slot as usize]
    }

    /// The sending halves of its queue pairs.
    pub(crate) fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// From now on a slow host judges by the thresholds of PFC of one that was built alike but for these.
    pub(crate) fn judge_as(&mut self, built: &Self) {
        if let (Some(endpoint), Some(built)) = (&mut self.endpoint, &built.endpoint) {
            endpoint.judge_as(built);
        }
    }

    /// Until when its flows of known size keep it busy at least: what they have not sent yet must cross its links.
    pub(crate) fn busy_until(&self, now: u64, world: &World) -> u64 {
        // Where links change, nobody knows how fast they will be; where times are cut, frames take less than their bytes do.
        if world.faults.is_some() || world.clock != Clock::Exact {
            return 0;
        }
        let fastest = self.ports.all_egress().iter().map(Egress::rate).max().unwrap_or(Rate::ZERO);
        let links = self.ports.all_egress().len() as u64;
        let of_one = |sender: &Sender| {
            let flow = &world.flows[sender.flow() as usize];
            let sent = sender.all_sent().wrapping_sub(sender.resent());
            let left = sender.packets().saturating_sub(sent);
            if left == 0 || flow.known_size().is_none() || world.is_put(sender.flow()) {
                return 0;
            }
            // The last packet may have one byte.
            let bytes = u64::from(left - 1) * u64::from(world.payload) / links;
            let start = if flow.start < Time::MAX { flow.start.as_ps() } else { 0 };
            start.max(now).saturating_add(fastest.serialize(Bytes::new(bytes)).as_ps())
        };
        self.senders.iter().map(of_one).max().unwrap_or(0)
    }

    /// The steps of its rank.
    pub(crate) fn steps(&self) -> Option<&Steps> {
        self.steps.as_deref()
    }

    pub(crate) fn steps_mut(&mut self) -> Option<&mut Steps> {
        self.steps.as_deref_mut()
    }

    /// The receiving halves of its queue pairs.
    pub(crate) fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// What holds its ports back when they use many credits.
    pub(crate) fn throttles(&self) -> impl Iterator<Item = &Throttle> {
        self.throttle.as_deref().into_iter().chain(self.other_throttles())
    }

    pub(crate) fn ranks(&self) -> Option<&Ranks> {
        self.ranks.as_deref()
    }

    /// Its receive queue, if it is slower than its link.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_deref()
    }

    /// Data that has come in and that no receiver has taken yet.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Packet> {
        let early = self.reorder.iter().flat_map(|reorder| reorder.kept());
        self.endpoint.iter().flat_map(|endpoint| endpoint.packets()).chain(early)
    }

    /// What came early at the receiver of a slot.
    pub(crate) fn reordered(&self, slot: u32) -> Early {
        self.reorder.as_ref().map_or_else(Early::default, |reorder| reorder.counts(slot))
    }

    /// Packets that came to the receiver of a slot once more.
    pub(crate) fn duplicates(&self, slot: u32) -> u32 {
        let of_pairs = self.responders.as_ref().map_or(0, |responders| responders.duplicates(slot));
        of_pairs + self.transports.uec().map_or(0, |uec| uec.came(slot).0)
    }

    /// Headers of trimmed packets that came to the receiver of a slot.
    pub(crate) fn trimmed(&self, slot: u32) -> u32 {
        self.transports.uec().map_or(0, |uec| uec.came(slot).1)
    }

    /// What happened at the source of a flow of UEC, by slot of the sender.
    pub(crate) fn uec_counts(&self, slot: u32) -> Counts {
        self.transports.uec().map_or_else(Counts::default, |uec| uec.counts(slot))
    }

    /// Calls of functions of the user's that failed.
    pub(crate) fn user_faults(&self) -> impl Iterator<Item = &UserFault> {
        self.pacers.iter().filter_map(|pacer| pacer.user_fault())
    }

    /// Records per sampling instant, beside those of its queues.
    pub(crate) fn observed(&self, world: &World) -> u64 {
        self.watched.len() as u64
            + u64::from(self.endpoint.is_some() && world.endpoints)
            + if world.throttle_sums { self.throttles().count() as u64 } else { 0 }
            + self.transports.observed()
    }

    /// Records the periods of what it got, and of its receive queue, that are over at `now`, and the open one if the run `ends`.
    pub(crate) fn close_periods<P: Post<Packet>>(&mut self, ends: bool, cx: &mut Ctx<'_, P>) {
        self.turn_sums(cx);
        self.turn_stream_sums(ends, cx);
        if ends {
            self.close_sums(cx);
        }
        self.at_each_port(|host| {
            if let Some(throttle) = throttle_among(&mut host.throttle, &mut host.nics) {
                throttle.observe(&mut host.ports, cx);
                if ends {
                    throttle.close(&mut host.ports, cx);
                }
            }
        });
        if let Some(delivered) = &mut self.delivered {
            delivered.turn(&mut self.ports, cx);
            if ends {
                delivered.close(&mut self.ports, cx);
            }
        }
    }

    /// The next sender that starts, and when.
    fn next_start(&self, world: &World) -> Option<(u64, u32)> {
        let slot = match self.order.get(self.started as usize) {
            Some(slot) => *slot,
            None => self.started,
        };
        let sender = self.senders.get(slot as usize)?;
        let start = world.flows[sender.flow() as usize].start;
        // Those that depend on others come last.
        (start < Time::MAX).then_some((start.as_ps(), slot))
    }

    /// Starts the queue pairs that are due now.
    fn start<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        while let Some((start, pair)) = self.next_start(cx.world) {
            if start > cx.now {
                self.ports.set_timer(start, NIC, Purpose::Start, 0);
                break;
            }
            self.started += 1;
            self.begin(pair, cx.now, cx.world);
        }
        self.send_next(cx);
    }

    /// A sender has something to send from now on.
    pub(crate) fn begin(&mut self, pair: u32, now: u64, world: &World) {
        self.book_throttled(now);
        if self.begin_beside(pair, now, world) {
            return;
        }
        let port = self.port_of(self.senders[pair as usize].pacer());
        let sender = &mut self.senders[pair as usize];
        let (class, queue_pair) = (self.notified.class_of(sender, port, world), sender.pacer());
        sender.source_delay_mut().start(now, self.ports.closed_for(port, class, now));
        let ready = match sender.connection() {
            OWN_CONNECTION => Some((self.first_due(pair, now), pair)),
            connection => {
                self.connections[connection as usize].start(pair);
                let next = self.next_message(connection, class, now, world);
                if self.senders[pair as usize].is_reliable() {
                    let first = world.first_of(self.senders[pair as usize].flow());
                    return self.posted(world.sender_slot[first as usize], next, now, world);
                }
                next
            }
        };
        if let Some((due, pair)) = ready {
            self.queue_of(queue_pair).push(class, due, pair, queue_pair);
        }
    }

    /// Turns a connection to its next message, if it is that one's turn: when its first packet is due, and its sender.
    #[cold]
    pub(crate) fn next_message(
        &mut self,
        number: u32,
        class: u8,
        now: u64,
        world: &World,
    ) -> Option<(u64, u32)> {
        let next = self.connections[number as usize].begin()?;
        let port = self.port_of(self.senders[next as usize].pacer());
        let connection = &mut self.connections[number as usize];
        let sender = &mut self.senders[next as usize];
        sender.begin_message(world);
        let source_delay = sender.source_delay_mut();
        let posted = source_delay.since();
        let due = connection.due().max(posted);
        source_delay.follow(connection.free_at(), self.ports.closed_for(port, class, now));
        let due = match &mut self.requests {
            Some(requests) => requests.follows(sender, posted, connection.free_at(), due),
            None => due,
        };
        Some((due, next))
    }

    /// Samples of the NIC's queues and of the watched queue pairs that are due before an event at `now`.
    #[inline]
    pub(crate) fn sample_until<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if self.ports.next_sample() <= cx.now {
            self.sample_rates(cx);
            self.ports.sample_until(cx);
        }
    }

    #[cold]
    fn sample_rates<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        for &slot in &self.watched {
            let sender = &self.senders[slot as usize];
            let pacer = &self.pacers[sender.pacer() as usize];
            let start = self.start_of(slot, cx.world).as_ps();
            let mut at = self.ports.next_sample();
            while at <= cx.now {
                if at >= start {
                    let (time, rate) = (Time::from_ps(at), pacer.rate(sender.kind(), at, cx.world));
                    self.ports.records_mut().rates.push(RateRecord { time, flow: sender.flow(), rate });
                    cx.post.recorded(1);
                }
                at += cx.world.sample;
            }
        }
    }
}

/// Those of some iterations, as far as there are any.
fn slice_of(all: &[Vec<u32>], from: usize, to: usize) -> &[Vec<u32>] {
    &all[from.min(all.len())..to.min(all.len())]
}
