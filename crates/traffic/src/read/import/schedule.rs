//! Operations of ranks that wait for each other, and what they are as a trace.
use std::collections::{BTreeMap, VecDeque};

use backwater_units::{Bytes, Span};

use super::ImportError;
use crate::trace::{Collective, Dependency, MAX_FLOWS, MAX_RANKS, Message, Ranks, Ready, Task, Trace};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Sends to a rank; done when the last bit has left.
    Send { to: u32, bytes: u64, tag: u64 },
    /// Receives from a rank; done when it has been posted and all has come in.
    Receive { from: u32, bytes: u64, tag: u64 },
    /// Computes.
    Compute(Span),
    /// Takes part in a collective, by its number in the list.
    Collective(u32),
}

/// One operation of a rank. What it waits for are operations of the same rank, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) what: What,
    /// Operations that must be done.
    pub(super) requires: Vec<u32>,
    /// Operations that must have begun.
    pub(super) follows: Vec<u32>,
    /// Line of the file; 0: none.
    pub(super) line: usize,
}

/// The operations of every rank, and the collectives that they take part in.
#[derive(Default)]
pub(super) struct Schedule {
    pub(super) ranks: Vec<Vec<Operation>>,
    pub(super) collectives: Vec<Collective>,
    pub(super) groups: Vec<Ranks>,
}

/// Nothing.
const NONE: u32 = u32::MAX;

/// What has been allotted to each operation of one rank.
struct Parts {
    /// Its message.
    message: Vec<u32>,
    /// A task that is done when it begins.
    start: Vec<u32>,
    /// A task that is done when it is.
    end: Vec<u32>,
}

impl Schedule {
    /// The schedule as a trace. Sends and receives with the same ranks and tag belong together in the order in which they stand.
    ///
    /// # Errors
    /// A send without its receive or the reverse, a message longer than its receive, operations that wait for themselves.
    pub(super) fn trace(mut self) -> Result<Trace, ImportError> {
        let count = self.ranks.len();
        if !(2..=MAX_RANKS as usize).contains(&count) {
            let what = format!("it has {count} ranks; a trace has 2 to {MAX_RANKS}");
            return Err(ImportError::in_the_file(what));
        }
        let mut parts = self.parts();
        let messages = self.messages(&mut parts)?;
        let mut trace = Trace {
            ranks: count as u32,
            groups: vec![Ranks { id: 0, members: (0..count as u32).collect() }],
            tasks: Vec::new(),
            messages,
            collectives: std::mem::take(&mut self.collectives),
            acts: Vec::new(),
            parts: crate::trace::Parts::default(),
        };
        trace.groups.append(&mut self.groups);
        let flows = trace.flows();
        if flows > MAX_FLOWS {
            let what = format!("it becomes {flows} messages; at most {MAX_FLOWS} are possible");
            return Err(ImportError::in_the_file(what));
        }
        self.allot_tasks(&mut parts, &mut trace);
        self.connect(&parts, &mut trace);
        trace.expand().map_err(|error| match error.line {
            0 => ImportError::in_the_file("some operations wait, by way of others, for themselves"),
            line => ImportError::at_line(line, error.what),
        })?;
        Ok(trace)
    }

    /// A note, if receives have room for more than is sent to them, which MPI allows and which may be a mistake.
    pub(super) fn note_on_room(&self) -> Option<String> {
        let mut sent: BTreeMap<(u32, u32, u64), VecDeque<u64>> = BTreeMap::new();
        let each = || {
            (0..).zip(&self.ranks).flat_map(|(rank, all)| all.iter().map(move |operation| (rank, operation)))
        };
        for (rank, operation) in each() {
            if let What::Send { to, bytes, tag } = operation.what {
                sent.entry((rank, to, tag)).or_default().push_back(bytes);
            }
        }
        let mut roomy = each().filter(|(rank, operation)| match operation.what {
            What::Receive { from, bytes, tag } => {
                let first = sent.get_mut(&(from, *rank, tag)).and_then(VecDeque::pop_front);
                first.is_some_and(|sent| sent < bytes)
            }
            _ => false,
        });
        let (_, first) = roomy.next()?;
        let count = 1 + roomy.count();
        let place =
            if first.line == 0 { String::new() } else { format!(" (the first in line {})", first.line) };
        Some(format!("{count} receives{place} have room for more than is sent: what is sent counts"))
    }

    fn parts(&self) -> Vec<Parts> {
        let none = |operations: &Vec<Operation>| {
            let none = vec![NONE; operations.len()];
            Parts { message: none.clone(), start: none.clone(), end: none }
        };
        self.ranks.iter().map(none).collect()
    }

    fn place(&self, rank: usize, operation: usize) -> String {
        match self.ranks[rank][operation].line {
            0 => format!("rank {rank}, operation {operation}"),
            line => format!("line {line}"),
        }
    }

    /// Every send is a message; receives find theirs.
    fn messages(&self, parts: &mut [Parts]) -> Result<Vec<Message>, ImportError> {
        let mut messages = Vec::new();
        let mut open: BTreeMap<(u32, u32, u64), VecDeque<(u32, usize)>> = BTreeMap::new();
        for (rank, operations) in self.ranks.iter().enumerate() {
            for (number, operation) in operations.iter().enumerate() {
                let What::Send { to, bytes, tag } = operation.what else { continue };
                let src = rank as u32;
                self.check_peer(rank, number, to)?;
                let id = messages.len() as u32;
                parts[rank].message[number] = id;
                open.entry((src, to, tag)).or_default().push_back((id, number));
                let ready = Ready { line: operation.line, ..Ready::AT_ONCE };
                messages.push(Message { id: u64::from(id), src, dst: to, bytes: Bytes::new(bytes), ready });
            }
        }
        for (rank, operations) in self.ranks.iter().enumerate() {
            for (number, operation) in operations.iter().enumerate() {
                let What::Receive { from, bytes, tag } = operation.what else { continue };
                self.check_peer(rank, number, from)?;
                let fits = open.get_mut(&(from, rank as u32, tag)).and_then(VecDeque::pop_front);
                let error = |what| ImportError { place: self.place(rank, number), what };
                let Some((id, _)) = fits else {
                    let what = format!(
                        "rank {rank} receives from rank {from} with tag {tag}, which sends nothing more to it"
                    );
                    return Err(error(what));
                };
                let sent = messages[id as usize].bytes.get();
                if sent > bytes {
                    return Err(error(format!(
                        "there is room for {bytes} B, but rank {from} sends {sent} B"
                    )));
                }
                parts[rank].message[number] = id;
            }
        }
        let left = open.into_iter().find_map(|(key, left)| left.front().map(|(_, number)| (key, *number)));
        if let Some(((src, dst, tag), number)) = left {
            let what = format!("rank {dst} never receives what rank {src} sends it here with tag {tag}");
            return Err(ImportError { place: self.place(src as usize, number), what });
        }
        Ok(messages)
    }

    fn check_peer(&self, rank: usize, number: usize, peer: u32) -> Result<(), ImportError> {
        let count = self.ranks.len();
        let what = if peer as usize >= count {
            format!("there is no rank {peer}; the {count} ranks are 0 to {}", count - 1)
        } else if peer as usize == rank {
            format!("rank {rank} sends to itself, which needs no network; write a computation instead")
        } else {
            return Ok(());
        };
        Err(ImportError { place: self.place(rank, number), what })
    }

    /// A record waits for one thing, a task for several: tasks where they are needed.
    fn allot_tasks(&self, parts: &mut [Parts], trace: &mut Trace) {
        for (rank, operations) in self.ranks.iter().enumerate() {
            let mut followed = vec![false; operations.len()];
            for other in operations.iter().flat_map(|operation| &operation.follows) {
                followed[*other as usize] = true;
            }
            for (number, operation) in operations.iter().enumerate() {
                let waits = operation.requires.len() + operation.follows.len();
                let mut task = |delay| {
                    let id = trace.tasks.len() as u32;
                    let (rank, line) = (rank as u32, operation.line);
                    trace.tasks.push(Task { id: u64::from(id), rank, after: Vec::new(), delay, line });
                    id
                };
                if waits > 1 || (waits == 1 && followed[number]) {
                    parts[rank].start[number] = task(Span::ZERO);
                }
                match operation.what {
                    What::Compute(time) => parts[rank].end[number] = task(time),
                    What::Receive { .. } if waits > 0 => parts[rank].end[number] = task(Span::ZERO),
                    _ => {}
                }
            }
        }
    }

    /// Says of everything what it waits for.
    fn connect(&self, parts: &[Parts], trace: &mut Trace) {
        for (rank, operations) in self.ranks.iter().enumerate() {
            let parts = &parts[rank];
            for (number, operation) in operations.iter().enumerate() {
                let requires = operation.requires.iter().map(|other| self.done(rank, *other as usize, parts));
                let follows = operation.follows.iter().filter_map(|other| begun(*other as usize, parts));
                let mut gate: Vec<Dependency> = requires.chain(follows).collect();
                if parts.start[number] != NONE {
                    let start = std::mem::replace(&mut gate, vec![Dependency::Task(parts.start[number])]);
                    trace.tasks[parts.start[number] as usize].after = start;
                }
                let first = gate.first().copied().unwrap_or(Dependency::Start);
                match operation.what {
                    What::Send { .. } => {
                        trace.messages[parts.message[number] as usize].ready.after = first;
                    }
                    What::Receive { .. } if parts.end[number] != NONE => {
                        gate.push(Dependency::Received(parts.message[number]));
                        trace.tasks[parts.end[number] as usize].after = gate;
                    }
                    What::Receive { .. } => {}
                    What::Compute(_) => trace.tasks[parts.end[number] as usize].after = gate,
                    What::Collective(collective) => {
                        let members =
                            &trace.groups[trace.collectives[collective as usize].group as usize].members;
                        let member = members.iter().position(|member| *member as usize == rank);
                        let ready = Ready { after: first, delay: Span::ZERO, line: operation.line };
                        let member = member.expect("only members take part");
                        trace.collectives[collective as usize].joins[member] = ready;
                    }
                }
            }
        }
    }

    fn done(&self, rank: usize, number: usize, parts: &Parts) -> Dependency {
        match self.ranks[rank][number].what {
            _ if parts.end[number] != NONE => Dependency::Task(parts.end[number]),
            What::Send { .. } => Dependency::Sent(parts.message[number]),
            What::Collective(collective) => Dependency::Done(collective),
            What::Receive { .. } | What::Compute(_) => Dependency::Received(parts.message[number]),
        }
    }
}

/// When an operation that others follow begins; `None`: at the start.
fn begun(number: usize, parts: &Parts) -> Option<Dependency> {
    (parts.start[number] != NONE).then(|| Dependency::Task(parts.start[number]))
}
