//! Where a flow's time goes: its parts are all of it, to the picosecond.
use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::{CreditReturn, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, PftConfig, RateLaw, ReactionConfig, StateRule};
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{Scope, Spec, Switching, ThrottleSpec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{exact, flow, ideal, infiniband, per_port, run};

const LINE: u64 = 40_000_000_000;
const DELAY: u64 = 1_000_000;

/// How much of a frame a switch that cuts through must have to forward it.
const HEADER: u64 = 20;

/// Two hosts send to a third under DCQCN and PFC, with switches that pause early. Of each flow: source, packets, start in
/// nanoseconds, pace, connection (the sixth: none).
fn fabric(messages: &[(u32, u64, u64, u8, u32)]) -> Spec {
    let net = generate::star(3, Rate::from_bps(LINE), Span::from_ps(DELAY)).expect("a star");
    let paces = [
        Pacing::Controlled,
        Pacing::LineRate,
        Pacing::Constant { rate: Rate::from_gbps(30), jitter_ppm: 0, catch_up: true },
    ];
    let mut flows: Vec<Flow> = messages
        .iter()
        .map(|&(src, packets, start, pace, connection)| {
            // All messages of a connection have one source and one pace.
            let (src, pace) =
                if connection < 5 { (connection % 2, connection) } else { (src, u32::from(pace)) };
            let flow =
                flow(1 + src, 0, packets * 1000 - 1, Time::from_ps(start * 1000), paces[pace as usize % 3]);
            if connection < 5 { flow.on(connection) } else { flow }
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    let mut spec = ideal(net, flows);
    let step = Red::new(Bytes::new(5_000), Bytes::new(5_000), 1.0, Bytes::ZERO).expect("a step");
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    spec.pairs[0].notify = Some(NotifyConfig::standard());
    let early = Threshold::Static {
        xoff: 8_000,
        xon: 6_000,
        port_xoff: 9_888_000,
        port_xon: 9_886_000,
        buffer: 18_000_000,
    };
    spec.switch.pfc.as_mut().expect("PFC").thresholds = per_port(&spec.network, |_| early);
    spec.probe.blame = Some(per_port(&spec.network, |_| Bytes::new(1_000_000)));
    spec
}

/// The same under credits, of which there are few, with virtual output queues and cut-through.
fn by_credit(messages: &[(u32, u64, u64, u8, u32)]) -> Spec {
    let ethernet = fabric(messages);
    let mut spec = infiniband(ethernet.network, ethernet.flows);
    spec.packet = ethernet.packet;
    spec.pairs = ethernet.pairs;
    spec.probe = ethernet.probe;
    spec.switch.detectors = ethernet.switch.detectors;
    spec.switch.switching = Switching::CutThrough { header: Bytes::new(HEADER) };
    let credits = spec.switch.credits.as_mut().expect("credits");
    (credits.buffer, credits.returned) = (Bytes::new(20_000), CreditReturn::AtOnce);
    spec
}

/// The same with NICs that pause for each flit where a tenth of the buffer is in use.
fn throttled(messages: &[(u32, u64, u64, u8, u32)], by_lane: bool) -> Spec {
    let mut spec = by_credit(messages);
    let rule = StateRule::Fixed { enter: 31, escape: 31 };
    let config = PftConfig { rule, law: RateLaw::FixedInterval, m: 0, n: 5, ..PftConfig::standard() };
    let scope = if by_lane { Scope::VirtualLane } else { Scope::Port };
    spec.throttle = Some(ThrottleSpec { config, scope });
    spec
}

/// Whether the parts of each flow's time are all of it, where `forwarded` bytes of a packet must be in at the switch.
fn add_up(spec: Spec, forwarded: u64) -> Result<(), TestCaseError> {
    let outcome = run(spec);
    for flow in &outcome.flows {
        let at_source = [flow.behind, flow.paced, flow.nic_held, flow.nic_queue];
        let at_switch = outcome.records.waits.iter().filter(|wait| wait.last && wait.flow == flow.flow);
        let waits: u64 = at_switch.map(|wait| wait.end.since(wait.start).as_ps()).sum();
        let last = flow.size.get() % 1000;
        let wires =
            (flow.packets - 1) * exact(1000, LINE) + exact(last.min(forwarded), LINE) + exact(last, LINE);
        let parts = at_source.iter().map(|part| part.as_ps()).sum::<u64>() + waits + wires + 2 * DELAY;
        prop_assert_eq!(flow.finish.since(flow.start).as_ps(), parts, "flow {}", flow.flow);
        prop_assert!(flow.connection.is_some() || flow.behind == Span::ZERO);
    }
    Ok(())
}

fn messages() -> impl Strategy<Value = Vec<(u32, u64, u64, u8, u32)>> {
    prop::collection::vec((0u32..2, 1u64..40, 0u64..20_000, 0u8..3, 0u32..7), 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn waits_and_time_on_wires_add_up_to_the_completion_time_of_every_message(messages in messages()) {
        add_up(fabric(&messages), u64::MAX)?;
    }

    #[test]
    fn so_they_do_under_credits_where_switches_cut_through(messages in messages()) {
        add_up(by_credit(&messages), HEADER)?;
    }

    #[test]
    fn so_they_do_where_nics_throttle_themselves(messages in messages(), scope in any::<bool>()) {
        add_up(throttled(&messages, scope), HEADER)?;
    }

    #[test]
    fn messages_of_a_connection_arrive_in_the_order_of_their_starts(messages in messages()) {
        let outcome = run(fabric(&messages));
        for connection in 0..5 {
            let of_it = outcome.flows.iter().filter(|flow| flow.connection == Some(connection));
            prop_assert!(of_it.map(|flow| flow.finish).collect::<Vec<_>>().is_sorted());
        }
    }
}

#[test]
fn the_scenes_hold_nics_pace_sources_and_keep_messages_waiting() {
    let messages: Vec<_> = (0..20).map(|i| (i % 2, 30, u64::from(i) * 500, 0, i % 4)).collect();
    for spec in [fabric(&messages), by_credit(&messages)] {
        let flows = run(spec).flows;
        let some = |part: fn(&FlowRecord) -> Span| flows.iter().any(|flow| part(flow) > Span::ZERO);
        assert!(some(|f| f.behind) && some(|f| f.paced) && some(|f| f.nic_held) && some(|f| f.nic_queue));
    }
    // Throttled NICs hold back more, and what is always late is never early for its pace.
    let flows = run(throttled(&messages, false)).flows;
    let held = |flows: &[FlowRecord]| flows.iter().map(|flow| flow.nic_held.as_ps()).sum::<u64>();
    assert!(held(&flows) > held(&run(by_credit(&messages)).flows));
}
