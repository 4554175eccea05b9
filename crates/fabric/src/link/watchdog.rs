//! The PFC watchdog of a node: it opens gates that a PAUSE without end keeps closed. What becomes of the packets behind them is for the
//! switch, or the NIC, to do.
//!
//! ```text
//!   a gate closes ─▶ timer: closed for `detect` with packets behind it? ─▶ triggered ─▶ timer: no PAUSE for `restore`? ─▶ restored
//! ```
//! A PAUSE that lasts until its RESUME is in force until then: no timer is set before.
use backwater_control::flow_control::{PauseGate, StormChange, Watchdog};
use backwater_engine::Post;
use backwater_units::{Span, Time};

use crate::ctx::Ctx;
use crate::link::overrun::{HEEDED, UNHEEDED};
use crate::link::ports::{Ports, Purpose};
use crate::packet::Packet;
use crate::record::{FaultEvent, NO_FAULT};
use crate::spec::WatchdogAction;

impl Ports {
    /// A gate has closed. The watchdog looks again when it has been closed for long; in a storm the PAUSE is not obeyed.
    pub(crate) fn watch_gate<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let Some((watchdog, action)) = cx.world.watchdog_of(self.node()) else { return };
        let at = self.at(port, class);
        let watched = self.faults_mut().watched(at);
        watched.gate_mut().on_pause(Time::from_ps(cx.now), cx.world.pfc.form.pause().unwrap_or(Span::MAX));
        if watched.gate_mut().storm {
            if self.ignores_pauses(action, cx) {
                self.open_gate(port, class, true, cx);
            }
        } else if watched.arm() {
            self.set_timer(cx.now + watchdog.detect.as_ps(), port, Purpose::Watchdog, u32::from(class));
        }
    }

    /// A RESUME has come, or the link has gone down: no PAUSE is in force any more.
    pub(crate) fn pause_ended<P: Post<Packet>>(&mut self, port: u16, class: u8, cx: &mut Ctx<'_, P>) {
        let Some((watchdog, _)) = cx.world.watchdog_of(self.node()) else { return };
        let at = self.at(port, class);
        let watched = self.faults_mut().watched(at);
        if !watched.gate_mut().storm {
            return;
        }
        watched.gate_mut().on_pause(Time::from_ps(cx.now), Span::ZERO);
        if watched.arm() {
            self.set_timer(cx.now + watchdog.restore.as_ps(), port, Purpose::Watchdog, u32::from(class));
        }
    }

    /// Whether gates are open in a storm. What a NIC has to send is in the memory of its host: where its watchdog drops, that stays.
    pub(crate) fn ignores_pauses<P: Post<Packet>>(&self, action: WatchdogAction, cx: &Ctx<'_, P>) -> bool {
        action == WatchdogAction::Forward || cx.world.is_switch(self.node())
    }

    /// The watchdog looks at a gate, behind which something waits or not: what it finds, and what it does then.
    pub(crate) fn look_at_gate<P: Post<Packet>>(
        &mut self,
        (port, class): (u16, u8),
        waiting: bool,
        cx: &mut Ctx<'_, P>,
    ) -> (StormChange, WatchdogAction) {
        let found = cx.world.watchdog_of(self.node());
        let (watchdog, action) = found.expect("only a watchdog sets its timer");
        let (at, now) = (self.at(port, class), Time::from_ps(cx.now));
        let since = self.closed_since(port, class);
        let renewed = since.and(cx.world.pfc.form.pause()).map(|pause| self.last_pause(port, class, pause));
        let watched = self.faults_mut().watched(at);
        let gate = watched.gate_mut();
        if gate.storm {
            // A gate that stays closed shows PAUSEs by when it would open.
            gate.last_pause = gate.last_pause.max(renewed.map_or(Time::ZERO, Time::from_ps));
        } else if let Some(since) = since {
            (gate.closed, gate.closed_since) = (true, Time::from_ps(since));
        } else {
            // It has opened in time.
            gate.closed = false;
            watched.disarm();
            return (StormChange::Same, action);
        }
        let change = gate.watch(&watchdog, now, waiting);
        match change {
            StormChange::Same => {}
            StormChange::Begins => {
                // Only from now on does every PAUSE show by closing the gate.
                gate.last_pause = now;
                self.note_fault(NO_FAULT, FaultEvent::Triggered, Some(port), cx);
                if action == WatchdogAction::Forward {
                    self.tell_heed(port, class, UNHEEDED, cx);
                }
            }
            StormChange::Ends => {
                watched.disarm();
                self.note_fault(NO_FAULT, FaultEvent::Restored, Some(port), cx);
                if action == WatchdogAction::Forward {
                    self.tell_heed(port, class, HEEDED, cx);
                }
                return (change, action);
            }
        }
        let watched = self.faults_mut().watched(at);
        if watched.gate_mut().storm && watched.gate_mut().opens_at == Time::MAX {
            watched.disarm();
        } else {
            let next = next_look(watched.gate_mut(), &watchdog, cx.now);
            self.set_timer(next, port, Purpose::Watchdog, u32::from(class));
        }
        (change, action)
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
