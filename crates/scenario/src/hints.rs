//! What a key or word that is not known here probably meant: its new name, the table that has it, the nearest match.
use crate::layers::join;
use crate::nearest::nearest;
use crate::schema::{Rules, View};

/// Words that scenarios of earlier versions used: key, word, what to write now.
const RETIRED: [(&str, &str, &str); 1] = [("switch.pfc.form", "off", "switch.flow-control = \"none\"")];

/// Words that the literature has for ours: how the key ends, word, ours.
const SYNONYMS: [(&str, &str, &str); 5] = [
    ("switch.flow-control", "cbfc", "credits"),
    ("switch.queueing", "virtual-output", "voq"),
    ("put.policy", "tcp", "aimd"),
    ("put.policy", "ec", "dack"),
    ("transport", "rdma", "roce"),
];

/// Keys that the literature has for ours: theirs, ours, what ours is.
const LANE: &str = "the priority of a traffic entry is its virtual lane under credits";
const KEYS: [(&str, &str, &str); 4] = [
    ("vl", "priority", LANE),
    ("sl", "priority", LANE),
    ("lane", "priority", LANE),
    ("messages", "flows", "flows counts the messages of all sources together"),
];

/// What a word is called here that is near to none that is known.
pub(crate) fn synonym(name: &str, word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(key, theirs, _)| name.ends_with(key) && *theirs == word).map(|(.., ours)| *ours)
}

/// What to write instead of a word that the key no longer has.
pub(crate) fn retired(name: &str, word: &str) -> Option<&'static str> {
    RETIRED.iter().find(|(key, old, _)| *key == name && *old == word).map(|(.., new)| *new)
}

/// What to say under a key that the table `name`, whose keys are `keys`, does not have, and what to do if that is known.
/// Tables in it that have such a key come first, then the nearest of its own.
pub(crate) fn instead_of(name: &str, key: &str, keys: &[(&str, View<'_>)]) -> (String, Option<String>) {
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
    if let Some((_, ours, what)) = KEYS.iter().find(|(theirs, ours, _)| *theirs == key && known(ours)) {
        return (format!("did you mean {ours:?}?"), Some((*what).to_owned()));
    }
    let label = match nearest(key, keys.iter().map(|(key, _)| *key)) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a key of this table".to_owned(),
    };
    (label, None)
}
