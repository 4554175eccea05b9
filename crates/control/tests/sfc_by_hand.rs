//! The rules of source flow control, worked out by hand.
use backwater_control::isolation::sfc::{Pausing, SfcConfig, in_ns};
use backwater_units::{Bytes, Rate, Span, Time};

const RULES: SfcConfig = SfcConfig { threshold: Bytes::new(100_000), target: Bytes::new(50_000) };

#[test]
fn a_source_pauses_for_the_time_in_which_the_queue_drains_to_its_target() {
    let pause = |queue, gbps| RULES.pause(Bytes::new(queue), Rate::from_gbps(gbps));
    assert_eq!(pause(100_000, 100), None);
    // 12.5 B each nanosecond: 50 001 B in 4000.08 ns.
    assert_eq!(pause(100_001, 100), Some(Span::from_ps(4_000_080)));
    assert_eq!(pause(175_000, 100), Some(Span::from_us(10)));
    assert_eq!(pause(175_000, 50), Some(Span::from_us(20)));
}

#[test]
fn a_signal_has_whole_nanoseconds_and_no_fewer_than_the_pause() {
    assert_eq!([0, 1, 1000, 1001].map(|ps| in_ns(Span::from_ps(ps))), [0, 1, 1, 2]);
    assert_eq!(in_ns(Span::from_ms(10_000)), u32::MAX);
}

#[test]
fn a_pause_is_extended_and_never_cut_short() {
    let mut pausing = Pausing::default();
    assert_eq!(pausing.left(Time::ZERO), None);
    let at = |us: u64| Time::ZERO + Span::from_us(us);
    pausing.extend(at(10));
    pausing.extend(at(7));
    assert_eq!(pausing.left(at(4)), Some(Span::from_us(6)));
    assert_eq!(pausing.left(at(10)), None);
    pausing.extend(at(20));
    assert_eq!(pausing.left(at(15)), Some(Span::from_us(5)));
}
