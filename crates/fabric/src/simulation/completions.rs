//! Which flows have ended since somebody asked last.
use backwater_engine::Node;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::log::Records;
use crate::node::HostRef;
use crate::simulation::{Control, Course, End, Simulation};
use crate::violation::Violation;

/// A flow that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its number.
    pub flow: u32,
    /// The traffic entry that it belongs to.
    pub group: u16,
    /// Its source, as an index into the hosts of the network.
    pub src: u32,
    /// Its destination, as such an index.
    pub dst: u32,
    /// What it carried.
    pub size: Bytes,
    /// When its first byte was ready to be sent.
    pub start: Time,
    /// When its last packet arrived; `None`: its queue pair has given it up.
    pub finish: Option<Time>,
}

/// The flows that may end next: asking costs what these are, not what all flows are.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub struct Completions {
    /// Flows in order of their starts, of which those before `begun` have begun.
    begun: u32,
    sorted: u32,
    /// Flows before this one are known.
    known: u32,
    /// Flows that have begun, or whose beginning nobody knows beforehand, and that have not ended.
    open: Vec<u32>,
}

impl Completions {
    /// Of a run that has not begun.
    pub fn new(simulation: &Simulation) -> Self {
        let flows = &simulation.world.flows;
        let sorted = flows.partition_point(|flow| flow.start < Time::MAX) as u32;
        Self { begun: 0, sorted, known: sorted, open: Vec::new() }
    }

    /// Those that have begun by `now` are open.
    fn open(&mut self, flows: &[Flow], now: Time) {
        while self.begun < self.sorted && flows[self.begun as usize].start <= now {
            self.open.push(self.begun);
            self.begun += 1;
        }
        let ends = |index: &u32| flows[*index as usize].pacing != Pacing::Messages;
        self.open.extend((self.known..flows.len() as u32).filter(ends));
        self.known = flows.len() as u32;
    }
}

impl Simulation {
    /// The flows that have ended since the last call, in the order in which they did; those that were given up come last.
    pub fn completions(&self, since: &mut Completions) -> Vec<Completion> {
        since.open(&self.world.flows, self.engine.now());
        let mut over: Vec<u32> = since.open.iter().copied().filter(|index| self.is_over(*index)).collect();
        over = self.engine.processes().gather(over);
        over.sort_unstable();
        over.dedup();
        since.open.retain(|index| over.binary_search(index).is_err());
        let flow = |index: u32| &self.world.flows[index as usize];
        let finishes = over
            .iter()
            .filter_map(|index| Some((*index, self.received(self.host(flow(*index).dst)?, *index))));
        let finishes = self.gather(finishes.collect(), |(index, _)| *index);
        let start = |host: HostRef<'_>, index: u32| {
            host.start_of(self.world.sender_slot[index as usize], &self.world)
        };
        let starts =
            over.iter().filter_map(|index| Some((*index, start(self.host(flow(*index).src)?, *index))));
        let starts = self.gather(starts.collect(), |(index, _)| *index);
        let each = finishes.into_iter().zip(starts);
        let mut ended: Vec<Completion> = each
            .map(|((index, (finish, size)), (_, start))| {
                let Flow { group, src, dst, .. } = *flow(index);
                Completion { flow: index, group, src, dst, size, start, finish: finish.map(Time::from_ps) }
            })
            .collect();
        ended.sort_by_key(|ended| (ended.finish.unwrap_or(Time::MAX), ended.flow));
        ended
    }

    /// Runs as [`Self::step`] does, but not beyond the first instant at which a flow ends: it stands a picosecond later. It stays
    /// where it is while there are flows that have ended and were not told of. What happens is the same however often it stops.
    ///
    /// # Errors
    /// As [`Self::run`]; then there is no going on.
    pub fn step_to_completion(
        &mut self,
        course: &mut Course,
        to: Time,
        control: &Control<'_>,
        since: &mut Completions,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Option<End>, Violation> {
        while !self.has_ended(since) && course.end.is_none() && self.engine.now() < to {
            let end = self.least(self.engine.next_window_end()).min(to.as_ps());
            let pause = self.may_end(end).map_or(end, |time| time + 1);
            self.step(course, Time::from_ps(pause), control, sink)?;
        }
        Ok(course.end)
    }

    /// Whether a flow has ended that nobody was told of.
    pub fn has_ended(&self, since: &mut Completions) -> bool {
        since.open(&self.world.flows, self.engine.now());
        self.engine.processes().any(since.open.iter().any(|index| self.is_over(*index)))
    }

    /// Whether a flow has ended, if it can be known here: its destination knows or, if it was given up, its source.
    fn is_over(&self, index: u32) -> bool {
        let flow = &self.world.flows[index as usize];
        let failed = |host: HostRef<'_>| host.sender(self.world.sender_slot[index as usize]).losses().failed;
        self.host(flow.dst).is_some_and(|host| self.received(host, index).0.is_some())
            || self.host(flow.src).is_some_and(failed)
    }

    /// When a flow ended at its destination, if it did, and what arrived there.
    fn received(&self, dst: HostRef<'_>, index: u32) -> (Option<u64>, Bytes) {
        let receiver = &dst.receivers()[self.world.receiver_slot[index as usize] as usize];
        (Some(receiver.finish()).filter(|finish| *finish < u64::MAX), Bytes::new(receiver.received()))
    }

    /// The least of what all processes say.
    fn least(&self, own: u64) -> u64 {
        self.engine.processes().gather(vec![own]).into_iter().min().unwrap_or(own)
    }

    /// An instant before `end`, at most the end of the next window, before which no flow ends, if one may end until then. What arrives in
    /// that window is under way, so that it is known how many packets a flow has then. Slow hosts take packets later than they come:
    /// each of their events may be an end.
    fn may_end(&self, end: u64) -> Option<u64> {
        let (mut arrivals, mut first) = (Vec::new(), u64::MAX);
        self.engine.each_message(|node, packet| {
            if let Some(host) = node.host()
                && packet.time < end
                && packet.is_data()
            {
                arrivals.push((packet.flow, packet.time));
                first = first.min(if host.endpoint().is_some() { packet.time } else { u64::MAX });
            }
        });
        arrivals.sort_unstable();
        for of_flow in arrivals.chunk_by(|one, other| one.0 == other.0) {
            let flow = of_flow[0].0;
            let Some(dst) = self.host(self.world.flows[flow as usize].dst) else { continue };
            let missing = dst.receivers()[self.world.receiver_slot[flow as usize] as usize].missing();
            let kept = dst.kept().filter(|packet| packet.flow == flow).count();
            let last = missing.and_then(|missing| of_flow.get((missing as usize).saturating_sub(kept + 1)));
            first = last.map_or(first, |(_, time)| first.min(*time));
        }
        if self.has_slow_hosts {
            for node in self.engine.nodes() {
                let is_slow = node.host().is_some_and(|host| host.endpoint().is_some());
                first = first.min(if is_slow { node.local_key().time } else { u64::MAX });
            }
        }
        Some(self.least(first)).filter(|first| *first < end)
    }
}
