//! `kind = "collective"`: ranks at hosts that do a collective operation again and again.
use std::collections::BTreeSet;

use backwater_codes::Code;
use backwater_topology::Network;
use backwater_traffic::generate::{Experts, Iterations};
use backwater_traffic::program::{self, place};
use backwater_traffic::trace::{Algorithm, MAX_FLOWS, Op};
use backwater_traffic::{Flow, Group};
use backwater_units::Bytes;

use super::Entry;
use crate::document::{Step, at};
use crate::quantity::Quantity;
use crate::settings::{
    AiPod, Collective, CollectiveAlgorithm, CollectiveOp, Names, RankPlacement, Settings, Shape, Workload,
};
use crate::valid::jobs::along_rails;
use crate::valid::{Context, Remark};

/// Most tokens that are drawn in all.
pub(in crate::valid) const MOST_TOKENS: u64 = 100_000_000;

/// The messages of all iterations; their steps go to the context.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group, seed: u64) -> Option<Vec<Flow>> {
    let settings = entry.context.settings;
    let Workload::Collective(Collective {
        op,
        algorithm,
        within,
        size,
        iterations,
        ranks,
        hosts,
        placement,
        ..
    }) = &settings.traffic[entry.index].workload
    else {
        return None;
    };
    let hosts = placed(entry, hosts, *ranks, *placement, group, seed)?;
    let count = hosts.len() as u32;
    let (place, title) = (entry.path("algorithm"), format!("{}: ", entry.context.title(entry.index)));
    let named = (*algorithm, *within);
    let neighbours = neighbours(entry.network, &[&hosts]);
    let members = (Members::Job(count), neighbours);
    let (op, algorithm) = algorithm_of(entry.context, (&place, &title), *op, named, members)?;
    let (experts, latency, compute) = experts(entry)?;
    let (size, times) = (size.0, *iterations);
    let of = Iterations { op, algorithm, ranks: count, size, times, latency, compute, experts };
    entry.count(of.messages() as f64, "iterations")?;
    if of.messages() > MAX_FLOWS {
        let message = format!("this means {} messages", of.messages());
        entry.report("iterations", message, format!("at most {MAX_FLOWS}"), "fewer iterations or ranks");
        return None;
    }
    if of.tokens() > MOST_TOKENS {
        let message = format!("this means {} tokens to be drawn", of.tokens());
        let help = "give a larger token, a smaller size or fewer iterations";
        entry.report("token", message, format!("at most {MOST_TOKENS}"), help);
        return None;
    }
    let times = entry.outlined(times, of.messages() as f64 / f64::from(times.max(1)));
    let of = Iterations { times, ..of };
    let (flows, steps) = of.program(group.id, seed).on(&hosts, group);
    entry.context.steps = steps;
    Some(flows)
}

/// The host of each rank.
fn placed(
    entry: &mut Entry<'_, '_>,
    names: &Names,
    ranks: Option<u32>,
    placement: RankPlacement,
    group: &Group,
    seed: u64,
) -> Option<Vec<u32>> {
    let mut hosts = entry.hosts("hosts", names)?;
    let ranks = ranks.unwrap_or(hosts.len() as u32);
    if ranks < 2 {
        entry.report("hosts", "a collective needs at least two ranks", "only one host", "name more hosts");
        return None;
    }
    if ranks as usize > hosts.len() {
        let message = format!("ranks = {ranks}, but there are {} hosts for them", hosts.len());
        let help = "a host has one rank: name more hosts, or take a larger topology";
        entry.report("ranks", message, format!("at most {}", hosts.len()), help);
        return None;
    }
    let order = match placement {
        RankPlacement::Linear => program::Placement::Block,
        RankPlacement::Random => program::Placement::Random,
        RankPlacement::Rails => {
            if !entry.context.settings.topology.has_rails() {
                let help = "take linear or random, or topology.kind = \"rail\" or \"ai-pod\"";
                entry.report("placement", "this network has no rails", "needs rails", help);
                return None;
            }
            // The first servers, all of their GPUs: coordinates are server and rail.
            hosts.truncate(ranks as usize);
            along_rails(entry.network, &mut hosts);
            program::Placement::Block
        }
    };
    place(ranks, &hosts, 1, order, group.id, seed)
}

/// Ranks that do a collective together.
#[derive(Clone, Copy)]
pub(in crate::valid) enum Members {
    /// All that there are.
    Job(u32),
    /// So many of them.
    Group(u32),
}

impl Members {
    const fn number(self) -> u32 {
        match self {
            Self::Job(ranks) | Self::Group(ranks) => ranks,
        }
    }

    /// The key that says how many they are.
    const fn key(self) -> &'static str {
        match self {
            Self::Job(_) => "ranks",
            Self::Group(_) => "group",
        }
    }

    fn told(self) -> String {
        match self {
            Self::Job(ranks) => format!("there are {ranks}"),
            Self::Group(ranks) => format!("a group has {ranks}"),
        }
    }
}

/// The most ranks next to each other that share a scale-up switch, if all ranks do so with as many, and some others do not; of ranks that do
/// a collective together, by groups of theirs.
pub(in crate::valid) fn neighbours(network: &Network, groups: &[&[u32]]) -> Option<u32> {
    let count = groups.first()?.len();
    let server = |host: u32| network.server_of(network.hosts()[host as usize]);
    let share = |hosts: &[u32]| {
        server(hosts[0]).is_some() && hosts.iter().all(|host| server(*host) == server(hosts[0]))
    };
    let most =
        groups.iter().map(|hosts| hosts.iter().take_while(|host| server(**host) == server(hosts[0])).count());
    let most = most.min()?;
    let fits = |size: &usize| {
        count.is_multiple_of(*size)
            && groups.iter().all(|hosts| {
                let servers: BTreeSet<_> = hosts.chunks(*size).map(|part| server(part[0])).collect();
                hosts.chunks(*size).all(share) && servers.len() == hosts.len() / size
            })
    };
    let found = (2..=most).rev().find(fits)?;
    (found < count).then_some(found as u32)
}

/// Writes out of how many ranks the groups are in which collectives go first.
pub(in crate::valid) fn write(settings: &mut Settings, by_servers: &[(Vec<Step>, u32)]) {
    for (path, size) in by_servers {
        let (algorithm, within) = match path[..] {
            [Step::Key("traffic"), Step::Index(index), ..] => {
                let Workload::Collective(of) = &mut settings.traffic[index].workload else { continue };
                (&mut of.algorithm, &mut of.within)
            }
            [Step::Key("job"), Step::Index(job), Step::Key("step"), Step::Index(step), ..] => {
                let of = &mut settings.job[job].step[step];
                (&mut of.algorithm, &mut of.within)
            }
            _ => continue,
        };
        (*algorithm, *within) = (Some(CollectiveAlgorithm::Hierarchical), Some(*size));
    }
}

/// What is done and by which messages; beside the members, [`neighbours`].
pub(in crate::valid) fn algorithm_of(
    context: &mut Context<'_>,
    (path, title): (&[Step], &str),
    op: CollectiveOp,
    (algorithm, within): (Option<CollectiveAlgorithm>, Option<u32>),
    (members, neighbours): (Members, Option<u32>),
) -> Option<(Op, Algorithm)> {
    let name = op;
    let op = match op {
        CollectiveOp::AllReduce => Op::Allreduce,
        CollectiveOp::ReduceScatter => Op::ReduceScatter,
        CollectiveOp::AllGather => Op::Allgather,
        CollectiveOp::AllToAll | CollectiveOp::MoeAllToAll => Op::Alltoall,
        CollectiveOp::Broadcast => Op::Bcast,
    };
    if within.is_some() && algorithm != Some(CollectiveAlgorithm::Hierarchical) {
        let help = "remove this line, or give algorithm = \"hierarchical\"";
        let message = format!("{title}within is of algorithm = hierarchical");
        context.report(&beside(path, "within"), message, "no groups here", help);
        return None;
    }
    let Some(algorithm) = algorithm else {
        let by_servers = neighbours.map(Algorithm::Hierarchical).filter(|algorithm| algorithm.is_for(op));
        let (Some(chosen), Some(size)) = (by_servers, neighbours) else {
            return Some((op, op.algorithms()[0]));
        };
        let message = format!(
            "{title}{}, algorithm: hierarchical, within servers of {size} ranks first (the default with scale-up switches)",
            text(name)
        );
        let place = title.trim_end_matches(": ").to_owned();
        context.notes.push(Remark::new(Code::ByServersFirst, place, message));
        context.by_servers.push((path.to_vec(), size));
        return Some((op, chosen));
    };
    let wanted = match algorithm {
        CollectiveAlgorithm::Ring => Algorithm::Ring,
        CollectiveAlgorithm::Tree => Algorithm::Binomial,
        CollectiveAlgorithm::HalvingDoubling => Algorithm::HalvingDoubling,
        CollectiveAlgorithm::RecursiveDoubling => Algorithm::RecursiveDoubling,
        CollectiveAlgorithm::Pairwise => Algorithm::Pairwise,
        CollectiveAlgorithm::Linear => Algorithm::Linear,
        CollectiveAlgorithm::Hierarchical => {
            Algorithm::Hierarchical(group(context, (path, title), within, neighbours)?)
        }
    };
    if !wanted.is_for(op) {
        let words: Vec<&str> = op.algorithms().iter().map(|algorithm| word(*algorithm)).collect();
        let message = format!("{title}no {} is done by {}", text(name), word(wanted));
        context.report(path, message, format!("one of {}", words.join(", ")), "or leave it out");
        return None;
    }
    let does = wanted.does(op, members.number() as usize);
    if let (Algorithm::Hierarchical(size), false) = (wanted, does) {
        let message = format!("{title}hierarchical among {size} ranks first, and {}", members.told());
        let help = "give a number that divides the number of ranks";
        let key = if within.is_some() { "within" } else { members.key() };
        context.report(&beside(path, key), message, "does not divide", help);
        return None;
    }
    if !does {
        let message =
            format!("{title}{} is for a power of two of ranks, and {}", word(wanted), members.told());
        context.report(path, message, "not for so many", "take ring, or 2, 4, 8, … ranks");
        return None;
    }
    Some((op, wanted))
}

/// Another key of the table in which the one at `path` is.
fn beside(path: &[Step], key: &'static str) -> Vec<Step> {
    [&path[..path.len() - 1], &[Step::Key(key)]].concat()
}

/// Ranks of a group of a hierarchical collective.
fn group(
    context: &mut Context<'_>,
    (path, title): (&[Step], &str),
    within: Option<u32>,
    neighbours: Option<u32>,
) -> Option<u32> {
    if let (None, Shape::Rail { gpus, .. } | Shape::AiPod(AiPod { gpus, .. })) =
        (within, &context.settings.topology.shape)
    {
        return Some(*gpus);
    }
    if let (None, Some(size)) = (within, neighbours) {
        context.by_servers.push((path.to_vec(), size));
        return Some(size);
    }
    if within.is_none() {
        let help = "give within = the number of ranks of a server";
        let message = format!("{title}hierarchical needs within");
        context.report(path, message, "no servers here", help);
    }
    within
}

const fn word(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Binomial => "tree",
        Algorithm::HalvingDoubling => "halving-doubling",
        Algorithm::RecursiveDoubling => "recursive-doubling",
        Algorithm::Pairwise => "pairwise",
        Algorithm::Linear => "linear",
        Algorithm::Ring => "ring",
        Algorithm::Hierarchical(_) => "hierarchical",
        Algorithm::Dissemination => "dissemination",
    }
}

/// Its name in scenario files.
const fn text(op: CollectiveOp) -> &'static str {
    match op {
        CollectiveOp::AllReduce => "all-reduce",
        CollectiveOp::ReduceScatter => "reduce-scatter",
        CollectiveOp::AllGather => "all-gather",
        CollectiveOp::AllToAll => "all-to-all",
        CollectiveOp::MoeAllToAll => "moe-all-to-all",
        CollectiveOp::Broadcast => "broadcast",
    }
}

/// Experts, if there are some, and the times of ranks.
fn experts(
    entry: &mut Entry<'_, '_>,
) -> Option<(Option<Experts>, backwater_units::Span, backwater_units::Span)> {
    let settings = entry.context.settings;
    let Workload::Collective(Collective { op, host_latency, compute, token, gini, .. }) =
        &settings.traffic[entry.index].workload
    else {
        return None;
    };
    let (place, title) = (at!["traffic", entry.index], format!("{}: ", entry.context.title(entry.index)));
    let experts = experts_of(entry.context, (&place, &title), *op, (*token, *gini)).ok()?;
    Some((experts, host_latency.0, compute.0))
}

/// Experts, if there are some; `token` and `gini` stand at `path`.
pub(in crate::valid) fn experts_of(
    context: &mut Context<'_>,
    (path, title): (&[Step], &str),
    op: CollectiveOp,
    (token, gini): (Option<Quantity<Bytes>>, Option<f64>),
) -> Result<Option<Experts>, ()> {
    if op == CollectiveOp::MoeAllToAll {
        let of = Experts {
            token: token.map_or(DEFAULT_TOKEN, |token| token.0),
            gini: gini.unwrap_or(DEFAULT_GINI),
        };
        return Ok(Some(of));
    }
    let given = [("token", token.is_some()), ("gini", gini.is_some())];
    let mut good = true;
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = format!("{title}{key} is of moe-all-to-all, and this is {}", text(op));
        context.report(&[path, &[Step::Key(key)]].concat(), message, "no experts here", "remove this line");
        good = false;
    }
    if good { Ok(None) } else { Err(()) }
}

/// Hidden size of 7168 in FP8 (DeepSeek-V3, arXiv:2412.19437, sections 3.2 and 4.2).
const DEFAULT_TOKEN: Bytes = Bytes::new(7168);
/// "Above 0.24 on every real-text condition" (arXiv:2605.20982, abstract).
const DEFAULT_GINI: f64 = 0.24;
