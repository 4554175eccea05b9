//! Ranks that wait for what will never come, and what that is, in words.
use backwater_topology::Network;
use backwater_traffic::program::{ANY, INTERNAL, Op};
use backwater_units::{Bytes, Span};

use super::Ranks;
use super::frame::Message;
use super::state::{Doing, Rank};
use crate::world::World;

/// From this cost on, a rank that goes on for ever may be paying for a message for longer than others wait with patience.
const SLOW: Span = Span::from_us(1000);

impl Ranks {
    /// Ops that its ranks with an end have executed.
    pub(crate) fn executed(&self, world: &World) -> u64 {
        let finite = self.own.iter().filter(|rank| !world.programs.ranks[rank.id as usize].is_endless());
        finite.map(|rank| rank.executed).sum()
    }

    /// Whether something will happen by itself: a rank with an end is not waiting, one computes, a message is under way within the host.
    /// What a rank without an end computes helps nobody where a queue pair has `failed`.
    pub(crate) fn is_busy(&self, failed: bool, world: &World) -> bool {
        self.own.iter().any(|rank| {
            let program = &world.programs.ranks[rank.id as usize];
            let computes = || matches!(program.ops.get(rank.at as usize), Some(Op::Compute(_)));
            let costs = world.costs(rank.id);
            let slow = costs.send.max(costs.receive) >= SLOW;
            let coming = !rank.local.is_empty() || !rank.leaving.is_empty();
            if program.is_endless() {
                !failed && rank.doing == Doing::Busy && (slow || computes())
            } else {
                rank.doing == Doing::Busy || coming
            }
        })
    }

    /// Whether one of its ranks with an end waits.
    pub(crate) fn waits(&self, world: &World) -> bool {
        self.own.iter().any(|rank| {
            matches!(rank.doing, Doing::Waiting(_)) && !world.programs.ranks[rank.id as usize].is_endless()
        })
    }

    /// Whether one of its ranks with an end has not ended.
    pub(crate) fn has_open(&self, world: &World) -> bool {
        self.own.iter().any(|rank| !rank.has_ended() && !world.programs.ranks[rank.id as usize].is_endless())
    }

    /// How many ranks have not ended.
    pub(crate) fn unfinished(&self) -> usize {
        self.own.iter().filter(|rank| !rank.has_ended()).count()
    }

    /// The ranks that wait, and for what; those whose programs go on for ever only if `endless`.
    pub(crate) fn waiting(&self, endless: bool, network: &Network, world: &World) -> Vec<(u32, String)> {
        let waits = |rank: &&Rank| {
            matches!(rank.doing, Doing::Waiting(_))
                && (endless || !world.programs.ranks[rank.id as usize].is_endless())
        };
        let words =
            |rank: &Rank| (rank.id, format!("{} {}", name(rank.id, network, world), reason(rank, world)));
        self.own.iter().filter(waits).map(words).collect()
    }
}

/// A rank by its number in its entry, its host and its line.
fn name(id: u32, network: &Network, world: &World) -> String {
    let rank = &world.programs.ranks[id as usize];
    format!("rank {} ({})", rank.number, network.nodes()[world.hosts[rank.host as usize] as usize].name)
}

/// A rank of the programs and one of its ops, in words.
pub(crate) fn place(id: u32, op: u32, network: &Network, world: &World) -> String {
    let rank = name(id, network, world);
    match &world.programs.ranks[id as usize].lines {
        Some(lines) => format!("{rank}, line {},", lines[op as usize]),
        None => format!("{rank}, op {op},"),
    }
}

/// A message that the queue pair between two ranks has given up, in words.
pub(crate) fn given_up(ends: (u32, u32), message: &Message, network: &Network, world: &World) -> String {
    let (from, to) = ends;
    // The op is that of the rank that began it all, which an answer goes to.
    let of = if message.word.is_answer() { to } else { from };
    let [sender, receiver] = [from, to].map(|id| name(id, network, world));
    let size = Bytes::new(message.size);
    let place = place(of, message.op, network, world);
    format!(
        "the queue pair from {sender} to {receiver} is in error, and {size} of {place} are not acknowledged"
    )
}

fn reason(rank: &Rank, world: &World) -> String {
    let program = &world.programs.ranks[rank.id as usize];
    let at = match &program.lines {
        Some(lines) => format!("waits in line {}", lines[rank.at as usize]),
        None => format!("waits in op {}", rank.at),
    };
    let Some(Op::Wait { sets }) = program.ops.get(rank.at as usize) else {
        return format!("{at} for its {} outstanding puts and gets", rank.one_sided);
    };
    let number = |id: u32| world.programs.ranks[id as usize].number;
    let asking = rank.asking.iter().find_map(|op| match world.op(rank.id, *op) {
        Op::Isend { to, size, tag, set } if sets & 1 << set != 0 => Some((to, size, tag)),
        _ => None,
    });
    if let Some((to, size, tag)) = asking {
        let tag = tag_words(*tag);
        return format!("{at} for rank {} to receive {size} B{tag}", number(*to));
    }
    if let Some(posted) = rank.matching.first_posted(*sets) {
        let tag = tag_words(posted.tag);
        let from = match posted.from {
            ANY => "any rank".to_owned(),
            from => format!("rank {}", number(from)),
        };
        return format!("{at} for a message from {from}{tag}");
    }
    match rank.matching.first_cleared(*sets) {
        Some(from) => format!("{at} for data of rank {}", number(from)),
        None if acknowledged(rank, world) => format!("{at} for its sends to be acknowledged"),
        None => format!("{at} for its sends to leave"),
    }
}

/// Whether what a rank sends is done only when it is acknowledged.
fn acknowledged(rank: &Rank, world: &World) -> bool {
    let sends_again = |flow: u32| {
        let pair = world.pair_of(&world.flows[flow as usize]);
        world.pairs[usize::from(pair)].reliable.is_some()
    };
    world.programs.channels.iter().any(|channel| channel.from == rank.id && sends_again(channel.flow))
}

/// Tags of collective operations are beyond those that a program can name.
fn tag_words(tag: u32) -> String {
    match tag {
        ANY => String::new(),
        tag if tag & INTERNAL != 0 => " of a collective".to_owned(),
        tag => format!(" with tag {tag}"),
    }
}
