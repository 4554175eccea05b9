//! `kind = "supply"`: a source's rate and backlog suffice for all its destinations.
use backwater_traffic::generate::{Scarce, Supply};
use backwater_traffic::{Flow, Group};
use backwater_units::Time;

use super::Entry;
use crate::quantity::Quantity;
use crate::settings::{Control, Spread, Workload};
use crate::valid::packet;

/// The flows; `None` if something is wrong, which is reported.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group) -> Option<Vec<Flow>> {
    let settings = entry.context.settings;
    let traffic = &settings.traffic[entry.index];
    let Workload::Supply { from, to, rate, backlog, spread, until } = &traffic.workload else { return None };
    if traffic.control == Some(Control::LineRate) {
        let message = "the packets of a supply wait for a reaction point";
        let help =
            "remove this line; for a source that only its link holds back write cc = { kind = \"none\" }";
        entry.report("control", message, "not for a supply", help);
        return None;
    }
    if let Some(until) = until.filter(|until| until.0.as_ps() <= entry.start.as_ps()) {
        let message = format!("until = {until} is not after start = {}", entry.start);
        entry.report("until", message, "too early", "let it end later; until counts from time 0");
        return None;
    }
    let pairs = entry.pairs(from, to)?;
    entry.fits_link(&pairs, rate.0)?;
    let until = until.map_or(Time::MAX, |until| Time::from_ps(until.0.as_ps()));
    let payload = packet(settings).payload;
    let supply =
        Supply { pairs, rate: rate.0, backlog: backlog.0, payload, until, drawn: *spread == Spread::Random };
    match supply.flows(group) {
        Ok(flows) => Some(flows),
        Err(Scarce::Backlog { destinations }) => {
            let message = format!(
                "backlog = {backlog} has no place for a packet of each of {destinations} destinations"
            );
            let least = Quantity(payload * u64::from(destinations));
            let label = format!("allowed: at least {least}, {destinations} x packet.payload");
            entry.report("backlog", message, label, "raise the backlog, or name fewer destinations");
            None
        }
        Err(Scarce::Rate { destinations }) => {
            let message = format!("rate = {rate} is less than 1bps for each of {destinations} destinations");
            let label = format!("allowed: at least {destinations}bps");
            entry.report("rate", message, label, "raise the rate, or name fewer destinations");
            None
        }
    }
}
