//! Flows that are injected while a run stands are as if they had been its last ones from the beginning.
use backwater_engine::mix;
use backwater_fabric::{Completions, Control, Kind, Simulation, Spec, five_tuples};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::{Rate, Span, Time};
use proptest::prelude::*;
use scene::{FAST, authors, flow, red, try_in_steps, us};
use std::collections::BTreeMap;

use crate::draws::case;
use crate::fingerprint::{Fingerprint, difference, fingerprint, in_processes, of_saved, taken, watch_all};
use crate::puts_draws;

/// The scenario without its `late` flows.
fn without(mut spec: Spec, late: &[(Time, Flow)]) -> Spec {
    spec.flows.truncate(spec.flows.len() - late.len());
    if !spec.switch.hashes.is_empty() {
        spec.switch.hashes = five_tuples(&spec.network, spec.seed, &spec.flows);
    }
    spec
}

fn stops(late: &[(Time, Flow)]) -> Vec<(Time, Vec<Flow>)> {
    late.iter().map(|(at, flow)| (*at, vec![*flow])).collect()
}

/// What a run of it says into which these are injected at such instants.
fn injected(
    spec: Spec,
    late: &[(Time, Flow)],
    simulation: impl FnOnce(Spec) -> Simulation,
    until: Option<Time>,
) -> Fingerprint {
    let control = Control { until, ..Control::default() };
    taken(try_in_steps(simulation(without(spec, late)), &control, &stops(late)))
}

/// The same of a run that is saved after each injection.
fn saved(spec: Spec, late: &[(Time, Flow)], seed: u64, until: Option<Time>) -> Fingerprint {
    let control = Control { until, ..Control::default() };
    taken(of_saved(&without(spec, late), seed, 1, &control, &stops(late)))
}

proptest! {
    #[test]
    fn flows_that_are_injected_do_what_they_would_have_done_from_the_beginning(case in case()) {
        let draw = |i: usize| mix(case.seed, 0x143c, i as u64);
        let (mut spec, until) = (case.spec(), case.until());
        let is_apart = |(number, flow): &(usize, Flow)| {
            let ends = flow.known_size().is_some() && until.is_none_or(|until| flow.start < until);
            let is_used = spec.flows.iter().any(|other| other.priority == flow.priority && other.start < flow.start);
            ends && is_used && draw(*number).is_multiple_of(2)
        };
        let all = spec.flows.clone().into_iter().enumerate();
        let (late, early): (Vec<_>, Vec<_>) = all.partition(is_apart);
        // Priorities have queues where a flow has them that is not injected.
        let (mut late, mut early): (Vec<Flow>, Vec<Flow>) =
            (late.into_iter().map(|(_, flow)| flow).collect(), early.into_iter().map(|(_, flow)| flow).collect());
        let (used, unused) = late.into_iter().partition(|flow: &Flow| early.iter().any(|other| other.priority == flow.priority));
        (late, early) = (used, [early, unused].concat());
        early.sort_by_key(|flow| flow.start);
        let late: Vec<Flow> = late.into_iter().map(|flow| Flow { connection: OWN_CONNECTION, ..flow }).collect();
        let known = early.len();
        spec.flows = [early, late.clone()].concat();
        watch_all(&mut spec);
        let reference = fingerprint(spec.clone(), FAST, until);
        if reference.is_ok() {
            let mut before = Time::ZERO;
            let mut at = |(number, flow): (usize, &Flow)| {
                let wait = flow.start.since(before).as_ps();
                before += Span::from_ps(draw(100 + number) % (wait + 1));
                (before, *flow)
            };
            let late: Vec<(Time, Flow)> = late.iter().enumerate().map(&mut at).collect();
            let windows = |threads| Kind::Windows { threads };
            let kind = [windows(1), windows(2), Kind::Heap, windows(4)][(case.seed % 4) as usize];
            let shared = in_processes(2, |processes| {
                injected(spec.clone(), &late, |spec| Simulation::among(processes, spec, FAST, 1), until)
            });
            let saved = saved(spec.clone(), &late, case.seed, until);
            let alone = injected(spec, &late, |spec| Simulation::new(spec, kind), until);
            let others = [
                (alone, format!("{kind:?}")),
                (shared, "2 processes".to_owned()),
                (saved, "saved".to_owned()),
            ];
            for (other, how) in others {
                let found = difference(&reference, &other, true).unwrap_or_default();
                prop_assert!(found.is_empty(), "{} of {} injected, {how}: {found}", late.len(), known + late.len());
            }
        }
    }
}

proptest! {
    /// A run that stops at each end of a flow stands a picosecond after it, tells of all flows that end, and is the run in one go.
    #[test]
    fn a_run_that_stops_at_each_end_of_a_flow_misses_none(case in case()) {
        let (mut spec, until) = (case.spec(), case.until());
        watch_all(&mut spec);
        let reference = fingerprint(spec.clone(), FAST, until);
        let (kind, parts) = match case.seed % 3 {
            0 => (Kind::Heap, 1),
            seed => (Kind::Windows { threads: seed as usize }, 1 + case.seed / 3 % 3),
        };
        let mut simulation = Simulation::in_windows(spec, kind, parts);
        let control = Control { until, ..Control::default() };
        let (mut course, mut since) = (simulation.course(until), Completions::new(&simulation));
        let mut told = Vec::new();
        let digest = loop {
            let mut nowhere = |_: &_| Ok(());
            let end = simulation.step_to_completion(&mut course, Time::MAX, &control, &mut since, &mut nowhere);
            let Ok(end) = end else {
                prop_assert!(reference.is_err(), "{kind:?}: {:?}", end.err());
                return Ok(());
            };
            let now = simulation.now();
            let ended = simulation.completions(&mut since);
            if end.is_none() {
                prop_assert!(!ended.is_empty(), "it stands at {now} for nothing");
                let mut waits = ended.iter().filter_map(|one| one.finish).map(|finish| now.since(finish).as_ps());
                prop_assert!(waits.all(|wait| wait == 1), "{kind:?}: at {now} {ended:?}");
            }
            told.extend(ended);
            if end.is_some() {
                break simulation.finish(course, &mut nowhere).expect("its books are right").digest;
            }
        };
        let (course, _) = reference.expect("it does not break in steps");
        prop_assert_eq!(digest, course.digest);
        // Of a flow that was given up before the last of its packets came, that is all that is told.
        let given_up = |flow: u32| told.iter().any(|one| one.flow == flow && one.finish.is_none());
        let ended = course.flows.iter().filter(|flow| flow.finish < Time::MAX && !given_up(flow.flow));
        let mut known: Vec<(u32, Time)> = ended.map(|flow| (flow.flow, flow.finish)).collect();
        let mut found: Vec<(u32, Time)> = told.iter().filter_map(|one| Some((one.flow, one.finish?))).collect();
        known.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, known);
    }
}

/// What makes PUTs one stream: their ends, their priority and their kind.
type Ends = (u32, u32, u8, u16);

/// Draws which of the PUTs come late, and gives each stream its number. One that goes against a stream is known from the beginning: else
/// its ACKs travel with packets of the other one only after it is known.
fn late_puts(spec: &Spec, draw: impl Fn(usize) -> u64) -> (Vec<Flow>, Vec<Flow>) {
    let kind = |flow: &Flow| spec.put_of.get(usize::from(flow.group)).copied().flatten();
    let ends = |flow: &Flow| kind(flow).map(|kind| -> Ends { (flow.src, flow.dst, flow.priority, kind) });
    let opposed = |(src, dst, priority, kind): Ends| {
        spec.flows.iter().any(|other| ends(other) == Some((dst, src, priority, kind)))
    };
    let (mut early, mut late): (Vec<Flow>, Vec<Flow>) = (Vec::new(), Vec::new());
    for (number, flow) in spec.flows.iter().enumerate() {
        let is_apart = |of: Ends| {
            let goes_on = early.iter().any(|other| ends(other) == Some(of));
            let is_used = early.iter().any(|other| other.priority == flow.priority);
            (goes_on || !opposed(of))
                && is_used
                && flow.known_size().is_some()
                && draw(number).is_multiple_of(2)
        };
        if ends(flow).is_some_and(is_apart) { late.push(*flow) } else { early.push(*flow) }
    }
    let pairs = early.iter().filter(|flow| kind(flow).is_none() && flow.connection != OWN_CONNECTION);
    let mut next = pairs.map(|flow| flow.connection + 1).max().unwrap_or(0);
    let mut streams: BTreeMap<Ends, u32> = BTreeMap::new();
    for flow in early.iter_mut().chain(&mut late) {
        if let Some(ends) = ends(flow) {
            flow.connection = *streams.entry(ends).or_insert(next);
            next += u32::from(flow.connection == next);
        }
    }
    (early, late)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]
    #[test]
    fn puts_that_are_injected_go_on_with_the_stream_of_their_ends_or_begin_one(case in puts_draws::case()) {
        let draw = |i: usize| mix(case.seed, 0x143d, i as u64);
        let mut spec = case.spec();
        let (early, late) = late_puts(&spec, draw);
        spec.flows = [early, late.clone()].concat();
        watch_all(&mut spec);
        let until = Some(us(2_000));
        let reference = fingerprint(spec.clone(), FAST, until);
        let mut before = Time::ZERO;
        let mut at = |(number, flow): (usize, &Flow)| {
            before += Span::from_ps(draw(100 + number) % (flow.start.since(before).as_ps() + 1));
            (before, Flow { connection: OWN_CONNECTION, ..*flow })
        };
        let late: Vec<(Time, Flow)> = late.iter().enumerate().map(&mut at).collect();
        let kind = if case.seed.is_multiple_of(2) { Kind::Heap } else { Kind::Windows { threads: 2 } };
        let alone = injected(spec.clone(), &late, |spec| Simulation::new(spec, kind), until);
        let shared = in_processes(2, |processes| {
            injected(spec.clone(), &late, |spec| Simulation::among(processes, spec, FAST, 1), until)
        });
        let saved = saved(spec, &late, case.seed, until);
        for (other, how) in [(alone, format!("{kind:?}")), (shared, "2 processes".to_owned()), (saved, "saved".to_owned())] {
            let found = difference(&reference, &other, true).unwrap_or_default();
            prop_assert!(found.is_empty(), "{} injected, {how}: {found}", late.len());
        }
    }
}

#[test]
fn a_run_whose_flows_are_done_goes_on_with_those_that_are_injected() {
    let net = || backwater_topology::generate::fat_tree(4, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let first = flow(0, 15, 100_000, Time::ZERO, Pacing::Controlled);
    // At the instant at which it stands, in the middle of a window and sooner than one that is known, and long after all is done.
    let late = [
        (10_000_001, 10_000_001),
        (10_500_000, 11_000_000),
        (10_500_000, 10_900_000),
        (5_000_000_000, 5_000_000_123),
    ];
    let late: Vec<(Time, Flow)> = (1..)
        .zip(late)
        .map(|(src, (at, start))| {
            (Time::from_ps(at), flow(src, 15, 50_000, Time::from_ps(start), Pacing::Controlled))
        })
        .collect();
    let flows = std::iter::once(first).chain(late.iter().map(|(_, flow)| *flow)).collect();
    let mut spec = authors(net(), flows, red());
    watch_all(&mut spec);
    for until in [None, Some(us(6_000))] {
        let reference = fingerprint(spec.clone(), FAST, until);
        assert_eq!(reference.as_ref().unwrap().0.flows.len(), 5);
        for kind in [FAST, Kind::Windows { threads: 3 }, Kind::Heap] {
            let found = difference(
                &reference,
                &injected(spec.clone(), &late, |spec| Simulation::new(spec, kind), until),
                true,
            );
            assert!(found.is_none(), "{kind:?}, {until:?}: {}", found.unwrap_or_default());
        }
    }
}

/// From an empty network on: what was blamed, too, is blamed from the first flow on.
#[test]
fn a_run_without_flows_waits_for_those_that_are_injected() {
    let net = backwater_topology::generate::star(3, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows: Vec<Flow> = (1..3).map(|src| flow(src, 0, 300_000, us(5), Pacing::LineRate)).collect();
    let late: Vec<(Time, Flow)> = flows.iter().map(|flow| (us(5), *flow)).collect();
    let mut spec = authors(net, flows, red());
    spec.idle = vec![late[0].1.priority];
    watch_all(&mut spec);
    let reference = fingerprint(spec.clone(), FAST, None);
    let found =
        difference(&reference, &injected(spec, &late, |spec| Simulation::new(spec, FAST), None), true);
    assert!(found.is_none(), "{}", found.unwrap_or_default());
}

/// The source port of a flow counts the flows of its host that start before: one that is injected moves those that have not begun.
#[test]
fn flows_that_are_injected_have_the_five_tuples_that_they_would_have_had() {
    let net = || {
        backwater_topology::generate::leaf_spine(2, 4, 8, Rate::from_gbps(100), None, Span::from_us(1))
            .unwrap()
    };
    let to = |src: u32, dst: u32, start: u64| flow(src, dst, 300_000, us(start), Pacing::Controlled);
    let known = [to(0, 8, 0), to(1, 8, 2), to(0, 9, 20)];
    let late: Vec<(Time, Flow)> =
        (0..8).map(|host| (us(5 + u64::from(host) / 3), to(host, 15 - host, 10))).collect();
    for shared in [false, true] {
        let mut flows = [&known[..], &late.iter().map(|(_, flow)| *flow).collect::<Vec<_>>()].concat();
        if shared {
            // Two messages of a queue pair: they go by the number of the first one.
            flows[2] = Flow { dst: 8, ..flows[2] };
            flows[0].connection = 0;
            flows[2].connection = 0;
        }
        let mut spec = authors(net(), flows, red());
        watch_all(&mut spec);
        let salted = fingerprint(spec.clone(), FAST, None);
        spec.switch.hashes = five_tuples(&spec.network, spec.seed, &spec.flows);
        let reference = fingerprint(spec.clone(), FAST, None);
        assert!(difference(&reference, &salted, true).is_some(), "the paths are others than those by number");
        for kind in [FAST, Kind::Windows { threads: 3 }, Kind::Heap] {
            let found = difference(
                &reference,
                &injected(spec.clone(), &late, |spec| Simulation::new(spec, kind), None),
                true,
            );
            assert!(found.is_none(), "{kind:?}, shared: {shared}: {}", found.unwrap_or_default());
        }
        let found = difference(&reference, &saved(spec, &late, 3, None), true);
        assert!(found.is_none(), "saved, shared: {shared}: {}", found.unwrap_or_default());
    }
}
