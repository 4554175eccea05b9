//! Scenes so small that everything that happens in them can be worked out with pencil and paper. The arithmetic stands
//! beside each table.
mod cnp;
mod combined;
mod connection;
mod credits;
mod delivered;
mod drain;
mod fecn;
mod frames;
mod jobs;
mod nics;
mod one_link;
mod padded;
mod pause;
mod pcn;
mod repeats;
mod steps;
mod supplied;
mod timely;

use std::fmt::Write;

use backwater_fabric::Spec;
use backwater_fabric::record::PauseRecord;
use backwater_topology::Network;
use backwater_units::{Rate, Span, Time};
use scene::{Outcome, run_until};

/// What happened up to `until`, one line per event, in order of time: gates, marks, messages that are complete.
fn table(spec: Spec, until: Time) -> String {
    let outcome = run_until(spec, until);
    listed(&outcome, Time::ZERO) + &peaks(&outcome)
}

/// The same from the first opening of a gate on, and counted from then: the phases of credit updates are random, what follows
/// an update is not.
fn table_after_update(spec: Spec, until: Time) -> String {
    let outcome = run_until(spec, until);
    let first = outcome.records.pauses.iter().find(|pause| !pause.paused);
    listed(&outcome, first.expect("a gate that opens").time)
}

/// The events from `origin` on.
fn listed(outcome: &Outcome, origin: Time) -> String {
    let network = outcome.simulation.network();
    let mut events: Vec<(Time, String)> = Vec::new();
    for pause in &outcome.records.pauses {
        events.push((pause.time, gate(network, pause)));
    }
    for mark in &outcome.records.marks {
        let port = network.port_name(mark.node, mark.port);
        let code = if mark.code == 3 { "CE" } else { "UE" };
        let text = format!("{port} marks packet {} of flow {} {code}", mark.seq, mark.flow);
        events.push((mark.time, text));
    }
    for flow in outcome.flows.iter().filter(|flow| flow.finish < Time::MAX) {
        events.push((flow.finish, format!("flow {} complete", flow.flow)));
        if flow.acked < Time::MAX {
            events.push((flow.acked, format!("flow {} acknowledged", flow.flow)));
        }
    }
    events.sort();
    let mut text = String::from("\n");
    for (time, event) in events.into_iter().filter(|(time, _)| *time >= origin) {
        let _ = writeln!(text, "{:10.4} us  {event}", time.since(origin).as_us_f64());
    }
    text
}

fn gate(network: &Network, change: &PauseRecord) -> String {
    let port = network.port_name(change.node, change.port);
    let what = match (change.paused, change.expired) {
        (true, _) => "paused",
        (false, false) => "resumed",
        (false, true) => "pause ran out",
    };
    format!("{port} {what}")
}

/// One line for each ingress port that crossed Xoff: only there is the peak kept to the byte.
fn peaks(outcome: &Outcome) -> String {
    let network = outcome.simulation.network();
    let held = outcome.ports.iter().filter(|port| port.pauses_sent > 0);
    let line = |port: &backwater_fabric::record::PortRecord| {
        let (from, node) = (network.name(port.peer), network.name(port.node));
        format!(
            "ingress {from}->{node} held up to {} and sent {} PAUSEs\n",
            port.peak_ingress, port.pauses_sent
        )
    };
    held.map(line).collect()
}

/// A link of 1 us.
fn link(gbps: u64) -> (Rate, Span) {
    (Rate::from_gbps(gbps), Span::from_us(1))
}
