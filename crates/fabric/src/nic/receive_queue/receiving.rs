//! What a slow host does with what comes in, and what it tells its switch.
use backwater_control::flow_control::Decision;
use backwater_engine::Post;

use super::{Endpoint, Outlook};
use crate::ctx::Ctx;
use crate::link::overrun::RAN_OUT;
use crate::link::ports::NIC;
use crate::link::ports::Purpose;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{Kind, Packet};
use crate::record::{DropReason, NO_FAULT};
use crate::violation::What;
use crate::world::World;

/// The receive queue of a host that has one: [`Host`] asks for nothing here where there is none.
fn slow(endpoint: &mut Option<Box<Endpoint>>) -> &mut Endpoint {
    endpoint.as_deref_mut().expect("a host with a receive queue")
}

impl<N: Nics> Host<N> {
    fn slow(&mut self) -> &mut Endpoint {
        slow(&mut self.endpoint)
    }

    /// A data packet that has come in stands in the receive queue from now on. What the host does with it happens when it has
    /// been drained: [`Host::on_data`] or [`Host::put_processed`], with `time` set to that instant.
    #[inline(never)]
    pub(crate) fn enter<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let now = packet.time;
        self.turn_sums(cx);
        if self.ports.has_credits()
            && let Err((held, buffer)) = self.ports.take_in(packet)
        {
            self.ports.fail(now, packet.port, What::Credits(held, buffer), cx);
            return;
        }
        let endpoint = self.slow();
        let idle = endpoint.packets == 0;
        if !endpoint.admit(packet) {
            if !self.is_sent_again(packet, cx.world) {
                if let Some(fault) = self.overruns_by(packet, cx.world) {
                    self.lose_unheld(packet, fault, cx);
                    return;
                }
                self.overflow(packet, cx);
                return;
            }
            self.ports.drop_packet(packet, packet.port, DropReason::NotTaken, cx);
            self.ports.dropped_behind(packet, slow(&mut self.endpoint).iter());
            self.receivers[cx.world.receiver_slot[packet.flow as usize] as usize].count_refused();
            self.refuse(packet, true, cx);
            return;
        }
        let look_at = if idle { endpoint.drain_first(now, cx.world) } else { None };
        let held = endpoint.held;
        if let Some(sums) = &mut endpoint.sums {
            sums.grown(held);
        }
        if let Some(at) = look_at {
            self.ports.set_timer(at, NIC, Purpose::Drained, 0);
        }
        self.crowded((packet.port, packet.class), cx);
        self.note_full_lane((packet.port, packet.class), now);
        self.check_progress(cx);
    }

    /// A watchdog at the switch has opened a gate against the PAUSE of this host, or obeys again. Who drains at once sends none.
    #[cold]
    pub(crate) fn hear_heed<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let port = self.nic();
        if frame.seq == RAN_OUT {
            self.ports.pause_ended(port, frame.class, cx);
            if self.ports.closed_since(port, frame.class).is_some() {
                self.ports.open_gate(port, frame.class, true, cx);
                self.send_next(cx);
            }
        } else if let Some(endpoint) = &self.endpoint {
            self.ports.hear_heed(frame);
            self.ports.is_guarded_again(&endpoint.memory, port, frame.class);
        }
    }

    /// Classes for which the receive queue has a PAUSE outstanding at the present port.
    pub(crate) fn paused_by_queue(&self) -> u8 {
        let Some(endpoint) = &self.endpoint else { return 0 };
        let nic = self.nic();
        let paused = |class: &u8| endpoint.memory.account(self.ports.at(nic, *class)).is_outstanding();
        (0..self.ports.classes() as u8).filter(paused).fold(0, |set, class| set | 1 << class)
    }

    /// The link of the present port goes down: PAUSEs that were sent by it have no effect any more.
    pub(crate) fn forget_own_pauses<P: Post<Packet>>(&mut self, fault: u16, cx: &mut Ctx<'_, P>) {
        self.turn_sums(cx);
        let nic = self.nic();
        let Some(endpoint) = &mut self.endpoint else { return };
        let forgotten = self.ports.forget_pauses(&mut endpoint.memory, (nic, fault), cx.now, cx.world);
        if let Some(sums) = &mut endpoint.sums {
            for class in (0..cx.world.classes.count).filter(|class| forgotten & (1 << class) != 0) {
                sums.holds((nic, class), cx.now, cx.now);
            }
        }
    }

    /// The host has stopped: what waits in its receive queue is lost.
    pub(crate) fn lose_received<P: Post<Packet>>(&mut self, fault: u16, cx: &mut Ctx<'_, P>) {
        self.turn_sums(cx);
        while let Some(endpoint) = &mut self.endpoint
            && endpoint.packets > 0
        {
            let packet = endpoint.take();
            if self.ports.has_credits() {
                self.ports.give_back(&packet, cx.now);
            }
            self.ports.lose(&packet, packet.port, DropReason::DeadNode, fault, cx);
        }
    }

    /// Whether a packet is lost that comes though PAUSE should hold it back, and for which there is no room.
    #[cold]
    pub(crate) fn overruns<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) -> bool {
        let (endpoint, port, class) = (slow(&mut self.endpoint), packet.port, packet.class);
        let Some(fault) = self.ports.overrun_by(port, class) else { return false };
        let lost = !self.ports.is_guarded_again(&endpoint.memory, port, class) && !endpoint.fits(packet);
        if lost {
            self.lose_unheld(packet, fault, cx);
        }
        lost
    }

    /// Why there may be no room for a packet in a lossless class: a fault has opened the gate that a PAUSE had closed. A slow host is what a
    /// watchdog that forwards takes for a storm.
    fn overruns_by(&self, packet: &Packet, world: &World) -> Option<u16> {
        self.ports
            .overrun_by(packet.port, packet.class)
            .or_else(|| world.switches_forward_storms().then_some(NO_FAULT))
    }

    fn lose_unheld<P: Post<Packet>>(&mut self, packet: &Packet, fault: u16, cx: &mut Ctx<'_, P>) {
        self.turn_sums(cx);
        if let Some(sums) = &mut self.slow().sums {
            sums.dropped(packet.size);
        }
        self.ports.lose(packet, packet.port, DropReason::Headroom, fault, cx);
    }

    /// A PUT does not get into the receive queue, because it is not the one expected, or because there is no room for it (`full`).
    pub(crate) fn refuse<P: Post<Packet>>(&mut self, packet: &Packet, full: bool, cx: &mut Ctx<'_, P>) {
        if self.endpoint.is_none() {
            return;
        }
        if self.ports.has_credits() {
            self.ports.consume(packet);
        }
        if full {
            self.turn_sums(cx);
            let endpoint = self.slow();
            if let Some(sums) = &mut endpoint.sums {
                sums.dropped(packet.size);
            }
            let (stuck, lossless) =
                (endpoint.stuck().is_some(), endpoint.lossless & (1 << packet.class) != 0);
            if stuck || (lossless && self.overruns_by(packet, cx.world).is_none()) {
                self.overflow(packet, cx);
            }
        }
    }

    /// What has been drained by `now` leaves the queue before data that comes in now: its timer comes later and finds it gone.
    #[inline]
    pub(crate) fn drain_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if self.slow().is_due(cx.now) {
            self.drained(cx);
        }
    }

    /// The timer of the first packet: it has been drained, or has to be looked at again.
    #[inline(never)]
    pub(crate) fn drained<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let endpoint = self.slow();
        if !endpoint.is_due(cx.now) {
            return;
        }
        self.turn_sums(cx);
        let before = self.nic();
        let endpoint = self.slow();
        if endpoint.outlook != Outlook::Done(cx.now) {
            endpoint.outlook = endpoint.drain.go_on();
            self.plan_drain();
        }
        while let endpoint = self.slow()
            && endpoint.packets > 0
            && endpoint.outlook == Outlook::Done(cx.now)
        {
            let mut packet = endpoint.take();
            if let Some(sums) = &mut endpoint.sums {
                sums.drained(packet.size);
            }
            if endpoint.packets > 0 && endpoint.drain_first(cx.now, cx.world) != Some(cx.now) {
                self.plan_drain();
            }
            // Answers leave by the port at which it came.
            self.turn_to(packet.port);
            self.let_go(&packet, cx);
            self.note_drained(&packet, cx);
            packet.time = cx.now;
            match packet.kind {
                Kind::Put => self.put_processed(&packet, cx),
                _ => self.sort_in(&packet, cx),
            }
        }
        self.turn_to(before);
        self.check_progress(cx);
    }

    fn plan_drain(&mut self) {
        if let Some(at) = self.slow().look_at() {
            self.ports.set_timer(at, NIC, Purpose::Drained, 0);
        }
    }

    /// A packet has left the receive queue: its credits go back, its class may be resumed.
    fn let_go<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        if self.ports.has_credits() {
            self.ports.give_back(packet, cx.now);
            self.note_full_lane((packet.port, packet.class), cx.now);
        }
        let endpoint = self.slow();
        if endpoint.lossless & (1 << packet.class) == 0 {
            return;
        }
        let port = packet.port;
        let whole_port = endpoint.memory.whole_port(port);
        for class in 1..cx.world.classes.count {
            let at = self.ports.at(port, class);
            let endpoint = self.slow();
            let concerned = class == packet.class || whole_port;
            if concerned && endpoint.memory.account(at).is_outstanding() {
                let level = endpoint.memory.level(port, class);
                let form = cx.world.pfc.form;
                self.tell((port, class), form.on_departure(level, true), cx);
            }
        }
    }

    /// Something of a class came in by a port: PAUSE for it, or for all if the whole port is above its threshold?
    fn crowded<P: Post<Packet>>(&mut self, (port, came): (u16, u8), cx: &mut Ctx<'_, P>) {
        let at = self.ports.at(port, came);
        let endpoint = self.slow();
        let (lossless, memory) = (endpoint.lossless, &endpoint.memory);
        if lossless & (1 << came) == 0 {
            return;
        }
        if memory.account(at).stays_calm(0) || memory.spares(port, came) {
            return;
        }
        let whole_port = memory.whole_port(port);
        for class in 1..cx.world.classes.count {
            if class == came || (whole_port && lossless & (1 << class) != 0) {
                let at = self.ports.at(port, class);
                let memory = &self.slow().memory;
                let (level, outstanding) = (memory.level(port, class), memory.account(at).is_outstanding());
                let form = cx.world.pfc.form;
                self.tell((port, class), form.on_arrival(level, outstanding), cx);
            }
        }
    }

    /// A timed pause is looked after.
    pub(crate) fn poll<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        self.turn_sums(cx);
        let port = self.nic();
        let memory = &mut slow(&mut self.endpoint).memory;
        let decision = self.ports.poll(memory, port, class, cx.now, cx.world);
        self.tell((port, class), decision, cx);
    }

    /// Carries out a decision about a class of a port.
    fn tell<P: Post<Packet>>(&mut self, (port, class): (u16, u8), decision: Decision, cx: &mut Ctx<'_, P>) {
        if decision == Decision::Nothing {
            return;
        }
        if decision == Decision::Pause {
            self.note_pause((port, class), cx);
        }
        let endpoint = slow(&mut self.endpoint);
        self.ports.announce(&mut endpoint.memory, port, class, decision, cx.now, cx.world);
        // Who sends PAUSE without end sends no RESUME.
        if let Some(storm) = self.ports.faults().map(|faults| faults.storm(port)).filter(|storm| *storm != 0)
        {
            self.ports.egress_mut(port).owe_pfc(storm & (1 << class), 0);
        }
        if let Some(sums) = &mut endpoint.sums {
            let pause = cx.world.pfc.form.pause();
            match decision {
                Decision::Pause => {
                    sums.holds((port, class), cx.now, pause.map_or(u64::MAX, |pause| cx.now + pause.as_ps()));
                }
                _ => sums.holds((port, class), cx.now, cx.now),
            }
        }
        self.send_next(cx);
    }

    /// Under credits: whether the switch has to wait for more of them.
    fn note_full_lane(&mut self, (port, class): (u16, u8), now: u64) {
        if !self.ports.has_credits() {
            return;
        }
        let full = self.ports.lane_is_full(port, class);
        if let Some(sums) = &mut self.slow().sums {
            sums.holds((port, class), now, if full { u64::MAX } else { now });
        }
    }

    /// A packet finds no room.
    #[cold]
    fn overflow<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let endpoint = self.slow();
        let what = if endpoint.stuck().is_some() {
            What::Stuck
        } else {
            let lossless = endpoint.lossless & (1 << packet.class) != 0;
            What::Receive(endpoint.used(packet.port) + u64::from(packet.size), endpoint.depth, lossless)
        };
        self.ports.fail(packet.time, packet.port, what, cx);
    }

    /// The run ends when a host that will never drain anything again holds back its switch: nothing will ever change that.
    fn check_progress<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let endpoint = self.slow();
        if endpoint.stuck().is_none() {
            return;
        }
        let (paused, credited) = (endpoint.memory.pauses(), endpoint.memory.credited());
        let full = |class: u8| {
            let mut ports = 0..self.ports.count();
            credited & (1 << class) != 0 && ports.any(|port| self.ports.lane_is_full(port, class))
        };
        if paused || (0..self.ports.classes() as u8).any(full) {
            self.ports.fail(cx.now, NIC, What::Stuck, cx);
        }
    }

    /// Goes on to the sampling period that `now` is in.
    #[inline]
    pub(crate) fn turn_sums<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if let Some(endpoint) = &mut self.endpoint
            && let Some(sums) = &mut endpoint.sums
        {
            sums.turn(endpoint.held, &mut self.ports, cx);
        }
    }

    /// Records the open period: the run ends `now`.
    pub(crate) fn close_sums<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        if let Some(endpoint) = &mut self.endpoint
            && let Some(sums) = &mut endpoint.sums
        {
            sums.close(endpoint.held, &mut self.ports, cx);
        }
    }
}
