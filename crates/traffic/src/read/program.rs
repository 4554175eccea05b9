//! Rank programs as text; `docs/programs.md` describes them.
//!
//! ```text
//! backwater-program 1
//! ranks 8
//! group 1 0-3
//! rank * loop 10
//! rank * start ring
//! rank * irecv from -1 bytes 4KiB tag 3
//! rank * isend to +1 bytes 4KiB tag 3
//! rank * wait
//! rank * stop ring
//! rank * end
//! rank 0-3 barrier group 1
//! ```
mod calls;

use std::collections::BTreeMap;
use std::rc::Rc;

use backwater_units::Bytes;

use super::LineError;
use super::line::{Line, lines, shown};
use crate::program::{
    Application, Builder, Communicator, MAX_RANKS, MAX_TIMERS, MAX_TOTAL, Member, Schedule, Wrong,
};
use crate::trace::{Algorithm, Op};

/// The first line.
const HEADER: &str = "backwater-program 1";

/// Names of roles, and of stopwatches, at most.
const MOST_NAMES: usize = 1 << 12;

/// Groups, at most.
const MOST_GROUPS: usize = 1 << 16;

/// Reads the programs of the ranks of an application.
///
/// # Errors
/// The first thing that is wrong, with its line; a loop without an end and a stopwatch that nobody stops are found last.
pub fn program(text: &str) -> Result<Application, LineError> {
    within(text, MAX_TOTAL)
}

/// The same, with so many ops at most.
fn within(text: &str, most: usize) -> Result<Application, LineError> {
    let lines = lines(text);
    let mut reader = Reader::start(&lines, most)?;
    for line in &lines[2..] {
        match line.words[0] {
            "rank" => reader.call(line)?,
            "group" => reader.group(line)?,
            "role" => reader.role(line)?,
            word => {
                return Err(line.error(format!("`{}` is not one of rank, group, role", shown(word))));
            }
        }
    }
    reader.finish()
}

/// The program of a rank as far as it has been read.
struct Draft {
    builder: Builder,
    /// For each op its line.
    lines: Vec<u32>,
    role: u16,
    /// What its stopwatches measure, among the series.
    timers: Vec<u16>,
}

struct Reader {
    ranks: u32,
    drafts: Vec<Draft>,
    groups: BTreeMap<u64, Rc<Communicator>>,
    /// What collectives do, by group, operation, algorithm, bytes and root; each rank that calls one takes its part of it.
    schedules: BTreeMap<(u32, Op, Algorithm, Bytes, usize), Rc<Schedule>>,
    /// Messages of them.
    planned: u64,
    roles: Vec<String>,
    series: Vec<String>,
    /// Ops of all ranks, and ranks of all groups.
    ops: usize,
    grouped: usize,
    /// At most.
    most: usize,
}

impl Reader {
    /// The first two lines.
    fn start(lines: &[Line<'_>], most: usize) -> Result<Self, LineError> {
        let header: Vec<&str> = HEADER.split_whitespace().collect();
        let first = lines.first().filter(|line| line.words == header).ok_or_else(|| {
            let what = format!("the first line must be `{HEADER}`");
            LineError { line: lines.first().map_or(1, |line| line.number), what }
        })?;
        let wrong = |line: usize| LineError {
            line,
            what: format!("the second line must be `ranks N`, N from 1 to {MAX_RANKS}"),
        };
        let second = lines.get(1).ok_or_else(|| wrong(first.number + 1))?;
        let ranks = match second.words[..] {
            ["ranks", ranks] => ranks.parse().ok().filter(|ranks| (1..=MAX_RANKS).contains(ranks)),
            _ => None,
        };
        let ranks = ranks.ok_or_else(|| wrong(second.number))?;
        let draft = || Draft { builder: Builder::new(ranks), lines: Vec::new(), role: 0, timers: Vec::new() };
        let all = Rc::new(Communicator::new(0, (0..ranks).collect()));
        Ok(Self {
            ranks,
            drafts: std::iter::repeat_with(draft).take(ranks as usize).collect(),
            groups: [(0, all)].into(),
            schedules: BTreeMap::new(),
            planned: 0,
            roles: vec!["rank".to_owned()],
            series: Vec::new(),
            ops: 0,
            grouped: 0,
            most,
        })
    }

    /// `group ID LIST ...`
    fn group(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let id = line.id()?;
        let mut members = Vec::new();
        for word in &line.words[2..] {
            members.extend(self.list(line, word)?);
        }
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if members.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(line.error("a group needs at least one rank, and each of them once".to_owned()));
        }
        let number = self.groups.len();
        self.grouped += members.len();
        if number >= MOST_GROUPS || self.grouped > self.most {
            let what = format!("more than {MOST_GROUPS} groups, or {} ranks in all groups", self.most);
            return Err(line.error(what));
        }
        match self.groups.insert(id, Rc::new(Communicator::new(number as u32, members))) {
            None => Ok(()),
            Some(_) if id == 0 => Err(line.error("group 0 is all ranks: take another number".to_owned())),
            Some(_) => Err(line.error(format!("there are two of group {id}"))),
        }
    }

    /// `role NAME LIST`
    fn role(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let [_, name, list] = line.words[..] else {
            return Err(line.error("a role needs a name and ranks: `role server 0-3`".to_owned()));
        };
        let ranks = self.list(line, list)?;
        let number = named(&mut self.roles, name, line)?;
        for rank in ranks {
            self.drafts[rank as usize].role = number;
        }
        Ok(())
    }

    /// `rank LIST CALL ...`
    fn call(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let Some(list) = line.words.get(1) else {
            return Err(line.error("rank needs ranks, such as 0-3,7 or *, and a call".to_owned()));
        };
        let ranks = self.list(line, list)?;
        let call = self.read(line)?;
        let several = ranks.len() > 1;
        for rank in ranks {
            let draft = &mut self.drafts[rank as usize];
            let before = draft.builder.ops().len();
            let whose = |what: String| if several { format!("rank {rank}: {what}") } else { what };
            call.carry_out(rank, self.ranks, draft, &self.series).map_err(|what| line.error(whose(what)))?;
            if let Some(Wrong { what, .. }) = draft.builder.wrong() {
                return Err(line.error(whose(what.clone())));
            }
            let after = draft.builder.ops().len();
            draft.lines.resize(after, line.number as u32);
            // A call that needs no op counts, too: it is work for the reader.
            self.ops += (after - before).max(1);
            if self.ops > self.most {
                let what = format!("with this line the ranks have more than {} ops in all", self.most);
                return Err(line.error(what));
            }
        }
        Ok(())
    }

    /// The ranks of a list such as `0-3,7`, or of `*`, in its order.
    fn list(&self, line: &Line<'_>, text: &str) -> Result<Vec<u32>, LineError> {
        if text == "*" {
            return Ok((0..self.ranks).collect());
        }
        let mut list = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (self.rank(line, first)?, self.rank(line, last)?);
            if first > last {
                return Err(line.error(format!("`{}` counts down; write {last}-{first}", shown(part))));
            }
            if list.len() + (last - first) as usize >= 2 * MAX_RANKS as usize {
                return Err(line.error("names ranks again and again: name each once".to_owned()));
            }
            list.extend(first..=last);
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(line.error(format!("names rank {} twice", pair[0]))),
            None => Ok(list),
        }
    }

    fn rank(&self, line: &Line<'_>, text: &str) -> Result<u32, LineError> {
        let what = || line.error(format!("`{}` is not a rank, such as 3, 0-3,7 or *", shown(text)));
        let rank = text.parse::<u32>().map_err(|_| what())?;
        let (ranks, last) = (self.ranks, self.ranks - 1);
        let unknown = || line.error(format!("there is no rank {rank}; the {ranks} ranks are 0 to {last}"));
        (rank < ranks).then_some(rank).ok_or_else(unknown)
    }

    fn finish(self) -> Result<Application, LineError> {
        let mut members = Vec::with_capacity(self.drafts.len());
        let mut first: Option<LineError> = None;
        for (rank, mut draft) in self.drafts.into_iter().enumerate() {
            draft.builder.finalize();
            match draft.builder.finish() {
                Ok(ops) => members.push(Member { role: draft.role, ops, lines: draft.lines }),
                Err(Wrong { op, what }) => {
                    let line = draft.lines.get(op).map_or(0, |line| *line as usize);
                    if first.as_ref().is_none_or(|known| line < known.line) {
                        first = Some(LineError { line, what: format!("rank {rank}: {what}") });
                    }
                }
            }
        }
        first.map_or(Ok(Application { members, roles: self.roles, series: self.series }), Err)
    }
}

impl Draft {
    /// The stopwatch of the rank that measures a series.
    fn timer(&mut self, series: u16, name: &str) -> Result<u8, String> {
        if let Some(timer) = self.timers.iter().position(|own| *own == series) {
            return Ok(timer as u8);
        }
        let timer = self.timers.len() as u8;
        if timer >= MAX_TIMERS {
            return Err(format!("`{}` would be one of more than {MAX_TIMERS} stopwatches", shown(name)));
        }
        self.timers.push(series);
        self.builder.name_timer(name);
        Ok(timer)
    }
}

/// The number of a name in a list, to which a new one is added.
fn named(list: &mut Vec<String>, name: &str, line: &Line<'_>) -> Result<u16, LineError> {
    if let Some(number) = list.iter().position(|known| known == name) {
        return Ok(number as u16);
    }
    if list.len() >= MOST_NAMES {
        return Err(line.error(format!("`{}` is one of more than {MOST_NAMES} names", shown(name))));
    }
    list.push(name.to_owned());
    Ok(list.len() as u16 - 1)
}

#[cfg(test)]
mod tests;
