//! From `[switch.isolation]` to the rules that switches follow.
use backwater_control::ConfigError;
use backwater_control::detector::Red;
use backwater_control::isolation::{CiConfig, Common, IciConfig, IciMarking, Isolation, NotifyConfig};
use backwater_fabric::{self as fabric, IsolationSpec};
use backwater_units::{Bytes, Span};

use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{self, IsolationKind, KeyKind, NotifyOn, Ramp, Slots};
use crate::valid::Context;

fn bytes(given: Option<Quantity<Bytes>>) -> Bytes {
    given.map_or(Bytes::ZERO, |given| given.0)
}

/// Isolation as the fabric needs it; wrong rules are reported.
pub(super) fn spec(context: &mut Context<'_>, guard: Span) -> Option<IsolationSpec> {
    let rules = rules(context, guard)?;
    let (monitored, congested) = super::priorities(context.settings);
    let isolation = &context.settings.switch.isolation;
    Some(IsolationSpec {
        rules,
        slots: match isolation.slots {
            Slots::Limit(slots) => Some(slots),
            Slots::Unlimited(_) => None,
        },
        monitored,
        congested,
        key: match isolation.key {
            KeyKind::Pair => fabric::KeyKind::Pair,
            KeyKind::Flow => fabric::KeyKind::Flow,
            KeyKind::Destination => fabric::KeyKind::Destination,
            KeyKind::Root => fabric::KeyKind::Root,
        },
        frame: isolation.cim.frame.0,
        host_hold: isolation.nic.then_some(isolation.nic_hold.0),
    })
}

/// The rules; wrong ones are reported.
fn rules(context: &mut Context<'_>, guard: Span) -> Option<Isolation> {
    let isolation = &context.settings.switch.isolation;
    let common = common(isolation);
    let rules = match isolation.kind {
        IsolationKind::None => return None,
        IsolationKind::Ci => Isolation::Ci(CiConfig { common }),
        IsolationKind::Ici | IsolationKind::IciPlus => {
            let marking = marking(context);
            let plus = isolation.kind == IsolationKind::IciPlus;
            Isolation::Ici(IciConfig {
                common,
                guard,
                quorum: bytes(isolation.ici.quorum),
                share_ppm: libm::round(isolation.ici.share * 1e6) as u32,
                history: Some(isolation.ici.history.0).filter(|&history| history > Span::ZERO),
                marking: if plus { Some(marking?) } else { None },
            })
        }
    };
    match rules.validate() {
        Ok(()) => Some(rules),
        Err(error) => {
            context.refuse(&at!["switch", "isolation"], &error);
            None
        }
    }
}

fn common(isolation: &settings::Isolation) -> Common {
    let cim = &isolation.cim;
    Common {
        detect: bytes(isolation.detect),
        residency: isolation.residency.0,
        notify: NotifyConfig {
            level: bytes(cim.level),
            on_allocation: cim.on == NotifyOn::Allocation,
            gap: cim.gap.0,
            most: Some(cim.most).filter(|&most| most > 0),
        },
        early: Some(isolation.early.0).filter(|&early| early > Bytes::ZERO),
    }
}

fn marking(context: &mut Context<'_>) -> Option<IciMarking> {
    let ici = &context.settings.switch.isolation.ici;
    let congested = ramp(context, "congested", &ici.congested);
    let monitored = ramp(context, "monitored", &ici.monitored);
    Some(IciMarking {
        overflow: ici.overflow.0,
        persist: ici.persist.0,
        gap: ici.mark_gap.0,
        congested: congested?,
        monitored: monitored?,
    })
}

fn ramp(context: &mut Context<'_>, key: &'static str, ramp: &Ramp) -> Option<Red> {
    match Red::new(bytes(ramp.kmin), bytes(ramp.kmax), ramp.pmax, Bytes::ZERO) {
        Ok(red) => Some(red),
        Err(error) if context.settings.switch.isolation.kind == IsolationKind::IciPlus => {
            refuse(context, key, ramp, &error);
            None
        }
        Err(_) => None,
    }
}

/// At the key that the user wrote.
fn refuse(context: &mut Context<'_>, key: &'static str, ramp: &Ramp, error: &ConfigError) {
    let place = at!["switch", "isolation", "ici", key];
    let wrote =
        context.wrote(&["switch", "isolation", "ici", key]).is_some_and(|table| table.get("kmin").is_some());
    if error.parameter == "kmin" && !wrote {
        // The default is in the way of a kmax.
        let (kmin, kmax) = (super::size(bytes(ramp.kmin)), super::size(bytes(ramp.kmax)));
        let message =
            format!("switch.isolation.ici.{key}.kmax = {kmax} is below kmin, which is {kmin} by default");
        let label = format!("allowed: at least kmin = {kmin}");
        let place = at!["switch", "isolation", "ici", key, "kmax"];
        return context.report(&place, message, label, "raise kmax, or write a lower kmin, too");
    }
    context.refuse(&place, error);
}
