//! A host slower than its link: what it receives stands in a queue and is drained at a rate of its own.
//!
//! ```text
//!   data comes in ─▶ fits? ─▶ receive queue, first in first out ─▶ drained (`drain.rs`) ─▶ order check, ACK, CNP, counts
//!                      │           │ Xoff / Xon, credits
//!                      │           └─▶ PAUSE / RESUME / credit update to the switch
//!                      └─▶ no: a PUT is dropped; in a class that must not lose anything, or of a queue pair, the run stops
//! ```
//! All that a host receives shares the queue, but for control frames, which pass by. A packet counts until it is drained
//! completely; at one instant, what is drained goes before what comes in. Under PFC the host is to its switch what a switch is to its upstream port: the same accounts, thresholds and
//! PAUSEs (`ingress.rs`, `pausing.rs`). Under credits the queue is the buffer of its link, and gives back what it has drained.
//! There is one event per packet drained: that of the first one.
mod drain;
mod receiving;
mod schedule;
pub(crate) mod stuck;
mod sums;
mod truth;

pub(crate) use self::truth::drain_of;

use backwater_control::flow_control::Threshold;
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ingress::Memory;
use crate::link::ports::NIC;
use crate::link::ports::Ports;
use crate::link::queue::{Fifo, Pool};
use crate::packet::Packet;
use crate::spec::EndpointSpec;
use crate::world::World;
use drain::{Drain, Outlook};
use schedule::Schedule;
use sums::Sums;
use truth::Truth;

/// What one class has in the receive queue.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Share {
    bytes: u64,
    peak: u64,
}

/// The receive queue of a slow host.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(crate) struct Endpoint {
    queue: Fifo,
    pool: Pool,
    packets: u32,
    held: u64,
    shares: [Share; 8],
    /// What flow control knows of it.
    memory: Memory,
    /// Classes for which the host sends PAUSE.
    lossless: u8,
    drain: Drain,
    /// The largest messages that cost no work, in bytes under way of their queue pair.
    cached: u64,
    /// When the first packet will be drained, if there is one.
    outlook: Outlook,
    /// Per class: from which length on the queue is long.
    long: [u64; 8],
    sums: Option<Box<Sums>>,
    /// What is kept for the ground truth, if it is recorded.
    truth: Option<Box<Truth>>,
}

impl Endpoint {
    pub(crate) fn new(spec: &EndpointSpec, ports: &Ports, world: &World) -> Self {
        let lossless = if spec.pfc.is_some() { world.lossless } else { 0 };
        let credited = world.credits.map_or(0, |credits| credits.classes);
        let thresholds = spec.pfc.into_iter().collect();
        let long = |class: usize| long(spec, class as u8, lossless, ports);
        Self {
            queue: Fifo::default(),
            pool: Pool::new(),
            packets: 0,
            held: 0,
            shares: [Share::default(); 8],
            memory: Memory::new(ports.classes(), lossless, credited, false, thresholds, 1, spec.depth.get()),
            lossless,
            drain: Drain::new(Schedule::new(&spec.drain, world.seed, ports.node())),
            cached: spec.cached.map_or(0, Bytes::get),
            outlook: Outlook::Never,
            long: std::array::from_fn(long),
            sums: world.endpoints.then(|| Box::new(Sums::new(world.sample))),
            truth: (!world.last_packet.is_empty()).then(Box::default),
        }
    }

    /// From now on judges by the thresholds of one that was built alike but for these.
    pub(crate) fn judge_as(&mut self, built: &Self) {
        self.memory.judge_as(&built.memory);
        self.long = built.long;
    }

    /// The packets in the queue, in no order.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.pool.taken()
    }

    /// Bytes in the queue.
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Most bytes of the queue; without a limit under credits, which take its place.
    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        if self.memory.credited() == 0 { self.memory.capacity() } else { u64::MAX / 2 }
    }

    /// How many PAUSEs were sent for one class.
    pub(crate) fn pauses_sent(&self, class: u8) -> u32 {
        self.memory.account(usize::from(class)).pauses_sent()
    }

    /// Bytes of one class in the queue.
    pub(crate) fn waiting(&self, class: u8) -> u64 {
        self.shares[usize::from(class)].bytes
    }

    /// Most bytes that one class has had in the queue.
    pub(crate) fn peak(&self, class: u8) -> u64 {
        self.shares[usize::from(class)].peak
    }

    /// From how many bytes of a class on the queue is a long one: what is left of it while RESUME or a credit update is on its
    /// way, else half of it.
    pub(crate) fn long(&self, class: u8) -> u64 {
        self.long[usize::from(class)]
    }

    /// Whether the drain rate is 0 at `now`.
    pub(crate) fn is_still(&mut self, now: u64) -> bool {
        self.drain.is_still(now)
    }

    /// Packets in the queue, if the first one will never be drained.
    pub(crate) fn stuck(&self) -> Option<u32> {
        (self.packets > 0 && self.outlook == Outlook::Never).then_some(self.packets)
    }

    /// Whether packets wait that will be drained.
    pub(crate) fn moves(&self) -> bool {
        self.packets > 0 && self.outlook != Outlook::Never
    }

    /// The packets in the queue, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.pool.iter(self.queue)
    }

    /// Slots for packets, and their bytes.
    pub(crate) fn slots(&self) -> (usize, usize) {
        (self.pool.slots(), self.pool.memory())
    }

    /// Whether there is room for a packet. In a class under credits there is: the other end had credits for it.
    #[inline]
    pub(crate) fn fits(&self, packet: &Packet) -> bool {
        self.memory.is_credited(packet.class)
            || self.memory.used() + u64::from(packet.size) <= self.memory.capacity()
    }

    /// Books a packet; false if there is no room for it.
    fn admit(&mut self, packet: &Packet) -> bool {
        let (class, size) = (packet.class, u32::from(packet.size));
        let fits = self.fits(packet)
            && if self.lossless & (1 << class) != 0 {
                self.memory.admit(0, class, size)
            } else if self.memory.is_credited(class) {
                self.memory.admit_credited(0, class, size)
            } else {
                self.memory.admit_unpaused(size)
            };
        if fits {
            let share = &mut self.shares[usize::from(class)];
            share.bytes += u64::from(size);
            share.peak = share.peak.max(share.bytes);
            self.held += u64::from(size);
            self.packets += 1;
            self.pool.push(&mut self.queue, packet);
        }
        fits
    }

    /// Takes the first packet out.
    fn take(&mut self) -> Packet {
        let packet = self.pool.pop(&mut self.queue);
        let (class, size) = (packet.class, u32::from(packet.size));
        if self.lossless & (1 << class) != 0 {
            self.memory.release(0, class, size);
        } else if self.memory.is_credited(class) {
            self.memory.release_credited(0, class, size);
        } else {
            self.memory.release_unpaused(size);
        }
        self.shares[usize::from(class)].bytes -= u64::from(size);
        self.held -= u64::from(size);
        self.packets -= 1;
        packet
    }

    /// The first packet is drained from `now` on, or goes on being drained; returns when to look at it again, if ever.
    fn drain_first(&mut self, now: u64, world: &World) -> Option<u64> {
        let first = self.pool.first(self.queue);
        let is_cached = self.cached > 0 && world.under_way(first.flow) <= self.cached;
        let work = if is_cached { 0 } else { first.size };
        self.outlook = self.drain.start(now, work, first.time < now);
        self.look_at()
    }

    /// Whether the first packet is to be looked at `now`.
    fn is_due(&self, now: u64) -> bool {
        self.packets > 0 && self.look_at() == Some(now)
    }

    fn look_at(&self) -> Option<u64> {
        match self.outlook {
            Outlook::Done(at) | Outlook::Ask(at) => Some(at),
            Outlook::Never => None,
        }
    }

    /// What does not add up, in words.
    pub(crate) fn check(&self, ports: &Ports) -> Result<(), String> {
        let (mut shares, mut lanes) = ([0; 8], [0; 8]);
        for packet in self.iter() {
            shares[usize::from(packet.class)] += u64::from(packet.size);
            lanes[usize::from(packet.class)] +=
                ports.credits().map_or(0, |credits| credits.units(packet.size));
        }
        let held: u64 = shares.iter().sum();
        let count = self.iter().count();
        if held != self.held || count != self.packets as usize || shares != self.shares.map(|s| s.bytes) {
            return Err(format!(
                "the receive queue counts {} packets, {} B and holds {count}, {held} B",
                self.packets, self.held
            ));
        }
        let counted = |class: u8| !self.memory.is_credited(class);
        let used: u64 = (0..8).filter(|class| counted(*class)).map(|class| shares[usize::from(class)]).sum();
        if used != self.memory.used() {
            return Err(format!(
                "the receive queue counts {} B for flow control, {used} B are there",
                self.memory.used()
            ));
        }
        for class in 0..ports.classes() as u8 {
            let account = self.memory.account(usize::from(class)).held();
            if (self.lossless | self.memory.credited()) & (1 << class) != 0
                && account != shares[usize::from(class)]
            {
                return Err(format!("the receive queue counts {account} B of class {class}"));
            }
            let Some(credits) = ports.credits().filter(|credits| credits.govern(class)) else {
                continue;
            };
            let (held, buffer) = credits.held(ports.at(NIC, class));
            if held != lanes[usize::from(class)] || held > buffer {
                return Err(format!("the receive queue counts {held} of {buffer} units of class {class}"));
            }
        }
        Ok(())
    }
}

fn long(spec: &EndpointSpec, class: u8, lossless: u8, ports: &Ports) -> u64 {
    if let Some(credits) = ports.credits().filter(|credits| credits.govern(class)) {
        return credits.spare_bytes(NIC);
    }
    match spec.pfc {
        Some(Threshold::Static { xon, .. }) if lossless & (1 << class) != 0 => xon,
        Some(Threshold::Dynamic { reserve, .. }) if lossless & (1 << class) != 0 => reserve,
        _ => spec.depth.get() / 2,
    }
}
