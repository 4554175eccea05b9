//! What works with windows, but hardly as its paper meant it.
use backwater_codes::Code;
use backwater_control::reaction::{ReactionConfig, settings::PathFacts};
use backwater_units::Span;

use crate::document::Step;
use crate::settings::{CcSettings, DetectorKind, Kinds};
use crate::valid::Context;
use crate::valid::cc::{Fabric, name};

/// What a packet carries of HPCC's telemetry: 2 B and 8 B for each of 5 hops (HPCC paper §4.1).
const TELEMETRY_BYTES: u64 = 42;

pub(super) fn note(
    context: &mut Context<'_>,
    cc: &CcSettings,
    reaction: &ReactionConfig,
    place: &[Step],
    fabric: &Fabric<'_>,
) {
    let unloaded = fabric.facts(context.settings);
    let name = name(place);
    let caveats = [
        (Code::WindowsForOthers, unlike(cc, &name, &unloaded)),
        (Code::RampForDctcp, ramp(context, cc, &name, &unloaded)),
        (Code::FreeTelemetry, telemetry(context, cc, &name)),
        (Code::TargetOff, target(reaction, &name, &unloaded)),
    ];
    for (code, message) in caveats {
        if let Some(message) = message {
            context.caveat(code, name.as_str(), message);
        }
    }
}

/// One window serves all flows of a `[cc]`; those of a shorter path or a slower NIC have more than their own share of it.
fn unlike(cc: &CcSettings, name: &str, unloaded: &PathFacts) -> Option<String> {
    let key = cc.own_key(cc.follows()?);
    let PathFacts { rtt, shortest, line, slowest, .. } = *unloaded;
    // Between racks of a fat tree of three stages it is three times that within one, as in the papers themselves.
    let far = rtt.as_ps() > 4 * shortest.as_ps();
    if !far && line == slowest {
        return None;
    }
    let paths = if far { format!("; round trips take {shortest} to {rtt}") } else { String::new() };
    let rates = if line > slowest { format!("; senders have {slowest} to {line}") } else { String::new() };
    Some(format!(
        "{name}.{key} = \"auto\" follows from the longest round trip and the fastest sender for all flows{paths}{rates}: the \
         others may have more under way than fits their path. Give their [[traffic]] a cc of its own with values that do"
    ))
}

/// DCTCP's switches mark all above one threshold (RFC 8257 §3.1; SIGCOMM 2010 §3.1).
fn ramp(context: &Context<'_>, cc: &CcSettings, name: &str, unloaded: &PathFacts) -> Option<String> {
    let detector = &context.settings.switch.detector;
    let (kmin, kmax, pmax) = detector.ramp(unloaded.line);
    if !cc.wants().step || detector.kind != DetectorKind::Red || kmin == kmax {
        return None;
    }
    let threshold = 3 * unloaded.line.as_bps() / 1_000_000_000;
    Some(format!(
        "{name}.kind = {:?} wants every packet above one threshold marked, but the switches mark from {kmin} on (up to {pmax} of them) \
         and all from {kmax} on: set switch.detector.kmin and switch.detector.kmax to {threshold}KB (30 KB for each 10 Gbps)",
        cc.kind.word()
    ))
}

fn telemetry(context: &Context<'_>, cc: &CcSettings, name: &str) -> Option<String> {
    let (header, ack) = (context.settings.packet.header.0, context.settings.ack.size.0);
    let free = cc.kind.wants_telemetry() && header.get() < TELEMETRY_BYTES;
    free.then(|| {
        format!(
            "{name}.kind = {:?}: telemetry takes no room on the wire, as packet.header = \"{header}\" is less than its \
             {TELEMETRY_BYTES}B; what it costs comes with packet.header = \"{}B\" and ack.size = \"{}B\"",
            cc.kind.word(),
            header.get() + TELEMETRY_BYTES,
            ack.get() + TELEMETRY_BYTES,
        )
    })
}

/// A target that an empty network cannot keep, a round trip that is none of this network.
fn target(reaction: &ReactionConfig, name: &str, unloaded: &PathFacts) -> Option<String> {
    let rtt = unloaded.rtt;
    match reaction {
        ReactionConfig::Swift(swift) => {
            let target = swift.base_target + Span::from_ps(swift.hop.as_ps() * (unloaded.links - 1));
            (target < rtt).then(|| {
                format!(
                    "{name}.swift: the target of the longest path is {target}, and a packet needs {rtt} there and back in the empty network: its \
                     windows always shrink. Raise base-target or hop"
                )
            })
        }
        ReactionConfig::Hpcc(hpcc) => {
            let given = hpcc.base_rtt;
            let far = given.as_ps() > 4 * rtt.as_ps() || given.as_ps() < rtt.as_ps() / 4;
            far.then(|| format!("{name}.hpcc.base-rtt = \"{given}\" is far from the {rtt} of the longest path of this network"))
        }
        _ => None,
    }
}
