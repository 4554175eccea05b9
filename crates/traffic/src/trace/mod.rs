//! Messages that depend on each other: what an application's ranks send, in the order that their programs impose.
//!
//! A record says when it is ready relative to something that happened *at the same rank*: a message it sent, a message it
//! received, or a collective that it finished; so a slower network makes the application slower (the "self-related" model of
//! VEF traces). [`Trace::expand`] replaces collectives by the messages of a named algorithm and dependencies by [`Step`]s, which
//! a host can carry out alone. A one-sided program ([`Act`]) says what each rank does line by line.
//! Files are read by [`crate::read::trace`].
pub(crate) mod collective;
mod expand;
mod label;
mod shmem;
mod steps;
mod text;

use backwater_units::{Bytes, Span};

pub use collective::{Algorithm, Op};
pub use expand::{Planned, Program};
pub use label::{Finishes, Part, Parts};
pub use shmem::{Act, Call, Peer};
pub(crate) use text::HEADER;

pub use steps::{Event, Step, append, sort_with};

/// The most ranks of a trace.
pub const MAX_RANKS: u32 = 65_536;

/// The most messages of a trace's collectives and programs.
pub const MAX_FLOWS: u64 = 20_000_000;

/// What must have happened at a rank before a record of it. Numbers are indices into the trace's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// Nothing.
    Start,
    /// The last bit of this message, which the rank sends, has left.
    Sent(u32),
    /// The last packet of this message, which the rank sends, has been acknowledged.
    Acked(u32),
    /// This message, which the rank receives, is complete.
    Received(u32),
    /// The rank has finished its part in this collective.
    Done(u32),
    /// This task of the rank is done.
    Task(u32),
}

/// When a record is ready, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What must have happened.
    pub after: Dependency,
    /// How long the rank computes after that.
    pub delay: Span,
    /// Line of the file; 0: none.
    pub line: usize,
}

impl Ready {
    /// At the start.
    pub const AT_ONCE: Self = Self { after: Dependency::Start, delay: Span::ZERO, line: 0 };
}

/// Work of a rank: it begins when all of several things have happened there, and takes a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name in the file.
    pub id: u64,
    /// Whose it is.
    pub rank: u32,
    /// What must have happened; nothing: it begins at the start.
    pub after: Vec<Dependency>,
    /// How long it takes.
    pub delay: Span,
    /// Line of the file; 0: none.
    pub line: usize,
}

/// A message between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name in the file.
    pub id: u64,
    /// The rank that sends.
    pub src: u32,
    /// The rank that receives; never `src`.
    pub dst: u32,
    /// Payload; a message of 0 B takes a packet of 1 B.
    pub bytes: Bytes,
    /// When it is ready at `src`.
    pub ready: Ready,
}

/// A collective operation of a group of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its name in the file.
    pub id: u64,
    /// What it does.
    pub op: Op,
    /// By which messages.
    pub algorithm: Algorithm,
    /// How much; see [`Op`].
    pub bytes: Bytes,
    /// Of an all-to-all: bytes from each member to each, row by row, instead of `bytes` for all; empty if they are even.
    pub uneven: Vec<u64>,
    /// Index of its group.
    pub group: u32,
    /// Index in the group of the member that has or gets everything, where there is one.
    pub root: u32,
    /// When each member of the group begins.
    pub joins: Vec<Ready>,
    /// Line of the file; 0: none.
    pub line: usize,
}

/// Some ranks, in the order that algorithms number them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Its name in the file; 0: all ranks.
    pub id: u64,
    /// Distinct ranks.
    pub members: Vec<u32>,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Number of ranks.
    pub ranks: u32,
    /// Groups for collectives; the first holds all ranks.
    pub groups: Vec<Ranks>,
    /// Work between messages.
    pub tasks: Vec<Task>,
    /// Messages.
    pub messages: Vec<Message>,
    /// Collectives.
    pub collectives: Vec<Collective>,
    /// Programs of the ranks: the lines of each in their order.
    pub acts: Vec<Act>,
    /// Which parts of a program they are, if it has parts.
    pub parts: Parts,
}

impl Trace {
    /// How many flows it becomes.
    pub fn flows(&self) -> u64 {
        let members = |collective: &Collective| self.groups[collective.group as usize].members.len() as u64;
        let parts = self.collectives.iter().map(|c| c.algorithm.messages(c.op, members(c)));
        let acts = self.acts.iter().map(|act| act.messages(self.ranks));
        parts.chain(acts).fold(self.messages.len() as u64, u64::saturating_add)
    }

    /// Whether anybody computes: a delay is a computation.
    pub fn computes(&self) -> bool {
        let takes_time = |delay: Span| delay > Span::ZERO;
        self.tasks.iter().any(|task| takes_time(task.delay))
            || self.messages.iter().any(|message| takes_time(message.ready.delay))
            || self.collectives.iter().flat_map(|one| &one.joins).any(|join| takes_time(join.delay))
            || self.acts.iter().any(|act| matches!(act.call, Call::Compute(time) if takes_time(time)))
    }
}
