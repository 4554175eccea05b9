//! Scenarios for the tests.
use std::path::{Path, PathBuf};

use backwater_codes::Remark;
use backwater_scenario::{Scenario, ScenarioError, ValidScenario};

/// Two hosts at a switch, one flow: what every test changes a little.
pub(crate) const SMALL: &str = r#"profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

/// The repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads and validates a text with overrides.
pub(crate) fn validate(text: &str, overrides: &[&str]) -> Result<ValidScenario, ScenarioError> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse(text, "test.toml", Path::new("."), &overrides)?.validate()
}

/// [`SMALL`] with overrides.
pub(crate) fn small(overrides: &[&str]) -> Result<ValidScenario, ScenarioError> {
    validate(SMALL, overrides)
}

/// What is wrong with a text, as one report.
#[track_caller]
pub(crate) fn report(text: &str, overrides: &[&str]) -> String {
    match validate(text, overrides) {
        Ok(_) => panic!("this scenario should be refused"),
        Err(error) => error.to_string(),
    }
}

/// Asserts that a report says all of these.
#[track_caller]
pub(crate) fn says(report: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(report.contains(wanted), "{wanted:?} is not in\n{report}");
    }
}

/// What remarks say.
pub(crate) trait Said {
    /// The messages, one a line.
    fn said(&self) -> String;
}

impl Said for [Remark] {
    fn said(&self) -> String {
        self.iter().map(|remark| remark.message.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// The network of the ICI paper in small: its links, its packets.
pub(crate) const PAPER: &str = r#"
profile = "isolation"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "25ns"

[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

/// Validates a text with overrides that should be fine.
#[track_caller]
pub(crate) fn valid(text: &str, overrides: &[&str]) -> ValidScenario {
    validate(text, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// [`PAPER`] with overrides.
#[track_caller]
pub(crate) fn paper(overrides: &[&str]) -> ValidScenario {
    valid(PAPER, overrides)
}

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A new one; `name` tells it from those of other tests.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("backwater-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file, and says where it is.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
