//! Any text is a GOAL schedule or refused with a place; one that is read can be written as a trace of ours and read back.
use backwater_traffic::read;

pub(crate) fn target(text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    // Many ranks are legal, but a fuzzer that waits finds nothing.
    if words.windows(2).any(|two| two[0] == "num_ranks" && two[1].len() > 2) {
        return;
    }
    match read::goal(text) {
        Ok(imported) => {
            let again = read::trace(&imported.trace.to_string()).expect("what was written");
            assert_eq!(again.flows(), imported.trace.flows());
        }
        Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
    }
}
