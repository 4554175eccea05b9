//! What a terminal shows of a run: one row per traffic entry, one per egress queue that was used, and totals.
use crate::columns::{bits_per_second, fct, slowdown};
use crate::names::{NameError, Names};
use crate::quantiles::Quantiles;
use backwater_fabric::record::{FlowRecord, PortRecord};
use backwater_units::{Bytes, Span, Time};
use serde::Serialize;

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Sums over everything.
    pub totals: Totals,
    /// One per traffic entry, in scenario order.
    pub traffic: Vec<TrafficSummary>,
    /// One per egress queue that sent, queued or was paused, in record order.
    pub ports: Vec<PortSummary>,
}

/// Sums over the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Flows.
    pub flows: u64,
    /// Flows whose last byte arrived.
    pub finished: u64,
    /// Data packets received.
    pub packets: u64,
    /// Packets received with CE.
    pub ce_packets: u64,
    /// Packets received with UE.
    pub ue_packets: u64,
    /// CNPs (BECNs) that reached the senders.
    pub cnps: u64,
    /// Packets that were sent again.
    pub resent_packets: u64,
    /// Arrivals that receivers did not take.
    pub dropped_packets: u64,
    /// Arrivals of packets that receivers of queue pairs had already.
    pub duplicate_packets: u64,
    /// NACKs that queue pairs got.
    pub nacks: u64,
    /// How often queue pairs waited too long for an ACK.
    pub timeouts: u64,
    /// Flows whose queue pair is in error; those of which all had arrived have finished.
    pub failed: u64,
    /// Packets that switches, links and faults dropped; what receivers did not take is in `dropped_packets`.
    pub switch_drops: u64,
    /// PAUSEs that took effect.
    pub pauses: u64,
    /// PAUSE frames sent.
    pub pauses_sent: u64,
    /// Where ingress came nearest to Xoff: "no pauses" is then explained by how far away that was.
    pub peak_ingress: Option<PeakIngress>,
}

/// The fullest ingress counter of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PeakIngress {
    /// Node name.
    pub node: String,
    /// Label of the port in its sending direction; the counter is of what it received.
    pub port: String,
    /// Priority.
    pub priority: u8,
    /// The counter at its largest.
    pub bytes: u64,
}

/// The flows of one traffic entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrafficSummary {
    /// Name of the entry.
    pub traffic: String,
    /// Its flows.
    pub flows: u64,
    /// Those whose last byte arrived.
    pub finished: u64,
    /// Data packets received.
    pub packets: u64,
    /// Payload bytes received.
    pub received_bytes: u64,
    /// Packets received with CE.
    pub ce_packets: u64,
    /// Packets received with UE.
    pub ue_packets: u64,
    /// CNPs for CE that reached the senders.
    pub cnps_ce: u64,
    /// CNPs for UE that reached the senders.
    pub cnps_ue: u64,
    /// Packets that were sent again.
    pub resent_packets: u64,
    /// Arrivals that receivers did not take.
    pub dropped_packets: u64,
    /// Arrivals of packets that receivers of queue pairs had already.
    pub duplicate_packets: u64,
    /// NACKs that queue pairs got.
    pub nacks: u64,
    /// How often queue pairs waited too long for an ACK.
    pub timeouts: u64,
    /// Flows whose queue pair is in error; those of which all had arrived have finished.
    pub failed: u64,
    /// Mean over flows of payload received, each byte once, per time from a flow's start to its end (or the run's); flows that
    /// had no time to send do not count. `None` if no flow had.
    pub mean_goodput_bps: Option<f64>,
    /// FCT of the finished flows, ps.
    pub fct_ps: Option<Quantiles>,
    /// Slowdown of the finished flows.
    pub slowdown: Option<Quantiles>,
}

/// One egress queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortSummary {
    /// Node name.
    pub node: String,
    /// Label, such as `"L0->T2"`.
    pub port: String,
    /// Priority.
    pub priority: u8,
    /// Packets sent.
    pub packets: u64,
    /// Part of the run in which this priority occupied the wire, 0 to 1.
    pub utilization: f64,
    /// Time in non-congestion.
    pub non_congestion_ps: u64,
    /// Time in congestion.
    pub congestion_ps: u64,
    /// Time in undetermined.
    pub undetermined_ps: u64,
    /// Time released and being judged.
    pub judging_ps: u64,
    /// PAUSEs that took effect.
    pub pauses: u64,
    /// PAUSE frames sent upstream.
    pub pauses_sent: u64,
    /// Time the gate was closed.
    pub paused_ps: u64,
    /// Largest queue.
    pub peak_queue_bytes: u64,
    /// Packets marked CE.
    pub ce_marks: u64,
    /// Packets marked UE.
    pub ue_marks: u64,
}

/// Sums up a run that ended at `end`.
///
/// # Errors
/// If a record mentions something without a name.
pub fn summarize(
    flows: &[FlowRecord],
    ports: &[PortRecord],
    names: &Names,
    end: Time,
) -> Result<Summary, NameError> {
    let mut summing = Summing::new(names, end);
    summing.add(flows)?;
    summing.finish(ports)
}

/// A summary in the making, for flows that come in pieces.
pub struct Summing<'a> {
    names: &'a Names,
    end: Time,
    /// By traffic entry.
    entries: Vec<Entry>,
}

/// What is kept of the flows of one entry.
#[derive(Default)]
struct Entry {
    summary: TrafficSummary,
    goodputs: Vec<f64>,
    fcts: Vec<f64>,
    slowdowns: Vec<f64>,
}

impl<'a> Summing<'a> {
    /// Of a run that ended at `end`.
    pub fn new(names: &'a Names, end: Time) -> Self {
        let entries = (0..names.traffic_entries()).map(|_| Entry::default()).collect();
        Self { names, end, entries }
    }

    /// Adds flows.
    ///
    /// # Errors
    /// If one is of a traffic entry without a name.
    pub fn add(&mut self, flows: &[FlowRecord]) -> Result<(), NameError> {
        for flow in flows {
            let entry = self.names.traffic_key(flow.group)? as usize;
            self.entries[entry].add(flow, self.end);
        }
        Ok(())
    }

    /// The whole summary.
    ///
    /// # Errors
    /// If a record mentions something without a name.
    pub fn finish(self, ports: &[PortRecord]) -> Result<Summary, NameError> {
        let Self { names, end, entries } = self;
        let traffic = (0..).zip(entries).map(|(entry, sums)| Ok(sums.finish(names.traffic(entry)?)));
        let traffic = traffic.collect::<Result<Vec<_>, _>>()?;
        let used = ports.iter().filter(|p| p.packets > 0 || p.pauses > 0 || p.peak_queue > Bytes::new(0));
        let used = used.map(|p| port_summary(p, names, end)).collect::<Result<_, _>>()?;
        Ok(Summary { totals: totals(&traffic, ports, names)?, traffic, ports: used })
    }
}

impl Entry {
    fn add(&mut self, flow: &FlowRecord, end: Time) {
        let sums = &mut self.summary;
        sums.flows += 1;
        sums.finished += u64::from(flow.finish != Time::MAX);
        sums.packets += flow.packets;
        sums.received_bytes += flow.received.get();
        sums.ce_packets += flow.ce_packets;
        sums.ue_packets += flow.ue_packets;
        sums.cnps_ce += flow.cnps_ce;
        sums.cnps_ue += flow.cnps_ue;
        sums.resent_packets += flow.resent_packets;
        sums.dropped_packets += flow.dropped_packets;
        sums.duplicate_packets += flow.duplicate_packets;
        sums.nacks += flow.nacks;
        sums.timeouts += flow.timeouts;
        sums.failed += u64::from(flow.failed);
        let active = Span::from_ps(flow.finish.min(end).as_ps().saturating_sub(flow.start.as_ps()));
        self.goodputs.extend(bits_per_second(flow.received, active).map(|bps| bps as f64));
        self.fcts.extend(fct(flow).map(|fct| fct.as_ps() as f64));
        self.slowdowns.extend(slowdown(flow));
    }

    fn finish(self, traffic: &str) -> TrafficSummary {
        TrafficSummary {
            traffic: traffic.to_owned(),
            mean_goodput_bps: Quantiles::of(self.goodputs).map(|q| q.mean),
            fct_ps: Quantiles::of(self.fcts),
            slowdown: Quantiles::of(self.slowdowns),
            ..self.summary
        }
    }
}

fn port_summary(p: &PortRecord, names: &Names, end: Time) -> Result<PortSummary, NameError> {
    let sent_bps = bits_per_second(p.bytes, end - Time::ZERO).unwrap_or(0);
    let [non_congestion_ps, congestion_ps, undetermined_ps, judging_ps] = p.in_state.map(Span::as_ps);
    Ok(PortSummary {
        node: names.node(p.node)?.to_owned(),
        port: names.port(p.node, p.port)?.to_owned(),
        priority: p.priority,
        packets: p.packets,
        utilization: sent_bps as f64 / p.rate.as_bps().max(1) as f64,
        non_congestion_ps,
        congestion_ps,
        undetermined_ps,
        judging_ps,
        pauses: p.pauses,
        pauses_sent: p.pauses_sent,
        paused_ps: p.paused.as_ps(),
        peak_queue_bytes: p.peak_queue.get(),
        ce_marks: p.ce_marks,
        ue_marks: p.ue_marks,
    })
}

fn totals(traffic: &[TrafficSummary], ports: &[PortRecord], names: &Names) -> Result<Totals, NameError> {
    let sum = |count: fn(&TrafficSummary) -> u64| traffic.iter().map(count).sum();
    // The first of equals, so that ties do not depend on anything but the record order.
    let fullest = ports.iter().rev().max_by_key(|p| p.peak_ingress);
    let fullest = fullest.filter(|p| p.peak_ingress > Bytes::new(0));
    let peak = |p: &PortRecord| {
        let (node, port) = (names.node(p.node)?.to_owned(), names.port(p.node, p.port)?.to_owned());
        Ok(PeakIngress { node, port, priority: p.priority, bytes: p.peak_ingress.get() })
    };
    Ok(Totals {
        flows: sum(|t| t.flows),
        finished: sum(|t| t.finished),
        packets: sum(|t| t.packets),
        ce_packets: sum(|t| t.ce_packets),
        ue_packets: sum(|t| t.ue_packets),
        cnps: sum(|t| t.cnps_ce + t.cnps_ue),
        resent_packets: sum(|t| t.resent_packets),
        dropped_packets: sum(|t| t.dropped_packets),
        duplicate_packets: sum(|t| t.duplicate_packets),
        nacks: sum(|t| t.nacks),
        timeouts: sum(|t| t.timeouts),
        failed: sum(|t| t.failed),
        switch_drops: ports.iter().map(|p| p.dropped_packets).sum(),
        pauses: ports.iter().map(|p| p.pauses).sum(),
        pauses_sent: ports.iter().map(|p| p.pauses_sent).sum(),
        peak_ingress: fullest.map(peak).transpose()?,
    })
}

#[cfg(test)]
mod tests;
