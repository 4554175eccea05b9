//! Credit-based flow control: buffers that hold what a link sends until its credits come back.
use backwater_codes::Code;
use backwater_control::flow_control::{
    CreditReturn, Feasibility, LONGEST_PERIOD, Unit, feasibility, longest_period,
};
use backwater_fabric::{CreditSpec, Start};
use backwater_topology::Network;
use backwater_units::{Bytes, Rate, Span};

use super::lanes::{Lanes, guarded};
use super::{Context, mtu};
use crate::document::{Step, at};
use crate::quantity::Quantity;
use crate::settings::{CreditStart, Credits, FlowControl, Returned};

/// The rates of four lanes of 8b/10b (InfiniBand specification: SDR, DDR, QDR).
const SIGNALLING: [Rate; 3] = [Rate::from_gbps(10), Rate::from_gbps(20), Rate::from_gbps(40)];

/// Credits as the fabric needs them; `None` if they are off, or wrong, which is reported.
pub(super) fn credits(context: &mut Context<'_>, network: &Network, lanes: &Lanes) -> Option<CreditSpec> {
    let settings = context.settings;
    if settings.switch.flow_control != FlowControl::Credits {
        return None;
    }
    let credits = &settings.switch.credits;
    let priorities = guarded(context, &credits.priorities, "credits", lanes);
    loss(context, credits);
    let classes = u64::from((lanes.used & priorities).count_ones().max(1));
    let unit = unit(context);
    let share = unit.size() * unit.within(Bytes::new(credits.buffer.0.get() / classes));
    if holds_a_packet(context, network, share, classes) {
        fits(context, network, share, classes);
    }
    symbol_times(context, network);
    leave_room_for_data(context, network, classes);
    Some(CreditSpec {
        buffer: share,
        start: match credits.start {
            CreditStart::Packet => Start::Packet,
            CreditStart::Full => Start::Full,
        },
        unit,
        returned: returned(credits),
        frame: credits.frame.0,
        unchanged: credits.unchanged,
        loss_ppm: libm::round(credits.loss * 1e6) as u32,
        priorities,
    })
}

/// What one credit stands for; what is none is reported.
fn unit(context: &mut Context<'_>) -> Unit {
    let credits = &context.settings.switch.credits;
    if let Err(error) = Unit::new(credits.unit.0) {
        context.refuse(&at!["switch", "credits"], &error);
    }
    settled(credits)
}

/// The same, or a block in its place if it is wrong.
pub(super) fn settled(credits: &Credits) -> Unit {
    Unit::new(credits.unit.0).unwrap_or(Unit::BLOCK)
}

pub(super) fn returned(credits: &Credits) -> CreditReturn {
    match credits.returned {
        Returned::Periodic => CreditReturn::Periodic(credits.period.0),
        Returned::AtOnce => CreditReturn::AtOnce,
    }
}

/// An update that is lost must be made up for by a later one.
fn loss(context: &mut Context<'_>, credits: &Credits) {
    let periodic = credits.returned == Returned::Periodic;
    if credits.loss == 0.0 || (periodic && credits.unchanged) {
        return;
    }
    let mut message =
        format!("switch.credits.loss = {}, but a lost update may be the last one", credits.loss);
    message += if periodic { " while nothing changes" } else { ": they are sent only when packets leave" };
    let help = if periodic {
        "set switch.credits.unchanged = true, so that updates go on, or loss = 0"
    } else {
        "set switch.credits.returned = \"periodic\" and unchanged = true, so that updates go on, or loss = 0"
    };
    context.report(&at!["switch", "credits", "loss"], message, "credits would be lost for ever", help);
}

/// How a share comes about, for messages: nothing to say if there is one VL only.
fn divided(context: &Context<'_>, classes: u64) -> String {
    let buffer = context.settings.switch.credits.buffer;
    if classes == 1 {
        String::new()
    } else {
        format!(" (a share of {buffer} / {classes} virtual lanes with traffic)")
    }
}

/// Without room for one packet nothing is ever sent.
fn holds_a_packet(context: &mut Context<'_>, network: &Network, share: Bytes, classes: u64) -> bool {
    let packet = in_credits(mtu(context.settings), settled(&context.settings.switch.credits).size());
    if share >= packet {
        return true;
    }
    // What the next check asks for, so that its help is not needed after this one's.
    let line_rate = worst(context, network, classes).map_or(packet, |(_, need)| need.needed.max(packet));
    let least = Quantity(up_to_kb(line_rate * classes));
    let message = format!(
        "switch.credits.buffer = {} holds no packet: a virtual lane has {share}{}, and a packet takes {packet}",
        context.settings.switch.credits.buffer,
        divided(context, classes)
    );
    let help = format!("raise switch.credits.buffer to at least {least}, or lower packet.payload");
    context.report(&at!["switch", "credits", "buffer"], message, format!("at least {least}"), help);
    false
}

fn in_credits(size: Bytes, unit: Bytes) -> Bytes {
    unit * size.get().div_ceil(unit.get())
}

/// The link that needs most: the port at its upstream end, and what each of its virtual lanes needs.
fn worst(context: &Context<'_>, network: &Network, classes: u64) -> Option<(String, Feasibility)> {
    let credits = &context.settings.switch.credits;
    let mtu = mtu(context.settings);
    // The updates of all virtual lanes may leave together.
    let updates = credits.frame.0 * classes;
    let mut links: Vec<(Rate, Span, u32, u16)> = Vec::new();
    for node in 0..network.nodes().len() as u32 {
        for (index, port) in (0..).zip(network.ports(node)) {
            if !links.iter().any(|&(rate, delay, ..)| (rate, delay) == (port.rate, port.delay)) {
                links.push((port.rate, port.delay, node, index));
            }
        }
    }
    let needs = links.into_iter().map(|(rate, delay, node, index)| {
        (node, index, feasibility(rate, delay, returned(credits), mtu, updates, settled(credits)))
    });
    let worst = needs.reduce(|worst, other| if other.2.needed > worst.2.needed { other } else { worst });
    worst.map(|(node, index, need)| (network.port_name(node, index), need))
}

/// A link at line rate must not run out of credits while those it has used are on their way back.
fn fits(context: &mut Context<'_>, network: &Network, share: Bytes, classes: u64) {
    let Some((name, need)) = worst(context, network, classes).filter(|(_, need)| need.needed > share) else {
        return;
    };
    let credits = &context.settings.switch.credits;
    let least = Quantity(up_to_kb(need.needed * classes));
    let has = format!("{}{}", Quantity(share), divided(context, classes));
    let (rate, needed) = (need.rate, Quantity(need.needed));
    if credits.returned == Returned::AtOnce {
        let arithmetic = steps(need, credits, classes).join("; ");
        context.caveat(Code::SlowCredits, "switch.credits.buffer", format!(
            "the link {name} cannot reach its {rate}: a virtual lane has a buffer of {has} and needs {needed} until credits \
             come back ({arithmetic}); raise switch.credits.buffer to at least {least}"
        ));
        return;
    }
    let longest = longest_period(rate, need.delay, share, need.mtu, need.frame, need.unit).map(tenths);
    let longest = longest.filter(|&longest| longest > Span::ZERO);
    let shorter = longest.map_or_else(
        || " (no switch.credits.period is short enough)".to_owned(),
        |longest| format!(", or shorten switch.credits.period from {} to at most {longest}", credits.period),
    );
    let message = format!(
        "the link {name} starves without any congestion: a virtual lane has a buffer of {has}, and {rate} need {needed}"
    );
    let help = format!(
        "raise switch.credits.buffer to at least {least}{shorter}{}. What line rate needs:\n  {}",
        coded(need, share),
        steps(need, credits, classes).join("\n  ")
    );
    let (place, label) = to_blame(context, least, longest);
    context.report(&place, message, label, help);
}

/// Half a sentence for those who gave the signalling rate of four lanes of 8b/10b for the data rate, if that is all there is.
fn coded(need: Feasibility, share: Bytes) -> String {
    let data = Rate::from_bps(need.rate.as_bps() / 5 * 4);
    let period = longest_period(data, need.delay, share, need.mtu, need.frame, need.unit);
    if !SIGNALLING.contains(&need.rate) || period.is_none_or(|longest| longest < need.period) {
        return String::new();
    }
    format!(", or, if {} is the signalling with 8b/10b, give the links its data rate, {data}", need.rate)
}

/// The derivation, line by line.
fn steps(need: Feasibility, credits: &Credits, classes: u64) -> Vec<String> {
    let frame = credits.frame;
    let together = (classes > 1)
        .then(|| format!("updates of {classes} virtual lanes = {classes}*{frame} = {}", need.frame));
    together.into_iter().chain(need.steps().map(|step| step.to_string())).collect()
}

/// Where a user can mend a link that starves: what they wrote about its credits, else its rate.
fn to_blame(context: &Context<'_>, least: Quantity<Bytes>, longest: Option<Span>) -> (Vec<Step>, String) {
    let wrote = |table: &[&str], key| context.wrote(table).is_some_and(|table| table.get(key).is_some());
    let credits = |key| at!["switch", "credits", key].to_vec();
    match longest {
        Some(longest)
            if !wrote(&["switch", "credits"], "buffer") && wrote(&["switch", "credits"], "period") =>
        {
            (credits("period"), format!("at most {longest}"))
        }
        _ if wrote(&["switch", "credits"], "buffer") || !wrote(&["topology"], "rate") => {
            (credits("buffer"), format!("at least {least}"))
        }
        _ => (at!["topology", "rate"].to_vec(), format!("needs a buffer of at least {least}")),
    }
}

/// Rounded down to tenths of a microsecond for a message.
fn tenths(span: Span) -> Span {
    Span::from_ps(span.as_ps() / 100_000 * 100_000)
}

/// Rounded up to whole kilobytes for a message, so that a buffer set to it is large enough.
fn up_to_kb(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get().next_multiple_of(1000))
}

/// The standard bounds the period by symbol times of the link.
fn symbol_times(context: &mut Context<'_>, network: &Network) {
    let credits = &context.settings.switch.credits;
    if credits.returned != Returned::Periodic {
        return;
    }
    let ports = (0..network.nodes().len() as u32).flat_map(|node| network.ports(node));
    let Some(rate) = ports.map(|port| port.rate).max() else { return };
    let longest = rate.serialize(LONGEST_PERIOD);
    if credits.period.0 > longest {
        let caveat = format!(
            "switch.credits.period = {} is more than 65 536 symbol times of a {rate} link ({longest} with four lanes of 8b/10b), \
             the longest that the InfiniBand specification allows",
            credits.period
        );
        context.caveat(Code::LongCreditPeriod, "switch.credits.period", caveat);
    }
}

/// Updates go before data: those that are sent whatever happens must not fill the slowest link.
fn leave_room_for_data(context: &mut Context<'_>, network: &Network, classes: u64) {
    let credits = &context.settings.switch.credits;
    if credits.returned != Returned::Periodic || !credits.unchanged {
        return;
    }
    let ports = (0..network.nodes().len() as u32).flat_map(|node| network.ports(node));
    let Some(rate) = ports.map(|port| port.rate).min() else { return };
    let updates = rate.serialize(credits.frame.0 * classes);
    if credits.period.0 > updates {
        return;
    }
    let lanes = if classes == 1 { "one virtual lane".to_owned() } else { format!("{classes} virtual lanes") };
    let message = format!(
        "switch.credits.period = {} leaves a {rate} link no time for data: the updates of {lanes} take {updates}, \
         {} each, and with unchanged = true they never end",
        credits.period, credits.frame
    );
    let help = format!(
        "lengthen switch.credits.period to {} or more, a tenth of the link for updates, or set switch.credits.unchanged = false",
        Quantity(updates * 10)
    );
    let label = format!("longer than {updates}");
    context.report(&at!["switch", "credits", "period"], message, label, help);
}
