//! A hash of the code of all crates of this repository, as `BACKWATER_SOURCES`: what one build saved, another one cannot go on from.
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    let crates = Path::new("..");
    for package in fs::read_dir(crates)? {
        let sources = package?.path().join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        if sources.is_dir() {
            find(&sources, &mut files)?;
        }
    }
    // What the code of others is.
    let locked = Path::new("../../Cargo.lock");
    println!("cargo:rerun-if-changed={}", locked.display());
    files.push(locked.to_owned());
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        (file.to_string_lossy(), fs::read(&file)?).hash(&mut hash);
    }
    println!("cargo:rustc-env=BACKWATER_SOURCES={:016x}", hash.finish());
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
