//! Which hosts the ranks of jobs get.
use backwater_topology::Network;
use backwater_traffic::program::{Placement, place};

use super::first;
use crate::document::{Step, at};
use crate::settings::{JobPlacement, Names, PlacedBy};
use crate::valid::Context;

/// Whose ranks each host has.
pub(super) struct Places {
    /// The first job that a host has ranks of, and whether all of those allow others beside them.
    owner: Vec<Option<(usize, bool)>>,
    /// The job that names a host as storage: it gets no ranks unless it is asked for by name.
    storage: Vec<Option<usize>>,
    /// Those of each step of each job.
    of_steps: Vec<Vec<Option<Vec<u32>>>>,
}

impl Places {
    /// Nobody has hosts yet.
    pub(super) fn new(context: &mut Context<'_>, network: &Network) -> Self {
        let mut storage = vec![None; network.hosts().len()];
        let jobs = 0..context.settings.job.len();
        let of_steps: Vec<_> = jobs.map(|job| super::steps::storage(context, network, job)).collect();
        for (index, steps) in of_steps.iter().enumerate() {
            for host in steps.iter().flatten().flatten() {
                storage[*host as usize] = storage[*host as usize].or(Some(index));
            }
        }
        Self { owner: vec![None; network.hosts().len()], storage, of_steps }
    }

    /// The storage hosts of each step of a job that reads or writes.
    pub(super) fn storage_of(&self, job: usize) -> &[Option<Vec<u32>>] {
        &self.of_steps[job]
    }

    /// The host of each rank of a job; with several ranks at a host each host once.
    pub(super) fn give(
        &mut self,
        context: &mut Context<'_>,
        network: &Network,
        index: usize,
        wanted: Option<u32>,
    ) -> Option<Vec<u32>> {
        let job = &context.settings.job[index];
        let hosts = match &job.placement {
            JobPlacement::At(names) => self.listed(context, network, index, names, wanted)?,
            JobPlacement::By(rule) => self.free(context, network, index, *rule, wanted)?,
        };
        for host in &hosts {
            let owner = &mut self.owner[*host as usize];
            *owner = match *owner {
                Some((first, shares)) => Some((first, shares && job.share)),
                None => Some((index, job.share)),
            };
        }
        Some(hosts)
    }

    /// The hosts that a job names.
    fn listed(
        &self,
        context: &mut Context<'_>,
        network: &Network,
        index: usize,
        names: &[String],
        wanted: Option<u32>,
    ) -> Option<Vec<u32>> {
        let settings = context.settings;
        let job = &settings.job[index];
        let path = at!["job", index, "placement"];
        if job.hosts.is_some() {
            let message = format!("job.{}: placement names its hosts already", job.name);
            context.report(&at!["job", index, "hosts"], message, "named twice", "remove this line");
            return None;
        }
        let mut hosts = context.hosts(network, &path, &Names::Many(names.to_vec()))?.list;
        let wanted = wanted.unwrap_or(hosts.len() as u32) as usize;
        if wanted > hosts.len() {
            let message = format!(
                "job.{}: its ranks need {wanted} hosts, and placement names {}",
                job.name,
                hosts.len()
            );
            context.report(&path, message, "too few", "name more hosts, or lower ranks");
            return None;
        }
        hosts.truncate(wanted);
        let taken = hosts.iter().find_map(|host| {
            let (owner, shares) = self.owner[*host as usize]?;
            (!(shares || job.share)).then_some((*host, owner))
        });
        if let Some((host, owner)) = taken {
            let (host, other) = (network.name(network.hosts()[host as usize]), &settings.job[owner].name);
            let message = format!("job.{} and job.{other} both have a rank at {host}", job.name);
            let help =
                format!("name another host, or write share = true in job.{} if they share it", job.name);
            context.report(&path, message, format!("{host} is taken by {other}"), help);
            return None;
        }
        Some(hosts)
    }

    /// Free hosts by a rule.
    fn free(
        &self,
        context: &mut Context<'_>,
        network: &Network,
        index: usize,
        rule: PlacedBy,
        wanted: Option<u32>,
    ) -> Option<Vec<u32>> {
        let settings = context.settings;
        let job = &settings.job[index];
        let named = if let Some(names) = &job.hosts {
            context.hosts(network, &at!["job", index, "hosts"], names)?.list
        } else {
            let all = 0..network.hosts().len() as u32;
            all.filter(|host| self.storage[*host as usize].is_none()).collect()
        };
        let is_free = |host: &u32| job.share || self.owner[*host as usize].is_none_or(|(_, shares)| shares);
        let free: Vec<u32> = named.iter().copied().filter(is_free).collect();
        let wanted = wanted.unwrap_or(free.len() as u32);
        if wanted == 0 || wanted as usize > free.len() {
            let (message, key) = self.too_few(context, index, &named, wanted, free.len());
            let label = format!("{} free", free.len());
            let help =
                "lower ranks, take a larger topology, or write share = true to share hosts with other jobs";
            context.report(&at!["job", index, key], message, label, help);
            return None;
        }
        let (group, seed) = ((first(settings) + index) as u16, settings.run.seed);
        match rule {
            PlacedBy::Packed => Some(free[..wanted as usize].to_vec()),
            PlacedBy::Spread => Some(spread(network, &free, wanted as usize)),
            PlacedBy::Random => place(wanted, &free, 1, Placement::Random, group, seed),
            PlacedBy::Rails if !settings.topology.has_rails() => {
                let message = format!("job.{}: this network has no rails", job.name);
                let help = "take packed, spread or random, or topology.kind = \"rail\" or \"ai-pod\"";
                context.report(&at!["job", index, "placement"], message, "needs rails", help);
                None
            }
            PlacedBy::Rails => {
                let mut hosts = free[..wanted as usize].to_vec();
                along_rails(network, &mut hosts);
                Some(hosts)
            }
        }
    }

    /// More ranks than hosts, in numbers: what is written of how many there are, who has the others, and the key to complain at.
    fn too_few(
        &self,
        context: &Context<'_>,
        index: usize,
        named: &[u32],
        wanted: u32,
        free: usize,
    ) -> (String, &'static str) {
        let jobs = &context.settings.job;
        let mut others: Vec<(usize, usize)> = Vec::new();
        for (owner, _) in named.iter().filter_map(|host| self.owner[*host as usize]) {
            match others.iter_mut().find(|(other, _)| *other == owner) {
                Some((_, count)) => *count += 1,
                None => others.push((owner, 1)),
            }
        }
        let has = |(owner, count): &(usize, usize)| format!("{} has {count}", jobs[*owner].name);
        let others: Vec<String> = others.iter().map(has).collect();
        let others = if others.is_empty() { String::new() } else { format!(": {}", others.join(", ")) };
        let job = &jobs[index];
        let needs = if wanted == 0 { "a host".to_owned() } else { format!("{wanted} hosts") };
        let all = named.len();
        let message =
            format!("job.{}: its ranks need {needs}, and {free} of {all} are free{others}", job.name);
        (message, if job.ranks.is_some() { "ranks" } else { "name" })
    }

    /// Whether a job names its hosts.
    pub(super) fn is_listed(context: &Context<'_>, index: usize) -> bool {
        matches!(context.settings.job[index].placement, JobPlacement::At(_))
    }
}

/// One host of each edge switch in turn.
fn spread(network: &Network, free: &[u32], wanted: usize) -> Vec<u32> {
    let mut racks: Vec<Vec<u32>> = network.racks();
    let mut is_free = vec![false; network.hosts().len()];
    for host in free {
        is_free[*host as usize] = true;
    }
    for rack in &mut racks {
        rack.retain(|host| is_free[*host as usize]);
    }
    let turns = racks.iter().map(Vec::len).max().unwrap_or(0);
    let turn = |number: usize| racks.iter().filter_map(move |rack| rack.get(number).copied());
    (0..turns).flat_map(turn).take(wanted).collect()
}

/// Sorts hosts by rail, then by server: their coordinates are server and rail.
pub(in crate::valid) fn along_rails(network: &Network, hosts: &mut [u32]) {
    hosts.sort_by_key(|host| {
        let at = &network.place(network.hosts()[*host as usize]).at;
        (at[1], at[0])
    });
}

/// The path of a step of a job.
pub(super) fn step_path(index: usize, step: usize, key: Option<&'static str>) -> Vec<Step> {
    let mut path = at!["job", index, "step", step].to_vec();
    path.extend(key.map(Step::Key));
    path
}
