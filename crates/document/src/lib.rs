//! For whoever lets people write TOML: a text as a tree of places, checked against the type that it is read into.
//!
//! [`Node::parse`] reads, [`check()`] compares with [`Rules`] (made of the type's JSON Schema: its doc comments are the help, its `x-minimum`
//! and `x-maximum` the ranges of quantities), [`DocumentError`] shows all that is wrong at once: file, line, value, allowed range, the
//! nearest known word, a fix. [`read`] does the three for a file that stands alone. Scenarios and testbeds are such files.
mod check;
mod diagnostic;
mod hints;
pub mod input;
mod nearest;
mod node;
mod rules;

pub use backwater_units::config as quantity;
pub use check::check;
pub use diagnostic::{DocumentError, Problem, Source};
pub use hints::{elsewhere, instead_of, join};
pub use nearest::nearest;
pub use node::{Entry, Node, Place, Step, Value};
pub use rules::{Rules, View, Words};

/// Reads a text that stands alone into the type that the rules were made of; `origin` names it in messages. The tree is for
/// places of what is found to be wrong later.
///
/// # Errors
/// What is no TOML, unknown, missing, of a wrong type or unit, or out of range.
pub fn read<T: serde::de::DeserializeOwned>(
    text: &str,
    origin: &str,
    rules: &Rules,
) -> Result<(T, Node), DocumentError> {
    let refuse = |problems| {
        let source = Source { name: origin.to_owned(), text: text.to_owned() };
        DocumentError::new(vec![source], problems)
    };
    let root = Node::parse(text, 0).map_err(refuse)?;
    let problems = check(&root, rules);
    if !problems.is_empty() {
        return Err(refuse(problems));
    }
    // What the schema allows and the type does not is rare; it is shown at the whole file.
    let read = serde_json::from_value(root.json());
    let unfit =
        |error: serde_json::Error| Problem::new(root.place.clone(), error.to_string(), "in this file");
    match read {
        Ok(read) => Ok((read, root)),
        Err(error) => Err(refuse(vec![unfit(error)])),
    }
}
