//! Jobs: who is done with which step, and which job begins when another one has ended.
//!
//! ```text
//!   last step of a rank ─▶ its host ──JobEnd──▶ the watcher: one host of the job that waits ──JobStart──▶ all hosts of that job
//!                                   delay / 2   counts the ranks that have ended             delay / 2
//! ```
//! Hosts of different jobs learn of each other as those of a cluster do: from a scheduler, on a network of their own that is not
//! simulated. What it tells them are messages of the engine like frames, which take at least the shortest delay of a link. So no window
//! of the engine has to know more than its own nodes, and any number of threads makes the same run. The messages cross no port and fill
//! no queue.
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

use backwater_engine::{Link, Place};
use backwater_traffic::trace::{Finishes, Part};
use backwater_units::{Span, relative};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::Spec;
use crate::world::World;

/// What a rank of a traffic entry is done with.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Done {
    pub(crate) group: u16,
    pub(crate) rank: u32,
    pub(crate) part: Part,
}

/// The jobs of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    /// When each begins, by traffic entry; [`u64::MAX`] with a gate.
    starts: BTreeMap<u16, u64>,
    /// What opens when.
    gates: Vec<Opening>,
}

/// The gate of a job.
#[derive(Clone, Debug)]
struct Opening {
    group: u16,
    after: u16,
    /// Ranks that must have ended.
    ranks: u32,
    /// Node of the host that counts them.
    watcher: u32,
    /// Nodes of the hosts that begin.
    hosts: Vec<u32>,
    /// Picoseconds of the way to the watcher, and of that to the hosts.
    delays: (u64, u64),
}

impl Jobs {
    pub(crate) fn new(spec: &Spec) -> Self {
        let node = |host: u32| spec.network.hosts()[host as usize];
        let steps = |group: u16| spec.steps.iter().filter(move |step| step.group == group);
        let ranks = |group: u16| spec.programs.ranks.iter().filter(move |rank| rank.group == group);
        let mut jobs = Self::default();
        for job in &spec.jobs {
            let gated = job.gate.is_some();
            jobs.starts.insert(job.group, if gated { u64::MAX } else { job.start.as_ps() });
            let Some(gate) = job.gate else { continue };
            let ends = steps(gate.after).filter(|step| step.ends() == Finishes::Job).count();
            let of_steps = steps(job.group).map(|step| node(step.host));
            let mut hosts: Vec<u32> = of_steps.chain(ranks(job.group).map(|rank| node(rank.host))).collect();
            hosts.sort_unstable();
            hosts.dedup();
            let delay = gate.delay.as_ps();
            jobs.gates.push(Opening {
                group: job.group,
                after: gate.after,
                ranks: (ends + ranks(gate.after).filter(|rank| !rank.is_endless()).count()) as u32,
                watcher: hosts.first().copied().unwrap_or_default(),
                hosts,
                delays: (delay / 2, delay - delay / 2),
            });
        }
        jobs
    }

    /// Between which nodes messages about gates travel.
    pub(crate) fn links(&self, spec: &Spec) -> Vec<Link> {
        let hosts_of = |group: u16| {
            let of_steps = spec.steps.iter().filter(move |step| step.group == group).map(|step| step.host);
            let ranks = spec.programs.ranks.iter().filter(move |rank| rank.group == group);
            of_steps.chain(ranks.map(|rank| rank.host)).map(|host| spec.network.hosts()[host as usize])
        };
        let of_gate = |gate: &Opening| {
            let link = |node, delay| Link { nodes: (gate.watcher, node), delay: Span::from_ps(delay) };
            let before = hosts_of(gate.after).map(|node| link(node, gate.delays.0));
            let behind = gate.hosts.iter().map(|node| link(*node, gate.delays.1));
            before.chain(behind).collect::<Vec<_>>()
        };
        self.gates.iter().flat_map(of_gate).collect()
    }

    /// These traffic entries, and those that wait for one of them.
    pub(crate) fn stuck_behind(&self, mut groups: BTreeSet<u16>) -> BTreeSet<u16> {
        for _ in &self.gates {
            let behind = self.gates.iter().filter(|gate| groups.contains(&gate.after));
            let behind: Vec<u16> = behind.map(|gate| gate.group).collect();
            groups.extend(behind);
        }
        groups
    }

    /// Whether a traffic entry waits for another one.
    pub(crate) fn is_gated(&self, group: u16) -> bool {
        self.starts.get(&group).is_some_and(|start| *start == u64::MAX)
    }
}

/// What a host knows of jobs.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct JobsHere {
    /// When its rank of each job was done with what it did last: (traffic entry, rank), picoseconds.
    since: BTreeMap<(u16, u32), u64>,
    /// When gated jobs began.
    begun: BTreeMap<u16, u64>,
    /// Ranks that must still end before a gate opens, by gate; only at its watcher.
    missing: BTreeMap<u32, u32>,
    /// Where the hosts live that it may send messages to, by node.
    places: BTreeMap<u32, Place>,
}

impl JobsHere {
    /// Those of a host; `None` if there are no jobs.
    pub(crate) fn new(node: u32, world: &World) -> Option<Box<Self>> {
        if world.jobs.starts.is_empty() {
            return None;
        }
        let mut here = Self::default();
        for (number, gate) in (0..).zip(&world.jobs.gates) {
            here.places.insert(gate.watcher, Place::default());
            if gate.watcher == node {
                here.missing.insert(number, gate.ranks);
                here.places.extend(gate.hosts.iter().map(|host| (*host, Place::default())));
            }
        }
        Some(Box::new(here))
    }

    /// What it knows, relative to an instant.
    pub(crate) fn relative<W: Write>(&self, out: &mut W) -> Result<()> {
        let Self { since, begun, missing, places: _ } = self;
        for (key, at) in since {
            key.serialize(out)?;
            relative::instant(at, out)?;
        }
        for (group, at) in begun {
            group.serialize(out)?;
            relative::instant(at, out)?;
        }
        missing.serialize(out)
    }

    /// Tells where all nodes live.
    pub(crate) fn place(&mut self, places: &[Place]) {
        for (node, place) in &mut self.places {
            *place = places[*node as usize];
        }
    }

    /// A rank of a job is done with something `now`: when it was done with what it did before. `None`: that is no job.
    pub(crate) fn done(&mut self, what: &Done, now: u64, world: &World) -> Option<u64> {
        let start = world.jobs.starts.get(&what.group)?;
        let begun = self.begun.get(&what.group).unwrap_or(start);
        Some(self.since.insert((what.group, what.rank), now).unwrap_or(*begun))
    }

    /// A rank of a job has ended: who is to be told about which gates, and how much later.
    pub(crate) fn watchers(&self, group: u16, world: &World) -> Vec<(u32, Place, u64)> {
        let gates = (0..).zip(&world.jobs.gates).filter(|(_, gate)| gate.after == group);
        gates.map(|(number, gate)| (number, self.places[&gate.watcher], gate.delays.0)).collect()
    }

    /// The watcher of a gate learns that a rank has ended: if it was the last, which hosts are to be told, and how much later.
    pub(crate) fn one_has_ended(&mut self, gate: u32, world: &World) -> Vec<(Place, u64)> {
        let missing = self.missing.get_mut(&gate).expect("a rank that ends tells the watcher");
        *missing -= 1;
        if *missing > 0 {
            return Vec::new();
        }
        let gate = &world.jobs.gates[gate as usize];
        gate.hosts.iter().map(|host| (self.places[host], gate.delays.1)).collect()
    }

    /// Whether a traffic entry waits for another one still.
    pub(crate) fn waits(&self, group: u16, world: &World) -> bool {
        world.jobs.is_gated(group) && !self.begun.contains_key(&group)
    }

    /// A gate has opened: the traffic entry that begins.
    pub(crate) fn begins(&mut self, gate: u32, now: u64, world: &World) -> u16 {
        let group = world.jobs.gates[gate as usize].group;
        self.begun.insert(group, now);
        group
    }
}
