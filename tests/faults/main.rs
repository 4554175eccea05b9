//! Faults: what a link loses that fails, by arithmetic; who uses it then; and what no thread or engine may change.
mod anywhere;
mod credits;
mod links;
mod losses;
mod nics;
mod overruns;
mod routes;
mod storms;
mod swarm;

use backwater_fabric::record::{DropReason, DropRecord, FaultEvent};
use std::path::Path;

use backwater_fabric::{Kind, Spec};
use backwater_scenario::{Scenario, ValidScenario};
use scene::{FAST, Outcome, try_run};

/// Every engine, and several numbers of threads.
pub const KINDS: [Kind; 4] = [FAST, Kind::Windows { threads: 2 }, Kind::Windows { threads: 4 }, Kind::Heap];

/// Two hosts on a switch, links of 100 Gbps and 1 us. PUTs of 1936 B and 64 B of header take 160 ns each.
pub const PAIR: &str = r#"
profile = "endpoint"
run = { until = "100us" }
packet = { payload = "1936B", header = "64B" }
switch = { switching = "store-and-forward" }
put = { retry = "20us" }
topology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

/// The scenario of a text and more of it.
pub fn spec(text: &str, more: &str) -> Spec {
    let text = format!("{text}\n{more}");
    read(&text).unwrap_or_else(|error| panic!("{error}")).build()
}

/// The scenario of a text, checked.
pub fn read(text: &str) -> Result<ValidScenario, String> {
    let scenario = Scenario::parse(text, "faults", Path::new("."), &[]).and_then(Scenario::validate);
    scenario.map_err(|error| error.to_string())
}

/// Runs it to the end that it says.
pub fn run(text: &str, more: &str, until: u64) -> Outcome {
    try_run(spec(text, more), FAST, Some(scene::us(until))).unwrap_or_else(|violation| panic!("{violation}"))
}

/// Packets lost for a reason.
pub fn dropped(outcome: &Outcome, reason: DropReason) -> Vec<DropRecord> {
    outcome.records.drops.iter().filter(|drop| drop.reason == reason).copied().collect()
}

/// When something happened, in picoseconds, and at which node.
pub fn events(outcome: &Outcome, event: FaultEvent) -> Vec<(u64, u32)> {
    let events = outcome.records.faults.iter().filter(|record| record.event == event);
    events.map(|record| (record.time.as_ps(), record.node)).collect()
}
