//! The virtual-lane arbitration tables: every virtual lane (VL) with traffic has its turn.
use backwater_control::arbitration::VlEntry;
use backwater_fabric::Arbiter;

use super::Context;
use super::lanes::Lanes;
use crate::document::at;
use crate::settings::{self, VlWeight};

/// Which queue of an egress port sends next; wrong tables are reported.
pub(super) fn arbiter(context: &mut Context<'_>, lanes: &Lanes) -> Arbiter {
    match context.settings.switch.arbiter {
        settings::Arbiter::Strict => Arbiter::Strict,
        settings::Arbiter::RoundRobin => Arbiter::RoundRobin,
        settings::Arbiter::Weighted => {
            let tables = &context.settings.switch.vl_arbitration;
            let named = named(context);
            if weights(context) {
                everyone(context, lanes, named);
            }
            let lines = |table: &[VlWeight]| {
                table.iter().map(|line| VlEntry { vl: line.vl, weight: line.weight }).collect()
            };
            Arbiter::Weighted {
                high: lines(&tables.high),
                low: lines(&tables.low),
                high_limit: tables.high_limit,
            }
        }
    }
}

/// The VLs that the tables name, as bits. One that is named again in its table, or has no turn to wait for, is reported.
fn named(context: &mut Context<'_>) -> u8 {
    let (tables, control) =
        (&context.settings.switch.vl_arbitration, context.settings.switch.control_priority);
    let mut all = 0u8;
    for (table, lines) in [("high", &tables.high), ("low", &tables.low)] {
        let mut named = 0u8;
        for (index, line) in lines.iter().enumerate() {
            let (vl, place) = (line.vl, at!["switch", "vl-arbitration", table, index, "vl"]);
            if vl == control {
                let message = format!(
                    "switch.vl-arbitration.{table} names {vl}, the control priority, which always goes first"
                );
                let help = "take the line out, or choose another switch.control-priority";
                context.report(&place, message, "in no table", help);
            }
            if named & (1 << vl) != 0 {
                let message = format!("switch.vl-arbitration.{table} names virtual lane {vl} twice");
                let help = "give it one line with the sum of the weights";
                context.report(&place, message, "the second time", help);
            }
            named |= 1 << vl;
        }
        all |= named;
    }
    all
}

/// Tables in which nobody may send.
fn weights(context: &mut Context<'_>) -> bool {
    let tables = &context.settings.switch.vl_arbitration;
    let lines = tables.high.len() + tables.low.len();
    let sum: u32 = tables.high.iter().chain(&tables.low).map(|line| u32::from(line.weight)).sum();
    if sum == 0 && lines > 0 {
        let message = format!("the weights of switch.vl-arbitration sum to zero over {lines} lines");
        let help = "give every virtual lane that carries traffic a weight from 1 to 255, in units of 64 B: { vl = 0, weight = 64 }";
        context.report(&at!["switch", "vl-arbitration"], message, "nothing would ever be sent", help);
    }
    sum > 0 || lines == 0
}

/// VLs with traffic that would never be served, and served VLs without traffic.
fn everyone(context: &mut Context<'_>, lanes: &Lanes, named: u8) {
    let settings = context.settings;
    let tables = &settings.switch.vl_arbitration;
    for vl in Lanes::of(lanes.used) {
        let user = lanes.user(settings, vl);
        let fix = format!("{{ vl = {vl}, weight = 64 }}");
        let places = [("high", &tables.high), ("low", &tables.low)];
        let lines = places.iter().flat_map(|(table, lines)| (0..).zip(*lines).map(|line| (*table, line)));
        let own: Vec<_> = lines.filter(|(_, (_, line))| line.vl == vl).collect();
        match own.first() {
            None => {
                let message =
                    format!("virtual lane {vl} carries {user} but is in no table of switch.vl-arbitration");
                let help = format!("add {fix} to switch.vl-arbitration.high or low");
                context.report(&at!["switch", "vl-arbitration"], message, "it would never be served", help);
            }
            Some(&(table, (index, _))) if own.iter().all(|(_, (_, line))| line.weight == 0) => {
                let message = format!(
                    "virtual lane {vl} carries {user} but has the weight 0: it would never be served"
                );
                let place = at!["switch", "vl-arbitration", table, index, "weight"];
                context.report(&place, message, "allowed: 1 to 255", format!("write {fix}"));
            }
            Some(_) => {}
        }
    }
    let control = 1 << settings.switch.control_priority;
    for vl in Lanes::of(named & !lanes.used & !control) {
        context.caveats.push(format!("virtual lane {vl} is in switch.vl-arbitration but carries no traffic"));
    }
}
