//! Keys of `[cc]`, and of the entries' own, that no flow reads.
use super::{Context, Written, caveat};
use crate::document::{Node, Value};
use crate::settings::{Cc, CcKind, Control, DetectorKind, Traffic, Variant, Workload};

/// What to say about the reaction points.
pub(super) fn report(context: &Context<'_>) -> Vec<String> {
    let settings = context.settings;
    let mut caveats = Vec::new();
    let mut users = Vec::new();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let table = own(context, index, entry);
        match (&entry.cc, controlled(entry)) {
            (None, true) => users.push((&settings.cc, None)),
            (None, false) => {}
            (Some(_), false) => {
                let name = table.name;
                caveats.push(format!("without effect, as its flows have no congestion control: {name}"));
            }
            (Some(cc), true) => {
                let why = reason(cc);
                caveat(&mut caveats, &table, &idle(cc), true, &format!("{}.{why}", table.name));
                deaf(context, &mut caveats, &table, cc);
                users.push((cc, table.node));
            }
        }
    }
    common(context, &mut caveats, &users);
    caveats
}

/// The keys of the scenario's `[cc]`: one counts if an entry reads it, directly or where its own `cc` does not say.
fn common(context: &Context<'_>, caveats: &mut Vec<String>, users: &[(&Cc, Option<&Node>)]) {
    let cc = &context.settings.cc;
    let table = Written { name: "cc".to_owned(), node: context.wrote(&["cc"]) };
    let Some(Value::Table(entries)) = table.node.map(|node| &node.value) else { return };
    let reads = |key: &str, (cc, own): &(&Cc, Option<&Node>)| {
        let says_itself = key != "timely" && own.is_some_and(|own| own.get(key).is_some());
        !says_itself && !idle(cc).contains(&key)
    };
    // `kind` chooses what the others mean; it is judged by them.
    let unread = entries.iter().map(|entry| entry.key.as_str()).filter(|key| *key != "kind");
    let unread: Vec<&str> = unread.filter(|key| !users.iter().any(|user| reads(key, user))).collect();
    let (by_kind, by_users): (Vec<&str>, Vec<&str>) = unread.iter().partition(|key| idle(cc).contains(key));
    caveat(caveats, &table, &by_kind, true, &format!("cc.{}", reason(cc)));
    let why = "these entries, of which none reads them";
    caveat(caveats, &table, &by_users, true, why);
    if users.iter().any(|(_, own)| own.is_none()) {
        deaf(context, caveats, &table, cc);
    }
}

/// UE comes from TCD only.
fn deaf(context: &Context<'_>, caveats: &mut Vec<String>, table: &Written<'_>, cc: &Cc) {
    let detector = context.settings.switch.detector.kind;
    if detector == DetectorKind::Tcd {
        return;
    }
    let word = serde_json::to_value(detector).expect("a kind is a word");
    let why = format!("switch.detector.kind = {word}");
    match cc.kind {
        CcKind::None => {}
        CcKind::Dcqcn => caveat(caveats, table, &["on-ue"], true, &why),
        CcKind::Timely => {
            let inner = table.node.and_then(|node| node.get("timely"));
            let inner = Written { name: format!("{}.timely", table.name), node: inner };
            caveat(caveats, &inner, &["on-ue"], true, &why);
        }
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

/// The keys that a `[cc]` of this kind does not read.
fn idle(cc: &Cc) -> Vec<&'static str> {
    let byte: &[&str] =
        &["byte-counter", "cut", "cut-first", "eighth-rule", "cnp-interval", "np", "np-fraction", "cnp-size"];
    let both: &[&str] = &[
        "variant",
        "alpha-initial",
        "g",
        "alpha-timer",
        "rate-timer",
        "fast-recovery",
        "rate-ai",
        "rate-hai",
        "clamp-target",
        "on-ue",
    ];
    let (check, timely): (&[&str], &[&str]) = (&["decrease-interval"], &["timely"]);
    match (cc.kind, cc.variant) {
        (CcKind::None, _) => [byte, both, check, timely, &["min-rate"]].concat(),
        (CcKind::Timely, _) => [byte, both, check].concat(),
        (CcKind::Dcqcn, Variant::ByteCounter) => [check, timely].concat(),
        (CcKind::Dcqcn, Variant::DecreaseCheck) => [byte, timely].concat(),
    }
}

/// Why [`idle`] keys are idle.
fn reason(cc: &Cc) -> &'static str {
    match (cc.kind, cc.variant) {
        (CcKind::None, _) => "kind = \"none\"",
        (CcKind::Timely, _) => "kind = \"timely\"",
        (CcKind::Dcqcn, Variant::ByteCounter) => "variant = \"byte-counter\"",
        (CcKind::Dcqcn, Variant::DecreaseCheck) => "variant = \"decrease-check\"",
    }
}
