//! Laws that hold for any detector, controller and notification point under any sequence of events.
use backwater_control::detector::{Departure, Detector, Fecn, NpEcn, Red, Registers, Tcd, Trend};
use backwater_control::flow_control::{Admission, Ingress, Threshold};
use backwater_control::notify::{Action, Mode, Notify, NotifyConfig};
use backwater_control::reaction::{
    CctShape, DcqcnConfig, DcqcnHpccConfig, IbCcConfig, IbCcOnUe, OnUe, Reaction, ReactionConfig, Timely,
    TimelyConfig, TimelyOnUe,
};
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
        Just(Detector::Fecn(Fecn::standard())),
        Just(Detector::Fecn(Fecn { marking_rate: 3, packet_size: Bytes::new(1_000), ..Fecn::standard() })),
        Just(Detector::Tcd(Tcd::credits(Span::from_us(50), Bytes::from_kb(50), mtu))),
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
                    let departure = Departure { now, queue, code, last_hold, size: 1_000, candidate: false };
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

/// What happens to a flow, and how long after the event before.
#[derive(Clone, Copy, Debug)]
struct FlowEvent(Span, What);

#[derive(Clone, Copy, Debug)]
enum What {
    Advance,
    Sent(u32),
    Cnp(CodePoint),
    Ack(CodePoint),
    Completion(Span, CodePoint),
}

fn flow_event() -> impl Strategy<Value = FlowEvent> {
    // Around TIMELY's thresholds, and anything.
    let rtt = || prop_oneof![2 => (0..700_u64).prop_map(Span::from_us), 1 => span()];
    let what = prop_oneof![
        2 => Just(What::Advance),
        3 => prop_oneof![64..2_000_u32, any::<u32>()].prop_map(What::Sent),
        2 => code().prop_map(What::Cnp),
        2 => code().prop_map(What::Ack),
        4 => (rtt(), code()).prop_map(|(rtt, echo)| What::Completion(rtt, echo)),
    ];
    (span(), what).prop_map(|(after, what)| FlowEvent(after, what))
}

fn on_ue() -> impl Strategy<Value = OnUe> {
    prop_oneof![Just(OnUe::ResetHold), Just(OnUe::TimerHold), Just(OnUe::Ignore)]
}

fn dcqcn() -> impl Strategy<Value = ReactionConfig> {
    let numbers = (1..20_000_000_u64, 0.0..=2.0_f64, 0.0..=1.0_f64, 0.01..=2.0_f64);
    (on_ue(), any::<bool>(), any::<bool>(), numbers).prop_map(
        |(on_ue, clamp_target, cut_first, (bytes, alpha_initial, g, cut))| {
            ReactionConfig::Dcqcn(DcqcnConfig {
                alpha_initial,
                g: if g > 0.9 { 0.0 } else { g },
                cut,
                clamp_target,
                cut_first,
                byte_counter: Bytes::new(bytes + 1),
                on_ue,
                ..DcqcnConfig::authors()
            })
        },
    )
}

fn dcqcn_hpcc(line: Rate) -> impl Strategy<Value = ReactionConfig> {
    (on_ue(), any::<bool>(), 0.0..=2.0_f64).prop_map(move |(on_ue, clamp_target, alpha_initial)| {
        ReactionConfig::DcqcnHpcc(DcqcnHpccConfig {
            alpha_initial,
            clamp_target,
            on_ue,
            ..DcqcnHpccConfig::hpcc(line)
        })
    })
}

fn timely(line: Rate) -> impl Strategy<Value = ReactionConfig> {
    let hold = prop_oneof![Just(TimelyOnUe::Hold), Just(TimelyOnUe::Ignore)];
    (0.001..=1.0_f64, 0.1..3.0_f64, 0.0..0.9_f64, 1..9_u32, 1..100_u64, hold).prop_map(
        move |(ewma, beta, floor, hai_after, min_rtt, on_ue)| {
            let authors = TimelyConfig::authors(line, Span::from_us(min_rtt));
            let add = authors.add.max(Rate::from_bps(1));
            ReactionConfig::Timely(TimelyConfig { ewma, beta, floor, hai_after, add, on_ue, ..authors })
        },
    )
}

fn ib_cc() -> impl Strategy<Value = ReactionConfig> {
    let shape = prop_oneof![Just(CctShape::Quadratic), Just(CctShape::Linear)];
    let hold = prop_oneof![Just(IbCcOnUe::Hold), Just(IbCcOnUe::Ignore)];
    let timer = (1..1_000_000_000_u64).prop_map(Span::from_ps);
    (1..300_u16, 0..100_u16, 1..300_u16, timer, shape, 0.001..100.0_f64, hold).prop_map(
        |(increase, min, width, timer, shape, top, on_ue)| {
            ReactionConfig::IbCc(IbCcConfig { increase, limit: min + width, min, timer, shape, top, on_ue })
        },
    )
}

/// The rate at the last entry of the table that is used.
fn slowest(config: &IbCcConfig, line: Rate) -> Rate {
    let rate = line.as_bps() as f64 / (1.0 + config.delay(config.limit));
    Rate::from_bps((rate as u64).max(1))
}

fn reaction() -> impl Strategy<Value = (ReactionConfig, Rate)> {
    let line = prop_oneof![Just(40_000_000_000), Just(25_000_000_001), 1..400_000_000_000_u64];
    line.prop_map(Rate::from_bps).prop_flat_map(|line| {
        let config = prop_oneof![
            1 => Just(ReactionConfig::LineRate),
            2 => dcqcn(),
            2 => dcqcn_hpcc(line),
            2 => timely(line),
            2 => ib_cc(),
        ];
        (config, Just(line))
    })
}

/// Applies one event and returns the time after it.
fn apply(flow: &mut Reaction, config: &ReactionConfig, FlowEvent(after, what): FlowEvent, now: Time) -> Time {
    let now = now + after;
    match what {
        What::Advance => flow.advance(config, now),
        What::Sent(bytes) => flow.on_sent(config, now, bytes),
        What::Cnp(code) => flow.on_cnp(config, now, code),
        What::Ack(code) => flow.on_ack(config, now, code),
        What::Completion(rtt, echo) => flow.on_completion(config, now, rtt, echo),
    };
    now
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
            ReactionConfig::IbCc(config) => slowest(config, line),
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
            let after = event.0;
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
    fn an_rtt_that_grows_behind_undetermined_ports_leaves_timely_alone_and_nothing_else_is_changed_by_ue(
        (config, line) in (1..400_u64).prop_flat_map(|gbps| {
            (timely(Rate::from_gbps(gbps)), Just(Rate::from_gbps(gbps)))
        }),
        events in prop::collection::vec(flow_event(), 1..200),
        rtt in (0..700_u64).prop_map(Span::from_us),
        after in span(),
    ) {
        let ReactionConfig::Timely(timely) = config else { unreachable!() };
        let (mut flow, mut now) = (Timely::new(line), Time::ZERO);
        for FlowEvent(after, what) in events {
            now += after;
            let What::Completion(rtt, echo) = what else { continue };
            let before = flow;
            let told = flow.on_completion(&timely, now, rtt, echo);
            prop_assert_eq!(told, flow.rate() != before.rate());
            prop_assert!(flow.rate().as_bps() as f64 >= (timely.floor * before.rate().as_bps() as f64).floor());
            if rtt < timely.t_low {
                prop_assert!(flow.rate() >= before.rate());
            }
            if rtt > timely.t_high {
                prop_assert!(flow.rate() <= before.rate());
            }
        }
        now += after;
        let [mut plain, mut ue] = [flow; 2];
        plain.on_completion(&timely, now, rtt, CodePoint::Capable);
        ue.on_completion(&timely, now, rtt, CodePoint::Undetermined);
        let middle = rtt >= timely.t_low && rtt <= timely.t_high;
        let holds = timely.on_ue == TimelyOnUe::Hold && middle && plain.gradient(&timely) > 0.0;
        prop_assert_eq!(ue.rate(), if holds { flow.rate() } else { plain.rate() });
        prop_assert_eq!(ue.gradient(&timely).to_bits(), plain.gradient(&timely).to_bits());
    }

    #[test]
    fn np_ecn_at_a_port_that_is_never_paused_is_red(
        departures in prop::collection::vec((span(), 0..300_000_u64, code(), any::<u32>()), 1..200),
    ) {
        let (red, np_ecn) = (Red::authors(), Detector::NpEcn(NpEcn { red: Red::authors() }));
        let (mut one, mut other, mut now) = (Registers::default(), Registers::default(), Time::ZERO);
        for (after, queue, code, draw) in departures {
            now += after;
            let departure = Departure { now, queue, code, last_hold: Time::ZERO, size: 1_000, candidate: false };
            let marked = Detector::Red(red).on_dequeue(&mut one, &departure, || draw);
            prop_assert_eq!(np_ecn.on_dequeue(&mut other, &departure, || draw), marked);
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn what_a_settled_port_is_not_shown_would_have_changed_nothing(
        detector in detector(),
        events in prop::collection::vec(port_event(), 1..200),
    ) {
        let (mut registers, mut now) = (Registers::default(), Time::ZERO);
        for event in events {
            match event {
                PortEvent::Resume(after, queue) => {
                    now += after;
                    detector.on_resume(&mut registers, now, queue, || packets(queue));
                }
                PortEvent::Dequeue { after, queue, code, draw, .. } => {
                    now += after;
                    // Every other queue is short enough.
                    let queue = if draw % 2 == 0 { queue % detector.calm().saturating_add(1).max(1) } else { queue };
                    let before = registers;
                    let departure = Departure { now, queue, code, last_hold: Time::ZERO, size: 1_000, candidate: false };
                    let marked = detector.on_dequeue(&mut registers, &departure, || draw);
                    if before.is_settled(now) && queue <= detector.calm() {
                        prop_assert_eq!((marked, registers), (code, before));
                    }
                }
            }
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
