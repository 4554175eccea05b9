//! A host when something fails: its link, itself, or its NIC, which sends PAUSE without end.
use backwater_control::flow_control::quanta_span;
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::packet::Packet;
use crate::record::{DropReason, FaultEvent};
use crate::spec::Change;

/// The longest PAUSE: a NIC that does not stop sends the next one at half of it.
const QUANTA: u16 = u16::MAX;

impl Host {
    /// The timetable has something for now.
    #[cold]
    pub(super) fn fault_due<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        while let Some(change) = self.ports.next_change(cx.now, cx.world) {
            let event = match change.what {
                Change::Down(_) => {
                    self.link_down(change.fault, cx);
                    FaultEvent::Down
                }
                Change::Stop => {
                    self.ports.faults_mut().stop();
                    self.link_down(change.fault, cx);
                    FaultEvent::Stopped
                }
                Change::Up(_) => {
                    if !self.ports.faults_mut().has_stopped() {
                        self.ports.open_link(NIC, cx.now);
                    }
                    FaultEvent::Up
                }
                Change::Rate(_, rate) => {
                    self.ports.egress_mut(NIC).set_rate(rate);
                    FaultEvent::Rate
                }
                Change::Storm(priorities) => {
                    self.ports.faults_mut().set_storm(cx.world.classes.to_classes(priorities));
                    self.storm(cx);
                    FaultEvent::Storm
                }
                Change::Calm(_) => {
                    let classes = self.ports.faults_mut().storm();
                    self.ports.faults_mut().set_storm(0);
                    self.ports.egress_mut(NIC).owe_pfc(0, classes);
                    FaultEvent::Calm
                }
                Change::Avoid(_) | Change::Admit(_) | Change::Routes(_) => {
                    unreachable!("a host does not forward")
                }
            };
            self.ports.note_fault(change.fault, event, Some(NIC), cx);
        }
        self.ports.arm_fault(cx.world);
        self.send_next(cx);
    }

    /// Frames that wait in its queues are lost; queue pairs keep what they have.
    fn link_down<P: Post<Packet>>(&mut self, fault: u16, cx: &mut Ctx<'_, P>) {
        self.ports.shut_link(NIC, fault, cx);
        for class in 0..cx.world.classes.count {
            while !self.ports.queue(self.ports.at(NIC, class)).fifo().is_empty() {
                let packet = self.ports.dequeue(NIC, class);
                self.ports.lose(&packet, NIC, DropReason::LinkDown, fault, cx);
            }
        }
    }

    /// The next PAUSE of a NIC that does not stop.
    #[cold]
    pub(super) fn storm<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let classes = self.ports.faults_mut().storm();
        if classes == 0 {
            return;
        }
        if self.ports.faults_mut().down(NIC).is_none() {
            self.ports.egress_mut(NIC).owe_pfc(classes, 0);
        }
        let lasts = cx.world.pfc.form.pause().unwrap_or(quanta_span(self.ports.egress(NIC).rate(), QUANTA));
        self.ports.set_timer(cx.now + lasts.as_ps() / 2, NIC, Purpose::Storm, 0);
        self.send_next(cx);
    }
}
