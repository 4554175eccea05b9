//! What a switch tells its upstream ports: PAUSE, RESUME, and the polls that keep timed pauses up.
use backwater_control::flow_control::Decision;
use backwater_engine::Post;

use crate::ctx::Ctx;
use crate::packet::Packet;
use crate::switch::chassis::{Chassis, Fabric};

impl Chassis {
    /// Carries out a decision about an ingress port.
    #[cold]
    pub(crate) fn tell<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        class: u8,
        decision: Decision,
        cx: &mut Ctx<'_, P>,
    ) {
        if decision == Decision::Nothing {
            return;
        }
        if decision == Decision::Pause && (self.truth.is_some() || self.roots.is_some()) {
            fabric.note_hold(self, port, class, cx);
        }
        let ingress = self.ports.at(port, class);
        if let Some(roots) = &mut self.roots {
            roots.told(ingress, decision, cx.now, cx.world.pfc.form.pause());
        }
        self.ports.announce(&mut self.memory, port, class, decision, cx.now, cx.world);
        self.send_next(fabric, port, cx);
    }

    #[cold]
    pub(crate) fn poll<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        let decision = self.ports.poll(&mut self.memory, port, class, cx.now, cx.world);
        self.tell(fabric, port, class, decision, cx);
    }
}
