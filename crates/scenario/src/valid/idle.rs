//! Keys that the user wrote but that have no effect next to what else was chosen. They are no mistakes (a file is
//! often run with several detectors), but the results say so.
mod reactions;

use super::Context;
use crate::document::Node;
use crate::settings::{CcKind, DetectorKind, Form, ThresholdKind};

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let (pfc, detector) = (&settings.switch.pfc, &settings.switch.detector);
    let kinds = || settings.traffic.iter().map(|entry| entry.cc.as_ref().unwrap_or(&settings.cc).kind);
    let timely = kinds().any(|kind| kind == CcKind::Timely);
    let all_timely = kinds().all(|kind| kind == CcKind::Timely);
    let in_pfc: &[&str] = &["switch", "pfc"];
    let in_detector: &[&str] = &["switch", "detector"];
    let all_pfc: &[&str] = &[
        "pause",
        "poll",
        "frame",
        "threshold",
        "xoff",
        "xon",
        "port-xoff",
        "port-xon",
        "alpha",
        "reserve",
        "headroom",
        "hysteresis",
        "priorities",
    ];
    let fixed: &[&str] = &["xoff", "xon", "port-xoff", "port-xon"];
    let dynamic: &[&str] = &["alpha", "reserve", "headroom", "hysteresis"];
    let red: &[&str] = &["kmin", "kmax", "pmax", "by-rate", "guaranteed"];
    let tcd: &[&str] = &["trend", "max-ton", "epsilon", "period", "low", "delta", "truncate"];
    let on = pfc.form != Form::Off;
    let cases: [(bool, &[&str], &[&str], &str); 11] = [
        (!on, in_pfc, all_pfc, "switch.pfc.form = \"off\""),
        (on && pfc.form != Form::Timed, in_pfc, &["pause", "poll"], "switch.pfc.form = \"ideal\""),
        (on && pfc.threshold == ThresholdKind::Dynamic, in_pfc, fixed, "switch.pfc.threshold = \"dynamic\""),
        (on && pfc.threshold == ThresholdKind::Static, in_pfc, dynamic, "switch.pfc.threshold = \"static\""),
        (detector.kind == DetectorKind::None, in_detector, red, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::None, in_detector, tcd, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::Red, in_detector, tcd, "switch.detector.kind = \"red\""),
        (detector.kind == DetectorKind::NpEcn, in_detector, tcd, "switch.detector.kind = \"np-ecn\""),
        (settings.ack.every == 0 && !timely, &["ack"], &["size", "priority"], "ack.every = 0"),
        (all_timely, &["ack"], &["every"], "TIMELY, which has one ACK for each segment"),
        (settings.probe.sample.is_none(), &["probe"], &["ports", "rates"], "no probe.sample"),
    ];
    let mut caveats = Vec::new();
    for (idle, table, keys, why) in cases {
        let table = Written { name: table.join("."), node: context.wrote(table) };
        caveat(&mut caveats, &table, keys, idle, why);
    }
    context.caveats.extend(caveats);
    let reactions = reactions::report(context);
    context.caveats.extend(reactions);
}

/// A table as the user wrote it, if at all.
struct Written<'a> {
    name: String,
    node: Option<&'a Node>,
}

/// Notes those of `keys` that the user wrote, if they are idle.
fn caveat(caveats: &mut Vec<String>, table: &Written<'_>, keys: &[&str], idle: bool, why: &str) {
    let said = |key: &&str| table.node.is_some_and(|node| node.get(key).is_some());
    let written: Vec<&str> = keys.iter().copied().filter(|key| idle && said(key)).collect();
    if !written.is_empty() {
        caveats.push(format!("without effect with {why}: {}.{{{}}}", table.name, written.join(", ")));
    }
}
