//! From `[put]` to what both ends of a stream need.
use backwater_control::notify::put::{
    AfterNack, Fairness, IackOn, ReleaseRule, Reservation, Signal, TargetConfig, Triggers,
};
use backwater_control::reaction::{AimdConfig, DackConfig, FreeOne, Grants, OptConfig, PolicyConfig};
use backwater_control::transport::ReplayMoves;
use backwater_fabric::PutSpec;
use backwater_units::Span;

use crate::settings::{self, NackWhen, Put, PutPolicy};

/// A kind of PUTs.
pub(super) fn spec(put: &Put) -> PutSpec {
    PutSpec {
        policy: policy(put),
        target: target(put),
        moves: match put.replay_moves {
            Some(settings::ReplayMoves::AtEnd) => ReplayMoves::AtEnd,
            Some(settings::ReplayMoves::AtOnce) | None => ReplayMoves::AtOnce,
        },
        ack_size: put.ack.size.0,
        triggers: Triggers {
            every: put.ack.every,
            after: put.ack.after.0,
            nack_at_once: put.nack == NackWhen::AtOnce,
        },
        processing: put.processing.0,
        overhead: put.overhead.0,
        staging: put.staging.0,
        buffer: put.buffer,
        retry: put.retry.0,
        retries: put.retries,
    }
}

/// When a source may send.
pub(super) fn policy(put: &Put) -> PolicyConfig {
    let limits = OptConfig { packets: put.packets, bytes: put.bytes.0.get() };
    let (aimd, dack) = (&put.aimd, &put.dack);
    match put.policy {
        PutPolicy::Opt => PolicyConfig::Opt(limits),
        PutPolicy::Aimd => PolicyConfig::Aimd(AimdConfig {
            mss: aimd.mss.0.get(),
            initial: aimd.initial.0.get(),
            ssthresh: aimd.ssthresh.0.get(),
            floor: aimd.floor.0.get(),
            gates_replay: aimd.gates_replay,
        }),
        PutPolicy::Dack => PolicyConfig::Dack(DackConfig {
            limits,
            count: dack.count,
            escape: dack.escape.given().map_or(Span::MAX, |escape| escape.0),
            escape_needs_none: dack.escape_needs_none,
            grants: match dack.grants {
                settings::Grants::Packet => Grants::PerPacket,
                settings::Grants::Ack => Grants::PerAck,
            },
            clear_on_open: dack.clear,
            free_one: match dack.free {
                settings::FreeOne::One => FreeOne::Once,
                settings::FreeOne::UntilAck => FreeOne::UntilAck,
            },
            halt_after_replay: dack.halt_after_replay,
        }),
    }
}

/// What a target acknowledges when.
fn target(put: &Put) -> TargetConfig {
    let dack = &put.dack;
    if put.policy != PutPolicy::Dack {
        return TargetConfig::baseline();
    }
    TargetConfig {
        threshold: dack.threshold.0.get(),
        rule: match dack.release {
            settings::Release::AtMost => ReleaseRule::AtMost,
            settings::Release::Below => ReleaseRule::Below,
        },
        iack: match dack.iack {
            settings::Iack::Accepted => IackOn::Accepted,
            settings::Iack::Processed => IackOn::Processed,
        },
        pacing: true,
        dack: match dack.signal {
            settings::Signal::Mark => Signal::Mark,
            settings::Signal::Frame => Signal::Frame,
        },
        reservation: match dack.reservation {
            settings::Reservation::None => Reservation::None,
            settings::Reservation::Packet => Reservation::Packet,
            settings::Reservation::Bytes(room) => Reservation::Bytes(room.0.get()),
        },
        reserved_counts: dack.reserved_counts,
        after_nack: match dack.after_nack {
            settings::AfterNack::Iack => AfterNack::Iack,
            settings::AfterNack::Dack => AfterNack::Dack,
        },
        fairness: fairness(put),
    }
}

/// How streams are balanced.
fn fairness(put: &Put) -> Fairness {
    let dack = &put.dack;
    match dack.fairness {
        settings::Fairness::None => Fairness::None,
        settings::Fairness::Verbs => Fairness::Verbs {
            period: dack.period.0,
            difference_ppm: libm::round(dack.difference * 1e6) as u32,
            hold: dack.hold.0,
            strength_ppm: libm::round(dack.strength * 1e6) as u32,
        },
        settings::Fairness::Ordered => Fairness::Ordered { period: dack.period.0 },
    }
}
