//! A trace as text: the reverse of [`crate::read::trace`].
use std::fmt::{self, Display, Formatter};

use backwater_units::Span;

use super::{Act, Algorithm, Call, Collective, Dependency, Peer, Ready, Trace};

/// The first line of a file.
pub(crate) const HEADER: &str = "backwater-trace 1";

impl Display for Trace {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{HEADER}\nranks {}", self.ranks)?;
        for group in self.groups.iter().skip(1) {
            write!(out, "group {}", group.id)?;
            for rank in &group.members {
                write!(out, " {rank}")?;
            }
            writeln!(out)?;
        }
        for task in &self.tasks {
            write!(out, "task {} rank {}", task.id, task.rank)?;
            if !task.after.is_empty() {
                write!(out, " after")?;
            }
            task.after.iter().try_for_each(|after| self.write_after(*after, out))?;
            write_delay(task.delay, out)?;
        }
        for message in &self.messages {
            let (id, src, dst, bytes) = (message.id, message.src, message.dst, message.bytes.get());
            write!(out, "message {id} from {src} to {dst} bytes {bytes}")?;
            self.write_ready(&message.ready, out)?;
        }
        self.collectives.iter().try_for_each(|collective| self.write_collective(collective, out))?;
        self.acts.iter().try_for_each(|act| writeln!(out, "{act}"))
    }
}

impl Trace {
    fn write_collective(&self, collective: &Collective, out: &mut Formatter<'_>) -> fmt::Result {
        let (id, op, algorithm) = (collective.id, collective.op, collective.algorithm.name());
        let group = &self.groups[collective.group as usize];
        write!(out, "collective {id} {} bytes {} algorithm {algorithm}", op.name(), collective.bytes.get())?;
        if let Algorithm::Hierarchical(members) = collective.algorithm {
            write!(out, " within {members}")?;
        }
        if group.id > 0 {
            write!(out, " group {}", group.id)?;
        }
        if op.has_root() {
            write!(out, " root {}", group.members[collective.root as usize])?;
        }
        writeln!(out)?;
        for (rank, ready) in group.members.iter().zip(&collective.joins) {
            if ready.after != Dependency::Start || ready.delay > Span::ZERO {
                write!(out, "join {id} rank {rank}")?;
                self.write_ready(ready, out)?;
            }
        }
        Ok(())
    }

    fn write_ready(&self, ready: &Ready, out: &mut Formatter<'_>) -> fmt::Result {
        if ready.after != Dependency::Start {
            write!(out, " after")?;
        }
        self.write_after(ready.after, out)?;
        write_delay(ready.delay, out)
    }

    fn write_after(&self, after: Dependency, out: &mut Formatter<'_>) -> fmt::Result {
        match after {
            Dependency::Start => Ok(()),
            Dependency::Sent(message) => write!(out, " sent {}", self.messages[message as usize].id),
            Dependency::Acked(message) => write!(out, " acked {}", self.messages[message as usize].id),
            Dependency::Received(message) => write!(out, " received {}", self.messages[message as usize].id),
            Dependency::Done(number) => write!(out, " done {}", self.collectives[number as usize].id),
            Dependency::Task(task) => write!(out, " task {}", self.tasks[task as usize].id),
        }
    }
}

/// The end of a line: how long it takes, if that is any time.
fn write_delay(delay: Span, out: &mut Formatter<'_>) -> fmt::Result {
    if delay > Span::ZERO {
        write!(out, " delay {}ps", delay.as_ps())?;
    }
    writeln!(out)
}

impl Display for Peer {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank(rank) => write!(out, "{rank}"),
            Self::Further(further) => write!(out, "+{further}"),
        }
    }
}

impl Display for Act {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.pe {
            Some(pe) => write!(out, "pe {pe} ")?,
            None => write!(out, "pe * ")?,
        }
        let nbi = |blocking: bool| if blocking { "" } else { "-nbi" };
        match &self.call {
            Call::Put { to, bytes, blocking } => {
                write!(out, "put{} to {to} bytes {}", nbi(*blocking), bytes.get())?;
            }
            Call::Get { from, bytes, blocking } => {
                write!(out, "get{} from {from} bytes {}", nbi(*blocking), bytes.get())?;
            }
            Call::Quiet => write!(out, "quiet")?,
            Call::Barrier => write!(out, "barrier")?,
            Call::Compute(time) => write!(out, "compute {}ps", time.as_ps())?,
        }
        if self.times == 1 { Ok(()) } else { write!(out, " times {}", self.times) }
    }
}
