//! PFT as hardware runs it, one look per cycle of the core clock, against the same thing in closed form: thousands of made-up traces of
//! used credits, the same cycle for every change of state.
use backwater_control::reaction::{Pft, PftConfig, Polarity, StateRule};
use backwater_units::{Span, Time};

/// `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// The registers that hardware has: a state, and two counters.
#[derive(Default)]
struct Hardware {
    congested: bool,
    cycle_count: u32,
    congested_count: u32,
}

impl Hardware {
    /// Algorithm 1 or 2, once. Whether the state changes.
    fn cycle(&mut self, config: &PftConfig, c: u32) -> bool {
        let (high, low) = match (config.polarity, config.rule.thresholds()) {
            (Polarity::Used, (enter, escape)) => (c > enter, c < escape),
            (Polarity::Available, (enter, escape)) => {
                let left = i64::from(config.capacity) - i64::from(c);
                (left < i64::from(enter), left > i64::from(escape))
            }
        };
        let hit = if self.congested { low } else { high };
        let StateRule::Average { enter_window, enter_hits, escape_window, escape_hits, .. } = config.rule
        else {
            self.congested ^= hit;
            return hit;
        };
        let (window, hits) =
            if self.congested { (escape_window, escape_hits) } else { (enter_window, enter_hits) };
        if hit {
            self.congested_count += 1;
        }
        self.cycle_count += 1;
        if self.congested_count == hits {
            self.congested = !self.congested;
            (self.cycle_count, self.congested_count) = (0, 0);
            return true;
        }
        if self.cycle_count == window {
            (self.cycle_count, self.congested_count) = (0, 0);
        }
        false
    }
}

/// The time of each sample by the definition: the first picosecond that is not before k cycles.
fn at_cycle(k: u64, clock: u64) -> u64 {
    let exact = u128::from(k) * 1_000_000_000_000;
    u64::try_from(exact / u128::from(clock)).unwrap() + u64::from(!exact.is_multiple_of(u128::from(clock)))
}

fn drawn_config(dice: &mut Dice) -> PftConfig {
    let capacity = dice.within(4, 60) as u32;
    let polarity = if dice.below(2) == 0 { Polarity::Used } else { Polarity::Available };
    let threshold = |dice: &mut Dice| dice.within(1, u64::from(capacity) - 1) as u32;
    let mut window = || {
        let window = dice.within(2, 24) as u32;
        (window, dice.within(1, u64::from(window) - 1) as u32)
    };
    let ((enter_window, enter_hits), (escape_window, escape_hits)) = (window(), window());
    let (enter, escape) = (threshold(dice), threshold(dice));
    let rule = StateRule::Average { enter, escape, enter_window, enter_hits, escape_window, escape_hits };
    let clock = [700_000_000, 1_000_000_000, 333_333_333, 999_999_999_999, 1_000_000_000_000, 48_000_000_000];
    let clock = clock[dice.below(6) as usize];
    let config = PftConfig { rule, polarity, capacity, clock, ..PftConfig::standard() };
    assert_eq!(config.validate(), Ok(()));
    config
}

/// Times in ps from which c is so much, in order; several in one picosecond now and then, and often near a sample.
fn drawn_trace(dice: &mut Dice, config: &PftConfig, end: u64) -> Vec<(u64, u32)> {
    let (mut trace, mut sample) = (Vec::new(), 0);
    while sample < end {
        let time = at_cycle(sample, config.clock);
        let time = match dice.below(4) {
            0 => time.saturating_sub(1),
            1 => time + 1,
            2 => time + dice.below(1_000_000_000_000u64.div_ceil(config.clock)),
            _ => time,
        };
        let time = time.max(trace.last().map_or(0, |&(time, _)| time));
        trace.push((time, dice.below(u64::from(config.capacity) + 3) as u32));
        sample += if dice.below(3) == 0 { dice.below(3) } else { dice.below(80) };
    }
    trace
}

/// Runs hardware over all samples before `end` ps: time of each change of state and the state that it leads to, and cycles in Congested.
fn literally(config: &PftConfig, trace: &[(u64, u32)], end: u64) -> (Vec<(u64, bool)>, u64) {
    let (mut hardware, mut seen, mut congested) = (Hardware::default(), Vec::new(), 0);
    let (mut c, mut next) = (0, 0);
    for k in 0.. {
        let time = at_cycle(k, config.clock);
        if time >= end {
            return (seen, congested);
        }
        while next < trace.len() && trace[next].0 <= time {
            c = trace[next].1;
            next += 1;
        }
        congested += u64::from(hardware.congested);
        if hardware.cycle(config, c) {
            seen.push((time, hardware.congested));
        }
    }
    unreachable!("samples have no end")
}

#[test]
fn every_change_of_state_comes_in_the_same_cycle_as_in_hardware() {
    let mut dice = Dice(7);
    let mut changes = 0;
    for _ in 0..4_000 {
        let config = drawn_config(&mut dice);
        let trace = drawn_trace(&mut dice, &config, 600);
        let end = trace.last().unwrap().0 + dice.below(100_000);
        let (expected, congested) = literally(&config, &trace, end);

        let (mut pft, mut seen) = (Pft::new(), Vec::new());
        let mut to = |pft: &mut Pft, now: u64| {
            while let Some(transition) = pft.step(&config, Time::from_ps(now)) {
                seen.push((transition.time.as_ps(), transition.congested));
            }
        };
        for &(time, used) in &trace {
            to(&mut pft, time);
            pft.on_credits(&config, Time::from_ps(time), used);
        }
        to(&mut pft, end);
        assert_eq!(seen, expected, "{config:?} {trace:?}");
        let ps = u128::from(congested) * 1_000_000_000_000 / u128::from(config.clock);
        assert_eq!(u128::from(pft.congested_for(&config, Time::from_ps(end)).as_ps()), ps);
        assert_eq!(pft.entered(), expected.iter().filter(|change| change.1).count() as u64);
        changes += expected.len();
    }
    assert!(changes > 40_000, "only {changes}");
}

#[test]
fn it_does_not_matter_how_often_the_time_is_told() {
    let mut dice = Dice(11);
    for _ in 0..1_000 {
        let config = drawn_config(&mut dice);
        let trace = drawn_trace(&mut dice, &config, 300);
        let (mut seldom, mut often, mut before) = (Pft::new(), Pft::new(), 0);
        for &(time, used) in &trace {
            for _ in 0..dice.below(4) {
                before += dice.below(time - before + 1);
                match dice.below(3) {
                    0 => often.advance(&config, Time::from_ps(before)),
                    1 => _ = often.gate(&config, Time::from_ps(before)),
                    _ => _ = often.step(&config, Time::from_ps(before)),
                }
            }
            seldom.on_credits(&config, Time::from_ps(time), used);
            often.on_credits(&config, Time::from_ps(time), used);
            before = time;
            assert_eq!(seldom, often, "{config:?} {trace:?}");
        }
    }
}

#[test]
fn the_time_foretold_for_the_next_change_of_state_is_the_picosecond_after_hardwares() {
    let mut dice = Dice(13);
    let mut foretold = 0;
    for _ in 0..1_000 {
        let config = drawn_config(&mut dice);
        let trace = drawn_trace(&mut dice, &config, 100);
        let (mut pft, last) = (Pft::new(), trace.last().unwrap().0);
        for &(time, used) in &trace {
            pft.on_credits(&config, Time::from_ps(time), used);
        }
        let next = pft.next_transition(&config);
        // Long enough for any change that is to come.
        let end = last + at_cycle(60, config.clock);
        let (expected, _) = literally(&config, &trace, end);
        let first = expected.iter().find(|&&(time, _)| time >= last);
        assert_eq!(next, first.map_or(Time::MAX, |&(time, _)| Time::from_ps(time + 1)), "{config:?}");
        foretold += u64::from(first.is_some());
    }
    assert!(foretold > 200, "only {foretold}");
}

#[test]
fn under_ft_the_state_is_that_of_hardware_which_looks_after_every_change() {
    let mut dice = Dice(17);
    for _ in 0..2_000 {
        let drawn = drawn_config(&mut dice);
        let (a, b) = drawn.rule.thresholds();
        let (enter, escape) =
            if drawn.polarity == Polarity::Used { (a.max(b), a.min(b)) } else { (a.min(b), a.max(b)) };
        let config = PftConfig { rule: StateRule::Fixed { enter, escape }, ..drawn };
        assert_eq!(config.validate(), Ok(()));
        let (mut hardware, mut pft, mut now, mut held) = (Hardware::default(), Pft::new(), Time::ZERO, 0);
        for _ in 0..100 {
            let wait = dice.below(50);
            held += if hardware.congested { wait } else { 0 };
            now += Span::from_ps(wait);
            let used = dice.below(u64::from(config.capacity) + 3) as u32;
            pft.on_credits(&config, now, used);
            hardware.cycle(&config, used);
            assert_eq!(pft.congested(), hardware.congested);
            assert_eq!(pft.congested_for(&config, now), Span::from_ps(held));
            assert_eq!(pft.next_transition(&config), Time::MAX);
        }
    }
}
