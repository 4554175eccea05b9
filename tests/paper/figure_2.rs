//! The scene of Figure 2: F1 from S1 to R1, F0 and F2 to R0, bursts from A0 to A14 to R1.
use backwater_control::detector::Detector;
use backwater_fabric::Spec;
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, authors, flow, host, run_until};

/// F1 runs alone before the bursts, as in the authors' flow file.
const BURSTS: Span = Span::from_ms(1);

/// Synchronous rounds of 64 KB.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) hosts: u64,
    pub(crate) count: u64,
    pub(crate) interval: Span,
}

/// The authors' `burstflow_long`: 15 hosts, 80 rounds, 47.5 us.
pub(crate) const LONG: Rounds = Rounds { hosts: 15, count: 80, interval: Span::from_ps(47_500_000) };

/// Index of F0, F1, F2 among the flows.
pub(crate) const F0: usize = 0;
pub(crate) const F1: usize = 1;
pub(crate) const F2: usize = 2;

/// F0 and F2 at `rate` from `start` after the bursts on.
pub(crate) fn scene(rate: Rate, start: Span, bursts: Rounds, detector: Detector) -> Spec {
    let net = generate::tcd_figure_2(Rate::from_gbps(40), Span::from_us(4), None, false).unwrap();
    let h = |name: &str| host(&net, name);
    let origin = Time::ZERO.saturating_add(BURSTS);
    let constant = Pacing::Constant { rate, jitter_ppm: 100_000, catch_up: true };
    let mut flows: Vec<Flow> = vec![
        flow(h("S0"), h("R0"), u64::MAX, origin.saturating_add(start), constant),
        flow(h("S1"), h("R1"), u64::MAX, Time::ZERO, Pacing::Controlled),
        flow(h("S2"), h("R0"), u64::MAX, origin.saturating_add(start), constant),
    ];
    let sources: Vec<u32> = (0..bursts.hosts).map(|i| h(&format!("A{i}"))).collect();
    for round in 0..bursts.count {
        let at = origin.saturating_add(bursts.interval * round);
        flows.extend(sources.iter().map(|&a| flow(a, h("R1"), 64_000, at, Pacing::Controlled)));
    }
    let mut spec = authors(net, flows, detector);
    spec.probe.sample = Some(Span::from_us(1));
    spec.probe.ports = ["P1", "P2"].map(|name| spec.network.alias(name).unwrap()).to_vec();
    spec
}

/// The victims' rate when P2 is the only bottleneck, and when R0 is one too.
pub(crate) const SINGLE: Rate = Rate::from_mbps(5_006);
pub(crate) const MULTI: Rate = Rate::from_mbps(24_100);
/// When F0 and F2 start: F1 has fallen below 15 Gbps.
pub(crate) const START: Span = Span::from_us(183);

/// What is looked at in a run.
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
}

/// Runs for so long after the start of the bursts.
pub(crate) fn seen(spec: Spec, after: Span) -> Seen {
    Seen { outcome: run_until(spec, Time::ZERO.saturating_add(BURSTS + after)) }
}

impl Seen {
    pub(crate) fn port(&self, alias: &str) -> (u32, u16) {
        self.outcome.simulation.network().alias(alias).unwrap()
    }

    fn ms(time: Time) -> f64 {
        (time.as_ps() as f64 - BURSTS.as_ps() as f64) / 1e9
    }

    /// Largest queue in KB.
    pub(crate) fn peak_kb(&self, alias: &str) -> f64 {
        self.outcome.port(self.port(alias), 3).peak_queue.get() as f64 / 1e3
    }

    /// The first closing and the last opening of a gate, in ms.
    pub(crate) fn off_from_to(&self, alias: &str) -> (f64, f64) {
        let changes = self.outcome.pauses_at(self.port(alias));
        let last = changes.iter().rev().find(|change| !change.paused).unwrap();
        (Self::ms(changes[0].time), Self::ms(last.time))
    }

    /// The verdicts of a port: when (ms) and which.
    pub(crate) fn verdicts(&self, alias: &str) -> Vec<(f64, u8)> {
        let port = self.port(alias);
        let here = self.outcome.records.states.iter().filter(|r| (r.node, r.port) == port);
        here.map(|record| (Self::ms(record.time), record.state)).collect()
    }

    /// When the queue of a port is first empty after `after` (ms), in ms.
    pub(crate) fn empty_after(&self, alias: &str, after: f64) -> f64 {
        let port = self.port(alias);
        let mut samples = self.outcome.records.samples.iter();
        let empty = |s: &&backwater_fabric::record::SampleRecord| {
            (s.node, s.port) == port && s.priority == 3 && Self::ms(s.time) > after && s.queue == Bytes::ZERO
        };
        Self::ms(samples.find(empty).expect("an empty queue").time)
    }

    /// Marks with CE that a port set on a flow.
    pub(crate) fn ce_marks_at(&self, alias: &str, flow: usize) -> usize {
        let port = self.port(alias);
        let marks = self.outcome.records.marks.iter();
        marks.filter(|m| (m.node, m.port) == port && m.flow as usize == flow && m.code == 3).count()
    }

    /// (CE, UE) packets of a flow at its receiver.
    pub(crate) fn marked(&self, flow: usize) -> (u64, u64) {
        let record = &self.outcome.flows[flow];
        (record.ce_packets, record.ue_packets)
    }
}

/// Fails unless `value` is `expected` within `percent` of it.
pub(crate) fn near(what: &str, value: f64, expected: f64, percent: f64) {
    let off = 100.0 * (value / expected - 1.0);
    assert!(off.abs() <= percent, "{what}: {value}, the check says {expected} ({off:+.1} %)");
}
