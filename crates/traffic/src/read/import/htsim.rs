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
//! A start is in picoseconds, except for `htsim_uec`, which takes it as microseconds ([`HtsimRules`]). `msg` marks the messages of a
//! connection, which then have one id. `failure switch_type AGG switch_id 0 link_id 1` takes out an uplink of an aggregation
//! switch. `send_done_trigger`: when the last packet has been acknowledged; `recv_done_trigger`: when all has
//! come in. A trigger of that simulator acts at once wherever it is needed; here a host knows only what happens at it, so what
//! happens elsewhere is refused.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Span};

use super::{ImportError, Imported};
use crate::flow::MAX_SIZE;
use crate::read::LineError;
use crate::read::line::{Line, lines, shown};
use crate::trace::{Dependency, MAX_RANKS, Message, Ranks, Ready, Task, Trace};

impl From<LineError> for ImportError {
    fn from(error: LineError) -> Self {
        Self::at_line(error.line, error.what)
    }
}

const PS_PER_US: u64 = 1_000_000;

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

/// What the program that reads a matrix makes of it, which the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtsimRules {
    /// Starts are in microseconds (`htsim_uec`), not in picoseconds.
    pub microseconds: bool,
    /// Flows of one id are messages of one connection (`-conn_reuse`).
    pub reuse: bool,
    /// With that, messages of a connection are one flow: they must start together, as a transport sends them then whose flows have
    /// connections of their own.
    pub merge: bool,
}

/// An uplink of an aggregation switch that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtsimFailure {
    /// The number of the switch, over all pods.
    pub switch: u32,
    /// The number of its uplink.
    pub link: u32,
    /// Where it is said.
    pub line: usize,
}

struct Flow {
    message: Message,
    trigger: Option<u64>,
    send_done: Option<u64>,
    receive_done: Option<u64>,
}

/// Reads a connection matrix; node n becomes rank n. The failures are beside the trace, as they are of the network.
///
/// # Errors
/// The first thing that is wrong or cannot be said by a trace, with its line.
pub fn htsim_matrix(text: &str, rules: HtsimRules) -> Result<(Imported, Vec<HtsimFailure>), ImportError> {
    let mut lines = lines(text);
    let last = lines.last().map_or(1, |line| line.number);
    let mut reader = Reader { rules, ..Reader::default() };
    for line in &mut lines {
        reader.line(line)?;
    }
    reader.finish(last)
}

/// What flows do with a trigger.
#[derive(Default)]
struct Roles {
    /// Where it is activated, by what, and the line of that flow.
    activators: Vec<(u32, Dependency, usize)>,
    /// Flows that wait for it.
    waiting: usize,
}

#[derive(Default)]
struct Reader {
    rules: HtsimRules,
    nodes: Option<u32>,
    connections: Option<(usize, usize)>,
    announced: Option<(usize, usize)>,
    failures: Vec<HtsimFailure>,
    merged: usize,
    flows: Vec<Flow>,
    ids: BTreeMap<u64, usize>,
    /// Which connection the messages of two nodes are of, where there is one for all of them.
    pairs: BTreeMap<(u32, u32), Option<u64>>,
    triggers: BTreeMap<u64, (Kind, usize)>,
    priorities: bool,
}

const FLOW: [&str; 8] =
    ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "flowid"];

impl Reader {
    fn line(&mut self, line: &mut Line<'_>) -> Result<(), ImportError> {
        match line.words[0] {
            "Nodes" if self.nodes.is_some() => {
                return Err(line
                    .error("`Nodes` is said a second time; one line of it is allowed".to_owned())
                    .into());
            }
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
            "Failures" => {
                self.announced = Some((line.needed("Failures", "a number of failures")?, line.number));
            }
            "trigger" => self.trigger(line)?,
            "failure" => self.failure(line)?,
            word if word.contains("->") => {
                without_msg(line);
                self.flow(line)?;
            }
            word => {
                let known =
                    "Nodes, Connections, Triggers, Failures, trigger, failure, or a flow such as 0->1";
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
        let start = self.start(line)?;
        let trigger = line.value("trigger", "the number of a trigger")?;
        if start.is_some() == trigger.is_some() {
            let what = "a flow has either `start` or `trigger`: at that time, or when that happens";
            return Err(line.error(what.to_owned()).into());
        }
        self.priorities |= line.value::<u64>("prio", "a priority")?.is_some();
        let given = line.value("id", "a number")?.or(line.value("flowid", "a number")?);
        let id = self.id(line, given, (src, dst))?;
        let delay = start.unwrap_or(Span::ZERO);
        let ready = Ready { after: Dependency::Start, delay, line: line.number };
        self.flows.push(Flow {
            message: Message { id, src, dst, bytes, ready },
            trigger,
            send_done: line.value("send_done_trigger", "the number of a trigger")?,
            receive_done: line.value("recv_done_trigger", "the number of a trigger")?,
        });
        Ok(())
    }

    /// When a flow starts, if it says so.
    fn start(&self, line: &Line<'_>) -> Result<Option<Span>, LineError> {
        if !self.rules.microseconds {
            return Ok(line.value("start", "a time in picoseconds")?.map(Span::from_ps));
        }
        let Some(start) = line.value::<u64>("start", "a whole number of microseconds")? else {
            return Ok(None);
        };
        let ps = start.checked_mul(PS_PER_US);
        let late = || {
            line.error(format!("start {start} is too late; allowed are up to {} us", u64::MAX / PS_PER_US))
        };
        Ok(Some(Span::from_ps(ps.ok_or_else(late)?)))
    }

    /// The number of a flow's message: its own, which no other may have, or where ids are those of connections one after the other.
    fn id(&mut self, line: &Line<'_>, given: Option<u64>, pair: (u32, u32)) -> Result<u64, LineError> {
        let number = self.flows.len();
        if !self.rules.reuse {
            let id = given.unwrap_or(number as u64);
            return match self.ids.insert(id, number) {
                None => Ok(id),
                Some(_) => Err(line.error(format!(
                    "there are two of flow {id}; with -conn_reuse in --flags they are messages of one connection"
                ))),
            };
        }
        if let Some(id) = given {
            let first = *self.ids.entry(id).or_insert(number);
            let of = self.flows.get(first).map_or(pair, |flow| (flow.message.src, flow.message.dst));
            if of != pair {
                let what = format!(
                    "connection {id} goes from node {} to node {} (its first line), so none of its messages goes from {} to {}",
                    of.0, of.1, pair.0, pair.1
                );
                return Err(line.error(what));
            }
        }
        match self.pairs.insert(pair, given) {
            Some(other) if other != given || given.is_none() => Err(line.error(format!(
                "this is another connection from node {} to node {}; with -conn_reuse there is one, so give its messages one id",
                pair.0, pair.1
            ))),
            _ => Ok(number as u64),
        }
    }

    fn failure(&mut self, line: &Line<'_>) -> Result<(), ImportError> {
        line.only(1, &["switch_type", "switch_id", "link_id"])?;
        let kind: String = line.needed("switch_type", "AGG")?;
        if kind != "AGG" {
            let what =
                format!("switch_type `{}` is not AGG; only uplinks of these can fail there", shown(&kind));
            return Err(line.error(what).into());
        }
        self.failures.push(HtsimFailure {
            switch: line.needed("switch_id", "the number of a switch")?,
            link: line.needed("link_id", "the number of an uplink")?,
            line: line.number,
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

    /// Makes one flow of the messages of each connection.
    fn merge(&mut self) -> Result<(), ImportError> {
        if !(self.rules.reuse && self.rules.merge) {
            return Ok(());
        }
        let mut first: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut kept: Vec<Flow> = Vec::new();
        for flow in std::mem::take(&mut self.flows) {
            let Message { src, dst, bytes, ready, .. } = flow.message;
            let Some(known) = first.get(&(src, dst)).and_then(|at| kept.get_mut(*at)) else {
                first.insert((src, dst), kept.len());
                kept.push(flow);
                continue;
            };
            let waits = [&*known, &flow]
                .iter()
                .any(|one| one.trigger.is_some() || one.send_done.is_some() || one.receive_done.is_some());
            if waits || known.message.ready.delay != ready.delay {
                let what = format!(
                    "this message of the connection from node {src} to node {dst} does not start with its first one (line {}), \
                     and here they are one flow; give it an id and nodes of its own",
                    known.message.ready.line
                );
                return Err(ImportError::at_line(ready.line, what));
            }
            let total = known.message.bytes.get().saturating_add(bytes.get());
            if total > MAX_SIZE.get() {
                return Err(ImportError::at_line(
                    ready.line,
                    "the messages of this connection have more than 1000TB",
                ));
            }
            known.message.bytes = Bytes::new(total);
            self.merged += 1;
        }
        self.flows = kept;
        Ok(())
    }

    fn finish(mut self, last: usize) -> Result<(Imported, Vec<HtsimFailure>), ImportError> {
        let nodes = self.nodes.ok_or_else(|| ImportError::at_line(last, "`Nodes N` is missing"))?;
        if let Some((said, line)) = self.connections
            && said != self.flows.len()
        {
            let what = format!("{said} connections are announced, but {} follow", self.flows.len());
            return Err(ImportError::at_line(line, what));
        }
        if let Some((said, line)) = self.announced
            && said != self.failures.len()
        {
            let what = format!("{said} failures are announced, but {} follow", self.failures.len());
            return Err(ImportError::at_line(line, what));
        }
        self.merge()?;
        let mut tasks: Vec<Task> = Vec::new();
        let mut messages: Vec<Message> = self.flows.iter().map(|flow| flow.message).collect();
        let roles = self.roles();
        let mut of_trigger: BTreeMap<(u64, u32), Dependency> = BTreeMap::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let Some(trigger) = flow.trigger else { continue };
            let (rank, line) = (flow.message.src, flow.message.ready.line);
            let after = if let Some(known) = of_trigger.get(&(trigger, rank)) {
                *known
            } else {
                let activated = self.activated(trigger, flow, roles.get(&trigger))?;
                let after = if let [one] = activated[..] {
                    one
                } else {
                    let id = tasks.len() as u32;
                    tasks.push(Task { id: u64::from(id), rank, after: activated, delay: Span::ZERO, line });
                    Dependency::Task(id)
                };
                of_trigger.insert((trigger, rank), after);
                after
            };
            messages[number].ready.after = after;
        }
        let groups = vec![Ranks { id: 0, members: (0..nodes).collect() }];
        let (collectives, acts) = (Vec::new(), Vec::new());
        let parts = crate::trace::Parts::default();
        let trace = Trace { ranks: nodes, groups, tasks, messages, collectives, acts, parts };
        trace.expand()?;
        let notes = self.notes();
        Ok((Imported { trace, notes }, self.failures))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.priorities {
            notes.push("prio is not kept: all flows of a traffic entry have one priority".to_owned());
        }
        if self.merged > 0 {
            notes.push(format!(
                "{} messages go with the first one of their connection, as one flow: there each begins a packet of its own",
                self.merged
            ));
        }
        if self.flows.iter().any(|flow| flow.send_done.is_some()) {
            let note =
                "send_done_trigger waits for an acknowledgement: the scenario needs [ack] every = 1 or more";
            notes.push(note.to_owned());
        }
        notes
    }

    /// Which flows activate each trigger, and how many wait for it.
    fn roles(&self) -> BTreeMap<u64, Roles> {
        let mut roles: BTreeMap<u64, Roles> = BTreeMap::new();
        for (number, flow) in (0..).zip(&self.flows) {
            let ends = [
                (flow.send_done, flow.message.src, Dependency::Acked(number)),
                (flow.receive_done, flow.message.dst, Dependency::Received(number)),
            ];
            for (trigger, at, event) in ends {
                if let Some(trigger) = trigger {
                    let line = flow.message.ready.line;
                    roles.entry(trigger).or_default().activators.push((at, event, line));
                }
            }
            if let Some(trigger) = flow.trigger {
                roles.entry(trigger).or_default().waiting += 1;
            }
        }
        roles
    }

    /// What has to happen before a trigger lets this flow go.
    fn activated(
        &self,
        trigger: u64,
        flow: &Flow,
        roles: Option<&Roles>,
    ) -> Result<Vec<Dependency>, ImportError> {
        let line = flow.message.ready.line;
        let Some((kind, told)) = self.triggers.get(&trigger) else {
            return Err(ImportError::at_line(line, format!("no line says `trigger id {trigger} ...`")));
        };
        let mut after = Vec::new();
        for (at, event, said) in roles.iter().flat_map(|roles| &roles.activators) {
            if *at != flow.message.src {
                let what = format!(
                    "trigger {trigger} is activated at node {at} (line {said}), but this flow starts at node {}, which cannot know \
                     it; let a small flow from {at} to {} carry the news",
                    flow.message.src, flow.message.src
                );
                return Err(ImportError::at_line(line, what));
            }
            after.push(*event);
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
            Kind::MultiShot if roles.is_some_and(|roles| roles.waiting > 1) => {
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

/// Takes `msg` and its number out of a flow's words. What is a message of a connection is said by its id.
fn without_msg(line: &mut Line<'_>) {
    if let Some(at) = line.words.iter().position(|word| *word == "msg") {
        let number = line.words.get(at + 1).is_some_and(|word| word.parse::<u64>().is_ok());
        line.words.drain(at..=at + usize::from(number));
    }
}
