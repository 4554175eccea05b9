//! GOAL, the text form: group operation schedules of LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine: Group Operation Assembly
//! Language, 2009).
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 500
//!   l2: send 8b to 1 tag 3
//!   l2 requires l1
//! }
//! rank 1 { l1: recv 8b from 0 tag 3 }
//! ```
//!
//! `// …` and `/* … */` are comments. A computation is in nanoseconds. `requires`: after the other is done; `irequires`: after it has begun.
use std::collections::BTreeMap;

use backwater_units::Span;

use super::schedule::{Operation, Schedule, What};
use super::{ImportError, Imported};
use crate::flow::MAX_SIZE;
use crate::read::line::shown;
use crate::trace::MAX_RANKS;

/// What the text and the binary form say that a trace does not.
pub(super) const CPUS: &str = "GOAL's cpus and nics are not modelled: computations of a rank run side by side as their dependencies \
                               allow, and all messages of a rank share its host's NIC";

/// Reads a GOAL schedule.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn goal(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader { words: words(text)?, at: 0, labels: BTreeMap::new(), cpus: false };
    let schedule = reader.schedule()?;
    let cpus = reader.cpus.then(|| CPUS.to_owned());
    let notes = cpus.into_iter().chain(schedule.note_on_room()).collect();
    Ok(Imported { trace: schedule.trace()?, notes })
}

/// What may be -1 there, which matches any.
const SOURCE: &str = "a rank to receive from";
const TAG: &str = "a tag";

/// A word and its line.
type Word<'a> = (&'a str, usize);

/// Words, with braces and the colon after a label apart; without comments, `// …` and `/* … */`.
fn words(text: &str) -> Result<Vec<Word<'_>>, ImportError> {
    let mut words = Vec::new();
    // The line in which a comment has begun that is still open.
    let mut open = None;
    for (line, number) in text.lines().zip(1..) {
        let mut rest = line;
        loop {
            if open.is_some() {
                let Some(end) = rest.find("*/") else { break };
                (open, rest) = (None, &rest[end + 2..]);
            }
            let begin = ["//", "/*"].iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
            let (code, comment) = rest.split_at(begin);
            split(code, number, &mut words);
            if !comment.starts_with("/*") {
                break;
            }
            (open, rest) = (Some(number), &comment[2..]);
        }
    }
    match open {
        Some(line) => {
            Err(ImportError::at_line(line, "a comment begins with `/*` and never ends; close it with `*/`"))
        }
        None => Ok(words),
    }
}

fn split<'a>(mut rest: &'a str, number: usize, words: &mut Vec<Word<'a>>) {
    while let Some(begin) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[begin..];
        let apart = |c: char| matches!(c, '{' | '}' | ':');
        let end = rest.find(|c: char| c.is_whitespace() || apart(c)).unwrap_or(rest.len());
        let end = if end == 0 { 1 } else { end };
        words.push((&rest[..end], number));
        rest = &rest[end..];
    }
}

struct Reader<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    /// Operations of the rank that is being read, by label.
    labels: BTreeMap<&'a str, u32>,
    /// Whether a cpu or nic other than the first is named.
    cpus: bool,
}

/// A dependency whose labels may not have been read yet.
struct Dependency<'a> {
    of: Word<'a>,
    on: Word<'a>,
    begun: bool,
}

impl<'a> Reader<'a> {
    fn error<T>(&self, at: usize, what: impl Into<String>) -> Result<T, ImportError> {
        let line = self.words.get(at).or(self.words.last()).map_or(1, |(_, line)| *line);
        Err(ImportError::at_line(line, what))
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).map(|(word, _)| *word);
        self.at += 1;
        word
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|(word, _)| *word)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ImportError> {
        match self.next() {
            Some(word) if word == wanted => Ok(()),
            Some(word) => self.error(self.at - 1, format!("`{wanted}` is expected, not `{}`", shown(word))),
            None => self.error(self.at, format!("`{wanted}` is expected, but the file ends")),
        }
    }

    fn number(&mut self, what: &str, suffix: &str) -> Result<u64, ImportError> {
        let Some(word) = self.next() else {
            return self.error(self.at, format!("{what} is expected, but the file ends"));
        };
        match word.strip_suffix(suffix).unwrap_or(word).parse() {
            Ok(number) => Ok(number),
            Err(_) if word == "-1" && matches!(what, SOURCE | TAG) => {
                let any = format!(
                    "-1, {what} of any kind, is not supported; write the one that it is matched with"
                );
                self.error(self.at - 1, any)
            }
            Err(_) => self.error(self.at - 1, format!("`{}` is not {what}", shown(word))),
        }
    }

    fn small(&mut self, what: &str) -> Result<u32, ImportError> {
        let number = self.number(what, "")?;
        match u32::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => self.error(self.at - 1, format!("{number} is not {what}: it is too large")),
        }
    }

    fn schedule(&mut self) -> Result<Schedule, ImportError> {
        self.expect("num_ranks")?;
        let ranks = self.small("a number of ranks")?;
        if !(2..=MAX_RANKS).contains(&ranks) {
            return self
                .error(self.at - 1, format!("num_ranks {ranks} is not a number from 2 to {MAX_RANKS}"));
        }
        let mut schedule = Schedule { ranks: vec![Vec::new(); ranks as usize], ..Schedule::default() };
        let mut seen = vec![false; ranks as usize];
        while self.peek().is_some() {
            self.expect("rank")?;
            let rank = self.small("a rank")?;
            match seen.get_mut(rank as usize) {
                None => {
                    let last = ranks - 1;
                    return self.error(
                        self.at - 1,
                        format!("there is no rank {rank}; the {ranks} ranks are 0 to {last}"),
                    );
                }
                Some(true) => return self.error(self.at - 1, format!("there are two of rank {rank}")),
                Some(seen) => *seen = true,
            }
            self.expect("{")?;
            schedule.ranks[rank as usize] = self.rank()?;
        }
        Ok(schedule)
    }

    /// The operations of one rank, up to its closing brace.
    fn rank(&mut self) -> Result<Vec<Operation>, ImportError> {
        self.labels.clear();
        let (mut operations, mut dependencies) = (Vec::new(), Vec::new());
        loop {
            let line = self.words.get(self.at).map_or(0, |(_, line)| *line);
            let Some(word) = self.next() else {
                return self.error(self.at, "the file ends within a rank; its `}` is missing");
            };
            match (word, self.peek()) {
                ("}", _) => break,
                (label, Some(":")) => {
                    self.at += 1;
                    if self.labels.insert(label, operations.len() as u32).is_some() {
                        return self.error(self.at - 2, format!("there are two of label `{}`", shown(label)));
                    }
                    let kind = self.next();
                    operations.push(self.operation(kind, line)?);
                }
                (of, Some(kind @ ("requires" | "irequires"))) => {
                    self.at += 1;
                    let Some(on) = self.next() else {
                        return self.error(self.at, "a label is expected, but the file ends");
                    };
                    dependencies.push(Dependency {
                        of: (of, line),
                        on: (on, line),
                        begun: kind == "irequires",
                    });
                }
                (kind, _) => operations.push(self.operation(Some(kind), line)?),
            }
        }
        for Dependency { of, on, begun } in dependencies {
            let (of, on) = (self.label(of)?, self.label(on)?);
            let operation: &mut Operation = &mut operations[of as usize];
            if begun { operation.follows.push(on) } else { operation.requires.push(on) }
        }
        Ok(operations)
    }

    fn label(&self, (label, line): Word<'_>) -> Result<u32, ImportError> {
        let unknown = || {
            ImportError::at_line(line, format!("no operation of this rank has the label `{}`", shown(label)))
        };
        self.labels.get(label).copied().ok_or_else(unknown)
    }

    fn operation(&mut self, kind: Option<&str>, line: usize) -> Result<Operation, ImportError> {
        let what = match kind {
            Some("calc") => What::Compute(self.time()?),
            Some("send") => {
                let bytes = self.bytes()?;
                self.expect("to")?;
                let to = self.small("a rank")?;
                What::Send { to, bytes, tag: self.tag()? }
            }
            Some("recv") => {
                let bytes = self.bytes()?;
                self.expect("from")?;
                let from = self.small(SOURCE)?;
                What::Receive { from, bytes, tag: self.tag()? }
            }
            Some(word) => {
                let what = format!(
                    "`{}` is not one of send, recv, calc, or a label with requires or irequires",
                    shown(word)
                );
                return self.error(self.at - 1, what);
            }
            None => return self.error(self.at, "an operation is expected, but the file ends"),
        };
        while let Some("cpu" | "nic") = self.peek() {
            self.at += 1;
            self.cpus |= self.number("the number of a cpu or nic", "")? > 0;
        }
        Ok(Operation { what, requires: Vec::new(), follows: Vec::new(), line })
    }

    fn time(&mut self) -> Result<Span, ImportError> {
        let nanoseconds = self.number("a time in nanoseconds", "")?;
        match nanoseconds.checked_mul(1000) {
            Some(ps) => Ok(Span::from_ps(ps)),
            None => self.error(self.at - 1, format!("{nanoseconds} ns are more than can be simulated")),
        }
    }

    fn bytes(&mut self) -> Result<u64, ImportError> {
        let bytes = self.number("a size such as 8b", "b")?;
        if bytes > MAX_SIZE.get() {
            return self.error(self.at - 1, format!("{bytes} B are too much: allowed are up to 1000TB"));
        }
        Ok(bytes)
    }

    fn tag(&mut self) -> Result<u64, ImportError> {
        if self.peek() != Some("tag") {
            return Ok(0);
        }
        self.at += 1;
        self.number(TAG, "")
    }
}
