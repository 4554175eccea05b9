//! Which job begins after which.
use backwater_topology::Network;

use crate::document::{at, nearest};
use crate::quantity::Quantity;
use crate::settings::Job;
use crate::valid::Context;

/// `after` must name another job, and not lead back to itself.
pub(super) fn check(context: &mut Context<'_>, network: &Network) {
    let jobs = &context.settings.job;
    let least = network.least_delay() * 2;
    for (index, job) in jobs.iter().enumerate() {
        let Some(after) = &job.after else { continue };
        let path = at!["job", index, "after"];
        if job.delay.0 < least {
            let (least, link) = (Quantity(least), Quantity(network.least_delay()));
            let message = format!("job.{}: delay = {} is too short", job.name, job.delay);
            let label = format!("allowed: {least} and more");
            let help =
                format!("a scheduler's two messages take at least as long as the shortest link, {link}");
            context.report(&at!["job", index, "delay"], message, label, help);
        }
        if job.start.0 > backwater_units::Span::ZERO {
            let message = format!("job.{}: both start and after are given", job.name);
            context.report(
                &at!["job", index, "start"],
                message,
                "one of the two",
                "remove one of them; delay adds time to after",
            );
        }
        if !jobs.iter().any(|other| other.name == *after) {
            let names = || jobs.iter().map(|other| other.name.as_str());
            let label = nearest(after, names()).map_or_else(
                || format!("there is {}", names().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            let message = format!("job.{}: there is no job {after:?}", job.name);
            context.report(&path, message, label, "after names another [[job]]");
        } else if let Some(circle) = circle(jobs, index)
            // Told once: at the first of its jobs.
            && circle.iter().all(|other| *other >= index)
        {
            let names: Vec<&str> = circle.iter().chain([&index]).map(|at| jobs[*at].name.as_str()).collect();
            let message =
                format!("job.{}: its after leads back to itself: {}", job.name, names.join(" after "));
            context.report(
                &path,
                message,
                "none of them can begin",
                "give one of them a start instead of after",
            );
        }
    }
}

/// The jobs from `index` on along their `after`, if these lead back to it.
fn circle(jobs: &[Job], index: usize) -> Option<Vec<usize>> {
    let next = |at: usize| {
        let after = jobs[at].after.as_ref()?;
        jobs.iter().position(|other| other.name == *after)
    };
    let mut way = vec![index];
    while let Some(at) = next(*way.last()?) {
        if at == index {
            return Some(way);
        }
        if way.contains(&at) {
            return None;
        }
        way.push(at);
    }
    None
}
