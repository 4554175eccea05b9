//! What a key or word that is not known here probably meant: its new name, the table that has it, the nearest match.
use crate::nearest::nearest;
use crate::rules::{Rules, View, Words};

/// What a word is called here that is near to none that is known.
pub(crate) fn synonym(words: &Words, name: &str, word: &str) -> Option<&'static str> {
    words
        .synonyms
        .iter()
        .find(|(key, theirs, _)| name.ends_with(key) && *theirs == word)
        .map(|(.., ours)| *ours)
}

/// What to write instead of a word that the key no longer has.
pub(crate) fn retired(words: &Words, name: &str, word: &str) -> Option<&'static str> {
    words.retired.iter().find(|(key, old, _)| *key == name && *old == word).map(|(.., new)| *new)
}

/// Where the key at the end of `path` stands now, if it, or the nearest table around it that has, has moved. Tables that stand in a
/// traffic entry, too, have moved there alike.
fn moved(words: &Words, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('.').collect();
    let now = |(old, new): &(&str, &str)| {
        let old: Vec<&str> = old.split('.').collect();
        let at = parts.windows(old.len()).position(|some| some == old)?;
        if at > 0 && parts[0] != "traffic" {
            return None;
        }
        let now = [&parts[..at], &[*new], &parts[at + old.len()..]].concat().join(".");
        Some((old.len(), now))
    };
    words.moved.iter().filter_map(now).max_by_key(|(length, _)| *length).map(|(_, now)| now)
}

/// Whether keys of the table at the end of `path` stand in other places now than the table.
pub(crate) fn moved_apart(words: &Words, path: &str) -> bool {
    let inner = |(old, _): &(&str, &str)| old.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    words.moved.iter().any(|row| row.0 == path) && words.moved.iter().any(inner)
}

/// What to say under the key at the end of `path`, and what to do, if it has moved.
pub fn elsewhere(words: &Words, path: &str) -> Option<(String, String)> {
    let now = moved(words, path)?;
    Some((format!("now {now:?}"), format!("write {now} instead: it has moved, its values have not changed")))
}

/// What to say under a key that the table `name`, whose keys are `keys`, does not have, and what to do if that is known.
/// Tables in it that have such a key come first, then the nearest of its own.
pub fn instead_of(
    words: &Words,
    name: &str,
    key: &str,
    keys: &[(&str, View<'_>)],
) -> (String, Option<String>) {
    if let Some((_, what)) = words.gone.iter().find(|(gone, _)| *gone == join(name, key)) {
        return ("not a key any more".to_owned(), Some((*what).to_owned()));
    }
    let path = join(name, key);
    if let Some((label, help)) = elsewhere(words, &path) {
        return (label, Some(help));
    }
    let has = |view: &View<'_>| view.allows("object") && Rules::properties(view).contains(&key);
    let inner: Vec<String> =
        keys.iter().filter(|(_, view)| has(view)).map(|(table, _)| join(name, table)).collect();
    if !inner.is_empty() {
        let paths: Vec<String> = inner.iter().map(|table| format!("{:?}", join(table, key))).collect();
        let tables: Vec<String> = inner.iter().map(|table| format!("[{table}]")).collect();
        let label = format!("did you mean {}?", paths.join(" or "));
        return (label, Some(format!("{key} is a key of {}", tables.join(" and of "))));
    }
    let known = |ours: &str| keys.iter().any(|(key, _)| *key == ours);
    if let Some((_, ours, what)) = words.keys.iter().find(|(theirs, ours, _)| *theirs == key && known(ours)) {
        return (format!("did you mean {ours:?}?"), Some((*what).to_owned()));
    }
    let label = match nearest(key, keys.iter().map(|(key, _)| *key)) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a key of this table".to_owned(),
    };
    (label, None)
}

/// The dotted name of a key in a table.
pub fn join(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}
