//! What does not go together: a row for each two choices that no switch, host or queue pair can have at once, and why. What a single value
//! must keep to stands beside what reads it.
use backwater_control::uec::Delivery;
use backwater_units::{Bytes, Span};

use super::Context;
use super::balancing::{knows_entropies, leaves_choice};
use super::cc::below;
use super::combined::is_combined;
use super::flows::PRIORITY;
use super::idle::is;
use super::{faults, has_pairs, host, is_put, keyed, overflow, reliability, uec};
use crate::document::{Step, at};
use crate::settings::{
    Arbiter, CcSettings, Control, DetectorKind, EcmpHash, Fault, FlowControl, Form, IsolationKind,
    LoadBalancing, MarkAt, MarkBasis, NicPort, OnOverflow, OnStorm, Queueing, ReliabilityKind, Settings,
    Switching, ThresholdKind, ThrottleKind, Traffic, UgalQueue, Workload,
};

/// Two choices of a scenario.
struct Clash {
    /// Where it is said.
    at: &'static [&'static str],
    /// Whether both were made.
    both: fn(&Settings) -> bool,
    message: fn(&Settings) -> String,
    label: &'static str,
    help: &'static str,
}

const CLASHES: &[Clash] = &[
    Clash {
        at: &["host", "drain"],
        both: |it| uec::some(it) && host::is_slow(it),
        message: |_| "transport = \"uec\" takes in what comes at once".to_owned(),
        label: "not with uec",
        help: "remove this line, or write host.transport = \"put\"",
    },
    Clash {
        at: &["host", "nic", "post-delay"],
        both: |it| uec::some(it) && it.host.nic.post_delay.0 > Span::ZERO,
        message: |_| {
            "transport = \"uec\" does not read host.nic.post-delay, which is about queue pairs".to_owned()
        },
        label: "not with uec",
        help: "remove this line, or write host.transport = \"roce\"",
    },
    Clash {
        at: &["host", "nic", "message-gap"],
        both: |it| uec::some(it) && it.host.nic.message_gap.0 > Span::ZERO,
        message: |_| {
            "transport = \"uec\" does not read host.nic.message-gap, which is about queue pairs".to_owned()
        },
        label: "not with uec",
        help: "remove this line, or write host.transport = \"roce\"",
    },
    Clash {
        at: &["host", "nic", "start-rate"],
        both: |it| {
            uec::some(it)
                && it.host.nic.start_rate.given().is_some()
                && it.host.nic.start_bytes.0 > Bytes::ZERO
        },
        message: |_| {
            "transport = \"uec\" does not read host.nic.start-rate, which is about queue pairs".to_owned()
        },
        label: "not with uec",
        help: "remove this line, or write host.transport = \"roce\"",
    },
    Clash {
        at: &["uec", "delivery"],
        both: |it| uec::some(it) && it.uec.delivery != Delivery::Rud && uec::by_credits(it),
        message: |it| {
            format!(
                "{} is not modelled with the credits of a receiver (RCCC): an RTS has a place among packets that it would break",
                is("uec.delivery", it.uec.delivery)
            )
        },
        label: "not with rccc",
        help: "write cc.kind = \"nscc\" or \"none\", or uec.delivery = \"rud\"",
    },
    Clash {
        at: &["uec", "delivery"],
        both: |it| uec::some(it) && it.uec.delivery == Delivery::Rod && spreads_uec(it),
        message: |it| {
            format!(
                "uec.delivery = \"rod\" needs one way for each flow, and {} sends packets by several",
                is("switch.load-balancing", it.switch.load_balancing)
            )
        },
        label: "needs one way",
        help: "write switch.load-balancing = \"entropy\" or \"ecmp\"",
    },
    Clash {
        at: &["packet", "padded"],
        both: |it| uec::some(it) && it.packet.padded,
        message: |_| "transport = \"uec\" counts the bytes of a last packet as they are".to_owned(),
        label: "not with uec",
        help: "write packet.padded = false",
    },
    Clash {
        at: &["switch", "isolation", "kind"],
        both: |it| uec::some(it) && it.switch.isolation.kind.has_table(),
        message: |_| {
            "transport = \"uec\" goes many ways at once, and isolation knows a flow by one queue".to_owned()
        },
        label: "not with uec",
        help: "write switch.isolation.kind = \"none\"",
    },
    Clash {
        at: &["run", "until"],
        both: |it| it.run.reuse && it.run.until.is_some(),
        message: |it| {
            let until = it.run.until.as_ref().map_or_else(String::new, |until| format!(" = \"{until}\""));
            format!("run.reuse = true runs to the end of the last iteration, and here run.until{until}")
        },
        label: "not with run.reuse",
        help: "take run.until out, and lower iterations; or write run.reuse = false",
    },
    Clash {
        at: &["run", "reuse"],
        both: |it| it.run.reuse && senders(it) != 1,
        message: |it| {
            format!(
                "run.reuse = true counts the iterations of one job or one collective operation that nothing is beside, and here {} \
                 entries of [[traffic]] and [[job]] send",
                senders(it)
            )
        },
        label: "needs one entry",
        help: "name the one that is to send in run.only, take the others out, or write run.reuse = false",
    },
    Clash {
        at: &["fault"],
        both: |it| it.run.reuse && !it.fault.is_empty(),
        message: |it| {
            format!(
                "run.reuse = true needs iterations that are alike, and {} [[fault]] {} at times of their own",
                it.fault.len(),
                if it.fault.len() == 1 { "entry acts" } else { "entries act" }
            )
        },
        label: "not with run.reuse",
        help: "take the faults out, or write run.reuse = false",
    },
    Clash {
        at: &["probe"],
        both: |it| it.run.reuse && recorded(it).is_some(),
        message: |it| {
            let key = recorded(it).unwrap_or_default();
            format!(
                "probe.{key} records what happens while it does, which run.reuse = true leaves out for what is counted"
            )
        },
        label: "not with run.reuse",
        help: "take the key out, or write run.reuse = false",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| is_pooled(it) && it.switch.overflow != OnOverflow::Drop,
        message: |_| {
            "switch.queueing = \"two-pools\" loses what is beyond a queue's share, so switch.overflow must be \"drop\""
                .to_owned()
        },
        label: "not with two pools",
        help: "write switch.overflow = \"drop\", or switch.queueing = \"output\"",
    },
    Clash {
        at: &["switch", "flow-control"],
        both: |it| is_pooled(it) && it.switch.flow_control == FlowControl::Credits,
        message: |_| {
            "switch.queueing = \"two-pools\" has PAUSE or nothing, and here switch.flow-control = \"credits\""
                .to_owned()
        },
        label: "not with two pools",
        help: "write switch.flow-control = \"pfc\" (or none), or switch.queueing = \"shared\"",
    },
    Clash {
        at: &["switch", "switching"],
        both: |it| is_combined(it) && it.switch.switching == Switching::CutThrough,
        message: |_| {
            with_combined(
                "switching = \"cut-through\"",
                "a crossbar that is faster than the link would wait for the rest of the packet",
            )
        },
        label: "not with combined",
        help: "write switch.switching = \"store-and-forward\"",
    },
    Clash {
        at: &["switch", "flow-control"],
        both: |it| is_combined(it) && it.switch.flow_control == FlowControl::Credits,
        message: |_| {
            with_combined("flow-control = \"credits\"", "its ingress regions are guarded by PAUSE and RESUME")
        },
        label: "not with combined",
        help: "write switch.flow-control = \"pfc\" (or none)",
    },
    Clash {
        at: &["switch", "queueing"],
        both: |it| it.switch.queueing == Queueing::Shared && it.switch.flow_control != FlowControl::Credits,
        message: |it| {
            let here = is("switch.flow-control", it.switch.flow_control);
            format!(
                "switch.queueing = \"shared\" is a memory that credits are promised from, and here {here}"
            )
        },
        label: "needs credits",
        help: "write switch.queueing = \"output\", whose memory all ports share anyway; or switch.flow-control = \"credits\"",
    },
    Clash {
        at: &["switch", "arbiter"],
        both: |it| is_combined(it) && it.switch.arbiter == Arbiter::Weighted,
        message: |_| {
            with_combined(
                "arbiter = \"weighted\"",
                "the tables of virtual lanes are for switches without a crossbar",
            )
        },
        label: "not with combined",
        help: "write switch.arbiter = \"deficit\", round-robin or strict",
    },
    Clash {
        at: &["switch", "pfc", "form"],
        both: |it| is_combined(it) && under_pfc(it) && it.switch.pfc.form == Form::Timed,
        message: |_| {
            with_combined("pfc.form = \"timed\"", "its thresholds are for pauses that hold until RESUME")
        },
        label: "not with combined",
        help: "write switch.pfc.form = \"ideal\", or take the line out",
    },
    Clash {
        at: &["switch", "pfc", "threshold"],
        both: |it| is_combined(it) && under_pfc(it) && it.switch.pfc.threshold == ThresholdKind::Dynamic,
        message: |_| {
            with_combined(
                "pfc.threshold = \"dynamic\"",
                "a port's region belongs to it alone, there is no memory to share",
            )
        },
        label: "not with combined",
        help: "write switch.pfc.threshold = \"static\", or take the line out; switch.combined.stop is the threshold",
    },
    Clash {
        at: &["switch", "arbiter"],
        both: |it| {
            !is_combined(it)
                && it.switch.queueing != Queueing::Output
                && it.switch.arbiter == Arbiter::Deficit
        },
        message: |it| {
            let here = is("switch.queueing", it.switch.queueing);
            format!(
                "switch.arbiter = \"deficit\" needs one queue for each priority of an egress port, and here {here}"
            )
        },
        label: "only with output or combined",
        help: "write \"round-robin\", \"strict\" or \"weighted\" (switch.vl-arbitration), or set switch.queueing = \"output\"",
    },
    Clash {
        at: &["switch", "strict"],
        both: |it| is_combined(it) && !it.switch.strict.is_empty(),
        message: |_| with_combined("switch.strict", "its arbiter knows shares only"),
        label: "not with combined",
        help: "take the line out, or set switch.queueing = \"output\"",
    },
    Clash {
        at: &["switch", "detector", "red", "at"],
        both: |it| !is_combined(it) && is_red(it) && it.switch.detector.red.at != MarkAt::Dequeue,
        message: |_| without_combined("detector.red.at = \"enqueue\""),
        label: "only with combined",
        help: "write \"dequeue\", or set switch.queueing = \"combined\"",
    },
    Clash {
        at: &["switch", "detector", "red", "basis"],
        both: |it| !is_combined(it) && is_red(it) && it.switch.detector.red.basis != MarkBasis::Queue,
        message: |_| without_combined("detector.red.basis = \"port\""),
        label: "only with combined",
        help: "write \"queue\", or set switch.queueing = \"combined\"",
    },
    Clash {
        at: &["switch", "detector", "kind"],
        both: |it| is_combined(it) && it.switch.detector.kind == DetectorKind::Oracle,
        message: |_| {
            with_combined(
                "detector.kind = \"oracle\"",
                "a packet waits at two places there, and the oracle looks at one",
            )
        },
        label: "not with combined",
        help: "write \"red\", or set switch.queueing = \"output\"",
    },
    Clash {
        at: &["switch", "isolation", "kind"],
        both: |it| !is_combined(it) && it.switch.isolation.kind.has_table(),
        message: |it| without_combined(&is("isolation.kind", it.switch.isolation.kind)),
        label: "not with these queues",
        help: "set switch.queueing = \"combined\" (ingress and egress regions, where flows can be kept apart), or profile = \
               \"isolation\"",
    },
    Clash {
        at: &["switch", "queueing"],
        both: |it| keyed::is_on(it) && it.switch.queueing != Queueing::Output,
        message: |it| {
            let here = is("switch.queueing", it.switch.queueing);
            let does = if keyed::is_beside(it) {
                "watches the queues of egress ports alone"
            } else if keyed::holds(it) {
                "gives flows queues of their own at egress ports"
            } else {
                "keeps packets apart before the queues of egress ports"
            };
            format!("{} {does}, and here {here}", holding(it))
        },
        label: "not with these queues",
        help: "write switch.queueing = \"output\", or switch.isolation.kind = \"none\"",
    },
    Clash {
        at: &["switch", "flow-control"],
        both: |it| keyed::is_on(it) && !keyed::is_beside(it) && it.switch.flow_control != FlowControl::None,
        message: |it| {
            let here = is("switch.flow-control", it.switch.flow_control);
            format!(
                "{} holds flows back itself, and {here} would hold back the others of their priority, too",
                holding(it)
            )
        },
        label: "one of the two",
        help: "write switch.flow-control = \"none\", or switch.isolation.kind = \"none\"",
    },
    Clash {
        at: &["switch", "flow-control"],
        both: |it| keyed::is_beside(it) && it.switch.flow_control == FlowControl::Credits,
        message: |it| format!("{} watches the queues of a shared memory, as under PFC", holding(it)),
        label: "not with credits",
        help: "write switch.flow-control = \"pfc\" or \"none\", or switch.isolation.kind = \"none\"",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| keyed::is_beside(it) && it.switch.overflow == OnOverflow::Trim,
        message: |it| {
            format!("{} watches queues in a shared memory, and trimming has queues of its own", holding(it))
        },
        label: "not with trimming",
        help: "write switch.overflow = \"drop\" or \"stop\"",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| keyed::is_on(it) && !keyed::is_beside(it) && it.switch.overflow != OnOverflow::Stop,
        message: |it| format!("{} is for a fabric that loses nothing", holding(it)),
        label: "nothing is lost here",
        help: "write switch.overflow = \"stop\"",
    },
    Clash {
        at: &["switch", "arbiter"],
        both: |it| keyed::is_on(it) && !matches!(it.switch.arbiter, Arbiter::RoundRobin | Arbiter::Strict),
        message: |it| {
            let here = is("switch.arbiter", it.switch.arbiter);
            format!("{} takes turns between queues, and {here} between bytes of priorities", holding(it))
        },
        label: "only in turn or strict",
        help: "write switch.arbiter = \"round-robin\" or \"strict\"",
    },
    Clash {
        at: &["switch", "load-balancing"],
        both: |it| keyed::holds(it) && spreads(it),
        message: |it| {
            format!("{} knows the one way of each flow, which {} spreads", holding(it), spreading(it))
        },
        label: "needs one way for each flow",
        help: "write switch.load-balancing = \"ecmp\" (in a dragonfly topology.routing = \"minimal\")",
    },
    Clash {
        at: &["switch", "detector", "kind"],
        both: |it| keyed::is_on(it) && it.switch.detector.kind == DetectorKind::Oracle,
        message: |it| format!("{} holds flows, and the oracle follows the pauses of classes", holding(it)),
        label: "not with queues of flows",
        help: "write \"red\" or \"none\"",
    },
    Clash {
        at: &["switch", "detector", "kind"],
        both: |it| {
            it.switch.isolation.kind == IsolationKind::Ccfit && it.switch.detector.kind == DetectorKind::None
        },
        message: |it| format!("{} slows sources by marks of roots, and here nothing marks", holding(it)),
        label: "no marks",
        help: "write \"fecn\" or \"red\", or switch.isolation.kind = \"fbicm\" (the same without marks)",
    },
    Clash {
        at: &["switch", "flow-control"],
        both: |it| isolates(it) && it.switch.flow_control == FlowControl::None,
        message: |it| {
            let kind = is("switch.isolation.kind", it.switch.isolation.kind);
            format!("{kind} needs PFC: without it neither queue is ever held back")
        },
        label: "no PAUSE to keep apart",
        help: "write switch.flow-control = \"pfc\"",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| it.switch.overflow != OnOverflow::Stop && it.switch.flow_control == FlowControl::Credits,
        message: |it| drops_with(it, &is("switch.flow-control", it.switch.flow_control)),
        label: "not with these switches",
        help: "write switch.flow-control = \"none\" or \"pfc\", or switch.overflow = \"stop\": buffers under credits never overflow",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| it.switch.overflow == OnOverflow::DropLossy && it.switch.flow_control == FlowControl::None,
        message: |it| drops_with(it, &is("switch.flow-control", it.switch.flow_control)),
        label: "no priority is lossless",
        help: "write switch.overflow = \"drop\", or switch.flow-control = \"pfc\"",
    },
    Clash {
        at: &["switch", "switching"],
        both: |it| trims(it) && it.switch.switching == Switching::CutThrough,
        message: |it| {
            let here = is("switch.switching", it.switch.switching);
            format!(
                "switch.overflow = \"trim\" cuts whole packets, and here {here}: the first bytes have left by then"
            )
        },
        label: "not with trimming",
        help: "write switch.switching = \"store-and-forward\", or switch.overflow = \"drop\"",
    },
    Clash {
        at: &["switch", "arbiter"],
        both: |it| trims(it) && !matches!(it.switch.arbiter, Arbiter::RoundRobin | Arbiter::Strict),
        message: |it| {
            let here = is("switch.arbiter", it.switch.arbiter);
            format!("switch.overflow = \"trim\" has queues that take turns packet by packet, and here {here}")
        },
        label: "only in turn or strict",
        help: "write switch.arbiter = \"round-robin\" or \"strict\"",
    },
    Clash {
        at: &["switch", "pfc", "priorities"],
        both: |it| {
            let lossless = |entry: &Traffic| !overflow::may_lose(it, entry.priority.unwrap_or(PRIORITY));
            trims(it) && !it.traffic.is_empty() && it.traffic.iter().all(lossless)
        },
        message: |_| {
            "switch.overflow = \"trim\" is for priorities that PFC does not hold back, and all traffic is in switch.pfc.priorities"
                .to_owned()
        },
        label: "nothing to trim",
        help: "take the priority of that traffic out of the list, or write switch.flow-control = \"none\" or switch.overflow = \"stop\"",
    },
    Clash {
        at: &["switch", "overflow"],
        both: |it| {
            it.switch.overflow != OnOverflow::Stop
                && it.switch.flow_control != FlowControl::Credits
                && !matches!(it.switch.queueing, Queueing::Output | Queueing::TwoPools)
        },
        message: |it| drops_with(it, &is("switch.queueing", it.switch.queueing)),
        label: "not with these switches",
        help: "write switch.queueing = \"output\", or switch.overflow = \"stop\"",
    },
    Clash {
        at: &["switch", "load-balancing"],
        both: |it| balances(it) && !leaves_choice(it.topology.routes_by()),
        message: |it| {
            let routing = it.topology.routes_by();
            let why = if routing.is_around() { "chooses itself" } else { "has one for each destination" };
            let here = is("topology.routing", routing);
            format!("{} chooses among several ways, and here {here} {why}", balancing(it))
        },
        label: "needs several ways",
        help: "write topology.routing = \"ecmp\" (in a dragonfly \"minimal\"), or switch.load-balancing = \"ecmp\"",
    },
    Clash {
        at: &["switch", "load-balancing"],
        both: |it| by_entropy(it) && (is_combined(it) || keyed::is_on(it)),
        message: |it| {
            let kind = is("switch.isolation.kind", it.switch.isolation.kind);
            let here = if keyed::is_on(it) { kind } else { is("switch.queueing", it.switch.queueing) };
            format!("{} gives a flow several ways, and {here} knows one", balancing(it))
        },
        label: "needs other queues",
        help: "write switch.load-balancing = \"ecmp\"; or switch.queueing = \"output\" and switch.isolation.kind = \"none\"",
    },
    Clash {
        at: &["switch", "ecmp-hash"],
        both: |it| by_entropy(it) && it.switch.ecmp_hash != EcmpHash::Salted,
        message: |it| {
            let here = is("switch.ecmp-hash", it.switch.ecmp_hash);
            format!(
                "{here} is a hash of a flow's addresses and ports, and {} mixes in an entropy",
                balancing(it)
            )
        },
        label: "not with entropies",
        help: "write switch.ecmp-hash = \"salted\", or switch.load-balancing = \"ecmp\"",
    },
    Clash {
        at: &["switch", "queueing"],
        both: |it| spreads(it) && is_combined(it),
        message: |it| {
            format!(
                "{} does not work with switch.queueing = \"combined\", whose isolation knows the one way of each flow",
                spreading(it)
            )
        },
        label: "needs other queues",
        help: "write switch.queueing = \"output\", \"voq\", \"oldest-first\", \"input\" or \"shared\" (and switch.isolation.kind = \"none\")",
    },
    Clash {
        at: &["topology", "ugal", "queue"],
        both: |it| {
            it.switch.flow_control != FlowControl::Credits
                && it.topology.ugal.as_ref().is_some_and(|ugal| ugal.queue == UgalQueue::Credits)
        },
        message: |it| {
            let here = is("switch.flow-control", it.switch.flow_control);
            format!("topology.ugal.queue = \"credits\" counts credits in use, and here {here}")
        },
        label: "needs credits",
        help: "write queue = \"waiting\", or switch.flow-control = \"credits\"",
    },
    Clash {
        at: &["host", "throttle", "kind"],
        both: |it| {
            it.host.throttle.kind != ThrottleKind::None && it.switch.flow_control != FlowControl::Credits
        },
        message: |_| {
            "host.throttle.kind = \"pft\" goes by the credits of a host's link, and there are none".to_owned()
        },
        label: "needs credits",
        help: "set switch.flow-control = \"credits\", as profile = \"hpc\" has it, or host.throttle.kind = \"none\"",
    },
    Clash {
        at: &["switch", "pfc", "watchdog", "action"],
        both: |it| under_pfc(it) && it.switch.pfc.watchdog.action != OnStorm::None && is_combined(it),
        message: |_| {
            "the watchdog drops what comes for an egress port, and a crossbar has its packets at ingress ports"
                .to_owned()
        },
        label: "not with these queues",
        help: "write switch.queueing = \"output\", \"voq\", \"oldest-first\" or \"input\", or action = \"none\"",
    },
    Clash {
        at: &["switch", "pfc", "watchdog", "action"],
        both: |it| under_pfc(it) && it.switch.pfc.watchdog.action != OnStorm::None && fragile(it).is_some(),
        message: |it| format!("a watchdog drops packets, or fills buffers that do, and {}", of_fragile(it)),
        label: "needs traffic that repeats",
        help: NONE_OR_REPEAT,
    },
    Clash {
        at: &["host", "nic", "watchdog", "action"],
        both: |it| under_pfc(it) && it.host.nic.watchdog.action != OnStorm::None && fragile(it).is_some(),
        message: |it| {
            format!("a NIC's watchdog drops ACKs, or fills buffers that drop, and {}", of_fragile(it))
        },
        label: "needs traffic that repeats",
        help: NONE_OR_REPEAT,
    },
];

const NONE_OR_REPEAT: &str =
    "write action = \"none\", or transport.reliability = \"go-back-n\" or \"selective-repeat\"";

/// A `[[fault]]` and a choice of the rest of the scenario.
struct FaultClash {
    both: fn(&Settings, &Fault) -> bool,
    /// What such a fault does not go with, or needs.
    message: fn(&Settings) -> String,
    help: &'static str,
}

const FAULT_CLASHES: &[FaultClash] = &[
    FaultClash {
        both: |it, _| keyed::is_on(it) && !keyed::is_beside(it),
        message: |it| {
            format!("would break what switches know of each other, which {} does not repair", holding(it))
        },
        help: "write switch.isolation.kind = \"none\", with switch.flow-control = \"pfc\"",
    },
    FaultClash {
        both: |it, fault| fault.downs() && is_combined(it),
        message: |_| {
            "needs switches that choose the way of a packet when it comes in; a crossbar chooses for the first one of an ingress queue"
                .to_owned()
        },
        help: "write switch.queueing = \"output\", \"voq\", \"oldest-first\" or \"input\"",
    },
    FaultClash {
        both: |it, fault| matches!(fault, Fault::PauseStorm { .. }) && !under_pfc(it),
        message: |_| "needs PFC: without it nobody obeys a PAUSE".to_owned(),
        help: "write switch.flow-control = \"pfc\"",
    },
    FaultClash {
        both: |it, fault| {
            matches!(fault, Fault::LinkSlow { .. } | Fault::HostStop { .. }) && faults::repeats(it)
        },
        message: |_| {
            "does not go with fault-handling.link-retry = \"llr\": what a port is to send again is reckoned at one rate, for a link that is up \
             or down at both ends"
                .to_owned()
        },
        help: "write kind = \"link-down\", or link-retry = \"none\"",
    },
    FaultClash {
        both: |it, fault| matches!(fault, Fault::Loss { .. }) && faults::repeats(it) && under_pfc(it),
        message: |_| {
            "does not go with fault-handling.link-retry = \"llr\" under PFC: a PAUSE would wait for what is sent again, and no headroom is \
             reckoned for that"
                .to_owned()
        },
        help: "write switch.flow-control = \"credits\" or \"none\", or link-retry = \"none\"",
    },
    FaultClash {
        both: |it, fault| faults::loses(it, fault) && fragile(it).is_some(),
        message: |it| format!("loses packets, and {}", of_fragile(it)),
        help: "write transport.reliability = \"go-back-n\" or \"selective-repeat\", or transport = \"put\" for it",
    },
];

fn with_combined(choice: &str, why: &str) -> String {
    format!("switch.{choice} does not work with queueing = \"combined\": {why}")
}

fn without_combined(choice: &str) -> String {
    format!("switch.{choice} needs switch.queueing = \"combined\"")
}

fn drops_with(settings: &Settings, choice: &str) -> String {
    format!("{} does not work with {choice}", is("switch.overflow", settings.switch.overflow))
}

fn trims(settings: &Settings) -> bool {
    settings.switch.overflow == OnOverflow::Trim
}

fn under_pfc(settings: &Settings) -> bool {
    settings.switch.flow_control == FlowControl::Pfc
}

/// The first traffic entry that does not send again what is lost.
fn fragile(settings: &Settings) -> Option<usize> {
    let repeats =
        |index| !has_pairs(settings, index) || reliability::of(settings, index) != ReliabilityKind::None;
    (0..settings.traffic.len()).find(|index| !repeats(*index))
}

fn of_fragile(settings: &Settings) -> String {
    let name = fragile(settings).map_or("", |index| &settings.traffic[index].name);
    format!("traffic.{name} sends nothing twice (transport = \"roce\")")
}

fn is_red(settings: &Settings) -> bool {
    settings.switch.detector.kind == DetectorKind::Red
}

fn is_pooled(settings: &Settings) -> bool {
    settings.switch.queueing == Queueing::TwoPools
}

fn isolates(settings: &Settings) -> bool {
    is_combined(settings) && settings.switch.isolation.kind.has_table()
}

/// `switch.isolation.kind = "…"`.
fn holding(settings: &Settings) -> String {
    is("switch.isolation.kind", settings.switch.isolation.kind)
}

fn balances(settings: &Settings) -> bool {
    settings.switch.load_balancing != LoadBalancing::Ecmp
}

/// Whether switches send packets of one flow and one entropy by several ways.
fn spreads_uec(settings: &Settings) -> bool {
    !matches!(settings.switch.load_balancing, LoadBalancing::Ecmp | LoadBalancing::Entropy)
}

/// Whether hosts send packets of one flow by different ports.
fn sprays(settings: &Settings) -> bool {
    settings.host.nic.port == NicPort::Spray
}

/// Whether packets take a way by the entropy that their sender gave them: those of queue pairs and PUTs have none, and stay in order.
fn by_entropy(settings: &Settings) -> bool {
    settings.switch.load_balancing == LoadBalancing::Entropy
}

/// Whether packets of one flow of queue pairs or PUTs take different ways.
fn spreads(settings: &Settings) -> bool {
    balances(settings) && !by_entropy(settings)
        || settings.topology.routes_by().is_around()
        || sprays(settings)
}

/// Why they do.
fn spreading(settings: &Settings) -> String {
    let routing = settings.topology.routes_by();
    if routing.is_around() {
        is("topology.routing", routing)
    } else if balances(settings) && !by_entropy(settings) {
        balancing(settings)
    } else {
        is("host.nic.port", settings.host.nic.port)
    }
}

/// `switch.load-balancing = "…"`.
pub(super) fn balancing(settings: &Settings) -> String {
    is("switch.load-balancing", settings.switch.load_balancing)
}

/// A choice of a reaction point and one of the rest of the scenario; `kind` is `cc.kind = "…"`, or that of a traffic entry.
struct ReactionClash {
    both: fn(&Settings, &CcSettings) -> bool,
    message: fn(&Settings, kind: &str) -> String,
    label: &'static str,
    help: &'static str,
}

const REACTION_CLASHES: [ReactionClash; 3] = [
    ReactionClash {
        both: |it, cc| cc.kind.has_window() && it.switch.isolation.kind.has_table(),
        message: |_, kind| {
            format!("{kind} has a window, and switch.isolation moves flows between classes under way")
        },
        label: "not with isolation",
        help: "set switch.isolation.kind = \"none\", or cc.kind = \"dcqcn\"",
    },
    ReactionClash {
        both: |it, cc| cc.kind.wants_telemetry() && is_combined(it),
        message: |_, kind| {
            format!("{kind} needs telemetry, which switches with queueing = \"combined\" do not write")
        },
        label: "needs telemetry",
        help: "set switch.queueing = \"output\" or \"voq\"",
    },
    ReactionClash {
        both: |it, cc| cc.kind.wants_telemetry() && spreads(it),
        message: |it, kind| {
            let spread = spreading(it);
            format!("{kind} compares two packets link by link, and {spread} sends them over different links")
        },
        label: "needs one way for each flow",
        help: "write cc.kind = \"dcqcn\", \"dctcp\" or \"swift\"; or switch.load-balancing = \"ecmp\" (in a dragonfly topology.routing = \"minimal\"; for ports of a host host.nic.port = \"hash\")",
    },
];

/// A choice of a traffic entry and one of the rest of the scenario.
struct EntryClash {
    at: &'static [&'static str],
    both: fn(&Settings, usize, &Traffic) -> bool,
    message: fn(&Settings, name: &str) -> String,
    label: &'static str,
    help: &'static str,
}

const ENTRY_CLASHES: &[EntryClash] = &[
    EntryClash {
        at: &["kind"],
        both: |it, index, entry| {
            uec::is_uec(it, index)
                && matches!(
                    entry.workload,
                    Workload::Constant { .. } | Workload::Supply { .. } | Workload::Injected { .. }
                )
        },
        message: |_, name| {
            format!(
                "traffic.{name} is of transport = \"uec\", whose flows and their bytes are known before the run"
            )
        },
        label: "not with uec",
        help: "write transport = \"roce\" for this entry",
    },
    EntryClash {
        at: &["reliability"],
        both: |it, index, entry| uec::is_uec(it, index) && entry.reliability.is_some(),
        message: |_, name| {
            format!("traffic.{name} is of transport = \"uec\", which sends again what is lost by itself")
        },
        label: "not with uec",
        help: "remove this line",
    },
    EntryClash {
        at: &["control"],
        both: |it, index, entry| uec::is_uec(it, index) && entry.control == Some(Control::LineRate),
        message: |_, name| {
            format!("traffic.{name} is of transport = \"uec\", whose flows are sent by window or by credit")
        },
        label: "not with uec",
        help: "remove this line",
    },
    EntryClash {
        at: &["connection"],
        both: |it, index, entry| uec::is_uec(it, index) && entry.connection.is_some(),
        message: |_, name| {
            format!("traffic.{name} is of transport = \"uec\", whose flows have connections of their own")
        },
        label: "not with uec",
        help: "remove this line",
    },
    EntryClash {
        at: &["priority"],
        both: |it, _, entry| {
            trims(it) && knows_entropies(entry) && !overflow::may_lose(it, entry.priority.unwrap_or(PRIORITY))
        },
        message: |_, name| {
            format!(
                "traffic.{name}: its priority is in switch.pfc.priorities, which holds packets back that should be trimmed"
            )
        },
        label: "not under PFC",
        help: "give it a priority that is not in switch.pfc.priorities, or take that out of the list",
    },
    EntryClash {
        at: &["kind"],
        both: |it, index, entry| is_put(it, index) && matches!(entry.workload, Workload::Constant { .. }),
        message: |_, name| {
            format!(
                "traffic.{name}: PUTs are spaced by put.policy, and constant sources have a rate of their own"
            )
        },
        label: "not for PUTs",
        help: "write kind = \"supply\", whose application makes PUTs at a rate, or transport = \"roce\"",
    },
    EntryClash {
        at: &["control"],
        both: |it, index, entry| {
            is_put(it, index)
                && entry.control.is_some()
                && !matches!(entry.workload, Workload::Constant { .. })
        },
        message: |_, name| {
            format!("traffic.{name}: PUTs are spaced by put.policy, not by a reaction point or the link")
        },
        label: "not for PUTs",
        help: "remove this line; put = { policy = \"opt\" } has the largest windows",
    },
    EntryClash {
        at: &["reliability"],
        both: |it, index, entry| is_put(it, index) && entry.reliability.is_some(),
        message: |_, name| format!("traffic.{name}: PUTs are sent again as [put] says"),
        label: "not for PUTs",
        help: "remove this line, or write transport = \"roce\"",
    },
    EntryClash {
        at: &["connection"],
        both: |it, index, entry| is_put(it, index) && entry.connection.is_some(),
        message: |_, name| {
            format!("traffic.{name}: all PUTs of one source, destination and priority are one stream")
        },
        label: "not for PUTs",
        help: "remove this line",
    },
    EntryClash {
        at: &["cc", "kind"],
        both: |it, index, entry| {
            is_put(it, index) && entry.cc.as_ref().is_some_and(|cc| cc.kind.has_window())
        },
        message: |_, name| {
            format!("traffic.{name} is of PUTs, whose window is [put]'s: its cc has no part in it")
        },
        label: "not with PUTs",
        help: "drop its cc, or set transport = \"roce\" for the entry",
    },
    EntryClash {
        at: &["transport"],
        both: |it, index, entry| {
            let none = reliability::of(it, index) == ReliabilityKind::None;
            overflow::may_lose(it, entry.priority.unwrap_or(PRIORITY)) && has_pairs(it, index) && none
        },
        message: |it, name| {
            format!(
                "traffic.{name}: queue pairs with transport.reliability = \"none\" send nothing twice, and switches drop \
                 packets ({})",
                is("switch.overflow", it.switch.overflow)
            )
        },
        label: "needs a lossless fabric",
        help: "write transport.reliability = \"go-back-n\" (or selective-repeat); or switch.overflow = \"stop\", with switch.flow-control = \"pfc\" so that nothing overflows",
    },
    EntryClash {
        at: &[],
        both: |it, index, _| keyed::holds(it) && !has_pairs(it, index),
        message: |it, name| {
            format!("{} holds queue pairs at NICs, which traffic.{name} does not send by", holding(it))
        },
        label: "needs queue pairs",
        help: "write transport = \"roce\" for this entry, or switch.isolation.kind = \"none\"",
    },
    EntryClash {
        at: &[],
        both: |it, index, _| spreads(it) && is_put(it, index),
        message: |it, name| {
            let spread = spreading(it);
            format!(
                "{spread} reorders packets, which does not fit traffic.{name}, of PUTs, whose target asks again for all that \
                 follows a packet out of order (go-back-N)"
            )
        },
        label: "needs packets in order",
        help: "write switch.load-balancing = \"ecmp\" (in a dragonfly topology.routing = \"minimal\"; for ports of a host \
               host.nic.port = \"hash\"), or transport = \"roce\" for this entry",
    },
];

/// How many entries send something.
fn senders(settings: &Settings) -> usize {
    if settings.run.only.is_empty() { settings.traffic.len() } else { settings.run.only.len() }
}

/// A key by which something is recorded event by event or period by period.
fn recorded(settings: &Settings) -> Option<&'static str> {
    let probe = &settings.probe;
    let keys = [
        ("sample", probe.sample.is_some()),
        ("frames", probe.frames.is_some()),
        ("packets", !probe.packets.is_empty()),
        ("rates", !probe.rates.is_empty()),
        ("puts", !probe.puts.is_empty()),
        ("isolation", probe.isolation),
        ("delivered", probe.delivered),
        ("throttle-states", probe.throttle_states),
    ];
    keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
}

/// Reports tables of single events that the file asks for, though iterations that are counted have none.
fn single_events(context: &mut Context<'_>) {
    if !context.settings.run.reuse {
        return;
    }
    for key in ["marks", "pauses", "states", "drops", "blame", "dependencies"] {
        if context.wrote(&["probe", key]).is_some_and(|written| written.json() == true) {
            let message = format!(
                "probe.{key} records single events, which run.reuse = true leaves out for what is counted"
            );
            let help = "take the key out, or write run.reuse = false";
            context.report(&at!["probe", key], message, "not with run.reuse", help);
        }
    }
}

/// Reports every two choices that do not go together.
pub(super) fn check(context: &mut Context<'_>) {
    let settings = context.settings;
    for clash in CLASHES.iter().filter(|clash| (clash.both)(settings)) {
        let at: Vec<Step> = clash.at.iter().map(|key| Step::Key(key)).collect();
        context.report(&at, (clash.message)(settings), clash.label, clash.help);
    }
    single_events(context);
    let common = settings.traffic.is_empty()
        || settings
            .traffic
            .iter()
            .enumerate()
            .any(|(index, entry)| entry.cc.is_none() && has_pairs(settings, index));
    let shared = common.then(|| (vec![Step::Key("cc")], "cc.kind".to_owned(), &settings.cc));
    let own = settings.traffic.iter().enumerate().filter(|(index, _)| has_pairs(settings, *index));
    let own = own.filter_map(|(index, entry)| {
        let place = vec![Step::Key("traffic"), Step::Index(index), Step::Key("cc")];
        Some((place, format!("traffic.{}.cc.kind", entry.name), entry.cc.as_ref()?))
    });
    for (place, kind, cc) in shared.into_iter().chain(own) {
        let kind = is(&kind, cc.kind);
        for clash in REACTION_CLASHES.iter().filter(|clash| (clash.both)(settings, cc)) {
            context.report(&below(&place, "kind"), (clash.message)(settings, &kind), clash.label, clash.help);
        }
    }
    for (index, fault) in settings.fault.iter().enumerate() {
        for clash in FAULT_CLASHES.iter().filter(|clash| (clash.both)(settings, fault)) {
            let message = format!("a fault of kind {:?} {}", fault.kind(), (clash.message)(settings));
            context.report(&at!["fault", index, "kind"], message, "not here", clash.help);
        }
    }
    for (index, entry) in settings.traffic.iter().enumerate() {
        for clash in ENTRY_CLASHES.iter().filter(|clash| (clash.both)(settings, index, entry)) {
            let keys = clash.at.iter().map(|key| Step::Key(key));
            let at: Vec<Step> = [Step::Key("traffic"), Step::Index(index)].into_iter().chain(keys).collect();
            context.report(&at, (clash.message)(settings, &entry.name), clash.label, clash.help);
        }
    }
}
