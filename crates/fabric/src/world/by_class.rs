//! What the settings of links and arbiters are by class.
use backwater_control::arbitration::{Quanta, VlEntry};
use backwater_control::flow_control::{CreditReturn, Unit};
use borsh::{BorshDeserialize, BorshSerialize};

use super::Classes;
use crate::spec::{Arbiter, CreditSpec, PacketSpec, Queueing, Start};

/// Credits as all nodes apply them.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct CreditSettings {
    pub(crate) returned: CreditReturn,
    pub(crate) unit: Unit,
    /// Units of the buffer of an ingress port and class.
    pub(crate) units: u32,
    /// All ingress ports of a switch promise from one memory, which is as large as their buffers together.
    pub(crate) shared: bool,
    /// Units without which no packet starts.
    pub(crate) least: u32,
    pub(crate) frame: u16,
    pub(crate) unchanged: bool,
    /// Updates that go at once are sent regularly, too, so that what lost packets have spent comes back.
    pub(crate) repeated: bool,
    pub(crate) loss_ppm: u32,
    /// Updates are lost, or go ahead of packets that links send again.
    pub(crate) disturbed: bool,
    /// Classes under credits (never class 0).
    pub(crate) classes: u8,
}

/// Weighted arbitration, by class.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) high: Vec<VlEntry>,
    pub(crate) low: Vec<VlEntry>,
    pub(crate) high_limit: u8,
}

/// Arbitration that keeps accounts of what each class has sent.
#[derive(Clone, Debug)]
pub(crate) enum Turns {
    Weighted(Weights),
    Deficit(Quanta),
}

/// The arbitration by class; of the tables of virtual lanes, priorities that no flow uses have no turn.
pub(super) fn turns(arbiter: &Arbiter, classes: &Classes) -> Option<Turns> {
    match arbiter {
        Arbiter::Strict | Arbiter::RoundRobin => None,
        Arbiter::Weighted { high, low, high_limit } => {
            let by_class = |table: &[VlEntry]| {
                let used = table.iter().filter(|entry| classes.is_used(entry.vl));
                used.map(|entry| VlEntry { vl: classes.class(entry.vl), weight: entry.weight }).collect()
            };
            let (high, low) = (by_class(high), by_class(low));
            Some(Turns::Weighted(Weights { high, low, high_limit: *high_limit }))
        }
        Arbiter::Deficit { weights } => {
            let mut by_class = [0; 8];
            for class in 1..classes.count {
                by_class[usize::from(class)] = weights[usize::from(classes.priority(class))];
            }
            Some(Turns::Deficit(Quanta::new(&by_class)))
        }
    }
}

pub(super) fn credit_settings(
    credits: &CreditSpec,
    queueing: Queueing,
    packet: PacketSpec,
    classes: Classes,
    (loses, repeats): (bool, bool),
) -> CreditSettings {
    CreditSettings {
        returned: credits.returned,
        unit: credits.unit,
        units: credits.unit.within(credits.buffer) as u32,
        shared: queueing == Queueing::Shared,
        least: match credits.start {
            Start::Packet => 0,
            Start::Full => credits.unit.count((packet.payload + packet.header).get() as u32),
        },
        frame: credits.frame.get() as u16,
        // What is returned at once has no period in which to repeat it.
        unchanged: credits.unchanged && matches!(credits.returned, CreditReturn::Periodic(_)),
        repeated: loses && credits.returned == CreditReturn::AtOnce,
        loss_ppm: credits.loss_ppm,
        disturbed: credits.loss_ppm > 0 || repeats,
        classes: classes.to_classes(credits.priorities) & !1,
    }
}
