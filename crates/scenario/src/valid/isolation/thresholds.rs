//! Thresholds that work together: of each queue class, of both in their regions, of notifications upstream.
use backwater_codes::Code;
use backwater_units::Bytes;

use super::{mtu, size};
use crate::document::{Step, at};
use crate::quantity::Quantity;
use crate::settings::{IsolationKind, IsolationSettings, Kinds, NotifyOn, QueueClass, Slots};
use crate::valid::Context;

fn bytes(given: Option<Quantity<Bytes>>) -> Bytes {
    given.map_or(Bytes::ZERO, |given| given.0)
}

/// A key of `[switch.isolation]` as a place.
fn key(path: &[&'static str]) -> Vec<Step> {
    at!["switch", "isolation"].into_iter().chain(path.iter().map(|key| Step::from(*key))).collect()
}

/// The first of the keys that the user wrote, as a place to show; the last one if none.
fn written(context: &Context<'_>, keys: &[&[&'static str]]) -> Vec<Step> {
    let table = context.wrote(&["switch", "isolation"]);
    let wrote = |path: &&&[&'static str]| path.iter().try_fold(table?, |node, key| node.get(key)).map(drop);
    let found = keys.iter().find(|path| wrote(path).is_some()).or(keys.last());
    found.map_or_else(Vec::new, |path| key(path))
}

/// Reports all that does not fit; whether it does.
pub(super) fn check(context: &mut Context<'_>) -> bool {
    let before = context.problems.len();
    let isolation = &context.settings.switch.isolation;
    for (name, class) in [("nfq", &isolation.nfq), ("cfq", &isolation.cfq)] {
        one(context, name, class);
    }
    let combined = &context.settings.switch.combined;
    let ingress = Whole {
        key: "stop",
        of: [bytes(isolation.nfq.stop), bytes(isolation.cfq.stop)],
        name: "switch.combined.stop",
        has: bytes(combined.stop),
        why: "at which the whole port is paused: one full class would pause the other",
        raise: "raise switch.combined.stop, and ingress with it; the ICI paper has 22 and 17 of 50 packets",
    };
    let egress = Whole {
        key: "cap",
        of: [bytes(isolation.nfq.cap), bytes(isolation.cfq.cap)],
        name: "switch.combined.egress",
        has: combined.egress.0,
        why: "the region of a port: a full CFQ would take the room of the NFQ",
        raise: "raise switch.combined.egress",
    };
    for whole in [ingress, egress] {
        both(context, &whole);
    }
    notifications(context, isolation);
    found(context, isolation);
    slots(context, isolation);
    context.problems.len() == before
}

/// One class alone.
fn one(context: &mut Context<'_>, name: &'static str, class: &QueueClass) {
    let packet = mtu(context.settings);
    let (stop, go, cap) = (bytes(class.stop), bytes(class.go), bytes(class.cap));
    if go >= stop {
        let (stop, go) = (size(stop), size(go));
        let message =
            format!("switch.isolation.{name}.go = {go} is not below switch.isolation.{name}.stop = {stop}");
        let help = "lower go, or raise stop: a class would have to stop and go at once";
        let place = written(context, &[&[name, "go"], &[name, "stop"]]);
        context.report(&place, message, format!("allowed: go below {stop}"), help);
    }
    if cap < packet {
        let (cap, packet) = (size(cap), size(packet));
        let message = format!(
            "switch.isolation.{name}.cap = {cap} holds no packet: one has {packet} on the wire, and none would ever leave"
        );
        let help = format!("raise switch.isolation.{name}.cap, or lower packet.payload");
        context.report(&key(&[name, "cap"]), message, format!("at least {packet}"), help);
    }
}

/// What both classes must share.
struct Whole {
    /// The key of a class, and what the NFQ and the CFQ have there.
    key: &'static str,
    of: [Bytes; 2],
    /// What is shared, how large it is, and what it is for.
    name: &'static str,
    has: Bytes,
    why: &'static str,
    raise: &'static str,
}

/// Both classes in a region.
fn both(context: &mut Context<'_>, whole: &Whole) {
    let Whole { key, of: [nfq, cfq], name, has, why, raise } = whole;
    if *nfq + *cfq <= *has {
        return;
    }
    let sum = format!("{} + {} = {}", size(*nfq), size(*cfq), size(*nfq + *cfq));
    let has = size(*has);
    let message =
        format!("switch.isolation.nfq.{key} + cfq.{key} = {sum} is more than {name} = {has}, {why}");
    let place = written(context, &[&["nfq", key], &["cfq", key]]);
    let help = format!("lower nfq.{key} or cfq.{key}, or {raise}");
    context.report(&place, message, format!("allowed: a sum of at most {has}"), help);
}

/// The upstream neighbour hears of a flow before it is paused because of it.
fn notifications(context: &mut Context<'_>, isolation: &IsolationSettings) {
    let (level, stop) = (bytes(isolation.cim.level), bytes(isolation.cfq.stop));
    if isolation.cim.on != NotifyOn::Level || level < stop {
        return;
    }
    let (level, stop) = (size(level), size(stop));
    let message = format!(
        "switch.isolation.cim.level = {level} is not below switch.isolation.cfq.stop = {stop}: the CFQ would pause its upstream before \
         anybody is notified which flow to isolate"
    );
    let help = "lower cim.level, raise cfq.stop, or set switch.isolation.cim.on = \"allocation\"";
    let place = written(context, &[&["cim", "level"], &["cfq", "stop"]]);
    context.report(&place, message, format!("allowed: cim.level below {stop}"), help);
}

/// Queues can become as long as what is looked for.
fn found(context: &mut Context<'_>, isolation: &IsolationSettings) {
    let cap = (bytes(isolation.nfq.cap), "cap", "an NFQ can have at an egress port", true);
    let stop = (bytes(isolation.nfq.stop), "stop", "an NFQ has at an ingress port that is not paused", false);
    let ici = isolation.kind != IsolationKind::Ci;
    let levels: [(bool, &[&'static str], Bytes, _, &str, &str); 3] = [
        (true, &["detect"], bytes(isolation.detect), cap, "no flow would ever be isolated", "lower it"),
        (
            ici,
            &["ici", "quorum"],
            bytes(isolation.ici.quorum),
            cap,
            "no port would ever be a root",
            "lower it",
        ),
        (
            true,
            &["early"],
            isolation.early.0,
            stop,
            "the link would be held back before the hint",
            "write \"0B\" for no early hint, lower it",
        ),
    ];
    for (applies, path, level, (most, class, what, reached), effect, fix) in levels {
        if !applies || level < most || (reached && level == most) {
            continue;
        }
        let (name, level, most) = (path.join("."), size(level), size(most));
        let message = format!(
            "switch.isolation.{name} = {level} is more than {what}, switch.isolation.nfq.{class} = {most}: {effect}"
        );
        let label = format!("allowed: {} {most}", if reached { "at most" } else { "below" });
        let place = written(context, &[path, &["nfq", class], path]);
        context.report(&place, message, label, format!("{fix}, or raise switch.isolation.nfq.{class}"));
    }
}

/// Tables that hold nothing are allowed, and said.
fn slots(context: &mut Context<'_>, isolation: &IsolationSettings) {
    let Slots::Limit(slots) = isolation.slots else { return };
    let (least, takes) = match isolation.kind {
        IsolationKind::Ci => (2, "takes two slots, one for its egress and one for its ingress port"),
        _ => (1, "takes a slot"),
    };
    if slots < least {
        context.caveat(Code::NoSlots, "switch.isolation.slots", format!(
            "switch.isolation.slots = {slots} holds no flow: with kind = {:?} an entry {takes}; none is isolated, every attempt is \
             refused",
            isolation.kind.word()
        ));
    }
}
