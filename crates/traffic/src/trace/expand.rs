//! From records to flows and steps.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Span, Time};

use super::collective::{Parts, Rounds, Sent};
use super::label::{Finishes, Part};
use super::steps::{Event, Step};
use super::{Collective, Dependency, Trace};
use crate::flow::{Flow, Group};
use crate::read::LineError;

/// A flow between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The rank that sends.
    pub src: u32,
    /// The rank that receives.
    pub dst: u32,
    /// Payload, at least 1 B.
    pub bytes: Bytes,
    /// So long after the start of the traffic entry; `None`: a step starts it.
    pub start: Option<Span>,
}

/// A trace without collectives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// What is sent, between ranks.
    pub flows: Vec<Planned>,
    /// What starts it, at ranks.
    pub steps: Vec<Step>,
}

#[cfg(test)]
impl Program {
    /// The same without the lines that its steps stand on.
    pub(crate) fn without_lines(mut self) -> Self {
        self.steps.iter_mut().for_each(|step| step.line = 0);
        self
    }
}

impl Program {
    /// Flows of a traffic entry and their steps, with rank r at host `hosts[r]`.
    ///
    /// # Panics
    /// If there are fewer hosts than ranks.
    pub fn on(self, hosts: &[u32], group: &Group) -> (Vec<Flow>, Vec<Step>) {
        let flow = |planned: &Planned| {
            let (src, dst) = (hosts[planned.src as usize], hosts[planned.dst as usize]);
            let start = planned.start.map_or(Time::MAX, |after| group.start.saturating_add(after));
            group.flow(src, dst, planned.bytes, start)
        };
        let flows = self.flows.iter().map(flow).collect();
        let mut steps = self.steps;
        for step in &mut steps {
            step.host = hosts[step.host as usize];
            step.group = group.id;
            if step.after.is_empty() {
                step.delay = group.start.saturating_add(step.delay).since(Time::ZERO);
            }
        }
        (flows, steps)
    }
}

/// A program in the making.
#[derive(Default)]
pub(super) struct Build {
    program: Program,
    /// Line of the record that each step belongs to.
    lines: Vec<usize>,
    line: usize,
    part: Option<Part>,
    /// Between the last message that a rank waits for and its own within a collective.
    latency: Span,
}

impl Build {
    /// What is added belongs to this line.
    pub(super) fn at_line(&mut self, line: usize) {
        self.line = line;
    }

    /// What is added is this part, and ends nothing; what it would end is returned.
    fn at_part(&mut self, part: Option<&Part>) -> Finishes {
        self.part = part.map(|part| Part { ends: Finishes::Nothing, ..*part });
        part.map_or(Finishes::Nothing, |part| part.ends)
    }

    /// What the rank of a step is done with then.
    fn ends(&mut self, step: u32, ends: Finishes) {
        if let Some(part) = &mut self.program.steps[step as usize].part {
            part.ends = ends;
        }
    }

    /// Whether a step is of the part that is at hand.
    fn is_at_part_of(&self, step: u32) -> bool {
        let place = |part: Option<Part>| part.map(|part| (part.iteration, part.step));
        place(self.part) == place(self.program.steps[step as usize].part)
    }

    pub(super) fn step(&mut self, rank: u32, after: Vec<Event>, delay: Span) -> u32 {
        let (line, starts, part) = (self.line as u32, Vec::new(), self.part);
        self.program.steps.push(Step { host: rank, rank, group: 0, line, after, delay, starts, part });
        self.lines.push(self.line);
        self.program.steps.len() as u32 - 1
    }

    /// A flow that a step starts.
    pub(super) fn start(&mut self, step: u32, dst: u32, bytes: u64) -> u32 {
        let number = self.program.flows.len() as u32;
        let step = &mut self.program.steps[step as usize];
        step.starts.push(number);
        let (src, bytes) = (step.host, Bytes::new(bytes.max(1)));
        self.program.flows.push(Planned { src, dst, bytes, start: None });
        number
    }

    /// How long a rank is busy after these before it sends.
    fn busy(&self, after: &[Event]) -> Span {
        let received = after.iter().any(|event| matches!(event, Event::Received(_)));
        if received { self.latency } else { Span::ZERO }
    }

    /// A flow that starts when all of `after` have happened at its source.
    pub(super) fn send(&mut self, src: u32, dst: u32, bytes: u64, after: &[Event]) -> u32 {
        let step = match after {
            [] => {
                let (number, start) = (self.program.flows.len() as u32, Some(Span::ZERO));
                self.program.flows.push(Planned { src, dst, bytes: Bytes::new(bytes.max(1)), start });
                return number;
            }
            [Event::Done(step)] => *step,
            _ => self.step(src, after.to_vec(), self.busy(after)),
        };
        self.start(step, dst, bytes)
    }
}

/// A collective as flows and steps: for each member what must have happened before it goes on.
pub(super) struct Taken<'a> {
    pub(super) build: &'a mut Build,
    pub(super) members: &'a [u32],
    pub(super) at: Vec<Vec<Event>>,
}

impl Rounds for Taken<'_> {
    fn exchange(&mut self, sends: &[Sent]) {
        let mut send = |(from, to, bytes): Sent| {
            self.build.send(self.members[from], self.members[to], bytes, &self.at[from])
        };
        let flows: Vec<u32> = sends.iter().map(|sent| send(*sent)).collect();
        for (&(from, ..), flow) in sends.iter().zip(&flows) {
            // What it waited for before is past.
            self.at[from] = vec![Event::Sent(*flow)];
        }
        for (&(_, to, _), flow) in sends.iter().zip(&flows) {
            self.at[to].push(Event::Received(*flow));
        }
    }

    /// What a member posts starts a picosecond after each other: so the NIC takes it in this order.
    fn flood(&mut self, sends: impl Iterator<Item = Sent> + Clone) {
        let n = self.members.len();
        let (mut happened, mut posted) = (vec![Vec::new(); n], vec![0; n]);
        for (from, to, bytes) in sends {
            let delay = self.build.busy(&self.at[from]) + Span::from_ps(posted[from]);
            posted[from] += 1;
            let step = self.build.step(self.members[from], self.at[from].clone(), delay);
            let flow = self.build.start(step, self.members[to], bytes);
            happened[from].push(Event::Sent(flow));
            happened[to].push(Event::Received(flow));
        }
        self.at = happened;
    }
}

impl Trace {
    /// The trace as flows and steps between ranks.
    ///
    /// # Errors
    /// Records that never become ready because they wait for each other.
    pub fn expand(&self) -> Result<Program, LineError> {
        self.expand_with(Span::ZERO)
    }

    /// The same with a time for which a rank is busy with a message that it has received in a collective, before it sends the one
    /// that waits for it.
    ///
    /// # Errors
    /// Records that never become ready because they wait for each other.
    pub fn expand_with(&self, latency: Span) -> Result<Program, LineError> {
        let mut build = Build { latency, ..Build::default() };
        // The flow of message m is flow m; what collectives send comes after.
        for message in &self.messages {
            let (src, dst, bytes) = (message.src, message.dst, Bytes::new(message.bytes.get().max(1)));
            let start = (message.ready.after == Dependency::Start).then_some(message.ready.delay);
            build.program.flows.push(Planned { src, dst, bytes, start });
        }
        let steps = Steps::new(self, &mut build);
        for (number, task) in self.tasks.iter().enumerate() {
            let events = task.after.iter().filter_map(|after| steps.event(self, *after, task.rank));
            build.program.steps[steps.tasks as usize + number].after = events.collect();
        }
        for (number, collective) in self.collectives.iter().enumerate() {
            self.take_apart(number, collective, &steps, &mut build);
        }
        for (number, message) in (0..).zip(&self.messages) {
            let Some(event) = steps.event(self, message.ready.after, message.src) else { continue };
            build.line = message.ready.line;
            build.at_part(self.parts.messages.get(number as usize));
            let step = match event {
                // The task starts it by itself.
                Event::Done(step) if message.ready.delay == Span::ZERO && build.is_at_part_of(step) => step,
                _ => build.step(message.src, vec![event], message.ready.delay),
            };
            build.program.steps[step as usize].starts.push(number);
        }
        build.at_part(None);
        self.carry_out(&mut build)?;
        build.check()?;
        Ok(build.program)
    }

    fn take_apart(&self, number: usize, collective: &Collective, steps: &Steps, build: &mut Build) {
        let members = &self.groups[collective.group as usize].members;
        let joins = (0..members.len()).map(|member| steps.join(number, member));
        for (member, (join, ready)) in joins.clone().zip(&collective.joins).enumerate() {
            let after = steps.event(self, ready.after, members[member]);
            build.program.steps[join as usize].after = after.into_iter().collect();
        }
        build.line = collective.line;
        build.at_part(self.parts.collectives.get(number));
        let at = joins.map(|join| vec![Event::Done(join)]).collect();
        let (bytes, root) = (collective.bytes.get(), collective.root as usize);
        let mut taken = Taken { build, members, at };
        let (n, uneven) = (members.len(), &collective.uneven[..]);
        let mut parts = Parts { rounds: &mut taken, n, bytes, uneven, root };
        parts.run(collective.op, collective.algorithm);
        for (member, after) in std::mem::take(&mut taken.at).into_iter().enumerate() {
            build.program.steps[steps.end(number, member) as usize].after = after;
        }
    }
}

/// Two steps for each member of each collective: when it joins, and when it has done its part; then one for each task.
struct Steps {
    /// Step of the first task.
    tasks: u32,
    /// First step of each collective.
    first: Vec<u32>,
    /// The member that a rank is, by group.
    member: Vec<BTreeMap<u32, usize>>,
}

impl Steps {
    fn new(trace: &Trace, build: &mut Build) -> Self {
        let member =
            |group: &super::Ranks| group.members.iter().zip(0..).map(|(rank, at)| (*rank, at)).collect();
        let mut first = Vec::with_capacity(trace.collectives.len());
        for (number, collective) in trace.collectives.iter().enumerate() {
            let ends = build.at_part(trace.parts.collectives.get(number));
            first.push(build.program.steps.len() as u32);
            let members = &trace.groups[collective.group as usize].members;
            for (rank, ready) in members.iter().zip(&collective.joins) {
                build.line = if ready.line > 0 { ready.line } else { collective.line };
                build.step(*rank, Vec::new(), ready.delay);
                let end = build.step(*rank, Vec::new(), Span::ZERO);
                build.ends(end, ends);
            }
        }
        let tasks = build.program.steps.len() as u32;
        for (number, task) in trace.tasks.iter().enumerate() {
            build.line = task.line;
            let ends = build.at_part(trace.parts.tasks.get(number));
            let step = build.step(task.rank, Vec::new(), task.delay);
            build.ends(step, ends);
        }
        build.part = None;
        Self { tasks, first, member: trace.groups.iter().map(member).collect() }
    }

    fn join(&self, collective: usize, member: usize) -> u32 {
        self.first[collective] + 2 * member as u32
    }

    fn end(&self, collective: usize, member: usize) -> u32 {
        self.join(collective, member) + 1
    }

    /// What a record at `rank` waits for.
    fn event(&self, trace: &Trace, after: Dependency, rank: u32) -> Option<Event> {
        match after {
            Dependency::Start => None,
            Dependency::Sent(message) => Some(Event::Sent(message)),
            Dependency::Acked(message) => Some(Event::Acked(message)),
            Dependency::Received(message) => Some(Event::Received(message)),
            Dependency::Task(task) => Some(Event::Done(self.tasks + task)),
            Dependency::Done(number) => {
                let group = trace.collectives[number as usize].group as usize;
                Some(Event::Done(self.end(number as usize, self.member[group][&rank])))
            }
        }
    }
}

impl Build {
    /// Carries out everything in a network without any delay: what is left waits for itself.
    fn check(&self) -> Result<(), LineError> {
        let (flows, steps) = (&self.program.flows, &self.program.steps);
        // Steps that wait for a flow or a step, by what they wait for.
        let mut waiting: Vec<(bool, u32, u32)> = Vec::new();
        for (number, step) in (0..).zip(steps) {
            waiting.extend(step.after.iter().map(|event| match event {
                Event::Sent(flow) | Event::Acked(flow) | Event::Received(flow) => (true, *flow, number),
                Event::Done(step) => (false, *step, number),
            }));
        }
        waiting.sort_unstable();
        let mut missing: Vec<usize> = steps.iter().map(|step| step.after.len()).collect();
        let ready = (0..flows.len() as u32).filter(|flow| flows[*flow as usize].start.is_some());
        let mut happened: Vec<(bool, u32)> = ready.map(|flow| (true, flow)).collect();
        let idle = (0..steps.len() as u32).filter(|step| missing[*step as usize] == 0);
        let mut done: Vec<u32> = idle.collect();
        loop {
            if let Some(step) = done.pop() {
                happened.push((false, step));
                happened.extend(steps[step as usize].starts.iter().map(|flow| (true, *flow)));
            } else if let Some((is_flow, number)) = happened.pop() {
                let from = waiting.partition_point(|(f, n, _)| (*f, *n) < (is_flow, number));
                let same = waiting[from..].iter().take_while(|(f, n, _)| (*f, *n) == (is_flow, number));
                for (.., step) in same {
                    missing[*step as usize] -= 1;
                    if missing[*step as usize] == 0 {
                        done.push(*step);
                    }
                }
            } else {
                break;
            }
        }
        let stuck = (0..steps.len()).filter(|step| missing[*step] > 0);
        let Some(line) = stuck.map(|step| self.lines[step]).min() else { return Ok(()) };
        let what = "never becomes ready: what it waits for waits, by way of other records, for itself; \
                    let one of them wait for something earlier";
        Err(LineError { line, what: what.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Op, Parts, Ranks, Ready};
    use super::*;

    /// One collective of `n` ranks that all join at the start; member 1 is the root where there is one.
    fn alone(op: Op, algorithm: Algorithm, n: u32, bytes: u64) -> Trace {
        let members: Vec<u32> = (0..n).collect();
        let joins = vec![Ready::AT_ONCE; n as usize];
        let bytes = Bytes::new(bytes);
        let (uneven, root) = (Vec::new(), 1 % n);
        let collective = Collective { id: 1, op, algorithm, bytes, uneven, group: 0, root, joins, line: 3 };
        let groups = vec![Ranks { id: 0, members }];
        Trace {
            ranks: n,
            groups,
            tasks: Vec::new(),
            messages: Vec::new(),
            collectives: vec![collective],
            acts: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// (from, to, bytes) of all messages, sorted.
    fn sent(op: Op, algorithm: Algorithm, n: u32, bytes: u64) -> Vec<(u32, u32, u64)> {
        let program = alone(op, algorithm, n, bytes).expand().expect("no circle");
        let mut sent: Vec<_> = program.flows.iter().map(|f| (f.src, f.dst, f.bytes.get())).collect();
        sent.sort_unstable();
        sent
    }

    const OPS: [Op; 9] = [
        Op::Barrier,
        Op::Bcast,
        Op::Reduce,
        Op::Allreduce,
        Op::Gather,
        Op::Scatter,
        Op::Allgather,
        Op::Alltoall,
        Op::ReduceScatter,
    ];

    #[test]
    fn every_algorithm_sends_as_many_messages_as_announced_and_comes_to_an_end() {
        for op in OPS {
            for algorithm in op.algorithms() {
                for n in (1..18).filter(|n| algorithm.does(op, *n as usize)) {
                    let trace = alone(op, *algorithm, n, 1000);
                    let flows = trace.expand().expect("no circle").flows;
                    assert_eq!(flows.len() as u64, trace.flows(), "{op:?} {algorithm:?} {n}");
                    assert!(flows.iter().all(|flow| flow.src != flow.dst));
                }
            }
        }
    }

    #[test]
    fn a_hierarchical_allreduce_sends_halves_to_the_neighbour_and_quarters_to_the_other_group() {
        // Groups {0, 1} and {2, 3}: 400 B in halves within, each half in two parts among those of a place, there and back.
        let within = |from, to| (from, to, 200);
        let among = |from, to| (from, to, 100);
        let mut expected: Vec<_> = [(0, 1), (1, 0), (2, 3), (3, 2)]
            .into_iter()
            .flat_map(|(from, to)| [within(from, to); 2])
            .chain([(0, 2), (2, 0), (1, 3), (3, 1)].into_iter().flat_map(|(from, to)| [among(from, to); 2]))
            .collect();
        expected.sort_unstable();
        assert_eq!(sent(Op::Allreduce, Algorithm::Hierarchical(2), 4, 400), expected);
    }

    #[test]
    fn a_hierarchical_reduce_scatter_and_all_gather_are_the_halves_of_the_allreduce() {
        for (n, group) in [(4, 2), (6, 3), (12, 4), (5, 1), (5, 5)] {
            let algorithm = Algorithm::Hierarchical(group);
            // An all-gather of what the reduce-scatter leaves to each.
            let mut halves = sent(Op::ReduceScatter, algorithm, n, 12_000);
            halves.extend(sent(Op::Allgather, algorithm, n, 12_000 / u64::from(n)));
            halves.sort_unstable();
            assert_eq!(halves, sent(Op::Allreduce, algorithm, n, 12_000), "{n} {group}");
        }
    }

    #[test]
    fn an_all_to_all_by_rails_hands_over_in_the_group_and_sends_one_message_to_each_other_group() {
        // Groups {0, 1} and {2, 3}: 0 hands to 1 what is for 1 and 3, and sends to 2 what is for it of 0 and 1.
        let mut expected: Vec<_> = [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (1, 3), (3, 1)]
            .map(|(from, to)| (from, to, 200))
            .into();
        expected.sort_unstable();
        assert_eq!(sent(Op::Alltoall, Algorithm::Hierarchical(2), 4, 100), expected);
        // What an uneven one hands over and sends on: bytes from 0 to 3 go by 1, and so on.
        let uneven: Vec<u64> = (0..16).map(|pair| 1 << pair).collect();
        let mut trace = alone(Op::Alltoall, Algorithm::Hierarchical(2), 4, 1);
        trace.collectives[0].uneven.clone_from(&uneven);
        let of = |from: u32, to: u32| uneven[(4 * from + to) as usize];
        let flows = trace.expand().expect("no circle").flows;
        let found = |from: u32, to: u32| {
            flows.iter().find(|flow| (flow.src, flow.dst) == (from, to)).map(|flow| flow.bytes.get())
        };
        assert_eq!(found(0, 1), Some(of(0, 1) + of(0, 3)));
        assert_eq!(found(1, 3), Some(of(0, 3) + of(1, 3)));
        assert_eq!(found(2, 0), Some(of(2, 0) + of(3, 0)));
    }

    #[test]
    fn groups_of_one_or_of_all_make_a_linear_all_to_all() {
        for n in [2, 3, 6] {
            let linear = sent(Op::Alltoall, Algorithm::Linear, n, 600);
            assert_eq!(sent(Op::Alltoall, Algorithm::Hierarchical(1), n, 600), linear);
            assert_eq!(sent(Op::Alltoall, Algorithm::Hierarchical(n), n, 600), linear);
        }
    }

    #[test]
    fn groups_of_one_or_of_all_are_a_ring() {
        for n in [2, 3, 6] {
            let ring = sent(Op::Allreduce, Algorithm::Ring, n, 6000);
            assert_eq!(sent(Op::Allreduce, Algorithm::Hierarchical(1), n, 6000), ring);
            assert_eq!(sent(Op::Allreduce, Algorithm::Hierarchical(n), n, 6000), ring);
        }
    }

    #[test]
    fn every_member_sends_the_least_that_an_allreduce_needs_whatever_the_groups() {
        // 2 (n - 1) / n of the size: 2 (g - 1) / g within, and 2 (k - 1) / k of a g-th among k groups.
        for (n, group) in [(4, 2), (6, 2), (6, 3), (12, 4)] {
            let algorithm = Algorithm::Hierarchical(group);
            let found = sent(Op::Allreduce, algorithm, n, 12_000);
            assert_eq!(found.len() as u64, algorithm.messages(Op::Allreduce, n.into()));
            for rank in 0..n {
                let sum: u64 = found.iter().filter(|(from, ..)| *from == rank).map(|(.., bytes)| bytes).sum();
                assert_eq!(sum, 2 * u64::from(n - 1) * 12_000 / u64::from(n), "{n} {group} {rank}");
            }
        }
    }

    #[test]
    fn a_binomial_broadcast_from_rank_1_of_four_goes_two_away_first() {
        // places 0 1 2 3 are the ranks 1 2 3 0: 0 -> 2, then 0 -> 1 and 2 -> 3
        assert_eq!(sent(Op::Bcast, Algorithm::Binomial, 4, 50), [(1, 2, 50), (1, 3, 50), (3, 0, 50)]);
        // what goes to place 2 is for 2 and 3
        assert_eq!(sent(Op::Scatter, Algorithm::Binomial, 4, 50), [(1, 2, 50), (1, 3, 100), (3, 0, 50)]);
        assert_eq!(sent(Op::Gather, Algorithm::Binomial, 4, 50), [(0, 3, 50), (2, 1, 50), (3, 1, 100)]);
    }

    #[test]
    fn a_ring_allreduce_moves_every_part_but_one_around_twice() {
        // 10 B in three parts of 3, 3 and 4 B; a rank sends all parts but one, twice
        let by_rank = |rank| {
            let all = sent(Op::Allreduce, Algorithm::Ring, 3, 10);
            assert!(all.iter().all(|(from, to, _)| *to == (from + 1) % 3));
            all.iter().filter(|(from, ..)| *from == rank).map(|(.., bytes)| *bytes).collect::<Vec<_>>()
        };
        // rank 0: parts 0, 2, then 1, 0; rank 1: 1, 0, then 2, 1; rank 2: 2, 1, then 0, 2
        assert_eq!([by_rank(0), by_rank(1), by_rank(2)], [[3, 3, 3, 4], [3, 3, 3, 4], [3, 3, 4, 4]]);
    }

    #[test]
    fn recursive_doubling_among_five_folds_the_fifth_into_the_second() {
        // 0 hands over to 1; 1, 2, 3, 4 double twice; 1 hands back to 0
        let expected = [
            (0, 1, 8),
            (1, 0, 8),
            (1, 2, 8),
            (1, 3, 8),
            (2, 1, 8),
            (2, 4, 8),
            (3, 1, 8),
            (3, 4, 8),
            (4, 2, 8),
            (4, 3, 8),
        ];
        assert_eq!(sent(Op::Allreduce, Algorithm::RecursiveDoubling, 5, 8), expected);
        assert_eq!(
            sent(Op::Allgather, Algorithm::RecursiveDoubling, 4, 8)[..2],
            [(0, 1, 8), (0, 2, 16)],
            "twice as much in the second round"
        );
    }

    #[test]
    fn a_message_of_a_collective_waits_only_for_what_happened_at_its_rank() {
        for op in OPS {
            for algorithm in op.algorithms().iter().filter(|algorithm| algorithm.does(op, 8)) {
                let program = alone(op, *algorithm, 8, 1000).expand().expect("no circle");
                for step in &program.steps {
                    assert!(step.starts.iter().all(|flow| program.flows[*flow as usize].src == step.host));
                    for event in &step.after {
                        let at = match event {
                            Event::Sent(flow) | Event::Acked(flow) => program.flows[*flow as usize].src,
                            Event::Received(flow) => program.flows[*flow as usize].dst,
                            Event::Done(step) => program.steps[*step as usize].host,
                        };
                        assert_eq!(at, step.host, "{op:?} {algorithm:?}");
                    }
                }
            }
        }
    }
}
