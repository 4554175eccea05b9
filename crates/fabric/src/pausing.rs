//! What a switch tells its upstream ports: PAUSE, RESUME, and the polls that keep timed pauses up.
use backwater_control::flow_control::Decision;
use backwater_engine::Post;
use backwater_units::Time;

use crate::packet::Packet;
use crate::ports::Purpose;
use crate::switch::Switch;
use crate::world::World;

impl Switch {
    /// Carries out a decision about an ingress port.
    #[cold]
    pub(crate) fn tell<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        decision: Decision,
        now: u64,
        world: &World,
        post: &mut P,
    ) {
        if decision == Decision::Nothing {
            return;
        }
        if decision == Decision::Pause && self.truth.is_some() {
            self.note_hold(port, class, now, world, post);
        }
        let pause = world.pfc.as_ref().and_then(|pfc| pfc.form.pause());
        self.memory.book(port, class, decision, now, pause);
        let bit = 1 << class;
        let egress = &mut self.ports.egress[port as usize];
        if decision == Decision::Pause {
            egress.pfc_pause |= bit;
            egress.pfc_resume &= !bit;
            self.arm_poll(port, class, now, world);
        } else {
            egress.pfc_resume |= bit;
            egress.pfc_pause &= !bit;
        }
        self.send_next(port, now, world, post);
    }

    pub(crate) fn arm_poll(&mut self, port: u16, class: u8, now: u64, world: &World) {
        let form = world.pfc.as_ref().expect("only switches with PFC pause").form;
        if let Some(at) = form.poll_after(Time::from_ps(now)) {
            let index = self.ports.at(port, class);
            let account = &mut self.memory.accounts[index];
            account.poll_at = at.as_ps();
            if !std::mem::replace(&mut account.poll_armed, true) {
                self.ports.set_timer(at.as_ps(), port, Purpose::Poll, u32::from(class));
            }
        }
    }

    /// A timed pause is looked after: is the ingress queue still too long?
    #[cold]
    pub(crate) fn poll<P: Post<Packet>>(
        &mut self,
        port: u16,
        class: u8,
        now: u64,
        world: &World,
        post: &mut P,
    ) {
        let index = self.ports.at(port, class);
        let account = &mut self.memory.accounts[index];
        if account.poll_at > now {
            let at = account.poll_at;
            self.ports.set_timer(at, port, Purpose::Poll, u32::from(class));
            return;
        }
        account.poll_armed = false;
        let outstanding = account.outstanding;
        let level = self.memory.level(port, class);
        let form = world.pfc.as_ref().expect("only switches with PFC poll").form;
        self.tell(port, class, form.on_poll(level, outstanding), now, world, post);
    }
}
