//! A window of a switch, port by port: the fast path beside the order of events.
//!
//! Egress ports affect each other only through the ingress accounts (PAUSE, RESUME, a full memory). In a window in
//! which no account can cross a threshold, whatever the order, each port's queue can be worked off on its own:
//! its few arrivals in order, with the departures that fall between them. What happens is the same, event for
//! event; the trajectory digest shows it.
use backwater_engine::{Class, Key, Post, Window};

use crate::packet::{Kind, Packet};
use crate::switch::Switch;
use crate::world::World;

/// Memory for one window of one switch.
#[derive(Default)]
pub(crate) struct Batch {
    /// Bytes arriving per ingress port and class.
    arriving: Vec<u32>,
    /// Egress port of each arrival.
    out: Vec<u16>,
    /// Where each egress port's arrivals end in `keys`.
    ends: Vec<u32>,
    /// Arrivals by egress port: time in the window, order at that time, index.
    keys: Vec<u64>,
}

/// Bits of an index among the arrivals and of [`Key::order`].
const INDEX: u32 = 24;
const ORDER: u32 = 12;

impl Switch {
    /// Runs `window` port by port if nothing in it can make one port affect another; else changes nothing and
    /// returns false.
    pub(crate) fn run_batch<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) -> bool {
        let alone = window.is_whole()
            && arrivals.len() < 1 << INDEX
            && self.ports.next_timer() >= window.end
            && self.ports.next_sample >= window.end
            && self.ports.egress.iter().all(|egress| egress.paused == 0 && !egress.pfc_pending());
        if !alone {
            return false;
        }
        let Some(all) = self.weigh(arrivals, batch) else { return false };
        if !self.memory.stays_calm(&batch.arriving, all) {
            return false;
        }
        self.memory.admit_all(&batch.arriving, all, world.lossless);
        self.deal(arrivals, window, batch);
        let mut from = 0;
        for out in 0..self.ports.egress.len() {
            let to = batch.ends[out] as usize;
            let keys = &mut batch.keys[from..to];
            from = to;
            if keys.is_empty() && self.ports.egress[out].waiting == 0 {
                continue;
            }
            keys.sort_unstable();
            self.run_port(out as u16, keys, arrivals, window, world, post);
        }
        self.memory.sum_shared();
        self.ports.refresh();
        true
    }

    /// Adds up what arrives by ingress port and class; `None` if a PFC frame is among it.
    fn weigh(&self, arrivals: &[Packet], batch: &mut Batch) -> Option<u64> {
        batch.arriving.clear();
        batch.arriving.resize(self.memory.accounts.len(), 0);
        let mut all = 0;
        for packet in arrivals {
            if packet.kind == Kind::Pfc {
                return None;
            }
            batch.arriving[self.ports.at(packet.port, packet.class)] += u32::from(packet.size);
            all += u64::from(packet.size);
        }
        Some(all)
    }

    /// Routes the arrivals and groups their keys by egress port (a counting sort).
    fn deal(&mut self, arrivals: &[Packet], window: Window, batch: &mut Batch) {
        batch.out.clear();
        batch.ends.clear();
        batch.ends.resize(self.ports.egress.len(), 0);
        for packet in arrivals {
            self.ports.note(packet);
            let out = self.forwarding.port(packet);
            batch.ends[usize::from(out)] += 1;
            batch.out.push(out);
        }
        let mut start = 0;
        for end in &mut batch.ends {
            start += std::mem::replace(end, start);
        }
        batch.keys.clear();
        batch.keys.resize(arrivals.len(), 0);
        for ((i, packet), out) in (0..).zip(arrivals).zip(&batch.out) {
            let order = u64::from(Key::new(0, Class::Arrival, self.ports.rank(packet.port)).order);
            let end = &mut batch.ends[usize::from(*out)];
            batch.keys[*end as usize] = (packet.time - window.start) << (INDEX + ORDER) | order << INDEX | i;
            *end += 1;
        }
    }

    /// Works off one egress port: its arrivals in order, each after the departures before it.
    fn run_port<P: Post<Packet>>(
        &mut self,
        out: u16,
        keys: &[u64],
        arrivals: &[Packet],
        window: Window,
        world: &World,
        post: &mut P,
    ) {
        for key in keys {
            let packet = &arrivals[(key & ((1 << INDEX) - 1)) as usize];
            self.depart_until(out, packet.time, world, post);
            if self.ports.egress[usize::from(out)].busy_until <= packet.time {
                self.memory.let_go(packet, world.lossless);
                let code = self.depart(out, packet, packet.time, world, post);
                self.ports.transmit(out, packet, code, packet.time, post);
            } else {
                self.ports.enqueue(out, packet);
            }
        }
        self.depart_until(out, window.end - 1, world, post);
        let egress = &self.ports.egress[usize::from(out)];
        let wake = (egress.waiting != 0).then_some(egress.busy_until);
        self.ports.plan_wake(out, wake);
    }

    /// Sends what waits at a port, back to back, up to and including a start at `last`.
    #[inline]
    fn depart_until<P: Post<Packet>>(&mut self, out: u16, last: u64, world: &World, post: &mut P) {
        loop {
            let egress = &self.ports.egress[usize::from(out)];
            let now = egress.busy_until;
            if egress.waiting == 0 || now > last {
                return;
            }
            let class = self.ports.choose(out, world.round_robin).expect("something waits at an open gate");
            let packet = self.ports.dequeue(out, class);
            self.memory.let_go(&packet, world.lossless);
            let code = self.depart(out, &packet, now, world, post);
            self.ports.transmit(out, &packet, code, now, post);
        }
    }
}
