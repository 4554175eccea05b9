//! A TOML text as a tree in which every key and value knows where it was written, so that whatever is found to be
//! wrong later can be shown in its place.
use std::ops::Range;

use backwater_codes::Code;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Problem;

/// Where something was written: which of the sources of a scenario, and which bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the source.
    pub source: usize,
    /// Its bytes.
    pub span: Range<usize>,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its place.
    pub place: Place,
}

/// A key, its place, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its place.
    pub place: Place,
    /// Its value.
    pub node: Node,
}

/// What TOML can say.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// In quotes.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A date or time.
    Date(String),
    /// In brackets.
    List(Vec<Node>),
    /// Keys and values, in the order of the text.
    Table(Vec<Entry>),
}

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(&'static str),
    /// Into a list.
    Index(usize),
}

/// Writes the path to a value out of keys and numbers: `at!["traffic", 2, "load"]`.
#[macro_export]
macro_rules! at {
    ($($step:expr),* $(,)?) => { [$($crate::Step::from($step)),*] };
}

impl Step {
    /// The key, if it leads into a table.
    pub const fn key(&self) -> Option<&'static str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Node {
    /// Reads a TOML text; what is no TOML is reported, each place once.
    pub fn parse(text: &str, source: usize) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            let place = Place { source, span: 0..text.len() };
            let entries = convert_table(table.get_ref(), source).map_err(|problem| vec![problem])?;
            return Ok(Self { value: Value::Table(entries), place });
        }
        let problem = |error: &toml::de::Error| {
            let span = error.span().unwrap_or(0..text.len());
            Problem::new(Place { source, span }, format!("this is not TOML: {}", error.message()), "here")
                .code(Code::Syntax)
                .help("text stands in quotes, lists in [ ], tables under [name]; see https://toml.io")
        };
        Err(errors.iter().map(problem).collect())
    }

    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// A key and its value, if this is a table that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where the value at the end of `path` was written, or the nearest thing above it that exists.
    pub fn place_of(&self, path: &[Step]) -> Place {
        let mut place = &self.place;
        let mut node = self;
        for step in path {
            let next = match (step, &node.value) {
                (Step::Key(key), _) => node.get(key),
                (Step::Index(index), Value::List(nodes)) => nodes.get(*index),
                (Step::Index(_), _) => None,
            };
            let Some(next) = next else { break };
            (node, place) = (next, &next.place);
        }
        place.clone()
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as it may stand in a message.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("{text:?}"),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Date(date) => date.clone(),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// The value as JSON. A whole number beyond 64 bits becomes a text, which the check has refused before.
    pub fn json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Text(text) | Value::Date(text) => Json::from(text.as_str()),
            Value::Integer(number) => u64::try_from(*number)
                .map(Json::from)
                .or_else(|_| i64::try_from(*number).map(Json::from))
                .unwrap_or_else(|_| Json::from(number.to_string())),
            Value::Float(number) => Json::from(*number),
            Value::Bool(flag) => Json::from(*flag),
            Value::List(nodes) => nodes.iter().map(Self::json).collect(),
            Value::Table(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.node.json())).collect())
            }
        }
    }
}

fn convert_table(table: &DeTable<'_>, source: usize) -> Result<Vec<Entry>, Problem> {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Ok(Entry {
            key: key.get_ref().to_string(),
            place: Place { source, span: key.span() },
            node: convert(value, source)?,
        })
    };
    let mut entries = table.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    // the parser keeps keys by name; people read them in the order of the text
    entries.sort_by_key(|entry| entry.place.span.start);
    Ok(entries)
}

fn convert(value: &Spanned<DeValue<'_>>, source: usize) -> Result<Node, Problem> {
    let place = Place { source, span: value.span() };
    let too_large = || {
        Problem::new(place.clone(), "this number is too large".to_owned(), "does not fit into 64 bits")
            .code(Code::OutOfRange)
            .help("write a number below 2^63")
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.map_err(|_| too_large())?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| too_large())?),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| convert(item, source)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(convert_table(table, source)?),
    };
    Ok(Node { value, place })
}
