//! What follows `rank LIST`.
use std::rc::Rc;
use std::str::FromStr;

use backwater_units::{Bytes, Span};

use super::{Draft, Reader, named};
use crate::program::{ANY, BLOCKING, Communicator, FOREVER, Schedule};
use crate::read::LineError;
use crate::read::collective::{Shape, shape};
use crate::read::line::{Line, shown};
use crate::trace::{Algorithm, Op};

/// All calls.
const CALLS: &str = "isend, irecv, send, recv, sendrecv, wait, put, get, flush, barrier, bcast, reduce, allreduce, \
                     gather, scatter, allgather, alltoall, reduce-scatter, compute, loop, end, start, stop";

/// A rank that another one deals with.
#[derive(Clone, Copy)]
pub(super) enum Peer {
    Rank(u32),
    /// The one so many ranks further; after the last comes the first.
    Further(u32),
    Any,
}

impl Peer {
    fn of(self, rank: u32, ranks: u32) -> u32 {
        match self {
            Self::Rank(peer) => peer,
            Self::Further(further) => (rank + further) % ranks,
            Self::Any => ANY,
        }
    }
}

/// A call of some ranks.
pub(super) enum Call {
    Isend { to: Peer, size: Bytes, tag: u32, set: u8 },
    Irecv { from: Peer, size: Bytes, tag: u32, set: u8 },
    Send { to: Peer, size: Bytes, tag: u32 },
    Recv { from: Peer, size: Bytes, tag: u32 },
    Sendrecv { to: Peer, size: Bytes, from: Peer, room: Bytes, tag: u32 },
    Wait { sets: u64 },
    Put { to: Peer, size: Bytes },
    Get { from: Peer, size: Bytes },
    Flush,
    Barrier { group: Rc<Communicator> },
    Allreduce { group: Rc<Communicator>, size: Bytes },
    Collective { group: Rc<Communicator>, schedule: Rc<Schedule> },
    Compute(Span),
    Loop { times: u32 },
    End,
    Start { series: u16 },
    Stop { series: u16, label: u32 },
}

impl Call {
    /// Adds it to the program of a rank, which keeps what is wrong with it.
    pub(super) fn carry_out(
        &self,
        rank: u32,
        ranks: u32,
        draft: &mut Draft,
        names: &[String],
    ) -> Result<(), String> {
        let there = |peer: &Peer| peer.of(rank, ranks);
        let place = |group: &Communicator| {
            group.place(rank).ok_or_else(|| "is not in the group; list its ranks before the call".to_owned())
        };
        let builder = &mut draft.builder;
        match self {
            Self::Isend { to, size, tag, set } => builder.isend(there(to), *size, *tag, *set),
            Self::Irecv { from, size, tag, set } => builder.irecv(there(from), *size, *tag, *set),
            Self::Send { to, size, tag } => builder.send_blocking(there(to), *size, *tag),
            Self::Recv { from, size, tag } => builder.receive_blocking(there(from), *size, *tag),
            Self::Sendrecv { to, size, from, room, tag } => {
                builder.sendrecv((there(to), *size), (there(from), *room), *tag)
            }
            Self::Wait { sets } => builder.wait(*sets),
            Self::Put { to, size } => builder.put(there(to), *size),
            Self::Get { from, size } => builder.get(there(from), *size),
            Self::Flush => builder.flush(),
            Self::Barrier { group } => builder.barrier(group, place(group)?),
            Self::Allreduce { group, size } => builder.allreduce(group, place(group)?, *size),
            Self::Collective { group, schedule } => builder.collective(schedule, group, place(group)?),
            Self::Compute(time) => builder.compute(*time),
            Self::Loop { times } => builder.repeat(*times),
            Self::End => builder.end(),
            Self::Start { series } => {
                let timer = draft.timer(*series, &names[usize::from(*series)])?;
                draft.builder.start(timer)
            }
            Self::Stop { series, label } => {
                let timer = draft.timer(*series, &names[usize::from(*series)])?;
                draft.builder.stop(timer, *series, *label)
            }
        };
        Ok(())
    }
}

impl Reader {
    /// The call of a line.
    pub(super) fn read(&mut self, line: &Line<'_>) -> Result<Call, LineError> {
        let what = || line.error(format!("a rank needs something to do: one of {CALLS}"));
        let word = *line.words.get(2).ok_or_else(what)?;
        match word {
            "isend" | "send" | "irecv" | "recv" | "sendrecv" => self.message(line, word),
            "put" => {
                line.only(3, &["to", "bytes"])?;
                Ok(Call::Put { to: self.peer(line, "to", false)?, size: line.needed_bytes(word)? })
            }
            "get" => {
                line.only(3, &["from", "bytes"])?;
                Ok(Call::Get { from: self.peer(line, "from", false)?, size: line.needed_bytes(word)? })
            }
            "wait" => wait(line),
            "barrier" => {
                line.only(3, &["group"])?;
                Ok(Call::Barrier { group: self.group_of(line)? })
            }
            "compute" => one(line, "a time such as 500ns", |text| text.parse().ok().map(Call::Compute)),
            "loop" => {
                one(line, &format!("a number of turns from 1 to {}, or forever", FOREVER - 1), |text| {
                    let turns = text.parse().ok().filter(|times| (1..FOREVER).contains(times));
                    let times = if text == "forever" { Some(FOREVER) } else { turns };
                    times.map(|times| Call::Loop { times })
                })
            }
            "flush" => none(line, Call::Flush),
            "end" => none(line, Call::End),
            "start" => {
                let name = one(line, "the name of a stopwatch", |text| Some(text.to_owned()))?;
                Ok(Call::Start { series: named(&mut self.series, &name, line)? })
            }
            "stop" => self.stop(line),
            word => match Op::from_str(word) {
                Ok(op) => self.collective(line, op),
                Err(_) => Err(line.error(format!("`{}` is not one of {CALLS}", shown(word)))),
            },
        }
    }

    /// What sends or receives.
    fn message(&self, line: &Line<'_>, word: &str) -> Result<Call, LineError> {
        let keys: &[&str] = match word {
            "isend" => &["to", "bytes", "tag", "request"],
            "send" => &["to", "bytes", "tag"],
            "irecv" => &["from", "bytes", "tag", "request"],
            "recv" => &["from", "bytes", "tag"],
            _ => &["to", "bytes", "from", "room", "tag"],
        };
        line.only(3, keys)?;
        let (size, receives) = (line.needed_bytes(word)?, word.ends_with("recv") && word != "sendrecv");
        let (tag, set) = (tag(line, receives)?, request(line)?.unwrap_or(0));
        Ok(match word {
            "isend" => Call::Isend { to: self.peer(line, "to", false)?, size, tag, set },
            "send" => Call::Send { to: self.peer(line, "to", false)?, size, tag },
            "irecv" => Call::Irecv { from: self.peer(line, "from", true)?, size, tag, set },
            "recv" => Call::Recv { from: self.peer(line, "from", true)?, size, tag },
            _ => {
                let (to, from) = (self.peer(line, "to", false)?, self.peer(line, "from", true)?);
                Call::Sendrecv { to, size, from, room: line.size("room")?.unwrap_or(size), tag }
            }
        })
    }

    /// A collective other than a barrier. An allreduce without a name of an algorithm is by recursive doubling, as is that of
    /// [`Builder::allreduce`](crate::program::Builder::allreduce).
    fn collective(&mut self, line: &Line<'_>, op: Op) -> Result<Call, LineError> {
        let keys: &[&str] = &["bytes", "algorithm", "within", "group", "root"];
        line.only(3, if op.has_root() { keys } else { &keys[..4] })?;
        let group = self.group_of(line)?;
        let Shape { algorithm, root, bytes } = shape(line, op, group.members())?;
        let algorithm = match (op, algorithm) {
            (Op::Allreduce, None | Some(Algorithm::RecursiveDoubling)) => {
                return Ok(Call::Allreduce { group, size: bytes });
            }
            (_, named) => named.unwrap_or(op.algorithms()[0]),
        };
        let (n, key) = (group.members().len(), (group.number(), op, algorithm, bytes, root));
        if let Some(schedule) = self.schedules.get(&key) {
            return Ok(Call::Collective { group, schedule: Rc::clone(schedule) });
        }
        self.planned = self.planned.saturating_add(algorithm.messages(op, n as u64));
        if self.planned > self.most as u64 {
            let what = format!("with this line collectives have more than {} messages in all", self.most);
            return Err(line.error(what));
        }
        let schedule = Rc::new(Schedule::new(op, algorithm, n, bytes, root));
        self.schedules.insert(key, Rc::clone(&schedule));
        Ok(Call::Collective { group, schedule })
    }

    fn stop(&mut self, line: &Line<'_>) -> Result<Call, LineError> {
        let what =
            || line.error("stop needs the name of a stopwatch, and may have a label: `label 3`".to_owned());
        let (name, label) = match line.words[3..] {
            [name] => (name, 0),
            [name, "label", label] => (name, label.parse().map_err(|_| what())?),
            _ => return Err(what()),
        };
        Ok(Call::Stop { series: named(&mut self.series, name, line)?, label })
    }

    /// Another rank, by its number or as `+1`.
    fn peer(&self, line: &Line<'_>, key: &str, or_any: bool) -> Result<Peer, LineError> {
        let wanted =
            if or_any { "a rank, +1 for the next one, or any" } else { "a rank, or +1 for the next one" };
        let missing = || line.error(format!("{} needs `{key}` and {wanted}", line.words[2]));
        let text = line.value::<String>(key, wanted)?.ok_or_else(missing)?;
        if text == "any" && or_any {
            return Ok(Peer::Any);
        }
        let what = || line.error(format!("{key} `{}` is not {wanted}", shown(&text)));
        let number = |text: &str| text.parse::<u32>().map_err(|_| what());
        if let Some(further) = text.strip_prefix('+') {
            return Ok(Peer::Further(number(further)? % self.ranks));
        }
        if let Some(before) = text.strip_prefix('-') {
            return Ok(Peer::Further((self.ranks - number(before)? % self.ranks) % self.ranks));
        }
        number(&text)?;
        self.rank(line, &text).map(Peer::Rank)
    }

    fn group_of(&self, line: &Line<'_>) -> Result<Rc<Communicator>, LineError> {
        let id = line.value("group", "the number of a group")?.unwrap_or(0);
        let what = || line.error(format!("no line above says `group {id} ...`"));
        self.groups.get(&id).cloned().ok_or_else(what)
    }
}

/// `tag`; 0 if there is none.
fn tag(line: &Line<'_>, or_any: bool) -> Result<u32, LineError> {
    let wanted = if or_any { "a number, or any" } else { "a number" };
    match line.value::<String>("tag", wanted)?.as_deref() {
        None => Ok(0),
        Some("any") if or_any => Ok(ANY),
        Some(_) => line.value("tag", wanted).map(Option::unwrap_or_default),
    }
}

/// The set of requests after `request`.
fn request(line: &Line<'_>) -> Result<Option<u8>, LineError> {
    let last = BLOCKING - 1;
    let Some(set) = line.value::<u8>("request", &format!("a number from 0 to {last}"))? else {
        return Ok(None);
    };
    let what = || line.error(format!("request {set}: allowed are 0 to {last}"));
    (set <= last).then_some(Some(set)).ok_or_else(what)
}

fn wait(line: &Line<'_>) -> Result<Call, LineError> {
    line.only(3, &["request"])?;
    // What blocking calls post they wait for themselves.
    let all = (1 << BLOCKING) - 1;
    Ok(Call::Wait { sets: request(line)?.map_or(all, |set| 1 << set) })
}

/// The only word after a call.
fn one<T>(line: &Line<'_>, wanted: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, LineError> {
    let call = line.words[2];
    match line.words[3..] {
        [text] => read(text).ok_or_else(|| line.error(format!("{call} `{}` is not {wanted}", shown(text)))),
        _ => Err(line.error(format!("{call} needs one thing: {wanted}"))),
    }
}

/// A call that nothing follows.
fn none(line: &Line<'_>, call: Call) -> Result<Call, LineError> {
    match line.words.get(3) {
        None => Ok(call),
        Some(word) => {
            let what = format!("nothing follows {}, but here stands `{}`", line.words[2], shown(word));
            Err(line.error(what))
        }
    }
}
