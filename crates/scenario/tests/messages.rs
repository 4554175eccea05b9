//! Messages that share connections, and the MPI and I/O messages of the TCD paper.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Said, report, says, validate};
use backwater_scenario::ValidScenario;
use backwater_traffic::OWN_CONNECTION;

const BURSTS: &str = r#"profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "b"
kind = "bursts"
from = ["h1", "h2"]
to = "h0"
size = "64KB"
rounds = 3
interval = "1us"
"#;

const TREE: &str = r#"profile = "authors"
[topology]
kind = "fat-tree"
routing = "d-mod-k"
k = 8
rate = "32Gbps"
delay = "4us"

[[traffic]]
name = "jobs"
kind = "mpi-io"
messages = 2000
duration = "100ms"
"#;

fn valid(text: &str, overrides: &[&str]) -> ValidScenario {
    validate(text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Hosts that receive I/O messages (those of 512 KiB and more).
fn io_servers(scenario: &ValidScenario) -> BTreeSet<u32> {
    scenario.flows().iter().filter(|f| f.size.get() >= 512 * 1024).map(|f| f.dst).collect()
}

#[test]
fn messages_have_queue_pairs_of_their_own_unless_the_entry_says_that_a_pair_shares_one() {
    let own = valid(BURSTS, &[]);
    assert!(own.flows().iter().all(|flow| flow.connection == OWN_CONNECTION));
    let shared = valid(BURSTS, &["traffic.b.connection=pair"]);
    let connections: Vec<u32> = shared.flows().iter().map(|flow| flow.connection).collect();
    assert_eq!(connections, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn two_entries_never_share_a_connection() {
    let second = BURSTS.split("[[traffic]]").nth(1).unwrap().replace("\"b\"", "\"c\"");
    let both = valid(
        &format!("{BURSTS}[[traffic]]{second}"),
        &["traffic.b.connection=pair", "traffic.c.connection=pair"],
    );
    let mut entries: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for flow in both.flows() {
        entries.entry(flow.connection).or_default().insert(flow.group);
    }
    assert_eq!(entries.len(), 4);
    assert!(entries.values().all(|entries| entries.len() == 1));
}

#[test]
fn a_kind_with_one_flow_for_each_pair_has_nothing_to_share() {
    let flow = BURSTS.replace("\"bursts\"", "\"flow\"").replace("rounds = 3\ninterval = \"1us\"\n", "");
    for connection in ["pair", "message"] {
        let report = report(&flow, &[&format!("traffic.b.connection={connection}")]);
        says(&report, &["kind = \"flow\" has one flow per source and destination", "remove this line"]);
    }
    says(&report(BURSTS, &["traffic.b.connection=qp"]), &["qp", "message", "pair"]);
}

#[test]
fn a_rack_is_a_pod_of_a_fat_tree_unless_it_is_to_be_the_hosts_at_a_switch() {
    // k = 8: 8 pods of 16 hosts, 32 edge switches of 4 hosts
    let pods = io_servers(&valid(TREE, &[]));
    assert!(pods.len() <= 32);
    assert!((0..8).all(|pod| pods.iter().filter(|&&host| host / 16 == pod).count() <= 4));
    let edges = valid(TREE, &["traffic.rack=edge", "traffic.io-servers-per-rack=1"]);
    let servers = io_servers(&edges);
    // 32 clients choose among 32 servers: at least 10 are chosen by one of them, whatever the seed
    assert!((10..=32).contains(&servers.len()), "{}", servers.len());
    assert!((0..32).all(|edge| servers.iter().filter(|&&host| host / 4 == edge).count() <= 1));
}

#[test]
fn a_client_has_one_connection_for_all_its_messages() {
    let jobs = valid(TREE, &[]);
    let mut connections: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for flow in jobs.flows() {
        connections.entry(flow.src).or_default().insert(flow.connection);
    }
    // 128 hosts: 32 I/O servers, 32 I/O clients, 64 MPI nodes, half of them clients
    assert_eq!(connections.len(), 64);
    assert!(connections.values().all(|own| own.len() == 1));
    let alone = valid(TREE, &["traffic.connection=message"]);
    assert!(alone.flows().iter().all(|flow| flow.connection == OWN_CONNECTION));
}

#[test]
fn a_load_of_the_host_links_sets_the_duration() {
    let last = |overrides: &[&str]| valid(TREE, overrides).flows().last().unwrap().start.as_ps() as f64 / 1e9;
    // 200 · 1 966 080 B + 1800 · 7475.2 B = 406.67 MB over 0.02 · 128 · 4 GB/s: 39.7 ms
    let text = TREE.replace("duration = \"100ms\"", "load = 0.02");
    let end = valid(&text, &[]).flows().last().unwrap().start.as_ps() as f64 / 1e9;
    assert!((39.0..39.72).contains(&end), "{end} ms");
    assert!((99.0..100.0).contains(&last(&[])));
}

#[test]
fn a_span_that_a_load_makes_is_shown_in_a_unit_for_people() {
    let text = TREE.replace("duration = \"100ms\"", "load = 0.9");
    let caveats = valid(&text, &[]).caveats().said();
    says(&caveats, &["us the 32 I/O servers are offered"]);
    assert!(!caveats.contains("ps the"), "{caveats}");
}

#[test]
fn io_servers_that_are_offered_more_than_their_links_carry_are_a_caveat() {
    // 200 · 1 966 080 B to 32 links of 4 GB/s need 3.07 ms
    let said = |duration: &str| {
        let scenario = valid(TREE, &[&format!("traffic.duration={duration}")]);
        scenario.caveats().said().contains("32 I/O servers are offered")
    };
    assert!(said("3ms") && !said("3100us"));
}

#[test]
fn a_mix_that_cannot_be_placed_says_why_and_what_would_help() {
    let wrong = |overrides: &[&str]| report(TREE, overrides);
    says(
        &wrong(&["traffic.rack=edge", "traffic.io-servers-per-rack=5"]),
        &["the rack of h0 has 4 hosts for 5 I/O servers", "allowed: 1 to 4"],
    );
    says(&wrong(&["traffic.io-clients=0.8"]), &["102 I/O clients", "96 hosts", "allowed: 1 host to 0.75"]);
    says(
        &wrong(&["traffic.io-servers-per-rack=4", "traffic.rack=edge"]),
        &["traffic.io-servers-per-rack=4", "are all 128 hosts", "no host is left for clients"],
    );
    says(&wrong(&["traffic.io-clients=0"]), &["0 I/O clients for 200 I/O messages"]);
    says(&wrong(&["traffic.mpi-clients=1"]), &["of 64 MPI nodes 64 are clients"]);
    says(&wrong(&["traffic.connections=33"]), &["one kind has only 32 servers", "allowed: 1 to 32"]);
    says(&wrong(&["traffic.load=0.1"]), &["both load and duration"]);
    says(&wrong(&["traffic.arrivals=at-once"]), &["all messages come at once", "without effect"]);
    says(&report(&TREE.replace("duration = \"100ms\"\n", ""), &[]), &["neither load nor duration"]);
    says(&wrong(&["traffic.messages=0"]), &["messages", "1"]);
}

#[test]
fn without_pods_a_rack_is_what_stands_at_one_switch_and_too_few_hosts_are_refused() {
    let figure = |keys: &str| {
        let traffic = TREE.split("[[traffic]]").nth(1).unwrap();
        format!("profile = \"authors\"\n[topology]\nkind = \"tcd-figure-2\"\n[[traffic]]{traffic}{keys}")
    };
    says(&report(&figure("rack = \"pod\"\n"), &[]), &["only a fat tree has pods", "rack = \"edge\""]);
    says(
        &report(&figure(""), &[]),
        &["the rack of S0 has 2 hosts for 4 I/O servers", "leaf-spine, fat-tree"],
    );
}

#[test]
fn the_sizes_of_messages_can_be_drawn_by_other_kinds_of_traffic() {
    let poisson = |cdf: &str| {
        let traffic = "name = \"p\"\nkind = \"poisson\"\nload = 0.1\nflows = 500\n";
        let scenario = valid(
            &format!(
                "{}[[traffic]]\n{traffic}cdf = \"{cdf}\"\n",
                BURSTS.split("[[traffic]]").next().unwrap()
            ),
            &[],
        );
        scenario.flows().iter().map(|flow| flow.size.get() / 1024).collect::<BTreeSet<u64>>()
    };
    assert_eq!(poisson("mpi"), BTreeSet::from([2, 4, 8, 16, 32]));
    assert_eq!(poisson("io"), BTreeSet::from([512, 1024, 2048, 4096]));
    assert_eq!(poisson("mpi-io").len(), 9);
}

#[test]
fn half_of_the_clients_send_to_two_hot_servers_and_the_others_to_the_other_servers() {
    let skewed = valid(TREE, &["traffic.hot-servers=2", "traffic.hot-share=0.5"]);
    let mut clients: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for flow in skewed.flows().iter().filter(|flow| flow.size.get() >= 512 * 1024) {
        clients.entry(flow.dst).or_default().insert(flow.src);
    }
    // 32 I/O clients: 16 on two servers, 16 on the other 30.
    let mut fan_ins: Vec<usize> = clients.values().map(BTreeSet::len).collect();
    fan_ins.sort_unstable();
    assert_eq!(fan_ins[fan_ins.len() - 2..], [8, 8]);
    assert_eq!(fan_ins.iter().sum::<usize>(), 32);
}

#[test]
fn hot_servers_that_are_offered_more_than_their_links_carry_are_a_caveat() {
    // 200 · 1 966 080 B · 8 / 2 = 1.57 Gbit for two links of 32 Gbps in 20 ms: 1.23 of what they carry.
    let hot = ["traffic.hot-servers=2", "traffic.hot-share=0.5", "traffic.duration=20ms"];
    says(&valid(TREE, &hot).caveats().said(), &["the 2 hot I/O servers are offered 1.23"]);
}

#[test]
fn a_share_without_hot_servers_or_more_of_them_than_there_are_is_refused() {
    says(&report(TREE, &["traffic.hot-share=0.5"]), &["no server is hot", "add hot-servers = 2"]);
    says(&report(TREE, &["traffic.hot-servers=2"]), &["without hot-share", "add hot-share = 0.5"]);
    // 0.01 of 32 I/O clients is 0.32, which is rounded to none.
    let few = report(TREE, &["traffic.hot-servers=2", "traffic.hot-share=0.01"]);
    says(&few, &["hot-share = 0.01 of", "I/O clients is none", "raise hot-share"]);
    // Eight pods with four I/O servers each; the other half of the clients need one.
    let all = ["traffic.hot-servers=32", "traffic.hot-share=0.5"];
    says(&report(TREE, &all), &["32 of 32 I/O servers are hot", "allowed: 0 to 31"]);
    let two = ["traffic.hot-servers=2", "traffic.hot-share=0.5", "traffic.connections=2"];
    says(&report(TREE, &two), &["2 connections per client", "only that one"]);
}
