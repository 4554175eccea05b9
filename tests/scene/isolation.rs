//! The network of the ICI paper, under each of the six schemes that are compared on it, and its first two workloads.
use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::{Band, Bands};
use backwater_control::isolation::{CiConfig, IciConfig, Isolation};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, ReactionConfig};
use backwater_engine::{stream, uniform};
use backwater_fabric::{
    Arbiter, Combined, Crossings, IsolationSpec, KeyKind, MarkAt, MarkBasis, MarkSpec, Queueing, Spec,
};
use backwater_topology::{Network, Routes, Routing, generate};
use backwater_traffic::{Drawn, Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};

use crate::{flow, ideal, per_port};

/// A packet: 4 KiB, 327.68 ns on a link of 100 Gbps.
pub const PACKET: u64 = 4096;
/// Priority of the data, and of the normal-flow queue (NFQ).
pub const NORMAL: u8 = 3;
/// Priority of the congested-flow queue (CFQ).
pub const CONGESTED: u8 = 2;

/// What is done against congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// PFC alone.
    None,
    /// ECN and DCQCN.
    Dcqcn,
    /// Congestion isolation.
    Ci,
    /// Both, neither knowing of the other.
    CiDcqcn,
    /// Improved congestion isolation.
    Ici,
    /// The same, guiding the marks of DCQCN.
    IciPlus,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::None, Self::Dcqcn, Self::Ci, Self::CiDcqcn, Self::Ici, Self::IciPlus];
    /// Those with a congested-flow table.
    pub const ISOLATING: [Self; 4] = [Self::Ci, Self::CiDcqcn, Self::Ici, Self::IciPlus];

    fn rules(self) -> Option<Isolation> {
        match self {
            Self::None | Self::Dcqcn => None,
            Self::Ci | Self::CiDcqcn => Some(Isolation::Ci(CiConfig::standard())),
            Self::Ici => Some(Isolation::Ici(IciConfig::standard())),
            Self::IciPlus => Some(Isolation::Ici(IciConfig::plus())),
        }
    }

    fn controls(self) -> bool {
        matches!(self, Self::Dcqcn | Self::CiDcqcn | Self::IciPlus)
    }
}

/// The marking ramp of DCQCN in the paper's network: 10 to 40 packets, 20 %.
///
/// # Panics
/// Never.
pub fn ramp() -> Red {
    Red::new(Bytes::new(10 * PACKET), Bytes::new(40 * PACKET), 0.2, Bytes::ZERO).expect("a ramp")
}

/// A switch as in the ICI paper, section 4.1: two regions of 256 KiB a port, twice as fast inside, PFC at 50 packets, or at 22 and
/// 17 if there are two queues a port; 4 KiB packets, all padded; DCQCN as in SIGCOMM 2015 where the scheme has it.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn isolation(network: Network, flows: Vec<Flow>, scheme: Scheme) -> Spec {
    let mut spec = ideal(network, flows);
    spec.routes = Routes::new(&spec.network, Routing::DModK).expect("all hosts reach each other");
    spec.packet.payload = Bytes::new(PACKET);
    spec.packet.padded = true;
    let rules = scheme.rules();
    spec.switch.queueing = Queueing::Combined(combined(rules.is_some()));
    spec.switch.arbiter = Arbiter::Deficit { weights: [1, 1, 17, 22, 1, 1, 1, 1] };
    spec.switch.isolation = rules.map(|rules| IsolationSpec {
        rules,
        slots: Some(32),
        monitored: NORMAL,
        congested: CONGESTED,
        key: KeyKind::Pair,
        frame: Bytes::new(64),
        host_hold: Some(Span::from_us(200)),
    });
    if scheme.controls() {
        spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::standard());
        spec.pairs[0].notify = Some(NotifyConfig::standard());
    }
    if matches!(scheme, Scheme::Dcqcn | Scheme::CiDcqcn) {
        spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(ramp()));
        spec.switch.mark = MarkSpec { at: MarkAt::Enqueue, basis: MarkBasis::Port };
    }
    spec
}

fn combined(isolates: bool) -> Combined {
    let region = Bytes::new(64 * PACKET);
    let (mut own, mut caps) = ([Band::NONE; 8], [region; 8]);
    own[usize::from(NORMAL)] = Band::port();
    if isolates {
        own[usize::from(NORMAL)] = Band::normal();
        own[usize::from(CONGESTED)] = Band::congested();
        caps[usize::from(NORMAL)] = Bytes::new(36 * PACKET);
        caps[usize::from(CONGESTED)] = Bytes::new(28 * PACKET);
    }
    Combined {
        speedup_percent: 200,
        ingress: region,
        egress: region,
        caps,
        crossbar: Crossings::Single,
        bands: Bands { own, port: Band::port() },
    }
}

/// The combined queueing of a spec, to be changed.
///
/// # Panics
/// If it has another one.
pub fn crossbar(spec: &mut Spec) -> &mut Combined {
    match &mut spec.switch.queueing {
        Queueing::Combined(combined) => combined,
        _ => panic!("combined queueing"),
    }
}

/// The rules of isolation of a spec, to be changed.
///
/// # Panics
/// If it has none.
pub fn isolating(spec: &mut Spec) -> &mut IsolationSpec {
    spec.switch.isolation.as_mut().expect("a scheme that isolates")
}

/// ICI's rules, to be changed.
///
/// # Panics
/// If the spec has others.
pub fn ici(spec: &mut Spec) -> &mut IciConfig {
    match &mut isolating(spec).rules {
        Isolation::Ici(ici) => ici,
        Isolation::Ci(_) => panic!("ICI"),
    }
}

/// A link of the paper's network: 100 Gbps, 25 ns.
pub const fn cable() -> (Rate, Span) {
    (Rate::from_gbps(100), Span::from_ns(25))
}

/// 64 hosts under a 4-ary 3-tree.
///
/// # Panics
/// Never.
pub fn tree() -> Network {
    let (rate, delay) = cable();
    generate::k_ary_n_tree(4, 3, rate, delay).expect("a 4-ary 3-tree")
}

/// Every fourth host, a quarter of them: 3, 7, … 63.
pub fn hot_sources() -> impl Iterator<Item = u32> {
    (3..64).step_by(4)
}

/// Congestion trees: each source makes packets at `gbps` Gbps from `start` to `until`, for each a target is drawn; of 64 packets
/// more than it can send it makes none. Entry 1.
pub fn burst(sources: &[u32], targets: &[u32], gbps: u64, start: Time, until: Time) -> Vec<Flow> {
    let of = targets.len() as u16;
    let flow_to = |src, (number, dst): (u16, &u32)| {
        let drawn = (of > 1).then_some(Drawn { of, number });
        let pacing = Pacing::supplied(Rate::from_gbps(gbps), 64 / u32::from(of), until, drawn);
        Flow { group: 1, ..flow(src, *dst, u64::MAX, start, pacing) }
    };
    sources.iter().flat_map(|&src| (0..).zip(targets).map(move |to| flow_to(src, to))).collect()
}

/// Packets of `sources` at `load` each until `until`, each to one of `targets`, drawn anew: Poisson processes. Entry 0; all
/// packets from one host to another are messages of one connection.
pub fn uniform_load(seed: u64, sources: &[u32], targets: &[u32], load: f64, until: Time) -> Vec<Flow> {
    let gap = cable().0.serialize(Bytes::new(PACKET)).as_ps() as f64 / load;
    let mut flows = Vec::new();
    for &src in sources {
        let mut random = stream(seed, 0x1c1, u64::from(src));
        let mut now = 0.0_f64;
        loop {
            now -= gap * (1.0 - uniform(&mut random)).ln();
            if now >= until.as_ps() as f64 {
                break;
            }
            let dst = targets[(uniform(&mut random) * targets.len() as f64) as usize];
            if dst != src {
                let message = flow(src, dst, PACKET, Time::from_ps(now as u64), Pacing::Controlled);
                flows.push(message.on(src * 64 + dst));
            }
        }
    }
    flows
}

/// The paper's first two workloads in its tree: 48 hosts at load 0.8 to all that are not hot, and 16 that send at line rate
/// to `targets` in the middle three fifths of the time until `until`.
pub fn hot_spots(seed: u64, targets: &[u32], until: Time) -> Vec<Flow> {
    let hot: Vec<u32> = hot_sources().collect();
    let (others, normal): (Vec<u32>, Vec<u32>) = (
        (0..64).filter(|host| !hot.contains(host)).collect(),
        (0..64).filter(|host| !targets.contains(host)).collect(),
    );
    let fifth = until.as_ps() / 5;
    let mut flows = uniform_load(seed, &others, &normal, 0.8, until);
    flows.extend(burst(&hot, targets, 100, Time::from_ps(fifth), Time::from_ps(4 * fifth)));
    flows.sort_by_key(|flow| flow.start);
    flows
}
