//! Random jobs over random fabrics, some of them after others: every engine and any number of threads tells the same story, and each job
//! begins when the one before has ended.
use backwater_fabric::{Gate, JobSpec, Kind, Spec};
use backwater_topology::generate;
use backwater_traffic::generate::{Groups, Job, JobPart, Skew};
use backwater_traffic::trace::{Algorithm, Op, append, sort_with};
use backwater_traffic::{Group, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::ideal;

use crate::fingerprint::{difference, fingerprint, of_copies, watch_all};

#[derive(Clone, Debug)]
struct Drawn {
    job: Job,
    /// Where the hosts of its ranks begin.
    first: u32,
    start: u64,
    /// How many jobs before it the one is that it waits for, and how much longer than it must.
    after: Option<(u16, u64)>,
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    leaves: u32,
    jobs: Vec<Drawn>,
}

const DELAY: Span = Span::from_ns(500);

impl Case {
    fn spec(&self) -> Spec {
        let network = generate::leaf_spine(self.leaves, 2, 3, Rate::from_gbps(40), None, DELAY);
        let network = network.expect("a network");
        let hosts = network.hosts().len() as u32;
        let (mut flows, mut steps, mut specs) = (Vec::new(), Vec::new(), Vec::new());
        for (id, drawn) in (0u16..).zip(&self.jobs) {
            let at: Vec<u32> = (0..hosts).map(|host| (drawn.first + host) % hosts).collect();
            let after = drawn.after.and_then(|(before, longer)| Some((id.checked_sub(before)?, longer)));
            let gate = after.map(|(after, longer)| Gate { after, delay: DELAY * 2 + Span::from_ps(longer) });
            let start = if gate.is_some() { Time::ZERO } else { Time::from_ps(drawn.start) };
            let group = Group { id, priority: 3, pacing: Pacing::Controlled, start };
            let (own, own_steps) = drawn.job.program(id, self.seed).on(&at, &group);
            append(&mut steps, own_steps, flows.len() as u32);
            flows.extend(own);
            specs.push(JobSpec { group: id, start, gate });
        }
        sort_with(&mut flows, &mut steps, &mut []);
        let mut spec = Spec { steps, jobs: specs, ..ideal(network, flows) };
        spec.seed = self.seed;
        watch_all(&mut spec);
        spec
    }
}

fn groups() -> impl Strategy<Value = Option<Groups>> {
    prop::sample::select(vec![None, Some((2, 1)), Some((2, 2)), Some((4, 1)), Some((3, 1))])
        .prop_map(|groups| groups.map(|(size, stride)| Groups { size, stride }))
}

/// All ranks together where groups leave some over.
fn fitting(part: JobPart, ranks: u32) -> JobPart {
    match part {
        JobPart::Collective { op, algorithm, bytes, experts, groups } => {
            let groups = groups.filter(|groups| u64::from(ranks).is_multiple_of(groups.span()));
            JobPart::Collective { op, algorithm, bytes, experts, groups }
        }
        part => part,
    }
}

fn part() -> impl Strategy<Value = JobPart> {
    let kinds = prop::sample::select(vec![
        (Op::Allreduce, Algorithm::Ring),
        (Op::Allreduce, Algorithm::HalvingDoubling),
        (Op::Allreduce, Algorithm::Binomial),
        (Op::Alltoall, Algorithm::Linear),
        (Op::Bcast, Algorithm::Binomial),
    ]);
    prop_oneof![
        2 => (0u64..20_000).prop_map(|ns| JobPart::Compute(Span::from_ns(ns))),
        3 => (kinds, 1u64..40_000, groups()).prop_map(|((op, algorithm), bytes, groups)| JobPart::Collective {
            op,
            algorithm,
            bytes: Bytes::new(bytes),
            experts: None,
            groups,
        }),
        1 => (1u64..40_000).prop_map(|bytes| JobPart::Write(Bytes::new(bytes))),
        1 => (1u64..40_000).prop_map(|bytes| JobPart::Read(Bytes::new(bytes))),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let skew = (0u64..2_000_000, 0u64..20_000, any::<bool>());
    let program = (2u32..5, 1u32..4, prop::collection::vec(part(), 1..4), skew, 0u64..1_000);
    let job = program.prop_map(|(ranks, iterations, parts, (slower_ppm, later, drawn), latency)| Job {
        ranks,
        // The hosts behind those of the ranks.
        storage: vec![vec![ranks, ranks + 1]; parts.len()],
        parts: parts.into_iter().map(|part| fitting(part, ranks)).collect(),
        iterations,
        latency: Span::from_ns(latency),
        skew: Skew { ranks: vec![0], slower_ppm, later: Span::from_ns(later), drawn },
    });
    let after = prop::option::weighted(0.6, (1u16..3, 0u64..3_000_000));
    (job, 0u32..6, 0u64..30_000_000, after).prop_map(|(job, first, start, after)| Drawn {
        job,
        first,
        start,
        after,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn jobs_are_the_same_on_every_engine_and_begin_after_each_other(
        seed in any::<u64>(),
        leaves in 2u32..4,
        jobs in prop::collection::vec(drawn(), 1..5),
    ) {
        let case = Case { seed, leaves, jobs };
        let reference = fingerprint(case.spec(), Kind::Windows { threads: 1 }, None);
        let (_, records) = reference.as_ref().expect("every job ends");
        for kind in [Kind::Heap, Kind::Windows { threads: 2 }, Kind::Windows { threads: 3 }] {
            let other = fingerprint(case.spec(), kind, None);
            prop_assert_eq!(difference(&reference, &other, true), None, "{:?}", kind);
            prop_assert_eq!(&records.jobs, &other.expect("it ended before").1.jobs);
        }
        prop_assert_eq!(of_copies(&reference, case.spec(), seed, None), None);
        for job in case.spec().jobs {
            let of = |group: u16| records.jobs.iter().filter(move |record| record.group == group);
            let begin = of(job.group).map(|record| record.start).min().expect("it has ranks");
            let expected = match job.gate {
                Some(gate) => of(gate.after).map(|record| record.time).max().expect("it has ended") + gate.delay,
                None => job.start,
            };
            prop_assert_eq!(begin, expected);
        }
    }
}
