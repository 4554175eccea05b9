//! What steps of applications waited for, when a run is over; and what messages between ranks take alone.
use std::collections::BTreeMap;

use backwater_traffic::trace::{Event, Step};
use backwater_units::{Bytes, Span, Time};

use crate::app::steps::Happened;
use crate::node::HostRef;
use crate::record::{Dependency, DependencyRecord};
use crate::simulation::Simulation;
use crate::simulation::ideal::Ways;

/// Rows per piece of [`Simulation::each_dependency`].
const PIECE: usize = 8 * 1024;

/// What messages take alone, by flow and size: until the last bit has left, and until all is there.
pub(super) type Alone = BTreeMap<(u32, Bytes), (Span, Span)>;

impl Simulation {
    /// Writes into the records of ranks how long what they waited for takes in an empty network.
    pub(super) fn alone_of_messages(&self, records: &mut [DependencyRecord], known: &mut Alone) {
        let mut ways = Ways::new(&self.network, &self.world);
        for record in records {
            let (Dependency::Sent(flow) | Dependency::Acked(flow) | Dependency::Received(flow)) = record.what
            else {
                continue;
            };
            let Some((_, size)) = record.message else { continue };
            let (sent, received) = *known.entry((flow, size)).or_insert_with(|| {
                let ideal = ways.message(flow, size);
                (ideal.sent, ideal.fct)
            });
            record.alone = match record.what {
                Dependency::Sent(_) => sent,
                Dependency::Acked(_) => received + self.back(flow, &ways),
                _ => received,
            };
        }
    }

    /// One record per event that a step waits for and per flow that it starts, in the order of the steps, in pieces.
    ///
    /// # Errors
    /// The first one of `take`.
    pub fn each_dependency<E>(
        &self,
        mut take: impl FnMut(&[DependencyRecord]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ways = Ways::new(&self.network, &self.world);
        let mut at_host = vec![0; self.network.hosts().len()];
        let place = |step: &Step| {
            at_host[step.host as usize] += 1;
            at_host[step.host as usize] - 1
        };
        let places: Vec<u32> = self.steps.iter().map(place).collect();
        let mut records: Vec<DependencyRecord> = Vec::with_capacity(PIECE);
        for first in (0..self.steps.len()).step_by(PIECE) {
            let mut own = Vec::new();
            for number in first..self.steps.len().min(first + PIECE) {
                self.depends(number, &places, &mut ways, &mut own);
            }
            for record in self.gather(own, |record| record.step) {
                if records.len() >= PIECE && records.last().is_some_and(|last| last.step != record.step) {
                    take(&records)?;
                    records.clear();
                }
                records.push(record);
            }
        }
        take(&records)
    }

    /// The records of a step; `places` are the numbers of the steps at their hosts.
    fn depends(
        &self,
        number: usize,
        places: &[u32],
        ways: &mut Ways<'_>,
        records: &mut Vec<DependencyRecord>,
    ) {
        let (step, place) = (&self.steps[number], places[number]);
        let node = self.network.hosts()[step.host as usize];
        let Some(steps) = self.host(step.host).and_then(HostRef::steps) else { return };
        let done = steps.carried_out(place);
        let row = |what, time, alone| DependencyRecord {
            step: number as u64,
            what,
            message: None,
            time,
            alone,
            delay: step.delay,
            done,
            group: step.group,
            rank: step.rank,
            node,
            line: step.line,
        };
        if step.after.is_empty() {
            records.push(row(Dependency::Start, Some(Time::ZERO), Span::ZERO));
        }
        for event in &step.after {
            let (what, happened) = match *event {
                Event::Sent(flow) => {
                    (Dependency::Sent(flow), Happened::Sent(self.world.sender_slot[flow as usize]))
                }
                Event::Acked(flow) => {
                    (Dependency::Acked(flow), Happened::Acked(self.world.sender_slot[flow as usize]))
                }
                Event::Received(flow) => {
                    (Dependency::Received(flow), Happened::Received(self.world.receiver_slot[flow as usize]))
                }
                Event::Done(before) => {
                    (Dependency::Step(u64::from(before)), Happened::Done(places[before as usize]))
                }
            };
            records.push(row(what, steps.when(happened, place), self.alone(*event, ways)));
        }
        records.extend(step.starts.iter().map(|flow| row(Dependency::Starts(*flow), done, Span::ZERO)));
    }

    /// How long after the flow's start the event happens in an empty network.
    fn alone(&self, event: Event, ways: &mut Ways<'_>) -> Span {
        let (Event::Sent(index) | Event::Acked(index) | Event::Received(index)) = event else {
            return Span::ZERO;
        };
        let flow = &self.world.flows[index as usize];
        let ideal = ways.ideal(index, flow);
        match event {
            Event::Sent(_) => ideal.sent,
            Event::Acked(_) => ideal.fct + self.back(index, ways),
            _ => ideal.fct,
        }
    }

    /// What an ACK of a flow takes alone.
    fn back(&self, index: u32, ways: &Ways<'_>) -> Span {
        let flow = &self.world.flows[index as usize];
        self.world.ack_of(index).map_or(Span::ZERO, |ack| ways.back(index, flow, ack))
    }
}
