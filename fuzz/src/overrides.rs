//! Any override of a good scenario, one per line, is applied or refused; what comes out is checked like a file.

/// Every kind of place that a path can lead to: tables, a list with names, a list without, and absent keys.
const BASE: &str = r#"
profile = "ideal"
[run]
until = "10us"
[topology]
kind = "edges"
hosts = ["a", "b", "c"]
switches = ["s"]
links = [
    { a = "a", b = "s", rate = "40Gbps", delay = "1us" },
    { a = "b", b = "s", rate = "40Gbps", delay = "1us" },
    { a = "c", b = "s", rate = "40Gbps", delay = "1us" },
]
[switch.detector]
kind = "red"
by-rate = [{ rate = "100Gbps", kmin = "400KB", kmax = "1600KB", pmax = 0.2 }]
[[traffic]]
name = "long"
kind = "long-lived"
from = "a"
to = "b"
[[traffic]]
name = "in"
kind = "incast"
to = "b"
size = "1MB"
"#;

pub(crate) fn target(text: &str) {
    let overrides: Vec<String> = text.lines().take(8).map(str::to_owned).collect();
    super::scenario::with_overrides(BASE, &overrides);
}
