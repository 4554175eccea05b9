//! Any text is a connection matrix of htsim or refused with a line.
use super::without_lines;
use backwater_traffic::read;

pub(crate) fn target(text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.windows(2).any(|two| two[0] == "Nodes" && two[1].len() > 3) {
        return;
    }
    match read::htsim_matrix(text) {
        Ok(imported) => {
            let again = read::trace(&imported.trace.to_string()).expect("what was written");
            assert_eq!(again.expand().map(without_lines), imported.trace.expand().map(without_lines));
        }
        Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
    }
}
