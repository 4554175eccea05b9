//! The throttle of a NIC, one for each of its ports: what PFT needs to know of a port and its virtual lanes, and what it says about them.
//!
//! ```text
//!   credit update ──▶ c ──▶ Pft ──▶ when the gate opens ──▶ what is held, the port's next wake   (nic.rs)
//!   packet sent ─────▶        │
//!                             └──▶ periods and changes of state, if they are recorded             (sums.rs)
//! ```
//! c is what the registers of CBFC say ([`crate::link::credits`]): sent, and not yet advertised as free. Nothing here costs an event of its
//! own: states are brought up to now when something happens, and when a packet is held the port wakes at the time the gate opens.
//! Credits come first: a packet without credits waits behind the gate of its class. A packet with credits that the throttle holds wakes
//! the port when the throttle opens, or when an update changes c; it never polls. Updates themselves are not held. To a flow, time held is
//! time behind the gate (`nic_held`); `sums.rs` tells the two apart. A throttled NIC is no deadlock, unless nothing moves and only credits
//! could let it go (`simulation/stall.rs`).
mod nic;
mod sums;

use backwater_control::reaction::{Gate, Pft, PftConfig, Scope};
use backwater_engine::{Post, Stream, stream, uniform};
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::Opens;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::ThrottleStateRecord;
use crate::spec::ThrottleSpec;
use crate::world::World;
use sums::Sums;

/// Purpose of the random stream of the gaps of RI; entity: host, and port from bit 32 on.
const GAPS: u64 = 0x9f71;

/// No time.
const NEVER: u64 = u64::MAX;

/// The throttle of one port of a NIC.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Throttle {
    config: PftConfig,
    /// One for the port, or one for each class, of which those not under credits never count anything.
    machines: Vec<Pft>,
    random: Stream,
    /// Per class: since when a packet has been held by nothing but the throttle, as far as that is not booked; else [`NEVER`].
    held_from: [u64; 8],
    /// When the first packet that is held will be let go if c stays; [`NEVER`] if none will.
    opens: u64,
    /// Bit per class: what is held will not be let go before c changes.
    stopped: u8,
    sums: Option<Box<Sums>>,
    states: bool,
    port: u16,
}

impl Throttle {
    pub(crate) fn new(
        spec: Option<&ThrottleSpec>,
        (host, port): (u32, u16),
        ports: &Ports,
        world: &World,
    ) -> Option<Box<Self>> {
        let (spec, credits) = (spec?, world.credits.as_ref()?);
        let (machines, lanes) = match spec.scope {
            Scope::Port => (1, credits.classes.count_ones().max(1)),
            Scope::VirtualLane => (ports.classes(), 1),
        };
        let capacity = credits.units.saturating_mul(lanes);
        Some(Box::new(Self {
            config: PftConfig { capacity, ..spec.config },
            machines: vec![Pft::new(); machines],
            random: stream(world.seed, GAPS, u64::from(port) << 32 | u64::from(host)),
            held_from: [NEVER; 8],
            opens: NEVER,
            stopped: 0,
            sums: world.throttle_sums.then(|| Box::new(Sums::new(world.sample))),
            states: world.throttle_states,
            port,
        }))
    }

    /// The machine that gates a class.
    fn machine(&self, class: u8) -> usize {
        if self.machines.len() == 1 { 0 } else { usize::from(class) }
    }

    /// When a packet of a class may leave, as far as the throttle goes and if c stays. What is recorded is [observed](Self::observe)
    /// before.
    fn opens(&mut self, class: u8, now: u64) -> Opens {
        let machine = self.machine(class);
        match self.machines[machine].gate(&self.config, Time::from_ps(now)) {
            Gate::Open => Opens::Now,
            Gate::At(time) => Opens::At(time.as_ps()),
            Gate::Change => Opens::WhenTold,
        }
    }

    /// Of the first `classes` those of which no packet may leave now, a bit each. One machine for all of them is asked once.
    fn closed(&mut self, classes: u8, now: u64) -> u8 {
        let (config, now) = (&self.config, Time::from_ps(now));
        if let [machine] = &mut *self.machines {
            return if machine.is_open(config, now) { 0 } else { u8::MAX >> (8 - classes) };
        }
        let closed = self.machines.iter_mut().map(|machine| !machine.is_open(config, now));
        (0..classes).zip(closed).fold(0, |set, (class, closed)| set | u8::from(closed) << class)
    }

    /// An update of a class has arrived.
    pub(crate) fn on_credits<P: Post<Packet>>(&mut self, class: u8, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        self.observe(ports, cx);
        let machine = self.machine(class);
        let port = self.port;
        let used = if self.machines.len() == 1 { ports.used_by_port(port) } else { ports.used(port, class) };
        let now = Time::from_ps(cx.now);
        self.change(machine, ports, |machine, config, _| machine.on_credits(config, now, used), cx);
    }

    /// A packet of a class has started `now` and leaves the wire free at `end`. One that takes no credits leaves no gap.
    fn on_sent<P: Post<Packet>>(
        &mut self,
        class: u8,
        size: u16,
        end: u64,
        ports: &mut Ports,
        cx: &mut Ctx<'_, P>,
    ) {
        let flits = ports.credits_of(class, size);
        let machine = self.machine(class);
        let (start, end) = (Time::from_ps(cx.now), Time::from_ps(end));
        let sent = |machine: &mut Pft, config: &PftConfig, random: &mut Stream| {
            machine.on_sent(config, start, end, flits, &mut || uniform(random));
        };
        self.change(machine, ports, sent, cx);
        if let Some(sums) = &mut self.sums {
            sums.sent(flits);
        }
    }

    /// Something happens to a machine, which may change its state at once.
    fn change<P: Post<Packet>>(
        &mut self,
        number: usize,
        ports: &mut Ports,
        how: impl FnOnce(&mut Pft, &PftConfig, &mut Stream),
        cx: &mut Ctx<'_, P>,
    ) {
        let machine = &mut self.machines[number];
        let before = machine.congested();
        how(machine, &self.config, &mut self.random);
        let after = machine.congested();
        if let Some(sums) = &mut self.sums {
            sums.uses(self.machines.iter().map(Pft::used).sum());
        }
        if before != after {
            self.changed(number, ports, cx);
        }
    }

    /// Brings what is recorded up to `now`: the changes of state that samples have led to, in order, and the periods that are over.
    pub(crate) fn observe<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        if self.sums.is_none() && !self.states {
            return;
        }
        loop {
            let next = |number: &usize| self.machines[*number].next_transition(&self.config);
            let Some(first) = (0..self.machines.len()).min_by_key(next) else { break };
            let Some(transition) = self.machines[first].step(&self.config, Time::from_ps(cx.now)) else {
                break;
            };
            self.changed(first, ports, &mut cx.at(transition.time.as_ps()));
        }
        if let Some(sums) = &mut self.sums {
            sums.pass(self.port, ports, cx);
        }
    }

    /// The state of a machine has changed.
    fn changed<P: Post<Packet>>(&mut self, number: usize, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        let (congested, used) = (self.machines[number].congested(), self.machines[number].used());
        if let Some(sums) = &mut self.sums {
            sums.pass(self.port, ports, cx);
            sums.state(self.machines.iter().any(Pft::congested), congested);
        }
        if self.states {
            let lane = if self.machines.len() == 1 { 0 } else { cx.world.classes.priority(number as u8) };
            let (time, node) = (Time::from_ps(cx.now), ports.node());
            ports.records_mut().throttle_states.push(ThrottleStateRecord {
                time,
                node,
                port: self.port,
                lane,
                congested,
                used,
            });
            cx.post.recorded(1);
        }
    }

    /// The run ends `now`.
    pub(crate) fn close<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        if let Some(sums) = &mut self.sums {
            sums.close(self.port, ports, cx);
        }
    }

    /// The port whose it is.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Whether something is held that time alone will let go.
    pub(crate) const fn moves(&self) -> bool {
        self.opens != NEVER
    }

    /// What is held is let go only by credits that come back: how many are in use, of how many.
    pub(crate) fn stopped(&self) -> Option<(u32, u32)> {
        let machine = self.machine(self.stopped.trailing_zeros().min(7) as u8);
        (self.stopped != 0).then(|| (self.machines[machine].used(), self.config.capacity))
    }
}
