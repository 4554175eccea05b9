//! What parameters as people write them are made of. With the feature `config` only, which needs an allocator.
use alloc::borrow::Cow;

pub use backwater_units::config::{AutoOr, Quantity, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number that a function of the user's gets: any finite one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameter(pub f64);

impl JsonSchema for Parameter {
    fn schema_name() -> Cow<'static, str> {
        "Parameter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "description": "A word of the function's state.",
            "minimum": -1e300,
            "maximum": 1e300,
        })
    }
}
