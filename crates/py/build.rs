//! Gathers what the algorithms' files say at their heads (reference, state machine, table of parameters), so that `backwater explain`
//! prints it offline from the one place where it is written. Also notes how the core is built.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const HOME: &str = "../control/src";

fn main() {
    println!("cargo::rerun-if-changed={HOME}");
    let mut files = Vec::new();
    gather(Path::new(HOME), &mut files);
    files.sort();
    let mut list = String::from("[\n");
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file is text");
        let head: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .map(|line| line.strip_prefix("//! ").unwrap_or(""))
            .collect();
        let path = file.strip_prefix(HOME).expect("found there").display().to_string();
        writeln!(list, "({path:?}, {:?}),", head.join("\n")).expect("a String takes it");
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("algorithms.rs"), list).expect("OUT_DIR can be written to");
    for (name, from) in [("BW_PROFILE", "PROFILE"), ("BW_OPT_LEVEL", "OPT_LEVEL"), ("BW_TARGET", "TARGET")] {
        println!("cargo::rustc-env={name}={}", env::var(from).unwrap_or_default());
    }
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the control crate is beside this one").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
