//! Reaction points that limit what is under way: their values that follow from the network, and what they cannot work with.
use std::collections::BTreeSet;

use backwater_control::reaction::{MAX_HOPS, ReactionConfig};
use backwater_traffic::{OWN_CONNECTION, Pacing};

use super::Context;
use super::cc::{Fabric, below, name};
use crate::document::{Step, at};
use crate::settings::{CcSettings, Kinds};

mod caveats;

/// Reports what a `[cc]` with a window at `place` cannot work with.
pub(super) fn check(
    context: &mut Context<'_>,
    cc: &CcSettings,
    reaction: &ReactionConfig,
    place: &[Step],
    fabric: &Fabric<'_>,
) {
    let (settings, kind) = (context.settings, format!("{}.kind", name(place)));
    let every = settings.ack.every;
    if every > 1 {
        let message = format!(
            "{kind} has a window and wants an ACK for each packet, but ack.every = {every}: a window of fewer packets would wait for \
             ever"
        );
        let help = "set ack.every = 1 (or 0: then only those who need ACKs have them)";
        context.report(&at!["ack", "every"], message, "allowed: 0 or 1", help);
    }
    let reacts = |flow: &&backwater_traffic::Flow| flow.pacing != Pacing::LineRate;
    let shared = fabric.flows.iter().filter(reacts);
    if let Some(flow) = shared.clone().find(|flow| flow.connection != OWN_CONNECTION) {
        refuse_entry(context, flow.group, &kind, "whose messages share a queue pair (connection)");
    }
    if let Some(flow) = shared.clone().find(|flow| flow.pacing == Pacing::Messages) {
        refuse_entry(context, flow.group, &kind, "whose queue pairs carry messages of ranks");
    }
    caveats::note(context, cc, reaction, place, fabric);
    if reaction.wants_telemetry() {
        telemetry(context, cc, place, fabric);
    }
}

/// What telemetry needs.
fn telemetry(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], fabric: &Fabric<'_>) {
    let kind = format!("{}.kind = {:?}", name(place), cc.kind.word());
    let at = below(place, "kind");
    let ends: BTreeSet<(u32, u32)> = fabric.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    let hops = |(src, dst)| fabric.routes.path(fabric.network, src, dst, |_| 0).len().saturating_sub(1);
    let longest = ends.into_iter().map(hops).max().unwrap_or_default();
    if longest > MAX_HOPS {
        let message =
            format!("{kind}: a path has {longest} switches, and a packet's telemetry room for {MAX_HOPS}");
        context.report(&at, message, format!("allowed: at most {MAX_HOPS} switches"), "use another kind");
    }
}

fn refuse_entry(context: &mut Context<'_>, group: u16, kind: &str, why: &str) {
    let index = usize::from(group);
    let entry = &context.settings.traffic[index].name;
    let message = format!("{kind} has a window per flow, which does not fit traffic.{entry}, {why}");
    // An entry with a cc of its own does not help where no other one has that of [cc], which is checked all the same.
    let help = format!("set {kind} = \"none\", or dcqcn, timely or ib-cc, which have no windows");
    context.report(&at!["traffic", index], message, "no windows here", help);
}
