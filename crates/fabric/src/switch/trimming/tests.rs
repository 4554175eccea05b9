//! One switch beside a plain model of a composite queue: two lists, and the rules as they are written.
use std::collections::VecDeque;

use backwater_control::CodePoint;
use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::{Trimming, Victim};
use backwater_control::reaction::ReactionConfig;
use backwater_engine::{Keys, Node, Place, Post, Window, stream};
use backwater_topology::{Network, Routes, Routing, generate};
use backwater_traffic::program::Programs;
use backwater_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use super::heads;
use crate::link::ports::Ports;
use crate::packet::{ACK_OR_LAST_HOP, Kind, PSN_AT, Packet};
use crate::record::DropReason;
use crate::spec::{
    Arbiter, Balancing, Change, Clock, FaultChange, FaultSpec, MarkSpec, NicSpec, Overflow, PacketSpec,
    PairSpec, ProbeSpec, Queueing, Spec, SwitchSpec, Switching,
};
use crate::switch::Switch;
use crate::switch::batch::Batch;
use crate::user::UserSpec;
use crate::world::World;

const RATE: Rate = Rate::from_gbps(400);
/// Picoseconds for a byte at that rate.
const BYTE: u64 = 20;
const DELAY: u64 = 1_000_000;
const SOURCES: u16 = 5;
/// Marks above this many bytes.
const MARK: u64 = 20_000;
const TRIMMING: Trimming = Trimming {
    queue: Bytes::new(41_500),
    headers: Bytes::new(130),
    size: 64,
    victim: Victim::Coin,
    rate: None,
};

fn spec(trimming: Trimming) -> Spec {
    let network: Network = generate::star(u32::from(SOURCES) + 1, RATE, Span::from_us(1)).expect("a star");
    let routes = Routes::new(&network, Routing::Ecmp).expect("all hosts reach each other");
    let of = |node: u32| if network.is_switch(node) { network.ports(node).len() } else { 0 };
    let nodes = 0..network.nodes().len() as u32;
    let red = Detector::Red(Red::step(Bytes::new(MARK)));
    Spec {
        seed: 7,
        clock: Clock::Exact,
        packet: PacketSpec { payload: Bytes::new(4086), header: Bytes::new(64), padded: false },
        switch: SwitchSpec {
            queueing: Queueing::Output,
            switching: Switching::StoreAndForward,
            buffer: Bytes::new(1),
            overflow: Overflow::Trim(trimming),
            balancing: Balancing::Entropy,
            hashes: std::sync::Arc::default(),
            arbiter: Arbiter::Strict,
            control_priority: 7,
            pfc: None,
            credits: None,
            detectors: nodes.map(|node| vec![red; of(node)]).collect(),
            roots: None,
            mark: MarkSpec::default(),
            isolation: None,
        },
        pairs: vec![PairSpec {
            reaction: ReactionConfig::LineRate(()),
            custom: None,
            notify: None,
            cnp_size: Bytes::new(64),
            ack: None,
            segment: None,
            payload_windows: false,
            reliable: None,
        }],
        network,
        routes,
        flows: Vec::new(),
        numbers: Vec::new(),
        idle: vec![3],
        steps: Vec::new(),
        programs: Programs::default(),
        jobs: Vec::new(),
        pair_of: Vec::new(),
        puts: Vec::new(),
        put_of: Vec::new(),
        uecs: Vec::new(),
        uec_of: Vec::new(),
        endpoints: Vec::new(),
        nic: NicSpec::default(),
        depths: Vec::new(),
        throttle: None,
        faults: FaultSpec::default(),
        user: UserSpec::default(),
        probe: ProbeSpec::default(),
        batching: true,
        reuse: false,
    }
}

/// What comes in within a microsecond or several, by time: each source sends full packets, short ones, ACKs, and PUTs, which nobody trims,
/// with gaps now and then.
fn arrivals(seed: u64, to: u32, end: u64) -> Vec<Packet> {
    let mut all = Vec::new();
    for port in 0..SOURCES {
        let mut random = stream(seed, 1, u64::from(port));
        let (mut at, mut psn) = (u64::from(port) * 1_111, 0);
        loop {
            let (kind, size, class) = match random.next_u32() % 16 {
                0 => (Kind::UecAck, 64, 0),
                1 => (Kind::Put, 2_000, 1),
                2 => (Kind::UecData, 64 + (random.next_u32() % 4_086) as u16, 1),
                _ => (Kind::UecData, 4_150, 1),
            };
            let gap =
                if random.next_u32().is_multiple_of(4) { u64::from(random.next_u32() % 300_000) } else { 0 };
            at += gap + u64::from(size) * BYTE;
            if at >= end {
                break;
            }
            // Bit 0: wants an ACK.
            let seq = psn << PSN_AT | random.next_u32() & 0b11;
            let code =
                if random.next_u32().is_multiple_of(8) { CodePoint::Congestion } else { CodePoint::Capable };
            all.push(Packet {
                time: at,
                flow: u32::from(port),
                seq,
                dst: to,
                port,
                size,
                kind,
                code,
                class,
                ..Packet::NONE
            });
            psn += 1;
        }
    }
    all
}

/// A frame on the wire: when it is known at the other end, and what it is.
type OnWire = (u64, u32, u32, Kind, u16, u8, u8);

fn on_wire(time: u64, packet: &Packet) -> OnWire {
    (time, packet.flow, packet.seq, packet.kind, packet.size, packet.class, packet.code as u8)
}

#[derive(Default)]
struct Wire(Vec<OnWire>);

impl Post<Packet> for Wire {
    fn send(&mut self, _: Place, time: u64, message: &Packet, patch: impl FnOnce(&mut Packet)) {
        let mut packet = *message;
        patch(&mut packet);
        self.0.push(on_wire(time, &packet));
    }
    fn send_with(&mut self, _: Place, _: u64, _: &Packet, _: &[u8], _: impl FnOnce(&mut Packet)) {
        unreachable!("nothing travels beside these frames");
    }
    fn complete(&mut self) {}
    fn fail(&mut self) {
        unreachable!("nothing breaks");
    }
    fn recorded(&mut self, _: u64) {}
}

/// The model's port.
#[derive(Default)]
struct Model {
    low: VecDeque<Packet>,
    high: VecDeque<Packet>,
    /// In transmission: class and size, until when.
    sending: (u8, u64, u64),
    sent: Vec<OnWire>,
    trimmed: u64,
    cut_off: u64,
    lost_headers: u64,
    lost_others: u64,
}

fn bytes(queue: &VecDeque<Packet>) -> u64 {
    queue.iter().map(|packet| u64::from(packet.size)).sum()
}

impl Model {
    fn start(&mut self, packet: &Packet, at: u64) {
        let marked = packet.class != 0 && bytes(&self.low) > MARK;
        let code = if marked { CodePoint::Congestion } else { packet.code };
        let until = at + u64::from(packet.size) * BYTE;
        self.sending = (packet.class, u64::from(packet.size), until);
        self.sent.push(on_wire(until + DELAY, &Packet { code, ..*packet }));
    }

    fn serve(&mut self, until: u64) {
        while self.sending.2 <= until {
            let Some(packet) = self.high.pop_front().or_else(|| self.low.pop_front()) else { return };
            self.start(&packet, self.sending.2);
        }
    }

    fn come(&mut self, packet: &Packet, trimming: &Trimming, seed: u64, node: u32) {
        let now = packet.time;
        self.serve(now);
        if self.sending.2 <= now {
            return self.start(packet, now);
        }
        let sending = |class: u8| if self.sending.0 == class { self.sending.1 } else { 0 };
        if packet.class == 0 {
            let held = bytes(&self.high) + sending(0);
            return self.header(*packet, held, trimming);
        }
        if bytes(&self.low) + sending(1) + u64::from(packet.size) <= trimming.queue.get() {
            return self.low.push_back(*packet);
        }
        if packet.kind != Kind::UecData {
            self.lost_others += 1;
            return;
        }
        let mut cut = *packet;
        let last = self.low.back().filter(|last| last.kind == Kind::UecData).copied();
        if let Some(last) = last
            && trimming.victim == Victim::Coin
            && heads(seed, node, packet)
        {
            self.low.pop_back();
            self.low.push_back(*packet);
            cut = last;
        }
        let size = cut.size.min(trimming.size);
        self.trimmed += 1;
        self.cut_off += u64::from(cut.size - size);
        let held = bytes(&self.high) + if self.sending.0 == 0 { self.sending.1 } else { 0 };
        // A host is at the other end: it is the last hop.
        let header = Packet { kind: Kind::UecTrimmed, class: 0, size, seq: cut.seq | ACK_OR_LAST_HOP, ..cut };
        self.header(header, held, trimming);
    }

    fn header(&mut self, packet: Packet, held: u64, trimming: &Trimming) {
        if held + u64::from(packet.size) > trimming.headers.get() {
            self.lost_headers += 1;
        } else {
            self.high.push_back(packet);
        }
    }
}

/// Runs the switch in windows; what its port to the last host has sent, and the switch.
fn run(spec: &Spec, arrivals: &[Packet], end: u64, batching: bool) -> (Vec<OnWire>, Switch, World) {
    let mut world = World::new(spec, Vec::new(), UserSpec::default());
    (world.batching, world.batching_untapped) = (batching, batching);
    let node = (0..spec.network.nodes().len() as u32)
        .find(|&node| spec.network.is_switch(node))
        .expect("a star has one");
    let mut switch = Switch::new(node, spec, Ports::new(node, &spec.network, Vec::new(), &world), &world);
    let (mut wire, mut keys, mut batch) = (Wire::default(), Keys::default(), Batch::default());
    let length = DELAY / 2;
    for start in (0..end).step_by(length as usize) {
        let window = Window::alone(start, start + length);
        let these: Vec<Packet> =
            arrivals.iter().filter(|packet| (start..window.end).contains(&packet.time)).copied().collect();
        switch.run(&these, window, &mut keys, &mut batch, &world, &mut wire);
    }
    (wire.0, switch, world)
}

#[test]
fn a_switch_trims_as_a_composite_queue_does_whether_it_runs_in_order_or_port_by_port() {
    for (seed, victim) in [(1, Victim::Coin), (2, Victim::Arriving), (3, Victim::Coin)] {
        let trimming = Trimming { victim, ..TRIMMING };
        let spec = spec(trimming);
        let (end, to) = (60 * DELAY, u32::from(SOURCES));
        let mut arrivals = arrivals(seed, to, end / 2);
        let (sent, switch, world) = run(&spec, &arrivals, end, false);
        let (batched, other, _) = run(&spec, &arrivals, end, true);
        assert_eq!(sent, batched);
        assert_eq!(switch.ports().trajectory(), other.ports().trajectory());

        let mut model = Model::default();
        arrivals.sort_by_key(|packet| (packet.time, switch.ports().rank(packet.port)));
        let node = switch.ports().node();
        for packet in &arrivals {
            model.come(packet, &trimming, spec.seed, node);
        }
        model.serve(end);
        assert_eq!(sent, model.sent);

        let counts: Vec<(DropReason, u64, u64)> =
            switch.ports().drop_counts(&world).map(|of| (of.reason, of.packets, of.bytes.get())).collect();
        let of = |reason| {
            counts.iter().find(|(of, ..)| *of == reason).map_or((0, 0), |(_, n, bytes)| (*n, *bytes))
        };
        assert_eq!(of(DropReason::Trimmed), (model.trimmed, model.cut_off));
        assert_eq!(of(DropReason::Headers).0, model.lost_headers);
        assert_eq!(of(DropReason::PortBuffer).0, model.lost_others);
        // All three happen here, and none of them is the rule.
        assert!(model.trimmed > 100 && model.lost_headers > 0 && model.lost_others > 0);
        assert!(model.trimmed < sent.len() as u64);
        assert_eq!(switch.check(&world), Ok(()));
        assert_eq!(other.check(&world), Ok(()));
        // What came in is what was sent, lost or cut off.
        let sum = |of: &mut dyn Iterator<Item = u64>| of.sum::<u64>();
        let came = sum(&mut arrivals.iter().map(|packet| u64::from(packet.size)));
        let left = sum(&mut sent.iter().map(|frame| u64::from(frame.4)));
        assert_eq!(came, left + sum(&mut counts.iter().map(|(_, _, bytes)| *bytes)));
    }
}

#[test]
fn a_port_that_becomes_slower_has_shorter_queues_and_lower_thresholds() {
    let mut spec = spec(Trimming { rate: Some(RATE), ..TRIMMING });
    let node = (0..spec.network.nodes().len() as u32)
        .find(|&node| spec.network.is_switch(node))
        .expect("a star has one");
    let quarter = Rate::from_gbps(100);
    let what = Change::Rate(SOURCES, quarter);
    spec.faults.changes.push(FaultChange { time: Time::ZERO, node, fault: 0, what });
    let world = World::new(&spec, Vec::new(), UserSpec::default());
    let mut switch = Switch::new(node, &spec, Ports::new(node, &spec.network, Vec::new(), &world), &world);
    let threshold = |switch: &Switch, port: u16| {
        let egress = switch.ports().egress(port);
        let Detector::Red(red) = world.detectors[usize::from(egress.detector())] else { panic!("red") };
        (red.kmax().get(), switch.ports().watched()[usize::from(port)].1)
    };
    let nominal = (MARK, MARK as u32 + 1);
    assert_eq!(threshold(&switch, SOURCES), nominal);
    let set = |switch: &mut Switch, rate| {
        let egress = *switch.ports().egress(SOURCES);
        *switch.ports_mut().egress_mut(SOURCES) = egress.at_rate(rate, &egress);
        switch.judge_by_rates(&world);
    };
    set(&mut switch, quarter);
    assert_eq!(threshold(&switch, SOURCES), (MARK / 4, MARK as u32 / 4 + 1));
    assert_eq!(threshold(&switch, 0), nominal);
    set(&mut switch, RATE);
    assert_eq!(threshold(&switch, SOURCES), nominal);
}

#[test]
fn a_packet_keeps_its_place_behind_those_that_were_there() {
    // Full packets of one source stay in order, trimmed or not: a header goes before all data, and no data goes before other data of its
    // source.
    let spec = spec(TRIMMING);
    let (sent, ..) = run(&spec, &arrivals(9, u32::from(SOURCES), 20 * DELAY), 60 * DELAY, true);
    for flow in 0..u32::from(SOURCES) {
        let of = sent.iter().filter(|frame| frame.1 == flow && frame.3 == Kind::UecData);
        let numbers: Vec<u32> = of.map(|frame| frame.2 >> PSN_AT).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
}
