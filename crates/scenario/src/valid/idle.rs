//! Keys that the user wrote but that have no effect next to what else was chosen. They are no mistakes (a file is
//! often run with several detectors), but the results say so.
use super::Context;
use crate::settings::{CcKind, DetectorKind, Form, ThresholdKind, Variant};

/// Notes a caveat for each group of such keys.
pub(super) fn report(context: &mut Context<'_>) {
    let settings = context.settings;
    let (pfc, detector, cc) = (&settings.switch.pfc, &settings.switch.detector, &settings.cc);
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
    let byte: &[&str] = &["byte-counter", "cut-first", "eighth-rule", "cnp-interval", "np", "cnp-size"];
    let all_cc: &[&str] = &[
        "variant",
        "alpha-initial",
        "g",
        "alpha-timer",
        "rate-timer",
        "byte-counter",
        "fast-recovery",
        "rate-ai",
        "rate-hai",
        "min-rate",
        "clamp-target",
        "cut-first",
        "eighth-rule",
        "on-ue",
        "cnp-interval",
        "np",
        "decrease-interval",
        "cnp-size",
    ];
    let dcqcn = cc.kind == CcKind::Dcqcn;
    let on = pfc.form != Form::Off;
    let cases: [(bool, &[&str], &[&str], &str); 12] = [
        (!on, in_pfc, all_pfc, "switch.pfc.form = \"off\""),
        (on && pfc.form != Form::Timed, in_pfc, &["pause", "poll"], "switch.pfc.form = \"ideal\""),
        (on && pfc.threshold == ThresholdKind::Dynamic, in_pfc, fixed, "switch.pfc.threshold = \"dynamic\""),
        (on && pfc.threshold == ThresholdKind::Static, in_pfc, dynamic, "switch.pfc.threshold = \"static\""),
        (detector.kind == DetectorKind::None, in_detector, red, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::None, in_detector, tcd, "switch.detector.kind = \"none\""),
        (detector.kind == DetectorKind::Red, in_detector, tcd, "switch.detector.kind = \"red\""),
        (!dcqcn, &["cc"], all_cc, "cc.kind = \"none\""),
        (dcqcn && cc.variant == Variant::DecreaseCheck, &["cc"], byte, "cc.variant = \"decrease-check\""),
        (
            dcqcn && cc.variant == Variant::ByteCounter,
            &["cc"],
            &["decrease-interval"],
            "cc.variant = \"byte-counter\"",
        ),
        (settings.ack.every == 0, &["ack"], &["size", "priority"], "ack.every = 0"),
        (settings.probe.sample.is_none(), &["probe"], &["ports", "rates"], "no probe.sample"),
    ];
    for (idle, table, keys, why) in cases {
        let written: Vec<&str> =
            keys.iter().copied().filter(|key| idle && context.wrote(table, key)).collect();
        if !written.is_empty() {
            let caveat = format!("without effect with {why}: {}.{{{}}}", table.join("."), written.join(", "));
            context.caveats.push(caveat);
        }
    }
}
