//! A run from beginning to end.
mod completions;
mod course;
mod dependencies;
mod homes;
pub(crate) mod ideal;
mod inject;
pub(crate) mod look;
mod outcome;
pub mod retrace;
mod reuse;
mod sizes;
mod snapshot;
mod stall;

use borsh::{BorshDeserialize, BorshSerialize};
pub use completions::{Completion, Completions};
pub use course::Course;
pub use reuse::Reused;
pub use sizes::{Sizes, sizes};
pub use snapshot::form;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use backwater_engine::{Alone, Engine, Kind, Limits, Link, Place, Post, Processes, Profile, Stop};
use backwater_topology::{Network, Role};
use backwater_traffic::trace::{Finishes, Step};
use backwater_units::{Span, Time};

use crate::app::host_flows::HostFlows;
use crate::check::audit;
use crate::check::books;
use crate::check::deadlock;
use crate::check::explain::explain;
use crate::ctx::Ctx;
use crate::fault::Faults;
use crate::link::ports::Ports;
use crate::log::Records;
use crate::nic::host::Host;
use crate::node::{FabricNode, HostRef};
use crate::observe::taps::taps;
use crate::packet::Packet;
use crate::record::FaultKind;
use crate::reuse::laps::Laps;
use crate::simulation::look::Looks;
use crate::simulation::reuse::Counted;
use crate::spec::Spec;
use crate::switch::Switch;
use crate::transport::put::streams;
use crate::user::UserFault;
use crate::violation::{Violation, What};
use crate::world::World;

/// How a run is watched and ended from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Control<'a> {
    /// Simulated time at which the run ends; without it, when all finite flows are done.
    pub until: Option<Time>,
    /// Set to end the run early with what it has.
    pub interrupt: Option<&'a AtomicBool>,
    /// Shows the simulated time in picoseconds.
    pub now: Option<&'a AtomicU64>,
    /// Where looks at the run are asked for; without it nobody looks, which costs nothing.
    pub looks: Option<&'a Looks>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum End {
    /// All finite flows are done (and acknowledged, if there are ACKs).
    Finished,
    /// `until` was reached.
    Until,
    /// It was interrupted.
    Interrupted,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Why it ended.
    pub end: End,
    /// Simulated time at the end.
    pub now: Time,
    /// Trajectory digest.
    pub digest: u64,
    /// Frames and timers handled.
    pub events: u64,
    /// Data, ACK and CNP frames, counted once per link crossed.
    pub packet_hops: u64,
    /// Windows of the engine.
    pub windows: u64,
    /// Of them those that several threads ran together.
    pub shared: u64,
    /// Length of a window.
    pub window: Span,
    /// Bytes of hot and cold state per port, averaged over all ports.
    pub port_bytes: u64,
    /// Bytes reserved for packets under way or queued, at their worst.
    pub packet_bytes: u64,
    /// Packets queued, each node at its worst moment.
    pub packets: u64,
}

/// Records are handed over when so many have gathered.
const BATCH: u64 = 1 << 18;

/// A fabric ready to run. A copy of it, between two stretches, runs on as it does; they share only what no event changes.
#[derive(Clone)]
pub struct Simulation {
    engine: Engine<FabricNode>,
    world: Arc<World>,
    network: Network,
    /// The steps of applications, if what they waited for is recorded.
    steps: Arc<[Step]>,
    goal: u64,
    /// Flows of its spec; those after them were injected.
    given: u32,
    /// The iterations that may be counted, if that is asked for; why there are none, if there are not.
    laps: Option<Result<Arc<Laps>, String>>,
    /// What was counted.
    counted: Option<Arc<Counted>>,
    /// Some hosts take packets later than they come.
    has_slow_hosts: bool,
    /// If no packet moves for so many picoseconds while a gate is closed, none will: a whole number of windows. So often the
    /// run looks for a deadlock.
    stall: u64,
    /// A gate that has been closed for so many picoseconds may be in a circle.
    settled: u64,
}

impl Simulation {
    /// Builds the fabric. `spec` has passed validation; what it still can get wrong are bugs.
    pub fn new(spec: Spec, kind: Kind) -> Self {
        Self::in_windows(spec, kind, 1)
    }

    /// The same in windows that are at least `parts` times as short as they may be: nothing that can be observed depends on that.
    pub fn in_windows(spec: Spec, kind: Kind, parts: u64) -> Self {
        Self::among(Arc::new(Alone), spec, kind, parts)
    }

    /// The same shared by processes, of which each builds the nodes that it runs. All have the same `spec`, and call the same in the
    /// same order; the records are handed over in the first one.
    pub fn among(processes: Arc<dyn Processes>, mut spec: Spec, kind: Kind, parts: u64) -> Self {
        let flows = std::mem::take(&mut spec.flows);
        let user = std::mem::take(&mut spec.user);
        let mut world = World::new(&spec, flows, user);
        world.taps = taps(&spec.network, &spec.probe.frames, &world);
        world.faults = Faults::new(&spec, &world);
        let ends = HostFlows::new(&spec, &world.flows);
        if processes.count() > 1 {
            world.repeated.unknown();
        }
        let ended = spec.steps.iter().filter(|step| step.ends() != Finishes::Nothing).count();
        let network = &spec.network;
        let (lookahead, reach) = sizes::spans(network, spec.packet.payload + spec.packet.header);
        let finite = (0..).zip(&world.flows).filter(|(_, flow)| !flow.is_endless());
        let ranks = world.programs.ranks.iter().filter(|rank| !rank.is_endless()).count();
        let goal = finite.map(|(index, _)| steps_of(index, &world)).sum::<u64>() + (ranks + ended) as u64;
        let grid = Engine::<FabricNode>::width_for(lookahead);
        let parts = (parts..grid.as_ps()).find(|parts| grid.as_ps().is_multiple_of(*parts));
        let width = Span::from_ps(parts.map_or(1, |parts| grid.as_ps() / parts));
        let laps = spec.reuse.then(|| reuse::laps(&spec, &ends, &world, &*processes));
        let build = |node| build(node, &spec, &ends, &world);
        let is_alone = processes.count() == 1 && !matches!(kind, Kind::Windows { threads: 2.. });
        let homes = if is_alone { homes::any(network) } else { homes::homes(network) };
        let wires = network.links().iter().map(|link| Link { nodes: (link.a, link.b), delay: link.delay });
        let links = || wires.chain(world.jobs.links(&spec)).chain(world.links_ahead()).collect();
        let engine = Engine::among(processes, kind, build, &homes, links, width, reach).with_grid(grid);
        let steps = if spec.probe.dependencies { spec.steps } else { Vec::new() };
        let network = spec.network;
        let stall = deadlock::patience(reach, &world);
        let stall = stall.as_ps().next_multiple_of(engine.grid().as_ps());
        let settled = deadlock::lasting(reach, &world).as_ps();
        let has_slow_hosts = spec.endpoints.iter().any(Option::is_some);
        let given = world.flows.len() as u32;
        let (world, steps) = (Arc::new(world), steps.into());
        let counted = None;
        Self { engine, world, network, steps, goal, given, laps, counted, has_slow_hosts, stall, settled }
    }

    /// Runs to the end. Records go to `sink` in batches, in order of time within a batch.
    ///
    /// # Errors
    /// A [`Violation`] if an invariant breaks, or what the sink reports.
    pub fn run(
        &mut self,
        control: &Control<'_>,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Totals, Violation> {
        let mut course = self.course(control.until);
        self.step(&mut course, Time::MAX, control, sink)?;
        self.finish(course, sink)
    }

    /// The course of a run from here that ends at `until` or, without it, when all finite flows are done.
    pub fn course(&self, until: Option<Time>) -> Course {
        Course::new(self, until)
    }

    /// Runs to the end or until nothing is left to do before `to`, whatever comes first; why it is over, if it is. What happens is the
    /// same however a run is cut into steps. `control.until` is that of the course.
    ///
    /// # Errors
    /// As [`Self::run`]; then there is no going on.
    pub fn step(
        &mut self,
        course: &mut Course,
        to: Time,
        control: &Control<'_>,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Option<End>, Violation> {
        let stop = self.world.user.stop();
        while course.end.is_none() {
            let limits = Limits {
                until: course.next,
                pause: to.as_ps(),
                goal: if course.ends_with_flows { self.goal.max(1) } else { u64::MAX },
                goal_is_all: true,
                records: BATCH,
                interrupt: stop.as_deref().or(control.interrupt),
                now: control.now,
                look: control.looks.map(Looks::wanted),
            };
            let stop = self.engine.run(&self.world, &limits);
            self.look_for_user_fault()?;
            match stop {
                Stop::Paused => break,
                Stop::Look => {
                    let look = self.look();
                    control.looks.into_iter().for_each(|looks| looks.answer(look.clone()));
                }
                _ => {
                    course.end = self.looks_up(stop, course)?;
                    if course.end.is_none() {
                        self.hand_over(course, sink)?;
                    }
                }
            }
        }
        Ok(course.end)
    }

    /// Ends a run where it stands: what its nodes still owe is recorded, and its books are audited.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn finish(
        &mut self,
        mut course: Course,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Totals, Violation> {
        let end = *course.end.get_or_insert(End::Interrupted);
        self.engine.close_period();
        self.hand_over(&mut course, sink)?;
        self.audit()?;
        Ok(self.totals(end))
    }

    /// The engine has stopped for another reason than a pause or a look: why the run is over, if it is.
    fn looks_up(&mut self, mut stop: Stop, course: &mut Course) -> Result<Option<End>, Violation> {
        let (until, stretch) = (course.until, course.stretch);
        if stop == Stop::Idle && self.waits_beyond_the_longest_run() {
            self.look_for_throttled(self.engine.now().as_ps())?;
            // Nothing is left but to let the time pass; what is observed is still looked at stretch by stretch.
            course.next = if stretch < self.stall { course.next } else { until };
            self.engine.pass_to(course.next);
            stop = Stop::Until;
        }
        Ok(match stop {
            Stop::Paused | Stop::Look | Stop::Records => None,
            Stop::Goal => {
                self.look_for_stuck(self.engine.now())?;
                Some(End::Finished)
            }
            Stop::Until if course.next < until => {
                let mut over = false;
                if course.next == course.look {
                    self.look_for_deadlock(course.look, &mut course.hops)?;
                    self.look_for_waiting(&mut course.quiet)?;
                    course.look = course.look.saturating_add(self.stall);
                    over = course.ends_with_flows && self.only_failed_are_left();
                }
                course.next = until.min(course.look).min(course.next.saturating_add(stretch));
                over.then_some(End::Finished)
            }
            Stop::Until if course.ends_with_flows => return Err(self.too_long()),
            Stop::Until => {
                self.look_for_stuck(Time::from_ps(until))?;
                self.look_for_circle(until)?;
                Some(End::Until)
            }
            Stop::Interrupted => Some(End::Interrupted),
            Stop::Idle => {
                self.look_for_stuck(self.engine.now())?;
                if self.paused_ports().is_empty() {
                    self.look_for_throttled(self.engine.now().as_ps())?;
                }
                if self.paused_ports().is_empty() && self.unfinished_ranks() > 0 {
                    return Err(self.ranks_wait(true));
                }
                let failed = self.failed() > 0 && self.paused_ports().is_empty();
                if self.unfinished() > 0 && !failed {
                    return Err(self.deadlock(self.circle(u64::MAX)));
                }
                Some(End::Finished)
            }
            Stop::Failed => return Err(self.failure()),
        })
    }

    /// Gives the records of all nodes to the sink; of a run that is over all that they owe.
    fn hand_over(
        &mut self,
        course: &mut Course,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<(), Violation> {
        let (ends, batch) = (course.end.is_some(), &mut course.batch);
        self.owed_records(ends);
        if ends {
            let (now, world) = (self.engine.now().as_ps(), &self.world);
            self.engine.each_node(|_, node| node.close_crowds(now, world));
        }
        self.engine.each_node(|_, node| batch.take_from(node.ports_mut().records_mut()));
        if self.engine.processes().count() > 1 {
            for mut records in self.engine.processes().gather_at_first(vec![std::mem::take(batch)]) {
                batch.take_from(&mut records);
            }
        }
        batch.sort();
        self.alone_of_messages(&mut batch.dependencies, &mut course.alone);
        sink(batch).map_err(Violation::Sink)?;
        batch.clear();
        Ok(())
    }

    /// The first call of a function of the user's that failed, in all processes.
    fn look_for_user_fault(&self) -> Result<(), Violation> {
        if self.world.user.stop().is_none() {
            return Ok(());
        }
        let fault = self.world.user.first_fault(|| {
            self.engine.nodes().into_iter().flat_map(|node| -> Box<dyn Iterator<Item = &UserFault>> {
                match node {
                    FabricNode::Switch(switch) => Box::new(switch.user_fault().into_iter()),
                    _ => Box::new(node.host().into_iter().flat_map(HostRef::user_faults)),
                }
            })
        });
        self.tell_first(fault.map(|fault| (fault.order(), fault)), Violation::User)
    }

    /// What is broken in several processes is told by the one in which it is the first in order.
    fn tell_first<K: BorshSerialize + BorshDeserialize + Ord, T>(
        &self,
        own: Option<(K, T)>,
        violation: impl FnOnce(T) -> Violation,
    ) -> Result<(), Violation> {
        let processes = self.engine.processes();
        let (key, broken) = own.unzip();
        let ranked = key.map(|key| (key, processes.rank()));
        let all = processes.gather(ranked.into_iter().collect());
        let Some((_, first)) = all.into_iter().min() else { return Ok(()) };
        Err(broken.filter(|_| first == processes.rank()).map_or(Violation::Elsewhere, violation))
    }

    /// What all processes have of it, in order: each thing is known by one of them.
    fn gather<T: BorshSerialize + BorshDeserialize, K: Ord>(
        &self,
        own: Vec<T>,
        order: impl FnMut(&T) -> K,
    ) -> Vec<T> {
        let mut all = self.engine.processes().gather(own);
        if self.engine.processes().count() > 1 {
            all.sort_by_key(order);
        }
        all
    }

    /// The host of this number, if it is one of this process.
    fn host(&self, index: u32) -> Option<HostRef<'_>> {
        self.engine.node(self.network.hosts()[index as usize])?.host()
    }

    /// The hosts of this process.
    fn hosts(&self) -> impl Iterator<Item = HostRef<'_>> {
        self.engine.nodes().into_iter().filter_map(FabricNode::host)
    }

    /// The processes that share the nodes.
    pub fn processes(&self) -> &dyn Processes {
        self.engine.processes()
    }

    /// Bytes of this process for its ports, packets under way and queued at their worst; and its nodes.
    pub fn own_memory(&self) -> (u64, u64) {
        let nodes = self.engine.nodes();
        let each = |node: &&FabricNode| (node.state_bytes() + node.slots().1) as u64;
        (nodes.iter().map(each).sum::<u64>() + self.engine.stats().message_bytes as u64, nodes.len() as u64)
    }

    /// From now on counts what there is to do, and where time goes, in a run of one process: [`Self::profile`].
    pub fn begin_profile(&mut self) {
        self.engine.begin_profile(&homes::homes(&self.network));
    }

    /// What was counted, if anything is.
    pub fn profile(&self) -> Option<Profile> {
        self.engine.profile()
    }

    /// The time reached: nothing at this instant or after it has happened.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// The nodes and links.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn totals(&self, end: End) -> Totals {
        let stats = self.engine.stats();
        let mut own = [0, 0, 0, stats.message_bytes as u64];
        for node in self.engine.nodes() {
            let (packets, bytes) = node.slots();
            let of_node =
                [node.ports().count().into(), node.state_bytes() as u64, packets as u64, bytes as u64];
            own = std::array::from_fn(|at| own[at] + of_node[at]);
        }
        let all: Vec<[u64; 4]> = self.engine.processes().gather(vec![own]);
        let [ports, state, packets, packet_bytes] =
            std::array::from_fn(|at| all.iter().map(|own| own[at]).sum());
        let (now, hops) = (self.engine.now(), self.packet_hops());
        let (digest, events) = (self.engine.digest(), self.engine.events());
        let counted = self.counted.as_deref();
        Totals {
            end,
            now: counted.map_or(now, |counted| counted.end(now)),
            digest: counted.map_or(digest, |counted| counted.digest(digest)),
            events: counted.map_or(events, |counted| counted.sum(events, |of| of.events)),
            packet_hops: counted.map_or(hops, |counted| counted.sum(hops, |of| of.packet_hops)),
            windows: stats.windows,
            shared: stats.shared,
            window: stats.window,
            port_bytes: state / ports,
            packets,
            packet_bytes,
        }
    }

    pub(crate) fn packet_hops(&self) -> u64 {
        let own = self.engine.nodes().iter().map(|node| node.ports().packet_hops()).sum();
        self.engine.processes().sum(own)
    }

    /// After how much simulated time the run looks up: soon enough that no more samples than a batch are owed by
    /// then. A whole number of windows.
    fn stretch(&self) -> u64 {
        let own = self.engine.nodes().iter().map(|node| node.observed(&self.world)).sum();
        let observed = self.engine.processes().sum(own);
        if observed == 0 {
            return self.stall;
        }
        let window = self.engine.grid().as_ps();
        let batch = (BATCH / observed).max(1).saturating_mul(self.world.sample);
        (batch / window).max(1).saturating_mul(window).min(self.stall)
    }

    /// Nodes that slept still owe their samples up to now, and hosts what they got.
    fn owed_records(&mut self, ends: bool) {
        struct Nowhere;
        impl Post<Packet> for Nowhere {
            fn send(&mut self, _: Place, _: u64, _: &Packet, _: impl FnOnce(&mut Packet)) {
                unreachable!("sampling sends nothing");
            }
            fn send_with(&mut self, _: Place, _: u64, _: &Packet, _: &[u8], _: impl FnOnce(&mut Packet)) {
                unreachable!("sampling sends nothing");
            }
            fn complete(&mut self) {}
            fn fail(&mut self) {}
            fn recorded(&mut self, _: u64) {}
        }
        let (now, world) = (self.engine.now().as_ps(), &self.world);
        self.engine.each_node(|_, node| {
            let cx = &mut Ctx { now, world, post: &mut Nowhere };
            if node.ports().next_sample() <= now {
                node.sample_until(cx);
            }
            node.close_periods(ends, cx);
        });
    }

    fn too_long(&self) -> Violation {
        Violation::TooLong { time: self.engine.now(), unfinished: self.unfinished() }
    }

    pub(crate) fn failure(&self) -> Violation {
        let nodes = self.engine.nodes();
        let breach = nodes
            .iter()
            .filter_map(|node| node.ports().breach())
            .min_by_key(|breach| (breach.time, breach.node));
        let key = breach.map(|breach| (breach.time, breach.node, breach.what == What::Stuck));
        let first = self.gather(key.into_iter().collect(), |key| *key).into_iter().next();
        let (time, node, is_stuck) = first.expect("a node that fails keeps the reason");
        if let (true, Err(stuck)) = (is_stuck, self.look_for_stuck(Time::from_ps(time))) {
            return stuck;
        }
        let breach = breach.filter(|breach| breach.node == node);
        let stream = match breach.map(|breach| &breach.what) {
            // A fault may have lost what belongs to other flows of the stream.
            Some(What::NoAck { flow, .. }) => streams(&self.world).flows_of(*flow).collect(),
            _ => Vec::new(),
        };
        let stream: Vec<u32> = self.engine.processes().gather(stream);
        let lost =
            stream.iter().flat_map(|flow| nodes.iter().flat_map(move |node| node.ports().faults_of(*flow)));
        let lost: BTreeSet<u16> = self.engine.processes().gather(lost.collect()).into_iter().collect();
        let (Some(breach), Some(node)) = (breach, self.engine.node(node)) else {
            return Violation::Elsewhere;
        };
        let mut violation = explain(breach, &self.network, &self.world, node);
        if let Violation::NoAck { faults, .. } = &mut violation {
            let kind = |fault: u16| FaultKind::WORDS[self.world.kind_of(fault) as usize];
            faults.extend(lost.into_iter().map(|fault| format!("fault {fault} ({})", kind(fault))));
        }
        violation
    }

    fn audit(&self) -> Result<(), Violation> {
        let time = self.engine.now();
        let wrong = books::check(&self.engine, &self.network, &self.world);
        let first = wrong.first().map(|_| (self.engine.processes().rank(), wrong.clone()));
        self.tell_first(first, |wrong| Violation::PacketsMissing { time, wrong })?;
        let nodes = self.engine.nodes();
        let wrong = nodes
            .into_iter()
            .find_map(|node| audit::check(node, &self.world).err().map(|what| (node.ports().node(), what)));
        self.tell_first(wrong.map(|(node, what)| (node, (node, what))), |(node, what)| Violation::Audit {
            time,
            node: self.network.name(node).to_owned(),
            what,
        })
    }

    /// For tests of the books: a data packet on a wire is gone as if it had never been sent. False if there is none.
    #[doc(hidden)]
    pub fn forget_a_packet(&mut self) -> bool {
        self.engine.forget(Packet::is_data)
    }

    /// For tests of threads: the nodes of a run on several change threads, between two steps.
    #[doc(hidden)]
    pub fn deal_at_random(&mut self, seed: u64) {
        self.engine.deal_at_random(seed);
    }

    /// For tests of the books: what one flow lost at one node for one reason is not counted. False if nothing was lost.
    #[doc(hidden)]
    pub fn forget_a_drop(&mut self) -> bool {
        let mut forgotten = false;
        self.engine.each_node(|_, node| forgotten = forgotten || node.ports_mut().forget_a_drop());
        forgotten
    }
}

/// How many steps towards the goal a flow that ends takes: it is over when its last packet has arrived and its last ACK, if there are any.
fn steps_of(index: u32, world: &World) -> u64 {
    if world.ack_of(index).is_some() { 2 } else { 1 }
}

fn build(node: u32, spec: &Spec, ends: &HostFlows, world: &World) -> FabricNode {
    let sampled = if spec.probe.sample.is_some() {
        spec.probe.ports.iter().filter(|(n, _)| *n == node).map(|(_, port)| *port).collect()
    } else {
        Vec::new()
    };
    let ports = Ports::new(node, &spec.network, sampled, world);
    match spec.network.nodes()[node as usize].role {
        Role::Host if spec.network.ports(node).len() > 1 => {
            FabricNode::Several(Box::new(Host::new(node, spec, ends, ports, world)))
        }
        Role::Host => FabricNode::Host(Box::new(Host::new(node, spec, ends, ports, world))),
        Role::Switch => FabricNode::Switch(Box::new(Switch::new(node, spec, ports, world))),
    }
}
