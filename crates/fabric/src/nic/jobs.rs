//! Jobs at a host: what its ranks are done with, and what the scheduler of the jobs tells it (`app/jobs.rs`).
use backwater_engine::{Place, Post};
use backwater_traffic::trace::{Finishes, Part};
use backwater_units::Time;

use crate::app::jobs::Done;
use crate::ctx::Ctx;
use crate::link::ports::{NIC, Purpose};
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::{Kind, Packet};
use crate::record::JobRecord;

impl<N: Nics> Host<N> {
    /// A rank of a job is done with something that is recorded.
    #[cold]
    pub(super) fn job_goes_on<P: Post<Packet>>(&mut self, done: Done, cx: &mut Ctx<'_, P>) {
        let Some(jobs) = &mut self.jobs else { return };
        let Some(since) = jobs.done(&done, cx.now, cx.world) else { return };
        let Done { group, rank, part: Part { iteration, step, ends } } = done;
        let (time, start) = (Time::from_ps(cx.now), Time::from_ps(since));
        let node = self.ports.node();
        self.ports.records_mut().jobs.push(JobRecord { time, start, node, group, step, iteration, rank });
        cx.post.recorded(1);
        if ends == Finishes::Job {
            for (gate, place, delay) in jobs.watchers(group, cx.world) {
                tell(Kind::JobEnd, gate, place, delay, cx);
            }
        }
    }

    /// A message of the scheduler.
    #[cold]
    pub(super) fn scheduled<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let Some(jobs) = &mut self.jobs else { return };
        let gate = packet.flow;
        if packet.kind == Kind::JobEnd {
            for (place, delay) in jobs.one_has_ended(gate, cx.world) {
                tell(Kind::JobStart, gate, place, delay, cx);
            }
            return;
        }
        let group = jobs.begins(gate, cx.now, cx.world);
        for (delay, step) in self.steps.iter().flat_map(|steps| steps.first_of(group)) {
            self.ports.set_timer(cx.now.saturating_add(delay), NIC, Purpose::Step, step);
        }
        for (delay, rank) in self.ranks.iter().flat_map(|ranks| ranks.starts_of(group, cx.world)) {
            self.ports.set_timer(cx.now.saturating_add(delay), NIC, Purpose::Rank, rank);
        }
    }
}

/// Sends a message of the scheduler about a gate, which takes effect so much later.
fn tell<P: Post<Packet>>(kind: Kind, gate: u32, place: Place, delay: u64, cx: &mut Ctx<'_, P>) {
    let time = cx.now + delay;
    let message = Packet { time, flow: gate, kind, port: cx.world.management, ..Packet::NONE };
    cx.post.send(place, time, &message, |_| ());
}
