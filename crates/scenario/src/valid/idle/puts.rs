//! Keys of `[put]`, and of the entries' own, that no stream reads.
use backwater_codes::{Code, Remark};

use super::readers::{Reader, unread};
use super::{Context, Written, is};
use crate::settings::{FairnessKind, Kinds, PutSettings, Reservation, Settings};
use crate::valid::{host, is_put};

/// What to say about PUTs.
pub(super) fn report(context: &Context<'_>) -> Vec<Remark> {
    let settings = context.settings;
    let mut caveats = Vec::new();
    let mut readers = Vec::new();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let item = context.wrote(&["traffic"]).and_then(|list| list.items()?.get(index));
        let table = Written {
            name: format!("traffic.{}.put", entry.name),
            node: item.and_then(|node| node.get("put")),
        };
        match (&entry.put, is_put(settings, index)) {
            (None, true) => readers.push(Reader::new(|path| idle(&settings.put, path, settings))),
            (None, false) => {}
            (Some(_), false) => {
                let message = format!("without effect with transport = \"roce\": {}", table.name);
                caveats.push(Remark::new(Code::NoEffect, table.name, message));
            }
            (Some(own), true) => {
                let reader = || Reader::new(|path| idle(own, path, settings));
                unread(&mut caveats, &table, &[reader()], None);
                readers.push(Reader { own: table.node, ..reader() });
            }
        }
    }
    let table = Written { name: "put".to_owned(), node: context.wrote(&["put"]) };
    unread(&mut caveats, &table, &readers, Some("traffic without PUTs"));
    caveats
}

/// Why a protocol does not read what stands at a path in its table, if it does not.
fn idle(put: &PutSettings, path: &[&str], settings: &Settings) -> Option<String> {
    let (dack, readings) = (&put.dack, &put.dack.experimental);
    let fairness = || is("put.dack.experimental.fairness", readings.fairness);
    let key = match path {
        ["policy"] => return None,
        [key] => return (!put.policy.reads(key)).then(|| is("put.policy", put.policy)),
        ["dack", key] | ["dack", "experimental", key] => *key,
        _ => return None,
    };
    match key {
        "reserved-counts" if readings.reservation == Reservation::None => {
            Some("put.dack.experimental.reservation = \"none\"".to_owned())
        }
        "period" => (readings.fairness == FairnessKind::None).then(fairness),
        "difference" | "hold" | "strength" => (readings.fairness != FairnessKind::Verbs).then(fairness),
        "escape-needs-none" => {
            dack.escape.given().is_none().then(|| "put.dack.escape = \"never\"".to_owned())
        }
        "threshold" | "release" | "signal" | "reservation" | "reserved-counts" | "fairness" | "iack" => {
            let why = || "host.drain = \"unlimited\": no receive queue is ever congested".to_owned();
            (!host::is_slow(settings)).then(why)
        }
        _ => None,
    }
}
