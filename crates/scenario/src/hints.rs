//! Words that scenarios do not have, and what they probably meant.
use crate::document::Words;

/// All of them.
pub(crate) const WORDS: Words =
    Words { retired: &RETIRED, gone: &GONE, moved: &MOVED, synonyms: &SYNONYMS, keys: &KEYS };

/// Words that scenarios of earlier versions used: key, word, what to write now.
const RETIRED: [(&str, &str, &str); 4] = [
    ("switch.pfc.form", "off", "switch.flow-control = \"none\""),
    ("switch.isolation.kind", "ici+", "switch.isolation.kind = \"ici-plus\""),
    ("host.throttle", "none", "host.throttle.kind = \"none\""),
    ("host.throttle", "pft", "host.throttle.kind = \"pft\""),
];

/// Keys of earlier versions that nothing stands for now, and what to do.
const GONE: [(&str, &str); 1] = [(
    "run.engine",
    "remove the line: there is one event core, and its results are those of both that there were",
)];

/// Keys of earlier versions, and where they stand now: what one kind alone reads is in the table of that kind.
const MOVED: [(&str, &str); 67] = [
    ("switch.detector.at", "switch.detector.red.at"),
    ("switch.detector.basis", "switch.detector.red.basis"),
    ("switch.detector.trend", "switch.detector.tcd.trend"),
    ("switch.detector.max-ton", "switch.detector.tcd.max-ton"),
    ("switch.detector.epsilon", "switch.detector.tcd.epsilon"),
    ("switch.detector.period", "switch.detector.tcd.period"),
    ("switch.detector.low", "switch.detector.tcd.low"),
    ("switch.detector.delta", "switch.detector.tcd.delta"),
    ("switch.detector.truncate", "switch.detector.tcd.truncate"),
    ("switch.detector.threshold", "switch.detector.fecn.threshold"),
    ("switch.detector.marking-rate", "switch.detector.fecn.marking-rate"),
    ("switch.detector.packet-size", "switch.detector.fecn.packet-size"),
    ("switch.detector.function", "switch.detector.custom.function"),
    ("switch.detector.parameters", "switch.detector.custom.parameters"),
    ("switch.detector.calm", "switch.detector.custom.calm"),
    ("cc.variant", "cc.dcqcn.variant"),
    ("cc.alpha-initial", "cc.dcqcn.alpha-initial"),
    ("cc.cut", "cc.dcqcn.cut"),
    ("cc.g", "cc.dcqcn.g"),
    ("cc.alpha-timer", "cc.dcqcn.alpha-timer"),
    ("cc.rate-timer", "cc.dcqcn.rate-timer"),
    ("cc.byte-counter", "cc.dcqcn.byte-counter"),
    ("cc.fast-recovery", "cc.dcqcn.fast-recovery"),
    ("cc.rate-ai", "cc.dcqcn.rate-ai"),
    ("cc.rate-hai", "cc.dcqcn.rate-hai"),
    ("cc.clamp-target", "cc.dcqcn.clamp-target"),
    ("cc.cut-first", "cc.dcqcn.cut-first"),
    ("cc.eighth-rule", "cc.dcqcn.eighth-rule"),
    ("cc.on-ue", "cc.dcqcn.on-ue"),
    ("cc.decrease-interval", "cc.dcqcn.decrease-interval"),
    ("cc.function", "cc.custom.function"),
    ("cc.parameters", "cc.custom.parameters"),
    ("cc.feedback", "cc.custom.feedback"),
    ("cc.timely.segment", "cc.segment"),
    ("cc.timely.pacing", "cc.pacing"),
    ("cc.ib", "cc.ib-cc"),
    ("switch.isolation.ici.overflow", "switch.isolation.ici-plus.overflow"),
    ("switch.isolation.ici.persist", "switch.isolation.ici-plus.persist"),
    ("switch.isolation.ici.mark-gap", "switch.isolation.ici-plus.mark-gap"),
    ("switch.isolation.ici.congested", "switch.isolation.ici-plus.congested"),
    ("switch.isolation.ici.monitored", "switch.isolation.ici-plus.monitored"),
    ("put.packets", "put.opt.packets"),
    ("put.bytes", "put.opt.bytes"),
    ("put.nack", "put.experimental.nack"),
    ("put.replay-moves", "put.experimental.replay-moves"),
    ("put.dack.release", "put.dack.experimental.release"),
    ("put.dack.iack", "put.dack.experimental.iack"),
    ("put.dack.signal", "put.dack.experimental.signal"),
    ("put.dack.reservation", "put.dack.experimental.reservation"),
    ("put.dack.reserved-counts", "put.dack.experimental.reserved-counts"),
    ("put.dack.after-nack", "put.dack.experimental.after-nack"),
    ("put.dack.escape-needs-none", "put.dack.experimental.escape-needs-none"),
    ("put.dack.grants", "put.dack.experimental.grants"),
    ("put.dack.clear", "put.dack.experimental.clear"),
    ("put.dack.halt-after-replay", "put.dack.experimental.halt-after-replay"),
    ("put.dack.free", "put.dack.experimental.free"),
    ("put.dack.fairness", "put.dack.experimental.fairness"),
    ("put.dack.period", "put.dack.experimental.period"),
    ("put.dack.hold", "put.dack.experimental.hold"),
    ("put.dack.difference", "put.dack.experimental.difference"),
    ("put.dack.strength", "put.dack.experimental.strength"),
    ("pft", "host.throttle.pft"),
    ("host.throttle.pft.average.clock-mhz", "host.throttle.pft.clock-mhz"),
    ("pft.enter-window", "host.throttle.pft.average.enter-window"),
    ("pft.enter-hits", "host.throttle.pft.average.enter-hits"),
    ("pft.escape-window", "host.throttle.pft.average.escape-window"),
    ("pft.escape-hits", "host.throttle.pft.average.escape-hits"),
];

/// Words that the literature has for ours: how the key ends, word, ours.
const SYNONYMS: [(&str, &str, &str); 7] = [
    ("switch.flow-control", "cbfc", "credits"),
    ("switch.queueing", "virtual-output", "voq"),
    ("switch.queueing", "age", "oldest-first"),
    ("switch.queueing", "fifo", "input"),
    ("put.policy", "tcp", "aimd"),
    ("put.policy", "ec", "dack"),
    ("transport", "rdma", "roce"),
];

/// Keys that the literature has for ours: theirs, ours, what ours is.
const LANE: &str = "the priority of a traffic entry is its virtual lane under credits";
const UNTIL: &str = "until is when it ends";
const MARKS: &str = "what marks packets is a detector: kind = \"red\" is ECN by the length of a queue";
const KEYS: [(&str, &str, &str); 10] = [
    ("vl", "priority", LANE),
    ("sl", "priority", LANE),
    ("lane", "priority", LANE),
    ("end", "until", UNTIL),
    ("stop", "until", UNTIL),
    ("duration", "until", UNTIL),
    ("time", "until", UNTIL),
    ("ecn", "detector", MARKS),
    ("marking", "detector", MARKS),
    ("messages", "flows", "flows counts the messages of all sources together"),
];
