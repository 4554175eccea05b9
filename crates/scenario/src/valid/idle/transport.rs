//! Keys of `[transport]` that no queue pair reads.
use backwater_codes::Remark;
use backwater_control::transport::reliability::Scoreboard;

use super::readers::{Reader, unread};
use super::{Context, Written, has_pairs, is, reactions};
use crate::settings::{Kinds, Settings, Traffic};

/// What to say about what queue pairs do about losses.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let settings = context.settings;
    let own = |(index, entry)| {
        has_pairs(settings, index).then(|| Reader::new(move |path| idle(settings, entry, path)))
    };
    let readers: Vec<Reader<'_>> = settings.traffic.iter().enumerate().filter_map(own).collect();
    let table = Written { name: "transport".to_owned(), node: context.wrote(&["transport"]) };
    let mut caveats = Vec::new();
    unread(&mut caveats, &table, &readers, Some("traffic without queue pairs"));
    caveats
}

/// Why the queue pairs of an entry do not read what stands at a path in `[transport]`, if they do not.
fn idle(settings: &Settings, entry: &Traffic, path: &[&str]) -> Option<String> {
    let (transport, cc) = (&settings.transport, entry.cc.as_ref().unwrap_or(&settings.cc));
    let kind = entry.reliability.unwrap_or(transport.reliability);
    let choice = || match entry.reliability {
        Some(own) => is(&format!("traffic.{}.reliability", entry.name), own),
        None => is("transport.reliability", kind),
    };
    match path {
        ["reliability"] => entry.reliability.is_some().then(choice),
        [key, ..] if !kind.reads(key) => Some(choice()),
        ["nack-notifies"] if !reactions::controlled(entry) => {
            Some("flows without congestion control".to_owned())
        }
        ["nack-notifies"] => {
            let name =
                if entry.cc.is_some() { format!("traffic.{}.cc", entry.name) } else { "cc".to_owned() };
            (!cc.kind.takes_cnps()).then(|| is(&format!("{name}.kind"), cc.kind))
        }
        ["selective-repeat", "after-nack" | "after-timeout"] => {
            let scoreboard = transport.selective_repeat.scoreboard;
            (scoreboard == Scoreboard::BlockList)
                .then(|| is("transport.selective-repeat.scoreboard", scoreboard))
        }
        _ => None,
    }
}
