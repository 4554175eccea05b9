//! What a switch tells its upstream ports, and a slow host its switch: PAUSE, RESUME, and the polls that keep timed pauses up.
use backwater_control::flow_control::Decision;
use backwater_units::Time;

use crate::link::ingress::Memory;
use crate::link::ports::{Ports, Purpose};
use crate::world::World;

impl Ports {
    /// Books a PAUSE or RESUME for an ingress port and has its frame sent next; the caller lets the port send.
    pub(crate) fn announce(
        &mut self,
        memory: &mut Memory,
        port: u16,
        class: u8,
        decision: Decision,
        now: u64,
        world: &World,
    ) {
        let pause = world.pfc.form.pause();
        memory.book(port, class, decision, now, pause);
        let bit = 1 << class;
        let egress = &mut self.egress[port as usize];
        if decision == Decision::Pause {
            egress.pfc_pause |= bit;
            egress.pfc_resume &= !bit;
            self.arm_poll(memory, port, class, now, world);
        } else {
            egress.pfc_resume |= bit;
            egress.pfc_pause &= !bit;
        }
    }

    fn arm_poll(&mut self, memory: &mut Memory, port: u16, class: u8, now: u64, world: &World) {
        if let Some(at) = world.pfc.form.poll_after(Time::from_ps(now)) {
            let index = self.at(port, class);
            let account = &mut memory.accounts[index];
            account.poll_at = at.as_ps();
            if !std::mem::replace(&mut account.poll_armed, true) {
                self.set_timer(at.as_ps(), port, Purpose::Poll, u32::from(class));
            }
        }
    }

    /// A timed pause is looked after: is the ingress queue still too long?
    pub(crate) fn poll(
        &mut self,
        memory: &mut Memory,
        port: u16,
        class: u8,
        now: u64,
        world: &World,
    ) -> Decision {
        let index = self.at(port, class);
        let account = &mut memory.accounts[index];
        if account.poll_at > now {
            let at = account.poll_at;
            self.set_timer(at, port, Purpose::Poll, u32::from(class));
            return Decision::Nothing;
        }
        account.poll_armed = false;
        let outstanding = account.outstanding;
        let level = memory.level(port, class);
        world.pfc.form.on_poll(level, outstanding)
    }
}
