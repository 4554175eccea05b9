//! InfiniBand's reaction point, computed by hand: 32 Gbps, packets of 2 048 B (512 ns), the table of the authors'
//! flit-level model, in which entry i delays a packet by i² · 3300/6889 ns = i² · 479.0245 ps.
use backwater_control::CodePoint::{self, Congestion as Ce, Undetermined as Ue};
use backwater_control::reaction::{CctShape, Controller, IbCc, IbCcConfig, IbCcOnUe};
use backwater_units::{Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(32);
const PACKET: u32 = 2_048;

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Start to start in ps, and how far the rate's whole bits may move it.
fn gap_is(flow: &mut IbCc, ps: u64) -> bool {
    flow.gap(PACKET).as_ps().abs_diff(ps) <= 2
}

#[test]
fn a_flow_starts_at_line_rate_with_no_timer() {
    let config = IbCcConfig::standard();
    let mut flow = IbCc::new(&config, LINE);
    assert_eq!((flow.rate(), flow.ccti(), flow.next_timer(&config)), (LINE, 0, Time::MAX));
    assert_eq!(flow.gap(PACKET), Span::from_ns(512));
}

/// What a flow is told, and the CCTI and deadline (ns; 0: none) after it.
type Row = (u64, Option<CodePoint>, u16, u64);

fn play(config: &IbCcConfig, rows: &[Row]) {
    let mut flow = IbCc::new(config, LINE);
    for &(at, told, ccti, next) in rows {
        match told {
            Some(code) => {
                flow.on_cnp(config, ns(at), code);
            }
            None => {
                flow.advance(config, ns(at));
            }
        }
        let next = if next == 0 { Time::MAX } else { ns(next) };
        assert_eq!((flow.ccti(), flow.next_timer(config)), (ccti, next), "at {at} ns");
    }
}

#[test]
fn notifications_climb_the_table_and_the_timer_descends_it_one_entry_in_153_6_us() {
    play(
        &IbCcConfig::standard(),
        &[
            (10_000, Some(Ce), 1, 163_600),
            // Later ones do not move the timer.
            (20_000, Some(Ce), 2, 163_600),
            (20_000, Some(Ce), 3, 163_600),
            (163_599, None, 3, 163_600),
            (163_600, None, 2, 317_200),
            (200_000, Some(Ce), 3, 317_200),
            // Two periods and a bit at once.
            (480_000, None, 1, 624_400),
            (624_400, None, 0, 0),
            (5_000_000, None, 0, 0),
            (6_000_000, Some(Ce), 1, 6_153_600),
            // A tick that is due comes before the notification of the same instant.
            (6_153_600, Some(Ce), 1, 6_307_200),
        ],
    );
}

#[test]
fn ue_keeps_the_entry_and_puts_the_next_tick_off_by_a_whole_period() {
    play(
        &IbCcConfig::with_tcd(),
        &[
            (5_000, Some(Ue), 0, 0),
            (10_000, Some(Ce), 2, 163_600),
            (100_000, Some(Ue), 2, 253_600),
            (200_000, Some(Ue), 2, 353_600),
            (353_600, None, 1, 507_200),
            // The tick is due, then the rest is held.
            (507_200, Some(Ue), 0, 0),
            (600_000, Some(Ce), 2, 753_600),
            (753_600, Some(Ue), 1, 907_200),
            (800_000, Some(Ue), 1, 953_600),
            (907_200, None, 1, 953_600),
            (953_600, None, 0, 0),
        ],
    );
}

#[test]
fn a_controller_that_ignores_ue_descends_as_if_nothing_came() {
    let plain = IbCcConfig { on_ue: IbCcOnUe::Ignore, ..IbCcConfig::standard() };
    play(&plain, &[(10_000, Some(Ce), 1, 163_600), (100_000, Some(Ue), 1, 163_600), (163_600, None, 0, 0)]);
}

#[test]
fn an_unmarked_notification_changes_nothing() {
    let rows = [(10_000, Some(Ce), 1, 163_600), (20_000, Some(CodePoint::Capable), 1, 163_600)];
    play(&IbCcConfig::standard(), &rows);
}

#[test]
fn the_gap_between_two_packets_is_that_of_the_authors_table() {
    let config = IbCcConfig::standard();
    let mut flow = IbCc::new(&config, LINE);
    for index in 1..=127_u64 {
        flow.on_cnp(&config, Time::ZERO, Ce);
        // In integers: 512 ns + i² · 3 300 000/6 889 ps.
        assert!(gap_is(&mut flow, 512_000 + index * index * 3_300_000 / 6_889), "entry {index}");
    }
    assert_eq!(flow.ccti(), 127);
    // 16 384 bit in 8 238.187 ns.
    assert!(flow.rate().as_bps().abs_diff(1_988_787_100) < 100_000);
    let slowest = flow.rate();
    assert!(!flow.on_cnp(&config, Time::ZERO, Ce));
    assert_eq!((flow.rate(), flow.ccti()), (slowest, 127));
}

#[test]
fn entry_83_is_4_3_gbps() {
    // 512 + 83² · 3300/6889 = 512 + 3 300 ns: the reason for the odd fraction. 16 384 bit / 3 812 ns.
    let config = IbCcConfig { increase: 83, ..IbCcConfig::standard() };
    let mut flow = IbCc::new(&config, LINE);
    flow.on_cnp(&config, Time::ZERO, Ce);
    assert!(gap_is(&mut flow, 3_812_000));
    assert_eq!(flow.rate().as_bps() / 1_000_000, 4_298);
}

#[test]
fn the_delay_is_measured_in_times_of_the_packet_that_it_follows() {
    let config = IbCcConfig { increase: 127, top: 15.0, ..IbCcConfig::standard() };
    let mut flow = IbCc::new(&config, LINE);
    flow.on_cnp(&config, Time::ZERO, Ce);
    // A sixteenth of the line, whatever the size.
    assert_eq!(flow.rate(), Rate::from_gbps(2));
    assert_eq!([64, 1_024, 2_048].map(|size| flow.gap(size).as_ps()), [256_000, 4_096_000, 8_192_000]);
}

#[test]
fn a_linear_table_reaches_half_of_its_delay_halfway() {
    let config =
        IbCcConfig { increase: 1, limit: 254, top: 1.0, shape: CctShape::Linear, ..IbCcConfig::standard() };
    let mut flow = IbCc::new(&config, LINE);
    for _ in 0..127 {
        flow.on_cnp(&config, Time::ZERO, Ce);
    }
    assert_eq!(flow.rate(), Rate::from_gbps(16));
    for _ in 0..127 {
        flow.on_cnp(&config, Time::ZERO, Ce);
    }
    // Twice the index, twice the delay: a third.
    assert_eq!(flow.rate().as_bps(), 10_666_666_666);
}

#[test]
fn a_flow_with_a_minimum_starts_there_and_comes_back_to_it() {
    let config = IbCcConfig { min: 10, top: 12.7, shape: CctShape::Linear, ..IbCcConfig::standard() };
    let mut flow = IbCc::new(&config, LINE);
    // IRD(10) = 1: half of the line.
    assert_eq!((flow.rate().as_bps() + 1) / 1_000_000_000, 16);
    let start = flow;
    flow.on_cnp(&config, ns(0), Ce);
    assert_eq!(flow.ccti(), 11);
    flow.advance(&config, ns(1_000_000));
    assert_eq!((flow.ccti(), flow.rate(), flow.next_timer(&config)), (10, start.rate(), Time::MAX));
}
