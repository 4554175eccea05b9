//! Laws that hold for any detector, controller and notification point under any sequence of events.
use backwater_control::detector::{Departure, Detector, NpEcn, Red, Registers, Tcd, Trend};
use backwater_control::flow_control::{Admission, Ingress, Threshold};
use backwater_control::notify::{Action, Mode, Notify, NotifyConfig};
use backwater_control::reaction::{DcqcnConfig, DcqcnHpccConfig, OnUe, Reaction, ReactionConfig};
use backwater_control::{CodePoint, PortState};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

fn code() -> impl Strategy<Value = CodePoint> {
    (0..4_u8).prop_map(CodePoint::from_bits)
}

/// Spans from a picosecond to a second, each order of magnitude alike; a fifth of them zero.
fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        1 => Just(Span::ZERO),
        4 => (0..12_u32, 1..1_000_u64).prop_map(|(scale, n)| Span::from_ps(n * 10_u64.pow(scale) / 1_000 + 1)),
    ]
}

/// As many packets as a queue of so many bytes may hold.
fn packets(queue: u64) -> u32 {
    u32::try_from(queue.div_ceil(1_000)).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug)]
enum PortEvent {
    Resume(Span, u64),
    Dequeue { after: Span, queue: u64, code: CodePoint, draw: u32, held: bool },
}

fn port_event() -> impl Strategy<Value = PortEvent> {
    let queue = || prop_oneof![0..10_000_u64, 0..1_000_000_u64, any::<u64>()];
    prop_oneof![
        1 => (span(), queue()).prop_map(|(after, queue)| PortEvent::Resume(after, queue)),
        6 => (span(), queue(), code(), any::<u32>(), any::<bool>())
            .prop_map(|(after, queue, code, draw, held)| PortEvent::Dequeue { after, queue, code, draw, held }),
    ]
}

fn detector() -> impl Strategy<Value = Detector> {
    let mtu = Bytes::new(1_000);
    let tcd = move |trend| Detector::Tcd(Tcd::flowchart(trend, Span::from_ps(100_400_000), mtu));
    prop_oneof![
        Just(Detector::None),
        Just(Detector::Red(Red::standard())),
        Just(Detector::Red(Red::hpcc(Rate::from_gbps(100)))),
        Just(Detector::NpEcn(NpEcn { red: Red::standard() })),
        Just(Detector::Tcd(Tcd::authors())),
        Just(tcd(Trend::Rise)),
        Just(tcd(Trend::NoFall)),
        Just(tcd(Trend::RiseBp)),
    ]
}

proptest! {
    #[test]
    fn a_switch_only_ever_raises_a_code_point_and_never_touches_00_and_11(
        detector in detector(),
        events in prop::collection::vec(port_event(), 1..100),
    ) {
        let (mut registers, mut now, mut last_hold) = (Registers::default(), Time::ZERO, Time::ZERO);
        let mut paused_once = false;
        for event in events {
            match event {
                PortEvent::Resume(after, queue) => {
                    now += after;
                    paused_once = true;
                    detector.on_resume(&mut registers, now, queue, || packets(queue));
                }
                PortEvent::Dequeue { after, queue, code, draw, held } => {
                    now += after;
                    last_hold = if held { now } else { last_hold };
                    let departure = Departure { now, queue, code, last_hold };
                    let marked = detector.on_dequeue(&mut registers, &departure, || draw);
                    prop_assert!(marked >= code);
                    if matches!(code, CodePoint::NotCapable | CodePoint::Congestion) {
                        prop_assert_eq!(marked, code);
                    }
                    match registers.state() {
                        PortState::Undetermined => prop_assert!(paused_once && marked == code.mark_ue()),
                        PortState::Judging => prop_assert!(paused_once && marked == code),
                        PortState::Congestion | PortState::NonCongestion => {
                            prop_assert!(marked == code || marked == CodePoint::Congestion);
                        }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum FlowEvent {
    Advance(Span),
    Sent(Span, u32),
    Cnp(Span, CodePoint),
    Ack(Span, CodePoint),
}

fn flow_event() -> impl Strategy<Value = FlowEvent> {
    prop_oneof![
        2 => span().prop_map(FlowEvent::Advance),
        3 => (span(), prop_oneof![64..2_000_u32, any::<u32>()]).prop_map(|(s, bytes)| FlowEvent::Sent(s, bytes)),
        2 => (span(), code()).prop_map(|(s, code)| FlowEvent::Cnp(s, code)),
        2 => (span(), code()).prop_map(|(s, code)| FlowEvent::Ack(s, code)),
    ]
}

fn on_ue() -> impl Strategy<Value = OnUe> {
    prop_oneof![Just(OnUe::ResetHold), Just(OnUe::TimerHold), Just(OnUe::Ignore)]
}

fn reaction() -> impl Strategy<Value = (ReactionConfig, Rate)> {
    let line = prop_oneof![Just(40_000_000_000), Just(25_000_000_001), 1..400_000_000_000_u64];
    (line, on_ue(), any::<bool>(), any::<bool>(), 0..=2_u8, 1..20_000_000_u64, 0.0..=2.0_f64).prop_map(
        |(line, on_ue, clamp_target, cut_first, kind, bytes, alpha_initial)| {
            let line = Rate::from_bps(line);
            let byte_counter = Bytes::new(bytes + 1);
            let config = match kind {
                0 => ReactionConfig::LineRate,
                1 => ReactionConfig::Dcqcn(DcqcnConfig {
                    alpha_initial,
                    clamp_target,
                    cut_first,
                    byte_counter,
                    on_ue,
                    ..DcqcnConfig::authors()
                }),
                _ => ReactionConfig::DcqcnHpcc(DcqcnHpccConfig {
                    alpha_initial,
                    clamp_target,
                    on_ue,
                    ..DcqcnHpccConfig::hpcc(line)
                }),
            };
            (config, line)
        },
    )
}

/// Applies one event and returns the time after it.
fn apply(flow: &mut Reaction, config: &ReactionConfig, event: FlowEvent, now: Time) -> Time {
    match event {
        FlowEvent::Advance(after) => {
            flow.advance(config, now + after);
            now + after
        }
        FlowEvent::Sent(after, bytes) => {
            flow.on_sent(config, now + after, bytes);
            now + after
        }
        FlowEvent::Cnp(after, code) => {
            flow.on_cnp(config, now + after, code);
            now + after
        }
        FlowEvent::Ack(after, code) => {
            flow.on_ack(config, now + after, code);
            now + after
        }
    }
}

proptest! {
    #[test]
    fn a_rate_stays_between_the_minimum_and_the_line_and_no_expired_timer_is_left(
        (config, line) in reaction(),
        events in prop::collection::vec(flow_event(), 1..200),
    ) {
        prop_assert_eq!(config.validate(), Ok(()));
        let least = match &config {
            ReactionConfig::LineRate => line,
            ReactionConfig::Dcqcn(config) => config.min_rate.min(line),
            ReactionConfig::DcqcnHpcc(config) => config.min_rate.min(line),
            ReactionConfig::Timely(config) => config.min_rate.min(line),
        };
        let (mut flow, mut now) = (Reaction::new(&config, line), Time::ZERO);
        for event in events {
            now = apply(&mut flow, &config, event, now);
            prop_assert!(flow.rate() >= least && flow.rate() <= line, "{:?} {:?}", flow, event);
            prop_assert_eq!(flow.gap(1_000), flow.rate().serialize(Bytes::new(1_000)));
            flow.advance(&config, now);
            prop_assert!(flow.next_timer() > now);
        }
    }

    #[test]
    fn how_often_a_controller_is_advanced_changes_nothing(
        (config, line) in reaction(),
        events in prop::collection::vec((flow_event(), 0..5_u64), 1..100),
    ) {
        let (mut rarely, mut often) = (Reaction::new(&config, line), Reaction::new(&config, line));
        let mut now = Time::ZERO;
        for (event, looks) in events {
            let (FlowEvent::Advance(after) | FlowEvent::Sent(after, _) | FlowEvent::Cnp(after, _)
                | FlowEvent::Ack(after, _)) = event;
            for look in 1..=looks {
                often.advance(&config, now + Span::from_ps(after.as_ps() / (looks + 1) * look));
            }
            apply(&mut often, &config, event, now);
            now = apply(&mut rarely, &config, event, now);
            let (mut often, mut rarely) = (often, rarely);
            often.advance(&config, now);
            rarely.advance(&config, now);
            prop_assert_eq!(often, rarely);
        }
    }

    #[test]
    fn ue_never_lowers_a_rate_and_ce_never_raises_it(
        (config, line) in reaction(),
        events in prop::collection::vec(flow_event(), 1..100),
    ) {
        let (mut flow, mut now) = (Reaction::new(&config, line), Time::ZERO);
        for event in events {
            now = apply(&mut flow, &config, event, now);
            flow.advance(&config, now);
            let (mut ue, mut ce) = (flow, flow);
            ue.on_cnp(&config, now, CodePoint::Undetermined);
            ce.on_cnp(&config, now, CodePoint::Congestion);
            prop_assert_eq!(ue.rate(), flow.rate());
            prop_assert!(ce.rate() <= flow.rate());
        }
    }

    #[test]
    fn two_cnps_of_a_flow_are_at_least_an_interval_apart_and_every_mark_is_reported(
        mode in prop_oneof![Just(Mode::Grid), Just(Mode::FirstMark)],
        packets in prop::collection::vec((span(), code()), 1..200),
    ) {
        let config = NotifyConfig { interval: Span::from_us(50), mode, fraction: 0.0 };
        let (mut np, mut now, mut timer) = (Notify::default(), Time::ZERO, None);
        let (mut sent, mut pending): (Vec<(Time, CodePoint)>, _) = (Vec::new(), CodePoint::Capable);
        for (after, code) in packets {
            now += after;
            if let Some(at) = timer.take_if(|at| *at < now) {
                prop_assert_eq!(np.on_timer(&config, at), Some(pending));
                sent.push((at, pending));
                pending = CodePoint::Capable;
            }
            pending = if code.is_marked() { pending.max(code) } else { pending };
            match np.on_packet(&config, now, code) {
                Action::Nothing => prop_assert!(timer.is_some() || !code.is_marked()),
                Action::Arm(at) => {
                    prop_assert!(timer.is_none() && at > now && at <= now + config.interval);
                    timer = Some(at);
                }
                Action::Send(code) => {
                    prop_assert!(timer.is_none());
                    prop_assert_eq!(code, pending);
                    sent.push((now, code));
                    pending = CodePoint::Capable;
                }
            }
        }
        prop_assert!(timer.is_some() || !pending.is_marked());
        prop_assert!(sent.windows(2).all(|pair| pair[1].0 - pair[0].0 >= config.interval));
    }

    #[test]
    fn the_pool_holds_exactly_what_the_ports_took_from_it(
        shift in 0..8_u8,
        pool in 0..200_000_u64,
        moves in prop::collection::vec((0..4_usize, any::<bool>(), 64..9_000_u32), 1..300),
    ) {
        let reserve = 4_096;
        let threshold = Threshold::Dynamic { shift, pool, reserve, headroom: 20_000, hysteresis: 3_072 };
        let mut ports = [Ingress::default(); 4];
        let mut packets: [Vec<u32>; 4] = Default::default();
        let mut shared = 0;
        for (port, arrives, size) in moves {
            if arrives {
                let before = ports[port];
                match threshold.admit(&mut ports[port], shared, size) {
                    Admission::Admitted(grown) => {
                        shared += grown;
                        packets[port].push(size);
                    }
                    Admission::Overflow => prop_assert_eq!(ports[port], before),
                }
            } else if let Some(size) = packets[port].pop() {
                shared -= threshold.release(&mut ports[port], size);
            }
            let taken: u64 = ports.iter().map(|ingress| u64::from(ingress.bytes).saturating_sub(reserve)).sum();
            prop_assert_eq!(shared, taken);
            let held: u64 = packets[port].iter().copied().map(u64::from).sum();
            prop_assert_eq!(ports[port].total(), held);
            prop_assert!(shared <= pool && ports[port].headroom <= 20_000);
        }
    }
}
