//! The detectors of the egress ports.
use backwater_control::ConfigError;
use backwater_control::detector::{self, Detector, NpEcn, Red, Tcd, max_ton, max_ton_authors};
use backwater_topology::{Network, Port};
use backwater_units::{Bytes, Rate, Span};

use super::{Context, mtu};
use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{self, DetectorKind, Settings, ThresholdKind, Trend};

/// Two units of 1030 B (authors' release).
const AUTHORS_LOW: Bytes = Bytes::new(2060);
/// Nine tenths of a packet (authors' release).
const AUTHORS_DELTA: Bytes = Bytes::new(900);

/// Writes out the defaults that depend on the trend policy and the packet.
pub(super) fn fill(settings: &mut Settings) {
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

/// One detector per port of each switch, none for hosts.
pub(super) fn detectors(context: &mut Context<'_>, network: &Network) -> Option<Vec<Vec<Detector>>> {
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
    let mut detectors = Vec::with_capacity(network.nodes().len());
    for node in 0..network.nodes().len() as u32 {
        let ports = if network.is_switch(node) { network.ports(node) } else { &[] };
        let made = ports.iter().map(|port| make(settings, port)).collect::<Result<Vec<_>, _>>();
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

fn make(settings: &Settings, port: &Port) -> Result<Detector, ConfigError> {
    let config = &settings.switch.detector;
    let detector = match config.kind {
        DetectorKind::None => Detector::None,
        DetectorKind::Red => Detector::Red(red(config, port.rate)?),
        DetectorKind::Tcd => Detector::Tcd(tcd(settings, port)?),
        DetectorKind::NpEcn => Detector::NpEcn(NpEcn { red: red(config, port.rate)? }),
    };
    detector.validate()?;
    Ok(detector)
}

fn red(config: &settings::Detector, rate: Rate) -> Result<Red, ConfigError> {
    let (kmin, kmax, pmax) = config.ramp(rate);
    Red::new(kmin, kmax, pmax, config.guaranteed.0)
}

fn tcd(settings: &Settings, port: &Port) -> Result<Tcd, ConfigError> {
    let config = &settings.switch.detector;
    let max_ton = match (config.max_ton, config.epsilon) {
        (Some(fixed), _) => fixed.0,
        (None, epsilon) => computed(settings, port, epsilon.unwrap_or_default())?,
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

/// max(Ton) of a port for a congestion degree.
fn computed(settings: &Settings, port: &Port, epsilon: f64) -> Result<Span, ConfigError> {
    let pfc = &settings.switch.pfc;
    let gap = match pfc.threshold {
        ThresholdKind::Static => pfc.xoff.0.saturating_sub(pfc.xon.0),
        ThresholdKind::Dynamic => pfc.hysteresis.0,
    };
    match settings.switch.detector.trend {
        Trend::Authors => max_ton_authors(port.rate, port.delay, gap, epsilon),
        _ => Ok(max_ton(port.rate, port.delay, mtu(settings), gap, epsilon)?.max_ton),
    }
}
