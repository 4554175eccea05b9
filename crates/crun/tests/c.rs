//! The example in C, against the header and the static library.
use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library that cargo built for this test, beside it.
pub(crate) fn library() -> PathBuf {
    let here = std::env::current_exe().expect("a test has a path");
    let built = std::fs::read_dir(here.parent().unwrap()).unwrap().filter_map(Result::ok);
    let ours = built.filter(|file| {
        let name = file.file_name().into_string().unwrap_or_default();
        name.starts_with("libbackwater_run") && Path::new(&name).extension().is_some_and(|end| end == "a")
    });
    let newest = ours.max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok());
    newest.expect("cargo builds the static library for its tests").path()
}

/// Compiles a program in C against the header and the library; `None`: there is no compiler.
fn compiled(source: &str, program: &Path) -> Option<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(here.join("include"))
        .arg(here.join(source))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(program)
        .output();
    let built = match built {
        Ok(built) => built,
        Err(error) => {
            eprintln!("skipped: there is no C compiler ({error})");
            return None;
        }
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(())
}

#[test]
fn time_passes_in_an_idle_network() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("idle");
    if compiled("tests/idle.c", &program).is_none() {
        return;
    }
    let ran = Command::new(&program).arg(here.join("examples/step.toml")).output().expect("it runs");
    let told = String::from_utf8(ran.stdout).expect("text");
    assert!(ran.status.success(), "{told}");
    // Ten steps of 1 us, all flows are done, and none starts before.
    assert!(told.starts_with("10000000 1 0\n") && told.contains("has passed"), "{told}");
}

#[test]
fn the_example_in_c_passes_a_message_round_a_ring() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("step");
    if compiled("examples/step.c", &program).is_none() {
        return;
    }
    let results = folder.path().join("results");
    let run = |scenario: &Path| Command::new(&program).arg(scenario).arg(&results).output().expect("it runs");
    let ran = run(&here.join("examples/step.toml"));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told = String::from_utf8(ran.stdout).expect("text");
    let arrived: Vec<(&str, u64)> = told
        .lines()
        .map(|line| line.trim_end_matches(" ps").split_once(": ").expect("ends: time"))
        .map(|(ends, time)| (ends, time.parse().expect("picoseconds")))
        .collect();
    let ends: Vec<&str> = arrived.iter().map(|(ends, _)| *ends).collect();
    assert_eq!(ends, ["0 -> 1", "1 -> 2", "2 -> 3", "3 -> 0"].repeat(2));
    // Two links of 1 us and 100 KB at 100 Gbps; with headers, and the last packet once more, less than a tenth longer. The network
    // is empty whenever a message starts, so that all of them take as long.
    let least = 2_000_000 + 8_000_000;
    assert!((least..least + least / 10).contains(&arrived[0].1), "{told}");
    let gaps = arrived.windows(2).map(|pair| pair[1].1 - pair[0].1);
    assert!(gaps.into_iter().all(|gap| gap == arrived[0].1 + 3_000_000), "{told}");
    let json = std::fs::read_to_string(results.join("run.json")).expect("results");
    assert!(json.contains("\"status\": \"complete\""), "{json}");
    let refused = run(&here.join("examples/no-such.toml"));
    assert!(!refused.status.success() && !refused.stderr.is_empty());
}
