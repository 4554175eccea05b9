//! Iterations that are counted instead of simulated: where the state of one is that of an earlier one (`reuse/`).
//!
//! ```text
//!   simulated  ├──────────── i ────────────┤ alike ├── the rest, of which the last iterations ──┤
//!                    j ·····P····· i                 are left out: what is left ends as the last ones would
//!   the run    ├──────────── i ────────────┼─ P ─┼─ P ─┼─ ··· ─┼─ the rest, later by all of these ──┤
//! ```
//! The network is not moved in time. It goes on from where it stands with as many iterations less as are counted, all of which follow the
//! same way as the last ones of the whole run would, earlier by a whole number of periods. What it counts gets so many times what a period
//! has counted, and rows of what was counted are those of the period, later.
use std::collections::{BTreeSet, VecDeque};
use std::io::Result as Io;
use std::sync::Arc;

use backwater_control::detector::Detector;
use backwater_engine::{Limits, Processes, Stop, mix};
use backwater_units::{Bytes, Span, Time};
use borsh::BorshSerialize;

use crate::app::host_flows::HostFlows;
use crate::link::credits::Credits;
use crate::link::ports::LONGEST_RUN;
use crate::log::Records;
use crate::node::FabricNode;
use crate::packet::Packet;
use crate::record::{JobRecord, PortRecord};
use crate::reuse::laps::{AtHost, Laps};
use crate::reuse::relative;
use crate::simulation::look::Looks;
use crate::simulation::{Control, Course, End, Simulation, steps_of};
use crate::spec::{Clock, Spec};
use crate::violation::Violation;
use crate::world::World;

/// What became of the iterations of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reused {
    /// How many there are; 0 if it has none that are looked at.
    pub iterations: u32,
    /// How many of them were counted, not simulated.
    pub counted: u32,
    /// The first of these.
    pub first: u32,
    /// After how many iterations the state was the same again.
    pub period: u32,
    /// How long that took.
    pub takes: Span,
    /// Why none was, if none was.
    pub why: Option<String>,
}

/// What the network had counted at an instant.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    pub(super) events: u64,
    pub(super) packet_hops: u64,
    ports: Vec<PortRecord>,
}

/// Iterations that were counted: so many `times` those of the period before `first`.
pub(super) struct Counted {
    laps: Arc<Laps>,
    first: u32,
    period: u32,
    times: u32,
    takes: Span,
    /// When the period began and when it ended.
    tallies: [Counts; 2],
}

impl Counted {
    fn iterations(&self) -> u32 {
        self.period * self.times
    }

    fn later(&self) -> Span {
        self.takes * u64::from(self.times)
    }

    /// When the run ends, of which the part that was simulated ends at `now`.
    pub(super) fn end(&self, now: Time) -> Time {
        now + self.later()
    }

    /// The digest of what was simulated, with what was counted: it is no digest of a whole run.
    pub(super) fn digest(&self, simulated: u64) -> u64 {
        let which = u64::from(self.first) << 32 | u64::from(self.period);
        mix(mix(simulated, which, self.takes.as_ps()), u64::from(self.times), 0x5e05)
    }

    /// What was counted in all, of which so much was simulated.
    pub(super) fn sum(&self, simulated: u64, of: impl Fn(&Counts) -> u64) -> u64 {
        let [before, after] = &self.tallies;
        simulated + u64::from(self.times) * (of(after) - of(before))
    }

    /// The iteration that has the row of an iteration, and how much later it was.
    fn iteration(&self, of: u32) -> (u32, Span) {
        if of < self.first {
            (of, Span::ZERO)
        } else if of >= self.first + self.iterations() {
            (of - self.iterations(), self.later())
        } else {
            let (past, place) = ((of - self.first) / self.period, (of - self.first) % self.period);
            (self.first - self.period + place, self.takes * u64::from(past + 1))
        }
    }

    /// The flow that has the row of a flow, and how much later it was.
    pub(super) fn source(&self, flow: u32) -> (u32, Span) {
        let lap = self.laps.of_flow[flow as usize];
        let (iteration, later) = self.iteration(lap.iteration);
        (self.laps.flows[iteration as usize][lap.place as usize], later)
    }

    /// The rows of all iterations, of which `simulated` are those that were simulated.
    fn jobs(&self, simulated: Vec<JobRecord>) -> Vec<JobRecord> {
        let last = self.laps.iterations - self.iterations();
        let mut of = vec![Vec::new(); last as usize];
        for record in simulated {
            of[record.iteration as usize].push(record);
        }
        let rows = (0..self.laps.iterations).flat_map(|iteration| {
            let (source, later) = self.iteration(iteration);
            of[source as usize].iter().map(move |row| JobRecord {
                time: row.time + later,
                start: row.start + later,
                iteration,
                ..*row
            })
        });
        rows.collect()
    }

    /// What ports counted in all, of which so much was simulated. The largest queue is one of those of an iteration that was.
    pub(super) fn ports(&self, simulated: Vec<PortRecord>) -> Vec<PortRecord> {
        let [before, after] = &self.tallies;
        let times = u64::from(self.times);
        let span = |all: Span, from: Span, to: Span| all + (to - from) * times;
        let of = |((all, from), to): ((PortRecord, &PortRecord), &PortRecord)| {
            let count = |of: fn(&PortRecord) -> u64| of(&all) + times * (of(to) - of(from));
            PortRecord {
                packets: count(|it| it.packets),
                bytes: Bytes::new(count(|it| it.bytes.get())),
                pauses: count(|it| it.pauses),
                pauses_sent: count(|it| it.pauses_sent),
                paused: span(all.paused, from.paused, to.paused),
                ce_marks: count(|it| it.ce_marks),
                ue_marks: count(|it| it.ue_marks),
                dropped_packets: count(|it| it.dropped_packets),
                dropped_bytes: Bytes::new(count(|it| it.dropped_bytes.get())),
                in_state: std::array::from_fn(|at| {
                    span(all.in_state[at], from.in_state[at], to.in_state[at])
                }),
                ..all
            }
        };
        simulated.into_iter().zip(&before.ports).zip(&after.ports).map(of).collect()
    }
}

/// The iterations of a run that may be counted; why none may, if none may.
pub(super) fn laps(
    spec: &Spec,
    ends: &HostFlows,
    world: &World,
    processes: &dyn Processes,
) -> Result<Arc<Laps>, String> {
    let coarse = |detector: &Detector| matches!(detector, Detector::Tcd(tcd) if tcd.clock.as_ps() > 1);
    let probe = &spec.probe;
    let recorded = probe.sample.is_some()
        || world.marks
        || world.pauses
        || world.states
        || world.drops
        || world.deliveries
        || world.isolation_events
        || probe.dependencies
        || probe.blame.is_some()
        || !probe.frames.is_empty();
    let unfit = [
        (processes.count() > 1, "several processes share the run"),
        (recorded, "what is recorded event by event is not there for what is counted (probe)"),
        (!spec.faults.is_empty(), "faults have times of their own"),
        (
            spec.pairs.iter().any(|pair| pair.custom.is_some()),
            "functions of the user's see the time since the start",
        ),
        (spec.clock != Clock::Exact, "times that are cut to whole nanoseconds depend on when they are"),
        (world.early.is_some(), "early drops are drawn by time"),
        (world.telemetry, "what switches write into packets has times in it"),
        (world.notes_gates, "a watchdog looks at gates at times of its own"),
        (
            world.detectors.iter().any(coarse),
            "the detector has a clock of its own (switch.detector.tcd.truncate)",
        ),
    ];
    match unfit.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err((*why).to_owned()),
        None => Laps::new(spec, ends, world).map(Arc::new),
    }
}

/// What the network is when an iteration has begun.
struct State {
    bytes: Vec<u8>,
    /// The first iteration that it says something of.
    first: u32,
    untold: BTreeSet<&'static str>,
}

impl Simulation {
    /// The state of the network, relative to the present instant and to the iteration that has begun last; those before `first` are over.
    fn relative(&self, laps: &Arc<Laps>, first: u32, last: u32) -> Io<State> {
        let now = self.engine.now().as_ps();
        let asks = self.world.detectors.iter().any(Detector::wants_last_hold);
        // All that has begun may be over while ranks compute.
        let mut first = first.min(last);
        loop {
            let mut bytes = Vec::new();
            let (done, earliest, untold) = relative::written(now, (laps, last), asks, || {
                (last - first).serialize(&mut bytes)?;
                self.write_relative(laps, (first, last), &mut bytes)
            });
            done?;
            // What is over may still be spoken of: a notification is on its way back.
            if earliest >= first {
                return Ok(State { bytes, first, untold });
            }
            first = earliest;
        }
    }

    fn write_relative(&self, laps: &Laps, iterations: (u32, u32), out: &mut Vec<u8>) -> Io<()> {
        let nodes = self.engine.nodes();
        let sent = |node: u32| nodes[node as usize].ports().credits().map_or_else(Vec::new, Credits::sent);
        // What a node and the other ends of its links have sent, by port and class.
        let units = |node: u32| {
            let (own, classes) = (sent(node), usize::from(self.world.classes.count));
            let other = |at: usize| {
                let port = &self.network.ports(node)[at / classes];
                sent(port.peer).get(usize::from(port.peer_port) * classes + at % classes).copied()
            };
            let both = own.iter().enumerate().map(|(at, own)| (*own, other(at).unwrap_or_default()));
            both.collect::<Vec<_>>()
        };
        let mut messages: Vec<(u32, Packet)> = self.engine.messages();
        messages.sort_by_key(|(node, packet)| {
            (*node, packet.time, packet.kind.is_flow_control(), packet.port, packet.kind.index())
        });
        let mut messages = messages.iter().peekable();
        for (number, node) in (0..).zip(&nodes) {
            let host = self.network.host_index(number).map(|host| host as usize);
            relative::at(host, node.ports().pool().memory_of_packets(), units(number));
            match node {
                FabricNode::Switch(switch) => switch.relative(out)?,
                FabricNode::Host(host) => {
                    self.host_relative(number, laps, |of| host.relative(of, iterations, &self.world, out))?;
                }
                FabricNode::Several(host) => {
                    self.host_relative(number, laps, |of| host.relative(of, iterations, &self.world, out))?;
                }
            }
            while let Some((_, packet)) = messages.next_if(|(node, _)| *node == number) {
                (number, packet).serialize(out)?;
            }
        }
        Ok(())
    }

    fn host_relative(&self, node: u32, laps: &Laps, write: impl FnOnce(&AtHost) -> Io<()>) -> Io<()> {
        match self.network.host_index(node).and_then(|host| laps.hosts.get(host as usize)) {
            Some(of) => write(of),
            None => Ok(()),
        }
    }
}

/// States of iterations are kept while they take no more memory than this: those of the latest.
const KEPT: usize = 256 << 20;

/// The network is looked at so often in an iteration: how long the first one took says what that is.
const LOOKS: u64 = 8;
/// Looks in which no second iteration has begun, after which the next ones lie twice as far apart.
const PATIENCE: u32 = 16;

/// The state of an iteration, as it was so long after it had begun.
struct Seen {
    iteration: u32,
    at: u64,
    /// Finds those that may be alike.
    hash: u64,
    bytes: Vec<u8>,
    tally: Counts,
}

/// How far the search for two iterations has come.
struct Search {
    laps: Arc<Laps>,
    seen: VecDeque<Seen>,
    kept: usize,
    /// When iterations have begun, as far as that is known.
    begun: Vec<u64>,
    /// Iterations before this one are over.
    over: u32,
    /// So long after an iteration has begun its state is looked at; the run looks up as often.
    stride: u64,
    /// Looks before a second iteration has begun.
    idle: u32,
    untold: BTreeSet<&'static str>,
}

/// Two iterations that start from the same state.
struct Pair {
    period: u32,
    takes: u64,
    tallies: [Counts; 2],
    /// The later one.
    iteration: u32,
}

impl Simulation {
    /// Runs to the end as [`Self::step`] does, but that iterations that start from the same state are counted, not simulated. What the run
    /// reports is what it would have reported without that, but for [`Totals::digest`](crate::Totals::digest), which says what was
    /// simulated and what was counted, and for `peak_ingress`, which is looked at at the ends of windows.
    ///
    /// # Errors
    /// As [`Self::run`]; then there is no going on.
    pub fn run_reusing(
        &mut self,
        course: &mut Course,
        control: &Control<'_>,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Reused, Violation> {
        let laps = match self.laps.clone() {
            Some(Ok(laps)) => laps,
            other => {
                self.step(course, Time::MAX, control, sink)?;
                let why = other.and_then(Result::err);
                return Ok(Reused { iterations: 0, counted: 0, first: 0, period: 0, takes: Span::ZERO, why });
            }
        };
        // What ranks are done with is told when it is known of which iterations it is told again; nothing else is recorded.
        let mut records = Records::default();
        let mut keep = |some: &Records| {
            records.jobs.extend_from_slice(&some.jobs);
            Ok(())
        };
        let reused = self.reuse(&laps, course, control, &mut keep)?;
        self.hand_over(course, &mut keep)?;
        if let Some(counted) = &self.counted {
            records.jobs = counted.jobs(records.jobs);
        }
        records.sort();
        sink(&records).map_err(Violation::Sink)?;
        Ok(reused)
    }

    fn reuse(
        &mut self,
        laps: &Arc<Laps>,
        course: &mut Course,
        control: &Control<'_>,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Reused, Violation> {
        let none = |why: Option<String>| Reused {
            iterations: laps.iterations,
            counted: 0,
            first: 0,
            period: 0,
            takes: Span::ZERO,
            why,
        };
        let mut search = Search::new(laps, self.engine.grid().as_ps());
        let Some(pair) = self.search(&mut search, course, control, sink)? else {
            let interrupted = course.end() == Some(End::Interrupted);
            let why = if interrupted { "the run was interrupted".to_owned() } else { search.why() };
            return Ok(none(Some(why)));
        };
        // Nothing of the iterations that have begun may depend on what is left out.
        let begun = search.begun.len() as u32;
        let left = laps.iterations.saturating_sub(begun + 1);
        // A run that would last for too long does so, as it does without.
        let whole = u128::from(pair.takes) * u128::from(laps.iterations / pair.period + 1);
        let fits = u128::from(self.engine.now().as_ps()) + whole < u128::from(LONGEST_RUN);
        let times = if fits { left / pair.period } else { 0 };
        if times == 0 {
            self.step(course, Time::MAX, control, sink)?;
            let why = format!(
                "the state of iteration {} was the same as that of iteration {}, and too few are left, or they take too long",
                pair.iteration,
                pair.iteration - pair.period
            );
            return Ok(none(Some(why)));
        }
        let counted = Counted {
            laps: Arc::clone(laps),
            first: search.over,
            period: pair.period,
            times,
            takes: Span::from_ps(pair.takes),
            tallies: pair.tallies,
        };
        let last = laps.iterations - counted.iterations();
        self.leave_out(laps, last);
        if !self.run_to_the_end(&mut search, last, counted.later().as_ps(), course, control)? {
            return Ok(none(Some("the run was interrupted".to_owned())));
        }
        let reused = Reused {
            iterations: laps.iterations,
            counted: counted.iterations(),
            first: counted.first,
            period: counted.period,
            takes: counted.takes,
            why: None,
        };
        self.counted = Some(Arc::new(counted));
        Ok(reused)
    }

    /// Runs until two iterations were alike and all before the later one are over; `None`: until the run is over.
    fn search(
        &mut self,
        search: &mut Search,
        course: &mut Course,
        control: &Control<'_>,
        sink: &mut dyn FnMut(&Records) -> Result<(), String>,
    ) -> Result<Option<Pair>, Violation> {
        let mut pair: Option<Pair> = None;
        while self
            .step(course, Time::from_ps(search.next(self.engine.now().as_ps())), control, sink)?
            .is_none()
        {
            search.look(self);
            if pair.is_none() {
                pair = search.compare(self);
            }
            if let Some(pair) = pair.take_if(|pair| search.over >= pair.iteration) {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }

    /// The iterations from `last` on are left out.
    fn leave_out(&mut self, laps: &Laps, last: u32) {
        let hosts = self.network.hosts().to_vec();
        for (host, at) in hosts.into_iter().zip(&laps.hosts) {
            let Some(steps) = self.engine.node_mut(host).and_then(FabricNode::steps_mut) else { continue };
            for slot in at.steps[last as usize..].iter().flatten() {
                steps.hold_for_ever(*slot);
            }
        }
        // Whether it is over is looked at here: the engine would stop at the end of a window, which the whole run may not.
        self.goal = u64::MAX;
    }

    /// Runs to where the whole run ends, earlier by as much as what is counted takes. Whether it was not interrupted.
    fn run_to_the_end(
        &mut self,
        search: &mut Search,
        last: u32,
        later: u64,
        course: &mut Course,
        control: &Control<'_>,
    ) -> Result<bool, Violation> {
        let laps = Arc::clone(&search.laps);
        let grid = self.engine.grid().as_ps();
        loop {
            let now = self.engine.now().as_ps();
            // It may end sooner than it looks up: then it goes back to where it stands now.
            let stands = (search.begun.len() as u32 + 2 > last).then(|| self.clone());
            if !self.advance(now + search.stride, control)? {
                course.end = Some(End::Interrupted);
                return Ok(false);
            }
            search.look(self);
            if search.over < last {
                continue;
            }
            let end = (0..last).filter_map(|of| self.ended(&laps, of)).max().unwrap_or(now);
            let end = ((end + later) / grid + 1) * grid - later;
            if end < self.engine.now().as_ps()
                && let Some(stands) = stands
            {
                *self = stands;
            }
            let whole = self.advance(end, control)?;
            course.end = Some(if whole { End::Finished } else { End::Interrupted });
            return Ok(whole);
        }
    }

    /// Runs to `to`, whatever happens until then; false if it was interrupted.
    fn advance(&mut self, to: u64, control: &Control<'_>) -> Result<bool, Violation> {
        loop {
            let limits = Limits {
                pause: to,
                interrupt: control.interrupt,
                now: control.now,
                look: control.looks.map(Looks::wanted),
                ..Limits::default()
            };
            match self.engine.run(&self.world, &limits) {
                Stop::Look => {
                    let look = self.look();
                    control.looks.into_iter().for_each(|looks| looks.answer(look.clone()));
                }
                Stop::Failed => return Err(self.failure()),
                Stop::Interrupted => return Ok(false),
                _ => {
                    self.engine.pass_to(to);
                    return Ok(true);
                }
            }
        }
    }

    /// When an iteration has begun; `None`: not yet.
    fn began(&self, laps: &Laps, iteration: u32) -> Option<u64> {
        let of_host = |(number, at): (u32, &AtHost)| {
            let steps = self.host(number)?.steps()?;
            at.steps[iteration as usize].iter().map(|slot| steps.carried_out_at(*slot)).min()
        };
        let first = (0..).zip(&laps.hosts).filter_map(of_host).min();
        first.filter(|at| *at < u64::MAX)
    }

    /// When everything of an iteration was over; `None`: not yet.
    fn ended(&self, laps: &Laps, iteration: u32) -> Option<u64> {
        let flow = |number: &u32| {
            let flow = &self.world.flows[*number as usize];
            let sender = self.host(flow.src)?.sender(self.world.sender_slot[*number as usize]);
            let receiver =
                &self.host(flow.dst)?.receivers()[self.world.receiver_slot[*number as usize] as usize];
            let acked = if steps_of(*number, &self.world) == 2 { sender.acked_at() } else { 0 };
            Some(receiver.finish().max(acked)).filter(|at| *at < u64::MAX)
        };
        let step = |(number, at): (u32, &AtHost)| {
            let host = self.host(number)?;
            let Some(steps) = host.steps() else { return Some(0) };
            let last = at.steps[iteration as usize].iter().map(|slot| steps.carried_out_at(*slot)).max();
            Some(last.unwrap_or(0)).filter(|at| *at < u64::MAX)
        };
        let flows =
            laps.flows[iteration as usize].iter().map(flow).try_fold(0, |last, at| Some(last.max(at?)))?;
        (0..).zip(&laps.hosts).map(step).try_fold(flows, |last, at| Some(last.max(at?)))
    }

    fn tally(&self) -> Counts {
        Counts { events: self.engine.events(), packet_hops: self.packet_hops(), ports: self.ports() }
    }
}

impl Search {
    fn new(laps: &Arc<Laps>, grid: u64) -> Self {
        Self {
            laps: Arc::clone(laps),
            seen: VecDeque::new(),
            kept: 0,
            begun: Vec::new(),
            over: 0,
            stride: LOOKS * grid,
            idle: 0,
            untold: BTreeSet::new(),
        }
    }

    /// When to look up next: no later than the state of an iteration is to be looked at.
    fn next(&self, now: u64) -> u64 {
        let due = self.begun.last().map_or(u64::MAX, |begun| begun + self.stride);
        (now + self.stride).min(if due > now { due } else { u64::MAX })
    }

    /// Which iterations have begun, and which are over.
    fn look(&mut self, simulation: &Simulation) {
        let known = self.begun.len();
        while let iteration = self.begun.len() as u32
            && iteration < self.laps.iterations
            && let Some(at) = simulation.began(&self.laps, iteration)
        {
            self.begun.push(at);
        }
        if let ([first, second, ..], true) = (&*self.begun, known < 2) {
            // From now on it looks as often as the iterations take.
            self.stride = ((second - first) / LOOKS).max(1);
        } else if self.begun.len() < 2 {
            // Ranks may compute for long before the second one begins.
            self.idle += 1;
            if self.idle.is_multiple_of(PATIENCE) {
                self.stride = self.stride.saturating_mul(2);
            }
        }
        while self.over < self.begun.len() as u32 && simulation.ended(&self.laps, self.over).is_some() {
            self.over += 1;
        }
    }

    /// Looks at the state of the iteration that has begun last, if it is time: whether an earlier one had the same.
    fn compare(&mut self, simulation: &Simulation) -> Option<Pair> {
        let (now, last) = (simulation.engine.now().as_ps(), (self.begun.len() as u32).checked_sub(1)?);
        let due = self.begun.last().map(|begun| begun + self.stride);
        if due != Some(now) || self.over < self.laps.alike_from {
            return None;
        }
        let mut state = simulation.relative(&self.laps, self.over, last).ok()?;
        self.untold.append(&mut state.untold);
        if !self.untold.is_empty() || state.first < self.laps.alike_from {
            return None;
        }
        let hash = backwater_engine::hash(&state.bytes);
        let bytes = state.bytes;
        let alike = self.seen.iter().rev().find(|seen| seen.hash == hash && seen.bytes == bytes);
        let tally = simulation.tally();
        if let Some(seen) = alike {
            return Some(Pair {
                period: last - seen.iteration,
                takes: now - seen.at,
                tallies: [seen.tally.clone(), tally],
                iteration: last,
            });
        }
        self.kept += bytes.len() + size_of_val(&*tally.ports);
        self.seen.push_back(Seen { iteration: last, at: now, hash, bytes, tally });
        while self.kept > KEPT
            && let Some(oldest) = self.seen.pop_front()
        {
            self.kept -= oldest.bytes.len() + size_of_val(&*oldest.tally.ports);
        }
        None
    }

    /// Why no two iterations were found.
    fn why(&self) -> String {
        match self.untold.first() {
            Some(what) => format!("the state of {what} is not looked at"),
            None => "no two iterations started from the same state".to_owned(),
        }
    }
}
