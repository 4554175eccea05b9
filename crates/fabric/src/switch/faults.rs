//! A switch when links fail: its ports, its routes, and the watchdog for a PAUSE that does not end.
use backwater_control::flow_control::{Decision, StormChange};
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::link::overrun::RAN_OUT;
use crate::packet::Packet;
use crate::record::{DropReason, FaultEvent, NO_FAULT};
use crate::spec::{Change, WatchdogAction};
use crate::switch::Parts;
use crate::switch::chassis::{Chassis, Fabric};

impl<F: Fabric> Parts<'_, F> {
    /// The timetable has something for now.
    #[cold]
    pub(super) fn fault_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        while let Some(change) = self.chassis.ports.next_change(cx.now, cx.world) {
            let (event, port) = match change.what {
                Change::Down(port) => {
                    self.link_down(port, change.fault, cx);
                    (FaultEvent::Down, Some(port))
                }
                Change::Up(port) => {
                    self.chassis.ports.open_link(port, cx.now);
                    self.install();
                    self.chassis.send_next(self.fabric, port, cx);
                    (FaultEvent::Up, Some(port))
                }
                Change::Avoid(port) => {
                    self.chassis.ports.faults_mut().notice(port, true);
                    self.install();
                    (FaultEvent::Detected, Some(port))
                }
                Change::Admit(port) => {
                    self.chassis.ports.faults_mut().notice(port, false);
                    self.install();
                    (FaultEvent::Admitted, Some(port))
                }
                Change::Rate(port, rate) => {
                    self.chassis.ports.set_rate(port, rate);
                    self.fabric.rate_changed(&mut self.chassis.ports, port, rate, cx.world);
                    (FaultEvent::Rate, Some(port))
                }
                Change::Routes { from, until } => {
                    self.chassis.forwarding.reroute(cx.world.ways(from..until));
                    self.chassis.ports.faults_mut().route_by(change.fault);
                    self.install();
                    (FaultEvent::Rerouted, None)
                }
                Change::Storm(..) | Change::Calm(_) | Change::Stop => unreachable!("a switch is no host"),
            };
            self.chassis.ports.note_fault(change.fault, event, port, cx);
        }
        self.chassis.ports.arm_fault(cx.world);
    }

    /// The link of a port goes down: see the head of `fault/mod.rs`.
    fn link_down<P: Post<Packet>>(&mut self, port: u16, fault: u16, cx: &mut Ctx<'_, P>) {
        let opened = self.chassis.ports.shut_link(port, fault, cx);
        for class in (0..cx.world.classes.count).filter(|class| opened & (1 << class) != 0) {
            self.chassis.resumed(self.fabric, port, class, cx);
        }
        let chassis = &mut *self.chassis;
        let forgotten = chassis.ports.forget_pauses(&mut chassis.memory, (port, fault), cx.now, cx.world);
        for class in (0..cx.world.classes.count).filter(|class| forgotten & (1 << class) != 0) {
            self.fabric.pause_forgotten(chassis, port, class);
        }
        if let Some(roots) = &mut chassis.roots {
            for class in (0..cx.world.classes.count).filter(|class| forgotten & (1 << class) != 0) {
                let ingress = chassis.ports.at(port, class);
                roots.told(ingress, Decision::Resume, cx.now, cx.world.pfc.form.pause());
            }
        }
        for class in 0..cx.world.classes.count {
            self.flush(port, class, DropReason::LinkDown, fault, cx);
        }
        self.install();
    }

    /// Drops what waits in an egress queue.
    fn flush<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        reason: DropReason,
        fault: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        while let Some(packet) = self.fabric.discard(self.chassis, port, class, cx.now) {
            self.fabric.discarded(self.chassis, &packet, port, cx);
            self.chassis.ports.lose(&packet, port, reason, fault, cx);
        }
    }

    /// The ways of the switch have changed.
    fn install(&mut self) {
        let Chassis { forwarding, ports, .. } = &mut *self.chassis;
        let faults = ports.faults_mut();
        forwarding.install(faults.avoided(), faults.is_aside(forwarding.has_gaps()));
    }

    /// A watchdog upstream has opened a gate against PAUSE, or obeys again.
    #[cold]
    pub(super) fn hear_heed<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        if frame.seq == RAN_OUT {
            return self.pause_ran_out(frame.port, frame.class, cx);
        }
        self.chassis.ports.hear_heed(frame);
        self.chassis.ports.is_guarded_again(&self.chassis.memory, frame.port, frame.class);
        self.install();
    }

    /// The host at a port has stopped, and its last PAUSE is over.
    fn pause_ran_out<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let ports = &mut self.chassis.ports;
        ports.pause_ended(port, class, cx);
        if ports.closed_since(port, class).is_some() {
            ports.open_gate(port, class, true, cx);
            self.chassis.resumed(self.fabric, port, class, cx);
            self.chassis.send_next(self.fabric, port, cx);
        }
    }

    /// The fault by which a packet finds no room behind its ingress port, though others may.
    fn overruns<P: Post<Packet>>(&mut self, packet: &Packet, cx: &Ctx<'_, P>) -> Option<u16> {
        let (port, class) = (packet.port, packet.class);
        let Chassis { ports, memory, .. } = &mut *self.chassis;
        let fault = ports.overrun_by(port, class)?;
        if ports.is_guarded_again(memory, port, class) {
            self.install();
            return None;
        }
        memory.is_beyond(port, class, packet.size, ports.headroom(port, cx.world)).then_some(fault)
    }

    /// A packet has come to a switch at which something is down: it may find no way, or no room. Or it may go through a third group.
    #[cold]
    pub(super) fn forward_around<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let packet = &self.chassis.aimed(packet, cx.world);
        let way = self.chassis.forwarding.way_round(packet, &self.chassis.ports);
        if let Some(out) = way {
            self.chassis.will_tell(out, cx);
            if self.chassis.ports.faults().is_none() {
                return self.forward_by(out, packet, cx.world, cx.post);
            }
        }
        let faults = self.chassis.ports.faults_mut();
        let lost = match way {
            None => Some((packet.port, DropReason::LinkDown, faults.rerouted_by())),
            Some(out) => {
                let down = faults.down(out).map(|fault| (out, DropReason::LinkDown, fault));
                let blocks = |port| faults.blocks(port, packet.class);
                let blocked = [out, packet.port].into_iter().find(|port| blocks(*port));
                down.or_else(|| blocked.map(|port| (port, DropReason::Watchdog, NO_FAULT)))
            }
        };
        let lost = lost
            .or_else(|| self.overruns(packet, cx).map(|fault| (packet.port, DropReason::Headroom, fault)));
        match (lost, way) {
            (Some((port, reason, fault)), _) => {
                // It has come in, and holds nothing: what it has spent upstream is free again.
                if self.chassis.memory.is_credited(packet.class) {
                    self.chassis.ports.consume(packet);
                }
                self.chassis.ports.lose(packet, port, reason, fault, cx);
            }
            (None, Some(out)) => self.forward_by(out, packet, cx.world, cx.post),
            (None, None) => unreachable!("without a way it is lost"),
        }
    }

    /// The watchdog looks at a gate.
    #[cold]
    pub(super) fn watchdog_due<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let ports = &mut self.chassis.ports;
        let waiting = ports.queue(ports.at(port, class)).bytes() > 0;
        let (change, action) = ports.look_at_gate((port, class), waiting, cx);
        if change == StormChange::Ends {
            ports.faults_mut().block(port, class, false);
            self.install();
        }
        if change != StormChange::Begins {
            return;
        }
        if action == WatchdogAction::Drop {
            self.flush(port, class, DropReason::Watchdog, NO_FAULT, cx);
            self.chassis.ports.faults_mut().block(port, class, true);
            self.install();
        }
        self.chassis.ports.open_gate(port, class, true, cx);
        self.chassis.resumed(self.fabric, port, class, cx);
        self.chassis.send_next(self.fabric, port, cx);
    }
}
