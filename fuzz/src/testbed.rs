//! Any text is a testbed or refused with places and reasons.
use backwater_testbed::Testbed;

pub(crate) fn target(text: &str) {
    if let Err(error) = Testbed::parse(text, "fuzz.toml") {
        assert!(!error.problems().is_empty());
        assert!(
            error
                .problems()
                .iter()
                .all(|problem| !problem.message().is_empty() && error.line_of(problem).1 > 0)
        );
        assert!(!error.to_string().is_empty());
    }
}
