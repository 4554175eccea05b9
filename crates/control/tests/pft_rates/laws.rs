//! f(c), and the share of the line rate that follows from it.
use backwater_control::reaction::{Gate, PftConfig, RateLaw, interval};
use backwater_units::Time;

use super::{config, congested, flits, no_chance, send};

const FI: RateLaw = RateLaw::FixedInterval;

fn mean(bits: u8) -> RateLaw {
    RateLaw::MeanInterval { bits }
}

/// The share of the line rate with `c` in use: of a packet so long that what its gap is rounded by does not matter.
fn share(config: &PftConfig, c: u32) -> f64 {
    let length = 1_000_000;
    let mut pft = congested(config, c);
    match send(&mut pft, config, Time::ZERO, length, &mut no_chance) {
        Some(next) => flits(u64::from(length)).as_secs_f64() / next.as_secs_f64(),
        None => 0.0,
    }
}

#[test]
fn f_is_c_shifted_left_by_m_then_right_by_n_plus_k() {
    assert_eq!(interval(&config(FI, 0, 8, 0), 592), 2);
    assert_eq!(interval(&config(FI, 0, 8, 5), 255), 5);
    assert_eq!(interval(&config(FI, 3, 1, -7), 100), 393);
    // The left shift comes first: nothing is lost by it.
    assert_eq!(interval(&config(FI, 63, 63, 0), 4_095), 4_095);
    assert_eq!(interval(&config(FI, 12, 11, 0), 5), 10);
    // The right shift truncates.
    assert_eq!(interval(&config(FI, 0, 12, 0), 4_095), 0);
    assert_eq!(interval(&config(FI, 0, 12, 0), 4_096), 1);
}

#[test]
fn f_is_never_negative_and_never_wraps() {
    assert_eq!(interval(&config(FI, 0, 0, -600), 592), 0);
    assert_eq!(interval(&config(FI, 0, 0, i64::MIN), u32::MAX), 0);
    assert_eq!(interval(&config(FI, 0, 0, i64::MAX), 1), 1 << 63);
    assert_eq!(interval(&config(FI, 63, 0, 0), 1), 1 << 63);
    assert_eq!(interval(&config(FI, 63, 0, 0), 2), u64::MAX);
    assert_eq!(interval(&config(FI, 63, 0, i64::MAX), u32::MAX), u64::MAX);
    // 32 bits are too few from c = 1024 on.
    assert_eq!(interval(&config(FI, 22, 0, 0), 1_024), 1 << 32);
}

#[test]
fn under_fi_a_nic_sends_at_one_over_one_plus_f_of_the_line_rate() {
    for n in 8..=12 {
        let config = config(FI, 0, n, 0);
        for c in [1, 255, 256, 592, 672, 1_024, 2_047, 2_048, 4_095, 4_096, 20_000] {
            let idle = f64::from(c >> n);
            assert!((share(&config, c) - 1.0 / (1.0 + idle)).abs() < 1e-12, "n = {n}, c = {c}");
        }
    }
    for k in [0, 1, 3] {
        let share = share(&config(FI, 0, 8, k), 512);
        assert!((share - 1.0 / (3.0 + k as f64)).abs() < 1e-12, "k = {k}");
    }
}

#[test]
fn under_fi_the_larger_n_is_the_higher_is_the_rate() {
    // Equation 1; the text about Fig. 1(a) says the opposite.
    let shares: Vec<f64> = (8..=12).map(|n| share(&config(FI, 0, n, 0), 4_096)).collect();
    assert!(shares.is_sorted_by(|a, b| a < b), "{shares:?}");
    assert!((shares[0] - 1.0 / 17.0).abs() < 1e-12 && (shares[4] - 0.5).abs() < 1e-12);
}

#[test]
fn under_ri_a_nic_sends_at_one_minus_f_over_r_of_the_line_rate_or_not_at_all() {
    for (m, k) in [(15, 0), (18, 0), (18, 1 << 28), (20, -(1 << 25)), (22, 0)] {
        let config = config(mean(30), m, 0, k);
        for c in [1, 32, 100, 255, 592, 672, 1_023, 1_024, 4_095, 4_096, 40_000] {
            let f = ((u128::from(c) << m) as f64 + k as f64).max(0.0);
            let expected = (1.0 - f / f64::from(1 << 30)).max(0.0);
            assert!((share(&config, c) - expected).abs() < 1e-6, "m = {m}, k = {k}, c = {c}");
        }
    }
}

#[test]
fn nothing_is_sent_from_c_equal_to_r_over_2_to_the_m_on() {
    let none_from = [
        (27, [4_096, 512, 128, 32]),
        (28, [8_192, 1_024, 256, 64]),
        (30, [32_768, 4_096, 1_024, 256]),
        (31, [65_536, 8_192, 2_048, 512]),
        (32, [131_072, 16_384, 4_096, 1_024]),
    ];
    for (bits, row) in none_from {
        for (m, c) in [15, 18, 20, 22].into_iter().zip(row) {
            for law in [mean(bits), RateLaw::RandomInterval { bits }] {
                let config = config(law, m, 0, 0);
                assert_eq!(
                    congested(&config, c).gate(&config, Time::ZERO),
                    Gate::Change,
                    "{bits} bits, m = {m}"
                );
                assert_eq!(
                    congested(&config, c - 1).gate(&config, Time::ZERO),
                    Gate::Open,
                    "{bits} bits, m = {m}"
                );
            }
        }
    }
}

#[test]
fn what_the_papers_best_m_leaves_at_its_thresholds_depends_on_the_range_of_the_random_number() {
    // At c = 592 and 672 with m = 18, at c = 1024 with m = 15, to three decimals.
    let shares = [
        (27, [0.0, 0.0, 0.75]),
        (28, [0.422, 0.344, 0.875]),
        (30, [0.855, 0.836, 0.969]),
        (31, [0.928, 0.918, 0.984]),
        (32, [0.964, 0.959, 0.992]),
    ];
    for (bits, expected) in shares {
        let at = [(18, 592), (18, 672), (15, 1_024)].map(|(m, c)| share(&config(mean(bits), m, 0, 0), c));
        for (share, expected) in at.into_iter().zip(expected) {
            assert!((share - expected).abs() < 0.000_6, "{bits} bits: {share} for {expected}");
        }
    }
}

#[test]
fn with_an_f_beyond_32_bits_nothing_is_sent_rather_than_much() {
    for c in [1_024, 1_025, 2_048, u32::MAX] {
        for law in [mean(30), RateLaw::RandomInterval { bits: 30 }, RateLaw::RandomInterval { bits: 32 }] {
            let config = config(law, 22, 0, 0);
            assert_eq!(congested(&config, c).gate(&config, Time::ZERO), Gate::Change, "c = {c}");
        }
    }
    let config = config(RateLaw::RandomInterval { bits: 62 }, 63, 0, i64::MAX);
    assert_eq!(congested(&config, u32::MAX).gate(&config, Time::ZERO), Gate::Change);
}

#[test]
fn an_interval_beyond_all_time_lasts_until_c_changes() {
    let config = config(FI, 63, 0, 0);
    let mut pft = congested(&config, 5);
    assert_eq!(send(&mut pft, &config, Time::ZERO, 100, &mut no_chance), None);
    pft.on_credits(&config, Time::ZERO + flits(200), 0);
    assert_eq!(pft.gate(&config, Time::ZERO + flits(200)), Gate::Open);
}
