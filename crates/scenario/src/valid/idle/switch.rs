//! Keys of `[switch]` and the tables in it that the chosen flow control, switching, arbiter or detector does not read.
use super::{Case, is};
use crate::settings::{
    Arbiter, DetectorKind, FlowControl, Form, IsolationKind, LoadBalancing, NotifyOn, OnOverflow, Queueing,
    Returned, Settings, Switching, ThresholdKind,
};

const SWITCH: &[&str] = &["switch"];
const PFC: &[&str] = &["switch", "pfc"];
const CREDITS: &[&str] = &["switch", "credits"];
const TCD: &[&str] = &["switch", "detector", "tcd"];

const ALL_PFC: &[&str] = &[
    "form",
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
const STATIC: &[&str] = &["xoff", "xon", "port-xoff", "port-xon"];
const DYNAMIC: &[&str] = &["alpha", "reserve", "headroom", "hysteresis"];
const ALL_CREDITS: &[&str] =
    &["unit", "buffer", "start", "returned", "period", "frame", "unchanged", "loss", "priorities"];
const COMBINED: &[&str] = &["speedup", "ingress", "egress", "crossbar", "stop", "go"];
const ISOLATION: &[&str] = &["switch", "isolation"];
const ICI: &[&str] = &["switch", "isolation", "ici"];
const ALL_ISOLATION: &[&str] = &[
    "priority",
    "cfq-priority",
    "slots",
    "key",
    "detect",
    "residency",
    "cim",
    "nic",
    "nic-hold",
    "early",
    "nfq",
    "cfq",
    "ici",
];
const MARKING: &[&str] = &["overflow", "persist", "mark-gap", "congested", "monitored"];

/// All groups of keys of the switches, each with whether it is idle and why.
pub(super) fn cases(settings: &Settings) -> Vec<Case<'static>> {
    let switch = &settings.switch;
    let flow_control = switch.flow_control;
    let because = is("switch.flow-control", flow_control);
    let (pfc, credits) = (flow_control == FlowControl::Pfc, flow_control == FlowControl::Credits);
    let at_once = credits && switch.credits.returned == Returned::AtOnce;
    let threshold = |kind| pfc && switch.pfc.threshold == kind;
    let weighted = switch.arbiter == Arbiter::Weighted;
    let mut cases: Vec<Case<'static>> = vec![
        (!pfc, PFC, ALL_PFC, because.clone()),
        (
            pfc && switch.pfc.form != Form::Timed,
            PFC,
            &["pause", "poll"],
            is("switch.pfc.form", switch.pfc.form),
        ),
        (threshold(ThresholdKind::Dynamic), PFC, STATIC, is("switch.pfc.threshold", ThresholdKind::Dynamic)),
        (threshold(ThresholdKind::Static), PFC, DYNAMIC, is("switch.pfc.threshold", ThresholdKind::Static)),
        (!credits, CREDITS, ALL_CREDITS, because.clone()),
        (at_once, CREDITS, &["period", "unchanged"], is("switch.credits.returned", Returned::AtOnce)),
        (
            switch.overflow != OnOverflow::Drop,
            SWITCH,
            &["port-buffer"],
            is("switch.overflow", switch.overflow),
        ),
        (switch.overflow != OnOverflow::Drop, &["probe"], &["drops"], is("switch.overflow", switch.overflow)),
        (!credits, &["topology"], &["allow-cycles"], because),
        (
            switch.switching != Switching::CutThrough,
            SWITCH,
            &["header"],
            is("switch.switching", switch.switching),
        ),
        (
            switch.load_balancing != LoadBalancing::Flowlet,
            SWITCH,
            &["flowlet-gap"],
            is("switch.load-balancing", switch.load_balancing),
        ),
        (
            !weighted,
            &["switch", "vl-arbitration"],
            &["high", "low", "high-limit"],
            is("switch.arbiter", switch.arbiter),
        ),
    ];
    cases.extend(detector(settings, credits && !at_once));
    cases.extend(combined(settings));
    cases
}

/// Regions of their own take the place of a shared memory; isolation has keys for each of its kinds.
fn combined(settings: &Settings) -> Vec<Case<'static>> {
    let (switch, isolation) = (&settings.switch, &settings.switch.isolation);
    let combined = switch.queueing == Queueing::Combined;
    let (off, ci) = (isolation.kind == IsolationKind::None, isolation.kind == IsolationKind::Ci);
    let pfc = combined && switch.flow_control == FlowControl::Pfc;
    let queueing = is("switch.queueing", switch.queueing);
    let kind = is("switch.isolation.kind", isolation.kind);
    let deficit = switch.arbiter == Arbiter::Deficit;
    let arbiter = is("switch.arbiter", switch.arbiter);
    vec![
        (!combined, &["switch", "combined"], COMBINED, queueing.clone()),
        (combined, SWITCH, &["buffer"], queueing.clone()),
        (pfc, PFC, STATIC, format!("{queueing}, whose threshold is switch.combined.stop")),
        (off, ISOLATION, ALL_ISOLATION, kind.clone()),
        (ci, ISOLATION, &["ici"], kind.clone()),
        (isolation.kind == IsolationKind::Ici, ICI, MARKING, kind),
        (!off && !isolation.nic, ISOLATION, &["nic-hold"], "switch.isolation.nic = false".to_owned()),
        (
            !off && isolation.cim.on == NotifyOn::Allocation,
            &["switch", "isolation", "cim"],
            &["level"],
            is("switch.isolation.cim.on", isolation.cim.on),
        ),
        (!off && !deficit, &["switch", "isolation", "nfq"], &["weight"], arbiter.clone()),
        (!off && !deficit, &["switch", "isolation", "cfq"], &["weight"], arbiter),
    ]
}

/// Under credits that come back `periodic`ally max(Ton) follows from their period.
fn detector(settings: &Settings, periodic: bool) -> Vec<Case<'static>> {
    let tcd = settings.switch.detector.kind == DetectorKind::Tcd;
    let from_tc =
        "credits that come back every switch.credits.period, from which max(Ton) follows".to_owned();
    vec![(tcd && periodic, TCD, &["epsilon"], from_tc)]
}
