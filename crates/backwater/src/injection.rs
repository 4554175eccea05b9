//! Flows that are added to a run that stands between two steps: what they may be.
use crate::error::Error;
use backwater_fabric::{LONGEST_RUN, Simulation};
use backwater_scenario::ValidScenario;
use backwater_scenario::settings::Control;
use backwater_topology::Network;
use backwater_traffic::{Flow, Group, MAX_PACKETS, MAX_SIZE, Pacing};
use backwater_units::{Bytes, Time};
use std::collections::BTreeMap;
use std::fmt;

/// A host or a traffic entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its name.
    Name(String),
    /// By its number, from 0.
    Number(u32),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// A flow to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The traffic entry whose transport, controller and priority it has; `None`: the only one.
    pub traffic: Option<Which>,
    /// Its source, a host.
    pub src: Which,
    /// Its destination.
    pub dst: Which,
    /// Payload, at least 1 B.
    pub size: Bytes,
    /// When its first byte is ready to be sent: now or later.
    pub start: Time,
    /// Another priority than that of the entry.
    pub priority: Option<u8>,
}

/// What flows may be injected into a run.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    entries: Vec<Entry>,
    /// Numbers of hosts by name; empty until somebody asks.
    hosts: BTreeMap<String, u32>,
    most: Bytes,
    /// Bit per priority that flows have, or ACKs, where they begin: not those that packets only change to on their way.
    priorities: u8,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    group: Group,
}

/// How a run stands that flows are injected into.
pub(crate) struct Moment<'a> {
    pub(crate) now: Time,
    /// Its end.
    pub(crate) until: Time,
    pub(crate) simulation: &'a Simulation,
}

impl Gate {
    pub(crate) fn new(scenario: &ValidScenario) -> Self {
        let settings = scenario.settings();
        let entries = (0..).zip(&settings.traffic).map(|(id, entry)| Entry {
            name: entry.name.clone(),
            group: Group {
                id,
                priority: entry.priority.unwrap_or(PRIORITY),
                pacing: match entry.control {
                    Some(Control::LineRate) => Pacing::LineRate,
                    Some(Control::Cc) | None => Pacing::Controlled,
                },
                start: Time::ZERO,
            },
        });
        let most = settings.packet.payload.0.get().saturating_mul(u64::from(MAX_PACKETS));
        let spec = scenario.spec();
        let flows = spec.flows.iter().map(|flow| flow.priority).chain(spec.idle.iter().copied());
        let acks = spec.pairs.iter().filter_map(|pair| pair.ack?.priority);
        let priorities = flows.chain(acks).fold(0, |set, priority| set | 1 << priority);
        let most = MAX_SIZE.min(Bytes::new(most));
        Self { entries: entries.collect(), hosts: BTreeMap::new(), most, priorities }
    }

    /// The flows as the fabric takes them.
    pub(crate) fn flows(&mut self, injected: &[Injection], run: &Moment<'_>) -> Result<Vec<Flow>, Error> {
        let flow = |(number, one)| self.flow(one, run).map_err(|wrong| wrong.told(number));
        injected.iter().enumerate().map(flow).collect()
    }

    fn flow(&mut self, one: &Injection, run: &Moment<'_>) -> Result<Flow, Wrong> {
        let network = run.simulation.network();
        let (src, dst) = (self.host("src", &one.src, network)?, self.host("dst", &one.dst, network)?);
        if src == dst {
            let found = format!("dst = {} is its source", one.dst);
            return Err(Wrong::new(found, "another host".into(), "give two hosts"));
        }
        if one.size == Bytes::ZERO || one.size > self.most {
            let (found, allowed) = (format!("size = {}", one.size), format!("1 B to {}", self.most));
            return Err(Wrong::new(found, allowed, "cut it into several flows, or leave it out"));
        }
        let end = run.until.min(Time::from_ps(LONGEST_RUN.as_ps()));
        if one.start < run.now || one.start >= end {
            let found = format!("start = {}", one.start);
            let found = if one.start < run.now { format!("{found} has passed") } else { found };
            let allowed = format!("from {}, where the run stands, to before its end at {end}", run.now);
            return Err(Wrong::new(found, allowed, "inject it before the step that its start is in"));
        }
        let entry = self.entry(one.traffic.as_ref())?;
        let priority = one.priority.unwrap_or(entry.group.priority);
        let has =
            |priority: u8| run.simulation.has_priority(priority) && self.priorities & (1 << priority) != 0;
        if !has(priority) {
            let found = if run.simulation.has_priority(priority) {
                format!(
                    "priority = {priority} is one that no flow begins in: packets of another one change to it on their way"
                )
            } else {
                format!("priority = {priority} is used by no flow of the scenario")
            };
            let allowed = (0..8).filter(|other| has(*other)).map(|other| other.to_string());
            let allowed = allowed.collect::<Vec<_>>().join(", ");
            return Err(Wrong::new(
                found,
                allowed,
                "switches have no queue for it: give it to a [[traffic]] entry",
            ));
        }
        let flow = Flow { priority, ..entry.group.flow(src, dst, one.size, one.start) };
        if run.simulation.holds_up(&flow) {
            let found = format!(
                "its PUTs would wait for ever behind those of traffic.{} that have no end",
                entry.name
            );
            let allowed = "another priority, source or destination".to_owned();
            return Err(Wrong::new(
                found,
                allowed,
                "PUTs that have these in common are sent one flow after the other",
            ));
        }
        Ok(flow)
    }

    fn entry(&self, which: Option<&Which>) -> Result<&Entry, Wrong> {
        let found = match (which, self.entries.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(Which::Name(name)), entries) => entries.iter().find(|entry| entry.name == *name),
            (Some(Which::Number(number)), entries) => entries.get(*number as usize),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
            let found = which.map_or_else(
                || "it names no traffic entry, and there are several".to_owned(),
                |which| format!("traffic = {which} is none of the scenario"),
            );
            Wrong::new(found, names.join(", "), "name a [[traffic]] entry of the scenario")
        })
    }

    /// The number of a host.
    fn host(&mut self, key: &str, which: &Which, network: &Network) -> Result<u32, Wrong> {
        let hosts = network.hosts();
        let number = match which {
            Which::Number(number) => Some(*number).filter(|number| (*number as usize) < hosts.len()),
            Which::Name(name) => {
                if self.hosts.is_empty() {
                    let named =
                        (0..).zip(hosts).map(|(number, node)| (network.name(*node).to_owned(), number));
                    self.hosts = named.collect();
                }
                self.hosts.get(name).copied()
            }
        };
        number.ok_or_else(|| {
            let [first, last] = [hosts[0], hosts[hosts.len() - 1]].map(|node| network.name(node));
            let allowed =
                format!("names such as {first} and {last}, or numbers from 0 to {}", hosts.len() - 1);
            Wrong::new(
                format!("{key} = {which} is no host"),
                allowed,
                "give the name of a host, or its number",
            )
        })
    }
}

/// Priority of entries that give none.
const PRIORITY: u8 = 3;

/// What is wrong with a flow.
struct Wrong {
    found: String,
    allowed: String,
    help: &'static str,
}

impl Wrong {
    const fn new(found: String, allowed: String, help: &'static str) -> Self {
        Self { found, allowed, help }
    }

    fn told(self, number: usize) -> Error {
        let Self { found, allowed, help } = self;
        Error::Input(format!("error: inject: flows[{number}]: {found}\n  allowed: {allowed}\n  help: {help}"))
    }
}
