//! Traces as traffic: when the applications of this repository's traces are through, and what is wrong with others.
mod common;

use backwater_fabric::{Control, Kind, Simulation};
use backwater_scenario::Scenario;
use backwater_units::Time;
use common::{report, root};

/// When the last message of the trace scenario has come in, in picoseconds, and how many there are.
fn through(file: &str, settings: &[&str]) -> (u64, usize) {
    let mut overrides = vec![format!("traffic.app.file=traces/{file}")];
    overrides.extend(settings.iter().map(ToString::to_string));
    let scenario = Scenario::load(&root().join("scenarios/trace.toml"), &overrides);
    let scenario = scenario.and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(scenario.build(), Kind::Windows { threads: 1 });
    let run = simulation.run(&Control::default(), &mut |_| Ok(()));
    run.unwrap_or_else(|violation| panic!("{violation}"));
    let flows = simulation.flows();
    let last = flows.iter().map(|flow| flow.finish).max().unwrap_or(Time::MAX);
    (last.as_ps(), flows.len())
}

#[test]
fn a_ring_allreduce_of_16_ranks_takes_30_rounds_of_3_us() {
    // 4 packets of 0.2 us, the last one once more behind the switch, and twice 1 us: 3 us, 2 · 15 times
    assert_eq!(through("ring-allreduce.trace", &[]), (90_000_000, 16 * 30));
}

#[test]
fn the_stencil_computes_exchanges_meets_computes_exchanges_and_adds_up() {
    // The faces follow each other, 0.4 us each: the last of 1.2 us is there after 1.2 + 1 + 0.2 + 1. No two meet at a switch port.
    let exchange = 5_000_000 + 3_400_000;
    // Three rounds of 1 B (0.2 ns) and of 8 B (1.6 ns), each over two links of 1 us.
    let (barrier, sum) = (3 * 2_000_400, 3 * 2_003_200);
    let (last, flows) = through("halo-exchange.trace", &[]);
    assert_eq!(last, exchange + barrier + exchange + sum);
    assert_eq!(flows, 2 * 3 * 8 + 2 * 3 * 8);
}

#[test]
fn an_application_that_begins_later_is_through_later_and_on_other_hosts_as_soon() {
    assert_eq!(through("ring-allreduce.trace", &["traffic.app.start=7us"]).0, 97_000_000);
    let hosts = "traffic.app.hosts=[\"h1\", \"h3\", \"h5\", \"h7\", \"h9\", \"h11\", \"h13\", \"h15\"]";
    let there = through("halo-exchange.trace", &["topology.hosts=20", hosts]);
    assert_eq!(there, through("halo-exchange.trace", &[]));
}

#[test]
fn what_waits_for_what_is_the_same_story_on_every_engine() {
    let told = |kind| {
        let changes = ["traffic.app.file=traces/halo-exchange.trace".to_owned(), "cc.kind=dcqcn".to_owned()];
        let scenario = Scenario::load(&root().join("scenarios/trace.toml"), &changes);
        let scenario = scenario.and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(scenario.build(), kind);
        let run = simulation.run(&Control::default(), &mut |_| Ok(()));
        let digest = run.unwrap_or_else(|violation| panic!("{violation}")).digest;
        (digest, simulation.flows().iter().map(|flow| (flow.start, flow.finish)).collect::<Vec<_>>())
    };
    let heap = told(Kind::Heap);
    assert_eq!(told(Kind::Windows { threads: 1 }), heap);
    assert_eq!(told(Kind::Windows { threads: 2 }), heap);
}

#[test]
fn a_trace_that_does_not_fit_is_refused_with_the_reason() {
    let text = std::fs::read_to_string(root().join("scenarios/trace.toml")).unwrap();
    let text = text.replace("traces/", &format!("{}/scenarios/traces/", root().display()));
    let few = report(&text, &["topology.hosts=12"]);
    assert!(few.contains("has 16 ranks, but there are 12 hosts"), "{few}");
    let wrong = report(&text.replace("ring-allreduce.trace", "../trace.toml"), &[]);
    assert!(wrong.contains("the first line must be `backwater-trace 1`"), "{wrong}");
}
