//! Link-level retry: what a frame with a wrong bit costs by arithmetic, and that no transport hears of it.
use backwater_control::flow_control::{CreditReturn, LinkRetry, Unit};
use backwater_fabric::record::{FaultEvent, FaultKind, FaultRecord};
use backwater_fabric::{
    Change, Control, CreditSpec, FaultChange, Kind, LossShare, LossSpec, Overflow, Queueing, Simulation,
    Spec, Start,
};
use backwater_topology::Network;
use backwater_units::{Bytes, Span, Time};
use proptest::prelude::*;
use scene::{FAST, Outcome, Rules, chain, ideal, run, star, try_run, try_saved, us};

use crate::{LINE, LINK, from_zero, near};

/// A full packet takes 332 ns on these links, and a NACK 640 ps.
const FULL: u64 = 332_000;
const NACK: u64 = 640;
const DELAY: u64 = 1_000_000;

/// Wires lose by a timetable, and send again what they have lost.
fn repeating(mut spec: Spec, losses: Vec<LossSpec>) -> Spec {
    spec.faults.losses = losses;
    spec.faults.kinds = vec![FaultKind::Loss];
    spec.faults.retry = Some(LinkRetry::default());
    spec
}

/// What comes to a port of a node at these instants has a wrong bit with some probability.
fn wrong((node, port): (u32, u16), (from, until): (u64, u64), share: LossShare) -> LossSpec {
    let [from, until] = [from, until].map(Time::from_ps);
    LossSpec { fault: 0, node, port: Some(port), from, until, share, source: None, destination: None }
}

const CERTAIN: LossShare = LossShare::Frames(1.0);
const ALWAYS: (u64, u64) = (0, u64::MAX);

/// Host 0, a switch and host 1: `chain` has the hosts first.
fn line() -> Network {
    chain(&[(LINE, LINK); 2])
}

fn ten_packets() -> Spec {
    let rtt = Span::from_ps(4_674_240);
    scene::uec(line(), vec![from_zero(0, 1, 10 * 4086)], Rules::Window, (LINE, rtt))
}

/// Both ports of the switch in the middle, by the host that they lead to.
fn at_switch(network: &Network) -> impl Fn(u32) -> (u32, u16) {
    let node = network.hosts().len() as u32;
    let ports: Vec<u32> = network.ports(node).iter().map(|port| port.peer).collect();
    move |host| (node, ports.iter().position(|peer| *peer == host).expect("a neighbour") as u16)
}

/// What ports have sent again.
fn replays(outcome: &Outcome) -> Vec<FaultRecord> {
    let mut costs = outcome.simulation.fault_costs();
    costs.retain(|it| it.event == FaultEvent::Replayed);
    costs
}

/// The first packet is lost. It has come after 332 ns and 1 µs, its NACK 1 µs and 640 ps later: at 2.33264 µs. By then eight packets have
/// begun; the eighth ends at 2.656 µs. From then on all goes on as if it had begun then.
#[test]
fn a_frame_with_a_wrong_bit_costs_the_round_trip_of_its_link_in_whole_frames() {
    let alone = run(ten_packets()).flows[0];
    let to = at_switch(&line())(0);
    let here = FULL + DELAY;
    let outcome = run(repeating(ten_packets(), vec![wrong(to, (here, here), CERTAIN)]));
    let flow = outcome.flows[0];
    let answer = 2 * DELAY + FULL + NACK;
    assert_eq!(answer.div_ceil(FULL), 8);
    assert_eq!(flow.acked.as_ps() - alone.acked.as_ps(), 8 * FULL);
    assert_eq!((flow.received.get(), flow.resent_packets, flow.timeouts, flow.nacks), (40_860, 0, 0, 0));
    let replayed = replays(&outcome);
    assert_eq!(replayed.len(), 1);
    let found = (replayed[0].node, replayed[0].packets, replayed[0].bytes.get(), replayed[0].time.as_ps());
    assert_eq!(found, (0, 8, 8 * 4150, DELAY + here + NACK));
}

/// The last of ten packets is lost: nothing is behind it, and only it is sent again, as soon as the NACK is there.
#[test]
fn a_last_frame_costs_its_own_round_trip() {
    let alone = run(ten_packets()).flows[0];
    let to = at_switch(&line())(0);
    let here = 10 * FULL + DELAY;
    let flow = run(repeating(ten_packets(), vec![wrong(to, (here, here), CERTAIN)])).flows[0];
    assert_eq!(flow.acked.as_ps() - alone.acked.as_ps(), FULL + NACK + 2 * DELAY);
}

/// The NACK is lost, too. After eight packets the replay buffer is full: 2.33264 µs are 29 158 B, and 4150 B more; the timer of 10 µs
/// runs from the end of the frame.
#[test]
fn a_lost_nack_costs_the_replay_timer_and_the_port_waits_with_a_full_buffer() {
    let alone = run(ten_packets()).flows[0];
    let to = at_switch(&line())(0);
    let here = FULL + DELAY;
    let losses = vec![
        wrong(to, (here, here), CERTAIN),
        wrong((0, 0), (here + NACK + DELAY, here + NACK + DELAY), CERTAIN),
    ];
    let mut spec = repeating(ten_packets(), losses);
    spec.faults.retry = Some(LinkRetry { buffer: None, timer: Some(Span::from_us(10)) });
    let outcome = run(spec);
    let flow = outcome.flows[0];
    assert_eq!(flow.acked.as_ps() - alone.acked.as_ps(), FULL + 10_000_000);
    assert_eq!(replays(&outcome).iter().map(|it| it.packets).sum::<u64>(), 8);
}

/// Goodput under frames lost at random with probability p: one gets through in 1 + N·p/(1 − p) frames' time, N = 8 as above.
#[test]
fn goodput_under_bit_errors_is_that_of_go_back_n() {
    let packets = 40_000_u64;
    // A rate of bit errors by which one of a hundred frames of 4150 B has one.
    let rate = 1.0 - 0.99_f64.powf(1.0 / (8.0 * 4150.0));
    let took = |losses: Vec<LossSpec>| {
        let mut spec = repeating(ideal(line(), vec![from_zero(0, 1, packets * 4086)]), losses);
        (spec.packet.payload, spec.packet.header) = (Bytes::new(4086), Bytes::new(64));
        let outcome = run(spec);
        assert_eq!(outcome.flows[0].received.get(), packets * 4086);
        outcome.flows[0].finish.as_ps() as f64
    };
    let alone = took(Vec::new());
    for share in [LossShare::Frames(0.01), LossShare::Bits(rate)] {
        let more = took(vec![wrong(at_switch(&line())(0), ALWAYS, share)]) / alone;
        let expected = 1.0 + 8.0 * 0.01 / 0.99;
        // 400 frames are lost, give or take three times the root of that: 15 % of what is lost.
        assert!((more - expected).abs() < 0.15 * (expected - 1.0), "{share:?}: {more}, expected {expected}");
    }
}

/// Queue pairs that go back when a packet is missing never do: nothing is lost, and nothing comes before its turn.
#[test]
fn no_loss_reaches_a_transport_and_the_order_stays() {
    let network = star(4, LINE, LINK);
    let flows: Vec<_> = (1..4).map(|source| from_zero(source, 0, 3_000_000)).collect();
    for rules in [Rules::Window, Rules::Nscc, Rules::Rccc, Rules::Both] {
        let mut losses = Vec::new();
        for host in 0..4 {
            losses.push(wrong(at_switch(&network)(host), ALWAYS, LossShare::Frames(0.02)));
            losses.push(wrong((host, 0), ALWAYS, LossShare::Frames(0.02)));
        }
        let mut spec = repeating(near(4, flows.clone(), rules), losses);
        // Queues have room for three windows.
        spec.switch.overflow = Overflow::Drop { port: Bytes::from_mb(10) };
        for uec in &mut spec.uecs {
            uec.rto = Span::from_ms(50);
        }
        let outcome = run(spec);
        for flow in &outcome.flows {
            let what = (flow.received.get(), flow.resent_packets, flow.timeouts);
            assert_eq!(what, (3_000_000, 0, 0), "{rules:?}");
        }
        assert!(!replays(&outcome).is_empty());
    }
}

/// Credits of a link, as CBFC has them: counters are cumulative, so that lost updates do no harm; and what is to be sent again is counted as
/// sent only when it comes. The buffers never overflow, which would end the run.
fn under_credits(updates_lost: u32, returned: CreditReturn) -> Spec {
    let network = star(4, LINE, LINK);
    let flows: Vec<_> = (1..4).map(|source| from_zero(source, 0, 2_000_000)).collect();
    let mut spec = near(4, flows, Rules::Window);
    (spec.switch.overflow, spec.switch.queueing) = (Overflow::Stop, Queueing::VirtualOutput);
    spec.switch.credits = Some(CreditSpec {
        unit: Unit::new(Bytes::new(256)).expect("a power of two"),
        buffer: Bytes::new(60_000),
        start: Start::Packet,
        returned,
        frame: Bytes::new(8),
        unchanged: true,
        loss_ppm: updates_lost,
        priorities: 0x7f,
    });
    for uec in &mut spec.uecs {
        uec.rto = Span::from_ms(50);
    }
    let mut losses = Vec::new();
    for host in 0..4 {
        losses.push(wrong(at_switch(&network)(host), ALWAYS, LossShare::Frames(0.02)));
        losses.push(wrong((host, 0), ALWAYS, LossShare::Frames(0.02)));
    }
    repeating(spec, losses)
}

#[test]
fn credits_are_never_overdrawn_by_what_is_sent_again() {
    let every = CreditReturn::Periodic(Span::from_us(2));
    for (lost, returned) in [(0, CreditReturn::AtOnce), (0, every), (200_000, every)] {
        let outcome = run(under_credits(lost, returned));
        for flow in &outcome.flows {
            assert_eq!((flow.received.get(), flow.resent_packets, flow.timeouts), (2_000_000, 0, 0));
        }
        assert!(!replays(&outcome).is_empty());
    }
}

/// A link that goes down while frames are sent again loses them, and the books of the run balance.
#[test]
fn what_is_to_be_sent_again_is_lost_with_its_link() {
    let network = line();
    let to = at_switch(&network)(0);
    // Before the NACK is there, while it is sent again, and after that.
    for down in [2_000_000, 3_000_000, 6_000_000] {
        let here = FULL + DELAY;
        let mut spec = repeating(ten_packets(), vec![wrong(to, (here, here), CERTAIN)]);
        let change = |time, node, port, what: fn(u16) -> Change| FaultChange {
            time: Time::from_ps(time),
            node,
            fault: 1,
            what: what(port),
        };
        spec.faults.changes = vec![
            change(down, 0, 0, Change::Down),
            change(down, to.0, to.1, Change::Down),
            change(down + 5_000_000, 0, 0, Change::Up),
            change(down + 5_000_000, to.0, to.1, Change::Up),
        ];
        spec.faults.kinds.push(FaultKind::LinkDown);
        let flow = run(spec).flows[0];
        assert_eq!(flow.received.get(), 40_860);
        assert!(down == 6_000_000 || flow.resent_packets > 0, "{down}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// The same on one thread, on two, from one heap, and when it is saved while frames are kept.
    #[test]
    fn what_is_sent_again_does_not_depend_on_how_it_is_computed(
        ends in prop::collection::vec((0..5_u32, 1..5_u32, 1..200_000_u64), 1..12),
        share in 0.001..0.2_f64,
        rules in prop::sample::select(vec![Rules::Window, Rules::Nscc, Rules::Rccc]),
    ) {
        let flows: Vec<_> = ends.iter().map(|(src, by, bytes)| from_zero(*src, (src + by) % 5, *bytes)).collect();
        let spec = || {
            let network = star(5, LINE, LINK);
            let of = |host| [wrong(at_switch(&network)(host), ALWAYS, LossShare::Frames(share)),
                wrong((host, 0), ALWAYS, LossShare::Frames(share))];
            repeating(near(5, flows.clone(), rules), (0..5).flat_map(of).collect())
        };
        let digest = |kind| {
            let outcome = try_run(spec(), kind, None).expect("nothing breaks");
            assert!(outcome.flows.iter().all(|flow| flow.acked < Time::MAX));
            (outcome.totals.digest, outcome.flows)
        };
        let first = digest(FAST);
        prop_assert_eq!(&digest(Kind::Windows { threads: 2 }), &first);
        prop_assert_eq!(&digest(Kind::Heap), &first);
        let mut next = || Simulation::new(spec(), FAST);
        let saved = try_saved(&mut next, &Control::default(), &[(us(5), Vec::new()), (us(20), Vec::new())]);
        let saved = saved.expect("nothing breaks");
        prop_assert_eq!(&(saved.totals.digest, saved.flows), &first);
    }
}
