//! Every code is told of somewhere: by a crate that finds what it stands for.
use backwater_codes::Code;
use std::fs;
use std::path::Path;

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_code_is_told_of_by_a_crate_above() {
    let mut text = String::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["document", "fabric", "probe", "scenario", "backwater"] {
        sources(&crates.join(name).join("src"), &mut text);
    }
    let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != ':').collect();
    for code in Code::ALL {
        let named = format!("Code::{code:?}");
        assert!(words.contains(&named.as_str()), "nothing tells of {named}");
    }
}
