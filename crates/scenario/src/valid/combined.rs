//! Switches that queue at both sides of a crossbar: their regions, and thresholds that leave
//! every ingress port its headroom.
mod headroom;
mod shares;

use backwater_fabric::{self as fabric, Combined, Crossings};
use backwater_topology::Network;
use backwater_units::Bytes;

pub(super) use self::shares::shares;
use super::lanes::Lanes;
use super::{Context, isolation, mtu};
use crate::document::{Node, at};
use crate::quantity::Quantity;
use crate::settings::{
    Crossbar, DetectorKind, FlowControl, Form, MarkAt, MarkBasis, Queueing, Settings, ThresholdKind,
};

/// Whether switches have ingress and egress regions.
pub(super) fn is_combined(settings: &Settings) -> bool {
    settings.switch.queueing == Queueing::Combined
}

/// Whether the user wrote a key of `[switch.<table>]`.
fn said(written: &Node, table: &str, key: &str) -> bool {
    let table =
        table.split('.').try_fold(written.get("switch"), |node, name| Some(node.and_then(|n| n.get(name))));
    table.flatten().is_some_and(|table| table.get(key).is_some())
}

/// Writes out the defaults that depend on other values. What a profile for other switches says about the form of PAUSE and about
/// thresholds does not hold here, what the user wrote does; and the other way round for what detectors look at.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    let switch = &mut settings.switch;
    if switch.queueing == Queueing::Combined {
        let combined = &mut switch.combined;
        let stop = combined.stop.get_or_insert(Quantity(part(combined.ingress.0, 50, 64))).0;
        combined.go.get_or_insert(Quantity(part(stop, 9, 10)));
        if !said(written, "pfc", "form") {
            switch.pfc.form = Form::Ideal;
        }
        if !said(written, "pfc", "threshold") {
            switch.pfc.threshold = ThresholdKind::Static;
        }
    }
    let elsewhere = switch.queueing != Queueing::Combined || !goes_by_queue(switch.detector.kind);
    let red = &mut switch.detector.red;
    if elsewhere && !said(written, "detector.red", "at") {
        red.at = MarkAt::Dequeue;
    }
    if elsewhere && !said(written, "detector.red", "basis") {
        red.basis = MarkBasis::Queue;
    }
}

/// Whether a detector can be told where to look.
fn goes_by_queue(kind: DetectorKind) -> bool {
    matches!(kind, DetectorKind::Red | DetectorKind::None)
}

/// A fraction of a size, rounded down.
pub(super) fn part(whole: Bytes, numerator: u64, denominator: u64) -> Bytes {
    Bytes::new((u128::from(whole.get()) * u128::from(numerator) / u128::from(denominator)) as u64)
}

/// A size for messages: in KiB where that is exact, as regions are written, else in the usual unit.
pub(super) fn size(bytes: Bytes) -> String {
    match bytes.get() {
        whole if whole > 0 && whole % 1024 == 0 => format!("{}KiB", whole / 1024),
        _ => Quantity(bytes).to_string(),
    }
}

/// The switch as the fabric needs it; what cannot work is reported.
pub(super) fn combined(context: &mut Context<'_>, network: &Network, lanes: &Lanes) -> Combined {
    let combined = &context.settings.switch.combined;
    let shares = shares(context.settings, lanes);
    let percent = libm::round(combined.speedup * 100.0);
    if libm::fabs(combined.speedup * 100.0 - percent) > 1e-6 {
        let message = format!(
            "switch.combined.speedup = {} is finer than the simulator's clock of a crossbar",
            combined.speedup
        );
        let help = format!("write {}", percent / 100.0);
        context.report(&at!["switch", "combined", "speedup"], message, "allowed: steps of 0.01", help);
    }
    regions(context);
    thresholds(context);
    shares::check(context, &shares);
    if context.settings.switch.flow_control == FlowControl::Pfc {
        headroom::check(context, network, &shares);
    }
    let combined = &context.settings.switch.combined;
    Combined {
        speedup_percent: percent as u32,
        ingress: combined.ingress.0,
        egress: combined.egress.0,
        caps: shares.caps,
        bands: shares.bands(),
        crossbar: match combined.crossbar {
            Crossbar::Single => Crossings::Single,
            Crossbar::Multiple => Crossings::Multiple,
        },
    }
}

/// Regions that hold no packet.
fn regions(context: &mut Context<'_>) {
    let (combined, packet) = (&context.settings.switch.combined, mtu(context.settings));
    for (key, region) in [("ingress", combined.ingress), ("egress", combined.egress)] {
        if region.0 < packet {
            let (region, packet) = (size(region.0), size(packet));
            let message =
                format!("switch.combined.{key} = {region} holds no packet: one has {packet} on the wire");
            let help = format!("raise switch.combined.{key}, or lower packet.payload");
            context.report(&at!["switch", "combined", key], message, format!("at least {packet}"), help);
        }
    }
}

/// PAUSE before RESUME.
fn thresholds(context: &mut Context<'_>) {
    let combined = &context.settings.switch.combined;
    let (Some(stop), Some(go)) = (combined.stop, combined.go) else { return };
    if go >= stop {
        let (stop, go) = (size(stop.0), size(go.0));
        let message = format!("switch.combined.go = {go} is not below switch.combined.stop = {stop}");
        let help = "a port that is to be paused and resumed at once would be neither; lower go or raise stop";
        context.report(&at!["switch", "combined", "go"], message, format!("allowed: below {stop}"), help);
    }
}

/// The widest distance between stop and go of a class with traffic: what a port sends at least once it is resumed.
pub(super) fn widest(settings: &Settings, lanes: &Lanes) -> Bytes {
    let shares = shares(settings, lanes);
    let used = if isolation::is_on(settings) {
        let (monitored, congested) = isolation::priorities(settings);
        1 << monitored | 1 << congested
    } else {
        lanes.used
    };
    let gap = |priority: u8| {
        let own = shares.own[usize::from(priority)];
        own.stop.saturating_sub(own.go)
    };
    Lanes::of(used).map(gap).max().unwrap_or(shares.port.stop.saturating_sub(shares.port.go))
}

/// Where detectors look.
pub(super) fn mark(settings: &Settings) -> fabric::MarkSpec {
    let red = settings.switch.detector.red;
    if !goes_by_queue(settings.switch.detector.kind) {
        return fabric::MarkSpec::default();
    }
    fabric::MarkSpec { at: red.at, basis: red.basis }
}
