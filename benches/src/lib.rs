//! For whoever changes the packet path: the workloads that its speed is measured on.
//!
//! They are fat trees of 100 Gbps links of 1 µs, or of 400 Gbps, with the settings that the HPCC simulator's users run: DCQCN
//! (decrease check), PFC with a dynamic threshold (α = 1/8, 32 MiB), RED 400/1600 KB, 1000 B payload, an ACK per
//! packet, every flow to its end.
mod ranks;
mod uec;

use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::{Band, Bands, CreditReturn, Form, Threshold, Unit, headroom_hpcc};
use backwater_control::isolation::{IciConfig, Isolation};
use backwater_control::reaction::{DackConfig, DcqcnHpccConfig, PftConfig, PolicyConfig, ReactionConfig};
use backwater_control::transport::selective::{Lost, SelectiveConfig};
use backwater_fabric::{
    AckSpec, Arbiter, Balancing, BfcSpec, Clock, Combined, CreditSpec, Crossings, DrainSpec, EndpointSpec,
    FaultSpec, IsolationSpec, KeyKind, MarkSpec, NicSpec, Overflow, PacketSpec, PairSpec, PfcSpec, PoolOrder,
    ProbeSpec, PutSpec, Queueing, ReliableSpec, Repeat, Scope, Spec, Start, SwitchSpec, Switching,
    ThrottleSpec, UserSpec,
};
use backwater_topology::{Network, Routes, Routing, generate::fat_tree};
use backwater_traffic::generate::{Permutation, Poisson, Stop};
use backwater_traffic::program::Programs;
use backwater_traffic::{Cdf, Flow, Group, Pacing, connect};
use backwater_units::{Bytes, Rate, Span, Time};

pub use ranks::with_ranks;
pub use uec::with_uec;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Span = Span::from_us(1);

/// The links of a network, and what goes by them: buffers and thresholds follow the rate.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    rate: Rate,
    payload: Bytes,
    /// Packet memory of a switch.
    buffer: u64,
}

impl Links {
    /// 100 Gbps, packets of 1000 B, 32 MiB of memory.
    pub const STANDARD: Self = Self { rate: RATE, payload: Bytes::new(1000), buffer: 32 << 20 };
    /// 400 Gbps, packets of 4 KiB, four times the memory.
    pub const FAST: Self =
        Self { rate: Rate::from_gbps(400), payload: Bytes::new(4096), buffer: 4 * Self::STANDARD.buffer };
}
const GROUP: Group = Group { id: 0, priority: 3, pacing: Pacing::Controlled, start: Time::ZERO };

/// What the hosts send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Workload {
    /// Poisson arrivals of WebSearch flows at 60 % of the host links for this long.
    WebSearch(Span),
    /// One flow of this size from every host to its image under a random derangement.
    Permutation(Bytes),
    /// So many messages of one packet at half the rate of the host links, on one connection for each pair of the first 64 hosts.
    Messages(u32),
}

/// A k-ary fat tree under `workload`.
///
/// # Panics
/// If `k` is not an even number that makes a fat tree.
pub fn scenario(k: u32, workload: Workload, seed: u64) -> Spec {
    scenario_on(Links::STANDARD, k, workload, seed)
}

/// The same on other links.
///
/// # Panics
/// As [`scenario`].
pub fn scenario_on(links: Links, k: u32, workload: Workload, seed: u64) -> Spec {
    let Links { rate, payload, buffer } = links;
    let network = fat_tree(k, rate, DELAY).expect("k is even");
    let routes = Routes::new(&network, Routing::Ecmp).expect("a fat tree is connected");
    let hosts: Vec<u32> = (0..network.hosts().len() as u32).collect();
    Spec {
        reuse: false,
        clock: Clock::default(),
        seed,
        flows: flows(workload, &hosts, rate, seed),
        numbers: Vec::new(),
        steps: Vec::new(),
        programs: Programs::default(),
        jobs: Vec::new(),
        packet: PacketSpec { payload, header: Bytes::new(48), padded: false },
        pairs: vec![PairSpec {
            reaction: ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(rate)),
            custom: None,
            notify: None,
            cnp_size: Bytes::new(60),
            ack: Some(AckSpec { every: 1, size: Bytes::new(60), priority: None }),
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
            buffer: Bytes::new(buffer),
            overflow: Overflow::Stop,
            balancing: Balancing::Ecmp,
            hashes: std::sync::Arc::default(),
            arbiter: Arbiter::RoundRobin,
            control_priority: 7,
            pfc: Some(PfcSpec {
                form: Form::Ideal,
                thresholds: per_switch_port(&network, |ports| dynamic_threshold(links, ports)),
                frame: Bytes::new(43),
                priorities: 0x7f,
            }),
            detectors: per_switch_port(&network, |_| Detector::Red(Red::hpcc(rate))),
            roots: None,
            mark: MarkSpec::default(),
            isolation: None,
        },
        probe: ProbeSpec::default(),
        batching: true,
        network,
        routes,
    }
}

/// The same under credits instead of PFC: virtual output queues, cut-through, 512 KB per ingress port and updates every 20 us,
/// which a link of 100 Gbps needs less than.
pub fn under_credits(mut spec: Spec) -> Spec {
    spec.switch.queueing = Queueing::VirtualOutput;
    spec.switch.switching = Switching::CutThrough { header: Bytes::new(20) };
    spec.switch.pfc = None;
    spec.switch.credits = Some(CreditSpec {
        buffer: Bytes::from_kb(512),
        start: Start::Packet,
        unit: Unit::BLOCK,
        returned: CreditReturn::Periodic(Span::from_us(20)),
        frame: Bytes::new(8),
        unchanged: false,
        loss_ppm: 0,
        priorities: 0x7f,
    });
    spec
}

/// The same with credits of 16 B that come back at once, and NICs that throttle themselves by PFT with the setting that its paper found
/// best. A round trip of such a link takes 1600 credits at line rate, more than its thresholds: all NICs are Congested much of the time.
pub fn with_throttles(spec: Spec) -> Spec {
    let mut spec = under_credits(spec);
    let credits = spec.switch.credits.as_mut().expect("under credits");
    (credits.unit, credits.returned) = (Unit::FLIT, CreditReturn::AtOnce);
    spec.throttle = Some(ThrottleSpec { config: PftConfig::standard(), scope: Scope::Port });
    spec
}

/// The same with queues at both sides of a crossbar of twice the link rate, and ICI+ with the values of its paper.
pub fn with_isolation(mut spec: Spec) -> Spec {
    let packets = |count: u64| Bytes::new(count * 4096);
    spec.switch.queueing = Queueing::Combined(Combined {
        speedup_percent: 200,
        ingress: packets(64),
        egress: packets(64),
        caps: by_priority(packets(36), packets(28), packets(64)),
        crossbar: Crossings::Single,
        bands: Bands { own: by_priority(Band::normal(), Band::congested(), Band::NONE), port: Band::port() },
    });
    spec.switch.arbiter = Arbiter::Deficit { weights: by_priority(22, 17, 1) };
    spec.switch.isolation = Some(IsolationSpec {
        rules: Isolation::Ici(IciConfig::plus()),
        slots: Some(32),
        monitored: GROUP.priority,
        congested: 0,
        key: KeyKind::Pair,
        frame: Bytes::new(64),
        host_hold: Some(Span::from_us(200)),
    });
    spec
}

/// The same with queues of flows that are held upstream (BFC) in place of PFC and DCQCN.
pub fn with_holds(mut spec: Spec) -> Spec {
    spec.pairs[0].reaction = ReactionConfig::LineRate(());
    spec.switch.detectors = per_switch_port(&spec.network, |_| Detector::None);
    spec.switch.pfc = None;
    spec.switch.queueing =
        Queueing::Bfc(BfcSpec { queues: 32, sticky: 2, order: PoolOrder::RoundRobin, frame: Bytes::new(64) });
    spec
}

/// The same as PUT streams paced by duplicate ACKs, with the values of the EC paper, over switches that drop; every eighth host drains
/// half of its link.
pub fn with_puts(mut spec: Spec) -> Spec {
    connect(&mut spec.flows, 0);
    spec.puts = vec![PutSpec::standard(PolicyConfig::Dack(DackConfig::standard()))];
    spec.put_of = vec![Some(0)];
    let slow = EndpointSpec {
        depth: Bytes::new(80_992),
        drain: DrainSpec::Constant(Rate::from_bps(RATE.as_bps() / 2)),
        cached: None,
        pfc: None,
    };
    spec.endpoints =
        (0..spec.network.hosts().len()).map(|host| (host % 8 == 0).then(|| slow.clone())).collect();
    spec.switch.pfc = None;
    spec.switch.overflow = Overflow::Drop { port: Bytes::new(1_048_576) };
    spec
}

/// The same without PFC: of the same memory a port holds at most 200 KB, and what comes above that is dropped and recorded. Queue pairs send it
/// again, with the values of the InfiniBand specification and of IRN. RED marks a sixteenth as far up as it does above (25/100 KB), so that
/// DCQCN hears of congestion before packets are dropped; or nothing, if `marks` is false: then it stays where it is, above what a port holds.
pub fn with_losses(mut spec: Spec, repeat: Repeats, marks: bool) -> Spec {
    let reliable = ReliableSpec {
        repeat: Repeat::GoBackN,
        timeout: Span::from_ps(4_096_000 << 14),
        short: None,
        retries: 7,
        backoff: false,
        every_packet: false,
        nack_every: None,
        nack_notifies: false,
    };
    let config = SelectiveConfig { after_nack: Lost::Lost, after_timeout: Lost::Lost };
    spec.pairs[0].reliable = Some(match repeat {
        Repeats::GoBackN => reliable,
        // Six links there and back at 100 Gbps: 154 KB.
        Repeats::Selective => ReliableSpec {
            repeat: Repeat::Selective { cap: 154_000, config },
            timeout: Span::from_us(320),
            short: Some((3, Span::from_us(100))),
            ..reliable
        },
    });
    if marks {
        let red = Red::new(Bytes::from_kb(25), Bytes::from_kb(100), 0.2, Bytes::new(0)).expect("in order");
        spec.switch.detectors = per_switch_port(&spec.network, |_| Detector::Red(red));
    }
    spec.switch.pfc = None;
    spec.switch.overflow = Overflow::Drop { port: Bytes::from_kb(200) };
    spec.probe.drops = true;
    spec
}

/// How queue pairs send again what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// All from the first lost packet on.
    GoBackN,
    /// What is lost.
    Selective,
}

/// The values of the data, of the congested flows, and of the other priorities.
fn by_priority<T: Copy>(normal: T, congested: T, other: T) -> [T; 8] {
    let mut values = [other; 8];
    (values[usize::from(GROUP.priority)], values[0]) = (normal, congested);
    values
}

fn flows(workload: Workload, hosts: &[u32], rate: Rate, seed: u64) -> Vec<Flow> {
    match workload {
        Workload::Permutation(size) => Permutation { hosts: hosts.to_vec(), size }.flows(&GROUP, seed),
        Workload::WebSearch(span) => Poisson {
            from: hosts.iter().map(|host| (*host, rate)).collect(),
            to: hosts.to_vec(),
            sizes: Cdf::web_search(),
            load: 0.6,
            mean: Cdf::web_search().mean(),
            stop: Stop::At(Time::ZERO + span),
        }
        .flows(&GROUP, seed),
        Workload::Messages(count) => {
            let sizes = Cdf::parse("800 0\n1000 100\n").expect("a table");
            let mut flows = Poisson {
                from: hosts.iter().take(64).map(|host| (*host, rate)).collect(),
                to: hosts.iter().copied().take(64).collect(),
                mean: sizes.mean(),
                sizes,
                load: 0.5,
                stop: Stop::After(count),
            }
            .flows(&GROUP, seed);
            connect(&mut flows, 0);
            flows
        }
    }
}

fn dynamic_threshold(links: Links, ports: u64) -> Threshold {
    let headroom = headroom_hpcc(links.rate, DELAY).get();
    let reserve = 4 << 10;
    Threshold::Dynamic {
        shift: 3,
        pool: links.buffer - ports * (headroom + reserve),
        reserve,
        headroom,
        hysteresis: 3 << 10,
    }
}

/// The thresholds K of the ground truth: kmax of the detectors.
pub fn thresholds(network: &Network) -> Vec<Vec<Bytes>> {
    per_switch_port(network, |_| Red::hpcc(RATE).kmax())
}

fn per_switch_port<T: Copy>(network: &Network, value: impl Fn(u64) -> T) -> Vec<Vec<T>> {
    (0..network.nodes().len() as u32)
        .map(|node| {
            let ports = network.ports(node).len();
            if network.is_switch(node) { vec![value(ports as u64); ports] } else { Vec::new() }
        })
        .collect()
}
