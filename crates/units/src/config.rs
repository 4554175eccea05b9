//! Quantities in files: texts with a unit, kept as exact integers. With the feature `config` only, which needs an allocator.
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Bytes, ParseError, Rate, Span};

/// What distinguishes one kind of quantity from another in texts and in the schema.
pub trait Unit: FromStr<Err = ParseError> + fmt::Display + Copy + Ord {
    /// Name of the kind in the schema.
    const NAME: &'static str;
    /// What it is, for messages: "a rate".
    const ARTICLE: &'static str;
    /// A value as one writes it.
    const EXAMPLE: &'static str;
    /// Regular expression over the accepted texts.
    const PATTERN: &'static str;
    /// The value in its smallest unit, which is always exact.
    fn exact(self) -> String;
}

impl Unit for Rate {
    const NAME: &'static str = "Rate";
    const ARTICLE: &'static str = "a rate";
    const EXAMPLE: &'static str = "40Gbps";
    const PATTERN: &'static str = r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*([KkMGT]?bps|[MG]b/s)\s*$";
    fn exact(self) -> String {
        format!("{}bps", self.as_bps())
    }
}

impl Unit for Span {
    const NAME: &'static str = "Span";
    const ARTICLE: &'static str = "a time";
    const EXAMPLE: &'static str = "4us";
    const PATTERN: &'static str = r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*([pnuµm]?s)\s*$|^0$";
    fn exact(self) -> String {
        format!("{}ps", self.as_ps())
    }
}

impl Unit for Bytes {
    const NAME: &'static str = "Size";
    const ARTICLE: &'static str = "a size";
    const EXAMPLE: &'static str = "329.6KB";
    const PATTERN: &'static str = r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*([KkMGT]?B|[KMG]iB)\s*$|^0$";
    fn exact(self) -> String {
        format!("{}B", self.get())
    }
}

/// A quantity that is written as a string: `"40Gbps"`, `"4us"`, `"329.6KB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity<T>(pub T);

impl<T: Unit> fmt::Display for Quantity<T> {
    /// In the natural unit where that is exact, else in the smallest one, so that it always reads back the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.0.to_string();
        if short.parse() == Ok(self.0) { f.write_str(&short) } else { f.write_str(&self.0.exact()) }
    }
}

impl<T: Unit> Serialize for Quantity<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: Unit> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|error| de::Error::custom(format!("\"{text}\": {error}")))
    }
}

impl<T: Unit> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = format!("{} with its unit, such as \"{}\".", capital(T::ARTICLE), T::EXAMPLE);
        json_schema!({
            "type": "string",
            "description": description,
            "pattern": T::PATTERN,
            "x-quantity": T::NAME,
        })
    }
}

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
            given => given.parse().map(|given| Self::Given(Quantity(given))).map_err(de::Error::custom),
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
            given => Some(Quantity(given.parse().map_err(de::Error::custom)?)),
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

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_written_so_that_it_reads_back_the_same() {
        for ps in [0, 1, 97_000_000, 100_400_000, 96_651_234_567, u64::MAX] {
            let text = Quantity(Span::from_ps(ps)).to_string();
            assert_eq!(text.parse(), Ok(Span::from_ps(ps)), "{text}");
        }
        assert_eq!(Quantity(Bytes::new(329_600)).to_string(), "329.6KB");
        assert_eq!(Quantity(Bytes::new(1_234_567)).to_string(), "1234567B");
    }
}
