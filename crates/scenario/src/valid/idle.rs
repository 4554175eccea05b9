//! Keys that the user wrote but that have no effect next to what else was chosen. They are no mistakes (a file is
//! often run with several detectors), but the results say so.
mod hosts;
mod puts;
mod ranks;
mod reactions;
mod readers;
mod switch;
mod transport;

use backwater_codes::{Code, Remark};
use backwater_control::uec::Delivery;

use self::readers::{Reader, unread};
use super::uec::is_uec;
use super::{Context, has_pairs, is_put, put};
use crate::document::{Node, Value};
use crate::settings::{CcKind, CcSettings, FlowControl, Kinds, LoadBalancing, PfcWatchdog, Settings};

/// Keys of one table, or all of them if none is listed, that are idle under a condition, with the reason.
type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], String);

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let entries = || settings.traffic.iter().enumerate().filter(|(index, _)| has_pairs(settings, *index));
    let used = || entries().map(|(_, entry)| entry.cc.as_ref().unwrap_or(&settings.cc));
    let segments = |cc: &CcSettings| cc.wants().segments.is_some();
    let acknowledged = used().any(|cc| segments(cc) || cc.kind.has_window());
    let none = !(0..settings.traffic.len()).any(|entry| has_pairs(settings, entry));
    let all_segments = !none && used().all(segments);
    let others: [Case<'_>; 4] = [
        (
            none,
            &["ack"],
            &["every", "size", "priority"],
            if put::all(settings) {
                "traffic of PUTs alone, which have [put.ack]".to_owned()
            } else {
                "traffic without queue pairs".to_owned()
            },
        ),
        (
            !none && settings.ack.every == 0 && !acknowledged,
            &["ack"],
            &["size", "priority"],
            "ack.every = 0".to_owned(),
        ),
        (all_segments, &["ack"], &["every"], "reaction points that have one ACK for each segment".to_owned()),
        (settings.probe.sample.is_none(), &["probe"], &["ports", "rates"], "no probe.sample".to_owned()),
    ];
    let mut caveats = Vec::new();
    let cases =
        switch::cases(settings).into_iter().chain(hosts::cases(settings)).chain(others).chain(uec(settings));
    for (idle, table, keys, why) in cases {
        let table = Written { name: table.join("."), node: context.wrote(table) };
        caveat(&mut caveats, &table, keys, idle, &why);
    }
    let readers = [
        (&["switch", "isolation"][..], Reader::new(|path| switch::isolation(settings, path))),
        (&["switch", "detector"], Reader::new(|path| switch::detector(settings, path))),
        (&["switch", "pfc", "watchdog"], Reader::new(|path| switch::watchdog(settings, path))),
        (&["host", "nic", "watchdog"], Reader::new(|path| hosts::watchdog(settings, path))),
        (&["host", "throttle"], Reader::new(|path| hosts::throttle(settings, path))),
    ];
    for (table, reader) in readers {
        let written = Written { name: table.join("."), node: context.wrote(table) };
        unread(&mut caveats, &written, &[reader], None);
    }
    context.caveats.extend(caveats);
    let own = [
        reactions::report(context),
        puts::report(context),
        ranks::report(context),
        transport::report(context),
    ]
    .concat();
    context.caveats.extend(own);
}

/// Keys of `[uec]` that nothing reads.
fn uec(settings: &Settings) -> Vec<Case<'static>> {
    const UEC: &[&str] = &["uec"];
    let entries = || settings.traffic.iter().enumerate().filter(|(index, _)| is_uec(settings, *index));
    let all = |is: fn(CcKind) -> bool| {
        entries().all(|(_, entry)| is(entry.cc.as_ref().unwrap_or(&settings.cc).kind))
    };
    let any = entries().next().is_some();
    let (balancing, credits) = (settings.switch.load_balancing, any && all(|kind| kind == CcKind::Rccc));
    let measures = |kind| !matches!(kind, CcKind::Nscc | CcKind::NsccRccc);
    vec![
        (!any, UEC, &[], "traffic without flows of UEC".to_owned()),
        (
            any && balancing != LoadBalancing::Entropy,
            UEC,
            &["entropies", "spread"],
            is("switch.load-balancing", balancing),
        ),
        (
            any && balancing == LoadBalancing::Entropy && settings.uec.delivery == Delivery::Rod,
            UEC,
            &["spread"],
            is("uec.delivery", Delivery::Rod),
        ),
        (credits, UEC, &["window"], is("cc.kind", CcKind::Rccc)),
        (any && all(measures), UEC, &["base-rtt"], "reaction points without NSCC".to_owned()),
    ]
}

/// Why no watchdog called `name` reads what stands at a path in its table, if none does. Without PFC there is none, which is said of
/// the whole table.
fn watchdog(settings: &Settings, name: &str, watchdog: &PfcWatchdog, path: &[&str]) -> Option<String> {
    let [key] = path else { return None };
    let idle = *key != "action" && !watchdog.action.reads(key);
    (idle && settings.switch.flow_control == FlowControl::Pfc)
        .then(|| is(&format!("{name}.action"), watchdog.action))
}

/// `key = "word"`, as the user would write it.
pub(super) fn is(key: &str, word: impl serde::Serialize) -> String {
    let word = serde_json::to_value(word).expect("a kind is a word");
    format!("{key} = {word}")
}

/// A table as the user wrote it, if at all.
struct Written<'a> {
    name: String,
    node: Option<&'a Node>,
}

/// Notes those of `keys`, or of all if there are none, that the user wrote, if they are idle.
fn caveat(caveats: &mut Vec<Remark>, table: &Written<'_>, keys: &[&str], idle: bool, why: &str) {
    let Some(Value::Table(entries)) = table.node.map(|node| &node.value).filter(|_| idle) else { return };
    let said = entries.iter().map(|entry| entry.key.as_str());
    let written: Vec<&str> = said.filter(|key| keys.is_empty() || keys.contains(key)).collect();
    if !written.is_empty() {
        let message = format!("without effect with {why}: {}.{{{}}}", table.name, written.join(", "));
        caveats.push(Remark::new(Code::NoEffect, table.name.as_str(), message));
    }
}
