//! Figure 2 of the TCD paper (Zhang et al., SIGCOMM 2021), the unit of a multi-rooted fabric in which its
//! observations (§3), its victim-flow scenarios (§5) and the fairness experiment (§5.2.4) run.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// The senders of bursts, A0 to A14 (§3.1.1).
const BURST_HOSTS: u32 = 15;
/// The senders of the fairness experiment, B0 to B3 (§5.2.4, Fig. 20).
const FAIRNESS_HOSTS: u32 = 4;

/// ```text
///   S0 ─┐
///       T0 ──P0──┐               ┌── R0
///   S1 ─┘        L0 ──P2──── T2 ─┤
///   S2 ── T1 ─P1─┘               ├─P3── R1
///     (B0..B3 ── L0)             └── A0..A14
/// ```
/// The aliases `P0` … `P3` are the egress ports `T0->L0`, `T1->L0`, `L0->T2` and `T2->R1`.
///
/// The paper uses 40 Gbps and 4 µs on all links (§3.1.1); in its victim scenario (Table 3) the links of S0 and S1
/// have 20 Gbps, which is `source_rate`. `fairness_hosts` adds B0..B3 at L0.
/// The wiring is that of the paper's text and of the node map in the authors' ns-3 release (2022).
///
/// # Errors
/// A rate or delay out of range.
pub fn tcd_figure_2(
    rate: Rate,
    delay: Span,
    source_rate: Option<Rate>,
    fairness_hosts: bool,
) -> Result<Network, TopologyError> {
    let source_rate = source_rate.unwrap_or(rate);
    let mut b = Builder::new();
    let [s0, s1, s2, r0, r1] = ["S0", "S1", "S2", "R0", "R1"].map(|name| b.host(name));
    let burst = b.hosts("A", BURST_HOSTS);
    let fairness = b.hosts("B", if fairness_hosts { FAIRNESS_HOSTS } else { 0 });
    let [t0, t1, l0, t2] = ["T0", "T1", "L0", "T2"].map(|name| b.switch(name));
    b.link(s0, t0, source_rate, delay);
    b.link(s1, t0, source_rate, delay);
    for (a, z) in [(s2, t1), (t0, l0), (t1, l0), (l0, t2), (t2, r0), (t2, r1)] {
        b.link(a, z, rate, delay);
    }
    for host in burst {
        b.link(host, t2, rate, delay);
    }
    for host in fairness {
        b.link(host, l0, rate, delay);
    }
    for (alias, from, to) in [("P0", t0, l0), ("P1", t1, l0), ("P2", l0, t2), ("P3", t2, r1)] {
        b.alias(alias, from, to);
    }
    b.build()
}
