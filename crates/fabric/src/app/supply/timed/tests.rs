use backwater_traffic::{Group, Pacing};
use backwater_units::{Bytes, Time};

use super::*;

const GROUP: Group = Group { id: 1, priority: 3, pacing: Pacing::Controlled, start: Time::ZERO };

/// An application that wants to make a packet every 1000 ps in the mean, at random, for a destination.
fn poisson(dst: u32, backlog: u32, full: Full) -> Timed {
    let flow = GROUP.flow(7, dst, Bytes::MAX, Time::ZERO);
    Timed::new(0, 1000, backlog, NEVER, full).with(Gaps::Exponential, &flow, 11)
}

/// The share of time in which a link is busy that takes 1000 ps for a packet, over `packets` of them.
fn busy(mut supply: Timed, packets: u64) -> f64 {
    let mut now = supply.first();
    for _ in 0..packets {
        now = supply.on_sent(now).expect("endless").max(now + 1000);
    }
    (1000 * packets) as f64 / now as f64
}

#[test]
fn an_application_that_waits_makes_its_packet_when_one_leaves_and_its_gap_goes_on_meanwhile() {
    let mut supply = Timed::new(0, 100, 2, 2000, Full::Wait);
    assert_eq!(supply.on_sent(0), Some(100));
    // Those of 100 and 200 wait, and the application since 300: it makes its packet at 450. The next gap was over at 400, so it
    // wants to go on at once, and waits again.
    assert_eq!((supply.on_sent(450), supply.made()), (Some(0), 100));
    // It makes that packet at 480; its gap lasts until 550.
    assert_eq!((supply.on_sent(480), supply.made()), (Some(0), 200));
    assert_eq!((supply.on_sent(500), supply.made()), (Some(0), 450));
    assert_eq!((supply.on_sent(600), supply.made()), (Some(0), 480));
    assert_eq!((supply.on_sent(610), supply.made()), (Some(650), 550));
}

#[test]
fn what_an_application_waits_with_at_the_end_is_never_made() {
    let mut supply = Timed::new(0, 100, 1, 250, Full::Wait);
    assert_eq!(supply.on_sent(0), Some(100));
    assert_eq!((supply.on_sent(300), supply.made()), (None, 100), "that of 200 had no room before 250");
    let mut supply = Timed::new(0, 100, 1, 250, Full::Wait);
    assert_eq!(supply.on_sent(0), Some(100));
    assert_eq!((supply.on_sent(249), supply.made()), (Some(0), 100));
    assert_eq!((supply.on_sent(900), supply.made()), (None, 249), "that of 200 was made in time");
}

#[test]
fn random_gaps_that_nothing_delays_are_exponential_with_the_mean_of_the_rate() {
    let mut supply = poisson(0, 1, Full::Wait);
    let mut times = vec![supply.first()];
    for _ in 0..100_000 {
        times.push(supply.on_sent(*times.last().expect("the first")).expect("endless"));
    }
    let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1000.0).collect();
    let mean = gaps.iter().sum::<f64>() / 1e5;
    let long = gaps.iter().filter(|gap| **gap > 2.0).count() as f64 / 1e5;
    // Standard deviations: 1 / sqrt(10^5) = 0.0032, and sqrt(e^-2 (1 - e^-2) / 10^5) = 0.0011.
    assert!((mean - 1.0).abs() < 0.016, "{mean}");
    assert!((long - (-2.0f64).exp()).abs() < 0.0055, "{long}");
}

#[test]
fn a_link_at_load_1_with_one_place_to_wait_is_busy_as_long_as_queueing_theory_says() {
    // What would be one too many is not made: M/D/1/2. A packet leaves nobody behind if none comes in its time, by e^-1, and then
    // the link idles for one mean gap: 1 / (1 + e^-1).
    let empty = (-1.0f64).exp();
    let skip = busy(poisson(0, 1, Full::Skip), 400_000);
    assert!((skip - 1.0 / (1.0 + empty)).abs() < 0.003, "{skip}");
    // The application waits: a packet begins with none waiting (A), one (B), or one and the application (C). By how many packets
    // the application wants to make meanwhile (k: e^-1 / k!) comes A after A for 0 and 1, B for 2, C for more; A after B for 0, B
    // for 1, C for more; B after C for 0, C for more. The link idles after an A with 0.
    let (two, one_up) = (empty / 2.0, 1.0 - empty);
    let two_up = one_up - empty;
    let b = two_up / empty;
    let c = (two_up - two + b * two_up) / empty;
    let wait = busy(poisson(0, 1, Full::Wait), 400_000);
    assert!((wait - 1.0 / (1.0 + empty / (1.0 + b + c))).abs() < 0.003, "{wait}");
}

#[test]
fn sixteen_places_to_wait_at_load_1_offer_as_much_as_in_the_simulator_of_the_ec_papers_authors() {
    // Their unicast streams of 2 KiB without a slow endpoint carry 0.933 of the link in payload, 64 of 66 flits: 0.9625 in all. They
    // were measured over 3000 packets, which is good for two digits.
    let share = busy(poisson(0, 16, Full::Wait), 400_000);
    assert!((share - 0.9625).abs() < 0.015, "{share}");
}

#[test]
fn each_destination_has_gaps_of_its_own_and_they_do_not_depend_on_other_flows() {
    let times = |dst| {
        let mut supply = poisson(dst, 1, Full::Wait);
        let mut now = 0;
        std::iter::repeat_with(|| {
            now = supply.on_sent(now).expect("endless");
            now
        })
        .take(50)
        .collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}
