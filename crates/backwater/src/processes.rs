//! A run that several processes share: what they must have in common before it begins, and what each of them took.
use crate::checkpoint::Files;
use crate::error::Error;
use backwater_engine::{MOST_SHARDS, Processes};
use backwater_fabric::Simulation;
use backwater_scenario::ValidScenario;
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

/// Refuses what processes cannot share: a network with fewer nodes than processes, or scenarios, programs or checkpoints that differ.
///
/// # Errors
/// The same in all processes.
pub(crate) fn agree(
    processes: &dyn Processes,
    scenario: &ValidScenario,
    files: &Files,
    program: u64,
    checkpoint: u64,
) -> Result<(), Error> {
    let count = processes.count();
    if count == 1 {
        return Ok(());
    }
    let own = [fingerprint(scenario, files), program, checkpoint];
    let all = processes.gather(vec![own]);
    let differ = |part: usize| -> Vec<String> {
        let others = (0..).zip(&all).filter(|(_, other)| other[part] != all[0][part]);
        others.map(|(rank, _): (usize, _)| rank.to_string()).collect()
    };
    let [scenarios, programs, checkpoints] = [0, 1, 2].map(differ);
    if !programs.is_empty() {
        return Err(Error::Input(format!(
            "error: the processes of this run are of different builds of Backwater: rank 0 has another one than {}\n  help: install \
             the same build on every machine",
            ranks(&programs)
        )));
    }
    if !scenarios.is_empty() {
        return Err(Error::Input(format!(
            "error: the processes of this run were given different scenarios: rank 0 has another one than {}\n  help: give all of \
             them the same file, the same files that it names, and the same options",
            ranks(&scenarios)
        )));
    }
    if !checkpoints.is_empty() {
        return Err(Error::Input(format!(
            "error: the processes of this run go on from different checkpoints: rank 0 has another one than {}\n  help: give all of them \
             the same file: copy it to every machine",
            ranks(&checkpoints)
        )));
    }
    fit(count, scenario)
}

/// Refuses more processes than a network has nodes.
///
/// # Errors
/// The same for each process.
pub(crate) fn fit(count: usize, scenario: &ValidScenario) -> Result<(), Error> {
    if count == 1 {
        return Ok(());
    }
    let nodes = scenario.spec().network.nodes().len();
    let allowed: RangeInclusive<usize> = 1..=nodes.min(MOST_SHARDS);
    if !allowed.contains(&count) {
        return Err(Error::Input(format!(
            "error: {count} processes share this run, whose network has {nodes} nodes\n  allowed: 1 to {} processes, at most one for \
             each node\n  help: start fewer (mpirun -n), or take a larger network",
            allowed.end()
        )));
    }
    Ok(())
}

fn ranks(named: &[String]) -> String {
    format!("rank{} {}", if named.len() == 1 { "" } else { "s" }, named.join(", "))
}

/// A number that differs where the scenario does, or what is in a file that it names.
fn fingerprint(scenario: &ValidScenario, files: &Files) -> u64 {
    let checksums: Vec<u8> = files.checksums().flat_map(u64::to_le_bytes).collect();
    xxh3_64(&[scenario.resolved().to_string().as_bytes(), &checksums].concat())
}

/// What all processes on the machine of this one need together, if each says what it needs.
pub(crate) fn on_this_machine(processes: &dyn Processes, needed: f64) -> f64 {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let all = processes.gather(vec![(machine.clone(), needed as u64)]);
    all.iter().filter(|(other, _)| *other == machine).map(|(_, needed)| *needed as f64).sum()
}

/// What each process had of the run and took for it, for `run.json`; nothing of one that is alone.
pub(crate) fn told(processes: &dyn Processes, simulation: &Simulation, threads: usize) -> Option<Value> {
    let (bytes, nodes) = simulation.own_memory();
    let all = processes.gather(vec![(threads as u64, nodes, bytes, peak())]);
    let each = (0..).zip(all).map(|(rank, (threads, nodes, bytes, peak)): (usize, _)| {
        json!({"rank": rank, "threads": threads, "nodes": nodes, "state_bytes": bytes, "peak_bytes": peak})
    });
    (processes.count() > 1).then(|| each.collect())
}

/// The most memory that this process has had, where the system tells it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}
