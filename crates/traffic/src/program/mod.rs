//! Rank programs: what the processes of a message-passing application (ranks) do, one call after the other, as the network lets
//! them. Unlike a trace a program may go on for ever, so nobody can list its messages before the run.
//!
//! A rank executes its [`Op`]s in order. It runs on a core of its own. Between two ranks of different hosts messages travel on a queue pair, a
//! [`Channel`] for each direction.
//!
//! A [`Builder`] makes ops of calls as in MPI and checks them; an [`Application`] is the programs of all ranks of a traffic entry,
//! from a file ([`crate::read::program`]) or a generator ([`Gpcnet`]). `docs/programs.md` says what the calls mean.
mod application;
mod build;
mod collective;
pub mod gpcnet;
mod place;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use backwater_units::{Bytes, Span, Time};

pub use application::{Application, Member};
pub use build::{Builder, Wrong};
pub use collective::{Communicator, Schedule};
pub use gpcnet::Gpcnet;
pub use place::{Placement, place};

/// As the source or the tag of a receive: any.
pub const ANY: u32 = u32::MAX;

/// Tags of collective operations have this bit; a receive of [`ANY`] tag gets none of them.
pub const INTERNAL: u32 = 1 << 31;

/// As the number of turns of a loop: without end.
pub const FOREVER: u32 = u32::MAX;

/// The most ops of a rank: a frame names the op that made it in 20 bits.
pub const MAX_OPS: usize = 1 << 20;

/// Sets of requests that an op can wait for.
pub const SETS: u8 = 64;

/// The set of what blocking calls post.
pub const BLOCKING: u8 = SETS - 1;

/// Loops within loops, at most.
pub const MAX_DEPTH: usize = 8;

/// Stopwatches of a rank.
pub const MAX_TIMERS: u8 = 16;

/// The most ops of all ranks of a traffic entry, 800 MB: `GPCNeT` on 1024 hosts with 16 ranks each needs 31 million.
pub const MAX_TOTAL: usize = 1 << 25;

/// The most ranks of a traffic entry.
pub const MAX_RANKS: u32 = 65_536;

/// All ranks of a run.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// Each with its program.
    pub ranks: Vec<Rank>,
    /// What calls cost, by [`Rank::costs`].
    pub costs: Vec<Costs>,
    /// Names of [`Rank::role`].
    pub roles: Vec<String>,
    /// Names of the series of [`Op::Stop`].
    pub series: Vec<String>,
    /// The queue pairs between ranks of different hosts, up to two for each ordered pair.
    pub channels: Vec<Channel>,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Host index.
    pub host: u32,
    /// The traffic entry it belongs to.
    pub group: u16,
    /// Its number in its entry.
    pub number: u32,
    /// What it does in its application, among [`Programs::roles`].
    pub role: u16,
    /// What its calls cost, among [`Programs::costs`].
    pub costs: u16,
    /// When it begins.
    pub start: Time,
    /// Its program, at most [`MAX_OPS`].
    pub ops: Arc<[Op]>,
    /// For each op the line of its file.
    pub lines: Option<Arc<[u32]>>,
}

impl Rank {
    /// Whether the program goes on for ever.
    pub fn is_endless(&self) -> bool {
        is_endless(&self.ops)
    }
}

fn is_endless(ops: &[Op]) -> bool {
    ops.iter().any(|op| matches!(op, Op::Loop { times: FOREVER, .. }))
}

/// What calls cost, and how messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Time that a rank needs to give a message to its NIC.
    pub send: Span,
    /// Time that a rank needs to take a message that has come in.
    pub receive: Span,
    /// The largest message that is sent without asking; a larger one waits for a receive (rendezvous).
    pub eager: Bytes,
    /// Payload of what NICs send each other: the two frames that begin a rendezvous, a request to get, the answer to a put.
    pub control: Bytes,
    /// How long a message takes between two ranks of one host.
    pub local: Span,
}

/// A queue pair from one rank to another: for what it sends, or for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its flow, which has [`crate::Pacing::Messages`].
    pub flow: u32,
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives, at another host.
    pub to: u32,
    /// It is for what the NIC of `from` answers by itself: that there is a receive, that a put is there, the data of a get. Answers do not
    /// wait behind what the rank sends, as acknowledgements and read responses do not in InfiniBand.
    pub answers: bool,
}

/// What a rank does. Ranks are numbers in [`Programs::ranks`], ops those of the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Begins to send a message. The request is done when its last bit has left the NIC, or, between ranks of one host, at
    /// once. A message longer than [`Costs::eager`] leaves when there is a receive for it.
    Isend {
        /// Receiver.
        to: u32,
        /// Bytes; 0 travels as 1 B.
        size: u64,
        /// Tag.
        tag: u32,
        /// Set of the request, below [`SETS`].
        set: u8,
    },
    /// Begins to receive a message. The request is done when the rank has taken the message.
    Irecv {
        /// Sender, or [`ANY`].
        from: u32,
        /// Room for it: a longer message is an error.
        size: u64,
        /// Tag, or [`ANY`].
        tag: u32,
        /// Set of the request, below [`SETS`].
        set: u8,
    },
    /// Waits until no request of some sets is outstanding.
    Wait {
        /// Bit s: set s.
        sets: u64,
    },
    /// Begins to write into another rank's memory; the other one takes no part in it.
    Put {
        /// Whose memory.
        to: u32,
        /// Bytes; 0 travels as 1 B.
        size: u64,
    },
    /// Begins to read another rank's memory; the other one takes no part in it.
    Get {
        /// Whose memory.
        from: u32,
        /// Bytes; 0 travels as 1 B.
        size: u64,
    },
    /// Waits until all own puts have been answered, and all gets have come.
    Flush,
    /// Computes.
    Compute(Span),
    /// Begins a loop.
    Loop {
        /// Turns, or [`FOREVER`]; 0: none.
        times: u32,
        /// The op after its end.
        end: u32,
    },
    /// Ends a turn of the innermost loop.
    End {
        /// The first op of its body.
        begin: u32,
    },
    /// Sets a stopwatch.
    Start {
        /// Which one of the rank.
        timer: u8,
    },
    /// Reads a stopwatch: one line in the results.
    Stop {
        /// Which one of the rank.
        timer: u8,
        /// What it has measured, among [`Programs::series`].
        series: u16,
        /// A number to tell its readings apart by.
        label: u32,
    },
}
