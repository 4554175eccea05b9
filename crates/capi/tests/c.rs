//! A program in C against the header and the static library: both say the same.
use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library that cargo built for this test, beside it.
fn library() -> PathBuf {
    let here = std::env::current_exe().expect("a test has a path");
    let built = std::fs::read_dir(here.parent().unwrap()).unwrap().filter_map(Result::ok);
    let ours = built.filter(|file| {
        let name = file.file_name().into_string().unwrap_or_default();
        name.starts_with("libbackwater_capi") && Path::new(&name).extension().is_some_and(|end| end == "a")
    });
    let newest = ours.max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok());
    newest.expect("cargo builds the static library for its tests").path()
}

#[test]
fn a_program_in_c_links_and_finds_what_the_header_promises() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/c/check.c"))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output();
    let built = match built {
        Ok(built) => built,
        Err(error) => {
            eprintln!("skipped: there is no C compiler ({error})");
            return;
        }
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let examples = here.join("../../dataplane/examples");
    let narrow = Path::new(env!("CARGO_TARGET_TMPDIR")).join("narrow.toml");
    let credits = std::fs::read_to_string(examples.join("fig11-credits.toml")).expect("an example");
    assert!(credits.contains("buffer = \"800KB\""));
    std::fs::write(&narrow, credits.replace("buffer = \"800KB\"", "buffer = \"8KB\""))
        .expect("it can be written");
    let ran = Command::new(&program)
        .arg(examples.join("fig11-pfc.toml"))
        .arg(narrow)
        .output()
        .expect("what cc made can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
