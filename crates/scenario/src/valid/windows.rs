//! Reaction points that limit what is under way: their values that follow from the network, and what they cannot work with.
use backwater_codes::Code;
use std::collections::BTreeSet;

use backwater_control::reaction::{DctcpConfig, HpccConfig, MAX_HOPS, ReactionConfig, SwiftConfig};
use backwater_traffic::{OWN_CONNECTION, Pacing};
use backwater_units::{Bytes, Rate, Span};

use super::Context;
use super::cc::{Fabric, below, name};
use crate::document::{Step, at};
use crate::quantity::{Quantity, Unit};
use crate::settings::{
    AutoOr, Cc, CcKind, DetectorKind, IsolationKind, Queueing, Settings, Traffic, WindowCounts,
};

mod caveats;

/// The network as a flow has it for itself.
struct Unloaded {
    /// The longest round trip of a packet and its ACK, with their times on each wire.
    rtt: Span,
    /// The shortest.
    shortest: Span,
    /// Links of the longest path, one way.
    links: u64,
    /// The rate of the fastest sender, and of the slowest.
    line: Rate,
    slowest: Rate,
}

impl Unloaded {
    fn new(fabric: &Fabric<'_>, settings: &Settings) -> Self {
        let ends: BTreeSet<(u32, u32)> = fabric.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        let trip = |(src, dst)| {
            let path = fabric.routes.path(fabric.network, src, dst, |_| 0);
            let ports = path.iter().map(|&(node, port)| &fabric.network.ports(node)[usize::from(port)]);
            (ports.map(|port| super::round_trip(settings, port)).sum::<u64>(), path.len() as u64)
        };
        let trips: Vec<(u64, u64)> = ends.iter().copied().map(trip).collect();
        let (rtt, links) = trips.iter().copied().max().unwrap_or((1, 1));
        let shortest = trips.iter().copied().min().map_or(rtt, |(rtt, _)| rtt);
        // A host that only receives, or nothing, sets no pace.
        let nics =
            ends.iter().filter_map(|&(src, _)| fabric.network.ports(src).first()).map(|port| port.rate);
        let line = nics.clone().max().unwrap_or(Rate::from_gbps(1));
        let slowest = nics.min().unwrap_or(line);
        let (rtt, shortest) = (Span::from_ps(rtt), Span::from_ps(shortest));
        Self { rtt, shortest, links: links.max(1), line, slowest }
    }

    /// Bandwidth-delay product, a packet at least.
    fn bdp(&self, packet: u32) -> u64 {
        self.line.bytes_in(self.rtt).get().max(u64::from(packet))
    }
}

fn or_auto<T: Unit + Copy>(value: AutoOr<T>, auto: T) -> T {
    match value {
        AutoOr::Auto => auto,
        AutoOr::Given(Quantity(given)) => given,
    }
}

/// The parameters of a kind with a window.
pub(super) fn config(cc: &Cc, fabric: &Fabric<'_>, settings: &Settings) -> ReactionConfig {
    let unloaded = Unloaded::new(fabric, settings);
    let mss = match cc.window_counts {
        WindowCounts::Wire => super::mtu(settings).get() as u32,
        WindowCounts::Payload => settings.packet.payload.0.get() as u32,
    };
    let bdp = unloaded.bdp(mss);
    let limits = |window, max| {
        let max = or_auto(max, Bytes::new(4 * bdp)).get();
        // What is left to follow from the network follows from a largest window that is smaller, too.
        (or_auto(window, Bytes::new(bdp.min(max))).get(), max)
    };
    match cc.kind {
        CcKind::Swift => {
            let swift = &cc.swift;
            let hop = or_auto(swift.hop, Span::from_ps(unloaded.rtt.as_ps() / unloaded.links));
            let base_target = or_auto(swift.base_target, Span::from_ps(2 * hop.as_ps()));
            let (initial, max) = limits(swift.window, swift.max_window);
            ReactionConfig::Swift(SwiftConfig {
                add: swift.add,
                beta: swift.beta,
                max_mdf: swift.max_mdf,
                base_target,
                hop,
                range: or_auto(swift.fs_range, Span::from_ps(5 * base_target.as_ps())),
                low: swift.fs_min_window,
                high: swift.fs_max_window,
                mss,
                min: swift.min_window,
                initial,
                max,
            })
        }
        CcKind::Hpcc => {
            let hpcc = &cc.hpcc;
            let base_rtt = or_auto(hpcc.base_rtt, unloaded.rtt);
            ReactionConfig::Hpcc(HpccConfig {
                eta: hpcc.eta,
                max_stage: hpcc.max_stage,
                add: hpcc.wai.0.get() as f64,
                min: hpcc.min_window.0.get() as f64,
                base_rtt,
                mss,
                initial: unloaded.line.bytes_in(base_rtt).get(),
            })
        }
        _ => {
            let dctcp = &cc.dctcp;
            let (initial, max) = limits(dctcp.window, dctcp.max_window);
            ReactionConfig::Dctcp(DctcpConfig {
                g: dctcp.g,
                alpha_initial: dctcp.alpha_initial,
                mss,
                add: or_auto(dctcp.add, Bytes::new(u64::from(mss))).get(),
                min: or_auto(dctcp.min_window, Bytes::new(u64::from(mss))).get(),
                initial,
                max,
            })
        }
    }
}

/// Reports what a `[cc]` with a window at `place` cannot work with.
pub(super) fn check(
    context: &mut Context<'_>,
    cc: &Cc,
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
    if settings.switch.isolation.kind != IsolationKind::None {
        let message =
            format!("{kind} has a window, and switch.isolation moves flows between classes under way");
        let help = "set switch.isolation.kind = \"none\", or cc.kind = \"dcqcn\"";
        context.report(&below(place, "kind"), message, "not with isolation", help);
    }
    if matches!(reaction, ReactionConfig::Dctcp(_)) && settings.switch.detector.kind == DetectorKind::None {
        let caveat = format!(
            "{kind} = \"dctcp\" gets no marks with switch.detector.kind = \"none\": its windows only grow"
        );
        context.caveat(Code::NoMarks, "switch.detector.kind", caveat);
    }
    caveats::note(context, cc, reaction, place, fabric);
    if matches!(reaction, ReactionConfig::Hpcc(_)) {
        telemetry(context, place, fabric);
    }
}

/// What telemetry needs.
fn telemetry(context: &mut Context<'_>, place: &[Step], fabric: &Fabric<'_>) {
    let kind = format!("{}.kind = \"hpcc\"", name(place));
    let at = below(place, "kind");
    if context.settings.switch.queueing == Queueing::Combined {
        let message =
            format!("{kind} needs telemetry, which switches with queueing = \"combined\" do not write");
        context.report(&at, message, "needs telemetry", "set switch.queueing = \"output\" or \"voq\"");
    }
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
    let help = "give the entry cc = { kind = \"dcqcn\" } (or timely, none), or flows without a connection";
    context.report(&at!["traffic", index], message, "no windows here", help);
}

/// PUTs are paced by their policy: a window of their own would be accepted and ignored.
pub(super) fn no_puts(context: &mut Context<'_>, index: usize, entry: &Traffic) {
    let Some(cc) = &entry.cc else { return };
    let has_window = matches!(cc.kind, CcKind::Dctcp | CcKind::Swift | CcKind::Hpcc);
    if has_window && super::is_put(context.settings, index) {
        let message = format!(
            "traffic.{} is of PUTs, whose window is put.packets: its cc has no part in it",
            entry.name
        );
        let help = "drop its cc, or set transport = \"roce\" for the entry";
        context.report(&at!["traffic", index, "cc", "kind"], message, "not with PUTs", help);
    }
}
