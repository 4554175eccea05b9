//! Keys of `[cc]`, and of the entries' own, that no flow reads.
use backwater_codes::{Code, Remark};

use super::{Context, Written, caveat, is, is_put, put};
use crate::document::{Node, Value};
use crate::settings::{
    Cc, CcKind, Control, DetectorKind, Feedback, Np, TimelyVariant, Traffic, Variant, Workload,
};

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
                per_round_trip(&mut caveats, &table, cc);
                users.push((cc, table.node));
            }
        }
    }
    common(context, &mut caveats, &users);
    caveats
}

/// The keys of the scenario's `[cc]`: one counts if an entry reads it, directly or where its own `cc` does not say.
fn common(context: &Context<'_>, caveats: &mut Vec<Remark>, users: &[(&Cc, Option<&Node>)]) {
    let cc = &context.settings.cc;
    let table = Written { name: "cc".to_owned(), node: context.wrote(&["cc"]) };
    let Some(Value::Table(entries)) = table.node.map(|node| &node.value) else { return };
    let reads = |key: &str, (cc, own): &(&Cc, Option<&Node>)| {
        let says_itself = !matches!(key, "timely" | "ib" | "dctcp" | "swift" | "hpcc")
            && own.is_some_and(|own| own.get(key).is_some());
        !says_itself && !is_idle(cc, key)
    };
    // `kind` chooses what the others mean; it is judged by them, unless nobody has a reaction point.
    let nobody = put::all(context.settings);
    let keys = entries.iter().map(|entry| entry.key.as_str()).filter(|key| *key != "kind" || nobody);
    let keys: Vec<&str> = keys.filter(|key| !users.iter().any(|user| reads(key, user))).collect();
    unread(caveats, &table, cc, |key| keys.contains(&key));
    let by_users: Vec<&str> = keys.iter().copied().filter(|key| !is_idle(cc, key)).collect();
    let why = "these entries, of which none reads them";
    caveat(caveats, &table, &by_users, true, why);
    if users.iter().any(|(_, own)| own.is_none()) {
        deaf(context, caveats, &table, cc);
        per_round_trip(caveats, &table, cc);
    }
}

/// TIMELY has keys that its form of the HPCC simulator does not read.
fn per_round_trip(caveats: &mut Vec<Remark>, table: &Written<'_>, cc: &Cc) {
    if cc.kind == CcKind::Timely && cc.timely.variant == TimelyVariant::RoundTrip {
        let inner = table.node.and_then(|node| node.get("timely"));
        let inner = Written { name: format!("{}.timely", table.name), node: inner };
        let why = format!("{}.{}", inner.name, is("variant", cc.timely.variant));
        caveat(caveats, &inner, &["floor", "segment", "pacing"], true, &why);
    }
}

/// UE comes from TCD only.
fn deaf(context: &Context<'_>, caveats: &mut Vec<Remark>, table: &Written<'_>, cc: &Cc) {
    let detector = context.settings.switch.detector.kind;
    if detector == DetectorKind::Tcd {
        return;
    }
    let why = is("switch.detector.kind", detector);
    match cc.kind {
        CcKind::None | CcKind::Custom | CcKind::Dctcp | CcKind::Swift | CcKind::Hpcc => {}
        CcKind::Dcqcn => caveat(caveats, table, &["on-ue"], true, &why),
        CcKind::Timely | CcKind::IbCc => {
            let key = if cc.kind == CcKind::Timely { "timely" } else { "ib" };
            let inner = table.node.and_then(|node| node.get(key));
            let inner = Written { name: format!("{}.{key}", table.name), node: inner };
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

/// Whether a `[cc]` does not read this key.
fn is_idle(cc: &Cc, key: &str) -> bool {
    idle_by_kind(cc).contains(&key) || idle_by_variant(cc).contains(&key) || idle_by_np(cc).contains(&key)
}

/// The keys that a `[cc]` of this kind does not read.
fn idle_by_kind(cc: &Cc) -> Vec<&'static str> {
    let dcqcn: &[&str] = &[
        "variant",
        "alpha-initial",
        "cut",
        "cut-first",
        "eighth-rule",
        "g",
        "alpha-timer",
        "rate-timer",
        "byte-counter",
        "fast-recovery",
        "rate-ai",
        "rate-hai",
        "clamp-target",
        "on-ue",
        "cnp-interval",
        "np",
        "np-fraction",
        "decrease-interval",
    ];
    let no_window: &[&str] = &["window-counts"];
    let tables = ["timely", "ib", "dctcp", "swift", "hpcc"];
    let others = |own: &str| tables.into_iter().filter(|table| *table != own).collect::<Vec<_>>();
    let custom: &[&str] = &["function", "parameters", "feedback"];
    match cc.kind {
        CcKind::None => [dcqcn, no_window, &["cnp-size", "min-rate"], &tables, custom].concat(),
        CcKind::Timely => [dcqcn, no_window, &["cnp-size"], &others("timely"), custom].concat(),
        CcKind::IbCc => [dcqcn, no_window, &["min-rate"], &others("ib"), custom].concat(),
        CcKind::Dcqcn => [no_window, &others("dcqcn"), custom].concat(),
        CcKind::Dctcp => [dcqcn, &["cnp-size", "min-rate"], &others("dctcp"), custom].concat(),
        CcKind::Swift => [dcqcn, &["cnp-size", "min-rate"], &others("swift"), custom].concat(),
        CcKind::Hpcc => [dcqcn, &["cnp-size", "min-rate"], &others("hpcc"), custom].concat(),
        CcKind::Custom if cc.feedback == Some(Feedback::Rtt) => {
            [dcqcn, no_window, &["cnp-size", "min-rate"], &others("timely")].concat()
        }
        CcKind::Custom => {
            let notified = ["cnp-interval", "np", "np-fraction"];
            let rest = dcqcn.iter().copied().filter(|key| !notified.contains(key));
            rest.chain(tables).chain(["min-rate", "window-counts"]).collect()
        }
    }
}

/// The keys of DCQCN that this variant of it does not read.
fn idle_by_variant(cc: &Cc) -> &'static [&'static str] {
    match (cc.kind, cc.variant) {
        (CcKind::Dcqcn, Variant::ByteCounter) => &["decrease-interval"],
        (CcKind::Dcqcn, Variant::DecreaseCheck) => &[
            "byte-counter",
            "cut",
            "cut-first",
            "eighth-rule",
            "cnp-interval",
            "np",
            "np-fraction",
            "cnp-size",
        ],
        _ => &[],
    }
}

/// The keys of DCQCN's notification point that are for one that sums marks up.
fn idle_by_np(cc: &Cc) -> &'static [&'static str] {
    let sums = matches!((cc.kind, cc.variant), (CcKind::Dcqcn, Variant::ByteCounter) | (CcKind::Custom, _));
    let each = sums && cc.np == Np::EachMark;
    if each { &["cnp-interval", "np-fraction"] } else { &[] }
}

/// Notes those of the keys that were written in a `[cc]`, satisfy `only`, and are idle.
fn unread(caveats: &mut Vec<Remark>, table: &Written<'_>, cc: &Cc, only: impl Fn(&str) -> bool) {
    let of = |keys: &[&'static str]| keys.iter().copied().filter(|key| only(key)).collect::<Vec<_>>();
    let (kind, variant) = (is("kind", cc.kind), is("variant", cc.variant));
    let np = is("np", cc.np);
    caveat(caveats, table, &of(&idle_by_kind(cc)), true, &format!("{}.{kind}", table.name));
    caveat(caveats, table, &of(idle_by_variant(cc)), true, &format!("{}.{variant}", table.name));
    caveat(caveats, table, &of(idle_by_np(cc)), true, &format!("{}.{np}", table.name));
}
