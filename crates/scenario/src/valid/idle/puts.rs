//! Keys of `[put]`, and of the entries' own, that no stream reads.
use backwater_codes::{Code, Remark};

use super::{Context, Written, caveat, is};
use crate::document::{Node, Value};
use crate::settings::{DetectorKind, Fairness, Put, PutPolicy, Reservation, Settings};
use crate::valid::{host, is_put, put};

/// The tables in a `[put]`.
const TABLES: [&str; 3] = ["ack", "aimd", "dack"];

/// What to say about PUTs.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let settings = context.settings;
    let mut caveats = Vec::new();
    let mut users = Vec::new();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let item = context.wrote(&["traffic"]).and_then(|list| list.items()?.get(index));
        let node = item.and_then(|node| node.get("put"));
        match (&entry.put, is_put(settings, index)) {
            (None, true) => users.push((settings.put, None)),
            (None, false) => {}
            (Some(_), false) => {
                let name = format!("traffic.{}.put", entry.name);
                let message = format!("without effect with transport = \"roce\": {name}");
                caveats.push(Remark::new(Code::NoEffect, name, message));
            }
            (Some(own), true) => {
                let name = format!("traffic.{}.put", entry.name);
                unread(&mut caveats, &name, node, &[(*own, None)], settings);
                users.push((*own, node));
            }
        }
    }
    let written = context.wrote(&["put"]);
    if users.is_empty()
        && let Some(Value::Table(entries)) = written.map(|node| &node.value)
    {
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let table = Written { name: "put".to_owned(), node: written };
        caveat(&mut caveats, &table, &keys, true, "traffic without PUTs");
    } else {
        unread(&mut caveats, "put", written, &users, settings);
    }
    marks(context, &mut caveats);
    caveats
}

/// A protocol that is used, and its own table if it has one.
type User<'a> = (Put, Option<&'a Node>);

/// The keys of a table that none of its users reads, directly or where its own table does not say; table by table.
fn unread(
    caveats: &mut Vec<Remark>,
    name: &str,
    node: Option<&Node>,
    users: &[User<'_>],
    settings: &Settings,
) {
    for table in [None].into_iter().chain(TABLES.map(Some)) {
        let (name, node) = match table {
            None => (name.to_owned(), node),
            Some(table) => (format!("{name}.{table}"), node.and_then(|node| node.get(table))),
        };
        let Some(Value::Table(entries)) = node.map(|node| &node.value) else { continue };
        let written = Written { name, node };
        let keys = entries
            .iter()
            .map(|entry| entry.key.as_str())
            .filter(|key| table.is_some() || !TABLES.contains(key));
        for key in keys {
            let reads = |(put, own): &User<'_>| {
                let own = own.and_then(|own| table.map_or(Some(own), |table| own.get(table)));
                let says_itself = own.is_some_and(|own| own.get(key).is_some());
                (!says_itself).then(|| idle(put, table, key, settings))
            };
            let reasons: Vec<Option<String>> = users.iter().filter_map(reads).collect();
            if reasons.is_empty() {
                caveat(caveats, &written, &[key], true, "these entries, which all have their own");
            } else if reasons.iter().all(Option::is_some)
                && let Some(Some(why)) = reasons.first()
            {
                caveat(caveats, &written, &[key], true, why);
            }
        }
    }
}

/// Why a protocol does not read a key of one of its tables, if it does not.
fn idle(put: &Put, table: Option<&str>, key: &str, settings: &Settings) -> Option<String> {
    let policy = || is("put.policy", put.policy);
    let dack = &put.dack;
    match (table, key) {
        (None, "packets" | "bytes") => (put.policy == PutPolicy::Aimd).then(policy),
        (Some("aimd"), _) => (put.policy != PutPolicy::Aimd).then(policy),
        (Some("dack"), _) if put.policy != PutPolicy::Dack => Some(policy()),
        (Some("dack"), "reserved-counts") if dack.reservation == Reservation::None => {
            Some("put.dack.reservation = \"none\"".to_owned())
        }
        (Some("dack"), "period") => {
            (dack.fairness == Fairness::None).then(|| is("put.dack.fairness", dack.fairness))
        }
        (Some("dack"), "difference" | "hold" | "strength") => {
            (dack.fairness != Fairness::Verbs).then(|| is("put.dack.fairness", dack.fairness))
        }
        (Some("dack"), "escape-needs-none") => {
            dack.escape.given().is_none().then(|| "put.dack.escape = \"never\"".to_owned())
        }
        (
            Some("dack"),
            "threshold" | "release" | "signal" | "reservation" | "reserved-counts" | "fairness" | "iack",
        ) => (!host::is_slow(settings))
            .then(|| "host.drain = \"unlimited\": no receive queue is ever congested".to_owned()),
        _ => None,
    }
}

/// PUTs cannot be marked.
fn marks(context: &Context<'_>, caveats: &mut Vec<Remark>) {
    let settings = context.settings;
    let table = Written { name: "switch.detector".to_owned(), node: context.wrote(&["switch", "detector"]) };
    let judged = settings.switch.detector.kind != DetectorKind::None;
    let why = "traffic of PUTs alone, which are never marked";
    caveat(caveats, &table, &["kind"], put::all(settings) && judged, why);
}
