//! Jobs: hosts a and b, one link of 40 Gbps and 1 us, 1000 B take 200 ns. A ring all-reduce of 2000 B among both is two rounds of 1000 B:
//! 1.2 us each, and 600 ns of a host between them: 3 us.
use backwater_fabric::record::JobRecord;
use backwater_fabric::{Gate, JobSpec, Spec};
use backwater_traffic::generate::{Job, JobPart, Skew};
use backwater_traffic::program::{Costs, Op as Call, Programs, Rank};
use backwater_traffic::trace::{Algorithm, Op, append, sort_with};
use backwater_traffic::{Group, Pacing};
use backwater_units::{Bytes, Span, Time};
use scene::{chain, ideal, ns, run};

use crate::link;

const COMPUTE: JobPart = JobPart::Compute(Span::from_us(5));
const REDUCE: JobPart = JobPart::Collective {
    op: Op::Allreduce,
    algorithm: Algorithm::Ring,
    bytes: Bytes::new(2000),
    experts: None,
    groups: None,
};

fn job(iterations: u32, skew: Skew) -> Job {
    let (parts, storage) = (vec![COMPUTE, REDUCE], vec![Vec::new(); 2]);
    Job { ranks: 2, storage, parts, iterations, latency: Span::from_ns(600), skew }
}

/// Jobs one after the other: the first at its start, each other one 10 us after the end of the one before.
fn scene(jobs: &[Job], start: Time) -> Spec {
    let (mut flows, mut steps, mut specs) = (Vec::new(), Vec::new(), Vec::new());
    for (id, job) in (0..).zip(jobs) {
        let start = if id == 0 { start } else { Time::ZERO };
        let group = Group { id, priority: 3, pacing: Pacing::LineRate, start };
        let (own, own_steps) = job.program(id, 1).on(&[0, 1], &group);
        append(&mut steps, own_steps, flows.len() as u32);
        flows.extend(own);
        let gate = id.checked_sub(1).map(|after| Gate { after, delay: Span::from_us(10) });
        specs.push(JobSpec { group: id, start, gate });
    }
    sort_with(&mut flows, &mut steps, &mut []);
    Spec { steps, jobs: specs, ..ideal(chain(&[link(40)]), flows) }
}

/// (job, rank, iteration, step, begin and end in nanoseconds), sorted.
fn told(spec: Spec) -> Vec<(u16, u32, u32, u16, u64, u64)> {
    let ns = |time: Time| time.as_ps() / 1000;
    let one = |r: &JobRecord| (r.group, r.rank, r.iteration, r.step, ns(r.start), ns(r.time));
    let mut told: Vec<_> = run(spec).records.jobs.iter().map(one).collect();
    told.sort_unstable();
    told
}

#[test]
fn a_step_takes_its_computation_and_its_collective() {
    let expected = [
        (0, 0, 0, 0, 70, 5_070),
        (0, 0, 0, 1, 5_070, 8_070),
        (0, 0, 1, 0, 8_070, 13_670),
        (0, 0, 1, 1, 13_670, 16_670),
    ];
    let both = expected.into_iter().chain(expected.map(|(job, _, i, s, from, to)| (job, 1, i, s, from, to)));
    assert_eq!(told(scene(&[job(2, Skew::default())], ns(70))), both.collect::<Vec<_>>());
}

#[test]
fn a_straggler_delays_the_end_by_exactly_its_skew() {
    let end = |skew: Skew| told(scene(&[job(1, skew)], Time::ZERO)).iter().map(|row| row.5).max();
    let skew = |slower_ppm, later| Skew { ranks: vec![1], slower_ppm, later, drawn: false };
    assert_eq!(end(Skew::default()), Some(8_000));
    assert_eq!(end(skew(200_000, Span::ZERO)), Some(9_000), "5 us are 6 us");
    assert_eq!(end(skew(0, Span::from_ns(750))), Some(8_750));
}

#[test]
fn a_job_begins_when_the_last_rank_of_another_has_ended_and_the_scheduler_has_told_it() {
    let skew = Skew { ranks: vec![1], slower_ppm: 200_000, later: Span::ZERO, drawn: false };
    let rows = told(scene(&[job(1, skew), job(1, Skew::default()), job(1, Skew::default())], Time::ZERO));
    let of = |job| rows.iter().filter(move |row| row.0 == job);
    assert_eq!(of(0).map(|row| row.5).max(), Some(9_000));
    assert_eq!(of(1).map(|row| row.4).min(), Some(19_000));
    assert_eq!(of(1).map(|row| row.5).max(), Some(27_000));
    assert_eq!(
        of(2).map(|row| (row.4, row.5)).collect::<Vec<_>>()[..2],
        [(37_000, 42_000), (42_000, 45_000)]
    );
}

#[test]
fn ranks_of_a_program_begin_after_a_job_and_a_job_after_them() {
    // 0: steps, 8 us; 1: two ranks of a program that compute 4 us; 2: steps again.
    let mut spec = scene(&[job(1, Skew::default()), job(1, Skew::default())], Time::ZERO);
    for step in spec.steps.iter_mut().filter(|step| step.group == 1) {
        step.group = 2;
    }
    spec.flows.iter_mut().filter(|flow| flow.group == 1).for_each(|flow| flow.group = 2);
    let gate = |after| Some(Gate { after, delay: Span::from_us(10) });
    spec.jobs = vec![
        JobSpec { group: 0, start: Time::ZERO, gate: None },
        JobSpec { group: 1, start: Time::ZERO, gate: gate(0) },
        JobSpec { group: 2, start: Time::ZERO, gate: gate(1) },
    ];
    let half = Span::from_ns(300);
    let costs =
        Costs { send: half, receive: half, eager: Bytes::new(1000), control: Bytes::new(16), local: half };
    let rank = |number: u32| Rank {
        host: number,
        group: 1,
        number,
        role: 0,
        costs: 0,
        start: Time::from_ps(u64::from(number) * 1_000_000),
        ops: [Call::Compute(Span::from_us(4))].into(),
        lines: None,
    };
    let (ranks, roles) = (vec![rank(0), rank(1)], vec!["rank".to_owned()]);
    spec.programs = Programs { ranks, costs: vec![costs], roles, ..Programs::default() };
    let rows = told(spec);
    // The second rank begins 1 us later.
    let program: Vec<_> = rows.iter().filter(|row| row.0 == 1).map(|row| (row.1, row.4, row.5)).collect();
    assert_eq!(program, [(0, 18_000, 22_000), (1, 18_000, 23_000)]);
    assert_eq!(rows.iter().filter(|row| row.0 == 2).map(|row| row.4).min(), Some(33_000));
}
