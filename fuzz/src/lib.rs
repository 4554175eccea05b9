//! For the fuzz targets: what must hold of any scenario text.
use std::path::Path;

use backwater_fabric::Simulation;
use backwater_scenario::settings::{Settings, Shape, Traffic, Workload};
use backwater_scenario::{Scenario, ScenarioError, ValidScenario};
use backwater_units::{Bytes, Rate, Span};

/// Where the files that a scenario names are looked for, and not found.
const NOWHERE: &str = "/nonexistent";

/// Reads, validates and builds a scenario: it works or is refused with a reason, and nothing panics.
pub fn scenario(text: &str, overrides: &[String]) {
    let scenario = match Scenario::parse(text, "fuzz.toml", Path::new(NOWHERE), overrides) {
        Ok(scenario) => scenario,
        Err(error) => return refused(&error),
    };
    if !is_small(scenario.settings()) {
        return;
    }
    match scenario.validate() {
        Ok(valid) => {
            reads_back_the_same(&valid);
            let engine = valid.engine();
            drop(Simulation::new(valid.build(), engine));
        }
        Err(error) => refused(&error),
    }
}

/// What `run.json` keeps is the scenario.
fn reads_back_the_same(valid: &ValidScenario) {
    let text = toml::to_string(valid.settings()).expect("settings are TOML");
    let again = Scenario::parse(&text, "resolved.toml", Path::new(NOWHERE), &[]).and_then(Scenario::validate);
    let again = again.unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(again.settings(), valid.settings());
}

fn refused(error: &ScenarioError) {
    assert!(!error.problems().is_empty() && !error.to_string().is_empty());
}

/// Whether validation takes milliseconds. Large scenarios are legal, but a fuzzer that waits finds nothing.
fn is_small(settings: &Settings) -> bool {
    small_network(&settings.topology.shape)
        && settings.traffic.len() <= 8
        && settings.traffic.iter().all(few_flows)
}

fn small_network(shape: &Shape) -> bool {
    let slow = |rate: Rate| rate <= Rate::from_gbps(1000);
    match shape {
        Shape::TcdFigure2 { rate, source_rate, .. } => {
            slow(rate.0) && source_rate.is_none_or(|rate| slow(rate.0))
        }
        Shape::TcdTestbed { rate, .. } => slow(rate.0),
        Shape::Dumbbell { left, right, rate, .. } => left + right <= 32 && slow(rate.0),
        Shape::Star { hosts, rate, .. } => *hosts <= 32 && slow(rate.0),
        Shape::LeafSpine { leaves, spines, hosts_per_leaf, rate, .. } => {
            *leaves <= 4 && *spines <= 4 && *hosts_per_leaf <= 8 && slow(rate.0)
        }
        Shape::FatTree { k, rate, .. } => *k <= 4 && slow(rate.0),
        Shape::Hpcc { .. } => true,
        Shape::Edges { hosts, links, .. } => hosts.len() <= 32 && links.iter().all(|link| slow(link.rate.0)),
    }
}

/// At most about 100 000 flows on a small network.
fn few_flows(traffic: &Traffic) -> bool {
    let soon = |until: Option<Span>| until.is_none_or(|until| until <= Span::from_us(200));
    let few = |flows: Option<u32>| flows.is_none_or(|flows| flows <= 10_000);
    match &traffic.workload {
        Workload::Bursts { rounds, .. } => *rounds <= 100,
        Workload::Poisson { until, flows, load, .. } => {
            *load <= 100.0 && soon(until.map(|until| until.0)) && few(*flows)
        }
        Workload::Synchronous { until, flows, size, interval, load, .. } => {
            soon(until.map(|until| until.0))
                && few(*flows)
                && size.is_none_or(|size| size.0 >= Bytes::new(1000))
                && interval.is_none_or(|interval| interval.0 >= Span::from_ns(100))
                && load.is_none_or(|load| load <= 100.0)
        }
        Workload::MpiIo { messages, .. } => *messages <= 10_000,
        _ => true,
    }
}
