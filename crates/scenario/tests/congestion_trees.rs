//! The workloads of the ICI paper (section 4.2): background or `Google_All` messages beside congestion trees.

use std::collections::BTreeSet;

use crate::common::{Said, report, says, validate};
use backwater_scenario::ValidScenario;
use backwater_traffic::{Flow, Full, Gaps, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};

const NETWORK: &str = r#"
profile = "isolation"
[run]
until = "2.5ms"
[topology]
kind = "k-ary-n-tree"
k = 4
n = 3
routing = "d-mod-k"
"#;

const TREE: &str = r#"
[[traffic]]
name = "tree"
kind = "supply"
from = "h[3-63/4]"
to = "h0"
rate = "100Gbps"
start = "0.2ms"
until = "1.2ms"
"#;

const GOOGLE: &str = r#"
[[traffic]]
name = "google"
kind = "poisson"
cdf = "google-all"
load = 0.5
connection = "pair"
flows = 20000
"#;

fn scenario(entries: &[&str], overrides: &[&str]) -> ValidScenario {
    validate(&(NETWORK.to_owned() + &entries.concat()), overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(entries: &[&str], overrides: &[&str]) -> String {
    report(&(NETWORK.to_owned() + &entries.concat()), overrides)
}

fn of(valid: &ValidScenario, entry: u16) -> Vec<Flow> {
    valid.flows().iter().copied().filter(|flow| flow.group == entry).collect()
}

fn supplied(gbps: u64, backlog: u32) -> Pacing {
    Pacing::supplied(Rate::from_gbps(gbps), backlog, Time::from_ps(1_200_000_000), None)
}

#[test]
fn one_tree_is_16_sources_at_line_rate_for_1_ms_with_64_packets_waiting_at_most() {
    let valid = scenario(&[TREE], &[]);
    assert_eq!(valid.flows().len(), 16);
    for flow in valid.flows() {
        assert_eq!((flow.src % 4, flow.dst, flow.pacing), (3, 0, supplied(100, 64)));
        assert_eq!(flow.start, Time::from_ps(200_000_000));
    }
}

#[test]
fn with_four_trees_each_source_gives_each_destination_a_quarter() {
    let valid = scenario(&[TREE], &["traffic.tree.to=[\"h0\",\"h16\",\"h32\",\"h48\"]"]);
    assert_eq!(valid.flows().len(), 64);
    assert!(valid.flows().iter().all(|flow| flow.pacing == supplied(25, 16) && flow.dst % 16 == 0));
}

#[test]
fn a_tree_without_end_needs_other_traffic_or_an_end_of_the_run() {
    let endless = TREE.replace("until = \"1.2ms\"\n", "");
    assert!(scenario(&[&endless], &[]).flows().iter().all(Flow::is_endless));
    let network = NETWORK.replace("until = \"2.5ms\"", "");
    says(&report(&(network.clone() + &endless), &[]), &["this run never ends"]);
    assert!(validate(&(network + &endless + GOOGLE), &[]).is_ok());
}

/// Streams of PUTs as in the EC paper: 8 initiators at an eighth of the link each, 16 packets waiting at most.
const STREAMS: &str = r#"
[[traffic]]
name = "streams"
kind = "supply"
from = "h[1-8]"
to = "h0"
rate = "12.5Gbps"
gaps = "exponential"
full = "wait"
packets = 16
"#;

#[test]
fn the_streams_of_the_ec_paper_are_poisson_processes_that_wait_with_16_packets_each() {
    let valid = scenario(&[STREAMS], &[]);
    assert_eq!(valid.flows().len(), 8);
    let (rate, gaps, full) = (Rate::from_mbps(12_500), Gaps::Exponential, Full::Wait);
    let stream = Pacing::Supplied { rate, backlog: 16, until: Time::MAX, drawn: None, gaps, full };
    assert!(valid.flows().iter().all(|flow| flow.pacing == stream));
}

#[test]
fn a_rate_that_counts_payload_makes_headers_on_top_of_it() {
    let payload = scenario(
        &[STREAMS],
        &["traffic.streams.load-counts=payload", "packet.payload=1KiB", "packet.header=64B"],
    );
    let rate = Rate::from_bps(12_500_000_000 * (1024 + 64) / 1024);
    let counted = |flow: &Flow| matches!(flow.pacing, Pacing::Supplied { rate: own, .. } if own == rate);
    assert!(payload.flows().iter().all(counted));
}

#[test]
fn with_exponential_gaps_drawing_destinations_and_a_process_for_each_are_the_same_thing() {
    let to = "traffic.streams.to=[\"h0\",\"h16\"]";
    let turns = scenario(&[STREAMS], &[to]);
    let random = scenario(&[STREAMS], &[to, "traffic.streams.spread=random"]);
    assert_eq!(turns.flows(), random.flows());
}

#[test]
fn a_source_that_waits_for_one_destination_cannot_draw_others() {
    let even = ["traffic.streams.gaps=even", "traffic.streams.spread=random"];
    assert!(scenario(&[STREAMS], &even).flows().len() == 8, "a single destination is no draw");
    says(
        &refused(&[STREAMS], &[even[0], even[1], "traffic.streams.to=[\"h0\",\"h16\"]"]),
        &["waits for one destination cannot draw others", "full = \"skip\", gaps = \"exponential\""],
    );
    says(
        &refused(&[STREAMS], &["traffic.streams.backlog=64KiB"]),
        &["both backlog and packets are given", "remove one of them"],
    );
    says(
        &refused(&[STREAMS], &["traffic.streams.packets=1", "traffic.streams.to=[\"h0\",\"h16\"]"]),
        &["packets = 1 has no place for a packet of each of 2 destinations", "allowed: at least 2"],
    );
}

#[test]
fn a_supply_that_cannot_be_shared_is_refused() {
    says(
        &refused(
            &[TREE],
            &["traffic.tree.backlog=12KiB", "traffic.tree.to=[\"h0\",\"h16\",\"h32\",\"h48\"]"],
        ),
        &["backlog = 12.288KB has no place for a packet of each of 4 destinations", "at least 16.384KB"],
    );
    says(
        &refused(&[TREE], &["traffic.tree.rate=101Gbps"]),
        &["rate 101Gbps is more than the link of the source, 100Gbps"],
    );
    says(&refused(&[TREE], &["traffic.tree.until=0.1ms"]), &["until = 100us is not after start"]);
    says(&refused(&[TREE], &["traffic.tree.from=h3", "traffic.tree.to=h3"]), &["a flow from h3 to itself"]);
    says(&refused(&[TREE], &["traffic.tree.control=line-rate"]), &["wait for a reaction point"]);
    says(&refused(&[TREE], &["traffic.tree.connection=pair"]), &["nothing to share"]);
    says(&refused(&[TREE], &["traffic.tree.backlog=0B"]), &["traffic.tree.backlog = \"0B\" is not allowed"]);
}

#[test]
fn messages_of_one_packet_load_the_links_of_48_hosts_to_80_percent() {
    let background = r#"
[[traffic]]
name = "background"
kind = "poisson"
from = ["*", "!h[3-63/4]"]
to = ["*", "!h0"]
size = "4KiB"
load = 0.8
connection = "pair"
until = "2.5ms"
"#;
    let flows = of(&scenario(&[background], &[]), 0);
    let sources: BTreeSet<u32> = flows.iter().map(|flow| flow.src).collect();
    assert_eq!(sources, (0..64).filter(|host| host % 4 != 3).collect());
    // 48 hosts x 0.8 x 100 Gbps x 2.5 ms / 32768 bit = 292 969, standard deviation 541: five of them
    assert!(flows.len().abs_diff(292_969) < 2_706, "{}", flows.len());
    assert!(flows.iter().all(|flow| flow.size == Bytes::new(4096) && flow.dst != 0));
    let connections: BTreeSet<u32> = flows.iter().map(|flow| flow.connection).collect();
    assert_eq!(connections.len(), 48 * 62 + 1, "one for each source and destination: host 0 has one more");
}

/// Host numbers of the sources of an entry.
fn sources(valid: &ValidScenario, entry: u16) -> BTreeSet<u32> {
    of(valid, entry).iter().map(|flow| flow.src).collect()
}

#[test]
fn hot_sources_can_be_a_block_or_any_16_that_the_seed_draws() {
    let block = scenario(&[TREE], &["traffic.tree.from=h[48-63]"]);
    assert_eq!(sources(&block, 0), (48..64).collect());
    let drawn = |set: &[&str]| {
        let mut overrides = vec!["traffic.tree.from={of=[\"*\",\"!h0\"],random=16}"];
        overrides.extend(set);
        sources(&scenario(&[TREE], &overrides), 0)
    };
    let (one, two) = (drawn(&["run.seed=1"]), drawn(&["run.seed=2"]));
    assert!(one.len() == 16 && !one.contains(&0) && one == drawn(&["run.seed=1"]));
    assert_ne!(one, two);
}

#[test]
fn hosts_that_one_entry_draws_are_left_out_by_another_that_takes_the_rest() {
    let background = "[[traffic]]\nname = \"b\"\nkind = \"poisson\"\nfrom = { of = [\"*\", \"!h0\"], random = 16, rest = true }\nsize = \"4KiB\"\nload = 0.8\nflows = 20000\n";
    let valid = scenario(&[background, TREE], &["traffic.tree.from={of=[\"*\",\"!h0\"],random=16}"]);
    let (cold, hot) = (sources(&valid, 0), sources(&valid, 1));
    assert!(cold.is_disjoint(&hot));
    assert_eq!(cold.union(&hot).copied().collect::<Vec<_>>(), (1..64).collect::<Vec<_>>());
}

#[test]
fn host_lists_that_cannot_be_are_refused_with_what_to_write() {
    let from = |from: &str| refused(&[TREE], &[&format!("traffic.tree.from={from}")]);
    says(&from("h[3-"), &["\"h[3-\" is no pattern", "[ and ] hold a range of numbers", "h[3-63/4]"]);
    says(&from("h[9-3]"), &["the range ends before it begins"]);
    says(&from("h[64-99]"), &["the pattern \"h[64-99]\" fits no host"]);
    says(&from("[\"!h3\"]"), &["\"!h3\" takes hosts out of none", "[\"*\", \"!h3\"]"]);
    says(&from("[\"h3\", \"!h*\"]"), &["no hosts are named"]);
    says(&from("[\"*\", \"!h64\"]"), &["there is no host \"h64\""]);
    says(&from("{of=\"*\",random=65}"), &["65 hosts cannot be drawn from 64", "allowed: 1 to 64"]);
    says(&from("{of=\"*\",random=64,rest=true}"), &["some must be left", "allowed: 1 to 63"]);
    says(&from("{of=\"*\",random=0}"), &["allowed: 1 to 1048576"]);
    says(&from("{of=\"*\",count=4}"), &["unknown key \"count\""]);
    says(&from("{of=\"h9x\",random=2}"), &["there is no host \"h9x\""]);
}

#[test]
fn exactly_as_many_messages_as_asked_for_are_sent() {
    let flows = of(&scenario(&[TREE, GOOGLE], &[]), 1);
    assert_eq!(flows.len(), 20_000);
    says(&refused(&[GOOGLE], &["traffic.google.messages=5"]), &["did you mean \"flows\"?"]);
}

#[test]
fn a_load_counts_payload_or_what_is_on_the_wire() {
    let length = |overrides: &[&str]| {
        let flows = of(&scenario(&[GOOGLE], overrides), 0);
        flows[flows.len() - 1].start.since(Time::ZERO).as_secs_f64()
    };
    let payload = length(&[]);
    // 20 000 messages of 1001.269 B on half of 64 links of 100 Gbps take 50 us
    assert!((payload / 50.06e-6 - 1.0).abs() < 0.05, "{payload}");
    let wire = length(&["traffic.google.load-counts=wire", "packet.padded=false", "packet.header=100B"]);
    // and with 1.210 headers of 100 B each (1001.269 + 121) / 1001.269 times as long, the draws being the same
    assert!((wire / payload - 1.1208).abs() < 0.001, "{}", wire / payload);
    let padded = length(&["traffic.google.load-counts=wire"]);
    // 1.210 packets of 4 KiB each
    assert!((padded / payload - 1.210 * 4096.0 / 1001.269).abs() < 0.005, "{}", padded / payload);
}

#[test]
fn sizes_are_given_once() {
    says(&refused(&[GOOGLE, "size = \"4KiB\""], &[]), &["flow sizes are given twice"]);
    let none = GOOGLE.replace("cdf = \"google-all\"\n", "");
    says(&refused(&[&none], &[]), &["no flow sizes are given", "google-all"]);
    says(&refused(&[GOOGLE], &["traffic.google.cdf=google"]), &["did you mean \"google-all\"?"]);
}

#[test]
fn a_burst_of_100000_packets_is_6250_of_each_source() {
    let burst = |to: &str, size: &str| {
        format!(
            "[[traffic]]\nname = \"burst\"\nkind = \"flow\"\nfrom = [\"h3\", \"h7\"]\nto = {to}\nsize = \"{size}\"\n"
        )
    };
    let one = burst("\"h0\"", "25000KiB");
    let one = scenario(&[&one], &["traffic.burst.from=h[3-63/4]"]);
    assert_eq!(one.flows().len(), 16);
    let packets = |flows: &[Flow]| flows.iter().map(|flow| flow.size.get()).sum::<u64>() / 4096;
    assert_eq!(packets(one.flows()), 100_000);
    // four destinations at once
    let four = scenario(&[&burst("[\"h0\", \"h16\", \"h32\", \"h48\"]", "6250KiB")], &[]);
    assert_eq!((four.flows().len(), packets(four.flows())), (8, 2 * 6250));
    // four times in a row
    let rounds = "[[traffic]]\nname = \"burst\"\nkind = \"bursts\"\nfrom = [\"h3\", \"h7\"]\nto = \"h0\"\nsize = \"6250KiB\"\nrounds = 4\ninterval = \"1ms\"\n";
    let rounds = scenario(&[rounds], &[]);
    let starts: BTreeSet<Span> = rounds.flows().iter().map(|flow| flow.start.since(Time::ZERO)).collect();
    assert_eq!(starts.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3].map(Span::from_ms));
}

#[test]
fn short_messages_in_padded_packets_that_overload_the_links_are_told_of() {
    // 1001 B on average in 1.21 packets of 4096 B: 0.5 of payload is 2.47 on the wire.
    let said = |counts: &str| {
        let google = format!(
            "{NETWORK}[[traffic]]\nname = \"google\"\nkind = \"poisson\"\nfrom = \"*\"\nto = \"*\"\ncdf = \"google-all\"\nload = 0.5\n\
             load-counts = \"{counts}\"\nflows = 100\n"
        );
        validate(&google, &[]).unwrap().caveats().said()
    };
    assert!(said("payload").contains("google: load = 0.5 is 2.4"), "{}", said("payload"));
    assert!(!said("wire").contains("load = "), "{}", said("wire"));
}
