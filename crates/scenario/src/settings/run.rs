//! `[run]`
use backwater_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// The run itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Run {
    /// Seed of every random stream. Default 1, always the same.
    pub seed: u64,
    /// End of simulated time; without it the run ends when every finite flow is done. The most is what fits the 54
    /// bits that the fabric has for an instant, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "18014s"))]
    pub until: Option<Quantity<Span>>,
    /// Threads for this one run; they do not change the result. Default 1.
    #[schemars(range(min = 1, max = 256))]
    pub threads: u32,
    /// Names of the traffic entries that send; nothing of the others is sent. Network, draws and paths stay those of the whole scenario, so that
    /// the two runs differ by the other traffic alone. Default: all send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}
