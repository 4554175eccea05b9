//! Keys that the user wrote but that have no effect next to what else was chosen. They are no mistakes (a file is
//! often run with several detectors), but the results say so.
use super::Context;
use crate::document::Node;
use crate::settings::{Cc, CcKind, Control, DetectorKind, Form, ThresholdKind, Variant, Workload};

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let (pfc, detector) = (&settings.switch.pfc, &settings.switch.detector);
    let own = settings.traffic.iter().filter_map(|entry| entry.cc.as_ref());
    let timely = own.chain([&settings.cc]).any(|cc| cc.kind == CcKind::Timely);
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
    let cases: [(bool, &[&str], &[&str], &str); 10] = [
        (!on, in_pfc, all_pfc, "switch.pfc.form = \"off\""),
        (on && pfc.form != Form::Timed, in_pfc, &["pause", "poll"], "switch.pfc.form = \"ideal\""),
        (on && pfc.threshold == ThresholdKind::Dynamic, in_pfc, fixed, "switch.pfc.threshold = \"dynamic\""),
        (on && pfc.threshold == ThresholdKind::Static, in_pfc, dynamic, "switch.pfc.threshold = \"static\""),
        (detector.kind == DetectorKind::None, in_detector, red, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::None, in_detector, tcd, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::Red, in_detector, tcd, "switch.detector.kind = \"red\""),
        (detector.kind == DetectorKind::NpEcn, in_detector, tcd, "switch.detector.kind = \"np-ecn\""),
        (settings.ack.every == 0 && !timely, &["ack"], &["size", "priority"], "ack.every = 0"),
        (settings.probe.sample.is_none(), &["probe"], &["ports", "rates"], "no probe.sample"),
    ];
    let mut caveats = Vec::new();
    for (idle, table, keys, why) in cases {
        let table = Written { name: table.join("."), node: context.wrote(table) };
        caveat(&mut caveats, &table, keys, idle, why);
    }
    let common = Written { name: "cc".to_owned(), node: context.wrote(&["cc"]) };
    reaction(&mut caveats, &common, &settings.cc);
    for (index, entry) in settings.traffic.iter().enumerate() {
        let Some(cc) = &entry.cc else { continue };
        let items = context.wrote(&["traffic"]).and_then(|list| list.items()?.get(index));
        let table = Written {
            name: format!("traffic.{}.cc", entry.name),
            node: items.and_then(|node| node.get("cc")),
        };
        if matches!(entry.control, Some(Control::LineRate))
            || matches!(entry.workload, Workload::Constant { .. })
        {
            caveats.push(format!("without effect, as its flows have no congestion control: {}", table.name));
        } else {
            reaction(&mut caveats, &table, cc);
        }
    }
    context.caveats.extend(caveats);
}

/// A table as the user wrote it, if at all.
struct Written<'a> {
    name: String,
    node: Option<&'a Node>,
}

/// Keys of a `[cc]` that its kind does not read.
fn reaction(caveats: &mut Vec<String>, table: &Written<'_>, cc: &Cc) {
    let byte: &[&str] =
        &["byte-counter", "cut", "cut-first", "eighth-rule", "cnp-interval", "np", "np-fraction", "cnp-size"];
    let both: &[&str] = &[
        "variant",
        "alpha-initial",
        "g",
        "alpha-timer",
        "rate-timer",
        "fast-recovery",
        "rate-ai",
        "rate-hai",
        "clamp-target",
        "on-ue",
    ];
    let (check, timely): (&[&str], &[&str]) = (&["decrease-interval"], &["timely"]);
    let idle: Vec<&str> = match (cc.kind, cc.variant) {
        (CcKind::None, _) => [byte, both, check, timely, &["min-rate"]].concat(),
        (CcKind::Timely, _) => [byte, both, check].concat(),
        (CcKind::Dcqcn, Variant::ByteCounter) => [check, timely].concat(),
        (CcKind::Dcqcn, Variant::DecreaseCheck) => [byte, timely].concat(),
    };
    let why = match (cc.kind, cc.variant) {
        (CcKind::None, _) => "kind = \"none\"",
        (CcKind::Timely, _) => "kind = \"timely\"",
        (CcKind::Dcqcn, Variant::ByteCounter) => "variant = \"byte-counter\"",
        (CcKind::Dcqcn, Variant::DecreaseCheck) => "variant = \"decrease-check\"",
    };
    caveat(caveats, table, &idle, true, &format!("{}.{why}", table.name));
}

/// Notes those of `keys` that the user wrote, if they are idle.
fn caveat(caveats: &mut Vec<String>, table: &Written<'_>, keys: &[&str], idle: bool, why: &str) {
    let said = |key: &&str| table.node.is_some_and(|node| node.get(key).is_some());
    let written: Vec<&str> = keys.iter().copied().filter(|key| idle && said(key)).collect();
    if !written.is_empty() {
        caveats.push(format!("without effect with {why}: {}.{{{}}}", table.name, written.join(", ")));
    }
}
