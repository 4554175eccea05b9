//! Steps at a host: what happens that they wait for, and what they start.
use backwater_engine::Post;
use backwater_units::Time;

use crate::app::steps::Happened;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::world::World;

impl<N: Nics> Host<N> {
    /// Something that steps may wait for happens at `at`. What gets ready by it is carried out by a timer.
    #[inline]
    pub(crate) fn happened(&mut self, what: Happened, at: u64) {
        if self.steps.is_some() {
            self.get_ready(what, at);
        }
    }

    #[cold]
    fn get_ready(&mut self, what: Happened, at: u64) {
        for (ready, step) in self.steps.iter_mut().flat_map(|steps| steps.happened(what, at)) {
            self.ports.set_timer(ready, NIC, Purpose::Step, step);
        }
    }

    /// Carries out a step.
    #[cold]
    pub(crate) fn carry_out<P: Post<Packet>>(&mut self, step: u32, cx: &mut Ctx<'_, P>) {
        let starts = self.steps.as_mut().map_or_else(Vec::new, |steps| steps.starts(step, cx.now));
        for slot in starts {
            self.begin(slot, cx.now, cx.world);
        }
        self.happened(Happened::Done(step), cx.now);
        if let Some(label) = self.steps.as_ref().and_then(|steps| steps.ended(step)) {
            cx.post.complete();
            self.job_goes_on(label, cx);
        }
        self.send_next(cx);
    }

    /// Whether a step waits for nothing but its time.
    pub(crate) fn has_pending_step(&self, world: &World) -> bool {
        let runs = |group| !self.jobs.as_ref().is_some_and(|jobs| jobs.waits(group, world));
        self.steps.as_ref().is_some_and(|steps| steps.is_pending(runs))
    }

    /// Whether a sender has begun, or will at an instant that is known.
    pub(crate) fn has_begun(&self, slot: u32, world: &World) -> bool {
        self.start_of(slot, world) < Time::MAX
    }

    /// When a sender began, or will if that is known.
    pub(crate) fn start_of(&self, slot: u32, world: &World) -> Time {
        let start = world.flows[self.senders[slot as usize].flow() as usize].start;
        if let Some(begun) = self.senders[slot as usize].begun() {
            return Time::from_ps(begun);
        }
        match &self.steps {
            Some(steps) if start == Time::MAX => steps.begun(slot),
            _ => start,
        }
    }
}
