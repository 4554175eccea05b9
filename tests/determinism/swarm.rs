//! Random small fabrics with random traffic and settings: every engine tells the same story.
use backwater_control::detector::Detector;
use backwater_control::flow_control::{Form, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{ReactionConfig, TimelyConfig};
use backwater_engine::mix;
use backwater_fabric::{
    AckSpec, Arbiter, Balancing, CreditSpec, Kind, Overflow, PairSpec, Queueing, ReliableSpec, SegmentSpec,
    Spec, Switching, ThrottleSpec,
};
use backwater_topology::{Builder, Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use scene::{dynamic_thresholds, flow_of_priority, ideal, per_port, us, with_links};

use crate::draws::{case, held_queues};
use crate::fingerprint::{difference, fingerprint, of_copies, watch_all, watch_nothing};

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Star(u32),
    Dumbbell(u32, u32),
    LeafSpine(u32, u32, u32),
    FatTree,
    Random { switches: u32, hosts: u32, extra: u32 },
}

/// Of links: all alike (many ties), or each of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Links {
    Alike,
    OwnDelays,
    OwnDelaysAndRates,
}

/// What keeps buffers from overflowing.
#[derive(Clone, Debug)]
pub(crate) enum Gates {
    Off,
    /// Nothing: ports keep so many bytes, and queue pairs send again what is lost.
    Drops {
        port: u64,
        reliable: ReliableSpec,
    },
    Static {
        form: Form,
        xoff: u64,
    },
    Dynamic {
        form: Form,
    },
    Credits(CreditSpec, Option<ThrottleSpec>),
    /// Queues of flows or destinations, held upstream.
    Holds(Queueing),
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) links: Links,
    pub(crate) flows: Vec<(u32, u32, u64, u64, u8, Pacing)>,
    pub(crate) gates: Gates,
    pub(crate) detector: Detector,
    pub(crate) reaction: ReactionConfig,
    pub(crate) notify: Option<NotifyConfig>,
    pub(crate) ack: Option<AckSpec>,
    pub(crate) timely: Option<SegmentSpec>,
    pub(crate) window: Option<ReactionConfig>,
    pub(crate) queueing: Queueing,
    pub(crate) switching: Switching,
    pub(crate) arbiter: Arbiter,
    pub(crate) header: u64,
    pub(crate) until: Option<Time>,
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
            let drops = matches!(self.gates, Gates::Drops { .. });
            for (i, flow) in flows.iter_mut().enumerate() {
                // What is sent again has an end there.
                let size = if drops { flow.size.min(Bytes::new(80_000)) } else { flow.size };
                *flow = Flow { size, start: flow.start, ..first[i % 4] }.on(i as u32 % 4);
            }
        }
        flows
    }

    pub(crate) fn spec(&self) -> Spec {
        let network = self.network();
        let flows = self.flows(network.hosts().len() as u32);
        let mut spec = ideal(network, flows);
        spec.seed = self.seed;
        spec.packet.header = Bytes::new(self.header);
        spec.switch.arbiter = self.arbiter.clone();
        spec.switch.detectors = per_port(&spec.network, |_| self.detector);
        let buffer = 2_000_000;
        spec.switch.buffer = Bytes::new(buffer);
        spec.switch.queueing = self.queueing;
        spec.switch.switching = self.switching;
        self.guard(&mut spec, buffer);
        spec.pairs[0].reaction = self.reaction;
        spec.pairs[0].notify = self.notify;
        spec.pairs[0].ack = self.ack;
        // Messages of a connection have no windows.
        if let Some(window) = self.window.filter(|_| !self.seed.is_multiple_of(3)) {
            spec.pairs[0].reaction = window;
            spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: Some(7) });
        }
        spec.switch.balancing = self.balancing();
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
        if let Gates::Drops { port, reliable } = self.gates {
            spec.switch.queueing = Queueing::Output;
            spec.switch.overflow = Overflow::Drop { port: Bytes::new(port) };
            for pair in &mut spec.pairs {
                let own = AckSpec { every: 1, size: Bytes::new(64), priority: None };
                (pair.reliable, pair.ack) = (Some(reliable), Some(pair.ack.unwrap_or(own)));
            }
        }
        spec
    }

    /// How switches spread packets. HPCC compares what one link told two packets.
    fn balancing(&self) -> Balancing {
        match self.seed / 3 % 8 {
            _ if matches!(self.window, Some(ReactionConfig::Hpcc(_))) => Balancing::Ecmp,
            _ if matches!(self.gates, Gates::Holds(_)) => Balancing::Ecmp,
            0 => Balancing::Spray,
            1 => Balancing::Flowlet { gap: Span::from_ps(self.seed % 5_000_000) },
            2 | 3 => Balancing::Adaptive,
            _ => Balancing::Ecmp,
        }
    }

    /// Flow control, in switches with `buffer` bytes.
    fn guard(&self, spec: &mut Spec, buffer: u64) {
        match (&self.gates, spec.switch.pfc.as_mut()) {
            (&Gates::Static { form, xoff }, Some(pfc)) => {
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
            (&Gates::Dynamic { form }, Some(pfc)) => {
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
            (Gates::Credits(credits, throttle), _) => {
                spec.switch.pfc = None;
                spec.switch.credits = Some(credits.clone());
                spec.throttle = throttle.clone();
            }
            (&Gates::Holds(queueing), _) => {
                spec.switch.pfc = None;
                spec.switch.queueing = queueing;
                if matches!(spec.switch.arbiter, Arbiter::Weighted { .. }) {
                    spec.switch.arbiter = Arbiter::RoundRobin;
                }
            }
            _ => spec.switch.pfc = None,
        }
    }

    /// When the run ends at the latest: endless flows need an end, also because they may starve others.
    pub(crate) fn until(&self) -> Option<Time> {
        let endless = self.flows.iter().any(|flow| flow.2 == u64::MAX);
        // A Swift flow whose target is shorter than its round trip sends a packet in a thousand of them: a second of samples.
        let crawls = matches!(self.window, Some(ReactionConfig::Swift(_)));
        // So does a queue pair that waits for its timer, twice as long each time.
        let crawls = crawls || matches!(self.gates, Gates::Drops { .. });
        match (endless, crawls) {
            (true, _) => Some(self.until.unwrap_or(us(300))),
            (false, true) => Some(self.until.unwrap_or(us(2_000))),
            (false, false) => self.until,
        }
    }
}

/// Runs that nothing may tell apart from the reference: (engine, batching, all probes or none).
fn variants(case: &Case) -> [(Kind, bool, bool); 4] {
    let threads = [2, 3, 7][(case.seed % 3) as usize];
    [
        (Kind::Windows { threads: 1 }, false, true),
        (Kind::Windows { threads: 1 }, true, true),
        (Kind::Windows { threads: 1 }, true, false),
        (Kind::Windows { threads }, true, false),
    ]
}

/// Whatever runs a case, and whoever looks on: it takes the course of the reference.
fn every_run_is_that_of_the_reference(case: &Case) -> Result<(), TestCaseError> {
    let until = case.until();
    let mut spec = case.spec();
    spec.batching = false;
    watch_all(&mut spec);
    let flows = spec.flows.clone();
    let reference = fingerprint(spec, Kind::Heap, until);
    match &reference {
        // With many ways a flow can be faster than on the one that its ideal is of.
        Ok(_) if case.balancing() != Balancing::Ecmp => {}
        Ok((course, _)) => prop_assert!(course.miracle(&flows).is_none(), "{:?}", course.miracle(&flows)),
        Err(violation) => prop_assert!(!violation.contains("(a bug)"), "{violation}"),
    }
    for (kind, batching, probes) in variants(case) {
        let mut spec = case.spec();
        spec.batching = batching;
        if probes {
            watch_all(&mut spec);
        } else {
            watch_nothing(&mut spec);
        }
        let other = fingerprint(spec, kind, until);
        let found = difference(&reference, &other, probes).unwrap_or_default();
        prop_assert!(found.is_empty(), "{kind:?}, batching {batching}, probes {probes}: {found}");
    }
    let mut spec = case.spec();
    watch_all(&mut spec);
    let found = of_copies(&reference, spec, case.seed, until).unwrap_or_default();
    prop_assert!(found.is_empty(), "{found}");
    Ok(())
}

proptest! {
    #[test]
    fn every_engine_any_number_of_threads_and_any_probes_give_the_course_of_the_reference(case in case()) {
        every_run_is_that_of_the_reference(&case)?;
    }

    #[test]
    fn so_they_do_with_queues_that_are_held_upstream(case in case(), queueing in held_queues()) {
        every_run_is_that_of_the_reference(&Case { gates: Gates::Holds(queueing), ..case })?;
    }
}
