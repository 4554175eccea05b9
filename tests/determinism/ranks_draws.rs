//! What the swarm of rank programs is made of: programs that come to an end, and the fabrics that they run on.
use backwater_control::flow_control::{CreditReturn, Unit};
use backwater_control::reaction::{Polarity, RateLaw, StateRule};
use backwater_fabric::{ReliableSpec, Scope, Start};
use backwater_traffic::program::Costs;
use backwater_units::{Bytes, Span};
use proptest::prelude::*;

use crate::draws::reliable;
use crate::puts::Shape;
use crate::ranks::{Case, Credits, Fabric, Message, Throttle};

fn message() -> impl Strategy<Value = Message> {
    let size = prop::sample::select(vec![0u64, 1, 8, 999, 1_000, 1_001, 5_000, 20_000, 60_000]);
    let kind = prop::sample::select(vec![0u8, 0, 0, 0, 0, 1, 2]);
    (0u32..64, 0u32..64, size, kind, 0u32..3, any::<(bool, bool)>(), 0u8..64, 0u64..2_000).prop_map(
        |(from, to, size, kind, tag, (first, anybody), sets, pause)| Message {
            from,
            to,
            size,
            kind,
            tag,
            first,
            anybody,
            sets: (sets % 8, sets / 8),
            pause,
        },
    )
}

fn costs() -> impl Strategy<Value = Costs> {
    let bytes = (prop::sample::select(vec![0u64, 1_000, 16_384, 1 << 40]), 0u64..3_000);
    (1u64..1_000, 0u64..1_000, bytes, 1u64..2_000).prop_map(|(send, receive, (eager, control), local)| {
        Costs {
            send: Span::from_ns(send),
            receive: Span::from_ns(receive),
            eager: Bytes::new(eager),
            control: Bytes::new(control),
            local: Span::from_ns(local),
        }
    })
}

fn throttle() -> impl Strategy<Value = Throttle> {
    let windows = (2u32..200, 1u32..100, 2u32..200, 1u32..100);
    let rule = (any::<bool>(), 0u32..400, 0u32..400, windows).prop_map(|(fixed, a, b, windows)| {
        let (enter_window, enter_hits, escape_window, escape_hits) = windows;
        if fixed {
            return StateRule::Fixed { enter: a.max(b), escape: a.min(b) };
        }
        StateRule::Average {
            enter: a,
            escape: b,
            enter_window,
            enter_hits: enter_hits.min(enter_window - 1),
            escape_window,
            escape_hits: escape_hits.min(escape_window - 1),
        }
    });
    let law = prop_oneof![
        (0u8..3, 4u8..10).prop_map(|(m, n)| (RateLaw::FixedInterval, m, n)),
        (12u8..20).prop_map(|m| (RateLaw::RandomInterval { bits: 30 }, m, 0)),
        (12u8..20).prop_map(|m| (RateLaw::MeanInterval { bits: 30 }, m, 0)),
    ];
    // Register of what is left, and a throttle for each lane.
    (rule, law, any::<(bool, bool)>()).prop_map(|(rule, (law, m, n), (left, lanes))| {
        // A fixed rule of what is left has its thresholds the other way round.
        let rule = match rule {
            StateRule::Fixed { enter, escape } if left => StateRule::Fixed { enter: escape, escape: enter },
            rule => rule,
        };
        let polarity = if left { Polarity::Available } else { Polarity::Used };
        let scope = if lanes { Scope::VirtualLane } else { Scope::Port };
        Throttle { rule, law, m, n, polarity, scope }
    })
}

fn credits() -> impl Strategy<Value = Credits> {
    let returned = prop_oneof![
        2 => Just(CreditReturn::AtOnce),
        1 => (3u64..30).prop_map(|us| CreditReturn::Periodic(Span::from_us(us)))
    ];
    let unit = prop::sample::select(vec![Unit::BLOCK, Unit::FLIT]);
    (4_000u64..60_000, returned, unit, any::<(bool, bool)>(), prop::option::weighted(0.7, throttle()))
        .prop_map(|(buffer, returned, unit, (full, cut), throttle)| Credits {
            buffer: Bytes::new(buffer),
            returned,
            unit,
            start: if full { Start::Full } else { Start::Packet },
            cut,
            throttle,
        })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![
        3 => (2u32..7).prop_map(Shape::Star),
        2 => (1u32..4, 1u32..4).prop_map(|(left, right)| Shape::Dumbbell(left, right))
    ];
    let fabric = prop_oneof![
        1 => Just(Fabric::Roomy),
        2 => (4_000u64..40_000).prop_map(|xoff| Fabric::Pfc { xoff }),
        4 => credits().prop_map(Fabric::Credits),
        // Most queue pairs never give up.
        4 => (1_100u64..40_000, 1u32..5, reliable(), 0u8..4).prop_map(|(port, every, reliable, patience)| {
            let never = ReliableSpec { retries: 1_000_000, backoff: false, ..reliable };
            Fabric::Drops { port, every, reliable: if patience > 0 { never } else { reliable } }
        }),
    ];
    let lists = (prop::collection::vec(message(), 1..60), prop::collection::vec(0u64..20_000, 8));
    (any::<u64>(), (shape, any::<bool>(), 1u32..4), fabric, 0u8..4, costs(), lists).prop_map(
        |(seed, (shape, alike, per_host), fabric, control, costs, (messages, starts))| Case {
            seed,
            shape,
            alike,
            per_host,
            fabric,
            control,
            costs,
            messages,
            starts,
        },
    )
}
