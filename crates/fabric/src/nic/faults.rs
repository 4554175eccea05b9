//! A host when something fails: its link, itself, or its NIC, which sends PAUSE without end.
use backwater_control::flow_control::{StormChange, quanta_span};
use backwater_engine::Post;
use backwater_units::{Bytes, Time};

use crate::ctx::Ctx;
use crate::link::credits::DISCARDED;
use crate::link::overrun::RAN_OUT;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::nic::receive_queue::drain_of;
use crate::packet::Packet;
use crate::record::{DropReason, FaultEvent, HoldRecord, NO_FAULT};
use crate::spec::{Change, WatchdogAction};

/// The longest PAUSE: a NIC that does not stop sends the next one at half of it.
const QUANTA: u16 = u16::MAX;

/// In the argument of a timer: PAUSEs of the classes beside it have run out.
const PAUSED: u32 = 1 << 8;

impl<N: Nics> Host<N> {
    /// The timetable has something for now.
    #[cold]
    pub(super) fn fault_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        while let Some(change) = self.ports.next_change(cx.now, cx.world) {
            let event = match change.what {
                Change::Down(port) => {
                    self.turn_to(port);
                    self.link_down(change.fault, cx);
                    self.choose_ports(cx.now, cx.world);
                    FaultEvent::Down
                }
                Change::Stop => {
                    self.stop(change.fault, cx);
                    let port = (self.ports.count() == 1).then_some(NIC);
                    self.ports.note_fault(change.fault, FaultEvent::Stopped, port, cx);
                    continue;
                }
                Change::Up(port) => {
                    self.turn_to(port);
                    if self.ports.faults_mut().has_stopped() {
                        self.ports.restart_credits(self.nic(), cx.now);
                        self.tell_though_stopped(cx);
                    } else {
                        self.ports.open_link(self.nic(), cx.now);
                    }
                    self.choose_ports(cx.now, cx.world);
                    FaultEvent::Up
                }
                Change::Rate(port, rate) => {
                    self.turn_to(port);
                    self.ports.set_rate(self.nic(), rate);
                    FaultEvent::Rate
                }
                Change::Storm(port, priorities) => {
                    self.turn_to(port);
                    self.ports.faults_mut().set_storm(port, cx.world.classes.to_classes(priorities));
                    self.storm(cx);
                    FaultEvent::Storm
                }
                Change::Calm(port) => {
                    self.turn_to(port);
                    let classes = self.ports.faults_mut().storm(port);
                    self.ports.faults_mut().set_storm(port, 0);
                    let released = classes & !self.paused_by_queue();
                    self.ports.egress_mut(self.nic()).owe_pfc(0, released);
                    FaultEvent::Calm
                }
                Change::Routes { from, until } if self.nics.several().is_some() => {
                    self.reroute(cx.world.ways(from..until));
                    self.choose_ports(cx.now, cx.world);
                    self.ports.note_fault(change.fault, FaultEvent::Rerouted, None, cx);
                    continue;
                }
                Change::Avoid(_) | Change::Admit(_) | Change::Routes { .. } => {
                    unreachable!("a host does not forward")
                }
            };
            self.ports.note_fault(change.fault, event, Some(self.nic()), cx);
        }
        self.ports.arm_fault(cx.world);
        self.send_next(cx);
    }

    /// The host takes in nothing and sends nothing from now on.
    fn stop<P: Post<Packet>>(&mut self, fault: u16, cx: &mut Ctx<'_, P>) {
        self.ports.faults_mut().stop();
        for port in 0..self.ports.count() {
            self.turn_to(port);
            let paused = self.ports.faults_mut().storm(port) | self.paused_by_queue();
            self.ports.faults_mut().set_storm(port, 0);
            self.link_down(fault, cx);
            if paused != 0 && cx.world.pfc.form.pause().is_none() {
                // It stood for PAUSEs that are renewed.
                let ends = cx.now + quanta_span(self.ports.egress(port).rate(), QUANTA).as_ps();
                self.ports.set_timer(ends, port, Purpose::Stopped, PAUSED | u32::from(paused));
            }
        }
        self.lose_received(fault, cx);
        for port in 0..self.ports.count() {
            self.turn_to(port);
            self.tell_though_stopped(cx);
        }
    }

    fn tell_though_stopped<P: Post<Packet>>(&mut self, cx: &Ctx<'_, P>) {
        for class in 0..cx.world.classes.count {
            self.ports.tell_though_stopped(self.nic(), class, cx.now);
        }
    }

    /// What a link of a host that has stopped still does.
    #[cold]
    pub(super) fn stopped_link<P: Post<Packet>>(&mut self, argument: u32, cx: &mut Ctx<'_, P>) {
        if argument & DISCARDED != 0 {
            return self.ports.discard_at_link(self.nic(), argument, cx.now);
        }
        if argument & PAUSED == 0 {
            return self.ports.update_though_stopped(self.nic(), argument as u8, cx);
        }
        for class in (0..cx.world.classes.count).filter(|class| argument & (1 << class) != 0) {
            self.ports.tell_heed(self.nic(), class, RAN_OUT, cx);
        }
    }

    /// Frames that wait in its queues are lost; queue pairs keep what they have.
    fn link_down<P: Post<Packet>>(&mut self, fault: u16, cx: &mut Ctx<'_, P>) {
        self.ports.shut_link(self.nic(), fault, cx);
        self.forget_own_pauses(fault, cx);
        for class in 0..cx.world.classes.count {
            self.flush(class, DropReason::LinkDown, fault, cx);
        }
    }

    /// Loses the frames that wait at its port in a class.
    fn flush<P: Post<Packet>>(&mut self, class: u8, reason: DropReason, fault: u16, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        while !self.ports.queue(self.ports.at(nic, class)).fifo().is_empty() {
            let packet = self.ports.dequeue(nic, class);
            self.ports.lose(&packet, nic, reason, fault, cx);
        }
    }

    /// The watchdog looks at the gate of a class.
    #[cold]
    pub(super) fn watchdog_due<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let offer = self.peek(1 << class, cx.now, cx.now, cx.world);
        let waiting = offer.is_some_and(|offer| offer.ready <= cx.now);
        let (change, action) = self.ports.look_at_gate((nic, class), waiting, cx);
        if change == StormChange::Same {
            return;
        }
        if action == WatchdogAction::Drop {
            self.flush(class, DropReason::Watchdog, NO_FAULT, cx);
        }
        let opens = change == StormChange::Ends || self.ports.ignores_pauses(action, cx);
        if opens && self.ports.closed_since(nic, class).is_some() {
            self.ports.open_gate(nic, class, true, cx);
        }
        self.send_next(cx);
    }

    /// The next PAUSE of a port that does not stop.
    #[cold]
    pub(super) fn storm<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let nic = self.nic();
        let classes = self.ports.faults_mut().storm(nic);
        if classes == 0 {
            return;
        }
        if self.ports.faults_mut().down(nic).is_none() {
            self.ports.egress_mut(nic).owe_pfc(classes, 0);
            self.hold_by_storm(classes, cx);
        }
        let lasts = cx.world.pfc.form.pause().unwrap_or(quanta_span(self.ports.egress(nic).rate(), QUANTA));
        self.ports.set_timer(cx.now + lasts.as_ps() / 2, nic, Purpose::Storm, 0);
        self.send_next(cx);
    }

    /// What a PAUSE without end holds back is held back by the host itself: nothing waits there for room. Recorded where blame is.
    fn hold_by_storm<P: Post<Packet>>(&mut self, classes: u8, cx: &mut Ctx<'_, P>) {
        if !cx.world.notes_truth() {
            return;
        }
        let nic = self.nic();
        let (node, upstream, blocker) = (self.ports.node(), *self.ports.egress(nic), drain_of(&self.ports));
        for class in (0..cx.world.classes.count).filter(|class| classes & (1 << class) != 0) {
            let priority = cx.world.classes.priority(class);
            self.ports.records_mut().holds.push(HoldRecord {
                time: Time::from_ps(cx.now),
                node,
                port: nic,
                held_node: upstream.peer(),
                held_port: upstream.peer_port(),
                priority,
                held_key: None,
                blocker,
                blocker_priority: priority,
                blocker_key: None,
                bytes: Bytes::ZERO,
                queue: Bytes::ZERO,
                closed: true,
            });
            cx.post.recorded(1);
        }
    }
}
