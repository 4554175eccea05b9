//! What a run leaves: `run.json`, with what was run, how it ended, and its sums.
use crate::clock::Clock;
use crate::error::Error;
use crate::functions::UserFunctions;
use crate::{network, profile};
use backwater_codes::Remark;
use backwater_engine::Processes;
use backwater_fabric::record::{BlockedRecord, DropCount, FaultRecord, PortRecord, RankRecord, SwitchRecord};
use backwater_fabric::{End, Totals};
use backwater_probe::{IsolationSummary, Names, RankSummary, Scribe, Summary, Written, run_json};
use backwater_scenario::ValidScenario;
use backwater_topology::Network;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A run that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Results(Value);

impl Results {
    /// Everything that `run.json` has.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The fingerprint of the trajectory: the same scenario and seed give the same one, 16 hexadecimal digits.
    pub fn digest(&self) -> &str {
        self.0["digest"].as_str().unwrap_or_default()
    }

    /// Whether it ran to its end; false if it was interrupted.
    pub fn is_complete(&self) -> bool {
        self.0["status"] == "complete"
    }

    /// What a reader of the results should know, each with its code in brackets.
    pub fn caveats(&self) -> impl Iterator<Item = String> {
        let caveats = self.0["caveats"].as_array().into_iter().flatten();
        caveats.map(|caveat| {
            let [code, message] = ["code", "message"].map(|key| caveat[key].as_str().unwrap_or_default());
            format!("caveat[{code}]: {message}")
        })
    }
}

/// What a run leaves of its parts when it is over.
pub(crate) struct FinalRecords {
    pub(crate) ports: Vec<PortRecord>,
    pub(crate) switches: Vec<SwitchRecord>,
    pub(crate) blocked: Vec<BlockedRecord>,
    pub(crate) drops: Vec<DropCount>,
    pub(crate) faults: Vec<FaultRecord>,
    pub(crate) ranks: Vec<RankRecord>,
}

/// What is known of the run before it starts.
pub(crate) fn beginning(
    scenario: &ValidScenario,
    command: &str,
    functions: &UserFunctions,
) -> Map<String, Value> {
    // What paths in the scenario count from, for who runs it again.
    let base = std::path::absolute(scenario.base()).unwrap_or_else(|_| scenario.base().to_owned());
    let mut facts = object(json!({
        "format": 3,
        "version": env!("CARGO_PKG_VERSION"),
        "command": command,
        "scenario": scenario.resolved(),
        "scenario_text": scenario.text(),
        "overrides": scenario.overrides(),
        "base": base.display().to_string(),
        "files": scenario.files().iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "seed": scenario.settings().run.seed,
        "caveats": scenario.caveats(),
        "ground_truth": scenario.long_queues(),
        "notes": scenario.notes(),
        "network": network::columns(scenario),
    }));
    facts.extend(functions.facts.iter().map(|known| ("functions".to_owned(), known.clone())));
    facts
}

/// Adds what the run itself has shown to the caveats that are known before.
pub(crate) fn warn(facts: &mut Map<String, Value>, found: impl Iterator<Item = Remark>) {
    if let Some(Value::Array(caveats)) = facts.get_mut("caveats") {
        caveats.extend(found.map(|remark| json!(remark)));
    }
}

/// How the run ended and what it took.
pub(crate) fn outcome(
    totals: &Totals,
    counted: bool,
    clock: &Clock,
    threads: usize,
    processes: &dyn Processes,
) -> Map<String, Value> {
    // The digest of a run in which iterations were counted is none of a whole run, and never looks like one.
    let of = if counted { "reuse-" } else { "" };
    // Of all processes together.
    let cpu_s = processes.sum((clock.cpu_s() * 1e9) as u64) as f64 * 1e-9;
    object(json!({
        "digest": format!("{of}{:016x}", totals.digest),
        "status": if totals.end == End::Interrupted { "partial" } else { "complete" },
        "sim_time_ps": totals.now.as_ps(),
        "wall_s": clock.wall_s(),
        "cpu_s": if processes.count() == 1 { clock.cpu_s() } else { cpu_s },
        "events": totals.events,
        "packet_hops": totals.packet_hops,
        "threads": threads,
        "windows": {"run": totals.windows, "shared": totals.shared},
        "memory": {"bytes_per_port": totals.port_bytes, "packet_bytes": totals.packet_bytes},
    }))
}

/// What it sums up to, and the names that its tables use.
pub(crate) fn sums(
    summary: &Summary,
    ends: &FinalRecords,
    names: &Names,
    network: &Network,
) -> Result<Map<String, Value>, Error> {
    let mut facts = object(json!({
        "aliases": aliases(network, names)?,
        "totals": to_json(&summary.totals)?,
        "traffic": to_json(&summary.traffic)?,
    }));
    if !ends.switches.is_empty() {
        facts.insert("isolation".into(), to_json(IsolationSummary::of(&ends.switches))?);
    }
    if !ends.ranks.is_empty() {
        let sums = RankSummary::of(&ends.ranks, names);
        facts.insert("ranks".into(), to_json(sums.map_err(Error::bug)?)?);
    }
    Ok(facts)
}

/// Writes what is left to write, `run.json` last.
pub(crate) fn finish(
    folder: Option<&Path>,
    sink: Option<Scribe>,
    ends: &FinalRecords,
    facts: Map<String, Value>,
) -> Result<Results, Error> {
    let mut facts = Value::Object(facts);
    let (Some(folder), Some(mut sink)) = (folder, sink) else {
        return Ok(Results(run_json::complete(facts, &Written::default())?));
    };
    sink.append(&ends.ports)?;
    sink.append(&ends.switches)?;
    sink.append(&ends.blocked)?;
    sink.append(&ends.drops)?;
    sink.append(&ends.faults)?;
    sink.append(&ends.ranks)?;
    let written = sink.finish()?;
    if let Some(profile) = facts.get_mut("profile") {
        profile::add_tables(profile, written.took);
    }
    Ok(Results(run_json::write(folder, facts, &written)?))
}

/// The topology's own names of ports, such as `P2`, with the labels that the tables use, such as `L0->T2`.
fn aliases(network: &Network, names: &Names) -> Result<Value, Error> {
    let label = |(alias, (node, port)): (&str, (u32, u16))| {
        let label = names.port(node, port).map_err(Error::bug)?;
        Ok((alias.to_owned(), Value::from(label)))
    };
    network.aliases().map(label).collect::<Result<Map<_, _>, Error>>().map(Value::Object)
}

pub(crate) fn to_json(value: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(Error::bug)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
