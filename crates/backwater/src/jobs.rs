//! Where the ranks of jobs are, and which parts of jobs their messages are.
use std::collections::BTreeMap;

use backwater_fabric::{JobSpec, Spec};
use backwater_probe::columns::JobMessageRecord;
use backwater_traffic::trace::{Finishes, Part, Step};
use serde_json::{Value, json};

/// One row per message of the steps of jobs, in the order of their flows.
pub(crate) fn messages(spec: &Spec) -> Vec<JobMessageRecord> {
    let of_step = |step: &Step| {
        let (group, rank, part) = (step.group, step.rank, step.part.unwrap_or_default());
        let Part { iteration, step: number, .. } = part;
        let record = move |flow: &u32| JobMessageRecord { flow: *flow, group, iteration, step: number, rank };
        step.starts.iter().map(record).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = in_steps(spec).flat_map(of_step).collect();
    rows.sort_unstable_by_key(|row| row.flow);
    rows
}

/// Where the ranks of each job that runs are, rank 0 first, and how many of them come to an end; the others go on for ever.
pub(crate) fn places(spec: &Spec, traffic: &[String]) -> Value {
    let name = |host: u32| spec.network.name(spec.network.hosts()[host as usize]);
    let of_job = |job: &JobSpec| {
        let ends = in_steps(spec).filter(|step| step.group == job.group && step.ends() == Finishes::Job);
        let mut hosts: BTreeMap<u32, u32> = ends.map(|step| (step.rank, step.host)).collect();
        let mut finite = hosts.len();
        for rank in spec.programs.ranks.iter().filter(|rank| rank.group == job.group) {
            hosts.insert(rank.number, rank.host);
            finite += usize::from(!rank.is_endless());
        }
        let hosts: Vec<&str> = hosts.into_values().map(name).collect();
        json!({"job": traffic[usize::from(job.group)], "hosts": hosts, "finite_ranks": finite})
    };
    spec.jobs.iter().map(of_job).collect()
}

/// How many there are.
pub(crate) fn count(spec: &Spec) -> u64 {
    in_steps(spec).map(|step| step.starts.len() as u64).sum()
}

/// What the steps of jobs have become.
fn in_steps(spec: &Spec) -> impl Iterator<Item = &Step> {
    let is_job = |group: u16| spec.jobs.iter().any(|job| job.group == group);
    spec.steps.iter().filter(move |step| step.part.is_some() && is_job(step.group))
}
