//! Lines of the programs of PEs: `pe RANK CALL ...`
use backwater_units::Span;

use super::Reader;
use crate::read::LineError;
use crate::read::line::{Line, shown};
use crate::trace::{Act, Call, Peer};

/// What a PE may do.
const CALLS: &str = "put, put-nbi, get, get-nbi, quiet, barrier, compute";

/// The most times that a line says.
const MOST_TIMES: u32 = 10_000_000;

impl Reader {
    /// Notes a line of a program.
    pub(super) fn act(&mut self, line: &Line<'_>) -> Result<(), LineError> {
        let pe = self.pe(line)?;
        let what = || line.error(format!("a pe needs something to do: one of {CALLS}"));
        let call = *line.words.get(2).ok_or_else(what)?;
        let call = match call {
            "put" | "put-nbi" => {
                line.only(3, &["to", "bytes", "times"])?;
                let (to, bytes) = (self.peer(line, "to", pe)?, line.needed_bytes(&format!("a {call}"))?);
                Call::Put { to, bytes, blocking: call == "put" }
            }
            "get" | "get-nbi" => {
                line.only(3, &["from", "bytes", "times"])?;
                let (from, bytes) = (self.peer(line, "from", pe)?, line.needed_bytes(&format!("a {call}"))?);
                Call::Get { from, bytes, blocking: call == "get" }
            }
            "quiet" | "barrier" => {
                if let Some(word) = line.words.get(3) {
                    return Err(
                        line.error(format!("nothing follows {call}, but here stands `{}`", shown(word)))
                    );
                }
                if call == "quiet" { Call::Quiet } else { Call::Barrier }
            }
            "compute" => Call::Compute(time(line)?),
            word => return Err(line.error(format!("`{}` is not one of {CALLS}", shown(word)))),
        };
        let wanted = format!("a number from 1 to {MOST_TIMES}");
        let times = line.value::<u32>("times", &wanted)?.unwrap_or(1);
        if !(1..=MOST_TIMES).contains(&times) {
            return Err(line.error(format!("times {times} is not {wanted}")));
        }
        let act = Act { pe, call, times, line: line.number };
        self.count(line.number, act.messages(self.trace.ranks))?;
        self.trace.acts.push(act);
        Ok(())
    }

    /// Whose program it is; `None`: everybody's.
    fn pe(&self, line: &Line<'_>) -> Result<Option<u32>, LineError> {
        match line.words.get(1) {
            Some(&"*") => Ok(None),
            None => {
                Err(line.error("pe needs a rank, or * for all, and what it does: one of ".to_owned() + CALLS))
            }
            _ => line
                .needed("pe", "a rank, or * for all")
                .and_then(|rank| self.known_rank(line, rank).map(Some)),
        }
    }

    /// Another PE, by its rank or as `+1`.
    fn peer(&self, line: &Line<'_>, key: &str, pe: Option<u32>) -> Result<Peer, LineError> {
        let text: String = line.needed(key, "a rank, or +1 for the next one")?;
        let number = text.strip_prefix('+').unwrap_or(&text);
        let what = || line.error(format!("{key} `{}` is not a rank, or +1 for the next one", shown(&text)));
        let number = number.parse::<u32>().map_err(|_| what())?;
        let itself = |rank: u32| line.error(format!("PE {rank} deals with itself, which needs no network"));
        if !text.starts_with('+') {
            let rank = self.known_rank(line, number)?;
            return if pe == Some(rank) { Err(itself(rank)) } else { Ok(Peer::Rank(rank)) };
        }
        match number % self.trace.ranks {
            0 => Err(itself(pe.unwrap_or(0))),
            further => Ok(Peer::Further(further)),
        }
    }
}

fn time(line: &Line<'_>) -> Result<Span, LineError> {
    match line.words[3..] {
        [text] => {
            let what = || line.error(format!("compute `{}` is not a time such as 500ns", shown(text)));
            text.parse().map_err(|_| what())
        }
        _ => Err(line.error("compute needs one time, such as 500ns".to_owned())),
    }
}
