//! `[[scheme]]`
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several schemes under which the same scenario is run.
///
/// The crate itself runs a scenario without any: to run a scheme, parse the text again with `set` as overrides, before
/// those of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scheme {
    /// What it is called in tables, plots and on the command line (`--scheme`).
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it changes, as texts of `--set`: `["switch.detector.kind=tcd", "cc.dcqcn.alpha-initial=1.2"]`. Default nothing.
    #[serde(default)]
    pub set: Vec<String>,
    /// Why the scheme makes no sense and is not run: a sentence that stands in its place in comparisons. Default it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub left_out: Option<String>,
}
