//! The detectors of the egress ports.
use backwater_codes::{Code, Remark};
use backwater_control::ConfigError;
use backwater_control::detector::{Detector, PortFacts, RAMP, Tcd};
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Span};

use super::lanes::Lanes;
use super::{Context, cc, combined, is_put, mtu, overflow, user};
use crate::document::{Node, at};
use crate::quantity::Quantity;
use crate::scenario::Scenario;
use crate::settings::{DetectorKind, FlowControl, Kinds, OnOverflow, Returned, Settings, ThresholdKind};

/// Congestion degree where credits come back at once and nothing else is given. The TCD paper is silent about such credits;
/// this is what it recommends in general (§4.2).
const EPSILON: f64 = 0.05;

/// Writes out the defaults that depend on the trend policy, the packet and the flow control.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    under_credits(settings, written);
    settings.switch.detector.tcd = settings.switch.detector.tcd.complete(mtu(settings));
}

/// What is said of a threshold that a higher layer gives: it took the place of the one that each row of `by-rate` had.
pub(super) fn note(scenario: &Scenario) -> Option<Remark> {
    let rows = &scenario.settings().switch.detector.by_rate;
    let source = |index: usize, key: &'static str| {
        scenario.root.place_of(&at!["switch", "detector", "by-rate", index, key]).source
    };
    let replaced =
        |key: &&'static str| (0..rows.len()).any(|index| source(index, key) != source(index, "rate"));
    let keys: Vec<&'static str> = ["kmin", "kmax", "pmax"].into_iter().filter(replaced).collect();
    let rates: Vec<String> = rows.iter().map(|row| row.rate.to_string()).collect();
    (!keys.is_empty()).then(|| {
        let (keys, rates) = (keys.join(", "), rates.join(", "));
        let message =
            format!("as given, at every rate: {keys}, also in the rows of switch.detector.by-rate ({rates})");
        Remark::new(Code::SameAtEveryRate, "switch.detector.by-rate", message)
    })
}

/// max(Ton) and T under credits: what a profile says about PFC does not hold, what the user wrote does. Credits that come
/// back every Tc keep a port ON for less than Tc (Eqn 4 of the TCD paper): max(Ton) = Tc, and T is what the trend's rule asks for.
fn under_credits(settings: &mut Settings, written: &Node) {
    if settings.switch.flow_control != FlowControl::Credits {
        return;
    }
    let said = |key| written.get("switch").and_then(|t| t.get("detector")?.get("tcd")?.get(key)).is_some();
    let (periodic, detector) = (periodic(settings), &mut settings.switch.detector);
    let tcd = &mut detector.tcd;
    if let Some(period) = periodic {
        let own = Tcd::credits(tcd.trend, period.0, detector.kmax.0, Bytes::new(1));
        tcd.period.get_or_insert(Quantity(own.period));
        tcd.epsilon = None;
    }
    if said("max-ton") {
        return;
    }
    tcd.max_ton = periodic;
    if periodic.is_none() {
        tcd.epsilon.get_or_insert(EPSILON);
    }
}

/// One detector per port of each switch, none for hosts.
pub(super) fn detectors(
    context: &mut Context<'_>,
    network: &Network,
    lanes: &Lanes,
) -> Option<Vec<Vec<Detector>>> {
    let settings = context.settings;
    let detector = &settings.switch.detector;
    let tcd = &detector.tcd;
    if detector.kind == DetectorKind::Tcd && tcd.max_ton.is_some() == tcd.epsilon.is_some() {
        let message = match tcd.max_ton {
            Some(_) => "switch.detector.tcd has both max-ton and epsilon",
            None => "switch.detector.tcd has neither max-ton nor epsilon",
        };
        let help = "give max-ton = \"97us\", or epsilon = 0.05 to have it computed for each port";
        context.report(
            &at!["switch", "detector", "tcd", "epsilon"],
            message.to_owned(),
            "one of the two",
            help,
        );
        return None;
    }
    if detector.kind == DetectorKind::Custom {
        user::detector(context)?;
    }
    without_flow_control(context);
    let full = overflow::proportion(settings, network);
    let judged = |port: &Port| -> Result<Detector, ConfigError> {
        if detector.kind.has_ramp() && !detector.last_hop && !network.is_switch(port.peer) {
            return Ok(Detector::None);
        }
        let made = detector.resolve(&facts(settings, port, lanes))?;
        Ok(full.map_or(made, |full| made.in_proportion(port.rate, full)))
    };
    let mut detectors = Vec::with_capacity(network.nodes().len());
    for node in 0..network.nodes().len() as u32 {
        let ports = if network.is_switch(node) { network.ports(node) } else { &[] };
        let made: Result<Vec<_>, _> = ports.iter().map(judged).collect();
        match made {
            Ok(made) => detectors.push(made),
            Err(error) => {
                let above = at!["switch", "detector"];
                let shared = RAMP.contains(&error.parameter);
                let own = || cc::below(&above, detector.kind.word());
                context.refuse(&if shared { above.to_vec() } else { own() }, &error);
                return None;
            }
        }
    }
    let marks = detectors.iter().flatten().any(|made| *made != Detector::None);
    if detector.kind.has_ramp() && !detector.last_hop && !marks {
        let message =
            "switch.detector.last-hop = false: all ports of switches lead to hosts, so nothing is marked";
        context.caveat(Code::NoEffect, "switch.detector.last-hop", message);
    }
    Some(detectors)
}

/// What detection means where nothing holds a port back, and where a port drops packets before it marks them.
fn without_flow_control(context: &mut Context<'_>) {
    let settings = context.settings;
    let (switch, detector) = (&settings.switch, &settings.switch.detector);
    let pairs = (0..settings.traffic.len()).any(|index| !is_put(settings, index));
    if switch.flow_control != FlowControl::None || !pairs {
        return;
    }
    if detector.kind == DetectorKind::Tcd && !super::keyed::holds(settings) {
        let message = "switch.detector.kind = \"tcd\": without flow control no port is ever OFF, so TCD never says UE and marks CE as \
                       \"red\" does";
        context.caveat(Code::TcdWithoutOff, "switch.detector.kind", message);
    }
    let marks = matches!(detector.kind, DetectorKind::Tcd | DetectorKind::Red);
    let room = switch.port_buffer;
    if marks && switch.overflow == OnOverflow::Drop && detector.kmax > room {
        let never = if detector.kmin >= room { "no packet is marked" } else { "none is marked for certain" };
        let message = format!(
            "switch.detector.kmax = {} is more than switch.port-buffer = {room}: {never} before packets are dropped",
            detector.kmax
        );
        context.caveat(Code::DropsBeforeMarks, "switch.detector.kmax", message);
    }
}

fn facts(settings: &Settings, port: &Port, lanes: &Lanes) -> PortFacts {
    let pfc = &settings.switch.pfc;
    // Credits that come back at once resume a port when one packet fits again.
    let gap = match (settings.switch.flow_control, pfc.threshold) {
        (FlowControl::Credits, _) => mtu(settings),
        _ if combined::is_combined(settings) => combined::widest(settings, lanes),
        (_, ThresholdKind::Static) => pfc.xoff.0.saturating_sub(pfc.xon.0),
        (_, ThresholdKind::Dynamic) => pfc.hysteresis.0,
    };
    PortFacts {
        rate: port.rate,
        delay: port.delay,
        mtu: mtu(settings),
        gap,
        credits: periodic(settings).map(|period| period.0),
    }
}

/// Tc, if credits come back periodically.
fn periodic(settings: &Settings) -> Option<Quantity<Span>> {
    let (switch, credits) = (&settings.switch, &settings.switch.credits);
    let periodic = switch.flow_control == FlowControl::Credits && credits.returned == Returned::Periodic;
    periodic.then_some(credits.period)
}
