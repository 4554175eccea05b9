//! What switches and NICs have in common: ports with queues and gates, their wakes and timers, what they note.
use std::collections::BTreeMap;
use std::io::{Result, Write};

use backwater_control::detector::Registers;
use borsh::{BorshDeserialize, BorshSerialize};

use backwater_control::CodePoint;
use backwater_engine::{Class, Key, Place, Post, Ties, Trajectory};
use backwater_topology::Network;
use backwater_units::relative::{self, instant, tally};
use backwater_units::{Bytes, Time};

use crate::ctx::Ctx;
use crate::isolation_counts::IsolationCounts;
use crate::link::credits::Credits;
use crate::link::drops::{Drops, LostLast};
use crate::link::egress::{Egress, pick};
use crate::link::extensions::Extensions;
use crate::link::failures::FaultState;
use crate::link::gates::Gate;
use crate::link::queue::{Fifo, Pool};
use crate::link::timers::{Timer, Timers};
use crate::log::Records;
use crate::packet::{Kind, Packet};
use crate::record::DropReason;
use crate::record::SampleRecord;
use crate::reuse::relative::seldom;
use crate::spec::Clock;
use crate::violation::{Breach, What};
use crate::world::World;

/// The port of a host, or its first one: timers of what is of no port are its.
pub(crate) const NIC: u16 = 0;

/// One egress queue: a port's packets of one class, and the detector's registers for it. What was sent does not stand side by side:
/// both would be added to by vector instructions, six of them for two.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
#[repr(C)]
pub(crate) struct Queue {
    fifo: Fifo,
    /// What was sent is told by telemetry and samples only.
    #[borsh(serialize_with = "tally")]
    sent_bytes: u64,
    pub(super) bytes: u32,
    #[borsh(serialize_with = "tally")]
    peak: u32,
    #[borsh(serialize_with = "tally")]
    sent_packets: u64,
    pub(super) registers: Registers,
}

impl Queue {
    /// Its packets, unless they stand elsewhere in a [`Pool`].
    #[inline]
    pub(crate) const fn fifo(&self) -> &Fifo {
        &self.fifo
    }

    /// Bytes that wait.
    #[inline]
    pub(crate) const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// A packet waits that stands elsewhere.
    #[inline]
    pub(crate) fn grow(&mut self, size: u16) {
        self.bytes += u32::from(size);
    }

    /// Such a packet leaves.
    #[inline]
    pub(crate) fn shrink(&mut self, size: u16) {
        self.bytes -= u32::from(size);
    }

    /// Counts a packet that starts to leave.
    #[inline]
    pub(crate) fn count(&mut self, size: u16) {
        self.sent_bytes += u64::from(size);
        self.sent_packets += 1;
    }

    pub(crate) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    pub(crate) const fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    /// Most bytes that waited.
    pub(crate) const fn peak(&self) -> u32 {
        self.peak
    }

    #[inline]
    pub(crate) const fn registers(&self) -> &Registers {
        &self.registers
    }

    #[inline]
    pub(crate) const fn registers_mut(&mut self) -> &mut Registers {
        &mut self.registers
    }
}

/// What a timer is for; ties of time and port are broken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) enum Purpose {
    /// A timed pause runs out; argument: class.
    PauseExpiry,
    /// A switch looks at an ingress queue that it holds paused; argument: class.
    Poll,
    /// A CNP is due; argument: receiver slot.
    Notify,
    /// The NIC has made a CNP.
    Cnp,
    /// The next flow of this host starts.
    Start,
    /// A credit update is due; argument: class.
    Credit,
    /// The packet of an ingress port has crossed.
    Crossed,
    /// A switch looks at an entry of its congested-flow table; argument: slot.
    Residency,
    /// A NIC looks for what no CIM has notified it of again.
    Forget,
    /// A host carries out a step; argument: its number.
    Step,
    /// The first packet of a slow host's receive queue has been drained.
    Drained,
    /// ACKs and NACKs of PUT streams have been processed; argument: the kind of PUT.
    Effect,
    /// A PUT stream may have waited for too long; argument: its slot.
    Stream,
    /// A rank begins, or has paid for its op; argument: its place at its host.
    Rank,
    /// The last bit of a message has left that a rank waits for; argument: the same.
    Gone,
    /// A message from a rank of the same host is there; argument: the place of its receiver.
    Local,
    /// The timetable of the node's faults has something.
    Fault,
    /// A NIC that sends PAUSE without end sends the next one.
    Storm,
    /// The link of a host that has stopped has something to do.
    Stopped,
    /// A switch looks whether a PAUSE ends; argument: class.
    Watchdog,
    /// A switch of a dragonfly tells its group what waits at its global ports.
    Tell,
    /// Packets of a port go from one queue to another.
    Turn,
    /// A queue pair may have waited too long for an ACK; argument: sender slot.
    Retry,
    /// A packet of a flow of UEC may have waited too long for an ACK; argument: sender slot.
    Expiry,
    /// A host gives the next credit of UEC.
    Pull,
    /// It looks at what came of UEC; argument: receiver slot.
    Look,
    /// A port has its turn to be given back what it is owed of windows.
    Return,
    /// A port sends again what has not come in whole (`link/retry.rs`).
    Replay,
}

/// Ports of a node and its bookkeeping.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Ports {
    pub(super) node: u32,
    ties: Ties,
    pub(super) classes: usize,
    pub(super) egress: Vec<Egress>,
    /// `queues[port * classes + class]`, as are the gates.
    pub(super) queues: Vec<Queue>,
    pub(super) gates: Vec<Gate>,
    /// Relative to an instant its packets stand in their queues.
    #[borsh(serialize_with = "tally")]
    pool: Pool,
    /// What travels beside the frames that are here.
    #[borsh(serialize_with = "save_extensions")]
    extensions: Extensions,
    /// Pending wake of each port: time << 10 | rank, so that the minimum is the next.
    #[borsh(serialize_with = "save_wakes")]
    wakes: Vec<u64>,
    timers: Timers,
    /// Follows from both.
    #[borsh(serialize_with = "tally")]
    next: Key,
    #[borsh(serialize_with = "tally")]
    trajectory: Trajectory,
    /// Frames of the links' flow control that arrived here.
    #[borsh(serialize_with = "tally")]
    link_frames: u64,
    #[borsh(serialize_with = "tally")]
    pub(super) records: Records,
    breach: Option<Breach>,
    sampled: Vec<u16>,
    #[borsh(serialize_with = "instant")]
    next_sample: u64,
    /// Under credits: what each port may send and has to tell.
    #[borsh(serialize_with = "save_credits")]
    pub(super) credits: Option<Box<Credits>>,
    #[borsh(serialize_with = "tally")]
    isolation_counts: IsolationCounts,
    /// What was lost here: of it nothing decides what happens but what queue pairs are told that send again.
    #[borsh(serialize_with = "tally")]
    pub(super) drops: Drops,
    /// Data packets of flows that ended here, by flow and reason; without one, PUTs that came once more.
    #[borsh(serialize_with = "save_lost")]
    pub(super) lost: BTreeMap<(u32, Option<DropReason>), u32>,
    /// Last packets of flows among them, where queue pairs send again.
    pub(super) lost_last: Vec<LostLast>,
    /// What it knows of the faults of the run, if there are any.
    #[borsh(serialize_with = "seldom")]
    pub(super) faults: Option<Box<FaultState>>,
}

pub(super) const NO_WAKE: u64 = u64::MAX;
pub(super) const RANK_BITS: u32 = 10;
pub(super) const RANKS: u64 = (1 << RANK_BITS) - 1;
/// The longest run: beyond it a wake no longer fits its 54 bits of picoseconds.
pub(crate) const LONGEST_RUN: u64 = 1 << (64 - RANK_BITS);

/// Time and rank in one word; what lies beyond the longest run never happens.
#[inline]
pub(super) const fn wake_key(time: u64, rank: u16) -> u64 {
    if time < LONGEST_RUN { time << RANK_BITS | rank as u64 } else { NO_WAKE }
}

/// Wakes of ports, each by itself: its rank follows from its port.
pub(super) fn save_wakes<W: Write>(wakes: &Vec<u64>, out: &mut W) -> Result<()> {
    if relative::now().is_none() {
        return wakes.serialize(out);
    }
    wakes.iter().try_for_each(|wake| instant(&wake_time(*wake), out))
}

fn save_extensions<W: Write>(extensions: &Extensions, out: &mut W) -> Result<()> {
    if relative::now().is_none() {
        return extensions.serialize(out);
    }
    seldom(&(!extensions.is_empty()).then_some(extensions), out)
}

fn save_lost<W: Write>(lost: &BTreeMap<(u32, Option<DropReason>), u32>, out: &mut W) -> Result<()> {
    if relative::now().is_none() {
        return lost.serialize(out);
    }
    seldom(&(!lost.is_empty()).then_some(lost), out)
}

#[allow(clippy::ref_option, reason = "so a derived form calls it")]
fn save_credits<W: Write>(credits: &Option<Box<Credits>>, out: &mut W) -> Result<()> {
    match credits {
        Some(credits) if relative::now().is_some() => credits.relative(out),
        credits => credits.serialize(out),
    }
}

/// The time of a wake, or of any instant as [`wake_key`] has it.
pub(super) const fn wake_time(wake: u64) -> u64 {
    if wake == NO_WAKE { u64::MAX } else { wake >> RANK_BITS }
}

/// The least of the wakes of a node. By fours: the loop over all is made of vector instructions, which take three times as many to compare
/// words without sign.
#[inline]
pub(super) fn least(wakes: &[u64]) -> u64 {
    if let [only] = *wakes {
        return only;
    }
    let (fours, rest) = wakes.as_chunks::<4>();
    let mut least = match *rest {
        [] => NO_WAKE,
        [a] => a,
        [a, b] => a.min(b),
        [a, b, c, ..] => a.min(b).min(c),
    };
    for &[a, b, c, d] in fours {
        least = least.min(a.min(b).min(c.min(d)));
    }
    least
}

/// Whether a queue is so short, and what the detector has seen so settled, that it need not be shown what leaves.
#[inline]
fn is_calm(queue: &Queue, egress: &Egress, now: u64) -> bool {
    queue.bytes < egress.calm && queue.registers.is_settled(Time::from_ps(now))
}

impl Ports {
    pub(crate) fn new(node: u32, network: &Network, sampled: Vec<u16>, world: &World) -> Self {
        let ports = network.ports(node);
        let classes = usize::from(world.classes.count);
        let mut this = Self {
            node,
            ties: match world.clock {
                Clock::Exact => Ties::new(world.seed, node),
                Clock::Ns3 => Ties::NUMBERED,
            },
            classes,
            egress: ports.iter().map(Egress::new).collect(),
            queues: vec![Queue::default(); ports.len() * classes],
            gates: vec![Gate::default(); ports.len() * classes],
            pool: Pool::new(),
            extensions: Extensions::default(),
            wakes: vec![NO_WAKE; ports.len()],
            timers: Timers::new(),
            next: Key::NEVER,
            trajectory: Trajectory::default(),
            link_frames: 0,
            records: Records::default(),
            breach: None,
            next_sample: if sampled.is_empty() { u64::MAX } else { 0 },
            sampled,
            credits: None,
            isolation_counts: IsolationCounts::default(),
            drops: Drops::new(),
            lost: BTreeMap::new(),
            lost_last: Vec::new(),
            faults: None,
        };
        this.prepare_links(network, world);
        this
    }

    /// Where the other ends cut through; the credits of the links.
    fn prepare_links(&mut self, network: &Network, world: &World) {
        for (egress, port) in self.egress.iter_mut().zip(network.ports(self.node)) {
            egress.keep_time(world.clock);
            if let Some(header) = world.cut(network, port) {
                egress.cut_through(header);
            }
        }
        self.keep_frames(world);
        if let Some(settings) = &world.credits {
            self.credits = Some(Box::new(Credits::new(self.node, network, settings, world)));
            self.arm_credits(world);
        }
    }

    /// Its number in the network.
    #[inline]
    pub(crate) const fn node(&self) -> u32 {
        self.node
    }

    /// How many ports there are.
    #[inline]
    pub(crate) const fn count(&self) -> u16 {
        self.egress.len() as u16
    }

    /// How many classes each of them has.
    #[inline]
    pub(crate) const fn classes(&self) -> usize {
        self.classes
    }

    #[inline]
    pub(crate) fn egress(&self, port: u16) -> &Egress {
        &self.egress[port as usize]
    }

    #[inline]
    pub(crate) fn egress_mut(&mut self, port: u16) -> &mut Egress {
        &mut self.egress[port as usize]
    }

    /// All egress ports in order.
    #[inline]
    pub(crate) fn all_egress(&self) -> &[Egress] {
        &self.egress
    }

    /// The node at the other end of a port.
    pub(crate) fn peer(&self, port: u16) -> Option<u32> {
        self.egress.get(usize::from(port)).map(|egress| egress.peer)
    }

    /// By port: its detector, and the queues that it is shown.
    pub(crate) fn watched(&self) -> Vec<(u16, u32)> {
        self.egress.iter().map(Egress::watched).collect()
    }

    /// From now on detectors look at the ports as those did that [`Self::watched`] told of.
    pub(crate) fn watch_as(&mut self, watched: &[(u16, u32)]) {
        for (egress, (detector, from)) in self.egress.iter_mut().zip(watched) {
            egress.watch(*detector, u64::from(*from));
        }
    }

    /// Where the engine keeps the nodes at the other ends.
    pub(crate) fn place(&mut self, places: &[Place]) {
        for egress in &mut self.egress {
            egress.place = places[egress.peer as usize];
        }
    }

    /// All egress queues: those of each port together, by class.
    #[inline]
    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// The queues of a port but that of the control frames.
    #[inline]
    pub(crate) fn data_queues(&self, port: u16) -> &[Queue] {
        let first = self.at(port, 0);
        &self.queues[first + 1..first + self.classes]
    }

    /// The queue of a number that [`at`](Self::at) gives.
    #[inline]
    pub(crate) fn queue(&self, at: usize) -> &Queue {
        &self.queues[at]
    }

    #[inline]
    pub(crate) fn queue_mut(&mut self, at: usize) -> &mut Queue {
        &mut self.queues[at]
    }

    /// The gate of that queue.
    #[inline]
    pub(crate) fn gate(&self, at: usize) -> &Gate {
        &self.gates[at]
    }

    pub(crate) fn gate_mut(&mut self, at: usize) -> &mut Gate {
        &mut self.gates[at]
    }

    /// The memory in which packets wait here.
    #[inline]
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    #[inline]
    pub(crate) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    #[inline]
    pub(crate) const fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    #[inline]
    pub(crate) const fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// What is recorded here.
    #[inline]
    pub(crate) const fn records_mut(&mut self) -> &mut Records {
        &mut self.records
    }

    pub(crate) const fn isolation_counts(&self) -> &IsolationCounts {
        &self.isolation_counts
    }

    #[inline]
    pub(crate) const fn isolation_counts_mut(&mut self) -> &mut IsolationCounts {
        &mut self.isolation_counts
    }

    /// Whether the links are under credits.
    #[inline]
    pub(crate) const fn has_credits(&self) -> bool {
        self.credits.is_some()
    }

    #[inline]
    pub(crate) fn credits(&self) -> Option<&Credits> {
        self.credits.as_deref()
    }

    /// The next local event.
    #[inline]
    pub(crate) const fn next(&self) -> Key {
        self.next
    }

    #[inline]
    pub(crate) const fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// A frame of the links' flow control has arrived.
    #[inline]
    pub(crate) const fn note_link_frame(&mut self) {
        self.link_frames += 1;
    }

    /// The first broken invariant.
    pub(crate) const fn breach(&self) -> Option<&Breach> {
        self.breach.as_ref()
    }

    /// How many of its ports have samples taken of their queues.
    pub(crate) const fn sampled(&self) -> usize {
        self.sampled.len()
    }

    /// The node has something else to sample from `now` on, at each whole number of periods.
    pub(crate) fn sample_from(&mut self, now: u64, period: u64) {
        self.next_sample = self.next_sample.min(now.next_multiple_of(period));
    }

    /// When samples are due next.
    #[inline]
    pub(crate) const fn next_sample(&self) -> u64 {
        self.next_sample
    }

    #[inline]
    pub(crate) const fn rank(&self, port: u16) -> u16 {
        self.ties.rank(port)
    }

    #[inline]
    pub(crate) const fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// The port and the class of a queue's number.
    #[inline]
    pub(crate) const fn port_and_class(&self, at: usize) -> (u16, u8) {
        ((at / self.classes) as u16, (at % self.classes) as u8)
    }

    /// Wakes `port` at `time`, instead of when it was to be woken before.
    #[inline]
    pub(crate) fn set_wake(&mut self, port: u16, time: u64) {
        let rank = self.ties.rank(port);
        let wake = wake_key(time, rank);
        let before = std::mem::replace(&mut self.wakes[port as usize], wake);
        if before == wake {
            return;
        }
        let key = Key::new(time, Class::Wake, rank);
        if key < self.next {
            self.next = key;
        } else if before != NO_WAKE && before >> RANK_BITS == self.next.time {
            self.refresh();
        }
    }

    pub(crate) fn clear_wake(&mut self, port: u16) {
        self.wakes[port as usize] = NO_WAKE;
        self.refresh();
    }

    /// Takes the wake announced in `next` and returns its port.
    #[inline]
    pub(crate) fn take_wake(&mut self) -> u16 {
        let port = self.ties.port(self.next.rank());
        self.wakes[port as usize] = NO_WAKE;
        self.refresh();
        port
    }

    pub(crate) fn set_timer(&mut self, time: u64, port: u16, purpose: Purpose, argument: u32) {
        let rank = self.ties.rank(port);
        self.timers.set(Timer::new(time, rank, purpose, argument));
        self.next = self.next.min(Key::new(time, Class::Timer, rank));
    }

    /// The packet of an ingress port will have crossed at `time`. A port has one under way.
    #[inline]
    pub(crate) fn set_crossing(&mut self, time: u64, port: u16) {
        let rank = self.ties.rank(port);
        self.timers.set_crossing(port, rank, time);
        self.next = self.next.min(Key::new(time, Class::Timer, rank));
    }

    /// No timer is set for `purpose` any more.
    pub(crate) fn stop_timers(&mut self, purpose: Purpose) {
        self.timers.stop(purpose);
        self.refresh();
    }

    /// Takes the timer announced in `next`, with its port.
    pub(crate) fn take_timer(&mut self) -> (Timer, u16) {
        let timer = self.timers.take(self.ties);
        self.refresh();
        (timer, self.ties.port(timer.rank()))
    }

    /// Finds the next local event anew.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        let (wake, timer) = (least(&self.wakes), self.timers.first());
        // At one instant a wake goes before a timer.
        if timer >> RANK_BITS < wake >> RANK_BITS {
            self.next = Key::new(timer >> RANK_BITS, Class::Timer, (timer & RANKS) as u16);
        } else if wake == NO_WAKE {
            self.next = Key::NEVER;
        } else {
            self.next = Key::new(wake >> RANK_BITS, Class::Wake, (wake & RANKS) as u16);
        }
    }

    /// The time of the earliest timer.
    pub(crate) const fn next_timer(&self) -> u64 {
        self.timers.first() >> RANK_BITS
    }

    /// Sets a wake (or none) without looking for the next event; [`Ports::refresh`] does that for all ports.
    #[inline]
    pub(crate) fn plan_wake(&mut self, port: u16, time: Option<u64>) {
        let rank = self.ties.rank(port);
        self.wakes[port as usize] = time.map_or(NO_WAKE, |time| wake_key(time, rank));
    }

    /// Notes that a frame arrived.
    #[inline]
    pub(crate) fn note(&mut self, packet: &Packet) {
        let (entity, kind) = packet.fingerprint();
        self.trajectory.note(packet.time, entity, kind);
    }

    /// The same of many.
    pub(crate) fn note_all(&mut self, packets: &[Packet]) {
        // A copy stays in registers.
        let mut trajectory = self.trajectory;
        for packet in packets {
            let (entity, kind) = packet.fingerprint();
            trajectory.note(packet.time, entity, kind);
        }
        self.trajectory = trajectory;
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, port: u16, packet: &Packet) {
        self.enqueue_in(port, packet.class, packet);
    }

    /// The same in the queue of another class, behind that one's gate.
    #[inline]
    pub(crate) fn enqueue_in(&mut self, port: u16, class: u8, packet: &Packet) {
        if self.pool.is_full() {
            return self.enqueue_after_growth(port, class, packet);
        }
        let queue = &mut self.queues[port as usize * self.classes + class as usize];
        self.pool.push(&mut queue.fifo, packet);
        queue.bytes += u32::from(packet.size);
        self.egress[port as usize].waiting |= 1 << class;
    }

    /// The same where all slots are taken. Nothing comes after it in its caller, which is spared what a call in its middle costs.
    #[cold]
    #[inline(never)]
    fn enqueue_after_growth(&mut self, port: u16, class: u8, packet: &Packet) {
        self.pool.grow();
        self.enqueue_in(port, class, packet);
    }

    /// A packet takes the place of the last one that waits in its queue at a port, if that is one of these: returns that.
    pub(crate) fn replace_last(
        &mut self,
        port: u16,
        packet: &Packet,
        these: impl Fn(&Packet) -> bool,
    ) -> Option<Packet> {
        let at = self.at(port, packet.class);
        let queue = &mut self.queues[at];
        let place = self.pool.last_mut(queue.fifo).filter(|last| these(last))?;
        let last = std::mem::replace(place, Packet { next: place.next, ..*packet });
        queue.bytes = queue.bytes - u32::from(last.size) + u32::from(packet.size);
        Some(last)
    }

    /// Keeps the largest queue. Called when what could leave at once has left: that never queued.
    #[inline]
    pub(crate) fn note_queue(&mut self, port: u16, class: u8) {
        let queue = &mut self.queues[port as usize * self.classes + class as usize];
        queue.peak = queue.peak.max(queue.bytes);
    }

    /// The first packet of a queue that is not empty.
    pub(crate) fn first(&self, port: u16, class: u8) -> &Packet {
        self.pool.first(self.queues[self.at(port, class)].fifo)
    }

    /// Takes the first packet of a queue that is not empty.
    #[inline]
    pub(crate) fn dequeue(&mut self, port: u16, class: u8) -> Packet {
        let queue = &mut self.queues[port as usize * self.classes + class as usize];
        let packet = self.pool.pop(&mut queue.fifo);
        queue.bytes -= u32::from(packet.size);
        if queue.fifo.is_empty() {
            self.egress[port as usize].waiting &= !(1 << class);
        }
        packet
    }

    /// Puts a frame of its own on the wire of a NIC. It carries the instant of that, in units of 1.024 ns: what a switch goes by that
    /// serves the oldest packet first.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see below")]
    pub(crate) fn inject<P: Post<Packet>>(&mut self, port: u16, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let egress = &mut self.egress[usize::from(port)];
        let (time, peer_port) = (egress.occupy(cx.now, packet.size), egress.peer_port);
        let injected = (cx.now >> 10) as u32;
        self.send(port, time, packet, cx, move |copy| {
            copy.time = time;
            copy.port = peer_port;
            copy.next = injected;
        });
    }

    /// A packet starts to leave by an idle port, if its detector need not be shown it and nothing travels beside frames. False: it is
    /// counted, and nothing else.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see below")]
    pub(crate) fn passes<P: Post<Packet>>(
        &mut self,
        port: u16,
        packet: &Packet,
        now: u64,
        post: &mut P,
    ) -> bool {
        let at = self.at(port, packet.class);
        let (queue, egress) = (&mut self.queues[at], &mut self.egress[port as usize]);
        queue.count(packet.size);
        egress.turn = if packet.class == 0 { egress.turn } else { packet.class };
        if !self.extensions.is_empty() || !is_calm(queue, egress, now) {
            return false;
        }
        let (time, peer_port) = (egress.occupy(now, packet.size), egress.peer_port);
        post.send(egress.place, time, packet, move |copy| {
            copy.time = time;
            copy.port = peer_port;
        });
        true
    }

    /// Puts a frame with `code` on the wire of an idle port.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: the call costs a fifth of the function")]
    pub(crate) fn transmit<P: Post<Packet>>(
        &mut self,
        port: u16,
        packet: &Packet,
        code: CodePoint,
        cx: &mut Ctx<'_, P>,
    ) {
        let egress = &mut self.egress[port as usize];
        let (time, peer_port) = (egress.occupy(cx.now, packet.size), egress.peer_port);
        self.send(port, time, packet, cx, move |copy| {
            copy.time = time;
            copy.port = peer_port;
            copy.code = code;
        });
    }

    /// The same of one that has no flag any more.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(crate) fn transmit_unflagged<P: Post<Packet>>(
        &mut self,
        port: u16,
        packet: &Packet,
        code: CodePoint,
        cx: &mut Ctx<'_, P>,
    ) {
        let echo = if packet.kind == Kind::Data { CodePoint::NotCapable } else { packet.echo };
        let egress = &mut self.egress[port as usize];
        let (time, peer_port) = (egress.occupy(cx.now, packet.size), egress.peer_port);
        self.send(port, time, packet, cx, move |copy| {
            copy.time = time;
            copy.port = peer_port;
            copy.code = code;
            copy.echo = echo;
        });
    }

    /// Sends a frame to the other end of a link, with what is beside it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see above")]
    pub(super) fn send<P: Post<Packet>>(
        &mut self,
        port: u16,
        time: u64,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
        patch: impl FnOnce(&mut Packet),
    ) {
        if self.extensions.is_empty() {
            cx.post.send(self.egress[port as usize].place, time, packet, patch);
        } else {
            let mut frame = *packet;
            patch(&mut frame);
            self.send_extended(port, &frame, cx);
        }
    }

    #[cold]
    #[inline(never)]
    fn send_extended<P: Post<Packet>>(&mut self, port: u16, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let place = self.egress[port as usize].place;
        let beside = self.extensions.take(frame);
        if cx.world.retry.is_some() && !frame.is_flow_control() {
            return self.send_kept(port, frame, beside.as_ref(), cx);
        }
        match beside {
            Some(extension) => cx.post.send_with(place, frame.time, frame, extension.bytes(), |_| ()),
            None => cx.post.send(place, frame.time, frame, |_| ()),
        }
    }

    /// The class whose queue an idle port serves next, of those that are `open`, if anything waits there.
    #[inline]
    pub(crate) fn ready(&self, port: u16, open: u8, round_robin: bool) -> Option<u8> {
        let egress = &self.egress[port as usize];
        let ready = egress.waiting & open;
        (ready != 0).then(|| pick(ready, egress.turn, round_robin))
    }

    /// Counts a packet that starts to leave. A packet that need not wait has had its turn, too.
    #[inline]
    pub(crate) fn count_sent(&mut self, port: u16, packet: &Packet) {
        self.leaves_calmly(port, packet, 0);
    }

    /// The same; whether the queue is so short, and what the detector has seen `now` so settled, that it need not be shown the packet.
    #[inline]
    pub(crate) fn leaves_calmly(&mut self, port: u16, packet: &Packet, now: u64) -> bool {
        let at = self.at(port, packet.class);
        let (queue, egress) = (&mut self.queues[at], &mut self.egress[port as usize]);
        queue.count(packet.size);
        egress.turn = if packet.class == 0 { egress.turn } else { packet.class };
        is_calm(queue, egress, now)
    }

    /// Whether a packet that leaves by a queue `now` need not be shown to the detector.
    #[inline]
    pub(crate) fn leaves_unseen(&self, port: u16, class: u8, now: u64) -> bool {
        is_calm(&self.queues[self.at(port, class)], &self.egress[port as usize], now)
    }

    /// Takes the first packet of the class that has its turn.
    #[inline]
    pub(crate) fn dequeue_in_turn(&mut self, port: u16, class: u8) -> Packet {
        if class != 0 {
            self.egress[port as usize].turn = class;
        }
        self.dequeue(port, class)
    }

    /// The class that an idle port sends now, if any may: its turn is taken.
    #[inline]
    pub(crate) fn choose(&mut self, port: u16, round_robin: bool) -> Option<u8> {
        let class = self.ready(port, !self.egress[port as usize].paused, round_robin)?;
        if class != 0 {
            self.egress[port as usize].turn = class;
        }
        Some(class)
    }

    /// Data, ACK and CNP frames that arrived here.
    pub(crate) const fn packet_hops(&self) -> u64 {
        self.trajectory.events() - self.link_frames
    }

    /// Takes the samples that are due before an event at `now`: they see the state after all earlier events.
    #[inline]
    pub(crate) fn sample_until<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if self.next_sample <= cx.now {
            self.sample(cx);
        }
    }

    #[cold]
    #[inline(never)]
    fn sample<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        while self.next_sample <= cx.now {
            for i in 0..self.sampled.len() {
                let port = self.sampled[i];
                for class in 1..cx.world.classes.count {
                    let queue = &self.queues[self.at(port, class)];
                    self.records.samples.push(SampleRecord {
                        time: Time::from_ps(self.next_sample),
                        node: self.node,
                        port,
                        priority: cx.world.classes.priority(class),
                        paused: self.egress[port as usize].paused & (1 << class) != 0,
                        state: queue.registers.state() as u8,
                        queue: Bytes::new(u64::from(queue.bytes)),
                        sent: Bytes::new(queue.sent_bytes),
                    });
                    cx.post.recorded(1);
                }
            }
            self.next_sample += cx.world.sample;
        }
    }

    /// Bytes of state of all ports.
    pub(crate) fn state_bytes(&self) -> usize {
        let credits = self.credits.as_ref().map_or(0, |credits| credits.state_bytes());
        credits
            + size_of_val(&*self.egress)
            + size_of_val(&*self.queues)
            + size_of_val(&*self.gates)
            + size_of_val(&*self.wakes)
    }

    /// Keeps the first broken invariant and stops the run.
    #[cold]
    pub(crate) fn fail<P: Post<Packet>>(&mut self, time: u64, port: u16, what: What, cx: &mut Ctx<'_, P>) {
        self.breach.get_or_insert(Breach { time, node: self.node, port, what });
        cx.post.fail();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_wake_is_found_wherever_it_stands() {
        for count in 0..14 {
            for at in 0..count {
                let wakes: Vec<u64> = (0..count).map(|i| if i == at { 7 } else { 8 + i as u64 }).collect();
                assert_eq!(least(&wakes), 7, "{at} of {count}");
            }
        }
        assert_eq!(least(&[]), NO_WAKE);
        assert_eq!(least(&[NO_WAKE; 9]), NO_WAKE);
    }
}
