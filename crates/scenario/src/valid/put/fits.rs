//! Windows, thresholds and timers that let PUTs get through.
use backwater_codes::Code;
use std::collections::BTreeSet;

use backwater_topology::{Network, Port, Routes, facts};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Span};

use crate::document::Step;
use crate::quantity::Quantity;
use crate::settings::{FlowControl, PolicyKind, PutSettings, Reservation, Settings};
use crate::valid::cc::{below, name};
use crate::valid::{Context, host, mtu};

/// What must hold for the protocol that stands at `place`.
pub(super) fn check(context: &mut Context<'_>, put: &PutSettings, place: &[Step]) {
    let largest = mtu(context.settings).get() as u32;
    if let Err(error) = put.controller().validate(largest) {
        context.refuse(&below(place, put.table_of(error.parameter)), &error);
    }
    buffered(context, put, place);
    if put.policy == PolicyKind::Dack {
        target(context, put, place);
    }
}

/// What is on its way is kept.
fn buffered(context: &mut Context<'_>, put: &PutSettings, place: &[Step]) {
    if put.policy != PolicyKind::Aimd && put.opt.packets > put.buffer {
        let (name, buffer) = (name(place), put.buffer);
        let message = format!(
            "{name}.opt.packets = {} is more than a source can keep for a stream, {name}.buffer = {buffer}",
            put.opt.packets
        );
        let label = format!("allowed: 1 to {buffer}");
        context.report(
            &below(place, "opt.packets"),
            message,
            label,
            format!("lower {name}.opt.packets, or raise {name}.buffer"),
        );
    }
}

/// The receive queue, if hosts have one of a length that is known.
fn queue(settings: &Settings) -> Option<Quantity<Bytes>> {
    let credits = settings.switch.flow_control == FlowControl::Credits;
    let queue = if credits { settings.switch.credits.buffer } else { settings.host.queue };
    host::is_slow(settings).then_some(queue)
}

/// Thresholds within the receive queue.
fn target(context: &mut Context<'_>, put: &PutSettings, place: &[Step]) {
    let Some(queue) = queue(context.settings) else { return };
    let (name, dack) = (format!("{}.dack", name(place)), &put.dack);
    let credits = context.settings.switch.flow_control == FlowControl::Credits;
    let of = if credits { "switch.credits.buffer" } else { "host.queue" };
    if dack.threshold >= queue {
        let message = format!(
            "{name}.threshold = {} is not below {of} = {queue}: no queue would ever be congested",
            dack.threshold
        );
        let help = format!("lower {name}.threshold, or raise {of}; the EC paper has 9 KB of 81 KB");
        context.report(&below(place, "dack.threshold"), message, format!("allowed: below {queue}"), help);
    }
    if let Reservation::Bytes(room) = dack.experimental.reservation
        && Bytes::new(room) > queue.0
    {
        let room = Quantity(Bytes::new(room));
        let message = format!(
            "{name}.experimental.reservation = {room} is more than {of} = {queue}: nobody else would be let in"
        );
        let help = "write \"packet\", or a size; the authors of the EC paper have 8992B of 81 KB";
        context.report(
            &below(place, "dack.experimental.reservation"),
            message,
            format!("allowed: at most {queue}"),
            help,
        );
    }
}

/// A packet that is on its way or in a queue should not be taken for lost.
pub(super) fn retry<'a>(
    context: &mut Context<'_>,
    put: &PutSettings,
    place: &[Step],
    fabric: (&Network, &Routes),
    flows: impl Iterator<Item = &'a Flow>,
    injected: bool,
) {
    let settings = context.settings;
    let ends: BTreeSet<(u32, u32)> = flows.map(|flow| (flow.src, flow.dst)).collect();
    let trips = ends.into_iter().map(|ends| round_trip(settings, put, fabric, ends));
    // What is injected may go from any host to any other.
    let Some(trip) = trips.chain(injected.then(|| longest(settings, put, fabric))).max() else { return };
    let paced = put.policy == PolicyKind::Dack;
    let queued = host::longest_wait(settings, put.dack.threshold.0).filter(|_| paced).unwrap_or(Span::ZERO);
    let (name, retry) = (name(place), put.retry);
    if trip + queued >= retry.0 {
        let stands = if queued > Span::ZERO && trip < retry.0 {
            format!(" and up to {} in a full receive queue before it is acknowledged", shown(queued))
        } else {
            String::new()
        };
        context.caveat(Code::RetryTooShort, format!("{name}.retry"), format!(
            "{name}.retry = {retry} is too short: a round trip takes at least {}{stands}; what is not lost is sent again",
            shown(trip)
        ));
    }
}

/// What a PUT of full size and its ACK take in an empty network.
fn round_trip(
    settings: &Settings,
    put: &PutSettings,
    (network, routes): (&Network, &Routes),
    (src, dst): (u32, u32),
) -> Span {
    let one_way = |from: u32, to: u32, size: Bytes| -> Span {
        let path = routes.path(network, from, to, |_| 0);
        let port = |(node, port): (u32, u16)| &network.ports(node)[usize::from(port)];
        path.into_iter().map(port).fold(Span::ZERO, |sum, port| sum + port.delay + port.rate.serialize(size))
    };
    put.staging.0 + one_way(src, dst, mtu(settings)) + one_way(dst, src, put.ack.size.0) + put.processing.0
}

/// The longest of these between any two hosts, if the way back is as the way there.
fn longest(settings: &Settings, put: &PutSettings, (network, routes): (&Network, &Routes)) -> Span {
    let (largest, ack) = (mtu(settings), put.ack.size.0);
    let both = |link: &Port| link.delay * 2 + link.rate.serialize(largest) + link.rate.serialize(ack);
    let links = facts::farthest(network, routes, |link| both(link).as_ps());
    put.staging.0 + Span::from_ps(links) + put.processing.0
}

/// A time for people, rounded up to whole nanoseconds.
fn shown(span: Span) -> Quantity<Span> {
    Quantity(Span::from_ps(span.as_ps().div_ceil(1000) * 1000))
}
