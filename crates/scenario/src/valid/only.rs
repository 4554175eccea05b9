//! `run.only`: traffic entries that send, of a scenario that is otherwise the same.
use std::sync::Arc;

use backwater_fabric::Spec;
use backwater_traffic::trace::Event;
use backwater_units::Time;

use super::Context;
use crate::document::{at, nearest};

/// Takes from a run what the other entries would send. Everything else has been settled with all of them (thresholds follow from the
/// priorities in use), and what is left keeps the numbers that its paths are drawn by.
pub(super) fn keep(context: &mut Context<'_>, spec: &mut Spec) {
    let settings = context.settings;
    let wanted = &settings.run.only;
    if wanted.is_empty() {
        return;
    }
    let names = || settings.traffic.iter().map(|entry| entry.name.as_str());
    for (index, name) in wanted.iter().enumerate() {
        if !names().any(|known| known == name) {
            let label = nearest(name, names()).map_or_else(
                || format!("there is {}", names().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            let message = format!("there is no traffic {name:?}");
            context.report(&at!["run", "only", index], message, label, "give names of [[traffic]] entries");
        }
    }
    let kept: Vec<bool> = names().map(|name| wanted.iter().any(|other| other == name)).collect();
    let keeps = |group: u16| kept[usize::from(group)];
    let mut place = vec![u32::MAX; spec.flows.len()];
    for (_, old) in spec.flows.iter().zip(0..).filter(|(flow, _)| keeps(flow.group)) {
        place[old as usize] = spec.numbers.len() as u32;
        spec.numbers.push(old);
    }
    spec.flows.retain(|flow| keeps(flow.group));
    // A job whose predecessor does not run waits for nothing.
    spec.jobs.retain(|job| keeps(job.group));
    for job in &mut spec.jobs {
        job.gate = job.gate.filter(|gate| keeps(gate.after));
    }
    for step in &mut spec.steps {
        if !keeps(step.group) {
            step.part = None;
        }
        // All events and flows of a step are of one entry. One of an entry that does not send is left with nothing to do.
        step.starts.retain_mut(|flow| moved(flow, &place));
        step.after.retain_mut(|event| match event {
            Event::Sent(flow) | Event::Acked(flow) | Event::Received(flow) => moved(flow, &place),
            Event::Done(_) => true,
        });
    }
    for rank in spec.programs.ranks.iter_mut().filter(|rank| !keeps(rank.group)) {
        (rank.ops, rank.lines, rank.start) = (Arc::from([]), None, Time::ZERO);
    }
    spec.programs.channels.retain_mut(|channel| moved(&mut channel.flow, &place));
}

/// Gives a flow its new number; false: it is none any more.
fn moved(flow: &mut u32, place: &[u32]) -> bool {
    *flow = place[*flow as usize];
    *flow != u32::MAX
}
