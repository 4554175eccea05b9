//! The detectors of the egress ports.
use backwater_codes::{Code, Remark};
use backwater_control::ConfigError;
use backwater_control::detector::{self, Detector, Fecn, NpEcn, Red, Tcd, max_ton, max_ton_authors};
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Rate, Span};

use super::lanes::Lanes;
use super::{Context, combined, mtu, user};
use crate::document::{Node, at};
use crate::quantity::Quantity;
use crate::scenario::Scenario;
use crate::settings::{self, DetectorKind, FlowControl, Returned, Settings, ThresholdKind, Trend};

/// Two units of 1030 B (authors' release).
const AUTHORS_LOW: Bytes = Bytes::new(2060);
/// Nine tenths of a packet (authors' release).
const AUTHORS_DELTA: Bytes = Bytes::new(900);

/// Congestion degree where credits come back at once and nothing else is given. The TCD paper is silent about such credits;
/// this is what it recommends in general (§4.2).
const EPSILON: f64 = 0.05;

/// Writes out the defaults that depend on the trend policy, the packet and the flow control.
pub(super) fn fill(settings: &mut Settings, written: &Node) {
    under_credits(settings, written);
    let mtu = mtu(settings);
    let detector = &mut settings.switch.detector;
    let (low, delta) = match detector.trend {
        Trend::Authors => (AUTHORS_LOW, AUTHORS_DELTA),
        Trend::Rise | Trend::NoFall | Trend::RiseBp => (mtu, mtu * 2),
    };
    detector.low.get_or_insert(Quantity(low));
    detector.delta.get_or_insert(Quantity(delta));
    detector.period = detector.period.or(detector.max_ton);
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
/// back every Tc keep a port ON for less than Tc (Eqn 4 of the TCD paper): max(Ton) = Tc. A period T of Tc, as the paper has
/// it, would sample the queue in step with the credits; T is long enough not to.
fn under_credits(settings: &mut Settings, written: &Node) {
    let (credits, detector) = (&settings.switch.credits, &mut settings.switch.detector);
    if settings.switch.flow_control != FlowControl::Credits {
        return;
    }
    let said = |key| written.get("switch").and_then(|t| t.get("detector")?.get(key)).is_some();
    let periodic = credits.returned == Returned::Periodic;
    if periodic {
        let paper = Tcd::credits(credits.period.0, detector.kmax.0, Bytes::new(1));
        detector.period.get_or_insert(Quantity(paper.period));
        detector.epsilon = None;
    }
    if said("max-ton") {
        return;
    }
    detector.max_ton = periodic.then_some(credits.period);
    if !periodic {
        detector.epsilon.get_or_insert(EPSILON);
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
    if detector.kind == DetectorKind::Tcd && detector.max_ton.is_some() == detector.epsilon.is_some() {
        let message = match detector.max_ton {
            Some(_) => "switch.detector has both max-ton and epsilon",
            None => "switch.detector has neither max-ton nor epsilon",
        };
        let help = "give max-ton = \"97us\", or epsilon = 0.05 to have it computed for each port";
        context.report(&at!["switch", "detector", "epsilon"], message.to_owned(), "one of the two", help);
        return None;
    }
    if detector.kind == DetectorKind::Custom {
        user::detector(context)?;
    }
    let mut detectors = Vec::with_capacity(network.nodes().len());
    for node in 0..network.nodes().len() as u32 {
        let ports = if network.is_switch(node) { network.ports(node) } else { &[] };
        let made = ports.iter().map(|port| make(settings, port, lanes)).collect::<Result<Vec<_>, _>>();
        match made {
            Ok(made) => detectors.push(made),
            Err(error) => {
                context.refuse(&at!["switch", "detector"], &error);
                return None;
            }
        }
    }
    Some(detectors)
}

fn make(settings: &Settings, port: &Port, lanes: &Lanes) -> Result<Detector, ConfigError> {
    let config = &settings.switch.detector;
    let detector = match config.kind {
        DetectorKind::None => Detector::None,
        DetectorKind::Red => Detector::Red(red(config, port.rate)?),
        DetectorKind::Tcd => Detector::Tcd(tcd(settings, port, lanes)?),
        DetectorKind::NpEcn => Detector::NpEcn(NpEcn { red: red(config, port.rate)? }),
        DetectorKind::Fecn => Detector::Fecn(Fecn {
            threshold: config.threshold.0,
            marking_rate: config.marking_rate,
            packet_size: config.packet_size.0,
        }),
        DetectorKind::Custom => Detector::Custom { calm: config.calm.map_or(0, |calm| calm.0.get()) },
    };
    detector.validate()?;
    Ok(detector)
}

fn red(config: &settings::Detector, rate: Rate) -> Result<Red, ConfigError> {
    let (kmin, kmax, pmax) = config.ramp(rate);
    Red::new(kmin, kmax, pmax, config.guaranteed.0)
}

fn tcd(settings: &Settings, port: &Port, lanes: &Lanes) -> Result<Tcd, ConfigError> {
    let config = &settings.switch.detector;
    let max_ton = match (config.max_ton, config.epsilon) {
        (Some(fixed), _) => fixed.0,
        (None, epsilon) => computed(settings, port, lanes, epsilon.unwrap_or_default())?,
    };
    let bytes = |size: Option<Quantity<Bytes>>| size.map_or(Bytes::ZERO, |size| size.0);
    Ok(Tcd {
        red: red(config, port.rate)?,
        trend: match config.trend {
            Trend::Authors => detector::Trend::Authors,
            Trend::Rise => detector::Trend::Rise,
            Trend::NoFall => detector::Trend::NoFall,
            Trend::RiseBp => detector::Trend::RiseBp,
        },
        max_ton,
        period: config.period.map_or(max_ton, |period| period.0),
        low: bytes(config.low),
        delta: bytes(config.delta),
        clock: config.truncate.0,
    })
}

/// max(Ton) of a port for a congestion degree. Credits that come back at once resume a port when one packet fits again.
fn computed(settings: &Settings, port: &Port, lanes: &Lanes, epsilon: f64) -> Result<Span, ConfigError> {
    let pfc = &settings.switch.pfc;
    let gap = match (settings.switch.flow_control, pfc.threshold) {
        (FlowControl::Credits, _) => mtu(settings),
        _ if combined::is_combined(settings) => combined::widest(settings, lanes),
        (_, ThresholdKind::Static) => pfc.xoff.0.saturating_sub(pfc.xon.0),
        (_, ThresholdKind::Dynamic) => pfc.hysteresis.0,
    };
    match settings.switch.detector.trend {
        Trend::Authors => max_ton_authors(port.rate, port.delay, gap, epsilon),
        _ => Ok(max_ton(port.rate, port.delay, mtu(settings), gap, epsilon)?.max_ton),
    }
}
