//! The steps of a job.
use backwater_topology::Network;
use backwater_traffic::generate::{Groups, Job, JobPart};
use backwater_traffic::trace::{MAX_FLOWS, MAX_RANKS};

use super::places::step_path;
use super::skew;
use crate::document::at;
use crate::settings::{JobStep, Names, Steps};
use crate::valid::Context;
use crate::valid::workload::collective::{self, Members};

/// The storage hosts of each step of a job that reads or writes.
pub(super) fn storage(context: &mut Context<'_>, network: &Network, index: usize) -> Vec<Option<Vec<u32>>> {
    let steps = &context.settings.job[index].step;
    let mut made = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        let named = |(key, names): (&'static str, &Option<Names>)| names.clone().map(|names| (key, names));
        let given = [("to", &step.to), ("from", &step.from)].into_iter().find_map(named);
        made.push(given.and_then(|(key, names)| {
            context.hosts(network, &step_path(index, number, Some(key)), &names).map(|hosts| hosts.list)
        }));
    }
    made
}

/// The steps of a job with its ranks at `hosts`.
pub(super) fn steps(
    context: &mut Context<'_>,
    network: &Network,
    index: usize,
    hosts: Vec<u32>,
    storage: &[Option<Vec<u32>>],
) -> Option<Steps> {
    let job = &context.settings.job[index];
    let ranks = hosts.len() as u32;
    let parts: Vec<Option<JobPart>> =
        (0..job.step.len()).map(|number| part(context, (network, &hosts), index, number)).collect();
    let skew = skew(context, index, ranks);
    let mut all = hosts;
    let mut own = Vec::with_capacity(storage.len());
    for (number, named) in storage.iter().enumerate() {
        let mut numbers = Vec::new();
        for host in named.iter().flatten().copied() {
            let place = all.iter().position(|known| *known == host).unwrap_or_else(|| {
                all.push(host);
                all.len() - 1
            });
            if place < ranks as usize {
                let host = network.name(network.hosts()[host as usize]);
                let message = format!("job.{}: {host} has rank {place} of it, and is its storage", job.name);
                let key = if job.step[number].to.is_some() { "to" } else { "from" };
                let help =
                    "name other storage hosts, or keep the ranks away from them with hosts or placement";
                context.report(&step_path(index, number, Some(key)), message, "a host of the job", help);
                return None;
            }
            numbers.push(place as u32);
        }
        own.push(numbers);
    }
    let of = Job {
        ranks,
        storage: own,
        parts: parts.into_iter().collect::<Option<_>>()?,
        iterations: job.iterations,
        latency: job.host_latency.0,
        skew: skew?,
    };
    let key = at!["job", index, if job.iterations > 1 { "iterations" } else { "step" }];
    if of.messages() > MAX_FLOWS {
        let message = format!("job.{}: this means {} messages", job.name, of.messages());
        context.report(&key, message, format!("at most {MAX_FLOWS}"), "fewer iterations or ranks");
        return None;
    }
    if of.tokens() > collective::MOST_TOKENS {
        let message = format!("job.{}: this means {} tokens to be drawn", job.name, of.tokens());
        let label = format!("at most {}", collective::MOST_TOKENS);
        context.report(&key, message, label, "give a larger token, a smaller size or fewer iterations");
        return None;
    }
    Some(Steps { job: of, hosts: all })
}

/// What a step does.
fn part(
    context: &mut Context<'_>,
    (network, hosts): (&Network, &[u32]),
    index: usize,
    number: usize,
) -> Option<JobPart> {
    let ranks = hosts.len() as u32;
    let job = &context.settings.job[index];
    let step = &job.step[number];
    let path = |key| step_path(index, number, key);
    let kinds = [
        ("compute", step.compute.is_some()),
        ("collective", step.collective.is_some()),
        ("write", step.write.is_some()),
        ("read", step.read.is_some()),
    ];
    let given: Vec<&'static str> = kinds.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
    let [kind] = given[..] else {
        let what = if given.is_empty() {
            "does nothing".to_owned()
        } else {
            format!("does {}", given.join(" and "))
        };
        let message = format!("job.{}: step {number} {what}", job.name);
        let help = "give one of compute, collective, write and read in each [[job.step]]";
        context.report(&path(None), message, "one thing", help);
        return None;
    };
    own_keys(context, index, number, kind)?;
    if let Some(time) = step.compute {
        return Some(JobPart::Compute(time.0));
    }
    if let (Some(size), Some(_)) = (step.write, &step.to) {
        return Some(JobPart::Write(size.0));
    }
    if let (Some(size), Some(_)) = (step.read, &step.from) {
        return Some(JobPart::Read(size.0));
    }
    let (op, size) = (step.collective?, step.size?);
    if ranks < 2 {
        let message =
            format!("job.{}: a collective needs at least two ranks, and there is {ranks}", job.name);
        context.report(&path(Some("collective")), message, "only one rank", "raise ranks");
        return None;
    }
    let groups = groups(context, index, number, ranks).ok()?;
    let title = format!("job.{}: ", job.name);
    let place = path(Some("algorithm"));
    let members = groups.map_or(Members::Job(ranks), |groups| Members::Group(groups.size));
    let together = groups.unwrap_or(Groups { size: ranks, stride: 1 });
    let at: Vec<Vec<u32>> = together
        .members(ranks)
        .map(|ranks| ranks.into_iter().map(|rank| hosts[rank as usize]).collect())
        .collect();
    let members =
        (members, collective::neighbours(network, &at.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    let named =
        collective::algorithm_of(context, (&place, &title), op, (step.algorithm, step.within), members)?;
    let given = (step.token, step.gini);
    let experts = collective::experts_of(context, (&path(None), &title), op, given).ok()?;
    Some(JobPart::Collective { op: named.0, algorithm: named.1, bytes: size.0, experts, groups })
}

/// The groups of a collective, if it has some.
fn groups(context: &mut Context<'_>, index: usize, number: usize, ranks: u32) -> Result<Option<Groups>, ()> {
    let job = &context.settings.job[index];
    let step = &job.step[number];
    let Some(size) = step.group else {
        if step.stride.is_none() {
            return Ok(None);
        }
        let message = format!("job.{}: stride is of groups, and step {number} has none", job.name);
        let help = "add group = the number of ranks of a group, or remove this line";
        context.report(&step_path(index, number, Some("stride")), message, "no groups here", help);
        return Err(());
    };
    let groups = Groups { size, stride: step.stride.unwrap_or(1) };
    if u64::from(ranks).is_multiple_of(groups.span()) {
        return Ok(Some(groups));
    }
    // Whichever of the two keys can be changed alone.
    let (key, of) = match (ranks.is_multiple_of(size), ranks.is_multiple_of(groups.stride)) {
        (true, _) => ("stride", ranks / size),
        (false, true) if groups.stride < ranks => ("group", ranks / groups.stride),
        _ => ("group", ranks),
    };
    let least = if key == "group" { 2 } else { 1 };
    let allowed: Vec<String> =
        (least..=of).filter(|number| of.is_multiple_of(*number)).map(|number| number.to_string()).collect();
    let strided = step.stride.map_or_else(String::new, |stride| format!(" with stride = {stride}"));
    let message = format!("job.{}: {ranks} ranks do not divide into groups of {size}{strided}", job.name);
    let even = (u64::from(ranks) / groups.span()).max(1) * groups.span();
    let or = if even > MAX_RANKS.into() { String::new() } else { format!(", or ranks = {even}") };
    let help = format!("take one of these{or}: group * stride divides the ranks of the job");
    let label = format!("allowed: {}", allowed.join(", "));
    context.report(&step_path(index, number, Some(key)), message, label, help);
    Err(())
}

/// Keys that the kind of a step needs, and those that it has no use for.
fn own_keys(context: &mut Context<'_>, index: usize, number: usize, kind: &'static str) -> Option<()> {
    let job = &context.settings.job[index];
    let JobStep { size, algorithm, group, stride, within, token, gini, to, from, .. } = &job.step[number];
    let keys = [
        ("size", size.is_some(), "collective", true),
        ("algorithm", algorithm.is_some(), "collective", false),
        ("group", group.is_some(), "collective", false),
        ("stride", stride.is_some(), "collective", false),
        ("within", within.is_some(), "collective", false),
        ("token", token.is_some(), "collective", false),
        ("gini", gini.is_some(), "collective", false),
        ("to", to.is_some(), "write", true),
        ("from", from.is_some(), "read", true),
    ];
    let before = context.problems.len();
    let name = job.name.clone();
    for (key, given, of, needed) in keys {
        if given && of != kind {
            let message = format!("job.{name}: {key} is of {of}, and step {number} is {kind}");
            context.report(&step_path(index, number, Some(key)), message, "not here", "remove this key");
        } else if needed && !given && of == kind {
            let message = format!("job.{name}: step {number} ({kind}) has no {key}");
            let help = match key {
                "size" => "add size = \"64MB\"",
                "to" => "add to = \"HOSTS\": who keeps what is written",
                _ => "add from = \"HOSTS\": who keeps what is read",
            };
            context.report(&step_path(index, number, None), message, format!("needs {key}"), help);
        }
    }
    (context.problems.len() == before).then_some(())
}
