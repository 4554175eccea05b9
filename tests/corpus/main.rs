//! The corpus: scenarios that touch every feature, each with three hashes of what the first edition made of it. What moves code
//! without changing the model keeps all of them; what changes one says in its commit which, and why.
mod hash;

use backwater::{Run, Scenario, UserFunctions};
use backwater_control::detector::custom::{self as detecting, CustomDetector, PortEvent, QueueState};
use backwater_control::reaction::custom::{self as reacting, CustomConfig, Event, EventKind, FlowState};
use backwater_fabric::{Control, Kind, Simulation};
use backwater_scenario::Functions;
use serde::Deserialize;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// The scenarios of the repository that are in the corpus, cut short.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Corpus {
    case: Vec<Entry>,
}

/// A scenario, which stands for one case with each of its schemes, or for one case without any.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    /// Tells cases of the same file apart.
    name: Option<String>,
    #[serde(default)]
    set: Vec<String>,
}

struct Case {
    name: String,
    file: PathBuf,
    overrides: Vec<String>,
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Every case, in the order of `hashes.txt`.
fn cases() -> Vec<Case> {
    let text = fs::read_to_string(home().join("corpus.toml")).expect("it is in the repository");
    let corpus: Corpus = toml::from_str(&text).expect("it lists cases");
    let mut cases = Vec::new();
    for entry in corpus.case {
        let file = home().join("../../scenarios").join(&entry.file);
        let file_name = entry.file.trim_end_matches(".toml");
        let name = entry.name.map_or_else(|| file_name.to_owned(), |name| format!("{file_name}: {name}"));
        let scenario = Scenario::load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        let schemes = &scenario.settings().scheme;
        for scheme in schemes.iter().filter(|scheme| scheme.left_out.is_none()) {
            let overrides = scheme.set.iter().chain(&entry.set).cloned().collect();
            cases.push(Case { name: format!("{name} [{}]", scheme.name), file: file.clone(), overrides });
        }
        if schemes.is_empty() {
            cases.push(Case { name, file, overrides: entry.set });
        }
    }
    let mut draws: Vec<PathBuf> = fs::read_dir(home().join("draws"))
        .expect("it is in the repository")
        .flatten()
        .map(|d| d.path())
        .collect();
    draws.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    draws.sort();
    cases.extend(draws.into_iter().map(|file| Case {
        name: format!("draw {}", file.file_stem().unwrap_or_default().display()),
        file,
        overrides: Vec::new(),
    }));
    cases
}

/// Halves at a CNP and rises every 20 us: `draws/own.py` in Rust.
extern "C" fn halve(flow: &mut FlowState, event: &Event) -> u32 {
    if event.kind == EventKind::Cnp as i64 {
        flow.rate_bps = (flow.rate_bps / 2.0).max(1e9);
        flow.words[0] += 1;
    } else {
        flow.rate_bps = (flow.rate_bps + 1e9).min(flow.line_bps);
    }
    flow.timer_ps = event.now_ps + 20_000_000;
    0
}

/// Marks what leaves a queue of more than 20 KB.
extern "C" fn long_queue(queue: &mut QueueState, event: &PortEvent) -> u32 {
    queue.ce = if event.queue_bytes > 20_000 { 1.0 } else { 0.0 };
    0
}

fn functions(needed: &Functions) -> UserFunctions {
    let controller = CustomConfig {
        function: halve,
        events: i64::MAX,
        initial_rate_bps: 0.0,
        initial: [0; reacting::WORDS],
    };
    let detector = CustomDetector { function: long_queue, initial: [0; detecting::WORDS] };
    UserFunctions {
        controllers: vec![controller; needed.controllers.len()],
        detector: needed.detector.is_some().then_some(detector),
        facts: None,
    }
}

/// The line of a case: its name, digest of the trajectory, hash of the resolved values, hash of every table.
fn line(case: &Case) -> String {
    let hashes = hashes(case).unwrap_or_else(|error| error.to_string());
    format!("{}  {hashes}", case.name)
}

fn hashes(case: &Case) -> Result<String, Box<dyn Error>> {
    let load = || Scenario::load(&case.file, &case.overrides);
    let values = hash::values(load()?.validate()?.build());
    let run = Run::new(load()?)?;
    let folder = tempfile::tempdir()?;
    let functions = functions(run.scenario().functions());
    let results = run.functions(functions).in_folder(folder.path()).start()?;
    Ok(format!("{}  {values:016x}  {:016x}", results.digest(), hash::tables(folder.path())))
}

/// All lines, two at a time.
fn lines(cases: &[Case], line: fn(&Case) -> String) -> String {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, case)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            cases.get(index).map(|case| (index, case))
        } {
            done.push((index, line(case)));
        }
        done
    };
    let mut done: Vec<(usize, String)> = thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().expect("every case runs")).collect()
    });
    done.sort();
    done.into_iter().fold(String::new(), |mut all, (_, line)| {
        writeln!(all, "{line}").expect("a String takes it");
        all
    })
}

#[test]
fn every_scenario_of_the_corpus_has_the_hashes_that_it_had() {
    let found = lines(&cases(), line);
    let known = fs::read_to_string(home().join("hashes.txt")).unwrap_or_default();
    if found == known {
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hashes.txt");
    fs::write(&place, &found).expect("a place for what was found");
    let known: Vec<&str> = known.lines().collect();
    let differ: Vec<&str> = found.lines().filter(|line| !known.contains(line)).collect();
    panic!(
        "{} of {} cases differ (digest, values, tables); all of them are in {}:\n{}",
        differ.len(),
        found.lines().count(),
        place.display(),
        differ.join("\n")
    );
}

/// The line of a case on the reference engine: its name and the digest of the trajectory.
fn reference_line(case: &Case) -> String {
    let digest = reference_digest(case).unwrap_or_else(|error| error.to_string());
    format!("{}  {digest}", case.name)
}

fn reference_digest(case: &Case) -> Result<String, Box<dyn Error>> {
    let scenario = Scenario::load(&case.file, &case.overrides)?.validate()?;
    let (until, own) = (scenario.until(), functions(scenario.functions()));
    let mut spec = scenario.build();
    spec.user.controllers.clone_from(&own.controllers);
    spec.user.detector = own.detector;
    let control = Control { until, ..Control::default() };
    let totals = Simulation::new(spec, Kind::Heap).run(&control, &mut |_| Ok(()))?;
    Ok(format!("{:016x}", totals.digest))
}

#[test]
fn the_reference_engine_gives_every_case_the_digest_that_it_has() {
    let found = lines(&cases(), reference_line);
    let known = fs::read_to_string(home().join("hashes.txt")).expect("it is in the repository");
    for (found, known) in found.lines().zip(known.lines()) {
        let begin = known.rsplitn(3, "  ").nth(2).unwrap_or_default();
        assert_eq!(found, begin);
    }
}
