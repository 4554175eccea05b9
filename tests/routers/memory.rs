//! A memory that ports promise credits from: one of them may take more than its own part, and all together never more than there is.
use backwater_control::flow_control::{CreditReturn, feasibility};
use backwater_fabric::{Queueing, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow, infiniband, run, star, with_links};

const BUFFER: u64 = 64_000;
const LINE: Rate = Rate::from_gbps(32);

/// Hosts send 1 MB each to the last of `hosts`, whose link is slower.
fn incast(hosts: u32, senders: u32, queueing: Queueing) -> Spec {
    let network = star(hosts, LINE, Span::from_ns(500));
    let network = with_links(&network, |link, it| {
        if link == hosts as usize - 1 {
            it.rate = Rate::from_gbps(8);
        }
    });
    let flows = (0..senders).map(|src| flow(src, hosts - 1, 1_000_000, Time::ZERO, Pacing::LineRate));
    let mut spec = infiniband(network, flows.collect());
    spec.switch.queueing = queueing;
    let credits = spec.switch.credits.as_mut().expect("on");
    (credits.buffer, credits.returned) = (Bytes::new(BUFFER), CreditReturn::AtOnce);
    spec
}

/// The most that an ingress port held, in bytes.
fn peak(spec: Spec) -> u64 {
    let outcome = run(spec);
    assert!(outcome.flows.iter().all(|flow| flow.received == Bytes::new(1_000_000)));
    outcome
        .ports
        .iter()
        .filter(|port| outcome.simulation.network().is_switch(port.node))
        .map(|port| port.peak_ingress.get())
        .max()
        .unwrap()
}

#[test]
fn one_port_takes_its_window_and_half_of_what_is_shared() {
    let spec = incast(4, 1, Queueing::Shared);
    let credits = spec.switch.credits.as_ref().unwrap();
    let packet = Bytes::new(2048);
    let window =
        feasibility(LINE, Span::from_ns(500), CreditReturn::AtOnce, packet, credits.frame, credits.unit)
            .needed
            .get();
    // 1000 units of 64 B per port.
    let most = window + 4 * (64_000 - window) / 2;
    let peak_of = peak(spec);
    assert!((most - 4 * 2048..=most).contains(&peak_of), "{peak_of} B of {most}");
    // With a memory of its own it has that.
    let own = peak(incast(4, 1, Queueing::Output));
    assert!((BUFFER - 4 * 2048..=BUFFER).contains(&own), "{own} B");
}

#[test]
fn several_ports_divide_what_is_shared_and_nobody_is_left_without_his_window() {
    // With α = 1, n full ports have 1/(n + 1) of it each (Choudhury and Hahne, equation 4): less than half.
    let [one, three] = [1, 3].map(|senders| peak(incast(4, senders, Queueing::Shared)));
    assert!(three < one, "{three} B, {one} B alone");
}
