//! Words that scenarios do not have, and what they probably meant.
use crate::document::Words;

/// All of them.
pub(crate) const WORDS: Words = Words { retired: &RETIRED, gone: &GONE, synonyms: &SYNONYMS, keys: &KEYS };

/// Words that scenarios of earlier versions used: key, word, what to write now.
const RETIRED: [(&str, &str, &str); 1] = [("switch.pfc.form", "off", "switch.flow-control = \"none\"")];

/// Keys of earlier versions that nothing stands for now, and what to do.
const GONE: [(&str, &str); 1] = [(
    "run.engine",
    "remove the line: there is one event core, and its results are those of both that there were",
)];

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
