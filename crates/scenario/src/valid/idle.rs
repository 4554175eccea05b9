//! Keys that the user wrote but that have no effect next to what else was chosen. They are no mistakes (a file is
//! often run with several detectors), but the results say so.
mod hosts;
mod puts;
mod ranks;
mod reactions;
mod switch;
mod throttle;

use backwater_codes::{Code, Remark};

use super::{Context, is_put, put};
use crate::document::{Node, Value};
use crate::settings::CcKind;
use backwater_control::detector::RAMP;

/// Keys of one table that are idle under a condition, with the reason.
type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], String);

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let entries = || settings.traffic.iter().enumerate().filter(|(index, _)| !is_put(settings, *index));
    let used = || entries().map(|(_, entry)| entry.cc.as_ref().unwrap_or(&settings.cc));
    let timely = used().any(|cc| cc.kind == CcKind::Timely || cc.kind.has_window());
    let puts = put::all(settings);
    let all_timely = !puts && used().all(|cc| cc.kind == CcKind::Timely);
    let others: [Case<'_>; 4] = [
        (
            puts,
            &["ack"],
            &["every", "size", "priority"],
            "traffic of PUTs alone, which have [put.ack]".to_owned(),
        ),
        (
            !puts && settings.ack.every == 0 && !timely,
            &["ack"],
            &["size", "priority"],
            "ack.every = 0".to_owned(),
        ),
        (all_timely, &["ack"], &["every"], "TIMELY, which has one ACK for each segment".to_owned()),
        (settings.probe.sample.is_none(), &["probe"], &["ports", "rates"], "no probe.sample".to_owned()),
    ];
    let mut caveats = Vec::new();
    let cases = switch::cases(settings)
        .into_iter()
        .chain(hosts::cases(settings))
        .chain(throttle::cases(settings))
        .chain(others);
    for (idle, table, keys, why) in cases {
        let table = Written { name: table.join("."), node: context.wrote(table) };
        caveat(&mut caveats, &table, keys, idle, &why);
    }
    let detector = settings.switch.detector.kind;
    let ramp: &[&str] = if detector.has_ramp() { &RAMP } else { &[] };
    unchosen(&mut caveats, context.wrote(&["switch", "detector"]), "switch.detector", detector.word(), ramp);
    context.caveats.extend(caveats);
    let own = [reactions::report(context), puts::report(context), ranks::report(context)].concat();
    context.caveats.extend(own);
}

/// `key = "word"`, as the user would write it.
pub(super) fn is(key: &str, word: impl serde::Serialize) -> String {
    let word = serde_json::to_value(word).expect("a kind is a word");
    format!("{key} = {word}")
}

/// Of a table whose `kind` chooses: what was written beside that for other kinds, whose tables have their names, and what the chosen
/// one does not read (`reads`) of what several share.
fn unchosen(caveats: &mut Vec<Remark>, node: Option<&Node>, name: &str, kind: &str, reads: &[&str]) {
    let Some(Value::Table(entries)) = node.map(|node| &node.value) else { return };
    let idle = |key: &&str| *key != "kind" && *key != kind && !reads.contains(key);
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).filter(idle).collect();
    caveat(
        caveats,
        &Written { name: name.to_owned(), node },
        &keys,
        true,
        &format!("{name}.kind = {kind:?}"),
    );
}

/// A table as the user wrote it, if at all.
struct Written<'a> {
    name: String,
    node: Option<&'a Node>,
}

/// Notes those of `keys` that the user wrote, if they are idle.
fn caveat(caveats: &mut Vec<Remark>, table: &Written<'_>, keys: &[&str], idle: bool, why: &str) {
    let said = |key: &&str| table.node.is_some_and(|node| node.get(key).is_some());
    let written: Vec<&str> = keys.iter().copied().filter(|key| idle && said(key)).collect();
    if !written.is_empty() {
        let message = format!("without effect with {why}: {}.{{{}}}", table.name, written.join(", "));
        caveats.push(Remark::new(Code::NoEffect, table.name.as_str(), message));
    }
}
