//! Which parts of jobs their messages are.
use backwater_fabric::Spec;
use backwater_probe::columns::JobMessageRecord;
use backwater_traffic::trace::{Part, Step};

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

/// How many there are.
pub(crate) fn count(spec: &Spec) -> u64 {
    in_steps(spec).map(|step| step.starts.len() as u64).sum()
}

/// What the steps of jobs have become.
fn in_steps(spec: &Spec) -> impl Iterator<Item = &Step> {
    let is_job = |group: u16| spec.jobs.iter().any(|job| job.group == group);
    spec.steps.iter().filter(move |step| step.part.is_some() && is_job(step.group))
}
