//! Congestion isolation: defaults that follow from the regions, and what it needs of the switch and the traffic.
mod thresholds;

use backwater_codes::Code;
use backwater_control::ConfigError;
use backwater_control::isolation::{Isolation, Slot, Surroundings};
use backwater_fabric::IsolationSpec;
use backwater_topology::{Network, Routes};
use backwater_units::{Bytes, Rate, Span};

use super::combined::{is_combined, part, size};
use super::flows::PRIORITY;
use super::lanes::Lanes;
use super::{Context, mtu, put};
use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{
    AutoOr, DetectorKind, FlowControl, IsolationKind, KeyKind, QueueClass, Ramp, Settings,
};

/// Whether switches isolate and have the queues for it.
pub(super) fn is_on(settings: &Settings) -> bool {
    settings.switch.isolation.kind.has_table() && is_combined(settings)
}

/// The priorities of the NFQ and of the CFQ.
pub(super) fn priorities(settings: &Settings) -> (u8, u8) {
    let isolation = &settings.switch.isolation;
    let monitored = isolation.priority.unwrap_or(PRIORITY);
    (monitored, isolation.cfq_priority.unwrap_or_else(|| below(monitored, settings.switch.control_priority)))
}

/// The next priority below, or above the lowest, that is not the control priority.
fn below(priority: u8, control: u8) -> u8 {
    let free = |other: &u8| *other != control;
    (0..priority).rev().find(free).or_else(|| (priority + 1..8).find(free)).unwrap_or(0)
}

/// What the NFQ and the CFQ may have of an egress region, in 64ths (the ICI paper's network).
const NFQ_CAP: u64 = 36;
const CFQ_CAP: u64 = 28;

/// What the smaller of the two queues may have of an egress region, whether isolation is on or not.
pub(super) fn least_cap(settings: &Settings) -> Bytes {
    let (isolation, egress) = (&settings.switch.isolation, settings.switch.combined.egress.0);
    let cap = |class: &QueueClass, share| class.cap.map_or_else(|| part(egress, share, 64), |cap| cap.0);
    cap(&isolation.nfq, NFQ_CAP).min(cap(&isolation.cfq, CFQ_CAP))
}

/// Writes out the defaults that depend on regions, packets and traffic.
pub(super) fn fill(settings: &mut Settings) {
    if !is_on(settings) {
        return;
    }
    let traffic = settings.traffic.first().and_then(|entry| entry.priority).unwrap_or(PRIORITY);
    settings.switch.isolation.priority.get_or_insert(traffic);
    let (_, congested) = priorities(settings);
    settings.switch.isolation.cfq_priority.get_or_insert(congested);
    let mtu = mtu(settings);
    let (combined, isolation) = (&settings.switch.combined, &mut settings.switch.isolation);
    let egress = combined.egress.0;
    let stop = combined.stop.map_or(Bytes::ZERO, |stop| stop.0);
    // The numbers of packets of the ICI paper's network: 50 of stop, 64 of an egress region.
    class(&mut isolation.nfq, (stop, 22, 20), (egress, NFQ_CAP), 22);
    class(&mut isolation.cfq, (stop, 17, 15), (egress, CFQ_CAP), 17);
    isolation.detect.get_or_insert(Quantity(part(egress, 12, 64)));
    isolation.cim.level.get_or_insert(Quantity(part(stop, 8, 50)));
    isolation.ici.quorum.get_or_insert(Quantity(mtu * 2));
    ramp(&mut isolation.ici_plus.congested, egress, 8, 24);
    ramp(&mut isolation.ici_plus.monitored, egress, 10, 40);
}

fn class(
    class: &mut QueueClass,
    (port, stop, go): (Bytes, u64, u64),
    (egress, cap): (Bytes, u64),
    weight: u16,
) {
    let go = class.stop.map_or_else(|| part(port, go, 50), |own| part(own.0, 9, 10));
    class.stop.get_or_insert(Quantity(part(port, stop, 50)));
    class.go.get_or_insert(Quantity(go));
    class.cap.get_or_insert(Quantity(part(egress, cap, 64)));
    class.weight.get_or_insert(weight);
}

fn ramp(ramp: &mut Ramp, egress: Bytes, kmin: u64, kmax: u64) {
    ramp.kmin.get_or_insert(Quantity(part(egress, kmin, 64)));
    ramp.kmax.get_or_insert(Quantity(part(egress, kmax, 64)));
}

/// The weights of an arbiter that goes by deficits.
pub(super) fn weights(settings: &Settings) -> [u16; 8] {
    let mut weights = [1; 8];
    if is_on(settings) {
        let isolation = &settings.switch.isolation;
        let (monitored, congested) = priorities(settings);
        weights[usize::from(monitored)] = isolation.nfq.weight.unwrap_or(1);
        weights[usize::from(congested)] = isolation.cfq.weight.unwrap_or(1);
    } else {
        for share in &settings.switch.shares {
            weights[usize::from(share.priority.min(7))] = share.weight;
        }
        for priority in &settings.switch.strict {
            weights[usize::from(*priority.min(&7))] = 0;
        }
    }
    weights
}

/// Isolation as the fabric needs it; `None` if it is off, or wrong, which is reported.
pub(super) fn isolation(
    context: &mut Context<'_>,
    (network, routes): (&Network, &Routes),
    lanes: &Lanes,
) -> Option<IsolationSpec> {
    let settings = context.settings;
    if !is_on(settings) {
        return None;
    }
    flow_control(context);
    classes(context, lanes);
    let fit = thresholds::check(context);
    company(context);
    hosts(context);
    one_root(context, network, routes);
    let spec = spec(context, guard(settings, network))?;
    if fit {
        fits(context, &spec.rules, network);
    }
    Some(spec)
}

/// The rules and the queues that they are for; wrong rules are reported.
fn spec(context: &mut Context<'_>, guard: Span) -> Option<IsolationSpec> {
    let isolation = &context.settings.switch.isolation;
    let rules = match isolation.resolve(guard) {
        Ok(rules) => rules?,
        Err((Some(key), error)) => {
            refuse(context, key, &error);
            return None;
        }
        Err((None, error)) => {
            context.refuse(&at!["switch", "isolation"], &error);
            return None;
        }
    };
    let (monitored, congested) = priorities(context.settings);
    Some(IsolationSpec {
        rules,
        slots: isolation.slots.limit(),
        monitored,
        congested,
        key: isolation.key,
        frame: isolation.cim.frame.0,
        host_hold: isolation.nic.then_some(isolation.nic_hold.0),
    })
}

/// A wrong ramp, at the key that the user wrote.
fn refuse(context: &mut Context<'_>, key: &'static str, error: &ConfigError) {
    let place = at!["switch", "isolation", "ici-plus", key];
    let wrote = context.wrote(&["switch", "isolation", "ici-plus", key]);
    if error.parameter == "kmin" && wrote.is_none_or(|table| table.get("kmin").is_none()) {
        // The default is in the way of a kmax.
        let plus = &context.settings.switch.isolation.ici_plus;
        let ramp = if key == "congested" { plus.congested } else { plus.monitored };
        let bytes = |given: Option<Quantity<Bytes>>| size(given.map_or(Bytes::ZERO, |given| given.0));
        let (kmin, kmax) = (bytes(ramp.kmin), bytes(ramp.kmax));
        let message = format!(
            "switch.isolation.ici-plus.{key}.kmax = {kmax} is below kmin, which is {kmin} by default"
        );
        let label = format!("allowed: at least kmin = {kmin}");
        return context.report(
            &super::cc::below(&place, "kmax"),
            message,
            label,
            "raise kmax, or write a lower kmin, too",
        );
    }
    context.refuse(&place, error);
}

/// What the rules themselves say about the switch they are for, beyond the checks of `thresholds`.
fn fits(context: &mut Context<'_>, rules: &Isolation, network: &Network) {
    let isolation = &context.settings.switch.isolation;
    let ports = switches(network).map(|node| network.ports(node).len() as u16).max().unwrap_or(0);
    if rules.mirrors() && ports > Slot::PORTS {
        let message = format!(
            "switch.isolation.kind = \"ci\" keeps a mirror for each ingress port, and a switch has {ports}"
        );
        let help =
            "write \"ici\" or \"ici-plus\", which need no mirrors, or take a topology with smaller switches";
        let label = format!("allowed: switches of up to {} ports", Slot::PORTS);
        return context.report(&at!["switch", "isolation", "kind"], message, label, help);
    }
    let bytes = |given: Option<Quantity<Bytes>>| given.map_or(Bytes::ZERO, |given| given.0);
    let switch = Surroundings {
        nfq_cap: bytes(isolation.nfq.cap),
        cfq_cap: bytes(isolation.cfq.cap),
        nfq_stop: bytes(isolation.nfq.stop),
        cfq_stop: bytes(isolation.cfq.stop),
        ports,
    };
    if let Err(error) = rules.fits(&switch) {
        context.refuse(&at!["switch", "isolation"], &error);
    }
}

/// All switches.
fn switches(network: &Network) -> impl Iterator<Item = u32> + '_ {
    (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node))
}

/// A root can only be told from its destinations if the way to each of them is known.
fn one_root(context: &mut Context<'_>, network: &Network, routes: &Routes) {
    if context.settings.switch.isolation.key != KeyKind::Root {
        return;
    }
    let Some(node) = switches(network).find(|node| routes.has_choice(*node)) else { return };
    let message = format!(
        "switch.isolation.key = \"root\" needs one way to each destination, and switch {} chooses among several",
        network.name(node)
    );
    let help = "write topology.routing = \"d-mod-k\", or another key: pair, flow or destination";
    context.report(&at!["switch", "isolation", "key"], message, "which root?", help);
}

/// The classes are held back apart, by PAUSE.
fn flow_control(context: &mut Context<'_>) {
    let switch = &context.settings.switch;
    if switch.flow_control != FlowControl::Pfc {
        return;
    }
    let (monitored, congested) = priorities(context.settings);
    for (class, priority) in [("NFQ", monitored), ("CFQ", congested)] {
        if priority != switch.control_priority && !switch.pfc.priorities.contains(&priority) {
            let message =
                format!("switch.pfc.priorities does not list {priority}, the priority of the {class}");
            let help = format!(
                "add {priority}: a queue that is not lossless overflows when the other one is held back"
            );
            context.report(
                &at!["switch", "pfc", "priorities"],
                message,
                format!("{priority} is missing"),
                help,
            );
        }
    }
}

/// Two classes share a port: that of all traffic, and one that the switches alone put packets into.
fn classes(context: &mut Context<'_>, lanes: &Lanes) {
    let settings = context.settings;
    let (monitored, congested) = priorities(settings);
    let control = settings.switch.control_priority;
    for (key, priority) in [("priority", monitored), ("cfq-priority", congested)] {
        if priority == control {
            let message = format!(
                "switch.isolation.{key} = {priority} is the control priority, whose packets pass by the queues"
            );
            let help = "choose another one, or another switch.control-priority";
            context.report(&at!["switch", "isolation", key], message, "never isolated", help);
        }
    }
    if monitored == congested {
        let message = format!("switch.isolation.cfq-priority = {congested} is the priority of the NFQ, too");
        let free = below(monitored, control);
        let help = format!("give the CFQ a priority of its own, such as {free}");
        context.report(
            &at!["switch", "isolation", "cfq-priority"],
            message,
            "must differ from priority",
            help,
        );
        return;
    }
    for priority in Lanes::of(lanes.used & !(1 << monitored)) {
        let user = lanes.user(settings, priority);
        let (message, label, help) = if priority == congested {
            (
                format!(
                    "{user} uses priority {priority}, which is that of the CFQ: switches alone put packets there"
                ),
                "taken by switch.isolation.cfq-priority",
                format!("move it to {monitored}, or choose another switch.isolation.cfq-priority"),
            )
        } else {
            (
                format!(
                    "{user} uses priority {priority}, but isolation divides the ports between {monitored} (NFQ) and {congested} (CFQ)"
                ),
                "no queue for it",
                format!(
                    "put all traffic and its ACKs on priority {monitored}, or set switch.isolation.priority = {priority}"
                ),
            )
        };
        let place = match lanes.entry(priority) {
            Some(entry) => at!["traffic", entry, "priority"].to_vec(),
            None => at!["ack", "priority"].to_vec(),
        };
        context.report(&place, message, label, help);
    }
}

/// ICI+ marks on its own; who marks beside it and who listens.
fn company(context: &mut Context<'_>) {
    let settings = context.settings;
    if settings.switch.isolation.kind != IsolationKind::IciPlus {
        return;
    }
    let detector = settings.switch.detector.kind;
    if detector != DetectorKind::None {
        let detector = serde_json::to_value(detector).unwrap_or_default();
        context.caveat(Code::TwoMarkers, "switch.detector.kind", format!(
            "switch.detector.kind = {detector} marks beside ICI+, which marks only what isolation cannot manage; ICI+ as the ICI \
             paper has it is with switch.detector.kind = \"none\""
        ));
    }
    let mut kinds = settings.traffic.iter().map(|entry| entry.cc.as_ref().unwrap_or(&settings.cc).kind);
    if kinds.all(|kind| !kind.listens_to_marks()) {
        let caveat = "ICI+ marks packets, but no reaction point listens to marks: with cc.kind = \"none\" or timely it is ICI";
        context.caveat(Code::NobodyListens, "cc.kind", caveat);
    }
}

/// NICs that take part move queue pairs.
fn hosts(context: &mut Context<'_>) {
    let settings = context.settings;
    if settings.switch.isolation.nic && put::any(settings) {
        let caveat = "switch.isolation.nic = true is for queue pairs: PUTs leave their hosts in the priority of their traffic, and are \
                      isolated from the first switch on";
        context.caveat(Code::PutsNotIsolated, "switch.isolation.nic", caveat);
    }
}

/// `guard`, and its default: what the slowest host link takes for twice the queue at which roots are looked for.
fn guard(settings: &Settings, network: &Network) -> Span {
    let isolation = &settings.switch.isolation;
    let links = network.hosts().iter().filter_map(|&host| network.ports(host).first());
    let slowest = links.map(|port| port.rate).filter(|&rate| rate > Rate::ZERO).min();
    match (isolation.ici.guard, slowest, isolation.detect) {
        (AutoOr::Given(given), ..) => given.0,
        (_, Some(rate), Some(detect)) => rate.serialize(detect.0 * 2),
        _ => Span::ZERO,
    }
}
