//! For whoever tells a user something: the codes of errors, caveats and notes, with what each means and what to do about it.
//!
//! What is told carries its [`Code`] from where it is found to where it is printed. A code is kept for ever; its texts may get better.
mod list;
mod remark;

pub use list::Code;
pub use remark::Remark;

use serde::{Serialize, Serializer};
use std::fmt;

/// What becomes of a command that tells of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something that was given cannot be used.
    Error,
    /// The model broke a promise, and the run has ended.
    Invariant,
    /// What to know before results are used.
    Caveat,
    /// What is worth knowing and changes nothing.
    Note,
}

/// All that is known of a code, as `backwater explain` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The word that stands in brackets in a message.
    pub id: &'static str,
    /// What becomes of a command that tells of it.
    pub kind: Kind,
    /// What happened, in a sentence.
    pub short: &'static str,
    /// What it means.
    pub means: &'static str,
    /// What to do about it.
    pub todo: &'static str,
}

impl Code {
    /// The word that stands in brackets in a message.
    pub fn id(self) -> &'static str {
        self.explained().id
    }

    /// What becomes of a command that tells of it.
    pub fn kind(self) -> Kind {
        self.explained().kind
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_word_of_its_own_with_sentences() {
        for (index, code) in Code::ALL.iter().enumerate() {
            let Explained { id, short, means, todo, .. } = code.explained();
            assert!(
                id.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
            );
            assert!(Code::ALL[..index].iter().all(|other| other.id() != id), "{id} is there twice");
            for text in [short, means, todo] {
                assert!(text.ends_with('.') && text.len() > 10, "{id}: {text}");
            }
        }
    }
}
