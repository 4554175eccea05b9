//! A host slower than its link: what it receives stands in a queue and is drained at a rate of its own.
//!
//! ```text
//!   data comes in ─▶ fits? ─▶ receive queue, first in first out ─▶ drained (`drain.rs`) ─▶ order check, ACK, CNP, counts
//!                      │           │ Xoff / Xon, credits
//!                      │           └─▶ PAUSE / RESUME / credit update to the switch
//!                      └─▶ no: a PUT is dropped; in a class that must not lose anything, or of a queue pair, the run stops
//! ```
//! All that a host receives, by whatever port, shares the queue, but for control frames, which pass by. Of each port it holds so many bytes. A packet counts until it is drained
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
use crate::link::ports::Ports;
use crate::link::queue::{Fifo, Pool};
use crate::packet::Packet;
use crate::spec::EndpointSpec;
use crate::world::World;
use drain::{Drain, Outlook};
use schedule::Schedule;
use sums::Sums;
use truth::Truth;

/// What one class has in the receive queue that came by a port.
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
    /// By port.
    shares: Vec<[Share; 8]>,
    /// Most bytes that came by one port, but for those under credits.
    depth: u64,
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
        let long = |class: usize| long(spec, class as u8, lossless, ports);
        let (count, depth) = (usize::from(ports.count()), spec.depth.get());
        let capacity = depth.saturating_mul(count as u64);
        // What a port may hold is looked at beside them.
        let of_all = |threshold: Threshold| match threshold {
            Threshold::Static { xoff, xon, port_xoff, port_xon, buffer } => {
                let buffer = buffer.saturating_mul(count as u64);
                Threshold::Static { xoff, xon, port_xoff, port_xon, buffer }
            }
            dynamic @ Threshold::Dynamic { .. } => dynamic,
        };
        let thresholds = spec.pfc.iter().flatten().copied().map(of_all).collect();
        Self {
            queue: Fifo::default(),
            pool: Pool::new(),
            packets: 0,
            held: 0,
            shares: vec![[Share::default(); 8]; count],
            depth,
            memory: Memory::new(ports.classes(), lossless, credited, false, thresholds, count, capacity),
            lossless,
            drain: Drain::new(Schedule::new(&spec.drain, world.seed, ports.node())),
            cached: spec.cached.map_or(0, Bytes::get),
            outlook: Outlook::Never,
            long: std::array::from_fn(long),
            sums: world.endpoints.then(|| Box::new(Sums::new(world.sample, count))),
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

    /// Most bytes of the queue, of all ports together; without a limit under credits, which take its place.
    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        if self.memory.credited() == 0 { self.memory.capacity() } else { u64::MAX / 2 }
    }

    /// How many PAUSEs were sent for one class by the port of that account.
    pub(crate) fn pauses_sent(&self, at: usize) -> u32 {
        self.memory.account(at).pauses_sent()
    }

    /// Bytes of one class in the queue.
    pub(crate) fn waiting(&self, class: u8) -> u64 {
        self.shares.iter().map(|of_port| of_port[usize::from(class)].bytes).sum()
    }

    /// Those of them that came by a port.
    fn waiting_by(&self, port: u16, class: u8) -> u64 {
        self.shares[usize::from(port)][usize::from(class)].bytes
    }

    /// Most bytes of one class that the queue has had by a port.
    pub(crate) fn peak(&self, port: u16, class: u8) -> u64 {
        self.shares[usize::from(port)][usize::from(class)].peak
    }

    /// Bytes in the queue that came by a port, but for those of classes under credits.
    fn used(&self, port: u16) -> u64 {
        let of_port = self.shares[usize::from(port)].iter().zip(0..);
        of_port.map(|(share, class)| if self.memory.is_credited(class) { 0 } else { share.bytes }).sum()
    }

    /// From how many bytes of a class on the queue is a long one, of the port where that is least: what is left of it while RESUME or a credit update is on its
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
        self.memory.is_credited(packet.class) || self.used(packet.port) + u64::from(packet.size) <= self.depth
    }

    /// Books a packet; false if there is no room for it.
    fn admit(&mut self, packet: &Packet) -> bool {
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        let fits = self.fits(packet)
            && if self.lossless & (1 << class) != 0 {
                self.memory.admit(port, class, size)
            } else if self.memory.is_credited(class) {
                self.memory.admit_credited(port, class, size)
            } else {
                self.memory.admit_unpaused(size)
            };
        if fits {
            let share = &mut self.shares[usize::from(port)][usize::from(class)];
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
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        if self.lossless & (1 << class) != 0 {
            self.memory.release(port, class, size);
        } else if self.memory.is_credited(class) {
            self.memory.release_credited(port, class, size);
        } else {
            self.memory.release_unpaused(size);
        }
        self.shares[usize::from(port)][usize::from(class)].bytes -= u64::from(size);
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
        let mut shares = vec![[0; 8]; usize::from(ports.count())];
        let mut lanes = shares.clone();
        for packet in self.iter() {
            let (port, class) = (usize::from(packet.port), usize::from(packet.class));
            shares[port][class] += u64::from(packet.size);
            lanes[port][class] += ports.credits().map_or(0, |credits| u64::from(credits.units(packet.size)));
        }
        let held: u64 = shares.iter().flatten().sum();
        let count = self.iter().count();
        let booked = self.shares.iter().map(|of_port| of_port.map(|share| share.bytes));
        if held != self.held || count != self.packets as usize || !booked.eq(shares.iter().copied()) {
            return Err(format!(
                "the receive queue counts {} packets, {} B and holds {count}, {held} B",
                self.packets, self.held
            ));
        }
        let counted = |class: u8| !self.memory.is_credited(class);
        let of_port = |of: &[u64; 8]| -> u64 {
            (0..8).filter(|class| counted(*class)).map(|class| of[usize::from(class)]).sum()
        };
        let used: u64 = shares.iter().map(of_port).sum();
        if used != self.memory.used() {
            return Err(format!(
                "the receive queue counts {} B for flow control, {used} B are there",
                self.memory.used()
            ));
        }
        let all =
            (0..ports.count()).flat_map(|port| (0..ports.classes() as u8).map(move |class| (port, class)));
        for (port, class) in all {
            let at = ports.at(port, class);
            let account = self.memory.account(at).held();
            if (self.lossless | self.memory.credited()) & (1 << class) != 0
                && account != shares[usize::from(port)][usize::from(class)]
            {
                return Err(format!("the receive queue counts {account} B of class {class}"));
            }
            let Some(credits) = ports.credits().filter(|credits| credits.govern(class)) else {
                continue;
            };
            let (held, buffer) = credits.held(at);
            if u64::from(held) != lanes[usize::from(port)][usize::from(class)] || held > buffer {
                return Err(format!("the receive queue counts {held} of {buffer} units of class {class}"));
            }
        }
        Ok(())
    }
}

fn long(spec: &EndpointSpec, class: u8, lossless: u8, ports: &Ports) -> u64 {
    if let Some(credits) = ports.credits().filter(|credits| credits.govern(class)) {
        return (0..ports.count()).map(|port| credits.spare_bytes(port)).min().unwrap_or_default();
    }
    let spare = |threshold: &Threshold| match *threshold {
        Threshold::Static { xon, .. } => xon,
        Threshold::Dynamic { reserve, .. } => reserve,
    };
    let paused = spec.pfc.as_ref().filter(|_| lossless & (1 << class) != 0);
    paused.and_then(|all| all.iter().map(spare).min()).unwrap_or(spec.depth.get() / 2)
}
