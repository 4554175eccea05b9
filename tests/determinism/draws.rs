//! What the swarm is made of: random shapes, traffic and settings.
use backwater_control::arbitration::VlEntry;
use backwater_control::detector::{Detector, Fecn, NpEcn, Red, Tcd, Trend};
use backwater_control::flow_control::{CreditReturn, Form, Unit};
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::pyrrha::Rules;
use backwater_control::isolation::recn::{Aside, RecnConfig};
use backwater_control::isolation::sfc::SfcConfig;
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{
    DcqcnConfig, DcqcnHpccConfig, DctcpConfig, HpccConfig, IbCcConfig, PftConfig, Polarity, RateLaw,
    ReactionConfig, StateRule, SwiftConfig,
};
use backwater_control::transport::selective::{Lost, SelectiveConfig};
use backwater_fabric::{
    AckSpec, Apart, Arbiter, BfcSpec, CreditSpec, DstPfcSpec, FloodgateSpec, Pace, Pauses, PoolOrder,
    PyrrhaSpec, Queueing, RecnSpec, ReliableSpec, Repeat, Scope, SegmentSpec, SfcSpec, Start, Switching,
    ThrottleSpec,
};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span};
use proptest::prelude::*;
use scene::us;

use crate::swarm::{Case, Gates, Links, Shape};

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (2u32..9).prop_map(Shape::Star),
        (1u32..5, 1u32..5).prop_map(|(l, r)| Shape::Dumbbell(l, r)),
        (2u32..4, 1u32..4, 1u32..4).prop_map(|(l, s, h)| Shape::LeafSpine(l, s, h)),
        Just(Shape::FatTree),
        (1u32..8, 2u32..10, 0u32..6).prop_map(|(switches, hosts, extra)| Shape::Random {
            switches,
            hosts,
            extra
        }),
    ]
}

pub(crate) fn pacing() -> impl Strategy<Value = Pacing> {
    prop_oneof![
        3 => Just(Pacing::Controlled),
        2 => Just(Pacing::LineRate),
        1 => (500u64..40_000, prop_oneof![Just(0u32), 1u32..500_000], any::<bool>()).prop_map(|(mbps, jitter_ppm, catch_up)| {
            Pacing::Constant { rate: Rate::from_mbps(mbps), jitter_ppm, catch_up }
        }),
    ]
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Ideal),
        Just(Form::authors()),
        (2u64..9).prop_map(|us| Form::Timed { pause: Span::from_us(us), poll: Span::from_us(us / 2) }),
    ]
}

fn returned() -> impl Strategy<Value = CreditReturn> {
    prop_oneof![
        1 => Just(CreditReturn::AtOnce),
        2 => (3u64..60).prop_map(|us| CreditReturn::Periodic(Span::from_us(us))),
    ]
}

/// Buffers of a few packets to some dozens. Updates get lost only where they are sent again.
fn credits() -> impl Strategy<Value = CreditSpec> {
    let loss = prop_oneof![3 => Just(0u32), 2 => 1u32..900_000];
    let priorities = prop::sample::select(vec![0x7f_u8, 0x7f, 0b0000_1000]);
    let unit = prop::sample::select(vec![Unit::BLOCK, Unit::FLIT]);
    let full = any::<bool>();
    (2_200u64..60_000, returned(), 8u64..32, any::<bool>(), loss, priorities, unit, full).prop_map(
        |(buffer, returned, frame, unchanged, loss_ppm, priorities, unit, full)| {
            let unchanged = unchanged && returned != CreditReturn::AtOnce;
            CreditSpec {
                buffer: Bytes::new(buffer),
                unit,
                start: if full { Start::Full } else { Start::Packet },
                returned,
                frame: Bytes::new(frame),
                unchanged,
                loss_ppm: if unchanged { loss_ppm } else { 0 },
                priorities,
            }
        },
    )
}

/// Thresholds that some packets in use reach, short windows, and rates from full to none.
pub(crate) fn throttle() -> impl Strategy<Value = ThrottleSpec> {
    let windows = (2u32..400, 2u32..400, 0.0..1.0f64, 0.0..1.0f64);
    let rule = (0u32..200, 1u32..200, prop::option::of(windows)).prop_map(|(enter, escape, windows)| {
        let Some((enter_window, escape_window, entering, escaping)) = windows else {
            return StateRule::Fixed { enter, escape };
        };
        let hits = |window: u32, share: f64| ((f64::from(window) * share) as u32).clamp(1, window - 1);
        let (enter_hits, escape_hits) = (hits(enter_window, entering), hits(escape_window, escaping));
        StateRule::Average { enter, escape, enter_window, enter_hits, escape_window, escape_hits }
    });
    let law = prop_oneof![
        (0u8..8).prop_map(|n| (RateLaw::FixedInterval, 0, n)),
        (16u8..26).prop_map(|m| (RateLaw::RandomInterval { bits: 30 }, m, 0)),
        (16u8..26).prop_map(|m| (RateLaw::MeanInterval { bits: 30 }, m, 0)),
    ];
    let scope = prop::sample::select(vec![Scope::Port, Scope::VirtualLane]);
    let polarity = prop::sample::select(vec![Polarity::Used, Polarity::Used, Polarity::Available]);
    (rule, law, scope, polarity).prop_map(|(rule, (law, m, n), scope, polarity)| ThrottleSpec {
        config: PftConfig { rule, law, m, n, polarity, ..PftConfig::standard() },
        scope,
    })
}

/// All kinds, each with caps, timers and NACKs of its own.
pub(crate) fn reliable() -> impl Strategy<Value = ReliableSpec> {
    let lost = || prop::sample::select(vec![Lost::Lost, Lost::All]);
    let selective = (1u64..100_000, lost(), lost()).prop_map(|(cap, after_nack, after_timeout)| {
        Repeat::Selective { cap, config: SelectiveConfig { after_nack, after_timeout } }
    });
    let blocks = (1u64..100_000).prop_map(|cap| Repeat::BlockList { cap });
    let repeat = prop_oneof![2 => Just(Repeat::GoBackN), 3 => selective, 1 => blocks];
    let short = prop::option::of((0u32..20, 2u64..40));
    let nack_every = prop::option::of((1u64..20).prop_map(Span::from_us));
    let choices = (any::<bool>(), any::<bool>(), any::<bool>());
    (repeat, 20u64..100, short, 0u32..8, nack_every, choices).prop_map(
        |(repeat, timeout, short, retries, nack_every, (backoff, every_packet, nack_notifies))| {
            ReliableSpec {
                repeat,
                timeout: Span::from_us(timeout),
                short: short.map(|(packets, us)| (packets, Span::from_us(us))),
                retries,
                backoff,
                every_packet,
                nack_every,
                nack_notifies,
            }
        },
    )
}

fn gates() -> impl Strategy<Value = Gates> {
    prop_oneof![
        1 => Just(Gates::Off),
        4 => (1_100u64..40_000, reliable()).prop_map(|(port, reliable)| Gates::Drops { port, reliable }),
        4 => (form(), 4_000u64..40_000).prop_map(|(form, xoff)| Gates::Static { form, xoff }),
        2 => form().prop_map(|form| Gates::Dynamic { form }),
        6 => (credits(), prop::option::of(throttle())).prop_map(|(credits, throttle)| Gates::Credits(credits, throttle)),
    ]
}

/// From two queues, which flows share, to one for each flow; those of destinations, and of roots, of which there may be too few.
pub(crate) fn held_queues() -> impl Strategy<Value = Queueing> {
    let order = prop::sample::select(vec![PoolOrder::RoundRobin, PoolOrder::LowestFirst]);
    let frame = || prop::sample::select(vec![1u64, 64, 1_000]).prop_map(Bytes::new);
    let bfc = (2u16..70, 0u16..4, order, frame())
        .prop_map(|(queues, sticky, order, frame)| Queueing::Bfc(BfcSpec { queues, sticky, order, frame }));
    let apart = prop::sample::select(vec![Apart::Always, Apart::Held]);
    let dst_pfc = (apart, 1u32..3000, 0u32..1000, any::<bool>(), frame()).prop_map(
        |(apart, more, low, first_packets, frame)| {
            let thresholds = Thresholds { high: low + more, low };
            Queueing::DstPfc(DstPfcSpec { apart, thresholds, first_packets, frame })
        },
    );
    let choices = (any::<bool>(), any::<bool>(), any::<bool>());
    let pace = prop::sample::select(vec![Pace::OwnPort, Pace::LastPort]);
    let queues = prop::sample::select(vec![1u16, 2, 40]);
    let pyrrha = (queues, 1u32..3000, 0u32..1000, choices, pace, frame()).prop_map(
        |(queues, more, low, (only_down, merge, nearest), pace, frame)| {
            let thresholds = Thresholds { high: low + more, low };
            let rules = Rules { thresholds, hol: 0, only_down, merge, nearest };
            Queueing::Pyrrha(PyrrhaSpec { queues, rules, pace, frame })
        },
    );
    let told = prop::sample::select(vec![Pauses::Priority, Pauses::Flow]);
    let sfc = (1u64..30_000, 0u64..100, told, any::<bool>(), frame()).prop_map(
        |(threshold, percent, pauses, cache, frame)| {
            let target = Bytes::new(threshold * percent / 100);
            let rules = SfcConfig { threshold: Bytes::new(threshold), target };
            Queueing::Sfc(SfcSpec { rules, pauses, cache, frame })
        },
    );
    prop_oneof![bfc, dst_pfc, windows(), pyrrha, set_aside(), sfc]
}

/// Queues set aside for roots, destinations and ranges of them, from one to more than are ever asked for, from early on and late.
fn set_aside() -> impl Strategy<Value = Queueing> {
    let aside = prop::sample::select(vec![Aside::Root, Aside::Destinations(1), Aside::Destinations(3)]);
    let queues = prop::sample::select(vec![1u16, 2, 40]);
    let order = prop::sample::select(vec![PoolOrder::RoundRobin, PoolOrder::LowestFirst]);
    let frame = prop::sample::select(vec![1u64, 64, 1_000]).prop_map(Bytes::new);
    let rules = (1u32..2000, 0u32..1500, 1u32..2000, 0u32..1500, any::<bool>());
    (aside, queues, order, frame, rules).prop_map(
        |(aside, queues, order, frame, (detect, notify, more, low, marks_roots))| {
            let thresholds = Thresholds { high: low + more, low };
            let rules = RecnConfig { detect, notify: notify.min(low + more), thresholds, aside, marks_roots };
            Queueing::Recn(RecnSpec { queues, rules, order, frame })
        },
    )
}

/// Windows from one packet to as many as ever come, given back by packet, by count and by time; VOQs from one that all share to one for each.
fn windows() -> impl Strategy<Value = Queueing> {
    let count = prop::sample::select(vec![1u64, 3_000, 10_240, 1_000_000]);
    let rules = (500u32..3000, 1u64..30, count, 0u32..2000).prop_map(|(window, interval, count, delay)| {
        FloodgateConfig { window, interval: Span::from_us(interval), count, delay }
    });
    (rules, 1u16..12, 1u64..100, 1u64..50).prop_map(|(rules, voqs, frame, entry)| {
        let [frame, entry] = [frame, entry].map(Bytes::new);
        Queueing::Floodgate(FloodgateSpec { rules, voqs, frame, entry })
    })
}

fn switching() -> impl Strategy<Value = Switching> {
    let header = prop::sample::select(vec![1u64, 20, 500]);
    prop_oneof![
        Just(Switching::StoreAndForward),
        header.prop_map(|header| Switching::CutThrough { header: Bytes::new(header) }),
    ]
}

/// Virtual lanes 1, 3, 5 and 6 have their turns; more lines come before them.
fn weighted() -> impl Strategy<Value = Arbiter> {
    let line = |weight: std::ops::RangeInclusive<u8>| {
        (prop::sample::select(vec![1u8, 3, 5, 6]), weight).prop_map(|(vl, weight)| VlEntry { vl, weight })
    };
    let (high, more) =
        (prop::collection::vec(line(0..=255), 0..5), prop::collection::vec(line(0..=40), 0..3));
    let limit = prop::sample::select(vec![0u8, 1, 7, 255]);
    (high, more, prop::array::uniform4(1u8..=255), limit).prop_map(|(high, more, weights, high_limit)| {
        let each = [1u8, 3, 5, 6].into_iter().zip(weights).map(|(vl, weight)| VlEntry { vl, weight });
        Arbiter::Weighted { high, low: each.chain(more).collect(), high_limit }
    })
}

fn arbiter() -> impl Strategy<Value = Arbiter> {
    prop_oneof![2 => Just(Arbiter::RoundRobin), 2 => Just(Arbiter::Strict), 2 => weighted()]
}

pub(crate) fn red() -> impl Strategy<Value = Red> {
    (0u64..5_000, 1u64..30_000, 0.0..1.0f64).prop_map(|(kmin, width, pmax)| {
        Red::new(Bytes::new(kmin), Bytes::new(kmin + width), pmax, Bytes::ZERO).expect("in range")
    })
}

pub(crate) fn detector() -> impl Strategy<Value = Detector> {
    let trend = prop::sample::select(vec![Trend::Authors, Trend::Rise, Trend::NoFall, Trend::RiseBp]);
    prop_oneof![
        Just(Detector::None),
        red().prop_map(Detector::Red),
        red().prop_map(|red| Detector::NpEcn(NpEcn { red })),
        (trend, 5u64..50).prop_map(|(trend, us)| {
            let mut tcd = Tcd::authors();
            tcd.trend = trend;
            tcd.max_ton = Span::from_us(us);
            tcd.period = Span::from_us(us);
            Detector::Tcd(tcd)
        }),
        (5u64..60, 0u64..30_000).prop_map(|(tc, threshold)| {
            Detector::Tcd(Tcd::credits(
                Trend::RiseBp,
                Span::from_us(tc),
                Bytes::new(threshold),
                Bytes::new(1048),
            ))
        }),
        (0u64..20_000, 0u16..4, 0u64..700).prop_map(|(threshold, marking_rate, packet_size)| {
            Detector::Fecn(Fecn {
                threshold: Bytes::new(threshold),
                marking_rate,
                packet_size: Bytes::new(packet_size),
            })
        }),
    ]
}

pub(crate) fn reaction() -> impl Strategy<Value = ReactionConfig> {
    prop_oneof![
        Just(ReactionConfig::LineRate(())),
        Just(ReactionConfig::Dcqcn(DcqcnConfig::authors())),
        Just(ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(Rate::from_gbps(40)))),
        Just(ReactionConfig::IbCc(IbCcConfig::standard())),
        Just(ReactionConfig::IbCc(IbCcConfig::with_tcd())),
    ]
}

/// Reaction points with windows: small ones that close often, and those of the papers.
fn window() -> impl Strategy<Value = Option<ReactionConfig>> {
    let bytes = prop::sample::select(vec![3_000u64, 20_000, 100_000]);
    let kind = (0u32..3, bytes, 1u64..30).prop_map(|(kind, bdp, rtt)| match kind {
        0 => ReactionConfig::Dctcp(DctcpConfig::paper(1048, bdp)),
        1 => ReactionConfig::Swift(SwiftConfig::standard(1048, bdp, Span::from_ns(100 * rtt))),
        _ => ReactionConfig::Hpcc(HpccConfig::paper(1048, Rate::from_gbps(40), Span::from_us(rtt))),
    });
    prop::option::of(kind)
}

pub(crate) fn ack() -> impl Strategy<Value = Option<AckSpec>> {
    let priority = prop::sample::select(vec![None, Some(3), Some(6), Some(7)]);
    let ack = (1u32..6, 60u64..90, priority).prop_map(|(every, size, priority)| AckSpec {
        every,
        size: Bytes::new(size),
        priority,
    });
    prop::option::of(ack)
}

fn timely() -> impl Strategy<Value = Option<SegmentSpec>> {
    let segment = |(packets, burst, once_per_round_trip)| SegmentSpec { packets, burst, once_per_round_trip };
    prop::option::of((1u32..20, any::<bool>(), any::<bool>()).prop_map(segment))
}

pub(crate) fn notify() -> impl Strategy<Value = Option<NotifyConfig>> {
    let mode = prop::sample::select(vec![NotifyConfig::authors(), NotifyConfig::standard()]);
    let fraction = prop::sample::select(vec![0.0, 0.0, 0.95]);
    prop_oneof![
        1 => Just(None),
        2 => (mode, fraction).prop_map(|(mode, fraction)| Some(NotifyConfig { fraction, ..mode })),
        1 => Just(Some(NotifyConfig::each_mark())),
    ]
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    // Starts often coincide, on the grid of the packet times and off it.
    let start = prop_oneof![Just(0u64), (0u64..50).prop_map(|n| n * 200_000), 0u64..60_000_000];
    let priority = prop::sample::select(vec![1u8, 3, 3, 3, 5]);
    let bytes = prop_oneof![9 => 1u64..80_000, 1 => Just(u64::MAX)];
    let flow = (0u32..64, 0u32..64, bytes, start, priority, pacing());
    let network = (
        any::<u64>(),
        shape(),
        prop::sample::select(vec![Links::Alike, Links::OwnDelays, Links::OwnDelaysAndRates]),
    );
    let traffic = (prop::collection::vec(flow, 1..30), prop::sample::select(vec![0u64, 20, 48]));
    let until = prop_oneof![Just(None), (20u64..300).prop_map(|n| Some(us(n)))];
    let ends = (reaction(), notify(), ack(), timely(), window());
    let queueing = prop::sample::select(vec![Queueing::Output, Queueing::VirtualOutput]);
    let switch = (queueing, switching(), arbiter());
    (network, traffic, gates(), detector(), ends, switch, until).prop_map(
        |(
            (seed, shape, links),
            (flows, header),
            gates,
            detector,
            (reaction, notify, ack, timely, window),
            (queueing, switching, arbiter),
            until,
        )| {
            Case {
                seed,
                shape,
                links,
                flows,
                gates,
                detector,
                reaction,
                notify,
                ack,
                timely,
                window,
                queueing,
                switching,
                arbiter,
                header,
                until,
            }
        },
    )
}
