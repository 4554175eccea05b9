//! Hashes that moves and renames keep: of values without their names, of tables without what says which build wrote them.
use backwater_fabric::{Spec, UserSpec};
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The numbers, truths and texts of a spec, whatever fields they are in.
pub(crate) fn values(mut spec: Spec) -> u64 {
    // Addresses of functions differ from run to run.
    spec.user = UserSpec::default();
    let mut words = Words::default();
    write!(words, "{spec:?}").expect("it takes everything");
    words.end();
    words.sum
}

/// The sum over words is the same in any order.
#[derive(Default)]
struct Words {
    word: String,
    sum: u64,
}

impl Words {
    fn end(&mut self) {
        let value = self.word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            || matches!(self.word.as_str(), "true" | "false");
        if value {
            self.sum = self.sum.wrapping_add(xxh3_64(self.word.as_bytes()));
        }
        self.word.clear();
    }
}

impl Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                self.word.push(c);
            } else {
                self.end();
            }
        }
        Ok(())
    }
}

/// Every Parquet file of a folder, with its name.
pub(crate) fn tables(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("the run wrote it").flatten();
    let mut files: Vec<_> =
        entries.map(|e| e.path()).filter(|path| path.extension().is_some_and(|e| e == "parquet")).collect();
    files.sort();
    files.iter().fold(0, |hash, file| {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        let bytes = fs::read(file).expect("the run wrote it");
        xxh3_64_with_seed(&bytes, xxh3_64_with_seed(name, hash))
    })
}
