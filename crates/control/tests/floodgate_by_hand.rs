//! Floodgate by hand: windows, accounts, turns.
use backwater_control::isolation::floodgate::{Account, FloodgateConfig, Heard, Turns, UnderWay};
use backwater_units::{Rate, Span, Time};

const CONFIG: FloodgateConfig =
    FloodgateConfig { window: 1500, interval: Span::from_us(10), count: 10_240, delay: 1500 };

#[test]
fn a_window_is_one_and_a_half_round_trips_of_the_next_link_and_an_interval() {
    // 100 Gbps and 1 us: 25,000 B in 2 us, 125,000 B in 10 us.
    assert_eq!(CONFIG.window(Rate::from_gbps(100), Span::from_us(2)), 37_500 + 125_000);
    assert_eq!(CONFIG.window(Rate::from_gbps(400), Span::from_us(2)), 150_000 + 500_000);
    let by_packet = FloodgateConfig { count: 1, ..CONFIG };
    assert_eq!(by_packet.window(Rate::from_gbps(100), Span::from_us(2)), 37_500);
}

#[test]
fn a_destination_is_given_nothing_while_its_voq_is_longer_than_one_and_a_half_round_trips() {
    assert!(!CONFIG.delays(37_500, 25_000));
    assert!(CONFIG.delays(37_501, 25_000));
}

#[test]
fn a_packet_that_does_not_fit_takes_nothing_of_the_window() {
    let mut under_way = UnderWay::default();
    assert!(under_way.take(1000, 2500) && under_way.take(1000, 2500));
    assert!(!under_way.take(501, 2500));
    assert_eq!(under_way.left(2500), 500);
    assert!(under_way.take(500, 2500));
    under_way.give_back(1200);
    assert_eq!((under_way.left(2500), under_way.bytes()), (1200, 1300));
}

#[test]
fn a_frame_that_is_lost_is_made_good_by_the_next_one_also_where_counts_wrap() {
    let (mut account, mut heard) = (Account::default(), Heard::default());
    let mut leave = |bytes: u32| {
        for _ in 0..bytes / 50_000 {
            account.leave(50_000);
        }
        let owed = account.owed();
        (owed, account.tell(), account.owed())
    };
    let (owed, first, rest) = leave(4_294_950_000);
    assert_eq!((owed, heard.hear(first), rest), (4_294_950_000, 4_294_950_000, 0));
    let _lost = leave(100_000);
    let (owed, third, _) = leave(50_000);
    assert_eq!((owed, heard.hear(third)), (50_000, 150_000));
}

#[test]
fn turns_come_every_interval_from_the_first_departure_whether_something_is_owed_or_not() {
    let at = |ns: u64| Time::from_ps(ns * 1000);
    let interval = Span::from_us(10);
    let mut turns = Turns::default();
    assert!(!turns.have_begun());
    turns.begin(at(2_107));
    assert_eq!(turns.wait(at(2_107), interval), Some(at(12_107)));
    assert_eq!(turns.wait(at(5_000), interval), None, "that one is waited for");
    assert!(!turns.take(at(12_000)) && turns.take(at(12_107)));
    // Nothing was owed for a while.
    assert_eq!(turns.wait(at(50_000), interval), Some(at(52_107)));
    // What comes at a turn is for the next one.
    assert!(turns.take(at(52_107)));
    assert_eq!(turns.wait(at(62_107), interval), Some(at(72_107)));
    // Given back by count: the timer that is set means nothing any more.
    turns.given(at(70_000));
    assert!(!turns.take(at(72_107)));
    assert_eq!(turns.wait(at(72_107), interval), Some(at(80_000)));
}
