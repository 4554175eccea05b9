//! What all nodes share and none changes: settings, flows, routes.
use std::collections::BTreeMap;
use std::sync::Arc;

use backwater_control::detector::Detector;
use backwater_control::flow_control::{Form, LinkRetry, LossyPool, Trimming};
use backwater_control::isolation::KeyKind;
use backwater_engine::Link;
use backwater_topology::{MAX_HOST_PORTS, Network, Port, Routes};
use backwater_traffic::program::Programs;
use backwater_traffic::{Flow, MAX_PACKETS, OWN_CONNECTION};
use backwater_units::{Bytes, Span};

use crate::app::jobs::Jobs;
use crate::fault::Faults;
use crate::observe::recovery::Repeated;
use crate::observe::taps::Taps;
use crate::packet::{LAST, Packet};
use crate::spec::{
    Arbiter, Change, Clock, EarlyDrop, MarkSpec, NicSpec, Overflow, PairSpec, PfcSpec, PortRule, Queueing,
    ReliableSpec, Spec, SwitchSpec, Switching, UecSpec, samples_rate,
};
use crate::switch::cioq::Limits;
use crate::switch::cioq::isolation::Rules;
use crate::switch::forwarding::ecmp::{PathHash, PathKey, rails};
use crate::switch::keyed::roots::Ways;
use crate::switch::lanes::{self, Lanes};
use crate::switch::marking::each_once;
use crate::transport::put::streams::Streams;
use crate::transport::roce::window;
use crate::user::{User, UserSpec};

mod by_class;
mod injected;

pub(crate) use by_class::{CreditSettings, Turns};
use by_class::{credit_settings, turns};

/// The priorities in use, numbered densely: class 0 is the control priority, the others follow from the highest
/// priority to the lowest, so that "strict" is "lowest class first".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes {
    pub(crate) count: u8,
    priority_of: [u8; 8],
    class_of: [u8; 8],
}

/// No class: the priority is not used by any flow.
const UNUSED: u8 = u8::MAX;

impl Classes {
    pub(crate) fn new(control: u8, used: u8) -> Self {
        let mut classes = Self { count: 0, priority_of: [0; 8], class_of: [UNUSED; 8] };
        let rest = (0..8u8).rev().filter(|p| *p != control && used & (1 << p) != 0);
        for priority in std::iter::once(control).chain(rest) {
            classes.priority_of[usize::from(classes.count)] = priority;
            classes.class_of[usize::from(priority)] = classes.count;
            classes.count += 1;
        }
        classes
    }

    #[inline]
    pub(crate) const fn priority(&self, class: u8) -> u8 {
        self.priority_of[class as usize]
    }

    /// The class of a priority that some flow uses.
    pub(crate) const fn class(&self, priority: u8) -> u8 {
        self.class_of[priority as usize]
    }

    /// Whether some flow uses a priority, or it is the control priority.
    pub(crate) const fn is_used(&self, priority: u8) -> bool {
        priority < 8 && self.class_of[priority as usize] != UNUSED
    }

    /// A set of classes as a set of priorities, the form that a PFC frame carries.
    pub(crate) fn to_priorities(self, classes: u8) -> u8 {
        (0..self.count).filter(|c| classes & (1 << c) != 0).fold(0, |set, c| set | 1 << self.priority(c))
    }

    /// A set of priorities as a set of classes; unused priorities have no queue to pause.
    pub(crate) fn to_classes(self, priorities: u8) -> u8 {
        (0..self.count).filter(|c| priorities & (1 << self.priority(*c)) != 0).fold(0, |set, c| set | 1 << c)
    }
}

/// PFC as the switches apply it. Without PFC no class is lossless, and nobody asks for its form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pfc {
    pub(crate) is_on: bool,
    pub(crate) form: Form,
    pub(crate) frame: u16,
}

impl Pfc {
    fn new(spec: Option<&PfcSpec>) -> Self {
        spec.map_or(Self { is_on: false, form: Form::Ideal, frame: 0 }, |pfc| Self {
            is_on: true,
            form: pfc.form,
            frame: pfc.frame.get() as u16,
        })
    }
}

#[allow(clippy::struct_excessive_bools, reason = "independent switches of the settings, each read by name")]
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    /// The port at which messages of the scheduler of jobs come in: no host has it, so that no frame has their place in the order of
    /// events.
    pub(crate) management: u16,
    pub(crate) classes: Classes,
    /// Classes under PFC (never class 0).
    pub(crate) lossless: u8,
    pub(crate) round_robin: bool,
    /// How NICs serve what they have to send.
    pub(crate) nic: NicSpec,
    /// Messages of a queue pair under way, by traffic entry.
    depths: Vec<u32>,
    pub(crate) turns: Option<Turns>,
    /// Combined queueing, by class.
    pub(crate) combined: Option<Limits>,
    pub(crate) isolation: Option<Rules>,
    /// The node at the far end of each port, by node; empty unless isolation goes by roots.
    pub(crate) peers: Vec<Vec<u32>>,
    pub(crate) mark: MarkSpec,
    pub(crate) queueing: Queueing,
    /// Whether NICs are told to hold queue pairs.
    pub(crate) holds: bool,
    /// The ways of flows, if congestion roots on them are held.
    pub(crate) ways: Option<Ways>,
    /// What must have come in before a switch forwards a frame, if not all.
    pub(crate) cut_through: Option<Bytes>,
    pub(crate) credits: Option<CreditSettings>,
    pub(crate) buffer: u64,
    /// Most bytes at an egress port of a switch that drops what does not fit; `None`: nothing may be lost.
    pub(crate) most_at_port: Option<u64>,
    /// How packets without room are trimmed, if they are.
    pub(crate) trimming: Option<Trimming>,
    /// What classes that may lose share beside those under PFC.
    pub(crate) lossy: Option<LossyPool>,
    /// What such classes drop before there is no room.
    pub(crate) early: Option<EarlyDrop>,
    /// Whether switches drop packets of classes under PFC for which there is no room.
    pub(crate) drops_lossless: bool,
    pub(crate) pfc: Pfc,
    pub(crate) payload: u16,
    pub(crate) header: u16,
    /// Whether the last packet of a flow is as long as the others.
    pub(crate) padded: bool,
    pub(crate) pairs: Vec<PairSpec>,
    /// Functions of the user's.
    pub(crate) user: User,
    /// Index into `pairs` by traffic entry.
    pair_of: Vec<u16>,
    /// The PUT streams, if there are any.
    pub(crate) streams: Option<Box<Streams>>,
    /// The kinds of flows of UEC.
    pub(crate) uecs: Vec<UecSpec>,
    /// Index into them by traffic entry.
    uec_of: Vec<Option<u16>>,
    /// By flow, the round trip that its sender knows at first, where that is of its own path: picoseconds. Else empty.
    uec_bases: Arc<[u64]>,
    /// By host, the shortest delay of its links: what goes ahead of a frame of UEC takes that of both ends. Empty without UEC.
    ahead: Vec<u64>,
    /// By traffic entry: whether every event of its PUTs is recorded. Empty if none are.
    pub(crate) puts_of: Vec<bool>,
    /// Whether what PUT streams do is summed up by period.
    pub(crate) stream_sums: bool,
    pub(crate) routes: Routes,
    /// The classes between which packets change on their way; `None`: each packet stays in its own.
    pub(crate) lanes: Option<Lanes>,
    /// The detectors in use, each once.
    pub(crate) detectors: Vec<Detector>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) programs: Programs,
    pub(crate) jobs: Jobs,
    /// Index of each flow's sender state at its source host.
    pub(crate) sender_slot: Vec<u32>,
    /// Index of each flow's receiver state at its destination host.
    pub(crate) receiver_slot: Vec<u32>,
    /// By flow the first one of its connection; empty if there are no connections.
    firsts: Arc<[u32]>,
    /// By flow the number of its first packet on its queue pair; empty if no connection sends again what is lost.
    bases: Arc<[u32]>,
    /// What is sent again of flows; empty if no queue pair does.
    pub(crate) repeated: Repeated,
    /// The number that each flow's path is chosen by; empty: its own.
    pub(crate) path_keys: Arc<[u32]>,
    /// By flow the rail of the rank that receives; empty unless hosts with several ports go by it.
    rails: Arc<[u32]>,
    /// [`Network::planes`]; empty unless hosts with several ports stay in theirs.
    pub(crate) planes: Arc<[u32]>,
    /// [`crate::SwitchSpec::hashes`], by path key.
    pub(crate) hashes: Arc<[PathHash]>,
    pub(crate) marks: bool,
    pub(crate) pauses: bool,
    /// Whether anybody wants to know when a gate closes or opens: `pauses`, or a watchdog.
    pub(crate) notes_gates: bool,
    pub(crate) states: bool,
    pub(crate) drops: bool,
    /// Traffic entries that have flows: none has a higher number.
    pub(crate) groups: u16,
    /// Whether what hosts get is summed up by period.
    pub(crate) delivered: bool,
    /// Whether receive queues of hosts are summed up by period.
    pub(crate) endpoints: bool,
    /// Whether throttles of hosts are summed up by period, and their changes of state recorded.
    pub(crate) throttle_sums: bool,
    pub(crate) throttle_states: bool,
    /// Whether anything of what hosts get is recorded.
    pub(crate) deliveries: bool,
    /// Whether packets of a flow go several ways.
    pub(crate) spreads: bool,
    /// By traffic entry: whether its packets are recorded. Empty if none are.
    packets_of: Vec<bool>,
    /// By traffic entry: whether the controlled rates of its flows are sampled. Empty if none are.
    rates_of: Vec<bool>,
    /// Whether what happens to the congested-flow tables is recorded.
    pub(crate) isolation_events: bool,
    /// Slots of each congested-flow table, or VOQs for destinations without a window; `None`: unlimited, or neither.
    pub(crate) slots: Option<u32>,
    /// Node of each host.
    pub(crate) hosts: Vec<u32>,
    /// The number of each flow's last packet; empty unless its wait is recorded. Where it will be, and there is no flow yet, a number
    /// stands for none.
    pub(crate) last_packet: Vec<u32>,
    /// Switches on the path of each flow; empty unless a reaction point has a window.
    pub(crate) hops: Vec<u8>,
    /// Whether switches write into packets, as a reaction point wants that.
    pub(crate) telemetry: bool,
    /// Whether switches may run a window port by port.
    pub(crate) batching: bool,
    /// The same, and no wire is tapped: one question instead of two, once a window and switch.
    pub(crate) batching_untapped: bool,
    /// The wires whose frames are recorded, by the node that they end at; empty if there are none.
    pub(crate) taps: Taps,
    /// What goes wrong, if anything does.
    pub(crate) faults: Option<Box<Faults>>,
    /// How links send again what comes with a wrong bit, where some does.
    pub(crate) retry: Option<LinkRetry>,
    /// Whether arrivals are looked at before they are taken in: wires are tapped, something goes wrong, or the clock is not exact.
    pub(crate) is_watched: bool,
    /// Sampling period in picoseconds; `u64::MAX` if nothing is sampled.
    pub(crate) sample: u64,
}

/// [`World::detectors`]: where packets are trimmed those of links that become slower, too.
fn detectors(spec: &Spec) -> Vec<Detector> {
    let mut all = each_once(&spec.switch.detectors);
    if spec.switch.overflow.trimming().is_none_or(|trimming| trimming.rate.is_none()) {
        return all;
    }
    for change in &spec.faults.changes {
        let Change::Rate(port, rate) = change.what else { continue };
        let Some(detector) = spec.switch.detectors[change.node as usize].get(usize::from(port)) else {
            continue;
        };
        let slower = detector.in_proportion(rate, spec.network.ports(change.node)[usize::from(port)].rate);
        if !all.contains(&slower) {
            all.push(slower);
        }
    }
    all
}

/// [`World::peers`]
fn peers(spec: &Spec) -> Vec<Vec<u32>> {
    let by_root = spec.switch.isolation.as_ref().is_some_and(|isolation| isolation.key == KeyKind::Root);
    let nodes = if by_root { spec.network.nodes().len() as u32 } else { 0 };
    (0..nodes).map(|node| spec.network.ports(node).iter().map(|port| port.peer).collect()).collect()
}

/// [`World::round_robin`]
const fn round_robin(switch: &SwitchSpec) -> bool {
    match switch.arbiter {
        Arbiter::RoundRobin => true,
        // NICs take turns where switches do.
        Arbiter::Deficit { .. } => !matches!(switch.queueing, Queueing::Combined(_)),
        Arbiter::Strict | Arbiter::Weighted { .. } => false,
    }
}

/// [`World::is_watched`]
fn is_watched(spec: &Spec) -> bool {
    !spec.probe.frames.is_empty() || !spec.faults.is_empty() || spec.clock != Clock::Exact
}

impl World {
    /// What `spec` says, but for its flows and functions, which are `flows` and `user`.
    #[allow(clippy::too_many_lines, reason = "a line for each field")]
    pub(crate) fn new(spec: &Spec, flows: Vec<Flow>, user: UserSpec) -> Self {
        let change = lanes::changing(spec, used_priorities(spec, &flows));
        let classes = classes(spec, &flows);
        let (hosts, switch) = (spec.network.hosts().len(), &spec.switch);
        let (mut sent, mut received) = (vec![0; hosts], vec![0; hosts]);
        let number = |count: &mut Vec<u32>, host: u32| {
            let slot = &mut count[host as usize];
            *slot += 1;
            *slot - 1
        };
        let sender_slot = flows.iter().map(|flow| number(&mut sent, flow.src)).collect();
        let receiver_slot = flows.iter().map(|flow| number(&mut received, flow.dst)).collect();
        let lossless = spec.switch.pfc.as_ref().map_or(0, |pfc| classes.to_classes(pfc.priorities)) & !1;
        let (payload, firsts) = (spec.packet.payload.get() as u16, firsts(&flows));
        // A batch forwards by what stands in a packet: choices that go by queues must be made in the order of events.
        let batching = spec.batching && switch.balancing.hashes() && switch.hashes.is_empty();
        // What a queue may hold depends on all of them where they share a pool.
        let shares = matches!(switch.overflow, Overflow::Share { .. });
        // What links send again is asked of frames one by one.
        let batching = batching && spec.faults.retry.is_none();
        let batching = batching && switch.roots.is_none() && !shares && spec.clock == Clock::Exact;
        Self {
            hops: window::hops(spec, &flows),
            repeated: if spec.pairs.iter().any(|pair| pair.reliable.is_some()) {
                Repeated::new(flows.len())
            } else {
                Repeated::default()
            },
            telemetry: spec.pairs.iter().any(|pair| pair.reaction.wants_telemetry()),
            seed: spec.seed,
            clock: spec.clock,
            management: if spec.network.with_several_ports().is_some() { MAX_HOST_PORTS as u16 } else { 1 },
            classes,
            lossless,
            round_robin: round_robin(&spec.switch),
            nic: spec.nic,
            depths: spec.depths.clone(),
            turns: turns(&spec.switch.arbiter, &classes),
            combined: match &spec.switch.queueing {
                Queueing::Combined(combined) => Some(Limits::new(combined, &classes)),
                _ => None,
            },
            isolation: spec.switch.isolation.as_ref().map(|isolation| Rules::new(isolation, &classes)),
            peers: peers(spec),
            mark: spec.switch.mark,
            queueing: spec.switch.queueing,
            holds: spec.switch.queueing.holds(),
            ways: Ways::new(spec, &flows, &path_keys(&firsts, &spec.numbers)),
            cut_through: match spec.switch.switching {
                Switching::StoreAndForward => None,
                Switching::CutThrough { header } => Some(header),
            },
            credits: spec.switch.credits.as_ref().map(|credits| {
                let loses = (spec.faults.loses(), spec.faults.retry.is_some());
                credit_settings(credits, spec.switch.queueing, spec.packet, classes, loses)
            }),
            buffer: spec.switch.buffer.get(),
            most_at_port: spec.switch.overflow.most_at_port(),
            trimming: spec.switch.overflow.trimming(),
            lossy: spec.switch.overflow.pool(),
            early: spec.switch.overflow.early(),
            drops_lossless: matches!(spec.switch.overflow, Overflow::Share { lossless: true, .. }),
            pfc: Pfc::new(spec.switch.pfc.as_ref()),
            payload,
            header: spec.packet.header.get() as u16,
            padded: spec.packet.padded,
            pairs: spec.pairs.clone(),
            user: User::new(user),
            pair_of: spec.pair_of.clone(),
            streams: Streams::new(&spec.puts, &spec.put_of, &flows, |flow| classes.class(flow.priority)),
            ahead: ahead(spec),
            uec_bases: uec_bases(spec, &flows),
            uecs: spec.uecs.clone(),
            uec_of: spec.uec_of.clone(),
            puts_of: if_any(&spec.probe.puts),
            stream_sums: spec.probe.streams,
            routes: spec.routes.clone(),
            lanes: Lanes::new(change, spec.routes.lanes(), &classes),
            detectors: detectors(spec),
            path_keys: path_keys(&firsts, &spec.numbers),
            rails: rails(spec),
            planes: if spec.nic.port == PortRule::Plane {
                spec.network.planes().into()
            } else {
                Arc::default()
            },
            bases: bases(spec, &firsts, &flows),
            firsts,
            hashes: spec.switch.hashes.clone(),
            groups: flows.iter().map(|flow| flow.group + 1).max().unwrap_or(0),
            last_packet: last_packets(spec, &flows),
            flows,
            programs: spec.programs.clone(),
            jobs: Jobs::new(spec),
            sender_slot,
            receiver_slot,
            marks: spec.probe.marks,
            pauses: spec.probe.pauses,
            notes_gates: spec.probe.pauses || spec.faults.has_watchdog(),
            states: spec.probe.states,
            drops: spec.probe.drops,
            delivered: spec.probe.delivered,
            endpoints: spec.probe.endpoints,
            throttle_sums: spec.probe.throttle && spec.probe.sample.is_some(),
            throttle_states: spec.probe.throttle_states,
            deliveries: spec.probe.delivered || spec.probe.packets.contains(&true),
            spreads: !switch.balancing.hashes() || spec.sprays(),
            packets_of: if_any(&spec.probe.packets),
            rates_of: if_any(&spec.probe.rates),
            isolation_events: spec.probe.isolation,
            slots: match spec.switch.queueing {
                Queueing::Floodgate(floodgate) => Some(u32::from(floodgate.voqs)),
                _ => spec.switch.isolation.as_ref().and_then(|isolation| isolation.slots),
            },
            hosts: spec.network.hosts().to_vec(),
            batching_untapped: batching && !is_watched(spec),
            taps: Taps::new(),
            faults: None,
            retry: spec.faults.retry.filter(|_| !spec.faults.losses.is_empty()),
            is_watched: is_watched(spec),
            batching,
            sample: spec.probe.sample.map_or(u64::MAX, Span::as_ps),
        }
    }

    /// The classes in which packets may wait that came in in one class: as bits.
    pub(crate) fn queues_of(&self, class: u8) -> u8 {
        match &self.lanes {
            None => 1 << class,
            Some(lanes) => (0..self.classes.count)
                .filter(|other| lanes.belong(class, *other))
                .fold(0, |set, c| set | 1 << c),
        }
    }

    /// The number of a detector in `detectors`.
    pub(crate) fn detector_number(&self, detector: &Detector) -> u16 {
        self.detectors.iter().position(|known| known == detector).expect("collected from all ports") as u16
    }

    /// The class of a flow's data.
    #[inline]
    pub(crate) fn class_of(&self, flow: &Flow) -> u8 {
        self.classes.class(flow.priority)
    }

    /// Whether a flow is one of PUTs.
    pub(crate) fn is_put(&self, flow: u32) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.of(flow).is_some())
    }

    /// The kind of a flow of UEC.
    #[inline]
    pub(crate) fn uec_kind(&self, flow: u32) -> Option<u16> {
        self.uec_of.get(usize::from(self.flows[flow as usize].group)).copied().flatten()
    }

    /// The round trip that the sender of a flow of UEC knows at first, in picoseconds.
    pub(crate) fn base_rtt(&self, flow: u32, spec: &UecSpec) -> u64 {
        self.uec_bases.get(flow as usize).copied().unwrap_or(spec.base.as_ps())
    }

    /// How long what goes ahead of a frame of UEC takes from one end of a flow to the other, in picoseconds: less than any frame does.
    #[inline]
    pub(crate) fn ahead(&self, flow: u32) -> u64 {
        let flow = &self.flows[flow as usize];
        self.ahead[flow.src as usize] + self.ahead[flow.dst as usize]
    }

    /// Between which hosts something goes ahead.
    pub(crate) fn links_ahead(&self) -> Vec<Link> {
        let flows = (0..).zip(&self.flows).filter(|(index, _)| self.uec_kind(*index).is_some());
        let node = |host: u32| self.hosts[host as usize];
        let mut links: Vec<((u32, u32), u64)> =
            flows.map(|(index, flow)| ((node(flow.src), node(flow.dst)), self.ahead(index))).collect();
        links.sort_unstable();
        links.dedup();
        links.into_iter().map(|(nodes, delay)| Link { nodes, delay: Span::from_ps(delay) }).collect()
    }

    /// Size of the frame that acknowledges a flow; `None` without one.
    pub(crate) fn ack_of(&self, flow: u32) -> Option<Bytes> {
        if let Some(put) = self.streams.as_ref().and_then(|streams| Some(streams.kind(streams.of(flow)?))) {
            return Some(put.ack_size);
        }
        if let Some(kind) = self.uec_kind(flow) {
            return Some(self.uecs[usize::from(kind)].frame);
        }
        let pair = self.pair_of(&self.flows[flow as usize]);
        self.pairs[usize::from(pair)].ack.as_ref().map(|ack| ack.size)
    }

    /// The kind of a flow's queue pair, as an index into `pairs`.
    pub(crate) fn pair_of(&self, flow: &Flow) -> u16 {
        self.pair_of.get(usize::from(flow.group)).copied().unwrap_or(0)
    }

    /// How queue pairs of a kind send again what is lost, which they do.
    pub(crate) fn reliable_of(&self, kind: u16) -> &ReliableSpec {
        self.pairs[usize::from(kind)].reliable.as_ref().expect("of queue pairs that do")
    }

    /// Whether switches write into a flow's packets.
    pub(crate) fn wants_telemetry(&self, flow: u32) -> bool {
        let pair = self.pair_of(&self.flows[flow as usize]);
        self.pairs[usize::from(pair)].reaction.wants_telemetry()
    }

    /// Whether a flow's packets are recorded.
    #[inline]
    pub(crate) fn follows(&self, flow: u32) -> bool {
        !self.packets_of.is_empty()
            && self.packets_of.get(usize::from(self.flows[flow as usize].group)) == Some(&true)
    }

    /// Whether the controlled rate of a flow is sampled.
    pub(crate) fn samples_rate(&self, flow: &Flow) -> bool {
        self.sample < u64::MAX && samples_rate(&self.rates_of, flow)
    }

    /// Payload of a flow's queue pair that is under way at most, each message in memory of its own.
    pub(crate) fn under_way(&self, flow: u32) -> u64 {
        let flow = &self.flows[flow as usize];
        let depth = self.depths.get(usize::from(flow.group)).copied().unwrap_or(1);
        flow.size.get().saturating_mul(u64::from(depth))
    }

    /// The first flow of a flow's connection, or itself.
    pub(crate) fn first_of(&self, flow: u32) -> u32 {
        self.firsts.get(flow as usize).copied().unwrap_or(flow)
    }

    /// The number of a flow's first packet on its queue pair, if that sends again what is lost.
    pub(crate) fn base_of(&self, flow: u32) -> u32 {
        self.bases.get(flow as usize).copied().unwrap_or(0)
    }

    /// The number that a flow's path is chosen by: its connection is one flow to the switches.
    pub(crate) fn path_key(&self, flow: u32) -> u32 {
        self.path_keys.get(flow as usize).copied().unwrap_or(flow)
    }

    /// What a flow's way is chosen by.
    pub(crate) fn key_of(&self, flow: u32) -> PathKey {
        PathKey::new(flow, self.path_key(flow), &self.rails)
    }

    /// Whether flows share queue pairs.
    pub(crate) fn has_connections(&self) -> bool {
        !self.firsts.is_empty()
    }

    /// What of a frame must be in before the node at the far end of a link forwards it, if that is not all: a switch that cuts
    /// through does so for links that none of its ports outruns.
    pub(crate) fn cut(&self, network: &Network, link: &Port) -> Option<Bytes> {
        let header = self.cut_through?;
        let fastest = network.ports(link.peer).iter().map(|port| port.rate).max();
        (network.is_switch(link.peer) && fastest <= Some(link.rate)).then_some(header)
    }

    /// Packets of a flow; endless and supplied flows have more than any run can send.
    pub(crate) fn packets(&self, flow: &Flow) -> u32 {
        packets(flow, self.payload)
    }

    /// Data bytes of a PUT, without what its last packet is padded with.
    pub(crate) fn data_of(&self, put: &Packet) -> u64 {
        let flow = &self.flows[put.flow as usize];
        match flow.known_size() {
            Some(size) if put.seq & LAST != 0 => {
                size.get() - u64::from(self.packets(flow) - 1) * u64::from(self.payload)
            }
            _ => u64::from(put.size - self.header),
        }
    }

    /// Data bytes and padding of a flow's last packet.
    pub(crate) fn last_payload(&self, flow: &Flow) -> u16 {
        let before = u64::from(self.packets(flow) - 1) * u64::from(self.payload);
        match flow.known_size() {
            Some(size) if !self.padded => (size.get() - before) as u16,
            _ => self.payload,
        }
    }
}

/// [`World::uec_bases`]. The propagation is that of the path, the rest that of the longest one (`main_uec.cpp:796`).
fn uec_bases(spec: &Spec, flows: &[Flow]) -> Arc<[u64]> {
    if spec.uecs.iter().all(|kind| kind.pair.is_none()) {
        return Arc::default();
    }
    let of = |flow: &Flow| {
        let kind = spec.uec_of.get(usize::from(flow.group)).copied().flatten();
        let Some(kind) = kind.map(|kind| &spec.uecs[usize::from(kind)]) else { return 0 };
        let Some(longest) = kind.pair else { return kind.base.as_ps() };
        let path = spec.routes.path(&spec.network, flow.src, flow.dst, |_| 0);
        let delay = |&(node, port): &(u32, u16)| spec.network.ports(node)[usize::from(port)].delay.as_ps();
        let own = 2 * path.iter().map(delay).sum::<u64>();
        (kind.base.as_ps() + own).saturating_sub(longest.as_ps())
    };
    flows.iter().map(of).collect()
}

/// [`World::ahead`]
fn ahead(spec: &Spec) -> Vec<u64> {
    let network = &spec.network;
    let hosts = if spec.uecs.is_empty() { &[][..] } else { network.hosts() };
    // Two hosts with a link between them have its delay together.
    let delay = |host: u32, port: &Port| match port.delay.as_ps() {
        whole if network.is_switch(port.peer) => whole,
        whole if host < port.peer => whole / 2,
        whole => whole.div_ceil(2),
    };
    let of = |host: &u32| network.ports(*host).iter().map(|port| delay(*host, port)).min().unwrap_or(0);
    hosts.iter().map(of).collect()
}

/// A list of what is wanted, or an empty one if nothing is.
fn if_any(wanted: &[bool]) -> Vec<bool> {
    if wanted.contains(&true) { wanted.to_vec() } else { Vec::new() }
}

/// By flow the first one of its connection; empty if each has its own.
fn firsts(flows: &[Flow]) -> Arc<[u32]> {
    if flows.iter().all(|flow| flow.connection == OWN_CONNECTION) {
        return Arc::default();
    }
    let mut first = BTreeMap::new();
    let keys = (0..).zip(flows).map(|(index, flow)| match flow.connection {
        OWN_CONNECTION => index,
        connection => *first.entry(connection).or_insert(index),
    });
    keys.collect()
}

/// By flow how many packets the flows before it on its connection have; empty if no connection sends again what is lost. Messages start
/// in the order of their numbers where others start them, after those with a start of their own.
fn bases(spec: &Spec, firsts: &[u32], flows: &[Flow]) -> Arc<[u32]> {
    if firsts.is_empty() || spec.pairs.iter().all(|pair| pair.reliable.is_none()) {
        return Arc::default();
    }
    let payload = spec.packet.payload.get() as u16;
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|flow| flows[*flow].start);
    let (mut sent, mut bases) = (vec![0u32; flows.len()], vec![0u32; flows.len()]);
    for flow in order {
        let before = &mut sent[firsts[flow] as usize];
        bases[flow] = *before;
        *before = before.wrapping_add(packets(&flows[flow], payload));
    }
    bases.into()
}

/// By flow the number that its paths are drawn by, which is that of the first flow of its connection.
fn path_keys(firsts: &Arc<[u32]>, numbers: &[u32]) -> Arc<[u32]> {
    match (firsts.is_empty(), numbers.is_empty()) {
        (_, true) => firsts.clone(),
        (true, false) => numbers.into(),
        (false, false) => firsts.iter().map(|first| numbers[*first as usize]).collect(),
    }
}

/// By flow the number of its last packet; empty if nobody is blamed.
fn last_packets(spec: &Spec, flows: &[Flow]) -> Vec<u32> {
    let payload = spec.packet.payload.get() as u16;
    match &spec.probe.blame {
        None => Vec::new(),
        Some(_) if flows.is_empty() => vec![u32::MAX],
        Some(_) => flows.iter().map(|flow| packets(flow, payload) - 1).collect(),
    }
}

/// The classes of a run of these flows.
pub(crate) fn classes(spec: &Spec, flows: &[Flow]) -> Classes {
    let used = used_priorities(spec, flows);
    let isolated = spec.switch.isolation.as_ref().map_or(0, |isolation| 1 << isolation.congested);
    let raised = lanes::raised(lanes::changing(spec, used), spec.routes.lanes());
    Classes::new(spec.switch.control_priority, used | isolated | raised)
}

/// Bit per priority of flows, also of those to come, and of their ACKs.
fn used_priorities(spec: &Spec, flows: &[Flow]) -> u8 {
    let acks = spec.pairs.iter().filter_map(|pair| pair.ack?.priority);
    let flows = flows.iter().map(|flow| flow.priority).chain(spec.idle.iter().copied());
    flows.chain(acks).fold(0, |set, priority| set | 1 << priority)
}

pub(crate) fn packets(flow: &Flow, payload: u16) -> u32 {
    flow.size.get().div_ceil(u64::from(payload)).min(u64::from(MAX_PACKETS) + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_number_the_used_priorities_from_control_downwards() {
        let classes = Classes::new(7, 0b0000_1010);
        assert_eq!(classes.count, 3);
        assert_eq!([classes.class(7), classes.class(3), classes.class(1)], [0, 1, 2]);
        assert_eq!(classes.to_priorities(0b110), 0b1010);
        assert_eq!(classes.to_classes(0b1111), 0b110);
    }
}
