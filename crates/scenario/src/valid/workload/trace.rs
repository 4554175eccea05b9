//! `kind = "trace"`: ranks at hosts.
use backwater_traffic::{Flow, Group, read};

use super::Entry;
use crate::settings::Names;

/// The flows of the trace in `file`; its steps go to the context.
pub(super) fn flows(
    entry: &mut Entry<'_, '_>,
    file: &str,
    hosts: Option<&Names>,
    group: &Group,
) -> Option<Vec<Flow>> {
    let path = entry.path("file");
    let text = entry.context.read_text(&path, file)?;
    let program = match read::trace(&text).and_then(|trace| Ok((trace.ranks, trace.expand()?))) {
        Ok(program) => program,
        Err(error) => {
            let help =
                "docs/trace-format.md describes the format; backwater import vef makes it of a VEF trace";
            entry.report("file", format!("{file:?} {error}"), "this file", help);
            return None;
        }
    };
    let (ranks, program) = program;
    let (key, hosts) = match hosts {
        Some(names) => ("hosts", entry.hosts("hosts", names)?),
        None => ("file", (0..entry.network.hosts().len() as u32).collect()),
    };
    if hosts.len() < ranks as usize {
        let message = format!("{file:?} has {ranks} ranks, but there are {} hosts for them", hosts.len());
        entry.report(
            key,
            message,
            "too few",
            "a host for each rank: name more hosts, or take a larger topology",
        );
        return None;
    }
    let program = match entry.context.skew_of(entry.index, ranks) {
        Some(skew) => program.of_job(ranks, &skew, group.id, entry.context.settings.run.seed),
        None => program,
    };
    let (flows, steps) = program.on(&hosts, group);
    entry.context.steps = steps;
    Some(flows)
}
