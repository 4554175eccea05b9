//! Which flows have ended since somebody asked last.
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Time};

use crate::node::FabricNode;
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
#[derive(Clone, Debug)]
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
        let nodes = self.engine.nodes();
        let host = |index: u32| match nodes[self.network.hosts()[index as usize] as usize] {
            FabricNode::Host(host) => &**host,
            FabricNode::Switch(_) => unreachable!("hosts are hosts"),
        };
        let mut ended = Vec::new();
        since.open.retain(|&index| {
            let flow = &self.world.flows[index as usize];
            let receiver = &host(flow.dst).receivers()[self.world.receiver_slot[index as usize] as usize];
            let (source, slot) = (host(flow.src), self.world.sender_slot[index as usize]);
            let finish = Some(receiver.finish()).filter(|finish| *finish < u64::MAX);
            let is_open = finish.is_none() && !source.sender(slot).losses().failed;
            if !is_open {
                ended.push(Completion {
                    flow: index,
                    group: flow.group,
                    src: flow.src,
                    dst: flow.dst,
                    size: Bytes::new(receiver.received()),
                    start: source.start_of(slot, &self.world),
                    finish: finish.map(Time::from_ps),
                });
            }
            is_open
        });
        ended.sort_by_key(|ended| (ended.finish.unwrap_or(Time::MAX), ended.flow));
        ended
    }
}
