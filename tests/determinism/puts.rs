//! Random PUT streams, alone or beside queue pairs, to random hosts that are slower than their links, over fabrics that lose packets
//! and fabrics that do not: every packet is accepted once and in order, and every engine tells the same story.
use std::collections::BTreeMap;

use backwater_control::flow_control::{CreditReturn, Form, Threshold, Unit};
use backwater_engine::mix;
use backwater_fabric::record::PutEvent;
use backwater_fabric::{
    CreditSpec, DrainSpec, EndpointSpec, Kind, Overflow, PutSpec, Queueing, Records, Spec, Start, Switching,
};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{flow_of_priority, ideal, per_port, with_links};

use crate::fingerprint::{Course, difference, fingerprint, of_copies, watch_all, watch_nothing};
use crate::puts_draws::case;

/// None of them has a circle of waiting buffers.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Star(u32),
    Dumbbell(u32, u32),
}

impl Shape {
    /// Its links are 1 us long, or, if they are not `alike`, each has a length of its own.
    pub(crate) fn network(&self, alike: bool, seed: u64) -> Network {
        let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
        let network = match *self {
            Self::Star(hosts) => generate::star(hosts, rate, delay),
            Self::Dumbbell(left, right) => generate::dumbbell(left, right, rate, delay, None),
        };
        with_links(&network.expect("a network"), |i, link| {
            if !alike {
                link.delay = Span::from_ps(300_000 + mix(seed, 1, i as u64) % 3_000_000);
            }
        })
    }
}

/// What keeps buffers from overflowing, if anything does.
#[derive(Clone, Debug)]
pub(crate) enum Fabric {
    Lossy { port: Bytes },
    Pfc { xoff: u64 },
    Credits { buffer: Bytes, returned: CreditReturn },
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) alike: bool,
    pub(crate) fabric: Fabric,
    /// Both ends of the streams of the first traffic entry, and of the second one: queue pairs where there are none.
    pub(crate) first: PutSpec,
    pub(crate) second: Option<PutSpec>,
    pub(crate) flows: Vec<(u32, u32, u64, u64, u8, Pacing)>,
    /// Room and drain of each receive queue.
    pub(crate) hosts: Vec<Option<(u64, DrainSpec)>>,
    pub(crate) header: u64,
}

impl Case {
    /// Every second flow belongs to the other traffic entry. Where packets get lost all are PUTs.
    fn flows(&self, hosts: u32) -> Vec<Flow> {
        let flow =
            |(i, &(src, dst, bytes, start, priority, pacing)): (usize, &(u32, u32, u64, u64, u8, Pacing))| {
                let src = src % hosts;
                let dst = (src + 1 + dst % (hosts - 1)) % hosts;
                let supplied = matches!(pacing, Pacing::Supplied { .. });
                let (bytes, start) = if supplied { (u64::MAX, 0) } else { (bytes, start) };
                let flow = flow_of_priority(priority, src, dst, bytes, Time::from_ps(start), pacing);
                Flow { group: i as u16 % 2, ..flow }
            };
        let mut flows: Vec<Flow> = self.flows.iter().enumerate().map(flow).collect();
        backwater_traffic::sort(&mut flows);
        // Flows of one kind between the same hosts are messages of one stream.
        let (mut ones, mut others): (Vec<Flow>, Vec<Flow>) =
            flows.into_iter().partition(|flow| flow.group == 0);
        let next = backwater_traffic::connect(&mut ones, 0);
        if self.second.is_some() || self.lossy() {
            backwater_traffic::connect(&mut others, next);
        }
        let mut all = [ones, others].concat();
        backwater_traffic::sort(&mut all);
        all
    }

    pub(crate) fn spec(&self) -> Spec {
        let network = self.shape.network(self.alike, self.seed);
        let hosts = network.hosts().len();
        let mut spec = ideal(network, self.flows(hosts as u32));
        spec.seed = self.seed;
        spec.packet.header = Bytes::new(self.header);
        spec.switch.buffer = Bytes::new(2_000_000);
        let roomy = |depth: u64| EndpointSpec {
            depth: Bytes::new(depth),
            drain: DrainSpec::Constant(Rate::ZERO),
            cached: None,
            pfc: None,
        };
        let slow = |(depth, drain): &(u64, DrainSpec)| EndpointSpec { drain: drain.clone(), ..roomy(*depth) };
        spec.endpoints = self.hosts.iter().take(hosts).map(|host| host.as_ref().map(slow)).collect();
        self.guard(&mut spec);
        spec.puts = [Some(self.first.clone()), self.second.clone()].into_iter().flatten().collect();
        let second = if self.second.is_some() { Some(1) } else { self.lossy().then_some(0) };
        spec.put_of = vec![Some(0), second];
        spec
    }

    fn lossy(&self) -> bool {
        matches!(self.fabric, Fabric::Lossy { .. })
    }

    /// Flow control or tail drop.
    fn guard(&self, spec: &mut Spec) {
        match self.fabric {
            Fabric::Lossy { port } => {
                spec.switch.pfc = None;
                spec.switch.overflow = Overflow::Drop { port };
            }
            Fabric::Pfc { xoff } => {
                let buffer = 2_000_000;
                let (xon, port_xoff, port_xon) = (xoff - 2_000, u64::MAX, u64::MAX);
                let threshold = Threshold::Static { xoff, xon, port_xoff, port_xon, buffer };
                let pfc = spec.switch.pfc.as_mut().expect("PFC");
                (pfc.form, pfc.thresholds) = (Form::Ideal, per_port(&spec.network, |_| threshold));
                for host in spec.endpoints.iter_mut().flatten() {
                    host.depth = Bytes::new(400_000);
                    host.pfc = Some(vec![threshold]);
                }
            }
            Fabric::Credits { buffer, returned } => {
                spec.switch.pfc = None;
                spec.switch.queueing = Queueing::VirtualOutput;
                spec.switch.switching = Switching::CutThrough { header: Bytes::new(20) };
                let (unit, start, frame, unchanged, loss_ppm, priorities) =
                    (Unit::BLOCK, Start::Packet, Bytes::new(8), false, 0, 0x7f);
                spec.switch.credits = Some(CreditSpec {
                    buffer,
                    unit,
                    start,
                    returned,
                    frame,
                    unchanged,
                    loss_ppm,
                    priorities,
                });
            }
        }
    }
}

/// The first stream in which a packet was accepted or processed twice, never, or out of turn.
fn disorder(flows: &[Flow], records: &Records) -> Option<String> {
    let mut last: BTreeMap<(u32, bool), u32> = BTreeMap::new();
    for record in &records.puts {
        let event = record.event;
        if !matches!(event, PutEvent::Accepted | PutEvent::Processed) {
            continue;
        }
        let stream = flows[record.flow as usize].connection;
        let last = last.entry((stream, event == PutEvent::Processed)).or_insert(0);
        if record.seq != *last + 1 {
            return Some(format!("{record:?} after {last}"));
        }
        *last = record.seq;
    }
    None
}

/// What of this course cannot be: in a lossless fabric something was lost, or a flow has not arrived completely.
fn unfinished(case: &Case, course: &Course, records: &Records) -> Option<String> {
    let lossy = case.lossy();
    let lost = [PutEvent::Dropped, PutEvent::OutOfOrder];
    if let Some(loss) = records.puts.iter().find(|record| !lossy && lost.contains(&record.event)) {
        return Some(format!("{loss:?}"));
    }
    let open = course.flows.iter().find(|flow| flow.finish == Time::MAX || flow.received != flow.size);
    open.map(|flow| format!("not finished: {flow:?}"))
}

/// Longer than any of them takes.
const END: Time = Time::from_ps(200_000_000_000);

proptest! {
    // Each case is run five times.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]
    #[test]
    fn puts_are_accepted_once_and_in_order_and_no_engine_thread_or_probe_changes_their_course(case in case()) {
        let mut spec = case.spec();
        spec.batching = false;
        watch_all(&mut spec);
        let flows = spec.flows.clone();
        let reference = fingerprint(spec, Kind::Heap, Some(END));
        let Ok((course, records)) = &reference else { panic!("{:?}", reference.err()) };
        prop_assert!(course.miracle(&flows).is_none(), "{:?}", course.miracle(&flows));
        let found = disorder(&flows, records).or_else(|| unfinished(&case, course, records)).unwrap_or_default();
        prop_assert!(found.is_empty(), "{found}");
        let threads = 2 + (case.seed % 2) as usize;
        let runs = [(1, false, true), (1, true, true), (1, true, false), (threads, true, false)];
        for (threads, batching, probes) in runs {
            let mut spec = case.spec();
            spec.batching = batching;
            if probes { watch_all(&mut spec) } else { watch_nothing(&mut spec) }
            let other = fingerprint(spec, Kind::Windows { threads }, Some(END));
            let found = difference(&reference, &other, probes).unwrap_or_default();
            prop_assert!(found.is_empty(), "{threads} threads, batching {batching}, probes {probes}: {found}");
        }
        let mut spec = case.spec();
        watch_all(&mut spec);
        let found = of_copies(&reference, spec, case.seed, Some(END)).unwrap_or_default();
        prop_assert!(found.is_empty(), "{found}");
    }
}
