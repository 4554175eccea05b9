//! A switch when links fail: its ports, its routes, and the watchdog for a PAUSE that does not end.
use backwater_control::flow_control::{Decision, PauseGate, StormChange, Watchdog};
use backwater_engine::Post;
use backwater_units::{Span, Time};

use crate::ctx::Ctx;
use crate::link::ports::Purpose;
use crate::packet::Packet;
use crate::record::{DropReason, FaultEvent, NO_FAULT};
use crate::spec::{Change, WatchdogAction};
use crate::switch::Switch;

impl Switch {
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
                    self.install(cx);
                    self.chassis.send_next(&mut self.fabric, port, cx);
                    (FaultEvent::Up, Some(port))
                }
                Change::Avoid(port) => {
                    self.chassis.ports.faults_mut().notice(port, true);
                    self.install(cx);
                    (FaultEvent::Detected, Some(port))
                }
                Change::Admit(port) => {
                    self.chassis.ports.faults_mut().notice(port, false);
                    self.install(cx);
                    (FaultEvent::Admitted, Some(port))
                }
                Change::Rate(port, rate) => {
                    self.chassis.ports.egress_mut(port).set_rate(rate);
                    (FaultEvent::Rate, Some(port))
                }
                Change::Routes(version) => {
                    self.chassis.ports.faults_mut().route_by(version, change.fault);
                    self.install(cx);
                    (FaultEvent::Rerouted, None)
                }
                Change::Storm(_) | Change::Calm(_) | Change::Stop => unreachable!("a switch is no host"),
            };
            self.chassis.ports.note_fault(change.fault, event, port, cx);
        }
        self.chassis.ports.arm_fault(cx.world);
    }

    /// The link of a port goes down: see the head of `fault/mod.rs`.
    fn link_down<P: Post<Packet>>(&mut self, port: u16, fault: u16, cx: &mut Ctx<'_, P>) {
        let opened = self.chassis.ports.shut_link(port, fault, cx);
        for class in (0..cx.world.classes.count).filter(|class| opened & (1 << class) != 0) {
            self.chassis.resumed(&mut self.fabric, port, class, cx);
        }
        let chassis = &mut self.chassis;
        let forgotten = chassis.ports.forget_pauses(&mut chassis.memory, port, cx.now, cx.world);
        if let Some(roots) = &mut chassis.roots {
            for class in (0..cx.world.classes.count).filter(|class| forgotten & (1 << class) != 0) {
                let ingress = chassis.ports.at(port, class);
                roots.told(ingress, Decision::Resume, cx.now, cx.world.pfc.form.pause());
            }
        }
        for class in 0..cx.world.classes.count {
            self.flush(port, class, DropReason::LinkDown, fault, cx);
        }
        self.install(cx);
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
        use crate::switch::chassis::Fabric;
        while let Some(packet) = self.fabric.discard(&mut self.chassis, port, class) {
            self.chassis.let_go(&mut self.fabric, &packet, cx);
            self.chassis.ports.lose(&packet, port, reason, fault, cx);
        }
    }

    /// The ways of the switch have changed.
    fn install<P: Post<Packet>>(&mut self, cx: &Ctx<'_, P>) {
        let chassis = &mut self.chassis;
        if let Some((tables, avoided, aside)) = chassis.ports.tables(cx.world) {
            chassis.forwarding.install(tables, avoided, aside);
        }
    }

    /// A packet has come to a switch at which something is down: it may find no way.
    #[cold]
    pub(super) fn forward_around<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let way = self.chassis.forwarding.way_round(packet, &self.chassis.ports);
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
        match (lost, way) {
            (Some((port, reason, fault)), _) => self.chassis.ports.lose(packet, port, reason, fault, cx),
            (None, Some(out)) => self.forward_by(out, packet, cx.world, cx.post),
            (None, None) => unreachable!("without a way it is lost"),
        }
    }

    /// Gates have closed. A watchdog looks again when they have been closed for long; in a storm it opens them at once.
    pub(super) fn look_after<P: Post<Packet>>(&mut self, port: u16, closed: u8, cx: &mut Ctx<'_, P>) {
        let Some((watchdog, _)) = cx.world.faults.as_ref().and_then(|faults| faults.watchdog()) else {
            return;
        };
        for class in (0..cx.world.classes.count).filter(|class| closed & (1 << class) != 0) {
            let at = self.chassis.ports.at(port, class);
            let watched = self.chassis.ports.faults_mut().watched(at);
            watched.gate_mut().on_pause(Time::from_ps(cx.now), Span::MAX);
            if watched.gate_mut().storm {
                self.reopen(port, class, cx);
                continue;
            }
            if watched.arm() {
                let at = cx.now + watchdog.detect.as_ps();
                self.chassis.ports.set_timer(at, port, Purpose::Watchdog, u32::from(class));
            }
        }
    }

    /// Opens a gate that a PAUSE has closed.
    fn reopen<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        self.chassis.ports.open_gate(port, class, true, cx);
        self.chassis.resumed(&mut self.fabric, port, class, cx);
    }

    /// The watchdog looks at a gate.
    #[cold]
    pub(super) fn watchdog_due<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let faults = cx.world.faults.as_ref().and_then(|faults| faults.watchdog());
        let (watchdog, action) = faults.expect("only a watchdog sets its timer");
        let ports = &mut self.chassis.ports;
        let at = ports.at(port, class);
        let waiting = ports.queue(at).bytes() > 0;
        let since = ports.closed_since(port, class);
        let watched = ports.faults_mut().watched(at);
        let gate = watched.gate_mut();
        if let Some(since) = since.filter(|_| !gate.storm) {
            (gate.closed, gate.closed_since) = (true, Time::from_ps(since));
        } else if !gate.storm {
            // It has opened in time.
            gate.closed = false;
            watched.disarm();
            return;
        }
        let change = gate.watch(&watchdog, Time::from_ps(cx.now), waiting);
        if change == StormChange::Begins {
            // Only from now on does every PAUSE show by closing the gate.
            gate.last_pause = Time::from_ps(cx.now);
        }
        let gate = *gate;
        match change {
            StormChange::Same => {}
            StormChange::Begins => self.storm_begins(port, class, action, cx),
            StormChange::Ends => {
                let ports = &mut self.chassis.ports;
                ports.faults_mut().watched(at).disarm();
                ports.faults_mut().block(port, class, false);
                ports.note_fault(NO_FAULT, FaultEvent::Restored, Some(port), cx);
                self.install(cx);
                return;
            }
        }
        let next = next_look(&gate, &watchdog, cx.now);
        self.chassis.ports.set_timer(next, port, Purpose::Watchdog, u32::from(class));
    }

    fn storm_begins<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        action: WatchdogAction,
        cx: &mut Ctx<'_, P>,
    ) {
        self.chassis.ports.note_fault(NO_FAULT, FaultEvent::Triggered, Some(port), cx);
        if action == WatchdogAction::Drop {
            self.flush(port, class, DropReason::Watchdog, NO_FAULT, cx);
            self.chassis.ports.faults_mut().block(port, class, true);
            self.install(cx);
        }
        self.reopen(port, class, cx);
        self.chassis.send_next(&mut self.fabric, port, cx);
    }
}

/// When a gate is to be looked at again: when it may have been closed for too long, or quiet for long enough.
fn next_look(gate: &PauseGate, watchdog: &Watchdog, now: u64) -> u64 {
    let (since, span) =
        if gate.storm { (gate.last_pause, watchdog.restore) } else { (gate.closed_since, watchdog.detect) };
    let at = since.as_ps() + span.as_ps();
    // Closed for long, but with nothing behind it: after as long again.
    if at > now { at } else { now + span.as_ps() }
}
