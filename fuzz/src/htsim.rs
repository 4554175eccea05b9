//! Any text is a connection matrix of htsim or refused with a line.
use super::without_lines;
use backwater_traffic::read::{self, HtsimRules};

pub(crate) fn target(text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.windows(2).any(|two| two[0] == "Nodes" && two[1].len() > 3) {
        return;
    }
    for (microseconds, reuse, merge) in [(false, false, false), (true, true, false), (false, true, true)] {
        match read::htsim_matrix(text, HtsimRules { microseconds, reuse, merge }) {
            Ok((imported, failures)) => {
                let again = read::trace(&imported.trace.to_string()).expect("what was written");
                assert_eq!(again.expand().map(without_lines), imported.trace.expand().map(without_lines));
                assert!(failures.iter().all(|one| one.line <= text.lines().count()));
            }
            Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
        }
    }
}
