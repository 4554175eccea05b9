//! A run once more, to compare it with another: nothing is written, and nothing is recorded but what is asked for.
use crate::error::Error;
use crate::functions::UserFunctions;
use crate::run::UNLOADED;
use backwater_fabric::retrace::Arrival;
use backwater_fabric::{Kind, ProbeSpec, Simulation};
use backwater_scenario::{Scenario, ValidScenario};
use backwater_units::Time;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// A run that tells of its trajectory.
pub struct Replay {
    simulation: Simulation,
    /// Names of the traffic entries.
    traffic: Vec<String>,
}

impl Replay {
    /// A scenario ready to run without probes.
    ///
    /// # Errors
    /// As [`Scenario::validate`]; and functions of the user's that are not there.
    pub fn new(scenario: Scenario, functions: &UserFunctions) -> Result<Self, Error> {
        let scenario: ValidScenario = scenario.validate()?;
        let needed = scenario.functions().clone();
        let traffic = scenario.settings().traffic.iter().map(|entry| entry.name.clone()).collect();
        let kind = Kind::Windows { threads: scenario.threads() };
        let mut spec = scenario.build();
        if !needed.is_empty() && !functions.put(&needed, &mut spec.user) {
            return Err(Error::Input(UNLOADED.to_owned()));
        }
        spec.probe = ProbeSpec::default();
        Ok(Self { simulation: Simulation::new(spec, kind), traffic })
    }

    /// Runs to the last of `times` (ascending): `window_ps` and `prefixes`, for each time `time_ps`, `digest` and `by_name` (16
    /// hexadecimal digits) and `arrivals`.
    ///
    /// # Errors
    /// A model that breaks a promise.
    pub fn prefixes(&mut self, times: &[Time], stop: &AtomicBool) -> Result<Value, Error> {
        let found = self.simulation.prefixes(times, Some(stop)).map_err(Error::from)?;
        let found: Vec<Value> = found
            .iter()
            .map(|prefix| {
                json!({
                    "time_ps": prefix.time.as_ps(),
                    "digest": format!("{:016x}", prefix.digest),
                    "by_name": format!("{:016x}", prefix.by_name),
                    "arrivals": prefix.arrivals,
                })
            })
            .collect();
        Ok(json!({"window_ps": self.simulation.window_ps(), "prefixes": found}))
    }

    /// Every frame that arrived anywhere from `from` on and before `to`, in order of time, node and port.
    ///
    /// # Errors
    /// A model that breaks a promise.
    pub fn arrivals(&mut self, from: Time, to: Time, stop: &AtomicBool) -> Result<Value, Error> {
        let found = self.simulation.arrivals(from, to, Some(stop)).map_err(Error::from)?;
        Ok(found.iter().map(|arrival| told(arrival, &self.simulation, &self.traffic)).collect())
    }
}

/// A frame with names instead of numbers.
fn told(arrival: &Arrival, simulation: &Simulation, traffic: &[String]) -> Value {
    let network = simulation.network();
    let host = |index: u32| network.hosts().get(index as usize).map(|&node| network.name(node));
    let of_flow = arrival.of_flow.map(|(src, dst, group)| {
        json!({"src": host(src), "dst": host(dst), "traffic": traffic.get(usize::from(group))})
    });
    let peer = network.ports(arrival.node).get(usize::from(arrival.port)).map(|port| port.peer);
    json!({
        "time_ps": arrival.time.as_ps(),
        "node": network.name(arrival.node),
        "from": peer.map(|peer| network.name(peer)),
        "port": arrival.port,
        "kind": arrival.kind,
        "flow": arrival.flow,
        "of_flow": of_flow,
        "seq": arrival.seq,
        "word": arrival.word,
        "bytes": arrival.bytes,
        "code": arrival.code,
        "echo": arrival.echo,
        "class": arrival.class,
    })
}
