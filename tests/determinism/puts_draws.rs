//! What the swarm of PUT streams is made of: both ends, hosts, fabrics.
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::put::{
    AfterNack, Fairness, IackOn, ReleaseRule, Reservation, Signal, TargetConfig, Triggers,
};
use backwater_control::reaction::{AimdConfig, DackConfig, FreeOne, Grants, OptConfig, PolicyConfig};
use backwater_control::transport::ReplayMoves;
use backwater_fabric::{DrainSpec, PutSpec};
use backwater_traffic::{Full, Gaps, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::puts::{Case, Fabric, Shape};

fn limits() -> impl Strategy<Value = OptConfig> {
    (1u32..40, 2_000u64..60_000).prop_map(|(packets, bytes)| OptConfig { packets, bytes })
}

fn aimd() -> impl Strategy<Value = PolicyConfig> {
    (500u64..10_000, 500u64..10_000, 500u64..60_000, 0u64..3_000, any::<bool>()).prop_map(
        |(mss, initial, ssthresh, floor, gates_replay)| {
            PolicyConfig::Aimd(AimdConfig { mss, initial, ssthresh, floor, gates_replay })
        },
    )
}

fn dack() -> impl Strategy<Value = PolicyConfig> {
    let escape = prop_oneof![3 => (5u64..80).prop_map(Span::from_us), 1 => Just(Span::MAX)];
    let grants = prop_oneof![Just(Grants::PerPacket), Just(Grants::PerAck)];
    let free_one = prop_oneof![Just(FreeOne::Once), Just(FreeOne::UntilAck)];
    (limits(), 1u32..9, escape, prop::array::uniform3(any::<bool>()), grants, free_one).prop_map(
        |(limits, count, escape, [escape_needs_none, clear_on_open, halt_after_replay], grants, free_one)| {
            PolicyConfig::Dack(DackConfig {
                limits,
                count,
                escape,
                escape_needs_none,
                grants,
                clear_on_open,
                free_one,
                halt_after_replay,
            })
        },
    )
}

fn fairness() -> impl Strategy<Value = Fairness> {
    let (period, hold) = ((2u64..200).prop_map(Span::from_us), (1u64..30).prop_map(Span::from_us));
    (period, hold, 1u32..300_000, 0..3).prop_map(|(period, hold, difference_ppm, which)| match which {
        0 => Fairness::None,
        1 => Fairness::Ordered { period },
        _ => Fairness::Verbs { period, difference_ppm, hold, strength_ppm: 50_000 },
    })
}

fn paced() -> impl Strategy<Value = TargetConfig> {
    let reservation = prop_oneof![
        Just(Reservation::None),
        Just(Reservation::Packet),
        (500u64..9_000).prop_map(Reservation::Bytes)
    ];
    (500u64..5_000, reservation, fairness(), prop::array::uniform5(any::<bool>())).prop_map(
        |(threshold, reservation, fairness, [below, processed, frames, counts, dacks])| TargetConfig {
            threshold,
            rule: if below { ReleaseRule::Below } else { ReleaseRule::AtMost },
            iack: if processed { IackOn::Processed } else { IackOn::Accepted },
            pacing: true,
            dack: if frames { Signal::Frame } else { Signal::Mark },
            reservation,
            reserved_counts: counts,
            after_nack: if dacks { AfterNack::Dack } else { AfterNack::Iack },
            fairness,
        },
    )
}

fn triggers() -> impl Strategy<Value = Triggers> {
    (1u32..5, 0u64..5_000, any::<bool>()).prop_map(|(every, after, nack_at_once)| Triggers {
        every,
        after: Span::from_ns(after),
        nack_at_once,
    })
}

fn put() -> impl Strategy<Value = PutSpec> {
    let ends = prop_oneof![
        2 => (limits(), Just(TargetConfig::baseline())).prop_map(|(limits, target)| (PolicyConfig::Opt(limits), target)),
        2 => (aimd(), Just(TargetConfig::baseline())),
        4 => (dack(), paced()),
    ];
    let spans = (0u64..2_000, 0u64..600, 0u64..300, 60u64..1_000);
    (ends, triggers(), any::<bool>(), 20u64..200, 1u32..60, spans).prop_map(
        |((policy, target), triggers, at_once, ack, buffer, (processing, overhead, staging, retry))| {
            PutSpec {
                policy,
                target,
                moves: if at_once { ReplayMoves::AtOnce } else { ReplayMoves::AtEnd },
                triggers,
                ack_size: Bytes::new(ack),
                processing: Span::from_ns(processing),
                overhead: Span::from_ns(overhead),
                staging: Span::from_ns(staging),
                buffer,
                retry: Span::from_us(retry),
                retries: 1_000_000,
            }
        },
    )
}

fn drain() -> impl Strategy<Value = DrainSpec> {
    let rate = |least: u64| (least..60_000).prop_map(Rate::from_mbps);
    let on_off = (rate(2_000), prop_oneof![Just(Rate::ZERO), rate(1)], 1u64..40, 1u64..40, any::<bool>());
    prop_oneof![
        4 => rate(2_000).prop_map(DrainSpec::Constant),
        2 => on_off.prop_map(|(high, low, high_for, low_for, drawn)| DrainSpec::OnOff {
            high,
            low,
            high_for: Span::from_us(high_for),
            low_for: Span::from_us(low_for),
            sigma: drawn.then_some(0.7),
        }),
        1 => prop::collection::vec((rate(1), 1u64..30), 1..5).prop_map(|steps| {
            let mut at = Time::ZERO;
            let mut trace: Vec<(Time, Rate)> = Vec::new();
            for (rate, us) in steps {
                trace.push((at, rate));
                at += Span::from_us(us);
            }
            trace.push((at, Rate::from_gbps(8)));
            DrainSpec::Trace(trace)
        }),
    ]
}

fn fabric() -> impl Strategy<Value = Fabric> {
    let returned = prop_oneof![
        Just(CreditReturn::AtOnce),
        (3u64..30).prop_map(|us| CreditReturn::Periodic(Span::from_us(us)))
    ];
    prop_oneof![
        4 => (2_200u64..30_000).prop_map(|port| Fabric::Lossy { port: Bytes::new(port) }),
        2 => (4_000u64..40_000).prop_map(|xoff| Fabric::Pfc { xoff }),
        1 => (4_000u64..60_000, returned).prop_map(|(buffer, returned)| Fabric::Credits { buffer: Bytes::new(buffer), returned }),
    ]
}

/// Messages, mostly; some are made packet by packet.
fn pacing() -> impl Strategy<Value = Pacing> {
    let supplied = (1_000u64..40_000, 1u32..20, any::<bool>(), any::<bool>(), 5u64..60).prop_map(
        |(mbps, backlog, even, skip, until)| Pacing::Supplied {
            rate: Rate::from_mbps(mbps),
            backlog,
            until: Time::ZERO + Span::from_us(until),
            drawn: None,
            gaps: if even { Gaps::Even } else { Gaps::Exponential },
            full: if skip { Full::Skip } else { Full::Wait },
        },
    );
    prop_oneof![3 => Just(Pacing::Controlled), 1 => Just(Pacing::LineRate), 2 => supplied]
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![
        3 => (2u32..7).prop_map(Shape::Star),
        2 => (1u32..4, 1u32..4).prop_map(|(left, right)| Shape::Dumbbell(left, right))
    ];
    let flow = (
        0u32..8,
        0u32..8,
        1u64..40_000,
        0u64..60_000_000,
        prop::sample::select(vec![1u8, 3, 3, 3]),
        pacing(),
    );
    let hosts = prop::collection::vec(prop::option::weighted(0.7, (6_000u64..40_000, drain())), 0..8);
    (
        (any::<u64>(), shape, any::<bool>(), fabric()),
        (put(), prop::option::of(put())),
        prop::collection::vec(flow, 1..14),
        hosts,
        0u64..80,
    )
        .prop_map(|((seed, shape, alike, fabric), (first, second), flows, hosts, header)| Case {
            seed,
            shape,
            alike,
            fabric,
            first,
            second,
            flows,
            hosts,
            header,
        })
}
