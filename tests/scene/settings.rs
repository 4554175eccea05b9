//! Complete settings of three worlds: the TCD paper's text, its authors' release, the HPCC simulator.
use backwater_control::detector::{Detector, Red, Tcd};
use backwater_control::flow_control::{CreditReturn, Form, Threshold, Unit, headroom_hpcc};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, DcqcnHpccConfig, ReactionConfig};
use backwater_fabric::{
    AckSpec, Arbiter, Balancing, BfcSpec, Clock, CreditSpec, FaultSpec, MarkSpec, NicSpec, Overflow,
    PacketSpec, PairSpec, PfcSpec, PoolOrder, ProbeSpec, Queueing, Spec, Start, SwitchSpec, Switching,
    UserSpec,
};
use backwater_topology::{Network, Routes, Routing};
use backwater_traffic::Flow;
use backwater_traffic::program::Programs;
use backwater_units::{Bytes, Rate, Span};

use crate::per_port;

/// Lossless Ethernet with the TCD paper's values: 1000 B packets, Xoff/Xon 320/318 KB, pauses until RESUME. No
/// detector, no congestion control, no ACKs.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn ideal(network: Network, flows: Vec<Flow>) -> Spec {
    let routes = Routes::new(&network, Routing::Ecmp).expect("all hosts reach each other");
    Spec {
        clock: Clock::default(),
        seed: 1,
        packet: PacketSpec { payload: Bytes::new(1000), header: Bytes::ZERO, padded: false },
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
        idle: Vec::new(),
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
        switch: SwitchSpec {
            queueing: Queueing::Output,
            switching: Switching::StoreAndForward,
            credits: None,
            buffer: Bytes::new(18_000_000),
            overflow: Overflow::Stop,
            balancing: Balancing::Ecmp,
            hashes: std::sync::Arc::default(),
            arbiter: Arbiter::RoundRobin,
            control_priority: 7,
            pfc: Some(PfcSpec {
                form: Form::Ideal,
                thresholds: per_port(&network, |_| Threshold::standard(18_000_000)),
                frame: Bytes::new(64),
                priorities: 0x7f,
            }),
            detectors: per_port(&network, |_| Detector::None),
            roots: None,
            mark: MarkSpec::default(),
            isolation: None,
        },
        batching: true,
        reuse: false,
        probe: ProbeSpec { pauses: true, marks: true, states: true, ..ProbeSpec::default() },
        network,
        routes,
        flows,
        numbers: Vec::new(),
        steps: Vec::new(),
        programs: Programs::default(),
        jobs: Vec::new(),
    }
}

/// An InfiniBand fabric with the TCD paper's values: 2048 B packets, virtual output queues, cut-through, 280 KB per ingress
/// port, updates every 50 µs of 8 B. No detector, no congestion control.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn infiniband(network: Network, flows: Vec<Flow>) -> Spec {
    let mut spec = ideal(network, flows);
    spec.packet.payload = Bytes::new(2048);
    spec.switch.queueing = Queueing::VirtualOutput;
    spec.switch.switching = Switching::CutThrough { header: Bytes::new(20) };
    spec.switch.pfc = None;
    spec.switch.credits = Some(CreditSpec {
        buffer: Bytes::new(280_000),
        start: Start::Packet,
        unit: Unit::BLOCK,
        returned: CreditReturn::Periodic(Span::from_us(50)),
        frame: Bytes::new(8),
        unchanged: false,
        loss_ppm: 0,
        priorities: 0x7f,
    });
    spec
}

/// The settings of the TCD authors' release, with DCQCN and `detector`.
pub fn authors(network: Network, flows: Vec<Flow>, detector: Detector) -> Spec {
    let mut spec = ideal(network, flows);
    spec.packet.header = Bytes::new(20);
    spec.switch.detectors = per_port(&spec.network, |_| detector);
    spec.switch.pfc = Some(PfcSpec {
        form: Form::authors(),
        thresholds: per_port(&spec.network, |_| Threshold::authors()),
        frame: Bytes::new(31),
        priorities: 0x7f,
    });
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    spec.pairs[0].notify = Some(NotifyConfig::authors());
    spec
}

/// Backpressure flow control: 32 queues of flows at each egress port, held upstream; hosts with ACKs send at line rate.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn bfc(network: Network, flows: Vec<Flow>) -> Spec {
    let mut spec = ideal(network, flows);
    spec.packet.header = Bytes::new(76);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(84), priority: None });
    spec.switch.pfc = None;
    spec.switch.queueing =
        Queueing::Bfc(BfcSpec { queues: 32, sticky: 2, order: PoolOrder::RoundRobin, frame: Bytes::new(64) });
    spec
}

/// The HPCC simulator under `CC_MODE 1` with hosts at 100 Gbps and switches with `buffer` bytes: 1048 B packets, a 60 B
/// ACK for each in the data's priority, DCQCN with the CNP bit in the ACK, dynamic PFC thresholds with α = 1/8.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn hpcc_ns3(network: Network, flows: Vec<Flow>, buffer: u64) -> Spec {
    let mut spec = ideal(network, flows);
    let hundred = Rate::from_gbps(100);
    spec.nic.acks_ignore_pause = true;
    spec.packet.header = Bytes::new(48);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(60), priority: None });
    spec.switch.buffer = Bytes::new(buffer);
    spec.switch.detectors = per_port(&spec.network, |port| Detector::Red(Red::hpcc(port.rate)));
    spec.switch.pfc = Some(PfcSpec {
        form: Form::Ideal,
        thresholds: dynamic_thresholds(&spec.network, buffer),
        frame: Bytes::new(43),
        priorities: 0x7f,
    });
    spec.pairs[0].reaction = ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(hundred));
    spec
}

/// Thresholds of the HPCC simulator's switches: per port a headroom of 3·rate·delay and 4 KiB; a port whose link is
/// slower than 100 Gbps or equal takes 1/8 of what is left.
///
/// # Panics
/// If the headrooms and reserves of a switch exceed its buffer.
pub fn dynamic_thresholds(network: &Network, buffer: u64) -> Vec<Vec<Threshold>> {
    const RESERVE: u64 = 4 * 1024;
    (0..network.nodes().len() as u32)
        .map(|node| {
            let ports = network.ports(node).iter().filter(|_| network.is_switch(node));
            let headroom = |port: &backwater_topology::Port| headroom_hpcc(port.rate, port.delay).get();
            let set_apart: u64 = ports.clone().map(|port| headroom(port) + RESERVE).sum();
            let pool = buffer.checked_sub(set_apart).expect("a buffer above all headrooms");
            let threshold = |port| Threshold::Dynamic {
                shift: 3,
                pool,
                reserve: RESERVE,
                headroom: headroom(port),
                hysteresis: 3 * 1024,
            };
            ports.map(threshold).collect()
        })
        .collect()
}

/// ECN with the values of the TCD authors' release.
pub fn red() -> Detector {
    Detector::Red(Red::authors())
}

/// TCD with the values of its authors' release.
pub fn tcd() -> Detector {
    Detector::Tcd(Tcd::authors())
}
