//! The testbed of the TCD paper (Zhang et al., SIGCOMM 2021, §5.1.1): Figure 2 without L0, on two four-port switches.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// ```text
///   S0 ─┐             ┌── R0
///       T0 ──P0── T2 ─┼─P3── R1
///   S1 ─┘             └── A0
/// ```
/// The aliases `P0` and `P3` are the egress ports `T0->T2` and `T2->R1`. The testbed ran at 10 Gbps with a response
/// time τ of about 20 µs; its propagation delay is not given.
///
/// # Errors
/// A rate or delay out of range.
pub fn tcd_testbed(rate: Rate, delay: Span) -> Result<Network, TopologyError> {
    let mut b = Builder::new();
    let [s0, s1, r0, r1, a0] = ["S0", "S1", "R0", "R1", "A0"].map(|name| b.host(name));
    let [t0, t2] = ["T0", "T2"].map(|name| b.switch(name));
    for (a, z) in [(s0, t0), (s1, t0), (t0, t2), (t2, r0), (t2, r1), (a0, t2)] {
        b.link(a, z, rate, delay);
    }
    b.alias("P0", t0, t2);
    b.alias("P3", t2, r1);
    b.build()
}
