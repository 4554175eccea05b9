//! Keys of `[cc]`, and of the entries' own, that no flow reads.
use backwater_codes::{Code, Remark};
use backwater_control::reaction::settings::{Notifications, Np};

use super::readers::{Reader, unread};
use super::{Context, Written, is, is_put};
use crate::settings::{CcSettings, Control, Kinds, Settings, Traffic, Workload};

/// What to say about the reaction points.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let settings = context.settings;
    let mut caveats = Vec::new();
    let mut readers = Vec::new();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let item = context.wrote(&["traffic"]).and_then(|list| list.items()?.get(index));
        let name = format!("traffic.{}.cc", entry.name);
        let node = item.and_then(|node| node.get("cc"));
        match (&entry.cc, controlled(entry) && !is_put(settings, index)) {
            (None, true) => readers.push(Reader::new(|path| idle(&settings.cc, "cc", path, settings))),
            (None, false) => {}
            (Some(_), false) => {
                let message = format!("without effect, as its flows have no congestion control: {name}");
                caveats.push(Remark::new(Code::NoEffect, name, message));
            }
            (Some(own), true) => {
                let reader = |name: String| Reader::new(move |path| idle(own, &name, path, settings));
                let table = Written { name, node };
                unread(&mut caveats, &table, &[reader(table.name.clone())], None);
                readers.push(Reader { own: node, ..reader(table.name) });
            }
        }
    }
    let table = Written { name: "cc".to_owned(), node: context.wrote(&["cc"]) };
    unread(&mut caveats, &table, &readers, None);
    caveats
}

/// Whether an entry's flows have a reaction point.
pub(super) fn controlled(entry: &Traffic) -> bool {
    !matches!(entry.control, Some(Control::LineRate)) && !matches!(entry.workload, Workload::Constant { .. })
}

/// Why a `[cc]` that is called `name` does not read what stands at a path in it, if it does not.
fn idle(cc: &CcSettings, name: &str, path: &[&str], settings: &Settings) -> Option<String> {
    let (unread, detector) = (cc.unread(), settings.switch.detector.kind);
    let choice = || {
        let (key, word) = unread.why;
        format!("{name}.{} = {word:?}", cc.own_key(key))
    };
    match path {
        ["kind"] => None,
        [key] if !cc.kind.reads(key) => Some(format!("{name}.{}", is("kind", cc.kind))),
        [key] if unread.shared.contains(key) => Some(choice()),
        // The keys of the notification point that are for one that sums marks up.
        ["cnp-interval" | "np-fraction"] => {
            let each = cc.wants().notifications == Notifications::Chosen && cc.np == Np::EachMark;
            each.then(|| format!("{name}.{}", is("np", cc.np)))
        }
        [_, key] if unread.own.contains(key) => Some(choice()),
        // Not every detector marks UE.
        [_, "on-ue"] => (!detector.marks_ue()).then(|| is("switch.detector.kind", detector)),
        _ => None,
    }
}
