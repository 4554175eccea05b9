//! Checks the tree of a complete file against its schema: unknown and missing keys, types, units, ranges. All
//! that is wrong is reported at once.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use backwater_codes::Code;
use backwater_units::{Bytes, Rate, Span};
use serde_json::Value as Json;

use crate::diagnostic::Problem;
use crate::hints;
use crate::nearest::nearest;
use crate::node::{Node, Place, Value};
use crate::quantity::Unit;
use crate::rules::{Rules, Table, View};

/// Everything that contradicts the schema.
pub fn check(root: &Node, rules: &Rules) -> Vec<Problem> {
    let mut check = Check { rules, problems: Vec::new(), tables: BTreeMap::new() };
    check.value(root, &rules.root(), "");
    once(check.problems)
}

/// What the tables of traffic entries take over from the scenario's is wrong in all of them: it is told where it stands alone.
fn once(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.message().len());
    let mut told = BTreeSet::new();
    problems.retain(|problem| {
        let Place { source, span } = problem.place();
        told.insert((*source, span.start, span.end, problem.label().to_owned()))
    });
    problems
}

struct Check<'a> {
    rules: &'a Rules,
    problems: Vec<Problem>,
    /// What tables may say, by their schema and kind: of a list they are all alike.
    tables: BTreeMap<([usize; 2], Option<String>), Rc<Table<'a>>>,
}

impl<'a> Check<'a> {
    fn report(
        &mut self,
        node: &Node,
        code: Code,
        message: String,
        (label, help): (impl Into<String>, String),
    ) {
        self.problems.push(Problem::new(node.place.clone(), message, label).code(code).help(help));
    }

    fn value(&mut self, node: &Node, view: &View<'a>, name: &str) {
        let branches = self.rules.branches(view);
        if !branches.is_empty() {
            return self.any_of(node, &branches, name);
        }
        match (&node.value, view.text("x-quantity")) {
            (Value::Text(text), Some(unit)) => self.quantity(node, view, name, (unit, text)),
            (_, Some(unit)) => {
                self.wrong_type(node, name, &format!("{} in quotes", quantity_kind(unit)), &[], "");
            }
            (Value::Text(_), None) if !view.words().is_empty() => self.word(node, &view.words(), name),
            (Value::Table(_), None) if view.allows("object") => self.table(node, view, name),
            (Value::List(items), None) if view.allows("array") => self.list(items, view, name),
            (Value::Integer(number), None) if view.allows("integer") => {
                self.integer(node, view, name, *number);
            }
            (Value::Integer(number), None) if view.allows("number") => {
                self.number(node, view, name, *number as f64);
            }
            (Value::Float(number), None) if view.allows("number") => self.number(node, view, name, *number),
            (Value::Bool(_), None) if view.allows("boolean") => {}
            (Value::Text(text), None) if view.allows("string") => {
                if text.is_empty() && view.get("minLength").is_some() {
                    let message = format!("{name} is empty");
                    self.report(
                        node,
                        Code::OutOfRange,
                        message,
                        ("give at least one character", help_of(view)),
                    );
                }
            }
            _ => {
                let wanted = wanted(view);
                let such = if wanted == "a list" {
                    format!(" in brackets; {}", help_of(view))
                } else {
                    String::new()
                };
                self.wrong_type(node, name, wanted, &Rules::kind_names(view), &such);
            }
        }
    }

    fn wrong_type(&mut self, node: &Node, name: &str, wanted: &str, kinds: &[&str], such: &str) {
        if let Some(new) = node.text().and_then(|word| hints::retired(&self.rules.words, name, word)) {
            let message = format!("{name} = {} is not known", node.shown());
            let fix = format!("write {new}");
            return self.report(node, Code::UnknownWord, message, ("no longer a value", fix));
        }
        let message = format!("{name} = {} is {}, expected {wanted}", node.shown(), node.kind());
        let help = match kinds {
            [] => format!("write {name} as {wanted}{such}"),
            kinds => format!("write {name} = {{ kind = \"…\" }} with one of {}", kinds.join(", ")),
        };
        self.report(node, Code::WrongType, message, (format!("expected {wanted}"), help));
    }

    /// One of several forms is enough; otherwise the complaint is that of the last form of the same type.
    fn any_of(&mut self, node: &Node, branches: &[View<'a>], name: &str) {
        let mut complaint = None;
        for (branch, view) in branches.iter().enumerate() {
            let tables = std::mem::take(&mut self.tables);
            let mut attempt = Check { rules: self.rules, problems: Vec::new(), tables };
            attempt.value(node, view, name);
            self.tables = std::mem::take(&mut attempt.tables);
            if attempt.problems.is_empty() {
                return;
            }
            let same_type = match node.value {
                Value::List(_) => view.allows("array"),
                Value::Text(_) => view.allows("string"),
                Value::Table(_) => view.allows("object"),
                _ => false,
            };
            if same_type || complaint.is_none() {
                complaint = Some((branch, attempt.problems));
            }
        }
        // The complaint names the words of its own form.
        let (told, complaint) = complaint.unwrap_or_default();
        let others = branches.iter().enumerate().filter(|(branch, _)| *branch != told);
        let words: Vec<String> =
            others.flat_map(|(_, view)| view.words()).map(|word| format!("{word:?}")).collect();
        let also = |problem: Problem| match (&node.value, &words[..]) {
            (Value::Text(_), [_, ..]) => problem.also(&format!("or write {}", words.join(" or "))),
            _ => problem,
        };
        self.problems.extend(complaint.into_iter().map(also));
    }

    fn quantity(&mut self, node: &Node, view: &View<'a>, name: &str, (unit, text): (&str, &str)) {
        let outcome = match unit {
            Rate::NAME => in_range::<Rate>(text, view),
            Bytes::NAME => in_range::<Bytes>(text, view),
            _ => in_range::<Span>(text, view),
        };
        if let Err((label, range)) = outcome {
            let message = format!("{name} = {text:?} is not allowed");
            self.report(node, Code::OutOfRange, message, (label, range));
        }
    }

    fn word(&mut self, node: &Node, words: &[&str], name: &str) {
        let Some(text) = node.text().filter(|text| !words.contains(text)) else {
            return;
        };
        let message = format!("{name} = {text:?} is not known");
        if let Some(new) = hints::retired(&self.rules.words, name, text) {
            return self.report(
                node,
                Code::UnknownWord,
                message,
                ("no longer a value", format!("write {new}")),
            );
        }
        let label = match hints::synonym(&self.rules.words, name, text)
            .or_else(|| nearest(text, words.iter().copied()))
        {
            Some(word) => format!("did you mean {word:?}?"),
            None => "unknown".to_owned(),
        };
        self.report(node, Code::UnknownWord, message, (label, format!("choose one of {}", words.join(", "))));
    }

    fn integer(&mut self, node: &Node, view: &View<'a>, name: &str, number: i128) {
        let bound = |keyword| {
            view.get(keyword).and_then(Json::as_number).and_then(|n| n.to_string().parse::<f64>().ok())
        };
        let least = bound("minimum").unwrap_or(0.0) as i128;
        let format = match view.text("format") {
            Some("uint8") => i128::from(u8::MAX),
            Some("uint16") => i128::from(u16::MAX),
            Some("uint32") => i128::from(u32::MAX),
            _ => i128::from(u64::MAX),
        };
        let most = bound("maximum").map_or(format, |most| most as i128);
        if !(least..=most).contains(&number) {
            let message = format!("{name} = {number} is out of range");
            self.report(
                node,
                Code::OutOfRange,
                message,
                (format!("allowed: {least} to {most}"), help_of(view)),
            );
        }
    }

    fn number(&mut self, node: &Node, view: &View<'a>, name: &str, number: f64) {
        let bound = |keyword| view.get(keyword).and_then(Json::as_f64);
        let (least, most) = (bound("minimum").unwrap_or(0.0), bound("maximum").unwrap_or(f64::MAX));
        if !(least..=most).contains(&number) {
            let message = format!("{name} = {number} is out of range");
            self.report(
                node,
                Code::OutOfRange,
                message,
                (format!("allowed: {least} to {most}"), help_of(view)),
            );
        }
    }

    fn list(&mut self, items: &[Node], view: &View<'a>, name: &str) {
        let Some(schema) = view.get("items") else { return };
        let item_view = self.rules.view(schema);
        for (index, item) in items.iter().enumerate() {
            let name = match item.get("name").and_then(Node::text) {
                Some(own) => format!("{name}.{own}"),
                None => format!("{name}[{index}]"),
            };
            self.value(item, &item_view, &name);
        }
    }

    fn table(&mut self, node: &Node, view: &View<'a>, name: &str) {
        let Value::Table(entries) = &node.value else {
            return;
        };
        let title = if name.is_empty() { self.rules.what } else { name };
        let kind = node.get("kind").and_then(Node::text);
        let known = (view.identity(), kind.map(str::to_owned));
        let new = || Rc::new(Table::new(self.rules, view, node));
        let known = Rc::clone(self.tables.entry(known).or_insert_with(new));
        let Table { kinds, keys, required } = &*known;
        if !kinds.is_empty() {
            match node.get("kind") {
                Some(kind) if kind.text().is_none_or(|kind| !kinds.contains(&kind)) => {
                    let name = format!("{name}.kind");
                    match kind.text() {
                        Some(_) => self.word(kind, kinds, &name),
                        None => self.wrong_type(kind, &name, "a text", &[], ""),
                    }
                    return; // without its kind nothing is known about the other keys
                }
                Some(_) => {}
                None => {
                    let help = format!("add kind = \"…\", one of {}", kinds.join(", "));
                    self.report(
                        node,
                        Code::MissingKey,
                        format!("{title} has no kind"),
                        ("which kind?", help),
                    );
                    return;
                }
            }
        }
        for entry in entries {
            let path = if name.is_empty() { entry.key.clone() } else { format!("{name}.{}", entry.key) };
            match keys.iter().find(|(key, _)| *key == entry.key) {
                Some(_) if entry.key == "kind" && !kinds.is_empty() => {}
                Some((_, view)) => self.value(&entry.node, view, &path),
                None => match self.rules.any_key(view) {
                    Some(view) => self.value(&entry.node, &view, &path),
                    None => self.unknown_key(entry, kind, title, keys),
                },
            }
        }
        for &key in required {
            if node.get(key).is_none() {
                let description =
                    keys.iter().find(|(known, _)| *known == key).and_then(|(_, v)| v.text("description"));
                let help = format!("add {key}: {}", description.unwrap_or("see the schema"));
                let message = format!("{title} has no {key}");
                self.report(node, Code::MissingKey, message, (format!("{key} is missing"), help));
            }
        }
    }

    fn unknown_key(
        &mut self,
        entry: &crate::node::Entry,
        kind: Option<&str>,
        title: &str,
        keys: &[(&str, View<'_>)],
    ) {
        let table = if title == self.rules.what { "" } else { title };
        let path = hints::join(table, &entry.key);
        if let Value::Table(inner) = &entry.node.value
            && hints::moved_apart(&self.rules.words, &path)
        {
            for entry in inner {
                self.unknown_key(entry, None, &path, &[]);
            }
            return;
        }
        let mut message = format!("unknown key {:?} in {title}", entry.key);
        if let Some(kind) = kind {
            let _ = write!(message, " (kind {kind:?})");
        }
        let (label, fix) = hints::instead_of(&self.rules.words, table, &entry.key, keys);
        let help = fix.unwrap_or_else(|| {
            let mut names: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
            names.sort_unstable();
            format!("the keys here are {}", names.join(", "))
        });
        let problem = Problem::new(entry.place.clone(), message, label);
        self.problems.push(problem.code(Code::UnknownKey).help(help));
    }
}

/// A quantity within its bounds, or what to say under it and below.
fn in_range<T: Unit>(text: &str, view: &View<'_>) -> Result<(), (String, String)> {
    let bound = |keyword| view.text(keyword).and_then(|text| text.parse::<T>().ok());
    let (least, most) = (bound("x-minimum"), bound("x-maximum"));
    let range = match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    };
    let usual = T::EXAMPLE.parse::<T>().ok();
    let example = match usual {
        Some(usual) if most.is_some_and(|most| usual > most) => view.text("x-maximum"),
        Some(usual) if least.is_some_and(|least| usual < least) => view.text("x-minimum"),
        _ => None,
    };
    let example = example.unwrap_or(T::EXAMPLE);
    let help = format!("give {}{range}, such as {example:?}; {}", T::ARTICLE, help_of(view));
    match text.parse::<T>() {
        Err(error) => Err((error.to_string(), help)),
        Ok(value) if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) => {
            Err((format!("allowed: {}{range}", T::ARTICLE), help))
        }
        Ok(_) => Ok(()),
    }
}

/// The first sentence of a key's description.
fn help_of(view: &View<'_>) -> String {
    let description = view.text("description").unwrap_or_default().replace('\n', " ");
    let end = description.find(". ").map_or(description.len(), |end| end + 1);
    description[..end].trim_end_matches('.').to_owned()
}

fn quantity_kind(unit: &str) -> &'static str {
    match unit {
        Rate::NAME => Rate::ARTICLE,
        Bytes::NAME => Bytes::ARTICLE,
        _ => Span::ARTICLE,
    }
}

fn wanted(view: &View<'_>) -> &'static str {
    if !view.words().is_empty() || view.allows("string") {
        "a text in quotes"
    } else if view.allows("object") {
        "a table"
    } else if view.allows("array") {
        "a list"
    } else if view.allows("integer") {
        "a whole number"
    } else if view.allows("number") {
        "a number"
    } else {
        "true or false"
    }
}
