//! The detector of a switch, with max(Ton) computed from its links.
use backwater_control::ConfigError;
use backwater_control::detector::{Detector, NpEcn, Red, Tcd, max_ton, max_ton_with_tau};
use backwater_document::at;
use backwater_document::quantity::Quantity;
use backwater_units::{Bytes, Span};

use crate::resolve::{Report, packet};
use crate::settings::{self, Settings};
use crate::testbed::{FlowControl, Node, NodeKind, Port};

/// ε of the paper's testbed.
const EPSILON: f64 = 0.04;

/// Gives every switch its detector.
pub(crate) fn resolve(settings: &Settings, nodes: &mut [Node], ports: &[Port], report: &mut Report<'_>) {
    let mut refused = Vec::new();
    for node in nodes {
        let own = &ports[node.first_port..node.first_port + node.port_count];
        let NodeKind::Switch { detector, .. } = &mut node.kind else { continue };
        match of(settings, own) {
            Ok(made) => *detector = made,
            Err(error) if refused.contains(&error) => {}
            Err(error) => refused.push(error),
        }
    }
    for error in refused {
        let ConfigError { parameter, value, allowed, fix } = error;
        let message = format!("detector.{parameter} = {value} is not allowed");
        report.add(&at!["detector", parameter], message, &format!("must be {allowed}"), fix);
    }
    if let settings::Detector::Tcd { epsilon, tau, max_ton, .. } = &settings.detector {
        let credits = matches!(settings.flow_control, settings::FlowControl::Credits { .. });
        let unused = credits || max_ton.is_some();
        let why = if credits { "under credits max(Ton) is their period" } else { "max-ton is given" };
        for (key, given) in [("epsilon", epsilon.is_some()), ("tau", tau.is_some())] {
            if given && unused {
                report.add(
                    &at!["detector", key],
                    format!("detector.{key} has no effect"),
                    why,
                    format!("leave {key} out"),
                );
            }
        }
    }
}

fn of(settings: &Settings, ports: &[Port]) -> Result<Detector, ConfigError> {
    let red = |kmin: &Quantity<Bytes>, kmax: &Quantity<Bytes>, pmax: f64| {
        Red::new(kmin.0, kmax.0, pmax, Bytes::ZERO)
    };
    Ok(match &settings.detector {
        settings::Detector::None => Detector::None,
        settings::Detector::Red { kmin, kmax, pmax } => Detector::Red(red(kmin, kmax, *pmax)?),
        settings::Detector::NpEcn { kmin, kmax, pmax } => {
            Detector::NpEcn(NpEcn { red: red(kmin, kmax, *pmax)? })
        }
        settings::Detector::Tcd { kmin, kmax, pmax, trend, period, low, delta, .. } => {
            let mtu = packet(settings);
            let (longest, own_period) = longest_on(settings, ports)?;
            let made = Tcd {
                red: red(kmin, kmax, *pmax)?,
                trend: *trend,
                max_ton: longest,
                period: period.map_or(own_period, |period| period.0),
                low: low.map_or(mtu, |low| low.0),
                delta: delta.map_or(mtu * 2, |delta| delta.0),
                clock: Span::from_ps(1),
            };
            Detector::Tcd(made)
        }
    })
    .and_then(|made: Detector| made.validate().map(|()| made))
}

/// max(Ton) and T.
fn longest_on(settings: &Settings, ports: &[Port]) -> Result<(Span, Span), ConfigError> {
    let settings::Detector::Tcd { max_ton: given, epsilon, tau, trend, .. } = &settings.detector else {
        return Ok((Span::ZERO, Span::ZERO));
    };
    let mtu = packet(settings);
    if let Some(FlowControl::Credits(credits)) = ports.first().map(|port| &port.flow_control) {
        let own = Tcd::credits(*trend, credits.period, Bytes::ZERO, mtu);
        return Ok((given.map_or(own.max_ton, |given| given.0), own.period));
    }
    if let Some(given) = given {
        return Ok((given.0, given.0));
    }
    // Without flow control nothing is ever OFF: any value serves.
    let mut longest = Span::from_ps(1);
    for port in ports {
        let FlowControl::Pfc(pfc) = &port.flow_control else { continue };
        let gap = pfc.xoff.saturating_sub(pfc.xon);
        let epsilon = epsilon.unwrap_or(EPSILON);
        let own = match tau {
            Some(tau) => max_ton_with_tau(port.nominal, tau.0, gap, epsilon)?,
            // On the wire a packet takes the time of its overhead as well.
            None => max_ton(port.nominal, port.delay, mtu + port.overhead, gap, epsilon)?.max_ton,
        };
        longest = longest.max(own);
    }
    Ok((longest, longest))
}
