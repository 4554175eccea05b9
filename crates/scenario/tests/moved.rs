//! Keys of earlier versions: a file, an override or a scheme that has one is told where it stands now.

use crate::common::{SMALL, report, says};

/// Of each kind of detector, what a file of an earlier version had in `[switch.detector]`, and the new name of each key.
const DETECTORS: [(&str, &str, &[&str]); 4] = [
    ("red", "at = \"dequeue\"\nbasis = \"queue\"", &["red.at", "red.basis"]),
    (
        "tcd",
        "trend = \"rise\"\nmax-ton = \"97us\"\nepsilon = 0.05\nperiod = \"97us\"\nlow = \"2KB\"\ndelta = \"900B\"\ntruncate = \"1us\"",
        &["tcd.trend", "tcd.max-ton", "tcd.epsilon", "tcd.period", "tcd.low", "tcd.delta", "tcd.truncate"],
    ),
    (
        "fecn",
        "threshold = \"50KB\"\nmarking-rate = 1\npacket-size = \"0B\"",
        &["fecn.threshold", "fecn.marking-rate", "fecn.packet-size"],
    ),
    (
        "custom",
        "function = \"mine.py:mine\"\nparameters = { a = 1.0 }\ncalm = \"1KB\"",
        &["custom.function", "custom.parameters", "custom.calm"],
    ),
];

#[test]
fn a_file_with_the_keys_of_a_detector_of_an_earlier_version_is_told_the_new_name_of_each() {
    for (kind, keys, now) in DETECTORS {
        let error = report(&format!("{SMALL}\n[switch.detector]\nkind = {kind:?}\n{keys}\n"), &[]);
        for key in now {
            says(
                &error,
                &[&format!("now \"switch.detector.{key}\""), &format!("write switch.detector.{key} instead")],
            );
        }
    }
}

/// The same of `[cc]`.
const CONTROLLERS: [(&str, &str, &[&str]); 4] = [
    (
        "dcqcn",
        "variant = \"byte-counter\"\nalpha-initial = 1.0\ncut = 0.5\ng = 0.01\nalpha-timer = \"55us\"\nrate-timer = \"55us\"\n\
         byte-counter = \"10MB\"\nfast-recovery = 5\nrate-ai = \"40Mbps\"\nrate-hai = \"200Mbps\"\nclamp-target = true\n\
         cut-first = false\neighth-rule = false\non-ue = \"ignore\"\ndecrease-interval = \"4us\"",
        &[
            "dcqcn.variant",
            "dcqcn.alpha-initial",
            "dcqcn.cut",
            "dcqcn.g",
            "dcqcn.alpha-timer",
            "dcqcn.rate-timer",
            "dcqcn.byte-counter",
            "dcqcn.fast-recovery",
            "dcqcn.rate-ai",
            "dcqcn.rate-hai",
            "dcqcn.clamp-target",
            "dcqcn.cut-first",
            "dcqcn.eighth-rule",
            "dcqcn.on-ue",
            "dcqcn.decrease-interval",
        ],
    ),
    ("timely", "timely = { segment = \"16KB\", pacing = \"packet\" }", &["segment", "pacing"]),
    ("ib-cc", "ib = { increase = 2 }", &["ib-cc"]),
    (
        "custom",
        "function = \"mine.py:mine\"\nparameters = { a = 1.0 }\nfeedback = \"rtt\"",
        &["custom.function", "custom.parameters", "custom.feedback"],
    ),
];

#[test]
fn a_file_with_the_keys_of_a_reaction_point_of_an_earlier_version_is_told_the_new_name_of_each() {
    for (kind, keys, now) in CONTROLLERS {
        let error = report(&format!("{SMALL}\n[cc]\nkind = {kind:?}\n{keys}\n"), &[]);
        for key in now {
            says(&error, &[&format!("now \"cc.{key}\""), &format!("write cc.{key} instead")]);
        }
    }
    let own = SMALL.replace("name = ", "cc = { on-ue = \"ignore\" }\nname = ");
    says(&report(&own, &[]), &["cc.dcqcn.on-ue instead"]);
}

/// Of further tables, what a file of an earlier version had there, where its keys stand now, and their names there.
const OTHERS: [(&str, &str, &[&str]); 5] = [
    (
        "[switch.isolation.ici]\noverflow = \"20us\"\npersist = \"2ms\"\nmark-gap = \"50us\"\ncongested = { pmax = 1.0 }\n\
         monitored = { pmax = 0.2 }",
        "switch.isolation.ici-plus",
        &["overflow", "persist", "mark-gap", "congested", "monitored"],
    ),
    ("[put]\npackets = 256\nbytes = \"128KB\"", "put.opt", &["packets", "bytes"]),
    ("[put]\nnack = \"at-once\"\nreplay-moves = \"at-end\"", "put.experimental", &["nack", "replay-moves"]),
    (
        "[put.dack]\nrelease = \"below\"\niack = \"accepted\"\nsignal = \"mark\"\nreservation = \"none\"\n\
         reserved-counts = false\nafter-nack = \"iack\"\nescape-needs-none = false\ngrants = \"ack\"\nclear = true\n\
         halt-after-replay = false\nfree = \"one\"\nfairness = \"verbs\"\nperiod = \"250us\"\nhold = \"25us\"\ndifference = 0.1\n\
         strength = 0.1",
        "put.dack.experimental",
        &[
            "release",
            "iack",
            "signal",
            "reservation",
            "reserved-counts",
            "after-nack",
            "escape-needs-none",
            "grants",
            "clear",
            "halt-after-replay",
            "free",
            "fairness",
            "period",
            "hold",
            "difference",
            "strength",
        ],
    ),
    (
        "[pft]\nenter = 592\nclock-mhz = 700\nenter-window = 8\nenter-hits = 4\nescape-window = 8\nescape-hits = 4",
        "host.throttle.pft",
        &[
            "enter",
            "clock-mhz",
            "average.enter-window",
            "average.enter-hits",
            "average.escape-window",
            "average.escape-hits",
        ],
    ),
];

#[test]
fn a_file_with_the_keys_of_isolation_of_puts_or_of_a_throttle_of_an_earlier_version_is_told_the_new_name_of_each()
 {
    for (keys, table, now) in OTHERS {
        let error = report(&format!("{SMALL}\n{keys}\n"), &[]);
        for key in now {
            says(&error, &[&format!("now \"{table}.{key}\""), &format!("write {table}.{key} instead")]);
        }
    }
    let own = SMALL.replace("name = ", "put = { packets = 9 }\nname = ");
    says(&report(&own, &[]), &["put.opt.packets instead"]);
}

#[test]
fn words_of_an_earlier_version_are_told_what_to_write() {
    says(&report(SMALL, &["switch.isolation.kind=ici+"]), &["switch.isolation.kind = \"ici-plus\""]);
    says(&report(SMALL, &["host.throttle=pft"]), &["write host.throttle.kind = \"pft\""]);
    says(
        &report(&format!("{SMALL}\n[host]\nthrottle = \"none\"\n"), &[]),
        &["write host.throttle.kind = \"none\""],
    );
}

#[test]
fn so_are_overrides_and_schemes() {
    says(&report(SMALL, &["pft.m=20"]), &["now \"host.throttle.pft.m\""]);
    says(&report(SMALL, &["pft.enter-hits=20"]), &["now \"host.throttle.pft.average.enter-hits\""]);
    let now = "now \"switch.detector.tcd.epsilon\"";
    says(&report(SMALL, &["switch.detector.epsilon=0.05"]), &[now]);
    says(&report(SMALL, &["cc.on-ue=ignore"]), &["now \"cc.dcqcn.on-ue\""]);
    says(&report(SMALL, &["traffic.cc.on-ue=ignore"]), &["cc.dcqcn.on-ue instead"]);
    says(&report(SMALL, &["switch.detector={kind=\"tcd\",epsilon=0.05}"]), &[now]);
    let scheme = format!("{SMALL}\n[[scheme]]\nname = \"old\"\nset = [\"switch.detector.epsilon=0.05\"]\n");
    says(&report(&scheme, &[]), &[now]);
}
