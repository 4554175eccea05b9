//! An independent program (`oracle/`, in Python, from the EC paper and the facts of its authors' simulator alone) tells the same
//! story, event by event: same packets, same picoseconds, same bytes in the queues.
use std::collections::BTreeMap;

use backwater_control::notify::put::{Fairness, IackOn, Reservation};
use backwater_control::reaction::PolicyConfig;
use backwater_fabric::record::{PutEvent, PutRecord};
use backwater_fabric::{DrainSpec, EndpointSpec, PutSpec, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Oracle, POLICIES, flow, lossy, run_until, star, with_links};

use crate::name;

static ORACLE: Oracle = Oracle::new("endpoint", "cases");

/// An event: picoseconds, what, source and target (hosts), number, value if the program gives one.
type Event = (u64, String, u32, u32, u32, Option<i64>);

/// What the program was given and what it answered.
struct Case {
    settings: BTreeMap<String, String>,
    /// Source, target, start in picoseconds, packets (none: without an end).
    streams: Vec<(u32, u32, u64, Option<u64>)>,
    events: Vec<Event>,
}

impl Case {
    fn read(name: &str) -> Self {
        let text = ORACLE.case(name);
        let (mut settings, mut streams) = (BTreeMap::new(), Vec::new());
        for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["stream", src, dst, start, packets] => {
                    streams.push((number(src), number(dst), number(start), packets.parse().ok()));
                }
                [key, value] => drop(settings.insert(key.to_owned(), value.to_owned())),
                _ => panic!("{name}: {line}"),
            }
        }
        let events = text.lines().filter(|line| !line.starts_with('#')).map(event).collect();
        Self { settings, streams, events }
    }

    fn number(&self, key: &str) -> u64 {
        number(&self.settings[key])
    }

    fn bytes(&self, key: &str) -> Bytes {
        Bytes::new(self.number(key))
    }

    fn span(&self, key: &str) -> Span {
        Span::from_ps(self.number(key))
    }

    /// The same in our words.
    fn spec(&self) -> Spec {
        let hosts = 1 + self.streams.iter().map(|stream| stream.0.max(stream.1)).max().expect("a stream");
        let payload = self.number("payload");
        let flows = self.streams.iter().map(|&(src, dst, start, packets)| {
            let size = packets.map_or(u64::MAX, |packets| packets * payload);
            flow(src, dst, size, Time::from_ps(start), Pacing::Controlled)
        });
        let drain = Rate::from_bps(self.number("drain"));
        let network = star(hosts, Rate::from_bps(self.number("link")), self.span("delay"));
        let longer = |host: usize| Span::from_ps(self.number("skew") * host as u64);
        let network = with_links(&network, |host, link| link.delay += longer(host));
        let mut spec = lossy(network, flows.collect(), POLICIES[0]);
        spec.puts = vec![self.put()];
        (spec.packet.payload, spec.packet.header) = (self.bytes("payload"), self.bytes("header"));
        let endpoint = EndpointSpec {
            depth: self.bytes("queue"),
            drain: DrainSpec::Constant(drain),
            cached: None,
            pfc: None,
        };
        spec.endpoints = vec![Some(endpoint); hosts as usize];
        spec
    }

    fn put(&self) -> PutSpec {
        let policy = ["opt", "aimd", "dack"].iter().position(|policy| *policy == self.settings["policy"]);
        let mut put = PutSpec::standard(POLICIES[policy.expect("a policy")]);
        match &mut put.policy {
            PolicyConfig::Opt(limits) => self.limits(limits),
            PolicyConfig::Aimd(aimd) => {
                (aimd.mss, aimd.initial) = (self.number("mss"), self.number("mss"));
                aimd.ssthresh = self.number("ssthresh");
            }
            PolicyConfig::Dack(dack) => {
                self.limits(&mut dack.limits);
                dack.count = self.number("count") as u32;
                dack.escape = self.span("escape");
            }
        }
        put.target.threshold = self.number("threshold");
        put.target.reservation = match &self.settings["reservation"][..] {
            "0" => Reservation::None,
            "-1" => Reservation::Packet,
            bytes => Reservation::Bytes(number(bytes)),
        };
        if self.settings["iack"] == "processed" {
            put.target.iack = IackOn::Processed;
        }
        put.target.reserved_counts = self.settings["reserved_counts"] == "True";
        put.target.fairness = match &self.settings["fairness"][..] {
            "ordered" => Fairness::Ordered { period: self.span("period") },
            _ => Fairness::None,
        };
        put.triggers.every = self.number("every") as u32;
        put.triggers.after = self.span("after");
        put.ack_size = self.bytes("ack");
        (put.processing, put.overhead) = (self.span("processing"), self.span("overhead"));
        (put.staging, put.retry) = (self.span("staging"), self.span("retry"));
        put
    }

    fn limits(&self, limits: &mut backwater_control::reaction::OptConfig) {
        (limits.packets, limits.bytes) = (self.number("packets") as u32, self.number("bytes"));
    }
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("a number, not {word}"))
}

fn event(line: &str) -> Event {
    let words: Vec<&str> = line.split(' ').collect();
    let [time, what, src, dst, seq, value] = words[..] else { panic!("{line}") };
    (number(time), what.to_owned(), number(src), number(dst), number(seq), value.parse().ok())
}

/// The fabric's events up to a time.
fn ours(spec: Spec, until: u64) -> Vec<Event> {
    let hosts = spec.network.hosts().to_vec();
    let host = |node: u32| hosts.iter().position(|host| *host == node).expect("a host") as u32;
    let told = |record: &PutRecord| {
        let PutRecord { time, src, dst, seq, event, value, .. } = *record;
        (time.as_ps(), name(event).to_owned(), host(src), host(dst), seq, Some(value))
    };
    let outcome = run_until(spec, Time::from_ps(until + 1));
    let puts = outcome.records.puts.iter().filter(|record| record.event != PutEvent::State);
    puts.map(told).filter(|event| event.0 <= until).collect()
}

/// What happens at the same time in any order; values that the program does not give are not compared.
fn assert_same(case: &str, mut ours: Vec<Event>, mut theirs: Vec<Event>) {
    ours.sort();
    theirs.sort();
    for i in 0..ours.len().max(theirs.len()) {
        let (ours, theirs) = (ours.get(i), theirs.get(i));
        let alike = match (ours, theirs) {
            (Some(a), Some(b)) => {
                (a.0, &a.1, a.2, a.3, a.4) == (b.0, &b.1, b.2, b.3, b.4) && (b.5.is_none() || a.5 == b.5)
            }
            _ => false,
        };
        assert!(alike, "{case}, event {i}: the fabric has {ours:?}, the program {theirs:?}");
    }
}

fn compare(name: &str) {
    let case = Case::read(name);
    let last = case.events.last().expect("events").0;
    assert_same(name, ours(case.spec(), last), case.events);
}

#[test]
fn the_oracle_says_of_two_short_streams_what_is_kept_to_be_checked_by_hand() {
    assert_eq!(ORACLE.kept(), ["short_aimd", "short_dack"]);
}

#[test]
fn a_stream_to_a_host_at_half_a_fifth_or_a_quarter_of_its_link_goes_as_the_oracle_says() {
    for policy in ["opt", "aimd", "dack"] {
        for scene in ["small", "half", "fifth"] {
            compare(&format!("{scene}_{policy}"));
        }
    }
}

#[test]
fn twenty_puts_and_what_is_lost_of_them_are_all_delivered_as_the_oracle_says() {
    ["short_opt", "short_aimd", "short_dack"].into_iter().for_each(compare);
}

#[test]
fn four_hosts_that_send_to_a_fifth_share_it_as_the_oracle_says() {
    ["incast_opt", "incast_aimd", "incast_dack", "ordered", "ordered_late"].into_iter().for_each(compare);
}

#[test]
fn streams_in_both_directions_carry_each_others_acks_as_the_oracle_says() {
    ["both_opt", "both_aimd", "both_dack"].into_iter().for_each(compare);
}

#[test]
fn what_a_nack_reserves_is_kept_as_the_oracle_says() {
    ["kept_counted", "kept_one_packet"].into_iter().for_each(compare);
}

#[test]
fn a_target_that_acknowledges_what_it_has_processed_does_so_as_the_oracle_says() {
    ["processed", "processed_incast"].into_iter().for_each(compare);
}
