//! Random small fabrics of switches with combined queueing, most of them isolating: nothing is lost, reordered or left behind,
//! and every engine tells the same story.
use std::collections::BTreeMap;

use backwater_control::detector::Detector;
use backwater_control::flow_control::{Band, Bands};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::ReactionConfig;
use backwater_engine::mix;
use backwater_fabric::{
    AckSpec, Arbiter, Combined, Crossings, End, IsolationSpec, KeyKind, Kind, MarkSpec, PacketSpec, Queueing,
    Records, Spec,
};
use backwater_topology::{Network, Routes, Routing, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{CONGESTED, NORMAL, flow_of_priority, ideal, per_port, with_links};

use crate::combined_draws::case;
use crate::fingerprint::{Course, difference, fingerprint, of_copies, watch_all, watch_nothing};

/// None of them has a circle of waiting buffers.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Star(u32),
    Dumbbell(u32, u32),
    LeafSpine(u32, u32, u32),
    Tree(u32, u32),
}

/// Lengths are in full packets.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) speedup: u32,
    pub(crate) crossbar: Crossings,
    /// Of the NFQ, the CFQ and the port.
    pub(crate) stops: [u64; 3],
    pub(crate) go_percent: u64,
    /// Of the NFQ and the CFQ.
    pub(crate) caps: [u64; 2],
    pub(crate) egress: u64,
    pub(crate) arbiter: Arbiter,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    /// Links of 100 Gbps and 25 ns, or each of its own.
    pub(crate) alike: bool,
    pub(crate) routing: Routing,
    pub(crate) flows: Vec<(u32, u32, u64, u64, u8, Pacing)>,
    pub(crate) crowd: bool,
    pub(crate) packet: PacketSpec,
    pub(crate) reaction: ReactionConfig,
    pub(crate) notify: Option<NotifyConfig>,
    pub(crate) ack: Option<AckSpec>,
    pub(crate) switch: Switch,
    pub(crate) isolation: Option<IsolationSpec>,
    pub(crate) detector: Detector,
    pub(crate) mark: MarkSpec,
}

impl Case {
    fn network(&self) -> Network {
        let (rate, delay) = scene::cable();
        let network = match self.shape {
            Shape::Star(hosts) => generate::star(hosts, rate, delay),
            Shape::Dumbbell(left, right) => generate::dumbbell(left, right, rate, delay, None),
            Shape::LeafSpine(l, s, h) => generate::leaf_spine(l, s, h, rate, None, delay),
            Shape::Tree(k, n) => generate::k_ary_n_tree(k, n, rate, delay),
        };
        with_links(&network.expect("a network"), |i, link| {
            if !self.alike {
                let draw = |purpose| mix(self.seed, purpose, i as u64);
                link.delay = Span::from_ps(20_000 + draw(1) % 1_000_000);
                link.rate = Rate::from_gbps([10, 25, 40, 100, 100][(draw(2) % 5) as usize]);
            }
        })
    }

    fn flows(&self, hosts: u32) -> Vec<Flow> {
        let one = |(i, &(src, dst, bytes, start, priority, pacing)): (usize, &_)| {
            let (src, mut dst) = (src % hosts, dst % hosts);
            if self.crowd && i % 3 != 0 {
                dst = 0;
            }
            let dst = if src == dst { (dst + 1) % hosts } else { dst };
            let bytes = if matches!(pacing, Pacing::Supplied { .. }) { u64::MAX } else { bytes };
            // The monitored priority carries something.
            let priority = if i == 0 { NORMAL } else { priority };
            flow_of_priority(priority, src, dst, bytes, Time::from_ps(start), pacing)
        };
        let mut flows: Vec<Flow> = self.flows.iter().enumerate().map(one).collect();
        flows.sort_by_key(|flow| flow.start);
        flows
    }

    /// One full packet on the wire.
    fn unit(&self) -> u64 {
        self.packet.payload.get() + self.packet.header.get()
    }

    /// What a paused upstream may still send: two ways, a packet under way in each direction, and some frames.
    fn headroom(&self, network: &Network) -> u64 {
        let way = |link: &backwater_topology::Link| link.rate.bytes_in(link.delay * 2).get();
        network.links().iter().map(way).max().expect("links") + 4 * self.unit() + 2000
    }

    fn combined(&self, network: &Network) -> Combined {
        let switch = &self.switch;
        let unit = self.unit();
        let band = |packets: u64| {
            let stop = packets * unit;
            Band { stop, go: (stop * switch.go_percent / 100).min(stop - 1) }
        };
        let [nfq, cfq, port] = switch.stops;
        let mut own = [band(nfq); 8];
        own[usize::from(CONGESTED)] = band(cfq);
        own[7] = Band::NONE;
        let egress = switch.egress.max(switch.caps[0]).max(switch.caps[1]) * unit;
        let mut caps = [Bytes::new(egress); 8];
        caps[usize::from(NORMAL)] = Bytes::new(switch.caps[0] * unit);
        caps[usize::from(CONGESTED)] = Bytes::new(switch.caps[1] * unit);
        let port = port.max(nfq).max(cfq);
        Combined {
            speedup_percent: switch.speedup,
            ingress: Bytes::new(port * unit + self.headroom(network)),
            egress: Bytes::new(egress),
            caps,
            crossbar: switch.crossbar,
            bands: Bands { own, port: band(port) },
        }
    }

    fn spec(&self) -> Spec {
        let network = self.network();
        let flows = self.flows(network.hosts().len() as u32);
        let mut spec = ideal(network, flows);
        // A root has one way from each switch to each destination.
        let rooted = self.isolation.as_ref().is_some_and(|isolation| isolation.key == KeyKind::Root);
        let routing = if rooted { Routing::DModK } else { self.routing };
        spec.routes = Routes::new(&spec.network, routing).expect("all hosts reach each other");
        spec.seed = self.seed;
        spec.packet = self.packet;
        spec.switch.queueing = Queueing::Combined(self.combined(&spec.network));
        spec.switch.arbiter = self.switch.arbiter.clone();
        spec.switch.isolation.clone_from(&self.isolation);
        spec.switch.detectors = per_port(&spec.network, |_| self.detector);
        spec.switch.mark = self.mark;
        spec.pairs[0].reaction = self.reaction;
        spec.pairs[0].notify = self.notify;
        spec.pairs[0].ack = self.ack;
        spec
    }
}

/// What is left in a network that had time to drain, or was more than there is room for.
fn leftovers(case: &Case, course: &Course, records: &Records) -> Option<String> {
    let Queueing::Combined(combined) = case.spec().switch.queueing else { return Some("queueing".into()) };
    if course.end != End::Finished && course.flows.iter().any(|flow| flow.finish == Time::MAX) {
        return Some(format!("not finished at {}", course.now));
    }
    let mut open = BTreeMap::new();
    for pause in &records.pauses {
        if open.insert((pause.node, pause.port, pause.priority), pause.paused) == Some(pause.paused) {
            return Some(format!("twice the same: {pause:?}"));
        }
    }
    if let Some((gate, _)) = open.iter().find(|(_, paused)| **paused) {
        return Some(format!("gate {gate:?} is closed for ever"));
    }
    for switch in &course.switches {
        let slots = case.isolation.as_ref().and_then(|isolation| isolation.slots);
        if switch.entries_left > 0
            || switch.peak_ingress > combined.ingress
            || switch.peak_egress > combined.egress
            || slots.is_some_and(|slots| switch.peak_slots > slots)
        {
            return Some(format!("{switch:?}"));
        }
    }
    let cap = |priority: u8| combined.caps[usize::from(priority)];
    let is_switch = |node: u32| course.switches.iter().any(|switch| switch.node == node);
    let crowded = course.ports.iter().find(|port| {
        case.isolation.is_none()
            && is_switch(port.node)
            && port.priority != 7
            && port.peak_queue > cap(port.priority)
    });
    crowded.map(|port| format!("{port:?}"))
}

proptest! {
    // Each case is run five times: fewer cases than of other things, but more if more are asked for.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 8))]
    #[test]
    fn a_combined_switch_loses_reorders_and_leaves_nothing_and_no_engine_thread_or_probe_changes_that(case in case()) {
        let mut spec = case.spec();
        spec.batching = false;
        watch_all(&mut spec);
        let flows = spec.flows.clone();
        let finished = fingerprint(spec, Kind::Heap, None);
        let Ok((course, _)) = &finished else { panic!("{:?}", finished.err()) };
        prop_assert!(course.miracle(&flows).is_none(), "{:?}", course.miracle(&flows));
        let (now, digest) = (course.now, course.digest);
        for (kind, probes) in [(Kind::Windows { threads: 1 }, true), (Kind::Windows { threads: 2 }, false)] {
            let mut spec = case.spec();
            if probes { watch_all(&mut spec) } else { watch_nothing(&mut spec) }
            let found = difference(&finished, &fingerprint(spec, kind, None), probes).unwrap_or_default();
            prop_assert!(found.is_empty(), "{kind:?}, probes {probes}: {found}");
        }
        let mut spec = case.spec();
        watch_all(&mut spec);
        let found = of_copies(&finished, spec, digest, None).unwrap_or_default();
        prop_assert!(found.is_empty(), "{found}");
        // The audit at an instant of its own: all counts are those of what is there.
        let middle = Time::from_ps(digest % now.as_ps().max(1));
        let cut = fingerprint(case.spec(), Kind::Windows { threads: 1 }, Some(middle));
        prop_assert!(cut.is_ok(), "cut at {middle}: {:?}", cut.err());
        // Time for the last entries to end.
        let mut spec = case.spec();
        spec.probe.pauses = true;
        let drained = fingerprint(spec, Kind::Windows { threads: 1 }, Some(now + Span::from_ms(1)));
        let Ok((course, records)) = &drained else { panic!("{:?}", drained.err()) };
        let found = leftovers(&case, course, records).unwrap_or_default();
        prop_assert!(found.is_empty(), "{found}");
    }
}
