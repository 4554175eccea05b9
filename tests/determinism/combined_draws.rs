//! What the swarm of switches with combined queueing is made of.
use backwater_control::detector::{Detector, Red};
use backwater_control::isolation::{
    CiConfig, Common, IciConfig, IciMarking, Isolation, NotifyConfig as CimConfig,
};
use backwater_fabric::{Arbiter, Crossings, IsolationSpec, KeyKind, MarkAt, MarkBasis, MarkSpec, PacketSpec};
use backwater_topology::Routing;
use backwater_traffic::{Drawn, Pacing};
use backwater_units::{Bytes, Rate, Span};
use proptest::prelude::*;
use scene::{CONGESTED, NORMAL, us};

use crate::combined::{Case, Shape, Switch};
use crate::draws;

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        2 => (2u32..9).prop_map(Shape::Star),
        2 => (1u32..6, 1u32..4).prop_map(|(left, right)| Shape::Dumbbell(left, right)),
        1 => (2u32..4, 1u32..4, 1u32..4).prop_map(|(l, s, h)| Shape::LeafSpine(l, s, h)),
        2 => prop::sample::select(vec![(2u32, 2u32), (2, 3), (3, 2), (4, 2)]).prop_map(|(k, n)| Shape::Tree(k, n)),
    ]
}

fn packet() -> impl Strategy<Value = PacketSpec> {
    (prop::sample::select(vec![1000u64, 2048, 4096]), prop::sample::select(vec![0u64, 48]), any::<bool>())
        .prop_map(|(payload, header, padded)| PacketSpec {
            payload: Bytes::new(payload),
            header: Bytes::new(header),
            padded,
        })
}

fn pacing() -> impl Strategy<Value = Pacing> {
    let drawn =
        prop::option::of((1u16..5, 0u16..5).prop_map(|(of, number)| Drawn { of, number: number % of }));
    let supplied = (5u64..=100, 1u32..40, 1u64..150, drawn).prop_map(|(gbps, backlog, until, drawn)| {
        Pacing::supplied(Rate::from_gbps(gbps), backlog, us(until), drawn)
    });
    prop_oneof![3 => draws::pacing(), 2 => supplied]
}

fn arbiter() -> impl Strategy<Value = Arbiter> {
    let weights = prop::array::uniform8(1u16..40);
    prop_oneof![
        Just(Arbiter::Strict),
        Just(Arbiter::RoundRobin),
        Just(Arbiter::Deficit { weights: [1, 1, 17, 22, 1, 1, 1, 1] }),
        weights.prop_map(|weights| Arbiter::Deficit { weights }),
    ]
}

/// Lengths in packets are turned into bytes where the size of a packet is known.
fn switch() -> impl Strategy<Value = Switch> {
    let lengths = (1u64..30, 1u64..30, 8u64..60, 1u64..100, 2u64..40, 2u64..40, 2u64..64);
    let crossbar = prop::sample::select(vec![Crossings::Single, Crossings::Multiple]);
    (100u32..=300, crossbar, lengths, arbiter(), any::<bool>()).prop_map(
        |(speedup, crossbar, (nfq, cfq, port, go, nfq_cap, cfq_cap, egress), arbiter, capped)| Switch {
            speedup,
            crossbar,
            stops: [nfq, cfq, port],
            go_percent: go,
            caps: if capped { [nfq_cap, cfq_cap] } else { [egress; 2] },
            egress,
            arbiter,
        },
    )
}

fn common(unit: u64) -> impl Strategy<Value = Common> {
    let notify = (0u64..12, any::<bool>(), 1u64..8_000, prop::option::of(1u8..4)).prop_map(
        move |(level, on_allocation, gap, most)| CimConfig {
            level: Bytes::new(level * unit),
            on_allocation,
            gap: Span::from_ns(gap),
            most,
        },
    );
    (1u64..16, 50u64..20_000, notify, prop::option::of(1u64..10)).prop_map(
        move |(detect, residency, notify, early)| Common {
            detect: Bytes::new(detect * unit),
            residency: Span::from_ns(residency),
            notify,
            early: early.map(|packets| Bytes::new(packets * unit)),
        },
    )
}

fn marking() -> impl Strategy<Value = Option<IciMarking>> {
    let spans = (1u64..40, 1u64..80, 0u64..60);
    prop::option::of((spans, draws::red(), draws::red()).prop_map(
        |((overflow, persist, gap), congested, monitored)| IciMarking {
            overflow: Span::from_us(overflow),
            persist: Span::from_us(persist),
            gap: Span::from_us(gap),
            congested,
            monitored,
        },
    ))
}

fn rules() -> impl Strategy<Value = Isolation> {
    let ici = (common(1100), 0u64..10, 0u64..8_000, 1u32..=1_000_000, prop::option::of(1u64..100), marking());
    prop_oneof![
        common(1100).prop_map(|common| Isolation::Ci(CiConfig { common })),
        ici.prop_map(|(common, guard, quorum, share_ppm, history, marking)| Isolation::Ici(IciConfig {
            common,
            guard: Span::from_us(guard),
            quorum: Bytes::new(quorum),
            share_ppm,
            history: history.map(Span::from_us),
            marking,
        })),
    ]
}

fn isolation() -> impl Strategy<Value = Option<IsolationSpec>> {
    let slots = prop::sample::select(vec![None, None, Some(0), Some(1), Some(2), Some(3), Some(7), Some(32)]);
    let key = prop::sample::select(vec![
        KeyKind::Pair,
        KeyKind::Pair,
        KeyKind::Flow,
        KeyKind::Destination,
        KeyKind::Root,
    ]);
    let hold = prop::option::of((1u64..200).prop_map(Span::from_us));
    let spec = (rules(), slots, key, hold, 48u64..200).prop_map(|(rules, slots, key, host_hold, frame)| {
        let frame = Bytes::new(frame);
        IsolationSpec { rules, slots, monitored: NORMAL, congested: CONGESTED, key, frame, host_hold }
    });
    prop_oneof![1 => Just(None), 5 => spec.prop_map(Some)]
}

/// Other detectors than RED look at a queue when a packet leaves it.
fn detector() -> impl Strategy<Value = (Detector, MarkSpec)> {
    let mark = (
        prop::sample::select(vec![MarkAt::Dequeue, MarkAt::Enqueue]),
        prop::sample::select(vec![MarkBasis::Queue, MarkBasis::Port]),
    );
    let red = |red: Red| Detector::Red(red);
    prop_oneof![
        1 => Just((Detector::None, MarkSpec::default())),
        2 => (draws::red().prop_map(red), mark).prop_map(|(red, (at, basis))| (red, MarkSpec { at, basis })),
        1 => draws::detector().prop_map(|detector| (detector, MarkSpec::default())),
    ]
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let start = prop_oneof![Just(0u64), (0u64..50).prop_map(|n| n * 327_680), 0u64..60_000_000];
    let priority = prop::sample::select(vec![1u8, 3, 3, 3, 3, 3, 5]);
    let flow = (0u32..64, 0u32..64, 1u64..200_000, start, priority, pacing());
    // Every second case has a favourite destination.
    let traffic = (prop::collection::vec(flow, 1..25), any::<bool>(), packet());
    let network =
        (any::<u64>(), shape(), any::<bool>(), prop::sample::select(vec![Routing::Ecmp, Routing::DModK]));
    let ends = (draws::reaction(), draws::notify(), draws::ack());
    (network, traffic, ends, switch(), isolation(), detector()).prop_map(
        |(
            (seed, shape, alike, routing),
            (flows, crowd, packet),
            (reaction, notify, ack),
            switch,
            isolation,
            (detector, mark),
        )| Case {
            seed,
            shape,
            alike,
            routing,
            flows,
            crowd,
            packet,
            reaction,
            notify,
            ack,
            switch,
            isolation,
            detector,
            mark,
        },
    )
}
