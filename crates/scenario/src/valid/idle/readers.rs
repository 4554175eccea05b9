//! The one rule of what is written without effect: who reads a table of which a choice decides what counts.
use backwater_codes::Remark;

use super::{Written, caveat};
use crate::document::{Node, Value};

/// Why keys are idle that every entry has of its own, or no use for.
const NONE_READS: &str = "these entries, of which none reads them";

/// Why what stands at a path in a table is not read, if it is not.
type Why<'a> = dyn Fn(&[&str]) -> Option<String> + 'a;

/// Who reads a table.
pub(super) struct Reader<'a> {
    /// What it does not read.
    pub(super) idle: Box<Why<'a>>,
    /// Its own table, which goes before.
    pub(super) own: Option<&'a Node>,
}

impl<'a> Reader<'a> {
    /// One without a table of its own.
    pub(super) fn new(idle: impl Fn(&[&str]) -> Option<String> + 'a) -> Self {
        Self { idle: Box::new(idle), own: None }
    }

    /// Whether it says itself what stands at a path.
    fn says(&self, path: &[&str]) -> bool {
        let own = self.own.and_then(|own| path.iter().try_fold(own, |node, key| node.get(key)));
        own.is_some_and(|own| !matches!(own.value, Value::Table(_)))
    }
}

/// Keys of one table that are idle for the same reason.
struct Idle<'a> {
    table: Vec<&'a str>,
    why: String,
    keys: Vec<&'a str>,
}

/// Notes what stands in a table and none of its readers reads; `nobody` is the reason where there are none.
pub(super) fn unread(
    caveats: &mut Vec<Remark>,
    table: &Written<'_>,
    readers: &[Reader<'_>],
    nobody: Option<&str>,
) {
    let mut found: Vec<Idle<'_>> = Vec::new();
    if let Some(node) = table.node {
        walk(&mut found, node, &mut Vec::new(), readers, nobody.unwrap_or(NONE_READS));
    }
    for Idle { table: path, why, keys } in found {
        let node = table.node.and_then(|node| path.iter().try_fold(node, |node, key| node.get(key)));
        let name = [&[table.name.as_str()], &path[..]].concat().join(".");
        caveat(caveats, &Written { name, node }, &keys, true, &why);
    }
}

fn walk<'a>(
    found: &mut Vec<Idle<'a>>,
    node: &'a Node,
    path: &mut Vec<&'a str>,
    readers: &[Reader<'_>],
    nobody: &str,
) {
    let Value::Table(entries) = &node.value else { return };
    for entry in entries {
        path.push(&entry.key);
        let left = || readers.iter().filter(|reader| !reader.says(path));
        let reasons: Option<Vec<String>> = left().map(|reader| (reader.idle)(path)).collect();
        path.pop();
        let Some(reasons) = reasons else {
            path.push(&entry.key);
            walk(found, &entry.node, path, readers, nobody);
            path.pop();
            continue;
        };
        let why = match &reasons[..] {
            [] if readers.is_empty() => nobody,
            [first, rest @ ..] if rest.iter().all(|other| other == first) => first,
            _ => NONE_READS,
        };
        match found.iter_mut().find(|group| group.table == *path && group.why == why) {
            Some(group) => group.keys.push(&entry.key),
            None => found.push(Idle { table: path.clone(), why: why.to_owned(), keys: vec![&entry.key] }),
        }
    }
}
