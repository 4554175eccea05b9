//! Texts of records, one per line, in words: a `#` at the beginning of a word begins a comment.
use std::str::FromStr;

use backwater_units::Bytes;

use crate::flow::MAX_SIZE;

/// Why a text cannot be used. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct LineError {
    /// Where.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// A line in words, without its comment.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) words: Vec<&'a str>,
}

impl Line<'_> {
    pub(super) fn error(&self, what: String) -> LineError {
        LineError { line: self.number, what }
    }

    /// The word after `key`, read as `T`.
    pub(super) fn value<T: FromStr>(&self, key: &str, wanted: &str) -> Result<Option<T>, LineError> {
        let Some(at) = self.words.iter().position(|word| *word == key) else { return Ok(None) };
        let text = self.words.get(at + 1).copied().unwrap_or("nothing");
        let value =
            text.parse().map_err(|_| self.error(format!("{key} `{}` is not {wanted}", shown(text))))?;
        Ok(Some(value))
    }

    pub(super) fn needed<T: FromStr>(&self, key: &str, wanted: &str) -> Result<T, LineError> {
        let missing = || self.error(format!("a {} needs `{key}` and {wanted}", self.words[0]));
        self.value(key, wanted)?.ok_or_else(missing)
    }

    /// The number after the first word.
    pub(super) fn id(&self) -> Result<u64, LineError> {
        self.value(self.words[0], "a number")?.ok_or_else(|| self.error("has no number".to_owned()))
    }

    /// The size after `key`.
    pub(super) fn size(&self, key: &str) -> Result<Option<Bytes>, LineError> {
        let Some(text) = self.value::<String>(key, "a size")? else { return Ok(None) };
        let bytes = text.parse::<u64>().map(Bytes::new).or_else(|_| text.parse::<Bytes>());
        let wrong = |why: &str| self.error(format!("{key} `{}` {why}", shown(&text)));
        match bytes {
            Ok(bytes) if bytes <= MAX_SIZE => Ok(Some(bytes)),
            Ok(_) => Err(wrong("is too much: allowed are up to 1000TB")),
            Err(_) => Err(wrong(
                "is not a size such as 4096, 4KiB or 1MB (units B to TB, and KiB to GiB), up to 1000TB",
            )),
        }
    }

    /// The size after `key`, without which the line means nothing.
    pub(super) fn needed_bytes_as(&self, key: &str) -> Result<Bytes, LineError> {
        self.size(key)?.ok_or_else(|| self.error(format!("a flow needs `{key}` and a size")))
    }

    /// The size after `bytes`, which `who` needs.
    pub(super) fn needed_bytes(&self, who: &str) -> Result<Bytes, LineError> {
        self.size("bytes")?.ok_or_else(|| self.error(format!("{who} needs `bytes` and a size")))
    }

    /// Every word must be one that the kind of line knows, `known` with a value each after the first `fixed` words.
    pub(super) fn only(&self, fixed: usize, known: &[&str]) -> Result<(), LineError> {
        let mut at = fixed;
        while let Some(word) = self.words.get(at) {
            if !known.contains(word) {
                let known = known.join(", ");
                return Err(self.error(format!("`{}` is not one of {known}", shown(word))));
            }
            if self.words[..at].iter().skip(fixed).any(|before| before == word) {
                return Err(self.error(format!("says `{word}` twice")));
            }
            at += if *word == "after" { 3 } else { 2 };
        }
        Ok(())
    }
}

/// The lines that say something.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let words = |text| str::split_whitespace(text).take_while(|word| !word.starts_with('#')).collect();
    let lines = text.lines().zip(1..).map(|(text, number)| Line { number, words: words(text) });
    lines.filter(|line| !line.words.is_empty()).collect()
}

/// As much of a text as belongs into a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
