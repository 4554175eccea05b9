//! PUTs: which traffic entries are made of them, and by which of several protocols.
mod fits;
pub(super) mod streams;

use backwater_fabric::PutSpec;
use backwater_topology::{Network, Routes};
use backwater_traffic::Flow;

use super::Context;
use crate::document::{Step, at};
use crate::settings::{PutSettings, Settings, Transport};

/// Whether a traffic entry is made of PUTs.
pub(super) fn is_put(settings: &Settings, entry: usize) -> bool {
    settings.traffic.get(entry).is_some_and(|entry| entry.transport == Some(Transport::Put))
}

/// Whether any is.
pub(super) fn any(settings: &Settings) -> bool {
    (0..settings.traffic.len()).any(|entry| is_put(settings, entry))
}

/// Whether all are.
pub(super) fn all(settings: &Settings) -> bool {
    (0..settings.traffic.len()).all(|entry| is_put(settings, entry))
}

/// Writes out the defaults that depend on other values.
pub(super) fn fill(settings: &mut Settings) {
    for entry in &mut settings.traffic {
        entry.transport.get_or_insert(settings.host.transport);
    }
    let own = settings.traffic.iter_mut().filter_map(|entry| entry.put.as_mut());
    for put in own.chain([&mut settings.put]) {
        put.experimental.replay_moves = Some(put.moves());
    }
}

/// The kinds of PUTs, and which of them each traffic entry has.
pub(super) struct Puts {
    kinds: Vec<(PutSettings, Vec<Step>)>,
    /// None: queue pairs.
    pub(super) of_entry: Vec<Option<u16>>,
}

impl Puts {
    /// Entries with the same protocol have the same kind.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut puts = Self { kinds: Vec::new(), of_entry: Vec::new() };
        for (index, entry) in settings.traffic.iter().enumerate() {
            let (put, place) = match entry.put {
                Some(own) => (own, at!["traffic", index, "put"].to_vec()),
                None => (settings.put, at!["put"].to_vec()),
            };
            let kind = is_put(settings, index).then(|| puts.kind(put, place));
            puts.of_entry.push(kind);
        }
        puts
    }

    fn kind(&mut self, put: PutSettings, place: Vec<Step>) -> u16 {
        let known = self.kinds.iter().position(|(kind, _)| *kind == put).unwrap_or(self.kinds.len());
        if known == self.kinds.len() {
            self.kinds.push((put, place));
        }
        known as u16
    }

    /// The kinds as the fabric needs them; `None` if something is wrong, which is reported.
    pub(super) fn specs(
        &self,
        context: &mut Context<'_>,
        (network, routes): (&Network, &Routes),
        flows: &[Flow],
    ) -> Option<Vec<PutSpec>> {
        let before = context.problems.len();
        let mut specs = Vec::new();
        for (number, (put, place)) in (0..).zip(&self.kinds) {
            let own = |flow: &&Flow| self.of_entry[usize::from(flow.group)] == Some(number);
            let entries = context.settings.traffic.iter().zip(&self.of_entry);
            let injected =
                entries.clone().any(|(entry, of)| *of == Some(number) && entry.workload.is_injected());
            fits::check(context, put, place);
            fits::retry(context, put, place, (network, routes), flows.iter().filter(own), injected);
            specs.push(spec(put));
        }
        (context.problems.len() == before).then_some(specs)
    }
}

/// A kind of PUTs as the fabric needs it.
fn spec(put: &PutSettings) -> PutSpec {
    PutSpec {
        policy: put.controller(),
        target: put.target(),
        moves: put.moves(),
        ack_size: put.ack.size.0,
        triggers: put.triggers(),
        processing: put.processing.0,
        overhead: put.overhead.0,
        staging: put.staging.0,
        buffer: put.buffer,
        retry: put.retry.0,
        retries: put.retries,
    }
}
