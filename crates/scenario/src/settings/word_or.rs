//! A quantity, or a word for none.
use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::{Quantity, Unit};

/// The word for no quantity.
pub trait Word {
    /// As it is written.
    const TEXT: &'static str;
    /// Its name in the schema.
    const NAME: &'static str;
}

/// `unlimited`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLimit;

/// `never`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Never;

impl Word for NoLimit {
    const TEXT: &'static str = "unlimited";
    const NAME: &'static str = "Unlimited";
}

impl Word for Never {
    const TEXT: &'static str = "never";
    const NAME: &'static str = "Never";
}

/// A quantity, or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordOr<W, T> {
    given: Option<Quantity<T>>,
    word: PhantomData<W>,
}

impl<W: Word, T: Unit> WordOr<W, T> {
    /// The quantity; none if the word stands there.
    pub fn given(&self) -> Option<Quantity<T>> {
        self.given
    }
}

impl<W: Word, T: Unit> Serialize for WordOr<W, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.given {
            None => serializer.serialize_str(W::TEXT),
            Some(given) => given.serialize(serializer),
        }
    }
}

impl<'de, W: Word, T: Unit> Deserialize<'de> for WordOr<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        let given = match text.as_ref() {
            word if word == W::TEXT => None,
            given => Some(Quantity(given.parse().map_err(serde::de::Error::custom)?)),
        };
        Ok(Self { given, word: PhantomData })
    }
}

impl<W: Word, T: Unit> JsonSchema for WordOr<W, T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", T::NAME, W::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let given = generator.subschema_for::<Quantity<T>>();
        json_schema!({
            "description": format!("{} with its unit, or {:?}.", T::ARTICLE, W::TEXT),
            "anyOf": [{ "type": "string", "const": W::TEXT }, given],
        })
    }
}
