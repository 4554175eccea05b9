//! A job of ranks that goes through the same steps again and again: computing, collective operations, reading and writing storage.
use std::ops::Range;

use backwater_engine::stream;
use backwater_units::{Bytes, Span};

use super::collective::{Experts, Iterations};
use crate::program::{Op as Call, Rank};
use crate::stream::{SKEW, entity, exponential};
use crate::trace::{
    Algorithm, Collective, Dependency, Event, Finishes, MAX_FLOWS, Message, Op, Part, Parts, Program, Ranks,
    Ready, Step, Task, Trace,
};

/// One step of a job. A rank begins it when it is done with its part in the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JobPart {
    /// Every rank computes for so long.
    Compute(Span),
    /// All ranks do a collective operation, or each group of them does its own.
    Collective {
        /// What it does.
        op: Op,
        /// By which messages.
        algorithm: Algorithm,
        /// How much; see [`Op`].
        bytes: Bytes,
        /// An all-to-all that is uneven.
        experts: Option<Experts>,
        /// Who does it together; none: all ranks.
        groups: Option<Groups>,
    },
    /// Every rank writes so much to a storage host, and waits for its answer.
    Write(Bytes),
    /// Every rank asks a storage host for so much, and waits for it.
    Read(Bytes),
}

/// Groups of ranks: those whose numbers leave the same rest by `stride` and have the same quotient by `size * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Ranks of a group.
    pub size: u32,
    /// Distance between the ranks of a group.
    pub stride: u32,
}

impl Groups {
    /// So many ranks in a row are as many whole groups as `stride` says.
    pub fn span(self) -> u64 {
        u64::from(self.size) * u64::from(self.stride)
    }

    /// The ranks of each group of `ranks`, which [`Groups::span`] divides.
    pub fn members(self, ranks: u32) -> impl Iterator<Item = Vec<u32>> {
        let Self { size, stride } = self;
        let first = move |group: u32| group / stride * (size * stride) + group % stride;
        (0..ranks / size).map(move |group| (0..size).map(|place| first(group) + place * stride).collect())
    }
}

/// Ranks that are slower or later than the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skew {
    /// Which ones, sorted.
    pub ranks: Vec<u32>,
    /// What their computations take beside their time, in millionths of it.
    pub slower_ppm: u64,
    /// How much later they begin the job.
    pub later: Span,
    /// Whether both are means of exponential distributions, from which each rank and each of its computations has a draw of its own.
    pub drawn: bool,
}

impl Skew {
    /// How much later a rank of traffic entry `group` begins.
    pub fn later(&self, rank: u32, group: u16, seed: u64) -> Span {
        self.of(rank, self.later.as_ps() as f64, (group, u64::MAX), seed)
    }

    /// What a computation of a rank takes beside its `time`. It is the number `draw` of that rank.
    pub fn slower(&self, rank: u32, time: Span, group: u16, draw: u64, seed: u64) -> Span {
        self.of(rank, time.as_ps() as f64 * (self.slower_ppm as f64 * 1e-6), (group, draw), seed)
    }

    /// Makes a rank of a program slower and later.
    pub fn delay(&self, rank: &mut Rank, seed: u64) {
        let (group, number) = (rank.group, rank.number);
        rank.start = rank.start.saturating_add(self.later(number, group, seed));
        let slower = |(at, op): (u64, &Call)| match *op {
            Call::Compute(time) => Call::Compute(time + self.slower(number, time, group, at, seed)),
            op => op,
        };
        rank.ops = (0..).zip(rank.ops.iter()).map(slower).collect();
    }

    fn of(&self, rank: u32, mean: f64, (group, draw): (u16, u64), seed: u64) -> Span {
        if self.ranks.binary_search(&rank).is_err() || mean == 0.0 {
            return Span::ZERO;
        }
        let purpose = SKEW ^ draw.wrapping_add(1) << 32;
        let factor =
            if self.drawn { exponential(&mut stream(seed, purpose, entity(group, rank))) } else { 1.0 };
        Span::from_ps(libm::round(mean * factor) as u64)
    }
}

impl Program {
    /// The same as the program of a job: its ranks are as slow and late as `skew` says, whatever waits for nothing is started by a step,
    /// and a last step of each of the `ranks` says that it is done.
    #[must_use]
    pub fn of_job(mut self, ranks: u32, skew: &Skew, group: u16, seed: u64) -> Self {
        for (number, flow) in (0..).zip(&mut self.flows) {
            if let Some(delay) = flow.start.take() {
                let step = begins(flow.src, Vec::new(), delay);
                self.steps.push(Step { starts: vec![number], ..step });
            }
        }
        let mut ends: Vec<Vec<Event>> = vec![Vec::new(); ranks as usize];
        for (number, flow) in (0..).zip(&self.flows) {
            ends[flow.src as usize].push(Event::Sent(number));
            ends[flow.dst as usize].push(Event::Received(number));
        }
        for (number, step) in (0..).zip(&mut self.steps) {
            let rank = step.host;
            step.delay += skew.slower(rank, step.delay, group, u64::from(number), seed);
            if step.after.is_empty() {
                step.delay += skew.later(rank, group, seed);
            }
            ends[rank as usize].push(Event::Done(number));
        }
        for (host, after) in (0..).zip(ends) {
            let part = Some(Part { iteration: 0, step: 0, ends: Finishes::Job });
            self.steps.push(Step { part, ..begins(host, after, Span::ZERO) });
        }
        self
    }
}

/// A step of a rank that starts nothing and is a part of nothing.
const fn begins(rank: u32, after: Vec<Event>, delay: Span) -> Step {
    Step { host: rank, rank, group: 0, line: 0, after, delay, starts: Vec::new(), part: None }
}

/// Ranks and their program.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Ranks, at least 1; of a collective at least 2. All [`Groups`] divide them.
    pub ranks: u32,
    /// Storage hosts of each step that reads or writes: numbers from [`Job::ranks`] on; rank r has the one at place r, round and round.
    pub storage: Vec<Vec<u32>>,
    /// The steps of an iteration.
    pub parts: Vec<JobPart>,
    /// How often.
    pub iterations: u32,
    /// How long a rank is busy with a message that it has received before it goes on.
    pub latency: Span,
    /// Ranks that are slower or later.
    pub skew: Skew,
}

/// What a rank did last, and how long after that it goes on.
type Before = (Dependency, Span);

impl Job {
    /// Messages of all iterations.
    pub fn messages(&self) -> u64 {
        let of = |part: &JobPart| match part {
            JobPart::Compute(_) => 0,
            JobPart::Collective { op, algorithm, groups, .. } => {
                let size = self.size(*groups);
                algorithm.messages(*op, size.into()).saturating_mul((self.ranks / size).into())
            }
            JobPart::Write(_) | JobPart::Read(_) => 2 * u64::from(self.ranks),
        };
        self.parts.iter().map(of).fold(0, u64::saturating_add).saturating_mul(self.iterations.into())
    }

    /// Tokens that are drawn for uneven all-to-alls.
    pub fn tokens(&self) -> u64 {
        let of = |of: Iterations| of.tokens().saturating_mul((self.ranks / of.ranks).into());
        self.parts.iter().filter_map(|part| self.uneven(part)).map(of).fold(0, u64::saturating_add)
    }

    /// Ranks that do a collective together.
    fn size(&self, groups: Option<Groups>) -> u32 {
        groups.map_or(self.ranks, |groups| groups.size)
    }

    /// The messages between the ranks of traffic entry `group`, and between them and storage hosts, and what they wait for.
    ///
    /// # Panics
    /// If there are more than [`MAX_FLOWS`] messages.
    pub fn program(&self, group: u16, seed: u64) -> Program {
        assert!(self.messages() <= MAX_FLOWS, "too many messages for a program");
        let storage = self.storage.iter().flatten().max().map_or(self.ranks, |last| last + 1);
        let mut groups = vec![Ranks { id: 0, members: (0..self.ranks).collect() }];
        let together: Vec<Range<usize>> =
            self.parts.iter().map(|part| self.add_groups(part, &mut groups)).collect();
        let mut trace = Trace {
            ranks: storage.max(self.ranks),
            groups,
            messages: Vec::new(),
            collectives: Vec::new(),
            acts: Vec::new(),
            tasks: Vec::new(),
            parts: Parts::default(),
        };
        let first = |rank| (Dependency::Start, self.skew.later(rank, group, seed));
        let mut before: Vec<Before> = (0..self.ranks).map(first).collect();
        for iteration in 0..self.iterations {
            for (step, part) in (0..).zip(&self.parts) {
                let last = iteration + 1 == self.iterations && usize::from(step) + 1 == self.parts.len();
                let ends = if last { Finishes::Job } else { Finishes::Step };
                let at = Part { iteration, step, ends };
                let together = together[usize::from(step)].clone();
                self.add((part, together), at, &mut before, &mut trace, (group, seed));
            }
        }
        match trace.expand_with(self.latency) {
            Ok(program) => program,
            Err(error) => unreachable!("steps wait for the one before: {error}"),
        }
    }

    /// Adds the groups of ranks that do a step together, unless all do; returns their places in the list.
    fn add_groups(&self, part: &JobPart, groups: &mut Vec<Ranks>) -> Range<usize> {
        let JobPart::Collective { groups: Some(of), .. } = part else { return 0..1 };
        let first = groups.len();
        let named = (first as u64..).zip(of.members(self.ranks));
        groups.extend(named.map(|(id, members)| Ranks { id, members }));
        first..groups.len()
    }

    fn add(
        &self,
        (part, together): (&JobPart, Range<usize>),
        at: Part,
        before: &mut [Before],
        trace: &mut Trace,
        (group, seed): (u16, u64),
    ) {
        let number = u64::from(at.iteration) * self.parts.len() as u64 + u64::from(at.step);
        match *part {
            JobPart::Compute(time) => {
                for (rank, before) in (0..).zip(before) {
                    let delay = before.1 + time + self.skew.slower(rank, time, group, number, seed);
                    *before = (task(trace, rank, before.0, delay, at), Span::ZERO);
                }
            }
            JobPart::Collective { op, algorithm, bytes, .. } => {
                let uneven = self.uneven(part);
                for ranks in together {
                    let members = &trace.groups[ranks].members;
                    let join = |rank: &u32| {
                        let (after, delay) = before[*rank as usize];
                        Ready { after, delay, line: 0 }
                    };
                    let draw = |of: Iterations| of.uneven(number as u32, members, group, seed);
                    let done = trace.collectives.len() as u32;
                    trace.collectives.push(Collective {
                        id: done.into(),
                        op,
                        algorithm,
                        bytes,
                        uneven: uneven.map_or_else(Vec::new, draw),
                        group: ranks as u32,
                        root: 0,
                        joins: members.iter().map(join).collect(),
                        line: 0,
                    });
                    for rank in members {
                        before[*rank as usize] = (Dependency::Done(done), self.latency);
                    }
                    trace.parts.collectives.push(at);
                }
            }
            JobPart::Write(bytes) | JobPart::Read(bytes) => {
                let written = matches!(part, JobPart::Write(_));
                let hosts = &self.storage[usize::from(at.step)];
                for (rank, before) in (0..).zip(before) {
                    let host = hosts[rank as usize % hosts.len()];
                    // A message that waits for nothing would have no step that says whose it is.
                    let (after, delay) = match *before {
                        (Dependency::Start, delay) => {
                            let begun = Part { ends: Finishes::Nothing, ..at };
                            (task(trace, rank, Dependency::Start, delay, begun), Span::ZERO)
                        }
                        before => before,
                    };
                    let there = if written { bytes } else { Bytes::ZERO };
                    let back = if written { Bytes::ZERO } else { bytes };
                    let asked = message(trace, (rank, host), there, (after, delay), at);
                    let answer =
                        message(trace, (host, rank), back, (Dependency::Received(asked), self.latency), at);
                    let done = task(trace, rank, Dependency::Received(answer), Span::ZERO, at);
                    *before = (done, self.latency);
                }
            }
        }
    }

    /// What draws the sizes of an uneven all-to-all of a group.
    fn uneven(&self, part: &JobPart) -> Option<Iterations> {
        let JobPart::Collective { op, algorithm, bytes, experts: Some(experts), groups } = *part else {
            return None;
        };
        Some(Iterations {
            op,
            algorithm,
            ranks: self.size(groups),
            size: bytes,
            times: self.iterations,
            latency: self.latency,
            compute: Span::ZERO,
            experts: Some(experts),
        })
    }
}

fn task(trace: &mut Trace, rank: u32, after: Dependency, delay: Span, at: Part) -> Dependency {
    let after = if after == Dependency::Start { Vec::new() } else { vec![after] };
    trace.tasks.push(Task { id: trace.tasks.len() as u64, rank, after, delay, line: 0 });
    trace.parts.tasks.push(at);
    Dependency::Task(trace.tasks.len() as u32 - 1)
}

fn message(trace: &mut Trace, (src, dst): (u32, u32), bytes: Bytes, (after, delay): Before, at: Part) -> u32 {
    let ready = Ready { after, delay, line: 0 };
    trace.messages.push(Message { id: trace.messages.len() as u64, src, dst, bytes, ready });
    trace.parts.messages.push(at);
    trace.messages.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ranks: u32, iterations: u32, parts: Vec<JobPart>) -> Job {
        let storage = vec![Vec::new(); parts.len()];
        Job { ranks, storage, parts, iterations, latency: Span::from_ns(600), skew: Skew::default() }
    }

    const RING: JobPart = JobPart::Collective {
        op: Op::Allreduce,
        algorithm: Algorithm::Ring,
        bytes: Bytes::new(4000),
        experts: None,
        groups: None,
    };

    fn at(program: &Program, iteration: u32, step: u16, rank: u32) -> Vec<&Step> {
        let is = |it: &&Step| {
            it.rank == rank && it.part.is_some_and(|part| (part.iteration, part.step) == (iteration, step))
        };
        program.steps.iter().filter(is).collect()
    }

    #[test]
    fn every_message_and_every_end_is_named_by_iteration_step_and_rank() {
        let of = job(4, 2, vec![JobPart::Compute(Span::from_us(5)), RING]);
        let program = of.program(7, 1);
        assert_eq!(program.flows.len() as u64, of.messages());
        assert_eq!(of.messages(), 2 * 6 * 4);
        for (iteration, rank) in (0..2).flat_map(|iteration| (0..4).map(move |rank| (iteration, rank))) {
            // A rank computes once, and sends 2 (n - 1) messages of a ring.
            let computed = at(&program, iteration, 0, rank);
            assert_eq!(computed.len(), 1);
            assert_eq!(computed[0].ends(), Finishes::Step);
            let steps = at(&program, iteration, 1, rank);
            let sent: Vec<u32> = steps.iter().flat_map(|step| &step.starts).copied().collect();
            assert_eq!(sent.len(), 6);
            assert!(sent.iter().all(|flow| program.flows[*flow as usize].src == rank));
            let ends: Vec<Finishes> =
                steps.iter().map(|step| step.ends()).filter(|ends| *ends != Finishes::Nothing).collect();
            assert_eq!(ends, [if iteration == 1 { Finishes::Job } else { Finishes::Step }]);
        }
    }

    #[test]
    fn groups_are_neighbours_or_ranks_of_the_same_place() {
        let of = |size, stride, ranks| Groups { size, stride }.members(ranks).collect::<Vec<_>>();
        assert_eq!(of(4, 1, 8), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(of(2, 4, 8), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(of(2, 2, 8), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        // Data-parallel groups and stages of Megatron-LM with 2 tensor-parallel ranks and 4 stages among 16 (`initialize_model_parallel`).
        let (data, stages) = (of(2, 2, 16), of(4, 4, 16));
        assert_eq!(data[..4], [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(data[4..], [[8, 10], [9, 11], [12, 14], [13, 15]]);
        assert_eq!(stages, [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
        // By their definition: equal rest by the stride, equal quotient by both.
        for (size, stride) in [(2, 1), (3, 1), (2, 3), (3, 2), (6, 2), (2, 6), (12, 1)] {
            let key = |rank: u32| (rank % stride, rank / (size * stride));
            let mut seen: Vec<u32> = Vec::new();
            for group in of(size, stride, 12) {
                assert_eq!(group.len() as u32, size);
                assert!(group.is_sorted() && group.iter().all(|rank| key(*rank) == key(group[0])));
                seen.extend(group);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..12).collect::<Vec<_>>());
        }
    }

    fn among(part: JobPart, size: u32, stride: u32) -> JobPart {
        let JobPart::Collective { op, algorithm, bytes, experts, .. } = part else { return part };
        JobPart::Collective { op, algorithm, bytes, experts, groups: Some(Groups { size, stride }) }
    }

    #[test]
    fn each_group_is_a_ring_of_its_own_and_a_group_of_all_is_the_job() {
        let of = job(8, 2, vec![among(RING, 2, 2), RING, among(RING, 4, 1)]);
        let program = of.program(7, 1);
        // 2 (n - 1) messages of a rank: of 2, of 8 and of 4 ranks.
        assert_eq!(of.messages(), 2 * 8 * (2 + 14 + 6));
        assert_eq!(program.flows.len() as u64, of.messages());
        for step in program.steps.iter().filter(|step| !step.starts.is_empty()) {
            let (rank, part) = (step.rank, step.part.expect("every message is of a step"));
            let next = match part.step {
                0 => rank ^ 2,
                1 => (rank + 1) % 8,
                _ => rank / 4 * 4 + (rank + 1) % 4,
            };
            for flow in step.starts.iter().map(|flow| program.flows[*flow as usize]) {
                assert_eq!((flow.src, flow.dst), (rank, next), "{part:?}");
                assert_eq!(flow.bytes, Bytes::new(4000 / [2, 8, 4][usize::from(part.step)]));
            }
        }
        let all = job(8, 2, vec![JobPart::Compute(Span::from_us(5)), among(RING, 8, 1)]);
        assert_eq!(
            all.program(7, 1),
            job(8, 2, vec![JobPart::Compute(Span::from_us(5)), RING]).program(7, 1)
        );
    }

    #[test]
    fn each_group_of_experts_draws_its_own_tokens_and_loses_none() {
        let experts = Some(Experts { token: Bytes::new(1000), gini: 0.24 });
        let (op, algorithm, bytes) = (Op::Alltoall, Algorithm::Pairwise, Bytes::new(200_000));
        let part = |groups| JobPart::Collective { op, algorithm, bytes, experts, groups };
        let of = job(12, 1, vec![part(Some(Groups { size: 4, stride: 3 }))]);
        assert_eq!(of.tokens(), 12 * 200);
        // By the first rank of its group: what its members send each other, place by place.
        let mut sent = vec![Vec::new(); 3];
        for flow in of.program(0, 1).flows {
            assert_eq!(flow.src % 3, flow.dst % 3);
            sent[flow.src as usize % 3].push((flow.src / 3, flow.dst / 3, flow.bytes.get()));
        }
        assert!(sent.iter().all(|group| group.len() == 12));
        let of_rank = |group: &[(u32, u32, u64)], rank| -> u64 {
            group.iter().filter(|(from, ..)| *from == rank).map(|(.., bytes)| bytes).sum()
        };
        // All but what an expert keeps for itself.
        assert!(sent.iter().all(|group| (0..4).all(|rank| of_rank(group, rank) <= 200_000)));
        for group in &mut sent {
            group.sort_unstable();
        }
        assert!(sent[0] != sent[1] && sent[1] != sent[2] && sent[0] != sent[2]);
        // One group of all ranks is what they do without groups.
        let all = job(12, 1, vec![part(Some(Groups { size: 12, stride: 1 }))]);
        assert_eq!(all.program(0, 1), job(12, 1, vec![part(None)]).program(0, 1));
    }

    #[test]
    fn a_rank_computes_after_what_it_received_and_sends_at_once_after_what_it_computed() {
        let of = job(2, 2, vec![JobPart::Compute(Span::from_us(5)), RING]);
        let program = of.program(0, 1);
        assert_eq!(at(&program, 0, 0, 1)[0].delay, Span::from_us(5));
        assert_eq!(at(&program, 1, 0, 1)[0].delay, Span::from_us(5) + Span::from_ns(600));
        let begins = |step: &&&Step| step.starts.len() == 1;
        let first = at(&program, 0, 1, 1).iter().find(begins).map(|step| step.delay);
        assert_eq!(first, Some(Span::ZERO));
    }

    #[test]
    fn only_stragglers_are_slower_and_exactly_by_their_factor() {
        let skew = Skew { ranks: vec![1, 3], slower_ppm: 200_000, later: Span::from_us(7), drawn: false };
        let of = Job { skew, ..job(4, 2, vec![JobPart::Compute(Span::from_us(10)), RING]) };
        let program = of.program(0, 1);
        let delay = |iteration, rank| at(&program, iteration, 0, rank)[0].delay;
        assert_eq!([delay(0, 0), delay(0, 1)], [Span::from_us(10), Span::from_us(12 + 7)]);
        let latency = Span::from_ns(600);
        assert_eq!([delay(1, 2), delay(1, 3)], [Span::from_us(10) + latency, Span::from_us(12) + latency]);
    }

    #[test]
    fn drawn_skew_has_its_mean_and_another_draw_for_each_rank_iteration_and_seed() {
        let ranks: Vec<u32> = (0..5000).collect();
        let skew = Skew { ranks, slower_ppm: 100_000, later: Span::from_us(3), drawn: true };
        let time = Span::from_us(100);
        let mean =
            (0..5000).map(|rank| skew.slower(rank, time, 0, 4, 1).as_ps() as f64).sum::<f64>() / 5000.0;
        // The mean of an exponential distribution is its standard deviation: 1.4 % of 5000 draws, three of them.
        assert!((mean * 1e-6 - 10.0).abs() < 0.43, "{mean}");
        let one = skew.slower(7, time, 0, 4, 1);
        assert_eq!(one, skew.slower(7, time, 0, 4, 1));
        for other in
            [skew.slower(8, time, 0, 4, 1), skew.slower(7, time, 0, 5, 1), skew.slower(7, time, 0, 4, 2)]
        {
            assert_ne!(one, other);
        }
        assert_ne!(skew.later(7, 0, 1), skew.later(8, 0, 1));
    }

    #[test]
    fn storage_gets_what_is_written_and_sends_what_is_read_with_an_answer_and_a_question_of_a_byte() {
        let parts = vec![JobPart::Write(Bytes::new(900)), JobPart::Read(Bytes::new(700))];
        let storage = vec![vec![3, 4], vec![4]];
        let of = Job { storage, ..job(3, 1, parts) };
        let mut sent: Vec<_> =
            of.program(0, 1).flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes.get())).collect();
        sent.sort_unstable();
        let written = [(0, 3, 900), (1, 4, 900), (2, 3, 900), (3, 0, 1), (4, 1, 1), (3, 2, 1)];
        let read = [(0, 4, 1), (1, 4, 1), (2, 4, 1), (4, 0, 700), (4, 1, 700), (4, 2, 700)];
        let mut expected = [written, read].concat();
        expected.sort_unstable();
        assert_eq!(sent, expected);
    }
}
