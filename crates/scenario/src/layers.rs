//! Puts a scenario together from layers: overrides over the file over the defaults of the profile.
use crate::document::{Entry, Node, Value, join};

/// Keys that exclude each other: `(table, keys)`. Where a higher layer gives one of them, the others of a lower layer
/// are dropped, so that `--set switch.detector.tcd.epsilon=0.02` works although the profile sets `max-ton`.
const ALTERNATIVES: [(&str, &[&str]); 4] = [
    ("switch.detector.tcd", &["max-ton", "epsilon"]),
    ("traffic", &["until", "flows"]),
    ("traffic", &["load", "interval"]),
    ("traffic", &["cdf", "file", "size"]),
];

/// Keys whose mention in a higher layer drops another of a lower one: `(table, keys, dropped)`. What was chosen together with the
/// profile's Xoff must not outlive it.
const MASKS: [(&str, &[&str], &str); 2] =
    [("switch.pfc", &["xoff"], "port-xoff"), ("switch.pfc", &["xoff"], "port-xon")];

/// Keys whose mention in a higher layer takes the place of the same key in every row of a list of a lower one: `(table, keys, list)`. What
/// the user writes holds at every rate; what he does not write keeps what the rows have.
const ROWS: [(&str, &[&str], &str); 1] = [("switch.detector", &["kmin", "kmax", "pmax"], "by-rate")];

/// Fills into `table` what it does not say from `below`, table by table. Lists are not merged.
pub(crate) fn fill(table: &mut Node, below: &Node, name: &str) {
    let Value::Table(lower) = &below.value else { return };
    let Value::Table(entries) = &table.value else {
        return;
    };
    let said = |key: &str| entries.iter().any(|entry| entry.key == key);
    let dropped: Vec<&str> =
        lower.iter().map(|entry| entry.key.as_str()).filter(|key| is_dropped(name, key, said)).collect();
    let Value::Table(entries) = &mut table.value else {
        return;
    };
    let concerns = |said: &&Entry| {
        ROWS.iter().any(|(table, keys, _)| *table == name && keys.contains(&said.key.as_str()))
    };
    let higher: Vec<Entry> = entries.iter().filter(concerns).cloned().collect();
    for entry in lower {
        match entries.iter_mut().find(|own| own.key == entry.key) {
            Some(own) => fill(&mut own.node, &entry.node, &join(name, &entry.key)),
            None if dropped.contains(&entry.key.as_str()) => {}
            None => {
                let mut entry = entry.clone();
                for said in &higher {
                    into_rows(name, &mut entry, said);
                }
                entries.push(entry);
            }
        }
    }
}

/// The tables that a traffic entry may have for itself.
const OWN: [&str; 2] = ["cc", "put"];

/// Fills into the tables of every traffic entry's own what they do not say from the scenario's.
pub(crate) fn fill_entries(root: &mut Node) {
    for table in OWN {
        fill_own(root, table);
    }
}

fn fill_own(root: &mut Node, table: &str) {
    let Some(common) = root.get(table).cloned() else { return };
    let Value::Table(entries) = &mut root.value else { return };
    let traffic = entries.iter_mut().find(|entry| entry.key == "traffic");
    let Some(Value::List(items)) = traffic.map(|entry| &mut entry.node.value) else { return };
    for item in items {
        let Value::Table(keys) = &mut item.value else { continue };
        if let Some(own) = keys.iter_mut().find(|entry| entry.key == table) {
            fill(&mut own.node, &common, table);
        }
    }
}

/// Sets a key of a table, dropping what it excludes.
pub(crate) fn set(table: &mut Node, name: &str, new: Entry) {
    let Value::Table(entries) = &mut table.value else {
        return;
    };
    let said = |key: &str| key == new.key;
    entries.retain(|entry| entry.key == new.key || !is_dropped(name, &entry.key, said));
    for entry in entries.iter_mut() {
        into_rows(name, entry, &new);
    }
    match entries.iter_mut().find(|entry| entry.key == new.key) {
        Some(entry) => *entry = new,
        None => entries.push(new),
    }
}

/// Puts what a higher layer says of a key into every row of `list` that has it.
fn into_rows(table: &str, list: &mut Entry, said: &Entry) {
    let concerns = |(name, keys, rows): &(&str, &[&str], &str)| {
        *name == table && *rows == list.key && keys.contains(&said.key.as_str())
    };
    let Value::List(rows) = &mut list.node.value else { return };
    if !ROWS.iter().any(concerns) {
        return;
    }
    for row in rows {
        let Value::Table(entries) = &mut row.value else { continue };
        if let Some(own) = entries.iter_mut().find(|own| own.key == said.key) {
            own.node = said.node.clone();
        }
    }
}

/// Whether `key` of a lower layer gives way to what the higher layer says.
fn is_dropped(table: &str, key: &str, said: impl Fn(&str) -> bool) -> bool {
    let excluded = ALTERNATIVES.iter().any(|(name, keys)| {
        *name == table && keys.contains(&key) && keys.iter().any(|other| *other != key && said(other))
    });
    let masked = MASKS
        .iter()
        .any(|(name, keys, masked)| *name == table && *masked == key && keys.iter().any(|k| said(k)));
    excluded || masked
}
