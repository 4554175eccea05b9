//! Backwater's own trace format; `docs/trace-format.md` describes it.
//!
//! ```text
//! backwater-trace 1
//! ranks 4
//! group 1 0 2
//! message 1 from 0 to 1 bytes 4KiB
//! message 2 from 1 to 2 bytes 4096 after received 1 delay 500ns
//! task 1 rank 2 after received 2 received 3 delay 1us
//! collective 1 allreduce bytes 1MiB algorithm ring group 1 root 0
//! join 1 rank 2 after received 2
//! pe * put to +1 bytes 8 times 100
//! ```
mod pe;

use std::collections::BTreeMap;
use std::str::FromStr;

use backwater_units::Span;

use super::LineError;
use super::collective::{Shape, shape};
use super::line::{Line, lines, shown};
use crate::trace::{
    Collective, Dependency, HEADER, MAX_FLOWS, MAX_RANKS, Message, Op, Ranks, Ready, Task, Trace,
};

/// A record's place in a list by its name.
type Names = BTreeMap<u64, u32>;

/// Reads a trace and checks that it can be carried out: every name is known, every dependency is local to its rank, and nothing
/// waits for itself.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn trace(text: &str) -> Result<Trace, LineError> {
    let lines = lines(text);
    let mut reader = Reader::start(&lines)?;
    for line in &lines[2..] {
        reader.declare(line)?;
    }
    for line in &lines[2..] {
        reader.depend(line)?;
    }
    reader.trace.expand()?;
    Ok(reader.trace)
}

struct Reader {
    trace: Trace,
    groups: Names,
    tasks: Names,
    messages: Names,
    collectives: Names,
    /// Messages of the collectives and programs so far.
    flows: u64,
}

impl Reader {
    /// The first two lines.
    fn start(lines: &[Line<'_>]) -> Result<Self, LineError> {
        let header: Vec<&str> = HEADER.split_whitespace().collect();
        let (Some(first), true) = (lines.first(), lines.first().is_some_and(|line| line.words == header))
        else {
            let what = format!("the first line must be `{HEADER}`");
            return Err(LineError { line: lines.first().map_or(1, |line| line.number), what });
        };
        let wrong = |line: usize| LineError {
            line,
            what: format!("the second line must be `ranks N`, N from 2 to {MAX_RANKS}"),
        };
        let second = lines.get(1).ok_or_else(|| wrong(first.number + 1))?;
        let ranks = match second.words[..] {
            ["ranks", ranks] => ranks.parse().ok().filter(|ranks| (2..=MAX_RANKS).contains(ranks)),
            _ => None,
        };
        let ranks = ranks.ok_or_else(|| wrong(second.number))?;
        let groups = vec![Ranks { id: 0, members: (0..ranks).collect() }];
        let trace = Trace {
            ranks,
            groups,
            tasks: Vec::new(),
            messages: Vec::new(),
            collectives: Vec::new(),
            acts: Vec::new(),
            parts: crate::trace::Parts::default(),
        };
        Ok(Self {
            trace,
            groups: [(0, 0)].into(),
            tasks: Names::new(),
            messages: Names::new(),
            collectives: Names::new(),
            flows: 0,
        })
    }

    fn rank(&self, line: &Line<'_>, key: &str) -> Result<u32, LineError> {
        let rank = line.needed(key, "a rank")?;
        self.known_rank(line, rank)
    }

    fn known_rank(&self, line: &Line<'_>, rank: u32) -> Result<u32, LineError> {
        let (ranks, last) = (self.trace.ranks, self.trace.ranks - 1);
        let what = || format!("there is no rank {rank}; the {ranks} ranks are 0 to {last}");
        (rank < ranks).then_some(rank).ok_or_else(|| line.error(what()))
    }

    /// Notes what a line names, but not what it depends on.
    fn declare(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        match line.words[0] {
            "group" => self.group(line),
            "message" => self.message(line),
            "task" => self.task(line),
            "collective" => self.collective(line),
            "join" => Ok(()),
            "pe" => self.act(line),
            word => {
                let known = "group, message, task, collective, join, pe";
                Err(line.error(format!("`{}` is not one of {known}", shown(word))))
            }
        }
    }

    fn group(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let id = line.id()?;
        let mut members = Vec::new();
        for word in &line.words[2..] {
            let what = || line.error(format!("`{}` is not a rank", shown(word)));
            members.push(self.known_rank(line, word.parse().map_err(|_| what())?)?);
        }
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if members.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(line.error("a group needs at least one rank, and each of them once".to_owned()));
        }
        named(line, "group", &mut self.groups, id, self.trace.groups.len())?;
        self.trace.groups.push(Ranks { id, members });
        Ok(())
    }

    fn message(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        line.only(2, &["from", "to", "bytes", "after", "delay"])?;
        let (id, src, dst) = (line.id()?, self.rank(line, "from")?, self.rank(line, "to")?);
        let bytes =
            line.size("bytes")?.ok_or_else(|| line.error("a message needs `bytes` and a size".to_owned()))?;
        if src == dst {
            return Err(line.error(format!("the message goes from rank {src} to itself")));
        }
        named(line, "message", &mut self.messages, id, self.trace.messages.len())?;
        self.trace.messages.push(Message { id, src, dst, bytes, ready: Ready::AT_ONCE });
        Ok(())
    }

    fn task(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let until = line.words.iter().position(|word| *word == "after").unwrap_or(line.words.len());
        let rest = line.words.iter().position(|word| *word == "delay").unwrap_or(line.words.len());
        if rest < until && until < line.words.len() {
            return Err(line.error("`delay` comes after what the task waits for".to_owned()));
        }
        let own = Line {
            number: line.number,
            words: [&line.words[..until.min(rest)], &line.words[rest..]].concat(),
        };
        own.only(2, &["rank", "delay"])?;
        let (id, rank) = (line.id()?, self.rank(&own, "rank")?);
        let delay = own.value("delay", "a time such as 500ns")?.unwrap_or(Span::ZERO);
        named(line, "task", &mut self.tasks, id, self.trace.tasks.len())?;
        self.trace.tasks.push(Task { id, rank, after: Vec::new(), delay, line: line.number });
        Ok(())
    }

    fn collective(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        line.only(3, &["bytes", "algorithm", "within", "group", "root"])?;
        let id = line.id()?;
        let op = Op::from_str(line.words.get(2).unwrap_or(&"")).map_err(|known| {
            line.error(format!("`{}` is not {known}", shown(line.words.get(2).unwrap_or(&"nothing"))))
        })?;
        let group = self.group_of(line)?;
        let members = &self.trace.groups[group as usize].members;
        let Shape { algorithm, root, bytes } = shape(line, op, members)?;
        let algorithm = algorithm.unwrap_or(op.algorithms()[0]);
        let joins = vec![Ready::AT_ONCE; members.len()];
        named(line, "collective", &mut self.collectives, id, self.trace.collectives.len())?;
        let (root, line) = (root as u32, line.number);
        self.count(line, algorithm.messages(op, joins.len() as u64))?;
        self.trace.collectives.push(Collective {
            id,
            op,
            algorithm,
            bytes,
            uneven: Vec::new(),
            group,
            root,
            joins,
            line,
        });
        Ok(())
    }

    /// Counts messages that a line becomes.
    fn count(&mut self, line: usize, messages: u64) -> Result<(), LineError> {
        self.flows = self.flows.saturating_add(messages);
        let what = || format!("with this line the trace has more than {MAX_FLOWS} messages");
        if self.flows > MAX_FLOWS { Err(LineError { line, what: what() }) } else { Ok(()) }
    }

    fn group_of(&self, line: &Line<'_>) -> Result<u32, LineError> {
        let id = line.value("group", "the number of a group")?.unwrap_or(0);
        let what = || line.error(format!("no line above says `group {id} ...`"));
        self.groups.get(&id).copied().ok_or_else(what)
    }

    /// Notes what a line depends on, once all names are known.
    fn depend(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        match line.words[0] {
            "message" => {
                let number = self.messages[&line.id()?] as usize;
                self.trace.messages[number].ready = self.ready(line, self.trace.messages[number].src)?;
            }
            "join" => {
                line.only(2, &["rank", "after", "delay"])?;
                let (id, rank) = (line.id()?, self.rank(line, "rank")?);
                let number = *self
                    .collectives
                    .get(&id)
                    .ok_or_else(|| line.error(format!("there is no collective {id} to join")))?;
                let collective = &self.trace.collectives[number as usize];
                let members = &self.trace.groups[collective.group as usize].members;
                let member = members.iter().position(|member| *member == rank);
                let member =
                    member.ok_or_else(|| line.error(format!("rank {rank} is not in collective {id}")))?;
                if collective.joins[member].line > 0 {
                    return Err(line.error(format!("rank {rank} joins collective {id} twice")));
                }
                let ready = self.ready(line, rank)?;
                self.trace.collectives[number as usize].joins[member] = ready;
            }
            "task" => {
                let number = self.tasks[&line.id()?] as usize;
                let rank = self.trace.tasks[number].rank;
                if let Some(at) = line.words.iter().position(|word| *word == "after") {
                    let words = line.words[at + 1..].split(|word| *word == "delay").next().unwrap_or(&[]);
                    let what = words
                        .chunks(2)
                        .map(|two| self.after(line, two, rank))
                        .collect::<Result<Vec<_>, _>>()?;
                    if what.is_empty() {
                        return Err(line.error(AFTER.to_owned()));
                    }
                    self.trace.tasks[number].after = what;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `after` and `delay` of a record at `rank`.
    fn ready(&self, line: &Line<'_>, rank: u32) -> Result<Ready, LineError> {
        let delay: Span = line.value("delay", "a time such as 500ns")?.unwrap_or(Span::ZERO);
        let Some(at) = line.words.iter().position(|word| *word == "after") else {
            return Ok(Ready { after: Dependency::Start, delay, line: line.number });
        };
        let end = line.words.len().min(at + 3);
        Ok(Ready { after: self.after(line, &line.words[at + 1..end], rank)?, delay, line: line.number })
    }

    /// One thing that a record at `rank` waits for, in two words.
    fn after(&self, line: &Line<'_>, words: &[&str], rank: u32) -> Result<Dependency, LineError> {
        let what = || line.error(AFTER.to_owned());
        let &[kind, id] = words else { return Err(what()) };
        let id: u64 = id.parse().map_err(|_| what())?;
        let message = |names: &Names| {
            let unknown = || line.error(format!("there is no message {id}"));
            let number = *names.get(&id).ok_or_else(unknown)?;
            Ok((number, &self.trace.messages[number as usize]))
        };
        let after = match kind {
            "sent" | "acked" => {
                let (number, message) = message(&self.messages)?;
                local(line, message.src, rank, &format!("message {id} is sent by"))?;
                if kind == "sent" { Dependency::Sent(number) } else { Dependency::Acked(number) }
            }
            "received" => {
                let (number, message) = message(&self.messages)?;
                local(line, message.dst, rank, &format!("message {id} is received by"))?;
                Dependency::Received(number)
            }
            "done" => {
                let unknown = || line.error(format!("there is no collective {id}"));
                let number = *self.collectives.get(&id).ok_or_else(unknown)?;
                let group = self.trace.collectives[number as usize].group as usize;
                if !self.trace.groups[group].members.contains(&rank) {
                    return Err(line.error(format!("rank {rank} has no part in collective {id}")));
                }
                Dependency::Done(number)
            }
            "task" => {
                let unknown = || line.error(format!("there is no task {id}"));
                let number = *self.tasks.get(&id).ok_or_else(unknown)?;
                local(line, self.trace.tasks[number as usize].rank, rank, &format!("task {id} is one of"))?;
                Dependency::Task(number)
            }
            _ => return Err(what()),
        };
        Ok(after)
    }
}

/// What stands after `after`.
const AFTER: &str = "after needs `sent`, `acked`, `received`, `done` or `task` and a number";

/// A dependency must be on something at the same rank.
fn local(line: &Line<'_>, at: u32, rank: u32, what: &str) -> Result<(), LineError> {
    if at == rank {
        return Ok(());
    }
    Err(line.error(format!("{what} rank {at}, but this is a record of rank {rank}, which cannot know it")))
}

fn named(line: &Line<'_>, what: &str, names: &mut Names, id: u64, number: usize) -> Result<(), LineError> {
    match names.insert(id, number as u32) {
        None => Ok(()),
        Some(_) => Err(line.error(format!("there are two of {what} {id}"))),
    }
}

#[cfg(test)]
mod tests;
