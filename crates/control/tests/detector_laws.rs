//! Laws that hold for any detector under any sequence of events at its port.
use backwater_control::detector::{Departure, Detector, Fecn, NpEcn, Red, Registers, Tcd, Trend};
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
    Dequeue { after: Span, queue: u64, code: CodePoint, draw: u32, held: bool, size: u32, candidate: bool },
}

fn port_event() -> impl Strategy<Value = PortEvent> {
    let queue = || prop_oneof![0..10_000_u64, 0..1_000_000_u64, any::<u64>()];
    prop_oneof![
        1 => (span(), queue()).prop_map(|(after, queue)| PortEvent::Resume(after, queue)),
        6 => (span(), queue(), code(), any::<u32>(), any::<bool>(), 64..2_000_u32, any::<bool>()).prop_map(
            |(after, queue, code, draw, held, size, candidate)| {
                PortEvent::Dequeue { after, queue, code, draw, held, size, candidate }
            }
        ),
    ]
}

/// Each detector of the family's list as it is by default; the degree of congestion of TCD has none.
#[cfg(feature = "config")]
fn by_default() -> Vec<Detector> {
    use backwater_control::config::Kinds as _;
    use backwater_control::detector::{DetectorKind, DetectorSettings, PortFacts};
    use serde::Deserialize as _;
    use serde::de::value::{Error, MapDeserializer};

    let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
    let port = PortFacts { rate, delay, mtu: Bytes::new(1_000), gap: Bytes::new(2_000), credits: None };
    let made = |word: &'static str| {
        let written = MapDeserializer::<_, Error>::new([("kind", word)].into_iter());
        let mut settings = DetectorSettings::deserialize(written).expect("all else has a default");
        settings.tcd.epsilon = Some(0.05);
        settings.resolve(&port).expect("defaults are in their ranges")
    };
    DetectorKind::ALL.iter().map(|(word, _)| made(word)).collect()
}

fn detector() -> impl Strategy<Value = Detector> {
    let mtu = Bytes::new(1_000);
    let tcd = |trend| Detector::Tcd(Tcd::flowchart(trend, Span::from_ps(100_400_000), mtu));
    #[allow(unused_mut, reason = "it grows where people choose")]
    let mut all = vec![
        Detector::None,
        Detector::Red(Red::standard()),
        Detector::Red(Red::hpcc(Rate::from_gbps(100))),
        Detector::NpEcn(NpEcn { red: Red::standard() }),
        Detector::Fecn(Fecn::standard()),
        Detector::Fecn(Fecn { marking_rate: 3, packet_size: Bytes::new(1_000), ..Fecn::standard() }),
        Detector::Tcd(Tcd::credits(Trend::RiseBp, Span::from_us(50), Bytes::from_kb(50), mtu)),
        Detector::Tcd(Tcd::authors()),
        tcd(Trend::Rise),
        tcd(Trend::NoFall),
        tcd(Trend::RiseBp),
    ];
    #[cfg(feature = "config")]
    all.extend(by_default());
    prop::sample::select(all)
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
                PortEvent::Dequeue { after, queue, code, draw, held, size, candidate } => {
                    now += after;
                    last_hold = if held { now } else { last_hold };
                    let departure = Departure { now, queue, code, last_hold, size, candidate };
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

    #[test]
    fn only_candidates_are_marked_by_fecn_and_of_those_that_may_be_every_nth(
        marking_rate in 0..5_u16,
        packet_size in 64..2_000_u64,
        events in prop::collection::vec(port_event(), 1..300),
    ) {
        let fecn = Fecn { marking_rate, packet_size: Bytes::new(packet_size), ..Fecn::standard() };
        let (detector, mut registers, mut eligible) = (Detector::Fecn(fecn), Registers::default(), 0_u64);
        for event in events {
            let PortEvent::Dequeue { after, queue, code, draw, size, candidate, .. } = event else { continue };
            let now = Time::ZERO + after;
            let departure = Departure { now, queue, code, last_hold: Time::ZERO, size, candidate };
            let marked = detector.on_dequeue(&mut registers, &departure, || draw);
            prop_assert_eq!(registers.state() == PortState::Congestion, candidate);
            let may = candidate && u64::from(size) >= packet_size && code != CodePoint::NotCapable;
            let turn = may && eligible.is_multiple_of(u64::from(marking_rate) + 1);
            eligible += u64::from(may);
            prop_assert_eq!(marked, if turn { CodePoint::Congestion } else { code });
        }
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
                PortEvent::Dequeue { after, queue, code, draw, size, candidate, .. } => {
                    now += after;
                    // Every other queue is short enough.
                    let queue = if draw % 2 == 0 { queue % detector.calm().saturating_add(1).max(1) } else { queue };
                    let before = registers;
                    // Every candidate is shown.
                    let candidate = candidate && detector.wants_arrivals();
                    let departure = Departure { now, queue, code, last_hold: Time::ZERO, size, candidate };
                    let marked = detector.on_dequeue(&mut registers, &departure, || draw);
                    if !candidate && before.is_settled(now) && queue <= detector.calm() {
                        prop_assert_eq!((marked, registers), (code, before));
                    }
                }
            }
        }
    }
}
