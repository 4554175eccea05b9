//! RI's draws: the idle flit times after a packet of L flits are the failures before L successes.
use backwater_control::reaction::{Gate, RateLaw};
use backwater_units::Time;

use super::{FLIT, config, congested, send};

const BITS: u8 = 30;

/// `SplitMix64`, as 53 bits of [0, 1).
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Idle flit times after packets of `length` flits that may go with a chance of `goes` / 2^30 in each flit time.
fn draws(goes: u32, length: u32, count: u32, seed: u64) -> Vec<u64> {
    let config = config(RateLaw::RandomInterval { bits: BITS }, 0, 0, (1 << BITS) - i64::from(goes) - 2);
    let mut dice = Dice(seed);
    (0..count)
        .map(|_| {
            // f(2) is all but `goes` of 2^30.
            let mut pft = congested(&config, 2);
            let next = send(&mut pft, &config, Time::ZERO, length, &mut || dice.uniform()).expect("p > 0");
            let idle = next.since(Time::ZERO).as_ps() - FLIT.as_ps() * u64::from(length);
            assert_eq!(idle % FLIT.as_ps(), 0);
            idle / FLIT.as_ps()
        })
        .collect()
}

fn chance(p: f64) -> u32 {
    (p * f64::from(1 << BITS)) as u32
}

#[test]
fn mean_and_variance_are_those_of_the_negative_binomial_distribution() {
    // Around the change of methods at 1/6, beyond 256 flits, and where p^L is below the smallest number.
    for (p, length) in [
        (0.855, 130),
        (0.836, 1),
        (0.99, 64),
        (0.5, 255),
        (0.5, 257),
        (0.2, 600),
        (0.167, 130),
        (0.166, 130),
        (0.05, 9),
        (0.001, 40),
    ] {
        let (exact, flits) = (f64::from(chance(p)) / f64::from(1 << BITS), f64::from(length));
        let count = 20_000;
        let seen: Vec<f64> = draws(chance(p), length, count, 1).into_iter().map(|idle| idle as f64).collect();
        let count = f64::from(count);
        let mean = seen.iter().sum::<f64>() / count;
        let variance = seen.iter().map(|idle| (idle - mean).powi(2)).sum::<f64>() / count;
        let (expected, spread) = (flits * (1.0 - exact) / exact, flits * (1.0 - exact) / (exact * exact));
        assert!(
            (mean - expected).abs() < 4.0 * (spread / count).sqrt(),
            "p = {p}, L = {length}: mean {mean}"
        );
        // The excess kurtosis is (6 + p²/(1 − p)) / L; the standard error of a variance follows from it.
        let excess = (6.0 + exact * exact / (1.0 - exact)) / flits;
        let error = spread * ((2.0 + excess) / count).sqrt();
        assert!((variance - spread).abs() < 4.0 * error, "p = {p}, L = {length}: variance {variance}");
    }
}

/// The chances of 0, 1, 2 … failures before `length` successes, by adding up coin tosses: after each toss, how likely is it that
/// so many successes have come?
fn by_tosses(p: f64, length: usize, most: usize) -> Vec<f64> {
    let mut come = vec![0.0; length];
    come[0] = 1.0;
    let mut chances = vec![0.0; most];
    for toss in 1..length + most {
        let last = come[length - 1] * p;
        for successes in (1..length).rev() {
            come[successes] = come[successes] * (1.0 - p) + come[successes - 1] * p;
        }
        come[0] *= 1.0 - p;
        if toss >= length {
            chances[toss - length] = last;
        }
    }
    chances
}

#[test]
fn every_number_of_idle_flit_times_is_as_likely_as_with_one_toss_per_flit_time() {
    for (p, length) in [(0.855, 8), (0.5, 3), (0.17, 2), (0.16, 2), (0.1, 1)] {
        let exact = f64::from(chance(p)) / f64::from(1 << BITS);
        let (count, most) = (40_000, 200);
        let expected = by_tosses(exact, length, most);
        let mut seen = vec![0.0; most];
        for idle in draws(chance(p), length as u32, count, 2) {
            if let Some(seen) = seen.get_mut(idle as usize) {
                *seen += 1.0;
            }
        }
        let (mut square, mut cells) = (0.0, 0.0);
        for (seen, chance) in seen.into_iter().zip(expected) {
            let expected = chance * f64::from(count);
            if expected >= 10.0 {
                square += (seen - expected) * (seen - expected) / expected;
                cells += 1.0;
            }
        }
        // Chi square has mean `cells` and variance twice that.
        assert!(
            cells >= 6.0 && square < cells + 4.0 * f64::sqrt(2.0 * cells),
            "p = {p}, L = {length}: {square} of {cells}"
        );
    }
}

#[test]
fn a_long_run_sends_at_one_minus_f_over_r_of_the_line_rate() {
    for (c, share) in [(592, 0.855), (672, 0.836), (2_048, 0.5), (3_968, 0.031_25)] {
        let config = config(RateLaw::RandomInterval { bits: BITS }, 18, 0, 0);
        let (mut pft, mut now, mut dice) = (congested(&config, c), Time::ZERO, Dice(3));
        let (packets, length) = (4_000u32, 130u32);
        for _ in 0..packets {
            now = send(&mut pft, &config, now, length, &mut || dice.uniform()).expect("p > 0");
        }
        let all = f64::from(packets) * f64::from(length);
        let seen = all * FLIT.as_secs_f64() / now.as_secs_f64();
        // The relative error of a sum of n waiting times is sqrt((1 − p) / n) at most.
        assert!((seen / share - 1.0).abs() < 4.0 / all.sqrt() + 0.000_6, "c = {c}: {seen}");
    }
}

#[test]
fn with_p_1_there_is_no_draw_and_no_gap() {
    let config = config(RateLaw::RandomInterval { bits: BITS }, 18, 0, -(10 << 18));
    let mut pft = congested(&config, 10);
    let next = send(&mut pft, &config, Time::ZERO, 130, &mut || unreachable!("no draw"));
    assert_eq!(next, Some(Time::ZERO + FLIT * 130));
}

#[test]
fn the_least_chance_there_is_makes_gaps_of_years_not_errors() {
    // One of 2^62: 1.5 · 10^11 years per flit are beyond time itself.
    let config = config(RateLaw::RandomInterval { bits: 62 }, 0, 0, (1 << 62) - 3);
    let mut dice = Dice(5);
    let mut pft = congested(&config, 2);
    let next = send(&mut pft, &config, Time::ZERO, 130, &mut || dice.uniform());
    assert_eq!(next, None);
    pft.on_credits(&config, Time::ZERO + FLIT * 131, 1);
    assert!(matches!(pft.gate(&config, Time::ZERO + FLIT * 131), Gate::Change | Gate::At(_)));
}

#[test]
fn the_ends_of_the_unit_interval_are_no_trouble() {
    for goes in [0.9, 0.2, 0.1] {
        let config =
            config(RateLaw::RandomInterval { bits: BITS }, 0, 0, i64::from((1 << BITS) - chance(goes)));
        for (uniform, most) in [(0.0, 0), (1.0 - f64::EPSILON / 2.0, 1_000_000)] {
            let mut pft = congested(&config, 2);
            let next = send(&mut pft, &config, Time::ZERO, 300, &mut || uniform).expect("p > 0");
            let idle = next.since(Time::ZERO + FLIT * 300).as_ps() / FLIT.as_ps();
            assert!(idle <= most && (idle == 0) == (uniform == 0.0), "{idle} idle flit times");
        }
    }
}

#[test]
fn a_uniform_number_is_one_of_as_many_failures_as_make_it_less_than_the_distribution_function() {
    // p = 1/2 for one flit: 0 for [0, 1/2), 1 for [1/2, 3/4), 2 for [3/4, 7/8).
    let config = config(RateLaw::RandomInterval { bits: BITS }, BITS - 2, 0, 0);
    for (uniform, idle) in [(0.499_999, 0), (0.5, 1), (0.749_999, 1), (0.75, 2), (0.874_999, 2), (0.875, 3)] {
        let mut pft = congested(&config, 2);
        let next = send(&mut pft, &config, Time::ZERO, 1, &mut || uniform);
        assert_eq!(next, Some(Time::ZERO + FLIT * (1 + idle)), "{uniform}");
    }
}

#[test]
fn a_packet_takes_one_draw_per_256_flits_or_one_per_flit_where_flits_seldom_go() {
    for (p, length, expected) in
        [(0.855, 130, 1), (0.855, 256, 1), (0.5, 257, 2), (0.17, 600, 3), (0.16, 130, 130)]
    {
        let config =
            config(RateLaw::RandomInterval { bits: BITS }, 0, 0, i64::from((1 << BITS) - chance(p)) - 2);
        let (mut pft, mut drawn) = (congested(&config, 2), 0);
        let mut random = || {
            drawn += 1;
            0.5
        };
        send(&mut pft, &config, Time::ZERO, length, &mut random).expect("p > 0");
        assert_eq!(drawn, expected, "p = {p}, L = {length}");
    }
}
