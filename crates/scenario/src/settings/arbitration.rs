//! `[switch.vl-arbitration]`
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line of an arbitration table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VlWeight {
    /// The virtual lane: the priority of its traffic entries.
    #[schemars(range(max = 7))]
    pub vl: u8,
    /// What it may send in one turn, in units of 64 B; 0: nothing. A packet that begins within the weight is sent as a whole:
    /// packets of 2048 B have turns of whole multiples of 32.
    pub weight: u8,
}

/// How an egress port divides itself among the virtual lanes (InfiniBand specification). In effect with arbiter =
/// weighted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VlArbitration {
    /// The table that is served first. At most 64 lines, several of which may name the same VL. All profiles: empty.
    pub high: Vec<VlWeight>,
    /// The table that is served when no VL of `high` may send, or when `high-limit` is reached. All profiles: empty; every
    /// VL with traffic must be named in one of the two.
    pub low: Vec<VlWeight>,
    /// What `high` may send while a packet of `low` waits, in units of 4096 B; 255: anything, 0: one packet. All profiles: 255
    /// (no limit).
    pub high_limit: u8,
}
