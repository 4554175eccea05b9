//! Scripted credits: a throttled NIC changes its state in the very cycle in which hardware would that looks once in each cycle
//! (`oracle/throttle.py`).
use std::collections::BTreeMap;

use backwater_control::reaction::{Pft, PftConfig, Polarity, RateLaw, StateRule};
use backwater_units::{Span, Time};
use scene::Oracle;

static ORACLE: Oracle = Oracle::new("ranks", "scripts");

struct Case {
    config: PftConfig,
    /// (cycle, credits in use from then on)
    used: BTreeMap<u64, u32>,
    /// (cycle, congested)
    changes: Vec<(u64, bool)>,
    end: u64,
}

fn read(name: &str) -> Case {
    let (mut settings, mut used, mut changes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for line in ORACLE.case(name).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["#", "used", cycle, credits] => drop(used.insert(number(cycle), number(credits) as u32)),
            ["#", key, value] => drop(settings.insert(key.to_owned(), value.to_owned())),
            [cycle, state] => changes.push((number(cycle), state == "1")),
            _ => panic!("{name}: {line}"),
        }
    }
    let end = number(&settings["end"]);
    Case { config: config(&settings), used, changes, end }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("a number, not {word}"))
}

fn config(settings: &BTreeMap<String, String>) -> PftConfig {
    let of = |key: &str| number(&settings[key]) as u32;
    let (enter, escape) = (of("enter"), of("escape"));
    let rule = if settings["rule"] == "fixed" {
        StateRule::Fixed { enter, escape }
    } else {
        StateRule::Average {
            enter,
            escape,
            enter_window: of("enter_window"),
            enter_hits: of("enter_hits"),
            escape_window: of("escape_window"),
            escape_hits: of("escape_hits"),
        }
    };
    PftConfig {
        rule,
        law: RateLaw::FixedInterval,
        m: 0,
        n: 0,
        k: 0,
        polarity: if settings["credits"] == "used" { Polarity::Used } else { Polarity::Available },
        capacity: of("capacity"),
        clock: 700_000_000,
    }
}

/// The first picosecond that is not before a cycle of 700 MHz.
fn at(cycle: u64) -> Time {
    Time::from_ps((cycle * 10_000).div_ceil(7))
}

/// Looked at after each cycle.
fn cycle_by_cycle(case: &Case) -> Vec<(u64, bool)> {
    let (mut pft, mut changes, mut before) = (Pft::new(), Vec::new(), false);
    for cycle in 0..case.end {
        if let Some(&used) = case.used.get(&cycle) {
            pft.on_credits(&case.config, at(cycle), used);
        }
        pft.advance(&case.config, at(cycle) + Span::from_ps(1));
        if pft.congested() != before {
            before = !before;
            changes.push((cycle, before));
        }
    }
    changes
}

/// Asked only when credits change, and then for all that happened since; FT changes its state in that very call.
fn change_by_change(case: &Case) -> Vec<(u64, bool)> {
    let (mut pft, mut changes) = (Pft::new(), Vec::new());
    let asked = case.used.iter().map(|(cycle, used)| (*cycle, Some(*used))).chain([(case.end, None)]);
    for (cycle, used) in asked {
        while let Some(change) = pft.step(&case.config, at(cycle)) {
            changes.push((change.time.as_ps() * 7 / 10_000, change.congested));
        }
        let before = pft.congested();
        if let Some(used) = used {
            pft.on_credits(&case.config, at(cycle), used);
        }
        if pft.congested() != before {
            changes.push((cycle, !before));
        }
    }
    assert_eq!(pft.entered(), changes.iter().filter(|change| change.1).count() as u64);
    changes
}

fn compare(names: &[&str]) {
    for name in names {
        let case = read(name);
        assert_eq!(cycle_by_cycle(&case), case.changes, "{name}, cycle by cycle");
        assert_eq!(change_by_change(&case), case.changes, "{name}, change by change");
    }
}

#[test]
fn the_oracle_says_of_two_short_scripts_what_is_kept_to_be_checked_by_hand() {
    assert_eq!(ORACLE.kept(), ["band_available", "band_swapped"]);
}

#[test]
fn fixed_thresholds_act_in_the_cycle_in_which_the_credits_pass_them() {
    compare(&["fixed", "fixed_equal", "fixed_available"]);
}

#[test]
fn between_thresholds_that_overlap_the_state_alternates_as_often_as_the_windows_say() {
    compare(&["band", "band_swapped", "band_available"]);
    // 768 cycles in each state: the paper's best setting is a throttle that is on half of the time there.
    let band = read("band").changes;
    assert_eq!(band[..3], [(777, true), (1_545, false), (2_313, true)]);
}

#[test]
fn windows_of_the_defaults_act_in_the_cycle_that_the_oracle_says() {
    compare(&["paper_0", "paper_1", "paper_2", "paper_3", "paper_4", "paper_5"]);
}

#[test]
fn short_windows_act_in_the_cycle_that_the_oracle_says() {
    compare(&["short_0", "short_1", "short_2", "short_3", "short_4", "short_5"]);
    compare(&["one_hit", "short_available"]);
}
