//! Which flows are one stream of PUTs.
use std::collections::BTreeMap;

use backwater_traffic::Flow;

use crate::document::at;
use crate::valid::Context;

/// Makes the PUTs of one source, destination, priority and kind, of all entries, one stream. `flows` are sorted; connections are
/// numbered from `first` on, in the order of their first flows. `kinds` has the kind of each entry's PUTs.
pub(in crate::valid) fn connect(
    context: &mut Context<'_>,
    flows: &mut [Flow],
    kinds: &[Option<u16>],
    first: u32,
) {
    if kinds.iter().all(Option::is_none) {
        return;
    }
    // A map for each source, as in `backwater_traffic::connect`.
    let mut streams: Vec<BTreeMap<(u32, u8, u16), Stream>> = Vec::new();
    let (mut next, mut behind) = (first, BTreeMap::new());
    for flow in flows {
        let Some(kind) = kinds.get(usize::from(flow.group)).copied().flatten() else { continue };
        let src = flow.src as usize;
        if streams.len() <= src {
            streams.resize_with(src + 1, BTreeMap::new);
        }
        let new = Stream { number: next, endless: None };
        let stream = streams[src].entry((flow.dst, flow.priority, kind)).or_insert(new);
        next += u32::from(stream.number == next);
        flow.connection = stream.number;
        if let Some(ahead) = stream.endless {
            behind.entry(flow.group).or_insert(ahead);
        } else if flow.is_endless() {
            stream.endless = Some(flow.group);
        }
    }
    for (entry, ahead) in behind {
        never(context, usize::from(entry), usize::from(ahead));
    }
}

#[derive(Clone, Copy)]
struct Stream {
    number: u32,
    /// The entry of the flow after which nothing of this stream is sent.
    endless: Option<u16>,
}

/// A stream sends flow after flow: nothing comes after one without an end.
fn never(context: &mut Context<'_>, entry: usize, ahead: usize) {
    let traffic = &context.settings.traffic;
    let (name, ahead) = (&traffic[entry].name, &traffic[ahead].name);
    let message = format!(
        "traffic.{name}: its PUTs would wait for ever behind those of traffic.{ahead}, which have no end: same source, destination and \
         priority are one stream, which sends one flow after the other"
    );
    let help = format!("give one of them another priority, or traffic.{ahead} an end (until, size)");
    context.report(&at!["traffic", entry], message, "never sent", help);
}
