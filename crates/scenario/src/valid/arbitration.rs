//! Turns and shares: every priority, or virtual lane (VL), with traffic has its own.
use backwater_codes::Code;
use backwater_control::arbitration::VlEntry;
use backwater_fabric::Arbiter;
use backwater_units::Bytes;

use super::lanes::Lanes;
use super::{Context, isolation, mtu};
use crate::document::at;
use crate::settings::{self, VlWeight};

/// Which queue of an egress port sends next; wrong tables are reported.
pub(super) fn arbiter(context: &mut Context<'_>, lanes: &Lanes) -> Arbiter {
    match context.settings.switch.arbiter {
        settings::Arbiter::Strict => Arbiter::Strict,
        settings::Arbiter::RoundRobin => Arbiter::RoundRobin,
        settings::Arbiter::Deficit => {
            if !isolation::is_on(context.settings) {
                shares(context, lanes);
            }
            Arbiter::Deficit { weights: isolation::weights(context.settings) }
        }
        settings::Arbiter::Weighted => {
            let tables = &context.settings.switch.vl_arbitration;
            lines(context);
            if weights(context, lanes) {
                everyone(context, lanes);
                whole_packets(context, lanes);
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

/// Shares of nobody, and traffic without a share.
fn shares(context: &mut Context<'_>, lanes: &Lanes) {
    let settings = context.settings;
    let (control, mut listed) = (settings.switch.control_priority, 0_u8);
    let strict = settings.switch.strict.iter().enumerate();
    let strict =
        strict.map(|(index, priority)| ("strict", *priority, at!["switch", "strict", index].to_vec()));
    let shares = settings.switch.shares.iter().enumerate();
    let shares = shares.map(|(index, share)| {
        ("shares", share.priority, at!["switch", "shares", index, "priority"].to_vec())
    });
    for (list, priority, place) in strict.chain(shares) {
        if priority == control {
            let message =
                format!("switch.{list} names {control}, the control priority, which always goes first");
            let help = "take it out, or choose another switch.control-priority";
            context.report(&place, message, "goes first in any case", help);
        } else if listed & (1 << priority) != 0 {
            let message = format!("switch.{list} names priority {priority}, which has its place already");
            let help = "name it once, in switch.strict or in switch.shares";
            context.report(&place, message, "named before", help);
        }
        listed |= 1 << priority;
    }
    let some = !settings.switch.shares.is_empty();
    for priority in Lanes::of(lanes.used & !listed).filter(|_| some) {
        let message = format!(
            "priority {priority} carries {} but is neither in switch.shares nor in switch.strict",
            lanes.user(settings, priority)
        );
        let help = format!("add {{ priority = {priority}, weight = 10 }}, with a weight from 1 to 100");
        context.report(&at!["switch", "shares"], message, "a share for each priority with traffic", help);
    }
}

/// A unit of weight (InfiniBand specification).
const UNIT: Bytes = Bytes::new(64);
/// Lines that a table may have (InfiniBand specification).
const LINES: usize = 64;
/// A share of the bytes that is off by more than this part of it is worth a word.
const TOLERANCE: f64 = 0.1;

/// Tables that are too long, and lines that have no turn to wait for.
fn lines(context: &mut Context<'_>) {
    let (tables, control) =
        (&context.settings.switch.vl_arbitration, context.settings.switch.control_priority);
    for (table, lines) in [("high", &tables.high), ("low", &tables.low)] {
        if lines.len() > LINES {
            let message = format!("switch.vl-arbitration.{table} has {} lines", lines.len());
            let help = "sum up the weights of lines of the same virtual lane";
            context.report(&at!["switch", "vl-arbitration", table], message, "allowed: 64 lines", help);
        }
        for (index, line) in lines.iter().enumerate() {
            let (vl, place) = (line.vl, at!["switch", "vl-arbitration", table, index, "vl"]);
            if vl == control {
                let message = format!(
                    "switch.vl-arbitration.{table} names {vl}, the control priority, which always goes first"
                );
                let help = "take the line out, or choose another switch.control-priority";
                context.report(&place, message, "in no table", help);
            }
        }
    }
}

/// Tables in which nobody may send.
fn weights(context: &mut Context<'_>, lanes: &Lanes) -> bool {
    let tables = &context.settings.switch.vl_arbitration;
    let lines = tables.high.len() + tables.low.len();
    let sum: u32 = tables.high.iter().chain(&tables.low).map(|line| u32::from(line.weight)).sum();
    if sum == 0 && lines > 0 {
        let message = "the weights of switch.vl-arbitration sum to zero";
        let help = format!(
            "give every virtual lane that carries traffic a weight from 1 to 255, in units of 64 B: {{ vl = {}, weight = 64 }}",
            Lanes::of(lanes.used).next().unwrap_or_default()
        );
        context.report(
            &at!["switch", "vl-arbitration"],
            message.to_owned(),
            "nothing would ever be sent",
            help,
        );
    }
    sum > 0 || lines == 0
}

/// VLs with traffic that would never be served. Those without traffic may have lines: tables may be for several scenarios.
fn everyone(context: &mut Context<'_>, lanes: &Lanes) {
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
                // Who wrote no tables finds the line that asks for them.
                let key =
                    context.wrote(&["switch", "vl-arbitration"]).map_or("arbiter", |_| "vl-arbitration");
                context.report(&at!["switch", key], message, "it would never be served", help);
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
}

/// A packet that begins within a weight is sent as a whole: what short turns mean is not what the weights say.
fn whole_packets(context: &mut Context<'_>, lanes: &Lanes) {
    let (tables, packet) = (&context.settings.switch.vl_arbitration, mtu(context.settings));
    for (table, lines) in [("high", &tables.high), ("low", &tables.low)] {
        let lines = lines.iter().filter(|line| lanes.used & (1 << line.vl) != 0 && line.weight > 0);
        let weights: Vec<u64> = lines.map(|line| u64::from(line.weight)).collect();
        let packets: Vec<u64> =
            weights.iter().map(|weight| (UNIT * *weight).get().div_ceil(packet.get())).collect();
        let share = |of: &[u64], line: usize| of[line] as f64 / of.iter().sum::<u64>() as f64;
        let off = |line| (share(&packets, line) / share(&weights, line) - 1.0).abs() > TOLERANCE;
        if (0..weights.len()).any(off) {
            let whole = (packet.get() / UNIT.get()).max(1);
            context.caveat(Code::WeightsRounded, format!("switch.vl-arbitration.{table}"), format!(
                "switch.vl-arbitration.{table}: a packet that begins within a weight is sent as a whole, so with packets of \
                 {packet} the weights {} act as {}; use multiples of {whole}",
                ratio(&weights),
                ratio(&packets)
            ));
        }
    }
}

fn ratio(numbers: &[u64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(":")
}
