//! What is wrong with a file, shown in the text that was read: file, line, value, allowed range and a fix.
use std::borrow::Cow;
use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use backwater_codes::Code;

use crate::node::Place;

/// A text that a scenario was read from: its file, an override, the defaults of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// How messages call it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    message: String,
    label: String,
    help: Option<String>,
    /// What stands in brackets.
    word: Option<Cow<'static, str>>,
}

impl Problem {
    /// `message` says what is wrong with which value, `label` stands under the place.
    pub fn new(place: Place, message: String, label: impl Into<String>) -> Self {
        Self { place, message, label: label.into(), help: None, word: None }
    }

    /// What kind of problem it is; shown in brackets.
    pub fn code(self, code: Code) -> Self {
        Self { word: Some(code.id().into()), ..self }
    }

    /// The key that is wrong by more than its own value; shown in brackets.
    pub fn key(self, key: impl Into<Cow<'static, str>>) -> Self {
        Self { word: Some(key.into()), ..self }
    }

    /// The word that `backwater explain` knows it by: the id of a code, or a key.
    pub fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    /// What to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds something to what can be done.
    pub fn also(mut self, more: &str) -> Self {
        self.help = Some(self.help.map_or_else(|| more.to_owned(), |help| format!("{help}; {more}")));
        self
    }

    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is wrong, with the value at fault.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn fix(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The words under the marked place.
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// Why a file cannot be used: everything that was found, in the order of the text.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentError {
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

impl DocumentError {
    /// Of the texts that were read.
    pub fn new(sources: Vec<Source>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.place.source, problem.place.span.start));
        problems.dedup();
        Self { sources, problems }
    }

    /// Everything that is wrong.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// File and line (from 1) of a problem.
    pub fn line_of(&self, problem: &Problem) -> (&str, usize) {
        let source = &self.sources[problem.place.source];
        let before = &source.text.as_bytes()[..problem.place.span.start.min(source.text.len())];
        (&source.name, before.split(|&byte| byte == b'\n').count())
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let source = &self.sources[problem.place.source];
        let span = visible(&source.text, &problem.place.span);
        let label = AnnotationKind::Primary.span(span).label(problem.label.as_str());
        let snippet = Snippet::source(source.text.as_str()).path(source.name.as_str()).annotation(label);
        let title = Level::ERROR.primary_title(problem.message.as_str());
        let title = match &problem.word {
            Some(word) => title.id(word.as_ref()),
            None => title,
        };
        let group = title.element(snippet);
        match &problem.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }
}

/// The part of a span that is worth marking: within the text, on character borders, its first line only.
fn visible(text: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let floor = |mut index: usize| {
        index = index.min(text.len());
        while !text.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    let (start, end) = (floor(span.start), floor(span.end));
    let line = text[start..end].find('\n').map_or(end, |length| start + length);
    start..line.max(start)
}

/// So many problems are shown in full. Each is laid out against the whole text, and nobody reads more before mending some.
const SHOWN: usize = 20;

impl fmt::Display for DocumentError {
    /// The report, one snippet for each of the first [`SHOWN`] problems, without colours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renderer = Renderer::plain();
        for problem in self.problems.iter().take(SHOWN) {
            writeln!(f, "{}\n", renderer.render(&[self.group(problem)]))?;
        }
        if let Some(more) = self.problems.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            writeln!(f, "and {more} more; these are the first {SHOWN} in the order of the text\n")?;
        }
        match self.problems.len() {
            1 => f.write_str("1 problem; nothing was run"),
            n => write!(f, "{n} problems; nothing was run"),
        }
    }
}

/// The report, too: a program whose `main` returns this error prints what a user can read.
impl fmt::Debug for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for DocumentError {}
