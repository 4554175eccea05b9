//! Credits of a node's links: what each port may send, what it has to tell the other end, and when.
//!
//! An update is composed the moment its frame starts to leave, so that every packet that it counts has started before it.
//! A lane (port and class) in which nothing has changed since its last update costs no event: what changes it sets the
//! timer for the next instant of the port's grid, which has a random phase.
mod kept;

use std::collections::VecDeque;
use std::io::{Result, Write};

use backwater_control::CodePoint;
use backwater_control::detector::Detector;
use backwater_control::flow_control::{
    CreditPool, CreditReceiver, CreditReturn, CreditSender, LONGEST_PERIOD, Unit, feasibility,
};
use backwater_engine::{Post, Stream, stream, uniform};
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Span, Time, relative};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::{Ports, Purpose};
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::reuse::relative as view;
use crate::world::{CreditSettings, World};

/// Purposes of the random streams of phases and lost updates; entity: node << 16 | port.
const PHASE: u64 = 0xc3ed;
const LOSS: u64 = 0x1057;

/// In the argument of a timer: the update is one of those that are sent regularly beside those that go at once.
const REPEATED: u32 = 1 << 8;

/// In the argument of a timer of a host that has stopped: its link discards a packet of so many units.
pub(crate) const DISCARDED: u32 = 1 << 9;
const UNITS: u32 = 10;

/// Both directions of a link in one class: what this end may send, what it has received.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Lane {
    sender: CreditSender,
    receiver: CreditReceiver,
    /// (time, FCCL) of the updates that the other end may still act by, the oldest first. Kept where a detector asks.
    issued: VecDeque<(u64, u32)>,
    /// The packets on their way out, and those that have left since the last update.
    leaving: Vec<Leaving>,
    /// The timer of the next update is set, if updates are regular.
    armed: bool,
}

impl Lane {
    /// Whether the other end has used up, to within `packet` units, all that it could know of by now: the updates
    /// up to `known`. It may have gone on by later ones; that it had to is what counts.
    #[inline]
    fn used_up(&mut self, known: u64, packet: u32) -> bool {
        while self.issued.len() > 1 && self.issued[1].0 <= known {
            self.issued.pop_front();
        }
        let left = self.issued.front().map(|(_, fccl)| fccl.wrapping_sub(self.receiver.abr()).cast_signed());
        left.is_some_and(|left| left < packet.cast_signed())
    }
}

/// A packet on its way out: it holds its units in the lane by which it came until it has left completely.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Leaving {
    until: u64,
    units: u32,
}

/// Credits of all ports of a node.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Credits {
    settings: CreditSettings,
    periodic: bool,
    /// `lanes[port * classes + class]`
    lanes: Vec<Lane>,
    /// Per port.
    phase: Vec<Span>,
    loss: Vec<Stream>,
    /// Per port: how long the other end goes on with an earlier update than the latest.
    round: Vec<u64>,
    /// Per port: updates follow each other so closely that what was granted by one is still arriving when the next is composed.
    /// Then it shows at an arrival, not at the next update, that the other end had used it up.
    close: Vec<bool>,
    /// Per port: with fewer units than these free, the other end may have to wait before the next update.
    ample: Vec<u32>,
    /// Per port: what this end may send before the first update, and how much its own buffer has before it.
    first: Vec<[u32; 2]>,
    /// By class, the memory that all ports promise from; empty if each has its own.
    pools: Vec<CreditPool>,
    /// Units of a full packet.
    packet: u32,
    keeps_issued: bool,
    /// Detectors ask what arrivals show, or ports share a memory.
    looks_at_arrivals: bool,
}

/// What the arrival of a packet shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earned {
    /// The buffer had room for it.
    pub(crate) fits: bool,
    /// With it the other end had used up what it knew it might send.
    pub(crate) held_back: bool,
}

/// What an update says, for those who watch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdateSent {
    pub(crate) class: u8,
    /// The other end had used up what it knew it might send.
    pub(crate) held_back: bool,
    /// What is free may not last until the next update.
    pub(crate) short: bool,
}

impl Credits {
    /// What they are, relative to an instant. Units are counted without end: what counts is how far the two ends of a lane are apart.
    pub(crate) fn relative<W: Write>(&self, out: &mut W) -> Result<()> {
        let Self { settings, periodic: _, lanes, phase, loss, .. } = self;
        for (at, lane) in lanes.iter().enumerate() {
            let Lane { sender, receiver, issued, leaving, armed } = lane;
            let (own, other) = view::sent(at);
            sender.fctbs().wrapping_sub(own).serialize(out)?;
            sender.fccl().wrapping_sub(own).serialize(out)?;
            receiver.abr().wrapping_sub(other).serialize(out)?;
            receiver.granted().wrapping_sub(other).serialize(out)?;
            (receiver.held(), receiver.buffer(), armed, issued.len(), leaving.len()).serialize(out)?;
            for (time, fccl) in issued {
                relative::instant(time, out)?;
                fccl.wrapping_sub(other).serialize(out)?;
            }
            for Leaving { until, units } in leaving {
                // What has left is taken down when the lane is looked at next.
                relative::deadline(until, out)?;
                units.serialize(out)?;
            }
        }
        if let (CreditReturn::Periodic(period), Some(now)) = (settings.returned, relative::now()) {
            // Each port has a grid of its own on which updates leave.
            for phase in phase {
                (now.wrapping_sub(phase.as_ps()) % period.as_ps()).serialize(out)?;
            }
        }
        // What is not among these was so from the beginning.
        (loss, &self.pools).serialize(out)
    }

    /// Units sent so far by port and class.
    pub(crate) fn sent(&self) -> Vec<u32> {
        self.lanes.iter().map(|lane| lane.sender.fctbs()).collect()
    }

    pub(crate) fn new(node: u32, network: &Network, settings: &CreditSettings, world: &World) -> Self {
        let ports = network.ports(node);
        let mtu = Bytes::new(u64::from(world.payload) + u64::from(world.header));
        let keeps_issued = network.is_switch(node) && world.detectors.iter().any(Detector::wants_last_hold);
        let entity = |port: usize| u64::from(node) << 16 | port as u64;
        let phase = |port: usize| match settings.returned {
            CreditReturn::AtOnce => Span::ZERO,
            CreditReturn::Periodic(period) => {
                let share = uniform(&mut stream(world.seed, PHASE, entity(port)));
                Span::from_ps((share * period.as_ps() as f64) as u64)
            }
        };
        // The updates of all classes may leave together.
        let frame = Bytes::new(u64::from(settings.frame)) * u64::from(settings.classes.count_ones());
        let ample_of = |port: &Port| {
            let needed =
                feasibility(port.rate, port.delay, settings.returned, mtu, frame, settings.unit).needed;
            settings.unit.count(needed.get().min(u64::from(u32::MAX)) as u32)
        };
        let ample: Vec<u32> = ports.iter().map(ample_of).collect();
        // All windows of a switch are alike, so that its ports share on equal terms.
        let window = |node: u32| {
            if settings.shared && network.is_switch(node) {
                network.ports(node).iter().map(ample_of).max().unwrap_or(0).min(settings.units)
            } else {
                settings.units
            }
        };
        let first: Vec<[u32; 2]> = ports.iter().map(|port| [window(port.peer), window(node)]).collect();
        let lane = |[sends, receives]: &[u32; 2]| Lane {
            sender: CreditSender::new(*sends),
            receiver: CreditReceiver::new(*receives),
            issued: if keeps_issued { VecDeque::from([(0, *receives)]) } else { VecDeque::new() },
            leaving: Vec::new(),
            armed: false,
        };
        let classes = usize::from(world.classes.count);
        let pool = CreditPool::new(ports.len() as u32, settings.units, window(node));
        let shares = settings.shared && network.is_switch(node);
        Self {
            settings: *settings,
            periodic: matches!(settings.returned, CreditReturn::Periodic(_)),
            lanes: first.iter().flat_map(|first| vec![lane(first); classes]).collect(),
            phase: (0..ports.len()).map(phase).collect(),
            loss: (0..ports.len()).map(|port| stream(world.seed, LOSS, entity(port))).collect(),
            round: ports.iter().map(|p| round(p, mtu)).collect(),
            ample,
            first,
            pools: if shares { vec![pool; classes] } else { Vec::new() },
            packet: settings.unit.count(mtu.get() as u32),
            close: ports.iter().map(|p| close(round(p, mtu), settings.returned)).collect(),
            keeps_issued,
            looks_at_arrivals: keeps_issued || shares,
        }
    }

    /// Bytes of a port of so many classes: its lanes, and what it has one of.
    pub(crate) const fn port_bytes(classes: usize) -> usize {
        classes * size_of::<Lane>()
            + size_of::<Span>()
            + size_of::<Stream>()
            + size_of::<u64>()
            + size_of::<bool>()
            + size_of::<u32>()
            + size_of::<[u32; 2]>()
    }

    /// Whether a class is under credits.
    #[inline]
    pub(crate) const fn govern(&self, class: u8) -> bool {
        self.settings.classes & (1 << class) != 0
    }

    /// What a credit stands for.
    #[inline]
    pub(crate) const fn unit(&self) -> Unit {
        self.settings.unit
    }

    /// Units that a packet takes.
    #[inline]
    pub(crate) const fn units(&self, size: u16) -> u32 {
        self.settings.unit.count(size as u32)
    }

    /// Units of a lane's buffer that are taken, those of packets on their way out included, and all of them.
    pub(crate) fn held(&self, at: usize) -> (u32, u32) {
        let receiver = &self.lanes[at].receiver;
        (receiver.held(), receiver.buffer())
    }

    /// Units of a packet that a lane may start.
    #[inline]
    pub(crate) fn available(&self, at: usize) -> u32 {
        let credits = self.lanes[at].sender.credits();
        if credits < self.settings.least { 0 } else { credits }
    }

    /// Whether a packet may start by its lane's credits.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see `Ports::lane_fits`")]
    fn suffice(&self, at: usize, size: u16) -> bool {
        self.units(size) <= self.available(at)
    }

    /// Units of a lane that are on their way out.
    pub(crate) fn on_their_way(&self, at: usize) -> u32 {
        self.lanes[at].leaving.iter().map(|leaving| leaving.units).sum()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        size_of_val(&*self.lanes)
            + size_of_val(&*self.phase)
            + size_of_val(&*self.loss)
            + size_of_val(&*self.round)
            + size_of_val(&*self.close)
            + size_of_val(&*self.ample)
            + size_of_val(&*self.first)
            + size_of_val(&*self.pools)
    }

    /// If the ports share a memory: units of a class that they have in all, or that are free, and all that there are.
    pub(crate) fn shared(&self, class: usize) -> Option<(u64, u64)> {
        let (pool, classes) = (self.pools.get(class)?, self.lanes.len() / self.first.len());
        let ports = self.lanes.iter().skip(class).step_by(classes);
        let given: u64 = ports.map(|lane| u64::from(lane.receiver.buffer())).sum();
        let all = self.first.len() as u64 * u64::from(self.settings.units);
        Some((given + u64::from(pool.free()), all))
    }

    /// Frees what has left a lane completely by `now`; returns the end of the last of what has not.
    fn settle(&mut self, at: usize, now: u64) -> Option<u64> {
        let Lane { receiver, leaving, .. } = &mut self.lanes[at];
        let mut last = None;
        leaving.retain(|packet| {
            let stays = packet.until > now;
            if stays {
                last = last.max(Some(packet.until));
            } else {
                receiver.on_freed(packet.units);
            }
            stays
        });
        last
    }
}

impl Ports {
    /// The credits of a node under credit-based flow control.
    #[inline]
    fn owned_credits(&mut self) -> &mut Credits {
        self.credits.as_deref_mut().expect("asked for only under credits")
    }

    /// Whether a packet may start by its lane's credits.
    #[inline]
    pub(crate) fn fits(&self, port: u16, class: u8, size: u16) -> bool {
        match &self.credits {
            Some(credits) if credits.govern(class) => credits.suffice(self.at(port, class), size),
            _ => true,
        }
    }

    /// The same of a lane that is under credits.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: it or what it asks is a call else, of 7 instructions a hop"
    )]
    pub(crate) fn lane_fits(&self, at: usize, size: u16) -> bool {
        self.credits.as_deref().is_some_and(|credits| credits.suffice(at, size))
    }

    /// A packet of the node's own starts to leave by `port`. Call it after the port was occupied.
    #[inline]
    pub(crate) fn spend_credit(&mut self, port: u16, packet: &Packet) {
        let (class, at) = (packet.class, self.at(port, packet.class));
        let credits = self.credits.as_deref_mut().expect("asked for only under credits");
        if credits.govern(class) {
            credits.lanes[at].sender.on_sent(credits.settings.unit.count(u32::from(packet.size)));
            // That something was sent goes with the next regular update; it gives nobody credits.
            if credits.periodic && !credits.lanes[at].armed {
                self.tell_at(port, class, self.egress[port as usize].busy_until);
            }
        }
    }

    /// The same of one that came in by a port and class of a link. What seldom happens is done at the end, by calls after which there
    /// is nothing to remember.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: calls here and in its caller cost 64 instructions a hop"
    )]
    pub(crate) fn pass_credit_on(&mut self, port: u16, packet: &Packet, (ingress, came_in): (u16, u8)) {
        let class = packet.class;
        let (at, from) = (self.at(port, class), self.at(ingress, came_in));
        let credits = self.credits.as_deref_mut().expect("asked for only under credits");
        if !credits.govern(class) {
            return;
        }
        let units = credits.settings.unit.count(u32::from(packet.size));
        let until = self.egress[port as usize].busy_until;
        let lane = &mut credits.lanes[from];
        if lane.leaving.len() == lane.leaving.capacity() {
            return self.pass_on_after_growth(port, packet, (ingress, came_in));
        }
        lane.leaving.push(Leaving { until, units });
        let to_tell = !lane.armed;
        let lane = &mut credits.lanes[at];
        lane.sender.on_sent(units);
        if credits.periodic {
            if to_tell || !lane.armed {
                self.tell_spent(port, class, (ingress, came_in), until);
            }
        } else {
            self.set_timer(until, ingress, Purpose::Credit, u32::from(came_in));
        }
    }

    /// The same when one more packet is on its way out of a lane than ever before.
    #[cold]
    #[inline(never)]
    fn pass_on_after_growth(&mut self, port: u16, packet: &Packet, ingress: (u16, u8)) {
        let from = self.at(ingress.0, ingress.1);
        self.owned_credits().lanes[from].leaving.reserve(1);
        self.pass_credit_on(port, packet, ingress);
    }

    /// What is free at `until`, and that something was sent, is to be told, where no timer is set yet.
    #[cold]
    #[inline(never)]
    fn tell_spent(&mut self, port: u16, class: u8, (ingress, came_in): (u16, u8), until: u64) {
        if !self.is_armed(ingress, came_in) {
            self.tell_at(ingress, came_in, until);
        }
        if !self.is_armed(port, class) {
            self.tell_at(port, class, until);
        }
    }

    #[inline]
    fn is_armed(&self, port: u16, class: u8) -> bool {
        self.credits.as_ref().is_some_and(|credits| credits.lanes[self.at(port, class)].armed)
    }

    /// A packet of a class under credits came in.
    #[inline]
    pub(crate) fn earn_credit(&mut self, packet: &Packet) -> Earned {
        let at = self.at(packet.port, packet.class);
        let credits = self.owned_credits();
        let units = credits.units(packet.size);
        let fits = credits.lanes[at].receiver.on_arrival(units);
        if credits.looks_at_arrivals {
            self.look_at_arrival(packet, fits)
        } else {
            Earned { fits, held_back: false }
        }
    }

    /// The same where an arrival says more than that.
    #[inline(never)]
    fn look_at_arrival(&mut self, packet: &Packet, fits: bool) -> Earned {
        let at = self.at(packet.port, packet.class);
        let credits = self.owned_credits();
        let port = packet.port as usize;
        let known = packet.time.saturating_sub(credits.round[port]);
        let held_back =
            credits.keeps_issued && credits.close[port] && credits.lanes[at].used_up(known, credits.packet);
        // What has come in may go on into the memory that all share, and its credits back.
        let shares = !credits.pools.is_empty();
        if shares && !self.is_armed(packet.port, packet.class) {
            self.tell_at(packet.port, packet.class, packet.time);
        }
        Earned { fits, held_back }
    }

    /// Whether something that holds units of a lane is on its way out just now.
    pub(crate) fn is_leaving(&self, port: u16, class: u8) -> bool {
        self.credits.as_ref().is_some_and(|credits| credits.on_their_way(self.at(port, class)) > 0)
    }

    /// Whether what is missing at the other end is only an update: the buffer of a lane has room for one of these frames.
    pub(crate) fn has_room(&self, port: u16, class: u8, sizes: impl Iterator<Item = u16>) -> bool {
        let Some(credits) = self.credits.as_ref().filter(|credits| credits.govern(class)) else {
            return false;
        };
        let (held, buffer) = credits.held(self.at(port, class));
        let least = sizes.map(|size| credits.units(size)).min();
        least.is_some_and(|least| least <= buffer.saturating_sub(held))
    }

    /// A packet came in and left the buffer at once: a host took it, or it is lost.
    pub(crate) fn consume(&mut self, packet: &Packet) {
        let at = self.at(packet.port, packet.class);
        let credits = self.owned_credits();
        if credits.govern(packet.class) {
            let units = credits.units(packet.size);
            let receiver = &mut credits.lanes[at].receiver;
            receiver.on_arrival(units);
            receiver.on_freed(units);
            if !self.is_armed(packet.port, packet.class) {
                self.tell_at(packet.port, packet.class, packet.time);
            }
        }
    }

    /// Something that the other end of `port` should know changes at `change`, which may lie ahead; its timer is not set yet.
    #[inline(never)]
    fn tell_at(&mut self, port: u16, class: u8, change: u64) {
        let at = self.at(port, class);
        let credits = self.owned_credits();
        let due = credits.settings.returned.due(credits.phase[port as usize], Time::from_ps(change));
        credits.lanes[at].armed = credits.periodic;
        self.set_timer(due.as_ps(), port, Purpose::Credit, u32::from(class));
    }

    /// Units that a packet of a class takes: none if it is not under credits.
    pub(crate) fn credits_of(&self, class: u8, size: u16) -> u32 {
        self.credits.as_ref().map_or(0, |credits| if credits.govern(class) { credits.units(size) } else { 0 })
    }

    /// Units of a lane at the far end that are in use as far as this end knows.
    pub(crate) fn used(&self, port: u16, class: u8) -> u32 {
        self.credits.as_ref().filter(|credits| credits.govern(class)).map_or(0, |credits| {
            credits.lanes[self.at(port, class)].sender.used(credits.first[usize::from(port)][0])
        })
    }

    /// The same of all lanes of a port.
    pub(crate) fn used_by_port(&self, port: u16) -> u32 {
        (0..self.classes as u8).map(|class| self.used(port, class)).sum()
    }

    /// The first updates, if they are sent whatever happens.
    pub(crate) fn arm_credits(&mut self, world: &World) {
        if self.owned_credits().settings.repeated {
            for port in 0..self.egress.len() as u16 {
                for class in 0..world.classes.count {
                    if self.owned_credits().govern(class) {
                        self.repeat_at(port, class, 0);
                    }
                }
            }
        }
        if self.owned_credits().settings.unchanged {
            for port in 0..self.egress.len() as u16 {
                for class in 0..world.classes.count {
                    if self.owned_credits().govern(class) {
                        self.tell_at(port, class, 0);
                    }
                }
            }
        }
    }

    /// The link of a port is up again: its credits begin anew (see the head of `control/flow_control/cbfc.rs`), and this end tells
    /// first what is free.
    #[cold]
    pub(crate) fn restart_credits(&mut self, port: u16, now: u64) {
        for class in 0..self.classes as u8 {
            let at = self.at(port, class);
            let Some(credits) = self.credits.as_deref_mut().filter(|credits| credits.govern(class)) else {
                continue;
            };
            let lane = &mut credits.lanes[at];
            lane.sender.restart();
            lane.receiver.restart();
            if credits.keeps_issued {
                lane.issued = VecDeque::from([(now, lane.receiver.fccl())]);
            }
            self.egress[port as usize].credit_due |= 1 << class;
        }
    }

    /// The next of the updates that are sent regularly beside those that go at once.
    fn repeat_at(&mut self, port: u16, class: u8, now: u64) {
        let period = self.egress[usize::from(port)].rate().serialize(LONGEST_PERIOD);
        self.set_timer(now + period.as_ps(), port, Purpose::Credit, u32::from(class) | REPEATED);
    }

    /// A packet has been lost on its way here. For what a stopped host does not take in its link gives credits back; what a link has lost
    /// the other end tells of in its next update.
    #[cold]
    pub(crate) fn lost_credit(&mut self, packet: &Packet, reason: DropReason) {
        let (port, class) = (packet.port, packet.class);
        let units = self.credits_of(class, packet.size);
        match reason {
            _ if units == 0 => {}
            // Arrivals of a window are looked at together; what follows from one happens at its instant.
            DropReason::DeadNode => {
                let argument = u32::from(class) | DISCARDED | units << UNITS;
                self.set_timer(packet.time, port, Purpose::Stopped, argument);
            }
            // They begin anew when it is up again.
            DropReason::LinkDown => {}
            _ => self.faults_mut().spent_in_vain(port, class),
        }
    }

    /// A packet has come to a host that has stopped, whose link discards it.
    pub(crate) fn discard_at_link(&mut self, port: u16, argument: u32, now: u64) {
        let class = argument as u8;
        let at = self.at(port, class);
        let receiver = &mut self.owned_credits().lanes[at].receiver;
        receiver.on_arrival(argument >> UNITS);
        receiver.on_freed(argument >> UNITS);
        self.tell_though_stopped(port, class, now);
    }

    /// A port of a host that has stopped tells what is free in its buffer, as long as its link is up.
    pub(crate) fn tell_though_stopped(&mut self, port: u16, class: u8, now: u64) {
        let Some(credits) = self.credits.as_deref().filter(|credits| credits.govern(class)) else { return };
        let due = credits.settings.returned.due(credits.phase[usize::from(port)], Time::from_ps(now));
        if self.faults_mut().tells_though_stopped(port, class) {
            self.set_timer(due.as_ps(), port, Purpose::Stopped, u32::from(class));
        }
    }

    /// It does so now. The port is shut to all else.
    pub(crate) fn update_though_stopped<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        self.egress[usize::from(port)].credit_due |= 1 << class;
        while self.egress[usize::from(port)].owes_credit() {
            let now = cx.now.max(self.faults_mut().free_though_stopped(port));
            self.transmit_credit(port, &mut cx.at(now));
            let free = self.egress[usize::from(port)].busy_until;
            self.egress[usize::from(port)].shut();
            self.faults_mut().updated_though_stopped(port, class, free);
        }
    }

    /// An update comes to a node at which packets are lost. If the other end has spent credits for some, it tells so, and this end what is
    /// free then.
    pub(crate) fn update_comes(&mut self, update: &Packet) {
        let (port, class) = (update.port, update.class);
        if self.faults_mut().forget_spent(port, class) {
            let credits = self.owned_credits();
            let change = Time::from_ps(update.time + 1);
            let due = credits.settings.returned.due(credits.phase[usize::from(port)], change);
            self.set_timer(due.as_ps(), port, Purpose::Credit, u32::from(class));
        }
    }

    /// The timer of an update fired: it is to be sent as soon as the wire is free.
    pub(crate) fn credit_timer(&mut self, port: u16, argument: u32, now: u64) {
        let class = argument as u8;
        self.egress[port as usize].credit_due |= 1 << class;
        let at = self.at(port, class);
        let credits = self.owned_credits();
        if credits.settings.repeated || credits.settings.unchanged {
            return self.update_follows(port, argument, now);
        }
        credits.lanes[at].armed = false;
    }

    /// The same where an update follows another, though nothing may have changed.
    #[inline(never)]
    fn update_follows(&mut self, port: u16, argument: u32, now: u64) {
        let class = argument as u8;
        if argument & REPEATED != 0 {
            return self.repeat_at(port, class, now);
        }
        let at = self.at(port, class);
        let credits = self.owned_credits();
        credits.lanes[at].armed = false;
        if credits.settings.unchanged {
            self.tell_at(port, class, now + 1);
        }
    }

    /// Sends an update that is due on an idle port.
    pub(crate) fn transmit_credit<P: Post<Packet>>(&mut self, port: u16, cx: &mut Ctx<'_, P>) -> UpdateSent {
        let egress = &mut self.egress[port as usize];
        let class = egress.credit_due.trailing_zeros() as u8;
        egress.credit_due &= !(1 << class);
        let at = self.at(port, class);
        let credits = self.owned_credits();
        let still_leaving = credits.settle(at, cx.now);
        let (round, ample) = (credits.round[port as usize], credits.ample[port as usize]);
        let lane = &mut credits.lanes[at];
        if let Some(pool) = credits.pools.get_mut(usize::from(class)) {
            pool.allot(&mut lane.receiver);
        }
        let abr = lane.receiver.abr();
        let fccl = lane.receiver.grant();
        let fctbs = lane.sender.fctbs();
        let mut held_back = false;
        if credits.keeps_issued {
            held_back = lane.used_up(cx.now.saturating_sub(round), credits.packet);
            lane.issued.push_back((cx.now, fccl));
        }
        let sent = UpdateSent { class, held_back, short: fccl.wrapping_sub(abr) < ample };
        let disturbed = credits.settings.disturbed;
        let mut frame = update(fctbs, fccl, class, credits.settings.frame);
        let later = still_leaving.filter(|_| credits.periodic);
        if let Some(until) = later.filter(|_| !self.is_armed(port, class)) {
            self.tell_at(port, class, until);
        }
        if disturbed && self.disturb(port, &mut frame) {
            self.egress[port as usize].occupy_whole(cx.now, frame.size);
        } else {
            self.transmit_whole(port, &frame, cx);
        }
        sent
    }

    /// What becomes of an update where some are lost, or links send again what is lost: whether it is lost. It goes ahead of what has been
    /// sent and has not come in whole, so that it must not count that.
    #[cold]
    fn disturb(&mut self, port: u16, update: &mut Packet) -> bool {
        update.flow = update.flow.wrapping_sub(self.kept_units(port, update.class));
        let credits = self.owned_credits();
        let ppm = credits.settings.loss_ppm;
        ppm > 0 && uniform(&mut credits.loss[port as usize]) * 1e6 < f64::from(ppm)
    }

    /// An update arrived.
    pub(crate) fn take_credit(&mut self, frame: &Packet) {
        let at = self.at(frame.port, frame.class);
        let lane = &mut self.owned_credits().lanes[at];
        lane.sender.on_update(frame.seq);
        lane.receiver.resynchronise(frame.flow);
    }
}

/// How long the other end of a link goes on by what it knew before: there and back, and a packet each way.
fn round(port: &Port, mtu: Bytes) -> u64 {
    (port.delay * 2 + port.rate.serialize(mtu) * 2).as_ps()
}

fn close(round: u64, returned: CreditReturn) -> bool {
    match returned {
        CreditReturn::AtOnce => true,
        CreditReturn::Periodic(period) => period.as_ps() < 2 * round,
    }
}

/// The frame of an update.
fn update(fctbs: u32, fccl: u32, class: u8, size: u16) -> Packet {
    Packet {
        time: 0,
        flow: fctbs,
        seq: fccl,
        dst: u32::MAX,
        next: 0,
        port: 0,
        size,
        kind: Kind::Credit,
        code: CodePoint::NotCapable,
        class,
        echo: CodePoint::NotCapable,
    }
}
