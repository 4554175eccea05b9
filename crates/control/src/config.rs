//! What parameters as people write them are made of. With the feature `config` only, which needs an allocator.
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

pub use backwater_units::config::{AutoOr, Never, NoLimit, Quantity, Unit, Word, WordOr};
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

/// What a kind reads of a table, beside the choice of the kind and the table of its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// These keys alone.
    Only(&'static [&'static str]),
    /// Everything but the tables of other kinds; of those these.
    All(&'static [&'static str]),
}

/// A choice among kinds, each of which may have a table of its own beside the choice.
pub trait Kinds: Copy + 'static {
    /// All of them: its word, which is the name of its table, and what it reads.
    const ALL: &'static [(&'static str, Reads)];

    /// As people write it.
    fn word(self) -> &'static str;

    /// Whether it reads what stands under `key` beside the choice.
    fn reads(self, key: &str) -> bool {
        reads(Self::ALL, self.word(), key)
    }
}

fn reads(all: &[(&str, Reads)], word: &str, key: &str) -> bool {
    word == key
        || all.iter().any(|(own, reads)| {
            *own == word
                && match reads {
                    Reads::Only(keys) => keys.contains(&key),
                    Reads::All(tables) => tables.contains(&key) || all.iter().all(|(other, _)| *other != key),
                }
        })
}

/// Puts before the description of each shared key the kinds that read it, where not all do.
pub(crate) fn readers<K: Kinds>(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) else { return };
    for (key, own) in properties {
        let shares = |reads: &Reads| matches!(reads, Reads::Only(keys) if keys.contains(&key.as_str()));
        let readers: Vec<&str> =
            K::ALL.iter().filter(|(_, reads)| shares(reads)).map(|(word, _)| *word).collect();
        let Some(text) = own.get("description").and_then(|text| text.as_str()) else { continue };
        if !readers.is_empty() {
            own["description"] = format!("{}: {text}", readers.join(", ")).into();
        }
    }
}

/// Makes the kinds that people choose from: `Kind = "word" reads …;`, what it reads in the sense of [`Reads`].
#[macro_export]
macro_rules! kinds {
    ($(#[$of:meta])* $kinds:ident; $($(#[$doc:meta])* $kind:ident = $word:literal reads $reads:expr;)*) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $kinds {
            $($(#[$doc])* #[serde(rename = $word)] $kind,)*
        }

        impl $crate::config::Kinds for $kinds {
            const ALL: &'static [(&'static str, $crate::config::Reads)] = &[$(($word, $reads),)*];

            fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}
pub use kinds;
