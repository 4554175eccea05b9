//! TCD's state machine: the authors' rules row by row, the six transitions of Fig. 6, and the trend policies.
use backwater_control::detector::{Departure, Detector, Red, Registers, Tcd, Trend};
use backwater_control::{CodePoint, PortState};
use backwater_units::{Bytes, Span, Time};

use CodePoint::{Capable, Congestion as Ce, NotCapable, Undetermined as Ue};
use PortState::{Congestion, Judging, NonCongestion, Undetermined};

/// A draw that marks anywhere on the ramp, and one that never does.
const HIT: u32 = 0;
const MISS: u32 = u32::MAX;
/// The queue counter of the authors leaves out the first packet: so many bytes for `counted` ones.
const GUARANTEED: u64 = 1_030;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

struct Port {
    detector: Detector,
    registers: Registers,
    last_hold: Time,
}

impl Port {
    fn new(tcd: Tcd) -> Self {
        Self { detector: Detector::Tcd(tcd), registers: Registers::default(), last_hold: Time::ZERO }
    }
    fn authors() -> Self {
        Self::new(Tcd::authors())
    }
    fn resume(&mut self, at: Time, queue: u64) {
        self.detector.on_resume(&mut self.registers, at, queue, || unreachable!());
    }
    fn code(&mut self, now: Time, queue: u64, code: CodePoint, draw: u32) -> CodePoint {
        let departure =
            Departure { now, queue, code, last_hold: self.last_hold, size: 1_000, candidate: false };
        self.detector.on_dequeue(&mut self.registers, &departure, || draw)
    }
    /// Dequeues a 01 packet; its new code point and the port's new state.
    fn dequeue(&mut self, now: Time, queue: u64, draw: u32) -> (CodePoint, PortState) {
        let code = self.code(now, queue, Capable, draw);
        (code, self.registers.state())
    }
    /// An authors' port that was resumed at 1 ms with 300 KB, left the ON-OFF pattern, and fell to 250 KB.
    fn judging() -> Self {
        let mut port = Self::authors();
        port.resume(us(1_000), 300_000 + GUARANTEED);
        assert_eq!(port.dequeue(us(1_050), 290_000 + GUARANTEED, HIT), (Ue, Undetermined));
        assert_eq!(port.dequeue(us(1_100), 250_000 + GUARANTEED, HIT), (Capable, Judging));
        port
    }
}

#[test]
fn a_port_that_was_never_paused_is_judged_by_its_queue_from_the_first_packet_on() {
    let mut port = Port::authors();
    assert_eq!(port.dequeue(Time::ZERO, 0, HIT), (Capable, NonCongestion));
    assert_eq!(port.dequeue(us(1), 300_000, MISS), (Ce, Congestion));
}

#[test]
fn row_1_up_to_97_whole_microseconds_after_resume_every_packet_is_ue() {
    let mut port = Port::authors();
    let resume = us(1_000) + Span::from_ns(900);
    port.resume(resume, 300_000);
    // Both clocks are cut to whole microseconds: 1 000 and 1 097 are still 97 apart at 1 097.999999 µs.
    let last = us(1_098) - Span::from_ps(1);
    assert_eq!(port.dequeue(resume, 0, HIT), (Ue, Undetermined));
    assert_eq!(port.dequeue(last, 500_000, HIT), (Ue, Undetermined));
    assert_eq!(port.dequeue(us(1_098), 500_000, MISS), (Ce, Congestion));
}

#[test]
fn row_1_leaves_ce_and_packets_without_tcd_alone() {
    let mut port = Port::authors();
    port.resume(us(1_000), 300_000);
    let marked = [NotCapable, Capable, Ue, Ce].map(|code| port.code(us(1_010), 300_000, code, HIT));
    assert_eq!(marked, [NotCapable, Ue, Ue, Ce]);
}

#[test]
fn row_2_a_queue_that_did_not_fall_since_resume_is_congestion_and_the_draw_marks() {
    for (counted, draw, code) in
        [(100_000, HIT, Ce), (100_000, MISS, Capable), (300_000, MISS, Ce), (4_000, HIT, Capable)]
    {
        let mut port = Port::authors();
        port.resume(us(1_000), counted + GUARANTEED);
        assert_eq!(port.dequeue(us(1_010), counted, MISS).1, Undetermined);
        assert_eq!(port.dequeue(us(1_098), counted + GUARANTEED, draw), (code, Congestion));
    }
}

#[test]
fn row_3_a_queue_that_fell_since_resume_is_watched_and_not_marked_however_long_it_is() {
    let mut port = Port::authors();
    port.resume(us(1_000), 300_000);
    port.dequeue(us(1_010), 299_000, MISS);
    assert_eq!(port.dequeue(us(1_098), 299_999, HIT), (Capable, Judging));
}

#[test]
fn row_4_growth_below_0_9_mtu_in_97_us_opens_the_next_window() {
    let mut port = Port::judging();
    assert_eq!(port.dequeue(us(1_197), 250_899 + GUARANTEED, HIT), (Capable, Judging));
    // The new window compares with the new sample: 250 899 + 900.
    assert_eq!(port.dequeue(us(1_294), 251_798 + GUARANTEED, HIT), (Capable, Judging));
    assert_eq!(port.dequeue(us(1_391), 252_698 + GUARANTEED, HIT), (Ce, Congestion));
}

#[test]
fn row_4_a_drained_queue_at_the_end_of_a_window_is_no_congestion() {
    let mut port = Port::judging();
    assert_eq!(port.dequeue(us(1_197), 2_060 + GUARANTEED, HIT), (Capable, NonCongestion));
}

#[test]
fn row_5_growth_by_0_9_mtu_in_97_us_is_congestion_even_if_the_draw_does_not_mark() {
    let mut port = Port::judging();
    assert_eq!(port.dequeue(us(1_197), 250_900 + GUARANTEED, MISS), (Ce, Congestion));
    let mut short = Port::authors();
    short.resume(us(1_000), 4_000 + GUARANTEED);
    short.dequeue(us(1_010), 4_000, MISS);
    assert_eq!(short.dequeue(us(1_100), 3_000 + GUARANTEED, HIT), (Capable, Judging));
    // 3 900 counted bytes lie below kmin: no mark, but the state does not look at K.
    assert_eq!(short.dequeue(us(1_197), 3_900 + GUARANTEED, HIT), (Capable, Congestion));
}

#[test]
fn row_6_within_a_window_only_a_drained_queue_ends_the_watch() {
    let mut port = Port::judging();
    assert_eq!(port.dequeue(us(1_196), 900_000, HIT), (Capable, Judging));
    assert_eq!(port.dequeue(us(1_196), 2_061 + GUARANTEED, HIT), (Capable, Judging));
    assert_eq!(port.dequeue(us(1_196), 2_060 + GUARANTEED, HIT), (Capable, NonCongestion));
}

#[test]
fn row_7_a_port_that_is_not_held_back_is_judged_anew_by_the_draw_of_each_packet() {
    let mut port = Port::authors();
    assert_eq!(port.dequeue(us(1), 100_000, HIT), (Ce, Congestion));
    assert_eq!(port.dequeue(us(2), 100_000, MISS), (Capable, NonCongestion));
    assert_eq!(port.dequeue(us(3), 206_001 + GUARANTEED, MISS), (Ce, Congestion));
    assert_eq!(port.dequeue(us(4), 5_150 + GUARANTEED, HIT), (Capable, NonCongestion));
}

#[test]
fn a_stale_watch_survives_a_resume_after_which_nothing_was_sent_for_97_us() {
    let mut port = Port::judging();
    port.resume(us(1_110), 10_000);
    // Judged against the sample of 250 000, not against the 10 000 at RESUME.
    assert_eq!(port.dequeue(us(1_300), 240_000 + GUARANTEED, HIT), (Capable, Judging));
}

#[test]
fn all_six_transitions_of_figure_6_are_reachable_under_every_policy() {
    let mtu = Bytes::new(1_000);
    let flowchart = |trend| Tcd::flowchart(trend, Span::from_us(100), mtu);
    for tcd in [Tcd::authors(), flowchart(Trend::Rise), flowchart(Trend::NoFall), flowchart(Trend::RiseBp)] {
        let mut port = Port::new(tcd);
        let mut reached = vec![port.dequeue(us(1), 0, MISS).1];
        for (at, queue, resumed) in [
            (10, 250_000, false),  // (1) non-congestion to congestion
            (11, 0, false),        // (2) and back
            (1_000, 50_000, true), // (3) non-congestion to undetermined
            (1_101, 40_000, false),
            (1_150, 500, false), // (4) undetermined to non-congestion
            (2_000, 250_000, true),
            (2_101, 240_000, false),
            (2_210, 290_000, false), // (5) undetermined to congestion
            (3_000, 290_000, true),  // (6) congestion to undetermined
        ] {
            if resumed {
                port.resume(us(at), queue);
            }
            reached.push(port.dequeue(us(at), queue, MISS).1);
        }
        let expected = [
            NonCongestion,
            Congestion,
            NonCongestion,
            Undetermined,
            Judging,
            NonCongestion,
            Undetermined,
            Judging,
            Congestion,
            Undetermined,
        ];
        assert_eq!(reached, expected, "{tcd:?}");
    }
}

/// A flowchart port released from the ON-OFF pattern at 1 100 µs with 250 KB, first window until 1 200 µs.
fn released(trend: Trend) -> Port {
    let mut port = Port::new(Tcd::flowchart(trend, Span::from_us(100), Bytes::new(1_000)));
    port.resume(us(1_000), 250_000);
    assert_eq!(port.dequeue(us(1_100) - Span::from_ps(1), 250_000, HIT).1, Undetermined);
    assert_eq!(port.dequeue(us(1_100), 250_000, HIT), (Capable, Judging));
    port
}

#[test]
fn a_queue_pinned_at_250_kb_is_congestion_by_the_prose_and_not_by_the_flowchart() {
    let verdict = |trend| released(trend).dequeue(us(1_200), 250_000, HIT);
    assert_eq!(verdict(Trend::NoFall), (Ce, Congestion));
    assert_eq!(verdict(Trend::Rise), (Capable, Judging));
}

#[test]
fn a_flat_queue_is_congestion_for_rise_bp_only_if_the_switch_held_back_an_upstream_port_lately() {
    let verdict = |last_hold, queue| {
        let mut port = released(Trend::RiseBp);
        port.last_hold = last_hold;
        port.dequeue(us(1_200), queue, HIT).1
    };
    assert_eq!(verdict(us(1_100), 250_000), Congestion);
    assert_eq!(verdict(us(1_100), 248_000), Congestion);
    assert_eq!(verdict(us(1_100), 247_999), Judging);
    assert_eq!(verdict(us(1_099), 250_000), Judging);
    assert_eq!(verdict(Time::ZERO, 250_000), Judging);
    assert_eq!(verdict(Time::ZERO, 252_001), Congestion);
}

#[test]
fn growth_below_the_threshold_is_no_congestion_in_the_flowchart() {
    let mut port = Port::new(Tcd::flowchart(Trend::Rise, Span::from_us(100), Bytes::new(1_000)));
    port.resume(us(1_000), 20_000);
    port.dequeue(us(1_000), 20_000, HIT);
    assert_eq!(port.dequeue(us(1_100), 20_000, HIT), (Capable, Judging));
    assert_eq!(port.dequeue(us(1_200), 190_000, HIT), (Capable, Judging));
}

#[test]
fn each_period_compares_with_its_own_start() {
    let mut port = released(Trend::Rise);
    assert_eq!(port.dequeue(us(1_200), 251_500, HIT).1, Judging);
    assert_eq!(port.dequeue(us(1_300), 253_500, HIT).1, Judging);
    assert_eq!(port.dequeue(us(1_400), 255_501, HIT).1, Congestion);
}

#[test]
fn periods_stay_on_their_grid_when_nothing_is_dequeued_for_a_while() {
    let mut port = released(Trend::Rise);
    assert_eq!(port.dequeue(us(1_350), 240_000, HIT).1, Judging);
    // The period under way ends at 1 400, not at 1 450.
    assert_eq!(port.dequeue(us(1_399), 260_000, HIT).1, Judging);
    assert_eq!(port.dequeue(us(1_400), 260_000, HIT).1, Congestion);
}

#[test]
fn leaving_the_undetermined_state_never_marks_a_queue_that_is_still_draining() {
    // Fig. 12: 640 KB at the release, drained at 30 Gbps (3 750 B/µs) with packets every 200 ns.
    for tcd in [Tcd::authors(), Tcd::flowchart(Trend::NoFall, Span::from_us(100), Bytes::new(1_000))] {
        let mut port = Port::new(tcd);
        port.resume(us(1_000), 700_000);
        let mut queue = 700_000_u64;
        for packet in 0..1_200 {
            let (code, state) = port.dequeue(us(1_000) + Span::from_ns(200 * packet), queue, MISS);
            assert_ne!(code, Ce);
            assert_ne!(state, Congestion);
            queue = queue.saturating_sub(750);
        }
        assert_eq!(port.registers.state(), NonCongestion);
    }
}

#[test]
fn only_rise_bp_asks_when_an_upstream_port_was_held_back() {
    let asks =
        |trend| Detector::Tcd(Tcd::flowchart(trend, Span::from_us(100), Bytes::new(1_000))).wants_last_hold();
    assert_eq!(
        [Trend::Authors, Trend::Rise, Trend::NoFall, Trend::RiseBp].map(asks),
        [false, false, false, true]
    );
    assert!(!Detector::Red(Red::standard()).wants_last_hold());
}

#[test]
fn a_window_of_no_length_is_refused() {
    let refused = |tcd: Tcd| Detector::Tcd(tcd).validate().unwrap_err().parameter;
    assert_eq!(refused(Tcd { period: Span::ZERO, ..Tcd::authors() }), "period");
    assert_eq!(refused(Tcd { max_ton: Span::ZERO, ..Tcd::authors() }), "max-ton");
    assert_eq!(refused(Tcd { clock: Span::ZERO, ..Tcd::authors() }), "truncate");
}

#[test]
fn under_credits_max_ton_is_tc_and_the_trend_is_judged_over_whole_ones_four_at_least_and_200_us() {
    let of = |tc| Tcd::credits(Trend::RiseBp, Span::from_us(tc), Bytes::from_kb(50), Bytes::new(2_048));
    for (tc, period) in [(5, 200), (30, 210), (40, 200), (50, 200), (60, 240)] {
        assert_eq!((of(tc).max_ton, of(tc).period), (Span::from_us(tc), Span::from_us(period)));
    }
    assert_eq!((of(50).trend, of(50).low.get(), of(50).delta.get()), (Trend::RiseBp, 2_048, 4_096));
    assert_eq!(Detector::Tcd(of(50)).validate(), Ok(()));
}

/// A port under credits that come every 50 µs, K = 50 KB, packets of 2 048 B.
fn on_credits() -> Tcd {
    Tcd::credits(Trend::RiseBp, Span::from_us(50), Bytes::from_kb(50), Bytes::new(2_048))
}

#[test]
fn a_port_that_sends_for_a_part_of_each_tc_is_undetermined_until_one_tc_after_the_last_update_it_waited_for()
{
    let mut port = Port::new(on_credits());
    assert_eq!(port.dequeue(us(90), 50_000, HIT), (Capable, NonCongestion));
    assert_eq!(port.dequeue(us(91), 50_001, MISS), (Ce, Congestion));
    // Eqn (4): a quarter of the rate, 12.5 µs of each 50.
    for period in [100, 150, 200] {
        port.resume(us(period), 400_000);
        assert_eq!(port.dequeue(us(period), 400_000, HIT), (Ue, Undetermined));
        assert_eq!(port.dequeue(us(period + 12), 350_000, HIT), (Ue, Undetermined));
    }
    assert_eq!(port.dequeue(us(250) - Span::from_ps(1), 200_000, HIT), (Ue, Undetermined));
    assert_eq!(port.dequeue(us(250), 200_000, HIT), (Capable, Judging));
}

/// A port under credits, released at 1 050 µs with 300 KB.
fn released_by_credits(tcd: Tcd) -> Port {
    let mut port = Port::new(tcd);
    port.resume(us(1_000), 300_000);
    assert_eq!(port.dequeue(us(1_000), 300_000, HIT), (Ue, Undetermined));
    assert_eq!(port.dequeue(us(1_050), 300_000, HIT), (Capable, Judging));
    port
}

#[test]
fn a_drained_port_under_credits_was_never_congested() {
    // Fig. 12: 300 KB drain at 22 Gbps (2 750 B/µs) and are never marked, although most of the time above K.
    let mut port = released_by_credits(on_credits());
    for after in 1..108 {
        assert_eq!(port.dequeue(us(1_050 + after), 300_000 - 2_750 * after, HIT), (Capable, Judging));
    }
    assert_eq!(port.dequeue(us(1_160), 2_048, HIT), (Capable, NonCongestion));
}

#[test]
fn a_port_under_credits_whose_queue_stays_and_which_starved_its_upstream_is_congested_after_200_us() {
    // Fig. 13: the queue is pinned where the buffers upstream of it are full.
    let mut port = released_by_credits(on_credits());
    port.last_hold = us(1_230);
    assert_eq!(port.dequeue(us(1_249), 300_000, HIT), (Capable, Judging));
    assert_eq!(port.dequeue(us(1_250), 300_000, HIT), (Ce, Congestion));
    let mut nobody_starved = released_by_credits(on_credits());
    assert_eq!(nobody_starved.dequeue(us(1_250), 300_000, HIT), (Capable, Judging));
}

#[test]
fn lumps_in_each_credit_period_look_like_congestion_to_a_window_of_one_tc_and_not_to_one_of_four() {
    // In every other period 60 KB more come in than leave, in the others 120 KB less: 300 KB drain within 450 µs.
    let queue = [300_000, 360_000, 240_000, 300_000, 180_000, 240_000, 120_000, 180_000, 60_000, 2_000];
    let verdicts = |period| {
        let mut port = released_by_credits(Tcd { period, ..on_credits() });
        (1..10).map(|n| port.dequeue(us(1_050 + 50 * n as u64), queue[n], HIT).1).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(Span::from_us(50))[0], Congestion);
    let four = verdicts(Span::from_us(200));
    assert_eq!(four[..8], [Judging; 8]);
    assert_eq!(four[8], NonCongestion);
}
