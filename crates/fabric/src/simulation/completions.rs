//! Which flows have ended since somebody asked last.
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::node::HostRef;
use crate::simulation::Simulation;

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
        // What ends a flow its destination knows or, if it was given up, its source; when it began its source.
        let failed = |host: HostRef<'_>, index: u32| {
            host.sender(self.world.sender_slot[index as usize]).losses().failed
        };
        let receiver = |host: HostRef<'_>, index: u32| {
            let receiver = &host.receivers()[self.world.receiver_slot[index as usize] as usize];
            (Some(receiver.finish()).filter(|finish| *finish < u64::MAX), Bytes::new(receiver.received()))
        };
        let has_ended = |index: &u32| {
            let flow = &self.world.flows[*index as usize];
            self.host(flow.dst).is_some_and(|host| receiver(host, *index).0.is_some())
                || self.host(flow.src).is_some_and(|host| failed(host, *index))
        };
        let mut over: Vec<u32> = since.open.iter().copied().filter(has_ended).collect();
        over = self.engine.processes().gather(over);
        over.sort_unstable();
        over.dedup();
        since.open.retain(|index| over.binary_search(index).is_err());
        let flow = |index: u32| &self.world.flows[index as usize];
        let finishes =
            over.iter().filter_map(|index| Some((*index, receiver(self.host(flow(*index).dst)?, *index))));
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
}
