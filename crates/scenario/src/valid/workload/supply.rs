//! `kind = "supply"`: a source's rate and backlog suffice for all its destinations.
use backwater_fabric::PacketSpec;
use backwater_traffic::generate::{Scarce, Supply};
use backwater_traffic::{Flow, Full, Gaps, Group};
use backwater_units::{Rate, Time};

use super::Entry;
use crate::quantity::Quantity;
use crate::settings::{self, Control, LoadCounts, Spread, Workload};
use crate::valid::packet;

/// The flows; `None` if something is wrong, which is reported.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group) -> Option<Vec<Flow>> {
    let settings = entry.context.settings;
    let traffic = &settings.traffic[entry.index];
    let Workload::Supply { from, to, rate, load_counts, backlog, packets, gaps, full, spread, until } =
        &traffic.workload
    else {
        return None;
    };
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
    if let (Some(_), Some(_)) = (backlog, packets) {
        entry.report("packets", "both backlog and packets are given", "one of the two", "remove one of them");
        return None;
    }
    let pairs = entry.pairs(from, to)?;
    entry.fits_link(&pairs, rate.0)?;
    let until = until.map_or(Time::MAX, |until| Time::from_ps(until.0.as_ps()));
    let payload = packet(settings).payload;
    let on_wire = on_wire(rate.0, *load_counts, packet(settings));
    let gaps = match gaps {
        settings::Gaps::Even => Gaps::Even,
        settings::Gaps::Exponential => Gaps::Exponential,
    };
    let full = match full {
        settings::Full::Skip => Full::Skip,
        settings::Full::Wait => Full::Wait,
    };
    let drawn = *spread == Spread::Random;
    if drawn && full == Full::Wait && gaps == Gaps::Even && pairs.windows(2).any(|two| two[0].0 == two[1].0) {
        let message = "a source that waits for one destination cannot draw others meanwhile";
        let help = "take full = \"skip\", gaps = \"exponential\" (a process for each destination) or spread = \"turns\"";
        entry.report("spread", message, "not with full = \"wait\"", help);
        return None;
    }
    let most = packets.map_or_else(|| backlog.map_or(0, |most| most.0.get() / payload.get()), u64::from);
    let supply = Supply { pairs, rate: on_wire, backlog: most, until, drawn, gaps, full };
    match supply.flows(group) {
        Ok(flows) => Some(flows),
        Err(Scarce::Backlog { destinations }) => {
            let no_place =
                |what| format!("{what} has no place for a packet of each of {destinations} destinations");
            let help = "raise it, or name fewer destinations";
            if let Some(backlog) = backlog {
                let least = Quantity(payload * u64::from(destinations));
                let label = format!("allowed: at least {least}, {destinations} x packet.payload");
                entry.report("backlog", no_place(format!("backlog = {backlog}")), label, help);
            } else {
                let label = format!("allowed: at least {destinations}");
                entry.report("packets", no_place(format!("packets = {most}")), label, help);
            }
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

/// The rate on the wire of full packets whose payload, or all of whose bytes, come at `rate`.
fn on_wire(rate: Rate, counts: LoadCounts, packet: PacketSpec) -> Rate {
    if counts == LoadCounts::Wire {
        return rate;
    }
    let (payload, header) = (u128::from(packet.payload.get()), u128::from(packet.header.get()));
    let bps = u128::from(rate.as_bps()) * (payload + header) / payload.max(1);
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}
