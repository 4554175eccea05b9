//! Keys of `[switch]` and the tables in it that the chosen flow control, switching, arbiter or detector does not read.
use super::{Case, is};
use crate::settings::{
    Arbiter, AutoOr, DetectorKind, DropsEarly, Fault, FlowControl, Form, Kinds, LinkRetry, LoadBalancing,
    NotifyOn, OnOverflow, Queueing, Returned, Routing, Settings, Switching, ThresholdKind,
};
use crate::valid::{faults, put};

const SWITCH: &[&str] = &["switch"];
const PFC: &[&str] = &["switch", "pfc"];
const LOSSY: &[&str] = &["switch", "lossy"];
const TRIMMING: &[&str] = &["switch", "trimming"];
const RED: &[&str] = &["switch", "lossy", "red"];
const CREDITS: &[&str] = &["switch", "credits"];
const STATIC: &[&str] = &["xoff", "xon", "port-xoff", "port-xon"];
const DYNAMIC: &[&str] = &["alpha", "reserve", "headroom", "hysteresis"];
const POOLED: &[&str] = &[
    "poll",
    "threshold",
    "xoff",
    "xon",
    "port-xoff",
    "port-xon",
    "alpha",
    "reserve",
    "headroom",
    "hysteresis",
];
/// All groups of keys of the switches, each with whether it is idle and why.
pub(super) fn cases(settings: &Settings) -> Vec<Case<'static>> {
    let switch = &settings.switch;
    let flow_control = switch.flow_control;
    let because = is("switch.flow-control", flow_control);
    let (pfc, credits) = (flow_control == FlowControl::Pfc, flow_control == FlowControl::Credits);
    let (drops, trims) = (switch.overflow != OnOverflow::Stop, switch.overflow == OnOverflow::Trim);
    let shares = drops && !trims;
    let at_once = credits && switch.credits.returned == Returned::AtOnce;
    let threshold = |kind| pfc && switch.pfc.threshold == kind;
    let weighted = switch.arbiter == Arbiter::Weighted;
    let mut cases: Vec<Case<'static>> = vec![
        (!pfc, PFC, &[], because.clone()),
        (
            pfc && switch.pfc.form != Form::Timed,
            PFC,
            &["pause", "poll"],
            is("switch.pfc.form", switch.pfc.form),
        ),
        (threshold(ThresholdKind::Dynamic), PFC, STATIC, is("switch.pfc.threshold", ThresholdKind::Dynamic)),
        (threshold(ThresholdKind::Static), PFC, DYNAMIC, is("switch.pfc.threshold", ThresholdKind::Static)),
        (!credits, CREDITS, &[], because.clone()),
        (at_once, CREDITS, &["period", "unchanged"], is("switch.credits.returned", Returned::AtOnce)),
        (
            switch.overflow != OnOverflow::Drop,
            SWITCH,
            &["port-buffer"],
            is("switch.overflow", switch.overflow),
        ),
        (pfc && switch.overflow == OnOverflow::Drop, SWITCH, &["port-buffer"], because.clone()),
        (pfc && !shares, LOSSY, &[], is("switch.overflow", switch.overflow)),
        (!trims, TRIMMING, &[], is("switch.overflow", switch.overflow)),
        (
            trims && switch.trimming.queue != AutoOr::Auto,
            TRIMMING,
            &["bdps"],
            "switch.trimming.queue, which is given".to_owned(),
        ),
        (trims && !pfc, SWITCH, &["buffer"], is("switch.overflow", switch.overflow)),
        (!pfc, LOSSY, &[], because.clone()),
        (
            pfc && shares && switch.lossy.red.drops == DropsEarly::None,
            RED,
            &["kmin", "kmax", "pmax"],
            is("switch.lossy.red.drops", DropsEarly::None),
        ),
        (!drops && !faults::lose(settings), &["probe"], &["drops"], is("switch.overflow", switch.overflow)),
        (
            !settings.fault.iter().any(Fault::downs),
            &["fault-handling"],
            &["detect", "converge"],
            "no [[fault]] that takes a link down".to_owned(),
        ),
        (
            !settings.fault.iter().any(|fault| matches!(fault, Fault::Loss { .. })),
            &["fault-handling"],
            &["link-retry", "llr"],
            "no [[fault]] of kind = \"loss\"".to_owned(),
        ),
        (
            settings.fault_handling.link_retry == LinkRetry::None,
            &["fault-handling"],
            &["llr"],
            is("fault-handling.link-retry", LinkRetry::None),
        ),
        (!credits, &["topology"], &["allow-cycles"], because),
        (
            !matches!(settings.topology.routes_by(), Routing::UgalL | Routing::UgalG),
            &["topology", "ugal"],
            &[],
            is("topology.routing", settings.topology.routes_by()),
        ),
        (
            settings.topology.routes_by() == Routing::UgalL,
            &["topology", "ugal"],
            &["every"],
            is("topology.routing", Routing::UgalL),
        ),
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
        (!weighted, &["switch", "vl-arbitration"], &[], is("switch.arbiter", switch.arbiter)),
        (
            switch.arbiter != Arbiter::Deficit,
            SWITCH,
            &["shares", "strict"],
            is("switch.arbiter", switch.arbiter),
        ),
    ];
    cases.extend(combined(settings));
    cases
}

/// Regions of their own take the place of a shared memory.
fn combined(settings: &Settings) -> Vec<Case<'static>> {
    let switch = &settings.switch;
    let combined = switch.queueing == Queueing::Combined;
    let pooled = switch.queueing == Queueing::TwoPools;
    let under_pfc = switch.flow_control == FlowControl::Pfc;
    let pfc = combined && under_pfc;
    let queueing = is("switch.queueing", switch.queueing);
    vec![
        (!combined, &["switch", "combined"], &[], queueing.clone()),
        (!pooled, &["switch", "two-pools"], &[], queueing.clone()),
        (pooled, SWITCH, &["port-buffer"], queueing.clone()),
        (
            pooled && under_pfc,
            PFC,
            POOLED,
            format!("{queueing}, whose thresholds are those of switch.two-pools"),
        ),
        (combined, SWITCH, &["buffer"], queueing.clone()),
        (pfc, PFC, STATIC, format!("{queueing}, whose threshold is switch.combined.stop")),
    ]
}

/// Why no switch reads what stands at a path in `[switch.pfc.watchdog]`, if none does.
pub(super) fn watchdog(settings: &Settings, path: &[&str]) -> Option<String> {
    super::watchdog(settings, "switch.pfc.watchdog", &settings.switch.pfc.watchdog, path)
}

/// Why no switch reads what stands at a path in `[switch.isolation]`, if none does.
pub(super) fn isolation(settings: &Settings, path: &[&str]) -> Option<String> {
    let (isolation, arbiter) = (&settings.switch.isolation, settings.switch.arbiter);
    match path {
        ["kind"] => None,
        [key] if !isolation.kind.reads(key) => Some(is("switch.isolation.kind", isolation.kind)),
        ["nic-hold"] => (!isolation.nic).then(|| "switch.isolation.nic = false".to_owned()),
        ["cim", "level"] => (isolation.cim.on == NotifyOn::Allocation)
            .then(|| is("switch.isolation.cim.on", isolation.cim.on)),
        ["nfq" | "cfq", "weight"] => (arbiter != Arbiter::Deficit).then(|| is("switch.arbiter", arbiter)),
        _ => None,
    }
}

/// Why no port reads what stands at a path in `[switch.detector]`, if none does.
pub(super) fn detector(settings: &Settings, path: &[&str]) -> Option<String> {
    let (kind, credits) = (settings.switch.detector.kind, &settings.switch.credits);
    match path {
        ["kind"] => (put::all(settings) && kind != DetectorKind::None)
            .then(|| "traffic of PUTs alone, which are never marked".to_owned()),
        [key] => (!kind.reads(key)).then(|| is("switch.detector.kind", kind)),
        // Under credits that come back periodically max(Ton) follows from their period.
        ["tcd", "epsilon"] => {
            let periodic = credits.returned == Returned::Periodic;
            (settings.switch.flow_control == FlowControl::Credits && periodic).then(|| {
                "credits that come back every switch.credits.period, from which max(Ton) follows".to_owned()
            })
        }
        _ => None,
    }
}
