//! Random programs of ranks over random fabrics, some with NICs that throttle themselves: all of them end, nothing is lost, and every
//! engine tells the same story.
use std::collections::BTreeMap;

use backwater_control::detector::{Detector, Fecn};
use backwater_control::flow_control::{CreditReturn, Form, Threshold, Unit};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{
    DcqcnConfig, IbCcConfig, PftConfig, Polarity, RateLaw, ReactionConfig, StateRule,
};
use backwater_fabric::record::{Dependency, DependencyRecord};
use backwater_fabric::{
    AckSpec, CreditSpec, Kind, Overflow, Queueing, Records, ReliableSpec, Scope, Spec, Start, Switching,
    ThrottleSpec,
};
use backwater_traffic::program::{ANY, Costs, Op};
use backwater_units::{Bytes, Span, Time};
use proptest::prelude::*;
use scene::{messages, per_port, red};

use crate::fingerprint::{Course, difference, fingerprint, of_copies, watch_all, watch_nothing};
use crate::puts::Shape;
use crate::ranks_draws::case;

#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    pub(crate) rule: StateRule,
    pub(crate) law: RateLaw,
    pub(crate) m: u8,
    pub(crate) n: u8,
    pub(crate) polarity: Polarity,
    pub(crate) scope: Scope,
}

#[derive(Clone, Debug)]
pub(crate) struct Credits {
    pub(crate) buffer: Bytes,
    pub(crate) returned: CreditReturn,
    pub(crate) unit: Unit,
    pub(crate) start: Start,
    pub(crate) cut: bool,
    pub(crate) throttle: Option<Throttle>,
}

#[derive(Clone, Debug)]
pub(crate) enum Fabric {
    Roomy,
    Pfc {
        xoff: u64,
    },
    Credits(Credits),
    /// Ports keep so many bytes, and queue pairs send again what is lost.
    Drops {
        port: u64,
        /// Packets that an ACK is for.
        every: u32,
        reliable: ReliableSpec,
    },
}

/// One message, put or get of the list that all ranks go through in its order, so that each program ends.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) size: u64,
    /// 0: a message, 1: a put, 2: a get.
    pub(crate) kind: u8,
    pub(crate) tag: u32,
    /// Whether a rank that sends to itself posts its receive first.
    pub(crate) first: bool,
    /// A message that is received from anybody, if it is short.
    pub(crate) anybody: bool,
    /// Sets of the send and of the receive.
    pub(crate) sets: (u8, u8),
    /// What both do after it: a wait for sets, work, or nothing.
    pub(crate) pause: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    pub(crate) alike: bool,
    pub(crate) per_host: u32,
    pub(crate) fabric: Fabric,
    /// Congestion control.
    pub(crate) control: u8,
    pub(crate) costs: Costs,
    pub(crate) messages: Vec<Message>,
    /// Nanoseconds.
    pub(crate) starts: Vec<u64>,
}

/// Tag of what is received from anybody.
const ANYBODY: u32 = 100;

impl Case {
    fn programs(&self, ranks: u32) -> Vec<Vec<Op>> {
        let mut programs = vec![vec![Op::Start { timer: 0 }]; ranks as usize];
        for (label, message) in (0..).zip(&self.messages) {
            let (from, to) = (message.from % ranks, message.to % ranks);
            match message.kind {
                0 => self.exchange(&mut programs, message, from, to),
                1 => programs[from as usize].push(Op::Put { to, size: message.size }),
                _ => programs[from as usize].push(Op::Get { from: to, size: message.size }),
            }
            let after = match message.pause {
                0..400 => Op::Wait { sets: message.pause & 0xff },
                400..600 => Op::Flush,
                600..1_200 => Op::Compute(Span::from_ns(message.pause)),
                _ => continue,
            };
            for rank in [from, to] {
                programs[rank as usize].extend([after, Op::Stop { timer: 0, series: 0, label }]);
            }
        }
        for program in &mut programs {
            program.extend([
                Op::Wait { sets: 0xff },
                Op::Flush,
                Op::Stop { timer: 0, series: 0, label: 999 },
            ]);
        }
        programs
    }

    /// Receives from anybody take short messages only: whoever sends one need not wait for its receive.
    fn exchange(&self, programs: &mut [Vec<Op>], message: &Message, from: u32, to: u32) {
        let &Message { size, tag, sets, .. } = message;
        let any_tag = (from * 7 + to).is_multiple_of(3);
        let anybody = !any_tag && message.anybody && size <= self.costs.eager.get();
        let tag = if anybody { ANYBODY } else { tag };
        let send = Op::Isend { to, size, tag, set: sets.0 };
        let receive = Op::Irecv {
            from: if anybody { ANY } else { from },
            size: 60_000,
            tag: if any_tag { ANY } else { tag },
            set: sets.1,
        };
        if from == to && !message.first {
            programs[from as usize].extend([send, receive]);
        } else {
            programs[to as usize].push(receive);
            programs[from as usize].push(send);
        }
    }

    fn spec(&self) -> Spec {
        let network = self.shape.network(self.alike, self.seed);
        let hosts = network.hosts().len() as u32;
        let placed: Vec<(u32, Vec<Op>)> =
            (0..).map(|rank| rank % hosts).zip(self.programs(hosts * self.per_host)).collect();
        let mut spec = messages(network, &placed, self.costs);
        spec.seed = self.seed;
        spec.packet.payload = Bytes::new(1_000);
        for (rank, start) in spec.programs.ranks.iter_mut().zip(self.starts.iter().cycle()) {
            rank.start = Time::from_ps(start * 1_000);
        }
        spec.switch.buffer = Bytes::new(20_000_000);
        match &self.fabric {
            Fabric::Roomy => {}
            Fabric::Pfc { xoff } => {
                let (xon, port_xoff, port_xon) = (xoff - 2_000, u64::MAX, u64::MAX);
                let threshold =
                    Threshold::Static { xoff: *xoff, xon, port_xoff, port_xon, buffer: 20_000_000 };
                let pfc = spec.switch.pfc.as_mut().expect("PFC");
                (pfc.form, pfc.thresholds) = (Form::Ideal, per_port(&spec.network, |_| threshold));
            }
            Fabric::Credits(credits) => credits.apply(&mut spec),
            &Fabric::Drops { port, every, reliable } => {
                spec.switch.pfc = None;
                spec.switch.overflow = Overflow::Drop { port: Bytes::new(port) };
                spec.pairs[0].reliable = Some(reliable);
                spec.pairs[0].ack = Some(AckSpec { every, size: Bytes::new(64), priority: None });
            }
        }
        self.congestion_control(&mut spec);
        spec
    }

    /// Whether a queue pair may give up.
    fn gives_up(&self) -> bool {
        matches!(self.fabric, Fabric::Drops { reliable, .. } if reliable.retries < 1_000_000)
    }

    fn congestion_control(&self, spec: &mut Spec) {
        let network = &spec.network;
        let (reaction, notify, detector) = match self.control {
            0 => (ReactionConfig::LineRate(()), None, Detector::None),
            1 => {
                let dcqcn = ReactionConfig::Dcqcn(DcqcnConfig::authors());
                (dcqcn, Some(NotifyConfig::authors()), red())
            }
            _ => {
                let fecn = Detector::Fecn(Fecn::standard());
                (ReactionConfig::IbCc(IbCcConfig::standard()), Some(NotifyConfig::each_mark()), fecn)
            }
        };
        spec.switch.detectors = per_port(network, |_| detector);
        (spec.pairs[0].reaction, spec.pairs[0].notify) = (reaction, notify);
    }
}

impl Credits {
    fn apply(&self, spec: &mut Spec) {
        spec.switch.pfc = None;
        spec.switch.queueing = Queueing::VirtualOutput;
        if self.cut {
            spec.switch.switching = Switching::CutThrough { header: Bytes::new(32) };
        }
        spec.switch.credits = Some(CreditSpec {
            buffer: self.buffer,
            unit: self.unit,
            start: self.start,
            returned: self.returned,
            frame: Bytes::new(16),
            unchanged: false,
            loss_ppm: 0,
            priorities: 0x7f,
        });
        spec.throttle = self.throttle.as_ref().map(|throttle| ThrottleSpec {
            config: PftConfig {
                rule: throttle.rule,
                law: throttle.law,
                m: throttle.m,
                n: throttle.n,
                polarity: throttle.polarity,
                capacity: (self.buffer.get() / self.unit.size().get()) as u32,
                ..PftConfig::standard()
            },
            scope: throttle.scope,
        });
    }
}

/// What of this course cannot be: a rank has not ended, or messages are missing.
fn missing(course: &Course) -> Option<String> {
    let open = course.ranks.iter().find(|rank| rank.finish.is_none() || rank.unexpected > 0);
    let sum = |count: fn(&backwater_fabric::record::RankRecord) -> (u64, u64)| {
        course.ranks.iter().map(count).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    };
    let sent = sum(|rank| (rank.sent_messages, rank.sent_bytes.get()));
    let received = sum(|rank| (rank.received_messages, rank.received_bytes.get()));
    let lost = (sent != received).then(|| format!("{sent:?} sent, {received:?} received"));
    open.map(|rank| format!("{rank:?}")).or(lost)
}

/// What of this record cannot be: a step is carried out when the last of what it comes after is over, and that is known of each.
fn unexplained(records: &Records) -> Option<String> {
    let mut latest: BTreeMap<u64, (&DependencyRecord, Option<Time>)> = BTreeMap::new();
    for row in records.dependencies.iter().filter(|row| !matches!(row.what, Dependency::Starts(_))) {
        let (_, latest) = latest.entry(row.step).or_insert((row, None));
        *latest = (*latest).max(row.time.map(|time| time + row.delay));
    }
    let unknown = |row: &&DependencyRecord| match row.what {
        Dependency::Step(step) => latest.get(&step).is_none_or(|(step, _)| step.done != row.time),
        _ => false,
    };
    let early = latest.values().find(|(row, latest)| row.done != *latest);
    early.map(|early| format!("{early:?}")).or(records
        .dependencies
        .iter()
        .find(unknown)
        .map(|row| format!("{row:?}")))
}

proptest! {
    // Each case is run five times.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]
    #[test]
    fn programs_end_with_all_their_messages_and_no_engine_thread_or_probe_changes_their_course(case in case()) {
        let mut spec = case.spec();
        spec.batching = false;
        watch_all(&mut spec);
        let reference = fingerprint(spec, Kind::Heap, None);
        match &reference {
            Ok((course, records)) => {
                let found = missing(course).or_else(|| unexplained(records)).unwrap_or_default();
                prop_assert!(found.is_empty(), "{found}");
            }
            Err(violation) => prop_assert!(case.gives_up() && violation.contains("is in error"), "{violation}"),
        }
        let threads = 2 + (case.seed % 2) as usize;
        let runs = [(1, false, true), (1, true, true), (1, true, false), (threads, true, false)];
        for (threads, batching, probes) in runs {
            let mut spec = case.spec();
            spec.batching = batching;
            if probes { watch_all(&mut spec) } else { watch_nothing(&mut spec) }
            let other = fingerprint(spec, Kind::Windows { threads }, None);
            let found = difference(&reference, &other, probes).unwrap_or_default();
            prop_assert!(found.is_empty(), "{threads} threads, batching {batching}, probes {probes}: {found}");
        }
        let mut spec = case.spec();
        watch_all(&mut spec);
        let found = of_copies(&reference, spec, case.seed, None).unwrap_or_default();
        prop_assert!(found.is_empty(), "{found}");
    }
}
