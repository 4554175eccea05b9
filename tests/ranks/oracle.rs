//! An independent program (`oracle/`, in Python, from the docs and the rules of MPI alone) tells the same story: every stopwatch
//! of every rank at the same picosecond.
use std::collections::BTreeMap;
use std::str::FromStr;

use backwater_control::flow_control::{CreditReturn, Unit};
use backwater_fabric::{CreditSpec, NicScheduler, Queueing, Spec, Start, Switching};
use backwater_traffic::program::{Costs, Op};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Oracle, messages, run, star, with_links};

static ORACLE: Oracle = Oracle::new("ranks", "cases");

/// (end, rank, series, label, start)
type Timing = (u64, u32, u16, u32, u64);

/// What the program was given and what it answered.
struct Case {
    settings: BTreeMap<String, u64>,
    /// Host, start in picoseconds, program.
    ranks: Vec<(u32, u64, Vec<Op>)>,
    timings: Vec<Timing>,
}

impl Case {
    fn read(text: &str) -> Self {
        let (mut settings, mut ranks) = (BTreeMap::new(), Vec::new());
        for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["rank", host, start] => ranks.push((number(host), number(start), Vec::new())),
                ["op", name, ref numbers @ ..] => {
                    let ops = &mut ranks.last_mut().expect("a rank before its ops").2;
                    ops.push(op(name, numbers));
                }
                [key, value] => drop(settings.insert(key.to_owned(), number(value))),
                _ => panic!("{line}"),
            }
        }
        let timings = text.lines().filter(|line| !line.starts_with('#')).map(timing).collect();
        Self { settings, ranks, timings }
    }

    fn bytes(&self, key: &str) -> Bytes {
        Bytes::new(self.settings[key])
    }

    fn span(&self, key: &str) -> Span {
        Span::from_ps(self.settings[key])
    }

    /// The same in our words.
    fn spec(&self) -> Spec {
        let hosts = 1 + self.ranks.iter().map(|rank| rank.0).max().expect("a rank");
        let network = star(hosts, Rate::from_bps(self.settings["link"]), self.span("delay"));
        let network = with_links(&network, |host, link| link.delay += self.span("skew") * host as u64);
        let costs = Costs {
            send: self.span("send"),
            receive: self.span("receive"),
            eager: self.bytes("eager"),
            control: self.bytes("control"),
            local: self.span("local"),
        };
        let placed: Vec<_> = self.ranks.iter().map(|(host, _, ops)| (*host, ops.clone())).collect();
        let mut spec = messages(network, &placed, costs);
        // So the oracle's NICs do: `pump` in `oracle/network.py` takes the channel that has been due for longest.
        spec.nic.scheduler = NicScheduler::LongestDue;
        for (rank, (_, start, _)) in spec.programs.ranks.iter_mut().zip(&self.ranks) {
            rank.start = Time::from_ps(*start);
        }
        spec.programs.series = ["a", "b", "c"].map(str::to_owned).to_vec();
        (spec.packet.payload, spec.packet.header) = (self.bytes("payload"), self.bytes("header"));
        if self.settings["cut"] > 0 {
            spec.switch.switching = Switching::CutThrough { header: self.bytes("cut") };
        }
        if self.settings["credits"] > 0 {
            spec.switch.queueing = Queueing::VirtualOutput;
            spec.switch.pfc = None;
            spec.switch.credits = Some(CreditSpec {
                buffer: self.bytes("credits"),
                start: if self.settings["full"] > 0 { Start::Full } else { Start::Packet },
                unit: Unit::new(self.bytes("unit")).expect("a power of two"),
                returned: CreditReturn::AtOnce,
                frame: self.bytes("update"),
                unchanged: false,
                loss_ppm: 0,
                priorities: 0x7f,
            });
        }
        spec
    }
}

fn number<T: FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("a number, not {word}"))
}

/// A rank, tag, or number of turns, of which −1 stands for any and for ever.
fn open(word: &str) -> u32 {
    if word == "-1" { u32::MAX } else { number(word) }
}

fn op(name: &str, words: &[&str]) -> Op {
    match (name, words) {
        ("isend", [to, size, tag, set]) => {
            Op::Isend { to: number(to), size: number(size), tag: number(tag), set: number(set) }
        }
        ("irecv", [from, size, tag, set]) => {
            Op::Irecv { from: open(from), size: number(size), tag: open(tag), set: number(set) }
        }
        ("wait", [sets]) => Op::Wait { sets: number(sets) },
        ("put", [to, size]) => Op::Put { to: number(to), size: number(size) },
        ("get", [from, size]) => Op::Get { from: number(from), size: number(size) },
        ("flush", []) => Op::Flush,
        ("compute", [span]) => Op::Compute(Span::from_ps(number(span))),
        ("loop", [times, end]) => Op::Loop { times: open(times), end: number(end) },
        ("end", [begin]) => Op::End { begin: number(begin) },
        ("start", [timer]) => Op::Start { timer: number(timer) },
        ("stop", [timer, series, label]) => {
            Op::Stop { timer: number(timer), series: number(series), label: number(label) }
        }
        _ => panic!("{name} {words:?}"),
    }
}

fn timing(line: &str) -> Timing {
    let words: Vec<&str> = line.split(' ').collect();
    let [end, rank, series, label, start] = words[..] else { panic!("{line}") };
    (number(end), number(rank), number(series), number(label), number(start))
}

fn ours(spec: Spec) -> Vec<Timing> {
    let told = run(spec).records.timings;
    told.iter().map(|r| (r.time.as_ps(), r.rank, r.series, r.label, r.start.as_ps())).collect()
}

fn compare(prefix: &str, expected: usize) {
    let cases = ORACLE.cases().iter().filter(|(name, _)| name.starts_with(prefix));
    assert_eq!(cases.clone().count(), expected, "cases of {prefix}");
    let mut wrong = Vec::new();
    for (name, text) in cases {
        let case = Case::read(text);
        let (mut ours, mut theirs) = (ours(case.spec()), case.timings);
        ours.sort_unstable();
        theirs.sort_unstable();
        let first = (0..ours.len().max(theirs.len())).find(|i| ours.get(*i) != theirs.get(*i));
        if let Some(i) = first {
            wrong.push(format!("{name}, timing {i}: {:?} against {:?}", ours.get(i), theirs.get(i)));
        }
    }
    assert!(wrong.is_empty(), "the fabric's against the program's\n{}", wrong.join("\n"));
}

#[test]
fn the_oracle_says_of_two_small_programs_what_is_kept_to_be_checked_by_hand() {
    assert_eq!(ORACLE.kept(), ["late_plain_64", "ping_plain_8"]);
}

#[test]
fn ping_pongs_of_any_size_take_as_long_as_the_oracle_says() {
    compare("ping_", 30);
}

#[test]
fn rings_in_which_all_send_at_once_take_as_long_as_the_oracle_says() {
    compare("ring_", 15);
}

#[test]
fn incasts_by_messages_puts_and_gets_take_as_long_as_the_oracle_says() {
    compare("incast_", 15);
}

#[test]
fn messages_that_come_before_their_receives_take_as_long_as_the_oracle_says() {
    compare("late_", 10);
}

#[test]
fn programs_drawn_at_random_take_as_long_as_the_oracle_says() {
    compare("drawn_", 30);
}
