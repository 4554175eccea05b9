//! Overrides such as `--set traffic.F1.start=1ms`, applied to the tree of the file.
//!
//! A path is made of keys with dots between them. At a list of tables the next part is an index (from 0), the `name`
//! of an entry, or else a key that is set in every entry whose kind has it. The value is TOML; what is no TOML, such
//! as `40Gbps`, is a text.
use std::ops::Range;

use serde_json::Value as Json;

use crate::document::{
    Entry, Node, Place, Problem, Rules, Value, View, elsewhere, instead_of, join, nearest,
};
use crate::layers;

/// Applies `text`, which stands in the source number `source` from byte `offset` on, to the tree.
pub(crate) fn apply(
    root: &mut Node,
    text: &str,
    (source, offset): (usize, usize),
    rules: &Rules,
) -> Result<(), Problem> {
    let all = || Place { source, span: offset..offset + text.len() };
    let (path, value) = text.split_once('=').ok_or_else(|| {
        Problem::new(all(), format!("the override {text:?} has no value"), "no \"=\"")
            .help("write KEY.KEY=VALUE")
    })?;
    if value.trim().is_empty() {
        let problem =
            Problem::new(all(), format!("the override {text:?} has no value"), "nothing after \"=\"");
        return Err(problem.help("write KEY.KEY=VALUE; the empty text is \"\""));
    }
    let start = offset + path.len() + 1;
    let mut value_node = parse_value(value, source);
    shift(&mut value_node, start);
    let mut parts = Vec::new();
    let mut at = offset;
    for part in path.split('.') {
        let indent = part.len() - part.trim_start().len();
        parts.push((part.trim(), Place { source, span: at + indent..at + indent + part.trim().len() }));
        at += part.len() + 1;
    }
    let setter = Setter { rules, value: value_node };
    setter.descend(root, &rules.root(), &parts, "")
}

/// The value as TOML, or as a text where it is no TOML. Its place counts from the value's first byte.
fn parse_value(text: &str, source: usize) -> Node {
    let whole = Range { start: 0, end: text.len() };
    let bare = Node { value: Value::Text(text.trim().to_owned()), place: Place { source, span: whole } };
    let assignment = format!("v={text}");
    let Ok(mut parsed) = Node::parse(&assignment, source) else {
        return bare;
    };
    let Value::Table(entries) = &mut parsed.value else {
        return bare;
    };
    match entries.pop() {
        // a value that continues as a second key (a line break) is none; `nan` and `inf` are words here
        Some(entry)
            if entries.is_empty() && !matches!(&entry.node.value, Value::Float(x) if !x.is_finite()) =>
        {
            let mut node = entry.node;
            if let Value::Date(date) = node.value {
                node.value = Value::Text(date);
            }
            unshift(&mut node);
            node
        }
        _ => bare,
    }
}

/// Takes back the two bytes of `v=`.
fn unshift(node: &mut Node) {
    visit(node, &|place| {
        place.span = place.span.start.saturating_sub(2)..place.span.end.saturating_sub(2);
    });
}

fn shift(node: &mut Node, by: usize) {
    visit(node, &|place| place.span = place.span.start + by..place.span.end + by);
}

fn visit(node: &mut Node, change: &impl Fn(&mut Place)) {
    change(&mut node.place);
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(|node| visit(node, change)),
        Value::Table(entries) => {
            for entry in entries {
                change(&mut entry.place);
                visit(&mut entry.node, change);
            }
        }
        _ => {}
    }
}

struct Setter<'a> {
    rules: &'a Rules,
    value: Node,
}

type Part<'a> = (&'a str, Place);

impl Setter<'_> {
    fn descend(
        &self,
        node: &mut Node,
        view: &View<'_>,
        parts: &[Part<'_>],
        name: &str,
    ) -> Result<(), Problem> {
        match &mut node.value {
            Value::List(items) => {
                let item_view =
                    view.get("items").map_or_else(|| view.clone(), |schema| self.rules.view(schema));
                self.list(items, &item_view, parts, name)
            }
            Value::Table(_) => self.table(node, view, parts, name),
            _ => Err(no_keys(&parts[0].1, name)),
        }
    }

    fn table(&self, node: &mut Node, view: &View<'_>, parts: &[Part<'_>], name: &str) -> Result<(), Problem> {
        let (key, place) = &parts[0];
        let keys = self.rules.keys(view, node);
        let own = keys.iter().find(|(known, _)| known == key).map(|(_, view)| view.clone());
        let Some(key_view) = own.or_else(|| self.rules.any_key(view)) else {
            let below = parts[1..].iter().fold(join(name, key), |path, (part, _)| join(&path, part));
            let (label, fix) = match elsewhere(&crate::hints::WORDS, &below) {
                Some((label, fix)) => (label, Some(fix)),
                None => instead_of(&crate::hints::WORDS, name, key, &keys),
            };
            let title = title(node, name);
            let help = fix.unwrap_or_else(|| listed(&title, keys.iter().map(|(key, _)| *key)));
            return Err(unknown(key, place, &title, label).help(help));
        };
        if parts.len() == 1 {
            let entry = Entry { key: (*key).to_owned(), place: place.clone(), node: self.value.clone() };
            layers::set(node, name, entry);
            return Ok(());
        }
        if node.get(key).is_none() && !key_view.allows("object") && !key_view.allows("array") {
            return Err(no_keys(&parts[1].1, &join(name, key)));
        }
        let Value::Table(entries) = &mut node.value else {
            return Ok(());
        };
        let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            let list = key_view.allows("array");
            let value = if list { Value::List(Vec::new()) } else { Value::Table(Vec::new()) };
            let node = Node { value, place: place.clone() };
            entries.push(Entry { key: (*key).to_owned(), place: place.clone(), node });
            entries.len() - 1
        });
        self.descend(&mut entries[index].node, &key_view, &parts[1..], &join(name, key))
    }

    fn list(
        &self,
        items: &mut [Node],
        view: &View<'_>,
        parts: &[Part<'_>],
        name: &str,
    ) -> Result<(), Problem> {
        let (part, place) = &parts[0];
        let count = items.len();
        let by_name = items.iter().position(|item| item.get("name").and_then(Node::text) == Some(*part));
        let by_index = part.parse::<usize>().ok();
        if let Some(index) = by_name.or(by_index) {
            let item = items.get_mut(index).ok_or_else(|| {
                Problem::new(place.clone(), format!("{name} has no entry {index}"), "no such entry")
                    .help(format!("{name} has {count} entries, counted from 0"))
            })?;
            if parts.len() > 1 {
                return self.descend(item, view, &parts[1..], name);
            }
            *item = self.value.clone();
            return Ok(());
        }
        let accepting: Vec<&mut Node> =
            items.iter_mut().filter(|item| self.accepts(item, view, part)).collect();
        if accepting.is_empty() {
            let names = items.iter().filter_map(|item| item.get("name").and_then(Node::text));
            let keys = items.iter().flat_map(|item| self.rules.keys(view, item)).map(|(key, _)| key);
            let known: Vec<&str> = names.chain(keys).collect();
            let label = match nearest(part, known.iter().copied()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "not known here".to_owned(),
            };
            return Err(unknown(part, place, name, label).help(listed(name, known)));
        }
        accepting.into_iter().try_for_each(|item| self.descend(item, view, parts, name))
    }

    /// Whether an entry of a list can have this key.
    fn accepts(&self, item: &Node, view: &View<'_>, key: &str) -> bool {
        self.rules
            .keys(view, item)
            .iter()
            .any(|(known, schema)| *known == key && schema.get("type") != Some(&Json::from("null")))
    }
}

fn no_keys(place: &Place, name: &str) -> Problem {
    Problem::new(place.clone(), format!("{name} has no keys"), "the path ends before this")
        .help(format!("set {name} itself"))
}

/// How a message calls a table: by its own name and its kind, if it has them, which decide what keys it has.
fn title(table: &Node, name: &str) -> String {
    let text = |key| table.get(key).and_then(Node::text);
    let own = text("name").map_or_else(|| name.to_owned(), |own| join(name, own));
    match (own.is_empty(), text("kind")) {
        (true, _) => "the scenario".to_owned(),
        (false, None) => own,
        (false, Some(kind)) => format!("{own} (kind {kind:?})"),
    }
}

fn unknown(key: &str, place: &Place, title: &str, label: String) -> Problem {
    Problem::new(place.clone(), format!("the override names {key:?}, which {title} does not have"), label)
}

/// What a table has.
fn listed<'a>(title: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    format!("{title} has {}", known.join(", "))
}
