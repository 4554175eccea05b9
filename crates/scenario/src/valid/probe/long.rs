//! From which queue on the ground truth calls an egress queue long: the threshold K.
use backwater_topology::{Network, Port};
use backwater_units::Bytes;

use crate::settings::{DetectorKind, Settings};
use crate::valid::combined::{is_combined, part, shares};
use crate::valid::lanes::Lanes;
use crate::valid::{Context, isolation, mtu};

/// The threshold K of each egress port: what the detector calls a long queue. Without a detector that of RED. Where no queue can
/// become so long, because its class may not have so much of an egress region, another one.
pub(super) fn thresholds(context: &Context<'_>, network: &Network, lanes: &Lanes) -> Vec<Vec<Bytes>> {
    let settings = context.settings;
    let least = is_combined(settings).then(|| least_cap(settings, lanes));
    let threshold = |port: &Port| {
        let judged = judged(settings, port);
        match least {
            Some(cap) if !exceeded(settings, judged, cap) => within(settings, cap),
            _ => judged,
        }
    };
    let ports = |node| if network.is_switch(node) { network.ports(node) } else { &[] };
    (0..network.nodes().len() as u32).map(|node| ports(node).iter().map(threshold).collect()).collect()
}

/// What the detector calls a long queue.
fn judged(settings: &Settings, port: &Port) -> Bytes {
    let detector = &settings.switch.detector;
    match detector.kind {
        DetectorKind::Fecn => detector.threshold.0,
        DetectorKind::None
        | DetectorKind::Red
        | DetectorKind::Tcd
        | DetectorKind::NpEcn
        | DetectorKind::Custom => detector.ramp(port.rate).1 + detector.guaranteed.0,
    }
}

/// The least that a class with traffic may have of an egress region.
fn least_cap(settings: &Settings, lanes: &Lanes) -> Bytes {
    let shares = shares(settings, lanes);
    let used = if isolation::is_on(settings) {
        let (monitored, congested) = isolation::priorities(settings);
        1 << monitored | 1 << congested
    } else {
        lanes.used
    };
    let caps = Lanes::of(used).map(|priority| shares.caps[usize::from(priority)]);
    caps.min().unwrap_or(settings.switch.combined.egress.0)
}

/// Whether a packet that leaves a full class can leave more than `threshold` behind.
fn exceeded(settings: &Settings, threshold: Bytes, cap: Bytes) -> bool {
    threshold + mtu(settings) < cap
}

/// A threshold that a class can exceed: where isolation begins, if that is one, or half of what the class may have.
fn within(settings: &Settings, cap: Bytes) -> Bytes {
    let detect = settings.switch.isolation.detect.filter(|_| isolation::is_on(settings));
    let detect = detect.map(|detect| detect.0).filter(|&detect| exceeded(settings, detect, cap));
    detect.unwrap_or_else(|| part(cap, 1, 2))
}
