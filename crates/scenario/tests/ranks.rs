//! Ranks of programs and of GPCNeT: where they are, what they cost, what cannot work.

use crate::common::{Said, report, root, says, valid, validate};
use backwater_fabric::Balancing;
use backwater_scenario::{Scenario, ScenarioError, ValidScenario};
use backwater_traffic::Pacing;
use backwater_traffic::program::{Channel, Rank};
use backwater_units::{Bytes, Span, Time};

/// Twelve hosts of a star, GPCNeT on them.
const GPCNET: &str = r#"
profile = "hpc"
[topology]
kind = "star"
hosts = 12
rate = "100Gbps"
delay = "100ns"

[[traffic]]
name = "load"
kind = "gpcnet"
ranks-per-host = 2
rings = 2
"#;

/// A program of the repository at the hosts of a star.
const HALO: &str = r#"
profile = "hpc"
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "100ns"

[[traffic]]
name = "app"
kind = "program"
file = "programs/halo.program"
ranks-per-host = 2
"#;

fn halo(overrides: &[&str]) -> Result<ValidScenario, ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse(HALO, "test.toml", &root().join("scenarios"), &overrides)?.validate()
}

#[track_caller]
fn halo_says(overrides: &[&str], wanted: &[&str]) {
    let Err(error) = halo(overrides) else { panic!("this scenario should be refused") };
    says(&error.to_string(), wanted);
}

fn hosts(ranks: &[Rank]) -> Vec<u32> {
    ranks.iter().map(|rank| rank.host).collect()
}

#[test]
fn blocks_fill_hosts_cycles_deal_ranks_out_and_random_places_follow_the_seed() {
    let of = |overrides: &[&str]| {
        let spec = halo(overrides).unwrap_or_else(|error| panic!("{error}")).build();
        hosts(&spec.programs.ranks)
    };
    assert_eq!(of(&[]), (0..16).map(|rank| rank / 2).collect::<Vec<u32>>());
    assert_eq!(of(&["traffic.app.placement=cyclic"]), (0..16).map(|rank| rank % 8).collect::<Vec<u32>>());
    let random = |seed: &str| of(&["traffic.app.placement=random", seed]);
    assert_eq!(random("run.seed=5"), random("run.seed=5"));
    assert_ne!(random("run.seed=5"), random("run.seed=6"));
}

#[test]
fn each_channel_has_a_flow_between_the_hosts_of_its_ranks() {
    let flow = "[[traffic]]\nname = \"other\"\nkind = \"flow\"\nfrom = \"h7\"\nto = \"h0\"\nsize = \"1MB\"\n";
    let text = format!("{HALO}{flow}");
    let scenario =
        Scenario::parse(&text, "test.toml", &root().join("scenarios"), &[]).and_then(Scenario::validate);
    let spec = scenario.unwrap_or_else(|error| panic!("{error}")).build();
    let ranks = &spec.programs.ranks;
    assert!(!spec.programs.channels.is_empty());
    for &Channel { flow, from, to, .. } in &spec.programs.channels {
        let flow = spec.flows[flow as usize];
        assert_eq!((flow.src, flow.dst), (ranks[from as usize].host, ranks[to as usize].host));
        assert_eq!((flow.pacing, flow.size, flow.start), (Pacing::Messages, Bytes::MAX, Time::MAX));
    }
    let channels = spec.flows.iter().filter(|flow| flow.pacing == Pacing::Messages).count();
    assert_eq!((channels, spec.flows.len()), (spec.programs.channels.len(), channels + 1));
}

#[test]
fn calls_cost_what_is_written_and_begin_at_the_start_of_the_entry() {
    let costs = ["traffic.app.mpi.send=1us", "traffic.app.mpi.eager=64KiB", "traffic.app.start=2us"];
    let spec = halo(&costs).unwrap_or_else(|error| panic!("{error}")).build();
    let cost = spec.programs.costs[0];
    assert_eq!((cost.send, cost.eager), (Span::from_us(1), Bytes::new(64 << 10)));
    // What is not written is at its default.
    assert_eq!((cost.receive, cost.control), (Span::from_ns(300), Bytes::new(16)));
    assert!(spec.programs.ranks.iter().all(|rank| rank.start == Time::from_ps(2_000_000)));
    halo_says(&["traffic.app.mpi.send=0ns"], &["mpi.send = \"0ns\" is not allowed", "from 1ns to 1s"]);
}

#[test]
fn ranks_need_room_and_a_program_that_can_be_read() {
    let few = "traffic.app.ranks-per-host=1";
    halo_says(
        &[few],
        &["has 16 ranks", "8 hosts with ranks-per-host = 1 have room for 8", "allowed: 2 or more"],
    );
    halo_says(&["traffic.app.hosts=h[0-3]"], &["room for 8", "allowed: 4 or more"]);
    halo_says(&["traffic.app.file=program.toml"], &["\"program.toml\" line 6", "docs/programs.md"]);
    halo_says(&["traffic.app.file=none.program"], &["\"none.program\" cannot be read"]);
}

#[test]
fn ranks_have_queue_pairs_of_their_own() {
    halo_says(&["traffic.app.transport=put"], &["transport = \"put\"", "set transport = \"roce\""]);
    halo_says(&["traffic.app.control=line-rate"], &["not for ranks", "cc = { kind = \"none\" }"]);
    halo_says(
        &["traffic.app.connection=pair"],
        &["each rank has one queue pair to each other one", "remove this line"],
    );
    assert!(halo(&["traffic.app.cc.kind=dcqcn", "switch.detector.kind=red"]).is_ok());
    assert!(halo(&["traffic.app.priority=5"]).is_ok());
}

#[test]
fn a_message_has_no_more_packets_than_a_frame_can_number() {
    // 1 MiB in packets of 1 B fit; 2^31 - 2 packets are the most.
    assert!(halo(&["packet.payload=1B"]).is_ok());
    let size = "traffic.load.bandwidth={ size = \"1TB\" }";
    says(
        &report(GPCNET, &[size, "packet.payload=100B"]),
        &["a message of 1000GB", "2^31 - 2 packets of 100B"],
    );
}

#[test]
fn of_twelve_hosts_nine_congest_and_three_are_tested() {
    let spec = valid(GPCNET, &[]).build();
    let programs = &spec.programs;
    assert_eq!(programs.ranks.len(), 24);
    let tests = programs.ranks.iter().filter(|rank| programs.roles[usize::from(rank.role)] == "test");
    // 0.8 x 12 = 9.6
    assert_eq!(tests.count(), 3 * 2);
    assert!(programs.ranks.iter().all(|rank| rank.host == rank.number / 2));
    let hosts_of_tests = |seed: &str| {
        let programs = valid(GPCNET, &[seed]).build().programs;
        let test = |rank: &&Rank| programs.roles[usize::from(rank.role)] == "test";
        programs.ranks.iter().filter(test).map(|rank| rank.host).collect::<Vec<u32>>()
    };
    assert_eq!(hosts_of_tests("run.seed=3"), hosts_of_tests("run.seed=3"));
    assert!((4..8).any(|seed| hosts_of_tests(&format!("run.seed={seed}")) != hosts_of_tests("run.seed=3")));
}

#[test]
fn gpcnet_says_what_it_needs() {
    let wrong = |overrides: &[&str]| report(GPCNET, overrides);
    says(&wrong(&["traffic.load.hosts=h[0-8]"]), &["GPCNeT needs at least 10", "name more hosts"]);
    says(&wrong(&["traffic.load.congestor-share=0.95"]), &["congestor-share = 0.95", "allowed are 8 to 10"]);
    says(&wrong(&["traffic.load.congestor-share=0.1"]), &["congestor-share = 0.1", "two for each kind"]);
    says(&wrong(&["traffic.load.congestors=[\"incast\", \"incast\"]"]), &["congestors", "each kind once"]);
    says(
        &wrong(&["traffic.load.tests=[\"latency\", \"latency\"]"]),
        &["a test is named twice", "the second time"],
    );
    says(&wrong(&["traffic.load.tests=[]"]), &["name at least one of latency, bandwidth, allreduce"]);
    says(
        &wrong(&["traffic.load.isolated=false", "traffic.load.congested=false"]),
        &["congested = false", "set isolated = true, congested = true or both"],
    );
    says(&wrong(&["traffic.load.transport=put"]), &["transport = \"put\""]);
    says(&wrong(&["traffic.load.latency.timed=0"]), &["latency.timed = 0 is out of range", "allowed: 1 to"]);
    says(&wrong(&["traffic.load.congestors-size=1KiB"]), &["did you mean \"congestor-size\"?"]);
}

#[test]
fn packets_of_ranks_may_be_spread() {
    for (way, balancing) in [("spray", Balancing::Spray), ("adaptive", Balancing::Adaptive)] {
        let way = format!("switch.load-balancing={way}");
        let spec = valid(GPCNET, &[&way]).build();
        assert_eq!(spec.switch.balancing, balancing);
    }
}

#[test]
fn keys_of_tests_that_there_are_not_are_caveats() {
    let told = |overrides: &[&str]| valid(GPCNET, overrides).caveats().said();
    assert_eq!(told(&[]), "");
    let only = "traffic.load.tests=[\"allreduce\"]";
    says(&told(&[only]), &["tests without latency and bandwidth: traffic.load.{rings}"]);
    says(&told(&[only, "traffic.load.latency.timed=3"]), &["tests without latency: traffic.load.{latency}"]);
    let alone = ["traffic.load.congested=false", "traffic.load.congestor-size=8KiB"];
    says(&told(&alone), &["congested = false: traffic.load.{congestor-size}"]);
}

#[test]
fn a_run_of_programs_ends_with_the_last_that_ends() {
    assert!(validate(GPCNET, &[]).is_ok(), "congestors never end, tests do");
    let base = std::env::temp_dir().join(format!("backwater-ranks-{}", std::process::id()));
    std::fs::create_dir_all(&base).unwrap();
    let program = "backwater-program 1\nranks 2\nrank * loop forever\nrank * sendrecv to +1 bytes 8 from -1\nrank * end\n";
    std::fs::write(base.join("endless.program"), program).unwrap();
    let text = HALO.replace("programs/halo.program", "endless.program");
    let scenario = |overrides: &[String]| Scenario::parse(&text, "test.toml", &base, overrides)?.validate();
    let error = scenario(&[]).err().map(|error| error.to_string()).unwrap_or_default();
    says(&error, &["all programs are endless", "run.until", "add until = \"10ms\""]);
    assert!(scenario(&["run.until=\"1ms\"".to_owned()]).is_ok());
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn in_gpcnet_on_the_tree_of_120_hosts_96_congest_under_every_scheme() {
    let path = root().join("scenarios/gpcnet.toml");
    let load = |set: &[String]| {
        let scenario = Scenario::load(&path, set).and_then(Scenario::validate);
        scenario.unwrap_or_else(|error| panic!("{error}"))
    };
    let schemes = load(&[]).settings().scheme.clone();
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    assert_eq!(names, ["none", "PFC", "DCQCN", "DCQCN+TCD", "IB CC", "ICI+", "PFT"]);
    for scheme in &schemes {
        // One rank at each host: the whole test takes long to write down.
        let set = [&scheme.set[..], &["traffic.ranks-per-host=1".to_owned()]].concat();
        let scenario = load(&set);
        assert!(scenario.caveats().is_empty(), "{}: {:?}", scheme.name, scenario.caveats());
        let programs = scenario.build().programs;
        let tests =
            programs.ranks.iter().filter(|rank| programs.roles[usize::from(rank.role)] == "test").count();
        assert_eq!((programs.ranks.len(), tests), (120, 24), "{}", scheme.name);
    }
}
