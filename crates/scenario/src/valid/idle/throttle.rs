//! Keys about throttles of hosts that no host reads.
use super::{Case, is};
use crate::settings::{RateLaw, Settings, StateRule, Throttle};

const PFT: &[&str] = &["pft"];
const ALL: &[&str] = &[
    "rule",
    "interval",
    "enter",
    "escape",
    "m",
    "n",
    "k",
    "random-bits",
    "clock-mhz",
    "enter-window",
    "enter-hits",
    "escape-window",
    "escape-hits",
    "credits",
    "per",
];
const WINDOWS: &[&str] = &["clock-mhz", "enter-window", "enter-hits", "escape-window", "escape-hits"];

/// All groups of keys, each with whether it is idle and why.
pub(super) fn cases(settings: &Settings) -> Vec<Case<'static>> {
    let (pft, off) = (&settings.pft, settings.host.throttle == Throttle::None);
    vec![
        (off, PFT, ALL, is("host.throttle", settings.host.throttle)),
        (off, &["probe"], &["throttle", "throttle-states"], is("host.throttle", settings.host.throttle)),
        (!off && pft.rule == StateRule::Fixed, PFT, WINDOWS, is("pft.rule", pft.rule)),
        (!off && pft.interval == RateLaw::Fixed, PFT, &["random-bits"], is("pft.interval", pft.interval)),
    ]
}
