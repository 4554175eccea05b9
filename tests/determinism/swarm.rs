//! Random small fabrics with random traffic and settings: every engine tells the same story.
use backwater_control::detector::{Detector, NpEcn, Red, Tcd, Trend};
use backwater_control::flow_control::{Form, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, DcqcnHpccConfig, ReactionConfig, TimelyConfig};
use backwater_engine::mix;
use backwater_fabric::{AckSpec, Arbiter, Kind, PairSpec, SegmentSpec, Spec};
use backwater_topology::{Builder, Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{dynamic_thresholds, flow_of_priority, ideal, per_port, us, with_links};

use crate::fingerprint::{difference, fingerprint, watch_all, watch_nothing};

#[derive(Clone, Debug)]
enum Shape {
    Star(u32),
    Dumbbell(u32, u32),
    LeafSpine(u32, u32, u32),
    FatTree,
    Random { switches: u32, hosts: u32, extra: u32 },
}

/// Of links: all alike (many ties), or each of its own.
#[derive(Clone, Copy, Debug)]
enum Links {
    Alike,
    OwnDelays,
    OwnDelaysAndRates,
}

#[derive(Clone, Copy, Debug)]
enum Pfc {
    Off,
    Static { form: Form, xoff: u64 },
    Dynamic { form: Form },
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    shape: Shape,
    links: Links,
    flows: Vec<(u32, u32, u64, u64, u8, Pacing)>,
    pfc: Pfc,
    detector: Detector,
    reaction: ReactionConfig,
    notify: Option<NotifyConfig>,
    ack: Option<AckSpec>,
    timely: Option<SegmentSpec>,
    arbiter: Arbiter,
    header: u64,
    until: Option<Time>,
}

fn random_edges(seed: u64, switches: u32, hosts: u32, extra: u32) -> Network {
    let draw = |entity: u32, below: u32| (mix(seed, 0xed9e, u64::from(entity)) % u64::from(below)) as u32;
    let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
    let mut builder = Builder::new();
    let host: Vec<u32> = (0..hosts).map(|i| builder.host(format!("h{i}"))).collect();
    let switch: Vec<u32> = (0..switches).map(|i| builder.switch(format!("s{i}"))).collect();
    for (i, &h) in (0..).zip(&host) {
        builder.link(h, switch[draw(i, switches) as usize], rate, delay);
    }
    let mut pairs: Vec<(u32, u32)> = (1..switches).map(|i| (draw(1000 + i, i), i)).collect();
    for i in 0..extra {
        let (a, b) = (draw(2000 + i, switches), draw(3000 + i, switches));
        pairs.push((a.min(b), a.max(b)));
    }
    pairs.sort_unstable();
    pairs.dedup();
    for (a, b) in pairs.into_iter().filter(|(a, b)| a != b) {
        builder.link(switch[a as usize], switch[b as usize], rate, delay);
    }
    builder.build().expect("a connected graph")
}

impl Case {
    fn network(&self) -> Network {
        let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
        let network = match self.shape {
            Shape::Star(hosts) => generate::star(hosts, rate, delay),
            Shape::Dumbbell(left, right) => generate::dumbbell(left, right, rate, delay, None),
            Shape::LeafSpine(l, s, h) => generate::leaf_spine(l, s, h, rate, None, delay),
            Shape::FatTree => generate::fat_tree(4, rate, delay),
            Shape::Random { switches, hosts, extra } => Ok(random_edges(self.seed, switches, hosts, extra)),
        };
        let links = self.links;
        let seed = self.seed;
        with_links(&network.expect("a network"), |i, link| {
            let draw = |purpose| mix(seed, purpose, i as u64);
            if !matches!(links, Links::Alike) {
                link.delay = Span::from_ps(300_000 + draw(1) % 3_000_000);
            }
            if matches!(links, Links::OwnDelaysAndRates) {
                let rates = [10_000, 25_000, 40_000, 54_500, 100_000];
                link.rate = Rate::from_mbps(rates[(draw(2) % 5) as usize]);
            }
        })
    }

    fn flows(&self, hosts: u32) -> Vec<Flow> {
        let mut flows: Vec<Flow> = self
            .flows
            .iter()
            .map(|&(src, dst, bytes, start, priority, pacing)| {
                let src = src % hosts;
                let dst = (src + 1 + dst % (hosts - 1)) % hosts;
                flow_of_priority(priority, src, dst, bytes, Time::from_ps(start), pacing)
            })
            .collect();
        flows.sort_by_key(|flow| flow.start);
        // Every second one belongs to the other traffic entry.
        for (i, flow) in (0..).zip(&mut flows) {
            flow.group = i % 2;
        }
        // In every third case they are the messages of at most four connections.
        if self.seed.is_multiple_of(3) {
            let first = flows.clone();
            for (i, flow) in flows.iter_mut().enumerate() {
                *flow = Flow { size: flow.size, start: flow.start, ..first[i % 4] }.on(i as u32 % 4);
            }
        }
        flows
    }

    fn spec(&self) -> Spec {
        let network = self.network();
        let flows = self.flows(network.hosts().len() as u32);
        let mut spec = ideal(network, flows);
        spec.seed = self.seed;
        spec.packet.header = Bytes::new(self.header);
        spec.switch.arbiter = self.arbiter.clone();
        spec.switch.detectors = per_port(&spec.network, |_| self.detector);
        let buffer = 2_000_000;
        spec.switch.buffer = Bytes::new(buffer);
        match (self.pfc, spec.switch.pfc.as_mut()) {
            (Pfc::Static { form, xoff }, Some(pfc)) => {
                // Out of reach, or soon crossed by two priorities together.
                let port_xoff = if self.seed.is_multiple_of(2) { 9_888_000 } else { xoff + xoff / 2 };
                let threshold = Threshold::Static {
                    xoff,
                    xon: xoff - 2_000,
                    port_xoff,
                    port_xon: port_xoff - 2_000,
                    buffer,
                };
                pfc.form = form;
                pfc.thresholds = per_port(&spec.network, |_| threshold);
            }
            (Pfc::Dynamic { form }, Some(pfc)) => {
                // Room for the packet that the HPCC simulator's headroom forgets.
                pfc.form = form;
                pfc.thresholds = dynamic_thresholds(&spec.network, buffer);
                for threshold in pfc.thresholds.iter_mut().flatten() {
                    if let Threshold::Dynamic { headroom, pool, .. } = threshold {
                        *headroom += 4 * 1100;
                        *pool /= 4;
                    }
                }
            }
            _ => spec.switch.pfc = None,
        }
        spec.pairs[0].reaction = self.reaction;
        spec.pairs[0].notify = self.notify;
        spec.pairs[0].ack = self.ack;
        if let Some(segment) = self.timely {
            let size = Bytes::new(64);
            spec.pairs.push(PairSpec {
                reaction: ReactionConfig::Timely(TimelyConfig::authors(
                    Rate::from_gbps(40),
                    Span::from_us(4),
                )),
                notify: None,
                ack: Some(AckSpec { every: segment.packets, size, priority: Some(7) }),
                segment: Some(segment),
                ..spec.pairs[0].clone()
            });
            spec.pair_of = vec![0, 1];
        }
        spec
    }

    /// When the run ends at the latest: endless flows need an end, also because they may starve others.
    fn until(&self) -> Option<Time> {
        let endless = self.flows.iter().any(|flow| flow.2 == u64::MAX);
        if endless { Some(self.until.unwrap_or(us(300))) } else { self.until }
    }
}

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

fn pacing() -> impl Strategy<Value = Pacing> {
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

fn pfc() -> impl Strategy<Value = Pfc> {
    prop_oneof![
        1 => Just(Pfc::Off),
        4 => (form(), 4_000u64..40_000).prop_map(|(form, xoff)| Pfc::Static { form, xoff }),
        2 => form().prop_map(|form| Pfc::Dynamic { form }),
    ]
}

fn red() -> impl Strategy<Value = Red> {
    (0u64..5_000, 1u64..30_000, 0.0..1.0f64).prop_map(|(kmin, width, pmax)| {
        Red::new(Bytes::new(kmin), Bytes::new(kmin + width), pmax, Bytes::ZERO).expect("in range")
    })
}

fn detector() -> impl Strategy<Value = Detector> {
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
    ]
}

fn reaction() -> impl Strategy<Value = ReactionConfig> {
    prop_oneof![
        Just(ReactionConfig::LineRate),
        Just(ReactionConfig::Dcqcn(DcqcnConfig::authors())),
        Just(ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(Rate::from_gbps(40)))),
    ]
}

fn ack() -> impl Strategy<Value = Option<AckSpec>> {
    let priority = prop::sample::select(vec![None, Some(3), Some(6), Some(7)]);
    let ack = (1u32..6, 60u64..90, priority).prop_map(|(every, size, priority)| AckSpec {
        every,
        size: Bytes::new(size),
        priority,
    });
    prop::option::of(ack)
}

fn timely() -> impl Strategy<Value = Option<SegmentSpec>> {
    prop::option::of((1u32..20, any::<bool>()).prop_map(|(packets, burst)| SegmentSpec { packets, burst }))
}

fn case() -> impl Strategy<Value = Case> {
    // Starts often coincide, on the grid of the packet times and off it.
    let start = prop_oneof![Just(0u64), (0u64..50).prop_map(|n| n * 200_000), 0u64..60_000_000];
    let priority = prop::sample::select(vec![1u8, 3, 3, 3, 5]);
    let bytes = prop_oneof![9 => 1u64..80_000, 1 => Just(u64::MAX)];
    let flow = (0u32..64, 0u32..64, bytes, start, priority, pacing());
    let mode = prop::sample::select(vec![NotifyConfig::authors(), NotifyConfig::standard()]);
    let fraction = prop::sample::select(vec![0.0, 0.0, 0.95]);
    let notify =
        prop::option::of((mode, fraction).prop_map(|(mode, fraction)| NotifyConfig { fraction, ..mode }));
    let arbiter = prop::sample::select(vec![Arbiter::RoundRobin, Arbiter::Strict]);
    let network = (
        any::<u64>(),
        shape(),
        prop::sample::select(vec![Links::Alike, Links::OwnDelays, Links::OwnDelaysAndRates]),
    );
    let traffic = (prop::collection::vec(flow, 1..30), prop::sample::select(vec![0u64, 20, 48]));
    let until = prop_oneof![Just(None), (20u64..300).prop_map(|n| Some(us(n)))];
    let ends = (reaction(), notify, ack(), timely());
    (network, traffic, pfc(), detector(), ends, arbiter, until).prop_map(
        |(
            (seed, shape, links),
            (flows, header),
            pfc,
            detector,
            (reaction, notify, ack, timely),
            arbiter,
            until,
        )| {
            Case {
                seed,
                shape,
                links,
                flows,
                pfc,
                detector,
                reaction,
                notify,
                ack,
                timely,
                arbiter,
                header,
                until,
            }
        },
    )
}

/// Runs that nothing may tell apart from the reference: (engine, batching, all probes or none).
fn variants(case: &Case) -> [(Kind, bool, bool); 4] {
    let threads = 2 + (case.seed % 2) as usize;
    [
        (Kind::Windows { threads: 1 }, false, true),
        (Kind::Windows { threads: 1 }, true, true),
        (Kind::Windows { threads: 1 }, true, false),
        (Kind::Windows { threads }, true, false),
    ]
}

proptest! {
    #[test]
    fn every_engine_any_number_of_threads_and_any_probes_give_the_course_of_the_reference(case in case()) {
        let until = case.until();
        let mut spec = case.spec();
        spec.batching = false;
        watch_all(&mut spec);
        let flows = spec.flows.clone();
        let reference = fingerprint(spec, Kind::Heap, until);
        if let Ok((course, _)) = &reference {
            prop_assert!(course.miracle(&flows).is_none(), "{:?}", course.miracle(&flows));
        }
        for (kind, batching, probes) in variants(&case) {
            let mut spec = case.spec();
            spec.batching = batching;
            if probes { watch_all(&mut spec) } else { watch_nothing(&mut spec) }
            let other = fingerprint(spec, kind, until);
            let found = difference(&reference, &other, probes).unwrap_or_default();
            prop_assert!(found.is_empty(), "{kind:?}, batching {batching}, probes {probes}: {found}");
        }
    }
}
