//! Circles of waits under credits and under PFC: each is found while the run goes on, and named link by link.
use backwater_control::flow_control::{CreditReturn, Form, Threshold};
use backwater_fabric::{Queueing, Spec, Violation};
use backwater_topology::{Builder, Network};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, flow, ideal, infiniband, per_port, run, try_run, us};

const RATE: Rate = Rate::from_gbps(40);
const DELAY: Span = Span::from_us(1);
const RING: u32 = 7;
const QUEUEINGS: [Queueing; 5] =
    [Queueing::Output, Queueing::VirtualOutput, Queueing::OldestFirst, Queueing::Input, Queueing::Shared];
/// Of those the ones in which new packets fill the ring. The oldest first are those that are on their way.
const LOCKING: [Queueing; 4] = [Queueing::Output, Queueing::VirtualOutput, Queueing::Input, Queueing::Shared];
const RETURNS: [CreditReturn; 2] = [CreditReturn::AtOnce, CreditReturn::Periodic(Span::from_us(20))];

/// A ring of seven switches with a host each, and two hosts at a switch of their own.
fn ring_and_a_pair() -> Network {
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..RING).map(|i| builder.host(format!("h{i}"))).collect();
    let pair = [builder.host("calm"), builder.host("quiet")];
    let ring: Vec<u32> = (0..RING).map(|i| builder.switch(format!("s{i}"))).collect();
    let aside = builder.switch("aside");
    for (&host, &switch) in hosts.iter().zip(&ring) {
        builder.link(host, switch, RATE, DELAY);
    }
    for (i, &switch) in ring.iter().enumerate() {
        builder.link(switch, ring[(i + 1) % ring.len()], RATE, DELAY);
    }
    for host in pair {
        builder.link(host, aside, RATE, DELAY);
    }
    builder.link(aside, ring[0], RATE, DELAY);
    builder.build().expect("a ring and a pair")
}

/// Every host of the ring sends 2 MB to the one three switches further on.
fn around() -> Vec<Flow> {
    let to = |src| flow(src, (src + 3) % RING, 2_000_000, Time::ZERO, Pacing::LineRate);
    (0..RING).map(to).collect()
}

/// The pair's: it has nothing to do with the ring, and never ends.
fn elsewhere() -> Flow {
    flow(RING, RING + 1, u64::MAX, Time::ZERO, Pacing::LineRate)
}

/// Buffers of four packets.
fn under_credits(flows: Vec<Flow>, returned: CreditReturn, queueing: Queueing) -> Spec {
    let mut spec = infiniband(ring_and_a_pair(), flows);
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.buffer, credits.returned) = (Bytes::new(4 * 2048), returned);
    spec.switch.queueing = queueing;
    spec
}

/// PAUSE above 10 KB.
fn under_pfc(flows: Vec<Flow>, form: Form, queueing: Queueing) -> Spec {
    let mut spec = ideal(ring_and_a_pair(), flows);
    let threshold = Threshold::Static {
        xoff: 10_000,
        xon: 8_000,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer: 18_000_000,
    };
    let pfc = spec.switch.pfc.as_mut().unwrap();
    pfc.form = form;
    pfc.thresholds = per_port(&spec.network, |_| threshold);
    spec.switch.queueing = queueing;
    spec
}

/// When the circle was found. It must be complete and in order, and the flows must be those of the ring.
#[track_caller]
fn found(spec: Spec, until: Option<Time>) -> Time {
    let queueing = spec.switch.queueing;
    let Err(violation) = try_run(spec, FAST, until) else { panic!("{queueing:?}: the ring did not lock up") };
    let Violation::Deadlock { time, circle, blocked, .. } = &violation else { panic!("{violation}") };
    let hop = |i: u32| format!("s{}->s{} (priority 3)", i % RING, (i + 1) % RING);
    let first = (0..RING).find(|i| hop(*i) == circle[0]).expect("a port of the ring");
    let waits: Vec<String> = (first..first + RING).map(hop).collect();
    assert_eq!(*circle, waits);
    let flow = |i: u32| format!("flow {i} (h{i} to h{})", (i + 3) % RING);
    assert_eq!(*blocked, (0..RING).map(flow).collect::<Vec<_>>());
    let text = violation.to_string();
    assert!(text.contains(&format!("{} waits for {}", waits[0], waits[1])), "{text}");
    assert!(text.contains(&format!("{} waits for {} again", waits[6], waits[0])), "{text}");
    *time
}

#[test]
fn credits_that_wait_for_each_other_in_a_circle_are_a_deadlock_that_names_it() {
    for queueing in LOCKING {
        for returned in RETURNS {
            // Nothing is left to happen: a fraction of what the messages take.
            assert!(found(under_credits(around(), returned, queueing), None) < us(200));
        }
        // Updates go on for ever: looked for every 10 ms, a gate that was closed all that time.
        let mut spec = under_credits(around(), RETURNS[1], queueing);
        spec.switch.credits.as_mut().unwrap().unchanged = true;
        assert!(found(spec, None) <= us(20_000));
    }
}

#[test]
fn a_dead_circle_is_found_although_two_hosts_elsewhere_go_on_sending() {
    let flows = || around().into_iter().chain([elsewhere()]).collect();
    for queueing in LOCKING {
        for returned in RETURNS {
            assert!(found(under_credits(flows(), returned, queueing), Some(us(100_000))) <= us(20_000));
        }
        for form in [Form::Ideal, Form::authors()] {
            assert!(found(under_pfc(flows(), form, queueing), Some(us(100_000))) <= us(20_000));
        }
    }
}

#[test]
fn the_same_traffic_on_two_lanes_of_which_none_goes_around_never_locks_up() {
    // Messages that cross the link from s6 to s0 have a lane of their own: in each lane some link of the ring is never used.
    let flows = || -> Vec<Flow> {
        let lane = |flow: Flow| Flow { priority: if flow.src + 3 >= RING { 2 } else { 1 }, ..flow };
        around().into_iter().map(lane).collect()
    };
    for queueing in QUEUEINGS {
        let specs = RETURNS.map(|returned| under_credits(flows(), returned, queueing)).into_iter();
        let pfc = [Form::Ideal, Form::authors()].map(|form| under_pfc(flows(), form, queueing));
        for spec in specs.chain(pfc) {
            let outcome = run(spec);
            assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
            assert!(!outcome.records.pauses.is_empty());
        }
    }
}

#[test]
fn when_and_how_a_deadlock_is_found_does_not_depend_on_probes() {
    let violation = |watched: bool| {
        let mut spec = under_pfc(around(), Form::authors(), Queueing::Output);
        if watched {
            // So many samples that they are handed over several times in 10 ms.
            spec.probe.sample = Some(Span::from_ns(10));
            spec.probe.ports = (0..RING).map(|i| (RING + 2 + i, 1)).collect();
        }
        try_run(spec, FAST, None).err().expect("a deadlock")
    };
    assert_eq!(violation(false), violation(true));
}

#[test]
fn gates_that_lost_updates_keep_closed_are_no_circle() {
    // Three packets of each host, and room for four in each buffer: no buffer can be full of what has to go on. But a port of
    // the ring has six to send, and no update comes through.
    for queueing in QUEUEINGS {
        let mut flows = around();
        for flow in &mut flows {
            (flow.dst, flow.size) = ((flow.src + 2) % RING, Bytes::new(3 * 2048));
        }
        let mut spec = under_credits(flows, RETURNS[1], queueing);
        let credits = spec.switch.credits.as_mut().unwrap();
        (credits.unchanged, credits.loss_ppm) = (true, 1_000_000);
        let Err(violation) = try_run(spec, FAST, None) else { panic!("six packets went for four") };
        let Violation::Deadlock { circle, unfinished, .. } = &violation else { panic!("{violation}") };
        assert_eq!((circle.as_slice(), *unfinished), ([].as_slice(), u64::from(RING)));
        let text = violation.to_string();
        assert!(text.contains("nothing moves any more") && text.contains("s0->s1"), "{text}");
    }
}
