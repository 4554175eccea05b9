//! Traces as traffic: when the applications of this repository's traces are through, and what is wrong with others.

use crate::common::{report, root};
use backwater_fabric::{Control, Kind, Simulation};
use backwater_scenario::Scenario;
use backwater_units::Time;

/// When the last message of the trace scenario has come in, in picoseconds, and how many there are.
fn through(file: &str, settings: &[&str]) -> (u64, usize) {
    let mut overrides = vec![format!("traffic.app.file=traces/{file}")];
    overrides.extend(settings.iter().map(ToString::to_string));
    let scenario = Scenario::load(&root().join("scenarios/trace.toml"), &overrides);
    let scenario = scenario.and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(scenario.build(), Kind::Windows { threads: 1 });
    let run = simulation.run(&Control::default(), &mut |_| Ok(()));
    run.unwrap_or_else(|violation| panic!("{violation}"));
    let flows = simulation.flows();
    let last = flows.iter().map(|flow| flow.finish).max().unwrap_or(Time::MAX);
    (last.as_ps(), flows.len())
}

#[test]
fn a_ring_allreduce_of_16_ranks_takes_30_rounds_of_3_us() {
    // 4 packets of 0.2 us, the last one once more behind the switch, and twice 1 us: 3 us, 2 · 15 times
    assert_eq!(through("ring-allreduce.trace", &[]), (90_000_000, 16 * 30));
}

#[test]
fn the_stencil_computes_exchanges_meets_computes_exchanges_and_adds_up() {
    // The faces follow each other, 0.4 us each: the last of 1.2 us is there after 1.2 + 1 + 0.2 + 1. No two meet at a switch port.
    let exchange = 5_000_000 + 3_400_000;
    // Three rounds of 1 B (0.2 ns) and of 8 B (1.6 ns), each over two links of 1 us.
    let (barrier, sum) = (3 * 2_000_400, 3 * 2_003_200);
    let (last, flows) = through("halo-exchange.trace", &[]);
    assert_eq!(last, exchange + barrier + exchange + sum);
    assert_eq!(flows, 2 * 3 * 8 + 2 * 3 * 8);
}

#[test]
fn an_application_that_begins_later_is_through_later_and_on_other_hosts_as_soon() {
    assert_eq!(through("ring-allreduce.trace", &["traffic.app.start=7us"]).0, 97_000_000);
    let hosts = "traffic.app.hosts=[\"h1\", \"h3\", \"h5\", \"h7\", \"h9\", \"h11\", \"h13\", \"h15\"]";
    let there = through("halo-exchange.trace", &["topology.hosts=20", hosts]);
    assert_eq!(there, through("halo-exchange.trace", &[]));
}

#[test]
fn what_waits_for_what_is_the_same_story_on_any_number_of_threads() {
    let told = |kind| {
        let changes = ["traffic.app.file=traces/halo-exchange.trace".to_owned(), "cc.kind=dcqcn".to_owned()];
        let scenario = Scenario::load(&root().join("scenarios/trace.toml"), &changes);
        let scenario = scenario.and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(scenario.build(), kind);
        let run = simulation.run(&Control::default(), &mut |_| Ok(()));
        let digest = run.unwrap_or_else(|violation| panic!("{violation}")).digest;
        (digest, simulation.flows().iter().map(|flow| (flow.start, flow.finish)).collect::<Vec<_>>())
    };
    assert_eq!(told(Kind::Windows { threads: 1 }), told(Kind::Windows { threads: 2 }));
}

#[test]
fn a_trace_that_does_not_fit_is_refused_with_the_reason() {
    let text = std::fs::read_to_string(root().join("scenarios/trace.toml")).unwrap();
    let text = text.replace("traces/", &format!("{}/scenarios/traces/", root().display()));
    let few = report(&text, &["topology.hosts=12"]);
    assert!(few.contains("has 16 ranks, but there are 12 hosts"), "{few}");
    let wrong = report(&text.replace("ring-allreduce.trace", "../trace.toml"), &[]);
    assert!(wrong.contains("the first line must be `backwater-trace 1`"), "{wrong}");
}

/// 8 hosts on one switch, with a workload.
fn star(entry: &str) -> String {
    format!(
        "profile = \"ideal\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
         [[traffic]]\nname = \"app\"\n{entry}"
    )
}

#[test]
fn a_one_sided_program_takes_a_round_trip_to_be_quiet_and_one_for_each_get() {
    // Twice: 5 us of computing, two faces of 0.4 us, of which the last packet is there after 1 + 0.2 + 1 us; its ACK after 2 us more;
    // three rounds of 2 us. Then seven times a request of 2 us and a reply, whose first packet takes 0.2 us twice and 2 us. ACKs of
    // 64 B (13 ns) and messages of 1 B may have to wait for each other: less than 26 ns each of 4 + 2 · 7 times.
    let phase = 5.0 + 0.8 + 2.2 + 2.0 + 3.0 * 2.0;
    let least = 2.0 * phase + 7.0 * (2.0 + 2.4);
    let (last, flows) = through("one-sided.trace", &["ack.every=1"]);
    let taken = last as f64 / 1e6;
    assert!((least..least + 0.7).contains(&taken), "{taken} us instead of {least}");
    assert_eq!(flows, 2 * (2 * 8 + 3 * 8) + 2 * 7);
}

#[test]
fn what_waits_for_acknowledgements_needs_a_transport_that_has_them() {
    let root = root();
    let file = root.join("scenarios/traces/one-sided.trace");
    let text = star(&format!("kind = \"trace\"\nfile = \"{}\"\n", file.display()));
    let refused = report(&text, &[]);
    assert!(refused.contains("traffic.app waits for acknowledgements"), "{refused}");
    assert!(refused.contains("ack.every = 1"), "{refused}");
    let bale = star("kind = \"bale\"\nkernel = \"histogram\"\nupdates = 5\n");
    assert!(report(&bale, &[]).contains("traffic.app waits for acknowledgements"));
    assert!(Scenario::parse(&bale, "bale.toml", &root, &["ack.every=1".to_owned()]).is_ok());
    // Gets that block are over when their reply is there: nothing is left to be acknowledged.
    let gather = bale.replace("histogram", "index-gather");
    Scenario::parse(&gather, "bale.toml", &root, &[]).and_then(Scenario::validate).expect("no puts");
}

/// Start and finish of the flows, in nanoseconds, of a program on 8 hosts of the EC paper, links of 1 us.
fn puts(program: &str, name: &str, settings: &[&str]) -> Vec<(f64, f64)> {
    let file = std::env::temp_dir().join(format!("backwater-{}-{name}.trace", std::process::id()));
    std::fs::write(&file, format!("backwater-trace 1\nranks 8\n{program}")).expect("a place for files");
    let text = star(&format!("kind = \"trace\"\nfile = \"{}\"\n", file.display()))
        .replace("ideal", "endpoint")
        .replace("40Gbps", "102.4Gbps");
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let valid = Scenario::parse(&text, "puts.toml", &root(), &settings).and_then(Scenario::validate);
    let mut simulation = Simulation::new(
        valid.unwrap_or_else(|error| panic!("{error}")).build(),
        Kind::Windows { threads: 1 },
    );
    let run = simulation.run(&Control::default(), &mut |_| Ok(()));
    run.unwrap_or_else(|violation| panic!("{violation}"));
    std::fs::remove_file(file).expect("it was written");
    let ns = |time: Time| time.as_ps() as f64 / 1e3;
    simulation.flows().iter().map(|flow| (ns(flow.start), ns(flow.finish))).collect()
}

#[test]
fn a_put_is_over_when_it_has_left_and_quiet_when_its_ack_has_been_processed() {
    let bits = 8.0 * (2000.0 + 64.0) / 102.4;
    let flows = puts("pe 0 put to 1 bytes 2000 times 2\npe 0 put to 2 bytes 2000", "put", &[]);
    // Staged for 95 ns, then on the wire for 161 ns: the PE goes on.
    assert!(flows.iter().zip([0.0, 95.0 + bits]).all(|(flow, at)| (flow.0 - at).abs() < 0.1), "{flows:?}");
    let flows = puts("pe 0 put to 1 bytes 2000\npe 0 quiet\npe 0 put to 1 bytes 2000", "quiet", &[]);
    // Two links of 1 us each way with a switch that forwards 32 B of header or the whole ACK, 2.5 ns each. The ACK takes 430 ns to
    // be processed, and another 95 ns until what it allows is staged.
    let quiet = 95.0 + bits + 4000.0 + 3.0 * 2.5 + 430.0 + 95.0;
    assert!((flows[1].0 - quiet).abs() < 0.1, "{} instead of {quiet}", flows[1].0);
}

#[test]
fn a_get_from_a_slow_host_waits_until_its_request_has_been_processed() {
    let reply = |name, settings: &[&str]| {
        let flows = puts("pe 0 get from 1 bytes 8", name, settings);
        flows[1].0
    };
    // The request of 1 + 64 B takes 520 ns of a host that processes 1 Gbps.
    let slow = reply("slow", &["host.of=h1", "host.drain=1Gbps"]) - reply("fast", &[]);
    assert!((slow - 520.0).abs() < 1.0, "{slow} ns");
}

#[test]
fn a_rotated_exchange_of_8_pes_takes_7_turns_and_a_barrier() {
    // A block of 10 packets takes 2 us, and no two meet at a switch port: the last bit leaves after 7 turns and is there 2.2 us
    // later, its ACK of 13 ns twice 2 us after that, and then come three rounds of 2 us.
    let text = star("kind = \"bale\"\nkernel = \"all-to-all\"\nsize = \"10KB\"\n[ack]\nevery = 10\n");
    let valid = Scenario::parse(&text, "bale.toml", &root(), &[]).and_then(Scenario::validate);
    let valid = valid.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(valid.build(), Kind::Windows { threads: 1 });
    let run = simulation.run(&Control::default(), &mut |_| Ok(()));
    run.unwrap_or_else(|violation| panic!("{violation}"));
    let flows = simulation.flows();
    let last = flows.iter().map(|flow| flow.finish).max().unwrap_or(Time::MAX).as_ps() as f64 / 1e6;
    let least = 7.0 * 2.0 + 2.2 + 2.0 + 3.0 * 2.0;
    assert!((least..least + 0.2).contains(&last), "{last} us instead of {least}");
    assert_eq!(flows.len(), 8 * 7 + 8 * 3);
}

#[test]
fn a_kernel_that_cannot_be_is_refused_with_the_reason() {
    let says = |entry: &str, what: &str| {
        let refused = report(&star(entry), &["ack.every=1"]);
        assert!(refused.contains(what), "{refused}");
    };
    says("kind = \"bale\"\nkernel = \"histogram\"\n", "add updates = 1000");
    says("kind = \"bale\"\nkernel = \"histogram\"\nupdates = 1\nhosts = \"h1\"\n", "at least two PEs");
    says("kind = \"bale\"\nkernel = \"sort\"\nupdates = 1\n", "histogram");
    says("kind = \"bale\"\nkernel = \"index-gather\"\nupdates = 1\norder = \"random\"\n", "remove this line");
    says("kind = \"bale\"\nkernel = \"index-gather\"\nupdates = 2000000\n", "this means 32000024 flows");
}
