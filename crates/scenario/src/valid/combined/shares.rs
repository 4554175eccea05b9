//! What each priority may take of the regions of a port.
use backwater_control::flow_control::{Band, Bands};
use backwater_units::Bytes;

use super::{part, size};
use crate::document::at;
use crate::settings::{IsolationKind, QueueClass, Settings};
use crate::valid::lanes::Lanes;
use crate::valid::{Context, isolation, mtu};

/// Where a class of an ingress port is paused and where it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) stop: Bytes,
    pub(crate) go: Bytes,
}

/// The shares of all priorities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// Classes that share the regions, at least 1.
    pub(crate) classes: u64,
    /// By priority, in the ingress region.
    pub(crate) own: [Limits; 8],
    /// The whole ingress port.
    pub(crate) port: Limits,
    /// By priority, in the egress region.
    pub(crate) caps: [Bytes; 8],
}

impl Shares {
    /// For the fabric.
    pub(super) fn bands(&self) -> Bands {
        let band = |limits: Limits| Band::new(limits.stop, limits.go);
        Bands { own: self.own.map(band), port: band(self.port) }
    }
}

/// With isolation those of its two classes; without it equal ones of the priorities that carry traffic. Priorities without
/// traffic have the whole.
pub(crate) fn shares(settings: &Settings, lanes: &Lanes) -> Shares {
    let combined = &settings.switch.combined;
    let bytes = |given: Option<crate::quantity::Quantity<Bytes>>| given.map_or(Bytes::ZERO, |given| given.0);
    let port = Limits { stop: bytes(combined.stop), go: bytes(combined.go) };
    let mut shares = Shares { classes: 1, own: [port; 8], port, caps: [combined.egress.0; 8] };
    if isolation::is_on(settings) {
        let (monitored, congested) = isolation::priorities(settings);
        let isolation = &settings.switch.isolation;
        for (priority, class) in [(monitored, &isolation.nfq), (congested, &isolation.cfq)] {
            let QueueClass { stop, go, cap, .. } = *class;
            shares.own[usize::from(priority)] = Limits { stop: bytes(stop), go: bytes(go) };
            shares.caps[usize::from(priority)] = bytes(cap);
        }
        shares.classes = 2;
        return shares;
    }
    shares.classes = u64::from(lanes.used.count_ones().max(1));
    for priority in Lanes::of(lanes.used) {
        let own = |whole| part(whole, 1, shares.classes);
        shares.own[usize::from(priority)] = Limits { stop: own(port.stop), go: own(port.go) };
        shares.caps[usize::from(priority)] = own(combined.egress.0);
    }
    shares
}

/// Equal shares that hold no packet. Those of isolation are its own business.
pub(super) fn check(context: &mut Context<'_>, shares: &Shares) {
    let (settings, packet) = (context.settings, mtu(context.settings));
    let combined = &settings.switch.combined;
    let alone = settings.switch.isolation.kind == IsolationKind::None;
    let share = part(combined.egress.0, 1, shares.classes);
    if alone && shares.classes > 1 && share < packet && combined.egress.0 >= packet {
        let (classes, least) = (shares.classes, size(packet * shares.classes));
        let message = format!(
            "switch.combined.egress = {} leaves each of {classes} priorities with traffic {}, less than a packet of {}",
            size(combined.egress.0),
            size(share),
            size(packet)
        );
        let help = format!("raise switch.combined.egress to {least} or more, or use fewer priorities");
        context.report(&at!["switch", "combined", "egress"], message, format!("at least {least}"), help);
    }
}
