//! Readers of what users bring are given seeds that were changed here and there: each is read, or refused with a reason, and nothing
//! panics. Sixteen times as many for each reader as `PROPTEST_CASES` says, as each is over soon. What looks for inputs by what they reach is `make fuzz`.
#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library of its own for `make fuzz`")]
mod readers;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use readers::READERS;

/// What is done to a seed. Places are shares of what there is.
#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    /// Put in anywhere, or in the place of something.
    Word(Index, Index, &'static str),
    Cut(Index, Index),
    Twice(Index, Index),
    /// What lies there in another seed goes here.
    Other(Index, Index, Index, Index),
}

/// What readers stumble over: limits of numbers, ends of texts, places that are no place.
const WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e309",
    "nan",
    "18446744073709551616",
    "4294967295",
    "65536",
    "0.5",
    "99999999999999999999",
    "1us",
    "0ns",
    "1Tbps",
    "9223372036854775807ps",
    "\"\"",
    "\"*\"",
    "[]",
    "{}",
    "\n",
    "\r\n",
    " ",
    "=",
    "#",
    "\u{fffd}",
    "\u{0}",
];

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (at(), at(), prop::sample::select(&WORDS[..]))
            .prop_map(|(from, to, word)| Change::Word(from, to, word)),
        (at(), at()).prop_map(|(from, to)| Change::Cut(from, to)),
        (at(), at()).prop_map(|(from, to)| Change::Twice(from, to)),
        (at(), at(), at(), at()).prop_map(|(seed, from, to, here)| Change::Other(seed, from, to, here)),
    ];
    vec(change, 0..6)
}

/// A range of at most `most` within `len`.
fn range(from: Index, to: Index, len: usize, most: usize) -> Range<usize> {
    let from = from.index(len + 1);
    from..from + to.index((len - from).min(most) + 1)
}

fn apply(input: &mut Vec<u8>, change: &Change, seeds: &[Vec<u8>]) {
    match change {
        Change::Byte(at, byte) => {
            if !input.is_empty() {
                let at = at.index(input.len());
                input[at] = *byte;
            }
        }
        Change::Word(from, to, word) => drop(input.splice(range(*from, *to, input.len(), 12), word.bytes())),
        Change::Cut(from, to) => drop(input.drain(range(*from, *to, input.len(), usize::MAX))),
        Change::Twice(from, to) => {
            let range = range(*from, *to, input.len(), 2000);
            let again = input[range.clone()].to_vec();
            drop(input.splice(range.end..range.end, again));
        }
        Change::Other(seed, from, to, here) => {
            let other = &seeds[seed.index(seeds.len())];
            let part = other[range(*from, *to, other.len(), 500)].to_vec();
            let here = here.index(input.len() + 1);
            drop(input.splice(here..here, part));
        }
    }
}

/// The seeds of a reader, as `make fuzz` has them, too.
fn seeds(reader: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let more = match reader {
        "scenario" => "scenarios",
        "testbed" => "dataplane/examples",
        "trace" => "scenarios/traces",
        _ => "",
    };
    let mut files: Vec<PathBuf> = ["fuzz/seeds/".to_owned() + reader, more.to_owned()]
        .iter()
        .filter(|folder| !folder.is_empty())
        .flat_map(|folder| fs::read_dir(root.join(folder)).into_iter().flatten())
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds of {reader}");
    files.iter().map(|file| fs::read(file).expect("a seed")).collect()
}

fn holds(name: &str) {
    let (_, reader) = READERS.into_iter().find(|(one, _)| *one == name).expect("a reader");
    let seeds = seeds(name);
    for seed in &seeds {
        reader.read(seed);
    }
    let usual = ProptestConfig::default();
    let config = ProptestConfig { source_file: Some(file!()), cases: 16 * usual.cases, ..usual };
    proptest!(config, |(seed in any::<Index>(), changes in changes())| {
        let mut input = seeds[seed.index(seeds.len())].clone();
        for change in &changes {
            apply(&mut input, change, &seeds);
        }
        reader.read(&input);
    });
}

macro_rules! readers {
    ($($name:ident),*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_reader_is_tried() {
            assert_eq!(READERS.map(|(name, _)| name), [$(stringify!($name)),*]);
        }
    };
}

readers!(
    chakra,
    flows,
    frame,
    goal,
    goal_binary,
    htsim,
    overrides,
    program,
    quantities,
    scenario,
    sizes,
    subnet,
    testbed,
    topology,
    trace,
    vef
);
