//! `kind = "poisson"`: what a load counts, and whether the arrivals are few enough.
use backwater_codes::Code;
use backwater_traffic::generate::{Poisson, Sizes, Stop};
use backwater_traffic::{Cdf, Flow, Group};
use backwater_units::Rate;

use super::Entry;
use crate::settings::{LoadCounts, SizeChoice, Workload};
use crate::valid::packet;

/// The flows; `None` if something is wrong, which is reported.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group, seed: u64) -> Option<Vec<Flow>> {
    let Workload::Poisson { from, to, cdf, file, size, load, load_counts, until, flows } =
        &entry.context.settings.traffic[entry.index].workload
    else {
        return None;
    };
    let (from, to) = (entry.hosts("from", from)?, entry.hosts("to", to)?);
    let sizes = entry.sizes(*cdf, file.as_deref(), *size, SizeChoice::Independent);
    let stop = entry.stop(*until, *flows);
    let sizes = match sizes? {
        Sizes::Independent(sizes) | Sizes::Common(sizes) => sizes,
        Sizes::Fixed(size) => Cdf::fixed(size),
    };
    let mean = counted(entry, &sizes, *load_counts);
    warn_of_overload(entry, *load, counted(entry, &sizes, LoadCounts::Wire) / mean);
    let from = from.into_iter().map(|host| (host, entry.nic(host))).collect();
    let mut poisson = Poisson { from, to, sizes, load: *load, mean, stop: stop? };
    poisson.stop = check(entry, &poisson)?;
    Some(poisson.flows(group, seed))
}

/// The mean of what counts of a flow, in bytes.
fn counted(entry: &Entry<'_, '_>, sizes: &Cdf, counts: LoadCounts) -> f64 {
    let packet = packet(entry.context.settings);
    let packets = sizes.mean_packets(packet.payload);
    match counts {
        LoadCounts::Payload => sizes.mean(),
        LoadCounts::Wire if packet.padded => packets * (packet.payload + packet.header).get() as f64,
        LoadCounts::Wire => sizes.mean() + packets * packet.header.get() as f64,
    }
}

/// More than the links carry is offered, perhaps without being noticed: short messages in padded packets, long headers.
fn warn_of_overload(entry: &mut Entry<'_, '_>, load: f64, wire_per_counted: f64) {
    let on_wire = load * wire_per_counted;
    if on_wire > 1.0 {
        let name = &entry.context.settings.traffic[entry.index].name;
        let padded = if packet(entry.context.settings).padded { " and padding" } else { "" };
        let caveat = format!(
            "{name}: load = {load} is {on_wire:.2} times what the sources' links carry, with headers{padded}: messages wait at their \
             sources ever longer. load-counts = \"wire\" counts them as they are on the wire"
        );
        entry.context.caveat(Code::Overload, format!("{name}.load"), caveat);
    }
}

/// Some source has a destination, and arrivals do not fill the memory; when those end that are made.
fn check(entry: &mut Entry<'_, '_>, poisson: &Poisson) -> Option<Stop> {
    let rates = poisson.from.iter().map(|&(_, rate)| 1e12 / poisson.mean_gap_ps(rate));
    let stop = entry.stop_count(rates.sum(), poisson.stop)?;
    let sends = |&(src, _): &(u32, Rate)| poisson.to.iter().any(|&dst| dst != src);
    if !poisson.from.iter().any(sends) {
        let message = "source and destination are the same host";
        entry.report("to", message, "the source", "name a different host");
        return None;
    }
    Some(stop)
}
