//! Any file is a VEF trace or refused with a line; one that is read can be written as a trace of ours and read back.
use super::without_lines;
use backwater_traffic::read;

pub(crate) fn target(text: &str) {
    match read::vef(text) {
        Ok(trace) if trace.flows() <= 10_000 && trace.ranks <= 100 => {
            let again = read::trace(&trace.to_string()).expect("what was written");
            assert_eq!(again.expand().map(without_lines), trace.expand().map(without_lines));
        }
        Ok(_) => {}
        Err(error) => assert!(error.line > 0 && !error.what.is_empty()),
    }
}
