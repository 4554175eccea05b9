//! One-sided programs: what each rank (processing element, PE) puts, gets and waits for, line by line, as in `OpenSHMEM` 1.5.
//!
//! A PE carries out its lines one after the other. A put is over when its last bit has left (it may be sent again from a copy);
//! a get is a request and the reply, which its peer's host sends when the request has come in; a quiet waits for the
//! acknowledgement of all puts, and a barrier is a quiet and a barrier of all.
use std::cmp::Ordering;

use backwater_units::{Bytes, Span};

use super::Trace;
use super::collective::{Algorithm, Op, Parts};
use super::expand::{Build, Taken};
use super::steps::Event;
use crate::read::LineError;

/// Payload of the request of a get: what is asked for is in its header.
const REQUEST: u64 = 1;

/// A PE that another one deals with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// This one.
    Rank(u32),
    /// The one so many ranks further; after the last comes the first. Less than the number of ranks, and not 0.
    Further(u32),
}

/// What a PE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Sends something to a peer, which knows nothing of it.
    Put {
        /// To whom.
        to: Peer,
        /// Payload.
        bytes: Bytes,
        /// Whether the PE goes on when the last bit has left (`shmem_put`), or at once (`shmem_put_nbi`).
        blocking: bool,
    },
    /// Asks a peer's host for something.
    Get {
        /// Whom.
        from: Peer,
        /// Payload of the reply.
        bytes: Bytes,
        /// Whether the PE goes on when the reply is there (`shmem_get`), or at once (`shmem_get_nbi`).
        blocking: bool,
    },
    /// Waits until all puts so far have been acknowledged, and all gets have come (`shmem_quiet`).
    Quiet,
    /// The same, and then until all PEs have come to it (`shmem_barrier_all`).
    Barrier,
    /// Computes for so long.
    Compute(Span),
}

/// A line of the program of one PE, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Who does it; `None`: every PE, or every PE but the peer.
    pub pe: Option<u32>,
    /// What.
    pub call: Call,
    /// How many times, one after the other.
    pub times: u32,
    /// Line of the file; 0: none.
    pub line: usize,
}

impl Act {
    /// The peer, if the call has one.
    const fn peer(&self) -> Option<Peer> {
        match self.call {
            Call::Put { to, .. } => Some(to),
            Call::Get { from, .. } => Some(from),
            _ => None,
        }
    }

    /// How many times a PE does it: the peer of a line of all does nothing.
    fn times_of(&self, rank: u32) -> u32 {
        if self.peer() == Some(Peer::Rank(rank)) { 0 } else { self.times }
    }

    /// Messages of it among `ranks` PEs.
    pub(crate) fn messages(&self, ranks: u32) -> u64 {
        let ranks = u64::from(ranks);
        let each = match self.call {
            Call::Put { .. } => 1,
            Call::Get { .. } => 2,
            // Every PE has its part in the one that all join; a line of one PE is a part.
            Call::Barrier => Algorithm::Dissemination.messages(Op::Barrier, ranks) / ranks,
            Call::Quiet | Call::Compute(_) => 0,
        };
        let who = match (self.pe, self.peer()) {
            (Some(_), _) => 1,
            (None, Some(Peer::Rank(_))) => ranks - 1,
            (None, _) => ranks,
        };
        who * each * u64::from(self.times)
    }
}

/// Where a PE is in its program.
#[derive(Clone, Debug, Default)]
struct Pe {
    /// What must have happened before it goes on, and how long it computes then.
    at: Vec<Event>,
    delay: Span,
    /// What a quiet waits for.
    pending: Vec<Event>,
    /// Its lines, and how many of them are done.
    acts: Vec<u32>,
    done: usize,
}

impl Pe {
    /// The step of the host that is carried out when the PE is here.
    fn here(&mut self, rank: u32, build: &mut Build) -> u32 {
        match self.at[..] {
            [Event::Done(step)] if self.delay == Span::ZERO => step,
            _ => {
                let step = build.step(rank, std::mem::take(&mut self.at), std::mem::take(&mut self.delay));
                self.at.push(Event::Done(step));
                step
            }
        }
    }

    fn put(&mut self, (rank, to): (u32, u32), bytes: Bytes, blocking: bool, build: &mut Build) {
        let step = self.here(rank, build);
        let flow = build.start(step, to, bytes.get());
        self.pending.push(Event::Acked(flow));
        if blocking {
            self.at = vec![Event::Sent(flow)];
        }
    }

    fn get(&mut self, (rank, from): (u32, u32), bytes: Bytes, blocking: bool, build: &mut Build) {
        let step = self.here(rank, build);
        let request = build.start(step, from, REQUEST);
        let answer = build.step(from, vec![Event::Received(request)], Span::ZERO);
        let reply = Event::Received(build.start(answer, rank, bytes.get()));
        if blocking {
            self.at = vec![reply];
        } else {
            self.pending.push(reply);
        }
    }

    fn quiet(&mut self, rank: u32, build: &mut Build) {
        if !self.pending.is_empty() {
            self.here(rank, build);
            self.at.append(&mut self.pending);
        }
    }
}

impl Trace {
    /// Adds what the programs of the PEs send.
    pub(super) fn carry_out(&self, build: &mut Build) -> Result<(), LineError> {
        let mut pes = vec![Pe::default(); self.ranks as usize];
        for (number, act) in (0..).zip(&self.acts) {
            match act.pe {
                Some(pe) => pes[pe as usize].acts.push(number),
                None => pes.iter_mut().for_each(|pe| pe.acts.push(number)),
            }
        }
        let mut barriers = 0;
        loop {
            let mut there = Vec::new();
            for (rank, pe) in (0..).zip(&mut pes) {
                there.extend(self.until_barrier(rank, pe, build).map(|line| (rank, line)));
            }
            match there.len().cmp(&pes.len()) {
                Ordering::Equal => self.meet(&mut pes, there[0].1, build),
                _ if there.is_empty() => return Ok(()),
                _ => return Err(self.alone(&there, barriers)),
            }
            barriers += 1;
        }
    }

    /// Carries out the lines of a PE up to its next barrier: the line of that.
    fn until_barrier(&self, rank: u32, pe: &mut Pe, build: &mut Build) -> Option<usize> {
        while let Some(number) = pe.acts.get(pe.done) {
            let act = &self.acts[*number as usize];
            pe.done += 1;
            build.at_line(act.line);
            match act.call {
                Call::Put { to, bytes, blocking } => {
                    for _ in 0..act.times_of(rank) {
                        pe.put((rank, self.peer(rank, to)), bytes, blocking, build);
                    }
                }
                Call::Get { from, bytes, blocking } => {
                    for _ in 0..act.times_of(rank) {
                        pe.get((rank, self.peer(rank, from)), bytes, blocking, build);
                    }
                }
                Call::Quiet => pe.quiet(rank, build),
                Call::Compute(time) => {
                    pe.delay = Span::from_ps(pe.delay.as_ps().saturating_add(time.as_ps()));
                }
                Call::Barrier => {
                    pe.quiet(rank, build);
                    return Some(act.line);
                }
            }
        }
        None
    }

    fn peer(&self, rank: u32, peer: Peer) -> u32 {
        match peer {
            Peer::Rank(rank) => rank,
            Peer::Further(further) => (rank + further) % self.ranks,
        }
    }

    /// A barrier of all.
    fn meet(&self, pes: &mut [Pe], line: usize, build: &mut Build) {
        build.at_line(line);
        let mut at = Vec::with_capacity(pes.len());
        for (rank, pe) in (0..).zip(&mut *pes) {
            if pe.delay > Span::ZERO {
                pe.here(rank, build);
            }
            at.push(std::mem::take(&mut pe.at));
        }
        let members = &self.groups[0].members;
        let mut taken = Taken { build, members, at };
        let mut parts = Parts { rounds: &mut taken, n: members.len(), bytes: 1, uneven: &[], root: 0 };
        parts.run(Op::Barrier, Algorithm::Dissemination);
        for (pe, at) in pes.iter_mut().zip(std::mem::take(&mut taken.at)) {
            pe.at = at;
        }
    }

    /// Some PEs, with these lines, are in a barrier after `before` others, and the rest have no more.
    fn alone(&self, there: &[(u32, usize)], before: usize) -> LineError {
        let (rank, line) = there[0];
        let missing = (0..self.ranks).find(|other| there.iter().all(|(pe, _)| pe != other)).unwrap_or(0);
        let what = format!(
            "PE {rank} waits here in its barrier number {}, but PE {missing} has only {before}; \
             a barrier is one of all PEs: `pe * barrier`",
            before + 1
        );
        LineError { line, what }
    }
}

#[cfg(test)]
mod tests;
