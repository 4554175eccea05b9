//! Iterations that are counted: what a run says is what it says when all of them are simulated.
use backwater_fabric::record::{FlowRecord, JobRecord, PortRecord};
use backwater_fabric::{Control, Kind, Reused, Simulation, Spec, Totals};
use backwater_scenario::Scenario;
use backwater_units::{Bytes, Time};
use proptest::prelude::*;

/// What a run says of what it did.
#[derive(Debug)]
struct Told {
    totals: Totals,
    flows: Vec<FlowRecord>,
    ports: Vec<PortRecord>,
    jobs: Vec<JobRecord>,
}

fn spec(text: &str, overrides: &[String]) -> Spec {
    let scenario = Scenario::parse(text, "reuse.toml", ".".as_ref(), overrides);
    let valid = scenario.and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"));
    valid.build()
}

fn told(spec: Spec, threads: usize) -> (Told, Option<Reused>) {
    let reuses = spec.reuse;
    let mut simulation = Simulation::new(spec, Kind::Windows { threads });
    let (mut jobs, mut reused) = (Vec::new(), None);
    let mut course = simulation.course(None);
    let control = Control::default();
    let take = &mut |records: &backwater_fabric::Records| {
        jobs.extend_from_slice(&records.jobs);
        Ok(())
    };
    let mut go = || {
        if reuses {
            reused = Some(simulation.run_reusing(&mut course, &control, take)?);
        } else {
            simulation.step(&mut course, Time::MAX, &control, take)?;
        }
        simulation.finish(course.clone(), take)
    };
    let totals = go().unwrap_or_else(|violation| panic!("{violation}"));
    let (flows, mut ports) = (simulation.flows(), simulation.ports());
    for port in &mut ports {
        // It is looked at at the ends of windows, which fall elsewhere in each iteration.
        port.peak_ingress = Bytes::ZERO;
    }
    jobs.sort_by_key(|job| (job.time, job.node, job.rank, job.step));
    (Told { totals, flows, ports, jobs }, reused)
}

/// Runs it with and without counting, and returns what was counted.
fn same(text: &str, overrides: &[&str], threads: usize) -> Reused {
    let mut overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    overrides.push("run.reuse=true".to_owned());
    let reusing = spec(text, &overrides);
    let mut whole = reusing.clone();
    whole.reuse = false;
    let ((counted, reused), (whole, _)) = (told(reusing, threads), told(whole, 1));
    let reused = reused.expect("asked for");
    let facts = |told: &Told| (told.totals.now, told.totals.end, told.totals.events, told.totals.packet_hops);
    for (one, other) in counted.flows.iter().zip(&whole.flows) {
        assert_eq!(one, other, "{reused:?}");
    }
    for (one, other) in counted.ports.iter().zip(&whole.ports) {
        assert_eq!(one, other, "{reused:?}");
    }
    assert_eq!(facts(&counted), facts(&whole), "{reused:?}");
    assert_eq!(counted.jobs, whole.jobs, "{reused:?}");
    assert_eq!((counted.flows.len(), counted.ports.len()), (whole.flows.len(), whole.ports.len()));
    assert_eq!(counted.totals.digest == whole.totals.digest, reused.counted == 0, "{reused:?}");
    reused
}

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "work"
kind = "collective"
op = "all-reduce"
algorithm = "ring"
size = "400KB"
iterations = 40
"#;

const TREE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 4
rate = "100Gbps"
delay = "1us"

[switch.detector]
kind = "red"
kmin = "20KB"
kmax = "20KB"

[[traffic]]
name = "work"
kind = "collective"
op = "all-to-all"
size = "100KB"
iterations = 60
"#;

const JOB: &str = r#"
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"

[[job]]
name = "train"
ranks = 8
iterations = 30

[[job.step]]
compute = "20us"

[[job.step]]
collective = "all-reduce"
size = "256KB"
algorithm = "halving-doubling"

[[job.step]]
collective = "all-to-all"
size = "64KB"
group = 4
"#;

#[test]
fn iterations_that_start_from_the_same_state_are_counted_and_everything_else_is_the_same() {
    let cases: [(&str, &[&str]); 7] = [
        (STAR, &[]),
        (STAR, &["traffic.work.algorithm=halving-doubling"]),
        (STAR, &["traffic.work.op=all-to-all", "traffic.work.algorithm=linear"]),
        (STAR, &["cc.kind=none", "host.nic.scheduler=round-robin"]),
        (
            STAR,
            &[
                "switch.flow-control=credits",
                "switch.credits.returned=at-once",
                "switch.credits.buffer=256KB",
            ],
        ),
        (JOB, &[]),
        (TREE, &["switch.flow-control=pfc", "switch.pfc.threshold=static", "cc.kind=none"]),
    ];
    let mut failed = Vec::new();
    for (number, (text, overrides)) in cases.into_iter().enumerate() {
        for threads in [1, 2] {
            let reused = same(text, overrides, threads);
            if reused.counted == 0 {
                failed.push((number, threads, reused));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn what_keeps_iterations_apart_is_told() {
    let fat_tree = STAR.replace("kind = \"star\"\nhosts = 8", "kind = \"fat-tree\"\nk = 4");
    let cases: [(&str, &[&str], &str); 5] = [
        (STAR, &["traffic.work.iterations=2"], "there are too few iterations"),
        (
            JOB,
            &["job.train.straggler={random = 8, slower = 1.5, drawn = \"exponential\"}"],
            "compute for unlike times",
        ),
        (
            STAR,
            &["switch.detector.kind=red", "cc.kind=hpcc", "ack.every=1"],
            "what switches write into packets",
        ),
        (STAR, &["run.clock=ns-3"], "whole nanoseconds"),
        (&fat_tree, &[], "take other ways"),
    ];
    for (text, overrides, why) in cases {
        let reused = same(text, overrides, 1);
        assert_eq!(reused.counted, 0, "{reused:?}");
        assert!(reused.why.as_ref().is_some_and(|told| told.contains(why)), "{reused:?}");
    }
}

#[derive(Clone, Debug)]
struct Drawn {
    text: String,
    threads: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let network = prop::sample::select(vec![
        "kind = \"star\"\nhosts = 4",
        "kind = \"star\"\nhosts = 6",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 3",
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 1\nhosts-per-leaf = 2",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 2",
    ]);
    let rate = prop::sample::select(vec!["40Gbps", "54.5Gbps", "100Gbps", "400Gbps"]);
    let delay = prop::sample::select(vec!["500ns", "1us", "1234567ps"]);
    let switch = prop::sample::select(vec![
        "flow-control = \"pfc\"",
        "flow-control = \"pfc\"\npfc.threshold = \"static\"\npfc.xoff = \"12KB\"\npfc.xon = \"9KB\"",
        "flow-control = \"pfc\"\npfc.form = \"timed\"\npfc.threshold = \"static\"\npfc.xoff = \"12KB\"\npfc.xon = \"9KB\"",
        "flow-control = \"credits\"\ncredits.returned = \"at-once\"\ncredits.buffer = \"400KB\"",
        "flow-control = \"credits\"\ncredits.period = \"5us\"\ncredits.buffer = \"1MB\"",
    ]);
    let queueing = prop::sample::select(vec!["output", "voq"]);
    let detector = prop::sample::select(vec![
        "kind = \"none\"",
        "kind = \"red\"\nkmin = \"20KB\"\nkmax = \"20KB\"",
        "kind = \"red\"\nkmin = \"5KB\"\nkmax = \"200KB\"",
        "kind = \"tcd\"",
        "kind = \"np-ecn\"",
    ]);
    let cc = prop::sample::select(vec!["none", "dcqcn", "timely", "dctcp", "swift"]);
    let part = prop::sample::select(vec![
        "compute = \"7us\"",
        "collective = \"all-reduce\"\nsize = \"60KB\"",
        "collective = \"all-reduce\"\nsize = \"30KB\"\nalgorithm = \"halving-doubling\"",
        "collective = \"all-to-all\"\nsize = \"90KB\"",
        "collective = \"all-to-all\"\nsize = \"20KB\"\ngroup = 2",
        "collective = \"broadcast\"\nsize = \"50KB\"",
    ]);
    let parts = prop::collection::vec(part, 1..4);
    let more = (parts, 8u32..25, prop::bool::ANY, 1usize..4, 0u64..5);
    (network, rate, delay, switch, queueing, detector, cc, more).prop_map(
        |(network, rate, delay, switch, queueing, detector, cc, (parts, iterations, turns, threads, seed))| {
            let order = if turns { "round-robin" } else { "longest-due" };
            let steps = format!("[[job.step]]\n{}\n", parts.join("\n[[job.step]]\n"));
            let text = format!(
                "[run]\nseed = {seed}\nreuse = true\n[topology]\n{network}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n[switch]\n{switch}\nqueueing = \
                 \"{queueing}\"\n[switch.detector]\n{detector}\n[cc]\nkind = \"{cc}\"\n[host]\nnic.scheduler = \"{order}\"\n[[job]]\nname = \
                 \"train\"\niterations = {iterations}\n{steps}"
            );
            Drawn { text, threads }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_counts_iterations_says_what_one_says_that_simulates_all(case in drawn()) {
        // What does not go together is refused.
        let valid = Scenario::parse(&case.text, "drawn.toml", ".".as_ref(), &[]).and_then(Scenario::validate);
        prop_assume!(valid.is_ok());
        same(&case.text, &[], case.threads);
    }
}
