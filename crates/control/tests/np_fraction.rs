//! The share of a slot's packets that must be marked before a receiver reports congestion (PCN: 95 % of a period).
use backwater_control::CodePoint::{self, Capable, Congestion as Ce, Undetermined as Ue};
use backwater_control::notify::{Action, Mode, Notify, NotifyConfig};
use backwater_units::{Span, Time};
use proptest::prelude::*;

const GRID: NotifyConfig = NotifyConfig { fraction: 0.95, ..NotifyConfig::authors() };
const FIRST_MARK: NotifyConfig = NotifyConfig { fraction: 0.95, ..NotifyConfig::standard() };

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A flow whose first packet came unmarked at time 0.
fn flow(config: &NotifyConfig) -> Notify {
    let mut np = Notify::default();
    assert_eq!(np.on_packet(config, us(0), Capable, 1_000), Action::Nothing);
    np
}

/// Packets in this order, one per µs from `start` on; returns the instants that were armed.
fn packets(np: &mut Notify, config: &NotifyConfig, start: u64, codes: &[(usize, CodePoint)]) -> Vec<Time> {
    let codes = codes.iter().flat_map(|&(count, code)| std::iter::repeat_n(code, count));
    (start..)
        .zip(codes)
        .filter_map(|(at, code)| match np.on_packet(config, us(at), code, 1_000) {
            Action::Nothing => None,
            Action::Arm(at) => Some(at),
            Action::Send(code) => panic!("{code:?} sent at once"),
        })
        .collect()
}

#[test]
fn nineteen_of_twenty_packets_are_95_percent_and_eighteen_are_not() {
    for (unmarked, marked, report) in
        [(1, 19, Some(Ce)), (2, 18, None), (2, 37, None), (2, 38, Some(Ce)), (0, 1, Some(Ce))]
    {
        let mut np = flow(&GRID);
        // Unmarked ones first, or last: the slot as a whole counts.
        let codes = [(unmarked, Capable), (marked, Ce)];
        assert_eq!(packets(&mut np, &GRID, 1, &codes), [us(50)]);
        assert_eq!(np.on_timer(&GRID, us(50)), report);
        let codes = [(marked, Ce), (unmarked, Capable)];
        assert_eq!(packets(&mut np, &GRID, 51, &codes), [us(100)]);
        assert_eq!(np.on_timer(&GRID, us(100)), report);
    }
}

#[test]
fn one_percent_of_a_hundred_packets_is_one_packet() {
    for (fraction, report) in [(0.01, Some(Ce)), (0.010_001, None)] {
        let config = NotifyConfig { fraction, interval: Span::from_us(200), mode: Mode::Grid };
        let mut np = flow(&config);
        packets(&mut np, &config, 1, &[(99, Capable), (1, Ce)]);
        assert_eq!(np.on_timer(&config, us(200)), report);
    }
}

#[test]
fn packets_of_earlier_slots_do_not_dilute_this_one() {
    let mut np = flow(&GRID);
    // 499 unmarked packets in ten slots that nobody evaluates, then a slot of marks only.
    assert!(packets(&mut np, &GRID, 1, &[(499, Capable)]).is_empty());
    assert_eq!(packets(&mut np, &GRID, 501, &[(3, Ce)]), [us(550)]);
    assert_eq!(np.on_timer(&GRID, us(550)), Some(Ce));
    // A slot that reported nothing does not burden the next one either.
    assert_eq!(packets(&mut np, &GRID, 551, &[(40, Capable), (5, Ce)]), [us(600)]);
    assert_eq!(np.on_timer(&GRID, us(600)), None);
    assert_eq!(packets(&mut np, &GRID, 601, &[(3, Ce)]), [us(650)]);
    assert_eq!(np.on_timer(&GRID, us(650)), Some(Ce));
}

#[test]
fn the_first_packet_of_a_flow_is_a_slot_by_itself() {
    for config in [GRID, FIRST_MARK] {
        assert_eq!(Notify::default().on_packet(&config, us(3), Ce, 1_000), Action::Send(Ce));
    }
    let mut np = flow(&GRID);
    assert_eq!(packets(&mut np, &GRID, 1, &[(1, Ce)]), [us(50)]);
    assert_eq!(np.on_timer(&GRID, us(50)), Some(Ce), "1 of 1, not 1 of 2");
}

#[test]
fn ue_is_reported_as_ever_and_in_place_of_too_few_ce() {
    for (codes, report) in [
        ([(40, Capable), (1, Ue), (0, Ce)], Some(Ue)),
        ([(30, Capable), (1, Ue), (10, Ce)], Some(Ue)),
        ([(0, Capable), (2, Ue), (38, Ce)], Some(Ce)),
    ] {
        let mut np = flow(&GRID);
        packets(&mut np, &GRID, 1, &codes);
        assert_eq!(np.on_timer(&GRID, us(50)), report);
    }
}

#[test]
fn a_packet_at_the_end_of_a_slot_that_is_evaluated_belongs_to_it() {
    let mut np = flow(&GRID);
    packets(&mut np, &GRID, 1, &[(19, Ce)]);
    assert_eq!(np.on_packet(&GRID, us(50), Capable, 1_000), Action::Nothing);
    assert_eq!(np.on_packet(&GRID, us(50), Capable, 1_000), Action::Nothing);
    assert_eq!(np.on_timer(&GRID, us(50)), None, "19 of 21");
    assert_eq!(np.on_packet(&GRID, us(100), Ce, 1_000), Action::Arm(us(150)));
    assert_eq!(np.on_timer(&GRID, us(150)), Some(Ce), "not evaluated at 100: the next slot");
}

#[test]
fn first_mark_reports_at_once_if_the_share_is_there_and_else_at_the_slots_end() {
    // The slot began with an unmarked packet at 0 and ends at 50: 1 of 2, then 19 of 20.
    let mut np = flow(&FIRST_MARK);
    assert_eq!(packets(&mut np, &FIRST_MARK, 10, &[(19, Ce)]), [us(50)]);
    assert_eq!(np.on_timer(&FIRST_MARK, us(50)), Some(Ce));
    // The CNP began the next slot, in which none may leave before its end.
    assert_eq!(packets(&mut np, &FIRST_MARK, 60, &[(10, Ce)]), [us(100)]);
    assert_eq!(np.on_timer(&FIRST_MARK, us(100)), Some(Ce));
    // Silence; a slot that begins with a mark reports at once.
    assert_eq!(np.on_packet(&FIRST_MARK, us(300), Ce, 1_000), Action::Send(Ce));
}

#[test]
fn first_mark_begins_a_new_slot_with_the_first_packet_after_one_without_report() {
    let mut np = flow(&FIRST_MARK);
    assert_eq!(packets(&mut np, &FIRST_MARK, 10, &[(3, Ce), (5, Capable)]), [us(50)]);
    assert_eq!(np.on_timer(&FIRST_MARK, us(50)), None);
    assert_eq!(np.on_packet(&FIRST_MARK, us(70), Capable, 1_000), Action::Nothing);
    assert_eq!(np.on_packet(&FIRST_MARK, us(80), Ue, 1_000), Action::Send(Ue));
    let mut np = flow(&FIRST_MARK);
    packets(&mut np, &FIRST_MARK, 10, &[(3, Ce), (5, Capable)]);
    assert_eq!(np.on_timer(&FIRST_MARK, us(50)), None);
    // 70 to 120: the three marks of before are forgotten.
    assert_eq!(np.on_packet(&FIRST_MARK, us(70), Capable, 1_000), Action::Nothing);
    assert_eq!(np.on_packet(&FIRST_MARK, us(80), Ce, 1_000), Action::Arm(us(120)));
    assert_eq!(np.on_timer(&FIRST_MARK, us(120)), None);
}

#[test]
fn a_share_of_more_than_everything_is_refused() {
    for fraction in [-0.01, 1.01, f64::NAN] {
        let refused = NotifyConfig { fraction, ..NotifyConfig::authors() }.validate().unwrap_err();
        assert_eq!(refused.parameter, "np-fraction");
    }
    assert_eq!(NotifyConfig { fraction: 1.0, ..NotifyConfig::authors() }.validate(), Ok(()));
}

proptest! {
    #[test]
    fn the_grid_reports_what_sorting_all_packets_into_slots_afterwards_gives(
        percent in 0..=100_u64,
        packets in prop::collection::vec((0..30_u64, prop::sample::select(vec![Capable, Ce, Ce, Ue])), 1..200),
    ) {
        let config = NotifyConfig { fraction: percent as f64 / 100.0, ..NotifyConfig::authors() };
        // The first packet at 0, all others at half microseconds, so that none lies on a boundary.
        let mut at = 0;
        let times: Vec<(u64, CodePoint)> = packets.iter().enumerate().map(|(n, &(after, code))| {
            at += if n == 0 { 0 } else { 2 * after + u64::from(n == 1) };
            (at, code)
        }).collect();
        let mut slots = vec![(0, 0, false); at as usize / 100 + 2];
        for &(at, code) in &times {
            let (all, ce, ue) = &mut slots[if at == 0 { 0 } else { at as usize / 100 + 1 }];
            *all += 1;
            *ce += u64::from(code == Ce);
            *ue |= code == Ue;
        }
        let expected: Vec<(u64, CodePoint)> = (0..).zip(slots).filter_map(|(slot, (all, ce, ue))| {
            let congested = ce > 0 && 100 * ce >= percent * all;
            (congested || ue).then_some((100 * slot, if congested { Ce } else { Ue }))
        }).collect();

        let half = |n: u64| Time::from_ps(n * 500_000);
        let (mut np, mut timer, mut sent) = (Notify::default(), None, Vec::new());
        for (at, code) in times {
            if let Some(due) = timer.take_if(|due| *due < half(at)) {
                sent.extend(np.on_timer(&config, due).map(|code| (due, code)));
            }
            match np.on_packet(&config, half(at), code, 1_000) {
                Action::Nothing => {}
                Action::Arm(due) => timer = Some(due),
                Action::Send(code) => sent.push((half(at), code)),
            }
        }
        if let Some(due) = timer {
            sent.extend(np.on_timer(&config, due).map(|code| (due, code)));
        }
        let expected: Vec<(Time, CodePoint)> = expected.into_iter().map(|(at, code)| (half(at), code)).collect();
        prop_assert_eq!(sent, expected);
    }
}
