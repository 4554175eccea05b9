//! Small scenes for the tests: a network, flows and settings with few words.
#![allow(dead_code, reason = "each test file uses its own part of the scene")]
use backwater_control::detector::{Detector, Red, Tcd};
use backwater_control::flow_control::{Form, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, ReactionConfig};
use backwater_fabric::{
    Arbiter, Control, Kind, PacketSpec, PfcSpec, ProbeSpec, Records, Simulation, Spec, SwitchSpec, Totals,
    Violation,
};
use backwater_topology::{Network, Routes, Routing};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Time};

/// Lossless Ethernet with the TCD paper's values: 1000 B packets, Xoff/Xon 320/318 KB, pauses until RESUME.
pub(crate) fn ideal(network: Network, flows: Vec<Flow>) -> Spec {
    let routes = Routes::new(&network, Routing::Ecmp).expect("reachable");
    Spec {
        seed: 1,
        packet: PacketSpec { payload: Bytes::new(1000), header: Bytes::ZERO },
        ack: None,
        switch: SwitchSpec {
            buffer: Bytes::new(18_000_000),
            arbiter: Arbiter::RoundRobin,
            control_priority: 7,
            pfc: Some(PfcSpec {
                form: Form::Ideal,
                thresholds: per_port(&network, Threshold::standard(18_000_000)),
                frame: Bytes::new(64),
                priorities: 0x7f,
            }),
            detectors: per_port(&network, Detector::None),
        },
        reaction: ReactionConfig::LineRate,
        notify: None,
        cnp_size: Bytes::new(64),
        probe: ProbeSpec::default(),
        batching: true,
        network,
        routes,
        flows,
    }
}

/// The settings of the TCD authors' release, with DCQCN and `detector`.
pub(crate) fn authors(network: Network, flows: Vec<Flow>, detector: Detector) -> Spec {
    let mut spec = ideal(network, flows);
    spec.packet.header = Bytes::new(20);
    spec.switch.detectors = per_port(&spec.network, detector);
    spec.switch.pfc = Some(PfcSpec {
        form: Form::authors(),
        thresholds: per_port(&spec.network, Threshold::authors()),
        frame: Bytes::new(31),
        priorities: 0x7f,
    });
    spec.reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    spec.notify = Some(NotifyConfig::authors());
    spec
}

pub(crate) fn red() -> Detector {
    Detector::Red(Red::authors())
}

pub(crate) fn tcd() -> Detector {
    Detector::Tcd(Tcd::authors())
}

/// `value` for every port of every switch.
pub(crate) fn per_port<T: Copy>(network: &Network, value: T) -> Vec<Vec<T>> {
    (0..network.nodes().len() as u32)
        .map(|node| if network.is_switch(node) { vec![value; network.ports(node).len()] } else { Vec::new() })
        .collect()
}

/// Host index by name.
pub(crate) fn host(network: &Network, name: &str) -> u32 {
    network.host_index(network.find(name).expect("a node")).expect("a host")
}

pub(crate) fn flow(src: u32, dst: u32, size: u64, start: Time, pacing: Pacing) -> Flow {
    Flow { group: 0, src, dst, size: Bytes::new(size), start, priority: 3, pacing }
}

pub(crate) fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// Runs to the end and returns everything.
pub(crate) fn run(
    spec: Spec,
    kind: Kind,
    until: Option<Time>,
) -> Result<(Simulation, Totals, Records), Violation> {
    let mut all = Records::default();
    let mut simulation = Simulation::new(spec, kind);
    let totals = simulation.run(&Control { until, ..Control::default() }, &mut |records| {
        all.marks.extend(&records.marks);
        all.pauses.extend(&records.pauses);
        all.states.extend(&records.states);
        all.samples.extend(&records.samples);
        all.rates.extend(&records.rates);
        Ok(())
    })?;
    Ok((simulation, totals, all))
}

pub(crate) const FAST: Kind = Kind::Windows { threads: 1 };
