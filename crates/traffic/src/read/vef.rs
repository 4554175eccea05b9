//! VEF traces (VEF-Prospector, VEF-TraceLIB; RAAP group, UCLM): messages and collectives of an MPI application whose records
//! become ready relative to a send, a receive or a collective of the same rank.
//!
//! ```text
//! VEF<version> ranks messages communicators global-collectives local-collectives TRUE
//! C<number> rank rank ...                                       C0: all ranks
//! id source destination bytes dependency delay-in-ns id         dependency: see DEPENDENCIES
//! G<id> communicator operation rank bytes-sent bytes-received dependency delay-in-ns id
//! ```
//! The layout is that of an independent parser (F. Chaix, FORTH). We have seen neither the format's own description nor a
//! trace of its tools: what the numbers of dependencies and operations mean is a guess. It stands in the two tables here.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Span};

use super::LineError;
use crate::flow::MAX_SIZE;
use crate::trace::{Collective, Dependency, MAX_RANKS, Message, Op, Ranks, Ready, Trace};

/// What the tables below are worth; for whoever imports a trace.
pub const VEF_CAVEAT: &str = "the numeric codes of dependencies (0 none, 1 sent, 2 received, 3 collective) and of \
     operations (0 barrier, 1 bcast, 2 gather, 3 scatter, 4 reduce, 5 allreduce, 6 allgather, 7 alltoall, 8 reduce-scatter) \
     are not verified against the VEF tools; look at what was made of a few records";

/// What a record waits for, by its number. Not verified.
const DEPENDENCIES: [(u32, Wait); 4] =
    [(0, Wait::Nothing), (1, Wait::Sent), (2, Wait::Received), (3, Wait::Done)];

/// Collective operations by their numbers. Not verified.
const OPERATIONS: [(u32, Op); 9] = [
    (0, Op::Barrier),
    (1, Op::Bcast),
    (2, Op::Gather),
    (3, Op::Scatter),
    (4, Op::Reduce),
    (5, Op::Allreduce),
    (6, Op::Allgather),
    (7, Op::Alltoall),
    (8, Op::ReduceScatter),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Nothing,
    Sent,
    Received,
    Done,
}

/// A line in words.
struct Line<'a> {
    number: usize,
    words: Vec<&'a str>,
}

impl Line<'_> {
    fn error(&self, what: impl Into<String>) -> LineError {
        LineError { line: self.number, what: what.into() }
    }

    fn field(&self, at: usize, what: &str) -> Result<u64, LineError> {
        let text = self.words[at].trim_start_matches(['C', 'G', 'L']);
        text.parse().map_err(|_| {
            self.error(format!("{what} `{}` is not a number", text.chars().take(40).collect::<String>()))
        })
    }

    fn rank(&self, at: usize, what: &str, ranks: u32) -> Result<u32, LineError> {
        let rank = self.field(at, what)?;
        let known =
            || self.error(format!("there is no rank {rank}; the {ranks} ranks are 0 to {}", ranks - 1));
        u32::try_from(rank).ok().filter(|rank| *rank < ranks).ok_or_else(known)
    }

    /// The last three fields: what the record waits for.
    fn wait(&self, at: usize) -> Result<(Wait, Span, u64), LineError> {
        let code = self.field(at, "dependency")?;
        let found = DEPENDENCIES.iter().find(|(known, _)| u64::from(*known) == code);
        let unknown = || self.error(format!("dependency {code} is not known; there are 0 to 3"));
        let wait = found.map(|(_, wait)| *wait).ok_or_else(unknown)?;
        let delay = self.field(at + 1, "delay")?.checked_mul(1000);
        let long = || self.error("a delay of more than 213 days");
        Ok((wait, Span::from_ps(delay.ok_or_else(long)?), self.field(at + 2, "dependency's id")?))
    }
}

/// One rank's part in a collective.
struct Part {
    line: usize,
    op: u32,
    rank: u32,
    group: u32,
    sent: u64,
    received: u64,
    wait: (Wait, Span, u64),
}

/// Reads a VEF trace as a trace of ours: with the default algorithms for collectives, and checked like one.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn vef(text: &str) -> Result<Trace, LineError> {
    let words = |text| str::split_whitespace(text).collect();
    let lines = text.lines().zip(1..).map(|(text, number)| Line { number, words: words(text) });
    let lines: Vec<Line<'_>> = lines.filter(|line| !line.words.is_empty()).collect();
    let Some(header) = lines.first() else {
        return Err(LineError { line: 1, what: "is empty; the first line must begin with `VEF`".into() });
    };
    let mut reader =
        Reader { trace: start(header)?, groups: BTreeMap::new(), waits: Vec::new(), parts: BTreeMap::new() };
    reader.groups.insert(0, 0);
    for line in &lines[1..] {
        match line.words[0].chars().next() {
            Some('C') => reader.communicator(line)?,
            Some('G' | 'L') => reader.part(line)?,
            _ => reader.message(line)?,
        }
    }
    announced(header, &lines[1..])?;
    reader.finish()
}

/// A trace that was cut off is not a shorter trace. Whether the last two numbers count collectives or the lines of their ranks we
/// do not know, so lines suffice.
fn announced(header: &Line<'_>, lines: &[Line<'_>]) -> Result<(), LineError> {
    let begins = |with: &str| lines.iter().filter(|line| line.words[0].starts_with(with)).count() as u64;
    let messages = lines.len() as u64 - begins("C") - begins("G") - begins("L");
    let counts = [
        ("messages", messages),
        ("communicators", begins("C")),
        ("lines of G", begins("G")),
        ("lines of L", begins("L")),
    ];
    for (at, (what, found)) in (2..).zip(counts) {
        // What is no number there is of a version that we do not know.
        let wanted = header.words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        // All ranks are communicator 0, also where nobody says so.
        if found + u64::from(what == "communicators") < wanted {
            return Err(header
                .error(format!("announces {wanted} {what}, but {found} follow; is the file truncated?")));
        }
    }
    Ok(())
}

fn start(header: &Line<'_>) -> Result<Trace, LineError> {
    if !header.words[0].starts_with("VEF") || header.words.len() < 2 {
        return Err(header.error("the first line must be `VEF<version> ranks messages communicators ...`"));
    }
    let ranks = header.field(1, "the number of ranks")?;
    let wrong = || header.error(format!("{ranks} ranks: there must be 2 to {MAX_RANKS}"));
    let fits = u32::try_from(ranks).ok().filter(|ranks| (2..=MAX_RANKS).contains(ranks));
    let ranks = fits.ok_or_else(wrong)?;
    let groups = vec![Ranks { id: 0, members: (0..ranks).collect() }];
    Ok(Trace {
        ranks,
        groups,
        tasks: Vec::new(),
        messages: Vec::new(),
        collectives: Vec::new(),
        acts: Vec::new(),
        parts: crate::trace::Parts::default(),
    })
}

struct Reader {
    trace: Trace,
    /// Communicators by number.
    groups: BTreeMap<u64, u32>,
    /// What each message waits for.
    waits: Vec<(Wait, Span, u64)>,
    parts: BTreeMap<u64, Vec<Part>>,
}

impl Reader {
    fn communicator(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let number = line.field(0, "communicator")?;
        if number == 0 {
            return Ok(());
        }
        let ranks = 1..line.words.len();
        let members: Vec<u32> =
            ranks.map(|at| line.rank(at, "rank", self.trace.ranks)).collect::<Result<_, _>>()?;
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if members.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(line.error("a communicator needs at least one rank, and each of them once"));
        }
        if self.groups.insert(number, self.trace.groups.len() as u32).is_some() {
            return Err(line.error(format!("there are two of communicator {number}")));
        }
        self.trace.groups.push(Ranks { id: number, members });
        Ok(())
    }

    fn message(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        if line.words.len() != 7 {
            let what = "a message is `id source destination bytes dependency delay id`";
            return Err(line.error(format!("{what}, not {} fields", line.words.len())));
        }
        let ranks = self.trace.ranks;
        let (id, src, dst) =
            (line.field(0, "id")?, line.rank(1, "source", ranks)?, line.rank(2, "destination", ranks)?);
        let bytes = line.field(3, "bytes")?;
        if src == dst {
            return Err(line.error(format!("the message goes from rank {src} to itself; leave it out")));
        }
        if bytes > MAX_SIZE.get() {
            return Err(line.error(format!("{bytes} B are more than 1000TB")));
        }
        let ready = Ready { line: line.number, ..Ready::AT_ONCE };
        self.waits.push(line.wait(4)?);
        self.trace.messages.push(Message { id, src, dst, bytes: Bytes::new(bytes), ready });
        Ok(())
    }

    fn part(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        if line.words.len() != 9 {
            let what =
                "a collective is `G<id> communicator operation rank sent received dependency delay id`";
            return Err(line.error(format!("{what}, not {} fields", line.words.len())));
        }
        let (id, communicator) = (line.field(0, "id")?, line.field(1, "communicator")?);
        let unknown = || line.error(format!("there is no communicator {communicator}"));
        let group = *self.groups.get(&communicator).ok_or_else(unknown)?;
        let rank = line.rank(3, "rank", self.trace.ranks)?;
        if !self.trace.groups[group as usize].members.contains(&rank) {
            return Err(line.error(format!("rank {rank} is not in communicator {communicator}")));
        }
        let code = line.field(2, "operation")?;
        let most = OPERATIONS.len() - 1;
        let known = u32::try_from(code).ok().filter(|code| OPERATIONS.iter().any(|(op, _)| op == code));
        let op = known
            .ok_or_else(|| line.error(format!("operation {code} is not known; there are 0 to {most}")))?;
        let (sent, received) = (line.field(4, "bytes sent")?, line.field(5, "bytes received")?);
        let parts = self.parts.entry(id).or_default();
        if parts.iter().any(|part| part.rank == rank) {
            return Err(line.error(format!("rank {rank} has two lines of collective {id}")));
        }
        if parts.first().is_some_and(|first| first.op != op || first.group != group) {
            return Err(line.error(format!("collective {id} has another operation or communicator above")));
        }
        parts.push(Part { line: line.number, op, rank, group, sent, received, wait: line.wait(6)? });
        Ok(())
    }

    /// Everything has been read: names become places in the lists.
    fn finish(mut self) -> Result<Trace, LineError> {
        let mut numbers = BTreeMap::new();
        for (number, message) in (0..).zip(&self.trace.messages) {
            if numbers.insert(message.id, number).is_some() {
                let what = format!("there are two of message {}", message.id);
                return Err(LineError { line: message.ready.line, what });
            }
        }
        let collectives: BTreeMap<u64, u32> = self.parts.keys().copied().zip(0..).collect();
        let after = |trace: &Trace, (wait, delay, id): (Wait, Span, u64), rank: u32, line: usize| {
            let error = |what: String| LineError { line, what };
            let message = |at: fn(&Message) -> u32, what: &str| {
                let unknown = || error(format!("there is no message {id}"));
                let number = *numbers.get(&id).ok_or_else(unknown)?;
                let other = at(&trace.messages[number as usize]);
                let foreign = || error(format!("message {id} is {what} by rank {other}, not by rank {rank}"));
                (other == rank).then_some(number).ok_or_else(foreign)
            };
            let after = match wait {
                Wait::Nothing => Dependency::Start,
                Wait::Sent => Dependency::Sent(message(|message| message.src, "sent")?),
                Wait::Received => Dependency::Received(message(|message| message.dst, "received")?),
                Wait::Done => {
                    let number =
                        collectives.get(&id).ok_or_else(|| error(format!("there is no collective {id}")))?;
                    if !self.parts[&id].iter().any(|part| part.rank == rank) {
                        return Err(error(format!("rank {rank} has no part in collective {id}")));
                    }
                    Dependency::Done(*number)
                }
            };
            Ok(Ready { after, delay, line })
        };
        let mut ready = Vec::with_capacity(self.waits.len());
        for (wait, message) in self.waits.iter().zip(&self.trace.messages) {
            ready.push(after(&self.trace, *wait, message.src, message.ready.line)?);
        }
        let mut all = Vec::with_capacity(self.parts.len());
        for (id, parts) in &self.parts {
            let joins = |rank: &u32| {
                let part = parts.iter().find(|part| part.rank == *rank);
                let missing = || LineError {
                    line: parts[0].line,
                    what: format!("collective {id} has no line of rank {rank}"),
                };
                let part = part.ok_or_else(missing)?;
                after(&self.trace, part.wait, *rank, part.line)
            };
            let members = &self.trace.groups[parts[0].group as usize].members;
            let joins = members.iter().map(joins).collect::<Result<Vec<_>, _>>()?;
            all.push(collective(*id, parts, members, joins)?);
        }
        for (message, ready) in self.trace.messages.iter_mut().zip(ready) {
            message.ready = ready;
        }
        self.trace.collectives = all;
        if self.trace.flows() > crate::trace::MAX_FLOWS {
            let what = format!("becomes more than {} messages", crate::trace::MAX_FLOWS);
            return Err(LineError { line: 1, what });
        }
        self.trace.expand()?;
        Ok(self.trace)
    }
}

/// A collective of its parts. The format names no root: it is the member that alone sends (receives) most.
fn collective(id: u64, parts: &[Part], members: &[u32], joins: Vec<Ready>) -> Result<Collective, LineError> {
    let line = parts[0].line;
    let op = OPERATIONS.iter().find(|(code, _)| *code == parts[0].op).map_or(Op::Barrier, |(_, op)| *op);
    let most = |bytes: fn(&Part) -> u64| parts.iter().map(bytes).max().unwrap_or(0);
    let bytes = match op {
        Op::Barrier => 1,
        Op::Scatter => most(|part| part.received),
        _ => most(|part| part.sent),
    };
    let weight: fn(&Part) -> u64 = match op {
        Op::Bcast | Op::Scatter => |part| part.sent,
        _ => |part| part.received,
    };
    let heaviest = parts.iter().max_by_key(|part| (weight(part), std::cmp::Reverse(part.rank)));
    let root = heaviest.filter(|_| op.has_root()).map_or(0, |part| part.rank);
    let root = members.iter().position(|rank| *rank == root).unwrap_or(0) as u32;
    if bytes.saturating_mul(members.len() as u64) > MAX_SIZE.get() {
        return Err(LineError { line, what: format!("collective {id} moves more than 1000TB") });
    }
    let (algorithm, bytes, group) = (op.algorithms()[0], Bytes::new(bytes), parts[0].group);
    Ok(Collective { id, op, algorithm, bytes, uneven: Vec::new(), group, root, joins, line })
}

#[cfg(test)]
mod tests {
    use super::super::trace;
    use super::*;

    const SMALL: &str = "VEF3 4 2 2 1 1 TRUE
C0 0 1 2 3
C1 1 3
0 0 1 4096 0 100 0
1 1 2 10 2 500 0
G0 0 5 0 64 64 1 0 0
G0 0 5 1 64 64 0 7 0
G0 0 5 2 64 64 2 0 1
G0 0 5 3 64 64 0 0 0
L1 1 1 1 0 32 3 0 0
L1 1 1 3 32 0 3 5 0
";

    #[test]
    fn a_vef_trace_becomes_one_of_ours() {
        let read = vef(SMALL).expect("a trace");
        let expected = "backwater-trace 1
ranks 4
group 1 1 3
message 0 from 0 to 1 bytes 4096 delay 100000ps
message 1 from 1 to 2 bytes 10 after received 0 delay 500000ps
collective 0 allreduce bytes 64 algorithm ring
join 0 rank 0 after sent 0
join 0 rank 1 delay 7000ps
join 0 rank 2 after received 1
collective 1 bcast bytes 32 algorithm binomial group 1 root 3
join 1 rank 1 after done 0
join 1 rank 3 after done 0 delay 5000ps
";
        assert_eq!(read.to_string(), expected);
        let program = |trace: &Trace| trace.expand().expect("no circle").without_lines();
        assert_eq!(program(&trace(expected).expect("what was written")), program(&read));
    }

    #[track_caller]
    fn refused(from: &str, to: &str, line: usize, what: &str) {
        let error = vef(&SMALL.replace(from, to)).expect_err("something is wrong");
        assert!(error.line == line && error.what.contains(what), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(vef("").expect_err("nothing").line, 1);
        refused("VEF3 4", "VEF3 1", 1, "1 ranks");
        refused("0 0 1 4096", "0 0 4 4096", 4, "there is no rank 4");
        refused("0 0 1 4096", "0 0 0 4096", 4, "itself");
        refused("10 2 500 0", "10 9 500 0", 5, "dependency 9 is not known");
        refused("10 2 500 0", "10 2 500 7", 5, "there is no message 7");
        refused("10 2 500 0", "10 1 500 0", 5, "message 0 is sent by rank 0, not by rank 1");
        refused("1 1 2 10 2 500 0\n", "", 1, "announces 2 messages, but 1 follow; is the file truncated?");
        refused("VEF3 4 2 2", "VEF3 4 2 4", 1, "announces 4 communicators, but 2 follow");
        refused("VEF3 4 2 2 1", "VEF3 4 2 2 5", 1, "announces 5 lines of G, but 4 follow");
        let cut = SMALL.split("L1").next().expect("what is before it");
        assert!(vef(cut).expect_err("it ends early").what.contains("announces 1 lines of L, but 0 follow"));
        refused("G0 0 5 3 64 64 0 0 0\n", "", 6, "no line of rank 3");
        refused("G0 0 5 3", "G0 0 9 3", 9, "operation 9 is not known");
        refused("L1 1 1 1", "L1 1 1 2", 10, "rank 2 is not in communicator 1");
        refused("1 1 2 10 2 500 0", "1 1 2 10 3 500 0", 5, "never becomes ready");
    }
}
