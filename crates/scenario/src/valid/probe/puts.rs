//! What is recorded of PUT streams, of the receive queues of hosts and of their throttles.
use super::entry;
use crate::document::at;
use crate::settings::{Settings, ThrottleKind};
use crate::valid::{Context, host, is_put, put};

/// Writes out the defaults that depend on the traffic, the hosts and on whether iterations are counted.
pub(in crate::valid) fn fill(settings: &mut Settings) {
    let (puts, slow) = (put::any(settings), host::is_slow(settings));
    let throttled = settings.host.throttle.kind == ThrottleKind::Pft;
    let (reuses, probe) = (settings.run.reuse, &mut settings.probe);
    if reuses {
        // Of iterations that are counted there are no events to record.
        for table in [&mut probe.marks, &mut probe.pauses, &mut probe.states, &mut probe.drops] {
            *table = false;
        }
        (probe.blame, probe.dependencies) = (false, false);
    }
    let sampled = probe.sample.is_some();
    probe.streams.get_or_insert(sampled && puts);
    probe.endpoints.get_or_insert(sampled && slow);
    probe.throttle.get_or_insert(sampled && throttled);
}

/// Whether PUTs are followed, by traffic entry.
pub(super) fn followed(context: &mut Context<'_>) -> Vec<bool> {
    let settings = context.settings;
    let mut followed = vec![false; settings.traffic.len()];
    for (index, name) in settings.probe.puts.iter().enumerate() {
        let Some(group) = entry(context, "puts", index, name) else { continue };
        followed[group] = true;
        if !is_put(settings, group) {
            let message = format!("{name:?} has queue pairs, no PUTs");
            let help = "take it out of probe.puts; probe.packets follows packets of any kind";
            context.report(&at!["probe", "puts", index], message, "no PUTs", help);
        }
    }
    if settings.probe.puts.is_empty() { Vec::new() } else { followed }
}

/// Sums need a period.
pub(super) fn sums(context: &mut Context<'_>, key: &'static str, wanted: Option<bool>) -> bool {
    let wanted = wanted.unwrap_or_default();
    if wanted && context.settings.probe.sample.is_none() {
        let message = format!("probe.{key} = true needs a period: what happens is summed up for each");
        let help = format!("add probe.sample = \"10us\", or set probe.{key} = false");
        context.report(&at!["probe", key], message, "probe.sample is missing", help);
    }
    wanted
}
