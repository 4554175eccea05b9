//! Runs that are saved where they stand, and go on from the file.
use backwater::{Checkpoint, FORMAT, Injection, Results, Run, Scenario, SteppedRun, Which};
use backwater_units::{Bytes, Time};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// An incast over two tiers, with tables of samples, marks, PAUSEs and packets.
const TEXT: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "400KB"

[[traffic]]
name = "messages"
kind = "injected"

[probe]
sample = "1us"
ports = ["leaf0:*"]
marks = true
pauses = true
packets = ["incast"]
"#;

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse(text, "scenario.toml", ".".as_ref(), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn run(overrides: &[&str]) -> Run {
    Run::new(scenario(TEXT, overrides)).unwrap_or_else(|error| panic!("{error}")).command("a test")
}

fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn message(start: Time) -> Injection {
    Injection {
        traffic: Some(Which::Name("messages".to_owned())),
        src: Which::Number(3),
        dst: Which::Number(7),
        size: Bytes::new(50_000),
        start,
        priority: None,
    }
}

/// Every table.
fn left(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let named = files.iter().map(|path| (PathBuf::from(path.file_name().unwrap()), fs::read(path).unwrap()));
    named.filter(|(name, _)| name.extension().is_some_and(|kind| kind == "parquet")).collect()
}

/// What `run.json` says of what happened.
fn facts(results: &Results) -> serde_json::Value {
    let mut facts = results.json().clone();
    // How long it took, on what, and what was reserved.
    for key in ["wall_s", "cpu_s", "threads", "memory"] {
        facts.as_object_mut().unwrap().remove(key);
    }
    facts
}

fn resumed(file: &Path, set: &[&str], folder: &Path) -> SteppedRun {
    let checkpoint = Checkpoint::read(file).unwrap();
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    let scenario = checkpoint.scenario(&set).unwrap();
    Run::new(scenario).unwrap().in_folder(folder).from(checkpoint).begin().unwrap()
}

#[test]
fn results_of_a_run_that_was_saved_are_those_of_one_that_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, broken, file] = ["whole", "broken", "warm.ckpt"].map(|name| dir.path().join(name));
    let injected = |run: &mut SteppedRun| run.inject(&[message(us(40)), message(us(60))]).map(drop).unwrap();
    let mut unbroken = run(&[]).in_folder(&whole).begin().unwrap();
    injected(&mut unbroken);
    unbroken.step(us(50)).unwrap();
    let first = unbroken.completions().unwrap();
    let unbroken = unbroken.finish().unwrap();

    let mut saved = run(&[]).in_folder(&broken).begin().unwrap();
    injected(&mut saved);
    for at in [us(17), us(50), us(70)] {
        saved.step(at).unwrap();
        if at == us(50) {
            assert_eq!(saved.completions().unwrap(), first, "what had ended is told once");
        }
        saved.save(&file).unwrap();
        // It goes on to an end of its own, which nobody needs.
        saved.step(at + backwater_units::Span::from_us(3)).unwrap();
        drop(saved);
        saved = resumed(&file, &[], &broken);
        assert_eq!(saved.now(), at);
    }
    let saved = saved.finish().unwrap();
    assert_eq!(facts(&saved), facts(&unbroken));
    assert_eq!(saved.json()["command"], "a test");
    let [one, other] = [left(&whole), left(&broken)];
    assert!(one.len() > 5, "{} tables", one.len());
    for ((name, one), (again, other)) in one.iter().zip(&other) {
        assert!(name == again && one == other, "{} is another file", name.display());
    }
    assert_eq!(one.len(), other.len());
}

#[test]
fn what_state_cannot_follow_is_refused_with_its_place_and_its_values() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("warm.ckpt");
    let mut stands = run(&[]).begin().unwrap();
    stands.step(us(20)).unwrap();
    stands.save(&file).unwrap();
    let refused = |set: &str| {
        let checkpoint = Checkpoint::read(&file).unwrap();
        let scenario = checkpoint.scenario(&[set.to_owned()]).unwrap();
        match Run::new(scenario).unwrap().from(checkpoint).begin() {
            Ok(_) => panic!("{set} is not refused"),
            Err(error) => error.to_string(),
        }
    };
    for (set, words) in [
        ("topology.spines=1", ["topology.spines = 2", "with 1", "this network"]),
        ("run.seed=9", ["run.seed = 1", "with 9", "drawn"]),
        ("probe.marks=false", ["probe.marks = true", "with false", "tables"]),
        ("cc.kind=timely", ["cc.kind", "timely", "controller"]),
        ("run.until=10us", ["run.until = 10us", "has passed", "20us"]),
    ] {
        let told = refused(set);
        assert!(words.iter().all(|word| told.contains(word)) && told.contains("help:"), "{set}: {told}");
    }
    let until = |set: &[&str]| {
        let checkpoint = Checkpoint::read(&file).unwrap();
        let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
        Run::new(checkpoint.scenario(&set).unwrap()).unwrap().from(checkpoint).start().unwrap()
    };
    // As the scenario with that value from the beginning: nothing depends on the end before it comes.
    let anew = run(&["run.until=50us"]).start().unwrap();
    assert_eq!(until(&["run.until=50us"]).digest(), anew.digest());
    assert_eq!(until(&["run.threads=2"]).digest(), run(&[]).start().unwrap().digest());
}

fn some() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("warm.ckpt");
    let mut stands = run(&[]).begin().unwrap();
    stands.step(us(5)).unwrap();
    stands.save(&file).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    fs::read(file).unwrap()
}

#[test]
fn a_file_that_is_none_or_of_another_version_is_refused_with_the_reason() {
    let refused = |bytes: Vec<u8>| match Checkpoint::of("warm.ckpt".as_ref(), bytes) {
        Ok(_) => panic!("it is not refused"),
        Err(error) => error.to_string(),
    };
    let whole = some();
    let mut other = whole.clone();
    other[8] = FORMAT as u8 + 1;
    let mut longer = whole.clone();
    longer.push(0);
    for (bytes, words) in [
        (Vec::new(), "is no checkpoint"),
        (b"[topology]\nkind = \"star\"".to_vec(), "is no checkpoint"),
        (whole[..10].to_vec(), "was cut short"),
        (whole[..whole.len() - 1].to_vec(), "was cut short"),
        (longer, "was cut short"),
        (other, &format!("has format {}", FORMAT + 1)),
    ] {
        let told = refused(bytes);
        assert!(told.contains(words) && told.contains("warm.ckpt") && told.contains("help:"), "{told}");
    }
    assert!(Checkpoint::read("no.ckpt".as_ref()).is_err());
}

proptest! {
    #[test]
    fn a_file_with_other_bytes_or_an_end_too_soon_is_refused(at in any::<prop::sample::Index>(), flip in 1_u8.., cut in any::<prop::sample::Index>()) {
        thread_local!(static WHOLE: Vec<u8> = some());
        let whole = WHOLE.with(Clone::clone);
        let mut flipped = whole.clone();
        flipped[at.index(whole.len())] ^= flip;
        prop_assert!(Checkpoint::of("flipped".as_ref(), flipped).is_err());
        prop_assert!(Checkpoint::of("cut".as_ref(), whole[..cut.index(whole.len())].to_vec()).is_err());
    }
}

/// A lossy network whose queue pairs send again what is lost; PAUSE in one priority.
const FAULTY: &str = r#"
run = { until = "300us" }
fault-handling = { detect = "10us", converge = "10us" }
transport = { reliability = "selective-repeat" }
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "400KB"

[probe]
sample = "10us"
ports = ["leaf0:*"]
pauses = true
blame = true
"#;

#[test]
fn a_fault_that_is_added_where_a_run_stands_has_the_effect_of_one_that_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, broken, file] = ["whole", "broken", "warm.ckpt"].map(|name| dir.path().join(name));
    let of = |overrides: &[&str]| Run::new(scenario(FAULTY, overrides)).unwrap().command("a test");
    let mut saved = of(&[]).in_folder(&broken).begin().unwrap();
    saved.step(us(50)).unwrap();
    saved.save(&file).unwrap();
    drop(saved);
    let plain = of(&[]).in_folder(&whole).begin().unwrap().finish().unwrap();
    let faults = [
        r#"{ kind = "link-down", link = ["leaf1", "spine0"], at = "60us", for = "80us" }"#,
        r#"{ kind = "link-down", link = ["h5", "leaf1"], at = "50us" }"#,
        r#"{ kind = "link-slow", link = ["h6", "leaf1"], rate = "10Gbps", at = "55us", until = "90us" }"#,
        r#"{ kind = "loss", link = ["leaf0", "spine1"], frames = 0.01, at = "51us" }"#,
        r#"{ kind = "switch-down", switch = "spine0", at = "70us", for = "30us" }"#,
        r#"{ kind = "gray", switch = "leaf1", share = 0.1, at = "60us", until = "80us" }"#,
        r#"{ kind = "pause-storm", host = "h0", at = "60us", until = "120us" }"#,
        r#"{ kind = "host-stop", host = "h7", at = "75us" }"#,
    ];
    for fault in faults {
        let set = format!("fault=[{fault}]");
        let known = of(&[&set]).in_folder(&whole).begin().unwrap().finish().unwrap();
        for threads in ["run.threads=1", "run.threads=2"] {
            let results = resumed(&file, &[&set, threads], &broken).finish().unwrap();
            assert_eq!(results.digest(), known.digest(), "{fault}, {threads}");
            assert_ne!(results.digest(), plain.digest(), "{fault}");
            assert!(left(&whole) == left(&broken), "tables with {fault}, {threads}");
        }
    }
}

#[test]
fn a_fault_that_begins_before_a_run_stands_is_refused_with_the_instant() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("warm.ckpt");
    let first = r#"{ kind = "link-slow", link = ["h6", "leaf1"], rate = "10Gbps", at = "10us" }"#;
    let text = format!("fault=[{first}]");
    let mut run =
        Run::new(scenario(FAULTY, &[&text])).unwrap().in_folder(dir.path().join("first")).begin().unwrap();
    run.step(us(50)).unwrap();
    run.save(&file).unwrap();
    let refused = |faults: &str, what: &[&str]| {
        let checkpoint = Checkpoint::read(&file).unwrap();
        let scenario = checkpoint.scenario(&[format!("fault=[{faults}]")]).unwrap();
        let run = Run::new(scenario).unwrap().in_folder(dir.path().join("second")).from(checkpoint);
        let error = run.begin().map(drop).unwrap_err().to_string();
        assert!(what.iter().all(|what| error.contains(what)), "{error}");
    };
    let stop = |at: &str| format!(r#"{first}, {{ kind = "host-stop", host = "h7", at = "{at}" }}"#);
    refused(&stop("49us"), &["stands at 50us", "fault 1 begins at 49us", "at = 50us or later"]);
    refused(
        &stop("50us").replace("10Gbps", "20Gbps"),
        &["fault[0]", "10Gbps", "20Gbps", "others behind them"],
    );
    refused(r#"{ kind = "host-stop", host = "h7", at = "60us" }"#, &["fault[0]", "link-slow"]);
    resumed(&file, &[&format!("fault=[{}]", stop("50us"))], &dir.path().join("second")).finish().unwrap();
}
