//! Any bytes are a binary GOAL schedule or refused with a place.
use backwater_traffic::read;

pub(crate) fn target(bytes: &[u8]) {
    match read::goal_binary(bytes) {
        Ok(imported) => {
            let again = read::trace(&imported.trace.to_string()).expect("what was written");
            assert_eq!(again.flows(), imported.trace.flows());
        }
        Err(error) => assert!(!error.place.is_empty() && !error.what.is_empty()),
    }
}
