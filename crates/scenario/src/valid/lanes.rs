//! Priorities, which are virtual lanes (VLs) under credits: which of them carry traffic, and which are under flow control.
use backwater_codes::Code;
use std::collections::BTreeMap;

use backwater_traffic::Flow;

use super::Context;
use super::cc::Pairs;
use super::flows::PRIORITY;
use crate::document::at;
use crate::settings::{OnOverflow, Settings};

/// The priorities that carry data or ACKs.
pub(super) struct Lanes {
    /// As bits, without the control priority.
    pub(super) used: u8,
    /// One of the traffic entries on each.
    example: BTreeMap<u8, usize>,
}

impl Lanes {
    /// Without queue pairs, because something is wrong with them, data alone.
    pub(super) fn new(settings: &Settings, flows: &[Flow], pairs: Option<&Pairs>) -> Self {
        let (mut example, mut used) = (BTreeMap::new(), 0u8);
        // Flows that are injected later need what the others need.
        let entries = (0..).zip(&settings.traffic).filter(|(_, entry)| entry.workload.is_injected());
        let injected = entries.map(|(group, entry)| (group, entry.priority.unwrap_or(PRIORITY)));
        for (group, priority) in flows.iter().map(|flow| (flow.group, flow.priority)).chain(injected) {
            example.entry(priority).or_insert(usize::from(group));
            let ack = pairs.and_then(|pairs| pairs.ack_priority(group, priority));
            used |= ack.into_iter().fold(1 << priority, |set, priority| set | 1 << priority);
        }
        Self { used: used & !(1 << settings.switch.control_priority), example }
    }

    /// Packets of every priority under credits go over to the next ones on their way, of so many lanes: they must be free for them.
    pub(super) fn change(&mut self, context: &mut Context<'_>, lanes: u8) {
        let settings = context.settings;
        let (control, listed) = (settings.switch.control_priority, &settings.switch.credits.priorities);
        let used = self.used;
        let begin = Self::of(used).filter(|priority| listed.contains(priority));
        for (priority, lane) in begin.flat_map(|priority| (1..lanes).map(move |lane| (priority, lane))) {
            let next = priority + lane;
            let taken = if next > 7 {
                Some("there is none".to_owned())
            } else if next == control {
                Some("that is the control priority".to_owned())
            } else if used & (1 << next) != 0 {
                Some(format!("{} has it", self.user(settings, next)))
            } else if !listed.contains(&next) {
                Some("it is not in switch.credits.priorities".to_owned())
            } else {
                None
            };
            let Some(taken) = taken else {
                self.used |= 1 << next;
                continue;
            };
            let user = self.user(settings, priority);
            let message = format!(
                "packets of priority {priority} ({user}) change to virtual lane {next} on their way, but {taken}; this \
                 routing needs {lanes} lanes for each priority"
            );
            let help = if lanes == 2 {
                "give every entry, and ack.priority, a priority whose next one is free, such as 1, 3 and 5; or set \
                 topology.lanes = false"
            } else {
                "give every entry, and ack.priority, a priority whose next two are free, such as 1 and 4; or set \
                 topology.lanes = false"
            };
            match self.entry(priority) {
                Some(entry) => context.report(&at!["traffic", entry, "priority"], message, "not free", help),
                None => context.report(&at!["ack", "priority"], message, "not free", help),
            }
        }
    }

    /// Those in a set of bits, ascending.
    pub(super) fn of(set: u8) -> impl Iterator<Item = u8> {
        (0..8).filter(move |priority| set & (1 << priority) != 0)
    }

    /// One of the traffic entries on a priority; none if it carries ACKs alone.
    pub(super) fn entry(&self, priority: u8) -> Option<usize> {
        self.example.get(&priority).copied()
    }

    /// Who uses a priority, for messages.
    pub(super) fn user(&self, settings: &Settings, priority: u8) -> String {
        match self.example.get(&priority) {
            Some(&entry) => format!("traffic.{}", settings.traffic[entry].name),
            None => "ack.priority".to_owned(),
        }
    }
}

/// The priorities under flow control as bits: the list `switch.<table>.priorities`. What is wrong with it is reported.
pub(super) fn guarded(context: &mut Context<'_>, listed: &[u8], table: &'static str, lanes: &Lanes) -> u8 {
    let control = context.settings.switch.control_priority;
    if let Some(written) = context.wrote(&["switch", table]).and_then(|table| table.get("priorities")) {
        let numbers = written.json();
        let index = numbers.as_array().and_then(|list| list.iter().position(|number| *number == control));
        if let Some(index) = index {
            let never = if table == "pfc" { "never paused" } else { "never out of credit" };
            let message =
                format!("switch.{table}.priorities lists {control}, the control priority, which is {never}");
            let help = "take it out of the list, or choose another switch.control-priority";
            context.report(&at!["switch", table, "priorities", index], message, never, help);
        }
    }
    let guarded = listed.iter().fold(0u8, |set, priority| set | 1 << priority);
    // Where packets are dropped it is what the list is for.
    let meant = context.settings.switch.overflow != OnOverflow::Stop;
    for priority in Lanes::of(lanes.used & !guarded).filter(|_| !meant) {
        let caveat = format!(
            "priority {priority} carries traffic but is not in switch.{table}.priorities: it is not lossless"
        );
        context.caveat(Code::NotLossless, format!("switch.{table}.priorities"), caveat);
    }
    guarded
}
