//! The runs whose instructions are counted: the two benchmark workloads, shortened for callgrind.
use backwater_benches::{
    Repeats, Workload, scenario, under_credits, with_isolation, with_losses, with_puts, with_ranks,
    with_throttles, with_uec,
};
use backwater_fabric::{Control, Kind, Simulation, Spec, Totals};
use backwater_units::{Bytes, Span};

/// One run.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    k: u32,
    workload: Workload,
    kind: Kind,
    batching: bool,
    switches: Switches,
}

/// What the switches are.
#[derive(Clone, Copy)]
enum Switches {
    Plain,
    Credits,
    /// Credits that come back at once, and hosts with PFT.
    Throttles,
    Isolation,
    /// Credits that come back at once, and hosts with ranks.
    Ranks,
    /// They drop, and hosts send PUTs.
    Dropping,
    /// They drop, and queue pairs send again.
    Losing(Repeats),
    /// They trim, and hosts send by NSCC.
    Trimming,
}

const WINDOWS: Kind = Kind::Windows { threads: 1 };
const WEB_SEARCH: Workload = Workload::WebSearch(Span::from_us(100));
const PERMUTATION: Workload = Workload::Permutation(Bytes::new(50_000));

/// 128 hosts, every port in order.
pub(crate) const K8_IN_ORDER: Case =
    Case { k: 8, workload: WEB_SEARCH, kind: WINDOWS, batching: false, switches: Switches::Plain };
/// 128 hosts, switches batched.
pub(crate) const K8_BATCHED: Case = Case { batching: true, ..K8_IN_ORDER };
/// 128 hosts on the reference heap engine.
#[cfg(feature = "reference")]
pub(crate) const K8_HEAP: Case = Case { kind: Kind::Heap, ..K8_IN_ORDER };
/// 1024 hosts, every port in order.
pub(crate) const K16_IN_ORDER: Case = Case { k: 16, workload: PERMUTATION, ..K8_IN_ORDER };
/// 1024 hosts, switches batched.
pub(crate) const K16_BATCHED: Case = Case { batching: true, ..K16_IN_ORDER };

/// 128 hosts under credits: virtual output queues, cut-through.
pub(crate) const K8_CREDITS: Case = Case { switches: Switches::Credits, ..K8_IN_ORDER };
/// 1024 hosts under credits.
pub(crate) const K16_CREDITS: Case = Case { switches: Switches::Credits, ..K16_IN_ORDER };

/// 128 hosts that throttle themselves by credits that come back at once.
pub(crate) const K8_PFT: Case = Case { switches: Switches::Throttles, ..K8_IN_ORDER };

/// 16 hosts of 4 ranks that do the load test of `GPCNeT`.
pub(crate) const K4_RANKS: Case = Case { k: 4, switches: Switches::Ranks, ..K8_IN_ORDER };

/// 128 hosts, queues at both sides of the crossbars, ICI+.
pub(crate) const K8_ISOLATION: Case = Case { switches: Switches::Isolation, ..K8_IN_ORDER };

/// 128 hosts that send PUTs paced by duplicate ACKs over switches that drop, some to slow hosts.
pub(crate) const K8_PUTS: Case = Case { switches: Switches::Dropping, ..K8_IN_ORDER };

/// 128 hosts with go-back-N over switches that drop, and mark nothing before; long enough for a quarter of the packets to be dropped.
pub(crate) const K8_GO_BACK_N: Case = Case {
    workload: Workload::WebSearch(Span::from_us(300)),
    switches: Switches::Losing(Repeats::GoBackN),
    ..K8_IN_ORDER
};

/// The same with selective repeat, of which 0.4 % is.
pub(crate) const K8_SELECTIVE: Case = Case { switches: Switches::Losing(Repeats::Selective), ..K8_GO_BACK_N };

/// 128 hosts of Ultra Ethernet under NSCC, switches that trim, batched.
pub(crate) const K8_UEC: Case = Case { switches: Switches::Trimming, ..K8_BATCHED };

impl Case {
    /// Everything up to the first event; not counted.
    pub(crate) fn build(self) -> Simulation {
        let spec = Spec { batching: self.batching, ..scenario(self.k, self.workload, 1) };
        let spec = match self.switches {
            Switches::Plain => spec,
            Switches::Credits => under_credits(spec),
            Switches::Throttles => with_throttles(spec),
            Switches::Isolation => with_isolation(spec),
            Switches::Ranks => with_ranks(Spec { throttle: None, ..with_throttles(spec) }, 1),
            Switches::Dropping => with_puts(spec),
            Switches::Losing(repeats) => with_losses(spec, repeats, false),
            Switches::Trimming => with_uec(spec),
        };
        Simulation::new(spec, self.kind)
    }
}

/// All flows to their end, nothing recorded: what is counted, as callgrind knows it by this name.
///
/// # Panics
/// If the run breaks an invariant.
#[inline(never)]
pub(crate) fn run(simulation: &mut Simulation) -> Totals {
    simulation.run(&Control::default(), &mut |_| Ok(())).unwrap_or_else(|violation| panic!("{violation}"))
}
