//! What a key or word that is not known here probably meant: its new name, the table that has it, the nearest match.
use crate::layers::join;
use crate::nearest::nearest;
use crate::schema::{Rules, View};

/// Words that scenarios of earlier versions used: key, word, what to write now.
const RETIRED: [(&str, &str, &str); 1] = [("switch.pfc.form", "off", "switch.flow-control = \"none\"")];

/// What to write instead of a word that the key no longer has.
pub(crate) fn retired(name: &str, word: &str) -> Option<&'static str> {
    RETIRED.iter().find(|(key, old, _)| *key == name && *old == word).map(|(.., new)| *new)
}

/// The words under an unknown key of the table `name`, whose keys are `keys`: the tables in it that have such a key, or
/// the nearest of its own.
pub(crate) fn instead_of(name: &str, key: &str, keys: &[(&str, View<'_>)], none: &str) -> String {
    let has = |view: &View<'_>| view.allows("object") && Rules::properties(view).contains(&key);
    let inner: Vec<String> = keys
        .iter()
        .filter(|(_, view)| has(view))
        .map(|(table, _)| format!("{:?}", join(&join(name, table), key)))
        .collect();
    if !inner.is_empty() {
        return format!("did you mean {}?", inner.join(" or "));
    }
    match nearest(key, keys.iter().map(|(key, _)| *key)) {
        Some(near) => format!("did you mean {near:?}?"),
        None => none.to_owned(),
    }
}
