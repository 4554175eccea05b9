//! Laws that hold for any controller, notification point and buffer under any sequence of events.
use backwater_control::CodePoint;
use backwater_control::flow_control::{Admission, Ingress, Threshold};
use backwater_control::notify::{Action, Mode, Notify, NotifyConfig};
use backwater_control::reaction::{
    CctShape, Controller, DcqcnConfig, DcqcnHpccConfig, Feedback, IbCc, IbCcConfig, IbCcOnUe, IntHop, Load,
    OnUe, Reaction, ReactionConfig, Timely, TimelyConfig, TimelyOnUe,
};
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

/// What happens to a flow, and how long after the event before.
#[derive(Clone, Copy, Debug)]
struct FlowEvent(Span, What);

#[derive(Clone, Copy, Debug)]
enum What {
    Advance,
    Sent(u32),
    Cnp(CodePoint),
    /// A CNP with a rate in kbit/s.
    Advice(CodePoint, u32),
    Ack(CodePoint),
    Completion(Span, CodePoint),
    /// Bytes that an ACK is the first to acknowledge, the queue that its packet met, its round trip, its echo.
    Feedback(u64, u64, Span, CodePoint),
}

fn flow_event() -> impl Strategy<Value = FlowEvent> {
    // Around TIMELY's thresholds, and anything.
    let rtt = || prop_oneof![2 => (0..700_u64).prop_map(Span::from_us), 1 => span()];
    let what = prop_oneof![
        2 => Just(What::Advance),
        3 => prop_oneof![64..2_000_u32, any::<u32>()].prop_map(What::Sent),
        2 => code().prop_map(What::Cnp),
        2 => (code(), 1..=u32::MAX).prop_map(|(code, kbps)| What::Advice(code, kbps)),
        2 => code().prop_map(What::Ack),
        4 => (rtt(), code()).prop_map(|(rtt, echo)| What::Completion(rtt, echo)),
        4 => (0..100_000_u64, 0..1_000_000_u64, rtt(), code())
            .prop_map(|(newly, queue, rtt, echo)| What::Feedback(newly, queue, rtt, echo)),
    ];
    (span(), what).prop_map(|(after, what)| FlowEvent(after, what))
}

fn on_ue() -> impl Strategy<Value = OnUe> {
    prop_oneof![Just(OnUe::ResetHold), Just(OnUe::TimerHold), Just(OnUe::Ignore)]
}

fn dcqcn() -> impl Strategy<Value = DcqcnConfig> {
    let numbers = (1..20_000_000_u64, 0.0..=2.0_f64, 0.0..=1.0_f64, 0.01..=2.0_f64);
    (on_ue(), any::<bool>(), any::<bool>(), numbers).prop_map(
        |(on_ue, clamp_target, cut_first, (bytes, alpha_initial, g, cut))| DcqcnConfig {
            alpha_initial,
            g: if g > 0.9 { 0.0 } else { g },
            cut,
            clamp_target,
            cut_first,
            byte_counter: Bytes::new(bytes + 1),
            on_ue,
            ..DcqcnConfig::authors()
        },
    )
}

fn dcqcn_hpcc(line: Rate) -> impl Strategy<Value = DcqcnHpccConfig> {
    (on_ue(), any::<bool>(), 0.0..=2.0_f64).prop_map(move |(on_ue, clamp_target, alpha_initial)| {
        DcqcnHpccConfig { alpha_initial, clamp_target, on_ue, ..DcqcnHpccConfig::hpcc(line) }
    })
}

fn timely(line: Rate) -> impl Strategy<Value = TimelyConfig> {
    let hold = prop_oneof![Just(TimelyOnUe::Hold), Just(TimelyOnUe::Ignore)];
    (0.001..=1.0_f64, 0.1..3.0_f64, 0.0..0.9_f64, 1..9_u32, 1..100_u64, hold).prop_map(
        move |(ewma, beta, floor, hai_after, min_rtt, on_ue)| {
            let authors = TimelyConfig::authors(line, Span::from_us(min_rtt));
            let add = authors.add.max(Rate::from_bps(1));
            TimelyConfig { ewma, beta, floor, hai_after, add, on_ue, ..authors }
        },
    )
}

fn ib_cc() -> impl Strategy<Value = IbCcConfig> {
    let shape = prop_oneof![Just(CctShape::Quadratic), Just(CctShape::Linear)];
    let hold = prop_oneof![Just(IbCcOnUe::Hold), Just(IbCcOnUe::Ignore)];
    let timer = (1..1_000_000_000_u64).prop_map(Span::from_ps);
    (1..300_u16, 0..100_u16, 1..300_u16, timer, shape, 0.001..100.0_f64, hold).prop_map(
        |(increase, min, width, timer, shape, top, on_ue)| IbCcConfig {
            increase,
            limit: min + width,
            min,
            timer,
            shape,
            top,
            on_ue,
        },
    )
}

/// The rate at the last entry of the table that is used.
fn slowest(config: &IbCcConfig, line: Rate) -> Rate {
    let rate = line.as_bps() as f64 / (1.0 + config.delay(config.limit));
    Rate::from_bps((rate as u64).max(1))
}

/// Each controller of the family's list as the profiles' base has it, and the least rate that it may come to.
#[cfg(feature = "config")]
fn listed(line: Rate) -> impl Iterator<Item = (ReactionConfig, Rate)> {
    use backwater_control::config::Kinds as _;
    use backwater_control::reaction::settings::PathFacts;
    use backwater_control::reaction::{CcKind, CcSettings};
    use std::sync::LazyLock;

    static BASE: LazyLock<toml::Table> = LazyLock::new(|| {
        let base = include_str!("../../scenario/src/profiles/base.toml");
        base.parse().expect("a TOML file")
    });

    // Two links of a microsecond, and what a packet takes on both.
    let (payload, mtu) = (Bytes::new(1_000), Bytes::new(1_048));
    let propagation = Span::from_us(4);
    let rtt = propagation + line.serialize(mtu) + line.serialize(mtu);
    let path = PathFacts { propagation, rtt, shortest: rtt, links: 2, line, slowest: line, payload, mtu };
    CcKind::ALL.iter().map(move |(word, _)| {
        let mut written = BASE["cc"].clone();
        written["kind"] = (*word).into();
        let cc: CcSettings = written.try_into().expect("the base has every key");
        let least = if cc.kind.reads("min-rate") { cc.min_rate.0 } else { Rate::from_bps(1) };
        (cc.resolve(&|| path), least)
    })
}

/// Parameters, the rate of the link, and the least rate that they allow.
fn reaction() -> impl Strategy<Value = (ReactionConfig, Rate, Rate)> {
    let line = prop_oneof![Just(40_000_000_000), Just(25_000_000_001), 1..400_000_000_000_u64];
    line.prop_map(Rate::from_bps).prop_flat_map(|line| {
        #[allow(unused_mut, reason = "it grows where people choose")]
        let mut all = vec![(ReactionConfig::LineRate(()), line)];
        #[cfg(feature = "config")]
        all.extend(listed(line));
        let config = prop_oneof![
            4 => prop::sample::select(all),
            2 => dcqcn().prop_map(|config| (ReactionConfig::Dcqcn(config), config.min_rate)),
            2 => dcqcn_hpcc(line).prop_map(|config| (ReactionConfig::DcqcnHpcc(config), config.min_rate)),
            2 => timely(line).prop_map(|config| (ReactionConfig::Timely(config), config.min_rate)),
            2 => ib_cc().prop_map(move |config| (ReactionConfig::IbCc(config), slowest(&config, line))),
        ];
        config.prop_map(move |(config, least)| (config, line, least.min(line)))
    })
}

/// Applies one event and returns the time after it.
fn apply(flow: &mut Reaction, config: &ReactionConfig, FlowEvent(after, what): FlowEvent, now: Time) -> Time {
    let now = now + after;
    match what {
        What::Advance => flow.advance(config, now),
        What::Sent(bytes) => flow.on_sent(config, now, &Load::of(bytes)),
        What::Cnp(code) => flow.on_cnp(config, now, code),
        What::Advice(code, kbps) => {
            flow.on_advice(config, now, code, Rate::from_bps(u64::from(kbps) * 1_000))
        }
        What::Ack(code) => flow.on_echo(config, now, code),
        What::Completion(rtt, echo) => flow.on_completion(config, now, rtt, echo),
        What::Feedback(newly, queue, rtt, echo) => {
            // What is acknowledged and what a port has sent grow with time: 5 bytes in a nanosecond.
            let acked = now.as_ps() / 200;
            let hop =
                |at: Time| IntHop { id: 1, rate: Rate::from_gbps(40), at, sent: at.as_ps() / 200, queue };
            let before = hop(Time::from_ps(now.as_ps().saturating_sub(rtt.as_ps())));
            let newly = newly.min(acked);
            let (int, before) = ([hop(now)], [before]);
            let ack = Feedback {
                acked,
                newly,
                sent: acked + queue,
                echo,
                rtt,
                hops: 1,
                int: &int,
                before: &before,
            };
            flow.on_feedback(config, now, &ack)
        }
    };
    now
}

proptest! {
    #[test]
    fn a_rate_stays_between_the_minimum_and_the_line_and_no_expired_timer_is_left(
        (config, line, least) in reaction(),
        events in prop::collection::vec(flow_event(), 1..200),
    ) {
        prop_assert_eq!(config.validate(1_000), Ok(()));
        let (mut flow, mut now) = (Reaction::new(&config, line), Time::ZERO);
        for event in events {
            now = apply(&mut flow, &config, event, now);
            prop_assert!(flow.rate() >= least && flow.rate() <= line, "{:?} {:?}", flow, event);
            // A flow with a window may send all of it at once: its rate is what the window comes to in a round trip.
            let gap = flow.rate().serialize(Bytes::new(1_000));
            prop_assert!(flow.gap(1_000) == gap || config.has_window() && flow.gap(1_000) < gap);
            prop_assert!(flow.window() >= 1.0, "{:?} {:?}", flow, event);
            flow.advance(&config, now);
            prop_assert!(flow.next_timer(&config) > now);
        }
    }

    #[test]
    fn how_often_a_controller_is_advanced_changes_nothing(
        (config, line, _) in reaction(),
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
        (config, line, _) in reaction(),
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
        (timely, line) in (1..400_u64).prop_flat_map(|gbps| {
            (timely(Rate::from_gbps(gbps)), Just(Rate::from_gbps(gbps)))
        }),
        events in prop::collection::vec(flow_event(), 1..200),
        rtt in (0..700_u64).prop_map(Span::from_us),
        after in span(),
    ) {
        let (mut flow, mut now) = (Timely::new(line), Time::ZERO);
        for FlowEvent(after, what) in events {
            now += after;
            let What::Completion(rtt, echo) = what else { continue };
            let before = flow;
            let changed = flow.on_completion(&timely, now, rtt, echo);
            prop_assert_eq!(changed, flow.rate() != before.rate());
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
    fn infinibands_index_stays_in_its_table_and_its_rate_falls_as_the_index_rises(
        config in ib_cc(),
        events in prop::collection::vec(flow_event(), 1..200),
    ) {
        let (mut flow, mut now) = (IbCc::new(&config, Rate::from_gbps(32)), Time::ZERO);
        for FlowEvent(after, what) in events {
            now += after;
            let before = flow;
            let changed = match what {
                What::Cnp(code) => flow.on_cnp(&config, now, code),
                _ => flow.advance(&config, now),
            };
            prop_assert_eq!(changed, flow.rate() != before.rate());
            prop_assert!(flow.ccti() >= config.min && flow.ccti() <= config.limit);
            prop_assert!(flow.ccti() >= before.ccti() || flow.rate() >= before.rate());
            prop_assert!(flow.ccti() <= before.ccti() || flow.rate() <= before.rate());
            // The timer rests at the minimum and only there, and is never further away than one period.
            prop_assert_eq!(flow.next_timer(&config) == Time::MAX, flow.ccti() == config.min);
            prop_assert!(flow.next_timer(&config) == Time::MAX || flow.next_timer(&config) <= now + config.timer);
        }
    }

    #[test]
    fn two_flows_of_infiniband_that_are_told_the_same_but_for_ue_differ_in_time_only(
        config in ib_cc(),
        told in 1..60_u64,
        held in 1..60_u64,
    ) {
        let config = IbCcConfig { on_ue: IbCcOnUe::Hold, ..config };
        let new = || IbCc::new(&config, Rate::from_gbps(32));
        let (mut plain, mut holding) = (new(), new());
        let period = config.timer.as_ps();
        for flow in [&mut plain, &mut holding] {
            (0..told).for_each(|_| { flow.on_cnp(&config, Time::ZERO, CodePoint::Congestion); });
        }
        // UE once a period, just before the tick: no tick comes.
        let end = Time::from_ps((period - 1) * held);
        for step in 1..=held {
            holding.on_cnp(&config, Time::from_ps((period - 1) * step), CodePoint::Undetermined);
        }
        prop_assert_eq!(holding.ccti(), new().ccti().saturating_add(config.increase * told as u16).min(config.limit));
        for ticks in 0..=u64::from(config.limit) {
            let after = Span::from_ps(ticks * period);
            plain.advance(&config, Time::ZERO + after);
            holding.advance(&config, end + after);
            prop_assert_eq!((plain.ccti(), plain.rate()), (holding.ccti(), holding.rate()));
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
            match np.on_packet(&config, now, code, 1_000) {
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
