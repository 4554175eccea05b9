//! `[[job]]`: which hosts the ranks of jobs get, and the traffic entries that their programs become. A job is no more than that: its
//! messages are those of collectives, traces and programs.
mod order;
mod places;
mod steps;

use backwater_fabric::{Gate, JobSpec};
use backwater_topology::Network;
use backwater_traffic::generate::Skew;
use backwater_traffic::program::gpcnet::MIN_HOSTS;
use backwater_traffic::read;
use backwater_units::{Span, Time};

use self::places::Places;
pub(super) use self::places::along_rails;
use super::Context;
use crate::document::{Step, at};
use crate::settings::{
    Drawn, Gpcnet, Job, Names, Placement, Settings, Traffic, Workload, everybody, six_hundred_ns, ten_us,
};

/// How many entries of the list of traffic are of the scenario; those of its jobs stand behind them. The same before there are any.
pub(super) fn first(settings: &Settings) -> usize {
    let jobs = |entries: &[Traffic]| {
        let named = |(entry, job): (&Traffic, &Job)| entry.name == job.name;
        entries.len() == settings.job.len() && entries.iter().zip(&settings.job).all(named)
    };
    let before = settings.traffic.len().saturating_sub(settings.job.len());
    if jobs(&settings.traffic[before..]) { before } else { settings.traffic.len() }
}

/// The job that a traffic entry is made of, and its number.
pub(super) fn of_entry(settings: &Settings, index: usize) -> Option<(usize, &Job)> {
    let number = index.checked_sub(first(settings))?;
    settings.job.get(number).map(|job| (number, job))
}

/// The jobs as the fabric knows them.
pub(super) fn specs(settings: &Settings) -> Vec<JobSpec> {
    let first = first(settings);
    let group = |index: usize| (first + index) as u16;
    let spec = |(index, job): (usize, &Job)| {
        let after = settings.job.iter().position(|other| job.after.as_ref() == Some(&other.name));
        let gate = after.map(|after| Gate { after: group(after), delay: job.delay.0 });
        JobSpec { group: group(index), start: Time::from_ps(job.start.0.as_ps()), gate }
    };
    settings.job.iter().enumerate().map(spec).collect()
}

/// The traffic entries of all jobs. What is wrong is reported; then there are none.
pub(super) fn entries(context: &mut Context<'_>, network: &Network) -> Vec<Traffic> {
    let before = context.problems.len();
    names(context);
    order::check(context, network);
    let mut places = Places::new(context, network);
    let jobs = context.settings.job.len();
    let wanted: Vec<Option<Wanted>> = (0..jobs).map(|job| wanted(context, job)).collect();
    // Whoever names its hosts gets them before others choose from what is left.
    let mut hosts = vec![None; jobs];
    for listed in [true, false] {
        for (job, wanted) in wanted.iter().enumerate() {
            if Places::is_listed(context, job) == listed
                && let Some(wanted) = wanted
            {
                hosts[job] = places.give(context, network, job, wanted.hosts);
            }
        }
    }
    let mut made = Vec::with_capacity(jobs);
    for (job, (wanted, hosts)) in wanted.into_iter().zip(hosts).enumerate() {
        if let (Some(wanted), Some(hosts)) = (wanted, hosts) {
            made.extend(entry(context, network, job, wanted.ranks, hosts, places.storage_of(job)));
        }
    }
    if context.problems.len() > before { Vec::new() } else { made }
}

/// Names must be such that a path in an override can name them, and no traffic entry may have the same.
fn names(context: &mut Context<'_>) {
    let settings = context.settings;
    for (index, job) in settings.job.iter().enumerate() {
        let path = at!["job", index, "name"];
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !job.name.chars().all(good) || job.name.chars().all(|c| c.is_ascii_digit()) {
            let message = format!("{:?} is no name for a job", job.name);
            let help = "use letters, digits, - and _, and not digits only";
            context.report(&path, message, "not allowed", help);
        }
        let taken = settings.job[..index].iter().any(|other| other.name == job.name);
        let entry = settings.traffic.iter().any(|entry| entry.name == job.name);
        if taken || entry {
            let other = if taken { "another job" } else { "a traffic entry" };
            let message = format!("{other} is named {:?}, too", job.name);
            context.report(&path, message, "the second one", "rename one of them: results tell both by name");
        }
    }
}

/// How many ranks a job has, and how many hosts these need; both only if something says so.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    ranks: Option<u32>,
    hosts: Option<u32>,
}

/// What a job needs, and that it has exactly one program.
fn wanted(context: &mut Context<'_>, index: usize) -> Option<Wanted> {
    let job = &context.settings.job[index];
    let kinds = [!job.step.is_empty(), job.trace.is_some(), job.program.is_some(), job.gpcnet.is_some()];
    let given = kinds.iter().filter(|given| **given).count();
    if given != 1 {
        let (message, help) = if given == 0 {
            (
                format!("job.{}: it has nothing to do", job.name),
                "add [[job.step]], trace = \"FILE\", program = \"FILE\" or [job.gpcnet]",
            )
        } else {
            (
                format!("job.{}: it has {given} programs", job.name),
                "give one of step, trace, program and gpcnet",
            )
        };
        context.report(&at!["job", index], message, "what does it do?", help);
        return None;
    }
    idle(context, index)?;
    let per_host = job.gpcnet.as_ref().map_or(job.ranks_per_host, |gpcnet| gpcnet.ranks_per_host);
    if let (Some(ranks), true) = (job.ranks, job.gpcnet.is_some()) {
        fits_gpcnet(context, index, ranks, per_host)?;
    }
    let of = |ranks: Option<u32>| Wanted { ranks, hosts: ranks.map(|ranks| ranks.div_ceil(per_host)) };
    let (key, file) = match (&job.trace, &job.program) {
        (Some(file), _) => ("trace", file),
        (_, Some(file)) => ("program", file),
        _ => {
            let computes = job.step.iter().any(|step| step.compute.is_some_and(|time| time.0 > Span::ZERO));
            slower_computes(context, index, computes)?;
            return Some(of(job.ranks));
        }
    };
    let path = at!["job", index, key];
    let text = context.read_text(&path, file)?;
    let known = if key == "trace" {
        read::trace(&text).map(|trace| (trace.ranks, trace.computes()))
    } else {
        read::program(&text).map(|program| (program.members.len() as u32, program.computes()))
    };
    let (ranks, computes) = match known {
        Ok(known) => known,
        Err(error) => {
            let guide = if key == "trace" { "trace-format" } else { "programs" };
            let help = format!("docs/{guide}.md describes the format");
            context.report(&path, format!("{file:?} {error}"), "this file", help);
            return None;
        }
    };
    if let Some(written) = job.ranks.filter(|written| *written != ranks) {
        let message = format!("job.{}: ranks = {written}, but {file:?} has {ranks}", job.name);
        context.report(&at!["job", index, "ranks"], message, "not as many", "remove this line");
        return None;
    }
    slower_computes(context, index, computes)?;
    Some(of(Some(ranks)))
}

/// `GPCNeT` has as many ranks at each of its hosts.
fn fits_gpcnet(context: &mut Context<'_>, index: usize, ranks: u32, per_host: u32) -> Option<()> {
    let name = &context.settings.job[index].name;
    let least = MIN_HOSTS * per_host;
    let (label, help) = if ranks < least {
        let label = format!("allowed: {least} and more");
        (
            label,
            format!("GPCNeT needs at least {MIN_HOSTS} hosts: raise ranks, or lower gpcnet.ranks-per-host"),
        )
    } else if !ranks.is_multiple_of(per_host) {
        let below = ranks / per_host * per_host;
        (format!("no multiple of {per_host}"), format!("write ranks = {below} or {}", below + per_host))
    } else {
        return Some(());
    };
    let message = format!("job.{name}: ranks = {ranks} with gpcnet.ranks-per-host = {per_host}");
    context.report(&at!["job", index, "ranks"], message, label, help);
    None
}

/// Who is slower computes longer: somebody must compute.
fn slower_computes(context: &mut Context<'_>, index: usize, computes: bool) -> Option<()> {
    let job = &context.settings.job[index];
    if computes || job.straggler.as_ref().is_none_or(|straggler| straggler.slower <= 1.0) {
        return Some(());
    }
    let message = format!("job.{}: slower is for computations, of which this job has none", job.name);
    let help = "write straggler.later, or let the ranks compute";
    context.report(&at!["job", index, "straggler", "slower"], message, "without effect", help);
    None
}

/// Keys that only another kind of job has.
fn idle(context: &mut Context<'_>, index: usize) -> Option<()> {
    let job = &context.settings.job[index];
    let before = context.problems.len();
    let mut wrong = Vec::new();
    if job.step.is_empty() && job.iterations > 1 {
        wrong.push((
            "iterations",
            "goes through steps",
            "write `loop` into a program, or repeat the records of a trace",
        ));
    }
    if job.program.is_none() && job.ranks_per_host > 1 {
        wrong.push(("ranks-per-host", "is for programs", "remove this line: a host has one rank"));
    }
    if job.step.is_empty() && job.host_latency != six_hundred_ns() {
        let help = if job.trace.is_some() {
            "remove this line; the delays of a trace say so"
        } else {
            "remove this line; mpi says what messages cost"
        };
        wrong.push(("host-latency", "is for steps", help));
    }
    if job.after.is_none() && job.delay != ten_us() {
        let message =
            format!("job.{}: delay counts from the end of another job, and after is not given", job.name);
        context.report(
            &at!["job", index, "delay"],
            message,
            "without effect",
            "add after, or write start instead",
        );
    }
    if job.program.is_none() && job.mpi.is_some() {
        wrong.push(("mpi", "is for programs", "remove it; host-latency is what steps have"));
    }
    if job.gpcnet.as_ref().is_some_and(|gpcnet| gpcnet.hosts != everybody()) {
        let path = at!["job", index, "gpcnet", "hosts"];
        let message = format!("job.{}: the job says which hosts it has", job.name);
        context.report(
            &path,
            message,
            "not here",
            "remove this line; hosts and placement are keys of the job",
        );
    }
    let name = &job.name;
    for (key, what, help) in wrong {
        let message = format!("job.{name}: {key} {what}, of which this job has none");
        context.report(&at!["job", index, key], message, "not for this job", help);
    }
    (context.problems.len() == before).then_some(())
}

/// The traffic entry of a job whose ranks have their hosts.
fn entry(
    context: &mut Context<'_>,
    network: &Network,
    index: usize,
    ranks: Option<u32>,
    hosts: Vec<u32>,
    storage: &[Option<Vec<u32>>],
) -> Option<Traffic> {
    let settings = context.settings;
    let job = &settings.job[index];
    let named = |hosts: &[u32]| {
        let name = |host: &u32| network.name(network.hosts()[*host as usize]).to_owned();
        Names::Many(hosts.iter().map(name).collect())
    };
    let workload = if let Some(file) = &job.trace {
        Workload::Trace { file: file.clone(), hosts: Some(named(&hosts)) }
    } else if let Some(file) = &job.program {
        Workload::Program {
            file: file.clone(),
            hosts: named(&hosts),
            ranks_per_host: job.ranks_per_host,
            placement: Placement::Block,
            mpi: job.mpi.unwrap_or_default(),
        }
    } else if let Some(gpcnet) = &job.gpcnet {
        Workload::Gpcnet(Gpcnet { hosts: named(&hosts), ..gpcnet.clone() })
    } else {
        Workload::Steps(Box::new(steps::steps(context, network, index, hosts, storage)?))
    };
    let all = match &workload {
        Workload::Gpcnet(gpcnet) => Some(hosts_of(&gpcnet.hosts) * gpcnet.ranks_per_host),
        Workload::Steps(_) => None,
        _ => ranks,
    };
    if let Some(ranks) = all {
        skew(context, index, ranks)?;
    }
    let mut entry = Traffic {
        name: job.name.clone(),
        priority: job.priority,
        start: job.start,
        control: job.control,
        connection: None,
        cc: None,
        transport: Some(settings.host.transport),
        reliability: None,
        put: None,
        workload,
    };
    super::flows::fill(&mut entry, &settings.topology.shape);
    Some(entry)
}

/// How many hosts are named.
fn hosts_of(names: &Names) -> u32 {
    names.patterns().len() as u32
}

/// No job may wait for a traffic entry of which no rank ever ends.
pub(super) fn never_ends(context: &mut Context<'_>, entry: usize) {
    let Some((_, endless)) = of_entry(context.settings, entry) else { return };
    let waits = |job: &&Job| job.after.as_ref() == Some(&endless.name);
    let Some(index) = context.settings.job.iter().position(|job| waits(&job)) else { return };
    let message = format!("job.{}: job.{} never ends", context.settings.job[index].name, endless.name);
    let help = "give it a start instead of after, or loops that end";
    context.report(&at!["job", index, "after"], message, "goes on for ever", help);
}

/// Which of its ranks are slower or later.
pub(super) fn skew(context: &mut Context<'_>, index: usize, ranks: u32) -> Option<Skew> {
    let settings = context.settings;
    let job = &settings.job[index];
    let Some(straggler) = &job.straggler else { return Some(Skew::default()) };
    let all: Vec<u32> = (0..ranks).collect();
    let mut path = at!["job", index, "straggler"].to_vec();
    let chosen = match (&straggler.ranks, straggler.random) {
        (Some(_), Some(_)) => {
            path.push(Step::Key("random"));
            let message = format!("job.{}: both ranks and random are given", job.name);
            context.report(&path, message, "one of the two", "remove one of them");
            return None;
        }
        (Some(given), None) if given.is_empty() => {
            path.push(Step::Key("ranks"));
            let message = format!("job.{}: straggler.ranks names no rank", job.name);
            context.report(&path, message, "empty", "name ranks, or remove the straggler");
            return None;
        }
        (Some(given), None) => {
            if let Some(place) = given.iter().position(|rank| *rank >= ranks) {
                path.extend([Step::Key("ranks"), Step::Index(place)]);
                let message = format!("job.{}: there is no rank {}", job.name, given[place]);
                let label = format!("allowed: 0 to {}", ranks - 1);
                context.report(&path, message, label, format!("the job has {ranks} ranks"));
                return None;
            }
            let mut given = given.clone();
            given.sort_unstable();
            given.dedup();
            given
        }
        (None, Some(count)) if count > ranks => {
            path.push(Step::Key("random"));
            let message = format!("job.{}: {count} ranks cannot be drawn from {ranks}", job.name);
            context.report(&path, message, format!("allowed: 1 to {ranks}"), "draw fewer");
            return None;
        }
        (None, Some(count)) => {
            // Every job draws for itself.
            backwater_traffic::draw(&all, count as usize, settings.run.seed, u32::MAX - index as u32).0
        }
        (None, None) => all,
    };
    Some(Skew {
        ranks: chosen,
        slower_ppm: libm::round((straggler.slower - 1.0) * 1e6) as u64,
        later: straggler.later.0,
        drawn: straggler.drawn == Drawn::Exponential,
    })
}
