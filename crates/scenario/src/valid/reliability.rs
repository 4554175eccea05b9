//! Queue pairs that send again what is lost: which they are, their timers and caps, what they cannot carry.
use backwater_codes::Code;
use backwater_control::reaction::settings::PathFacts;
use backwater_control::transport::reliability::{Scoreboard, SelectiveRepeatParams};
use backwater_control::transport::selective::SelectiveConfig;
use backwater_fabric::{AckSpec, MOST_SELECTIVE, PairSpec, ReliableSpec, Repeat};
use backwater_traffic::trace::{Event, Step};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::Bytes;

use super::{Context, faults, has_pairs};
use crate::document::at;
use crate::quantity::{AutoOr, Quantity};
use crate::settings::{Kinds, OnOverflow, ReliabilityKind, RetryTimer, Settings};

/// The kind of an entry's queue pairs; of other transports, none.
pub(super) fn of(settings: &Settings, entry: usize) -> ReliabilityKind {
    if !has_pairs(settings, entry) {
        return ReliabilityKind::None;
    }
    let own = settings.traffic.get(entry).and_then(|entry| entry.reliability);
    own.unwrap_or(settings.transport.reliability)
}

/// Whether any entry has the kind.
pub(super) fn any(settings: &Settings, kind: ReliabilityKind) -> bool {
    (0..settings.traffic.len()).any(|entry| of(settings, entry) == kind)
}

/// Queue pairs of that kind, else like `pair`. `facts` is asked if it follows from the network.
pub(super) fn with(
    pair: &PairSpec,
    kind: ReliabilityKind,
    settings: &Settings,
    facts: impl Fn() -> PathFacts,
) -> PairSpec {
    let reliable = spec(kind, settings, facts);
    // Whoever sends again needs ACKs, also where nobody else does.
    let own = AckSpec { every: 1, size: settings.ack.size.0, priority: settings.ack.priority };
    let ack = if reliable.is_some() { Some(pair.ack.unwrap_or(own)) } else { pair.ack };
    PairSpec { reliable, ack, ..pair.clone() }
}

fn spec(kind: ReliabilityKind, settings: &Settings, facts: impl Fn() -> PathFacts) -> Option<ReliableSpec> {
    let transport = &settings.transport;
    let (back, selective) = (&transport.go_back_n, &transport.selective_repeat);
    match kind {
        ReliabilityKind::None => None,
        ReliabilityKind::GoBackN => Some(ReliableSpec {
            repeat: Repeat::GoBackN,
            timeout: back.timeout.0,
            short: None,
            retries: back.retries,
            backoff: back.backoff,
            every_packet: back.timer == RetryTimer::EveryPacket,
            nack_every: back.nack_interval.given().map(|it| it.0),
            nack_notifies: transport.nack_notifies,
        }),
        ReliabilityKind::SelectiveRepeat => Some(ReliableSpec {
            repeat: repeat(selective, facts),
            timeout: selective.rto_high.0,
            short: Some((selective.rto_low_packets, selective.rto_low.0)),
            retries: selective.retries,
            backoff: selective.backoff,
            every_packet: selective.timer == RetryTimer::EveryPacket,
            nack_every: selective.nack_interval.given().map(|it| it.0),
            nack_notifies: transport.nack_notifies,
        }),
    }
}

fn repeat(selective: &SelectiveRepeatParams, facts: impl Fn() -> PathFacts) -> Repeat {
    let cap = match selective.bdp {
        AutoOr::Auto => product(&facts()),
        AutoOr::Given(bytes) => bytes.0.get(),
    };
    let SelectiveRepeatParams { after_nack, after_timeout, .. } = *selective;
    match selective.scoreboard {
        Scoreboard::Bitmap => {
            Repeat::Selective { cap, config: SelectiveConfig { after_nack, after_timeout } }
        }
        Scoreboard::BlockList => Repeat::BlockList { cap },
    }
}

/// What an entry's messages are done by: who sends again what is lost keeps it until it is acknowledged.
pub(super) fn complete(settings: &Settings, entry: usize, steps: &mut [Step]) {
    if of(settings, entry) == ReliabilityKind::None {
        return;
    }
    for event in steps.iter_mut().flat_map(|step| &mut step.after) {
        if let Event::Sent(flow) = *event {
            *event = Event::Acked(flow);
        }
    }
}

/// Payload under way that keeps the longest path full.
fn product(facts: &PathFacts) -> u64 {
    let wire = u128::from(facts.line.as_bps()) * u128::from(facts.rtt.as_ps()) / 8_000_000_000_000;
    let packets = wire.div_ceil(u128::from(facts.mtu.get())).clamp(1, u128::from(MOST_SELECTIVE));
    packets as u64 * facts.payload.get()
}

/// Reports what the queue pairs of the entries cannot carry, and timers that are too short. `facts` are those of the network as a
/// flow of the entry has it for itself.
pub(super) fn check(context: &mut Context<'_>, flows: &[Flow], facts: impl Fn(usize) -> PathFacts) {
    let settings = context.settings;
    let mut idle = true;
    for index in 0..settings.traffic.len() {
        let kind = of(settings, index);
        if kind == ReliabilityKind::None {
            continue;
        }
        idle &= settings.switch.overflow == OnOverflow::Stop && !faults::lose(settings);
        let mut own = flows.iter().filter(|flow| usize::from(flow.group) == index).peekable();
        if own.peek().is_none() {
            continue;
        }
        let shares = |flow: &Flow| flow.connection != OWN_CONNECTION && flow.pacing != Pacing::Messages;
        if own.any(|flow| shares(flow) && flow.known_size().is_none()) {
            refuse(context, index, kind);
        }
        timers(context, kind, &facts(index), index);
    }
    let first = |kind| any(settings, kind).then_some(kind);
    let kind = first(ReliabilityKind::GoBackN).or_else(|| first(ReliabilityKind::SelectiveRepeat));
    if let Some(kind) = kind.filter(|_| idle) {
        let message = format!(
            "transport.reliability = {:?} has nothing to do: no switch drops packets (switch.overflow = \"stop\"), and no [[fault]] loses any. Its \
             timers and its cap act all the same",
            kind.word()
        );
        context.caveat(Code::ReliabilityIdle, "transport.reliability", message);
    }
}

fn refuse(context: &mut Context<'_>, index: usize, kind: ReliabilityKind) {
    let (name, word) = (&context.settings.traffic[index].name, kind.word());
    let message = format!(
        "reliability = {word:?} is for queue pairs with messages of known sizes, not for traffic.{name}, whose messages share a queue pair \
         (connection) and have no size"
    );
    let help = "write reliability = \"none\" for this entry, in a fabric that loses nothing; or give each flow a queue pair of its own";
    context.report(&at!["traffic", index], message, "not with known sizes", help);
}

/// A packet that is under way should not be taken for lost.
fn timers(context: &mut Context<'_>, kind: ReliabilityKind, facts: &PathFacts, index: usize) {
    let settings = context.settings;
    let (back, selective) = (&settings.transport.go_back_n, &settings.transport.selective_repeat);
    let few = selective.rto_low_packets;
    let all = match kind {
        ReliabilityKind::GoBackN => vec![("timeout", back.timeout.0, String::new())],
        _ => vec![
            (
                "rto-low",
                selective.rto_low.0,
                format!(" wherever at most {few} packets (rto-low-packets) are under way"),
            ),
            (
                "rto-high",
                selective.rto_high.0,
                format!(" wherever more than {few} packets (rto-low-packets) are under way"),
            ),
        ],
    };
    let name = &settings.traffic[index].name;
    for (key, time, when) in all {
        if time < facts.rtt {
            let key = format!("transport.{}.{key}", kind.word());
            let message = format!(
                "{key} = {}: an unloaded round trip of traffic.{name} takes {}, so it expires before an ACK can be \
                 back{when}; raise it above that",
                Quantity(time),
                facts.rtt
            );
            context.caveat(Code::RetryTooShort, key, message);
        }
    }
    let (low, high) = (selective.rto_low, selective.rto_high);
    if kind == ReliabilityKind::SelectiveRepeat && low > high {
        let message = format!("transport.selective-repeat.rto-low = {low} is more than rto-high = {high}");
        let at = at!["transport", "selective-repeat", "rto-low"];
        context.report(&at, message, format!("allowed: at most {high}"), "lower rto-low, or raise rto-high");
    }
    if let AutoOr::Given(cap) = selective.bdp
        && kind == ReliabilityKind::SelectiveRepeat
    {
        let most = Quantity(Bytes::new(u64::from(MOST_SELECTIVE) * settings.packet.payload.0.get()));
        if cap > most {
            let message = format!(
                "transport.selective-repeat.bdp = {cap} is more than {MOST_SELECTIVE} packets of packet.payload = {}",
                settings.packet.payload
            );
            let at = at!["transport", "selective-repeat", "bdp"];
            context.report(
                &at,
                message,
                format!("allowed: at most {most}"),
                "lower bdp, or raise packet.payload",
            );
        }
    }
}
