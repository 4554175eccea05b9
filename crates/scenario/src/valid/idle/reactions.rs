//! Keys of `[cc]`, and of the entries' own, that no flow reads.
use backwater_codes::{Code, Remark};
use backwater_control::reaction::settings::{Notifications, Np};

use super::{Context, Written, caveat, is, is_put, put};
use crate::document::{Node, Value};
use crate::settings::{CcSettings, Control, Traffic, Workload};

/// Why keys are idle that every entry has of its own, or no use for.
const NONE_READS: &str = "these entries, of which none reads them";

/// What to say about the reaction points.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let settings = context.settings;
    let mut caveats = Vec::new();
    let mut users = Vec::new();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let table = own(context, index, entry);
        match (&entry.cc, controlled(entry) && !is_put(settings, index)) {
            (None, true) => users.push((&settings.cc, None)),
            (None, false) => {}
            (Some(_), false) => {
                let name = table.name;
                let message = format!("without effect, as its flows have no congestion control: {name}");
                caveats.push(Remark::new(Code::NoEffect, name, message));
            }
            (Some(cc), true) => {
                unread(&mut caveats, &table, cc, |_| true);
                deaf(context, &mut caveats, &table, cc);
                unread_own(&mut caveats, &table, &[(cc, None)]);
                users.push((cc, table.node));
            }
        }
    }
    common(context, &mut caveats, &users);
    caveats
}

/// The keys of the scenario's `[cc]`: one counts if an entry reads it, directly or where its own `cc` does not say.
fn common(context: &Context<'_>, caveats: &mut Vec<Remark>, users: &[(&CcSettings, Option<&Node>)]) {
    let cc = &context.settings.cc;
    let table = Written { name: "cc".to_owned(), node: context.wrote(&["cc"]) };
    let Some(Value::Table(entries)) = table.node.map(|node| &node.value) else { return };
    let reads = |key: &str, (cc, own): &(&CcSettings, Option<&Node>)| {
        let says_itself =
            own.is_some_and(|own| own.get(key).is_some_and(|own| !matches!(own.value, Value::Table(_))));
        !says_itself && !is_idle(cc, key)
    };
    // `kind` chooses what the others mean; it is judged by them, unless nobody has a reaction point.
    let nobody = put::all(context.settings);
    let keys = entries.iter().map(|entry| entry.key.as_str()).filter(|key| *key != "kind" || nobody);
    let keys: Vec<&str> = keys.filter(|key| !users.iter().any(|user| reads(key, user))).collect();
    unread(caveats, &table, cc, |key| keys.contains(&key));
    let by_users: Vec<&str> = keys.iter().copied().filter(|key| !is_idle(cc, key)).collect();
    caveat(caveats, &table, &by_users, true, NONE_READS);
    unread_own(caveats, &table, users);
    if users.iter().any(|(_, own)| own.is_none()) {
        deaf(context, caveats, &table, cc);
    }
}

/// Not every detector marks UE.
fn deaf(context: &Context<'_>, caveats: &mut Vec<Remark>, table: &Written<'_>, cc: &CcSettings) {
    let detector = context.settings.switch.detector.kind;
    if cc.kind.has_on_ue() && !detector.marks_ue() {
        let inner = table.node.and_then(|node| node.get(cc.kind.word()));
        let inner = Written { name: format!("{}.{}", table.name, cc.kind.word()), node: inner };
        caveat(caveats, &inner, &["on-ue"], true, &is("switch.detector.kind", detector));
    }
}

/// The `cc` of an entry as it was written.
fn own<'a>(context: &'a Context<'_>, index: usize, entry: &Traffic) -> Written<'a> {
    let item = context.wrote(&["traffic"]).and_then(|list| list.items()?.get(index));
    Written { name: format!("traffic.{}.cc", entry.name), node: item.and_then(|node| node.get("cc")) }
}

/// Whether an entry's flows have a reaction point.
fn controlled(entry: &Traffic) -> bool {
    !matches!(entry.control, Some(Control::LineRate)) && !matches!(entry.workload, Workload::Constant { .. })
}

/// Whether a `[cc]` does not read this key, which may be the table of a kind.
fn is_idle(cc: &CcSettings, key: &str) -> bool {
    let own = key == "kind" || key == cc.kind.word();
    !own && (!cc.kind.shared().contains(&key)
        || cc.unread().shared.contains(&key)
        || by_np(cc).contains(&key))
}

/// The keys of the notification point that are for one that sums marks up.
fn by_np(cc: &CcSettings) -> &'static [&'static str] {
    let each = cc.wants().notifications == Notifications::Chosen && cc.np == Np::EachMark;
    if each { &["cnp-interval", "np-fraction"] } else { &[] }
}

/// What a choice in the table of the kind is called.
fn choice(name: &str, cc: &CcSettings) -> String {
    let (key, word) = cc.unread().why;
    format!("{name}.{} = {word:?}", cc.own_key(key))
}

/// Notes those of the keys that were written in a `[cc]`, satisfy `only`, and are idle.
fn unread(caveats: &mut Vec<Remark>, table: &Written<'_>, cc: &CcSettings, only: impl Fn(&str) -> bool) {
    let Some(Value::Table(entries)) = table.node.map(|node| &node.value) else { return };
    let shared = cc.kind.shared();
    let by_kind = |key: &&str| *key != "kind" && *key != cc.kind.word() && !shared.contains(key);
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).filter(|key| only(key)).collect();
    let idle: Vec<&str> = keys.iter().copied().filter(by_kind).collect();
    let among =
        |idle: &[&'static str]| idle.iter().copied().filter(|key| keys.contains(key)).collect::<Vec<_>>();
    caveat(caveats, table, &idle, true, &format!("{}.{}", table.name, is("kind", cc.kind)));
    caveat(caveats, table, &among(cc.unread().shared), true, &choice(&table.name, cc));
    caveat(caveats, table, &among(by_np(cc)), true, &format!("{}.{}", table.name, is("np", cc.np)));
}

/// Notes what was written in the table of the kind of the `users` and none of them reads: it says so itself, or has chosen otherwise.
fn unread_own(caveats: &mut Vec<Remark>, table: &Written<'_>, users: &[(&CcSettings, Option<&Node>)]) {
    let Some(Value::Table(tables)) = table.node.map(|node| &node.value) else { return };
    for entry in tables {
        let users: Vec<_> = users.iter().filter(|(cc, _)| cc.kind.word() == entry.key).collect();
        let (Some((first, _)), Value::Table(keys)) = (users.first(), &entry.node.value) else { continue };
        let reads = |key: &str, (cc, own): &(&CcSettings, Option<&Node>)| {
            let says_itself =
                own.is_some_and(|own| own.get(&entry.key).is_some_and(|own| own.get(key).is_some()));
            !says_itself && !cc.unread().own.contains(&key)
        };
        let idle = |key: &&str| !users.iter().any(|user| reads(key, user));
        let keys = keys.iter().map(|entry| entry.key.as_str()).filter(idle);
        let (by_choice, by_users): (Vec<&str>, Vec<&str>) =
            keys.partition(|key| first.unread().own.contains(key));
        let inner = Written { name: format!("{}.{}", table.name, entry.key), node: Some(&entry.node) };
        caveat(caveats, &inner, &by_choice, true, &choice(&table.name, first));
        caveat(caveats, &inner, &by_users, true, NONE_READS);
    }
}
