//! Connection matrices of htsim (`.cm`).
//!
//! ```text
//! Nodes 4
//! Connections 2
//! Triggers 1
//! 0->1 id 1 start 0 size 100000 recv_done_trigger 1
//! 1->2 id 2 trigger 1 size 100000
//! trigger id 1 oneshot
//! ```
//!
//! A start is in picoseconds. `send_done_trigger`: when the last packet has been acknowledged; `recv_done_trigger`: when all has
//! come in. A trigger of that simulator acts at once wherever it is needed; here a host knows only what happens at it, so what
//! happens elsewhere is refused.
use std::collections::BTreeMap;

use backwater_units::Span;

use super::{ImportError, Imported};
use crate::read::LineError;
use crate::read::line::{Line, lines, shown};
use crate::trace::{Dependency, MAX_RANKS, Message, Ranks, Ready, Task, Trace};

impl From<LineError> for ImportError {
    fn from(error: LineError) -> Self {
        Self::at_line(error.line, error.what)
    }
}

/// How a trigger lets go what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All at its first activation.
    OneShot,
    /// One at each activation.
    MultiShot,
    /// All, when it has been activated so often; without a number when all have that name it.
    Barrier(Option<u32>),
}

struct Flow {
    message: Message,
    trigger: Option<u64>,
    send_done: Option<u64>,
    receive_done: Option<u64>,
}

/// Reads a connection matrix; node n becomes rank n.
///
/// # Errors
/// The first thing that is wrong or cannot be said by a trace, with its line.
pub fn htsim_matrix(text: &str) -> Result<Imported, ImportError> {
    let lines = lines(text);
    let mut reader = Reader::default();
    for line in &lines {
        reader.line(line)?;
    }
    reader.finish(lines.last().map_or(1, |line| line.number))
}

#[derive(Default)]
struct Reader {
    nodes: Option<u32>,
    connections: Option<(usize, usize)>,
    flows: Vec<Flow>,
    ids: BTreeMap<u64, usize>,
    triggers: BTreeMap<u64, (Kind, usize)>,
    priorities: bool,
}

const FLOW: [&str; 8] =
    ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "flowid"];

impl Reader {
    fn line(&mut self, line: &Line<'_>) -> Result<(), ImportError> {
        match line.words[0] {
            "Nodes" => {
                let nodes = line.needed::<u32>("Nodes", "a number of nodes")?;
                if !(2..=MAX_RANKS).contains(&nodes) {
                    let what = format!("Nodes {nodes} is not a number from 2 to {MAX_RANKS}");
                    return Err(line.error(what).into());
                }
                self.nodes = Some(nodes);
            }
            "Connections" => {
                self.connections =
                    Some((line.needed("Connections", "a number of connections")?, line.number));
            }
            "Triggers" => {
                let _: u64 = line.needed("Triggers", "a number of triggers")?;
            }
            "trigger" => self.trigger(line)?,
            word if word.contains("->") => self.flow(line)?,
            word => {
                let known = "Nodes, Connections, Triggers, trigger, or a flow such as 0->1";
                return Err(line.error(format!("`{}` is not one of {known}", shown(word))).into());
            }
        }
        Ok(())
    }

    fn node(&self, line: &Line<'_>, text: &str) -> Result<u32, ImportError> {
        let nodes =
            self.nodes.ok_or_else(|| line.error("`Nodes N` must come before the flows".to_owned()))?;
        let node = text.parse().ok().filter(|node| *node < nodes);
        let what = || {
            line.error(format!("there is no node {}; the {nodes} nodes are 0 to {}", shown(text), nodes - 1))
        };
        Ok(node.ok_or_else(what)?)
    }

    fn flow(&mut self, line: &Line<'_>) -> Result<(), ImportError> {
        let (from, to) = line.words[0].split_once("->").expect("looked for");
        let (src, dst) = (self.node(line, from)?, self.node(line, to)?);
        line.only(1, &FLOW)?;
        if src == dst {
            return Err(line.error(format!("the flow goes from node {src} to itself")).into());
        }
        let bytes = line.needed_bytes_as("size")?;
        let start: Option<u64> = line.value("start", "a time in picoseconds")?;
        let trigger = line.value("trigger", "the number of a trigger")?;
        if start.is_some() == trigger.is_some() {
            let what = "a flow has either `start` or `trigger`: at that time, or when that happens";
            return Err(line.error(what.to_owned()).into());
        }
        self.priorities |= line.value::<u64>("prio", "a priority")?.is_some();
        let number = self.flows.len();
        let id = line.value("id", "a number")?.or(line.value("flowid", "a number")?).unwrap_or(number as u64);
        if self.ids.insert(id, number).is_some() {
            return Err(line.error(format!("there are two of flow {id}")).into());
        }
        let delay = Span::from_ps(start.unwrap_or(0));
        let ready = Ready { after: Dependency::Start, delay, line: line.number };
        self.flows.push(Flow {
            message: Message { id, src, dst, bytes, ready },
            trigger,
            send_done: line.value("send_done_trigger", "the number of a trigger")?,
            receive_done: line.value("recv_done_trigger", "the number of a trigger")?,
        });
        Ok(())
    }

    fn trigger(&mut self, line: &Line<'_>) -> Result<(), ImportError> {
        let id: u64 = line.needed("id", "a number")?;
        let kind = match line.words.get(3).copied() {
            Some("oneshot") => Kind::OneShot,
            Some("multishot") => Kind::MultiShot,
            Some("barrier") => Kind::Barrier(line.value("count", "a number of activations")?),
            other => {
                let what = format!(
                    "`{}` is not one of oneshot, multishot, barrier",
                    shown(other.unwrap_or("nothing"))
                );
                return Err(line.error(what).into());
            }
        };
        match self.triggers.insert(id, (kind, line.number)) {
            None => Ok(()),
            Some(_) => Err(line.error(format!("there are two of trigger {id}")).into()),
        }
    }

    fn finish(self, last: usize) -> Result<Imported, ImportError> {
        let nodes = self.nodes.ok_or_else(|| ImportError::at_line(last, "`Nodes N` is missing"))?;
        if let Some((said, line)) = self.connections
            && said != self.flows.len()
        {
            let what = format!("{said} connections are announced, but {} follow", self.flows.len());
            return Err(ImportError::at_line(line, what));
        }
        let mut tasks: Vec<Task> = Vec::new();
        let mut messages: Vec<Message> = self.flows.iter().map(|flow| flow.message).collect();
        let mut of_trigger: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let Some(trigger) = flow.trigger else { continue };
            let (rank, line) = (flow.message.src, flow.message.ready.line);
            let activated = self.activated(trigger, flow)?;
            let after = if let [one] = activated[..] {
                one
            } else {
                let task = *of_trigger.entry((trigger, rank)).or_insert_with(|| {
                    let id = tasks.len() as u32;
                    tasks.push(Task { id: u64::from(id), rank, after: activated, delay: Span::ZERO, line });
                    id
                });
                Dependency::Task(task)
            };
            messages[number].ready.after = after;
        }
        let groups = vec![Ranks { id: 0, members: (0..nodes).collect() }];
        let (collectives, acts) = (Vec::new(), Vec::new());
        let parts = crate::trace::Parts::default();
        let trace = Trace { ranks: nodes, groups, tasks, messages, collectives, acts, parts };
        trace.expand()?;
        Ok(Imported { trace, notes: self.notes() })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.priorities {
            notes.push("prio is not kept: all flows of a traffic entry have one priority".to_owned());
        }
        if self.flows.iter().any(|flow| flow.send_done.is_some()) {
            let note =
                "send_done_trigger waits for an acknowledgement: the scenario needs [ack] every = 1 or more";
            notes.push(note.to_owned());
        }
        notes
    }

    /// What has to happen before a trigger lets this flow go.
    fn activated(&self, trigger: u64, flow: &Flow) -> Result<Vec<Dependency>, ImportError> {
        let line = flow.message.ready.line;
        let Some((kind, told)) = self.triggers.get(&trigger) else {
            return Err(ImportError::at_line(line, format!("no line says `trigger id {trigger} ...`")));
        };
        let mut after = Vec::new();
        for (number, other) in (0..).zip(&self.flows) {
            let ends = [
                (other.send_done, other.message.src, Dependency::Acked(number)),
                (other.receive_done, other.message.dst, Dependency::Received(number)),
            ];
            for (named, at, event) in ends {
                if named != Some(trigger) {
                    continue;
                }
                if at != flow.message.src {
                    let what = format!(
                        "trigger {trigger} is activated at node {at} (line {}), but this flow starts at node {}, which cannot \
                         know it; let a small flow from {at} to {} carry the news",
                        other.message.ready.line, flow.message.src, flow.message.src
                    );
                    return Err(ImportError::at_line(line, what));
                }
                after.push(event);
            }
        }
        let count = after.len();
        let what = match kind {
            _ if count == 0 => {
                format!("no flow activates trigger {trigger}, so that this one would never start")
            }
            Kind::OneShot | Kind::MultiShot if count > 1 => format!(
                "trigger {trigger} is activated by {count} flows and acts at the first of them, which a trace cannot say; only a \
                 barrier may be activated by several"
            ),
            Kind::MultiShot
                if self.flows.iter().filter(|other| other.trigger == Some(trigger)).count() > 1 =>
            {
                format!(
                    "trigger {trigger} is activated once, but several flows wait for it and multishot lets one go each time"
                )
            }
            Kind::Barrier(Some(needed)) if *needed as usize != count => {
                format!(
                    "trigger {trigger} (line {told}) needs {needed} activations, but {count} flows activate it"
                )
            }
            _ => return Ok(after),
        };
        Err(ImportError::at_line(line, what))
    }
}
