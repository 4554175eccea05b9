//! A window of a switch, port by port: the fast path beside the order of events.
//!
//! Egress ports affect each other only through the ingress accounts (PAUSE, RESUME, a full memory). In a window in
//! which no account can cross a threshold, whatever the order, each port's queue can be worked off on its own:
//! its few arrivals in order, with the departures that fall between them. What happens is the same, event for
//! event; the trajectory digest shows it.
use backwater_engine::{Class, Key, Post, Window};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::switch::chassis::Chassis;
use crate::switch::forwarding::Forwarding;
use crate::world::World;

/// Memory for one window of one switch.
#[derive(Clone, Default)]
pub(crate) struct Batch {
    /// Per egress port the arrivals that leave by it: time in the window, order at that time, index.
    keys: Vec<Vec<u64>>,
}

/// Bits of an index among the arrivals and of [`Key::order`].
const INDEX: u32 = 24;
const ORDER: u32 = 12;

/// A fabric whose ports affect each other in no other way.
pub(crate) trait Batched {
    /// A packet for the busy port `out` waits there, or what becomes of it where there is no room.
    fn wait<P: Post<Packet>>(
        &mut self,
        chassis: &mut Chassis,
        packet: &Packet,
        out: u16,
        cx: &mut Ctx<'_, P>,
    );

    /// A packet has started to leave by `out`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is on the path of every packet")]
    fn left(&mut self, _ports: &Ports, _out: u16, _packet: &Packet) {}
}

impl Chassis {
    /// Runs `window` port by port if nothing in it can make one port affect another; else changes nothing and
    /// returns false.
    pub(crate) fn run_batch<B: Batched, P: Post<Packet>>(
        &mut self,
        fabric: &mut B,
        arrivals: &[Packet],
        window: Window,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) -> bool {
        let alone = window.is_whole()
            && arrivals.len() < 1 << INDEX
            && self.ports.next_timer() >= window.end
            && self.ports.next_sample() >= window.end
            && self.ports.all_egress().iter().all(|egress| egress.paused() == 0 && !egress.owes_frame());
        if !alone {
            return false;
        }
        let (mut arriving, mut of_link) = (0, false);
        for packet in arrivals {
            arriving += u64::from(packet.size);
            of_link |= packet.is_flow_control();
        }
        if of_link || !self.memory.stays_calm(arriving) {
            return false;
        }
        if self.forwarding.goes_by_entropy() {
            self.deal(arrivals, window, batch, Forwarding::port_with_entropy);
        } else {
            self.deal(arrivals, window, batch, Forwarding::port);
        }
        for (out, keys) in (0..).zip(&mut batch.keys[..usize::from(self.ports.count())]) {
            if !keys.is_empty() || self.ports.egress(out).waiting() != 0 {
                keys.sort_unstable();
                self.run_port(
                    fabric,
                    out,
                    keys,
                    arrivals,
                    window,
                    &mut Ctx { now: window.start, world, post },
                );
                keys.clear();
            }
        }
        self.ports.refresh();
        true
    }

    /// Routes the arrivals and groups their keys by egress port.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a loop for each way to forward, which is asked for every packet"
    )]
    fn deal(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        batch: &mut Batch,
        port: impl Fn(&Forwarding, &Packet) -> u16,
    ) {
        if batch.keys.len() < usize::from(self.ports.count()) {
            batch.keys.resize_with(usize::from(self.ports.count()), Vec::new);
        }
        self.ports.note_all(arrivals);
        for (i, packet) in (0..).zip(arrivals) {
            let out = port(&self.forwarding, packet);
            let order = u64::from(Key::new(0, Class::Arrival, self.ports.rank(packet.port)).order);
            let key = (packet.time - window.start) << (INDEX + ORDER) | order << INDEX | i;
            batch.keys[usize::from(out)].push(key);
        }
    }

    /// Works off one egress port: its arrivals in order, each after the departures before it.
    fn run_port<B: Batched, P: Post<Packet>>(
        &mut self,
        fabric: &mut B,
        out: u16,
        keys: &[u64],
        arrivals: &[Packet],
        window: Window,
        cx: &mut Ctx<'_, P>,
    ) {
        for key in keys {
            let packet = &arrivals[(key & ((1 << INDEX) - 1)) as usize];
            let egress = self.ports.egress(out);
            if egress.waiting() != 0 && egress.busy_until() <= packet.time {
                self.depart_until(fabric, out, packet.time, cx);
            }
            cx.now = packet.time;
            if self.ports.egress(out).busy_until() <= packet.time {
                self.send_off(out, packet, cx);
                fabric.left(&self.ports, out, packet);
            } else {
                fabric.wait(self, packet, out, cx);
            }
        }
        if self.ports.egress(out).waiting() != 0 {
            self.depart_until(fabric, out, window.end - 1, cx);
        }
        let egress = self.ports.egress(out);
        let wake = (egress.waiting() != 0).then_some(egress.busy_until());
        self.ports.plan_wake(out, wake);
    }

    /// Sends what waits at a port, back to back, up to and including a start at `last`.
    fn depart_until<B: Batched, P: Post<Packet>>(
        &mut self,
        fabric: &mut B,
        out: u16,
        last: u64,
        cx: &mut Ctx<'_, P>,
    ) {
        while let egress = self.ports.egress(out)
            && egress.waiting() != 0
            && egress.busy_until() <= last
        {
            cx.now = egress.busy_until();
            let class =
                self.ports.choose(out, cx.world.round_robin).expect("something waits at an open gate");
            let packet = self.ports.dequeue(out, class);
            self.waited(&packet, out, cx);
            self.memory.let_go(&packet, cx.world.lossless);
            self.send_off(out, &packet, cx);
            fabric.left(&self.ports, out, &packet);
        }
    }
}
