//! A quantity, or the word `auto` for one that follows from the network.
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::{Quantity, Unit};

/// `"auto"` or a quantity. What auto stands for is said at the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoOr<T> {
    /// Computed from the network.
    Auto,
    /// As written.
    Given(Quantity<T>),
}

impl<T: Unit> Serialize for AutoOr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Given(given) => given.serialize(serializer),
        }
    }
}

impl<'de, T: Unit> Deserialize<'de> for AutoOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        match text.as_ref() {
            "auto" => Ok(Self::Auto),
            given => {
                given.parse().map(|given| Self::Given(Quantity(given))).map_err(serde::de::Error::custom)
            }
        }
    }
}

impl<T: Unit> JsonSchema for AutoOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrAuto", T::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let given = generator.subschema_for::<Quantity<T>>();
        json_schema!({
            "description": format!("{} with its unit, or \"auto\".", T::ARTICLE),
            "anyOf": [{ "type": "string", "const": "auto" }, given],
        })
    }
}
