//! Programs that wait for acknowledgements need a transport that has them.
use backwater_fabric::Spec;
use backwater_traffic::trace::Event;

use super::Context;
use crate::document::at;

/// Reports entries whose steps wait for acknowledgements that nobody sends.
pub(super) fn check(context: &mut Context<'_>, spec: &Spec) {
    let has_acks = |group: u16| {
        let is_put = spec.put_of.get(usize::from(group)).is_some_and(Option::is_some);
        let pair = spec.pair_of.get(usize::from(group)).copied().unwrap_or(0);
        let is_uec = spec.uec_of.get(usize::from(group)).is_some_and(Option::is_some);
        is_put || is_uec || spec.pairs.get(usize::from(pair)).is_some_and(|pair| pair.ack.is_some())
    };
    let mut without = std::collections::BTreeSet::new();
    for event in spec.steps.iter().flat_map(|step| &step.after) {
        if let Event::Acked(flow) = event {
            let group = spec.flows[*flow as usize].group;
            if !has_acks(group) {
                without.insert(group);
            }
        }
    }
    for group in without {
        let name = &context.settings.traffic[usize::from(group)].name;
        let message =
            format!("traffic.{name} waits for acknowledgements (quiet, barrier, acked), but none are sent");
        let help = "set ack.every = 1, or transport = \"put\" for this entry";
        context.report(&at!["traffic", usize::from(group)], message, "waits for ever", help);
    }
}
