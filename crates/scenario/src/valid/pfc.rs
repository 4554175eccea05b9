//! Priority flow control: thresholds that leave every port its headroom.
use backwater_codes::Code;
use backwater_control::flow_control::{Form, RESPONSE, Threshold, headroom, headroom_hpcc};
use backwater_fabric::PfcSpec;
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Rate, Span};

use super::lanes::{Lanes, guarded};
use super::{Context, Found, combined, mtu, overflow};
use crate::document::at;
use crate::settings::{self, FlowControl, Headroom, HeadroomRule, Queueing, ThresholdKind};

/// PFC as the fabric needs it; `None` if it is off, or wrong, which is reported.
pub(super) fn pfc(context: &mut Context<'_>, network: &Network, lanes: &Lanes) -> Option<PfcSpec> {
    let settings = context.settings;
    if settings.switch.flow_control != FlowControl::Pfc {
        return None;
    }
    let pfc = &settings.switch.pfc;
    let form = match pfc.form {
        settings::Form::Ideal => Form::Ideal,
        settings::Form::Timed => Form::Timed { pause: pfc.pause.0, poll: pfc.poll.0 },
    };
    if !combined::is_combined(settings) && settings.switch.queueing != Queueing::TwoPools {
        relations(context);
    }
    let lossless = guarded(context, &pfc.priorities, "pfc", lanes);
    let classes = u64::from((lanes.used & lossless).count_ones());
    let nic =
        network.hosts().iter().filter_map(|&host| network.ports(host).first()).map(|port| port.rate).min();
    let mut found = Vec::new();
    let thresholds = (0..network.nodes().len() as u32)
        .map(|node| {
            if network.is_switch(node) {
                switch(context, &mut found, (network, node), (classes, nic.unwrap_or(Rate::ZERO)))
            } else {
                Vec::new()
            }
        })
        .collect();
    context.report_worst(found);
    Some(PfcSpec { form, thresholds, frame: pfc.frame.0, priorities: lossless })
}

/// Values that contradict each other.
fn relations(context: &mut Context<'_>) {
    let pfc = &context.settings.switch.pfc;
    let orders = [
        (pfc.threshold == ThresholdKind::Static, "xon", Some(pfc.xon), "xoff", Some(pfc.xoff)),
        (pfc.threshold == ThresholdKind::Static, "port-xon", pfc.port_xon, "port-xoff", pfc.port_xoff),
    ];
    for (applies, low, low_value, high, high_value) in orders {
        let (Some(low_value), true) = (low_value, applies) else { continue };
        let label = match high_value {
            None => format!("{high} is missing"),
            Some(high_value) if low_value > high_value => format!("allowed: at most {high} = {high_value}"),
            Some(_) => continue,
        };
        let message = format!("switch.pfc.{low} = {low_value} is above switch.pfc.{high}");
        context.report(&at!["switch", "pfc", low], message, label, format!("lower {low} or raise {high}"));
    }
    if pfc.form == settings::Form::Timed && pfc.poll > pfc.pause {
        let message = format!("switch.pfc.poll = {} is longer than a pause, {}", pfc.poll, pfc.pause);
        let label = format!("allowed: at most {}", pfc.pause);
        let help = "pauses would expire before they are repeated; the authors' release polls every 2us for 5us pauses";
        context.report(&at!["switch", "pfc", "poll"], message, label, help);
    }
    if pfc.threshold == ThresholdKind::Dynamic && shift(pfc.alpha).is_none() {
        let message = format!("switch.pfc.alpha = {} is no power of two", pfc.alpha);
        let help = "alpha is a right shift in switches: the HPCC simulator has 0.125";
        context.report(&at!["switch", "pfc", "alpha"], message, "allowed: 1, 0.5, 0.25, 0.125, …", help);
    }
}

/// n for alpha = 2⁻ⁿ.
fn shift(alpha: f64) -> Option<u8> {
    (0..16u8).find(|&n| libm::ldexp(alpha, i32::from(n)).to_bits() == 1f64.to_bits())
}

/// The thresholds of one switch; a buffer that cannot hold them is reported.
fn switch(
    context: &mut Context<'_>,
    found: &mut Vec<Found>,
    (network, node): (&Network, u32),
    (classes, nic): (u64, Rate),
) -> Vec<Threshold> {
    let pfc = &context.settings.switch.pfc;
    let ports = network.ports(node);
    match pfc.threshold {
        // Regions of their own have their own thresholds and their own check.
        _ if combined::is_combined(context.settings) => {
            let stop = context.settings.switch.combined.stop.map_or(0, |stop| stop.0.get());
            let buffer = context.settings.switch.combined.ingress.0.get() * ports.len() as u64;
            let whole =
                Threshold::Static { xoff: stop, xon: stop, port_xoff: u64::MAX, port_xon: u64::MAX, buffer };
            vec![whole; ports.len()]
        }
        // Its shares take their place.
        _ if context.settings.switch.queueing == Queueing::TwoPools => {
            let (most, buffer) = (u64::MAX, context.settings.switch.buffer.0.get());
            let none = Threshold::Static { xoff: most, xon: most, port_xoff: most, port_xon: most, buffer };
            vec![none; ports.len()]
        }
        ThresholdKind::Static => {
            found.extend(fits_static(context, network, node, classes));
            let port = |bytes: Option<crate::quantity::Quantity<Bytes>>| {
                bytes.map_or(u64::MAX, |bytes| bytes.0.get())
            };
            let threshold = Threshold::Static {
                xoff: pfc.xoff.0.get(),
                xon: pfc.xon.0.get(),
                port_xoff: port(pfc.port_xoff),
                port_xon: port(pfc.port_xon),
                buffer: overflow::parts(context.settings).0.get(),
            };
            vec![threshold; ports.len()]
        }
        ThresholdKind::Dynamic => {
            let pool = fits_dynamic(context, found, (network, node), classes);
            found.extend(short(context, network, node, classes));
            let threshold = |port: &Port| Threshold::Dynamic {
                shift: port_shift(shift(pfc.alpha).unwrap_or(0), port.rate, nic),
                pool,
                reserve: pfc.reserve.0.get(),
                headroom: reserved(context, port, classes).get(),
                hysteresis: pfc.hysteresis.0.get(),
            };
            ports.iter().map(threshold).collect()
        }
    }
}

/// One less for each doubling of a port's rate above that of the NICs (`third.cc` of the HPCC simulator).
fn port_shift(shift: u8, rate: Rate, nic: Rate) -> u8 {
    let mut rate = rate.as_bps();
    let mut shift = shift;
    while rate > nic.as_bps() && shift > 0 {
        shift -= 1;
        rate /= 2;
    }
    shift
}

/// The headroom set apart for a port with dynamic thresholds, of which so many priorities are in use.
fn reserved(context: &Context<'_>, port: &Port, classes: u64) -> Bytes {
    let pfc = &context.settings.switch.pfc;
    match pfc.headroom {
        Headroom::Rule(HeadroomRule::Auto) => headroom_hpcc(port.rate, port.delay),
        Headroom::Rule(HeadroomRule::Standard) => {
            let packet = mtu(context.settings);
            headroom(port.rate, port.delay, packet, pfc.frame.0, RESPONSE).with_crossing() * classes
        }
        Headroom::Given(size) => size.0,
    }
}

/// What a priority books in the headroom of a port: the packet that crosses its threshold, and what arrives after the PAUSE.
fn booked(context: &Context<'_>, port: &Port) -> Bytes {
    let frame = context.settings.switch.pfc.frame.0;
    headroom(port.rate, port.delay, mtu(context.settings), frame, Span::ZERO).with_crossing()
}

/// What arrives at a port after its PAUSE was decided.
fn needed(context: &Context<'_>, port: &Port) -> Bytes {
    let frame = context.settings.switch.pfc.frame.0;
    headroom(port.rate, port.delay, mtu(context.settings), frame, Span::ZERO).bytes
}

/// Every ingress port and used priority may hold Xoff and what arrives after PAUSE.
fn fits_static(context: &Context<'_>, network: &Network, node: u32, classes: u64) -> Option<Found> {
    let (pfc, (buffer, lossy)) = (&context.settings.switch.pfc, overflow::parts(context.settings));
    let ports = network.ports(node);
    let count = ports.len() as u64 * classes;
    let head =
        ports.iter().map(|port| u128::from(needed(context, port).get())).sum::<u128>() * u128::from(classes);
    let need = u128::from(count) * u128::from(pfc.xoff.0.get()) + head;
    let by = need.checked_sub(u128::from(buffer.get())).filter(|&by| by > 0)?;
    let (name, beside) = (network.name(node), beside(lossy));
    let (need, head) = (shown(need), shown(head));
    let message = format!(
        "switch {name} has no headroom: it may have to hold {need}, and its buffer is {buffer}{beside}"
    );
    let ports = ports.len();
    let help = format!(
        "{ports} ports · {classes} (priorities in use) · xoff {} + {head} that arrives after PAUSE = {need}; raise \
         switch.buffer, or lower switch.pfc.xoff{}",
        pfc.xoff,
        or_pool(lossy)
    );
    let (path, label) = (at!["switch", "buffer"].to_vec(), format!("at least {}", need + lossy));
    Some(Found { path, name: name.to_owned(), by, message, label, help })
}

/// The memory left to share after headroom and reserves.
fn fits_dynamic(
    context: &Context<'_>,
    found: &mut Vec<Found>,
    (network, node): (&Network, u32),
    classes: u64,
) -> u64 {
    let (pfc, (buffer, lossy)) = (&context.settings.switch.pfc, overflow::parts(context.settings));
    let ports = network.ports(node);
    let head: u128 = ports.iter().map(|port| u128::from(reserved(context, port, classes).get())).sum();
    let reserve = u128::from(pfc.reserve.0.get()) * u128::from(classes) * ports.len() as u128;
    let name = network.name(node);
    let least = u128::from(mtu(context.settings).get());
    let pool = u128::from(buffer.get()).saturating_sub(head + reserve);
    if pool < least {
        let need = shown(head + reserve + least);
        let message =
            format!("switch {name} has no memory to share: its buffer is {buffer}{}", beside(lossy));
        let help = format!(
            "headroom of its {} ports {} + reserve {} + one packet = {need}; raise switch.buffer, or lower \
             switch.pfc.headroom or switch.pfc.reserve{}",
            ports.len(),
            shown(head),
            shown(reserve),
            or_pool(lossy)
        );
        let (path, label) = (at!["switch", "buffer"].to_vec(), format!("at least {}", need + lossy));
        found.push(Found { path, name: name.to_owned(), by: head + reserve, message, label, help });
    }
    pool as u64
}

/// What is set apart for priorities that are not lossless, in words.
fn beside(lossy: Bytes) -> String {
    if lossy == Bytes::new(0) { String::new() } else { format!(" beside the {lossy} of switch.lossy.pool") }
}

/// The same as what may be lowered, too.
fn or_pool(lossy: Bytes) -> &'static str {
    if lossy == Bytes::new(0) { "" } else { " or switch.lossy.pool" }
}

/// Headroom that is shorter than what is booked there.
fn short(context: &mut Context<'_>, network: &Network, node: u32, classes: u64) -> Option<Found> {
    let pfc = &context.settings.switch.pfc;
    let ports = network.ports(node).iter().enumerate();
    let has = |port| reserved(context, port, classes);
    let short = ports.map(|(index, port)| (index, has(port), booked(context, port) * classes));
    let (index, has, needs) = short.into_iter().find(|(_, has, needs)| has < needs)?;
    let port = network.port_name(node, index as u16);
    let message =
        format!("the headroom of port {port}, {has}, is less than the {needs} that it may have to hold");
    match pfc.headroom {
        Headroom::Given(_) => {
            let of = if classes == 1 { String::new() } else { format!(", for each of {classes} priorities") };
            let help = format!(
                "the packet that crosses the threshold is counted, and 2 · delay · rate + 2 packets + 1 PFC frame arrive after \
                 it{of}; raise switch.pfc.headroom"
            );
            let (path, label) = (at!["switch", "pfc", "headroom"].to_vec(), format!("at least {needs}"));
            let by = u128::from((needs - has).get());
            Some(Found { path, name: port.clone(), by, message, label, help })
        }
        Headroom::Rule(_) => {
            let caveat = format!(
                "{message}: `auto` is the HPCC simulator's rule, which counts no packets; set switch.pfc.headroom = \"802.1qbb\", or \
                 an overflow stops the run"
            );
            if context.caveats.iter().all(|known| known.code != Code::ShortHeadroom) {
                context.caveat(Code::ShortHeadroom, "switch.pfc.headroom", caveat);
            }
            None
        }
    }
}

/// A size for a message, rounded up to whole kilobytes, so that a buffer set to it is large enough.
fn shown(bytes: u128) -> Bytes {
    Bytes::new(u64::try_from(bytes.next_multiple_of(1000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_a_right_shift_and_doubles_with_the_rate_of_the_port() {
        assert_eq!(shift(0.125), Some(3));
        assert_eq!(shift(1.0), Some(0));
        assert_eq!(shift(0.3), None);
        let nic = Rate::from_gbps(100);
        assert_eq!([100, 200, 400, 3200].map(|gbps| port_shift(3, Rate::from_gbps(gbps), nic)), [3, 2, 1, 0]);
    }
}
