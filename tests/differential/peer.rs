//! What the HPCC simulator was given and what it answered (snapshot 9f4be2a of alibaba-edu/High-Precision-Congestion-
//! Control, optimised build): its own text formats, in `data/`.
use std::path::PathBuf;

use backwater_topology::{Network, read};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::{Bytes, Time};

/// Times in the files count from the beginning of its run; its flows start at 2 s.
const ORIGIN: Time = Time::from_ps(2_000_000_000_000);

/// One of the cases.
pub(crate) struct Case {
    pub(crate) network: Network,
    pub(crate) flows: Vec<Flow>,
}

/// A line of `fct.txt`: nanoseconds from the flow's start to its last ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) fct_ns: u64,
}

pub(crate) fn text(case: &str, file: &str) -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("differential/data");
    std::fs::read_to_string(folder.join(case).join(file)).ok()
}

/// What it answers with other random numbers (`RngRun`), in picoseconds.
pub(crate) struct Draws {
    /// What it calls standalone, by flow.
    pub(crate) standalone: Vec<f64>,
    /// FCTs by draw and flow.
    pub(crate) fcts: Vec<Vec<f64>>,
}

/// The rows of a table, but for its head.
pub(crate) fn rows(case: &str, file: &str) -> Vec<Vec<String>> {
    let text = text(case, file).unwrap_or_else(|| panic!("no {file} for {case}"));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Reads a table of FCTs: a row for each flow, a column for each draw behind the standalone one.
pub(crate) fn draws(case: &str, file: &str) -> Draws {
    let rows = rows(case, file);
    let column = |i: usize| rows.iter().map(|row| row[i].parse().expect("a number")).collect::<Vec<f64>>();
    Draws { standalone: column(0), fcts: (1..rows[0].len()).map(column).collect() }
}

/// Reads what it was given in a case.
pub(crate) fn case(name: &str) -> Case {
    let file = |file: &str| text(name, file).unwrap_or_else(|| panic!("no {file} for {name}"));
    let network = read::hpcc(&file("topology.txt")).expect("a topology");
    let host_of = |node| network.host_index(node);
    let listed = backwater_traffic::read::hpcc(&file("flow.txt"), ORIGIN, host_of).expect("a flow list");
    let flows: Vec<Flow> = listed
        .iter()
        .map(|listed| Flow {
            group: 0,
            src: listed.src,
            dst: listed.dst,
            size: listed.size,
            start: listed.start,
            priority: listed.priority,
            pacing: Pacing::Controlled,
            connection: OWN_CONNECTION,
        })
        .collect();
    Case { network, flows }
}

/// Reads `fct.txt` of a case, in the order of the flows: `sip dip sport dport bytes start_ns fct_ns standalone_ns`, in
/// order of completion; the node of an address is its middle half. The start may be 1 ns early: that simulator keeps it
/// in a double.
pub(crate) fn answers(name: &str, Case { network, flows }: &Case) -> Vec<Answer> {
    let text = text(name, "fct.txt").unwrap_or_else(|| panic!("no fct.txt for {name}"));
    let mut found = vec![None; flows.len()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<u64>().expect("a number");
        let host = |word: &str| {
            let address = u32::from_str_radix(word.trim_start_matches("0x"), 16).expect("an address");
            network.host_index(address >> 8 & 0xffff).expect("a host")
        };
        let (src, dst, size) = (host(words[0]), host(words[1]), Bytes::new(number(4)));
        let start = number(5) * 1000 - ORIGIN.as_ps().min(number(5) * 1000);
        let same = |flow: &Flow| {
            (flow.src, flow.dst, flow.size) == (src, dst, size) && flow.start.as_ps().abs_diff(start) <= 1_000
        };
        let index = flows.iter().position(same).expect("a line of the flow list");
        let before = found[index].replace(Answer { fct_ns: number(6) });
        assert!(before.is_none(), "two answers for flow {index}");
    }
    found.into_iter().map(|answer| answer.expect("an answer for every flow")).collect()
}

/// Reads `pfc.txt` of a case, `time node type port pause`: when PAUSE frames arrived.
pub(crate) fn pauses(name: &str) -> Vec<Time> {
    let text = text(name, "pfc.txt").unwrap_or_else(|| panic!("no pfc.txt for {name}"));
    let time = |line: &str| {
        let (ns, _) = line.split_once(' ').expect("words");
        Time::from_ps(ns.parse::<u64>().expect("a number") * 1000 - ORIGIN.as_ps())
    };
    text.lines().map(time).collect()
}
