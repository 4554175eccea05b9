//! Parameters of PFT that make no sense, and what is said about them.
use backwater_control::reaction::{PftConfig, Polarity, RateLaw, StateRule};

const STANDARD: PftConfig = PftConfig::standard();

fn refused(config: &PftConfig) -> String {
    config.validate().expect_err("should be refused").to_string()
}

fn fixed(enter: u32, escape: u32, polarity: Polarity) -> PftConfig {
    PftConfig { rule: StateRule::Fixed { enter, escape }, polarity, ..STANDARD }
}

fn average(enter: u32, escape: u32, polarity: Polarity) -> PftConfig {
    windows((enter, escape), (1_024, 768), (1_024, 768), polarity)
}

fn windows(thresholds: (u32, u32), enter: (u32, u32), escape: (u32, u32), polarity: Polarity) -> PftConfig {
    let rule = StateRule::Average {
        enter: thresholds.0,
        escape: thresholds.1,
        enter_window: enter.0,
        enter_hits: enter.1,
        escape_window: escape.0,
        escape_hits: escape.1,
    };
    PftConfig { rule, polarity, ..STANDARD }
}

#[test]
fn the_papers_best_setting_is_accepted_in_both_polarities() {
    assert_eq!(STANDARD.validate(), Ok(()));
    assert_eq!(average(592, 672, Polarity::Available).validate(), Ok(()));
    assert_eq!(STANDARD.rule.thresholds(), (0x250, 0x2a0));
}

#[test]
fn ft_with_the_papers_thresholds_is_refused_by_the_rule_of_algorithm_1() {
    let text = refused(&fixed(592, 672, Polarity::Used));
    assert!(text.starts_with("enter = 592: must be at least escape under rule = \"fixed\""), "{text}");
    for part in [
        "Algorithm 1 of the PFT paper demands t_e >= t_s",
        "swap the two",
        "rule = \"average\"",
        "credits = \"available\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(fixed(672, 592, Polarity::Used).validate(), Ok(()));
    assert_eq!(fixed(600, 600, Polarity::Used).validate(), Ok(()));
    assert!(refused(&fixed(599, 600, Polarity::Used)).starts_with("enter = 599"));
}

#[test]
fn of_credits_that_are_left_the_rule_of_algorithm_1_is_the_other_way_round() {
    assert_eq!(fixed(592, 672, Polarity::Available).validate(), Ok(()));
    assert_eq!(fixed(600, 600, Polarity::Available).validate(), Ok(()));
    let text = refused(&fixed(601, 600, Polarity::Available));
    assert!(text.starts_with("enter = 601: must be at most escape under rule = \"fixed\""), "{text}");
    assert!(text.contains("Algorithm 1") && text.contains("credits = \"used\""), "{text}");
    // Under AT both orders mean something, in both polarities.
    assert_eq!(average(672, 592, Polarity::Used).validate(), Ok(()));
    assert_eq!(average(672, 592, Polarity::Available).validate(), Ok(()));
}

#[test]
fn thresholds_that_no_c_can_pass_are_refused() {
    for config in [average, fixed] {
        assert_eq!(config(4_095, 1, Polarity::Used).validate(), Ok(()));
        assert!(refused(&config(4_096, 1, Polarity::Used)).starts_with("enter = 4096: must be below"));
        assert!(refused(&config(592, 0, Polarity::Used)).starts_with("escape = 0: must be from 1"));
        assert_eq!(config(1, 4_095, Polarity::Available).validate(), Ok(()));
        assert!(refused(&config(0, 672, Polarity::Available)).starts_with("enter = 0: must be from 1"));
        assert!(
            refused(&config(592, 4_096, Polarity::Available)).starts_with("escape = 4096: must be below")
        );
    }
    assert_eq!(average(0, 4_096, Polarity::Used).validate(), Ok(()));
    assert!(refused(&average(0, 4_097, Polarity::Used)).starts_with("escape = 4097"));
    assert_eq!(average(4_096, 0, Polarity::Available).validate(), Ok(()));
    assert!(refused(&average(4_097, 0, Polarity::Available)).starts_with("enter = 4097"));
}

#[test]
fn hits_are_at_least_one_and_fewer_than_their_window_has_samples() {
    let with = |enter, escape| windows((592, 672), enter, escape, Polarity::Used);
    assert_eq!(with((2, 1), (3, 2)).validate(), Ok(()));
    let text = refused(&with((1_024, 1_024), (1_024, 768)));
    let said = "average.enter-hits = 1024: must be from 1 to one less than its window, as the PFT paper demands T_e > T_e' and T_s > T_s'";
    assert!(text.starts_with(said), "{text}");
    assert!(refused(&with((1_024, 0), (1_024, 768))).starts_with("average.enter-hits = 0"));
    assert!(refused(&with((0, 0), (1_024, 768))).starts_with("average.enter-hits = 0"));
    assert!(refused(&with((2, 1), (768, 768))).starts_with("average.escape-hits = 768"));
    assert!(refused(&with((2, 1), (5, 0))).starts_with("average.escape-hits = 0"));
}

#[test]
fn shifts_have_six_bits() {
    assert_eq!(PftConfig { m: 63, n: 63, ..STANDARD }.validate(), Ok(()));
    assert!(refused(&PftConfig { m: 64, ..STANDARD }).starts_with("m = 64: must be from 0 to 63"));
    assert!(refused(&PftConfig { n: 255, ..STANDARD }).starts_with("n = 255: must be from 0 to 63"));
}

#[test]
fn the_random_number_has_1_to_62_bits() {
    let bits: [fn(u8) -> RateLaw; 2] =
        [|bits| RateLaw::RandomInterval { bits }, |bits| RateLaw::MeanInterval { bits }];
    for law in bits {
        assert_eq!(PftConfig { law: law(1), ..STANDARD }.validate(), Ok(()));
        assert_eq!(PftConfig { law: law(62), ..STANDARD }.validate(), Ok(()));
        let text = refused(&PftConfig { law: law(0), ..STANDARD });
        assert!(text.starts_with("random-bits = 0: must be from 1 to 62; 30"), "{text}");
        assert!(refused(&PftConfig { law: law(63), ..STANDARD }).starts_with("random-bits = 63"));
    }
    assert_eq!(PftConfig { law: RateLaw::FixedInterval, ..STANDARD }.validate(), Ok(()));
}

#[test]
fn a_link_has_a_buffer_and_a_clock() {
    assert!(
        refused(&PftConfig { capacity: 1, ..STANDARD }).starts_with("capacity = 1: must be at least 2 flits")
    );
    assert_eq!(PftConfig { capacity: 2, ..fixed(1, 1, Polarity::Used) }.validate(), Ok(()));
    assert!(refused(&PftConfig { clock: 0, ..STANDARD }).starts_with("clock = 0: must be from 1 Hz"));
    assert_eq!(PftConfig { clock: 1_000_000_000_000, ..STANDARD }.validate(), Ok(()));
    assert!(
        refused(&PftConfig { clock: 1_000_000_000_001, ..STANDARD }).starts_with("clock = 1000000000001")
    );
}
