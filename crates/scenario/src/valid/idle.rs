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
use crate::document::Node;
use crate::settings::CcKind;

/// Keys of one table that are idle under a condition, with the reason.
type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], String);

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let entries = || settings.traffic.iter().enumerate().filter(|(index, _)| !is_put(settings, *index));
    let kinds = || entries().map(|(_, entry)| entry.cc.as_ref().unwrap_or(&settings.cc).kind);
    let acked = |kind| matches!(kind, CcKind::Timely | CcKind::Dctcp | CcKind::Swift | CcKind::Hpcc);
    let timely = kinds().any(acked);
    let puts = put::all(settings);
    let all_timely = !puts && kinds().all(|kind| kind == CcKind::Timely);
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
    context.caveats.extend(caveats);
    let own = [reactions::report(context), puts::report(context), ranks::report(context)].concat();
    context.caveats.extend(own);
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

/// Notes those of `keys` that the user wrote, if they are idle.
fn caveat(caveats: &mut Vec<Remark>, table: &Written<'_>, keys: &[&str], idle: bool, why: &str) {
    let said = |key: &&str| table.node.is_some_and(|node| node.get(key).is_some());
    let written: Vec<&str> = keys.iter().copied().filter(|key| idle && said(key)).collect();
    if !written.is_empty() {
        let message = format!("without effect with {why}: {}.{{{}}}", table.name, written.join(", "));
        caveats.push(Remark::new(Code::NoEffect, table.name.as_str(), message));
    }
}
