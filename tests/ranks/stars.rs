//! Senders that throttle themselves behind one switch, against the same flit by flit and cycle by cycle (`oracle/throttle.py`). The
//! fabric moves whole packets and knows c between them, so what is in use may differ by a packet, and a few percent.
use backwater_control::reaction::{RateLaw, StateRule};
use backwater_fabric::Switching;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Span, Time};
use scene::{Oracle, flow, run_until, star, throttled};

use crate::LINE;

/// A flit of 16 B at 100 Gbps.
const CYCLE: u64 = 1_280;

static ORACLE: Oracle = Oracle::new("ranks", "stars");

struct Case {
    text: &'static str,
}

impl Case {
    fn read(name: &str) -> Self {
        Self { text: ORACLE.case(name) }
    }

    fn word(&self, key: &str) -> &str {
        let of = |line: &&str| line.starts_with(key);
        let line = self.text.lines().find(of).unwrap_or_else(|| panic!("no {key}"));
        line[key.len()..].trim()
    }

    fn number(&self, key: &str) -> u64 {
        self.word(&format!("# {key} ")).parse().expect("a number")
    }

    fn rule(&self) -> StateRule {
        let of = |key| self.number(key) as u32;
        let (enter, escape) = (of("enter"), of("escape"));
        if self.word("# rule ") == "fixed" {
            return StateRule::Fixed { enter, escape };
        }
        StateRule::Average {
            enter,
            escape,
            enter_window: of("enter_window"),
            enter_hits: of("enter_hits"),
            escape_window: of("escape_window"),
            escape_hits: of("escape_hits"),
        }
    }

    fn law(&self) -> RateLaw {
        match self.word("# law ") {
            "fixed" => RateLaw::FixedInterval,
            _ => RateLaw::RandomInterval { bits: self.number("bits") as u8 },
        }
    }
}

/// The mean of c over senders and time, in thousandths, and the flits of each sender.
fn ours(case: &Case) -> (u64, Vec<u64>) {
    let senders = case.number("senders") as u32;
    let flows = (1..=senders).map(|host| flow(host, 0, u64::MAX, Time::ZERO, Pacing::LineRate)).collect();
    let network = star(senders + 1, LINE, Span::from_ps(case.number("way") * CYCLE));
    let mut spec = throttled(network, flows);
    spec.switch.switching = Switching::StoreAndForward;
    (spec.packet.payload, spec.packet.header) = (Bytes::new(case.number("flits") * 16 - 32), Bytes::new(32));
    let config = &mut spec.throttle.as_mut().expect("throttled").config;
    (config.rule, config.law) = (case.rule(), case.law());
    (config.m, config.n) = (case.number("m") as u8, case.number("n") as u8);
    config.clock = 1_000_000_000_000 / CYCLE;
    let (warm, measured) = (case.number("warm") * CYCLE, case.number("measured") * CYCLE);
    spec.probe.sample = Some(Span::from_ps(warm));
    let hosts = spec.network.hosts().to_vec();
    let outcome = run_until(spec, Time::from_ps(warm + measured));
    let late = |start: Time| start >= Time::from_ps(warm);
    let periods: Vec<_> = outcome.records.throttle.iter().filter(|period| late(period.start)).collect();
    assert_eq!(periods.len() as u64, u64::from(senders) * measured / warm);
    let used = periods.iter().map(|period| period.used_mean_milli).sum::<u64>() / periods.len() as u64;
    let sent = |host: &u32| {
        let own = periods.iter().filter(|period| period.node == *host);
        own.map(|period| period.sent_flits).sum()
    };
    (used, hosts[1..].iter().map(sent).collect())
}

fn compare(name: &str) {
    let case = Case::read(name);
    let (used, flits) = ours(&case);
    let theirs: f64 = case.word("used ").parse().expect("a number");
    let (used, packet) = (used as f64 / 1_000.0, case.number("flits") as f64);
    assert!((used - theirs).abs() <= packet + 0.05 * theirs, "{name}: {used} in use, flit by flit {theirs}");
    // Together they fill the link; each has its share to 3 percent.
    let measured = case.number("measured") as f64;
    let all = flits.iter().sum::<u64>() as f64 / measured;
    assert!(all > 0.99, "{name}: {all} of the link");
    let even = measured / flits.len() as f64;
    assert!(
        flits.iter().all(|flits| (*flits as f64 / even - 1.0).abs() < 0.03),
        "{name}: {flits:?}, even {even}"
    );
}

#[test]
fn the_oracle_says_of_two_stars_what_is_kept_to_be_checked_by_hand() {
    assert_eq!(ORACLE.kept(), ["interval_4", "random_4"]);
}

#[test]
fn by_a_fixed_interval_senders_use_what_makes_their_rates_fill_the_link() {
    ["interval_4", "interval_7", "average_interval"].into_iter().for_each(compare);
    // 1 / (1 + c / 64) is a quarter from 192 on, a seventh from 384.
    assert!((192.0..256.0).contains(&Case::read("interval_4").word("used ").parse().unwrap()));
}

#[test]
fn by_a_random_interval_senders_use_what_makes_their_rates_fill_the_link() {
    ["random_4", "random_7", "average_random", "hysteresis"].into_iter().for_each(compare);
    // 1 - c / 1024 is a quarter at 768.
    assert!((750.0..786.0).contains(&Case::read("random_4").word("used ").parse().unwrap()));
}
