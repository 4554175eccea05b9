//! Which flows and steps are those of which iteration, and whether all iterations have the same to do.
use std::cell::Cell;
use std::collections::BTreeMap;

use backwater_topology::Network;
use backwater_traffic::trace::{Event, Finishes, Step};
use backwater_traffic::{Flow, OWN_CONNECTION};

use crate::app::host_flows::HostFlows;
use crate::simulation::ideal::both_ways;
use crate::spec::Spec;
use crate::world::World;

/// A flow or a step by its iteration, and by its place among those of the iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lap {
    pub(crate) iteration: u32,
    pub(crate) place: u32,
}

const FEW: &str = "there are too few iterations";

/// The senders, receivers and steps of a host: by iteration their slots, and by slot what they are.
#[derive(Debug, Default)]
pub(crate) struct AtHost {
    pub(crate) senders: Vec<Vec<u32>>,
    pub(crate) receivers: Vec<Vec<u32>>,
    pub(crate) steps: Vec<Vec<u32>>,
    pub(crate) of_sender: Vec<Lap>,
    pub(crate) of_receiver: Vec<Lap>,
    pub(crate) of_step: Vec<Lap>,
}

/// The iterations of a job or a collective operation that has the network for itself.
#[derive(Debug)]
pub(crate) struct Laps {
    pub(crate) iterations: u32,
    /// Classes of packets that a port has.
    pub(crate) classes: usize,
    /// From this one on all have the same to do, but that the last one ends the job.
    pub(crate) alike_from: u32,
    /// By flow.
    pub(crate) of_flow: Vec<Lap>,
    /// By iteration the flows, by their places.
    pub(crate) flows: Vec<Vec<u32>>,
    /// By host.
    pub(crate) hosts: Vec<AtHost>,
}

/// What a step says, but for its iteration.
#[derive(PartialEq, Eq)]
struct Does {
    step: (u32, u32, u16, u64),
    part: u16,
    ends: Finishes,
    after: Vec<(u8, i64, u32)>,
    starts: Vec<(i64, u32)>,
}

impl Laps {
    /// The iterations of a run, of which `flows` are the flows; why there are none, if there are not.
    pub(crate) fn new(spec: &Spec, ends: &HostFlows, world: &World) -> Result<Self, String> {
        let iteration = |step: &Step| step.part.map(|part| part.iteration);
        let Some(last) = spec.steps.iter().filter_map(iteration).max() else {
            return Err("no job and no collective operation of this run has iterations".to_owned());
        };
        let count = last as usize + 1;
        let mut iteration_of: Vec<Option<u32>> = vec![None; world.flows.len()];
        for step in &spec.steps {
            for flow in &step.starts {
                iteration_of[*flow as usize] = iteration(step);
            }
        }
        let mut flows = vec![Vec::new(); count];
        let mut of_flow = Vec::with_capacity(world.flows.len());
        for (number, iteration) in (0_u32..).zip(iteration_of) {
            let Some(iteration) = iteration else {
                return Err("other flows are on the way, which belong to no iteration".to_owned());
            };
            let of = &mut flows[iteration as usize];
            of_flow.push(Lap { iteration, place: of.len() as u32 });
            of.push(number);
        }
        let mut hosts = Vec::new();
        for host in 0..spec.network.hosts().len() {
            let by_iteration = |all: &[u32]| {
                let mut of = vec![Vec::new(); count];
                for (slot, flow) in (0_u32..).zip(all) {
                    of[of_flow[*flow as usize].iteration as usize].push(slot);
                }
                of
            };
            let mut at = AtHost {
                senders: by_iteration(ends.sent(host)),
                receivers: by_iteration(ends.received(host)),
                steps: vec![Vec::new(); count],
                of_sender: ends.sent(host).iter().map(|flow| of_flow[*flow as usize]).collect(),
                of_receiver: ends.received(host).iter().map(|flow| of_flow[*flow as usize]).collect(),
                of_step: Vec::new(),
            };
            for (slot, step) in (0_u32..).zip(ends.steps(host)) {
                let Some(iteration) = iteration(&spec.steps[*step as usize]) else {
                    return Err("steps are on the way that belong to no iteration".to_owned());
                };
                let of = &mut at.steps[iteration as usize];
                at.of_step.push(Lap { iteration, place: of.len() as u32 });
                of.push(slot);
            }
            hosts.push(at);
        }
        let classes = usize::from(world.classes.count);
        let mut laps = Self { iterations: count as u32, classes, alike_from: 0, of_flow, flows, hosts };
        laps.alike_from = laps.first_alike(spec, ends, world)?;
        laps.keeps_order()?;
        Ok(laps)
    }

    /// The iteration from which on all have the same to do.
    fn first_alike(&self, spec: &Spec, ends: &HostFlows, world: &World) -> Result<u32, String> {
        if world.flows.iter().any(|flow| flow.connection != OWN_CONNECTION) {
            return Err("messages share queue pairs".to_owned());
        }
        let last = self.iterations - 1;
        let mut ways = OneWay::default();
        let mut later = self.does(last, spec, ends);
        for at in (1..=last).rev() {
            let does = self.does(at - 1, spec, ends);
            // The last one ends the job, which nothing waits for.
            let ends = |does: &Does| if at == last { Finishes::Nothing } else { does.ends };
            let same_steps = does.len() == later.len()
                && does.iter().zip(&later).all(|(one, other)| {
                    ends(one) == ends(other)
                        && (one.step, one.part, &one.after, &one.starts)
                            == (other.step, other.part, &other.after, &other.starts)
                });
            let pairs = || self.flows[at as usize - 1].iter().zip(&self.flows[at as usize]);
            let flow = |number: &u32| &world.flows[*number as usize];
            let same_flows = self.flows[at as usize - 1].len() == self.flows[at as usize].len()
                && pairs().all(|(one, other)| flow(one) == flow(other));
            let same_ways = same_flows
                && pairs().all(|(one, other)| {
                    let flow = flow(one);
                    ways.only(flow, &spec.network, world)
                        || both_ways(*one, flow, &spec.network, world)
                            == both_ways(*other, flow, &spec.network, world)
                });
            if same_steps && same_ways {
                later = does;
                continue;
            }
            if at + 1 < last {
                return Ok(at);
            }
            return Err(if last < 4 {
                FEW
            } else if !same_flows {
                "iterations send unlike messages"
            } else if !same_ways {
                "messages of one iteration take other ways than those of another, as switches choose by the number of a flow"
            } else {
                "ranks compute for unlike times, or wait for other things"
            }
            .to_owned());
        }
        if last > 1 { Ok(0) } else { Err(FEW.to_owned()) }
    }

    /// What the steps of an iteration say, host by host.
    fn does(&self, iteration: u32, spec: &Spec, ends: &HostFlows) -> Vec<Does> {
        let mut all = Vec::new();
        let since = |lap: Lap| (i64::from(lap.iteration) - i64::from(iteration), lap.place);
        let flow = |flow: &u32| since(self.of_flow[*flow as usize]);
        for (host, at) in self.hosts.iter().enumerate() {
            let numbers = ends.steps(host);
            let done = |step: &u32| {
                let slot = numbers.binary_search(step).map_or(usize::MAX, |slot| slot);
                at.of_step.get(slot).map_or((i64::MAX, *step), |lap| since(*lap))
            };
            for slot in &at.steps[iteration as usize] {
                let step = &spec.steps[numbers[*slot as usize] as usize];
                let mut after: Vec<(u8, i64, u32)> = step
                    .after
                    .iter()
                    .map(|event| {
                        let (kind, (iteration, place)) = match event {
                            Event::Sent(of) => (0, flow(of)),
                            Event::Acked(of) => (1, flow(of)),
                            Event::Received(of) => (2, flow(of)),
                            Event::Done(step) => (3, done(step)),
                        };
                        (kind, iteration, place)
                    })
                    .collect();
                after.sort_unstable();
                all.push(Does {
                    step: (step.host, step.rank, step.group, step.delay.as_ps()),
                    part: step.part.map_or(0, |part| part.step),
                    ends: step.ends(),
                    after,
                    starts: step.starts.iter().map(flow).collect(),
                });
            }
        }
        all
    }

    /// Ties go by the slots of flows and steps at their host. Two of one iteration have the same order in every other one, if those of
    /// each iteration stand together, as often as there are lists of them.
    fn keeps_order(&self) -> Result<(), String> {
        let kept = self.hosts.iter().all(|at| {
            [&at.of_sender, &at.of_receiver, &at.of_step].into_iter().all(|slots| self.stand_together(slots))
        });
        if kept { Ok(()) } else { Err("ties go by numbers that iterations have in unlike orders".to_owned()) }
    }

    fn stand_together(&self, all: &[Lap]) -> bool {
        let mut rest: Vec<Lap> =
            all.iter().filter(|lap| lap.iteration >= self.alike_from).copied().collect::<Vec<_>>();
        while let Some(first) = rest.first() {
            if first.iteration != self.alike_from {
                return false;
            }
            let together = rest.iter().take_while(|lap| lap.iteration == self.alike_from).count();
            let places: Vec<u32> = rest[..together].iter().map(|lap| lap.place).collect();
            for iteration in self.alike_from..self.iterations {
                let block = rest.get(..together);
                let fits = block.is_some_and(|block| {
                    block.iter().zip(&places).all(|(lap, place)| *lap == Lap { iteration, place: *place })
                });
                if !fits {
                    return false;
                }
                rest.drain(..together);
            }
        }
        true
    }
}

/// Between which hosts there is one way only.
#[derive(Default)]
struct OneWay(BTreeMap<(u32, u32), bool>);

impl OneWay {
    /// Whether a flow has no other way, and what goes back has none.
    fn only(&mut self, flow: &Flow, network: &Network, world: &World) -> bool {
        let mut only = |src: u32, dst: u32| {
            *self.0.entry((src, dst)).or_insert_with(|| {
                let choice = Cell::new(false);
                world.routes.path_by(network, src, dst, |_, ways| {
                    choice.set(choice.get() || ways > 1);
                    0
                });
                !choice.get()
            })
        };
        only(flow.src, flow.dst) && only(flow.dst, flow.src)
    }
}
