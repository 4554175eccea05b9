//! Every policy with every variant, targets of any kind, queues from one packet up.
use backwater_control::notify::put::{
    AfterNack, Fairness, IackOn, ReleaseRule, Reservation, Signal, TargetConfig, Triggers,
};
use backwater_control::reaction::{AimdConfig, DackConfig, FreeOne, Grants, OptConfig, PolicyConfig};
use backwater_control::transport::ReplayMoves;
use backwater_units::Span;
use proptest::prelude::*;

use super::model::Setting;

fn limits() -> impl Strategy<Value = OptConfig> {
    (1..64_u32, 1_000..64_000_u64).prop_map(|(packets, bytes)| OptConfig { packets, bytes })
}

fn policy() -> impl Strategy<Value = PolicyConfig> {
    let aimd = (100..9_000_u64, 100..9_000_u64, 100..64_000_u64, 0..3_000_u64, any::<bool>()).prop_map(
        |(mss, initial, ssthresh, floor, gates_replay)| {
            PolicyConfig::Aimd(AimdConfig { mss, initial, ssthresh, floor, gates_replay })
        },
    );
    let escape = prop::sample::select(vec![Span::MAX, Span::from_us(40), Span::from_us(5)]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let grants = prop::sample::select(vec![Grants::PerPacket, Grants::PerAck]);
    let free = prop::sample::select(vec![FreeOne::Once, FreeOne::UntilAck]);
    let dack = (limits(), 1..8_u32, escape, flags, grants, free).prop_map(
        |(limits, count, escape, (needs_none, clear_on_open, halt_after_replay), grants, free_one)| {
            PolicyConfig::Dack(DackConfig {
                limits,
                count,
                escape,
                escape_needs_none: needs_none,
                grants,
                clear_on_open,
                free_one,
                halt_after_replay,
            })
        },
    );
    prop_oneof![1 => limits().prop_map(PolicyConfig::Opt), 1 => aimd, 3 => dack]
}

fn fairness() -> impl Strategy<Value = Fairness> {
    let (period, hold) = (Span::from_us(10), Span::from_us(5));
    prop::sample::select(vec![
        Fairness::None,
        Fairness::Verbs { period, difference_ppm: 25_000, hold, strength_ppm: 50_000 },
        Fairness::Ordered { period },
    ])
}

fn target() -> impl Strategy<Value = TargetConfig> {
    let rule = prop::sample::select(vec![ReleaseRule::AtMost, ReleaseRule::Below]);
    let iack = prop::sample::select(vec![IackOn::Accepted, IackOn::Processed]);
    let signal = prop::sample::select(vec![Signal::Mark, Signal::Frame]);
    let reservation =
        prop::sample::select(vec![Reservation::None, Reservation::Packet, Reservation::Bytes(700)]);
    let after = prop::sample::select(vec![AfterNack::Iack, AfterNack::Dack]);
    ((500..5_000_u64, rule, iack), any::<bool>(), signal, reservation, any::<bool>(), after, fairness())
        .prop_map(
            |((threshold, rule, iack), pacing, dack, reservation, reserved_counts, after_nack, fairness)| {
                TargetConfig {
                    threshold,
                    rule,
                    iack,
                    pacing,
                    dack,
                    reservation,
                    reserved_counts,
                    after_nack,
                    fairness,
                }
            },
        )
}

pub(crate) fn any_setting() -> impl Strategy<Value = Setting> {
    let triggers = (1..6_u32, any::<bool>()).prop_map(|(every, nack_at_once)| Triggers {
        every,
        after: Span::from_ns(780),
        nack_at_once,
    });
    let moves = prop::sample::select(vec![ReplayMoves::AtOnce, ReplayMoves::AtEnd]);
    let sizes = (64..1_000_u32, 0..500_u32).prop_map(|(least, more)| (least, (least + more).min(1_000)));
    let load = (1..4_usize, 1..40_u32, sizes);
    (policy(), target(), triggers, moves, load, 1_000..16_000_u64, 50..1_500_u64, 0..200_u32).prop_map(
        |(policy, target, triggers, moves, (streams, packets, sizes), depth, drain, reverse)| Setting {
            policy,
            target,
            triggers,
            moves,
            streams,
            packets,
            sizes,
            depth,
            drain,
            reverse,
        },
    )
}
