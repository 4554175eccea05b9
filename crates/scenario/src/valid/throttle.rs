//! Proactive flow throttling (PFT) at the hosts: it needs credits to count, and thresholds that they can reach.
use backwater_codes::Code;
use backwater_control::flow_control::feasibility;
use backwater_fabric::{CreditSpec, ThrottleSpec};
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Rate};

use super::cc::below;
use super::credits::{returned, settled};
use super::lanes::Lanes;
use super::{Context, mtu};
use crate::document::{Step, at};
use crate::quantity::Quantity;
use crate::settings::{IntervalKind, PftParams, Polarity, RuleKind, Scope, Switching, ThrottleKind};

/// Credits of a buffer, and what a host's link at line rate uses of them without congestion.
struct Credits {
    /// What the used credits that are counted together can be at most.
    capacity: u64,
    in_flight: u64,
    unit: Bytes,
    /// Of the hosts' links.
    rate: Rate,
}

/// How all hosts are throttled, if they are; what is wrong with `[host.throttle]` is reported. `credits` are those of the fabric, if they
/// are right.
pub(super) fn throttle(
    context: &mut Context<'_>,
    network: &Network,
    lanes: &Lanes,
    credits: Option<&CreditSpec>,
) -> Option<ThrottleSpec> {
    let settings = context.settings;
    if settings.host.throttle.kind == ThrottleKind::None {
        return None;
    }
    let before = context.problems.len();
    windows(context);
    never_sends(context);
    let limits = credits.map(|credits| count(context, network, lanes, credits));
    fixed(context, limits.as_ref());
    let limits = limits?;
    reach(context, &limits);
    if context.problems.len() > before {
        return None;
    }
    idle(context, &limits);
    stops(context, &limits);
    clock(context, &limits);
    line_rate(context, &limits);
    let pft = settings.host.throttle.pft;
    let capacity = u32::try_from(limits.capacity).unwrap_or(u32::MAX);
    let config = pft.resolve(capacity);
    if let Err(error) = config.validate() {
        context.refuse(&at!["host", "throttle", "pft"], &error);
    }
    Some(ThrottleSpec { config, scope: pft.per })
}

/// What the thresholds are compared with.
fn count(context: &Context<'_>, network: &Network, lanes: &Lanes, credits: &CreditSpec) -> Credits {
    let settings = context.settings;
    let unit = settled(&settings.switch.credits);
    let classes = u64::from((lanes.used & credits.priorities).count_ones().max(1));
    let counted = if settings.host.throttle.pft.per == Scope::VirtualLane { 1 } else { classes };
    let mtu = mtu(settings);
    let updates = settings.switch.credits.frame.0 * classes;
    let packets = nics(network).map(|port| {
        feasibility(port.rate, port.delay, returned(&settings.switch.credits), mtu, updates, unit).packets
    });
    // A switch that cuts through has the next packet before the last one is out.
    let early = u64::from(settings.switch.switching == Switching::CutThrough);
    let packets = packets.max().unwrap_or_default().saturating_sub(early);
    Credits {
        capacity: unit.within(credits.buffer) * counted,
        in_flight: packets.saturating_mul(mtu.get().div_ceil(unit.size().get())),
        unit: unit.size(),
        rate: nics(network).map(|port| port.rate).max().unwrap_or(Rate::ZERO),
    }
}

/// The ports of the hosts.
fn nics(network: &Network) -> impl Iterator<Item = &Port> {
    network.hosts().iter().filter_map(|&host| network.ports(host).first())
}

/// A key of `[host.throttle.pft]`, with dots where it stands deeper.
fn path(key: &'static str) -> Vec<Step> {
    below(&at!["host", "throttle", "pft"], key)
}

/// Algorithm 1 needs thresholds in order.
fn fixed(context: &mut Context<'_>, limits: Option<&Credits>) {
    let pft = &context.settings.host.throttle.pft;
    let (PftParams { enter, escape, .. }, available) = (*pft, pft.credits == Polarity::Available);
    if pft.rule != RuleKind::Fixed || enter == escape || available == (enter < escape) {
        return;
    }
    let (message, label, fix) = if available {
        let message = format!(
            "host.throttle.pft.enter = {enter} is above escape = {escape}: with credits = \"available\" a port becomes congested when fewer than enter \
             are left and normal when more than escape are, and rule = \"fixed\" (PFT paper, Algorithm 1) needs a hysteresis, enter <= escape"
        );
        (
            message,
            format!("allowed: 0 to {escape}"),
            "set credits = \"used\", with which these are the way round that Algorithm 1 asks for",
        )
    } else {
        let message = format!(
            "host.throttle.pft.enter = {enter} is below escape = {escape}: with rule = \"fixed\" a port becomes congested when it has used more \
             than enter credits and normal when it has used fewer than escape (PFT paper, Algorithm 1, which asks for t_e >= t_s); \
             between the two it would be both"
        );
        let most = limits.map_or(u64::from(u32::MAX), |limits| limits.capacity.saturating_sub(1));
        let fix = "set rule = \"average\", where between the two it is a duty-cycled throttle, or credits = \"available\", with which \
                   credits that are left are counted and these are a hysteresis";
        (message, format!("allowed: {escape} to {most}"), fix)
    };
    let help = format!("exchange the two; or {fix}");
    context.report(&path("enter"), message, label, help);
}

/// A window must be longer than what ends it.
fn windows(context: &mut Context<'_>) {
    let pft = context.settings.host.throttle.pft;
    if pft.rule != RuleKind::Average {
        return;
    }
    let windows = pft.average;
    let both = [
        (
            "average.enter-hits",
            "average.enter-window",
            windows.enter_hits,
            windows.enter_window,
            "T_e > T_e'",
        ),
        (
            "average.escape-hits",
            "average.escape-window",
            windows.escape_hits,
            windows.escape_window,
            "T_s > T_s'",
        ),
    ];
    for (key, of, hits, window, rule) in both {
        if hits < window {
            continue;
        }
        let message = format!(
            "host.throttle.pft.{key} = {hits} is not less than {of} = {window}: no window has so many cycles to spare (PFT paper, Algorithm 2: \
             {rule})"
        );
        let label =
            if window > 1 { format!("allowed: 1 to {}", window - 1) } else { format!("{of} is too short") };
        context.report(&path(key), message, label, format!("lower {key}, or raise {of}"));
    }
}

/// f(c), as the hardware would compute it in numbers of any length.
fn f(pft: &PftParams, c: u64) -> i128 {
    ((i128::from(c) << pft.m) >> pft.n) + i128::from(pft.k)
}

/// A law that sends nothing whatever has been used cannot be meant.
fn never_sends(context: &mut Context<'_>) {
    let pft = context.settings.host.throttle.pft;
    if pft.interval == IntervalKind::Fixed || f(&pft, 0) < 1 << pft.random_bits {
        return;
    }
    let range = 1u64 << pft.random_bits;
    let message = format!(
        "host.throttle.pft.k = {} is not below 2^random-bits = {range}: while a port is congested no random number is as large as f(c) >= k, and \
         it never sends",
        pft.k
    );
    let label = format!("allowed: up to {}", range - 1);
    context.report(&path("k"), message, label, "lower k (the PFT paper has 0), or raise random-bits");
}

/// Thresholds that credits can cross.
fn reach(context: &mut Context<'_>, limits: &Credits) {
    let (pft, capacity) = (context.settings.host.throttle.pft, limits.capacity);
    let (enter, escape) = (u64::from(pft.enter), u64::from(pft.escape));
    let buffer = format!("{capacity} credits of {}", Quantity(limits.unit));
    let mut report = |key: &'static str, value, what: &str, label: String| {
        let message = format!("host.throttle.pft.{key} = {value}: {what}, and a port has {buffer}");
        let help = format!("choose another {key}, or a larger switch.credits.buffer");
        context.report(&path(key), message, label, help);
    };
    match pft.credits {
        Polarity::Used => {
            if enter >= capacity {
                let label = format!("allowed: 0 to {}", capacity.saturating_sub(1));
                report(
                    "enter",
                    enter,
                    "no port would ever be congested: it would have to use more credits",
                    label,
                );
            }
            let label = format!("allowed: 1 to {capacity}");
            if escape == 0 {
                report(
                    "escape",
                    escape,
                    "a port would stay congested for ever: it cannot use less than none",
                    label,
                );
            } else if escape > capacity {
                report("escape", escape, "no port would stay congested: it always uses less", label);
            }
        }
        Polarity::Available => {
            let label = format!("allowed: 1 to {capacity}");
            if enter == 0 {
                report(
                    "enter",
                    enter,
                    "no port would ever be congested: it cannot have less than none left",
                    label,
                );
            } else if enter > capacity {
                report("enter", enter, "a port would always be congested: it never has as many left", label);
            }
            if escape >= capacity {
                let label = format!("allowed: 0 to {}", capacity.saturating_sub(1));
                report(
                    "escape",
                    escape,
                    "a port would stay congested for ever: it would have to have more left",
                    label,
                );
            }
        }
    }
}

/// A law that never holds anything back.
fn idle(context: &mut Context<'_>, limits: &Credits) {
    let pft = context.settings.host.throttle.pft;
    if f(&pft, limits.capacity) <= 0 {
        context.caveat(Code::ThrottleIdle, "host.throttle.kind", format!(
            "host.throttle.kind = \"pft\" has no effect: f(c) = ((c << {}) >> {}) + {} is not above 0 for any of the {} credits that a port \
             has; raise m, lower n or raise switch.credits.buffer",
            pft.m, pft.n, pft.k, limits.capacity
        ));
    }
}

/// Idle cycles for each flit from which an interval is a stop: a thousandth of the line.
const STOP: i128 = 1000;

/// An interval so long that a port which becomes congested hardly sends.
fn stops(context: &mut Context<'_>, limits: &Credits) {
    let pft = context.settings.host.throttle.pft;
    let c = match pft.credits {
        Polarity::Used => u64::from(pft.enter),
        Polarity::Available => limits.capacity.saturating_sub(u64::from(pft.enter)),
    };
    let idle = f(&pft, c);
    if pft.interval == IntervalKind::Fixed && idle >= STOP {
        context.caveat(Code::ThrottleStops, "host.throttle.pft", format!(
            "host.throttle.pft.interval = \"fixed\" with m = {}, n = {}, k = {}: f({c}) = {idle} idle cycles for each flit, so that a port \
             that has just become congested stops; the PFT paper has m = 0 and n from 8 to 12 here",
            pft.m, pft.n, pft.k
        ));
    }
}

/// A clock that does not fit the flits of the link: a cycle of f(c) is then several flits long, or less than half of one.
fn clock(context: &mut Context<'_>, limits: &Credits) {
    let mhz = u64::from(context.settings.host.throttle.pft.clock_mhz);
    let flits = (limits.rate.as_bps() / 1_000_000 / (8 * limits.unit.get().max(1))).max(1);
    if flits >= 2 * mhz || mhz >= 2 * flits {
        context.caveat(Code::ThrottleClock, "host.throttle.pft.clock-mhz", format!(
            "host.throttle.pft.clock-mhz = {mhz}: a link of {} carries {:.2} flits of {} in a cycle, and f(c) counts idle cycles for each \
             flit; set clock-mhz = {flits} for one flit in a cycle",
            Quantity(limits.rate), flits as f64 / mhz as f64, Quantity(limits.unit)
        ));
    }
}

/// A threshold that a link at line rate crosses on its own.
fn line_rate(context: &mut Context<'_>, limits: &Credits) {
    let pft = context.settings.host.throttle.pft;
    let used = limits.in_flight.min(limits.capacity);
    let (crossed, shown) = match pft.credits {
        Polarity::Used => {
            (used > u64::from(pft.enter), format!("above host.throttle.pft.enter = {}", pft.enter))
        }
        Polarity::Available => {
            let left = limits.capacity - used;
            (
                left < u64::from(pft.enter),
                format!("which leaves {left}, below host.throttle.pft.enter = {}", pft.enter),
            )
        }
    };
    if crossed {
        context.caveat(Code::ThrottleAlways, "host.throttle.pft.enter", format!(
            "without any congestion a host at line rate may use {used} credits until they come back, {shown}: PFT may take that \
             for congestion"
        ));
    }
}
