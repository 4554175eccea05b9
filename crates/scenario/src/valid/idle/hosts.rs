//! Keys of `[host]`, and of what is recorded about hosts and PUTs, that have no effect beside others.
use backwater_units::Bytes;

use super::{Case, is};
use crate::settings::{FlowControl, IntervalKind, Kinds, Pattern, Settings, ThrottleKind};
use crate::valid::{host, put};

const HOST: &[&str] = &["host"];

/// All groups of keys, each with whether it is idle and why.
pub(super) fn cases(settings: &Settings) -> Vec<Case<'static>> {
    let slow = host::is_slow(settings);
    let trace = matches!(settings.host.pattern, Pattern::Trace { .. });
    let flow_control = settings.switch.flow_control;
    let by_flow_control = is("switch.flow-control", flow_control);
    // All but the control priority.
    let guarded = settings.switch.credits.priorities.len() == 7;
    let credits = slow && flow_control == FlowControl::Credits && guarded;
    let unlimited = "host.drain = \"unlimited\"".to_owned();
    let puts = put::any(settings);
    let throttle = settings.host.throttle.kind;
    let nic = &settings.host.nic;
    vec![
        (
            throttle == ThrottleKind::None,
            &["probe"],
            &["throttle", "throttle-states"],
            is("host.throttle.kind", throttle),
        ),
        (!slow, HOST, &["of", "queue", "cached", "pfc"], unlimited.clone()),
        (!slow, &["probe"], &["endpoints"], unlimited),
        (trace, HOST, &["drain"], is("host.pattern.kind", "trace")),
        (flow_control != FlowControl::Pfc, &["host", "nic"], &["acks", "watchdog"], by_flow_control.clone()),
        (
            nic.start_rate.given().is_none(),
            &["host", "nic"],
            &["start-bytes"],
            is("host.nic.start-rate", "unlimited"),
        ),
        (
            nic.start_bytes.0 == Bytes::ZERO,
            &["host", "nic"],
            &["start-rate"],
            is("host.nic.start-bytes", nic.start_bytes),
        ),
        (slow && flow_control != FlowControl::Pfc, HOST, &["pfc"], by_flow_control.clone()),
        (
            credits,
            HOST,
            &["queue"],
            format!("{by_flow_control}, whose switch.credits.buffer hosts have, too"),
        ),
        (!puts, &["probe"], &["streams", "puts"], "traffic without PUTs".to_owned()),
    ]
}

/// Why no NIC reads what stands at a path in `[host.nic.watchdog]`, if none does.
pub(super) fn watchdog(settings: &Settings, path: &[&str]) -> Option<String> {
    super::watchdog(settings, "host.nic.watchdog", &settings.host.nic.watchdog, path)
}

/// Why no host reads what stands at a path in `[host.throttle]`, if none does.
pub(super) fn throttle(settings: &Settings, path: &[&str]) -> Option<String> {
    let throttle = &settings.host.throttle;
    let pft = &throttle.pft;
    match path {
        ["kind"] => None,
        [key] => (!throttle.kind.reads(key)).then(|| is("host.throttle.kind", throttle.kind)),
        ["pft", "random-bits"] => {
            (pft.interval == IntervalKind::Fixed).then(|| is("host.throttle.pft.interval", pft.interval))
        }
        ["pft", key] => (!pft.rule.reads(key)).then(|| is("host.throttle.pft.rule", pft.rule)),
        _ => None,
    }
}
