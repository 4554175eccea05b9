//! Queues of flows at egress ports, which are held upstream: what they need of the traffic.
use backwater_fabric::{BfcSpec, PoolOrder, Queueing};

use super::Context;
use super::lanes::Lanes;
use crate::document::at;
use crate::settings::{IsolationKind, QueueOrder, Settings};

/// Whether switches hold flows instead of classes.
pub(super) fn is_on(settings: &Settings) -> bool {
    settings.switch.isolation.kind == IsolationKind::Bfc
}

/// Classes that a NIC has beside the one in which what is held waits.
const MOST: u32 = 7;

/// The queues; `None`: each egress port has one for each priority.
pub(super) fn queueing(context: &mut Context<'_>, lanes: &Lanes) -> Option<Queueing> {
    if !is_on(context.settings) {
        return None;
    }
    let control = 1 << context.settings.switch.control_priority;
    let used = (lanes.used | control).count_ones();
    if used > MOST {
        let message = format!(
            "switch.isolation.kind = \"bfc\" keeps what is held apart at NICs, and {used} priorities leave no room for that"
        );
        let help = "put some of the traffic on the same priority";
        context.report(
            &at!["switch", "isolation", "kind"],
            message,
            format!("allowed: {MOST} priorities"),
            help,
        );
    }
    let bfc = context.settings.switch.isolation.bfc;
    let order = match bfc.order {
        QueueOrder::RoundRobin => PoolOrder::RoundRobin,
        QueueOrder::LowestFirst => PoolOrder::LowestFirst,
    };
    Some(Queueing::Bfc(BfcSpec { queues: bfc.queues, sticky: bfc.sticky, order, frame: bfc.frame.0 }))
}
